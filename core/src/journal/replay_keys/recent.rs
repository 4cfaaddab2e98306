//! The file of the keys that came last, and what it begins with: which segments hold all the others.
//!
//! ```text
//! header   magic, length of what follows, next number, reach, number of segments,
//!          for each segment: number, level, entries, check value of its header;  CRC-32C
//! frame    number of keys, reach, keys with their numbers;  CRC-32C that goes on from the one before
//! frame    …
//! ```
//!
//! A frame is appended for each batch, in one write. Check values are chained, so that what an earlier, longer write left
//! behind a frame is never taken for the next one. What does not check ends the file: the index lags then, and what is
//! missing is read from the log. A new list of segments is a new file with a higher number, written before the old one is
//! removed: of two whole ones the higher counts.

use super::Reach;
use super::recent_keys::ReadKeys;
use crate::journal::event::Key;

/// The first eight bytes, the version of the form among them.
const MAGIC: &[u8; 8] = b"GLVKREC1";
/// Bytes of a reach: offset, number, check value.
const REACH: usize = 20;
/// Bytes of one segment in the header.
const LISTED: usize = 24;
/// Bytes of a key with its number.
pub(super) const KEYED: usize = 40;
/// Bytes of a frame without its keys.
const FRAME: usize = 4 + REACH + 4;

const PREFIX: &str = "recent-";

/// The name of the file with this number.
pub(super) fn name(number: u64) -> String {
    format!("{PREFIX}{number:016x}")
}

/// The number of a file with such a name, of a segment's file likewise with its prefix.
pub(super) fn number_of(name: &str) -> Option<u64> {
    u64::from_str_radix(name.strip_prefix(PREFIX)?, 16).ok()
}

/// A segment as the header lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) number: u64,
    pub(super) level: u32,
    pub(super) count: u64,
    pub(super) crc: u32,
}

/// What the file begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// A number that no file has yet.
    pub(super) next_number: u64,
    /// How far the segments reach.
    pub(super) reach: Reach,
    pub(super) segments: Vec<Listed>,
}

/// A whole file as it was read.
#[derive(Debug)]
pub(super) struct Recent {
    pub(super) head: Head,
    pub(super) keys: ReadKeys,
    pub(super) reach: Reach,
    /// Where the next frame goes, and what its check value goes on from.
    pub(super) end: u64,
    pub(super) chain: u32,
}

impl Head {
    /// The bytes, and the check value from which the first frame's goes on.
    pub(super) fn encode(&self) -> (Vec<u8>, u32) {
        let mut bytes = Vec::with_capacity(64 + self.segments.len() * LISTED);
        bytes.extend_from_slice(MAGIC);
        let length = 8 + REACH + 4 + self.segments.len() * LISTED;
        bytes.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(&self.next_number.to_le_bytes());
        put_reach(&mut bytes, self.reach);
        bytes.extend_from_slice(&u32::try_from(self.segments.len()).unwrap_or(u32::MAX).to_le_bytes());
        for segment in &self.segments {
            bytes.extend_from_slice(&segment.number.to_le_bytes());
            bytes.extend_from_slice(&segment.level.to_le_bytes());
            bytes.extend_from_slice(&segment.count.to_le_bytes());
            bytes.extend_from_slice(&segment.crc.to_le_bytes());
        }
        let crc = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        (bytes, crc)
    }
}

/// Appends a frame to `bytes` and answers the check value from which the next one's goes on.
pub(super) fn put_frame(bytes: &mut Vec<u8>, keys: &[(Key, u64)], reach: Reach, chain: u32) -> u32 {
    let start = bytes.len();
    bytes.extend_from_slice(&u32::try_from(keys.len()).unwrap_or(u32::MAX).to_le_bytes());
    put_reach(bytes, reach);
    for (key, sequence) in keys {
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(&sequence.to_le_bytes());
    }
    let crc = crc32c::crc32c_append(chain, &bytes[start..]);
    bytes.extend_from_slice(&crc.to_le_bytes());
    crc
}

fn put_reach(bytes: &mut Vec<u8>, reach: Reach) {
    bytes.extend_from_slice(&reach.offset.to_le_bytes());
    bytes.extend_from_slice(&reach.sequence.to_le_bytes());
    bytes.extend_from_slice(&reach.crc.to_le_bytes());
}

/// Reads a file from its bytes: the header, and the frames up to the first that does not check. `None` without a good
/// header.
pub(super) fn decode(bytes: Vec<u8>) -> Option<Recent> {
    let mut rest = Bytes(&bytes);
    if rest.take(8)? != MAGIC {
        return None;
    }
    let length = usize::try_from(rest.short()?).ok()?;
    let proved = bytes.get(..length.checked_add(12)?)?;
    let mut body = Bytes(rest.take(length)?);
    let chain = crc32c::crc32c(proved);
    if rest.short()? != chain {
        return None;
    }
    let (next_number, reach) = (body.long()?, body.reach()?);
    let mut segments = Vec::new();
    for _ in 0..body.short()? {
        let (number, level, count, crc) = (body.long()?, body.short()?, body.long()?, body.short()?);
        segments.push(Listed { number, level, count, crc });
    }
    let head = Head { next_number, reach, segments };
    let mut recent = Recent { head, keys: ReadKeys::default(), reach, end: length as u64 + 16, chain };
    while let Some((length, reach, crc)) = frame(rest.0, recent.chain) {
        rest.take(length)?;
        (recent.reach, recent.chain) = (reach, crc);
        let start = usize::try_from(recent.end).ok()?;
        recent.end += length as u64;
        recent.keys.places.push(start + FRAME - 4..start + length - 4);
    }
    recent.keys.bytes = bytes;
    Some(recent)
}

/// The frame at the beginning, if it checks: its length, its reach, its check value.
fn frame(bytes: &[u8], chain: u32) -> Option<(usize, Reach, u32)> {
    let mut rest = Bytes(bytes);
    let count = usize::try_from(rest.short()?).ok()?;
    let length = count.checked_mul(KEYED)?.checked_add(FRAME)?;
    let proved = bytes.get(..length.checked_sub(4)?)?;
    let reach = rest.reach()?;
    rest.take(count * KEYED)?;
    let crc = rest.short()?;
    if crc32c::crc32c_append(chain, proved) != crc {
        return None;
    }
    Some((length, reach, crc))
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn short(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn reach(&mut self) -> Option<Reach> {
        Some(Reach { offset: self.long()?, sequence: self.long()?, crc: self.short()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Vec<u8>, Vec<usize>) {
        let segments = vec![Listed { number: 1, level: 0, count: 8, crc: 5 }];
        let reach = |offset| Reach { offset, sequence: offset / 10, crc: 7 };
        let head = Head { next_number: 3, reach: reach(100), segments };
        let (mut bytes, mut chain) = head.encode();
        let mut ends = vec![bytes.len()];
        for number in 1..4_u8 {
            let keys: Vec<(Key, u64)> = (0..number).map(|at| ([at; 32], u64::from(at))).collect();
            chain = put_frame(&mut bytes, &keys, reach(100 + u64::from(number)), chain);
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    #[test]
    fn a_cut_or_changed_file_ends_at_its_last_whole_frame() {
        let (bytes, ends) = sample();
        let whole = decode(bytes.clone()).expect("whole");
        assert_eq!((whole.keys.len(), whole.reach.offset, whole.end), (6, 103, bytes.len() as u64));
        for cut in 0..bytes.len() {
            let frames = ends.iter().filter(|end| **end <= cut).count();
            let read = decode(bytes[..cut].to_vec());
            assert_eq!(read.is_some(), frames > 0, "{cut}");
            if let Some(read) = read {
                assert_eq!(read.end, ends[frames - 1] as u64, "{cut}");
                assert_eq!(read.reach.offset, 99 + frames as u64, "{cut}");
            }
            let mut changed = bytes.clone();
            changed[cut] ^= 0x10;
            let frames = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(decode(changed).map(|read| read.end), ends[..frames].last().map(|end| *end as u64));
        }
    }

    #[test]
    fn what_a_longer_write_left_behind_is_no_frame() {
        let (bytes, ends) = sample();
        let first = decode(bytes[..ends[1]].to_vec()).expect("whole");
        let mut again = bytes[..ends[1]].to_vec();
        put_frame(&mut again, &[([9; 32], 9); 2], first.reach, first.chain);
        assert_eq!(again.len(), ends[2]);
        again.extend_from_slice(&bytes[ends[2]..]);
        assert_eq!(decode(again).expect("whole").end, ends[2] as u64);
    }
}
