//! The keys that came last, in memory: those of the file as they were read, and those that have come since.
//!
//! A process that appends one page and ends asks once. Going through the bytes of the file is then faster than filling a map
//! with thousands of keys, which is done when a second page comes.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::entry::prefix;
use super::recent::KEYED;
use crate::journal::event::Key;

/// Keys with their numbers as they stand in a file, which has been proved.
#[derive(Debug, Default)]
pub(super) struct ReadKeys {
    pub(super) bytes: Vec<u8>,
    /// Where in the bytes there are keys with their numbers, one behind another.
    pub(super) places: Vec<Range<usize>>,
}

impl ReadKeys {
    fn iter(&self) -> impl Iterator<Item = (&Key, u64)> {
        let bodies = self.places.iter().filter_map(|place| self.bytes.get(place.clone()));
        bodies.flat_map(|body| body.chunks_exact(KEYED)).filter_map(|bytes| {
            let (key, number) = bytes.split_first_chunk()?;
            Some((key, u64::from_le_bytes(number.try_into().ok()?)))
        })
    }

    pub(super) fn len(&self) -> usize {
        self.places.iter().map(|place| place.len() / KEYED).sum()
    }
}

/// A key is a hash, so that any part of it is spread already; but whoever chooses event ids must not choose where it falls.
type Map = HashMap<Key, u64, RandomState>;

/// Every recent key with its number. One that comes twice keeps the first.
#[derive(Debug, Default)]
pub(super) struct RecentKeys {
    read: ReadKeys,
    map: Map,
}

impl RecentKeys {
    pub(super) fn new(read: ReadKeys) -> Self {
        RecentKeys { read, map: Map::default() }
    }

    /// How many there are; a key that came twice may count twice.
    pub(super) fn len(&self) -> usize {
        self.read.len() + self.map.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, u64)> {
        self.read.iter().chain(self.map.iter().map(|(key, number)| (key, *number)))
    }

    pub(super) fn put(&mut self, key: Key, number: u64) {
        self.map.entry(key).or_insert(number);
    }

    /// Puts all of them into the map, because more than one page asks.
    pub(super) fn gather(&mut self) {
        let read = std::mem::take(&mut self.read);
        if read.places.is_empty() {
            return;
        }
        let later = std::mem::take(&mut self.map);
        self.map.reserve(read.len() + later.len());
        for (key, number) in read.iter().chain(later.iter().map(|(key, number)| (key, *number))) {
            self.put(*key, number);
        }
    }

    pub(super) fn clear(&mut self) {
        self.read = ReadKeys::default();
        self.map.clear();
    }

    /// Finds those of the keys that `asked` says, and leaves what was found already.
    pub(super) fn look_up(&self, keys: &[Key], asked: &[usize], found: &mut [Option<u64>]) {
        if !self.read.places.is_empty() {
            self.look_through(keys, asked, found);
        }
        for at in asked {
            if found[*at].is_none() {
                found[*at] = self.map.get(&keys[*at]).copied();
            }
        }
    }

    fn look_through(&self, keys: &[Key], asked: &[usize], found: &mut [Option<u64>]) {
        let mut wanted: Vec<(u64, usize)> = asked.iter().map(|at| (prefix(&keys[*at]), *at)).collect();
        wanted.sort_unstable();
        // A bit for each value of the first sixteen bits of a key: one foreign key in hundreds gets past it.
        let mut begins = vec![0_u64; 1 << 10];
        let place = |prefix: u64| ((prefix >> 54) as usize, 1_u64 << (prefix >> 48 & 63));
        for (prefix, _) in &wanted {
            let (word, bit) = place(*prefix);
            begins[word] |= bit;
        }
        for (key, number) in self.read.iter() {
            let known = prefix(key);
            let (word, bit) = place(known);
            if begins[word] & bit == 0 {
                continue;
            }
            let from = wanted.partition_point(|(prefix, _)| *prefix < known);
            for (_, at) in wanted[from..].iter().take_while(|(prefix, _)| *prefix == known) {
                if keys[*at] == *key && found[*at].is_none() {
                    found[*at] = Some(number);
                }
            }
        }
    }

    /// Bytes of memory that they take.
    #[cfg(test)]
    pub(super) fn memory(&self) -> u64 {
        // A slot holds the key, its number and one byte; seven of eight are used at most.
        self.map.capacity() as u64 * 8 / 7 * 41 + self.read.bytes.capacity() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> Key {
        let mut key = [number; 32];
        // Several keys share their first bytes.
        key[..8].fill(number / 4);
        key
    }

    /// A file of two bodies with other bytes around them; key 3 comes twice.
    fn read() -> ReadKeys {
        let mut bytes = vec![0xaa; 5];
        let mut places = Vec::new();
        for body in [1..=5_u8, 3..=9] {
            let start = bytes.len();
            for number in body {
                bytes.extend_from_slice(&key(number));
                bytes.extend_from_slice(&(u64::from(number) + start as u64).to_le_bytes());
            }
            places.push(start..bytes.len());
            bytes.extend_from_slice(&[0xbb; 7]);
        }
        ReadKeys { bytes, places }
    }

    #[test]
    fn what_was_read_and_what_came_since_are_found_by_their_first_numbers() {
        for is_gathered in [false, true] {
            let mut recent = RecentKeys::new(read());
            recent.put(key(20), 500);
            recent.put(key(4), 501);
            if is_gathered {
                recent.gather();
                assert_eq!(recent.len(), 10, "each once");
            }
            let keys: Vec<Key> = [1, 5, 9, 20, 4, 4, 30, 0].into_iter().map(key).collect();
            let mut found = vec![None; keys.len()];
            found[0] = Some(7);
            recent.look_up(&keys, &[0, 1, 2, 3, 4, 5, 6, 7], &mut found);
            let second = 5 + 5 * KEYED as u64 + 7;
            let wanted = [Some(7), Some(10), Some(9 + second), Some(500), Some(9), Some(9), None, None];
            assert_eq!(found, wanted, "{is_gathered}");
            let mut found = vec![None; keys.len()];
            recent.look_up(&keys, &[2], &mut found);
            assert_eq!(found.iter().flatten().count(), 1, "only who is asked about");
        }
    }

    #[test]
    fn nothing_is_left_of_what_was_cleared() {
        let mut recent = RecentKeys::new(read());
        recent.put(key(20), 500);
        recent.clear();
        assert!(recent.is_empty() && recent.iter().next().is_none());
    }
}
