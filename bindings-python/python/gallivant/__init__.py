"""Crash-safe on-disk state for coordinators of coding agents.

Everything public is an attribute of this package:

- writing: `Session`, `Writer`, `claim`, `claim_wrapperless`, `mint_token`, `SessionEnvironment`;
- reading: `Reader`, `Snapshot`, `Explanation`, `ProcessIdentity`;
- reading many, and being told of changes: `Fleet`, `read_fleet`, `Watch`;
- `gallivant.idempotency`: idempotent creates; `gallivant.journal`: the journal of a run, its lines and their replay;
  `gallivant.execution`: the execution layer; `gallivant.asgi`: a middleware for the one, server-sent events of the other;
- hooks: `observe_hook`, and `gallivant.hook` for a whole process;
- values: `Options`, `Observation`, `Record`, `Extension`, `State`, `TriedRow`, `FleetView`, `FleetEntry`, `LeftOut`,
  `Change`, `SeatChange`, `Claim`, `Report`, `Heartbeat`, `Tick`, `HookReport`;
- `Cancel`, which ends waits from another thread; the exceptions below `GallivantError`;
- `gallivant.redaction` for secrets in texts, JSON values and streams;
- `gallivant.aio` for asyncio, `gallivant.words` for constants, `gallivant.testing` for tests.

Importing the package loads nothing else: each name is loaded when it is first asked for, so that a hook process pays
only for what it uses. The first name that can fail brings the exceptions with it: no file has to be opened to raise one.
"""

# Spelled out, because importing `typing` costs more than importing this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import aio as aio
    from . import asgi as asgi
    from . import errors as errors
    from . import execution as execution
    from . import execution_result as execution_result
    from . import hook as hook
    from . import idempotency as idempotency
    from . import journal as journal
    from . import redaction as redaction
    from . import testing as testing
    from . import words as words
    from ._native import (
        Cancel,
        Change,
        Claim,
        CurrentOwnership,
        Explanation,
        Extension,
        Fleet,
        FleetEntry,
        FleetView,
        Heartbeat,
        HookReport,
        LeftOut,
        Observation,
        Options,
        OwnershipGuard,
        ProcessIdentity,
        Reader,
        Record,
        Report,
        SeatChange,
        Session,
        SessionEnvironment,
        Snapshot,
        State,
        Tick,
        TriedRow,
        Watch,
        Writer,
        claim,
        claim_wrapperless,
        mint_token,
        observe_hook,
        read_fleet,
    )
    from .errors import (
        CancelledError,
        ExecutionAcceptanceUnknownError,
        ExecutionActiveError,
        ExecutionAllowanceError,
        ExecutionBusyError,
        ExecutionCapabilityError,
        ExecutionConflictError,
        ExecutionDeadlineError,
        ExecutionDependencyError,
        ExecutionDispatchRefusedError,
        ExecutionError,
        ExecutionFencedError,
        ExecutionHealthError,
        ExecutionInputError,
        ExecutionIoError,
        ExecutionJournalError,
        ExecutionOwnershipError,
        ExecutionPreparationError,
        ExecutionProtocolError,
        ExecutionPublicationBusyError,
        ExecutionQueueError,
        ExecutionResultError,
        ExecutionUnknownRunError,
        ExecutionUnresolvedError,
        ExecutionVerificationSandboxError,
        ExecutionVersionError,
        GallivantError,
        HandleBusyError,
        HarnessStateAskWithoutHumanError,
        HarnessStateBadTokenError,
        HarnessStateBusyError,
        HarnessStateEmptyTokenError,
        HarnessStateError,
        HarnessStateInputError,
        HarnessStateIoError,
        HarnessStateLockingError,
        HarnessStateReservedReasonError,
        HarnessStateSequenceExhaustedError,
        HarnessStateUnfencedError,
        HarnessStateUnknownAskError,
        HarnessStateUnknownStateError,
        IdempotencyAnswerTooLargeError,
        IdempotencyBusyError,
        IdempotencyClaimLostError,
        IdempotencyError,
        IdempotencyForkedError,
        IdempotencyInProgressError,
        IdempotencyInputError,
        IdempotencyKeyInvalidError,
        IdempotencyKeyReusedError,
        IdempotencyScopeInvalidError,
        IdempotencyStoreCorruptError,
        IdempotencyStoreUnavailableError,
        IdempotencyStoreUnsupportedError,
        IdempotencyStoreVersionError,
        InputError,
        InternalError,
    )

    __version__: str

__all__ = [
    "Cancel",
    "CancelledError",
    "Change",
    "Claim",
    "CurrentOwnership",
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
    "Explanation",
    "Extension",
    "Fleet",
    "FleetEntry",
    "FleetView",
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
    "Heartbeat",
    "HookReport",
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
    "LeftOut",
    "Observation",
    "Options",
    "OwnershipGuard",
    "ProcessIdentity",
    "Reader",
    "Record",
    "Report",
    "SeatChange",
    "Session",
    "SessionEnvironment",
    "Snapshot",
    "State",
    "Tick",
    "TriedRow",
    "Watch",
    "Writer",
    "__version__",
    "claim",
    "claim_wrapperless",
    "mint_token",
    "observe_hook",
    "read_fleet",
]

_SUBMODULES = (
    "aio",
    "asgi",
    "errors",
    "execution",
    "execution_result",
    "hook",
    "idempotency",
    "journal",
    "redaction",
    "testing",
    "words",
)


# Hidden from type checkers, for which a name that is not above is an error.
if not TYPE_CHECKING:

    def __getattr__(name):
        if name in _SUBMODULES:
            # Not `from . import`, which asks this function first.
            __import__(f"{__name__}.{name}")
            return globals()[name]
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name == "__version__":
            from . import _native

            value = _native.version()
        elif name.endswith("Error"):
            from . import errors

            value = getattr(errors, name)
        else:
            # An error may be that there is no descriptor left, with which nothing could be imported any more.
            from . import _native, errors

            value = getattr(_native, name)
        globals()[name] = value
        return value


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__, *_SUBMODULES})
