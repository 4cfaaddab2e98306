"""`gallivant.execution.HealthStore`: who may be dispatched to, by the records of checks that somebody else makes."""

from __future__ import annotations

from . import _native
from ._execution_json import text_of, value_of, written
from ._native import Refresh

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from typing import Any, Union

    from ._native import TestHost

    Path = Union[str, os.PathLike[str]]

__all__ = ["HealthStore", "Refresh"]


class HealthStore(_native.HealthStore):
    """The health of accounts, one file each below `root`, a directory that is no task's root. It runs no check: you do, for what is
    `due`, and say what it has shown. What authorises a dispatch is on disk, for every process. Makes no file by itself; threads
    may share it, and it belongs to the process that opened it.

    `scopes` are the accounts whose health is wanted, as pairs of provider and account: without a record they are due. Of `limits`
    `healthRefreshMs`, `progressMs`, `backoffMaxMs` and `lockWaitMs` count. `secrets` appear in no record.

    Calls raise `ExecutionInputError`; those that read `ExecutionHealthError` for a record that makes no sense,
    `ExecutionVersionError` and `ExecutionIoError`; those that write `ExecutionBusyError` besides.
    """

    def __new__(
        cls,
        root: Path,
        *,
        limits: Mapping[str, int] | None = None,
        scopes: Iterable[tuple[str, str]] = (),
        secrets: Iterable[str] = (),
        host: TestHost | None = None,
    ) -> HealthStore:
        limits_json = None if limits is None else written(dict(limits))
        # The class that is made is this one, which the stub cannot say.
        return super().__new__(  # type: ignore[return-value]
            cls, root, limits_json=limits_json, scopes=list(scopes), secrets=list(secrets), host=host
        )

    def health_status(self, provider: str, account: str) -> dict[str, Any] | None:
        """What is recorded of an account; None where nothing is. Never probes, never writes."""
        text = self.status_json(provider, account)
        value: dict[str, Any] | None = None if text is None else value_of(text)
        return value

    def record(self, provider: str, account: str, result: Mapping[str, Any] | str) -> dict[str, Any]:
        """Saves what a check has shown: `{"ok": True}`, or `{"ok": False, "code": …, "remedy": …}`, whose remedy is that of every
        dispatch that it refuses; `evidence` and `retryAfterMs` besides. The record, which is returned, is on disk then.
        """
        text = result if isinstance(result, str) else text_of(dict(result))
        value: dict[str, Any] = value_of(self.record_json(provider, account, text))
        return value
