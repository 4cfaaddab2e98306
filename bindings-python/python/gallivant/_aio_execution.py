"""The execution layer for asyncio: `gallivant.aio.AsyncExecution`, and the host driver under it."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time

from . import _native
from ._execution_driver import ENDED_BY_CLOSING, Ports, abort_end, deadline_end, failure_end, reply_end
from ._execution_health import HealthStore
from ._execution_json import text_of, value_of
from ._execution_registry import ExecutionRegistry, made_boundary
from ._execution_transport import GRACE, LONG_PAUSE, SHORT_PAUSE, AsyncTransport, TransportCall, reply_text, tell_over
from ._native import AbortToken, Cancel
from ._offload import finish, offload, over, told
from .errors import ExecutionBusyError, ExecutionError
from .execution import _kill, _lost, _stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    import decimal
    import os
    from collections.abc import Iterable, Mapping
    from types import TracebackType
    from typing import Any, Union

    from ._execution_driver import End
    from ._native import Call, Done, Machine, TestHost

    Path = Union[str, os.PathLike[str]]
    Document = Union[Mapping[str, Any], str]


class _Driver:
    """Drives the machines of one boundary in an event loop. A step, which reads and writes files, runs on a thread of the pool."""

    def __init__(self, ports: Ports, *, watches_clock: bool) -> None:
        self._ports = ports
        self._clock = _Clock(SHORT_PAUSE if watches_clock else LONG_PAUSE)
        self._tokens: set[AbortToken] = set()
        self._running: set[_Asked] = set()

    @property
    def boundary(self) -> _native.Boundary:
        """The boundary whose machines it drives."""
        return self._ports.boundary

    async def run(self, method: str, input_json: str, *, ports: Ports | None = None) -> str:
        """Calls a method of the boundary to its end, with ports of its own where they are given. Gives JSON text."""
        token = AbortToken()
        self._tokens.add(token)
        try:
            begun, cancelled = await told(Cancel(), self._begin, method, input_json, token)
            if not isinstance(begun, str):
                return await self._drive(*begun, cancelled, ports or self._ports)
            if cancelled is not None:
                raise cancelled
            return begun
        except ExecutionError as refused:
            if refused.reason in ENDED_BY_CLOSING:
                # Perhaps the machine went with its boundary, which then says that it is closed.
                self._ports.boundary.refuse_closed()
            raise
        finally:
            self._tokens.discard(token)

    def _begin(self, method: str, input_json: str, token: AbortToken) -> str | tuple[Machine, Call | Done]:
        """What a method that reads gives, or a machine with its first step: in one go, as every way to the pool costs."""
        called = self._ports.boundary.call(method, input_json, token)
        if isinstance(called, str):
            return called
        try:
            return called, called.start()
        except BaseException:
            called.close()
            raise

    async def close(self) -> None:
        """Lets go of the boundary and its machines, and ends every call that runs."""
        # A step that waits for the task's lock would be waited for.
        for token in self._tokens:
            token.abort()
        await finish(self._ports.boundary.close)
        for asked in list(self._running):
            asked.stop()

    async def _drive(
        self, machine: Machine, step: Call | Done, cancelled: asyncio.CancelledError | None, ports: Ports
    ) -> str:
        try:
            while isinstance(step, _native.Call):
                if cancelled is not None:
                    # Whoever awaits has gone: what the machine asks for is given up unasked.
                    end: End = abort_end
                else:
                    call = ports.call(step)
                    try:
                        end = await self._carry_out(step, call, ports)
                    except asyncio.CancelledError as stop:
                        cancelled, end = stop, abort_end
                    if call.is_sending:
                        machine.sending(step.id)
                step, late = await told(None, _stepped, machine, step.id, end)
                cancelled = cancelled or late
        except BaseException:
            await finish(machine.close)
            raise
        if cancelled is not None:
            raise cancelled
        return step.result_json()

    async def _carry_out(self, step: Call, call: TransportCall, ports: Ports) -> End:
        asked = _Asked(step, call, ports)
        self._running.add(asked)
        try:
            if await asked.wait(self._clock):
                return asked.end()
            await asked.let_end()
            return deadline_end
        except asyncio.CancelledError:
            await over(asyncio.ensure_future(asked.let_end()))
            raise
        finally:
            self._running.discard(asked)


def _stepped(machine: Machine, id: int, end: End) -> Call | Done:
    """Feeds the end of a call, and lets go of a machine that has come to its own: all that the disk is for, in one go."""
    step = end(machine, id)
    if isinstance(step, _native.Done):
        machine.close()
    return step


class _Asked:
    """A method, in a task of its own, and the wait for it. Cancelling the wait leaves the task alone."""

    def __init__(self, step: Call, call: TransportCall, ports: Ports) -> None:
        self._step = step
        self._call = call
        self._ports = ports
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._task: asyncio.Task[End] = self._loop.create_task(self._run())
        self._task.add_done_callback(self._ended)

    async def wait(self, clock: _Clock) -> bool:
        """Waits for its end. Whether it ended before its deadline."""
        left = self._call.seconds_left()
        # Also where the wall clock goes back, the call has its time and no more.
        last = time.monotonic() + left
        while left > 0:
            self._waiter = self._loop.create_future()
            clock.add(self, left)
            try:
                await self._waiter
            finally:
                clock.remove(self)
            if self._task.done():
                return True
            left = min(self._call.seconds_left(), last - time.monotonic())
        return self._task.done()

    def end(self) -> End:
        """What it has come to."""
        return abort_end if self._task.cancelled() else self._task.result()

    def stop(self) -> None:
        """Tells it that it is over."""
        tell_over(self._call)
        self._task.cancel()

    async def let_end(self) -> None:
        """The same, and gives it its time. What it answers is not read."""
        self.stop()
        await asyncio.wait((self._task,), timeout=GRACE)

    async def _run(self) -> End:
        try:
            reply = self._ports.method(self._step)(self._call)
            return reply_end(reply_text(await reply if inspect.isawaitable(reply) else reply))
        except asyncio.CancelledError:
            if self._call.signal.fired:
                raise
            # By itself, and not because anybody gave it up: it has failed.
            return failure_end(RuntimeError("the method was cancelled"))
        except Exception as raised:
            return failure_end(raised)
        finally:
            # Whoever waits goes on a turn of the loop earlier than by the task's own callback.
            self.wake()

    def _ended(self, task: asyncio.Task[End]) -> None:
        # One that is left alone is not to be told of when it ends after all.
        if not task.cancelled():
            task.exception()
        # It may have been cancelled before it ran.
        self.wake()

    def wake(self) -> None:
        """Has the wait look again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class _Clock:
    """Has those that wait for methods look at the machine's clock: when the first of them may be late, and once in so many
    seconds. One timer serves all, since hardly any method is ever late.
    """

    def __init__(self, pause: float) -> None:
        self._pause = pause
        self._waiting: set[_Asked] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def add(self, asked: _Asked, seconds: float) -> None:
        """Wakes it in so many seconds at the latest."""
        loop = asyncio.get_running_loop()
        due = loop.time() + min(seconds, self._pause)
        self._waiting.add(asked)
        if self._timer is None or self._loop is not loop or due < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            self._loop, self._timer = loop, loop.call_at(due, self._ring)

    def remove(self, asked: _Asked) -> None:
        """Forgets it. The timer stays for those that follow."""
        self._waiting.discard(asked)

    def _ring(self) -> None:
        self._timer = None
        for asked in self._waiting:
            asked.wake()


class AsyncExecution:
    """As `gallivant.execution.Execution`, awaited, with a transport whose methods are coroutines. Made by
    `AsyncExecution.make`; an asynchronous context manager.

    A method whose call is over is cancelled, and left alone when it has not ended 1 s later. Cancelling the task that awaits a
    call ends its wait for the task's lock with nothing written; an outstanding call of the transport is given up, so that the
    acceptance of a dispatch stays unknown. Either way the cancellation is passed on once what is to be saved is saved.
    """

    def __init__(
        self,
        boundary: _native.Boundary,
        *,
        transport: AsyncTransport | None = None,
        runner: object | None = None,
        host: TestHost | None = None,
    ) -> None:
        limits: dict[str, int] = value_of(boundary.limits_json)
        self.limits = limits
        """The limits in force, by their names."""
        self._driver = _Driver(Ports(boundary, transport, runner, limits), watches_clock=host is not None)

    @classmethod
    def make(
        cls,
        root: Path,
        *,
        task_id: str,
        provider: str,
        account: str,
        capabilities: Document | ExecutionRegistry,
        transport: AsyncTransport | None = None,
        runner: object | None = None,
        budget_usd: float | decimal.Decimal | None = None,
        limits: Mapping[str, int] | None = None,
        secrets: Iterable[str] = (),
        health: Document | HealthStore | None = None,
        intake_deadline_at: int | None = None,
        sandbox_required: bool = False,
        host: TestHost | None = None,
    ) -> AsyncExecution:
        """As `gallivant.execution.make_execution`. Touches no disk."""
        boundary = made_boundary(
            root,
            False,
            host,
            capabilities=capabilities,
            task_id=task_id,
            provider=provider,
            account=account,
            transport=transport,
            runner=runner,
            budget_usd=budget_usd,
            limits=limits,
            secrets=secrets,
            health=health,
            intake_deadline_at=intake_deadline_at,
            sandbox_required=sandbox_required,
        )
        return cls(boundary, transport=transport, runner=runner, host=host)

    async def submit(self, input: Document) -> dict[str, Any]:
        """As `gallivant.execution.Execution.submit`."""
        return await self._object("submit", input)

    async def continue_(self, input: Document) -> dict[str, Any]:
        """As `gallivant.execution.Execution.continue_`."""
        return await self._object("continue", input)

    async def prepare(self, input: Document) -> dict[str, Any]:
        """As `gallivant.execution.Execution.prepare`."""
        return await self._object("prepare", input)

    async def recover_response(self, operation_id: str, input: Document) -> dict[str, Any]:
        """As `gallivant.execution.Execution.recover_response`."""
        return await self._object("recoverResponse", _lost(operation_id, input))

    async def startup(self) -> dict[str, Any]:
        """As `gallivant.execution.Execution.startup`."""
        return await self._object("startup", {})

    async def reconcile(self, *, force: bool = False) -> dict[str, Any]:
        """As `gallivant.execution.Execution.reconcile`."""
        return await self._object("reconcile", {"force": force})

    async def collect(self, run_id: str) -> dict[str, Any]:
        """As `gallivant.execution.Execution.collect`."""
        return await self._object("collect", {"runId": run_id})

    async def cancel(
        self,
        reason: str,
        *,
        run_id: str | None = None,
        control_id: str | None = None,
        legacy_session_id: str | None = None,
    ) -> dict[str, Any]:
        """As `gallivant.execution.Execution.cancel`."""
        return await self._object("cancel", _stop(reason, run_id, control_id, legacy_session_id))

    async def request_cancel(self, reason: str, control_id: str, *, run_id: str | None = None) -> dict[str, Any]:
        """As `gallivant.execution.Execution.request_cancel`."""
        return await self._object("requestCancel", _stop(reason, run_id, control_id, None))

    async def preparation_stop(self, reason: str) -> dict[str, Any]:
        """As `gallivant.execution.Execution.preparation_stop`."""
        return await self._object("preparationStop", _stop(reason, None, None, None))

    async def timeout_stop(self) -> dict[str, Any]:
        """As `gallivant.execution.Execution.timeout_stop`."""
        return await self._object("timeoutStop", {})

    async def interrupt(
        self, reason: str, *, run_id: str | None = None, control_id: str | None = None
    ) -> dict[str, Any]:
        """As `gallivant.execution.Execution.interrupt`."""
        return await self._object("interrupt", _stop(reason, run_id, control_id, None))

    async def adopt(self, input: Document) -> dict[str, Any]:
        """As `gallivant.execution.Execution.adopt`."""
        return await self._object("adopt", input)

    async def settle_absent(self, input: Document) -> dict[str, Any]:
        """As `gallivant.execution.Execution.settle_absent`."""
        return await self._object("settleAbsent", input)

    async def start(self, input: Document) -> dict[str, Any]:
        """As `gallivant.execution.Execution.start`."""
        return await self._object("start", input)

    async def settle(self, run_id: str) -> dict[str, Any] | None:
        """As `gallivant.execution.Execution.settle`."""
        return await self._optional("settle", {"runId": run_id})

    async def kill(self, run_id: str, reason: str, *, kill_after_ms: int | None = None) -> dict[str, Any]:
        """As `gallivant.execution.Execution.kill`."""
        return await self._object("kill", _kill(run_id, reason, kill_after_ms))

    async def wait_for_kill(self, run_id: str, timeout: float) -> bool:
        """As `gallivant.execution.Execution.wait_for_kill`. Cancelling the task ends the wait."""
        until, looks = time.monotonic() + timeout, 0
        while True:
            look = await self._object("lookForKill", {"runId": run_id, "looks": looks})
            if look["gone"]:
                return True
            if look["killDue"]:
                with contextlib.suppress(ExecutionBusyError):
                    await self.reconcile(force=True)
            left = until - time.monotonic()
            if left <= 0:
                return False
            await asyncio.sleep(min(look["pauseMs"] / 1000, left))
            looks += 1

    async def is_gone(self, run_id: str) -> bool:
        """As `gallivant.execution.Execution.is_gone`."""
        return bool(await self._call("isGone", {"runId": run_id}))

    async def lines(self, run_id: str, *, after: str | None = None, limit: int = 400) -> dict[str, Any]:
        """As `gallivant.execution.Execution.lines`."""
        return await self._object("lines", {"runId": run_id, "after": after, "limit": limit})

    async def inspect(self) -> dict[str, Any]:
        """As `gallivant.execution.Execution.inspect`."""
        return await self._object("inspect", {})

    async def outcome(self, run_id: str) -> dict[str, Any] | None:
        """As `gallivant.execution.Execution.outcome`."""
        return await self._optional("outcome", {"runId": run_id})

    async def preparation_status(self, run_id: str) -> dict[str, Any]:
        """As `gallivant.execution.Execution.preparation_status`."""
        return await self._object("preparationStatus", {"runId": run_id})

    async def judge_preparation(self, run_id: str) -> str:
        """As `gallivant.execution.Execution.judge_preparation`."""
        return str(await self._call("judgePreparation", {"runId": run_id}))

    async def capabilities(self) -> dict[str, Any]:
        """As `gallivant.execution.Execution.capabilities`."""
        return await self._object("capabilities", {})

    async def dir_of(self, run_id: str) -> str:
        """As `gallivant.execution.Execution.dir_of`."""
        return str(await self._call("dirOf", {"runId": run_id}))

    async def read(self, run_id: str) -> dict[str, Any] | None:
        """As `gallivant.execution.Execution.read`."""
        return await self._optional("read", {"runId": run_id})

    async def current(self) -> dict[str, Any] | None:
        """As `gallivant.execution.Execution.current`."""
        return await self._optional("current", {})

    async def is_due(self) -> bool:
        """As `gallivant.execution.Execution.is_due`."""
        return bool(await self._call("isDue", {}))

    async def health_status(self) -> dict[str, Any] | None:
        """As `gallivant.execution.Execution.health_status`."""
        return await self._optional("healthStatus", {})

    async def check(self, run_id: str) -> dict[str, Any]:
        """As `gallivant.execution.Execution.check`."""
        return await self._object("check", {"runId": run_id})

    async def result_view(self, run_id: str) -> dict[str, Any] | None:
        """As `gallivant.execution.Execution.result_view`."""
        return await self._optional("resultView", {"runId": run_id})

    async def call_json(self, method: str, input_json: str = "{}") -> str:
        """As `gallivant.execution.Execution.call_json`."""
        return await self._driver.run(method, input_json)

    async def close(self) -> None:
        """As `gallivant.execution.Execution.close`."""
        await self._driver.close()

    async def __aenter__(self) -> AsyncExecution:
        return self

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _call(self, method: str, input: Document) -> Any:
        return value_of(await self._driver.run(method, input if isinstance(input, str) else text_of(dict(input))))

    async def _object(self, method: str, input: Document) -> dict[str, Any]:
        value: dict[str, Any] = await self._call(method, input)
        return value

    async def _optional(self, method: str, input: Document) -> dict[str, Any] | None:
        value: dict[str, Any] | None = await self._call(method, input)
        return value
