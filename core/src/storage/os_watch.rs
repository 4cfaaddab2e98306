//! Notification on Linux: inotify, two timers and an event counter under one epoll descriptor.
//!
//! The wall clock's timer is cancelled by the kernel when the clock is set, which makes the descriptor readable. All
//! its descriptors are closed in a forked child, because whoever reads notices there takes them from the parent.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd};
use rustix::fs::inotify::{self, ReadFlags, WatchFlags};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, PidfdFlags};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags};

use super::NETWORK_FILE_SYSTEMS;
use super::fork::ForkGuarded;
use super::watch::{Alarm, Bell, Interest, Notice, Notifier, Waker, WatchId};

/// FUSE (`f_type` by statfs(2)): what is behind it may change without this kernel's doing.
const FUSE: rustix::fs::FsWord = 0x6573_5546;

/// The wall clock's timer is never unarmed, or nobody would be told that the clock was set.
const FAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// An event with the longest name takes some 270 bytes; this holds a burst.
const BUFFER_BYTES: usize = 16 * 1024;

/// Notices from the kernel.
#[derive(Debug)]
pub(super) struct InotifyNotifier {
    epoll: ForkGuarded,
    /// Why nothing can be watched, where there is no inotify to be had.
    inotify: Result<ForkGuarded, i32>,
    awake_timer: ForkGuarded,
    wall_timer: ForkGuarded,
    counter: Arc<Counter>,
    /// Becomes readable, and stays so, when the process has ended.
    process: Option<ForkGuarded>,
    waker: Waker,
    clock_set: bool,
}

/// The descriptor that a wake makes readable.
#[derive(Debug)]
struct Counter(ForkGuarded);

impl Bell for Counter {
    fn ring(&self) {
        // A counter that is full is readable already.
        if let Some(fd) = self.0.get() {
            let _ = retry_on_intr(|| rustix::io::write(fd, &1_u64.to_ne_bytes()));
        }
    }
}

impl InotifyNotifier {
    /// # Errors
    /// No descriptors are left.
    pub(super) fn open() -> io::Result<Self> {
        let timer = |clock| {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            ForkGuarded::open(|| rustix::time::timerfd_create(clock, flags))
        };
        let epoll = ForkGuarded::open(|| epoll::create(epoll::CreateFlags::CLOEXEC))?;
        let awake_timer = timer(TimerfdClockId::Monotonic)?;
        let wall_timer = timer(TimerfdClockId::Realtime)?;
        let counter =
            ForkGuarded::open(|| eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)).map(Counter)?;
        let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
        let inotify = ForkGuarded::open(|| inotify::init(flags)).map_err(Errno::raw_os_error);
        let counter = Arc::new(counter);
        // The type is spelled so that the weak reference is made from the one to the trait.
        let bell: Arc<dyn Bell> = Arc::clone(&counter) as _;
        let waker = Waker::new(Some(Arc::downgrade(&bell) as Weak<dyn Bell>));
        let mut notifier = InotifyNotifier {
            epoll,
            inotify,
            awake_timer,
            wall_timer,
            counter,
            process: None,
            waker,
            clock_set: false,
        };
        for source in notifier.sources() {
            epoll::add(notifier.epoll()?, source, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        }
        notifier.set_alarm(&Alarm::default())?;
        Ok(notifier)
    }

    fn sources(&self) -> impl Iterator<Item = &OwnedFd> {
        [Some(&self.awake_timer), Some(&self.wall_timer), Some(&self.counter.0), self.inotify.as_ref().ok()]
            .into_iter()
            .flatten()
            .filter_map(ForkGuarded::get)
    }

    fn epoll(&self) -> io::Result<&OwnedFd> {
        lent(&self.epoll)
    }

    fn unwatch_process(&mut self) {
        if let Some(process) = self.process.take()
            && let (Some(epoll), Some(process)) = (self.epoll.get(), process.get())
        {
            // Closing alone would not do while a process without our fork handler holds a copy.
            let _ = epoll::delete(epoll, process);
        }
    }

    /// Reads a timer or counter, so that it is not readable any more; whether it had been cancelled.
    fn quieten(source: &ForkGuarded) -> io::Result<bool> {
        let mut count = [0; 8];
        match retry_on_intr(|| rustix::io::read(lent_raw(source)?, &mut count)) {
            Ok(_) | Err(Errno::AGAIN) => Ok(false),
            Err(Errno::CANCELED) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

fn lent(fd: &ForkGuarded) -> io::Result<&OwnedFd> {
    Ok(lent_raw(fd)?)
}

fn lent_raw(fd: &ForkGuarded) -> Result<&OwnedFd, Errno> {
    fd.get().ok_or(Errno::BADF)
}

impl Notifier for InotifyNotifier {
    fn watch(&mut self, path: &Path, interest: Interest) -> io::Result<WatchId> {
        let inotify = match &self.inotify {
            Ok(inotify) => lent(inotify)?,
            Err(errno) => return Err(io::Error::from_raw_os_error(*errno)),
        };
        let itself = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let names = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB;
        let flags = match interest {
            Interest::Itself => itself,
            Interest::Names => itself | names | WatchFlags::DONT_FOLLOW,
            Interest::NamesThroughLink => itself | names,
        };
        // Of what others change, inotify does not tell everything.
        let file_system = retry_on_intr(|| rustix::fs::statfs(path))?.f_type;
        if file_system == FUSE || NETWORK_FILE_SYSTEMS.contains(&file_system) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let flags = flags | WatchFlags::ONLYDIR | WatchFlags::MASK_ADD | WatchFlags::EXCL_UNLINK;
        let id = retry_on_intr(|| inotify::add_watch(inotify, path, flags))?;
        Ok(WatchId(u64::try_from(id).unwrap_or(u64::MAX)))
    }

    fn unwatch(&mut self, id: WatchId) {
        if let (Ok(inotify), Ok(id)) = (&self.inotify, i32::try_from(id.0))
            && let Some(inotify) = inotify.get()
        {
            // It may be gone already, together with its directory.
            let _ = inotify::remove_watch(inotify, id);
        }
    }

    fn watch_process(&mut self, pid: u32) -> io::Result<()> {
        self.unwatch_process();
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        let process = ForkGuarded::open(|| rustix::process::pidfd_open(pid, PidfdFlags::empty()))?;
        let data = epoll::EventData::new_u64(0);
        epoll::add(self.epoll()?, lent(&process)?, data, epoll::EventFlags::IN)?;
        self.process = Some(process);
        Ok(())
    }

    fn drain(&mut self, visit: &mut dyn FnMut(Notice<'_>)) -> io::Result<()> {
        Self::quieten(&self.counter.0)?;
        Self::quieten(&self.awake_timer)?;
        if Self::quieten(&self.wall_timer)? | std::mem::take(&mut self.clock_set) {
            visit(Notice::ClockSet);
        }
        if let Some(process) = &self.process {
            let mut polled = [PollFd::new(lent(process)?, PollFlags::IN)];
            if retry_on_intr(|| rustix::event::poll(&mut polled, Some(&zero())))? > 0 {
                self.unwatch_process();
                visit(Notice::ProcessEnded);
            }
        }
        let Ok(inotify) = &self.inotify else { return Ok(()) };
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
        let mut events = inotify::Reader::new(lent(inotify)?, &mut buffer);
        loop {
            let event = match events.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let flags = event.events();
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                visit(Notice::Lost);
                continue;
            }
            let id = WatchId(u64::try_from(event.wd()).unwrap_or(u64::MAX));
            let is_directory = flags.contains(ReadFlags::ISDIR);
            match event.file_name() {
                Some(name) => visit(Notice::Name { id, name: name.to_bytes(), is_directory }),
                None if flags.intersects(
                    ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT | ReadFlags::IGNORED,
                ) =>
                {
                    visit(Notice::Itself { id });
                }
                // Its own attributes: whether it can be searched is seen in its parent, where that matters.
                None => {}
            }
        }
    }

    fn set_alarm(&mut self, alarm: &Alarm) -> io::Result<()> {
        let once = |value: Timespec| Itimerspec { it_interval: zero(), it_value: value };
        // A zero would unarm it.
        let awake = alarm.awake.map_or(zero(), |after| timespec(after.max(Duration::from_nanos(1))));
        rustix::time::timerfd_settime(lent(&self.awake_timer)?, TimerfdTimerFlags::empty(), &once(awake))?;
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let after = timespec(alarm.wall.unwrap_or(FAR).min(FAR));
        let at = Timespec { tv_sec: now.tv_sec + after.tv_sec, tv_nsec: now.tv_nsec + after.tv_nsec };
        let at = Timespec { tv_sec: at.tv_sec + at.tv_nsec / NANOS, tv_nsec: at.tv_nsec % NANOS };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        match rustix::time::timerfd_settime(lent(&self.wall_timer)?, flags, &once(at)) {
            Ok(_) => Ok(()),
            // The clock was set since it was armed before. It is armed; whoever waits has to look at the clock.
            Err(Errno::CANCELED) => {
                self.clock_set = true;
                self.counter.ring();
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn wait(&mut self, longest: Option<Duration>) -> io::Result<()> {
        // A wake during a turn was drained with what else there was, and nothing is readable any more.
        if self.waker.is_woken() {
            return Ok(());
        }
        let longest = longest.map(timespec);
        let mut events = Vec::<epoll::Event>::with_capacity(4);
        match epoll::wait(self.epoll()?, rustix::buffer::spare_capacity(&mut events), longest.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.epoll.get().map(AsFd::as_fd)
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn was_woken(&mut self) -> bool {
        self.waker.take()
    }

    fn is_forked(&self) -> bool {
        self.epoll.is_forked()
    }
}

const NANOS: i64 = 1_000_000_000;

fn zero() -> Timespec {
    Timespec { tv_sec: 0, tv_nsec: 0 }
}

fn timespec(length: Duration) -> Timespec {
    let length = length.min(FAR);
    Timespec {
        tv_sec: i64::try_from(length.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(length.subsec_nanos()),
    }
}
