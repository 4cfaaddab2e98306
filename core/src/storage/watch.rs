//! Being told of changes: the trait, and what stands in for it where the system does not notify.
//!
//! A notifier says in which directory and at which name something happened, and wakes whoever waits, at an alarm too.
//! It never says what happened: whoever is told looks.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::clock::Clock;

/// How long a wait without a descriptor sleeps at a time, so that a wake and a cancellation end it soon.
const LONGEST_SLICE: Duration = Duration::from_millis(50);

/// What of a directory is of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Every name in it that comes, goes, or stands for something that was changed; and its own fate. A link in its
    /// place is not followed.
    Names,
    /// The same, with links followed.
    NamesThroughLink,
    /// Only that it is moved or removed itself. Links are followed.
    Itself,
}

/// One watched directory. Two paths to the same directory have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(pub u64);

/// One sign that something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice<'a> {
    /// Something happened to a name in a directory.
    Name {
        /// The directory.
        id: WatchId,
        /// The name.
        name: &'a [u8],
        /// Whether it stands or stood for a directory.
        is_directory: bool,
    },
    /// The directory itself was moved, removed or unmounted.
    Itself {
        /// The directory.
        id: WatchId,
    },
    /// There were more notices than the system keeps: anything may have happened.
    Lost,
    /// The wall clock was set.
    ClockSet,
    /// The process that is watched has ended.
    ProcessEnded,
}

/// When to wake without a notice; the earlier of the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alarm {
    /// After so much time on the awake clock.
    pub awake: Option<Duration>,
    /// After so much time on the wall clock, the machine's sleep included. A wall clock that is set wakes too.
    pub wall: Option<Duration>,
}

/// Tells of changes in directories. It has no thread: it is waited for, or its descriptor is polled.
pub trait Notifier: Send + fmt::Debug {
    /// Tells of this directory from now on: of whatever happens after the call has returned. Watched once more, it is
    /// told of for both interests.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where the platform or the file system does not notify, or not of everything, as
    /// network file systems do not; `ENOSPC`, `EMFILE` or `ENOMEM` where a limit is reached; else as the system says
    /// it.
    fn watch(&mut self, path: &Path, interest: Interest) -> io::Result<WatchId>;

    /// Tells of this directory no longer.
    fn unwatch(&mut self, id: WatchId);

    /// Tells once when the process that has this pid at the moment ends, in the place of one that was watched before.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where the platform does not tell; else as the system says it, among others that no
    /// process has the pid.
    fn watch_process(&mut self, _pid: u32) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Hands out what has happened since the last call, without waiting. The descriptor is not readable afterwards,
    /// until something new happens.
    ///
    /// # Errors
    /// As the system says it.
    fn drain(&mut self, visit: &mut dyn FnMut(Notice<'_>)) -> io::Result<()>;

    /// Wakes then, in the place of the alarm that was set before.
    ///
    /// # Errors
    /// As the system says it.
    fn set_alarm(&mut self, alarm: &Alarm) -> io::Result<()>;

    /// Waits until there is something to hand out, the alarm is due, somebody wakes or has woken and was not asked for by
    /// [`Notifier::was_woken`] yet, or a signal arrives; for at most `longest`. It may return early.
    ///
    /// # Errors
    /// As the system says it.
    fn wait(&mut self, longest: Option<Duration>) -> io::Result<()>;

    /// Readable when [`Notifier::drain`] should be called; none where there is no such descriptor.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// What ends a wait from another thread.
    fn waker(&self) -> Waker;

    /// Whether somebody has woken since it was asked last.
    fn was_woken(&mut self) -> bool;

    /// Whether it came through a fork and so is the parent's.
    fn is_forked(&self) -> bool;
}

/// Something that a wait sleeps on.
pub(super) trait Bell: Send + Sync + fmt::Debug {
    /// Ends the wait.
    fn ring(&self);
}

/// Ends the wait of a [`Notifier`] from another thread. Once that is closed it does nothing.
#[derive(Clone, Debug)]
pub struct Waker {
    woken: Arc<AtomicBool>,
    bell: Option<Weak<dyn Bell>>,
}

impl Waker {
    pub(super) fn new(bell: Option<Weak<dyn Bell>>) -> Self {
        Waker { woken: Arc::default(), bell }
    }

    /// Ends the wait in progress, or the next one.
    pub fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        if let Some(bell) = self.bell.as_ref().and_then(Weak::upgrade) {
            bell.ring();
        }
    }

    pub(super) fn take(&self) -> bool {
        self.woken.swap(false, Ordering::AcqRel)
    }

    pub(super) fn is_woken(&self) -> bool {
        self.woken.load(Ordering::Acquire)
    }
}

/// Where the system does not notify: nothing can be watched, and waiting is sleeping on the clock until the alarm.
#[derive(Debug)]
pub struct PollingNotifier {
    clock: Arc<dyn Clock>,
    alarm: Alarm,
    waker: Waker,
    fork_generation: u64,
}

impl PollingNotifier {
    /// One that sleeps on this clock.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let fork_generation = super::fork::counted_generation();
        PollingNotifier { clock, alarm: Alarm::default(), waker: Waker::new(None), fork_generation }
    }
}

impl Notifier for PollingNotifier {
    fn watch(&mut self, _path: &Path, _interest: Interest) -> io::Result<WatchId> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn unwatch(&mut self, _id: WatchId) {}

    fn drain(&mut self, _visit: &mut dyn FnMut(Notice<'_>)) -> io::Result<()> {
        Ok(())
    }

    fn set_alarm(&mut self, alarm: &Alarm) -> io::Result<()> {
        self.alarm = *alarm;
        Ok(())
    }

    fn wait(&mut self, longest: Option<Duration>) -> io::Result<()> {
        let started = self.clock.awake();
        let longest =
            [longest, self.alarm.awake, self.alarm.wall].into_iter().flatten().min().unwrap_or(Duration::MAX);
        while !self.waker.is_woken() && !self.clock.is_cancelled() {
            let left = longest.saturating_sub(self.clock.awake().saturating_sub(started));
            if left.is_zero() {
                break;
            }
            self.clock.sleep(left.min(LONGEST_SLICE));
        }
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn was_woken(&mut self) -> bool {
        self.waker.take()
    }

    fn is_forked(&self) -> bool {
        self.fork_generation != super::fork_generation()
    }
}
