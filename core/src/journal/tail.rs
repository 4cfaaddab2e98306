//! Reading the projection: the last lines, the ones before, the ones after (EX-JRN-61 to EX-JRN-66).
//!
//! A reader takes no lock. It believes `log-meta.json`, reads what that acknowledges, and looks whether the first number
//! is still the same: trimming, which moves every line, raises it before it moves anything. What is read is the window
//! and nothing else, however long the log is.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::error::{input, io_error};
use super::event::GapReason;
use super::index::{ENTRY, INDEX, Meta, PROJECTED, entries, offset_of, read_meta};
use super::legacy;
use super::window::{MAX_DATA_BYTES, MAX_LINE_BYTES, MAX_ROWS, ROW_BYTES, Row, RowContent, Window};
use super::writer::opening;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::storage::{DataAccess, DataFile, Directory, Metadata};

/// How often a window is read again because the projection was trimmed meanwhile.
const TRIES: usize = 16;

/// A reader of one run's lines. It writes nothing, takes no lock, and keeps nothing open but the run's directory.
#[derive(Debug)]
pub struct LogReader {
    pub(super) run: Arc<dyn Directory>,
}

/// What there is to be read.
#[derive(Debug)]
pub(super) enum Log {
    /// Nothing was ever projected.
    Nothing,
    /// An older package's lines.
    Legacy(Box<dyn DataFile>),
    /// Lines with an index, or without it where it is missing.
    Indexed { meta: Meta, lines: Option<Box<dyn DataFile>>, index: Option<Box<dyn DataFile>> },
}

impl LogReader {
    /// Reads in a run's directory, which exists.
    ///
    /// # Errors
    /// `EXECUTION_UNKNOWN_RUN` where there is no such directory, `EXECUTION_IO` where it cannot be opened.
    pub fn open(directory: impl AsRef<Path>, host: &Host) -> Result<Self> {
        let directory = directory.as_ref();
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        let run = host.files.open_to_read(directory).map_err(|error| opening(&name, directory, error))?;
        Ok(LogReader { run })
    }

    /// The last rows.
    ///
    /// # Errors
    /// `EXECUTION_UNKNOWN_RUN` where the directory was removed meanwhile, `EXECUTION_IO` for whatever is not a missing file
    /// (EX-JRN-85), `EXECUTION_VERSION` and `EXECUTION_JOURNAL` for `log-meta.json`.
    pub fn tail(&self) -> Result<Window> {
        self.stable(|log| match log {
            Log::Nothing => Ok(Window::default()),
            Log::Legacy(lines) => legacy::before(&**lines, None),
            Log::Indexed { meta, .. } => log.backward(meta.next),
        })
    }

    /// The rows just before the one with this id (EX-JRN-66).
    ///
    /// # Errors
    /// As [`LogReader::tail`]; `EXECUTION_INPUT` for an id that no row ever had.
    pub fn history(&self, before: &str) -> Result<Window> {
        self.stable(|log| match log {
            Log::Nothing => Err(never_issued(before)),
            Log::Legacy(lines) => legacy::before(&**lines, Some(before)),
            Log::Indexed { meta, .. } => {
                let id = issued(before, meta.next).ok_or_else(|| never_issued(before))?;
                log.backward(id)
            }
        })
    }

    /// At most so many rows just after the one with this id, from the oldest on without one (EX-BND-27).
    ///
    /// # Errors
    /// As [`LogReader::history`].
    pub fn lines(&self, after: Option<&str>, limit: usize) -> Result<Window> {
        let limit = limit.min(MAX_ROWS);
        self.stable(|log| match log {
            Log::Nothing => after.map_or_else(|| Ok(Window::default()), |id| Err(never_issued(id))),
            Log::Legacy(lines) => legacy::after(&**lines, after, limit),
            Log::Indexed { meta, .. } => {
                let from = match after {
                    None => 1,
                    Some(id) => issued(id, meta.next).ok_or_else(|| never_issued(id))? + 1,
                };
                Ok(log.forward(from, limit, MAX_DATA_BYTES)?.0)
            }
        })
    }

    /// Reads over a log that is the same before and after.
    pub(super) fn stable<T>(&self, read: impl Fn(&Log) -> Result<T>) -> Result<T> {
        for _ in 0..TRIES {
            let log = self.log()?;
            let answer = read(&log);
            let Log::Indexed { meta, .. } = &log else { return answer };
            if read_meta(&*self.run)?.is_some_and(|now| now.first == meta.first && now.next >= meta.next) {
                return answer;
            }
        }
        Err(Error::new(Code::ExecutionIo, "the projection is trimmed again and again while it is read"))
    }

    fn log(&self) -> Result<Log> {
        let open = |name| match self.run.open_data(name, DataAccess::Read) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("the projection cannot be opened", error)),
        };
        let meta = read_meta(&*self.run)?;
        let (lines, index) = (open(PROJECTED)?, open(INDEX)?);
        if meta.is_none() && lines.is_none() && index.is_none() {
            self.refuse_removed()?;
        }
        Ok(match (meta, lines, &index) {
            (Some(meta), lines, _) => Log::Indexed { meta, lines, index },
            (None, Some(lines), None) => Log::Legacy(lines),
            // Before the first `log-meta.json` nothing is acknowledged.
            (None, ..) => Log::Nothing,
        })
    }

    /// A removed directory has no files, as a new run has none: only the first is never to have any again.
    fn refuse_removed(&self) -> Result<()> {
        let is_removed = match self.run.list(".", &mut |_, _| {}) {
            Ok(found) => found.links == 0,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if is_removed {
            let message = "the run's directory was removed while it was read";
            return Err(Error::new(Code::ExecutionUnknownRun, message));
        }
        Ok(())
    }
}

impl Log {
    /// The window that ends just before a number.
    fn backward(&self, end: u64) -> Result<Window> {
        let Log::Indexed { meta, index, .. } = self else { return Ok(Window::default()) };
        let end = end.max(meta.first);
        let Some(index) = self.usable_index(meta, index.as_deref()) else {
            return Ok(self.without_index(meta));
        };
        let start = end.saturating_sub(MAX_ROWS as u64).max(meta.first);
        let (known, bound) = self.read_index(index, meta, start, end)?;
        let costs = costs(&known, bound);
        let mut taken = 0;
        let mut bytes = 0;
        for cost in costs.iter().rev() {
            if taken > 0 && bytes + cost > MAX_DATA_BYTES {
                break;
            }
            (taken, bytes) = (taken + 1, bytes + cost);
        }
        let skipped = known.len() - taken;
        let first = start + skipped as u64;
        let mut rows = self.rows(first, &known[skipped..], bound)?;
        let after = (first < end).then(|| (end - 1).to_string());
        let lost = first == meta.first && meta.first > 1 && rows.len() < MAX_ROWS;
        if lost {
            rows.insert(0, Row::gap(None, Some(GapReason::Retained)));
        }
        let older = first > meta.first || (meta.first > 1 && !lost);
        Ok(Window { rows, before: (older && first < end).then(|| first.to_string()), after })
    }

    /// The window that begins with a number, within so many rows and bytes, and the number that comes after it.
    pub(super) fn forward(&self, from: u64, limit: usize, most: u64) -> Result<(Window, u64)> {
        let Log::Indexed { meta, index, .. } = self else { return Ok((Window::default(), from)) };
        let Some(index) = self.usable_index(meta, index.as_deref()) else {
            return Ok((self.without_index(meta), from));
        };
        let mut rows = Vec::new();
        let mut first = from;
        if from < meta.first && limit > 0 {
            rows.push(Row::gap(None, Some(GapReason::Retained)));
            first = meta.first;
        }
        let end = first.saturating_add((limit - rows.len()) as u64).min(meta.next);
        if first >= end {
            let (before, after) = (None, None);
            return Ok((Window { rows, before, after }, first));
        }
        let (known, bound) = self.read_index(index, meta, first, end)?;
        let mut taken = 0;
        let mut bytes = 0;
        for cost in costs(&known, bound) {
            if bytes + cost > most && (taken > 0 || most < MAX_DATA_BYTES) {
                break;
            }
            (taken, bytes) = (taken + 1, bytes + cost);
        }
        let bound = if taken == known.len() { bound } else { following(&known[taken..], bound) };
        rows.extend(self.rows(first, &known[..taken], bound)?);
        let next = first + taken as u64;
        let before = (first > meta.first).then(|| first.to_string());
        Ok((Window { rows, before, after: (next > first).then(|| (next - 1).to_string()) }, next))
    }

    /// The index, unless it is missing although it should hold something.
    fn usable_index<'a>(&self, meta: &Meta, index: Option<&'a dyn DataFile>) -> Option<&'a dyn DataFile> {
        static EMPTY: Empty = Empty;
        if meta.next == meta.first { Some(index.unwrap_or(&EMPTY)) } else { index }
    }

    fn without_index(&self, meta: &Meta) -> Window {
        let rows = if meta.next == meta.first {
            Vec::new()
        } else {
            vec![Row::gap(None, Some(GapReason::IndexMissing))]
        };
        Window { rows, before: None, after: None }
    }

    /// The entries of the numbers from `start` to before `end`, and where the line before `end` ends if that is known.
    fn read_index(
        &self,
        index: &dyn DataFile,
        meta: &Meta,
        start: u64,
        end: u64,
    ) -> Result<(Vec<u64>, Option<u64>)> {
        let wanted = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX).min(MAX_ROWS);
        let follows = usize::from(end < meta.next);
        let mut bytes = vec![0; (wanted + follows) * ENTRY as usize];
        let read = index.read_at(meta.entry_at(start), &mut bytes);
        let read = read.map_err(|error| io_error("job.idx cannot be read", error))?;
        // What a truncated index lacks is a gap.
        bytes[read - read % ENTRY as usize..].fill(0);
        let mut known = entries(&bytes);
        let bound = if follows == 1 { known.pop().and_then(offset_of) } else { Some(meta.log_bytes) };
        Ok((known, bound))
    }

    /// The rows of these entries.
    fn rows(&self, first: u64, known: &[u64], bound: Option<u64>) -> Result<Vec<Row>> {
        let Log::Indexed { meta, lines, .. } = self else { return Ok(Vec::new()) };
        let spans = spans(known, bound, meta.log_bytes);
        let mut rows = Vec::with_capacity(known.len());
        let mut at = 0;
        while at < spans.len() {
            // Lines that follow each other are read in one go.
            let mut until = at;
            let (mut start, mut end) = (0, 0);
            while let Some(Span::Line { from, to }) = spans.get(until) {
                if until > at && *from != end {
                    break;
                }
                if until == at {
                    start = *from;
                }
                (end, until) = (*to, until + 1);
            }
            if until == at {
                let id = Some((first + at as u64).to_string());
                rows.push(match spans[at] {
                    Span::TooLong => Row::gap(id, Some(GapReason::OversizedRecord)),
                    Span::Impossible => Row::gap(id, Some(GapReason::CorruptRecord)),
                    Span::Gap | Span::Line { .. } => Row::gap(id, None),
                });
                at += 1;
                continue;
            }
            let mut buffer = vec![0; usize::try_from(end - start).unwrap_or(usize::MAX)];
            let read = match lines {
                Some(lines) => lines
                    .read_at(start, &mut buffer)
                    .map_err(|error| io_error("job.log cannot be read", error))?,
                None => 0,
            };
            buffer.truncate(read);
            for (number, span) in (first + at as u64..).zip(&spans[at..until]) {
                let Span::Line { from, to } = span else { continue };
                let bytes = usize::try_from(from - start).ok().zip(usize::try_from(to - start).ok());
                let bytes = bytes.and_then(|(from, to)| buffer.get(from..to.min(buffer.len())));
                rows.push(row(number, bytes.unwrap_or_default()));
            }
            at = until;
        }
        Ok(rows)
    }
}

/// Where the line of an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    Gap,
    Line {
        from: u64,
        to: u64,
    },
    TooLong,
    /// The entry does not fit what stands around it.
    Impossible,
}

/// Where each line ends is where the next one begins. Of one that is followed by gaps alone the end is not known here;
/// it is read up to where the longest line would end.
fn spans(known: &[u64], bound: Option<u64>, log_bytes: u64) -> Vec<Span> {
    let mut spans = Vec::with_capacity(known.len());
    let mut end = bound;
    for entry in known.iter().rev() {
        let Some(from) = offset_of(*entry) else {
            spans.push(Span::Gap);
            continue;
        };
        let to = end.unwrap_or_else(|| (from.saturating_add(MAX_LINE_BYTES + 2)).min(log_bytes));
        spans.push(match to.checked_sub(from) {
            None | Some(0) => Span::Impossible,
            Some(_) if to > log_bytes => Span::Impossible,
            Some(length) if end.is_some() && length > MAX_LINE_BYTES + 1 => Span::TooLong,
            Some(_) => Span::Line { from, to },
        });
        end = Some(from);
    }
    spans.reverse();
    spans
}

/// What the row of each entry costs.
fn costs(known: &[u64], bound: Option<u64>) -> Vec<u64> {
    let cost = |span: &Span| match span {
        Span::Line { from, to } => to - from + ROW_BYTES,
        Span::Gap | Span::TooLong | Span::Impossible => ROW_BYTES,
    };
    spans(known, bound, bound.unwrap_or(u64::MAX)).iter().map(cost).collect()
}

/// Where the line before these entries ends.
fn following(known: &[u64], bound: Option<u64>) -> Option<u64> {
    known.iter().find_map(|entry| offset_of(*entry)).or(bound)
}

/// A line's row. What is no line of this number is a gap, and never somebody else's text (EX-JRN-31).
fn row(number: u64, bytes: &[u8]) -> Row {
    #[derive(Deserialize)]
    struct Line<'a> {
        sequence: u64,
        #[serde(borrow)]
        text: Cow<'a, str>,
    }
    let id = Some(number.to_string());
    let Some(end) = memchr::memchr(b'\n', bytes) else {
        let too_long = bytes.len() as u64 > MAX_LINE_BYTES;
        let reason = if too_long { GapReason::OversizedRecord } else { GapReason::CorruptRecord };
        return Row::gap(id, Some(reason));
    };
    match serde_json::from_slice::<Line<'_>>(&bytes[..end]) {
        Ok(line) if line.sequence == number => Row { id, content: RowContent::Line(line.text.into_owned()) },
        _ => Row::gap(id, Some(GapReason::CorruptRecord)),
    }
}

/// The number of an id that a row has or had: decimal, as it is written.
pub(super) fn issued(id: &str, next: u64) -> Option<u64> {
    let number: u64 = id.parse().ok()?;
    (number > 0 && number < next && number.to_string() == id).then_some(number)
}

pub(super) fn never_issued(id: &str) -> Error {
    let shown: String = id.chars().take(32).collect();
    input(format!("no row has this id, id=`{}`", shown.escape_debug()))
}

/// An index that holds nothing.
#[derive(Debug)]
struct Empty;

impl DataFile for Empty {
    fn size(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn metadata(&self) -> io::Result<Metadata> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }

    fn write_at(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn cut(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
