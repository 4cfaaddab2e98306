//! One pass over acknowledged bytes: which lines are records, and where the damage lies (EX-JRN-83).
//!
//! The memory is bounded whatever the file holds: a line that is too long to be a record is passed over without being
//! kept. What is found does not depend on how the reads happened to cut the file.

use std::io;
use std::ops::{ControlFlow, Range};

use memchr::memchr;

use super::record::{Line, MAX_RECORD_BYTES};
use crate::storage::DataFile;

/// How much is read at once.
const CHUNK: usize = 256 * 1024;

/// A place between two lines: so many bytes precede it, and the last number among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Bytes of `events.jsonl`.
    pub offset: u64,
    /// The number of the last record before it; 0 where there is none.
    pub sequence: u64,
}

/// What stands next.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    /// A record that proves itself and carries a number that can follow.
    Record {
        /// Where its line begins in the file.
        offset: u64,
        /// Its bytes, without the newline.
        bytes: &'a [u8],
        /// What it says.
        line: Line<'a>,
    },
    /// Something between two good neighbours that is no record, or the lack of one.
    Damage(Damage),
}

/// Acknowledged bytes that hold no record any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    /// The bytes, newline included; empty where records are missing without a trace.
    pub(crate) bytes: Range<u64>,
    /// The first number that is missing.
    pub(crate) from: u64,
    /// The last one; `from - 1` where none is missing, as with a line that is there twice.
    pub(crate) to: u64,
}

/// Walks from one position to another and shows what it finds, in the file's order, until the visitor breaks.
///
/// A record right behind a good neighbour carries the next number. Behind damage it may carry any that is higher than
/// the last good one and not above the last acknowledged one: how many numbers the damage took shows only there. Where
/// lines stand in a wrong place, a record may also leave out as many numbers as there were damaged lines before it that
/// took none, so that what follows the confusion stays readable.
///
/// # Errors
/// As the system says it; [`io::ErrorKind::UnexpectedEof`] where the file is shorter than `to`.
pub(crate) fn walk(
    file: &dyn DataFile,
    from: Position,
    to: Position,
    visit: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut lines = Lines::new(file, from.offset, to.offset);
    let mut last = from.sequence;
    // Where the damage began and how many lines it has, and how many damaged lines before it took no number.
    let mut damage: Option<(u64, u64)> = None;
    let mut stray = 0;
    while let Some(line) = lines.next()? {
        let parsed = line.whole.and_then(Line::parse).and_then(|parsed| {
            let left_out = parsed.sequence.checked_sub(last)?.checked_sub(1)?;
            let follows = damage.is_some() || left_out <= stray;
            (follows && parsed.sequence <= to.sequence).then_some((parsed, left_out))
        });
        let Some((parsed, left_out)) = parsed else {
            damage.get_or_insert((line.offset, 0)).1 += 1;
            continue;
        };
        let (start, damaged) = damage.take().unwrap_or((line.offset, 0));
        stray = (stray + damaged).saturating_sub(left_out);
        if damaged > 0 || left_out > 0 {
            let found = Damage { bytes: start..line.offset, from: last + 1, to: parsed.sequence - 1 };
            if visit(Found::Damage(found)).is_break() {
                return Ok(());
            }
        }
        last = parsed.sequence;
        let bytes = line.whole.unwrap_or_default();
        if visit(Found::Record { offset: line.offset, bytes, line: parsed }).is_break() {
            return Ok(());
        }
    }
    if damage.is_some() || last < to.sequence {
        let (start, _) = damage.unwrap_or((to.offset, 0));
        let _ = visit(Found::Damage(Damage { bytes: start..to.offset, from: last + 1, to: to.sequence }));
    }
    Ok(())
}

/// A line as it stands in the file.
struct RawLine<'a> {
    offset: u64,
    /// Its bytes without the newline; none where it is too long for a record or has no newline.
    whole: Option<&'a [u8]>,
}

/// The lines of a range of a file, in bounded memory.
struct Lines<'f> {
    file: &'f dyn DataFile,
    buffer: Vec<u8>,
    /// What of the buffer is read and not handed out yet.
    rest: Range<usize>,
    /// Where in the file the rest begins.
    offset: u64,
    end: u64,
}

impl<'f> Lines<'f> {
    fn new(file: &'f dyn DataFile, offset: u64, end: u64) -> Self {
        let room = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
        let buffer = vec![0; room.min(CHUNK + MAX_RECORD_BYTES)];
        Lines { file, buffer, rest: 0..0, offset, end }
    }

    fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        let offset = self.offset;
        let mut searched = 0;
        let mut too_long = false;
        loop {
            if let Some(found) = memchr(b'\n', &self.buffer[self.rest.start + searched..self.rest.end]) {
                let start = self.rest.start;
                let length = searched + found;
                self.skip(length + 1);
                let whole =
                    (!too_long && length <= MAX_RECORD_BYTES).then(|| &self.buffer[start..start + length]);
                return Ok(Some(RawLine { offset, whole }));
            }
            searched = self.rest.len();
            if searched > MAX_RECORD_BYTES {
                self.skip(searched);
                (searched, too_long) = (0, true);
            }
            if !self.fill()? {
                self.skip(self.rest.len());
                return Ok((self.offset > offset).then_some(RawLine { offset, whole: None }));
            }
        }
    }

    fn skip(&mut self, length: usize) {
        self.rest.start += length;
        self.offset += length as u64;
    }

    /// Reads more; `false` at the end of the range.
    fn fill(&mut self) -> io::Result<bool> {
        let read_to = self.offset + self.rest.len() as u64;
        let left = usize::try_from(self.end.saturating_sub(read_to)).unwrap_or(usize::MAX);
        if left == 0 {
            return Ok(false);
        }
        self.buffer.copy_within(self.rest.clone(), 0);
        self.rest = 0..self.rest.len();
        let space = &mut self.buffer[self.rest.end..];
        let wanted = space.len().min(left).min(CHUNK);
        let read = self.file.read_at(read_to, &mut space[..wanted])?;
        if read < wanted {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.rest.end += read;
        Ok(true)
    }
}
