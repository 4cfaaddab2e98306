"""Lanes for threads: many tasks, at most so many at a time (EX-SCH-25 to EX-SCH-31). Which may start now is the core's to say."""

from __future__ import annotations

import threading
import time

from . import _native
from ._execution_driver import run_beside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Optional

    from ._execution_health import HealthStore
    from ._execution_transport import Signal
    from .execution import Execution

CONCURRENCY: int = next(
    default for name, default, _, _ in _native.execution_constants()["EXECUTION_LIMITS"] if name == "concurrency"
)

# How a lane looks at what wakes nobody: a probe that is recorded by somebody else, in seconds.
_LOOK = 0.05


class Settled:
    """What a task of a lane came to: its `value`, or the `error` that it raised. `is_refused` is true for a dispatch whose probe has
    not brought back authority, or was not over in time: it has not run.
    """

    def __init__(self, value: Any = None, error: BaseException | None = None, is_refused: bool = False) -> None:
        self.value = value
        self.error = error
        self.is_refused = is_refused

    def result(self) -> Any:
        """The value; raises the error where there is one."""
        if self.error is not None:
            raise self.error
        return self.value

    def __repr__(self) -> str:
        if self.is_refused:
            return "<gallivant.execution.Settled refused>"
        return f"<gallivant.execution.Settled {'value' if self.error is None else 'error'}>"


def settled(task: Callable[[], Any]) -> Settled:
    """What a task comes to."""
    try:
        return Settled(task())
    except BaseException as raised:
        return Settled(error=raised)


class _Running:
    """The tasks of a lane that run, each on a thread beside the lane's."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ended: list[tuple[int, Settled]] = []

    def start(self, number: int, task: Callable[[], Any]) -> None:
        def run() -> None:
            self._end(number, settled(task))

        try:
            run_beside(run)
        except RuntimeError as failed:
            # There is no thread for it: it has failed alone.
            self._end(number, Settled(error=failed))

    def ended(self, timeout: Optional[float]) -> list[tuple[int, Settled]]:
        """Those that have ended since the last time; waits until there is one."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended, timeout)
            ended, self._ended = self._ended, []
        return ended

    def _end(self, number: int, result: Settled) -> None:
        with self._changed:
            self._ended.append((number, result))
            self._changed.notify()


def run_lane(tasks: Iterable[Callable[[], Any]], concurrency: int = CONCURRENCY) -> list[Settled]:
    """Runs tasks, at most `concurrency` at a time (1 to 64), and gives what each has come to, in their order. One that is slow or
    raises holds its own slot only. Raises `ExecutionInputError` for a concurrency out of range; nothing has run then.
    """
    wanted = list(tasks)
    lane = _native.Lane(len(wanted), concurrency)
    running, results = _Running(), [Settled() for _ in wanted]
    count = 0
    while True:
        number = lane.start_next()
        while number is not None:
            count += 1
            running.start(number, wanted[number])
            number = lane.start_next()
        if count == 0:
            return results
        for ended, result in running.ended(None):
            count -= 1
            results[ended] = result
            lane.end(ended)


def run_progress_lane(
    executions: Iterable[Execution], *, concurrency: int = CONCURRENCY, signal: Signal | None = None
) -> list[tuple[Execution, Settled]]:
    """One pass of each boundary that is due, and its report or what it raised, in their order. Those that are not due are left out. A
    settled run stays due (EX-REC-05): hand in those whose `inspect` says `live`.
    """
    boundaries = list(executions)
    not_due = object()

    def task(execution: Execution) -> Callable[[], Any]:
        return lambda: execution.reconcile(signal=signal) if execution.is_due() else not_due

    results = run_lane([task(execution) for execution in boundaries], concurrency)
    return [(execution, result) for execution, result in zip(boundaries, results) if result.value is not not_due]


def run_dispatch_lane(
    store: HealthStore,
    dispatches: Iterable[tuple[tuple[str, str], Callable[[], Any]]],
    *,
    timeout: float,
    concurrency: int = CONCURRENCY,
    signal: Signal | None = None,
) -> list[Settled]:
    """Dispatches that were refused by health, as pairs of the account (`(provider, account)`) and a function that dispatches with all
    checks: each once more after the probe that is under way for its account in this store, if that has succeeded. What waits for no
    probe, for one that fails, and for one that is not over after `timeout` seconds or when `signal` fires, stays refused. Begins no
    probe.
    """
    wanted = list(dispatches)
    lane = _native.DispatchLane(store, [scope for scope, _ in wanted], concurrency)
    running, results = _Running(), [Settled(is_refused=True) for _ in wanted]
    last = time.monotonic() + timeout
    count = 0
    while True:
        if time.monotonic() >= last or (signal is not None and signal.fired):
            lane.give_up()
        number = lane.retry_next()
        while number is not None:
            count += 1
            running.start(number, wanted[number][1])
            number = lane.retry_next()
        if count == 0 and not lane.is_waiting():
            return results
        for ended, result in running.ended(_LOOK if lane.is_waiting() else None):
            count -= 1
            results[ended] = result
            lane.end(ended)
