//! `gallivant.journal.Replay` and `Frame`.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gallivant_core::clock::Clock;
use gallivant_core::{Code, Result, journal as core};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::values::Row;
use crate::argument::{Given, length_of, taken};
use crate::call::{self, Bell};
use crate::host::host_of;
use crate::testing::TestHost;
use crate::value::value;
use crate::waiting::{Ended, Waiting, Waits};

value! {
    in "gallivant.journal";
    /// One frame of a replay.
    Frame {
        /// The row's id. Heartbeats and gaps without a number have none, and move no cursor.
        id: Option<String> = None,
        /// `line`, `gap` or `heartbeat`.
        event: String,
        /// The row as one line of JSON, `{"id", "kind", "text"}` or `{"id", "kind", "reason"}`; empty for a heartbeat.
        data: String,
    }

    /// The row, as a window has it; None for a heartbeat.
    #[getter]
    fn row(&self) -> Option<Row> {
        core::Row::from_json(&self.data).map(Row::from)
    }

    /// The frame as one server-sent event with the empty line that ends it, for a response of `text/event-stream`. Any text
    /// arrives, but that each CR, LF or CRLF in `data` arrives as one LF. An event without an id leaves the client's last one
    /// alone; a heartbeat is a comment.
    fn to_sse<'py>(&self, py: pyo3::Python<'py>) -> pyo3::Bound<'py, PyBytes> {
        let event = core::server_sent_event(self.id.as_deref(), &self.event, &self.data);
        PyBytes::new(py, event.as_bytes())
    }
}

/// All lines of a run and those to come, as frames. Opened by `Replay.open`.
///
///     with Replay.open(directory, last_event_id) as replay:
///         for frame in replay:
///             if frame.row is not None:
///                 print(frame.row.id, frame.row.text)
///
/// It has no thread, and one thread at a time uses it: whoever consumes pulls. What is read ahead is bounded by 327,680
/// bytes, and nothing is read while that much waits, so that a slow consumer misses nothing and sees nothing twice. Closing
/// it, or letting go of it, leaves no descriptor. In a forked child it is dead: using it there is `ExecutionInputError` with
/// reason `forked`, closing it does nothing.
#[pyclass(frozen, module = "gallivant.journal")]
pub(crate) struct Replay {
    directory: PathBuf,
    waiting: Waiting<Pulling>,
    /// Held for as long as it takes to copy it, so that it may be taken without letting go of the interpreter.
    reached: Mutex<Reached>,
}

/// How far a replay was handed out.
#[derive(Debug)]
struct Reached {
    resume: Option<String>,
    pending_bytes: u64,
    has_unread: bool,
}

/// A replay of the core, with what is to become of heartbeats.
#[derive(Debug)]
pub(crate) struct Pulling {
    replay: core::Replay,
    clock: Arc<dyn Clock>,
    has_heartbeats: bool,
}

impl Pulling {
    fn reached(&self) -> Reached {
        Reached {
            resume: self.replay.resume_point().map(str::to_owned),
            pending_bytes: self.replay.pending_bytes(),
            has_unread: self.replay.has_unread(),
        }
    }
}

/// A frame, and how far the replay is once it was handed out.
#[derive(Debug)]
pub(crate) struct Pulled {
    frame: core::Frame,
    reached: Reached,
}

impl Waits for Pulling {
    type Told = Pulled;
    const NAME: &'static str = "replay";
    const MISUSED: Code = Code::ExecutionInput;

    fn next(&mut self, longest: Option<Duration>) -> Result<Option<Pulled>> {
        let deadline = longest.map(|longest| self.clock.awake().saturating_add(longest));
        loop {
            let left = deadline.map(|deadline| deadline.saturating_sub(self.clock.awake()));
            let Some(frame) = self.replay.next(left)? else { return Ok(None) };
            if self.has_heartbeats || !frame.is_heartbeat() {
                return Ok(Some(Pulled { frame, reached: self.reached() }));
            }
        }
    }
}

#[pymethods]
impl Replay {
    /// Replays what stands in a run's directory from just after the row with this id on, and from the oldest row on without
    /// one. Where that row or those after it are not retained, and where no row ever had the id, the first frame is a gap.
    /// `heartbeats=False` leaves out the frames that come after 20 seconds without another.
    ///
    /// Raises `ExecutionUnknownRunError` where there is no such directory, `ExecutionIoError` where it cannot be opened.
    #[staticmethod]
    #[pyo3(signature = (directory, last_event_id=None, *, heartbeats=true, host=None))]
    fn open(
        py: Python<'_>,
        directory: Given<PathBuf>,
        last_event_id: Option<Given<String>>,
        heartbeats: bool,
        host: Option<&Bound<'_, TestHost>>,
    ) -> PyResult<Self> {
        let (Given(directory), host, after) = (directory, host_of(host), taken(last_event_id));
        let replay = call::fallible(py, || core::Replay::open(&directory, after.as_deref(), &host))?;
        let (bell, descriptor) = (Bell::Replay(replay.waker()), replay.descriptor().map(|fd| fd.as_raw_fd()));
        let pulling = Pulling { replay, clock: Arc::clone(&host.clock), has_heartbeats: heartbeats };
        let reached = Mutex::new(pulling.reached());
        Ok(Replay { directory, waiting: Waiting::new(pulling, bell, descriptor, host), reached })
    }

    /// Waits for the next frame, for at most `timeout` seconds, without end where that is None; answers None when the time
    /// is over. Other threads run meanwhile, and signal handlers do. No row is lost where it raises: the next call gives it.
    ///
    /// Raises what a signal handler raises, within 0.1 s; `CancelledError` when a `Cancel` ends the wait, and when another
    /// thread closes the replay; `ExecutionInputError` with reason `closed` once it is closed; `HandleBusyError` while
    /// another call uses it; `ExecutionIoError` for whatever is not a missing file, `ExecutionVersionError` and
    /// `ExecutionJournalError` for `log-meta.json`.
    #[pyo3(signature = (timeout=None))]
    fn next(&self, py: Python<'_>, timeout: Option<Given<f64>>) -> PyResult<Option<Frame>> {
        let longest = taken(timeout).map(|seconds| length_of(py, seconds)).transpose()?.flatten();
        self.waiting.refuse_closed(py)?;
        match self.waiting.wait(py, longest)? {
            Ended::Told(pulled) => Ok(Some(self.handed_out(pulled))),
            Ended::TimedOut => {
                self.emptied();
                Ok(None)
            }
            Ended::Closed => Err(Waiting::<Pulling>::closed_meanwhile(py)),
        }
    }

    /// The next frame without waiting; None where there is none yet. For event loops: call it until it answers None, and
    /// then whenever the descriptor is readable. Raises as `next`.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<Frame>> {
        self.next(py, Some(Given(0.0)))
    }

    /// The descriptor that becomes readable when `poll` should be called, for `select` and its like; None on platforms
    /// without one, where only `next` waits. It is the replay's own: do not read from it or close it.
    ///
    /// Raises `ExecutionInputError` with reason `closed` or `forked`.
    #[getter]
    fn descriptor(&self, py: Python<'_>) -> PyResult<Option<RawFd>> {
        self.waiting.descriptor(py)
    }

    /// The descriptor, so that a selector takes the replay itself. Raises as `descriptor`; `ExecutionInputError` with reason
    /// `no-descriptor` where there is none.
    fn fileno(&self, py: Python<'_>) -> PyResult<RawFd> {
        self.waiting.fileno(py)
    }

    /// In how many seconds to `poll` at the latest although nothing has changed: a heartbeat is due then, or it is time to
    /// look, where nothing tells of changes. For whoever waits by means of its own and has no descriptor. Raises
    /// `ExecutionInputError` with reason `closed` or `forked`; `HandleBusyError` while another call uses it.
    fn due_in(&self, py: Python<'_>) -> PyResult<f64> {
        self.waiting.ask(py, |pulling| pulling.replay.due_in().as_secs_f64())
    }

    /// The id to open with the next time: that of the last row that was handed out, and the one that this was opened with
    /// before the first. It stays after closing.
    #[getter]
    fn resume_point(&self) -> Option<String> {
        self.reached().resume.clone()
    }

    /// Bytes of frames that wait for the consumer, as it was when the last frame was handed out.
    #[getter]
    fn pending_bytes(&self) -> u64 {
        self.reached().pending_bytes
    }

    /// Whether the `poll` after the last frame that waits reads from disk: it is new, or there was no room for more when it
    /// read last. Otherwise it makes a few system calls, unless it is told of a change.
    #[getter]
    fn has_unread(&self) -> bool {
        self.reached().has_unread
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

    /// The run's directory, as it was given.
    #[getter]
    fn directory(&self) -> OsString {
        self.directory.as_os_str().to_owned()
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// As `next` without a time limit; closing the replay ends the iteration.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Frame>> {
        loop {
            match self.waiting.wait(py, None)? {
                Ended::Told(pulled) => return Ok(Some(self.handed_out(pulled))),
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
        format!("<gallivant.journal.Replay directory={:?} closed={closed}>", self.directory)
    }
}

impl Replay {
    fn handed_out(&self, pulled: Pulled) -> Frame {
        let Pulled { frame, reached } = pulled;
        *self.reached() = reached;
        Frame { id: frame.id, event: frame.event.to_owned(), data: frame.data }
    }

    /// All that is there was read and handed out.
    fn emptied(&self) {
        let mut reached = self.reached();
        (reached.pending_bytes, reached.has_unread) = (0, false);
    }

    fn reached(&self) -> MutexGuard<'_, Reached> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
