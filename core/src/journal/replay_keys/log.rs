//! The keys of the log: what of its records the index has to know.

use std::io;
use std::ops::ControlFlow;

use super::{Acknowledged, Reach, Trouble};
use crate::error::Error;
use crate::journal::error::{Refusal, io_error};
use crate::journal::event::Key;
use crate::journal::record::{Line, MAX_RECORD_BYTES, stated_crc};
use crate::journal::scan::{Found, walk};
use crate::storage::DataFile;

/// What is read first to find the last line.
const USUAL_LINE_BYTES: u64 = 4096;

/// One good record: its key, and the reach of an index that ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keyed {
    pub(super) key: Key,
    pub(super) reach: Reach,
}

/// Visits the good records between two places in the log, in its order and in bounded memory.
///
/// # Errors
/// `EXECUTION_JOURNAL` (`short`) where the log ends before `to`; as the system or the visitor says it.
pub(super) fn scan(
    log: &dyn DataFile,
    from: Acknowledged,
    to: Acknowledged,
    visit: &mut dyn FnMut(Keyed) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let mut visited = Ok(());
    let walked = walk(log, from, to, &mut |found| {
        let Found::Record { offset, bytes, line } = found else { return ControlFlow::Continue(()) };
        let Some((key, crc)) = line.key().zip(stated_crc(bytes)) else { return ControlFlow::Continue(()) };
        let reach = Reach { offset: offset + bytes.len() as u64 + 1, sequence: line.sequence, crc };
        visited = visit(Keyed { key, reach });
        if visited.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    match walked {
        Ok(()) => visited,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Trouble::Log(short(log, to))),
        Err(error) => Err(Trouble::Log(io_error("events.jsonl cannot be read", error))),
    }
}

/// The reach of an index that ends with the last line before an offset, if that is a good record.
///
/// # Errors
/// As the system says it.
pub(super) fn last_before(log: &dyn DataFile, offset: u64) -> Result<Option<Reach>, Trouble> {
    // The longest line, its newline, and the newline before it; but most lines are short.
    for most in [USUAL_LINE_BYTES, MAX_RECORD_BYTES as u64 + 2] {
        let start = offset.saturating_sub(most);
        let mut buffer = vec![0; usize::try_from(offset - start).unwrap_or(usize::MAX)];
        let read = log.read_at(start, &mut buffer);
        if read.map_err(|error| Trouble::Log(io_error("events.jsonl cannot be read", error)))? < buffer.len()
        {
            return Ok(None);
        }
        let Some((b'\n', lines)) = buffer.split_last() else { return Ok(None) };
        let line = match memchr::memrchr(b'\n', lines) {
            Some(newline) => &lines[newline + 1..],
            None if start == 0 => lines,
            None => continue,
        };
        let good = stated_crc(line).zip(Line::parse(line));
        return Ok(good.map(|(crc, line)| Reach { offset, sequence: line.sequence, crc }));
    }
    Ok(None)
}

fn short(log: &dyn DataFile, to: Acknowledged) -> Error {
    let length = log.size().unwrap_or(0);
    Refusal::Short { length, acknowledged: to.offset }.into()
}
