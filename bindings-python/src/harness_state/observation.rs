//! `gallivant.Observation`, and the words that arguments are written in.

use gallivant_core::harness_state as core;
use gallivant_core::{Code, Error};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::argument::{Given, taken};
use crate::{error, value};

/// What a writer sees: `state` and five refinements, compared together when it is decided whether anything changed.
///
/// `state`: ready, idle, active, child, ended. `blocked_on`: none (the default), human, unknown. `input_buffer`:
/// empty, nonempty, unknown (the default). `ask`: none (the default), permission, question, review. `reason`: why,
/// in the writer's words. `exit`: how it ended, such as `exit 0` or `signal 9`. The constants of `gallivant.words`
/// spell all of them.
///
/// A word that does not exist is `HarnessStateInputError` with reason `word`. The word `unknown` is accepted here
/// wherever the core has it; a writer refuses it for state and ask.
#[pyclass(frozen, module = "gallivant")]
#[derive(Debug)]
pub(crate) struct Observation {
    pub(crate) observation: core::Observation,
}

const FIELDS: &[&str] = &["state", "blocked_on", "input_buffer", "ask", "reason", "exit"];

#[pymethods]
impl Observation {
    #[new]
    #[pyo3(signature = (state, *, blocked_on=None, input_buffer=None, ask=None, reason=None, exit=None))]
    fn new(
        py: Python<'_>,
        state: Given<String>,
        blocked_on: Option<Given<String>>,
        input_buffer: Option<Given<String>>,
        ask: Option<Given<String>>,
        reason: Option<Given<String>>,
        exit: Option<Given<String>>,
    ) -> PyResult<Self> {
        let refinements = Refinements { blocked_on, input_buffer, ask, reason, exit };
        Ok(Observation { observation: refinements.of(py, &state)? })
    }

    /// What the harness is doing.
    #[getter]
    fn state(&self) -> &'static str {
        self.observation.state.word()
    }

    /// Whom it waits for.
    #[getter]
    fn blocked_on(&self) -> &'static str {
        self.observation.blocked_on.word()
    }

    /// Whether text waits in its input line.
    #[getter]
    fn input_buffer(&self) -> &'static str {
        self.observation.input_buffer.word()
    }

    /// What a person is asked for.
    #[getter]
    fn ask(&self) -> &'static str {
        self.observation.ask.word()
    }

    /// Why, in the writer's words.
    #[getter]
    fn reason(&self) -> Option<&str> {
        self.observation.reason.as_deref()
    }

    /// How it ended.
    #[getter]
    fn exit(&self) -> Option<&str> {
        self.observation.exit.as_deref()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        value::repr(slf.as_any(), FIELDS)
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        value::equal(slf.as_any(), other, FIELDS)
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        value::hash(slf.as_any(), FIELDS)
    }

    #[pyo3(signature = () -> "tuple[tuple[()], dict[str, object]]")]
    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        value::arguments(slf.as_any(), FIELDS)
    }
}

/// What `observe` takes: a whole observation, or the word of its state, refined by keywords.
#[derive(FromPyObject)]
pub(crate) enum Said<'py> {
    Whole(Bound<'py, Observation>),
    State(Bound<'py, PyString>),
}

/// The keyword arguments beside a state; none where they were not given.
#[derive(Default)]
pub(crate) struct Refinements {
    pub(crate) blocked_on: Option<Given<String>>,
    pub(crate) input_buffer: Option<Given<String>>,
    pub(crate) ask: Option<Given<String>>,
    pub(crate) reason: Option<Given<String>>,
    pub(crate) exit: Option<Given<String>>,
}

impl Refinements {
    /// The observation that is meant.
    ///
    /// # Errors
    /// `HARNESS_STATE_INPUT` for a word that does not exist, or a keyword beside a whole observation.
    pub(crate) fn observation(self, py: Python<'_>, said: &Said<'_>) -> PyResult<core::Observation> {
        match said {
            Said::State(state) => self.of(py, &state.extract()?),
            Said::Whole(observation) if self.is_empty() => Ok(observation.get().observation.clone()),
            Said::Whole(_) => {
                let message = "keywords refine the word of a state, not a whole observation";
                Err(error::raise(py, &Error::new(Code::HarnessStateInput, message).with_reason("keywords")))
            }
        }
    }

    fn of(self, py: Python<'_>, Given(state): &Given<String>) -> PyResult<core::Observation> {
        let raise = |error: Error| error::raise(py, &error);
        let mut observation = core::Observation::new(core::State::parse("state", state).map_err(raise)?);
        if let Some(Given(word)) = &self.blocked_on {
            observation.blocked_on = core::BlockedOn::parse("blocked_on", word).map_err(raise)?;
        }
        if let Some(Given(word)) = &self.input_buffer {
            observation.input_buffer = core::InputBuffer::parse("input_buffer", word).map_err(raise)?;
        }
        if let Some(Given(word)) = &self.ask {
            observation.ask = core::Ask::parse("ask", word).map_err(raise)?;
        }
        Ok(core::Observation { reason: taken(self.reason), exit: taken(self.exit), ..observation })
    }

    fn is_empty(&self) -> bool {
        self.blocked_on.is_none()
            && self.input_buffer.is_none()
            && self.ask.is_none()
            && self.reason.is_none()
            && self.exit.is_none()
    }
}
