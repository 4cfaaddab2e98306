//! What is said to a journal: whose it is, and one event.

use crate::digest::sha256;
use crate::json::{Number, Object, Value, canonical};
use crate::words::words;

/// The replay key of an event: a hash that is compared whole.
pub type Key = [u8; 32];

/// Whose journal it is. All of it is compared exactly, and none of it is redacted (EX-RED-16).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The task.
    pub task_id: String,
    /// The run, which has a directory of its own.
    pub run_id: String,
    /// The provider, by its public name.
    pub provider: String,
    /// The provider's job, where it has one.
    pub job_id: Option<String>,
    /// The provider's root turn, where there is one.
    pub turn_id: Option<String>,
}

impl Owner {
    /// The replay key of an event by its unredacted id: the SHA-256 of the canonical JSON array
    /// `[provider, providerJobId, turnId, eventId]` (EX-JRN-05, EX-JRN-07).
    #[must_use]
    pub fn replay_key(&self, event_id: &str) -> Key {
        replay_key(Some(&self.provider), self.job_id.as_deref(), self.turn_id.as_deref(), Some(event_id))
    }
}

/// The replay key of these exact values, each of which may be null (EX-JRN-05).
#[must_use]
pub fn replay_key(
    provider: Option<&str>,
    job_id: Option<&str>,
    turn_id: Option<&str>,
    event_id: Option<&str>,
) -> Key {
    ReplayKeyMaker::new(provider, job_id, turn_id).key(event_id)
}

/// Makes replay keys of one owner: what they have in common is written once.
pub(super) struct ReplayKeyMaker {
    text: String,
    common: usize,
}

impl ReplayKeyMaker {
    pub(super) fn of(owner: &Owner) -> Self {
        Self::new(Some(&owner.provider), owner.job_id.as_deref(), owner.turn_id.as_deref())
    }

    fn new(provider: Option<&str>, job_id: Option<&str>, turn_id: Option<&str>) -> Self {
        let mut text = String::with_capacity(128);
        text.push('[');
        for part in [provider, job_id, turn_id] {
            write_part(part, &mut text);
            text.push(',');
        }
        ReplayKeyMaker { common: text.len(), text }
    }

    pub(super) fn key(&mut self, event_id: Option<&str>) -> Key {
        self.text.truncate(self.common);
        write_part(event_id, &mut self.text);
        self.text.push(']');
        sha256(self.text.as_bytes())
    }
}

fn write_part(part: Option<&str>, text: &mut String) {
    match part {
        Some(part) => canonical::write_string(part, text),
        None => text.push_str("null"),
    }
}

/// One event of a page, unredacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The provider's event id, a gap id or a byte id. Not empty.
    pub id: String,
    /// The provider's number, kept as it comes: an integer from 0, or none.
    pub provider_sequence: Option<Number>,
    /// Who says it.
    pub provenance: Provenance,
    /// When it happened, in milliseconds since 1970; none where that is not told, and the journal then notes when it
    /// took the event in.
    pub timestamp: Option<Number>,
    /// What happened.
    pub content: Content,
}

/// What an event holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Something of a type, with data.
    Said {
        /// The type, not empty. A type `gap` whose data has a reason of [`GapReason`] is a gap to every reader.
        kind: String,
        /// Any value.
        data: Value,
    },
    /// Something is missing here.
    Gap(GapReason),
}

impl Event {
    /// A gap with this id. Told again under the same id, it is not recorded again (EX-CUR-22).
    #[must_use]
    pub fn gap(id: impl Into<String>, reason: GapReason, provenance: Provenance) -> Self {
        let content = Content::Gap(reason);
        Event { id: id.into(), provider_sequence: None, provenance, timestamp: None, content }
    }
}

words! {
    /// Who says what a record holds.
    Provenance {
        /// The provider.
        Provider = "provider",
        /// A process of this machine.
        Local = "local",
        /// The boundary itself.
        Boundary = "boundary",
    }
}

words! {
    /// Why something is missing (EX-JRN-10).
    GapReason {
        /// The provider said so.
        Provider = "provider-gap",
        /// A crash took a record that was being written.
        InterruptedAppend = "interrupted-append",
        /// The record would have been too long.
        OversizedRecord = "oversized-record",
        /// An acknowledged record was damaged afterwards. Found by readers, never recorded.
        CorruptRecord = "corrupt-record",
        /// The raw output of a local run is gone.
        LocalOutputMissing = "local-output-missing",
        /// The raw output of a local run is shorter than what was read of it.
        LocalOutputTruncated = "local-output-truncated",
        /// The raw output of a local run expired before it was taken in.
        LocalOutputExpired = "local-output-expired",
        /// What has to be redacted is not known any more.
        RedactionMissing = "redaction-missing",
        /// The projection's index is missing.
        IndexMissing = "index-missing",
        /// Retention took it.
        Retained = "retained",
    }
}

impl GapReason {
    /// A gap's data: `{"reason":…}`.
    #[must_use]
    pub fn data(self) -> Value {
        Value::from([("reason", Value::from(self.word()))].into_iter().collect::<Object>())
    }
}
