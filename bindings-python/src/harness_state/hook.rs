//! `gallivant.observe_hook`.

use std::path::Path;

use gallivant_core::harness_state as core;
use gallivant_core::harness_state::adapters::Harness;
use gallivant_core::harness_state::{HookOutcome, Refusal};
use gallivant_core::{Code, Host};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use super::environment::{SessionEnvironment, Variables};
use super::options::{Options, options_of};
use super::outcome::Report;
use crate::error::Exception;
use crate::host::host_of;
use crate::testing::TestHost;
use crate::value::value;
use crate::{call, error};

value! {
    /// What one hook call did.
    HookReport {
        /// The event's name, as far as the payload could be read.
        event: Option<String> = None,
        /// `observed`: `report` is the writer's answer. `ignored`: it is no observation. `failed`: `error` says why.
        outcome: String,
        /// The answer in one stable word: an outcome's, a refusal's, an ignored event's, or an error's code.
        word: String,
        /// Something in the payload was no Unicode and was replaced.
        lossy: bool = false,
        /// The writer's answer to the observation.
        report: Option<Py<Report>> = None,
        /// Why it failed.
        error: Option<Exception> = None,
    }
}

impl HookReport {
    fn of(py: Python<'_>, report: core::HookReport) -> PyResult<Self> {
        let (outcome, observed, error) = match &report.outcome {
            HookOutcome::Observed(observed) => ("observed", Some(observed), None),
            HookOutcome::Ignored(_) => ("ignored", None, None),
            // The caller's own doing, and the caller is told so; the log says that the event is lost.
            HookOutcome::Failed(error) if error.code() == Code::Cancelled => {
                return Err(error::raise(py, error));
            }
            HookOutcome::Failed(error) => ("failed", None, Some(error)),
        };
        let observed = observed.map(|observed| Py::new(py, Report::of(py, observed)?)).transpose()?;
        Ok(HookReport {
            outcome: outcome.to_owned(),
            word: report.outcome.word().to_owned(),
            lossy: report.lossy,
            report: observed,
            error: Exception::of_optional(py, error)?,
            event: report.event,
        })
    }
}

/// For whom an event is observed.
#[derive(FromPyObject)]
pub(crate) enum Whose<'py> {
    Session(Bound<'py, SessionEnvironment>),
    Environ(Bound<'py, PyAny>),
}

/// Observes one event of `harness` (`claude`, `codex`) for a session. `payload` is what the harness handed over, byte
/// for byte. `session` is a `SessionEnvironment`, or the environment of the hook, such as `os.environ`; without a
/// session nothing changes and the answer is refused as `identity-missing`.
///
/// It waits for the lock for at most 250 ms. Whatever goes wrong with the payload, the session or the disk is in the
/// report, and in `.harness-state.log` beside the record, and no exception. A process that does nothing else has
/// `gallivant.hook.main`, which also keeps the deadline.
///
/// Raises `HarnessStateInputError` with reason `unknown-harness` for a harness that is not known; `CancelledError` where
/// this thread's `Cancel` ended the wait.
#[pyfunction]
#[pyo3(signature = (
    harness,
    payload: "bytes | bytearray",
    session: "SessionEnvironment | collections.abc.Mapping[str, str] | None",
    *,
    options=None,
    host=None,
))]
pub(crate) fn observe_hook(
    py: Python<'_>,
    harness: &str,
    payload: PyBackedBytes,
    session: Option<Whose<'_>>,
    options: Option<&Bound<'_, Options>>,
    host: Option<&Bound<'_, TestHost>>,
) -> PyResult<HookReport> {
    let harness = Harness::parse(harness).map_err(|error| error::raise(py, &error))?;
    let (options, host) = (options_of(options), host_of(host));
    let report = match session {
        Some(Whose::Environ(environ)) => {
            let variables = Variables::of(&environ)?;
            call::infallible(py, || observe_for(&variables, harness, &payload, &options, &host))?
        }
        Some(Whose::Session(session)) => {
            let session = session.get().core();
            call::infallible(py, || core::observe_hook(harness, &payload, Some(&session), &options, &host))?
        }
        None => call::infallible(py, || core::observe_hook(harness, &payload, None, &options, &host))?,
    };
    HookReport::of(py, report)
}

/// As the core's function of this name, for the session that the variables name. What is wrong with the variables
/// themselves is logged too, where they name a directory.
pub(crate) fn observe_for(
    variables: &Variables,
    harness: Harness,
    payload: &[u8],
    options: &core::Options,
    host: &Host,
) -> core::HookReport {
    let (report, entry) = match variables.session() {
        Ok(session) => {
            let report = core::observe_hook(harness, payload, session.as_ref(), options, host);
            let missing = session.is_none().then(|| {
                let event = report.event.as_deref().unwrap_or("-");
                format!("{} {event} refused {}", harness.name(), Refusal::IdentityMissing.word())
            });
            (report, missing)
        }
        Err(error) => {
            let reason = error.reason().unwrap_or("-");
            let entry = format!("{} - failed reason={reason} {error}; {}", harness.name(), error.remedy());
            (core::HookReport { event: None, outcome: HookOutcome::Failed(error), lossy: false }, Some(entry))
        }
    };
    if let (Some(entry), Some(directory)) = (entry, variables.agent_dir()) {
        core::note(Path::new(directory), host, &entry);
    }
    report
}
