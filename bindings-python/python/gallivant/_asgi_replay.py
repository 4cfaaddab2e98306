"""A run's replay as server-sent events: `gallivant.asgi.ReplayResponse`, and `ReplayApp` over many runs."""

from __future__ import annotations

import asyncio
import inspect
import os

from ._aio_journal import Replay
from ._asgi_messages import Answer, problem
from ._offload import over
from .errors import GallivantError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from typing import Union

    from ._asgi_messages import Header, Receive, Scope, Send
    from ._native import Frame, TestHost

    Path = Union[str, os.PathLike[str]]

# Frames that wait already go out in one message, up to about so many bytes: a message costs more than a short frame.
_PART = 65536

# A stream is of this moment. Whatever compresses or buffers it on its way would hold events back.
_HEADERS: tuple[Header, ...] = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store, no-transform"),
    (b"x-accel-buffering", b"no"),
)

_METHODS = b"GET, HEAD"


class ReplayResponse:
    """An ASGI application that answers a request with the lines of one run, those that stand there and those to come, as
    server-sent events. An endpoint of Starlette returns it like any response.

    `directory` is the run's. The stream goes on after the request's `Last-Event-ID`; where it has none, after `last_event_id`,
    so that a page which has shown lines already gets no line twice (a browser sends no header when it connects first).
    `headers` are further headers, as ASGI has them.

    Each event is `line` or `gap`, its id that of the row, its data the row as JSON. A heartbeat after 20 seconds without an
    event is a comment and moves no id. While the client does not read nothing is read from the disk, and no row is lost by it.
    The stream ends when the client leaves, when the server cancels it, and when the run cannot be read any more, which is
    logged; nothing of it is left then. HEAD is answered with the headers alone, other methods with 405, a run that is not
    there with 404.
    """

    def __init__(
        self,
        directory: Path,
        *,
        last_event_id: str | None = None,
        headers: Iterable[Header] = (),
        host: TestHost | None = None,
    ) -> None:
        self._directory = directory
        self._last_event_id = last_event_id
        self._headers = [*_HEADERS, *headers]
        self._host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = _refused_scope(scope)
        if refused is not None:
            return await refused.send(send)
        after = _last_event_id(scope) or self._last_event_id
        try:
            replay = await Replay.open(self._directory, after, host=self._host)
        except GallivantError as error:
            return await _refusal(error).send(send)
        async with replay:
            try:
                # Before the status is said, so that it says what is wrong with the run's files.
                first = await replay.poll()
            except GallivantError as error:
                return await _refusal(error).send(send)
            await send({"type": "http.response.start", "status": 200, "headers": self._headers})
            if scope["method"] == "HEAD":
                return await send({"type": "http.response.body", "body": b"", "more_body": False})
            # Some servers keep the headers back until there is a part of the body, which may take 20 seconds.
            await send({"type": "http.response.body", "body": b"", "more_body": True})
            await _streamed(replay, first, receive, send)


class ReplayApp:
    """An ASGI application over many runs.

        app.mount("/runs", ReplayApp(lambda scope: directory_of_run(scope["path"])))

    `locate(scope)` answers a run's directory, a `ReplayResponse` where more is to be said of it, or None for 404. It may be a
    coroutine function. Whether the client may see the run, and whether what it names is a run at all and no path out of its
    root, is decided there.
    """

    def __init__(
        self, locate: Callable[[Scope], Path | ReplayResponse | None | Awaitable[Path | ReplayResponse | None]]
    ) -> None:
        self._locate = locate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = _refused_scope(scope)
        if refused is not None:
            return await refused.send(send)
        located = self._locate(scope)
        found = await located if inspect.isawaitable(located) else located
        if found is None:
            return await problem(404, "execution_unknown_run").send(send)
        response = found if isinstance(found, ReplayResponse) else ReplayResponse(found)
        return await response(scope, receive, send)


def _refused_scope(scope: Scope) -> Answer | None:
    if scope["type"] != "http":
        # As an application does that has no lifespan and no websockets: a server takes this for an answer.
        raise NotImplementedError(f"a replay answers requests of HTTP and not of {scope['type']}")
    if scope["method"] in ("GET", "HEAD"):
        return None
    answer = problem(405, "method_not_allowed")
    answer.headers.append((b"allow", _METHODS))
    return answer


def _last_event_id(scope: Scope) -> str | None:
    """What the client has last; None where it says nothing. What is no UTF-8 is no row's id, which the replay says."""
    values = [value for name, value in scope["headers"] if name.lower() == b"last-event-id"]
    return values[-1].decode("utf-8", "replace") or None if values else None


def _refusal(error: GallivantError) -> Answer:
    """The answer for a run that cannot be read. Nothing of the server's paths is in it."""
    if error.code == "EXECUTION_UNKNOWN_RUN":
        return problem(404, error.code.lower())
    _log(error)
    return problem(503 if error.kind in ("busy", "unavailable") else 500, error.code.lower())


async def _streamed(replay: Replay, first: Frame | None, receive: Receive, send: Send) -> None:
    """Sends frames until the client has gone. Both tasks are over when this is, whatever it ends by."""
    sending = asyncio.ensure_future(_sent(replay, first, send))
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, leaving):
            task.cancel()
        for task in (sending, leaving):
            await over(task)
    for task in (sending, leaving):
        failed = None if task.cancelled() else task.exception()
        # A server may say so by the error of its transport that the client has gone.
        if failed is not None and not isinstance(failed, OSError):
            raise failed


async def _sent(replay: Replay, frame: Frame | None, send: Send) -> None:
    try:
        while True:
            frame = frame or await replay.next()
            parts = [frame.to_sse()]
            size = len(parts[0])
            while size < _PART and replay.pending_bytes > 0:
                frame = await replay.poll()
                if frame is None:
                    break
                parts.append(frame.to_sse())
                size += len(parts[-1])
            # The client's own pace: while this waits nothing is read.
            await send({"type": "http.response.body", "body": b"".join(parts), "more_body": True})
            frame = None
    except GallivantError as error:
        _log(error)
        # In order, so that the client comes back with the last id that it has.
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _log(error: GallivantError) -> None:
    # Imported where it is needed: most servers never get here.
    import logging

    logging.getLogger("gallivant").error("%s; %s", error, error.remedy)
