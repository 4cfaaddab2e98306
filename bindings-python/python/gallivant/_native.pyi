"""
The native half of the package `gallivant`. Private: import from `gallivant`.
"""

import collections.abc
import typing

from _typeshed import SupportsGetItem
from collections.abc import Iterator
from gallivant.errors import GallivantError
from os import PathLike
from typing import Any, SupportsFloat, SupportsIndex, final
from typing_extensions import disjoint_base

__all__ = ["AbortToken", "Appended", "Boundary", "Call", "Cancel", "Capability", "Change", "Checked", "Claim", "ClaimNotices", "ClaimView", "CurrentOwnership", "DispatchLane", "Done", "Event", "ExecutionRegistry", "Explanation", "Extension", "Fingerprint", "FingerprintBuilder", "FinishedClaim", "Fleet", "FleetEntry", "FleetView", "Frame", "Gap", "HealthStore", "Heartbeat", "HookReport", "IdempotencyStore", "Journal", "Lane", "LeftOut", "LogReader", "Machine", "Observation", "Options", "Owner", "OwnershipGuard", "PendingBatch", "Placed", "Position", "ProcessIdentity", "Projected", "Projection", "PublicationPorts", "Reader", "Record", "Recovered", "Redactor", "Refresh", "Replay", "Report", "Reservation", "Row", "SeatChange", "Session", "SessionEnvironment", "Snapshot", "State", "Stream", "Swept", "TestHost", "Tick", "Ticket", "TriedRow", "UnknownClaim", "UnresolvedOperation", "Watch", "Window", "Writer", "arm_hook_deadline", "assert_execution_dependency", "cancel_state", "check", "check_hook", "claim", "claim_wrapperless", "codes", "execution_constants", "execution_function", "mint_token", "observe_hook", "panic", "read_fleet", "read_run_result_json", "retention_candidates", "sandbox_readiness_json", "serve_hook", "unresolved", "version", "words"]

@final
class AbortToken:
    """
    Ends the wait of a machine for the task's lock.
    """
    def __new__(cls, /) -> AbortToken: ...
    def abort(self, /) -> None:
        """
        Ends it, now and from now on. Never blocks and cannot be undone.
        """

@final
class Appended:
    """
    What an append has come to.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, placed: SupportsGetItem[int, Placed], end: Position) -> Appended: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> Position:
        """
        The end of the journal, all of it acknowledged.
        """
    @property
    def placed(self, /) -> tuple[Placed, ...]:
        """
        Where each event of the page stands, in the page's order.
        """

@final
class Boundary:
    """
    The boundary of one task, whose documents are JSON text. Threads may share it.
    """
    def __new__(cls, /, root: str | PathLike[str], options_json: str, *, registry: ExecutionRegistry | None = None, existing: bool = False, health: HealthStore | None = None, host: TestHost | None = None) -> Boundary:
        """
        Makes the boundary of a task; with `existing`, for the provider that its files have, by its record in `registry`.
        Creates no file.
        """
    def call(self, /, method: str, input_json: str, token: AbortToken) -> "Machine | str":
        """
        Calls a method by its name in the contract: a machine that is to be started, or the answer as JSON text.
        """
    def close(self, /) -> None:
        """
        Lets go of it and of its machines, as a crash would. Waits for the steps that are being taken. Does nothing the second
        time.
        """
    @property
    def limits_json(self, /) -> str:
        """
        The limits in force, as JSON text.
        """
    def now_ms(self, /) -> int:
        """
        The boundary's clock, in ms since 1970.
        """
    def refuse_closed(self, /) -> None:
        """
        Raises `ExecutionInputError` with the reason `closed` where it is closed.
        """

@final
class Call:
    """
    What the host is to do.
    """
    def __repr__(self, /) -> str: ...
    @property
    def deadline_at(self, /) -> int:
        """
        When it counts as failed, in milliseconds since 1970.
        """
    @property
    def id(self, /) -> int:
        """
        By which its end is fed back; unique within the process.
        """
    @property
    def input_json(self, /) -> str:
        """
        The method's input, as the text of a JSON object.
        """
    @property
    def is_over(self, /) -> bool:
        """
        Whether the call is over and its method should end: at the deadline, at an abort, when the machine is let go of.
        """
    @property
    def method(self, /) -> str:
        """
        Which method, in the spelling of the contract.
        """
    @property
    def port(self, /) -> str:
        """
        Whom it is for: `transport`, or `process` for the process host.
        """

@final
class Cancel:
    """
    Ends waits from another thread.

    `cancel.run(function, ...)` runs a function; once `cancel.set()` was called, from any thread, a call of this
    library inside it that waits for a lock ends within 0.1 s with `CancelledError` and nothing written, and one that
    would write is refused in the same way when it begins. So does a watch that waits for a change, and it loses none. A
    call that is past its wait finishes.
    """
    def __new__(cls, /) -> Cancel: ...
    def __repr__(self, /) -> str: ...
    @property
    def is_set(self, /) -> bool:
        """
        Whether it was set.
        """
    def run(self, function: "collections.abc.Callable[..., object]", /, *args: "object", **kwargs: "object") -> "typing.Any":
        """
        Calls `function` with the arguments and answers its result; its waits end when the flag is set.
        """
    def set(self, /) -> None:
        """
        Ends the waits under this flag, now and from now on. Never blocks and cannot be undone.
        """

@final
class Capability:
    """
    Whether keyed creates are available; its truth is `keyed_creates`.
    """
    def __bool__(self, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, keyed_creates: bool, error: GallivantError | None = None) -> Capability: ...
    def __repr__(self, /) -> str: ...
    @property
    def error(self, /) -> GallivantError | None:
        """
        What a create would be refused with; None where they are available.
        """
    @property
    def keyed_creates(self, /) -> bool:
        """
        Whether they are.
        """

@final
class Change:
    """
    What changed.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, seats: SupportsGetItem[int, SeatChange], left_out: LeftOut, noticing: str) -> Change: ...
    def __repr__(self, /) -> str: ...
    @property
    def left_out(self, /) -> LeftOut:
        """
        What a fleet's walk did not look at, as it is now.
        """
    @property
    def noticing(self, /) -> str:
        """
        How changes are noticed now: `notified`; by looking at an interval, because the platform or a file system does
        not notify (`polled-unsupported`), or because a limit of the system is reached (`polled-limit`).
        """
    @property
    def seats(self, /) -> tuple[SeatChange, ...]:
        """
        Each seat of which something else is to be concluded than was told last, in the order of the paths. Empty
        where only the two below are others.
        """

@final
class Checked:
    """
    What a check has found.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, end: Position, records: SupportsIndex, gaps: SupportsGetItem[int, Gap], pending: PendingBatch | None = None) -> Checked: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> Position:
        """
        What is acknowledged.
        """
    @property
    def gaps(self, /) -> tuple[Gap, ...]:
        """
        Every gap that is recorded, and every damage that was found, in the file's order. Empty where each was handed to a
        function as it was found.
        """
    @property
    def pending(self, /) -> PendingBatch | None:
        """
        The batch that waits behind the acknowledged bytes; None where none does. The next append recovers it.
        """
    @property
    def records(self, /) -> int:
        """
        How many good records there are that are no gaps.
        """

@final
class Claim:
    """
    A claim that has landed: record and floor are on disk and durable, except where it says otherwise.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, sequence: SupportsIndex, floor_failure: GallivantError | None = None, floor_damage: str | None = None, context_failure: GallivantError | None = None, swept: SupportsIndex) -> Claim: ...
    def __repr__(self, /) -> str: ...
    @property
    def context_failure(self, /) -> GallivantError | None:
        """
        The sibling record could not be removed: the new session may be shown the old one's context.
        """
    @property
    def floor_damage(self, /) -> str | None:
        """
        Something stood in the floor's place that was no number, and what was wrong with it.
        """
    @property
    def floor_failure(self, /) -> GallivantError | None:
        """
        The floor could not be raised: the claim stands, and the record alone carries its sequence.
        """
    @property
    def sequence(self, /) -> int:
        """
        The session's ownership sequence. Writers of the session adopt it.
        """
    @property
    def swept(self, /) -> int:
        """
        How many abandoned staged files were removed.
        """

@final
class ClaimNotices:
    """
    Tells of creates that end, of any key and in any process, for event loops: `descriptor` becomes readable, and is not
    any more after `drain`. Made by `IdempotencyStore.notices`. Whoever is told asks `Ticket.look`, and asks by
    `Ticket.next_look` anyway. One thread at a time uses it; in a forked child it is the parent's.
    """
    def close(self, /) -> None:
        """
        Closes the descriptor. Does nothing the second time, and in a forked child.
        """
    @property
    def descriptor(self, /) -> int:
        """
        The descriptor. It is the notices' own: do not read from it or close it.
        """
    def drain(self, /) -> None:
        """
        Takes what has been told since the last call, without waiting. Raises `HandleBusyError` while another thread uses
        it, and `IdempotencyStoreUnavailableError` where the system fails: then look by the time alone.
        """

@final
class ClaimView:
    """
    What stands on disk for a name.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, state: str, resource: str | None = None, answer: bytes | None = None) -> ClaimView: ...
    def __repr__(self, /) -> str: ...
    @property
    def answer(self, /) -> bytes | None:
        """
        The saved answer; None before, and where the resource was only found afterwards.
        """
    @property
    def resource(self, /) -> str | None:
        """
        The id of the thing that was made; None before.
        """
    @property
    def state(self, /) -> str:
        """
        How far the create is: `reserved`, `marked` or `finished`.
        """

@final
class CurrentOwnership:
    """
    What `Writer.current_ownership` answers: a context manager, to be entered once.
    """
    def __enter__(self, /) -> OwnershipGuard | None: ...
    def __exit__(self, exception_type: Any, exception: Any, traceback: Any, /) -> None: ...

@final
class DispatchLane:
    """
    Dispatches that wait for probes, numbered from 0. Threads may share it.
    """
    def __new__(cls, /, store: HealthStore, scopes: SupportsGetItem[int, tuple[str, str]], concurrency: SupportsIndex) -> DispatchLane:
        """
        Joins the probes that are scheduled now for the accounts of the dispatches.
        """
    def end(self, /, dispatch: SupportsIndex) -> None:
        """
        A retry has ended, however it has.
        """
    def give_up(self, /) -> None:
        """
        Waits for probes no longer.
        """
    def is_waiting(self, /) -> bool:
        """
        Whether a dispatch waits for its probe, or for a slot.
        """
    def retry_next(self, /) -> int | None:
        """
        The dispatch that is to be retried now, or None. It reads records.
        """

@final
class Done:
    """
    The end of a machine.
    """
    def __repr__(self, /) -> str: ...
    @property
    def error(self, /) -> GallivantError | None:
        """
        The exception of a call that failed, which is not raised; None where it did not.
        """
    def result_json(self, /) -> str:
        """
        What the boundary's call returns, as JSON text, or its exception, raised.
        """

@final
class Event:
    """
    One event of a page, unredacted: something of a `type` with `data`, or, with a `reason`, a gap.

        Event("e-1", "provider", "message", {"text": "hello"}, provider_sequence=1, timestamp=1_700_000_000_000)
        Event("gap-c7", "provider", reason=words.GAP_PROVIDER_GAP)

    `id` is the provider's event id, a gap id or a byte id. `provenance` is who says it: `provider`, `local` or `boundary`.
    `data` is what `json.dumps` takes, taken as it is now; integers keep all their digits. `data_json` is the same as JSON
    text, whose numbers keep every digit they are written with. `provider_sequence` is the provider's own number, an integer
    from 0. `timestamp` is when it happened, in ms since 1970; without one the journal notes when it took the event in.

    Raises `ExecutionInputError` with reason `event` for what is no event, and with reason `shape` for data that is not one JSON
    value; `TypeError` and `ValueError` for data that `json.dumps` does not take. What a record can hold is judged by the append.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, id: str, provenance: str, type: str | None = None, data: "object" = None, *, data_json: str | None = None, reason: str | None = None, provider_sequence: int | float | None = None, timestamp: int | float | None = None) -> Event: ...
    def __repr__(self, /) -> str: ...
    @property
    def data(self, /) -> Any | None:
        """
        The data as `json.loads` gives it, made at each look; None for a gap and for JSON's null.
        """
    @property
    def data_json(self, /) -> str | None:
        """
        The data as JSON text, numbers with their digits; None for a gap.
        """
    @property
    def id(self, /) -> str:
        """
        The provider's event id, a gap id or a byte id.
        """
    @staticmethod
    def page_from_json(text: str) -> list[Event]:
        """
        The events of a page that is JSON text, as a provider has sent it: an array of objects with `id`, `provenance`, `type`
        and `data`, and if need be `providerSequence` and `timestamp`; a gap has a `reason` in the place of type and data. Every
        number keeps its digits.

        Raises `ExecutionInputError` with reason `shape` for what is not one JSON array, and with reason `event` for what is no
        event, by its position.
        """
    @property
    def provenance(self, /) -> str:
        """
        Who says it.
        """
    @property
    def provider_sequence(self, /) -> int | float | None:
        """
        The provider's own number.
        """
    @property
    def reason(self, /) -> str | None:
        """
        Why something is missing here; None where nothing is.
        """
    @property
    def timestamp(self, /) -> int | float | None:
        """
        When it happened, in ms since 1970.
        """
    @property
    def type(self, /) -> str | None:
        """
        The type; None for a gap.
        """

@disjoint_base
class ExecutionRegistry:
    """
    The records of all providers, each with its adapter as data. Threads may share it.
    """
    def __new__(cls, /) -> ExecutionRegistry:
        """
        A registry with the shipped records, none of which has an adapter yet.
        """
    def attach_json(self, /, provider: str, adapter_json: str, secrets: SupportsGetItem[int, str] = ...) -> str:
        """
        Gives an adapter to a record that has none. Gives the record as JSON text.
        """
    def capabilities_json(self, /) -> str:
        """
        All records, as the JSON text of a list.
        """
    def capability_json(self, /, provider: str) -> str:
        """
        The record of a provider, as JSON text.
        """
    def register_json(self, /, record_json: str, adapter_json: str | None = None, secrets: SupportsGetItem[int, str] = ...) -> str:
        """
        Adds a record, and its adapter where `adapter_json` is one. Gives the record as JSON text.
        """

@final
class Explanation:
    """
    Why a reader concludes what it does. `str()` gives some lines for a person.
    """
    def __repr__(self, /) -> str: ...
    def __str__(self, /) -> str: ...
    @property
    def age_ms(self, /) -> int | None:
        """
        How old the record's stamp is by the wall clock, in ms; None without a record.
        """
    @property
    def clause(self, /) -> str:
        """
        The clause of the row that decided.
        """
    @property
    def damage(self, /) -> str | None:
        """
        Why there is no record although something stands there: one line for people.
        """
    @property
    def now_ms(self, /) -> int:
        """
        The instant for which it was concluded, wall clock in ms since 1970.
        """
    @property
    def reason(self, /) -> str | None:
        """
        The conclusion's reason.
        """
    @property
    def record(self, /) -> Record | None:
        """
        The record, where one was read and decoded.
        """
    @property
    def rows(self, /) -> tuple[TriedRow, ...]:
        """
        The rows in the order in which they were tried. The last one decided.
        """
    @property
    def state(self, /) -> State | None:
        """
        The conclusion; None when nothing was ever observed.
        """
    def to_json(self, /) -> str:
        """
        One JSON object as text: `state` `reason` `clause` `validUntilMs` `clock` `ageMs` `rows` `record` `damage`. The
        session's token is left out of the record.
        """

@final
class Extension:
    """
    What writers of this library add to a record: clocks that nobody sets, the order of events, how strong the
    evidence is, which children run, and which process the harness is.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, boot_id: str, boot_ms: SupportsIndex, awake_ms: SupportsIndex, host: str, event_ms: SupportsIndex | None = None, evidence: str | None = None, children: SupportsGetItem[int, str] = ..., late: SupportsIndex = ..., process: ProcessIdentity | None = None) -> Extension: ...
    def __repr__(self, /) -> str: ...
    @property
    def awake_ms(self, /) -> int:
        """
        The stamp on the clock that does not, in ms.
        """
    @property
    def boot_id(self, /) -> str:
        """
        The boot in which the stamp was taken; empty where the system does not tell.
        """
    @property
    def boot_ms(self, /) -> int:
        """
        The stamp on the clock that counts the machine's sleep, in ms since boot.
        """
    @property
    def children(self, /) -> tuple[str, ...]:
        """
        The ids of the children that run, in the order in which they were first heard of.
        """
    @property
    def event_ms(self, /) -> int | None:
        """
        When what stands here happened, on the clock of `boot_ms`: for a hook, when its process started.
        """
    @property
    def evidence(self, /) -> str | None:
        """
        By what it is known: a word of `EVIDENCE_*`, or one that this version does not know.
        """
    @property
    def host(self, /) -> str:
        """
        The machine on which the stamp was taken; empty where the system does not tell.
        """
    @property
    def late(self, /) -> int:
        """
        How many events came too late to be written.
        """
    @property
    def process(self, /) -> ProcessIdentity | None:
        """
        The harness's process, where a session attached it.
        """

@final
class Fingerprint:
    """
    SHA-256 of a request's body, over exactly the bytes that were sent: `Fingerprint(body)`, or `FingerprintBuilder` for a
    body in parts. There is no canonical form: `{"a":1}` and `{ "a": 1 }` are two bodies.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, body: bytes) -> Fingerprint: ...
    def __repr__(self, /) -> str: ...
    @property
    def digest(self, /) -> bytes:
        """
        The 32 bytes of the hash.
        """
    @staticmethod
    def from_digest(digest: bytes) -> Fingerprint:
        """
        One whose 32 bytes were taken before, by any means that takes SHA-256.

        Raises `IdempotencyInputError` with reason `digest` for another number of bytes.
        """

@final
class FingerprintBuilder:
    """
    Takes the fingerprint of a body that comes in parts, such as one too large for memory. How it is cut makes no
    difference. One thread at a time uses it.
    """
    def __new__(cls, /) -> FingerprintBuilder: ...
    def finish(self, /) -> Fingerprint:
        """
        The fingerprint of everything that was added so far. More may be added afterwards. Raises `HandleBusyError` while
        another thread uses it.
        """
    def update(self, /, part: bytes) -> None:
        """
        Adds the next bytes of the body. Raises `HandleBusyError` while another thread uses it.
        """

@final
class FinishedClaim:
    """
    What the first create made, and how it answered. `begin` answers it where the create has finished: answer as it did.
    """
    def __repr__(self, /) -> str: ...
    @property
    def answer(self, /) -> bytes | None:
        """
        The answer that the first create's caller got, byte for byte; None where the resource was only found afterwards.
        """
    @property
    def completed_ms(self, /) -> int:
        """
        When the create finished, in ms since 1970.
        """
    @property
    def how(self, /) -> str:
        """
        How it came about: `replayed`, `waited` or `settled`.
        """
    @property
    def kind(self, /) -> str:
        """
        What is to be done: the word `replay`.
        """
    def recreate(self, /, *, timeout: SupportsFloat | SupportsIndex | None = None) -> Reservation | FinishedClaim | Ticket | UnknownClaim:
        """
        Says that the resource is proved to be gone, and begins anew: exactly one of all who say so gets a reservation, the
        others wait for it. A claim that has been replaced meanwhile answers what replaced it. A read of the resource that
        failed or was denied proves nothing. Raises as `IdempotencyStore.begin`.
        """
    @property
    def resource(self, /) -> str:
        """
        The id of the thing that was made.
        """
    def still_stands(self, /) -> bool:
        """
        Whether the claim still stands as it was read. Read-only. Raises as `IdempotencyStore.inspect`.
        """

@final
class Fleet:
    """
    Every record below a directory, read again and again. Threads may share it, of which one reads at a time; a forked
    child may go on using it. The root need not exist yet, and nothing is created or locked.

    `max_depth` is how many levels of directories below the root are entered (8; 0 looks at the root alone, 128 is the
    most), `max_records` how many records are read (100,000), `max_directories` how many directories are entered (200,000).
    With `probe='lease'` the lease of each live record's session is asked for. Links are not followed on the way. `threads` is
    how many threads walk a tree of which nothing is known yet, the calling one among them (1, at most 64); the others have ended
    once the read returns, and what is found and its order are the same whatever the number.

    The first read walks the tree. Later ones open only what has changed since. Above 1,024 agents' directories with
    nothing below them, a record that appears below one of those is found by the eighth read at the latest. A read that
    finds what the one before it found answers the same view, which the fleet keeps for that.

    Raises `HarnessStateInputError` with reason `path` for the empty path, with reason `probe` for another probe.
    """
    def __new__(cls, /, root: str | PathLike[str], *, max_depth: SupportsIndex | None = None, max_records: SupportsIndex | None = None, max_directories: SupportsIndex | None = None, threads: SupportsIndex | None = None, probe: "str | None" = None, options: Options | None = None, host: TestHost | None = None) -> Fleet: ...
    def __repr__(self, /) -> str: ...
    def forget(self, /) -> None:
        """
        Forgets what was found, so that the next read walks the whole tree again.
        """
    def read(self, /) -> FleetView:
        """
        Every record, and what may be concluded from each now. What cannot be read is an entry that is unknown, what was
        not looked at is said in `left_out`, and a root that does not exist has no entries.
        """
    @property
    def root(self, /) -> str:
        """
        The root, as an absolute path.
        """

@final
class FleetEntry:
    """
    One record of a fleet: where it is, and what may be concluded from it.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, path: str, state: State) -> FleetEntry: ...
    def __repr__(self, /) -> str: ...
    @property
    def path(self, /) -> str:
        """
        The agent's directory by its path below the root; `.` for the root itself.
        """
    @property
    def state(self, /) -> State:
        """
        What may be concluded.
        """

@final
class FleetView:
    """
    Every record of a fleet, in the order of their paths: name by name, a directory before what is below it.

    `len(view)`, `view[3]`, `for entry in view`.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, position: SupportsIndex, /) -> FleetEntry: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[FleetEntry]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, *, entries: SupportsGetItem[int, FleetEntry], left_out: LeftOut, valid_until_ms: SupportsIndex | None = None) -> FleetView: ...
    def __repr__(self, /) -> str: ...
    @property
    def entries(self, /) -> tuple[FleetEntry, ...]:
        """
        The records.
        """
    @property
    def left_out(self, /) -> LeftOut:
        """
        What was not looked at.
        """
    @property
    def valid_until_ms(self, /) -> int | None:
        """
        The instant at which the first of these answers changes by time alone, wall clock in ms since 1970; None where
        time alone changes none.
        """

@final
class Frame:
    """
    One frame of a replay.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, id: str | None = None, event: str, data: str) -> Frame: ...
    def __repr__(self, /) -> str: ...
    @property
    def data(self, /) -> str:
        """
        The row as one line of JSON, `{"id", "kind", "text"}` or `{"id", "kind", "reason"}`; empty for a heartbeat.
        """
    @property
    def event(self, /) -> str:
        """
        `line`, `gap` or `heartbeat`.
        """
    @property
    def id(self, /) -> str | None:
        """
        The row's id. Heartbeats and gaps without a number have none, and move no cursor.
        """
    @property
    def row(self, /) -> Row | None:
        """
        The row, as a window has it; None for a heartbeat.
        """
    def to_sse(self, /) -> bytes:
        """
        The frame as one server-sent event with the empty line that ends it, for a response of `text/event-stream`. Any text
        arrives, but that each CR, LF or CRLF in `data` arrives as one LF. An event without an id leaves the client's last one
        alone; a heartbeat is a comment.
        """

@final
class Gap:
    """
    Something that is missing from a journal.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, first: SupportsIndex, last: SupportsIndex, reason: str, start: SupportsIndex, end: SupportsIndex) -> Gap: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> int:
        """
        Where they end, newline included. The same as `start` where records are missing without a trace.
        """
    @property
    def first(self, /) -> int:
        """
        The first number that it stands for.
        """
    @property
    def last(self, /) -> int:
        """
        The last one. One less than `first` where damaged bytes stand for no number, as a line that is there twice.
        """
    @property
    def reason(self, /) -> str:
        """
        Why: `corrupt-record` where it was found, any other word where it was recorded.
        """
    @property
    def start(self, /) -> int:
        """
        Where its bytes in `events.jsonl` begin.
        """

@disjoint_base
class HealthStore:
    """
    Health records below one directory. Threads may share it.
    """
    def __new__(cls, /, root: str | PathLike[str], *, limits_json: str | None = None, scopes: SupportsGetItem[int, tuple[str, str]] = ..., secrets: SupportsGetItem[int, str] = ..., host: TestHost | None = None) -> HealthStore:
        """
        Makes a store. Creates no file, and reads none.
        """
    def authorize(self, /, provider: str, account: str) -> bool:
        """
        Whether a dispatch is authorised now, by a success that still counts and no refresh under way. Never probes, never writes.
        """
    def begin(self, /, provider: str, account: str) -> Refresh | None:
        """
        Schedules a refresh; None where one is under way. The account's authority has ended once it has returned.
        """
    def due(self, /) -> list[tuple[str, str]]:
        """
        The accounts whose check is due now: provider and account.
        """
    def join_scheduled(self, /, provider: str, account: str, timeout: SupportsFloat | SupportsIndex) -> str:
        """
        Waits for the refresh that is under way, at most so many seconds: `not-scheduled`, `over` or `under-way`. Starts none.
        """
    def record_json(self, /, provider: str, account: str, result_json: str) -> str:
        """
        Saves what a check has shown, and gives the record as JSON text; it is on disk then.
        """
    def scheduled(self, /, provider: str, account: str) -> bool:
        """
        Whether a refresh of this account is under way in this store.
        """
    def status_json(self, /, provider: str, account: str) -> str | None:
        """
        What is recorded, as JSON text. Never probes, never writes.
        """
    def want(self, /, provider: str, account: str) -> None:
        """
        Wants the health of one more account: without a record its check is due.
        """

@final
class Heartbeat:
    """
    What a heartbeat did. True where it landed.
    """
    def __bool__(self, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, outcome: str, skip: str | None = None, floor_failure: GallivantError | None = None) -> Heartbeat: ...
    def __repr__(self, /) -> str: ...
    @property
    def floor_failure(self, /) -> GallivantError | None:
        """
        The floor should have been raised after the record and could not be. The record stands.
        """
    @property
    def outcome(self, /) -> str:
        """
        `landed`: the stamp was renewed. `skipped`: there was nothing of this session's to renew.
        """
    @property
    def skip(self, /) -> str | None:
        """
        Why it was skipped: a word of `SKIPPED_*`.
        """

@final
class HookReport:
    """
    What one hook call did.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, event: str | None = None, kind: str, word: str, lossy: bool = False, report: Report | None = None, error: GallivantError | None = None) -> HookReport: ...
    def __repr__(self, /) -> str: ...
    @property
    def error(self, /) -> GallivantError | None:
        """
        Why it failed.
        """
    @property
    def event(self, /) -> str | None:
        """
        The event's name, as far as the payload could be read.
        """
    @property
    def kind(self, /) -> str:
        """
        `observed`: `report` is the writer's answer. `ignored`: it is no observation. `failed`: `error` says why.
        """
    @property
    def lossy(self, /) -> bool:
        """
        Something in the payload was no Unicode and was replaced.
        """
    @property
    def report(self, /) -> Report | None:
        """
        The writer's answer to the observation.
        """
    @property
    def word(self, /) -> str:
        """
        The answer in one stable word: an outcome's, a refusal's, an ignored event's, or an error's code.
        """

@final
class IdempotencyStore:
    """
    What the keys of creates stand for, on disk: the claims of all processes, in any language, that open the same file.
    Opened by `IdempotencyStore.open`. Threads may share it. One that came through a fork is the parent's: using it in the
    child raises `IdempotencyForkedError`; open a fresh one there.
    """
    def __repr__(self, /) -> str: ...
    def begin(self, /, operation: str, scope: "collections.abc.Sequence[str]", key: str, body: "bytes | Fingerprint", *, timeout: SupportsFloat | SupportsIndex | None = None) -> Reservation | FinishedClaim | Ticket | UnknownClaim:
        """
        Asks what the key means to a create with this body, and reserves it where it is free. `scope` is whom the key belongs
        to, outermost first: whatever decides what is made besides the body. `body` is the bytes exactly as they were sent,
        or a `Fingerprint` of them. `timeout` is how many seconds to wait for another process's transaction.

        Answers a `Reservation` (make the thing), a `FinishedClaim` (it was made), a `Ticket` (it is being made) or an
        `UnknownClaim` (nobody knows whether it was made).

        Raises `IdempotencyKeyReusedError` when the key belongs to another body; `IdempotencyKeyInvalidError` and
        `IdempotencyScopeInvalidError`; `IdempotencyBusyError` at the deadline; `IdempotencyForkedError`; the store's own
        errors as `open` does. Nothing may be made after any of them.
        """
    @property
    def busy_ms(self, /) -> int:
        """
        How many ms a call without a `timeout` waits for another process's transaction.
        """
    def capability(self, /) -> Capability:
        """
        Whether keyed creates are available now, for a server that advertises them. Writes nothing. A store that is only busy
        is available.
        """
    def inspect(self, /, operation: str, scope: "collections.abc.Sequence[str]", key: str) -> ClaimView | None:
        """
        What stands on disk for a name; None where nothing does, or what does has expired. Read-only, and it waits for
        nobody. Raises as `begin`, but for the key's other body.
        """
    @property
    def max_answer_bytes(self, /) -> int:
        """
        How many bytes the largest answer has that is saved.
        """
    @property
    def max_reservation_ms(self, /) -> int:
        """
        After how many ms without a refresh a reservation whose owner lives answers unknown.
        """
    def notice_sleep(self, /) -> None:
        """
        Looks whether the machine has slept since the last look, which every judgement does too: for two minutes from now no
        owner is taken over for its age. Worth calling by whoever is told of a wake-up. Touches no disk.
        """
    def notices(self, /) -> ClaimNotices | None:
        """
        What tells of creates that end, from now on, for event loops; None where the system does not tell. `Ticket.wait`
        needs none.
        """
    @staticmethod
    def open(path: str | PathLike[str], *, window_ms: SupportsIndex | None = None, max_reservation_ms: SupportsIndex | None = None, max_answer_bytes: SupportsIndex | None = None, busy_ms: SupportsIndex | None = None, host: TestHost | None = None) -> IdempotencyStore:
        """
        Opens the store in this file, or makes it where nothing is; its directory has to be there. Durable when it returns.
        All processes that share a store open it with the same options, which are in ms and have their default where they
        are None:

        - `window_ms`: how long a finished claim is replayed, from its completion: 1 minute to 30 days. Default `86400000`,
          which is 24 hours.
        - `max_reservation_ms`: after so long without a refresh a reservation whose owner lives answers unknown. Default
          `3600000`, which is an hour; 1 minute at least.
        - `max_answer_bytes`: the largest answer that is saved. Default `1048576`, which is 1 MiB.
        - `busy_ms`: how long a call without a `timeout` waits for another process's transaction. Default `5000`.

        Raises `IdempotencyInputError` for an option out of range; `IdempotencyStoreUnavailableError` when it cannot be
        opened or written; `IdempotencyStoreUnsupportedError` on a file system that cannot keep one;
        `IdempotencyStoreCorruptError` and `IdempotencyStoreVersionError`, which name the `.file` and leave it as it is;
        `IdempotencyBusyError`.
        """
    @property
    def path(self, /) -> str:
        """
        The path as it was given.
        """
    def sweep(self, /) -> Swept:
        """
        Removes finished claims that have expired, a bounded number a call, so that no create waits long behind it. Call it
        again while the answer's `has_more` is true. Raises the store's own errors.
        """
    @property
    def window_ms(self, /) -> int:
        """
        How long a finished claim is replayed, in ms.
        """

@final
class Journal:
    """
    The journal of one run, as its one writer has it. Opened by `Journal.open`.

        with Journal.open(directory, owner, Redactor(secrets)) as journal:
            journal.append([Event("e-1", "provider", "message", {"text": "hello"})])

    It takes no lock: one program at a time writes, under a lock of its own that guards the run. Threads may share it; one
    call waits for the other. In a forked child it is the parent's: using it there is `ExecutionInputError` with reason
    `forked`, closing it does nothing.
    """
    def __enter__(self, /) -> Journal: ...
    def __exit__(self, exception_type: Any, exception: Any, traceback: Any, /) -> None: ...
    def __repr__(self, /) -> str: ...
    def append(self, /, page: "collections.abc.Iterable[Event] | collections.abc.Iterable[collections.abc.Mapping[str, typing.Any]]") -> Appended:
        """
        Appends the events of a page that are not in the journal yet, each once, in the page's order.

        Once it has returned, every event of the page is readable or a gap stands for it, durably, and a repetition of the
        page adds nothing. What it costs does not depend on the length of the journal. A batch that a crash has left pending
        is recovered first. In the place of events a page may hold dictionaries of the members that `Event.page_from_json`
        takes.

        Raises `ExecutionInputError` for an event that no record can hold, and with reason `event` or `shape` for what is none;
        `TypeError` and `ValueError` for data that `json.dumps` does not take; nothing was written then.
        `ExecutionJournalError` and `ExecutionVersionError` for a journal that is damaged; all its files are as they were.
        `ExecutionIoError`: repeating the page appends what is missing.
        """
    def close(self, /) -> None:
        """
        Closes every descriptor, once a call in another thread has done. Does nothing the second time.
        """
    @property
    def directory(self, /) -> str:
        """
        The run's directory, as it was given.
        """
    @staticmethod
    def open(directory: str | PathLike[str], owner: Owner, redactor: Redactor, *, host: TestHost | None = None) -> Journal:
        """
        The journal in a run's directory, which exists. Nothing of it is read before the first call that needs it. Ids, types
        and data of events are redacted before any byte of them is written.

        Raises `ExecutionUnknownRunError` where there is no such directory, `ExecutionIoError` where it cannot be opened.
        """
    @property
    def owner(self, /) -> Owner:
        """
        Whose journal it is.
        """
    def recover(self, /) -> Recovered:
        """
        Judges what stands on disk and finishes a batch that was left pending. Once it has returned nothing is pending. Where
        nothing was, it writes nothing, but for what crashed writers left staged, which it removes.

        Raises `ExecutionJournalError` and `ExecutionVersionError` for a journal that is damaged: every file is as it was.
        `ExecutionIoError`: another recovery goes on where this one stopped.
        """

@final
class Lane:
    """
    A lane over tasks that are numbered from 0. Threads may share it.
    """
    def __new__(cls, /, tasks: SupportsIndex, concurrency: SupportsIndex) -> Lane:
        """
        A lane over so many tasks.
        """
    def end(self, /, task: SupportsIndex) -> None:
        """
        A task has ended, however it has.
        """
    def start_next(self, /) -> int | None:
        """
        The task that starts now; None while every slot is held, and when all have started.
        """

@final
class LeftOut:
    """
    What a walk did not look at; nothing of it hides anything else. True where something was left out.
    """
    def __bool__(self, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, too_deep: SupportsIndex = ..., too_many: SupportsIndex = ..., unreadable: SupportsIndex = ..., unnameable: SupportsIndex = ..., example: str | None = None) -> LeftOut: ...
    def __repr__(self, /) -> str: ...
    @property
    def example(self, /) -> str | None:
        """
        The first of the unreadable directories and why, in one line for people.
        """
    @property
    def too_deep(self, /) -> int:
        """
        Directories below the last level that is entered.
        """
    @property
    def too_many(self, /) -> int:
        """
        Directories that were known and not entered when the number of records or directories was reached.
        """
    @property
    def unnameable(self, /) -> int:
        """
        Directories whose names are not UTF-8.
        """
    @property
    def unreadable(self, /) -> int:
        """
        Directories that could not be listed or searched. Where the record in one can be read, it is.
        """

@final
class LogReader:
    """
    A reader of one run's lines. It writes nothing, takes no lock, and keeps nothing open but the run's directory. Opened by
    `LogReader.open`. Threads may share it, and a forked child may go on using it.
    """
    def __enter__(self, /) -> LogReader: ...
    def __exit__(self, exception_type: Any, exception: Any, traceback: Any, /) -> None: ...
    def __repr__(self, /) -> str: ...
    def close(self, /) -> None:
        """
        Closes the directory, once reads in other threads have done. Does nothing the second time.
        """
    @property
    def directory(self, /) -> str:
        """
        The run's directory, as it was given.
        """
    def history(self, /, before: str) -> Window:
        """
        The rows just before the one with this id, within the same limits. Raises as `tail`, and `ExecutionInputError` for an
        id that no row ever had.
        """
    def lines(self, /, after: str | None = None, limit: SupportsIndex = ...) -> Window:
        """
        At most `limit` rows just after the one with this id, from the oldest on without one; within the same limits. Raises
        as `history`.
        """
    @staticmethod
    def open(directory: str | PathLike[str], *, host: TestHost | None = None) -> LogReader:
        """
        Reads in a run's directory, which exists.

        Raises `ExecutionUnknownRunError` where there is no such directory, `ExecutionIoError` where it cannot be opened.
        """
    def tail(self, /) -> Window:
        """
        The last rows: at most 400, and at most 262,144 bytes of them. What is read does not depend on the log's length.

        Raises `ExecutionIoError` for whatever is not a missing file; `ExecutionVersionError` and `ExecutionJournalError` for
        `log-meta.json`; `ExecutionInputError` with reason `closed`.
        """

@final
class Machine:
    """
    A running call of a boundary, step by step, for a host that drives it itself. It does no I/O towards the provider.

    A step gives a `Call`, which the host carries out and whose end it feeds back, or `Done`. One call is outstanding at any
    time. What must be durable before a call is durable when its `Call` is there. A machine belongs to one thread at a time;
    letting go of one, at any step, equals a crash there: nothing is written, and its locks are let go of.

    What a step writes is finished whatever signals and `Cancel` say; only `start` waits, for the task's lock, and they end
    that wait.
    """
    def __enter__(self, /) -> Machine: ...
    def __exit__(self, exception_type: Any, exception: Any, traceback: Any, /) -> None: ...
    def __repr__(self, /) -> str: ...
    def abort(self, /, id: SupportsIndex) -> Call | Done:
        """
        The caller gives the call up. Raises as `reply`.
        """
    def close(self, /) -> None:
        """
        Lets go of it, as a crash would. Does nothing the second time.
        """
    def deadline(self, /, id: SupportsIndex) -> Call | Done:
        """
        The method has not ended at the call's deadline. Raises as `reply`.
        """
    def fail(self, /, id: SupportsIndex, error_json: str) -> Call | Done:
        """
        The method failed. `error_json` is a JSON object with `kind`, `message`, `retryAfterMs` and `code`, or anything else,
        which is `io`. Raises as `reply`.
        """
    def reply(self, /, id: SupportsIndex, text: str) -> Call | Done:
        """
        The method returned this JSON text.

        Raises `ExecutionInputError` with the reason `reply` where no call with this id is outstanding: nothing was read and
        nothing has changed. A reply at the call's deadline or later is dropped unread, and the call counts as failed.
        """
    def sending(self, /, id: SupportsIndex) -> None:
        """
        The transport is about to send, or to save something of its own: from now on `not-sent` is not believed of the call.
        Raises as `reply`.
        """
    def start(self, /) -> Call | Done:
        """
        Begins. Where its token was aborted before, it is `Done` with `EXECUTION_BUSY` and the reason `aborted`: nobody was called
        and nothing was written. A machine that has begun already is `Done` with the reason `reply`, and the outstanding call stays outstanding.
        """

@final
class Observation:
    """
    What a writer sees: `state` and five refinements, compared together when it is decided whether anything changed.

    `state`: ready, idle, active, child, ended. `blocked_on`: none (the default), human, unknown. `input_buffer`:
    empty, nonempty, unknown (the default). `ask`: none (the default), permission, question, review. `reason`: why,
    in the writer's words. `exit`: how it ended, such as `exit 0` or `signal 9`. The constants of `gallivant.words`
    spell all of them.

    A word that does not exist is `HarnessStateInputError` with reason `word`. The word `unknown` is accepted here
    wherever the core has it; a writer refuses it for state and ask.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, state: str, *, blocked_on: str | None = None, input_buffer: str | None = None, ask: str | None = None, reason: str | None = None, exit: str | None = None) -> Observation: ...
    def __repr__(self, /) -> str: ...
    @property
    def ask(self, /) -> str:
        """
        What a person is asked for.
        """
    @property
    def blocked_on(self, /) -> str:
        """
        Whom it waits for.
        """
    @property
    def exit(self, /) -> str | None:
        """
        How it ended.
        """
    @property
    def input_buffer(self, /) -> str:
        """
        Whether text waits in its input line.
        """
    @property
    def reason(self, /) -> str | None:
        """
        Why, in the writer's words.
        """
    @property
    def state(self, /) -> str:
        """
        What the harness is doing.
        """

@final
class Options:
    """
    Options of readers and writers, times in milliseconds. Without arguments they agree with existing deployments; an
    option that is None has its default.

    - `schema`: the schema to write, compared whole. Default `'st2.harness-state.v1'`.
    - `also_accepted_schemas`: further ones to accept when reading. Default `()`.
    - `stale_ms`: from this age on a record tells nothing. Default `900000`, which is 15 minutes.
    - `refresh_ms`: from this age on an unchanged observation is stamped again, and a session's heartbeat is due.
      Default `300000`, which is 5 minutes.
    - `future_skew_ms`: a stamp further ahead than this is not believed. Default `60000`, which is a minute.
    - `lock_wait_ms`: how long a call waits for the lock; a hook waits for 250 ms at most. Default `10000`, which is 10
      seconds.
    - `wrapperless_prefixes`: of the tokens of sessions that no wrapper launched. Default `('claude-session-',)`.
    - `extension`: whether records carry the extension object, and are judged by it. Default `True`.
    - `probe_budget_ms`: a probe that takes longer has answered nothing. Default `100`.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, schema: str | None = None, also_accepted_schemas: SupportsGetItem[int, str] | None = None, stale_ms: SupportsIndex | None = None, refresh_ms: SupportsIndex | None = None, future_skew_ms: SupportsIndex | None = None, lock_wait_ms: SupportsIndex | None = None, wrapperless_prefixes: SupportsGetItem[int, str] | None = None, extension: bool | None = None, probe_budget_ms: SupportsIndex | None = None) -> Options: ...
    def __repr__(self, /) -> str: ...
    @property
    def also_accepted_schemas(self, /) -> tuple[str, ...]:
        """
        Further schemas to accept when reading. Default `()`.
        """
    @property
    def extension(self, /) -> bool:
        """
        Whether records carry the extension object, and are judged by it. Default `True`.
        """
    @property
    def future_skew_ms(self, /) -> int:
        """
        A stamp further ahead than this is not believed, in ms. Default `60000`.
        """
    @property
    def lock_wait_ms(self, /) -> int:
        """
        How long a call waits for the lock, in ms. Default `10000`.
        """
    @property
    def probe_budget_ms(self, /) -> int:
        """
        A probe that takes longer than this has answered nothing, in ms. Default `100`.
        """
    @property
    def refresh_ms(self, /) -> int:
        """
        From this age on an unchanged observation is stamped again, in ms. Default `300000`.
        """
    @property
    def schema(self, /) -> str:
        """
        The schema to write, compared whole. Default `'st2.harness-state.v1'`.
        """
    @property
    def stale_ms(self, /) -> int:
        """
        From this age on a record tells nothing, in ms. Default `900000`.
        """
    @property
    def wrapperless_prefixes(self, /) -> tuple[str, ...]:
        """
        The prefixes of the tokens of sessions that no wrapper launched. Default `('claude-session-',)`.
        """

@final
class Owner:
    """
    Whose journal it is. All of it is compared exactly, and none of it is redacted.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, task_id: str, run_id: str, provider: str, job_id: str | None = None, turn_id: str | None = None) -> Owner: ...
    def __repr__(self, /) -> str: ...
    @property
    def job_id(self, /) -> str | None:
        """
        The provider's job, where it has one.
        """
    @property
    def provider(self, /) -> str:
        """
        The provider, by its public name.
        """
    @property
    def run_id(self, /) -> str:
        """
        The run, which has a directory of its own.
        """
    @property
    def task_id(self, /) -> str:
        """
        The task.
        """
    @property
    def turn_id(self, /) -> str | None:
        """
        The provider's root turn, where there is one.
        """

@final
class OwnershipGuard:
    """
    Holds the record's lock while the session owns the seat. Released by `release()`, at the end of a `with` block, and
    with the object.

    In a forked child it holds nothing: `sequence` raises `HarnessStateInputError` with reason `forked`, and releasing
    it does nothing.
    """
    def __enter__(self, /) -> OwnershipGuard: ...
    def __exit__(self, exception_type: Any, exception: Any, traceback: Any, /) -> None: ...
    def release(self, /) -> None:
        """
        Lets go of the lock. Does nothing the second time.
        """
    @property
    def sequence(self, /) -> int:
        """
        The sequence that was found to be the session's. Raises `HarnessStateInputError` with reason `released` once
        the guard was released, and with reason `forked` in a forked child.
        """

@final
class PendingBatch:
    """
    A batch that was announced and not acknowledged.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, records: SupportsIndex, kept: SupportsIndex) -> PendingBatch: ...
    def __repr__(self, /) -> str: ...
    @property
    def kept(self, /) -> int:
        """
        How many of them are there whole, from the first on.
        """
    @property
    def records(self, /) -> int:
        """
        How many records it has.
        """

@final
class Placed:
    """
    Where an event of a page stands in the journal.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, sequence: SupportsIndex, how: str) -> Placed: ...
    def __repr__(self, /) -> str: ...
    @property
    def how(self, /) -> str:
        """
        How it came to its number: `recorded` (a new record holds it), `oversized` (a new gap stands for it, because its
        record would have been too long), `known` (it was there already, in the journal or earlier in the page).
        """
    @property
    def sequence(self, /) -> int:
        """
        Its ingestion number.
        """

@final
class Position:
    """
    A place in the log.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, offset: SupportsIndex, sequence: SupportsIndex) -> Position: ...
    def __repr__(self, /) -> str: ...
    @property
    def offset(self, /) -> int:
        """
        How many bytes of `events.jsonl` lie before it.
        """
    @property
    def sequence(self, /) -> int:
        """
        The number of the last record before it; 0 where there is none.
        """

@final
class ProcessIdentity:
    """
    Names one process for ever. A pid alone names nobody, because it is used again.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, pid: SupportsIndex, start: SupportsIndex, boot: str, pid_namespace: str, host: str) -> ProcessIdentity: ...
    def __repr__(self, /) -> str: ...
    @property
    def boot(self, /) -> str:
        """
        Identifies the boot of the machine; empty where the system does not tell.
        """
    @property
    def host(self, /) -> str:
        """
        Identifies the machine; empty where the system does not tell.
        """
    def liveness(self, /, *, host: TestHost | None = None) -> str:
        """
        What can be proved about it now: `alive`, `dead` or `indeterminate`. Another machine and another pid namespace
        prove nothing.
        """
    @staticmethod
    def of(pid: SupportsIndex, *, host: TestHost | None = None) -> ProcessIdentity | None:
        """
        The process that runs under this pid now; None where none runs or it cannot be read.
        """
    @property
    def pid(self, /) -> int:
        """
        Process id, as the process's own namespace counts.
        """
    @property
    def pid_namespace(self, /) -> str:
        """
        Identifies the pid namespace; empty where the system does not tell.
        """
    @property
    def start(self, /) -> int:
        """
        Start time in the unit of the system's process table (Linux: clock ticks since boot).
        """

@final
class Projected:
    """
    What a projection holds.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, first: SupportsIndex, next: SupportsIndex, bytes: SupportsIndex) -> Projected: ...
    def __repr__(self, /) -> str: ...
    @property
    def bytes(self, /) -> int:
        """
        Bytes of `job.log`.
        """
    @property
    def first(self, /) -> int:
        """
        The oldest number that it has an entry for. Above 1 where older ones were trimmed.
        """
    @property
    def next(self, /) -> int:
        """
        The number of the entry that comes next.
        """

@final
class Projection:
    """
    The writer of one run's public lines, `job.log`, which are made from the journal. Opened by `Projection.open`.

    Like a `Journal` it takes no lock, threads may share it, and in a forked child it is the parent's. Readers take none
    either and are disturbed by nothing that it does.
    """
    def __enter__(self, /) -> Projection: ...
    def __exit__(self, exception_type: Any, exception: Any, traceback: Any, /) -> None: ...
    def __repr__(self, /) -> str: ...
    def catch_up(self, /) -> Projected:
        """
        Writes a line for each record of the journal that is acknowledged and has none yet. Durable once it has returned.
        Where nothing is new, nothing is written.

        Raises `ExecutionIoError`; `ExecutionVersionError` and `ExecutionJournalError` as the journal refuses, or for
        `log-meta.json`. What was acknowledged stays.
        """
    def close(self, /) -> None:
        """
        Closes every descriptor, once a call in another thread has done. Does nothing the second time.
        """
    @property
    def directory(self, /) -> str:
        """
        The run's directory, as it was given.
        """
    @staticmethod
    def open(directory: str | PathLike[str], *, host: TestHost | None = None) -> Projection:
        """
        The projection in a run's directory, which exists. Nothing is read or written.

        Raises `ExecutionUnknownRunError` where there is no such directory, `ExecutionIoError` where it cannot be opened.
        """
    def trim(self, /, keep_bytes: SupportsIndex) -> Projected:
        """
        Drops whole old lines so that at most this many bytes of `job.log` stay. Journal, keys, result and checkpoints are
        not touched. Raises as `catch_up`; the next one then writes again what is missing.
        """

@final
class PublicationPorts:
    """
    A checkout, this system's sandbox, and a push by the program `git`. Threads may share it.
    """
    def __new__(cls, /, boundary: Boundary, input_json: str, token: AbortToken) -> PublicationPorts:
        """
        Makes the ports that the input of `reconcileExecutionResult` describes, with `checkout` and `scratch` in it. `token` ends a
        command that runs. Reads nothing yet.
        """
    def answer(self, /, port: str, method: str, input_json: str) -> str:
        """
        Answers a call of a machine: JSON text. Blocks for as long as that takes. Raises `ExecutionIoError` where it failed.
        """

@final
class Reader:
    """
    Reads one agent's record, by its directory or by the record's own path, which need not exist yet. Threads may
    share it. No lock is taken and nothing is created.

    Raises `HarnessStateInputError` with reason `path` for the empty path.
    """
    def __new__(cls, /, path: str | PathLike[str], *, options: Options | None = None, host: TestHost | None = None) -> Reader: ...
    def __repr__(self, /) -> str: ...
    def explain(self, /, probe: "str | ProcessIdentity | collections.abc.Callable[[Record], str | bool | None] | None" = None) -> Explanation:
        """
        As `read`, and why: the record, the clock, each row of the reading table that was tried, and the one that decided.
        """
    @property
    def path(self, /) -> str:
        """
        The path as it was given.
        """
    def read(self, /, probe: "str | ProcessIdentity | collections.abc.Callable[[Record], str | bool | None] | None" = None) -> State | None:
        """
        What may be concluded now; None when nothing was ever observed, which is not unknown. What cannot be read is
        unknown and no exception.

        `probe` says whether the session behind a live record still lives. It is `"lease"` (the session lease), a
        `ProcessIdentity`, a fixed answer (`"alive"`, `"dead"`, `"indeterminate"`), or a function that gets the `Record`
        and answers one of these words, True (alive), False (dead) or None (indeterminate). It is asked only where its
        answer decides. A function that raises an `Exception`, answers anything else, or takes longer than the options'
        probe budget, has answered `indeterminate`; `KeyboardInterrupt` and `SystemExit` pass through.

        Raises `HarnessStateInputError` with reason `probe` for what is no probe.
        """
    def snapshot(self, /) -> Snapshot:
        """
        What stands there, for deriving from it later and for looking at the record itself.
        """

@final
class Record:
    """
    A record as it stands on disk. Words are spelled as they stand there, known to this version or not.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, schema: str, agent: str, harness: str, state: str, blocked_on: str, input_buffer: str, ask: str, reason: str | None = None, exit: str | None = None, pty_session: str | None = None, incarnation: str, seq: SupportsIndex, since_ms: SupportsIndex, written_at_ms: SupportsIndex, transitions: SupportsIndex, extension: Extension | None = None) -> Record: ...
    def __repr__(self, /) -> str: ...
    @property
    def agent(self, /) -> str:
        """
        The agent's name, as its writer gave it.
        """
    @property
    def ask(self, /) -> str:
        """
        What a person is asked for.
        """
    @property
    def blocked_on(self, /) -> str:
        """
        Whom it waits for.
        """
    @property
    def exit(self, /) -> str | None:
        """
        How it ended.
        """
    @property
    def extension(self, /) -> Extension | None:
        """
        What writers that know the extension object added; None from others, and where it is damaged.
        """
    @property
    def harness(self, /) -> str:
        """
        The harness's name, such as `claude` or `codex`.
        """
    @property
    def incarnation(self, /) -> str:
        """
        The token of the session that wrote it; empty in records from before tokens.
        """
    @property
    def input_buffer(self, /) -> str:
        """
        Whether text waits in its input line.
        """
    @property
    def observation(self, /) -> Observation:
        """
        The six fields that an observation sets, as far as this version understands them.
        """
    @property
    def pty_session(self, /) -> str | None:
        """
        The pty session in which the harness runs.
        """
    @property
    def reason(self, /) -> str | None:
        """
        Why.
        """
    @property
    def schema(self, /) -> str:
        """
        Which format and version.
        """
    @property
    def seq(self, /) -> int:
        """
        The ownership sequence; 0 in records from before sequences.
        """
    @property
    def since_ms(self, /) -> int:
        """
        When the present observation began, wall clock in ms since 1970.
        """
    @property
    def state(self, /) -> str:
        """
        What the harness is doing.
        """
    @property
    def transitions(self, /) -> int:
        """
        How often the observation has changed.
        """
    @property
    def written_at_ms(self, /) -> int:
        """
        When the record was written or last confirmed, wall clock in ms since 1970.
        """

@final
class Recovered:
    """
    What a recovery found and did.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, kept: SupportsIndex, gap: bool, end: Position) -> Recovered: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> Position:
        """
        The end of the journal.
        """
    @property
    def gap(self, /) -> bool:
        """
        Whether a gap took the place of the first one that was not.
        """
    @property
    def kept(self, /) -> int:
        """
        How many records of a pending batch were there and are acknowledged now.
        """

@disjoint_base
class Redactor:
    """
    Redacts by one set of secrets, and recognised credentials besides unless `patterns` is false. Never changes; any
    number of threads may use it.

    Raises `ExecutionInputError` with the reason `secret` for a secret that is empty or neither `str` nor `bytes`, by its
    position and never by its value.
    """
    def __new__(cls, /, secrets: "collections.abc.Iterable[str | bytes]", *, patterns: bool = True) -> Redactor: ...
    def __repr__(self, /) -> str: ...
    def data(self, /, data: bytes) -> bytes:
        """
        The bytes without secrets.
        """
    def json(self, /, text: str) -> str:
        """
        A redacted copy of a JSON text: strings and keys at any depth. Members keep their order and numbers their digits.

        Raises `ExecutionInputError` with the reason `shape` for what is not one JSON value.
        """
    @property
    def most_held_back(self, /) -> int:
        """
        The most bytes that a stream holds back.
        """
    def stream(self, /) -> Stream:
        """
        A text that comes in pieces.
        """
    def text(self, /, text: str) -> str:
        """
        The text without secrets. A secret that goes on in the next text is found by a stream only.
        """
    def texts(self, /, texts: SupportsGetItem[int, str]) -> list[str]:
        """
        Many texts in one call.
        """

@final
class Refresh:
    """
    A scheduled refresh: whoever has it runs the check, and records what it has shown or gives it up. The end of a `with` block, and
    letting go of it, give it up.
    """
    def __enter__(self, /) -> Refresh: ...
    def __exit__(self, exception_type: Any, exception: Any, traceback: Any, /) -> None: ...
    def give_up(self, /) -> bool:
        """
        Ends it without a result: the account stays without authority, and its check is due. Whether it was under way.
        """
    def record_json(self, /, result_json: str) -> str:
        """
        Saves what the check has shown, `{ok, evidence?, code?, remedy?, retryAfterMs?}` as JSON text, and ends the refresh. Gives the
        record as JSON text.
        """

@final
class Replay:
    """
    All lines of a run and those to come, as frames. Opened by `Replay.open`.

        with Replay.open(directory, last_event_id) as replay:
            for frame in replay:
                if frame.row is not None:
                    print(frame.row.id, frame.row.text)

    It has no thread, and one thread at a time uses it: whoever consumes pulls. What is read ahead is bounded by 327,680
    bytes, and nothing is read while that much waits, so that a slow consumer misses nothing and sees nothing twice. Closing
    it, or letting go of it, leaves no descriptor. In a forked child it is dead: using it there is `ExecutionInputError` with
    reason `forked`, closing it does nothing.
    """
    def __enter__(self, /) -> Replay: ...
    def __exit__(self, exception_type: Any, exception: Any, traceback: Any, /) -> None: ...
    def __iter__(self, /) -> Replay: ...
    def __next__(self, /) -> Frame:
        """
        As `next` without a time limit; closing the replay ends the iteration.
        """
    def __repr__(self, /) -> str: ...
    def close(self, /) -> None:
        """
        Closes every descriptor. A wait in another thread ends, and closes them when it has.
        """
    @property
    def closed(self, /) -> bool:
        """
        Whether it was closed.
        """
    @property
    def descriptor(self, /) -> int | None:
        """
        The descriptor that becomes readable when `poll` should be called, for `select` and its like; None on platforms
        without one, where only `next` waits. It is the replay's own: do not read from it or close it.

        Raises `ExecutionInputError` with reason `closed` or `forked`.
        """
    @property
    def directory(self, /) -> str:
        """
        The run's directory, as it was given.
        """
    def due_in(self, /) -> float:
        """
        In how many seconds to `poll` at the latest although nothing has changed: a heartbeat is due then, or it is time to
        look, where nothing tells of changes. For whoever waits by means of its own and has no descriptor. Raises
        `ExecutionInputError` with reason `closed` or `forked`; `HandleBusyError` while another call uses it.
        """
    def fileno(self, /) -> int:
        """
        The descriptor, so that a selector takes the replay itself. Raises as `descriptor`; `ExecutionInputError` with reason
        `no-descriptor` where there is none.
        """
    @property
    def has_unread(self, /) -> bool:
        """
        Whether the `poll` after the last frame that waits reads from disk: it is new, or there was no room for more when it
        read last. Otherwise it makes a few system calls, unless it is told of a change.
        """
    def next(self, /, timeout: SupportsFloat | SupportsIndex | None = None) -> Frame | None:
        """
        Waits for the next frame, for at most `timeout` seconds, without end where that is None; answers None when the time
        is over. Other threads run meanwhile, and signal handlers do. No row is lost where it raises: the next call gives it.

        Raises what a signal handler raises, within 0.1 s; `CancelledError` when a `Cancel` ends the wait, and when another
        thread closes the replay; `ExecutionInputError` with reason `closed` once it is closed; `HandleBusyError` while
        another call uses it; `ExecutionIoError` for whatever is not a missing file, `ExecutionVersionError` and
        `ExecutionJournalError` for `log-meta.json`.
        """
    @staticmethod
    def open(directory: str | PathLike[str], last_event_id: str | None = None, *, heartbeats: bool = True, host: TestHost | None = None) -> Replay:
        """
        Replays what stands in a run's directory from just after the row with this id on, and from the oldest row on without
        one. Where that row or those after it are not retained, and where no row ever had the id, the first frame is a gap.
        `heartbeats=False` leaves out the frames that come after 20 seconds without another.

        Raises `ExecutionUnknownRunError` where there is no such directory, `ExecutionIoError` where it cannot be opened.
        """
    @property
    def pending_bytes(self, /) -> int:
        """
        Bytes of frames that wait for the consumer, as it was when the last frame was handed out.
        """
    def poll(self, /) -> Frame | None:
        """
        The next frame without waiting; None where there is none yet. For event loops: call it until it answers None, and
        then whenever the descriptor is readable. Raises as `next`.
        """
    @property
    def resume_point(self, /) -> str | None:
        """
        The id to open with the next time: that of the last row that was handed out, and the one that this was opened with
        before the first. It stays after closing.
        """

@final
class Report:
    """
    What an observation did. True unless it was refused.
    """
    def __bool__(self, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, outcome: str, refusal: str | None = None, floor_failure: GallivantError | None = None) -> Report: ...
    def __repr__(self, /) -> str: ...
    @property
    def floor_failure(self, /) -> GallivantError | None:
        """
        The floor should have been raised after the record and could not be. The record stands.
        """
    @property
    def outcome(self, /) -> str:
        """
        `landed`: a new record stands. `coalesced`: nothing changed and the stamp is fresh. `refused`: the rules
        forbid it, and nothing was written.
        """
    @property
    def refusal(self, /) -> str | None:
        """
        Why it was refused: a word of `REFUSED_*`.
        """

@final
class Reservation:
    """
    The right to make the thing. It is durable before `begin` returns it. End it by exactly one of `complete` and
    `release`:

        begun = store.begin("harnesses.create", ["org", "workspace"], key, body)
        if isinstance(begun, Reservation):
            with begun as reservation:
                made = make(body)
                reservation.complete(made.id, answer)

    The end of the block releases it if neither was called, with an exception or without; so does letting go of it. After
    `effect_starting` neither does: what became of the thing is then unknown until it is settled. Threads may share it. In a
    forked child it is the parent's: using it there raises `IdempotencyForkedError`, and the end of the block does nothing.
    """
    def __enter__(self, /) -> Reservation: ...
    def __exit__(self, exception_type: Any, exception: Any, traceback: Any, /) -> None:
        """
        Neither a signal nor a `Cancel` ends this: a block's end is tried for a second at most.
        """
    def __repr__(self, /) -> str: ...
    def complete(self, /, resource: str, answer: bytes, *, timeout: SupportsFloat | SupportsIndex | None = None) -> None:
        """
        Says what was made and how it was answered. Once this has returned, both are durable, and every repeat gets them.

        Raises `IdempotencyClaimLostError` when somebody else has taken the key over: nothing is changed, and `.resource`
        names what the winner made, once it has completed, so that the loser can undo its own. Raises
        `IdempotencyAnswerTooLargeError`, `IdempotencyBusyError` and the store's own errors with the reservation still held:
        the call may be repeated.
        """
    def effect_starting(self, /, *, timeout: SupportsFloat | SupportsIndex | None = None) -> None:
        """
        Says that an effect which a retry could double may happen from now on. Durable once it has returned: no exception, no
        end of the block, no crash and no takeover releases the key any more; only `complete`, `release` or a settlement
        does. Where it raises, the effect must not be started.
        """
    @property
    def fingerprint(self, /) -> Fingerprint:
        """
        Of the body that it belongs to.
        """
    @property
    def how(self, /) -> str:
        """
        How it came about: `fresh`, `waited`, `taken-over`, `expired`, `recreated` or `settled`.
        """
    def keep_alive(self, /, *, timeout: SupportsFloat | SupportsIndex | None = None) -> None:
        """
        Says that its owner is still at work. A create that takes more than two minutes calls it now and then, so that
        nobody who cannot prove that its process lives takes it over.
        """
    @property
    def kind(self, /) -> str:
        """
        What is to be done: the word `create`.
        """
    def release(self, /, *, timeout: SupportsFloat | SupportsIndex | None = None) -> None:
        """
        Says that nothing outside exists: the next create with this key, and any body, may make the thing. Durable once it
        has returned. Raises `IdempotencyClaimLostError`, and as `complete` with the reservation still held.
        """

@final
class Row:
    """
    One row of a window.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, id: str | None = None, kind: str, text: str | None = None, reason: str | None = None) -> Row: ...
    def __repr__(self, /) -> str: ...
    @property
    def id(self, /) -> str | None:
        """
        What stands for it as a cursor, for ever. None for a gap without a number.
        """
    @property
    def kind(self, /) -> str:
        """
        `line` or `gap`.
        """
    @property
    def reason(self, /) -> str | None:
        """
        Why something is missing, where that is known; None for a line.
        """
    @property
    def text(self, /) -> str | None:
        """
        What a line shows; None for a gap.
        """

@final
class SeatChange:
    """
    One seat of a change.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, path: str, state: State | None = None) -> SeatChange: ...
    def __repr__(self, /) -> str: ...
    @property
    def path(self, /) -> str:
        """
        The agent's directory by its path below the fleet's root; `.` for the root itself and for a watched record.
        """
    @property
    def state(self, /) -> State | None:
        """
        What may be concluded now; None where nothing stands there.
        """

@final
class Session:
    """
    A claimed session, alive for as long as this object: mint, claim, lease, hand over, heartbeat, end. Made by
    `Session.start`.

        with gallivant.Session.start(directory, agent="worker", harness="claude", pty_session="w1") as session:
            child = subprocess.Popen(["claude"], env={**os.environ, **session.to_env()})
            session.attach(child.pid)
            ...
            session.end(f"exit {child.wait()}")

    The block's end ends the session, if `end` has not: with the exit `error` when an exception leaves it, else with
    `session end`. In a forked child it does nothing: the session is the parent's. Letting go of the object without
    either, its `writer` included, releases the lease and writes nothing, exactly as the death of the process does.

    It has no thread of its own: call `heartbeat_if_due` as often as is convenient.
    """
    def __enter__(self, /) -> Session: ...
    def __exit__(self, exception_type: Any, exception: Any, traceback: Any, /) -> None: ...
    def __repr__(self, /) -> str: ...
    def attach(self, /, pid: SupportsIndex) -> ProcessIdentity:
        """
        Names the harness process that was started for this session, and records `ready` if nothing has been observed
        since the claim and the session names a pty session. From then on no heartbeat is made for a dead harness.

        Raises `HarnessStateInputError` with reason `no-such-process` when the pid runs no process now; as
        `Writer.observe`.
        """
    @property
    def claim(self, /) -> Claim:
        """
        The claim with which the session started, and what it could not do.
        """
    def end(self, /, exit: str | None = None) -> Report:
        """
        Ends the session with this exit, such as `exit 0` or `signal 9`, and releases the lease. Durable when it lands
        with an exit. Afterwards no heartbeat does anything. The session's writer can still observe, and a plain `observe`
        lands over the ending; what does not know better than the wrapper uses `observe_unless_ended`.

        Raises as `Writer.ended`, with the lease still held; `HarnessStateInputError` with reason `forked` in a forked
        child.
        """
    def environment(self, /) -> SessionEnvironment:
        """
        What to hand to the harness and its hooks.
        """
    @property
    def harness_process(self, /) -> ProcessIdentity | None:
        """
        The process that was attached.
        """
    def heartbeat_if_due(self, /) -> Tick:
        """
        Renews the stamp when the refresh interval has passed since the session's last stamp, whoever of it wrote it.
        Call it as often as is convenient, once a second, say: between two due times it writes nothing, and looks only
        whether the attached harness still runs and whether another session has claimed. It also asks again for a lease
        that could not be had.

        Once another session has claimed the seat it gives the lease up and answers `skipped` for good, with the skip
        `superseded` (`foreign-token` where only the record tells): then end the harness, because nothing that it does is
        seen any more.

        Raises as `Writer.heartbeat`; `HarnessStateInputError` with reason `forked` in a forked child.
        """
    @property
    def holds_lease(self, /) -> bool:
        """
        Whether the session holds its lease. Not while a superseded session that still lives holds it.
        """
    @staticmethod
    def start(directory: str | PathLike[str], agent: str, harness: str, *, pty_session: str | None = None, token: str | None = None, options: Options | None = None, host: TestHost | None = None) -> Session:
        """
        Mints a token unless one is given, claims the seat in `directory`, and takes the lease. Once it has returned,
        claim and floor are durable, and the lease is held if `holds_lease` says so. Raises as `claim`.
        """
    def to_env(self, /) -> "dict[str, str]":
        """
        The variables of `environment()`, to be added to those of the harness's process.
        """
    @property
    def writer(self, /) -> Writer:
        """
        The session's writer, which has adopted the claim. It keeps the session's lease held for as long as it lives.
        """

@final
class SessionEnvironment:
    """
    What a claimer hands to its siblings through the environment: enough to open a writer that adopts the claim.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, agent_dir: str, agent: str, harness: str, token: str, pty_session: str | None = None, sequence: SupportsIndex | None = None) -> SessionEnvironment: ...
    def __repr__(self, /) -> str: ...
    @property
    def agent(self, /) -> str:
        """
        The agent's name.
        """
    @property
    def agent_dir(self, /) -> str:
        """
        The agent's directory.
        """
    @staticmethod
    def from_env(environ: "collections.abc.Mapping[str, str] | None" = None) -> SessionEnvironment | None:
        """
        The session that `environ` names, which is `os.environ` where none is given; None where directory, agent,
        harness or token is missing or empty.

        Raises `HarnessStateInputError` with reason `environment` when the sequence is no decimal number of 64 bits, or
        a value is no Unicode.
        """
    @property
    def harness(self, /) -> str:
        """
        The harness's name.
        """
    @property
    def pty_session(self, /) -> str | None:
        """
        The pty session in which the harness runs.
        """
    @property
    def sequence(self, /) -> int | None:
        """
        The claimed sequence; None for a session that has claimed none.
        """
    def to_env(self, /) -> "dict[str, str]":
        """
        The variables to set, by name. Those of a pty session and a sequence are left out where there is none.
        """
    @property
    def token(self, /) -> str:
        """
        The session's token.
        """
    def writer(self, /, *, evidence: str | None = None, options: Options | None = None, host: TestHost | None = None) -> Writer:
        """
        A writer of this session, which adopts its claim: `Writer` with what the variables say. Touches no file.
        """

@final
class Snapshot:
    """
    What was found at one moment. Deriving from it reads nothing.
    """
    def __repr__(self, /) -> str: ...
    @property
    def damage(self, /) -> str | None:
        """
        Why there is no record although something stands there: one line for people.
        """
    def derive(self, /, *, now_ms: SupportsIndex | None = None, probe: str | None = None) -> State | None:
        """
        What may be concluded at `now_ms`, or now, where a probe has answered `probe` (`alive`, `dead`,
        `indeterminate`), or where none was asked; None when nothing was ever observed.
        """
    def explain(self, /, *, now_ms: SupportsIndex | None = None, probe: str | None = None) -> Explanation:
        """
        As `derive`, and which row of the reading table decided.
        """
    @property
    def record(self, /) -> Record | None:
        """
        The record, where one was read and decoded; None where nothing stands, or something that is no record.
        """
    def wants_probe(self, /, *, now_ms: SupportsIndex | None = None) -> bool:
        """
        Whether a probe's answer can make a difference at `now_ms`, or now.
        """

@final
class State:
    """
    What a reader concludes.

    Where nothing definite can be concluded `state` is `unknown` and `reason` says why in one of the words of
    `UNKNOWN_*`; `blocked_on`, `input_buffer` and `ask` are then unknown too, `since_ms` and `exit` None.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, state: str, blocked_on: str, input_buffer: str, ask: str, since_ms: SupportsIndex | None = None, exit: str | None = None, reason: str | None = None, harness: str | None = None, observed_at_ms: SupportsIndex | None = None, ownership_sequence: SupportsIndex | None = None, transition_sequence: SupportsIndex | None = None, evidence_incarnation: str | None = None, valid_until_ms: SupportsIndex | None = None) -> State: ...
    def __repr__(self, /) -> str: ...
    @property
    def ask(self, /) -> str:
        """
        What a person is asked for.
        """
    @property
    def blocked_on(self, /) -> str:
        """
        Whom it waits for.
        """
    @property
    def evidence_incarnation(self, /) -> str | None:
        """
        Evidence: the token of the session that wrote the record.
        """
    @property
    def exit(self, /) -> str | None:
        """
        How it ended.
        """
    @property
    def harness(self, /) -> str | None:
        """
        Evidence: the harness's name.
        """
    @property
    def input_buffer(self, /) -> str:
        """
        Whether text waits in its input line.
        """
    @property
    def is_unknown(self, /) -> bool:
        """
        Whether nothing definite can be concluded.
        """
    @property
    def observed_at_ms(self, /) -> int | None:
        """
        Evidence: when the record was written or last confirmed, wall clock in ms since 1970.
        """
    @property
    def ownership_sequence(self, /) -> int | None:
        """
        Evidence: the record's ownership sequence.
        """
    @property
    def reason(self, /) -> str | None:
        """
        The writer's reason, or why the state is unknown.
        """
    @property
    def since_ms(self, /) -> int | None:
        """
        When this began, wall clock in ms since 1970.
        """
    @property
    def state(self, /) -> str:
        """
        What the harness is doing.
        """
    @property
    def transition_sequence(self, /) -> int | None:
        """
        Evidence: how often the observation has changed.
        """
    @property
    def valid_until_ms(self, /) -> int | None:
        """
        The instant at which this answer next changes by time alone, wall clock in ms since 1970; None where
        time alone changes nothing.
        """

@final
class Stream:
    """
    A text that comes in pieces. What comes out does not depend on how it was cut.

    A stream holds back what may still become a part of a secret; `finish()` gives the rest, and what was pushed and not
    finished is lost. `gallivant.redaction.Writer` finishes by itself.
    """
    def __repr__(self, /) -> str: ...
    def finish(self, /) -> bytes:
        """
        The text ends here: gives the rest. The next piece begins another text.
        """
    @property
    def held_back(self, /) -> int:
        """
        How many bytes are held back now.
        """
    def push(self, /, data: bytes) -> bytes:
        """
        Takes a piece and gives what is certain by now.
        """
    def push_all(self, /, pieces: "list[bytes]") -> bytes:
        """
        Takes many pieces in one call.
        """

@final
class Swept:
    """
    What one call of a sweep did.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, removed: SupportsIndex, has_more: bool) -> Swept: ...
    def __repr__(self, /) -> str: ...
    @property
    def has_more(self, /) -> bool:
        """
        Whether another call is worth while.
        """
    @property
    def removed(self, /) -> int:
        """
        How many expired claims are gone.
        """

@disjoint_base
class TestHost:
    """
    The machine itself with a test's hand on clock, chance and disk. Pass it as `host=` to whatever is tested.

    `wall_ms` is where the wall clock stands, in ms since 1970, or None for the machine's own clock. `random` are
    the 64-bit values to give in turn, and then counting up from the last; empty for the machine's own chance.
    `faults_json` is a list of faults as JSON text; `gallivant.testing.TestHost` takes it as Python data. `machine` and
    `boot` are other names of the machine and of its boot. `jitter` is what stands for chance in the delays of the execution
    layer's retries, from 0 to 1; `points` is a function that it asks at each of its points.
    """
    def __new__(cls, /, *, wall_ms: SupportsIndex | None = None, random: SupportsGetItem[int, SupportsIndex] = ..., faults_json: str | None = None, machine: str | None = None, boot: str | None = None, jitter: SupportsFloat | SupportsIndex | None = None, points: "collections.abc.Callable[[str], str] | None" = None) -> TestHost: ...
    def advance_ms(self, /, ms: SupportsIndex) -> None:
        """
        Lets this much time pass on all clocks, or, where it is negative, sets the wall clock back.
        """
    def operations(self, /) -> list[str]:
        """
        The storage operations so far, a line each.
        """
    def set_faults_json(self, /, faults_json: str) -> None:
        """
        Replaces the faults by this list, as JSON text. Operations keep their numbers.
        """
    def set_wall_ms(self, /, wall_ms: SupportsIndex) -> None:
        """
        Puts the wall clock there, in ms since 1970, as an operator or a time server does. The clocks by which a record
        with the extension object is judged go on: what is to grow old is let by `advance_ms`. Does nothing where the clock
        is the machine's own.
        """
    def stand_at(self, /, wall_ms: SupportsIndex, *, slept_ms: SupportsIndex = ...) -> None:
        """
        Puts all clocks by which something is stamped and judged there, in ms since 1970, the machine having slept for
        `slept_ms`. Does nothing where the clock is the machine's own.
        """

@final
class Tick:
    """
    What `Session.heartbeat_if_due` did.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, outcome: str, due_at_ms: SupportsIndex | None = None, skip: str | None = None) -> Tick: ...
    def __repr__(self, /) -> str: ...
    @property
    def due_at_ms(self, /) -> int | None:
        """
        When the next heartbeat is due, wall clock in ms since 1970, where none is due now.
        """
    @property
    def outcome(self, /) -> str:
        """
        `not-due`; `renewed`: the stamp was; `skipped`: there was nothing of this session's to renew;
        `harness-gone`: the attached harness process is provably gone, so nothing was renewed.
        """
    @property
    def skip(self, /) -> str | None:
        """
        Why it was skipped: a word of `SKIPPED_*`.
        """

@final
class Ticket:
    """
    A create with the same key and body that runs in this or another process.
    """
    def __repr__(self, /) -> str: ...
    @property
    def how(self, /) -> str:
        """
        How it came about.
        """
    @property
    def kind(self, /) -> str:
        """
        What is to be done: the word `in_progress`.
        """
    def look(self, /, *, timeout: SupportsFloat | SupportsIndex | None = None) -> Reservation | FinishedClaim | Ticket | UnknownClaim:
        """
        Asks again without waiting for the create: another ticket while it runs. `timeout` is for another process's
        transaction. Raises as `wait`.
        """
    def next_look(self, /, has_notices: bool) -> float:
        """
        For whoever waits by means of its own: in how many seconds to look again at the latest, with notices of
        `IdempotencyStore.notices` or without.
        """
    def wait(self, /, timeout: SupportsFloat | SupportsIndex | None) -> Reservation | FinishedClaim | Ticket | UnknownClaim:
        """
        Waits until the create ends, for at most `timeout` seconds, without end where that is None. Answers a
        `FinishedClaim` when it finished, a `Reservation` when it was released or its owner is gone, an `UnknownClaim` when
        its owner is gone after the mark. It wakes within milliseconds of the end where the system tells of it. Other threads
        run meanwhile, and signal handlers do. The ticket stays good.

        Raises `IdempotencyInProgressError` when it still runs at the deadline; what a signal handler raises, within 0.1 s;
        `CancelledError` when a `Cancel` ends the wait; `IdempotencyKeyReusedError` when it was released and the key now
        belongs to another body; the store's own errors.
        """

@final
class TriedRow:
    """
    One row of the reading table, tried.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, clause: str, question: str, matched: bool) -> TriedRow: ...
    def __repr__(self, /) -> str: ...
    @property
    def clause(self, /) -> str:
        """
        The clause of the specification that the row is.
        """
    @property
    def matched(self, /) -> bool:
        """
        Whether the evidence is so; then the row decides.
        """
    @property
    def question(self, /) -> str:
        """
        What it asks of the evidence, as a statement.
        """

@final
class UnknownClaim:
    """
    A create of which nobody knows whether it made its thing: its owner is gone after the mark, or has not been heard of
    for too long. It stays so until `settle`, or until its owner ends it after all.
    """
    def __repr__(self, /) -> str: ...
    @property
    def how(self, /) -> str:
        """
        How it came about.
        """
    @property
    def kind(self, /) -> str:
        """
        What is to be done: the word `unknown`.
        """
    def settle(self, /, found: str | None, *, timeout: SupportsFloat | SupportsIndex | None = None) -> Reservation | FinishedClaim | Ticket | UnknownClaim:
        """
        Says what was found out: the id of the thing where it exists, and the answer is a `FinishedClaim` without a saved
        answer; None where it is proved not to exist, and the answer is a `Reservation`. Once this has returned, that is
        durable and the former owner has lost. A claim that is not unknown any more answers what it is now.

        Raises as `IdempotencyStore.begin`; `IdempotencyInputError` with reason `resource` for the empty id.
        """

@final
class UnresolvedOperation:
    """
    An operation whose acceptance is unknown, for whoever has to find out.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, task_id: str, provider: str, account: str, operation_id: str, run_id: str, idempotency_key: str, intent_at: SupportsIndex, remedy: str) -> UnresolvedOperation: ...
    def __repr__(self, /) -> str: ...
    @property
    def account(self, /) -> str:
        """
        The account at the provider.
        """
    @property
    def idempotency_key(self, /) -> str:
        """
        The key by which the provider knows it.
        """
    @property
    def intent_at(self, /) -> int:
        """
        When its intent was saved, in milliseconds since 1970.
        """
    @property
    def operation_id(self, /) -> str:
        """
        The operation.
        """
    @property
    def provider(self, /) -> str:
        """
        The provider.
        """
    @property
    def remedy(self, /) -> str:
        """
        What to do.
        """
    @property
    def run_id(self, /) -> str:
        """
        Its run.
        """
    @property
    def task_id(self, /) -> str:
        """
        The task.
        """

@final
class Watch:
    """
    Tells what changes, as soon as it has. Made by `Watch.record` and `Watch.fleet`.

        with gallivant.Watch.fleet("/srv/agents") as watch:
            for change in watch:
                for seat in change.seats:
                    print(seat.path, seat.state)

    The first change tells what is there now, a fleet without entries too; every later one each seat of which something
    else is to be concluded than was told last, within 50 ms where the system notifies, and at the `valid_until_ms` of a
    state. A burst is told once.

    It has no thread, and one thread at a time uses it. Closing it, or letting go of it, leaves no descriptor. In a forked
    child it is dead: using it there is `HarnessStateInputError` with reason `forked`, closing it does nothing.
    """
    def __enter__(self, /) -> Watch: ...
    def __exit__(self, exception_type: Any, exception: Any, traceback: Any, /) -> None: ...
    def __iter__(self, /) -> Watch: ...
    def __next__(self, /) -> Change:
        """
        As `next` without a time limit; closing the watch ends the iteration.
        """
    def __repr__(self, /) -> str: ...
    def close(self, /) -> None:
        """
        Closes every descriptor. A wait in another thread ends, and closes them when it has.
        """
    @property
    def closed(self, /) -> bool:
        """
        Whether it was closed.
        """
    @property
    def descriptor(self, /) -> int | None:
        """
        The descriptor that becomes readable when `poll` should be called, for `select` and its like; None on platforms
        without one, where only `next` waits. It is the watch's own: do not read from it or close it.

        Raises `HarnessStateInputError` with reason `closed` or `forked`.
        """
    def fileno(self, /) -> int:
        """
        The descriptor, so that a selector takes the watch itself. Raises as `descriptor`; `HarnessStateInputError` with
        reason `no-descriptor` where there is none.
        """
    @staticmethod
    def fleet(root: str | PathLike[str], *, max_depth: SupportsIndex | None = None, max_records: SupportsIndex | None = None, max_directories: SupportsIndex | None = None, probe: "str | None" = None, poll_interval_ms: SupportsIndex | None = None, probe_interval_ms: SupportsIndex | None = None, settle_ms: SupportsIndex | None = None, options: Options | None = None, host: TestHost | None = None) -> Watch:
        """
        Watches every record below a directory, which need not exist yet. The bounds are those of `Fleet`; the release of a
        lease is told with `probe='lease'`. It takes one kernel watch for each directory below the root: a root should hold
        agents and not their workspaces. The rest is as for `Watch.record`.
        """
    def next(self, /, timeout: SupportsFloat | SupportsIndex | None = None) -> Change | None:
        """
        Waits for the next change, for at most `timeout` seconds, without end where that is None; answers None when the time
        is over. Other threads run meanwhile, and signal handlers do. Nothing that changed is lost where it raises: the next
        call tells it.

        Raises what a signal handler raises, within 0.1 s; `CancelledError` when a `Cancel` ends the wait, and when another
        thread closes the watch; `HarnessStateInputError` with reason `closed` once it is closed; `HandleBusyError` while
        another call uses it; `HarnessStateIoError` where the system cannot wait.
        """
    @property
    def path(self, /) -> str:
        """
        The path that is watched, as it was given.
        """
    def poll(self, /) -> Change | None:
        """
        What has changed, without waiting; None where nothing is to be told yet. For event loops: call it once at first and
        then whenever the descriptor is readable, which it is no longer afterwards. Raises as `next`.
        """
    @staticmethod
    def record(path: str | PathLike[str], *, probe: "str | ProcessIdentity | collections.abc.Callable[[Record], str | bool | None] | None" = None, poll_interval_ms: SupportsIndex | None = None, probe_interval_ms: SupportsIndex | None = None, settle_ms: SupportsIndex | None = None, options: Options | None = None, host: TestHost | None = None) -> Watch:
        """
        Watches one agent's record, by its directory or by the record's own path, which need not exist yet.

        `probe` is as for `Reader.read`. The release of a lease is told at once. Any other probe is asked at each sign of a
        change and every `probe_interval_ms` (1000); a function is called in the thread that waits. Where the system does
        not notify, the watch looks every `poll_interval_ms` (1000). `settle_ms` (5) is how long it waits after the first
        sign of a change for more of them.

        Raises `HarnessStateInputError` with reason `path` for the empty path, with reason `probe` for what is no probe;
        `HarnessStateIoError` where there is no descriptor left to wait on.
        """

@final
class Window:
    """
    Some rows that stand side by side, the oldest first.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> "tuple[tuple[()], dict[str, object]]": ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, *, rows: SupportsGetItem[int, Row], before: str | None = None, after: str | None = None) -> Window: ...
    def __repr__(self, /) -> str: ...
    @property
    def after(self, /) -> str | None:
        """
        The cursor for what follows; None where the window holds no row with a number.
        """
    @property
    def before(self, /) -> str | None:
        """
        The cursor for the next older window; None where there is nothing older.
        """
    @property
    def rows(self, /) -> tuple[Row, ...]:
        """
        The rows.
        """

@final
class Writer:
    """
    One session's voice in one agent's directory. Threads may share it.

    `sequence` is the one that a claim returned, for a writer that adopts the claim; without it the writer writes where
    nobody has claimed, or where its own token stands. Without a `pty_session` no live state can be written; the empty
    string counts as one. Opening touches no file, and the directory need not exist yet.

    `evidence` is by what the writer knows what it observes: `hook`, `channel`, `wrapper` (the default), `screen`. What was
    read off a screen gives way to what hooks and channels have told, while that is fresh.

    Raises `HarnessStateEmptyTokenError`; `HarnessStateInputError` with reason `path` for the empty path, with reason `word`
    for evidence that does not exist.
    """
    def __new__(cls, /, directory: str | PathLike[str], agent: str, harness: str, token: str, *, pty_session: str | None = None, sequence: SupportsIndex | None = None, evidence: str | None = None, options: Options | None = None, host: TestHost | None = None) -> Writer: ...
    def __repr__(self, /) -> str: ...
    @property
    def agent(self, /) -> str:
        """
        The agent's name.
        """
    def current_ownership(self, /) -> CurrentOwnership:
        """
        Proves ownership for as long as a block runs:

            with writer.current_ownership() as owned:
                if owned is not None:
                    ...

        `owned` is None where schema, token and sequence of the record are not this session's. While the block runs no
        claim and no write lands, not even one of this writer: it would wait for the block. Keep it short; hooks wait
        only 250 ms. Entering raises `HarnessStateBusyError`, `HarnessStateLockingError` or `HarnessStateIoError`.
        """
    @property
    def directory(self, /) -> str:
        """
        The agent's directory.
        """
    def ended(self, /, exit: str | None = None) -> Report:
        """
        Records the end with this exit, such as `exit 0` or `signal 9`. A repeat coalesces, another exit replaces.
        Durable when it lands with an exit. A plain `observe` may follow and lands. Raises as `observe`.
        """
    @property
    def evidence(self, /) -> str:
        """
        By what it knows what it observes: a word of `EVIDENCE_*`.
        """
    @property
    def harness(self, /) -> str:
        """
        The harness's name.
        """
    def heartbeat(self, /) -> Heartbeat:
        """
        Renews the stamp of the session's live record, whoever of the session wrote it, and keeps everything else as
        it stood. Where there is nothing to renew it is quiet.

        Raises `HarnessStateBusyError`, `HarnessStateLockingError` or `HarnessStateIoError` with nothing written.
        """
    def interrupt(self, /) -> None:
        """
        Makes the next landed observation a transition even if it says what stands, because what stands was
        interrupted. Touches no file.
        """
    def lock_current_ownership(self, /) -> OwnershipGuard | None:
        """
        Takes the lock while schema, token and sequence of the record are this session's, and answers the guard that
        holds it; None where they are not. `current_ownership` is the form for a `with` block.

        Raises `HarnessStateBusyError`, `HarnessStateLockingError` or `HarnessStateIoError`.
        """
    def note_child(self, /, id: str, step: str) -> Report:
        """
        Notes what became of a child of the session's, a subagent that has `started`, is `working` or has `stopped`, under
        the harness's own `id` of it (1 to 128 bytes). The turn stays as it is; a reader that finds it over while children
        run concludes `active`, with the reason `children`. Where the session has observed nothing or has ended, and with the
        extension switched off, there is nothing to note. Not durable.

        Raises `HarnessStateInputError` with reason `child` for such an id, with reason `word` for another step; as
        `observe`.
        """
    def observe(self, /, observation: Observation | str, *, blocked_on: str | None = None, input_buffer: str | None = None, ask: str | None = None, reason: str | None = None, exit: str | None = None) -> Report:
        """
        Records what is seen: an `Observation`, or the word of a state, refined by keywords.

        When it answers `landed` every reader sees it; an ending with an exit is then also durable, anything else may
        be lost with the machine's power. A refusal is an answer and not an exception: look at `outcome`, or at the
        report's truth.

        Raises `HarnessStateUnknownStateError`, `HarnessStateUnfencedError`, `HarnessStateUnknownAskError`,
        `HarnessStateAskWithoutHumanError` or `HarnessStateReservedReasonError` before anything is touched;
        `HarnessStateBusyError`, `HarnessStateLockingError` or `HarnessStateIoError` with nothing written, except that
        after a failed sync the record may stand.
        """
    def observe_unless_ended(self, /, observation: Observation | str, *, blocked_on: str | None = None, input_buffer: str | None = None, ask: str | None = None, reason: str | None = None, exit: str | None = None) -> Report:
        """
        As `observe`, unless the session's own ending with an exit stands: then nothing is written and the answer is
        refused as `terminal`.
        """
    @property
    def pty_session(self, /) -> str | None:
        """
        The pty session in which the harness runs.
        """
    @property
    def sequence(self, /) -> int | None:
        """
        The sequence that was adopted or resolved; None before the first accepted call of a writer without one.
        """
    @property
    def token(self, /) -> str:
        """
        The session's token.
        """

def arm_hook_deadline(agent_dir: str | PathLike[str] | None = None) -> None:
    """
    Ends this process with status 0 once it is 1 s old, whatever it does then; what it could not finish is noted in
    `.harness-state.log` where `agent_dir` is named. Cannot be undone. Only the first call does anything.
    """

def assert_execution_dependency(contract_version: SupportsIndex | None, has_intake: bool) -> None:
    """
    Refuses a runtime in which the execution layer cannot work.
    """

def cancel_state() -> bool | None:
    """
    Whether a `Cancel` under which this thread runs was set; None where it runs under none.
    """

def check(directory: str | PathLike[str], *, visit: "collections.abc.Callable[[Gap], object] | None" = None, host: TestHost | None = None) -> Checked:
    """
    Checks the journal in a run's directory: which of it is whole, what is a gap, what is damaged. A run that never recorded
    anything has an empty one. Writes nothing. The acknowledged bytes are read once.

    With a function as `visit` each gap is handed to it as it is found, and the list in the answer stays empty: then the
    memory does not depend on the journal's length. What the function raises is raised once the log is read.

    Raises `ExecutionJournalError` and `ExecutionVersionError` as the journal refuses, `ExecutionUnknownRunError` where there
    is no such directory, `ExecutionIoError`.
    """

def check_hook(environ: "collections.abc.Mapping[str, str]", harness: str | None = None) -> tuple[bool, str]:
    """
    What a hook that is started with this environment would find: whether all is in order, and a line for each thing
    that was looked at, with `ok` or what is wrong and what to do at the end. `harness` is what its command names.

    Raises `HarnessStateInputError` with reason `unknown-harness` for a harness that is not known.
    """

def claim(directory: str | PathLike[str], agent: str, harness: str, token: str, *, options: Options | None = None, host: TestHost | None = None) -> Claim:
    """
    Takes the seat in `directory` for the session of `token`, whatever stands there: live records, unreadable bytes,
    foreign schemas. Creates the directory where it is missing. The same token claiming twice gets two sequences.

    Once it has returned, record and floor are durable. Raises `HarnessStateEmptyTokenError`,
    `HarnessStateSequenceExhaustedError`, `HarnessStateBusyError`, `HarnessStateLockingError` or `HarnessStateIoError`
    with nothing written, except that after a failed sync of the directory the placeholder may stand.
    """

def claim_wrapperless(directory: str | PathLike[str], agent: str, harness: str, token: str, *, options: Options | None = None, host: TestHost | None = None) -> Claim | None:
    """
    Takes the seat for a session that no wrapper launched, if it is free for one; None where it is not.

    Free is: nothing stands there; the record's token is empty or carries a wrapperless prefix; an ending with an
    exit; a stale record. Raises as `claim`, and `HarnessStateBadTokenError` when `token` carries no wrapperless
    prefix.
    """

def codes() -> list[tuple[str, int, str, str, str]]:
    """
    Every error code in the order of its number: name, number, kind, remedy, documentation page.
    """

def execution_constants() -> "dict[str, typing.Any]":
    """
    `EXECUTION_VERSION`, `PROVIDER_STATES`, `EXECUTION_LIMITS` and `EXECUTION_CURSOR_BYTES`; `METHODS`, the names of a
    transport's methods.
    """

def execution_function(name: str, args_json: str) -> str:
    """
    Calls a pure function by its name in the contract, with the JSON text of its arguments, and gives JSON text.
    """

def mint_token(*, host: TestHost | None = None) -> str:
    """
    Mints a session token that neither a reused pid nor a fork nor a copied container repeats.
    """

def observe_hook(harness: str, payload: "bytes | bytearray", session: "Session | SessionEnvironment | collections.abc.Mapping[str, str] | None", *, options: Options | None = None, host: TestHost | None = None) -> HookReport:
    """
    Observes one event of `harness` (`claude`, `codex`, `opencode`, `gemini`) for a session. `payload` is what the
    harness handed over, byte for byte. `session` is a `Session` of this process, a `SessionEnvironment`, or the environment
    of the hook, such as `os.environ`; without a session nothing changes and the answer is refused as `identity-missing`.

    It waits for the lock for at most 250 ms. Whatever goes wrong with the payload, the session or the disk is in the
    report, and in `.harness-state.log` beside the record, and no exception. A process that does nothing else has
    `gallivant.hook.main`, which also keeps the deadline.

    Raises `HarnessStateInputError` with reason `unknown-harness` for a harness that is not known; `CancelledError` where
    this thread's `Cancel` ended the wait.
    """

def panic() -> "typing.NoReturn":
    """
    Has the native code panic, so that a program can test what it does about `InternalError`.
    """

def read_fleet(root: str | PathLike[str], *, max_depth: SupportsIndex | None = None, max_records: SupportsIndex | None = None, max_directories: SupportsIndex | None = None, threads: SupportsIndex | None = None, probe: "str | None" = None, options: Options | None = None, host: TestHost | None = None) -> FleetView:
    """
    Reads every record below a directory once. For more than one read make a `Fleet`, which takes the same arguments.
    """

def read_run_result_json(directory: str | PathLike[str], *, host: TestHost | None = None) -> str | None:
    """
    The collected result of a run as it may be shown, as JSON text; None where there is none. `read_run_result` gives it as
    Python data. It is redacted by recognised credentials, shows neither text of files nor diagnostics, and numbers keep
    their digits. Writes nothing.

    Raises `ExecutionUnknownRunError`, `ExecutionIoError`, `ExecutionVersionError`.
    """

def retention_candidates(root: str | PathLike[str], *, host: TestHost | None = None) -> list[str]:
    """
    The runs below a root whose private raw diagnostics are there and have expired and whose result is durable, in the order
    of their names. Nothing is removed.

    Raises `ExecutionIoError`. A run that cannot be judged is left out.
    """

def sandbox_readiness_json(scratch: str | PathLike[str] | None = None, runtime: str | PathLike[str] | None = None, runtime_programs: str | PathLike[str] | None = None) -> str:
    """
    Checks this machine's sandbox and gives the evidence as JSON text. What is public is `gallivant.execution.sandbox_readiness`.
    """

def serve_hook(arguments: SupportsGetItem[int, str], environ: "collections.abc.Mapping[str, str]") -> None:
    """
    Serves one hook: `arguments` are those of the command line, the harness first. Reads the payload from the last
    argument for Codex, where there is one beside the harness, and from standard input otherwise. Prints nothing.
    """

def unresolved(root: str | PathLike[str], *, host: TestHost | None = None) -> list[UnresolvedOperation]:
    """
    Lists every operation of a task's root whose acceptance is unknown. Reads one file and takes no lock; a root without a ledger
    has none.

    Raises `ExecutionVersionError` for a ledger of another package, `ExecutionProtocolError` with the reason `ledger` for one
    that makes no sense, `ExecutionIoError`.
    """

def version() -> str:
    """
    The version of the library, which is that of all its packages.
    """

def words() -> "dict[str, list[str]]":
    """
    Every list of words that calls take or answer, by the prefix of its constants in `gallivant.words`.
    """
