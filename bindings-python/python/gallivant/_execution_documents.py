"""What the methods of a transport return, as types for checkers. A method may return any mapping with these members, or its JSON text.

Times are whole milliseconds since 1970 by the clock of this machine. A member that is None is as if it were not there.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, TypedDict, Union

# A provider's token of where its pages go on. It is kept and sent back as it came.
Cursor = Union[str, int, float, bool]


class _Owned(TypedDict):
    providerJobId: str
    turnId: str


class ProviderAcknowledgement(_Owned, total=False):
    """Whose turn it is now: what `submit`, `continue_` and `recover_response` return. With the job `turnId` is new for each turn, also
    for one that goes on in the session of another. Without a `sessionId` no turn can be continued; a provider without sessions names
    its job. `cursor` is where the events of this turn begin, behind those of an earlier turn of the session.
    """

    sessionId: Optional[str]
    cursor: Optional[Cursor]
    environment: Any
    model: Any
    policy: Any


class _Named(TypedDict):
    eventId: str
    type: str


class ProviderEvent(_Named, total=False):
    """One event of a turn. `eventId` is the same each time that it is told of, at most 512 UTF-16 units: by it an event is in the
    journal once. `type` is at most 64 bytes, `sequence` an integer from 0 on, `timestamp` the provider's own time, for information.
    """

    sequence: Optional[int]
    timestamp: Optional[float]
    data: Any


class _Gap(TypedDict):
    reason: str


class _Seen(_Owned):
    state: str
    observedAt: int


class ProviderObservation(_Seen, total=False):
    """What a turn does: what `inspect` and `lookup` return. `state` is one of `PROVIDER_STATES`. `observedAt` is when it was seen: at
    least the run's start and what was told last, and at most now, without a tolerance. `completedAt` is the exact end, with `succeeded`,
    `failed` and `cancelled` alone, between the run's start and `observedAt`; leave it out when in doubt. `events` is the next page
    behind the input's `cursor`, of at most `eventPageRecords`, and `eventPageBytes` as JSON (`fitting_events` counts); `cursor` is
    behind the last of them, and missing keeps the one that is known. `gap` says that events are missing before these. `costUsd` is
    all that the turn has cost so far; None where that is not known.
    """

    sessionId: Optional[str]
    completedAt: Optional[int]
    events: Optional[Sequence[Union[ProviderEvent, Mapping[str, Any]]]]
    cursor: Optional[Cursor]
    gap: Union[bool, _Gap, None]
    costUsd: Optional[float]


class _Finished(TypedDict):
    finished: bool
    ok: bool


class ProviderOutcome(_Finished, total=False):
    """How a turn has ended: `finished` is True, `ok` is True after `succeeded` and False after `failed`."""

    cost: Optional[float]
    denials: Optional[List[Any]]
    exit: Optional[int]
    diagnostics: Any


class _Made(_Owned):
    outcome: ProviderOutcome


class ProviderResult(_Made, total=False):
    """What a turn has made: what `collect` returns. `inputHead` is that of the input: a result with another one is refused as foreign.
    `text` is what was said at the end, and stands in `result.json` as it came. `files` and `pushedHead` exclude each other. Further
    members are ignored and saved nowhere.
    """

    sessionId: Optional[str]
    inputHead: Optional[str]
    completedAt: Optional[int]
    text: Optional[str]
    repo: str
    branch: str
    files: Optional[List[Mapping[str, Any]]]
    pushedHead: Optional[str]
    pr: Optional[Mapping[str, str]]


class ProviderStop(TypedDict):
    """What a stop has come to: `confirmed` is True where the provider itself calls the turn cancelled. Nothing is asked for any more
    then, neither cost nor last events.
    """

    confirmed: bool


class ProviderPreparation(TypedDict):
    """What was prepared: `boundary` and `authority` have to be what the record declares."""

    boundary: str
    authority: str
    grant: Optional[Mapping[str, Any]]
