//! Watching one record or a fleet: what changed, as soon as it has (HS-93).
//!
//! There is no thread. A watch sleeps in the caller's own wait, or in an event loop that polls its descriptor.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::derive::Derived;
use super::fleet::{FleetOptions, FleetProbe, LeftOut};
use super::options::Options;
use super::probe::Probe;
use crate::error::Result;
use crate::host::Host;

/// How a watch notices and tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchOptions {
    /// How often it looks where the system does not notify. Default 1 s.
    pub poll_interval: Duration,
    /// How often a probe is asked whose answer nothing announces. Default 1 s.
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
#[derive(Debug)]
pub struct Watch {}

/// Ends a watch's wait from another thread.
#[derive(Clone, Debug)]
pub struct WatchWaker {}

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
        let _ = (path.as_ref(), probe, watch, options, host);
        todo!()
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
        let _ = (root.as_ref(), bounds, probe, watch, options, host);
        todo!()
    }

    /// Waits for the next change, for at most `timeout`, without end where there is none; answers none when the time is
    /// over. The first call tells what is there now, a fleet without entries too.
    ///
    /// # Errors
    /// `GALLIVANT_CANCELLED` after [`WatchWaker::wake`], and when the clock's own signal ended the wait;
    /// `HARNESS_STATE_INPUT` with reason `forked`. Nothing that changed is lost by an error: the next call tells it.
    pub fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Change>> {
        let _ = timeout;
        todo!()
    }

    /// What has changed, without waiting: for event loops, after the descriptor became readable. None where nothing is
    /// to be told yet; the descriptor is then not readable any more.
    ///
    /// # Errors
    /// `HARNESS_STATE_INPUT` with reason `forked`.
    pub fn poll(&mut self) -> Result<Option<Change>> {
        todo!()
    }

    /// Becomes readable when [`Watch::poll`] should be called: a change, `valid_until`, a probe that is due, a stepped
    /// clock, a wake. None on platforms without such descriptors; there only [`Watch::next`] waits.
    #[must_use]
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        todo!()
    }

    /// What ends a wait from another thread, for as long as the watch is open.
    #[must_use]
    pub fn waker(&self) -> WatchWaker {
        todo!()
    }

    /// Closes every descriptor, as dropping does.
    pub fn close(self) {}
}

impl WatchWaker {
    /// Ends the wait in progress, or the next one, with `GALLIVANT_CANCELLED`. Does nothing once the watch is closed.
    pub fn wake(&self) {
        todo!()
    }
}
