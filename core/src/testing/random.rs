//! Chance under a test's control.

use std::sync::{Mutex, PoisonError};

use crate::random::{Random, SystemRandom};
use crate::storage::faulty_directory::split_mix;

/// Replays from a seed, which it keeps and shows when it is printed. The sequence is that of SplitMix64.
#[derive(Debug)]
pub struct SeededRandom {
    seed: u64,
    state: Mutex<u64>,
}

impl SeededRandom {
    /// The sequence of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        SeededRandom { seed, state: Mutex::new(seed) }
    }

    /// A sequence from a seed that the machine chooses; print [`SeededRandom::seed`] to be able to replay it.
    #[must_use]
    pub fn from_machine() -> Self {
        SeededRandom::new(SystemRandom.next_u64())
    }

    /// The seed with which the sequence began.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// A sequence of its own that begins with the next value of this one.
    #[must_use]
    pub fn fork(&self) -> Self {
        SeededRandom::new(self.next_u64())
    }

    /// A number from 0 to below `end`; 0 where `end` is 0.
    #[must_use]
    pub fn below(&self, end: u64) -> u64 {
        self.next_u64().checked_rem(end).unwrap_or(0)
    }
}

impl Random for SeededRandom {
    fn next_u64(&self) -> u64 {
        split_mix(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Gives the values that it is told to give, and then counts up from the last of them (from 1 where there was none).
#[derive(Debug)]
pub struct FixedRandom {
    state: Mutex<Fixed>,
}

#[derive(Debug)]
struct Fixed {
    values: std::vec::IntoIter<u64>,
    last: u64,
}

impl FixedRandom {
    /// These values first.
    #[must_use]
    pub fn new(values: impl Into<Vec<u64>>) -> Self {
        FixedRandom { state: Mutex::new(Fixed { values: values.into().into_iter(), last: 0 }) }
    }
}

impl Random for FixedRandom {
    fn next_u64(&self) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last = state.values.next().unwrap_or(state.last.wrapping_add(1));
        state.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(random: &dyn Random, count: usize) -> Vec<u64> {
        (0..count).map(|_| random.next_u64()).collect()
    }

    #[test]
    fn a_seed_replays_and_another_differs() {
        let first = SeededRandom::new(42);
        assert_eq!(take(&first, 50), take(&SeededRandom::new(42), 50));
        assert_ne!(take(&first, 50), take(&SeededRandom::new(43), 50));
        assert_eq!(first.seed(), 42);
        assert!(format!("{first:?}").contains("seed: 42"), "printing it shows the seed");
        let from_machine = SeededRandom::from_machine();
        assert_eq!(take(&from_machine, 5), take(&SeededRandom::new(from_machine.seed()), 5));
    }

    #[test]
    fn the_sequence_is_that_of_split_mix() {
        // Published first values for the state 0.
        let expected = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        assert_eq!(take(&SeededRandom::new(0), 3), expected);
    }

    #[test]
    fn forked_sequences_are_their_own() {
        let (first, second) = (SeededRandom::new(1), SeededRandom::new(1));
        assert_eq!(take(&first.fork(), 3), take(&second.fork(), 3));
        assert_ne!(take(&first.fork(), 3), take(&first, 3));
    }

    #[test]
    fn numbers_below_an_end_stay_below_it() {
        let random = SeededRandom::new(9);
        let mut seen = [false; 3];
        for _ in 0..100 {
            seen[usize::try_from(random.below(3)).expect("small")] = true;
        }
        assert_eq!(seen, [true; 3]);
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn fixed_values_come_first_and_then_it_counts() {
        assert_eq!(take(&FixedRandom::new([7, 3]), 4), [7, 3, 4, 5]);
        assert_eq!(take(&FixedRandom::new([]), 2), [1, 2]);
        assert_eq!(take(&FixedRandom::new([u64::MAX]), 2), [u64::MAX, 0]);
    }
}
