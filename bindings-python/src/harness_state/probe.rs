//! What `Reader.read`, `Fleet.read` and `Watch` take as their probe.

use gallivant_core::harness_state as core;
use gallivant_core::harness_state::{FleetProbe, LeaseProbe, Probe, ProcessProbe, WatchProbe};
use gallivant_core::process::Liveness;
use gallivant_core::{Code, Error, Host};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

use super::process::ProcessIdentity;
use super::record::Record;
use crate::argument::Given;
use crate::{call, error};

const LEASE: &str = "lease";
const PROBES: &str = "a probe is lease, alive, dead or indeterminate, a process identity, or a function";

/// The core's probe of a watched record for an optional argument.
///
/// # Errors
/// As [`probe_of`].
pub(super) fn watch_probe_of(
    argument: Option<&Bound<'_, PyAny>>,
    reader: &core::Reader,
    host: &Host,
) -> PyResult<WatchProbe> {
    let Some(argument) = argument else { return Ok(WatchProbe::None) };
    if is_lease(argument)? {
        return Ok(WatchProbe::Lease);
    }
    Ok(WatchProbe::Own(probe_of(argument, reader, host)?.into()))
}

/// The core's probe of a fleet for an optional argument.
///
/// # Errors
/// `HARNESS_STATE_INPUT` with reason `probe` for anything but the word `lease`.
pub(super) fn fleet_probe_of(argument: Option<&Bound<'_, PyAny>>) -> PyResult<FleetProbe> {
    match argument {
        None => Ok(FleetProbe::None),
        Some(argument) if is_lease(argument)? => Ok(FleetProbe::Lease),
        Some(argument) => {
            Err(refused(argument.py(), "the probe of a fleet is lease or none", &shown(argument)?))
        }
    }
}

fn is_lease(argument: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_text = argument.is_instance_of::<PyString>();
    Ok(is_text && argument.extract::<Given<String>>()?.0 == LEASE)
}

/// The core's probe for an argument: the word `lease`, a fixed answer, a process identity, or a function of Python.
///
/// # Errors
/// `HARNESS_STATE_INPUT` with reason `probe` for anything else.
pub(super) fn probe_of(
    argument: &Bound<'_, PyAny>,
    reader: &core::Reader,
    host: &Host,
) -> PyResult<Box<dyn Probe + Send + Sync>> {
    if let Ok(process) = argument.cast::<ProcessIdentity>() {
        return Ok(Box::new(ProcessProbe::new(process.get().core(), host)));
    }
    if argument.is_instance_of::<PyString>() {
        let Given(word) = argument.extract::<Given<String>>()?;
        if word == LEASE {
            return Ok(Box::new(LeaseProbe::new(reader)));
        }
        let answer = Liveness::from_word(&word);
        return match answer {
            Some(answer) => Ok(Box::new(answer)),
            None => Err(refused(argument.py(), PROBES, &word)),
        };
    }
    if argument.is_callable() {
        return Ok(Box::new(FunctionProbe { function: argument.clone().unbind() }));
    }
    Err(refused(argument.py(), PROBES, &shown(argument)?))
}

/// The fixed answer of this word.
///
/// # Errors
/// `HARNESS_STATE_INPUT` with reason `probe` for any other word.
pub(super) fn answer_of(py: Python<'_>, word: &str) -> PyResult<Liveness> {
    Liveness::from_word(word)
        .ok_or_else(|| refused(py, "the answer of a probe is alive, dead or indeterminate", word))
}

/// What was given, as a message shows it: a word itself, of anything else its type.
fn shown(argument: &Bound<'_, PyAny>) -> PyResult<String> {
    match argument.extract::<Given<String>>() {
        Ok(Given(word)) => Ok(word),
        Err(_) => Ok(argument.get_type().name()?.to_string()),
    }
}

fn refused(py: Python<'_>, wanted: &str, given: &str) -> PyErr {
    let message = format!("{wanted}, given=`{given}`");
    error::raise(py, &Error::new(Code::HarnessStateInput, message).with_reason("probe"))
}

/// A function of Python that gets the record.
///
/// HS-81: one that raises an `Exception`, or answers what is no answer, is indeterminate. What is no `Exception`
/// (`KeyboardInterrupt`, `SystemExit`, a cancellation) is not about the session, and is raised by the read.
#[derive(Debug)]
struct FunctionProbe {
    function: Py<PyAny>,
}

impl FunctionProbe {
    fn ask<'py>(&self, py: Python<'py>, record: &core::Record) -> PyResult<Bound<'py, PyAny>> {
        self.function.bind(py).call1((Record::of(py, record)?,))
    }
}

impl Probe for FunctionProbe {
    fn liveness(&self, record: &core::Record) -> Liveness {
        let asked = Python::try_attach(|py| match self.ask(py, record) {
            Ok(answer) => understood(&answer),
            Err(raised) if raised.is_instance_of::<PyException>(py) => None,
            Err(raised) => {
                call::raise_afterwards(raised);
                None
            }
        });
        asked.flatten().unwrap_or(Liveness::Indeterminate)
    }
}

/// `alive`, `dead`, `indeterminate`; True is alive, False is dead.
fn understood(answer: &Bound<'_, PyAny>) -> Option<Liveness> {
    if let Ok(alive) = answer.cast::<PyBool>() {
        return Some(if alive.is_true() { Liveness::Alive } else { Liveness::Dead });
    }
    let word = answer.cast::<PyString>().ok()?;
    Liveness::from_word(&word.to_cow().ok()?)
}
