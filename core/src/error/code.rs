//! The one table of error codes.
//!
//! C constants, Python classes, the TypeScript union and `docs/errors/` are all made from, or checked
//! against, [`Code::ALL`]. A code never changes its name, its number or its meaning; a new one is appended to
//! its domain's range. Numbers are the C ABI's status values: 0 is success and belongs to no code, 1 to 99 are
//! for every domain, each domain then has a hundred of its own.

use super::Kind;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $number:literal, $name:literal, $kind:ident, $remedy:literal;)+) => {
        /// What happened, as a stable name. See [`Kind`] for what a caller does about it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Code {
            /// Every code, in the order of its number.
            pub const ALL: &'static [Code] = &[$(Code::$variant),+];

            /// The stable upper-case name, prefixed by its domain.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Code::$variant => $name),+ }
            }

            /// The status number of the C ABI: never 0, never reused.
            #[must_use]
            pub const fn number(self) -> i32 {
                match self { $(Code::$variant => $number),+ }
            }

            /// What a caller does about it.
            #[must_use]
            pub const fn kind(self) -> Kind {
                match self { $(Code::$variant => Kind::$kind),+ }
            }

            /// One sentence that an operator can act on.
            #[must_use]
            pub const fn remedy(self) -> &'static str {
                match self { $(Code::$variant => $remedy),+ }
            }

            /// The whole documentation page: what it means, what is true on disk now, what to do.
            #[must_use]
            pub const fn page(self) -> &'static str {
                match self { $(Code::$variant => include_str!(concat!("pages/", $name, ".md"))),+ }
            }
        }
    };
}

codes! {
    /// An argument is not usable: a null pointer, bad UTF-8, a struct of the wrong size, a closed handle.
    Input = 1, "GALLIVANT_INPUT", Input,
        "correct the argument that the message names; nothing was read or written";
    /// A bug in the library was caught at the boundary.
    Internal = 2, "GALLIVANT_INTERNAL", Internal,
        "report the message as a bug; records on disk are whole, because every write is atomic";
    /// One handle was used by two threads at once although its rule forbids it.
    HandleBusy = 3, "GALLIVANT_HANDLE_BUSY", Busy,
        "use one handle from one thread at a time, or open one handle for each thread";
    /// The caller's own signal ended a wait.
    Cancelled = 4, "GALLIVANT_CANCELLED", Refused,
        "nothing was written by the call that was cancelled; call again when wanted";

    /// An observation said `unknown`, which only readers may derive.
    HarnessStateUnknownState = 100, "HARNESS_STATE_UNKNOWN_STATE", Input,
        "observe ready, idle, active, child or ended; write nothing when the state is not known";
    /// A live state from a writer without a pty session.
    HarnessStateUnfenced = 101, "HARNESS_STATE_UNFENCED", Input,
        "open the writer with the name of the pty session in which the harness runs";
    /// An ask that is no ask.
    HarnessStateUnknownAsk = 102, "HARNESS_STATE_UNKNOWN_ASK", Input,
        "use none, permission, question or review as the ask";
    /// An ask although no human is waited for.
    HarnessStateAskWithoutHuman = 103, "HARNESS_STATE_ASK_WITHOUT_HUMAN", Input,
        "set blockedOn to human together with the ask, or leave the ask out";
    /// An observation spelled the placeholder that only a claim writes.
    HarnessStateReservedReason = 104, "HARNESS_STATE_RESERVED_REASON", Input,
        "give the ending an exit, or another reason than superseded";
    /// The empty token owns nothing.
    HarnessStateEmptyToken = 105, "HARNESS_STATE_EMPTY_TOKEN", Input,
        "mint a token, or pass on the one that the session's claim returned";
    /// A wrapperless claim by a token without a wrapperless prefix.
    HarnessStateBadToken = 106, "HARNESS_STATE_BAD_TOKEN", Input,
        "start the token with a registered wrapperless prefix such as claude-session-";
    /// No sequence above the highest one is left.
    HarnessStateSequenceExhausted = 107, "HARNESS_STATE_SEQUENCE_EXHAUSTED", Refused,
        "the record or floor holds 2^64-1; check who wrote it, then remove record and floor while no session runs";
    /// The lock was held by somebody else until the wait ended.
    HarnessStateBusy = 108, "HARNESS_STATE_BUSY", Busy,
        "try again; if it stays, look for the process that holds .harness-state.lock (fuser, lslocks)";
    /// Locks do not exclude on this file system.
    HarnessStateLocking = 109, "HARNESS_STATE_LOCKING", Unavailable,
        "move the agent's directory to a file system with working flock, such as a local disk";
    /// The disk, a path or a permission failed.
    HarnessStateIo = 110, "HARNESS_STATE_IO", Unavailable,
        "check the path, its permissions and the free space that the message names, then call again";
    /// A malformed argument, payload or environment, or an object used after a fork.
    HarnessStateInput = 111, "HARNESS_STATE_INPUT", Input,
        "correct what the reason names; nothing was written";

    /// A malformed argument of the execution layer.
    ExecutionInput = 200, "EXECUTION_INPUT", Input,
        "correct the argument that the message names; nothing was read or written";
    /// A provider's reply, or a cursor, time or ledger that was saved, breaks the contract.
    ExecutionProtocol = 201, "EXECUTION_PROTOCOL", Refused,
        "correct the transport and reconcile the same job and key; do not dispatch again";
    /// A file or the transport failed.
    ExecutionIo = 202, "EXECUTION_IO", Unavailable,
        "retry at the saved time; the last durable state stands";
    /// A journal is damaged.
    ExecutionJournal = 203, "EXECUTION_JOURNAL", Corrupt,
        "keep all journal files, and restore the matching backup before replay";
    /// A file has a version that this package does not support.
    ExecutionVersion = 204, "EXECUTION_VERSION", Incompatible,
        "install the compatible package or restore the matching backup; a new dispatch is not a migration";
    /// The local output queue or its state is invalid, or cannot be saved.
    ExecutionQueue = 205, "EXECUTION_QUEUE", Corrupt,
        "restore the matching package or checkpoint";
    /// There is no such run or operation.
    ExecutionUnknownRun = 206, "EXECUTION_UNKNOWN_RUN", Input,
        "use the id of a run or operation of this root; the message names the one that was asked for";

    /// A runtime without the shared intake service, or a capability of a foreign registry.
    ExecutionDependency = 207, "EXECUTION_DEPENDENCY", Incompatible,
        "use the complete compatible package; do not rebuild the intake service";
    /// A result is missing, incomplete, too large, foreign, contradictory or not publishable.
    ExecutionResult = 208, "EXECUTION_RESULT", Unresolved,
        "correct the exact owned result or restore the owned cache, then retry collection; do not erase identities and do not dispatch";
    /// A publication step is in progress.
    ExecutionPublicationBusy = 209, "EXECUTION_PUBLICATION_BUSY", Busy,
        "retry after the publication has finished";
    /// It is not proved that the verification sandbox is ready.
    ExecutionVerificationSandbox = 210, "EXECUTION_VERIFICATION_SANDBOX", Unavailable,
        "repair the part of the system or runtime that the message names, then resume";
    /// A dispatch was refused before anything of it was sent, which is proved.
    ExecutionDispatchRefused = 211, "EXECUTION_DISPATCH_REFUSED", Refused,
        "repair the prerequisite, then resume the same operation";
    /// It is not known whether the provider owns the operation.
    ExecutionAcceptanceUnknown = 212, "EXECUTION_ACCEPTANCE_UNKNOWN", Unresolved,
        "let reconcile look the key up; without lookup, inspect the recorded key at the provider, then restore the exact ownership with adopt or record a proved absence with settleAbsent; do not delete the intent to force a retry";
    /// Another operation of the task has unknown acceptance.
    ExecutionUnresolved = 213, "EXECUTION_UNRESOLVED", Unresolved,
        "reconcile the operation that the message names first";
    /// The current run is live.
    ExecutionActive = 214, "EXECUTION_ACTIVE", Refused,
        "wait for the current run to be settled, or stop it";
    /// The input contradicts what the ledger holds.
    ExecutionConflict = 215, "EXECUTION_CONFLICT", Refused,
        "use the identical input for this operation, or a new operation id";
    /// A stop forbids dispatch.
    ExecutionFenced = 216, "EXECUTION_FENCED", Refused,
        "settle the stop that the message names; only what the message says releases its fence";
    /// The choice is not supported.
    ExecutionCapability = 217, "EXECUTION_CAPABILITY", Refused,
        "choose what the capability record allows for the field that the message names";
    /// A receipt is missing, foreign, or does not match.
    ExecutionPreparation = 218, "EXECUTION_PREPARATION", Refused,
        "prepare again with the exact input";
    /// The allowance or a limit of turns does not permit the dispatch.
    ExecutionAllowance = 219, "EXECUTION_ALLOWANCE", Refused,
        "look at the limit that the message names; a new budget is the coordinator's decision";
    /// There is no fresh success of the health check.
    ExecutionHealth = 220, "EXECUTION_HEALTH", Unavailable,
        "do what the health record says, then wait for its next success";
    /// The ledger belongs to another task, provider or account, or there is no session to continue.
    ExecutionOwnership = 221, "EXECUTION_OWNERSHIP", Refused,
        "open the root with its own task, provider and account";
    /// Somebody else held the task's lock until the wait ended.
    ExecutionBusy = 222, "EXECUTION_BUSY", Busy,
        "retry; the message names the holder that the lock file shows, as a hint";
    /// A call did not end in its time.
    ExecutionDeadline = 223, "EXECUTION_DEADLINE", Unavailable,
        "retry at the saved time";

    /// The key belongs to a create with another body.
    IdempotencyKeyReused = 300, "IDEMPOTENCY_KEY_REUSED", Refused,
        "resend the bytes that were sent first with this key, or send the new request with a new key";
    /// A key that is no key.
    IdempotencyKeyInvalid = 301, "IDEMPOTENCY_KEY_INVALID", Input,
        "send a key of 1 to 255 bytes of visible ASCII, such as a UUID";
    /// An operation or a scope that is none.
    IdempotencyScopeInvalid = 302, "IDEMPOTENCY_SCOPE_INVALID", Input,
        "name the operation and at least one owner, each 1 to 255 bytes of UTF-8";
    /// The first create with the key still runs.
    IdempotencyInProgress = 303, "IDEMPOTENCY_IN_PROGRESS", Busy,
        "repeat the request with the same key and body; it gets the first create's answer once that has finished";
    /// A reservation that somebody else has taken over, or that has ended.
    IdempotencyClaimLost = 304, "IDEMPOTENCY_CLAIM_LOST", Refused,
        "undo what this create made and answer with the resource that the error names, once it names one";
    /// An answer above the limit.
    IdempotencyAnswerTooLarge = 305, "IDEMPOTENCY_ANSWER_TOO_LARGE", Input,
        "save a shorter answer, or raise max_answer_bytes; the reservation is still held";
    /// The store cannot be opened, read or written.
    IdempotencyStoreUnavailable = 306, "IDEMPOTENCY_STORE_UNAVAILABLE", Unavailable,
        "check the path, its permissions and the free space that the message names; keyed creates are refused until then";
    /// A file system on which a store cannot exclude.
    IdempotencyStoreUnsupported = 307, "IDEMPOTENCY_STORE_UNSUPPORTED", Unavailable,
        "move the store to a local file system whose locks exclude and that can share memory, such as ext4, xfs or tmpfs";
    /// Bytes of the store make no sense.
    IdempotencyStoreCorrupt = 308, "IDEMPOTENCY_STORE_CORRUPT", Corrupt,
        "restore the file that the message names with its -wal from a backup, or move both aside and find out what their keys made";
    /// The store is of another version.
    IdempotencyStoreVersion = 309, "IDEMPOTENCY_STORE_VERSION", Incompatible,
        "open the store with the version of the library that wrote it, or a later one";
    /// Somebody else was writing until the deadline.
    IdempotencyBusy = 310, "IDEMPOTENCY_BUSY", Busy,
        "repeat the call; if it stays, look for the process that holds the store's lock (fuser, lslocks)";
    /// A store that came through a fork.
    IdempotencyForked = 311, "IDEMPOTENCY_FORKED", Input,
        "open a fresh store in the child";
    /// A malformed argument or an option out of range.
    IdempotencyInput = 312, "IDEMPOTENCY_INPUT", Input,
        "correct what the reason names; nothing was written";
}

impl Code {
    /// The word of the specification and of wire protocols, in lower case: the name without its domain's prefix and with
    /// hyphens (`HARNESS_STATE_UNKNOWN_STATE` is `unknown-state`), for idempotency the whole name
    /// (`idempotency_key_reused`).
    #[must_use]
    pub fn word(self) -> String {
        let name = self.name();
        if name.starts_with("IDEMPOTENCY_") {
            return name.to_ascii_lowercase();
        }
        let bare = ["HARNESS_STATE_", "EXECUTION_", "GALLIVANT_"]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix));
        bare.unwrap_or(name).to_ascii_lowercase().replace('_', "-")
    }

    /// The code with this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name() == name)
    }
}
