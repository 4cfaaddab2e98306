//! One sorted segment on disk: written once from front to back, then only read at offsets.
//!
//! ```text
//! 0    header, 64 bytes (see `Header`)
//! 64   room for `capacity` entries of 44 bytes, sorted by key; `count` of them are used
//! …    the unary part of the sketch, 64-bit words
//! …    three planes of `capacity` bytes, one byte an entry each
//! ```
//!
//! All numbers are little-endian. The header is written last, so that a file without a good header is no segment. It
//! proves the sketch; each entry proves itself when it is read.

use std::io;
use std::sync::Arc;

use super::Trouble;
use super::entry::{ENTRY, Entry};
use super::filter::Filter;
use super::sketch::{PLANES, Sketch, SketchBuilder, quotient_bits, words_for};
use crate::journal::event::Key;
use crate::storage::{DataAccess, DataFile, Directory};

/// The first eight bytes of a segment, the version of its form among them.
const MAGIC: &[u8; 8] = b"GLVKSEG1";
const HEADER: usize = 64;
/// How many entries are put down at a time.
const WRITTEN_AT_ONCE: usize = 1024;
/// How many entries are read at a time where many begin with the same bytes.
const READ_AT_ONCE: u64 = 64;

/// The name of the segment with this number.
pub(super) fn name(number: u64) -> String {
    format!("segment-{number:016x}")
}

/// What a segment says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) capacity: u64,
    pub(super) count: u64,
    words: u64,
    crc_of_words: u32,
    crc_of_planes: [u32; PLANES],
    /// CRC-32C of the header before it.
    pub(super) crc: u32,
}

impl Header {
    fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(MAGIC);
        for (at, number) in [(8, self.capacity), (16, self.count), (24, self.words)] {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        bytes[32..36].copy_from_slice(&self.crc_of_words.to_le_bytes());
        for (at, crc) in self.crc_of_planes.iter().enumerate() {
            bytes[36 + at * 4..40 + at * 4].copy_from_slice(&crc.to_le_bytes());
        }
        let crc = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; HEADER]) -> Option<Header> {
        let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let short = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let crc = crc32c::crc32c(&bytes[..60]);
        if &bytes[..8] != MAGIC || short(60)? != crc {
            return None;
        }
        let header = Header {
            capacity: long(8)?,
            count: long(16)?,
            words: long(24)?,
            crc_of_words: short(32)?,
            crc_of_planes: [short(36)?, short(40)?, short(44)?],
            crc,
        };
        // Offsets are computed from what stands here, so it has to be possible first.
        let possible = header.capacity < 1 << 40
            && header.count <= header.capacity
            && header.words <= words_for(header.capacity);
        possible.then_some(header)
    }

    fn words_at(&self) -> u64 {
        words_at(self.capacity)
    }

    fn plane_at(&self, plane: usize) -> u64 {
        plane_at(self.capacity, plane)
    }
}

fn words_at(capacity: u64) -> u64 {
    HEADER as u64 + capacity * ENTRY as u64
}

fn plane_at(capacity: u64, plane: usize) -> u64 {
    words_at(capacity) + words_for(capacity) * 8 + capacity * plane as u64
}

/// A segment that is being written.
#[derive(Debug)]
pub(super) struct SegmentWriter {
    file: Box<dyn DataFile>,
    capacity: u64,
    count: u64,
    entries: Vec<u8>,
    sketch: SketchBuilder,
    words: u64,
    crc_of_words: u32,
    crc_of_planes: [u32; PLANES],
    /// How many of the entries are in the file.
    written: u64,
}

impl SegmentWriter {
    /// Begins a segment for at most so many entries.
    ///
    /// # Errors
    /// As the system says it.
    pub(super) fn create(directory: &dyn Directory, number: u64, capacity: u64) -> io::Result<Self> {
        Ok(SegmentWriter {
            file: directory.open_data(&name(number), DataAccess::Create)?,
            capacity,
            count: 0,
            entries: Vec::with_capacity(WRITTEN_AT_ONCE * ENTRY),
            sketch: SketchBuilder::new(capacity),
            words: 0,
            crc_of_words: 0,
            crc_of_planes: [0; PLANES],
            written: 0,
        })
    }

    /// Adds the next entry in the order of the keys.
    ///
    /// # Errors
    /// As the system says it; the segment is then worthless.
    pub(super) fn push(&mut self, entry: &Entry) -> io::Result<()> {
        entry.encode(&mut self.entries);
        self.sketch.push(&entry.key);
        self.count += 1;
        if self.entries.len() < WRITTEN_AT_ONCE * ENTRY { Ok(()) } else { self.write() }
    }

    /// Ends the segment and answers its header.
    ///
    /// # Errors
    /// As the system says it; the segment is then worthless.
    pub(super) fn finish(mut self) -> io::Result<Header> {
        self.sketch.finish();
        self.write()?;
        let mut header = Header {
            capacity: self.capacity,
            count: self.count,
            words: self.words,
            crc_of_words: self.crc_of_words,
            crc_of_planes: self.crc_of_planes,
            crc: 0,
        };
        let bytes = header.encode();
        header.crc = crc32c::crc32c(&bytes[..60]);
        self.file.write_at(0, &bytes)?;
        Ok(header)
    }

    fn write(&mut self) -> io::Result<()> {
        if !self.entries.is_empty() {
            self.file.write_at(HEADER as u64 + self.written * ENTRY as u64, &self.entries)?;
            self.entries.clear();
        }
        if !self.sketch.words.is_empty() {
            let bytes: Vec<u8> = self.sketch.words.drain(..).flat_map(u64::to_le_bytes).collect();
            self.file.write_at(words_at(self.capacity) + self.words * 8, &bytes)?;
            self.crc_of_words = crc32c::crc32c_append(self.crc_of_words, &bytes);
            self.words += bytes.len() as u64 / 8;
        }
        for (at, plane) in self.sketch.planes.iter_mut().enumerate() {
            if !plane.is_empty() {
                self.file.write_at(plane_at(self.capacity, at) + self.written, plane)?;
                self.crc_of_planes[at] = crc32c::crc32c_append(self.crc_of_planes[at], plane);
                plane.clear();
            }
        }
        self.written = self.count;
        Ok(())
    }
}

/// A whole segment.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) level: u32,
    pub(super) header: Header,
    pub(super) file: Arc<dyn DataFile>,
    /// Every key of it is in the store's filter.
    pub(super) is_covered: bool,
    sketch: Sketch,
}

impl Segment {
    /// Opens a segment and reads its sketch with this many planes.
    ///
    /// # Errors
    /// It is missing, not whole, or another one than this header's check value says.
    pub(super) fn open(
        directory: &dyn Directory,
        number: u64,
        level: u32,
        crc: u32,
        planes: usize,
    ) -> Result<Self, Trouble> {
        let file: Arc<dyn DataFile> = Arc::from(directory.open_data(&name(number), DataAccess::Read)?);
        let mut bytes = [0; HEADER];
        if file.read_at(0, &mut bytes)? < HEADER {
            return Err(Trouble::Damaged);
        }
        let header = Header::decode(&bytes).filter(|header| header.crc == crc).ok_or(Trouble::Damaged)?;
        let words = read_proved(&*file, header.words_at(), header.words * 8, header.crc_of_words)?;
        let words: Vec<u64> = words
            .chunks_exact(8)
            .map(|word| word.try_into().map(u64::from_le_bytes).unwrap_or_default())
            .collect();
        let planes = (0..planes.min(PLANES))
            .map(|at| read_proved(&*file, header.plane_at(at), header.count, header.crc_of_planes[at]))
            .collect::<Result<Vec<_>, _>>()?;
        let sketch = Sketch::new(quotient_bits(header.capacity), words, planes, header.count)
            .ok_or(Trouble::Damaged)?;
        Ok(Segment { number, level, header, file, is_covered: false, sketch })
    }

    /// The number of this key, if it is here; reads nothing where the sketch knows better.
    ///
    /// # Errors
    /// An entry that does not prove itself, or as the system says it.
    pub(super) fn look_up(&self, key: &Key) -> Result<Option<u64>, Trouble> {
        let Some((mut at, mut left)) = self.sketch.candidates(key) else { return Ok(None) };
        let mut buffer = [0; READ_AT_ONCE as usize * ENTRY];
        while left > 0 {
            let now = left.min(READ_AT_ONCE);
            for entry in read_entries(&*self.file, at, now, &mut buffer)? {
                let entry = entry?;
                if entry.key == *key {
                    return Ok(Some(entry.sequence));
                }
            }
            (at, left) = (at + now, left - now);
        }
        Ok(None)
    }

    /// Reads further planes of the sketch, up to this many.
    ///
    /// # Errors
    /// A plane that does not prove itself, or as the system says it.
    pub(super) fn add_planes(&mut self, planes: usize) -> Result<(), Trouble> {
        let Header { count, crc_of_planes, .. } = self.header;
        let known = self.sketch.planes();
        for (at, crc) in crc_of_planes.into_iter().enumerate().take(planes).skip(known) {
            let plane = read_proved(&*self.file, self.header.plane_at(at), count, crc)?;
            if !self.sketch.add_plane(plane, count) {
                return Err(Trouble::Damaged);
            }
        }
        Ok(())
    }

    /// Adds its keys to a filter. That knows of every key that is here then.
    pub(super) fn cover(&mut self, filter: &mut Filter) {
        self.sketch.for_each_prefix(|prefix| filter.add_prefix(prefix));
        self.is_covered = true;
    }

    /// Whether enough of its keys is in memory for a filter that goes by so many leading bits.
    pub(super) fn knows(&self, bits: u32) -> bool {
        self.sketch.known_bits() >= bits
    }

    /// Keeps at most this many planes of the sketch in memory.
    pub(super) fn keep_planes(&mut self, planes: usize) {
        if self.sketch.planes() > planes {
            self.sketch.keep_planes(planes);
        }
    }

    /// Bytes of memory that its sketch takes.
    pub(super) fn memory(&self) -> u64 {
        Sketch::bytes(self.header.capacity, self.sketch.planes())
    }
}

/// Reads entries into a buffer that has room for them and hands each out.
///
/// # Errors
/// The file ends too early, or as the system says it; an entry that does not prove itself is an error in its place.
pub(super) fn read_entries<'a>(
    file: &dyn DataFile,
    first: u64,
    count: u64,
    buffer: &'a mut [u8],
) -> Result<impl Iterator<Item = Result<Entry, Trouble>> + use<'a>, Trouble> {
    let length = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(ENTRY);
    let into = buffer.get_mut(..length).ok_or(Trouble::Damaged)?;
    if file.read_at(HEADER as u64 + first * ENTRY as u64, into)? < length {
        return Err(Trouble::Damaged);
    }
    Ok(into.chunks_exact(ENTRY).map(|bytes| Entry::decode(bytes).ok_or(Trouble::Damaged)))
}

fn read_proved(file: &dyn DataFile, offset: u64, length: u64, crc: u32) -> Result<Vec<u8>, Trouble> {
    // What the file does not hold is not asked memory for.
    if file.size()? < offset.saturating_add(length) {
        return Err(Trouble::Damaged);
    }
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| Trouble::Damaged)?];
    let read = file.read_at(offset, &mut bytes)?;
    if read < bytes.len() || crc32c::crc32c(&bytes) != crc { Err(Trouble::Damaged) } else { Ok(bytes) }
}
