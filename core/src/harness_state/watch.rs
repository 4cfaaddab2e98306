//! Watching one record or a fleet: what changed, as soon as it has (HS-93).
//!
//! There is no thread. A watch sleeps in the caller's own wait, or in an event loop that polls its descriptor.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::derive::Derived;
use super::fleet::{FleetOptions, FleetProbe, LeftOut, absolute};
use super::fleet_tree::Tree;
use super::options::Options;
use super::probe::Probe;
use super::reader::Reader;
use super::watch_engine::{Engine, Target, locate};
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::process::ProcessIdentity;
use crate::storage::Waker;

/// How a watch notices and tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchOptions {
    /// How often it looks where the system does not notify. Default 1 s, at least 10 ms.
    pub poll_interval: Duration,
    /// How often a probe is asked whose answer nothing announces. Default 1 s, at least 10 ms.
    pub probe_interval: Duration,
    /// How long it waits after the first sign of a change for more of them, so that a burst is told once. Default 5 ms,
    /// a tenth of the 50 ms within which a change is told (HS-93).
    pub settle: Duration,
}

impl Default for WatchOptions {
    fn default() -> Self {
        WatchOptions {
            poll_interval: Duration::from_secs(1),
            probe_interval: Duration::from_secs(1),
            settle: Duration::from_millis(5),
        }
    }
}

/// Whether the session behind a watched record is asked for (HS-80).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum WatchProbe {
    /// No: a live record counts as it stands.
    #[default]
    None,
    /// The lease of the seat, as [`LeaseProbe`](super::LeaseProbe) does. The system announces its release.
    Lease,
    /// The identity of the harness process, as [`ProcessProbe`](super::ProcessProbe) does. Linux announces its end;
    /// elsewhere, and while it is indeterminate, it is asked once in [`WatchOptions::probe_interval`].
    Process(ProcessIdentity),
    /// The caller's own. It is asked at every sign of a change and once in [`WatchOptions::probe_interval`].
    Own(Arc<dyn Probe + Send + Sync>),
}

/// How changes are noticed at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Noticing {
    /// The system notifies; nothing is looked at while nothing changes.
    Notified,
    /// By looking once in [`WatchOptions::poll_interval`], because the platform or a file system does not notify.
    PolledUnsupported,
    /// By looking, because the system's limit of watches is reached (Linux: `fs.inotify.max_user_watches` and
    /// `max_user_instances`), or another resource is exhausted. What is watched already is still notified.
    PolledLimit,
}

impl Noticing {
    /// Every way.
    pub const ALL: &'static [Noticing] =
        &[Noticing::Notified, Noticing::PolledUnsupported, Noticing::PolledLimit];

    /// The stable lower-case word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Noticing::Notified => "notified",
            Noticing::PolledUnsupported => "polled-unsupported",
            Noticing::PolledLimit => "polled-limit",
        }
    }
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Each seat of which something else is to be concluded than was told last, in the order of the paths.
    pub seats: Vec<SeatChange>,
    /// What a fleet's walk did not look at, as it is now.
    pub left_out: LeftOut,
    /// How changes are noticed, as it is now.
    pub noticing: Noticing,
}

/// One seat of a [`Change`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatChange {
    /// The agent's directory by its path below the fleet's root; `.` for the root itself and for a watched record.
    pub path: String,
    /// What may be concluded now; none where nothing stands there (HS-70).
    pub derived: Option<Derived>,
}

/// Tells what changes. One thread at a time uses it; dropping it closes everything that it opened. In a forked child it
/// is dead: dropping it there is harmless, every other use answers the input error with reason `forked`.
///
/// What it costs while nothing changes: nothing, where the system notifies, but for a probe of the caller's own. On Linux
/// it holds five descriptors and one watch for each directory of the fleet and for each above it.
#[derive(Debug)]
pub struct Watch {
    engine: Engine,
}

/// Ends a watch's wait from another thread.
#[derive(Clone, Debug)]
pub struct WatchWaker {
    waker: Waker,
}

impl Watch {
    /// Watches one agent's record, by its directory or by the record's own path, which need not exist yet.
    ///
    /// # Errors
    /// `HARNESS_STATE_INPUT` with reason `path` for the empty path; `HARNESS_STATE_IO` where not even a descriptor to
    /// wait on can be had.
    pub fn record(
        path: impl AsRef<Path>,
        probe: WatchProbe,
        watch: &WatchOptions,
        options: &Options,
        host: &Host,
    ) -> Result<Self> {
        let path = absolute(path.as_ref(), host)?;
        let place = locate(host, &path);
        let reader = Reader::open(path, options, host);
        let target = Target::Record { reader, probe, place, is_link: false };
        Ok(Watch { engine: Engine::new(target, watch, options, host)? })
    }

    /// Watches every record below a directory, which need not exist yet.
    ///
    /// # Errors
    /// As [`Watch::record`].
    pub fn fleet(
        root: impl AsRef<Path>,
        bounds: &FleetOptions,
        probe: FleetProbe,
        watch: &WatchOptions,
        options: &Options,
        host: &Host,
    ) -> Result<Self> {
        let root = absolute(root.as_ref(), host)?;
        let bounds = bounds.within_reason();
        let target = Target::Fleet { root, bounds, probe, tree: Tree::default() };
        Ok(Watch { engine: Engine::new(target, watch, options, host)? })
    }

    /// Waits for the next change, for at most `timeout`, without end where there is none; answers none when the time is
    /// over. The first call tells what is there now, a fleet without entries too.
    ///
    /// # Errors
    /// `GALLIVANT_CANCELLED` after [`WatchWaker::wake`], and when the clock's own signal ended the wait;
    /// `HARNESS_STATE_INPUT` with reason `forked`; `HARNESS_STATE_IO` where the system cannot wait. Nothing that changed
    /// is lost by an error: the next call tells it.
    pub fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Change>> {
        self.refuse_after_fork()?;
        let clock = Arc::clone(&self.engine.host.clock);
        let deadline = timeout.map(|timeout| clock.awake().saturating_add(timeout));
        loop {
            if self.engine.notifier.was_woken() || clock.is_cancelled() {
                return Err(Error::new(Code::Cancelled, "the wait for a change was cancelled"));
            }
            if let Some(change) = self.engine.turn()? {
                return Ok(Some(change));
            }
            let left = deadline.map(|deadline| deadline.saturating_sub(clock.awake()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            self.engine.wait(left)?;
        }
    }

    /// What has changed, without waiting: for event loops, after the descriptor became readable. None where nothing is
    /// to be told yet; the descriptor is then not readable any more, until it is time again.
    ///
    /// # Errors
    /// `HARNESS_STATE_INPUT` with reason `forked`; `HARNESS_STATE_IO` as [`Watch::next`].
    pub fn poll(&mut self) -> Result<Option<Change>> {
        self.refuse_after_fork()?;
        self.engine.turn()
    }

    /// Becomes readable when [`Watch::poll`] should be called: a change, `valid_until`, a probe that is due, a stepped
    /// clock, a wake. Call `poll` once before the first wait. None on platforms without such descriptors, where only
    /// [`Watch::next`] waits, and in a forked child.
    #[must_use]
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.engine.notifier.descriptor()
    }

    /// What ends a wait from another thread, for as long as the watch is open.
    #[must_use]
    pub fn waker(&self) -> WatchWaker {
        WatchWaker { waker: self.engine.notifier.waker() }
    }

    /// Closes every descriptor, as dropping does.
    pub fn close(self) {}

    fn refuse_after_fork(&self) -> Result<()> {
        if self.engine.notifier.is_forked() {
            let message = "the watch was opened before a fork and belongs to the parent";
            return Err(Error::new(Code::HarnessStateInput, message).with_reason("forked"));
        }
        Ok(())
    }
}

impl WatchWaker {
    /// Ends the wait in progress, or the next one, with `GALLIVANT_CANCELLED`. Does nothing once the watch is closed.
    pub fn wake(&self) {
        self.waker.wake();
    }
}
