//! The public projection of a journal: `job.log` with its index, written again from the journal whenever that is needed.
//!
//! Whoever projects holds the lock that guards the run. Readers hold none: they believe `log-meta.json` and what it
//! acknowledges. So lines and entries are written and synced first, and the file that says that they are there is
//! replaced last. What stands behind it after a crash is dropped and comes from the journal again (EX-JRN-30).
//!
//! Trimming moves every line. In between, `log-meta.json` acknowledges none, from the number on that is kept: a crash
//! there leaves a projection that lags, and readers who had the old one see that it is another.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::checkpoint;
use super::error::{Refusal, io_error};
use super::index::{ENTRY, INDEX, LOG_META, Meta, PROJECTED, entries, entry_of, offset_of, read_meta};
use super::record::{Line, MAX_RECORD_BYTES};
use super::scan::{Damage, Found, Position, walk};
use super::writer::{LOG, opening};
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::json::{Value, canonical};
use crate::storage::{
    self, DataAccess, DataFile, Directory, Durability, Replacement, StagedNames, sweep_abandoned,
};

/// How much is written, or copied, at a time.
const CHUNK: usize = 256 * 1024;
const STAGED: &str = ".projection.tmp-";

/// What a projection holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Projected {
    /// The oldest number that it has an entry for. Above 1 where older ones were trimmed.
    pub first: u64,
    /// The number of the entry that comes next.
    pub next: u64,
    /// Bytes of `job.log`.
    pub bytes: u64,
}

/// The writer of one run's projection.
#[derive(Debug)]
pub struct Projection {
    run: Arc<dyn Directory>,
    host: Host,
    names: StagedNames,
    /// Where the last catch-up ended: what was acknowledged of the journal, and what was written then.
    reached: Option<(Position, Meta)>,
}

impl Projection {
    /// The projection in a run's directory, which exists. Nothing is read or written.
    ///
    /// # Errors
    /// `EXECUTION_UNKNOWN_RUN` where there is no such directory, `EXECUTION_IO` where it cannot be opened.
    pub fn open(directory: impl AsRef<Path>, host: &Host) -> Result<Self> {
        let directory = directory.as_ref();
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        let run = host.files.open(directory).map_err(|error| opening(&name, directory, error))?;
        Ok(Projection { run, host: host.clone(), names: StagedNames::new(host), reached: None })
    }

    /// Writes a line for each record of the journal that is acknowledged and has none yet (EX-JRN-25). Durable once it has
    /// returned. Where nothing is new, nothing is written.
    ///
    /// # Errors
    /// `EXECUTION_IO`; `EXECUTION_VERSION` and `EXECUTION_JOURNAL` as the journal refuses, or for `log-meta.json`. What was
    /// acknowledged stays.
    pub fn catch_up(&mut self) -> Result<Projected> {
        let acknowledged =
            checkpoint::read(&*self.run)?.map(|(read, _)| read.acknowledged).unwrap_or_default();
        if acknowledged.sequence > acknowledged.offset {
            // Every number has a line, or had one. An entry for each of so many would fill any disk.
            return Err(Refusal::CheckpointInvalid("it has more numbers than bytes").into());
        }
        let stored = read_meta(&*self.run)?;
        let known = stored.clone().unwrap_or_else(|| Meta::starting_at(1));
        if known.next == acknowledged.sequence + 1 {
            return Ok(projected(&known));
        }
        if stored.is_none() {
            self.refuse_legacy()?;
            let _ = sweep_abandoned(&*self.run, &[STAGED], &self.host);
        }
        let (mut known, fits) = if known.next > acknowledged.sequence {
            // A journal that was restored knows less. What it does not acknowledge is not shown.
            let first = known.first.min(acknowledged.sequence + 1);
            (known.moved(first, first, 0), false)
        } else {
            self.fitting(known)?
        };
        if !fits || stored.is_none() {
            self.persist(&known)?;
        }
        let lines = self.open_data(PROJECTED, known.log_bytes)?;
        let index = self.open_data(INDEX, known.index_bytes())?;
        if known.next <= acknowledged.sequence {
            known = self.project(&*lines, &*index, &known, acknowledged)?;
            lines
                .sync()
                .and_then(|()| index.sync())
                .and_then(|()| self.run.sync())
                .map_err(|error| io_error("the projection cannot be synced", error))?;
            self.persist(&known)?;
        }
        self.reached = Some((acknowledged, known.clone()));
        Ok(projected(&known))
    }

    /// Drops whole old lines so that at most this many bytes of `job.log` stay, and raises the first number accordingly.
    /// Journal, keys, result and checkpoints are not touched (EX-JRN-29).
    ///
    /// # Errors
    /// As [`Projection::catch_up`]. After an error, and after a crash, the projection may hold less than it should, and the
    /// next catch-up writes that again.
    pub fn trim(&mut self, keep_bytes: u64) -> Result<Projected> {
        let Some(known) = read_meta(&*self.run)? else { return Ok(projected(&Meta::starting_at(1))) };
        if known.log_bytes <= keep_bytes || !self.fitting(known.clone())?.1 {
            return Ok(projected(&known));
        }
        let lines = self.open_data(PROJECTED, known.log_bytes)?;
        let index = self.open_data(INDEX, known.index_bytes())?;
        let failed = |error| io_error("the projection cannot be trimmed", error);
        let (first, cut) = first_kept(&*index, &known, known.log_bytes - keep_bytes).map_err(failed)?;
        let copied = self.copy(&*lines, &*index, &known, first, cut).map_err(failed)?;
        self.persist(&known.moved(first, first, 0))?;
        self.reached = None;
        for (staged, name) in copied.iter().zip([PROJECTED, INDEX]) {
            self.run.rename(staged, name).map_err(failed)?;
        }
        self.run.sync().map_err(failed)?;
        let trimmed = known.moved(first, known.next, known.log_bytes - cut);
        self.persist(&trimmed)?;
        Ok(projected(&trimmed))
    }

    /// Whether the files hold what was acknowledged; if not, from which number on they are written again. A missing index
    /// begins at its own number, older ones stay a gap (EX-JRN-65); lines that are missing come from the journal.
    fn fitting(&self, known: Meta) -> Result<(Meta, bool)> {
        if known.next == known.first {
            return Ok((known, true));
        }
        let size = |name| match self.run.metadata(name) {
            Ok(metadata) => Ok(Some(metadata.size)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("the projection cannot be looked at", error)),
        };
        match (size(INDEX)?, size(PROJECTED)?) {
            (None, _) => Ok((known.moved(known.next, known.next, 0), false)),
            (Some(index), Some(lines)) if index >= known.index_bytes() && lines >= known.log_bytes => {
                Ok((known, true))
            }
            _ => Ok((known.moved(known.first, known.first, 0), false)),
        }
    }

    /// Lines without an index and without metadata are an older package's and are not written over.
    fn refuse_legacy(&self) -> Result<()> {
        let lines = self.run.metadata(PROJECTED).is_ok_and(|found| found.size > 0);
        let index = self.run.metadata(INDEX).is_ok();
        if !lines || index {
            return Ok(());
        }
        let message = "job.log has lines of an older package, and log-meta.json is missing";
        Err(Error::new(Code::ExecutionJournal, message).with_reason("checkpoint-missing"))
    }

    /// Opens a file that is there up to a length, and drops what follows.
    fn open_data(&self, name: &str, length: u64) -> Result<Box<dyn DataFile>> {
        let opened = self.run.open_data(name, DataAccess::Create).and_then(|file| {
            if file.size()? > length {
                file.cut(length)?;
            }
            Ok(file)
        });
        opened.map_err(|error| io_error("the projection cannot be opened", error))
    }

    /// Writes what is missing up to the acknowledged end and answers what then stands there.
    fn project(
        &self,
        lines: &dyn DataFile,
        index: &dyn DataFile,
        known: &Meta,
        acknowledged: Position,
    ) -> Result<Meta> {
        let log = self
            .run
            .open_data(LOG, DataAccess::Read)
            .map_err(|error| io_error("events.jsonl cannot be opened", error))?;
        let read = |error| io_error("events.jsonl cannot be read", error);
        let from = match &self.reached {
            Some((reached, then)) if then == known => *reached,
            _ => start_of(&*log, acknowledged, known.next).map_err(read)?,
        };
        let mut out = Output {
            lines,
            index,
            meta: known.clone(),
            text: String::new(),
            entries: Vec::new(),
            failed: Ok(()),
        };
        walk(&*log, from, acknowledged, &mut |found| out.take(found)).map_err(read)?;
        if out.failed.is_ok() {
            out.failed = out.gaps_up_to(acknowledged.sequence);
        }
        out.finish().map_err(|error| io_error("the projection cannot be written", error))
    }

    /// Copies what is kept into staged files, durably, and answers their names.
    fn copy(
        &mut self,
        lines: &dyn DataFile,
        index: &dyn DataFile,
        known: &Meta,
        first: u64,
        cut: u64,
    ) -> io::Result<[String; 2]> {
        let names = [self.names.next(STAGED), self.names.next(STAGED)];
        let mut buffer = vec![0; CHUNK];
        let mut staged = self.run.create(&names[0])?;
        let mut at = cut;
        while at < known.log_bytes {
            let now = buffer.len().min(usize::try_from(known.log_bytes - at).unwrap_or(usize::MAX));
            read_whole(lines, at, &mut buffer[..now])?;
            staged.write_all(&buffer[..now])?;
            at += now as u64;
        }
        staged.sync()?;
        let mut staged = self.run.create(&names[1])?;
        let mut at = known.entry_at(first);
        while at < known.index_bytes() {
            let now = buffer.len().min(usize::try_from(known.index_bytes() - at).unwrap_or(usize::MAX));
            read_whole(index, at, &mut buffer[..now])?;
            let moved = entries(&buffer[..now]).into_iter().map(|entry| entry.saturating_sub(cut));
            let bytes: Vec<u8> = moved.flat_map(u64::to_le_bytes).collect();
            staged.write_all(&bytes)?;
            at += now as u64;
        }
        staged.sync()?;
        Ok(names)
    }

    fn persist(&mut self, meta: &Meta) -> Result<()> {
        let (staged, text) = (self.names.next(STAGED), meta.encode());
        let replacement = Replacement {
            name: LOG_META,
            staged: &staged,
            bytes: text.as_bytes(),
            durability: Durability::Durable,
            keep: false,
            judged: None,
        };
        let published = storage::publish(&*self.run, &replacement);
        published.map(drop).map_err(|error| io_error("log-meta.json cannot be replaced", error))
    }
}

fn projected(meta: &Meta) -> Projected {
    Projected { first: meta.first, next: meta.next, bytes: meta.log_bytes }
}

fn read_whole(file: &dyn DataFile, offset: u64, into: &mut [u8]) -> io::Result<()> {
    if file.read_at(offset, into)? == into.len() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// The oldest number whose line begins at or behind a place, and where that is. The index is read from its end.
fn first_kept(index: &dyn DataFile, known: &Meta, from: u64) -> io::Result<(u64, u64)> {
    let (mut first, mut cut) = (known.next, known.log_bytes);
    let mut buffer = vec![0; 64 * 1024];
    let mut end = known.index_bytes();
    while end > 0 {
        let now = buffer.len().min(usize::try_from(end).unwrap_or(usize::MAX));
        read_whole(index, end - now as u64, &mut buffer[..now])?;
        for entry in entries(&buffer[..now]).into_iter().rev() {
            end -= ENTRY;
            match offset_of(entry) {
                Some(offset) if offset < from => return Ok((first, cut)),
                Some(offset) => (first, cut) = (known.first + end / ENTRY, offset),
                None => {}
            }
        }
    }
    Ok((first, cut))
}

/// A place in the log from which a walk meets the record with this number, found from the log's end: what is read is in
/// proportion to what is missing.
fn start_of(log: &dyn DataFile, end: Position, next: u64) -> io::Result<Position> {
    if next > end.sequence {
        return Ok(end);
    }
    let mut span = CHUNK as u64;
    loop {
        let start = end.offset.saturating_sub(span);
        if start == 0 || next <= 1 {
            return Ok(Position::default());
        }
        let window = (end.offset - start).min(4 * (MAX_RECORD_BYTES as u64 + 1));
        let mut buffer = vec![0; usize::try_from(window).unwrap_or(usize::MAX)];
        read_whole(log, start, &mut buffer)?;
        if let Some(found) = first_of_two(&buffer, start).filter(|found| found.sequence < next) {
            return Ok(found);
        }
        span = span.saturating_mul(2);
    }
}

/// The place before the first whole line that is a record and is followed by the one with the next number. A line that
/// stands where it does not belong is rarely followed so.
fn first_of_two(buffer: &[u8], start: u64) -> Option<Position> {
    let mut from = memchr::memchr(b'\n', buffer)? + 1;
    let mut before: Option<(u64, u64)> = None;
    while let Some(length) = memchr::memchr(b'\n', &buffer[from..]) {
        let sequence = Line::parse(&buffer[from..from + length]).map(|line| line.sequence);
        if let (Some((offset, last)), Some(sequence)) = (before, sequence)
            && last.checked_add(1) == Some(sequence)
        {
            return Some(Position { offset, sequence: last.checked_sub(1)? });
        }
        before = sequence.map(|sequence| (start + from as u64, sequence));
        from += length + 1;
    }
    None
}

/// Lines and entries on their way into the files.
struct Output<'a> {
    lines: &'a dyn DataFile,
    index: &'a dyn DataFile,
    /// What stands in the files.
    meta: Meta,
    text: String,
    entries: Vec<u8>,
    failed: io::Result<()>,
}

impl Output<'_> {
    fn take(&mut self, found: Found<'_>) -> ControlFlow<()> {
        self.failed = match found {
            Found::Record { line, .. } => self.record(&line),
            Found::Damage(Damage { to, .. }) => self.gaps_up_to(to),
        };
        if self.failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn record(&mut self, line: &Line<'_>) -> io::Result<()> {
        if line.sequence < self.next() {
            return Ok(());
        }
        self.gaps_up_to(line.sequence - 1)?;
        if line.gap().is_some() {
            return self.gaps_up_to(line.sequence);
        }
        self.entries.extend(entry_of(self.meta.log_bytes + self.text.len() as u64));
        self.text.push_str(&format!("{{\"sequence\":{},\"type\":", line.sequence));
        canonical::write_string(line.kind.as_deref().unwrap_or_default(), &mut self.text);
        self.text.push_str(",\"text\":");
        match Value::parse(line.data.unwrap_or("null")) {
            Ok(Value::String(text)) => canonical::write_string(&text, &mut self.text),
            Ok(value) => canonical::write_string(&value.to_canonical(), &mut self.text),
            // It was a part of a line that is JSON.
            Err(_) => canonical::write_string("", &mut self.text),
        }
        self.text.push_str("}\n");
        if self.text.len() < CHUNK { Ok(()) } else { self.write() }
    }

    /// Entries of zero for every number up to this one that has none.
    fn gaps_up_to(&mut self, last: u64) -> io::Result<()> {
        while self.next() <= last {
            self.entries.extend([0; ENTRY as usize]);
            if self.entries.len() >= CHUNK {
                self.write()?;
            }
        }
        Ok(())
    }

    fn next(&self) -> u64 {
        self.meta.next + self.entries.len() as u64 / ENTRY
    }

    fn write(&mut self) -> io::Result<()> {
        self.lines.write_at(self.meta.log_bytes, self.text.as_bytes())?;
        self.index.write_at(self.meta.index_bytes(), &self.entries)?;
        self.meta.log_bytes += self.text.len() as u64;
        self.meta.next = self.next();
        self.text.clear();
        self.entries.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<Meta> {
        std::mem::replace(&mut self.failed, Ok(()))?;
        self.write()?;
        Ok(self.meta)
    }
}
