"""Calls of the core on a thread of a pool, awaited: what everything in `gallivant.aio` stands on."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import functools
import os

from ._native import Cancel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

# Enough for a lock wait in each of a fleet's seats; a pool of our own, so that such waits never keep the loop's
# default pool from its work.
_MOST_THREADS = 32
_pool: concurrent.futures.ThreadPoolExecutor | None = None


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
    call = functools.partial(cancel.run, function, *args, **kwargs)
    running: concurrent.futures.Future[T] = _executor().submit(contextvars.copy_context().run, call)
    awaited = asyncio.wrap_future(running)
    try:
        # Cancelling this leaves the future alone.
        await asyncio.wait((awaited,))
    except asyncio.CancelledError:
        cancel.set()
        if not running.cancel():
            await over(awaited)
            if undo is not None and running.exception() is None:
                await over(asyncio.wrap_future(_executor().submit(undo, running.result())))
        raise
    return awaited.result()


async def finish(function: Callable[..., T], *args: object, **kwargs: object) -> T:
    """Calls `function` on a thread and never ends its wait: for what is to be ended whatever becomes of the task. A
    cancellation is passed on once the call is over.
    """
    call = functools.partial(function, *args, **kwargs)
    running: concurrent.futures.Future[T] = _executor().submit(contextvars.copy_context().run, call)
    awaited = asyncio.wrap_future(running)
    try:
        await asyncio.wait((awaited,))
    except asyncio.CancelledError:
        await over(awaited)
        raise
    return awaited.result()


async def told(
    cancel: Cancel | None, function: Callable[..., T], *args: object
) -> tuple[T, asyncio.CancelledError | None]:
    """Calls `function` on a thread, and gives what it came to besides a cancellation that arrived meanwhile, for whoever has
    something to do before that is passed on. `cancel` is set then, which ends the call's wait.
    """
    call = functools.partial(function, *args) if cancel is None else functools.partial(cancel.run, function, *args)
    running: concurrent.futures.Future[T] = _executor().submit(contextvars.copy_context().run, call)
    awaited = asyncio.wrap_future(running)
    try:
        await asyncio.wait((awaited,))
    except asyncio.CancelledError as cancelled:
        if cancel is not None:
            cancel.set()
            if running.cancel():
                raise
        await over(awaited)
        if running.exception() is not None:
            raise
        return running.result(), cancelled
    return awaited.result(), None


def submit(function: Callable[[], object]) -> None:
    """Calls `function` on a thread and waits for nothing."""
    _executor().submit(function)


async def over(awaited: asyncio.Future[T]) -> None:
    """Waits until a call is over, whatever it comes to and however often the task is cancelled meanwhile."""
    while not awaited.done():
        try:
            await asyncio.wait((awaited,))
        except asyncio.CancelledError:
            continue
    if not awaited.cancelled():
        awaited.exception()


def _executor() -> concurrent.futures.ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = concurrent.futures.ThreadPoolExecutor(_MOST_THREADS, "gallivant")
    return _pool


def _forget_pool() -> None:
    """A child has none of its parent's threads."""
    global _pool
    _pool = None


os.register_at_fork(after_in_child=_forget_pool)
