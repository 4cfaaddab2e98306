"""The host driver for threads: carries a machine's calls out by methods that block (EX-TRA-35).

It has no rule of its own but the waiting. A method runs on a daemon thread beside the caller's, so that one that never returns
can be left alone. A thread whose method has returned waits a while for the next one, which spares half of what a call costs.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
import time

from . import _native
from ._execution_transport import GRACE, LONG_PAUSE, SHORT_PAUSE, Bell, Signal, TransportCall, TransportError
from ._execution_transport import failure_json, python_name, reply_text, tell_over
from .errors import ExecutionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Optional, Union

    from ._native import Call, Done, Machine

    # Feeds the end of a call to its machine.
    End = Callable[[Machine, int], Union[Call, Done]]


# How many seconds a thread without a method stays.
IDLE = 10.0

# What a call is refused with whose boundary was closed: in its wait for the lock, and later.
ENDED_BY_CLOSING = ("aborted", "reply")


def reply_end(text: str) -> End:
    """The method returned this text."""
    return lambda machine, id: machine.reply(id, text)


def failure_end(raised: BaseException) -> End:
    """The method raised this."""
    error_json = failure_json(raised)
    return lambda machine, id: machine.fail(id, error_json)


def deadline_end(machine: Machine, id: int) -> Call | Done:
    """The method has not ended at its deadline."""
    return machine.deadline(id)


def abort_end(machine: Machine, id: int) -> Call | Done:
    """The caller has given the call up."""
    return machine.abort(id)


class Ports:
    """Whom a machine's calls are for, and what every call is told."""

    def __init__(
        self, boundary: _native.Boundary, transport: object | None, runner: object | None, limits: Mapping[str, int]
    ) -> None:
        self.boundary = boundary
        self._objects = {"transport": transport, "process": runner}
        self._limits = limits

    def call(self, step: Call) -> TransportCall:
        """What the method is given."""
        return TransportCall(
            step.method,
            step.input_json,
            deadline_at=step.deadline_at,
            limits=self._limits,
            now_ms=self.boundary.now_ms,
        )

    def method(self, step: Call) -> Callable[[TransportCall], Any]:
        """The method that a step asks for.

        Raises `TransportError` where there is nobody to ask.
        """
        method: Optional[Callable[[TransportCall], Any]] = getattr(
            self._objects.get(step.port), python_name(step.method), None
        )
        if method is None:
            raise TransportError("io", f"there is no such method, port=`{step.port}` method=`{step.method}`")
        return method


class Driver:
    """Drives the machines of one boundary, each on the thread that calls."""

    def __init__(self, ports: Ports, *, watches_clock: bool) -> None:
        self._ports = ports
        # Where a test may move the clock, nothing else tells of the deadline.
        self._pause = SHORT_PAUSE if watches_clock else LONG_PAUSE
        self._lock = threading.Lock()
        self._open: dict[Signal, _native.AbortToken] = {}

    def run(self, method: str, input_json: str, signal: Signal | None, *, ports: Ports | None = None) -> str:
        """Calls a method of the boundary to its end, with ports of its own where they are given. Gives JSON text."""
        token, given_up = _native.AbortToken(), Signal()
        called = self._ports.boundary.call(method, input_json, token)
        if isinstance(called, str):
            return called
        given_up.on_fire(token.abort)
        forget = signal.on_fire(given_up.fire) if signal is not None else None
        with self._lock:
            self._open[given_up] = token
        try:
            with called as machine:
                return self._drive(machine, given_up, ports or self._ports)
        except ExecutionError as refused:
            if refused.reason in ENDED_BY_CLOSING:
                # Perhaps the machine went with its boundary, which then says that it is closed.
                self._ports.boundary.refuse_closed()
            raise
        finally:
            with self._lock:
                del self._open[given_up]
            if forget is not None:
                forget()

    def close(self) -> None:
        """Lets go of the boundary and its machines, and ends every call that runs."""
        with self._lock:
            still_open = list(self._open.items())
        # A step that waits for the task's lock would be waited for.
        for _, token in still_open:
            token.abort()
        self._ports.boundary.close()
        for given_up, _ in still_open:
            given_up.fire()

    def _drive(self, machine: Machine, given_up: Signal, ports: Ports) -> str:
        raised: BaseException | None = None
        step = machine.start()
        while isinstance(step, _native.Call):
            if raised is not None:
                # Whoever calls has gone: what the machine asks for besides is given up unasked.
                step = machine.abort(step.id)
                continue
            call = ports.call(step)
            try:
                end = self._carry_out(step, call, given_up, ports)
            except BaseException as interrupt:
                raised, end = interrupt, abort_end
            try:
                if call.is_sending:
                    machine.sending(step.id)
                step = end(machine, step.id)
            except BaseException:
                # The machine has gone, and its method is told.
                tell_over(call)
                raise
        if raised is not None:
            raise raised
        return step.result_json()

    def _carry_out(self, step: Call, call: TransportCall, given_up: Signal, ports: Ports) -> End:
        if given_up.fired or _native.cancel_state():
            tell_over(call)
            return abort_end
        running = _Running(ports, step, call)
        forget = given_up.on_fire(running.woken.ring)
        try:
            if not running.start():
                return running.end or abort_end
            end = self._wait(running, call, given_up)
            if end is not None:
                return end
            is_given_up = given_up.fired or _native.cancel_state()
            self._let_end(running, call)
            return abort_end if is_given_up else deadline_end
        except BaseException:
            # A signal handler has raised: the method is told, and has its time to end.
            self._let_end(running, call)
            raise
        finally:
            forget()

    def _wait(self, running: _Running, call: TransportCall, given_up: Signal) -> End | None:
        """Waits for the method's end; None at its deadline, or where the caller gave up."""
        # Also where the wall clock goes back, the call has its time and no more.
        last = time.monotonic() + call.seconds_left()
        while True:
            if running.end is not None:
                return running.end
            cancelled = _native.cancel_state()
            left = min(call.seconds_left(), last - time.monotonic())
            if given_up.fired or cancelled or left <= 0:
                return None
            running.woken.wait(min(left, self._pause if cancelled is None else SHORT_PAUSE))

    @staticmethod
    def _let_end(running: _Running, call: TransportCall) -> None:
        """Fires the method's signal, and gives it its time. What it answers is not read."""
        tell_over(call)
        running.ended.wait(GRACE)


class _Running:
    """A method on its thread."""

    def __init__(self, ports: Ports, step: Call, call: TransportCall) -> None:
        self.woken = Bell()
        self.ended = threading.Event()
        self.end: End | None = None
        self._ports = ports
        self._step = step
        self._call = call

    def start(self) -> bool:
        """Whether the method runs; where it does not, `end` says why."""
        context = contextvars.copy_context()
        try:
            run_beside(lambda: context.run(self._run))
        except RuntimeError as failed:
            self.end = failure_end(failed)
            return False
        return True

    def _run(self) -> None:
        try:
            self.end = reply_end(reply_text(self._ports.method(self._step)(self._call)))
        except BaseException as raised:
            self.end = failure_end(raised)
        finally:
            self.ended.set()
            self.woken.ring()


class _Worker:
    """A daemon thread that runs one thing after the other."""

    def __init__(self) -> None:
        self._job: Callable[[], object] | None = None
        # Let go of when there is something to run.
        self._given = threading.Lock()
        self._given.acquire()

    def start(self, job: Callable[[], object]) -> None:
        threading.Thread(target=self._run, args=(job,), name="gallivant-transport", daemon=True).start()

    def give(self, job: Callable[[], object]) -> None:
        """For a worker that was taken out of those that are idle."""
        self._job = job
        self._given.release()

    def _run(self, job: Callable[[], object] | None) -> None:
        while job is not None:
            job()
            # Whatever it holds is let go of before the wait.
            job = None
            _idle.append(self)
            if not self._given.acquire(timeout=IDLE):
                try:
                    _idle.remove(self)
                except ValueError:
                    # Somebody has just taken it, and is about to give.
                    self._given.acquire()
                else:
                    return
            job, self._job = self._job, None


_idle: list[_Worker] = []

# A child has none of its parent's threads.
os.register_at_fork(after_in_child=_idle.clear)


def run_beside(job: Callable[[], object]) -> None:
    """Runs something that raises nothing on a thread beside this one.

    Raises `RuntimeError` where no thread can be started, or the interpreter is ending: none would ever run again.
    """
    if sys.is_finalizing():
        raise RuntimeError("the interpreter is ending")
    try:
        worker = _idle.pop()
    except IndexError:
        _Worker().start(job)
    else:
        worker.give(job)
