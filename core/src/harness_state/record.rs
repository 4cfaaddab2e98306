//! The record as it stands on disk.

use super::extension::Extension;
use super::line::owned;
use super::observation::{Ask, BlockedOn, InputBuffer, Observation, State};
use crate::json::strict::Spare;

/// A word from the disk: what this build understands by it, and how it was spelled where that is nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word<T> {
    /// What is understood.
    pub value: T,
    /// The spelling, where `value` does not say it.
    pub spelled: Option<Box<str>>,
}

impl<T> Word<T> {
    /// A word that this build knows.
    pub const fn known(value: T) -> Self {
        Word { value, spelled: None }
    }
}

/// One decoded record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which format and version; compared whole.
    pub schema: String,
    /// The agent's name, as its writer gave it.
    pub agent: String,
    /// The harness's name, e.g. `claude` or `codex`.
    pub harness: String,
    /// What the harness is doing.
    pub state: Word<State>,
    /// Whom it waits for.
    pub blocked_on: Word<BlockedOn>,
    /// Whether text waits in its input line.
    pub input_buffer: Word<InputBuffer>,
    /// What a person is asked for.
    pub ask: Word<Ask>,
    /// Why.
    pub reason: Option<String>,
    /// How it ended.
    pub exit: Option<String>,
    /// The pty session in which the harness runs.
    pub pty_session: Option<String>,
    /// The token of the session that wrote it; empty in records from before tokens.
    pub incarnation: String,
    /// The ownership sequence; 0 in records from before sequences.
    pub seq: u64,
    /// When the present observation began, wall clock in ms since 1970.
    pub since_ms: u64,
    /// When the record was written or last confirmed, wall clock in ms since 1970: the stamp.
    pub written_at_ms: u64,
    /// How often the observation has changed.
    pub transitions: u64,
    /// What writers that know the extension added; none from others, and where it is damaged.
    pub extension: Option<Extension>,
}

impl Record {
    /// A copy in the memory of `spare`, but for the extension.
    pub(super) fn copied_without_extension(&self, spare: &mut Spare) -> Record {
        Record {
            schema: spare.copy(&self.schema),
            agent: spare.copy(&self.agent),
            harness: spare.copy(&self.harness),
            state: self.state.clone(),
            blocked_on: self.blocked_on.clone(),
            input_buffer: self.input_buffer.clone(),
            ask: self.ask.clone(),
            reason: owned(self.reason.as_deref(), spare),
            exit: owned(self.exit.as_deref(), spare),
            pty_session: owned(self.pty_session.as_deref(), spare),
            incarnation: spare.copy(&self.incarnation),
            seq: self.seq,
            since_ms: self.since_ms,
            written_at_ms: self.written_at_ms,
            transitions: self.transitions,
            extension: None,
        }
    }

    /// The six fields that an observation sets.
    #[must_use]
    pub fn observation(&self) -> Observation {
        Observation {
            state: self.state.value,
            blocked_on: self.blocked_on.value,
            input_buffer: self.input_buffer.value,
            ask: self.ask.value,
            reason: self.reason.clone(),
            exit: self.exit.clone(),
        }
    }

    /// Whether an observation says what this record says. Words that are not understood equal `unknown`.
    #[must_use]
    pub fn says(&self, observation: &Observation) -> bool {
        self.state.value == observation.state
            && self.blocked_on.value == observation.blocked_on
            && self.input_buffer.value == observation.input_buffer
            && self.ask.value == observation.ask
            && self.reason == observation.reason
            && self.exit == observation.exit
    }

    /// Age at `now_ms`, never below 0.
    #[must_use]
    pub fn age_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.written_at_ms)
    }

    /// Whether this is what a claim wrote and nobody has observed anything since.
    #[must_use]
    pub fn is_placeholder(&self) -> bool {
        self.state.value == State::Ended
            && self.exit.is_none()
            && self.reason.as_deref() == Some(super::observation::SUPERSEDED)
    }

    /// Whether children run although the turn is over (HS-99).
    #[must_use]
    pub fn waits_for_children(&self) -> bool {
        let runs = self.extension.as_ref().is_some_and(|extension| !extension.children.is_empty());
        runs && matches!(self.state.value, State::Idle | State::Ready)
    }

    /// Whether this record says that a session lives.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.state.value.is_live()
    }

    /// Whether this is an ending with an exit, which hooks do not revive.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.state.value == State::Ended && self.exit.is_some()
    }
}
