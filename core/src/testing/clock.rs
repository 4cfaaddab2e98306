//! Clocks under a test's control.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, ClockReading, SystemClock};

/// A wall clock that stands where a test puts it.
///
/// Waiting is real, because what is waited for may be another, real process: the boot and awake clocks that waits are
/// measured on run. What is stamped and judged sees all three stand still ([`Clock::now`]), until
/// [`ManualClock::advance`] moves them.
#[derive(Debug)]
pub struct ManualClock {
    state: Mutex<Manual>,
}

#[derive(Debug)]
struct Manual {
    wall_ms: u64,
    /// The machine's clocks when this one was made.
    made: (Duration, Duration),
    boot_ahead: Duration,
    awake_ahead: Duration,
    /// How long the machine has slept, where all three clocks stand with the wall.
    stands: Option<Duration>,
}

impl ManualClock {
    /// A clock whose wall stands at this many milliseconds since 1970.
    #[must_use]
    pub fn new(wall_ms: u64) -> Self {
        let made = (SystemClock.boot(), SystemClock.awake());
        let state =
            Manual { wall_ms, made, boot_ahead: Duration::ZERO, awake_ahead: Duration::ZERO, stands: None };
        ManualClock { state: Mutex::new(state) }
    }

    /// Puts the wall clock there, as an operator or a time server does; the other two go on.
    pub fn set_wall_ms(&self, wall_ms: u64) {
        self.lock().wall_ms = wall_ms;
    }

    /// Lets this much time pass on all three clocks at once.
    pub fn advance(&self, length: Duration) {
        let mut state = self.lock();
        state.awake_ahead = state.awake_ahead.saturating_add(length);
        state.sleep_machine(length);
    }

    /// Lets the machine sleep: time passes on the wall and boot clocks and not on the awake clock.
    pub fn suspend(&self, length: Duration) {
        self.lock().sleep_machine(length);
    }

    /// Puts all that is stamped and judged there, as if the machine had booted in 1970 and slept for so long since: the
    /// awake clock stands with the wall clock, the boot clock ahead of it by the sleep. Clocks of several processes that
    /// are put to one instant agree, whenever each was made.
    pub fn stand_at(&self, wall_ms: u64, slept: Duration) {
        let mut state = self.lock();
        state.wall_ms = wall_ms;
        state.stands = Some(slept);
    }

    fn lock(&self) -> MutexGuard<'_, Manual> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Manual {
    fn sleep_machine(&mut self, length: Duration) {
        self.wall_ms = self.wall_ms.saturating_add(whole_ms(length));
        self.boot_ahead = self.boot_ahead.saturating_add(length);
    }
}

impl Clock for ManualClock {
    fn wall_ms(&self) -> u64 {
        self.lock().wall_ms
    }

    fn boot(&self) -> Duration {
        SystemClock.boot().saturating_add(self.lock().boot_ahead)
    }

    fn awake(&self) -> Duration {
        SystemClock.awake().saturating_add(self.lock().awake_ahead)
    }

    fn now(&self) -> ClockReading {
        let state = self.lock();
        let (boot, awake) = state.made;
        let wall = Duration::from_millis(state.wall_ms);
        if let Some(slept) = state.stands {
            return ClockReading { wall, boot: wall.saturating_add(slept), awake: wall };
        }
        ClockReading {
            wall,
            boot: boot.saturating_add(state.boot_ahead),
            awake: awake.saturating_add(state.awake_ahead),
        }
    }

    fn sleep(&self, length: Duration) {
        SystemClock.sleep(length);
    }
}

/// Three virtual clocks. Waiting moves them on at once and costs no time.
#[derive(Debug)]
pub struct SimulatedClock {
    state: Mutex<Simulated>,
}

#[derive(Clone, Debug)]
struct Simulated {
    wall_ms: u64,
    /// What has passed of the wall clock's next millisecond.
    rest: Duration,
    boot: Duration,
    awake: Duration,
}

impl SimulatedClock {
    /// A clock whose wall stands at this many milliseconds since 1970, on a machine that has just booted.
    #[must_use]
    pub fn new(wall_ms: u64) -> Self {
        SimulatedClock { state: Mutex::new(Simulated::just_booted(wall_ms, Duration::ZERO)) }
    }

    /// The clock of the same machine after a reboot: the wall clock goes on, the other two begin again.
    #[must_use]
    pub fn rebooted(&self) -> Self {
        let state = self.lock();
        SimulatedClock { state: Mutex::new(Simulated::just_booted(state.wall_ms, state.rest)) }
    }

    /// Puts the wall clock there, as an operator or a time server does; the other two go on.
    pub fn set_wall_ms(&self, wall_ms: u64) {
        let mut state = self.lock();
        state.wall_ms = wall_ms;
        state.rest = Duration::ZERO;
    }

    /// Lets this much time pass on all three clocks.
    pub fn advance(&self, length: Duration) {
        let mut state = self.lock();
        state.awake = state.awake.saturating_add(length);
        state.sleep_machine(length);
    }

    /// Lets the machine sleep: time passes on the wall and boot clocks and not on the awake clock.
    pub fn suspend(&self, length: Duration) {
        self.lock().sleep_machine(length);
    }

    fn lock(&self) -> MutexGuard<'_, Simulated> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Simulated {
    fn just_booted(wall_ms: u64, rest: Duration) -> Self {
        Simulated { wall_ms, rest, boot: Duration::ZERO, awake: Duration::ZERO }
    }

    fn sleep_machine(&mut self, length: Duration) {
        self.boot = self.boot.saturating_add(length);
        // Waits are shorter than a millisecond, so that the parts have to be kept.
        let passed = self.rest.saturating_add(length);
        self.wall_ms = self.wall_ms.saturating_add(whole_ms(passed));
        self.rest = Duration::from_nanos(u64::from(passed.subsec_nanos() % 1_000_000));
    }
}

impl Clock for SimulatedClock {
    fn wall_ms(&self) -> u64 {
        self.lock().wall_ms
    }

    fn boot(&self) -> Duration {
        self.lock().boot
    }

    fn awake(&self) -> Duration {
        self.lock().awake
    }

    fn sleep(&self, length: Duration) {
        self.advance(length);
    }
}

fn whole_ms(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_wall_clock_stands_and_the_others_run() {
        let clock = ManualClock::new(5_000);
        let awake = clock.awake();
        clock.sleep(Duration::from_millis(2));
        assert!(clock.awake() - awake >= Duration::from_millis(2), "waiting is real");
        assert_eq!(clock.wall_ms(), 5_000);
        let stands = clock.now();
        clock.sleep(Duration::from_millis(2));
        assert_eq!(clock.now(), stands, "what is judged stands still");
        clock.advance(Duration::from_millis(1_500));
        assert_eq!(clock.wall_ms(), 6_500);
        assert!(clock.awake() - awake >= Duration::from_millis(1_502));
        clock.set_wall_ms(10);
        assert_eq!(clock.wall_ms(), 10);
    }

    #[test]
    fn a_suspended_machine_does_not_age_on_the_awake_clock() {
        let hour = Duration::from_secs(3600);
        let clock = ManualClock::new(0);
        let (boot, awake) = (clock.boot(), clock.awake());
        clock.suspend(hour);
        assert!(clock.boot() - boot >= hour);
        assert!(clock.awake() - awake < hour);
        assert_eq!(clock.wall_ms(), 3_600_000);

        let clock = SimulatedClock::new(7);
        clock.suspend(hour);
        assert_eq!((clock.wall_ms(), clock.boot(), clock.awake()), (3_600_007, hour, Duration::ZERO));
    }

    #[test]
    fn short_waits_add_up_on_the_simulated_wall_clock() {
        let clock = SimulatedClock::new(100);
        for _ in 0..150 {
            clock.sleep(Duration::from_micros(20));
        }
        assert_eq!((clock.wall_ms(), clock.awake()), (103, Duration::from_millis(3)));
        let later = clock.rebooted();
        assert_eq!((later.wall_ms(), later.awake(), later.boot()), (103, Duration::ZERO, Duration::ZERO));
    }

    #[test]
    fn clocks_stop_at_their_ends() {
        let clock = SimulatedClock::new(u64::MAX - 1);
        clock.advance(Duration::MAX);
        clock.advance(Duration::from_secs(1));
        assert_eq!((clock.wall_ms(), clock.awake()), (u64::MAX, Duration::MAX));
        let clock = ManualClock::new(u64::MAX);
        clock.advance(Duration::MAX);
        assert_eq!((clock.wall_ms(), clock.boot()), (u64::MAX, Duration::MAX));
    }
}
