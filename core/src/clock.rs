//! Time: one trait with three clocks and one way to wait, and the real implementation.
//!
//! The wall clock is what records are stamped with. The boot clock counts the machine's sleep, the awake clock
//! does not. Deadlines of waits are measured on the awake clock, so that a stepped wall clock ends no wait.

use std::fmt;
use std::time::Duration;

/// Time as the library sees it. A simulation drives the real code by implementing this.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Milliseconds since 1970 on the wall clock; 0 before 1970.
    fn wall_ms(&self) -> u64;
    /// Time since boot, the machine's sleep included.
    fn boot(&self) -> Duration;
    /// Time since some fixed instant, without the machine's sleep; never goes back.
    fn awake(&self) -> Duration;
    /// All three at one instant, for what is stamped and judged. A clock that a test sets may stand still here while
    /// its waits are real.
    fn now(&self) -> ClockReading {
        let wall = Duration::from_millis(self.wall_ms());
        ClockReading { wall, boot: self.boot(), awake: self.awake() }
    }
    /// Waits for this long on the awake clock.
    fn sleep(&self, length: Duration);
    /// Whether the caller's own signal has ended its waits: an interpreter's signal handler, an abort signal. Asked
    /// after each pause of a wait, which then ends with [`crate::Code::Cancelled`].
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// The three clocks at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// Time since 1970; zero before 1970.
    pub wall: Duration,
    /// Time since boot, the machine's sleep included.
    pub boot: Duration,
    /// Time without the machine's sleep.
    pub awake: Duration,
}

/// A length of time in ms as people read it, in its two largest units: `5s`, `2m 5s`, `12m`, `3h 5m` or `2d 4h`. What is less than
/// the last unit is dropped.
#[must_use]
pub fn length_in_words(ms: u64) -> String {
    let seconds = ms / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, 1..10) => format!("{minutes}m {}s", seconds % 60),
        (0, 0, _) => format!("{minutes}m"),
        (0, ..) => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}

/// The clock that counts the machine's sleep, and the one that does not. By clock_gettime(3) of macOS its `CLOCK_MONOTONIC` goes on
/// in sleep; the two that are taken there are the raw ones, which differ by the sleep alone.
#[cfg(target_os = "linux")]
const BOOT: libc::clockid_t = libc::CLOCK_BOOTTIME;
#[cfg(target_os = "macos")]
const BOOT: libc::clockid_t = libc::CLOCK_MONOTONIC_RAW;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
const BOOT: libc::clockid_t = libc::CLOCK_MONOTONIC;
#[cfg(not(target_os = "macos"))]
const AWAKE: libc::clockid_t = libc::CLOCK_MONOTONIC;
#[cfg(target_os = "macos")]
const AWAKE: libc::clockid_t = libc::CLOCK_UPTIME_RAW;

/// The machine's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn wall_ms(&self) -> u64 {
        u64::try_from(wall().as_millis()).unwrap_or(u64::MAX)
    }

    fn boot(&self) -> Duration {
        read(BOOT)
    }

    fn awake(&self) -> Duration {
        read(AWAKE)
    }

    fn now(&self) -> ClockReading {
        ClockReading { wall: wall(), boot: self.boot(), awake: self.awake() }
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that waits")]
    fn sleep(&self, length: Duration) {
        std::thread::sleep(length);
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
fn wall() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

/// By way of the C library, which finds the kernel's own page for it in a program that is linked statically too.
fn read(id: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure lives until the call returns. Every system that this is built for has these clocks.
    unsafe { libc::clock_gettime(id, &raw mut time) };
    // Both clocks count from boot, so neither field is ever negative.
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::length_in_words;

    #[test]
    fn lengths_have_two_units_at_most() {
        let lengths = [0, 59_999, 61_000, 600_000, 3_661_000, 90_061_000].map(length_in_words);
        assert_eq!(lengths, ["0s", "59s", "1m 1s", "10m", "1h 1m", "1d 1h"]);
    }
}
