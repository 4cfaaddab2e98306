//! How a journal refuses.

use std::io;

use super::version::{VERSION, unsupported};
use crate::error::{Code, Error};

/// Why a journal is not touched (EX-JRN-20, EX-JRN-21, EX-JRN-23).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The log is shorter than what was acknowledged of it.
    Short { length: u64, acknowledged: u64 },
    /// Bytes stand behind what was acknowledged that no pending batch explains.
    UnknownBytes { from: u64, length: u64 },
    /// There are records and no `journal.json`.
    CheckpointMissing { length: u64 },
    /// `journal.json` contradicts itself, or the log.
    CheckpointInvalid(&'static str),
    /// `journal.json` has a version of another package, in its own spelling.
    Version(Option<String>),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let (reason, message) = match refusal {
            Refusal::Short { length, acknowledged } => (
                "short",
                format!(
                    "events.jsonl is shorter than its acknowledged length, bytes=`{length}` acknowledged=`{acknowledged}`"
                ),
            ),
            Refusal::UnknownBytes { from, length } => (
                "unknown-bytes",
                format!("events.jsonl has bytes that nothing explains, from=`{from}` bytes=`{length}`"),
            ),
            Refusal::CheckpointMissing { length } => (
                "checkpoint-missing",
                format!("events.jsonl has records and no journal.json, bytes=`{length}`"),
            ),
            Refusal::CheckpointInvalid(why) => {
                ("checkpoint-invalid", format!("journal.json makes no sense: {why}"))
            }
            Refusal::Version(found) => {
                return unsupported("journal", "journal.json", found.as_deref(), VERSION);
            }
        };
        Error::new(Code::ExecutionJournal, message).with_reason(reason)
    }
}

/// The queue of local output, or the state of a run's output, cannot be believed (EX-JRN-34, EX-JRN-51).
pub(super) fn queue_error(message: impl Into<String>) -> Error {
    Error::new(Code::ExecutionQueue, message).with_reason("output-state").with_remedy(
        "keep the diagnostics, and restore the matching package, or the matching local-output.json and \
         local-output-queue.json; do not dispatch before that",
    )
}

/// A file of the journal could not be read, written or synced.
pub(super) fn io_error(what: &str, source: io::Error) -> Error {
    Error::new(Code::ExecutionIo, what).with_source(source)
}

/// An argument that no journal can take.
pub(super) fn input(message: impl Into<String>) -> Error {
    Error::new(Code::ExecutionInput, message)
}
