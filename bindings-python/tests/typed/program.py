"""A program as a typed user writes it. `check.sh` has mypy read it; every `ignore` is a mistake that mypy must find."""

from __future__ import annotations

import asyncio
import typing
from pathlib import Path

from typing_extensions import assert_type

import gallivant
from gallivant import aio, asgi, execution, idempotency, journal, redaction, testing, words


class Provider:
    """A transport whose replies have the types of the contract."""

    def submit(self, call: execution.TransportCall) -> execution.ProviderAcknowledgement:
        return {"providerJobId": "j", "turnId": "t", "sessionId": None}

    def inspect(self, call: execution.TransportCall) -> execution.ProviderObservation:
        event: execution.ProviderEvent = {"eventId": "e", "type": "output", "sequence": 1, "data": {"text": "x"}}
        kept = execution.fitting_events([event], call.limits)
        return {"providerJobId": "j", "turnId": "t", "state": "running", "observedAt": kept, "events": [event], "gap": True}

    def collect(self, call: execution.TransportCall) -> execution.ProviderResult:
        outcome: execution.ProviderOutcome = {"finished": True, "ok": True, "cost": None, "denials": []}
        return {"providerJobId": "j", "turnId": "t", "outcome": outcome, "output": "x"}  # type: ignore[typeddict-unknown-key]

    def cancel(self, call: execution.TransportCall) -> execution.ProviderStop:
        return {"confirmed": "yes"}  # type: ignore[typeddict-item]


transport: execution.Transport = Provider()


def write(directory: Path) -> None:
    options = gallivant.Options(stale_ms=60_000, also_accepted_schemas=["st.harness-state.v1"])
    with gallivant.Session.start(directory, agent="a", harness="claude", pty_session="p", options=options) as session:
        assert_type(session, gallivant.Session)
        assert_type(session.claim.floor_failure, "gallivant.GallivantError | None")
        assert_type(session.to_env(), dict[str, str])
        report = session.writer.observe(words.STATE_ACTIVE, blocked_on=words.BLOCKED_ON_HUMAN, ask=words.ASK_REVIEW)
        assert_type(report, gallivant.Report)
        if not report:
            assert_type(report.refusal, "str | None")
        session.writer.observe(gallivant.Observation("idle", reason="why"))
        with session.writer.current_ownership() as owned:
            assert_type(owned, "gallivant.OwnershipGuard | None")
        assert_type(session.attach(1).liveness(), str)
        assert_type(session.heartbeat_if_due().due_at_ms, "int | None")
    writer = gallivant.Writer(str(directory), "a", "claude", "tok", sequence=1)
    assert_type(session.environment().writer(options=options), gallivant.Writer)
    writer.observe(5)  # type: ignore[arg-type]
    writer.observe("idle", ask=True)  # type: ignore[arg-type]
    writer.sequence = 2  # type: ignore[misc]
    gallivant.Writer(directory, agent="a", harness="claude")  # type: ignore[call-arg]
    gallivant.nothing  # type: ignore[attr-defined]


def create(path: Path) -> None:
    store = idempotency.IdempotencyStore.open(path, window_ms=60_000)
    begun = store.begin("things.create", ("org", "workspace"), "key", b"body", timeout=1)
    if isinstance(begun, idempotency.Ticket):
        begun = begun.wait(10.0)
    if isinstance(begun, idempotency.Reservation):
        with begun as reservation:
            assert_type(reservation, idempotency.Reservation)
            reservation.complete("id", b"answer")
            reservation.complete("id", "answer")  # type: ignore[arg-type]
    elif isinstance(begun, idempotency.FinishedClaim):
        assert_type(begun.answer, "bytes | None")
    elif isinstance(begun, idempotency.UnknownClaim):
        assert_type(begun.settle(None).kind, str)
    view = store.inspect("things.create", ["org"], "key")
    assert_type(view, "idempotency.ClaimView | None")
    assert_type(store.capability().error, "gallivant.GallivantError | None")
    store.begin("things.create", "org", "key", b"body")  # a string is a sequence of strings to a type checker
    store.begin("things.create", ["org"], "key", "body")  # type: ignore[arg-type]


async def create_in_a_loop(path: Path, app: asgi.App) -> None:
    store = await aio.IdempotencyStore.open(path)
    begun = await store.begin("things.create", ["org"], "key", idempotency.Fingerprint(b"body"))
    if isinstance(begun, aio.Reservation):
        async with begun as reservation:
            await reservation.complete("id", b"answer")
    elif isinstance(begun, aio.Ticket):
        assert_type((await begun.wait(None)).kind, str)
    asgi.IdempotencyMiddleware(app, store, belongs_to=lambda scope: ("things.create", [scope["path"]]))
    asgi.IdempotencyMiddleware(app, store)  # type: ignore[call-arg]


def record(directory: Path) -> None:
    owner = journal.Owner(task_id="t", run_id="r", provider="p")
    event = journal.Event("e", "provider", "output", {"a": [1]}, provider_sequence=2**70, timestamp=1.5)
    assert_type(event.provider_sequence, "int | float | None")
    with journal.Journal.open(directory, owner, redaction.Redactor()) as log:
        assert_type(log.append([event, journal.Event("g", "local", reason=words.GAP_RETAINED)]).placed[0].how, str)
        log.append([{"id": "e", "provenance": "local", "type": "t"}])
        log.append(journal.Event.page_from_json("[]"))
        log.append(["e"])  # type: ignore[arg-type]
    with journal.Projection.open(directory) as lines:
        assert_type(lines.catch_up().first, int)
    with journal.LogReader.open(directory) as reader:
        assert_type(reader.lines(None, 5).rows, "tuple[journal.Row, ...]")
        assert_type(reader.tail().before, "str | None")
        reader.history(5)  # type: ignore[arg-type]
    with journal.Replay.open(directory, "7", heartbeats=False) as replay:
        assert_type(replay.next(0.5), "journal.Frame | None")
        for frame in replay:
            assert_type(frame.to_sse(), bytes)
            assert_type(frame.row, "journal.Row | None")
    assert_type(journal.check(directory, visit=lambda gap: gap.start).gaps, "tuple[journal.Gap, ...]")
    assert_type(journal.read_run_result_json(directory), "str | None")
    result = journal.read_run_result(directory)
    if result is not None:
        print(result["cost"])
    journal.Journal.open(directory, "owner", redaction.Redactor())  # type: ignore[arg-type]


async def record_awaited(directory: Path) -> None:
    owner = journal.Owner(task_id="t", run_id="r", provider="p")
    async with await aio.Journal.open(directory, owner, redaction.Redactor()) as log:
        assert_type(await log.append([journal.Event("e", "local", "t")]), journal.Appended)
    async with await aio.Replay.open(directory) as replay:
        assert_type(await replay.poll(), "journal.Frame | None")
        async for frame in replay:
            assert_type(frame, journal.Frame)
    assert_type(await aio.check_journal(directory), journal.Checked)
    asgi.ReplayApp(lambda scope: None if scope["path"] == "/" else directory)
    asgi.ReplayApp(lambda scope: asgi.ReplayResponse(directory, last_event_id="7"))
    asgi.ReplayApp(lambda scope: 5)  # type: ignore[arg-type, return-value]


class Acme:
    def submit(self, call: execution.TransportCall) -> execution.Reply:
        call.sending()
        return {"providerJobId": call.input["operationId"], "turnId": "t"}

    def inspect(self, call: execution.TransportCall) -> bytes:
        raise execution.TransportError("rate", "later", retry_after_ms=1.5)

    def collect(self, call: execution.TransportCall) -> None:
        raise execution.collection_validation_error("checksum", "not what it says")


class AcmeLoop:
    async def submit(self, call: execution.TransportCall) -> execution.Reply:
        raise execution.dispatch_not_sent_error("route", "no route")

    async def inspect(self, call: execution.TransportCall) -> dict[str, int]:
        return {}

    async def collect(self, call: execution.TransportCall) -> str:
        return "null"


def dispatch(root: Path) -> None:
    with execution.make_execution(
        root, task_id="t", provider="p", account="a", capabilities={}, transport=Acme(), budget_usd=8, health="external"
    ) as task:
        assert_type(task.submit({"operationId": "o"}, signal=execution.Signal())["reused"], "typing.Any")
        assert_type(task.outcome("r"), "dict[str, typing.Any] | None")
        assert_type(task.call_json("inspect"), str)
        task.submit(5)  # type: ignore[arg-type]
        task.cancel()  # type: ignore[call-arg]
        step = task.machine("reconcile", {}).start()
        if isinstance(step, execution.Call):
            assert_type(step.deadline_at, int)
        else:
            assert_type(step.error, "gallivant.GallivantError | None")
    assert_type(execution.nanos(0.5), int)
    assert_type(execution.unresolved(root), "list[execution.UnresolvedOperation]")
    registry = execution.ExecutionRegistry()
    execution.make_execution(
        root,
        task_id="t",
        provider="p",
        account="a",
        capabilities=registry,
        transport=AcmeLoop(),  # type: ignore[arg-type]
    )


async def dispatch_awaited(root: Path) -> None:
    task = aio.AsyncExecution.make(
        root, task_id="t", provider="p", account="a", capabilities="{}", transport=AcmeLoop()
    )
    assert_type(await task.judge_preparation("r"), str)
    await task.timeout_stop(signal=None)  # type: ignore[call-arg]


def look(root: Path) -> None:
    fleet = gallivant.Fleet(root, max_depth=2, probe="lease")
    view = fleet.read()
    assert_type(view, gallivant.FleetView)
    assert_type(view.entries, "tuple[gallivant.FleetEntry, ...]")
    assert_type(view[0].state, gallivant.State)
    assert_type([entry.path for entry in view], "list[str]")
    assert_type(view.left_out.example, "str | None")
    assert_type(gallivant.read_fleet(str(root)).valid_until_ms, "int | None")
    with gallivant.Watch.fleet(root, settle_ms=5) as watch:
        assert_type(watch.next(0.5), "gallivant.Change | None")
        assert_type(watch.fileno(), int)
        for change in watch:
            assert_type(change.seats[0].state, "gallivant.State | None")
    gallivant.Watch.record(root, probe=lambda record: record.extension is None)
    explanation = gallivant.Reader(root).explain("lease")
    assert_type(explanation.rows, "tuple[gallivant.TriedRow, ...]")
    assert_type(explanation.state, "gallivant.State | None")
    if explanation.record is not None and explanation.record.extension is not None:
        assert_type(explanation.record.extension.children, "tuple[str, ...]")
        assert_type(explanation.record.extension.process, "gallivant.ProcessIdentity | None")
    writer = gallivant.Writer(root, "a", "claude", "tok", evidence=words.EVIDENCE_SCREEN)
    assert_type(writer.note_child("c", words.CHILD_STEP_STARTED), gallivant.Report)
    gallivant.Fleet(root, 5)  # type: ignore[call-arg]
    gallivant.Watch(root)  # type: ignore[call-arg]


async def look_awaited(root: Path) -> None:
    assert_type(await aio.Fleet(root).read(), gallivant.FleetView)
    assert_type(await aio.read_fleet(root, max_records=1), gallivant.FleetView)
    assert_type(await aio.Reader(root).explain(), gallivant.Explanation)
    async with aio.Watch.record(root, probe="lease") as watch:
        assert_type(await watch.next(), gallivant.Change)
        async for change in watch:
            assert_type(change.noticing, str)


def read(directory: str) -> str | None:
    reader = gallivant.Reader(directory)
    state = reader.read(lambda record: record.pty_session is not None)
    reader.read("lease")
    reader.read(gallivant.ProcessIdentity.of(1))
    reader.read(lambda: True)  # type: ignore[arg-type, misc]
    reader.read(b"lease")  # type: ignore[arg-type]
    if state is None:
        return None
    assert_type(state.valid_until_ms, "int | None")
    return state.state


def failing(directory: str) -> tuple[str, str | None, int | None]:
    try:
        gallivant.claim(directory, agent="a", harness="h", token="t", host=testing.TestHost(wall_ms=5))
    except gallivant.HarnessStateBusyError as busy:
        return busy.code, busy.reason, busy.os_error
    except gallivant.ExecutionUnresolvedError as unresolved:
        assert_type(unresolved.run_id, "str | None")
        return unresolved.remedy, unresolved.operation_id, None
    except gallivant.GallivantError as error:
        return error.remedy, error.message, None
    return gallivant.__version__, None, None


def hook(payload: bytes, environ: dict[str, str]) -> gallivant.HookReport:
    gallivant.observe_hook("claude", "text", environ)  # type: ignore[arg-type]
    return gallivant.observe_hook("claude", payload, gallivant.SessionEnvironment.from_env(environ))


def redacted(secret: str, log: Path) -> dict[str, int]:
    redactor = redaction.Redactor([secret, b"bytes"], patterns=False)
    assert_type(redactor.text(secret), str)
    assert_type(redactor.data(b"a"), bytes)
    assert_type(redactor.stream().push(b"a"), bytes)
    redaction.Redactor([7])  # type: ignore[list-item]
    redactor.stream().push("a")  # type: ignore[arg-type]
    with log.open("wb") as out, redaction.Writer(redactor, out.write) as writer:
        writer.write("a")
        writer.writelines([b"b", "c"])
    return redaction.sanitize({"a": 1}, [secret])


async def asynchronous(directory: Path) -> None:
    async def probe(record: gallivant.Record) -> bool:
        await asyncio.sleep(0)
        return record.seq > 0

    async with await aio.Session.start(directory, "a", "claude", pty_session="p") as session:
        assert_type(await session.writer.observe("idle"), gallivant.Report)
        async with session.writer.current_ownership() as owned:
            assert_type(owned, "gallivant.OwnershipGuard | None")
    own = gallivant.SessionEnvironment.from_env({})
    if own is not None:
        assert_type(aio.Writer.from_environment(own), aio.Writer)
    assert_type(await aio.Reader(directory).read(probe), "gallivant.State | None")
    assert_type(await aio.claim(directory, "a", "h", "t"), gallivant.Claim)
