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
}

impl Code {
    /// The word of the specification and of the conformance protocol: the name without its domain's prefix, in
    /// lower case with hyphens (`HARNESS_STATE_UNKNOWN_STATE` is `unknown-state`).
    #[must_use]
    pub fn word(self) -> String {
        let name = self.name();
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
