//! What a crash left behind the acknowledged bytes, and how it is put right (EX-JRN-13 to EX-JRN-18, EX-JRN-21).
//!
//! [`judge`] compares a pending batch with the bytes that stand there and is a pure function: the append, the check and
//! the tests use the same one. [`finish`] does what it says, in an order in which a crash at any point, followed by
//! another recovery, comes to the same end and makes no second gap.

use memchr::memchr;

use super::batch::MAX_BATCH_BYTES;
use super::checkpoint::{Checkpoint, Pending, Stored};
use super::error::{Refusal, io_error};
use super::event::{GapReason, Owner};
use super::record::{self, Line, Parts};
use super::scan::Position;
use crate::error::Result;
use crate::storage::{DataFile, Directory};

/// What the bytes behind the acknowledged ones are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Judgement {
    /// How many records of the batch are there.
    pub(super) kept: usize,
    /// How many bytes these have, with the newline that the last one may lack.
    pub(super) bytes: u64,
    /// The last record that is kept lacks its newline; nothing follows it.
    pub(super) lacks_newline: bool,
}

/// Compares a batch with the bytes from its offset on, all of them.
///
/// # Errors
/// Bytes follow a batch that is there completely; `length` is the file's, for the message.
pub(super) fn judge(
    checkpoint: &Checkpoint,
    bytes: &[u8],
    length: u64,
) -> std::result::Result<Judgement, Refusal> {
    let Position { offset, sequence } = checkpoint.acknowledged;
    let mut at = 0;
    for (kept, (number, pending)) in (sequence + 1..).zip(&checkpoint.pending).enumerate() {
        let rest = &bytes[at..];
        let end = memchr(b'\n', rest);
        let line = &rest[..end.unwrap_or(rest.len())];
        if !is_pending(line, number, pending) {
            return Ok(Judgement { kept, bytes: at as u64, lacks_newline: false });
        }
        at += line.len() + 1;
        if end.is_none() {
            return Ok(Judgement { kept: kept + 1, bytes: at as u64, lacks_newline: true });
        }
    }
    if at < bytes.len() {
        return Err(Refusal::UnknownBytes { from: offset + at as u64, length });
    }
    Ok(Judgement { kept: checkpoint.pending.len(), bytes: at as u64, lacks_newline: false })
}

/// EX-JRN-15.
fn is_pending(line: &[u8], number: u64, pending: &Pending) -> bool {
    Line::parse(line).is_some_and(|line| {
        line.sequence == number
            && line.event_id.as_deref() == Some(pending.event_id.as_str())
            && line.key() == Some(pending.key)
    })
}

/// What stands behind the acknowledged bytes of a log, judged without changing anything. `length` is the log's, 0 where
/// there is none.
///
/// # Errors
/// The refusals of EX-JRN-20 and EX-JRN-21; `EXECUTION_IO`.
pub(super) fn look_behind(
    checkpoint: &Checkpoint,
    length: u64,
    log: Option<&dyn DataFile>,
) -> Result<Judgement> {
    let offset = checkpoint.acknowledged.offset;
    let Some(behind) = length.checked_sub(offset) else {
        return Err(Refusal::Short { length, acknowledged: offset }.into());
    };
    let explained = if checkpoint.pending.is_empty() { 0 } else { MAX_BATCH_BYTES as u64 };
    if behind > explained {
        return Err(Refusal::UnknownBytes { from: offset, length }.into());
    }
    // `behind` is at most a batch, so it fits.
    let mut bytes = vec![0; usize::try_from(behind).unwrap_or(MAX_BATCH_BYTES)];
    if let Some(log) = log.filter(|_| behind > 0) {
        let read = log
            .read_at(offset, &mut bytes)
            .map_err(|error| io_error("events.jsonl cannot be read", error))?;
        bytes.truncate(read);
    }
    Ok(judge(checkpoint, &bytes, length)?)
}

/// What a recovery works on.
pub(super) struct Ground<'a> {
    pub(super) run: &'a dyn Directory,
    pub(super) log: &'a dyn DataFile,
    pub(super) stored: &'a mut Stored,
    pub(super) owner: &'a Owner,
    pub(super) now_ms: u64,
}

/// Finishes a pending batch: afterwards none is pending, and the log ends where the checkpoint says. Answers whether a
/// gap took the place of a record.
///
/// # Errors
/// `EXECUTION_IO`; `checkpoint` may then differ from what stands on disk, and another recovery goes on.
pub(super) fn finish(ground: &mut Ground<'_>, checkpoint: &mut Checkpoint, found: Judgement) -> Result<bool> {
    let Ground { run, log, stored, .. } = ground;
    let acknowledged = checkpoint.acknowledged;
    let kept_to = acknowledged.offset + found.bytes;
    if found.lacks_newline {
        log.write_at(kept_to - 1, b"\n").map_err(|error| io_error("a newline cannot be written", error))?;
    }
    if found.kept > 0 {
        // What is acknowledged next may have been written by a process that died before it synced it.
        log.sync().map_err(|error| io_error("events.jsonl cannot be synced", error))?;
    }
    let reached = Position { offset: kept_to, sequence: acknowledged.sequence + found.kept as u64 };
    let mut rest = std::mem::take(&mut checkpoint.pending).into_iter().skip(found.kept);
    let broken = rest.next();
    let is_new = found.kept > 0 || rest.next().is_some();
    checkpoint.acknowledged = reached;
    checkpoint.pending = broken.clone().into_iter().collect();
    let Some(broken) = broken else {
        acknowledge(stored, *run, checkpoint)?;
        return Ok(false);
    };
    if is_new {
        // From here on the gap is what is pending: however often this is interrupted, it is made once.
        acknowledge(stored, *run, checkpoint)?;
    }
    log.cut(reached.offset).map_err(|error| io_error("events.jsonl cannot be cut", error))?;
    log.sync().map_err(|error| io_error("events.jsonl cannot be synced", error))?;
    let mut line = String::new();
    let gap = GapReason::InterruptedAppend;
    record::encode(
        &Parts {
            beginning: &record::beginning(ground.owner),
            event_id: &broken.event_id,
            key: &broken.key,
            sequence: reached.sequence + 1,
            provider_sequence: broken.provider_sequence.as_ref().map(crate::json::Number::as_str),
            provenance: broken.provenance,
            timestamp: &ground.now_ms.to_string(),
            kind: "gap",
            data: &gap.data().to_json(),
        },
        &mut line,
    );
    log.write_at(reached.offset, line.as_bytes())
        .and_then(|()| log.sync())
        .map_err(|error| io_error("a gap cannot be written into events.jsonl", error))?;
    checkpoint.acknowledged =
        Position { offset: reached.offset + line.len() as u64, sequence: reached.sequence + 1 };
    checkpoint.pending.clear();
    acknowledge(stored, *run, checkpoint)?;
    Ok(true)
}

fn acknowledge(stored: &mut Stored, run: &dyn Directory, checkpoint: &Checkpoint) -> Result<()> {
    stored.persist(run, checkpoint).map_err(|error| io_error("journal.json cannot be replaced", error))
}
