//! What `Reader.read` takes as its probe.

use gallivant_core::harness_state as core;
use gallivant_core::harness_state::{LeaseProbe, Probe, ProcessProbe};
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
            None => Err(no_probe(argument.py(), &word)),
        };
    }
    if argument.is_callable() {
        return Ok(Box::new(FunctionProbe { function: argument.clone().unbind() }));
    }
    Err(no_probe(argument.py(), &argument.get_type().to_string()))
}

/// The fixed answer of this word.
///
/// # Errors
/// `HARNESS_STATE_INPUT` with reason `probe` for any other word.
pub(super) fn answer_of(py: Python<'_>, word: &str) -> PyResult<Liveness> {
    Liveness::from_word(word).ok_or_else(|| no_probe(py, word))
}

fn no_probe(py: Python<'_>, given: &str) -> PyErr {
    let message = format!("no probe and no answer of one, given=`{given}`");
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

impl Probe for FunctionProbe {
    fn liveness(&self, record: &core::Record) -> Liveness {
        let asked = Python::try_attach(|py| match self.function.bind(py).call1((Record::from(record),)) {
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
