"""Secrets and recognised credentials out of texts, JSON values and streams.

    redactor = Redactor([token, password])
    redactor.text(f"curl -H 'Authorization: Bearer {token}'")
    redactor.value({"event": "...", "cost": 0.1})
    with open("log", "wb") as log, Writer(redactor, log.write) as out:
        for chunk in process.stdout:
            out.write(chunk)

Whatever is covered becomes `MARK`. A second pass changes nothing.
"""

from __future__ import annotations

import json
from typing import cast

from . import _native
from . import errors as errors
from ._native import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Any, TypeVar

    T = TypeVar("T")

__all__ = ["MARK", "Redactor", "Stream", "Writer", "sanitize"]

MARK = "[redacted]"


class Redactor(_native.Redactor):
    """Redacts by one set of secrets, each `str` or `bytes`; with `patterns=False` by the secrets alone.

    It never changes, and any number of threads may use it. Making one costs more than using it: keep it.

    Raises `ExecutionInputError` with the reason `secret` for a secret that is empty or no string, by its position.
    """

    def __new__(cls, secrets: Iterable[str | bytes] = (), *, patterns: bool = True) -> Redactor:
        return cast("Redactor", super().__new__(cls, secrets, patterns=patterns))

    def value(self, value: T) -> T:
        """A redacted copy of what `json.dumps` takes: strings and keys at any depth. Integers keep their digits.

        Where two keys of an object become equal, the later one gets `#2`, `#3` and so on behind it. Half a surrogate pair
        becomes U+FFFD. Raises `ValueError` for a number that JSON does not have, and `ExecutionInputError` with the reason
        `shape` for a nesting that is too deep.
        """
        return cast("T", json.loads(self.json(json.dumps(value, allow_nan=False))))


def sanitize(value: T, secrets: Iterable[str | bytes] = ()) -> T:
    """A redacted copy of a JSON value or a string, by recognised credentials and these secrets; empty ones are ignored."""
    return Redactor([secret for secret in secrets if secret not in ("", b"")]).value(value)


class Writer:
    """Hands redacted bytes to `write`, as they become certain, and the rest at the end of its `with` block, on every way
    out of it. For one thread at a time.

    `write` takes bytes, such as the `write` of a file that is open in binary mode, and it takes all of them.
    """

    def __init__(self, redactor: Redactor, write: Callable[[bytes], Any]) -> None:
        self._stream = redactor.stream()
        self._write = write
        self._closed = False

    def write(self, data: str | bytes) -> int:
        """Takes a piece, and answers its length."""
        self._hand_out(self._open().push(_bytes(data)))
        return len(data)

    def writelines(self, pieces: Iterable[str | bytes]) -> None:
        """Takes many pieces in one call."""
        self._hand_out(self._open().push_all([_bytes(piece) for piece in pieces]))

    def close(self) -> None:
        """Hands out the rest. Does nothing the second time."""
        if not self._closed:
            self._closed = True
            self._hand_out(self._stream.finish())

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> Stream:
        if self._closed:
            raise ValueError("the writer is closed")
        return self._stream

    def _hand_out(self, data: bytes) -> None:
        if data:
            self._write(data)


def _bytes(data: str | bytes) -> bytes:
    return data.encode("utf-8", "replace") if isinstance(data, str) else data
