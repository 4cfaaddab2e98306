//! What may be set when a store is opened.

use std::time::Duration;

use crate::error::{Code, Error, Result};

/// How a store behaves. All processes that share a store should open it with the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// How long a finished claim is replayed, from its completion: 1 minute to 30 days, 24 hours by default (IK-11). A
    /// claim keeps the window of the process that completed it.
    pub window: Duration,
    /// After so long without a refresh a reservation whose owner lives answers unknown: 1 minute or more, 1 hour by
    /// default (IK-09). It runs on the clock that stands while the machine sleeps.
    pub max_reservation: Duration,
    /// The largest answer that is saved, in bytes: 1 MiB by default, at most 512 MiB (IK-14).
    pub max_answer_bytes: usize,
    /// How long a call without a deadline of its own waits for another process's transaction: 5 seconds by default
    /// (IK-19).
    pub busy: Duration,
}

const MINUTE: Duration = Duration::from_secs(60);
const LONGEST_WINDOW: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// SQLite's own limit of a value is 1,000,000,000 bytes.
const LARGEST_ANSWER_BYTES: usize = 512 << 20;

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            window: Duration::from_secs(24 * 60 * 60),
            max_reservation: Duration::from_secs(60 * 60),
            max_answer_bytes: 1 << 20,
            busy: Duration::from_secs(5),
        }
    }
}

impl StoreOptions {
    /// Refuses what is out of range.
    ///
    /// # Errors
    /// `IDEMPOTENCY_INPUT` with the option's name as reason.
    pub(super) fn check(&self) -> Result<()> {
        let refuse =
            |reason, message: &str| Err(Error::new(Code::IdempotencyInput, message).with_reason(reason));
        if self.window < MINUTE || self.window > LONGEST_WINDOW {
            return refuse("window", "the window is 1 minute to 30 days");
        }
        if self.max_reservation < MINUTE {
            return refuse("max_reservation", "the longest reservation is 1 minute or more");
        }
        if self.max_answer_bytes > LARGEST_ANSWER_BYTES {
            return refuse("max_answer_bytes", "the largest answer is at most 512 MiB");
        }
        Ok(())
    }
}
