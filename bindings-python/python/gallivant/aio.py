"""The same for asyncio, with calls that are awaited: `Reader`, `Writer`, `Session`, `Fleet`, `Watch`, `claim`,
`claim_wrapperless` and `read_fleet`; of idempotent creates `IdempotencyStore`, `Reservation`, `FinishedClaim`, `Ticket` and
`UnknownClaim`; of the journal of a run `Journal`, `Projection`, `LogReader`, `Replay`, `check_journal`, `read_run_result` and
`retention_candidates`; of the execution layer `AsyncExecution` and
`reconcile_execution_result`.

A call runs the core on a thread of a pool that is made on first use, so that neither the disk nor a lock that somebody
holds stops the event loop. Cancelling the awaiting task ends a wait for the lock within 0.1 s, with nothing written; a
call that is past its wait finishes first. Either way the cancellation is passed on only once the call is over: after
it nothing more is written.
"""

from __future__ import annotations

import asyncio
import inspect
import os

from . import _native
from . import errors as errors
from ._aio_idempotency import FinishedClaim, IdempotencyStore, Reservation, Ticket, UnknownClaim
from ._aio_journal import Journal, LogReader, Projection, Replay, check_journal, read_run_result, retention_candidates
from ._aio_watch import Watch, is_coroutine_function
from ._native import Claim, Explanation, FleetView, Heartbeat, Observation, Options, OwnershipGuard, ProcessIdentity
from ._native import Record, Report, SessionEnvironment, Snapshot, State, Tick
from ._offload import offload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType
    from typing import Union

    from ._aio_execution import AsyncExecution
    from ._aio_execution_result import reconcile_execution_result
    from ._native import TestHost

    Path = Union[str, os.PathLike[str]]
    Answer = Union[str, bool, None]
    Probe = Union[
        str,
        ProcessIdentity,
        Callable[[Record], Answer],
        Callable[[Record], Awaitable[Answer]],
        None,
    ]

__all__ = [
    "AsyncExecution",
    "FinishedClaim",
    "Fleet",
    "IdempotencyStore",
    "Journal",
    "LogReader",
    "Projection",
    "Reader",
    "Replay",
    "Reservation",
    "Session",
    "Ticket",
    "UnknownClaim",
    "Watch",
    "Writer",
    "check_journal",
    "claim",
    "claim_wrapperless",
    "read_fleet",
    "read_run_result",
    "reconcile_execution_result",
    "retention_candidates",
]

# Hidden from type checkers, as in the package: the execution layer is loaded by whoever asks for it.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        value: object
        if name == "AsyncExecution":
            from ._aio_execution import AsyncExecution as value
        elif name == "reconcile_execution_result":
            from ._aio_execution_result import reconcile_execution_result as value
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


async def claim(
    directory: Path,
    agent: str,
    harness: str,
    token: str,
    *,
    options: Options | None = None,
    host: TestHost | None = None,
) -> Claim:
    """As `gallivant.claim`."""
    return await offload(
        _native.claim, directory, agent=agent, harness=harness, token=token, options=options, host=host
    )


async def claim_wrapperless(
    directory: Path,
    agent: str,
    harness: str,
    token: str,
    *,
    options: Options | None = None,
    host: TestHost | None = None,
) -> Claim | None:
    """As `gallivant.claim_wrapperless`."""
    return await offload(
        _native.claim_wrapperless, directory, agent=agent, harness=harness, token=token, options=options, host=host
    )


class Reader:
    """As `gallivant.Reader`, awaited."""

    def __init__(self, path: Path, *, options: Options | None = None, host: TestHost | None = None) -> None:
        self._reader = _native.Reader(path, options=options, host=host)
        self._options = Options() if options is None else options

    @property
    def path(self) -> str:
        """The path as it was given."""
        return self._reader.path

    async def read(self, probe: Probe = None) -> State | None:
        """As `gallivant.Reader.read`. The probe may also be a coroutine function, which is awaited in this loop, and
        cancelled when the probe budget is over; a plain function is called on a thread of the pool.
        """
        if not is_coroutine_function(probe):
            return await offload(self._reader.read, probe)
        snapshot, answer = await self._asked(probe)
        return snapshot.derive(probe=answer)

    async def explain(self, probe: Probe = None) -> Explanation:
        """As `gallivant.Reader.explain`, with a probe as for `read`."""
        if not is_coroutine_function(probe):
            return await offload(self._reader.explain, probe)
        snapshot, answer = await self._asked(probe)
        return snapshot.explain(probe=answer)

    async def _asked(self, probe: Callable[[Record], Awaitable[Answer]]) -> tuple[Snapshot, str]:
        """What stands there, and what the probe says of it where that decides."""
        snapshot = await self.snapshot()
        answer = "indeterminate"
        if snapshot.wants_probe() and snapshot.record is not None:
            answer = await _ask(probe, snapshot.record, self._options.probe_budget_ms / 1000)
        return snapshot, answer

    async def snapshot(self) -> Snapshot:
        """As `gallivant.Reader.snapshot`."""
        return await offload(self._reader.snapshot)

    def __repr__(self) -> str:
        return f"<gallivant.aio.Reader path={self.path!r}>"


class Writer:
    """As `gallivant.Writer`, awaited. `interrupt` and the attributes touch no file and are not."""

    def __init__(
        self,
        directory: Path,
        agent: str,
        harness: str,
        token: str,
        *,
        pty_session: str | None = None,
        sequence: int | None = None,
        evidence: str | None = None,
        options: Options | None = None,
        host: TestHost | None = None,
    ) -> None:
        self._writer = _native.Writer(
            directory,
            agent=agent,
            harness=harness,
            token=token,
            pty_session=pty_session,
            sequence=sequence,
            evidence=evidence,
            options=options,
            host=host,
        )

    @classmethod
    def from_environment(
        cls,
        environment: SessionEnvironment,
        *,
        evidence: str | None = None,
        options: Options | None = None,
        host: TestHost | None = None,
    ) -> Writer:
        """As `gallivant.SessionEnvironment.writer`."""
        return cls._of(environment.writer(evidence=evidence, options=options, host=host))

    @classmethod
    def _of(cls, writer: _native.Writer) -> Writer:
        self = cls.__new__(cls)
        self._writer = writer
        return self

    async def observe(
        self,
        observation: Observation | str,
        *,
        blocked_on: str | None = None,
        input_buffer: str | None = None,
        ask: str | None = None,
        reason: str | None = None,
        exit: str | None = None,
    ) -> Report:
        """As `gallivant.Writer.observe`."""
        return await offload(
            self._writer.observe,
            observation,
            blocked_on=blocked_on,
            input_buffer=input_buffer,
            ask=ask,
            reason=reason,
            exit=exit,
        )

    async def observe_unless_ended(
        self,
        observation: Observation | str,
        *,
        blocked_on: str | None = None,
        input_buffer: str | None = None,
        ask: str | None = None,
        reason: str | None = None,
        exit: str | None = None,
    ) -> Report:
        """As `gallivant.Writer.observe_unless_ended`."""
        return await offload(
            self._writer.observe_unless_ended,
            observation,
            blocked_on=blocked_on,
            input_buffer=input_buffer,
            ask=ask,
            reason=reason,
            exit=exit,
        )

    async def ended(self, exit: str | None = None) -> Report:
        """As `gallivant.Writer.ended`."""
        return await offload(self._writer.ended, exit)

    async def note_child(self, id: str, step: str) -> Report:
        """As `gallivant.Writer.note_child`."""
        return await offload(self._writer.note_child, id, step)

    async def heartbeat(self) -> Heartbeat:
        """As `gallivant.Writer.heartbeat`."""
        return await offload(self._writer.heartbeat)

    def interrupt(self) -> None:
        """As `gallivant.Writer.interrupt`."""
        self._writer.interrupt()

    def current_ownership(self) -> _CurrentOwnership:
        """As `gallivant.Writer.current_ownership`, for `async with`. Awaiting anything of this seat inside the block
        waits for the block.
        """
        return _CurrentOwnership(self._writer)

    async def lock_current_ownership(self) -> OwnershipGuard | None:
        """As `gallivant.Writer.lock_current_ownership`."""
        return await offload(self._writer.lock_current_ownership)

    @property
    def sequence(self) -> int | None:
        """The sequence that was adopted or resolved."""
        return self._writer.sequence

    @property
    def directory(self) -> str:
        """The agent's directory."""
        return self._writer.directory

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self._writer.agent

    @property
    def harness(self) -> str:
        """The harness's name."""
        return self._writer.harness

    @property
    def token(self) -> str:
        """The session's token."""
        return self._writer.token

    @property
    def evidence(self) -> str:
        """By what it knows what it observes."""
        return self._writer.evidence

    @property
    def pty_session(self) -> str | None:
        """The pty session in which the harness runs."""
        return self._writer.pty_session

    def __repr__(self) -> str:
        return repr(self._writer).replace("gallivant.Writer", "gallivant.aio.Writer", 1)


class Session:
    """As `gallivant.Session`, awaited:

    async with await Session.start(directory, agent="worker", harness="claude", pty_session="w1") as session:
        ...

    The block's end ends the session as that of `gallivant.Session` does; a cancellation is an exception that leaves it.
    """

    def __init__(self, session: _native.Session) -> None:
        self._session = session
        self._writer = Writer._of(session.writer)

    @staticmethod
    async def start(
        directory: Path,
        agent: str,
        harness: str,
        *,
        pty_session: str | None = None,
        token: str | None = None,
        options: Options | None = None,
        host: TestHost | None = None,
    ) -> Session:
        """As `gallivant.Session.start`. Cancelled, it has either claimed nothing or let go of the session again."""
        session = await offload(
            _native.Session.start,
            directory,
            agent=agent,
            harness=harness,
            pty_session=pty_session,
            token=token,
            options=options,
            host=host,
        )
        return Session(session)

    @property
    def claim(self) -> Claim:
        """The claim with which the session started, and what it could not do."""
        return self._session.claim

    @property
    def writer(self) -> Writer:
        """The session's writer, which has adopted the claim."""
        return self._writer

    @property
    def holds_lease(self) -> bool:
        """Whether the session holds its lease."""
        return self._session.holds_lease

    @property
    def harness_process(self) -> ProcessIdentity | None:
        """The process that was attached."""
        return self._session.harness_process

    def environment(self) -> SessionEnvironment:
        """What to hand to the harness and its hooks."""
        return self._session.environment()

    def to_env(self) -> dict[str, str]:
        """The variables of `environment()`."""
        return self._session.to_env()

    async def attach(self, pid: int) -> ProcessIdentity:
        """As `gallivant.Session.attach`."""
        return await offload(self._session.attach, pid)

    async def heartbeat_if_due(self) -> Tick:
        """As `gallivant.Session.heartbeat_if_due`."""
        return await offload(self._session.heartbeat_if_due)

    async def end(self, exit: str | None = None) -> Report:
        """As `gallivant.Session.end`."""
        return await offload(self._session.end, exit)

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await offload(self._session.__exit__, exception_type, exception, traceback)

    def __repr__(self) -> str:
        return repr(self._session).replace("gallivant.Session", "gallivant.aio.Session", 1)


async def read_fleet(
    root: Path,
    *,
    max_depth: int | None = None,
    max_records: int | None = None,
    max_directories: int | None = None,
    threads: int | None = None,
    probe: str | None = None,
    options: Options | None = None,
    host: TestHost | None = None,
) -> FleetView:
    """As `gallivant.read_fleet`."""
    return await offload(
        _native.read_fleet,
        root,
        max_depth=max_depth,
        max_records=max_records,
        max_directories=max_directories,
        threads=threads,
        probe=probe,
        options=options,
        host=host,
    )


class Fleet:
    """As `gallivant.Fleet`, awaited."""

    def __init__(
        self,
        root: Path,
        *,
        max_depth: int | None = None,
        max_records: int | None = None,
        max_directories: int | None = None,
        threads: int | None = None,
        probe: str | None = None,
        options: Options | None = None,
        host: TestHost | None = None,
    ) -> None:
        self._fleet = _native.Fleet(
            root,
            max_depth=max_depth,
            max_records=max_records,
            max_directories=max_directories,
            threads=threads,
            probe=probe,
            options=options,
            host=host,
        )

    async def read(self) -> FleetView:
        """As `gallivant.Fleet.read`."""
        return await offload(self._fleet.read)

    async def forget(self) -> None:
        """As `gallivant.Fleet.forget`."""
        await offload(self._fleet.forget)

    @property
    def root(self) -> str:
        """The root, as an absolute path."""
        return self._fleet.root

    def __repr__(self) -> str:
        return f"<gallivant.aio.Fleet root={self.root!r}>"


class _CurrentOwnership:
    def __init__(self, writer: _native.Writer) -> None:
        self._block = writer.current_ownership()

    async def __aenter__(self) -> OwnershipGuard | None:
        return await offload(self._enter)

    def _enter(self) -> OwnershipGuard | None:
        return self._block.__enter__()

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Not on a thread: it only closes a descriptor, and must happen at once even in a task that is cancelled.
        self._block.__exit__(exception_type, exception, traceback)


async def _ask(probe: Callable[[Record], Awaitable[Answer]], record: Record, budget: float) -> str:
    try:
        answer = await asyncio.wait_for(probe(record), budget)
    except Exception:
        return "indeterminate"
    if isinstance(answer, bool):
        return "alive" if answer else "dead"
    return answer if answer == "alive" or answer == "dead" else "indeterminate"
