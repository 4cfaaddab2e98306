//! `gallivant.Session`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gallivant_core::harness_state as core;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::environment::SessionEnvironment;
use super::options::{Options, options_of};
use super::outcome::{Claim, Report, Tick};
use super::process::ProcessIdentity;
use super::writer::Writer;
use crate::argument::{Given, taken, text_of};
use crate::call;
use crate::host::host_of;
use crate::testing::TestHost;

/// The exit of a session whose `with` block an exception left.
const EXIT_OF_EXCEPTION: &str = "error";
/// The exit of a session whose `with` block ran to its end without an exit being told. The word that a hook's ending
/// carries too: an exit status is what only a wrapper knows, and it calls `end` with it.
const EXIT_OF_BLOCK: &str = "session end";

/// A claimed session, alive for as long as this object: mint, claim, lease, hand over, heartbeat, end. Made by
/// `Session.start`.
///
///     with gallivant.Session.start(directory, agent="worker", harness="claude", pty_session="w1") as session:
///         child = subprocess.Popen(["claude"], env={**os.environ, **session.to_env()})
///         session.attach(child.pid)
///         ...
///         session.end(f"exit {child.wait()}")
///
/// The block's end ends the session, if `end` has not: with the exit `error` when an exception leaves it, else with
/// `session end`. In a forked child it does nothing: the session is the parent's. Letting go of the object without
/// either, its `writer` included, releases the lease and writes nothing, exactly as the death of the process does.
///
/// It has no thread of its own: call `heartbeat_if_due` as often as is convenient.
#[pyclass(frozen, module = "gallivant")]
#[derive(Debug)]
pub(crate) struct Session {
    session: Arc<core::Session>,
    ended: AtomicBool,
}

#[pymethods]
impl Session {
    /// Mints a token unless one is given, claims the seat in `directory`, and takes the lease. Once it has returned,
    /// claim and floor are durable, and the lease is held if `holds_lease` says so. Raises as `claim`.
    #[staticmethod]
    #[pyo3(signature = (
        directory, agent, harness, *, pty_session=None, token=None, options=None, host=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn start(
        py: Python<'_>,
        directory: Given<PathBuf>,
        agent: Given<String>,
        harness: Given<String>,
        pty_session: Option<Given<String>>,
        token: Option<Given<String>>,
        options: Option<&Bound<'_, Options>>,
        host: Option<&Bound<'_, TestHost>>,
    ) -> PyResult<Self> {
        let (options, host) = (options_of(options), host_of(host));
        let new = core::NewSession {
            directory: directory.0,
            agent: agent.0,
            harness: harness.0,
            pty_session: taken(pty_session),
            token: taken(token),
        };
        let session = call::fallible(py, || core::Session::start(new, &options, &host))?;
        Ok(Session { session: Arc::new(session), ended: false.into() })
    }

    /// The claim with which the session started, and what it could not do.
    #[getter]
    fn claim(&self, py: Python<'_>) -> PyResult<Claim> {
        Claim::of(py, self.session.claim())
    }

    /// The session's writer, which has adopted the claim. It keeps the session's lease held for as long as it lives.
    #[getter]
    fn writer(&self) -> Writer {
        Writer::of_session(Arc::clone(&self.session))
    }

    /// Whether the session holds its lease. Not while a superseded session that still lives holds it.
    #[getter]
    fn holds_lease(&self, py: Python<'_>) -> PyResult<bool> {
        call::infallible(py, || self.session.holds_lease())
    }

    /// What to hand to the harness and its hooks.
    pub(super) fn environment(&self, py: Python<'_>) -> PyResult<SessionEnvironment> {
        Ok(call::infallible(py, || self.session.environment())?.into())
    }

    /// The variables of `environment()`, to be added to those of the harness's process.
    #[pyo3(signature = () -> "dict[str, str]")]
    fn to_env<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.environment(py)?.to_env(py)
    }

    /// Names the harness process that was started for this session, and records `ready` if nothing has been observed
    /// since the claim and the session names a pty session. From then on no heartbeat is made for a dead harness.
    ///
    /// Raises `HarnessStateInputError` with reason `no-such-process` when the pid runs no process now; as
    /// `Writer.observe`.
    fn attach(&self, py: Python<'_>, pid: Given<u32>) -> PyResult<ProcessIdentity> {
        Ok(call::fallible(py, || self.session.attach(pid.0))?.into())
    }

    /// The process that was attached.
    #[getter]
    fn harness_process(&self, py: Python<'_>) -> PyResult<Option<ProcessIdentity>> {
        Ok(call::infallible(py, || self.session.harness_process())?.map(ProcessIdentity::from))
    }

    /// Renews the stamp when the refresh interval has passed since the session's last stamp, whoever of it wrote it.
    /// Call it as often as is convenient, once a second, say: between two due times it writes nothing, and looks only
    /// whether the attached harness still runs and whether another session has claimed. It also asks again for a lease
    /// that could not be had.
    ///
    /// Once another session has claimed the seat it gives the lease up and answers `skipped` for good, with the skip
    /// `superseded` (`foreign-token` where only the record tells): then end the harness, because nothing that it does is
    /// seen any more.
    ///
    /// Raises as `Writer.heartbeat`; `HarnessStateInputError` with reason `forked` in a forked child.
    fn heartbeat_if_due(&self, py: Python<'_>) -> PyResult<Tick> {
        Ok(call::fallible(py, || self.session.heartbeat_if_due())?.into())
    }

    /// Ends the session with this exit, such as `exit 0` or `signal 9`, and releases the lease. Durable when it lands
    /// with an exit. Afterwards no heartbeat does anything. The session's writer can still observe, and a plain `observe`
    /// lands over the ending; what does not know better than the wrapper uses `observe_unless_ended`.
    ///
    /// Raises as `Writer.ended`, with the lease still held; `HarnessStateInputError` with reason `forked` in a forked
    /// child.
    #[pyo3(signature = (exit=None))]
    fn end(&self, py: Python<'_>, exit: Option<Given<String>>) -> PyResult<Report> {
        let report = call::fallible(py, || self.session.end(text_of(exit.as_ref())))?;
        self.ended.store(true, Ordering::Release);
        Report::of(py, &report)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
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
        let _ = traceback;
        if self.ended.load(Ordering::Acquire) {
            return Ok(());
        }
        let exit = if exception_type.is_none() { EXIT_OF_BLOCK } else { EXIT_OF_EXCEPTION };
        match call::last(py, || self.session.end(Some(exit))) {
            Ok(_) => {
                self.ended.store(true, Ordering::Release);
                Ok(())
            }
            Err(failed) => {
                let raised = failed.value(py);
                if raised.getattr("reason").is_ok_and(|reason| reason.eq("forked").unwrap_or(false)) {
                    return Ok(());
                }
                // What left the block stays visible beside the failure to end.
                if !exception.is_none() {
                    raised.setattr("__context__", exception)?;
                }
                Err(failed)
            }
        }
    }

    fn __repr__(&self) -> String {
        let writer = self.session.writer();
        let sequence = self.session.claim().sequence;
        format!(
            "<gallivant.Session agent={:?} sequence={sequence} directory={:?}>",
            writer.identity().agent,
            writer.directory()
        )
    }
}
