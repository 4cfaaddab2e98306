"""The journal of a run for asyncio: `gallivant.aio.Journal`, `Projection`, `LogReader` and `Replay`."""

from __future__ import annotations

import asyncio
import os

from . import _native, journal
from ._native import Appended, Checked, Event, Frame, Gap, Owner, Projected, Recovered, Window
from ._offload import finish, offload, offload_undone
from .errors import CancelledError, GallivantError, HandleBusyError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Any, Union

    from ._native import Redactor, TestHost

    Path = Union[str, os.PathLike[str]]

# How many seconds a thread waits at a time, where threads have to: a program that ends waits for it.
_SLICE = 0.5

# How many frames that wait are handed out before other tasks get their turn: a consumer that never waits itself would
# otherwise keep the loop for as long as rows come.
_MOST_AT_ONCE = 64


class Journal:
    """As `gallivant.journal.Journal`, awaited:

    async with await Journal.open(directory, owner, redactor) as journal:
        await journal.append(page)

    Cancelling an append that has begun lets it finish first: the page is in the journal then.
    """

    def __init__(self, journal: _native.Journal) -> None:
        self._journal = journal

    @classmethod
    async def open(cls, directory: Path, owner: Owner, redactor: Redactor, *, host: TestHost | None = None) -> Journal:
        """As `gallivant.journal.Journal.open`."""
        return cls(await _opened(_native.Journal.open, directory, owner, redactor, host=host))

    async def append(self, page: Iterable[Event]) -> Appended:
        """As `gallivant.journal.Journal.append`."""
        # Taken here, so that nobody changes the list while a thread reads it.
        return await offload(self._journal.append, list(page))

    async def recover(self) -> Recovered:
        """As `gallivant.journal.Journal.recover`."""
        return await offload(self._journal.recover)

    async def close(self) -> None:
        """As `gallivant.journal.Journal.close`."""
        await finish(self._journal.close)

    @property
    def owner(self) -> Owner:
        """Whose journal it is."""
        return self._journal.owner

    @property
    def directory(self) -> str:
        """The run's directory, as it was given."""
        return self._journal.directory

    async def __aenter__(self) -> Journal:
        return self

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<gallivant.aio.Journal directory={self.directory!r}>"


class Projection:
    """As `gallivant.journal.Projection`, awaited."""

    def __init__(self, projection: _native.Projection) -> None:
        self._projection = projection

    @classmethod
    async def open(cls, directory: Path, *, host: TestHost | None = None) -> Projection:
        """As `gallivant.journal.Projection.open`."""
        return cls(await _opened(_native.Projection.open, directory, host=host))

    async def catch_up(self) -> Projected:
        """As `gallivant.journal.Projection.catch_up`."""
        return await offload(self._projection.catch_up)

    async def trim(self, keep_bytes: int) -> Projected:
        """As `gallivant.journal.Projection.trim`."""
        return await offload(self._projection.trim, keep_bytes)

    async def close(self) -> None:
        """As `gallivant.journal.Projection.close`."""
        await finish(self._projection.close)

    @property
    def directory(self) -> str:
        """The run's directory, as it was given."""
        return self._projection.directory

    async def __aenter__(self) -> Projection:
        return self

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<gallivant.aio.Projection directory={self.directory!r}>"


class LogReader:
    """As `gallivant.journal.LogReader`, awaited."""

    def __init__(self, reader: _native.LogReader) -> None:
        self._reader = reader

    @classmethod
    async def open(cls, directory: Path, *, host: TestHost | None = None) -> LogReader:
        """As `gallivant.journal.LogReader.open`."""
        return cls(await _opened(_native.LogReader.open, directory, host=host))

    async def tail(self) -> Window:
        """As `gallivant.journal.LogReader.tail`."""
        return await offload(self._reader.tail)

    async def history(self, before: str) -> Window:
        """As `gallivant.journal.LogReader.history`."""
        return await offload(self._reader.history, before)

    async def lines(self, after: str | None = None, limit: int = 400) -> Window:
        """As `gallivant.journal.LogReader.lines`."""
        return await offload(self._reader.lines, after, limit)

    def close(self) -> None:
        """As `gallivant.journal.LogReader.close`."""
        self._reader.close()

    @property
    def directory(self) -> str:
        """The run's directory, as it was given."""
        return self._reader.directory

    async def __aenter__(self) -> LogReader:
        return self

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<gallivant.aio.LogReader directory={self.directory!r}>"


class Replay:
    """As `gallivant.journal.Replay`, awaited:

    async with await Replay.open(directory, last_event_id) as replay:
        async for frame in replay:
            ...

    Used by one task at a time. While nothing is appended no thread waits: the event loop polls the replay's descriptor, and
    what it is told of is read where it runs, which takes a few system calls. Pages of what stands there already are read on
    a thread of the pool, and so is waiting itself, where the loop polls no descriptors. Where nothing tells of changes, as when
    all of the system's watches are in use, the loop has it look once a second.

    Cancelling ends the wait at once and loses no row: the next call gives it.
    """

    def __init__(self, replay: _native.Replay) -> None:
        self._replay = replay
        # A frame whose task was cancelled before it could be handed out, and where to resume without it.
        self._kept: Frame | None = None
        self._resume = replay.resume_point
        self._in_use = False
        self._at_once = 0
        self._sign: asyncio.Future[None] | None = None

    @classmethod
    async def open(
        cls,
        directory: Path,
        last_event_id: str | None = None,
        *,
        heartbeats: bool = True,
        host: TestHost | None = None,
    ) -> Replay:
        """As `gallivant.journal.Replay.open`."""
        return cls(await _opened(_native.Replay.open, directory, last_event_id, heartbeats=heartbeats, host=host))

    async def next(self) -> Frame:
        """Waits for the next frame. For a time limit use `asyncio.wait_for` or `asyncio.timeout`.

        Raises `gallivant.CancelledError` when the replay is closed meanwhile; `ExecutionInputError` with reason `closed` once
        it is, and with reason `forked` in a forked child; `HandleBusyError` while another task uses it; and as
        `gallivant.journal.Replay.next`.
        """
        descriptor = self._begin()
        try:
            while True:
                await self._look()
                frame = self._handed_out()
                if frame is not None:
                    return frame
                if not self.closed:
                    await self._changed(descriptor)
                if self.closed and self._kept is None:
                    raise CancelledError("the replay was closed")
        finally:
            self._in_use = False

    async def poll(self) -> Frame | None:
        """The next frame, if one is there; None where there is none yet. Raises as `next`."""
        self._begin()
        try:
            await self._look()
            return self._handed_out()
        finally:
            self._in_use = False

    def close(self) -> None:
        """Closes every descriptor; a task that waits ends. Call it in the loop in which the replay is used."""
        # The loop lets go of the descriptor before it is closed.
        if self._sign is not None:
            loop = self._sign.get_loop()
            if self._replay.descriptor is not None:
                loop.remove_reader(self._replay.descriptor)
            _tell(self._sign)
        self._replay.close()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._replay.closed

    @property
    def resume_point(self) -> str | None:
        """As `gallivant.journal.Replay.resume_point`."""
        return self._resume

    @property
    def pending_bytes(self) -> int:
        """As `gallivant.journal.Replay.pending_bytes`."""
        return self._replay.pending_bytes

    @property
    def directory(self) -> str:
        """The run's directory, as it was given."""
        return self._replay.directory

    def _begin(self) -> int | None:
        descriptor = self._replay.descriptor
        if self._in_use:
            raise HandleBusyError("another task waits with this replay")
        self._in_use = True
        return descriptor

    async def _look(self) -> None:
        """Keeps the next frame, if one is there."""
        if self._kept is not None:
            return
        self._at_once += 1
        try:
            if self._replay.has_unread and self._replay.pending_bytes == 0:
                self._at_once = 0
                await offload(self._keep, 0.0)
                return
            if self._at_once > _MOST_AT_ONCE:
                self._at_once = 0
                await asyncio.sleep(0)
            self._keep(0.0)
        except GallivantError:
            if not self.closed:
                raise
            # Closed by another task meanwhile, whichever way this was told of it.
            raise CancelledError("the replay was closed") from None

    def _keep(self, timeout: float) -> None:
        """Keeps what comes, whatever becomes of the task."""
        frame = self._replay.next(timeout)
        if frame is not None:
            self._kept = frame

    def _handed_out(self) -> Frame | None:
        frame, self._kept = self._kept, None
        if frame is not None:
            self._resume = self._replay.resume_point
        return frame

    async def _changed(self, descriptor: int | None) -> None:
        """Waits until there may be something to look at."""
        loop = asyncio.get_running_loop()
        sign: asyncio.Future[None] = loop.create_future()
        timer: asyncio.TimerHandle | None = None
        if descriptor is None:
            # Nothing tells of changes, as where all of the system's watches are in use: it looks now and then.
            timer = loop.call_later(self._replay.due_in(), _tell, sign)
        else:
            try:
                loop.add_reader(descriptor, _tell, sign)
            except NotImplementedError:
                return await offload(self._keep, _SLICE)
        self._sign = sign
        self._at_once = 0
        try:
            await sign
        finally:
            self._sign = None
            if timer is not None:
                timer.cancel()
            # Closing has done it already, and by now the number may be another file's.
            elif descriptor is not None and not self.closed:
                loop.remove_reader(descriptor)

    def __aiter__(self) -> Replay:
        return self

    async def __anext__(self) -> Frame:
        """As `next`; closing the replay ends the iteration."""
        if self.closed:
            raise StopAsyncIteration
        try:
            return await self.next()
        except CancelledError:
            if self.closed:
                raise StopAsyncIteration from None
            raise

    async def __aenter__(self) -> Replay:
        return self

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._replay).replace("gallivant.journal.Replay", "gallivant.aio.Replay", 1)


async def check_journal(
    directory: Path, *, visit: Callable[[Gap], object] | None = None, host: TestHost | None = None
) -> Checked:
    """As `gallivant.journal.check`; `visit` is called on a thread of the pool."""
    return await offload(_native.check, directory, visit=visit, host=host)


async def read_run_result(directory: Path, *, host: TestHost | None = None) -> dict[str, Any] | None:
    """As `gallivant.journal.read_run_result`."""
    return await offload(journal.read_run_result, directory, host=host)


async def retention_candidates(root: Path, *, host: TestHost | None = None) -> list[str]:
    """As `gallivant.journal.retention_candidates`."""
    return await offload(_native.retention_candidates, root, host=host)


async def _opened(opening: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """What was opened on a thread. Where the task is cancelled meanwhile it is closed again, and not left to the collector."""
    return await offload_undone(lambda opened: opened.close(), opening, *args, **kwargs)


def _tell(sign: asyncio.Future[None]) -> None:
    if not sign.done():
        sign.set_result(None)
