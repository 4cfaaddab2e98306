"""`gallivant.aio.Watch`: told of changes in an event loop, which polls the watch's descriptor."""

from __future__ import annotations

import asyncio
import inspect
import os

from . import _native
from ._native import Change, Options, ProcessIdentity, Record
from ._offload import offload
from .errors import CancelledError, HandleBusyError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType
    from typing import Union

    from typing_extensions import TypeGuard

    from ._native import TestHost

    Path = Union[str, os.PathLike[str]]
    Answer = Union[str, bool, None]
    PlainProbe = Union[str, ProcessIdentity, Callable[[Record], Answer], None]

# How many seconds a thread waits at a time, where threads have to: a program that ends waits for it.
_SLICE = 0.5


class Watch:
    """As `gallivant.Watch`, awaited:

    async with Watch.fleet("/srv/agents") as watch:
        async for change in watch:
            ...

    Made by `Watch.record` and `Watch.fleet`, and used by one task at a time. While nothing changes no thread waits: the
    event loop polls the watch's descriptor, and what it is told of is looked at where it runs, which takes a few system
    calls a change. Three things are done on a thread of the pool: the first look, which reads everything; all looks of a
    watch whose probe is a function; and waiting itself, where the platform has no descriptor or the loop polls none.

    Cancelling ends the wait at once and loses no change: the next call tells it.
    """

    def __init__(self, watch: _native.Watch, *, looks_on_thread: bool = False) -> None:
        self._watch = watch
        # The first look walks the tree.
        self._is_new = True
        self._looks_on_thread = looks_on_thread
        # A change whose task was cancelled before it could be handed out.
        self._kept: Change | None = None
        self._in_use = False
        self._sign: asyncio.Future[None] | None = None

    @classmethod
    def record(
        cls,
        path: Path,
        *,
        probe: PlainProbe = None,
        poll_interval_ms: int | None = None,
        probe_interval_ms: int | None = None,
        settle_ms: int | None = None,
        options: Options | None = None,
        host: TestHost | None = None,
    ) -> Watch:
        """As `gallivant.Watch.record`. The probe is no coroutine function: it is asked in the middle of a look."""
        if is_coroutine_function(probe):
            raise TypeError("the probe of a watch is a plain function and no coroutine function")
        watch = _native.Watch.record(
            path,
            probe=probe,
            poll_interval_ms=poll_interval_ms,
            probe_interval_ms=probe_interval_ms,
            settle_ms=settle_ms,
            options=options,
            host=host,
        )
        return cls(watch, looks_on_thread=callable(probe))

    @classmethod
    def fleet(
        cls,
        root: Path,
        *,
        max_depth: int | None = None,
        max_records: int | None = None,
        max_directories: int | None = None,
        probe: str | None = None,
        poll_interval_ms: int | None = None,
        probe_interval_ms: int | None = None,
        settle_ms: int | None = None,
        options: Options | None = None,
        host: TestHost | None = None,
    ) -> Watch:
        """As `gallivant.Watch.fleet`."""
        watch = _native.Watch.fleet(
            root,
            max_depth=max_depth,
            max_records=max_records,
            max_directories=max_directories,
            probe=probe,
            poll_interval_ms=poll_interval_ms,
            probe_interval_ms=probe_interval_ms,
            settle_ms=settle_ms,
            options=options,
            host=host,
        )
        return cls(watch)

    async def next(self) -> Change:
        """Waits for the next change. For a time limit use `asyncio.wait_for` or `asyncio.timeout`.

        Raises `gallivant.CancelledError` when the watch is closed meanwhile; `HarnessStateInputError` with reason `closed`
        once it is, and with reason `forked` in a forked child; `HandleBusyError` while another task uses it.
        """
        descriptor = self._watch.descriptor
        if self._in_use:
            raise HandleBusyError("another task waits with this watch")
        self._in_use = True
        try:
            return await self._changed(descriptor)
        finally:
            self._in_use = False

    def close(self) -> None:
        """Closes every descriptor; a task that waits ends. Call it in the loop in which the watch is used."""
        # The loop lets go of the descriptor before it is closed.
        if self._sign is not None:
            loop = self._sign.get_loop()
            if self._watch.descriptor is not None:
                loop.remove_reader(self._watch.descriptor)
            _tell(self._sign)
        self._watch.close()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._watch.closed

    @property
    def path(self) -> str:
        """The path that is watched, as it was given."""
        return self._watch.path

    async def _changed(self, descriptor: int | None) -> Change:
        while True:
            if self._kept is None:
                if self._is_new or self._looks_on_thread:
                    await offload(self._look, 0.0)
                    self._is_new = False
                else:
                    self._look(0.0)
            if self._kept is not None:
                change, self._kept = self._kept, None
                return change
            if not self.closed and (descriptor is None or not await self._readable(descriptor)):
                await offload(self._look, _SLICE)
            if self.closed and self._kept is None:
                raise CancelledError("the watch was closed")

    def _look(self, timeout: float) -> None:
        """Keeps what is told, whatever becomes of the task."""
        change = self._watch.next(timeout)
        if change is not None:
            self._kept = change

    async def _readable(self, descriptor: int) -> bool:
        """Waits until the watch has something to look at; False where the loop polls no descriptors."""
        loop = asyncio.get_running_loop()
        sign: asyncio.Future[None] = loop.create_future()
        try:
            loop.add_reader(descriptor, _tell, sign)
        except NotImplementedError:
            return False
        self._sign = sign
        try:
            await sign
        finally:
            self._sign = None
            # Closing has done it already, and by now the number may be another file's.
            if not self.closed:
                loop.remove_reader(descriptor)
        return True

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Change:
        """As `next`; closing the watch ends the iteration."""
        if self.closed:
            raise StopAsyncIteration
        try:
            return await self.next()
        except CancelledError:
            if self.closed:
                raise StopAsyncIteration from None
            raise

    async def __aenter__(self) -> Watch:
        return self

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._watch).replace("gallivant.Watch", "gallivant.aio.Watch", 1)


def is_coroutine_function(probe: object) -> TypeGuard[Callable[[Record], Awaitable[Answer]]]:
    """Whether what it answers is to be awaited."""
    called = getattr(probe, "__call__", None)
    return inspect.iscoroutinefunction(probe) or inspect.iscoroutinefunction(called)


def _tell(sign: asyncio.Future[None]) -> None:
    if not sign.done():
        sign.set_result(None)
