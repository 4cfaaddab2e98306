//! `gallivant.Watch`.

use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;
use std::time::Duration;

use gallivant_core::harness_state::{self as core, WatchOptions};
use gallivant_core::{Code, Host, Result};
use pyo3::prelude::*;

use super::change::Change;
use super::fleet::bounds_of;
use super::options::{Options, options_of};
use super::probe::{fleet_probe_of, watch_probe_of};
use crate::argument::{Given, length_of, taken};
use crate::call::{self, Bell};
use crate::host::host_of;
use crate::testing::TestHost;
use crate::waiting::{Ended, Waiting, Waits};

/// Tells what changes, as soon as it has. Made by `Watch.record` and `Watch.fleet`.
///
///     with gallivant.Watch.fleet("/srv/agents") as watch:
///         for change in watch:
///             for seat in change.seats:
///                 print(seat.path, seat.state)
///
/// The first change tells what is there now, a fleet without entries too; every later one each seat of which something
/// else is to be concluded than was told last, within 50 ms where the system notifies, and at the `valid_until_ms` of a
/// state. A burst is told once.
///
/// It has no thread, and one thread at a time uses it. Closing it, or letting go of it, leaves no descriptor. In a forked
/// child it is dead: using it there is `HarnessStateInputError` with reason `forked`, closing it does nothing.
#[pyclass(frozen, module = "gallivant")]
#[derive(Debug)]
pub(crate) struct Watch {
    path: PathBuf,
    waiting: Waiting<core::Watch>,
}

impl Waits for core::Watch {
    type Told = core::Change;
    const NAME: &'static str = "watch";
    const MISUSED: Code = Code::HarnessStateInput;

    fn next(&mut self, longest: Option<Duration>) -> Result<Option<core::Change>> {
        core::Watch::next(self, longest)
    }
}

#[pymethods]
impl Watch {
    /// Watches one agent's record, by its directory or by the record's own path, which need not exist yet.
    ///
    /// `probe` is as for `Reader.read`. The release of a lease is told at once. Any other probe is asked at each sign of a
    /// change and every `probe_interval_ms` (1000); a function is called in the thread that waits. Where the system does
    /// not notify, the watch looks every `poll_interval_ms` (1000). `settle_ms` (5) is how long it waits after the first
    /// sign of a change for more of them.
    ///
    /// Raises `HarnessStateInputError` with reason `path` for the empty path, with reason `probe` for what is no probe;
    /// `HarnessStateIoError` where there is no descriptor left to wait on.
    #[staticmethod]
    #[pyo3(signature = (
        path, *,
        probe: "str | ProcessIdentity | collections.abc.Callable[[Record], str | bool | None] | None" = None,
        poll_interval_ms=None, probe_interval_ms=None, settle_ms=None, options=None, host=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn record(
        py: Python<'_>,
        path: Given<PathBuf>,
        probe: Option<&Bound<'_, PyAny>>,
        poll_interval_ms: Option<Given<u64>>,
        probe_interval_ms: Option<Given<u64>>,
        settle_ms: Option<Given<u64>>,
        options: Option<&Bound<'_, Options>>,
        host: Option<&Bound<'_, TestHost>>,
    ) -> PyResult<Self> {
        let (options, host) = (options_of(options), host_of(host));
        let watch = timing_of(poll_interval_ms, probe_interval_ms, settle_ms);
        let reader = call::infallible(py, || core::Reader::open(&path.0, &options, &host))?;
        let probe = watch_probe_of(probe, &reader, &host)?;
        let open = || core::Watch::record(&path.0, probe, &watch, &options, &host);
        let watch = call::fallible(py, open)?;
        Ok(Watch::of(watch, path.0, host))
    }

    /// Watches every record below a directory, which need not exist yet. The bounds are those of `Fleet`; the release of a
    /// lease is told with `probe='lease'`. It takes one kernel watch for each directory below the root: a root should hold
    /// agents and not their workspaces. The rest is as for `Watch.record`.
    #[staticmethod]
    #[pyo3(signature = (
        root, *, max_depth=None, max_records=None, max_directories=None, probe: "str | None" = None,
        poll_interval_ms=None, probe_interval_ms=None, settle_ms=None, options=None, host=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn fleet(
        py: Python<'_>,
        root: Given<PathBuf>,
        max_depth: Option<Given<u32>>,
        max_records: Option<Given<usize>>,
        max_directories: Option<Given<usize>>,
        probe: Option<&Bound<'_, PyAny>>,
        poll_interval_ms: Option<Given<u64>>,
        probe_interval_ms: Option<Given<u64>>,
        settle_ms: Option<Given<u64>>,
        options: Option<&Bound<'_, Options>>,
        host: Option<&Bound<'_, TestHost>>,
    ) -> PyResult<Self> {
        let bounds = bounds_of(max_depth, max_records, max_directories, None);
        let (probe, options, host) = (fleet_probe_of(probe)?, options_of(options), host_of(host));
        let watch = timing_of(poll_interval_ms, probe_interval_ms, settle_ms);
        let open = || core::Watch::fleet(&root.0, &bounds, probe, &watch, &options, &host);
        let watch = call::fallible(py, open)?;
        Ok(Watch::of(watch, root.0, host))
    }

    /// Waits for the next change, for at most `timeout` seconds, without end where that is None; answers None when the time
    /// is over. Other threads run meanwhile, and signal handlers do. Nothing that changed is lost where it raises: the next
    /// call tells it.
    ///
    /// Raises what a signal handler raises, within 0.1 s; `CancelledError` when a `Cancel` ends the wait, and when another
    /// thread closes the watch; `HarnessStateInputError` with reason `closed` once it is closed; `HandleBusyError` while
    /// another call uses it; `HarnessStateIoError` where the system cannot wait.
    #[pyo3(signature = (timeout=None))]
    fn next(&self, py: Python<'_>, timeout: Option<Given<f64>>) -> PyResult<Option<Change>> {
        let longest = taken(timeout).map(|seconds| length_of(py, seconds)).transpose()?.flatten();
        self.waiting.refuse_closed(py)?;
        match self.waiting.wait(py, longest)? {
            Ended::Told(change) => Change::of(py, change).map(Some),
            Ended::TimedOut => Ok(None),
            Ended::Closed => Err(Waiting::<core::Watch>::closed_meanwhile(py)),
        }
    }

    /// What has changed, without waiting; None where nothing is to be told yet. For event loops: call it once at first and
    /// then whenever the descriptor is readable, which it is no longer afterwards. Raises as `next`.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<Change>> {
        self.next(py, Some(Given(0.0)))
    }

    /// The descriptor that becomes readable when `poll` should be called, for `select` and its like; None on platforms
    /// without one, where only `next` waits. It is the watch's own: do not read from it or close it.
    ///
    /// Raises `HarnessStateInputError` with reason `closed` or `forked`.
    #[getter]
    fn descriptor(&self, py: Python<'_>) -> PyResult<Option<RawFd>> {
        self.waiting.descriptor(py)
    }

    /// The descriptor, so that a selector takes the watch itself. Raises as `descriptor`; `HarnessStateInputError` with
    /// reason `no-descriptor` where there is none.
    fn fileno(&self, py: Python<'_>) -> PyResult<RawFd> {
        self.waiting.fileno(py)
    }

    /// Closes every descriptor. A wait in another thread ends, and closes them when it has.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.waiting.close(py)
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.waiting.is_closed()
    }

    /// The path that is watched, as it was given.
    #[getter]
    fn path(&self) -> std::ffi::OsString {
        self.path.as_os_str().to_owned()
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// As `next` without a time limit; closing the watch ends the iteration.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Change>> {
        loop {
            match self.waiting.wait(py, None)? {
                Ended::Told(change) => return Change::of(py, change).map(Some),
                Ended::Closed => return Ok(None),
                Ended::TimedOut => {}
            }
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (exception_type, exception, traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        exception_type: &Bound<'_, PyAny>,
        exception: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let _ = (exception_type, exception, traceback);
        self.close(py)
    }

    fn __repr__(&self) -> String {
        let closed = if self.closed() { "True" } else { "False" };
        format!("<gallivant.Watch path={:?} closed={closed}>", self.path)
    }
}

impl Watch {
    fn of(watch: core::Watch, path: PathBuf, host: Host) -> Self {
        let (bell, descriptor) = (Bell::Watch(watch.waker()), watch.descriptor().map(|fd| fd.as_raw_fd()));
        Watch { path, waiting: Waiting::new(watch, bell, descriptor, host) }
    }
}

fn timing_of(
    poll_interval_ms: Option<Given<u64>>,
    probe_interval_ms: Option<Given<u64>>,
    settle_ms: Option<Given<u64>>,
) -> WatchOptions {
    let default = WatchOptions::default();
    let of = |given, default| taken(given).map_or(default, Duration::from_millis);
    WatchOptions {
        poll_interval: of(poll_interval_ms, default.poll_interval),
        probe_interval: of(probe_interval_ms, default.probe_interval),
        settle: of(settle_ms, default.settle),
    }
}
