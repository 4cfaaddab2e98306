//! `gallivant.observe_hook`, and what `gallivant.hook` is made of.

use std::ffi::OsString;
use std::path::PathBuf;

use gallivant_core::Code;
use gallivant_core::harness_state as core;
use gallivant_core::harness_state::HookOutcome;
use gallivant_core::harness_state::adapters::Harness;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use super::environment::{SessionEnvironment, variables_of};
use super::options::{Options, options_of};
use super::outcome::Report;
use super::session::Session;
use crate::argument::{Given, all_taken, taken};
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
        kind: String,
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
        let (kind, observed, error) = match &report.outcome {
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
            kind: kind.to_owned(),
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
    Session(Bound<'py, Session>),
    Environment(Bound<'py, SessionEnvironment>),
    Environ(Bound<'py, PyAny>),
}

/// Observes one event of `harness` (`claude`, `codex`, `opencode`, `gemini`) for a session. `payload` is what the
/// harness handed over, byte for byte. `session` is a `Session` of this process, a `SessionEnvironment`, or the environment
/// of the hook, such as `os.environ`; without a session nothing changes and the answer is refused as `identity-missing`.
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
    session: "Session | SessionEnvironment | collections.abc.Mapping[str, str] | None",
    *,
    options=None,
    host=None,
))]
pub(crate) fn observe_hook(
    py: Python<'_>,
    harness: Given<String>,
    payload: PyBackedBytes,
    session: Option<Whose<'_>>,
    options: Option<&Bound<'_, Options>>,
    host: Option<&Bound<'_, TestHost>>,
) -> PyResult<HookReport> {
    let harness = Harness::parse(&harness.0).map_err(|error| error::raise(py, &error))?;
    let (options, host) = (options_of(options), host_of(host));
    let report = match session {
        Some(Whose::Environ(environ)) => {
            let variables = variables_of(&environ)?;
            call::infallible(py, || core::observe_hook_for(&variables, harness, &payload, &options, &host))?
        }
        Some(Whose::Session(session)) => {
            let session = session.get().environment(py)?.core();
            call::infallible(py, || core::observe_hook(harness, &payload, Some(&session), &options, &host))?
        }
        Some(Whose::Environment(session)) => {
            let session = session.get().core();
            call::infallible(py, || core::observe_hook(harness, &payload, Some(&session), &options, &host))?
        }
        None => call::infallible(py, || core::observe_hook(harness, &payload, None, &options, &host))?,
    };
    HookReport::of(py, report)
}

/// Ends this process with status 0 once it is 1 s old, whatever it does then; what it could not finish is noted in
/// `.harness-state.log` where `agent_dir` is named. Cannot be undone. Only the first call does anything.
#[pyfunction]
#[pyo3(signature = (agent_dir=None))]
pub(crate) fn arm_hook_deadline(py: Python<'_>, agent_dir: Option<Given<PathBuf>>) {
    let agent_dir = taken(agent_dir);
    py.detach(|| core::keep_hook_deadline(agent_dir.as_deref()));
}

/// Serves one hook: `arguments` are those of the command line, the harness first. Reads the payload from the last
/// argument for Codex, where there is one beside the harness, and from standard input otherwise. Prints nothing.
#[pyfunction]
#[pyo3(signature = (arguments, environ: "collections.abc.Mapping[str, str]"))]
pub(crate) fn serve_hook(
    py: Python<'_>,
    arguments: Vec<Given<OsString>>,
    environ: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (arguments, variables) = (all_taken(arguments), variables_of(environ)?);
    py.detach(|| core::serve_hook(&arguments, &variables));
    Ok(())
}

/// What a hook that is started with this environment would find: whether all is in order, and a line for each thing
/// that was looked at, with `ok` or what is wrong and what to do at the end. `harness` is what its command names.
///
/// Raises `HarnessStateInputError` with reason `unknown-harness` for a harness that is not known.
#[pyfunction]
#[pyo3(signature = (environ: "collections.abc.Mapping[str, str]", harness=None))]
pub(crate) fn check_hook(
    py: Python<'_>,
    environ: &Bound<'_, PyAny>,
    harness: Option<Given<String>>,
) -> PyResult<(bool, String)> {
    let harness = harness.map(|Given(name)| Harness::parse(&name)).transpose();
    let harness = harness.map_err(|error| error::raise(py, &error))?;
    let (variables, options, host) = (variables_of(environ)?, options_of(None), host_of(None));
    let check = call::infallible(py, || core::check_hook(&variables, harness, &options, &host))?;
    Ok((check.problem().is_none(), check.to_string()))
}
