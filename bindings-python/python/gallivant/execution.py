"""The execution layer: paid work is recorded, never doubled, never lost and never mistaken.

    class Acme:
        def submit(self, call):
            call.sending()
            return requests.post(URL, json=call.input, timeout=call.seconds_left()).content
        ...

    with make_execution(root, task_id="t-1", provider="acme", account="me", capabilities=RECORD, transport=Acme(),
                        budget_usd=8, health="external") as execution:
        execution.submit({"operationId": "op-1", "prompt": "do it", "reservationUsd": 0.5})
        report = execution.reconcile()

An `Execution` is the boundary of one task: its calls are the only ones that write the task's files, and everything that must
be durable before a method of the transport is called is durable then. Documents are `dict`s with the names of the contract;
whatever takes one takes JSON text too, which keeps all digits. `gallivant.aio.AsyncExecution` is the same for asyncio. A host
with other idioms steps a `Machine` itself.
"""

from __future__ import annotations

import contextlib
import time

from . import _native
from . import errors as errors
from ._execution_check import check_transport
from ._execution_documents import ProviderAcknowledgement, ProviderEvent, ProviderObservation, ProviderOutcome
from ._execution_documents import ProviderPreparation, ProviderResult, ProviderStop
from ._execution_driver import Driver, Ports
from ._execution_functions import backoff, cancellation_key, check_cursor, crc32c, execution_live, fitting_events, function_json
from ._execution_functions import gap_id, health_authorize, idempotency_key, intake_reservation, money, nanos, public_text_check
from ._execution_functions import replay_key, run_id, sanitize, unsubmitted_initial_dispatch, usd, validate_manifest
from ._execution_health import HealthStore, Refresh
from ._execution_json import text_of, value_of, written
from ._execution_lanes import Settled, run_dispatch_lane, run_lane, run_progress_lane
from ._execution_registry import ExecutionRegistry, execution_registry, made_boundary
from ._execution_sandbox import sandbox_readiness
from ._execution_transport import AsyncTransport, Reply, Signal, Transport, TransportCall, TransportError
from ._execution_transport import collection_validation_error, dispatch_not_sent_error
from ._native import AbortToken, Call, Done, Machine, UnresolvedOperation, unresolved

TYPE_CHECKING = False
if TYPE_CHECKING:
    import decimal
    import os
    from collections.abc import Iterable, Mapping
    from types import TracebackType
    from typing import Any, Union

    from ._native import TestHost

    Path = Union[str, os.PathLike[str]]
    Document = Union[Mapping[str, Any], str]

__all__ = [
    "EXECUTION_CURSOR_BYTES",
    "EXECUTION_LIMITS",
    "EXECUTION_VERSION",
    "PROVIDER_STATES",
    "AbortToken",
    "AsyncTransport",
    "Call",
    "Done",
    "Execution",
    "ExecutionRegistry",
    "HealthStore",
    "Machine",
    "ProviderAcknowledgement",
    "ProviderEvent",
    "ProviderObservation",
    "ProviderOutcome",
    "ProviderPreparation",
    "ProviderResult",
    "ProviderStop",
    "Refresh",
    "Reply",
    "Settled",
    "Signal",
    "Transport",
    "TransportCall",
    "TransportError",
    "UnresolvedOperation",
    "assert_execution_dependency",
    "backoff",
    "cancellation_key",
    "check_cursor",
    "check_transport",
    "collection_validation_error",
    "crc32c",
    "dispatch_not_sent_error",
    "execution_live",
    "execution_registry",
    "execution_runner",
    "fitting_events",
    "function_json",
    "gap_id",
    "health_authorize",
    "idempotency_key",
    "intake_reservation",
    "make_execution",
    "money",
    "nanos",
    "public_text_check",
    "replay_key",
    "run_dispatch_lane",
    "run_id",
    "run_lane",
    "run_progress_lane",
    "sandbox_readiness",
    "sanitize",
    "unresolved",
    "unsubmitted_initial_dispatch",
    "usd",
    "validate_manifest",
]

_CONSTANTS = _native.execution_constants()

EXECUTION_VERSION: int = _CONSTANTS["EXECUTION_VERSION"]
"""The version of the contract between a boundary and its host."""

PROVIDER_STATES: tuple[str, ...] = tuple(_CONSTANTS["PROVIDER_STATES"])
"""What is known of a run at its provider, in the order of the contract."""

EXECUTION_LIMITS: dict[str, dict[str, int]] = {
    name: {"default": default, "min": least, "max": most} for name, default, least, most in _CONSTANTS["EXECUTION_LIMITS"]
}
"""Every limit by its name: what it is where nothing is set, and what it may be set to."""

EXECUTION_CURSOR_BYTES: int = _CONSTANTS["EXECUTION_CURSOR_BYTES"]
"""The most bytes of a provider's page cursor, as JSON."""


class Execution:
    """The boundary of one task, for threads, which may share it. Made by `make_execution`; a context manager.

    A method of the transport runs on a thread beside the caller's. One that has not ended 1 s after its deadline is left alone.
    `signal`, where a call takes one, gives that call up when it fires: before it began, and in its wait for the task's lock, with
    `ExecutionBusyError` and nothing written; an outstanding call of the transport counts as failed. So does a `gallivant.Cancel` under which the
    thread runs, and an exception of a signal handler, `KeyboardInterrupt` included, which is raised again at the end.

    Every call may be repeated after a crash at any point. Besides what is named, calls raise `ExecutionInputError`,
    `ExecutionVersionError`, `ExecutionProtocolError` for a ledger that makes no sense, and `ExecutionIoError`; those that write
    raise `ExecutionBusyError` and `ExecutionOwnershipError` too.
    """

    def __init__(
        self,
        boundary: _native.Boundary,
        *,
        transport: Transport | None = None,
        runner: object | None = None,
        host: TestHost | None = None,
    ) -> None:
        self._boundary = boundary
        limits: dict[str, int] = value_of(boundary.limits_json)
        self.limits = limits
        """The limits in force, by their names."""
        self._driver = Driver(Ports(boundary, transport, runner, limits), watches_clock=host is not None)

    def submit(self, input: Document, *, signal: Signal | None = None) -> dict[str, Any]:
        """Dispatches new work: `{operationId, runId, acceptance, acknowledgement, reused, execution}`. Once it has returned, the
        operation, its acknowledgement and its reservation are on disk. Asked for again with the same `operationId`, it returns
        what is saved and sends nothing.

        `ExecutionAcceptanceUnknownError` leaves the intent on disk, and nothing of the task is dispatched until that is resolved.
        Every other refusal leaves all files as they were, but for a noted `ExecutionDispatchRefusedError`.
        """
        return self._object("submit", input, signal)

    def continue_(self, input: Document, *, signal: Signal | None = None) -> dict[str, Any]:
        """Dispatches work in the session of the current run, as `submit` does new work."""
        return self._object("continue", input, signal)

    def prepare(self, input: Document, *, signal: Signal | None = None) -> dict[str, Any]:
        """Asks for a receipt for an intake turn: `{receipt, environment}`. The receipt is on disk once it has returned; the grant
        never is.
        """
        return self._object("prepare", input, signal)

    def recover_response(self, operation_id: str, input: Document, *, signal: Signal | None = None) -> dict[str, Any]:
        """Looks for the lost reply of an answer, by the transport's own method for it; `input` is that of the lost `continue_`."""
        return self._object("recoverResponse", _lost(operation_id, input), signal)

    def startup(self, *, signal: Signal | None = None) -> dict[str, Any]:
        """One pass over the current run, due or not, for a coordinator that has just started. Returns its report. What a pass has
        saved as a reason to come again is in the report's `error`; a refusal that leaves all files as they were is raised.
        """
        return self._object("startup", {}, signal)

    def reconcile(self, *, force: bool = False, signal: Signal | None = None) -> dict[str, Any]:
        """One pass over the current run, if it is due or `force` says so, as `startup`."""
        return self._object("reconcile", {"force": force}, signal)

    def collect(self, run_id: str, *, signal: Signal | None = None) -> dict[str, Any]:
        """Only the collection step of a pass, for a run whose root turn has ended; for any other it makes no call and returns the
        projection.
        """
        return self._object("collect", {"runId": run_id}, signal)

    def cancel(
        self,
        reason: str,
        *,
        run_id: str | None = None,
        control_id: str | None = None,
        legacy_session_id: str | None = None,
        signal: Signal | None = None,
    ) -> dict[str, Any]:
        """Stops the current run, or the one that is named: `{confirmed, terminal?, unsupported?}`. The fence is on disk before
        anything is sent; a lost reply is no error, and a pass asks again with the same key. One that the provider has taken without
        calling the turn cancelled is not sent again: passes inspect it to its end. Unlike `submit` this takes no document.
        """
        return self._object("cancel", _stop(reason, run_id, control_id, legacy_session_id), signal)

    def request_cancel(
        self, reason: str, control_id: str, *, run_id: str | None = None, signal: Signal | None = None
    ) -> dict[str, Any]:
        """Queues a stop, also while somebody else has the task's lock: `{queued: True}`. From then on nothing is dispatched, and
        the next pass applies it.
        """
        return self._object("requestCancel", _stop(reason, run_id, control_id, None), signal)

    def preparation_stop(self, reason: str, *, signal: Signal | None = None) -> dict[str, Any]:
        """As `cancel`, with the fence of a preparation."""
        return self._object("preparationStop", _stop(reason, None, None, None), signal)

    def timeout_stop(self, *, signal: Signal | None = None) -> dict[str, Any]:
        """As `cancel`, with the fence and the reason of a timeout."""
        return self._object("timeoutStop", {}, signal)

    def interrupt(
        self, reason: str, *, run_id: str | None = None, control_id: str | None = None, signal: Signal | None = None
    ) -> dict[str, Any]:
        """Stops the turn of the current process run, keeps its session and sets no fence: `{confirmed, terminal?}`. What the run
        says after it is quarantined.
        """
        return self._object("interrupt", _stop(reason, run_id, control_id, None), signal)

    def adopt(self, input: Document, *, signal: Signal | None = None) -> dict[str, Any]:
        """Restores the exact ownership of an operation whose acceptance is unknown, by what an operator has seen at the provider.
        Calls nobody.
        """
        return self._object("adopt", input, signal)

    def settle_absent(self, input: Document, *, signal: Signal | None = None) -> dict[str, Any]:
        """Records that the provider proved never to have accepted an operation. Calls nobody."""
        return self._object("settleAbsent", input, signal)

    def start(self, input: Document, *, signal: Signal | None = None) -> dict[str, Any]:
        """Starts a local run: a `submit` whose input may leave out `operationId`. Returns the job record, which names the process;
        it was on disk before the process did anything.
        """
        return self._object("start", input, signal)

    def settle(self, run_id: str, *, signal: Signal | None = None) -> dict[str, Any] | None:
        """The outcome of a local run that has ended, settled by this call if it was not; None while something of its tree lives."""
        return self._optional("settle", {"runId": run_id}, signal)

    def kill(
        self, run_id: str, reason: str, *, kill_after_ms: int | None = None, signal: Signal | None = None
    ) -> dict[str, Any]:
        """Stops the whole tree of a local run: `{confirmed, terminal?}`. Once it has returned the stop is on disk and the first
        signal is sent; `kill_after_ms` later a pass, or `wait_for_kill`, kills what is left.
        """
        return self._object("kill", _kill(run_id, reason, kill_after_ms), signal)

    def wait_for_kill(self, run_id: str, timeout: float, *, signal: Signal | None = None) -> bool:
        """Waits until the whole tree of a local run is gone: True then, False after `timeout` seconds or once `signal` has fired.
        What a stop has left is killed when it is due, and never because the wait is over.
        """
        until, looks = time.monotonic() + timeout, 0
        while True:
            look = self._object("lookForKill", {"runId": run_id, "looks": looks})
            if look["gone"]:
                return True
            if look["killDue"]:
                with contextlib.suppress(errors.ExecutionBusyError):
                    self.reconcile(force=True, signal=signal)
            left = until - time.monotonic()
            if left <= 0 or (signal is not None and signal.fired):
                return False
            time.sleep(min(look["pauseMs"] / 1000, left))
            looks += 1

    def is_gone(self, run_id: str) -> bool:
        """Whether the whole tree of a local run is provably gone. Reads, and signals nobody."""
        return bool(self._call("isGone", {"runId": run_id}))

    def lines(self, run_id: str, *, after: str | None = None, limit: int = 400) -> dict[str, Any]:
        """The public lines of a run behind the row `after`: `{rows, before, after}`."""
        return self._object("lines", {"runId": run_id, "after": after, "limit": limit})

    def inspect(self) -> dict[str, Any]:
        """What is recorded of the current run. Reads one file, takes no lock and calls nobody, as all that follow."""
        return self._object("inspect", {})

    def outcome(self, run_id: str) -> dict[str, Any] | None:
        """What a settled run has come to; None while it is not settled. Raises `ExecutionUnknownRunError`."""
        return self._optional("outcome", {"runId": run_id})

    def preparation_status(self, run_id: str) -> dict[str, Any]:
        """How an intake turn stands, and what a coordinator does next. Raises `ExecutionUnknownRunError`."""
        return self._object("preparationStatus", {"runId": run_id})

    def judge_preparation(self, run_id: str) -> str:
        """Whether the output of an intake turn came in time, as a word. Raises `ExecutionUnknownRunError`."""
        return str(self._call("judgePreparation", {"runId": run_id}))

    def capabilities(self) -> dict[str, Any]:
        """What the provider can do: a copy, without any secret's value."""
        return self._object("capabilities", {})

    def dir_of(self, run_id: str) -> str:
        """Where the files of a run are, or would be."""
        return str(self._call("dirOf", {"runId": run_id}))

    def read(self, run_id: str) -> dict[str, Any] | None:
        """The job record of a run as it stands; None where there is none. Repairs nothing."""
        return self._optional("read", {"runId": run_id})

    def current(self) -> dict[str, Any] | None:
        """The job record of the current local run; None where there is none."""
        return self._optional("current", {})

    def is_due(self) -> bool:
        """Whether a pass is due: the run's, its stop's, or because a stop is queued. One that is not calls nobody. That of a settled run
        stays due (EX-REC-05), calls nobody and costs its locks: leave it out where `inspect` says that nothing is `live`.
        """
        return bool(self._call("isDue", {}))

    def health_status(self) -> dict[str, Any] | None:
        """What vouches for the account, as a health record; None where there is none."""
        return self._optional("healthStatus", {})

    def check(self, run_id: str) -> dict[str, Any]:
        """Walks the journal of a run and says what is whole, what is a gap and what is corrupt."""
        return self._object("check", {"runId": run_id})

    def result_view(self, run_id: str) -> dict[str, Any] | None:
        """What may be shown of a run's result, redacted as a whole; None before there is one."""
        return self._optional("resultView", {"runId": run_id})

    def call_json(self, method: str, input_json: str = "{}", *, signal: Signal | None = None) -> str:
        """Any of these by its name in the contract, from JSON text to JSON text: numbers keep all their digits."""
        return self._driver.run(method, input_json, signal)

    def machine(self, method: str, input: Document, *, token: AbortToken | None = None) -> Machine:
        """The machine of a call that writes, by its name in the contract, for a host that steps it itself. `token` ends its wait
        for the task's lock.

        Raises `ExecutionInputError` for a method that only reads.
        """
        called = self._boundary.call(method, _text(input), AbortToken() if token is None else token)
        if isinstance(called, str):
            message = f"a method has no machine, method=`{method}`"
            raise errors.ExecutionInputError(message, remedy="call it on the execution itself; it only reads")
        return called

    def close(self) -> None:
        """Lets go of the boundary. A call that runs ends as after a crash, and raises `ExecutionInputError` with the reason
        `closed`; the signal of its method fires. Does nothing the second time.
        """
        self._driver.close()

    def __enter__(self) -> Execution:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _call(self, method: str, input: Document, signal: Signal | None = None) -> Any:
        return value_of(self._driver.run(method, _text(input), signal))

    def _object(self, method: str, input: Document, signal: Signal | None = None) -> dict[str, Any]:
        value: dict[str, Any] = self._call(method, input, signal)
        return value

    def _optional(self, method: str, input: Document, signal: Signal | None = None) -> dict[str, Any] | None:
        value: dict[str, Any] | None = self._call(method, input, signal)
        return value


def make_execution(
    root: Path,
    *,
    task_id: str,
    provider: str,
    account: str,
    capabilities: Document | ExecutionRegistry,
    transport: Transport | None = None,
    runner: object | None = None,
    budget_usd: float | decimal.Decimal | None = None,
    limits: Mapping[str, int] | None = None,
    secrets: Iterable[str] = (),
    health: Document | HealthStore | None = None,
    intake_deadline_at: int | None = None,
    sandbox_required: bool = False,
    host: TestHost | None = None,
) -> Execution:
    """Makes the boundary of a task in `root`, a directory that holds all files of the task and is created with the first write.
    Creates no file and calls nobody.

    `capabilities` is the provider's record, or a registry that has it. Exactly one of `transport` (remote work) and `runner`
    (the process host of local work: an object with the methods `spawn`, `observe`, `signal` and `outcome`, or a `dict` with the
    options of the built-in one, `supervisor` and `harnesses`) is given; what a transport can do is
    told by which methods it has. `budget_usd` is the task's budget, which a remote dispatch needs. `limits` are overrides of
    `EXECUTION_LIMITS`. `secrets` are values that appear in no file. `health` vouches for the provider: a `HealthStore`, a health record, or
    `"external"` where the coordinator does; without it every dispatch is refused. `intake_deadline_at` is when an intake must
    have ended, in ms since 1970. With `sandbox_required` a remote dispatch is refused while it is not proved that this machine
    has a sandbox for verification.

    Raises `ExecutionInputError` that names the option, `ExecutionCapabilityError`, `ExecutionDependencyError`,
    `ExecutionVersionError` for a health record of another package.
    """
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
    return Execution(boundary, transport=transport, runner=runner, host=host)


def execution_runner(
    root: Path,
    registry: ExecutionRegistry,
    *,
    task_id: str,
    provider: str,
    account: str,
    budget_usd: float | decimal.Decimal | None = None,
    limits: Mapping[str, int] | None = None,
    secrets: Iterable[str] = (),
    health: Document | HealthStore | None = None,
    intake_deadline_at: int | None = None,
    sandbox_required: bool = False,
    host: TestHost | None = None,
) -> Execution:
    """The boundary of the task in `root` for the provider, the account and the transport kind that its files record, with the
    record and the adapter that are registered for them. `provider` and `account` count only for a root in which nothing is
    saved. Otherwise as `make_execution`.

    Raises `ExecutionCapabilityError` with the reason `unavailable` where the provider is not registered or has no adapter,
    `ExecutionDependencyError` where its record is of another transport kind.
    """
    transport, runner = registry.adapter(provider)
    boundary = made_boundary(
        root,
        True,
        host,
        capabilities=registry,
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
    saved = value_of(str(boundary.call("capabilities", "{}", AbortToken())))["provider"]
    transport, runner = registry.adapter(saved)
    return Execution(boundary, transport=transport, runner=runner, host=host)


def assert_execution_dependency(*, contract_version: int | None, has_intake: bool) -> None:
    """Refuses a runtime in which the layer cannot work: one of another `EXECUTION_VERSION`, or without the shared intake
    service. Nothing is made in the place of what is missing.

    Raises `ExecutionDependencyError`.
    """
    _native.assert_execution_dependency(contract_version, has_intake)


def _text(input: Document) -> str:
    return input if isinstance(input, str) else text_of(dict(input))


def _lost(operation_id: str, input: Document) -> str:
    return f'{{"operationId":{written(operation_id)},"input":{_text(input)}}}'


def _stop(reason: str, run_id: str | None, control_id: str | None, legacy_session_id: str | None) -> dict[str, Any]:
    members = {"reason": reason, "runId": run_id, "controlId": control_id, "legacySessionId": legacy_session_id}
    return {name: value for name, value in members.items() if value is not None}


def _kill(run_id: str, reason: str, kill_after_ms: int | None) -> dict[str, Any]:
    return {"runId": run_id, "reason": reason, "killAfterMs": kill_after_ms}
