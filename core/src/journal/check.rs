//! What a journal is worth: which of it is whole, what is a gap, what is damaged (EX-JRN-84). Writes nothing.

use std::io;
use std::ops::{ControlFlow, Range};
use std::path::Path;

use super::checkpoint;
use super::error::{Refusal, io_error};
use super::event::GapReason;
use super::recover;
use super::scan::{Damage, Found, Position, walk};
use super::writer::{LOG, opening};
use crate::error::Result;
use crate::host::Host;
use crate::json::Value;
use crate::storage::{DataAccess, DataFile, Directory};

/// What a check has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// What is acknowledged.
    pub end: Position,
    /// How many good records there are that are no gaps.
    pub records: u64,
    /// Every gap that is recorded, and every damage that was found, in the file's order.
    pub gaps: Vec<Gap>,
    /// The batch that waits behind the acknowledged bytes, if one does. The next append recovers it.
    pub pending: Option<PendingBatch>,
}

impl Checked {
    /// What the call `check` gives: `{offset, sequence, records, gaps: [{from, to, reason}]}` (EX-JRN-84).
    #[must_use]
    pub fn to_value(&self) -> Value {
        let gap = |gap: &Gap| {
            let members = [
                ("from", Value::from(gap.from)),
                ("to", gap.to.into()),
                ("reason", gap.reason.word().into()),
            ];
            Value::Object(members.into_iter().collect())
        };
        let members = [
            ("offset", Value::from(self.end.offset)),
            ("sequence", self.end.sequence.into()),
            ("records", self.records.into()),
            ("gaps", Value::Array(self.gaps.iter().map(gap).collect())),
        ];
        Value::Object(members.into_iter().collect())
    }
}

/// Something that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first number that it stands for.
    pub from: u64,
    /// The last one. One less than `from` where damaged bytes stand for no number, as a line that is there twice.
    pub to: u64,
    /// Why. [`GapReason::CorruptRecord`] where it was found, any other where it was recorded.
    pub reason: GapReason,
    /// Its bytes in `events.jsonl`, newline included. Empty where records are missing without a trace.
    pub bytes: Range<u64>,
}

/// A batch that was announced and not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingBatch {
    /// How many records it has.
    pub records: u64,
    /// How many of them are there whole, from the first on.
    pub kept: u64,
}

/// Checks the journal in a run's directory. A run that never recorded anything has an empty one.
///
/// The acknowledged bytes are read once, in memory that does not depend on their number but for the list of gaps.
///
/// # Errors
/// As the journal refuses: `EXECUTION_JOURNAL`, `EXECUTION_VERSION`. `EXECUTION_UNKNOWN_RUN` where there is no such
/// directory, `EXECUTION_IO`.
pub fn check(directory: impl AsRef<Path>, host: &Host) -> Result<Checked> {
    let mut gaps = Vec::new();
    let mut checked = check_with(directory, host, &mut |gap| gaps.push(gap))?;
    checked.gaps = gaps;
    Ok(checked)
}

/// As [`check`], with each gap handed out as it is found; the list in the answer is empty.
///
/// # Errors
/// As [`check`].
pub fn check_with(directory: impl AsRef<Path>, host: &Host, visit: &mut dyn FnMut(Gap)) -> Result<Checked> {
    let directory = directory.as_ref();
    let name = || directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let run = host.files.open_to_read(directory).map_err(|error| opening(&name(), directory, error))?;
    let checkpoint = checkpoint::read(&*run)?.map(|(checkpoint, _)| checkpoint);
    let log = open_log(&*run)?;
    let length = match &log {
        Some(log) => log.size().map_err(|error| io_error("events.jsonl cannot be looked at", error))?,
        None => 0,
    };
    if checkpoint.is_none() && length > 0 {
        return Err(Refusal::CheckpointMissing { length }.into());
    }
    let checkpoint = checkpoint.unwrap_or_default();
    let behind = recover::look_behind(&checkpoint, length, log.as_deref())?;
    let end = checkpoint.acknowledged;
    let mut records = 0;
    if let Some(log) = &log {
        walk(&**log, Position::default(), end, &mut |found| {
            match found {
                Found::Record { offset, bytes, line } => match line.gap() {
                    Some(reason) => visit(Gap {
                        from: line.sequence,
                        to: line.sequence,
                        reason,
                        bytes: offset..offset + bytes.len() as u64 + 1,
                    }),
                    None => records += 1,
                },
                Found::Damage(Damage { bytes, from, to }) => {
                    visit(Gap { from, to, reason: GapReason::CorruptRecord, bytes });
                }
            }
            ControlFlow::Continue(())
        })
        .map_err(|error| io_error("events.jsonl cannot be read", error))?;
    }
    let pending = Some(PendingBatch { records: checkpoint.pending.len() as u64, kept: behind.kept as u64 })
        .filter(|batch| batch.records > 0);
    Ok(Checked { end, records, gaps: Vec::new(), pending })
}

fn open_log(run: &dyn Directory) -> Result<Option<Box<dyn DataFile>>> {
    match run.open_data(LOG, DataAccess::Read) {
        Ok(log) => Ok(Some(log)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("events.jsonl cannot be opened", error)),
    }
}
