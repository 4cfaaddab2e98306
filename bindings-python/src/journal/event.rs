//! `gallivant.journal.Owner` and `Event`, and how a page becomes the core's.

use gallivant_core::json::{Number, Object, Value};
use gallivant_core::{Code, Error, Result, journal as core};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyTuple};

use crate::argument::Given;
use crate::error;
use crate::value::{self, value};

value! {
    in "gallivant.journal";
    /// Whose journal it is. All of it is compared exactly, and none of it is redacted.
    Owner {
        /// The task.
        task_id: String,
        /// The run, which has a directory of its own.
        run_id: String,
        /// The provider, by its public name.
        provider: String,
        /// The provider's job, where it has one.
        job_id: Option<String> = None,
        /// The provider's root turn, where there is one.
        turn_id: Option<String> = None,
    }
}

impl Owner {
    pub(super) fn to_core(&self) -> core::Owner {
        core::Owner {
            task_id: self.task_id.clone(),
            run_id: self.run_id.clone(),
            provider: self.provider.clone(),
            job_id: self.job_id.clone(),
            turn_id: self.turn_id.clone(),
        }
    }
}

/// One event of a page, unredacted: something of a `type` with `data`, or, with a `reason`, a gap.
///
///     Event("e-1", "provider", "message", {"text": "hello"}, provider_sequence=1, timestamp=1_700_000_000_000)
///     Event("gap-c7", "provider", reason=words.GAP_PROVIDER_GAP)
///
/// `id` is the provider's event id, a gap id or a byte id. `provenance` is who says it: `provider`, `local` or `boundary`.
/// `data` is what `json.dumps` takes, taken as it is now; integers keep all their digits. `data_json` is the same as JSON
/// text, whose numbers keep every digit they are written with. `provider_sequence` is the provider's own number, an integer
/// from 0. `timestamp` is when it happened, in ms since 1970; without one the journal notes when it took the event in.
///
/// Raises `ExecutionInputError` with reason `event` for what is no event, and with reason `shape` for data that is not one JSON
/// value; `TypeError` and `ValueError` for data that `json.dumps` does not take. What a record can hold is judged by the append.
#[pyclass(frozen, module = "gallivant.journal")]
#[derive(Debug)]
pub(crate) struct Event {
    event: core::Event,
}

const FIELDS: &[&str] =
    &["id", "provenance", "type", "data_json", "reason", "provider_sequence", "timestamp"];

#[pymethods]
impl Event {
    #[new]
    #[pyo3(signature = (
        id, provenance, r#type=None, data: "object" = None, *, data_json=None, reason=None, provider_sequence=None,
        timestamp=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        id: Given<String>,
        provenance: Given<String>,
        r#type: Option<Given<String>>,
        data: Option<Bound<'_, PyAny>>,
        data_json: Option<Given<String>>,
        reason: Option<Given<String>>,
        provider_sequence: Option<Numeral>,
        timestamp: Option<Numeral>,
    ) -> PyResult<Self> {
        let data = match (data, data_json) {
            (Some(_), Some(_)) => return Err(PyTypeError::new_err("an event has either data or data_json")),
            (Some(data), None) => Some(dumped(&data)?),
            (None, text) => text.map(|Given(text)| text),
        };
        let text = |given: Given<String>| Value::String(given.0);
        let number = |given: Option<Numeral>| given.map(|given| given.number(py)).transpose();
        let mut members = Object::new();
        members.insert("id", text(id));
        members.insert("provenance", text(provenance));
        members.insert("type", r#type.map_or(Value::Null, text));
        members.insert("reason", reason.map_or(Value::Null, text));
        members.insert("providerSequence", number(provider_sequence)?.map_or(Value::Null, Value::Number));
        members.insert("timestamp", number(timestamp)?.map_or(Value::Null, Value::Number));
        let event = || {
            if let Some(data) = data {
                members.insert("data", parsed(&data)?);
            }
            core::Event::from_value(Value::Object(members))
        };
        event().map(|event| Event { event }).map_err(|refused| error::raise(py, &refused))
    }

    /// The events of a page that is JSON text, as a provider has sent it: an array of objects with `id`, `provenance`, `type`
    /// and `data`, and if need be `providerSequence` and `timestamp`; a gap has a `reason` in the place of type and data. Every
    /// number keeps its digits.
    ///
    /// Raises `ExecutionInputError` with reason `shape` for what is not one JSON array, and with reason `event` for what is no
    /// event, by its position.
    #[staticmethod]
    fn page_from_json(py: Python<'_>, text: Given<String>) -> PyResult<Vec<Event>> {
        let page = crate::call::fallible(py, || core::Event::page_from_json(&text.0))?;
        Ok(page.into_iter().map(|event| Event { event }).collect())
    }

    /// The provider's event id, a gap id or a byte id.
    #[getter]
    fn id(&self) -> &str {
        &self.event.id
    }

    /// Who says it.
    #[getter]
    fn provenance(&self) -> &'static str {
        self.event.provenance.word()
    }

    /// The type; None for a gap.
    #[getter]
    fn r#type(&self) -> Option<&str> {
        match &self.event.content {
            core::Content::Said { kind, .. } => Some(kind),
            core::Content::Gap(_) => None,
        }
    }

    /// The data as JSON text, numbers with their digits; None for a gap.
    #[getter]
    fn data_json(&self) -> Option<String> {
        match &self.event.content {
            core::Content::Said { data, .. } => Some(data.to_json()),
            core::Content::Gap(_) => None,
        }
    }

    /// The data as `json.loads` gives it, made at each look; None for a gap and for JSON's null.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let Some(text) = self.data_json() else { return Ok(None) };
        LOADS.import(py, "json", "loads")?.call1((text,)).map(Some)
    }

    /// Why something is missing here; None where nothing is.
    #[getter]
    fn reason(&self) -> Option<&'static str> {
        match &self.event.content {
            core::Content::Said { .. } => None,
            core::Content::Gap(reason) => Some(reason.word()),
        }
    }

    /// The provider's own number.
    #[getter]
    fn provider_sequence(&self, py: Python<'_>) -> PyResult<Option<Numeral>> {
        self.event.provider_sequence.as_ref().map(|number| Numeral::of(py, number)).transpose()
    }

    /// When it happened, in ms since 1970.
    #[getter]
    fn timestamp(&self, py: Python<'_>) -> PyResult<Option<Numeral>> {
        self.event.timestamp.as_ref().map(|number| Numeral::of(py, number)).transpose()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        value::repr(slf.as_any(), FIELDS)
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().event == slf.get().event)
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        value::hash(slf.as_any(), FIELDS)
    }

    #[pyo3(signature = () -> "tuple[tuple[()], dict[str, object]]")]
    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        value::arguments(slf.as_any(), FIELDS)
    }
}

/// A page as it was given.
pub(super) enum Page {
    Events(Vec<core::Event>),
    Json(String),
}

impl Page {
    /// Takes events, or plain dictionaries of the same members.
    ///
    /// # Errors
    /// What `json.dumps` raises of the second; whatever iterating raises.
    pub(super) fn of(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let given = given.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let event = |event: &Bound<'_, PyAny>| Some(event.cast::<Event>().ok()?.get().event.clone());
        match given.iter().map(event).collect() {
            Some(events) => Ok(Page::Events(events)),
            None if given.iter().any(|one| one.is_instance_of::<Event>()) => {
                Err(PyTypeError::new_err("a page is of events or of dictionaries, and not of both"))
            }
            None => dumped(&pyo3::types::PyList::new(given[0].py(), &given)?.into_any()).map(Page::Json),
        }
    }

    /// # Errors
    /// `EXECUTION_INPUT` with reason `shape` or `event`.
    pub(super) fn events(self) -> Result<Vec<core::Event>> {
        match self {
            Page::Events(events) => Ok(events),
            Page::Json(text) => core::Event::page_from_json(&text),
        }
    }
}

/// A number as Python has it.
#[derive(Debug, IntoPyObject)]
pub(crate) enum Numeral {
    Int(Py<PyInt>),
    Float(Py<PyFloat>),
}

impl<'py> FromPyObject<'_, 'py> for Numeral {
    type Error = PyErr;

    #[cfg(feature = "stubs")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = <Numeral as IntoPyObject<'py>>::OUTPUT_TYPE;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        // A truth value is an int to Python, and no number to anybody else.
        match (object.cast::<PyInt>(), object.cast::<PyFloat>()) {
            (Ok(int), _) if !object.is_instance_of::<PyBool>() => Ok(Numeral::Int(int.to_owned().unbind())),
            (_, Ok(float)) => Ok(Numeral::Float(float.to_owned().unbind())),
            _ => Err(PyTypeError::new_err("a number of an event is an int or a float")),
        }
    }
}

impl Numeral {
    /// An integer with all its digits, or a double in the form that JSON has for it.
    fn number(&self, py: Python<'_>) -> PyResult<Number> {
        let number = match self {
            Numeral::Int(int) => {
                // Not that of a subclass, which may be a name.
                let digits = py.get_type::<PyInt>().call_method1("__repr__", (int,))?;
                Number::parse(&digits.extract::<String>()?)
            }
            Numeral::Float(float) => Number::from_f64(float.extract(py)?),
        };
        let message = "an event has a number that is not finite";
        let refused = || error::raise(py, &Error::new(Code::ExecutionInput, message).with_reason("event"));
        number.ok_or_else(refused)
    }

    fn of(py: Python<'_>, number: &Number) -> PyResult<Self> {
        if number.is_integer() {
            let int = py.get_type::<PyInt>().call1((number.as_str(),))?.cast_into::<PyInt>()?;
            return Ok(Numeral::Int(int.unbind()));
        }
        Ok(Numeral::Float(PyFloat::new(py, number.as_f64()).unbind()))
    }
}

fn dumped(data: &Bound<'_, PyAny>) -> PyResult<String> {
    static DUMPS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let options = PyDict::new(data.py());
    options.set_item("allow_nan", false)?;
    DUMPS.import(data.py(), "json", "dumps")?.call((data,), Some(&options))?.extract()
}

/// As a page is read: half a surrogate pair becomes U+FFFD and makes no page unreadable.
fn parsed(text: &str) -> Result<Value> {
    Value::parse_replacing(text).map(|(value, _)| value).map_err(|malformed| {
        let message = format!("an event's data is no JSON value: {malformed}");
        Error::new(Code::ExecutionInput, message).with_reason("shape")
    })
}
