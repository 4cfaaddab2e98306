//! The core's tables as Python data, for the tests that compare the package's own constants with them.

use gallivant_core::harness_state as core;
use gallivant_core::harness_state::adapters::{ChildStep, Harness, Ignored};
use gallivant_core::journal::{GapReason, How, Provenance};
use gallivant_core::process::Liveness;
use gallivant_core::{Code, Kind};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The version of the library, which is that of all its packages.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    gallivant_core::VERSION
}

/// Every error code in the order of its number: name, number, kind, remedy, documentation page.
#[pyfunction]
pub(crate) fn codes() -> Vec<(&'static str, i32, &'static str, &'static str, &'static str)> {
    let row = |code: &Code| (code.name(), code.number(), code.kind().name(), code.remedy(), code.page());
    Code::ALL.iter().map(row).collect()
}

/// Every list of words that calls take or answer, by the prefix of its constants in `gallivant.words`.
#[pyfunction]
#[pyo3(signature = () -> "dict[str, list[str]]")]
pub(crate) fn words(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let table = PyDict::new(py);
    table.set_item("STATE", listed(core::State::ALL, core::State::word))?;
    table.set_item("BLOCKED_ON", listed(core::BlockedOn::ALL, core::BlockedOn::word))?;
    table.set_item("INPUT_BUFFER", listed(core::InputBuffer::ALL, core::InputBuffer::word))?;
    table.set_item("ASK", listed(core::Ask::ALL, core::Ask::word))?;
    table.set_item("UNKNOWN", listed(core::UnknownReason::ALL, core::UnknownReason::word))?;
    let evidence =
        core::Evidence::ALL.iter().copied().filter(|evidence| *evidence != core::Evidence::Unknown);
    table.set_item("EVIDENCE", evidence.map(core::Evidence::word).collect::<Vec<_>>())?;
    table.set_item("CHILD_STEP", listed(ChildStep::ALL, ChildStep::word))?;
    table.set_item("NOTICING", listed(core::Noticing::ALL, core::Noticing::word))?;
    table.set_item("REFUSED", listed(core::Refusal::ALL, core::Refusal::word))?;
    table.set_item("SKIPPED", listed(core::Skip::ALL, core::Skip::word))?;
    table.set_item("IGNORED", listed(Ignored::ALL, Ignored::word))?;
    table.set_item("HARNESS", listed(Harness::ALL, Harness::name))?;
    table.set_item("GAP", listed(GapReason::ALL, GapReason::word))?;
    table.set_item("PROVENANCE", listed(Provenance::ALL, Provenance::word))?;
    table.set_item("PLACED", listed(How::ALL, How::word))?;
    table.set_item("KIND", listed(Kind::ALL, Kind::name))?;
    let liveness = [Liveness::Alive, Liveness::Dead, Liveness::Indeterminate];
    table.set_item("LIVENESS", listed(&liveness, Liveness::word))?;
    table.set_item("VARIABLE", core::VARIABLES.to_vec())?;
    Ok(table)
}

fn listed<T: Copy>(all: &[T], word: impl Fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().map(|value| word(*value)).collect()
}
