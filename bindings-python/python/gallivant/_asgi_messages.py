"""What `gallivant.asgi` reads and sends: a request's body, an app's answer, the bytes that are saved of it, and the
middleware's own refusals.
"""

from __future__ import annotations

import asyncio
import json
import tempfile

from ._offload import offload
from .idempotency import Fingerprint, FingerprintBuilder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
    from typing import Any, Union

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]
    Header = tuple[bytes, bytes]
    Text = Union[str, None]

# How much of a spooled body is handed on at a time, in bytes.
_PART = 65536

# The version of the saved bytes. A later one gets another number, and what has none of these is not ours.
_SAVED = 1


class TooLarge(Exception):
    """A body above the limit."""


class Spool:
    """Bytes that are kept in memory as long as they are few, and in an unnamed file where they are not."""

    def __init__(self, in_memory: int) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=in_memory)  # noqa: SIM115
        self._in_memory = in_memory
        self.size = 0

    async def add(self, part: bytes) -> None:
        """Adds bytes at the end."""
        self.size += len(part)
        await self._at_disk(self._file.write, part)

    async def read(self, position: int, count: int = -1) -> bytes:
        """The bytes from a position on."""
        await self._at_disk(self._file.seek, position)
        part: bytes = await self._at_disk(self._file.read, count)
        return part

    def close(self) -> None:
        """Lets go of all of it."""
        self._file.close()

    async def _at_disk(self, act: Callable[..., Any], *arguments: object) -> Any:
        # What is in memory does not wait; a file may.
        return act(*arguments) if self.size <= self._in_memory else await offload(act, *arguments)


class Body:
    """A request's body: read once from the server, with its fingerprint, and handed on to the app."""

    def __init__(self, *, most: int, in_memory: int) -> None:
        self._most = most
        self._spool = Spool(in_memory)
        self._builder = FingerprintBuilder()
        self._position = 0
        self._is_handed_on = False
        self.answered = asyncio.Event()

    async def take(self, receive: Receive) -> Fingerprint | None:
        """Reads all of it, and answers its fingerprint; None where the client has gone before its end. Raises `TooLarge`."""
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            part = message.get("body", b"")
            if self._spool.size + len(part) > self._most:
                raise TooLarge
            if part:
                self._builder.update(bytes(part))
                await self._spool.add(part)
            if not message.get("more_body", False):
                return self._builder.finish()

    async def receive(self) -> Message:
        """The `receive` of the app. After the body it waits for the answer: a create that has begun is not told that its
        client has gone, because that client comes back with the same key.
        """
        if self._is_handed_on:
            await self.answered.wait()
            return {"type": "http.disconnect"}
        part = await self._spool.read(self._position, _PART)
        self._position += len(part)
        self._is_handed_on = self._position >= self._spool.size
        return {"type": "http.request", "body": part, "more_body": not self._is_handed_on}

    def close(self) -> None:
        """Lets go of it."""
        self._spool.close()


class Answer:
    """What an HTTP client gets: a status, headers as ASGI has them, a body."""

    def __init__(self, status: int, headers: Iterable[Header] = (), body: bytes = b"") -> None:
        self.status = status
        self.headers = list(headers)
        self.body = body

    async def send(self, send: Send, *further: Header) -> None:
        """Sends it whole, with further headers."""
        headers = [*self.headers, *further]
        has_length = any(name.lower() == b"content-length" for name, _ in headers)
        if not has_length and self.status not in (204, 304):
            headers.append((b"content-length", str(len(self.body)).encode()))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": False})

    def saved(self, names: frozenset[str], *, with_body: bool) -> bytes:
        """The bytes to save: a line of JSON with version, status and the headers of these names, then the body."""
        kept = [
            [name.decode("latin-1").lower(), value.decode("latin-1")]
            for name, value in self.headers
            if name.decode("latin-1").lower() in names
        ]
        head = {"v": _SAVED, "status": self.status, "headers": kept, "body": with_body}
        return json.dumps(head, separators=(",", ":")).encode() + b"\n" + (self.body if with_body else b"")

    @staticmethod
    def of_saved(saved: bytes) -> tuple[Answer, bool] | None:
        """An answer and whether its body was saved with it; None where the bytes are not a middleware's."""
        line, separator, body = saved.partition(b"\n")
        try:
            head = json.loads(line)
            if not separator or head["v"] != _SAVED:
                return None
            headers = [(str(name).encode("latin-1"), str(value).encode("latin-1")) for name, value in head["headers"]]
            return Answer(int(head["status"]), headers, body), bool(head["body"])
        except (KeyError, TypeError, ValueError):
            return None


class Captured:
    """An app's answer as it comes, kept back until it is whole."""

    def __init__(self, in_memory: int, whole: Callable[[Captured], Awaitable[None]]) -> None:
        self._spool = Spool(in_memory)
        self._whole = whole
        self.status = 0
        self.headers: list[Header] = []
        self.is_whole = False

    @property
    def size(self) -> int:
        """The bytes of its body so far."""
        return self._spool.size

    async def take(self, message: Message) -> None:
        """The `send` of the app."""
        if self.is_whole:
            return
        if message["type"] == "http.response.start":
            if self.status:
                # As servers refuse it: the first status may have said that the thing was made.
                raise RuntimeError("the app started its answer twice")
            status = message["status"]
            if not isinstance(status, int):
                raise TypeError(f"the status of an answer is an int, not {type(status).__name__}")
            self.status = int(status)
            self.headers = [(bytes(name), bytes(value)) for name, value in message.get("headers", ())]
        elif message["type"] == "http.response.body":
            if not self.status:
                raise RuntimeError("the app sent a body before it started its answer")
            part = message.get("body", b"")
            if part:
                # Of a number `bytes` would make so many zeros.
                await self._spool.add(bytes(memoryview(part)))
            if not message.get("more_body", False):
                self.is_whole = True
                await self._whole(self)

    async def read(self) -> Answer:
        """All of it."""
        return Answer(self.status, self.headers, await self._spool.read(0))

    async def send(self, send: Send) -> None:
        """Sends it as the app did."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        position = 0
        while True:
            part = await self._spool.read(position, _PART)
            position += len(part)
            more = position < self.size
            await send({"type": "http.response.body", "body": part, "more_body": more})
            if not more:
                return

    def close(self) -> None:
        """Lets go of it."""
        self._spool.close()


_TITLES: Mapping[str, str] = {
    "content_too_large": "the body is larger than this server takes with a key",
    "idempotency_key_invalid": "the Idempotency-Key is not 1 to 255 bytes of visible ASCII, given once",
    "idempotency_scope_invalid": "what the key would belong to has no usable name",
    "idempotency_key_reused": "the Idempotency-Key was used with another body",
    "idempotency_in_progress": "the first request with this Idempotency-Key still runs",
    "idempotency_unknown": "nobody knows whether the first request with this Idempotency-Key made its thing",
    "idempotency_claim_lost": "another request with this Idempotency-Key has taken this one over",
    "idempotency_answer_too_large": "the first request has made its thing, and its answer was too large to be saved",
    "idempotency_busy": "the store of keys is busy",
    "method_not_allowed": "a replay is asked for by GET or HEAD",
    "execution_unknown_run": "there is no such run",
    "execution_io": "the run cannot be read now",
    "execution_journal": "the files of the run make no sense",
    "execution_version": "the files of the run belong to another version of this server",
}


def problem(status: int, word: str, *, retry_after: int | None = None, resource: Text = None) -> Answer:
    """A refusal as `application/problem+json` (RFC 9457), with the specification's word as its `code`. Nothing of the
    server's paths is in it.
    """
    told: dict[str, object] = {
        "type": "about:blank",
        "title": _TITLES.get(word, "keyed requests are not available now"),
        "status": status,
        "code": word,
    }
    if resource is not None:
        told["resource"] = resource
    headers = [(b"content-type", b"application/problem+json"), (b"cache-control", b"no-store")]
    if retry_after is not None:
        headers.append((b"retry-after", str(retry_after).encode()))
    return Answer(status, headers, json.dumps(told).encode())
