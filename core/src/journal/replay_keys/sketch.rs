//! What is kept in memory of a sorted segment: enough to know where a key would stand, and almost always whether.
//!
//! The leading bits of a key are its *quotient*, as many as there are binary digits in the number of entries. How many
//! entries have each quotient stands in unary: a one for each entry, a zero after each quotient. Of the 24 bits that
//! follow the quotient one plane holds the first eight of every entry, the next plane the next eight, and so on. A key
//! that is not in the segment passes the first plane once in 128 to 256 times, all three once in some eight millions. The
//! unary part costs at most two and a half bits an entry, a plane eight; how many planes are kept depends on how many
//! keys there are, so that the memory of all segments stays below one bound.

use super::entry::prefix;
use crate::journal::event::Key;

/// How many planes a segment has on disk.
pub(super) const PLANES: usize = 3;
/// Of each so many quotients one is remembered with where it begins.
const SAMPLED: u64 = 64;

/// How many leading bits of a key are its quotient in a segment for so many entries.
pub(super) fn quotient_bits(capacity: u64) -> u32 {
    capacity.max(1).ilog2()
}

/// The most words that the unary part of a segment takes.
pub(super) fn words_for(capacity: u64) -> u64 {
    (capacity + (1 << quotient_bits(capacity))).div_ceil(64)
}

fn quotient(prefix: u64, bits: u32) -> u64 {
    prefix.checked_shr(64 - bits).unwrap_or(0)
}

/// The bytes of a key that stand in the planes.
fn remainder(prefix: u64, bits: u32) -> [u8; PLANES] {
    let rest = prefix.checked_shl(bits).unwrap_or(0).to_be_bytes();
    [rest[0], rest[1], rest[2]]
}

/// Makes the two parts while keys go by in their order. What is ready is taken away by whoever writes it.
#[derive(Debug)]
pub(super) struct SketchBuilder {
    bits: u32,
    quotient: u64,
    word: u64,
    used: u32,
    pub(super) words: Vec<u64>,
    pub(super) planes: [Vec<u8>; PLANES],
}

impl SketchBuilder {
    pub(super) fn new(capacity: u64) -> Self {
        SketchBuilder {
            bits: quotient_bits(capacity),
            quotient: 0,
            word: 0,
            used: 0,
            words: Vec::new(),
            planes: Default::default(),
        }
    }

    pub(super) fn push(&mut self, key: &Key) {
        let prefix = prefix(key);
        let quotient = quotient(prefix, self.bits);
        while self.quotient < quotient {
            self.bit(0);
            self.quotient += 1;
        }
        self.bit(1);
        for (plane, byte) in self.planes.iter_mut().zip(remainder(prefix, self.bits)) {
            plane.push(byte);
        }
    }

    /// Ends the unary part; nothing may be pushed afterwards.
    pub(super) fn finish(&mut self) {
        while self.quotient < 1 << self.bits {
            self.bit(0);
            self.quotient += 1;
        }
        if self.used > 0 {
            self.words.push(self.word);
            self.used = 0;
        }
    }

    fn bit(&mut self, bit: u64) {
        self.word |= bit << self.used;
        self.used += 1;
        if self.used == 64 {
            self.words.push(self.word);
            (self.word, self.used) = (0, 0);
        }
    }
}

/// The sketch of one segment.
#[derive(Debug)]
pub(super) struct Sketch {
    bits: u32,
    words: Vec<u64>,
    /// For each 64th quotient from the second such on: which word of the unary part has the zero before it, in the upper
    /// 26 bits, and how many zeros precede that one in the word. So they are made by counting alone.
    samples: Vec<u32>,
    planes: Vec<Vec<u8>>,
}

impl Sketch {
    /// Puts together what was read. `None` where the unary part is not that of so many entries.
    pub(super) fn new(bits: u32, words: Vec<u64>, planes: Vec<Vec<u8>>, count: u64) -> Option<Self> {
        if bits > 32 || planes.iter().any(|plane| plane.len() as u64 != count) {
            return None;
        }
        let mut samples = Vec::with_capacity(usize::try_from((1_u64 << bits).div_ceil(SAMPLED)).ok()?);
        let end = count + (1 << bits);
        // Behind the end there are zeros that stand for nothing.
        let beyond = (words.len() as u64 * 64).checked_sub(end).filter(|beyond| *beyond < 64)?;
        if words.last().is_some_and(|word| u64::from(word.leading_zeros()) < beyond) {
            return None;
        }
        let mut quotients = 0_u64;
        for (at, word) in (0_u64..).zip(&words) {
            let next = quotients + u64::from(word.count_zeros());
            // At most one sampled quotient begins in a word.
            let sampled = next / SAMPLED * SAMPLED;
            if sampled > quotients && sampled < 1 << bits {
                samples.push(u32::try_from(at * 64 + sampled - quotients - 1).ok()?);
            }
            quotients = next;
        }
        // What is no zero of so many bits is an entry.
        let sketch = Sketch { bits, words, samples, planes };
        (quotients - beyond == 1 << bits).then_some(sketch)
    }

    /// Bytes of memory that a sketch of so many entries takes with so many planes.
    pub(super) fn bytes(capacity: u64, planes: usize) -> u64 {
        let samples = (1_u64 << quotient_bits(capacity)).div_ceil(SAMPLED) * 4;
        words_for(capacity) * 8 + samples + capacity * planes as u64
    }

    pub(super) fn planes(&self) -> usize {
        self.planes.len()
    }

    /// How many leading bits it knows of each key.
    pub(super) fn known_bits(&self) -> u32 {
        self.bits + 8 * self.planes.len() as u32
    }

    /// Visits what it knows of each key, in their order: the leading bits in their place, zeros behind them.
    pub(super) fn for_each_prefix(&self, mut visit: impl FnMut(u64)) {
        // A plane that is not there is one of zeros, which are pushed out with what else is not known.
        let plane = |at: usize| self.planes.get(at).map_or(&[][..], |plane| &plane[..]);
        let planes: [&[u8]; PLANES] = std::array::from_fn(plane);
        let byte = |plane: &[u8], entry: usize| u64::from(plane.get(entry).copied().unwrap_or(0));
        let unread = 64 - self.bits - 8 * PLANES as u32;
        let (mut entry, mut quotient) = (0_usize, 0_u64);
        for word in &self.words {
            let (mut word, mut left) = (*word, 64);
            while left > 0 {
                let ones = word.trailing_ones();
                for _ in 0..ones {
                    let [first, second, third] = planes.map(|plane| byte(plane, entry));
                    visit((quotient << 24 | first << 16 | second << 8 | third) << unread);
                    entry += 1;
                }
                if ones == left {
                    // The quotient goes on in the next word.
                    break;
                }
                quotient += 1;
                left -= ones + 1;
                word = word.checked_shr(ones + 1).unwrap_or(0);
            }
        }
    }

    /// Adds the next plane; false where it is not one of so many entries.
    pub(super) fn add_plane(&mut self, plane: Vec<u8>, count: u64) -> bool {
        let fits = plane.len() as u64 == count;
        if fits {
            self.planes.push(plane);
        }
        fits
    }

    /// Forgets planes above this number of them.
    pub(super) fn keep_planes(&mut self, planes: usize) {
        self.planes.truncate(planes);
    }

    /// Which entries may be this key: the first of them and how many. They stand side by side.
    pub(super) fn candidates(&self, key: &Key) -> Option<(u64, u64)> {
        let prefix = prefix(key);
        let quotient = quotient(prefix, self.bits);
        let start = self.start(quotient)?;
        let count = self.ones_from(start);
        let first = start - quotient;
        let wanted = remainder(prefix, self.bits);
        let passes = |entry: u64| {
            let entry = usize::try_from(entry).unwrap_or(usize::MAX);
            self.planes.iter().zip(wanted).all(|(plane, byte)| plane.get(entry) == Some(&byte))
        };
        let from = (first..first + count).find(|entry| passes(*entry))?;
        let until = (from + 1..first + count).find(|entry| !passes(*entry)).unwrap_or(first + count);
        Some((from, until - from))
    }

    /// Where in the unary part a quotient begins.
    fn start(&self, quotient: u64) -> Option<u64> {
        if quotient == 0 {
            return Some(0);
        }
        // The zero before the quotient is this one from the word's beginning on, counted from 1.
        let mut left = u32::try_from(quotient % SAMPLED).ok()?;
        let mut at = 0;
        if let Some(sample) = usize::try_from(quotient / SAMPLED).ok()?.checked_sub(1) {
            let sample = self.samples.get(sample)?;
            at = u64::from(*sample / 64);
            left += sample % 64 + 1;
        }
        let mut zeros = !self.word(at)?;
        while zeros.count_ones() < left {
            left -= zeros.count_ones();
            at += 1;
            zeros = !self.word(at)?;
        }
        for _ in 1..left {
            zeros &= zeros - 1;
        }
        Some(at * 64 + u64::from(zeros.trailing_zeros()) + 1)
    }

    fn ones_from(&self, start: u64) -> u64 {
        let (mut at, mut shift, mut ones) = (start / 64, start % 64, 0);
        while let Some(word) = self.word(at) {
            let here = u64::from((word >> shift).trailing_ones());
            ones += here;
            if here + shift < 64 {
                break;
            }
            (at, shift) = (at + 1, 0);
        }
        ones
    }

    fn word(&self, at: u64) -> Option<u64> {
        self.words.get(usize::try_from(at).ok()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::faulty_directory::split_mix;

    fn keys(count: u64, seed: u64) -> Vec<Key> {
        let mut state = seed;
        let mut keys: Vec<Key> = (0..count)
            .map(|_| {
                let mut key = [0; 32];
                key.chunks_mut(8).for_each(|part| part.copy_from_slice(&split_mix(&mut state).to_be_bytes()));
                key
            })
            .collect();
        keys.sort_unstable();
        keys
    }

    fn sketch(keys: &[Key], capacity: u64, planes: usize) -> Sketch {
        let mut builder = SketchBuilder::new(capacity);
        keys.iter().for_each(|key| builder.push(key));
        builder.finish();
        assert!(builder.words.len() as u64 <= words_for(capacity));
        let planes = builder.planes.into_iter().take(planes).collect();
        Sketch::new(builder.bits, builder.words, planes, keys.len() as u64).expect("it fits")
    }

    #[test]
    fn every_key_is_among_its_candidates() {
        for count in [1, 2, 3, 63, 64, 65, 1000, 5000] {
            let keys = keys(count, count);
            // A merge that met a key twice has fewer entries than it has room for.
            for capacity in [count, count + count / 5] {
                for planes in 0..=PLANES {
                    let sketch = sketch(&keys, capacity, planes);
                    for (at, key) in (0_u64..).zip(&keys) {
                        let (from, length) = sketch.candidates(key).expect("a candidate");
                        assert!(
                            (from..from + length).contains(&at),
                            "{count} {planes} {at}: {from} {length}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_known_of_the_keys_comes_in_their_order() {
        for count in [0, 1, 2, 3, 63, 64, 65, 1000, 5000] {
            let keys = keys(count, count);
            for capacity in [count, count + count / 5] {
                for planes in 0..=PLANES {
                    let sketch = sketch(&keys, capacity, planes);
                    let mut known = Vec::new();
                    sketch.for_each_prefix(|prefix| known.push(prefix));
                    let unknown = 64 - sketch.known_bits();
                    let leading = |key: &Key| prefix(key).checked_shr(unknown).unwrap_or(0) << (unknown % 64);
                    assert_eq!(known, keys.iter().map(leading).collect::<Vec<_>>(), "{count} {planes}");
                }
            }
        }
    }

    #[test]
    fn keys_with_one_beginning_stand_side_by_side() {
        let mut keys = keys(100, 1);
        let mut alike = [0x55; 32];
        for last in 0..=255 {
            alike[31] = last;
            keys.push(alike);
        }
        keys.sort_unstable();
        let (from, length) = sketch(&keys, 356, PLANES).candidates(&alike).expect("candidates");
        assert_eq!(length, 256);
        assert_eq!(keys[usize::try_from(from).expect("small")][..31], alike[..31]);
    }

    #[test]
    fn a_foreign_key_rarely_passes() {
        let known = keys(20_000, 2);
        let one = sketch(&known, 20_000, 1);
        let all = sketch(&known, 20_000, PLANES);
        let foreign = keys(20_000, 3);
        let passed = |sketch: &Sketch| foreign.iter().filter(|key| sketch.candidates(key).is_some()).count();
        assert!(passed(&one) < 20_000 / 64, "{}", passed(&one));
        assert_eq!(passed(&all), 0);
    }

    #[test]
    fn a_unary_part_of_another_segment_is_refused() {
        let keys = keys(100, 4);
        let mut builder = SketchBuilder::new(100);
        keys.iter().for_each(|key| builder.push(key));
        builder.finish();
        let words = builder.words;
        assert!(Sketch::new(6, words.clone(), vec![vec![0; 100]], 100).is_some());
        assert!(Sketch::new(6, words.clone(), vec![vec![0; 99]], 99).is_none());
        assert!(Sketch::new(7, words.clone(), vec![], 100).is_none());
        assert!(Sketch::new(33, words, vec![], 100).is_none());
        assert!(Sketch::new(6, vec![0; 3], vec![], 100).is_none());
    }
}
