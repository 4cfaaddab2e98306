//! One look that tells of almost every new key that it is nowhere in the index.
//!
//! Without it a page of new keys asks the sketch of every segment for each of them. It is a Bloom filter whose bits for one
//! key all lie in one word, so that a look is one access to memory, and no look has to wait for another.
//!
//! It goes by the leading bits of a key alone, since these are what sketches know of the keys that stand on disk. It stands
//! in no file.

use super::entry::prefix;
use crate::journal::event::Key;

/// How many bits of a key say where in a word its bits are: three times six.
const WITHIN_BITS: u32 = 18;
/// How many bits there are for a key when it is made, at least. With twice as many keys one foreign key in thirty passes.
const BITS_A_KEY: u64 = 16;
/// How many there are where memory is short.
const FEWEST_BITS_A_KEY: u64 = 8;

/// A filter, and for how many keys it is good.
#[derive(Debug)]
pub(super) struct Filter {
    words: Vec<u64>,
    word_bits: u32,
    room_for: u64,
    held: u64,
}

impl Filter {
    /// An empty filter for so many keys and as many again, in at most so many bytes. `None` where that is too little.
    pub(super) fn fitting(keys: u64, bytes: u64) -> Option<Self> {
        let wanted = (keys.max(64) * BITS_A_KEY / 64).next_power_of_two();
        let fewest = keys * FEWEST_BITS_A_KEY / 64;
        // Half as many words are tried once: they have at least half the bits a key.
        let words = [wanted, wanted / 2].into_iter().find(|words| *words >= fewest && words * 8 <= bytes)?;
        Some(Filter {
            words: vec![0; usize::try_from(words).ok()?],
            word_bits: words.ilog2(),
            room_for: 2 * keys.max(64),
            held: 0,
        })
    }

    /// Whether it holds more keys than it is good for.
    pub(super) fn is_crowded(&self) -> bool {
        self.held > self.room_for
    }

    /// How many leading bits of a key it goes by.
    pub(super) fn bits_needed(&self) -> u32 {
        self.word_bits + WITHIN_BITS
    }

    /// Bytes of memory that it takes.
    pub(super) fn memory(&self) -> u64 {
        self.words.len() as u64 * 8
    }

    pub(super) fn add(&mut self, key: &Key) {
        self.add_prefix(prefix(key));
    }

    /// Adds a key of which so many leading bits as it needs are known; those behind them do not count.
    #[inline]
    pub(super) fn add_prefix(&mut self, prefix: u64) {
        let (at, bits) = self.place(prefix);
        if let Some(word) = self.words.get_mut(at) {
            *word |= bits;
        }
        self.held += 1;
    }

    /// Whether a key may have been added. One that was always may.
    #[inline]
    pub(super) fn may_hold(&self, key: &Key) -> bool {
        let (at, bits) = self.place(prefix(key));
        self.words.get(at).is_none_or(|word| word & bits == bits)
    }

    /// Which word a key falls into, and which bits of it.
    #[inline]
    fn place(&self, prefix: u64) -> (usize, u64) {
        let at = prefix.checked_shr(64 - self.word_bits).unwrap_or(0);
        let within = (prefix << self.word_bits) >> (64 - WITHIN_BITS);
        let bits = 1 << (within & 63) | 1 << (within >> 6 & 63) | 1 << (within >> 12);
        (usize::try_from(at).unwrap_or(usize::MAX), bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::faulty_directory::split_mix;

    fn keys(count: u64, seed: u64) -> Vec<Key> {
        let mut state = seed;
        let mut random = || {
            let mut key = [0; 32];
            key.chunks_mut(8).for_each(|part| part.copy_from_slice(&split_mix(&mut state).to_be_bytes()));
            key
        };
        (0..count).map(|_| random()).collect()
    }

    #[test]
    fn every_key_that_was_added_may_be_there_and_hardly_another() {
        for count in [0, 1, 63, 64, 1000, 20_000] {
            for bytes in [u64::MAX, count * 2] {
                let Some(mut filter) = Filter::fitting(count, bytes) else {
                    assert!(bytes < 512, "{count} keys in {bytes} bytes");
                    continue;
                };
                assert!(filter.memory() <= bytes);
                let (known, foreign) = (keys(2 * count, count + 1), keys(10_000, 1 << 40));
                known.iter().for_each(|key| filter.add(key));
                assert!(!filter.is_crowded() && known.iter().all(|key| filter.may_hold(key)));
                let passed = foreign.iter().filter(|key| filter.may_hold(key)).count();
                assert!(passed <= if bytes == u64::MAX { 400 } else { 2_000 }, "{count}, {bytes}: {passed}");
                keys(129, 7).iter().for_each(|key| filter.add(key));
                assert!(filter.is_crowded(), "{count}");
            }
        }
    }

    #[test]
    fn what_follows_the_bits_that_it_needs_does_not_count() {
        let mut filter = Filter::fitting(1000, u64::MAX).expect("room");
        let known = keys(1000, 3);
        for key in &known {
            filter.add_prefix(prefix(key) >> (64 - filter.bits_needed()) << (64 - filter.bits_needed()));
        }
        assert!(known.iter().all(|key| filter.may_hold(key)));
    }
}
