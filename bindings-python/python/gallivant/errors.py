"""The exceptions: one class for each code of the library, in a tree under `GallivantError`.

A code never changes its meaning. One that this package does not know yet, from a newer native part, is raised as
the class of its domain, or else as `GallivantError` itself, with its own `code`.
"""

from __future__ import annotations

__all__ = [
    "CancelledError",
    "ExecutionAcceptanceUnknownError",
    "ExecutionActiveError",
    "ExecutionAllowanceError",
    "ExecutionBusyError",
    "ExecutionCapabilityError",
    "ExecutionConflictError",
    "ExecutionDeadlineError",
    "ExecutionDependencyError",
    "ExecutionDispatchRefusedError",
    "ExecutionError",
    "ExecutionFencedError",
    "ExecutionHealthError",
    "ExecutionInputError",
    "ExecutionIoError",
    "ExecutionJournalError",
    "ExecutionOwnershipError",
    "ExecutionPreparationError",
    "ExecutionProtocolError",
    "ExecutionPublicationBusyError",
    "ExecutionQueueError",
    "ExecutionResultError",
    "ExecutionUnknownRunError",
    "ExecutionUnresolvedError",
    "ExecutionVerificationSandboxError",
    "ExecutionVersionError",
    "GallivantError",
    "HandleBusyError",
    "HarnessStateAskWithoutHumanError",
    "HarnessStateBadTokenError",
    "HarnessStateBusyError",
    "HarnessStateEmptyTokenError",
    "HarnessStateError",
    "HarnessStateInputError",
    "HarnessStateIoError",
    "HarnessStateLockingError",
    "HarnessStateReservedReasonError",
    "HarnessStateSequenceExhaustedError",
    "HarnessStateUnfencedError",
    "HarnessStateUnknownAskError",
    "HarnessStateUnknownStateError",
    "IdempotencyAnswerTooLargeError",
    "IdempotencyBusyError",
    "IdempotencyClaimLostError",
    "IdempotencyError",
    "IdempotencyForkedError",
    "IdempotencyInProgressError",
    "IdempotencyInputError",
    "IdempotencyKeyInvalidError",
    "IdempotencyKeyReusedError",
    "IdempotencyScopeInvalidError",
    "IdempotencyStoreCorruptError",
    "IdempotencyStoreUnavailableError",
    "IdempotencyStoreUnsupportedError",
    "IdempotencyStoreVersionError",
    "InputError",
    "InternalError",
]


class GallivantError(Exception):
    """The base of all errors of the library.

    `code` says what happened and never changes; `kind` says what a caller does about it (`input`, `refused`, `busy`,
    `unresolved`, `corrupt`, `incompatible`, `unavailable`, `internal`); `reason` refines the code where there is more
    to say; `message` is one line for people and may change; `remedy` is one sentence that an operator can act on;
    `os_error` is the `errno` of the system call that failed, where one did; `file` is the file that cannot be used, and
    `resource` the id of what somebody else has made instead, where a code has one.

    `str()` is code, reason and message in one line. From Python 3.11 on a traceback shows the remedy below it, as a note.
    """

    code: str = ""
    kind: str = ""
    reason: str | None
    message: str
    remedy: str
    os_error: int | None
    file: str | None
    resource: str | None

    def __init__(
        self,
        message: str = "",
        *,
        reason: str | None = None,
        remedy: str = "",
        os_error: int | None = None,
        file: str | None = None,
        resource: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.remedy = remedy
        self.os_error = os_error
        self.file = file
        self.resource = resource
        # Before Python 3.11 nobody would show it.
        add_note = getattr(self, "add_note", None)
        if add_note is not None and remedy:
            add_note(f"remedy: {remedy}")

    def __str__(self) -> str:
        if not self.code:
            return self.message
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.code}{reason}: {self.message}"


class InputError(GallivantError):
    """An argument is not usable."""

    code = "GALLIVANT_INPUT"
    kind = "input"


class InternalError(GallivantError):
    """A bug in the library was caught at the boundary."""

    code = "GALLIVANT_INTERNAL"
    kind = "internal"


class HandleBusyError(GallivantError):
    """One handle was used by two threads at once although its rule forbids it."""

    code = "GALLIVANT_HANDLE_BUSY"
    kind = "busy"


class CancelledError(GallivantError):
    """The caller's own signal ended a wait. Not `asyncio.CancelledError`."""

    code = "GALLIVANT_CANCELLED"
    kind = "refused"


class HarnessStateError(GallivantError):
    """The base of the errors of observed harness state."""


class HarnessStateUnknownStateError(HarnessStateError):
    """An observation said `unknown`, which only readers may derive."""

    code = "HARNESS_STATE_UNKNOWN_STATE"
    kind = "input"


class HarnessStateUnfencedError(HarnessStateError):
    """A live state from a writer without a pty session."""

    code = "HARNESS_STATE_UNFENCED"
    kind = "input"


class HarnessStateUnknownAskError(HarnessStateError):
    """An ask that is no ask."""

    code = "HARNESS_STATE_UNKNOWN_ASK"
    kind = "input"


class HarnessStateAskWithoutHumanError(HarnessStateError):
    """An ask although no human is waited for."""

    code = "HARNESS_STATE_ASK_WITHOUT_HUMAN"
    kind = "input"


class HarnessStateReservedReasonError(HarnessStateError):
    """An observation spelled the placeholder that only a claim writes."""

    code = "HARNESS_STATE_RESERVED_REASON"
    kind = "input"


class HarnessStateEmptyTokenError(HarnessStateError):
    """The empty token owns nothing."""

    code = "HARNESS_STATE_EMPTY_TOKEN"
    kind = "input"


class HarnessStateBadTokenError(HarnessStateError):
    """A wrapperless claim by a token without a wrapperless prefix."""

    code = "HARNESS_STATE_BAD_TOKEN"
    kind = "input"


class HarnessStateSequenceExhaustedError(HarnessStateError):
    """No sequence above the highest one is left."""

    code = "HARNESS_STATE_SEQUENCE_EXHAUSTED"
    kind = "refused"


class HarnessStateBusyError(HarnessStateError):
    """The lock was held by somebody else until the wait ended."""

    code = "HARNESS_STATE_BUSY"
    kind = "busy"


class HarnessStateLockingError(HarnessStateError):
    """Locks do not exclude on this file system."""

    code = "HARNESS_STATE_LOCKING"
    kind = "unavailable"


class HarnessStateIoError(HarnessStateError):
    """The disk, a path or a permission failed."""

    code = "HARNESS_STATE_IO"
    kind = "unavailable"


class HarnessStateInputError(HarnessStateError):
    """A malformed argument, payload or environment, or an object used after a fork."""

    code = "HARNESS_STATE_INPUT"
    kind = "input"


class ExecutionError(GallivantError):
    """The base of the errors of the execution layer.

    `run_id` and `operation_id` name the run and the operation that the error is about, where it is about one.
    """

    run_id: str | None = None
    operation_id: str | None = None


class ExecutionInputError(ExecutionError):
    """A malformed argument of the execution layer."""

    code = "EXECUTION_INPUT"
    kind = "input"


class ExecutionProtocolError(ExecutionError):
    """A provider's reply, or a cursor, time or ledger that was saved, breaks the contract."""

    code = "EXECUTION_PROTOCOL"
    kind = "refused"


class ExecutionIoError(ExecutionError):
    """A file or the transport failed."""

    code = "EXECUTION_IO"
    kind = "unavailable"


class ExecutionJournalError(ExecutionError):
    """A journal is damaged."""

    code = "EXECUTION_JOURNAL"
    kind = "corrupt"


class ExecutionVersionError(ExecutionError):
    """A file has a version that this package does not support."""

    code = "EXECUTION_VERSION"
    kind = "incompatible"


class ExecutionQueueError(ExecutionError):
    """The local output queue or its state is invalid, or cannot be saved."""

    code = "EXECUTION_QUEUE"
    kind = "corrupt"


class ExecutionUnknownRunError(ExecutionError):
    """There is no such run or operation."""

    code = "EXECUTION_UNKNOWN_RUN"
    kind = "input"


class ExecutionDependencyError(ExecutionError):
    """A runtime without the shared intake service, or a capability of a foreign registry."""

    code = "EXECUTION_DEPENDENCY"
    kind = "incompatible"


class ExecutionResultError(ExecutionError):
    """A result is missing, incomplete, too large, foreign, contradictory or not publishable."""

    code = "EXECUTION_RESULT"
    kind = "unresolved"


class ExecutionPublicationBusyError(ExecutionError):
    """A publication step is in progress."""

    code = "EXECUTION_PUBLICATION_BUSY"
    kind = "busy"


class ExecutionVerificationSandboxError(ExecutionError):
    """It is not proved that the verification sandbox is ready."""

    code = "EXECUTION_VERIFICATION_SANDBOX"
    kind = "unavailable"


class ExecutionDispatchRefusedError(ExecutionError):
    """A dispatch was refused before anything of it was sent, which is proved."""

    code = "EXECUTION_DISPATCH_REFUSED"
    kind = "refused"


class ExecutionAcceptanceUnknownError(ExecutionError):
    """It is not known whether the provider owns the operation."""

    code = "EXECUTION_ACCEPTANCE_UNKNOWN"
    kind = "unresolved"


class ExecutionUnresolvedError(ExecutionError):
    """Another operation of the task has unknown acceptance."""

    code = "EXECUTION_UNRESOLVED"
    kind = "unresolved"


class ExecutionActiveError(ExecutionError):
    """The current run is live."""

    code = "EXECUTION_ACTIVE"
    kind = "refused"


class ExecutionConflictError(ExecutionError):
    """The input contradicts what the ledger holds."""

    code = "EXECUTION_CONFLICT"
    kind = "refused"


class ExecutionFencedError(ExecutionError):
    """A stop forbids dispatch."""

    code = "EXECUTION_FENCED"
    kind = "refused"


class ExecutionCapabilityError(ExecutionError):
    """The choice is not supported."""

    code = "EXECUTION_CAPABILITY"
    kind = "refused"


class ExecutionPreparationError(ExecutionError):
    """A receipt is missing, foreign, or does not match."""

    code = "EXECUTION_PREPARATION"
    kind = "refused"


class ExecutionAllowanceError(ExecutionError):
    """The allowance or a limit of turns does not permit the dispatch."""

    code = "EXECUTION_ALLOWANCE"
    kind = "refused"


class ExecutionHealthError(ExecutionError):
    """There is no fresh success of the health check."""

    code = "EXECUTION_HEALTH"
    kind = "unavailable"


class ExecutionOwnershipError(ExecutionError):
    """The ledger belongs to another task, provider or account, or there is no session to continue."""

    code = "EXECUTION_OWNERSHIP"
    kind = "refused"


class ExecutionBusyError(ExecutionError):
    """Somebody else held the task's lock until the wait ended."""

    code = "EXECUTION_BUSY"
    kind = "busy"


class ExecutionDeadlineError(ExecutionError):
    """A call did not end in its time."""

    code = "EXECUTION_DEADLINE"
    kind = "unavailable"


class IdempotencyError(GallivantError):
    """The base of the errors of idempotent creates."""


class IdempotencyKeyReusedError(IdempotencyError):
    """The key belongs to a create with another body."""

    code = "IDEMPOTENCY_KEY_REUSED"
    kind = "refused"


class IdempotencyKeyInvalidError(IdempotencyError):
    """A key that is no key."""

    code = "IDEMPOTENCY_KEY_INVALID"
    kind = "input"


class IdempotencyScopeInvalidError(IdempotencyError):
    """An operation or a scope that is none."""

    code = "IDEMPOTENCY_SCOPE_INVALID"
    kind = "input"


class IdempotencyInProgressError(IdempotencyError):
    """The first create with the key still runs."""

    code = "IDEMPOTENCY_IN_PROGRESS"
    kind = "busy"


class IdempotencyClaimLostError(IdempotencyError):
    """A reservation that somebody else has taken over, or that has ended."""

    code = "IDEMPOTENCY_CLAIM_LOST"
    kind = "refused"


class IdempotencyAnswerTooLargeError(IdempotencyError):
    """An answer above the limit."""

    code = "IDEMPOTENCY_ANSWER_TOO_LARGE"
    kind = "input"


class IdempotencyStoreUnavailableError(IdempotencyError):
    """The store cannot be opened, read or written."""

    code = "IDEMPOTENCY_STORE_UNAVAILABLE"
    kind = "unavailable"


class IdempotencyStoreUnsupportedError(IdempotencyError):
    """A file system on which a store cannot exclude."""

    code = "IDEMPOTENCY_STORE_UNSUPPORTED"
    kind = "unavailable"


class IdempotencyStoreCorruptError(IdempotencyError):
    """Bytes of the store make no sense."""

    code = "IDEMPOTENCY_STORE_CORRUPT"
    kind = "corrupt"


class IdempotencyStoreVersionError(IdempotencyError):
    """The store is of another version."""

    code = "IDEMPOTENCY_STORE_VERSION"
    kind = "incompatible"


class IdempotencyBusyError(IdempotencyError):
    """Somebody else was writing until the deadline."""

    code = "IDEMPOTENCY_BUSY"
    kind = "busy"


class IdempotencyForkedError(IdempotencyError):
    """A store that came through a fork."""

    code = "IDEMPOTENCY_FORKED"
    kind = "input"


class IdempotencyInputError(IdempotencyError):
    """A malformed argument or an option out of range."""

    code = "IDEMPOTENCY_INPUT"
    kind = "input"


_CLASSES: dict[str, type[GallivantError]] = {
    value.code: value
    for value in list(globals().values())
    if isinstance(value, type) and issubclass(value, GallivantError) and value.code
}

# The class of a code that this version does not know, by the prefix of its domain.
_DOMAINS: dict[str, type[GallivantError]] = {
    "HARNESS_STATE_": HarnessStateError,
    "EXECUTION_": ExecutionError,
    "IDEMPOTENCY_": IdempotencyError,
}


def _class_of(code: str) -> type[GallivantError]:
    known = _CLASSES.get(code)
    if known is not None:
        return known
    for prefix, domain in _DOMAINS.items():
        if code.startswith(prefix):
            return domain
    return GallivantError


def _from_native(
    code: str,
    kind: str,
    reason: str | None,
    message: str,
    remedy: str,
    os_error: int | None,
    file: str | None,
    resource: str | None,
    run_id: str | None,
    operation_id: str | None,
) -> GallivantError:
    """Makes the exception for an error of the native part, which knows the table."""
    error = _class_of(code)(message, reason=reason, remedy=remedy, os_error=os_error, file=file, resource=resource)
    error.code = code
    error.kind = kind
    if isinstance(error, ExecutionError):
        error.run_id = run_id
        error.operation_id = operation_id
    return error
