//! Making one segment of several, a bounded number of entries at a time.
//!
//! A merge holds nothing but small buffers. It is begun, driven and finished while segments are written anyway, so that
//! the page that happens to fill one up pays for a slice of it and never for the whole.

use std::io;
use std::sync::Arc;

use super::Trouble;
use super::entry::{ENTRY, Entry};
use super::segment::{Header, Segment, SegmentWriter, read_entries};
use crate::storage::{DataFile, Directory};

/// How many entries of an input are read at a time.
const READ_AT_ONCE: u64 = 256;

/// A merge under way.
#[derive(Debug)]
pub(super) struct Merge {
    /// The number of the segment that is written.
    pub(super) number: u64,
    /// The level of that segment.
    pub(super) level: u32,
    /// The numbers of those that it replaces.
    pub(super) inputs: Vec<u64>,
    cursors: Vec<Cursor>,
    last: Option<Entry>,
    writer: SegmentWriter,
}

/// One input: what has been read of it and not been used.
#[derive(Debug)]
struct Cursor {
    file: Arc<dyn DataFile>,
    count: u64,
    next: u64,
    ready: std::vec::IntoIter<Entry>,
    head: Option<Entry>,
}

impl Cursor {
    fn advance(&mut self) -> Result<(), Trouble> {
        if self.ready.len() == 0 && self.next < self.count {
            let now = READ_AT_ONCE.min(self.count - self.next);
            let mut buffer = vec![0; READ_AT_ONCE as usize * ENTRY];
            let read: Vec<Entry> =
                read_entries(&*self.file, self.next, now, &mut buffer)?.collect::<Result<_, _>>()?;
            self.next += now;
            self.ready = read.into_iter();
        }
        self.head = self.ready.next();
        Ok(())
    }
}

impl Merge {
    /// Begins to merge these segments into a new one.
    ///
    /// # Errors
    /// As the system says it; an input that is not whole.
    pub(super) fn begin(
        directory: &dyn Directory,
        number: u64,
        level: u32,
        inputs: &[&Segment],
    ) -> Result<Self, Trouble> {
        let capacity = inputs.iter().map(|segment| segment.header.count).sum();
        let mut cursors = Vec::new();
        for segment in inputs {
            let (file, count) = (Arc::clone(&segment.file), segment.header.count);
            let mut cursor = Cursor { file, count, next: 0, ready: Vec::new().into_iter(), head: None };
            cursor.advance()?;
            cursors.push(cursor);
        }
        Ok(Merge {
            number,
            level,
            inputs: inputs.iter().map(|segment| segment.number).collect(),
            cursors,
            last: None,
            writer: SegmentWriter::create(directory, number, capacity)?,
        })
    }

    /// Merges at most so many entries; whether that was all.
    ///
    /// # Errors
    /// As the system says it; an input that is not whole. The merge is then worthless.
    pub(super) fn step(&mut self, entries: u64) -> Result<bool, Trouble> {
        for _ in 0..entries {
            let least = (0..self.cursors.len())
                .filter(|at| self.cursors[*at].head.is_some())
                .min_by(|a, b| self.cursors[*a].head.cmp(&self.cursors[*b].head));
            let Some(at) = least else { return Ok(true) };
            let Some(entry) = self.cursors[at].head else { return Ok(true) };
            match self.last {
                // A key that stands in the log twice keeps its first number.
                Some(last) if last.key == entry.key => {}
                Some(last) if last.key > entry.key => return Err(Trouble::Damaged),
                _ => self.writer.push(&entry)?,
            }
            self.last = Some(entry);
            self.cursors[at].advance()?;
        }
        Ok(self.cursors.iter().all(|cursor| cursor.head.is_none()))
    }

    /// Ends the new segment and answers its header.
    ///
    /// # Errors
    /// As the system says it.
    pub(super) fn finish(self) -> io::Result<Header> {
        self.writer.finish()
    }

    /// Bytes of memory that its buffers take at most.
    #[cfg(test)]
    pub(super) fn memory(&self) -> u64 {
        self.cursors.len() as u64 * READ_AT_ONCE * size_of::<Entry>() as u64 + 64 * 1024
    }
}
