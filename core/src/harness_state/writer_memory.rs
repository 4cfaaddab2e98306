//! What a writer keeps between calls, and how it is looked at again before it is believed (HS-30, HS-38, HS-43).

use std::io;
use std::sync::Arc;

use super::codec::Encoded;
use super::record::Record;
use super::seat::{Emptied, Floor, ParsedRecord};
use crate::storage::{Directory, Look, Metadata, OpenFile, StagedNames};

/// All that outlives a call. A forked child begins again with what was adopted.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) sequence: Option<u64>,
    /// How often `interrupt` was called, and how many of those a landed observation has answered.
    pub(super) interrupts: u64,
    pub(super) answered_interrupts: u64,
    pub(super) judged: Option<Judged>,
    pub(super) floor: Option<JudgedFloor>,
    /// The agent's directory, as long as its path leads to the lock file in it.
    pub(super) directory: Option<Arc<dyn Directory>>,
    pub(super) names: Option<StagedNames>,
    /// Of the record that stood before the one that was published last.
    pub(super) emptied: Emptied,
}

impl Memory {
    /// Whether what stands was interrupted and nothing has landed since.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupts != self.answered_interrupts
    }
}

/// The record that stood when it was last read or judged. Its file stays open, so that no other can get its
/// inode number.
#[derive(Debug)]
pub(super) struct Judged {
    parsed: Box<ParsedRecord>,
    look: Look,
    /// This writer has published it, so that its bytes are known without having been read.
    own: bool,
}

impl Judged {
    /// What was read, or looked at again, at `at_ms` on the wall clock. A file that a link led to is not kept: what stands
    /// at the name is the link.
    pub(super) fn read(parsed: Box<ParsedRecord>, at_ms: u64) -> Option<Self> {
        let look = Look::new(parsed.file.metadata, at_ms);
        (!parsed.file.through_link).then_some(Judged { parsed, look, own: false })
    }

    /// What was just published.
    pub(super) fn published(record: Record, encoded: Encoded, file: OpenFile, emptied: &mut Emptied) -> Self {
        let look = Look::of_new(file.metadata);
        let Encoded { bytes, all_known } = encoded;
        Judged { parsed: emptied.boxed(ParsedRecord { record, bytes, all_known, file }), look, own: true }
    }

    pub(super) fn record(&self) -> &Record {
        &self.parsed.record
    }

    /// Whether it is what stands there `now`, for whoever holds the lock: then nobody publishes, and a record is never
    /// changed in place (HS-26), so that what was published is known by its file alone. What was read is believed after a
    /// rest, as a file that somebody may still have been changing.
    pub(super) fn stands_under_lock(&self, now: &Metadata) -> bool {
        (self.own && self.look.metadata() == now) || self.look.still_holds(now)
    }

    /// The same without the lock.
    pub(super) fn stands(&self, now: &Metadata) -> bool {
        self.look.still_holds(now)
    }

    pub(super) fn into_parsed(self) -> Box<ParsedRecord> {
        self.parsed
    }
}

/// The sequence floor that was last read.
#[derive(Debug)]
pub(super) struct JudgedFloor {
    pub(super) floor: Floor,
    file: Option<(OpenFile, Look)>,
}

impl JudgedFloor {
    /// What was read at `at_ms` on the wall clock; none where nothing is left that could be looked at again.
    pub(super) fn read(floor: &Floor, file: Option<OpenFile>, at_ms: u64) -> Option<Self> {
        let comparable = file.as_ref().map_or(floor.damage.is_none(), |file| !file.through_link);
        let look = |file: OpenFile| {
            let look = Look::new(file.metadata, at_ms);
            (file, look)
        };
        comparable.then(|| JudgedFloor { floor: floor.clone(), file: file.map(look) })
    }

    /// Whether it is what stands there now.
    pub(super) fn stands(&self, now: &io::Result<Metadata>) -> bool {
        match (&self.file, now) {
            (None, Err(error)) => error.kind() == io::ErrorKind::NotFound,
            (Some((_, look)), Ok(now)) => look.still_holds(now),
            _ => false,
        }
    }
}
