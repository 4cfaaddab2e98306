//! How long to wait after failures (EX-SCH-20 to EX-SCH-24), and the chance in it.
//!
//! Due times are saved as moments of the wall clock and never counted again, so a clock that goes back makes none later.

use std::fmt;
use std::sync::Arc;

use super::limits::Limits;
use crate::random::Random;

/// A number from 0 to 1 for each wait, so that runs that failed together do not come back together (EX-SEA-02).
pub trait Jitter: Send + Sync + fmt::Debug {
    /// The next number, from 0 to 1, both included.
    fn next(&self) -> f64;
}

/// The host's chance as jitter, evenly spread.
#[derive(Clone, Debug)]
pub struct RandomJitter(Arc<dyn Random>);

impl RandomJitter {
    /// Numbers from this source, such as [`Host::random`](crate::Host::random).
    #[must_use]
    pub fn new(random: Arc<dyn Random>) -> Self {
        RandomJitter(random)
    }
}

impl Jitter for RandomJitter {
    fn next(&self) -> f64 {
        // 53 bits are exact in a double, so both ends are reached.
        const LARGEST: u64 = (1 << 53) - 1;
        (self.0.next_u64() & LARGEST) as f64 / LARGEST as f64
    }
}

/// The same number every time.
#[derive(Clone, Copy, Debug)]
pub struct FixedJitter(pub f64);

impl Jitter for FixedJitter {
    fn next(&self) -> f64 {
        self.0
    }
}

/// How long to wait after this many failures in a row, in milliseconds (EX-SCH-20). 0 failures count as the first one.
///
/// `jitter` is from 0 to 1; what lies outside counts as the nearer end, and what is no number as 1. `retry_after_ms` is
/// what the provider asked for: at least so long, but never beyond `backoffMaxMs` (EX-SCH-21). It is ignored where it is
/// not finite or below 0 (EX-TRA-31).
#[must_use]
pub fn delay_ms(failures: u64, jitter: f64, retry_after_ms: Option<f64>, limits: &Limits) -> u64 {
    let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    // EX-SCH-23.
    let grown = 1_u64.checked_shl(doublings).and_then(|factor| limits.progress_ms.checked_mul(factor));
    let longest = grown.unwrap_or(u64::MAX).min(limits.backoff_max_ms);
    let jitter = if jitter.is_nan() { 1.0 } else { jitter.clamp(0.0, 1.0) };
    // Neither is beyond 2^53, and a cast saturates.
    let waited = (longest as f64 * (0.5 + 0.5 * jitter)).floor() as u64;
    let asked = retry_after_ms.filter(|ms| ms.is_finite() && *ms >= 0.0).map_or(0, |ms| ms.ceil() as u64);
    waited.max(asked).min(limits.backoff_max_ms)
}

/// The moment that lies so long after now, in milliseconds since 1970.
#[must_use]
pub fn due_at_ms(now_ms: u64, delay_ms: u64) -> u64 {
    now_ms.saturating_add(delay_ms)
}

/// Whether a saved due time is reached. Without one nothing is waited for.
#[must_use]
pub fn is_due(next_attempt_at_ms: Option<u64>, now_ms: u64) -> bool {
    next_attempt_at_ms.is_none_or(|due| now_ms >= due)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FixedRandom, SeededRandom};

    #[test]
    fn the_hosts_chance_reaches_both_ends_and_stays_between_them() {
        let ends = RandomJitter::new(Arc::new(FixedRandom::new([0, u64::MAX])));
        assert_eq!((ends.next(), ends.next()), (0.0, 1.0));
        let jitter = RandomJitter::new(Arc::new(SeededRandom::new(7)));
        let numbers: Vec<f64> = (0..1000).map(|_| jitter.next()).collect();
        assert!(numbers.iter().all(|number| (0.0..=1.0).contains(number)));
        let low = numbers.iter().filter(|number| **number < 0.5).count();
        assert!((400..600).contains(&low), "{low} of 1000 are below the half");
        assert_eq!(FixedJitter(0.25).next(), 0.25);
    }

    #[test]
    fn a_jitter_that_is_none_and_a_wait_that_is_none_do_no_harm() {
        let limits = Limits::default();
        for (jitter, delay) in [(f64::NAN, 10_000), (-1.0, 5_000), (2.0, 10_000), (f64::INFINITY, 10_000)] {
            assert_eq!(delay_ms(1, jitter, None, &limits), delay, "{jitter}");
        }
        for asked in [f64::NAN, f64::INFINITY, -1.0, -0.001] {
            assert_eq!(delay_ms(1, 1.0, Some(asked), &limits), 10_000, "{asked}");
        }
        assert_eq!(delay_ms(0, 1.0, None, &limits), 10_000);
    }

    #[test]
    fn a_due_time_is_a_moment_and_a_clock_that_goes_back_does_not_move_it() {
        let due = due_at_ms(1_000, 500);
        assert_eq!(due, 1_500);
        assert!(!is_due(Some(due), 1_499) && is_due(Some(due), 1_500));
        assert!(!is_due(Some(due), 0), "it is not due yet, and as due as before once the clock is there");
        assert!(is_due(None, 0));
        assert_eq!(due_at_ms(u64::MAX, 1), u64::MAX);
    }
}
