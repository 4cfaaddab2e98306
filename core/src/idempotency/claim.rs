//! What stands on disk for one name, as the rules see it.

use super::Fingerprint;
use crate::clock::{Clock, ClockReading};
use crate::process::ProcessIdentity;
use crate::random::Random;

/// Names one reservation for ever: 16 random bytes, fresh for each.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClaimToken([u8; 16]);

impl ClaimToken {
    /// A fresh one.
    #[must_use]
    pub fn mint(random: &dyn Random) -> Self {
        ClaimToken(random.next_u128().to_le_bytes())
    }

    /// One that an engine kept.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        ClaimToken(bytes)
    }

    /// The bytes that an engine keeps.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl std::fmt::Debug for ClaimToken {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A token proves ownership of a reservation; half of it names it well enough in a log.
        self.0[..8].iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

/// The durable record of one name. An engine keeps it whole: every field comes back as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRecord {
    /// The reservation that made it, or the act that replaced it.
    pub token: ClaimToken,
    /// Of the body of the create that it belongs to.
    pub fingerprint: Fingerprint,
    /// What it stands for now.
    pub state: ClaimState,
}

/// What a claim stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimState {
    /// A create runs, or ran until its owner was lost.
    Reserved {
        /// Whether an effect that a retry could double may have happened (IK-05).
        is_marked: bool,
        /// The process that holds it; none once that gave it up after the mark.
        owner: Option<Owner>,
    },
    /// The create has finished.
    Finished {
        /// The id of the thing that was made.
        resource: String,
        /// The answer that its caller got; none where the resource was only found afterwards (IK-05).
        answer: Option<Vec<u8>>,
        /// When, in milliseconds since 1970 on the finisher's wall clock.
        completed_ms: u64,
        /// How long the claim lives from then on, in milliseconds (IK-11).
        window_ms: u64,
    },
}

/// Who holds a reservation, and when it was last seen to live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The process. Unreadable parts are empty or 0, and then nothing can be proved of it.
    pub process: ProcessIdentity,
    /// When it last refreshed.
    pub refreshed: Stamp,
}

/// An instant as a claim keeps it: the wall clock, which every machine has, and two readings that mean something to
/// whoever shares the boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Milliseconds since 1970 on the wall clock.
    pub wall_ms: u64,
    /// Milliseconds on the awake clock, which stands while the machine sleeps.
    pub awake_ms: u64,
    /// How long the machine has slept since it booted, in milliseconds.
    pub slept_ms: u64,
}

impl Stamp {
    /// Now.
    #[must_use]
    pub fn now(clock: &dyn Clock) -> Self {
        Stamp::at(&clock.now(), clock)
    }

    /// This instant. The awake clock runs even where a test lets the others stand, because a limit is measured on it.
    pub(super) fn at(now: &ClockReading, clock: &dyn Clock) -> Self {
        Stamp {
            wall_ms: whole_ms(now.wall),
            awake_ms: whole_ms(clock.awake()),
            slept_ms: whole_ms(now.boot.saturating_sub(now.awake)),
        }
    }
}

pub(super) fn whole_ms(length: std::time::Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

impl ClaimRecord {
    /// Whether a finished claim has lived its window at this wall clock: at the very millisecond it has. A stamp from the
    /// future has no age, so it has not.
    #[must_use]
    pub fn is_expired(&self, wall_ms: u64) -> bool {
        match self.state {
            ClaimState::Finished { completed_ms, window_ms, .. } => {
                wall_ms.checked_sub(completed_ms).is_some_and(|age| age >= window_ms)
            }
            ClaimState::Reserved { .. } => false,
        }
    }
}
