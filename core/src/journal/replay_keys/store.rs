//! The files of an index together: adding keys, finding them, and keeping the number of segments small.
//!
//! Keys gather in memory and in the file of recent ones. So many of them become a segment of level 0, so many segments of
//! a level one of the next. Merges advance only while a segment is written, each by twice as many entries as that has, so
//! that one is over before as many segments have come as it takes. What a page costs is bounded by the number of levels.
//!
//! Writes are ordered for a crash of the process: segments first, then the file that lists them, then what is not listed
//! any more goes. A crash of the machine may leave any of it; whatever is not whole is found by its check value.

use std::io;
use std::sync::Arc;

use super::entry::Entry;
use super::filter::Filter;
use super::merge::Merge;
use super::recent::{self, Head, Listed, Recent};
use super::recent_keys::RecentKeys;
use super::room::planes_at_opening;
use super::segment::{self, Segment, SegmentWriter};
use super::{Reach, Shape, Trouble};
use crate::journal::event::Key;
use crate::storage::{DataAccess, DataFile, Directory};

/// Recent files are read whole. They hold twice as many keys as make a segment where segments could not be written.
const LARGEST_RECENT: u64 = 16 * 1024 * 1024;
/// A segment is merged no further than this.
const LARGEST_SEGMENT: u64 = 1 << 30;

/// The files of an index, and what is kept of them in memory.
#[derive(Debug)]
pub(super) struct Store {
    directory: Arc<dyn Directory>,
    pub(super) shape: Shape,
    /// The oldest first.
    pub(super) segments: Vec<Segment>,
    merges: Vec<Merge>,
    pub(super) keys: RecentKeys,
    recent: Option<RecentFile>,
    /// The sketches were read with fewer planes than there is room for: a process that appends one page and ends is served
    /// faster so, although some more entries are read.
    pub(super) is_shallow: bool,
    /// Knows of every recent key and of every key of the segments that are covered.
    pub(super) filter: Option<Filter>,
    /// There is no segment of which the filter could know and does not.
    pub(super) is_filtered: bool,
    reach: Reach,
    next_number: u64,
    /// Files that nothing lists any more.
    garbage: Vec<String>,
}

/// The file to which frames are appended.
#[derive(Debug)]
struct RecentFile {
    number: u64,
    file: Box<dyn DataFile>,
    end: u64,
    chain: u32,
}

impl Store {
    /// One that holds nothing and knows of no file.
    pub(super) fn empty(directory: &Arc<dyn Directory>, shape: Shape) -> Self {
        Store {
            directory: Arc::clone(directory),
            shape,
            segments: Vec::new(),
            merges: Vec::new(),
            keys: RecentKeys::default(),
            recent: None,
            is_shallow: false,
            filter: None,
            is_filtered: false,
            reach: Reach::default(),
            next_number: 1,
            garbage: Vec::new(),
        }
    }

    /// Reads what stands in the directory. Where nothing does, it is empty.
    ///
    /// # Errors
    /// Files that are not whole, or as the system says it.
    pub(super) fn open(directory: &Arc<dyn Directory>, shape: Shape) -> Result<Self, Trouble> {
        let mut store = Store::empty(directory, shape);
        let names = directory.names()?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| recent::number_of(name)).collect();
        numbers.sort_unstable();
        while let Some(number) = numbers.pop() {
            let file = directory.open_data(&recent::name(number), DataAccess::Write)?;
            if let Some(recent) = read_recent(&*file)? {
                store.take_over(number, recent, file)?;
                let listed = store.names();
                store.garbage = names.into_iter().filter(|name| !listed.contains(name)).collect();
                return Ok(store);
            }
        }
        if names.is_empty() { Ok(store) } else { Err(Trouble::Damaged) }
    }

    fn take_over(&mut self, number: u64, recent: Recent, file: Box<dyn DataFile>) -> Result<(), Trouble> {
        let counts: Vec<u64> = recent.head.segments.iter().map(|listed| listed.count).collect();
        let planes = planes_at_opening(&counts, self.shape.sketches);
        self.is_shallow = true;
        for Listed { number, level, count, crc } in recent.head.segments {
            let segment = Segment::open(&*self.directory, number, level, crc, planes)?;
            if segment.header.count != count {
                return Err(Trouble::Damaged);
            }
            self.segments.push(segment);
        }
        self.next_number = recent.head.next_number.max(number + 1);
        self.recent = Some(RecentFile { number, file, end: recent.end, chain: recent.chain });
        self.reach = recent.reach;
        self.keys = RecentKeys::new(recent.keys);
        self.fit_planes();
        Ok(())
    }

    /// Removes every file and holds nothing.
    ///
    /// # Errors
    /// As the system says it.
    pub(super) fn clear(&mut self) -> Result<(), Trouble> {
        let mut names = self.directory.names()?;
        *self = Store::empty(&self.directory, self.shape);
        // Without a list the rest is nothing, so the lists go first.
        names.sort_by_key(|name| recent::number_of(name).is_none());
        for name in names {
            match self.directory.remove(&name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
        Ok(())
    }

    /// Removes files that nothing lists. One that cannot be removed is left for the next time.
    pub(super) fn sweep(&mut self) {
        for name in std::mem::take(&mut self.garbage) {
            let _ = self.directory.remove(&name);
        }
    }

    pub(super) fn reach(&self) -> Reach {
        self.reach
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.segments.is_empty()
    }

    /// Each segment is asked for all keys before the next one is, so that its sketch stays near the processor.
    ///
    /// # Errors
    /// A segment that is not whole, or as the system says it.
    pub(super) fn look_up(&self, keys: &[Key], found: &mut Vec<Option<u64>>) -> Result<(), Trouble> {
        found.clear();
        found.resize(keys.len(), None);
        let all: Vec<usize> = (0..keys.len()).collect();
        let passing: Vec<usize> = match &self.filter {
            Some(filter) => all.iter().copied().filter(|at| filter.may_hold(&keys[*at])).collect(),
            None => all.clone(),
        };
        self.keys.look_up(keys, &passing, found);
        for segment in &self.segments {
            for at in if segment.is_covered { &passing } else { &all } {
                if found[*at].is_none() {
                    found[*at] = segment.look_up(&keys[*at])?;
                }
            }
        }
        Ok(())
    }

    /// Adds keys and moves the reach.
    ///
    /// # Errors
    /// As the system says it: then they were not added, and the reach did not move. Damage, which a merge has found.
    pub(super) fn add(&mut self, keys: &[(Key, u64)], reach: Reach) -> Result<(), Trouble> {
        if self.keys.len() >= 2 * self.shape.recent {
            // Segments could not be written for a while. Memory is bounded, so now one has to be.
            self.turn_over()?;
        }
        let mut bytes = Vec::with_capacity(64 + keys.len() * 40);
        let recent = match &mut self.recent {
            Some(recent) => recent,
            none => none.insert(begin_recent(
                &*self.directory,
                &mut self.next_number,
                self.reach,
                &self.segments,
            )?),
        };
        let chain = recent::put_frame(&mut bytes, keys, reach, recent.chain);
        recent.file.write_at(recent.end, &bytes)?;
        (recent.end, recent.chain) = (recent.end + bytes.len() as u64, chain);
        for (key, sequence) in keys {
            self.keys.put(*key, *sequence);
        }
        if let Some(filter) = &mut self.filter {
            keys.iter().for_each(|(key, _)| filter.add(key));
        }
        self.reach = reach;
        if self.keys.len() >= self.shape.recent {
            match self.turn_over() {
                // The keys stand in the recent file; the next page tries again.
                Ok(()) | Err(Trouble::Index(_)) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(())
    }

    /// Advances the merges, makes a segment of the recent keys, and begins a new recent file that lists what there is.
    fn turn_over(&mut self) -> Result<(), Trouble> {
        match self.advance_merges(2 * self.shape.recent as u64) {
            // A merge that could not be written is begun anew another time.
            Ok(()) | Err(Trouble::Index(_)) => {}
            Err(trouble) => return Err(trouble),
        }
        let mut entries: Vec<Entry> =
            self.keys.iter().map(|(key, sequence)| Entry { key: *key, sequence }).collect();
        let mut written = self.write_segment(&mut entries, 0)?;
        // The filter knows of the recent keys, which these are.
        written.is_covered = self.filter.is_some();
        let number = written.number;
        self.segments.push(written);
        match begin_recent(&*self.directory, &mut self.next_number, self.reach, &self.segments) {
            Ok(begun) => {
                if let Some(before) = self.recent.replace(begun) {
                    self.garbage.push(recent::name(before.number));
                }
                self.keys.clear();
                self.fit_planes();
                self.sweep();
                Ok(())
            }
            Err(trouble) => {
                // The keys stay where they were.
                self.segments.retain(|known| known.number != number);
                let _ = self.directory.remove(&segment::name(number));
                Err(trouble)
            }
        }
    }

    /// Writes a segment of these entries, in whatever order they are.
    fn write_segment(&mut self, entries: &mut [Entry], level: u32) -> Result<Segment, Trouble> {
        entries.sort_unstable();
        let number = self.take_number();
        let written = (|| {
            let mut writer = SegmentWriter::create(&*self.directory, number, entries.len() as u64)?;
            let mut last = None;
            for entry in &*entries {
                if last.replace(entry.key) != Some(entry.key) {
                    writer.push(entry)?;
                }
            }
            let header = writer.finish()?;
            let planes = self.planes_with(header.count);
            Segment::open(&*self.directory, number, level, header.crc, planes)
        })();
        if written.is_err() {
            let _ = self.directory.remove(&segment::name(number));
        }
        written
    }

    /// Begins the merges that are due, advances each by so many entries, and finishes those that are over.
    fn advance_merges(&mut self, entries: u64) -> Result<(), Trouble> {
        self.begin_merges()?;
        let mut at = 0;
        while at < self.merges.len() {
            let crowded = self.segments_of(self.merges[at].level - 1) >= 2 * self.shape.fan_in;
            // A program that never stays open for long would begin the same merge again and again.
            let over = self.merges[at].step(if crowded { u64::MAX } else { entries });
            if matches!(over, Ok(false)) {
                at += 1;
                continue;
            }
            let merge = self.merges.remove(at);
            let number = merge.number;
            if let Err(trouble) = over.and_then(|_| self.finish(merge)) {
                let _ = self.directory.remove(&segment::name(number));
                return Err(trouble);
            }
        }
        Ok(())
    }

    /// Puts a merged segment in the place of those that it was made of. Their files go once a list without them stands.
    fn finish(&mut self, merge: Merge) -> Result<(), Trouble> {
        let (number, level, inputs) = (merge.number, merge.level, merge.inputs.clone());
        let header = merge.finish()?;
        for known in self.segments.iter_mut().filter(|known| inputs.contains(&known.number)) {
            // The memory of the old planes and the new ones is not needed at once.
            known.keep_planes(0);
        }
        let others = self.segments.iter().filter(|known| !inputs.contains(&known.number));
        let counts: Vec<u64> = others.map(|known| known.header.capacity).chain([header.capacity]).collect();
        let planes = self.planes_for(&counts);
        let mut merged = Segment::open(&*self.directory, number, level, header.crc, planes)?;
        let mut merged_from = self.segments.iter().filter(|known| inputs.contains(&known.number));
        merged.is_covered = merged_from.all(|known| known.is_covered);
        self.segments.retain(|known| !inputs.contains(&known.number));
        self.segments.push(merged);
        self.is_filtered = false;
        self.garbage.extend(inputs.into_iter().map(segment::name));
        Ok(())
    }

    fn begin_merges(&mut self) -> Result<(), Trouble> {
        let highest = self.segments.iter().map(|known| known.level).max().unwrap_or(0);
        for level in 0..=highest {
            if self.merges.iter().any(|merge| merge.level == level + 1) {
                continue;
            }
            let of_level = self.segments.iter().filter(|known| known.level == level);
            let inputs: Vec<&Segment> = of_level.take(self.shape.fan_in).collect();
            let entries: u64 = inputs.iter().map(|known| known.header.count).sum();
            if inputs.len() == self.shape.fan_in && entries < LARGEST_SEGMENT {
                let number = self.next_number;
                let merge = Merge::begin(&*self.directory, number, level + 1, &inputs)?;
                self.next_number = number + 1;
                self.merges.push(merge);
            }
        }
        Ok(())
    }

    fn segments_of(&self, level: u32) -> usize {
        self.segments.iter().filter(|known| known.level == level).count()
    }

    fn take_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }

    /// The names of the files that count.
    fn names(&self) -> Vec<String> {
        let segments = self.segments.iter().map(|known| segment::name(known.number));
        segments.chain(self.recent.iter().map(|recent| recent::name(recent.number))).collect()
    }

    /// Bytes of memory that grow with the number of keys.
    #[cfg(test)]
    pub(super) fn memory(&self) -> u64 {
        let sketches = self.sketch_memory();
        let merges: u64 = self.merges.iter().map(Merge::memory).sum();
        sketches + merges + self.keys.memory()
    }

    /// Begins to fill an empty store with everything that the log holds.
    pub(super) fn fill(&mut self) -> Filling<'_> {
        Filling { entries: Vec::new(), reach: Reach::default(), store: self }
    }
}

/// What a whole file of recent keys says; none of one that is not whole.
fn read_recent(file: &dyn DataFile) -> io::Result<Option<Recent>> {
    let size = file.size()?;
    if size > LARGEST_RECENT {
        return Ok(None);
    }
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    let read = file.read_at(0, &mut bytes)?;
    bytes.truncate(read);
    Ok(recent::decode(bytes))
}

/// # Errors
/// As the system says it.
fn begin_recent(
    directory: &dyn Directory,
    next_number: &mut u64,
    reach: Reach,
    segments: &[Segment],
) -> Result<RecentFile, Trouble> {
    let number = *next_number;
    *next_number += 1;
    let segments = segments
        .iter()
        .map(|known| Listed {
            number: known.number,
            level: known.level,
            count: known.header.count,
            crc: known.header.crc,
        })
        .collect();
    let (bytes, chain) = Head { next_number: *next_number, reach, segments }.encode();
    let begun = directory.open_data(&recent::name(number), DataAccess::Create).and_then(|file| {
        file.write_at(0, &bytes)?;
        Ok(file)
    });
    match begun {
        Ok(file) => Ok(RecentFile { number, file, end: bytes.len() as u64, chain }),
        Err(error) => {
            let _ = directory.remove(&recent::name(number));
            Err(error.into())
        }
    }
}

/// Filling an empty store: larger segments at once, and merges to their end.
pub(super) struct Filling<'a> {
    store: &'a mut Store,
    entries: Vec<Entry>,
    reach: Reach,
}

impl Filling<'_> {
    /// # Errors
    /// As the system says it.
    pub(super) fn push(&mut self, key: Key, reach: Reach) -> Result<(), Trouble> {
        self.entries.push(Entry { key, sequence: reach.sequence });
        self.reach = reach;
        if self.entries.len() >= 4 * self.store.shape.recent { self.write(1) } else { Ok(()) }
    }

    /// Writes what is left and the list: from here on the store counts.
    ///
    /// # Errors
    /// As the system says it.
    pub(super) fn finish(mut self) -> Result<(), Trouble> {
        if self.entries.len() >= self.store.shape.recent {
            self.write(0)?;
        }
        let store = self.store;
        store.reach = self.reach;
        let begun =
            begin_recent(&*store.directory, &mut store.next_number, Reach::default(), &store.segments)?;
        store.recent = Some(begun);
        let keys: Vec<(Key, u64)> = self.entries.iter().map(|entry| (entry.key, entry.sequence)).collect();
        store.add(&keys, self.reach)?;
        store.sweep();
        Ok(())
    }

    fn write(&mut self, level: u32) -> Result<(), Trouble> {
        let segment = self.store.write_segment(&mut self.entries, level)?;
        self.entries.clear();
        self.store.segments.push(segment);
        self.store.fit_planes();
        loop {
            let before = self.store.segments.len();
            self.store.advance_merges(u64::MAX)?;
            // Nothing lists any file yet, so that what was merged can go at once.
            self.store.sweep();
            if self.store.segments.len() == before {
                return Ok(());
            }
        }
    }
}
