//! Waiting for a lock without holding a worker.
//!
//! libuv has four workers, and the program's own file and name look-ups need them. A call that finds the lock held
//! polls it for a slice of a few milliseconds at most, as the core does it, and then answers `again`; JavaScript
//! pauses by a timer and calls once more. The call as a whole ends as busy when its deadline, counted from its very
//! beginning, has passed. No thread waits, so there is none to join when an environment ends.
//!
//! The seam is the core's `Clock`: every pause of a wait goes through `sleep`, and after it the core asks
//! `is_cancelled`. Which call is meant is kept for the thread, because a writer's clock is shared by its calls.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::time::Duration;

use gallivant_core::clock::{Clock, ClockReading};
use napi_derive::napi;

/// How long the first try of a call polls: most holders work for far less than this.
const FIRST_SLICE: Duration = Duration::from_millis(2);
/// How long a later try polls. A hundred waiting calls then use a worker half of the time.
const LATER_SLICE: Duration = Duration::from_micros(250);
const FIRST_PAUSE_MS: u32 = 1;
/// As long as the core's own longest pause, so that a waiter notices a release as soon as another program would.
const LONGEST_PAUSE_MS: u32 = 50;

/// Nothing runs on a worker; a call is queued, pausing, or not made yet.
const RESTING: u8 = 0;
/// A worker is at it, or has done it: what came of it is the answer.
const RUNNING: u8 = 1;
/// The signal has fired. Final.
const ABORTED: u8 = 2;

/// One call that may wait, over all its tries.
#[derive(Debug)]
pub(crate) struct Wait {
    clock: Arc<dyn Clock>,
    /// On the clock's awake time, as the deadline.
    began: Duration,
    deadline: Duration,
    state: AtomicU8,
    pause_ms: AtomicU32,
}

/// How a try of a call behaves while a lock is held by somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It gives the worker back after a slice.
    Slices,
    /// The same, for a call of the core that was given what is left of the deadline ([`Wait::left`]). It stamps and judges
    /// by the clock by which it waits, so that this one always tells the time.
    SlicesWithin,
    /// The same as the first until the core reads the wall clock. Claims take the record's lock before they read it, and what they
    /// wait for afterwards, while they hold that lock, is bounded by the core and must not be cut short.
    SlicesUntilClockIsRead,
    /// As the first, for a call of the core that may wait for one lock less long than for another: the first reading of the
    /// awake time is that of the call's beginning, so that the first lock's own deadline does not begin anew with each try. The
    /// core reads the wall clock once it has that lock: what it does then takes its own time, and the signal alone ends a wait.
    SlicesSinceBegin,
    /// It waits on the worker, until the deadline or the signal. For what must be made in one try.
    OneTry,
    /// It takes no lock, so neither deadline nor signal ends it: what it measures is measured by the machine's own clocks.
    Unlimited,
}

/// A try in progress on this thread.
struct Try {
    wait: Arc<Wait>,
    slice_until: Option<Duration>,
    until_clock_is_read: bool,
    /// Whether the clock is to say that the deadline has passed, to a core that does not know it.
    tells_end: bool,
    /// What the next reading of the awake time answers instead.
    began: Option<Duration>,
    /// Whether all of its patience is for the first lock.
    has_own_locks: bool,
}

thread_local! {
    static PRESENT: RefCell<Option<Try>> = const { RefCell::new(None) };
}

impl Wait {
    /// A call that begins now.
    pub(crate) fn begin(clock: &Arc<dyn Clock>, at_most: Duration) -> Self {
        let began = clock.awake();
        Wait {
            clock: Arc::clone(clock),
            began,
            deadline: began.saturating_add(at_most),
            state: AtomicU8::new(RESTING),
            pause_ms: AtomicU32::new(FIRST_PAUSE_MS),
        }
    }

    /// Ends the call. Answers true when nothing runs for it, and nothing will.
    pub(crate) fn abort(&self) -> bool {
        self.state.swap(ABORTED, Ordering::AcqRel) != RUNNING
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.state.load(Ordering::Acquire) == ABORTED
    }

    /// The try that ran has come to nothing and is to be made again. Answers false when the signal has fired meanwhile.
    pub(crate) fn rest(&self) -> bool {
        self.state.compare_exchange(RUNNING, RESTING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// What is left until the deadline.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_sub(self.clock.awake())
    }

    /// The pause before the next try: it doubles, and does not outlast the deadline.
    pub(crate) fn next_pause_ms(&self) -> u32 {
        let pause_ms = self.pause_ms.load(Ordering::Relaxed);
        self.pause_ms.store((pause_ms * 2).min(LONGEST_PAUSE_MS), Ordering::Relaxed);
        let left = self.left().as_millis();
        pause_ms.min(u32::try_from(left).unwrap_or(u32::MAX)).max(1)
    }

    /// Runs one try with this patience; none when the signal has fired before it.
    pub(crate) fn run<T>(self: &Arc<Self>, patience: Patience, action: impl FnOnce() -> T) -> Option<T> {
        self.state.compare_exchange(RESTING, RUNNING, Ordering::AcqRel, Ordering::Acquire).ok()?;
        if patience == Patience::Unlimited {
            return Some(action());
        }
        let is_first = self.pause_ms.load(Ordering::Relaxed) == FIRST_PAUSE_MS;
        let slice = if is_first { FIRST_SLICE } else { LATER_SLICE };
        let slice_until = (patience != Patience::OneTry)
            .then(|| self.clock.awake().saturating_add(slice).min(self.deadline));
        let until_clock_is_read = patience == Patience::SlicesUntilClockIsRead;
        let tells_end = patience != Patience::SlicesWithin;
        let began = (patience == Patience::SlicesSinceBegin).then_some(self.began);
        let has_own_locks = began.is_some();
        let wait = Arc::clone(self);
        let present = Try { wait, slice_until, until_clock_is_read, tells_end, began, has_own_locks };
        PRESENT.with_borrow_mut(|kept| *kept = Some(present));
        let _cleared = Cleared;
        Some(action())
    }
}

/// Ends a try, also when the action panics.
struct Cleared;

impl Drop for Cleared {
    fn drop(&mut self) {
        PRESENT.with_borrow_mut(|kept| *kept = None);
    }
}

/// The host's clock, in front of which the present try's patience stands.
#[derive(Debug)]
pub(crate) struct PatientClock {
    inner: Arc<dyn Clock>,
}

impl PatientClock {
    pub(crate) fn new(inner: Arc<dyn Clock>) -> Self {
        PatientClock { inner }
    }
}

impl Clock for PatientClock {
    fn wall_ms(&self) -> u64 {
        PRESENT.with_borrow_mut(|present| match present {
            Some(at) if at.until_clock_is_read => *present = None,
            Some(at) if at.has_own_locks => {
                (at.tells_end, at.slice_until) = (false, None);
            }
            _ => {}
        });
        self.inner.wall_ms()
    }

    fn boot(&self) -> Duration {
        self.inner.boot()
    }

    /// After the call's deadline it is as late as can be, so that the core's own deadline, which each try sets
    /// anew, has passed too and the core says `busy`.
    fn awake(&self) -> Duration {
        let now = self.inner.awake();
        PRESENT.with_borrow_mut(|present| match present {
            Some(at) if at.tells_end && now >= at.wait.deadline => Duration::MAX,
            Some(at) => at.began.take().unwrap_or(now),
            None => now,
        })
    }

    /// What is stamped is stamped by the machine's own clocks, whatever is left of the call's patience.
    fn now(&self) -> ClockReading {
        self.wall_ms();
        self.inner.now()
    }

    fn sleep(&self, length: Duration) {
        let now = self.inner.awake();
        let left = PRESENT.with_borrow(|present| {
            present.as_ref().and_then(|present| present.slice_until).map(|until| until.saturating_sub(now))
        });
        self.inner.sleep(left.map_or(length, |left| left.min(length)));
    }

    fn is_cancelled(&self) -> bool {
        let now = self.inner.awake();
        let is_cut = PRESENT.with_borrow(|present| {
            present.as_ref().is_some_and(|present| {
                let is_slice_over = present.slice_until.is_some_and(|until| until <= now);
                present.wait.is_aborted() || is_slice_over && now < present.wait.deadline
            })
        });
        is_cut || self.inner.is_cancelled()
    }
}

/// One call that may wait, for JavaScript to hand to each of its tries.
#[napi]
#[derive(Debug)]
pub struct NativeWait {
    pub(crate) wait: Arc<Wait>,
}

#[napi]
impl NativeWait {
    /// Ends the call because its signal has fired. Answers true when nothing has been or will be written by it. Where
    /// a try is running, it ends at its next pause, or with what it has done by then.
    #[napi(catch_unwind)]
    pub fn abort(&self) -> bool {
        self.wait.abort()
    }
}
