//! How long a call waits for somebody else's transaction, and in which steps.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::error::{Code, Error, Result};

/// The first pause. A transaction without its sync takes some tens of microseconds.
const FIRST_PAUSE: Duration = Duration::from_micros(20);

/// The longest pause. A sync takes milliseconds on a disk, and whoever sleeps longer idles the store.
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// A deadline on the awake clock, and the pause that comes next.
#[derive(Clone, Debug)]
pub struct Patience {
    clock: Arc<dyn Clock>,
    length: Duration,
    /// Set by the first wait: what is limited is waiting, and most calls never do.
    until: Option<Duration>,
    pause: Duration,
}

impl Patience {
    /// One that lasts this long from its first wait on.
    #[must_use]
    pub fn lasting(clock: &Arc<dyn Clock>, length: Duration) -> Self {
        Patience { clock: Arc::clone(clock), length, until: None, pause: FIRST_PAUSE }
    }

    /// What is left of it.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.until.map_or(self.length, |until| until.saturating_sub(self.clock.awake()))
    }

    /// Waits for a moment before the next try, at first for microseconds, then longer.
    ///
    /// # Errors
    /// `IDEMPOTENCY_BUSY` when nothing is left of it; `GALLIVANT_CANCELLED` when the caller's own signal ends the wait.
    pub fn pause(&mut self) -> Result<()> {
        self.until.get_or_insert_with(|| self.clock.awake().saturating_add(self.length));
        let left = self.left();
        if left.is_zero() {
            return Err(Error::new(Code::IdempotencyBusy, "another process was writing until the deadline"));
        }
        self.clock.sleep(self.pause.min(left));
        // By an eighth, so that no contender sleeps through many turns of the others.
        self.pause = (self.pause + self.pause / 8).min(LONGEST_PAUSE);
        if self.clock.is_cancelled() {
            return Err(Error::new(Code::Cancelled, "the wait for the store was cancelled"));
        }
        Ok(())
    }
}
