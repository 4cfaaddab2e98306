//! `gallivant.Writer`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use gallivant_core::Result;
use gallivant_core::harness_state as core;
use gallivant_core::harness_state::WriterIdentity;
use gallivant_core::harness_state::adapters::{Child, ChildStep};
use pyo3::prelude::*;

use super::observation::{Refinements, Said};
use super::options::{Options, options_of};
use super::outcome::{Heartbeat, Report};
use super::ownership::{CurrentOwnership, OwnershipGuard};
use crate::argument::{Given, taken, text_of};
use crate::call;
use crate::host::host_of;
use crate::testing::TestHost;

/// One session's voice in one agent's directory. Threads may share it.
///
/// `sequence` is the one that a claim returned, for a writer that adopts the claim; without it the writer writes where
/// nobody has claimed, or where its own token stands. Without a `pty_session` no live state can be written; the empty
/// string counts as one. Opening touches no file, and the directory need not exist yet.
///
/// `evidence` is by what the writer knows what it observes: `hook`, `channel`, `wrapper` (the default), `screen`. What was
/// read off a screen gives way to what hooks and channels have told, while that is fresh.
///
/// Raises `HarnessStateEmptyTokenError`; `HarnessStateInputError` with reason `path` for the empty path, with reason `word`
/// for evidence that does not exist.
#[pyclass(frozen, module = "gallivant")]
#[derive(Debug)]
pub(crate) struct Writer {
    voice: Voice,
}

/// A session's writer keeps its session, and with it the lease.
#[derive(Debug)]
enum Voice {
    Own(Box<core::Writer>),
    OfSession(Arc<core::Session>),
}

impl Writer {
    pub(super) fn of_session(session: Arc<core::Session>) -> Self {
        Writer { voice: Voice::OfSession(session) }
    }

    /// A writer of its own, as `open` opens it, that knows what it observes by this evidence.
    pub(super) fn own(
        py: Python<'_>,
        evidence: Option<Given<String>>,
        open: impl FnOnce() -> Result<core::Writer> + Send,
    ) -> PyResult<Self> {
        let open = || match &evidence {
            None => open(),
            Some(Given(word)) => {
                let evidence = core::Evidence::parse("evidence", word)?;
                open()?.with_evidence(evidence)
            }
        };
        Ok(Writer { voice: Voice::Own(Box::new(call::fallible(py, open)?)) })
    }

    pub(super) fn core(&self) -> &core::Writer {
        match &self.voice {
            Voice::Own(writer) => writer,
            Voice::OfSession(session) => session.writer(),
        }
    }

    fn observing(
        &self,
        py: Python<'_>,
        said: &Said<'_>,
        refinements: Refinements,
        write: impl FnOnce(&core::Writer, &core::Observation) -> Result<core::Report> + Send,
    ) -> PyResult<Report> {
        let observation = refinements.observation(py, said)?;
        let report = call::fallible(py, || write(self.core(), &observation))?;
        Report::of(py, &report)
    }
}

#[pymethods]
impl Writer {
    #[new]
    #[pyo3(signature = (
        directory, agent, harness, token, *,
        pty_session=None, sequence=None, evidence=None, options=None, host=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        directory: Given<PathBuf>,
        agent: Given<String>,
        harness: Given<String>,
        token: Given<String>,
        pty_session: Option<Given<String>>,
        sequence: Option<Given<u64>>,
        evidence: Option<Given<String>>,
        options: Option<&Bound<'_, Options>>,
        host: Option<&Bound<'_, TestHost>>,
    ) -> PyResult<Self> {
        let (options, host) = (options_of(options), host_of(host));
        let identity = WriterIdentity {
            agent: agent.0,
            harness: harness.0,
            pty_session: taken(pty_session),
            token: token.0,
        };
        let sequence = taken(sequence);
        Writer::own(py, evidence, || core::Writer::open(directory.0, identity, sequence, &options, &host))
    }

    /// Records what is seen: an `Observation`, or the word of a state, refined by keywords.
    ///
    /// When it answers `landed` every reader sees it; an ending with an exit is then also durable, anything else may
    /// be lost with the machine's power. A refusal is an answer and not an exception: look at `outcome`, or at the
    /// report's truth.
    ///
    /// Raises `HarnessStateUnknownStateError`, `HarnessStateUnfencedError`, `HarnessStateUnknownAskError`,
    /// `HarnessStateAskWithoutHumanError` or `HarnessStateReservedReasonError` before anything is touched;
    /// `HarnessStateBusyError`, `HarnessStateLockingError` or `HarnessStateIoError` with nothing written, except that
    /// after a failed sync the record may stand.
    #[pyo3(signature = (observation, *, blocked_on=None, input_buffer=None, ask=None, reason=None, exit=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn observe(
        &self,
        py: Python<'_>,
        observation: Said<'_>,
        blocked_on: Option<Given<String>>,
        input_buffer: Option<Given<String>>,
        ask: Option<Given<String>>,
        reason: Option<Given<String>>,
        exit: Option<Given<String>>,
    ) -> PyResult<Report> {
        let refinements = Refinements { blocked_on, input_buffer, ask, reason, exit };
        self.observing(py, &observation, refinements, core::Writer::observe)
    }

    /// As `observe`, unless the session's own ending with an exit stands: then nothing is written and the answer is
    /// refused as `terminal`.
    #[pyo3(signature = (observation, *, blocked_on=None, input_buffer=None, ask=None, reason=None, exit=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn observe_unless_ended(
        &self,
        py: Python<'_>,
        observation: Said<'_>,
        blocked_on: Option<Given<String>>,
        input_buffer: Option<Given<String>>,
        ask: Option<Given<String>>,
        reason: Option<Given<String>>,
        exit: Option<Given<String>>,
    ) -> PyResult<Report> {
        let refinements = Refinements { blocked_on, input_buffer, ask, reason, exit };
        self.observing(py, &observation, refinements, core::Writer::observe_unless_ended)
    }

    /// Records the end with this exit, such as `exit 0` or `signal 9`. A repeat coalesces, another exit replaces.
    /// Durable when it lands with an exit. A plain `observe` may follow and lands. Raises as `observe`.
    #[pyo3(signature = (exit=None))]
    fn ended(&self, py: Python<'_>, exit: Option<Given<String>>) -> PyResult<Report> {
        let report = call::fallible(py, || self.core().ended(text_of(exit.as_ref())))?;
        Report::of(py, &report)
    }

    /// Notes what became of a child of the session's, a subagent that has `started`, is `working` or has `stopped`, under
    /// the harness's own `id` of it (1 to 128 bytes). The turn stays as it is; a reader that finds it over while children
    /// run concludes `active`, with the reason `children`. Where the session has observed nothing or has ended, and with the
    /// extension switched off, there is nothing to note. Not durable.
    ///
    /// Raises `HarnessStateInputError` with reason `child` for such an id, with reason `word` for another step; as
    /// `observe`.
    fn note_child(&self, py: Python<'_>, id: Given<String>, step: Given<String>) -> PyResult<Report> {
        let note = || self.core().note_child(&Child { id: id.0, step: ChildStep::parse(&step.0)? });
        let report = call::fallible(py, note)?;
        Report::of(py, &report)
    }

    /// Makes the next landed observation a transition even if it says what stands, because what stands was
    /// interrupted. Touches no file.
    fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        call::infallible(py, || self.core().interrupt())
    }

    /// Renews the stamp of the session's live record, whoever of the session wrote it, and keeps everything else as
    /// it stood. Where there is nothing to renew it is quiet.
    ///
    /// Raises `HarnessStateBusyError`, `HarnessStateLockingError` or `HarnessStateIoError` with nothing written.
    fn heartbeat(&self, py: Python<'_>) -> PyResult<Heartbeat> {
        let heartbeat = call::fallible(py, || self.core().heartbeat())?;
        Heartbeat::of(py, &heartbeat)
    }

    /// Proves ownership for as long as a block runs:
    ///
    ///     with writer.current_ownership() as owned:
    ///         if owned is not None:
    ///             ...
    ///
    /// `owned` is None where schema, token and sequence of the record are not this session's. While the block runs no
    /// claim and no write lands, not even one of this writer: it would wait for the block. Keep it short; hooks wait
    /// only 250 ms. Entering raises `HarnessStateBusyError`, `HarnessStateLockingError` or `HarnessStateIoError`.
    fn current_ownership(slf: Bound<'_, Self>) -> CurrentOwnership {
        CurrentOwnership::of(slf.unbind())
    }

    /// Takes the lock while schema, token and sequence of the record are this session's, and answers the guard that
    /// holds it; None where they are not. `current_ownership` is the form for a `with` block.
    ///
    /// Raises `HarnessStateBusyError`, `HarnessStateLockingError` or `HarnessStateIoError`.
    pub(super) fn lock_current_ownership(&self, py: Python<'_>) -> PyResult<Option<OwnershipGuard>> {
        let guard = call::fallible(py, || self.core().lock_current_ownership())?;
        Ok(guard.map(OwnershipGuard::of))
    }

    /// The sequence that was adopted or resolved; None before the first accepted call of a writer without one.
    #[getter]
    fn sequence(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        call::infallible(py, || self.core().sequence())
    }

    /// The agent's directory.
    #[getter]
    fn directory(&self) -> OsString {
        self.core().directory().as_os_str().to_owned()
    }

    /// The agent's name.
    #[getter]
    fn agent(&self) -> &str {
        &self.core().identity().agent
    }

    /// The harness's name.
    #[getter]
    fn harness(&self) -> &str {
        &self.core().identity().harness
    }

    /// The session's token.
    #[getter]
    fn token(&self) -> &str {
        &self.core().identity().token
    }

    /// By what it knows what it observes: a word of `EVIDENCE_*`.
    #[getter]
    fn evidence(&self) -> &'static str {
        self.core().evidence().word()
    }

    /// The pty session in which the harness runs.
    #[getter]
    fn pty_session(&self) -> Option<&str> {
        self.core().identity().pty_session.as_deref()
    }

    fn __repr__(&self) -> String {
        let identity = self.core().identity();
        let directory = self.core().directory();
        format!(
            "<gallivant.Writer agent={:?} harness={:?} directory={directory:?}>",
            identity.agent, identity.harness
        )
    }
}
