//! What writing calls answer: typed, so that a refusal is never mistaken for success.

use crate::error::Error;

/// What a call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A new record stands.
    Landed,
    /// Nothing changed and the stamp is fresh; nothing was written.
    Coalesced,
    /// The rules forbid it; nothing was written. An answer, not an error, and not a success.
    Refused(Refusal),
}

impl Outcome {
    /// `landed`, `coalesced` or `refused`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Outcome::Landed => "landed",
            Outcome::Coalesced => "coalesced",
            Outcome::Refused(_) => "refused",
        }
    }

    /// Why it was refused, where it was.
    #[must_use]
    pub const fn refusal(self) -> Option<Refusal> {
        match self {
            Outcome::Refused(refusal) => Some(refusal),
            Outcome::Landed | Outcome::Coalesced => None,
        }
    }
}

macro_rules! reasons {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $vdoc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[doc = $vdoc])+ $variant,)+ }

        impl $name {
            /// Every value.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The stable lower-case word.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }
    };
}

reasons! {
    /// Why an observation was refused.
    Refusal {
        /// Something stands at the record's name that cannot be read; only a claim goes over it.
        Unreadable = "unreadable",
        /// A token-only writer found somebody else's record.
        Unclaimed = "unclaimed",
        /// Record or floor carries a higher sequence: another session has claimed.
        Superseded = "superseded",
        /// The record is of a schema that is not accepted.
        Schema = "schema",
        /// The session's own ending with an exit stands.
        Terminal = "terminal",
        /// A later event of the same session stands.
        Late = "late",
        /// What stands is fresh and known by stronger evidence.
        WeakerEvidence = "weaker-evidence",
        /// The hook belongs to another harness, which inherited the session's variables.
        ForeignDescendant = "foreign-descendant",
        /// A hook had no identity in its environment.
        IdentityMissing = "identity-missing",
    }
}

reasons! {
    /// Why a heartbeat was skipped.
    Skip {
        /// There is no record.
        Absent = "absent",
        /// The record cannot be read.
        Unreadable = "unreadable",
        /// The record is of a schema that is not accepted.
        Schema = "schema",
        /// The record carries another session's token.
        ForeignToken = "foreign-token",
        /// The record's state is a word that this build does not know.
        UnknownState = "unknown-state",
        /// The session has ended.
        Ended = "ended",
        /// Record or floor carries a higher sequence.
        Superseded = "superseded",
    }
}

/// What a heartbeat did.
#[derive(Debug)]
pub enum Heartbeat {
    /// The stamp was renewed.
    Landed {
        /// The floor should have been raised after the record and could not be.
        floor_failure: Option<Error>,
    },
    /// There was nothing of this session's to renew.
    Skipped(Skip),
}

impl Heartbeat {
    /// `landed` or `skipped`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Heartbeat::Landed { .. } => "landed",
            Heartbeat::Skipped(_) => "skipped",
        }
    }
}

/// What an observation did.
#[derive(Debug)]
pub struct Report {
    /// The answer.
    pub outcome: Outcome,
    /// The floor should have been raised after the record and could not be. The record stands.
    pub floor_failure: Option<Error>,
}

impl Report {
    pub(super) fn of(outcome: Outcome) -> Self {
        Report { outcome, floor_failure: None }
    }
}
