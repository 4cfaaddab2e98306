"""The pure functions of the execution layer: they reach neither disk nor clock nor provider."""

from __future__ import annotations

import decimal

from . import _native
from ._execution_json import value_of, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Union

    Amount = Union[int, float, decimal.Decimal, str]

# Nano-dollars of a dollar, as a power of ten (EX-COST-20).
_NANO_PLACES = -9


def nanos(amount: Amount, *, round: str = "up") -> int:
    """An amount of US dollars in whole nano-dollars. Costs and reservations are rounded `up`, budgets and caps `down`. A `float`
    counts by its shortest decimal form; a `Decimal` or a text by its digits.

    Raises `ExecutionInputError` for what is no amount from 0 to 9,000,000,000 USD.
    """
    return int(money(amount, round)["nano"])


def usd(nanos: int) -> decimal.Decimal:
    """So many nano-dollars as dollars, exactly."""
    return decimal.Decimal(nanos).scaleb(_NANO_PLACES)


def money(amount: Amount, round: str) -> dict[str, str]:
    """An amount as `{"nano", "usd"}`, both as text, rounded `up` or `down` to a nano-dollar. Raises as `nanos`."""
    value: dict[str, str] = _call("money", {"amount": str(amount), "round": round})
    return value


def check_cursor(cursor: object) -> dict[str, Any]:
    """What a provider's page cursor is worth: `{"valid", "bytes"}`, the bytes of its JSON form."""
    # A number that JSON has no text for is as little a cursor as half a character is.
    if isinstance(cursor, (float, decimal.Decimal)) and not decimal.Decimal(cursor).is_finite():
        return {"valid": False, "bytes": 0}
    value: dict[str, Any] = _call("checkCursor", {"cursor": cursor})
    return value


def gap_id(cursor: object) -> str:
    """The name of the gap that follows a cursor. Raises `ExecutionProtocolError` for one that is not valid."""
    return str(_call("gapId", {"cursor": cursor}))


def idempotency_key(*, task_id: str, provider: str, account: str, run_id: str, operation_id: str) -> str:
    """The key that the provider gets with a dispatch."""
    owner = {"taskId": task_id, "provider": provider, "account": account}
    return str(_call("idempotencyKey", {**owner, "runId": run_id, "operationId": operation_id}))


def cancellation_key(*, task_id: str, provider: str, account: str, run_id: str) -> str:
    """The key that the provider gets with a stop."""
    owner = {"taskId": task_id, "provider": provider, "account": account}
    return str(_call("cancellationKey", {**owner, "runId": run_id}))


def run_id(*, task_id: str, provider: str, account: str, operation_id: str) -> str:
    """The id of the run of a dispatch that names none."""
    owner = {"taskId": task_id, "provider": provider, "account": account}
    return str(_call("runId", {**owner, "operationId": operation_id}))


def replay_key(
    *, provider: str | None, provider_job_id: str | None, turn_id: str | None, event_id: str | None
) -> str:
    """By what an event is known, so that it is in a journal once."""
    job = {"provider": provider, "providerJobId": provider_job_id}
    return str(_call("replayKey", {**job, "turnId": turn_id, "eventId": event_id}))


def backoff(
    failures: int, jitter: float, *, retry_after_ms: float | None = None, limits: Mapping[str, int] | None = None
) -> int:
    """How many milliseconds to wait after so many failures in a row; `jitter` is chance, from 0 to 1."""
    args: dict[str, Any] = {"failures": failures, "jitter": jitter}
    if retry_after_ms is not None:
        args["retryAfterMs"] = retry_after_ms
    if limits is not None:
        args["limits"] = dict(limits)
    return int(_call("backoff", args))


def intake_reservation(budget_usd: object, remaining: object) -> decimal.Decimal:
    """What an intake turn reserves, in dollars, by the task's budget and by what remains of it.

    Raises `ExecutionAllowanceError` where nothing is left.
    """
    args = written({"budgetUsd": budget_usd, "remaining": remaining})
    return decimal.Decimal(_native.execution_function("intakeReservation", args))


def fitting_events(events: Iterable[object], limits: Mapping[str, int] | None = None) -> int:
    """How many of these events, from the first on, one page may hold: at most `eventPageRecords`, and `eventPageBytes` as JSON. 0 says
    that the first one alone is too long for any page: its data has to be shortened. What the events say is not judged.
    """
    args: dict[str, Any] = {"events": list(events)}
    if limits is not None:
        args["limits"] = dict(limits)
    return int(_call("fittingEvents", args))


def crc32c(text: str) -> str:
    """The checksum of a text's UTF-8 bytes, as 8 digits."""
    return str(_call("crc32c", {"text": text}))


def sanitize(value: object, secrets: Iterable[str] = ()) -> Any:
    """A copy of a JSON value without secrets and recognised credentials."""
    return _call("sanitize", {"value": value, "secrets": list(secrets)})


def validate_manifest(files: object, tree: object) -> dict[str, list[dict[str, Any]]]:
    """The canonical entries of a result's files, as `files`, checked against `{input, head, index}`, each a list of `{path, mode}`, or None
    where it could not be read. Raises ExecutionResultError, reason `result-validation`, for a list that is refused as a whole, and
    ExecutionIoError, reason `tree`, where nothing can be concluded (EX-ART-03)."""
    checked: dict[str, list[dict[str, Any]]] = _call("validateManifest", {"files": files, "tree": tree})
    return checked


def public_text_check(text: str) -> None:
    """Raises ExecutionResultError, reason `result-validation`, for a raw title, body or other text that may not be made public as it
    is (EX-ART-44)."""
    _call("publicTextCheck", {"text": text})


def execution_live(value: object) -> bool:
    """Whether a run is live, by its metadata in a ledger or by a raw job projection (EX-BND-18)."""
    return bool(_call("executionLive", {"value": value}))


def unsubmitted_initial_dispatch(entry: object, ledger: object) -> bool:
    """Whether a start that is marked was never dispatched, by its marker and by the ledger as it is on disk."""
    return bool(_call("unsubmittedInitialDispatch", {"entry": entry, "ledger": ledger}))


def health_authorize(record: object | None, now: int) -> bool:
    """Whether a health record authorises a dispatch now, in ms since 1970. None never does."""
    return bool(_call("healthAuthorize", {"record": record, "now": now}))


def function_json(name: str, args_json: str) -> str:
    """Any of these by its name in the contract, from JSON text to JSON text: numbers keep all their digits.

    Raises `ExecutionInputError` for a name that is none.
    """
    return _native.execution_function(name, args_json)


def _call(name: str, args: Mapping[str, object]) -> Any:
    return value_of(_native.execution_function(name, written(args)))
