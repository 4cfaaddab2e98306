"""Calls of the core on a thread of a pool, awaited: what everything in `gallivant.aio` stands on.

The pool is our own, and not one of `concurrent.futures`, whose way there and back costs twice as much: a queue that the
threads wait at, and one `call_soon_threadsafe` that wakes whoever awaits.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import functools
import os
import queue
import threading

from ._native import Cancel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")

# Enough for a lock wait in each of a fleet's seats; a pool of our own, so that such waits never keep the loop's
# default pool from its work.
_MOST_THREADS = 32


async def offload(function: Callable[..., T], *args: object, **kwargs: object) -> T:
    """Calls `function` on a thread. Cancelled, it ends the call's wait, and passes the cancellation on once the call is
    over.
    """
    return await offload_undone(None, function, *args, **kwargs)


async def offload_undone(
    undo: Callable[[T], object] | None, function: Callable[..., T], *args: object, **kwargs: object
) -> T:
    """As `offload`. Where it is cancelled and the call has come to something nevertheless, `undo` is called with that on a
    thread before the cancellation is passed on.
    """
    cancel = Cancel()
    call = _Call(functools.partial(cancel.run, function, *args, **kwargs))
    try:
        await call.begin()
    except asyncio.CancelledError:
        cancel.set()
        if not call.take_back():
            await call.over()
            if undo is not None and call.raised is None:
                undoing = _Call(functools.partial(undo, call.outcome()))
                undoing.begin()
                await undoing.over()
        raise
    result: T = call.outcome()
    return result


async def finish(function: Callable[..., T], *args: object, **kwargs: object) -> T:
    """Calls `function` on a thread and never ends its wait: for what is to be ended whatever becomes of the task. A
    cancellation is passed on once the call is over.
    """
    call = _Call(functools.partial(function, *args, **kwargs))
    try:
        await call.begin()
    except asyncio.CancelledError:
        await call.over()
        raise
    result: T = call.outcome()
    return result


async def told(
    cancel: Cancel | None, function: Callable[..., T], *args: object
) -> tuple[T, asyncio.CancelledError | None]:
    """Calls `function` on a thread, and gives what it came to besides a cancellation that arrived meanwhile, for whoever has
    something to do before that is passed on. `cancel` is set then, which ends the call's wait.
    """
    call = _Call(
        functools.partial(function, *args) if cancel is None else functools.partial(cancel.run, function, *args)
    )
    try:
        await call.begin()
    except asyncio.CancelledError as cancelled:
        if cancel is not None:
            cancel.set()
            if call.take_back():
                raise
        await call.over()
        if call.raised is not None:
            raise
        return call.outcome(), cancelled
    return call.outcome(), None


def submit(function: Callable[[], object]) -> None:
    """Calls `function` on a thread and waits for nothing."""
    _pool.give(function)


async def over(awaited: asyncio.Future[T]) -> None:
    """Waits until a future or task is done, whatever it comes to and however often this task is cancelled meanwhile."""
    while not awaited.done():
        try:
            await asyncio.wait((awaited,))
        except asyncio.CancelledError:
            continue
    if not awaited.cancelled():
        awaited.exception()


class _Call:
    """One call, on its way through the pool and back to the loop that awaits it. It belongs to that loop's thread, but for
    `__call__`, which a thread of the pool runs.
    """

    __slots__ = ("_context", "_function", "_is_over", "_loop", "_result", "_taken", "_waiter", "raised")

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._context = contextvars.copy_context()
        self._loop = asyncio.get_running_loop()
        # Whoever gets this decides: a thread that the call is made, the loop that it is not.
        self._taken = threading.Lock()
        self._is_over = False
        self._result: Any = None
        self._waiter = self._loop.create_future()
        self.raised: BaseException | None = None
        """What the function has raised, once it is over."""

    def begin(self) -> asyncio.Future[None]:
        """Hands it to the pool. Awaiting the answer waits for its end; cancelling that leaves the call alone."""
        _pool.give(self)
        return self._waiter

    def take_back(self) -> bool:
        """Whether it has not begun; then it never will."""
        return self._taken.acquire(blocking=False)

    async def over(self) -> None:
        """Waits until it is over, however often the task is cancelled meanwhile."""
        while not self._is_over:
            self._waiter = self._loop.create_future()
            with contextlib.suppress(asyncio.CancelledError):
                await self._waiter

    def outcome(self) -> Any:
        """What the function has returned, or what it has raised, raised. Once, when it is over."""
        if self.raised is None:
            return self._result
        try:
            raise self.raised
        finally:
            # The exception has the frames in its traceback, and would keep itself alive by this.
            self.raised = None

    def __call__(self) -> None:
        if not self._taken.acquire(blocking=False):
            return
        try:
            self._result = self._context.run(self._function)
        except BaseException as raised:
            self.raised = raised
        # Before the loop is woken, which may look at once.
        self._is_over = True
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:
            # The loop was closed: then nobody waits any more.
            pass

    def _wake(self) -> None:
        if not self._waiter.done():
            self._waiter.set_result(None)


class _Pool:
    """Threads that run one thing after the other, started as they are needed and kept."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        # How many threads wait and are meant for nothing yet. Too many where there are as many as there may be.
        self._free = 0
        self._is_ending = False

    def give(self, job: Callable[[], object]) -> None:
        """Has this called on a thread.

        Raises `RuntimeError` where there is none and none can be started, or the interpreter is ending.
        """
        with self._lock:
            if self._is_ending:
                raise RuntimeError("the interpreter is ending")
            if self._free > 0:
                self._free -= 1
            elif len(self._threads) < _MOST_THREADS:
                self._start()
            self._jobs.put(job)

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name=f"gallivant_{len(self._threads)}", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # One of those that are there takes it when it comes to it.
            if not self._threads:
                raise
        else:
            self._threads.append(thread)

    def _run(self) -> None:
        jobs, lock = self._jobs, self._lock
        while (job := jobs.get()) is not None:
            try:
                job()
            except BaseException:
                # Nobody is there to be told.
                pass
            # Whatever it holds is let go of before the wait.
            del job
            with lock:
                self._free += 1

    def end(self) -> None:
        """Waits until everything that was given is over. A thread that were still in the core when the interpreter goes would
        be stopped in the middle.
        """
        with self._lock:
            self._is_ending = True
            threads = list(self._threads)
        for _ in threads:
            self._jobs.put(None)
        for thread in threads:
            thread.join()


_pool = _Pool()


def _end_pool() -> None:
    _pool.end()


def _new_pool() -> None:
    """A child has none of its parent's threads."""
    global _pool
    _pool = _Pool()


atexit.register(_end_pool)
os.register_at_fork(after_in_child=_new_pool)
