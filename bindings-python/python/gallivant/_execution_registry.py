"""`gallivant.execution.ExecutionRegistry`, and how a boundary is made of options."""

from __future__ import annotations

from . import _native
from ._execution_health import HealthStore
from ._execution_json import text_of, value_of, written
from ._execution_transport import boundary_options, methods_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from typing import Any, Union

    Path = Union[str, os.PathLike[str]]
    Document = Union[Mapping[str, Any], str]


class ExecutionRegistry(_native.ExecutionRegistry):
    """Exactly one capability record for each provider, with the adapter that came with it. Threads may share it.

    It begins with the shipped records, none of which has an adapter. An adapter is an object: a transport, or the process host
    of local work, which may have `render`, `configure` and `minimum_version` for preparations.
    """

    def __init__(self) -> None:
        self._adapters: dict[str, tuple[Any, Any]] = {}

    def register(
        self,
        record: Document,
        *,
        transport: object | None = None,
        runner: object | None = None,
        secrets: Iterable[str] = (),
    ) -> dict[str, Any]:
        """Adds a record, and its adapter where one is given. `secrets` are values that it must not hold; none is kept. Returns the
        record as it reads now.

        Raises `ExecutionCapabilityError` for a name that is registered, and with the reasons `unavailable`, `preparation` and
        `secret`; `ExecutionInputError` for a malformed record and an adapter that does not fit it. The registry is as it was
        then.
        """
        text = record if isinstance(record, str) else text_of(dict(record))
        shown: dict[str, Any] = value_of(self.register_json(text, _adapter_json(transport, runner), list(secrets)))
        self._adapters[shown["provider"]] = (transport, runner)
        return shown

    def attach(
        self,
        provider: str,
        *,
        transport: object | None = None,
        runner: object | None = None,
        secrets: Iterable[str] = (),
    ) -> dict[str, Any]:
        """Gives an adapter to a record that has none, such as a shipped one. Otherwise as `register`."""
        adapter_json = _adapter_json(transport, runner) or "{}"
        shown: dict[str, Any] = value_of(self.attach_json(provider, adapter_json, list(secrets)))
        self._adapters[provider] = (transport, runner)
        return shown

    def capabilities_for(self, provider: str) -> dict[str, Any]:
        """The record of a provider as it reads now, by its exact name.

        Raises `ExecutionCapabilityError` with the reason `unavailable`.
        """
        value: dict[str, Any] = value_of(self.capability_json(provider))
        return value

    def capabilities(self) -> list[dict[str, Any]]:
        """All records: the shipped ones, and then the others in the order in which they came. They hold names of secrets and no
        values; changing one changes no check.
        """
        value: list[dict[str, Any]] = value_of(self.capabilities_json())
        return value

    def adapter(self, provider: str) -> tuple[Any, Any]:
        """Transport and process host of a provider, as they were registered: at most one of them is not None."""
        return self._adapters.get(provider, (None, None))


execution_registry = ExecutionRegistry()
"""The registry of this process, for a program that has no reason to keep one of its own."""


def made_boundary(
    root: Path,
    existing: bool,
    host: _native.TestHost | None,
    *,
    capabilities: Document | ExecutionRegistry,
    provider: str,
    health: object | None,
    **options: Any,
) -> _native.Boundary:
    """The boundary of a task, as `make_execution` is told; with `existing`, as its files say."""
    registry = capabilities if isinstance(capabilities, ExecutionRegistry) else None
    record = registry.capability_json(provider) if registry is not None else capabilities
    store = health if isinstance(health, HealthStore) else None
    said = None if store is not None else health
    text = boundary_options(capabilities=record, provider=provider, health=said, **options)
    return _native.Boundary(root, text, registry=registry, existing=existing, health=store, host=host)


def _adapter_json(transport: object | None, runner: object | None) -> str | None:
    if transport is not None:
        return written({"methods": methods_of(transport)})
    if runner is not None:
        return written(
            {
                "render": callable(getattr(runner, "render", None)),
                "configure": callable(getattr(runner, "configure", None)),
                "minimumVersion": getattr(runner, "minimum_version", None),
            }
        )
    return None
