//! `gallivant.Explanation`: why a reader concludes what it does.

use gallivant_core::harness_state as core;
use pyo3::prelude::*;

use super::record::Record;
use super::state::State;
use crate::value::{Listed, value};

value! {
    /// One row of the reading table, tried.
    TriedRow {
        /// The clause of the specification that the row is.
        clause: String,
        /// What it asks of the evidence, as a statement.
        question: String,
        /// Whether the evidence is so; then the row decides.
        matched: bool,
    }
}

/// Why a reader concludes what it does. `str()` gives some lines for a person.
#[pyclass(frozen, module = "gallivant")]
#[derive(Debug)]
pub(crate) struct Explanation {
    explanation: core::Explanation,
    state: Option<Py<State>>,
    rows: Listed<Py<TriedRow>>,
}

impl Explanation {
    pub(super) fn of(py: Python<'_>, explanation: core::Explanation) -> PyResult<Self> {
        let state =
            explanation.derived.clone().map(|derived| Py::new(py, State::from(derived))).transpose()?;
        let row = |row: &core::TriedRow| {
            let (clause, question) = (row.clause.to_owned(), row.question.to_owned());
            Py::new(py, TriedRow { clause, question, matched: row.matched })
        };
        let rows = explanation.rows.iter().map(row).collect::<PyResult<Vec<_>>>()?;
        Ok(Explanation { explanation, state, rows: Listed(rows) })
    }
}

#[pymethods]
impl Explanation {
    /// The conclusion; None when nothing was ever observed.
    #[getter]
    fn state(&self, py: Python<'_>) -> Option<Py<State>> {
        self.state.as_ref().map(|state| state.clone_ref(py))
    }

    /// The conclusion's reason.
    #[getter]
    fn reason(&self) -> Option<&str> {
        self.explanation.derived.as_ref()?.reason.as_deref()
    }

    /// The clause of the row that decided.
    #[getter]
    fn clause(&self) -> &'static str {
        self.explanation.clause()
    }

    /// The rows in the order in which they were tried. The last one decided.
    #[getter]
    fn rows(&self) -> &Listed<Py<TriedRow>> {
        &self.rows
    }

    /// The record, where one was read and decoded.
    #[getter]
    fn record(&self, py: Python<'_>) -> PyResult<Option<Record>> {
        self.explanation.record.as_ref().map(|record| Record::of(py, record)).transpose()
    }

    /// Why there is no record although something stands there: one line for people.
    #[getter]
    fn damage(&self) -> Option<&str> {
        self.explanation.damage.as_deref()
    }

    /// The instant for which it was concluded, wall clock in ms since 1970.
    #[getter]
    fn now_ms(&self) -> u64 {
        self.explanation.at.wall_ms
    }

    /// How old the record's stamp is by the wall clock, in ms; None without a record.
    #[getter]
    fn age_ms(&self) -> Option<u64> {
        self.explanation.age_ms()
    }

    /// One JSON object as text: `state` `reason` `clause` `validUntilMs` `clock` `ageMs` `rows` `record` `damage`. The
    /// session's token is left out of the record.
    fn to_json(&self) -> String {
        self.explanation.to_json()
    }

    fn __str__(&self) -> String {
        self.explanation.to_string()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let state = slf.getattr("state")?.repr()?;
        Ok(format!("<gallivant.Explanation clause={:?} state={}>", slf.get().clause(), state.to_cow()?))
    }
}
