//! `gallivant.execution.Machine`, and what its steps come to (EX-BND-39 to EX-BND-43).

use std::sync::{Mutex, PoisonError, TryLockError};

use gallivant_core::execution::{self as core, Reply, Step, TransportError};
use gallivant_core::json::Value;
use gallivant_core::{Code, Error, Host, Result};
use pyo3::prelude::*;

use crate::argument::Given;
use crate::call;
use crate::error::Exception;

/// A running call of a boundary, step by step, for a host that drives it itself. It does no I/O towards the provider.
///
/// A step gives a `Call`, which the host carries out and whose end it feeds back, or `Done`. One call is outstanding at any
/// time. What must be durable before a call is durable when its `Call` is there. A machine belongs to one thread at a time;
/// letting go of one, at any step, equals a crash there: nothing is written, and its locks are let go of.
///
/// What a step writes is finished whatever signals and `Cancel` say; only `start` waits, for the task's lock, and they end
/// that wait.
#[pyclass(frozen, module = "gallivant.execution")]
pub(crate) struct Machine {
    /// None once it is closed.
    slot: Mutex<Option<core::Machine>>,
    host: Host,
    /// The process that made it.
    pid: u32,
}

#[pymethods]
impl Machine {
    /// Begins. Where its token was aborted before, it is `Done` with `EXECUTION_BUSY` and the reason `aborted`: nobody was called
    /// and nothing was written. A machine that has begun already is `Done` with the reason `reply`, and the outstanding call stays outstanding.
    fn start(&self, py: Python<'_>) -> PyResult<Stepped> {
        let step = call::fallible(py, || self.with(|machine| Ok(machine.start())))?;
        stepped(py, step)
    }

    /// The method returned this JSON text.
    ///
    /// Raises `ExecutionInputError` with the reason `reply` where no call with this id is outstanding: nothing was read and
    /// nothing has changed. A reply at the call's deadline or later is dropped unread, and the call counts as failed.
    fn reply(&self, py: Python<'_>, id: Given<u64>, text: Given<String>) -> PyResult<Stepped> {
        self.step(py, |machine| machine.reply(id.0, Reply::Value(text.0)))
    }

    /// The method failed. `error_json` is a JSON object with `kind`, `message`, `retryAfterMs` and `code`, or anything else,
    /// which is `io`. Raises as `reply`.
    fn fail(&self, py: Python<'_>, id: Given<u64>, error_json: Given<String>) -> PyResult<Stepped> {
        self.step(py, |machine| {
            // A message may hold half a character.
            let told = Value::parse_replacing(&error_json.0).map_or(Value::Null, |(told, _)| told);
            let error = TransportError::from_value(&told);
            machine.reply(id.0, Reply::Error(error))
        })
    }

    /// The method has not ended at the call's deadline. Raises as `reply`.
    fn deadline(&self, py: Python<'_>, id: Given<u64>) -> PyResult<Stepped> {
        self.step(py, |machine| machine.deadline(id.0))
    }

    /// The caller gives the call up. Raises as `reply`.
    fn abort(&self, py: Python<'_>, id: Given<u64>) -> PyResult<Stepped> {
        self.step(py, |machine| machine.abort(id.0))
    }

    /// The transport is about to send, or to save something of its own: from now on `not-sent` is not believed of the call.
    /// Raises as `reply`.
    fn sending(&self, py: Python<'_>, id: Given<u64>) -> PyResult<()> {
        call::last(py, || self.with(|machine| machine.sending(id.0)))
    }

    /// Lets go of it, as a crash would. Does nothing the second time.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        call::infallible(py, || {
            if !self.is_forked() {
                let machine = self.slot.lock().unwrap_or_else(PoisonError::into_inner).take();
                call::undisturbed(|| drop(machine));
            }
        })
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
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
        let _ = (exception_type, exception, traceback);
        self.close(py)
    }

    fn __repr__(&self) -> &'static str {
        "<gallivant.execution.Machine>"
    }
}

impl Machine {
    pub(super) fn new(machine: core::Machine, host: &Host) -> Self {
        let pid = host.processes.own_pid();
        Machine { slot: Mutex::new(Some(machine)), host: host.clone(), pid }
    }

    /// What ends a call is to be saved, whoever has given up.
    fn step(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut core::Machine) -> Result<Step> + Send,
    ) -> PyResult<Stepped> {
        let step = call::last(py, || call::undisturbed(|| self.with(step)))?;
        stepped(py, step)
    }

    /// Runs without the interpreter.
    fn with<T>(&self, act: impl FnOnce(&mut core::Machine) -> Result<T>) -> Result<T> {
        let misused = |message: &str, reason| Error::new(Code::ExecutionInput, message).with_reason(reason);
        if self.is_forked() {
            return Err(misused("the machine belongs to the parent process", "forked"));
        }
        match self.slot.try_lock() {
            Ok(mut slot) => act(slot.as_mut().ok_or_else(|| misused("the machine is closed", "closed"))?),
            Err(TryLockError::Poisoned(_)) => Err(misused("the machine has failed", "closed")),
            Err(TryLockError::WouldBlock) => {
                Err(Error::new(Code::HandleBusy, "another thread is stepping the machine"))
            }
        }
    }

    fn is_forked(&self) -> bool {
        self.host.processes.own_pid() != self.pid
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // A thread of the parent's may have been in it at the moment of a fork: then it can neither be used nor be dropped.
        let is_in_use = matches!(self.slot.try_lock(), Err(TryLockError::WouldBlock));
        let machine = self.slot.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if is_in_use {
            std::mem::forget(machine);
        } else {
            call::let_go(machine);
        }
    }
}

/// What a step has come to.
#[derive(IntoPyObject)]
pub(crate) enum Stepped {
    Call(Py<Call>),
    Done(Py<Done>),
}

fn stepped(py: Python<'_>, step: Step) -> PyResult<Stepped> {
    match step {
        Step::Call(call) => {
            let core::Call { id, port, method, input, deadline_at, signal } = call;
            let input_json = Value::Object(input).to_json();
            let call = Call { id, port: port.word(), method, input_json, deadline_at, signal };
            Py::new(py, call).map(Stepped::Call)
        }
        Step::Done(outcome) => {
            let error = Exception::of_optional(py, outcome.as_ref().err())?;
            let json = outcome.ok().map(|value| value.to_json());
            Py::new(py, Done { json, error }).map(Stepped::Done)
        }
    }
}

/// What the host is to do.
#[pyclass(frozen, module = "gallivant.execution")]
pub(crate) struct Call {
    /// By which its end is fed back; unique within the process.
    #[pyo3(get)]
    id: u64,
    /// Whom it is for: `transport`, or `process` for the process host.
    #[pyo3(get)]
    port: &'static str,
    /// Which method, in the spelling of the contract.
    #[pyo3(get)]
    method: &'static str,
    /// The method's input, as the text of a JSON object.
    #[pyo3(get)]
    input_json: String,
    /// When it counts as failed, in milliseconds since 1970.
    #[pyo3(get)]
    deadline_at: u64,
    signal: core::AbortToken,
}

#[pymethods]
impl Call {
    /// Whether the call is over and its method should end: at the deadline, at an abort, when the machine is let go of.
    #[getter]
    fn is_over(&self) -> bool {
        self.signal.is_aborted()
    }

    fn __repr__(&self) -> String {
        format!("<gallivant.execution.Call id={} port='{}' method='{}'>", self.id, self.port, self.method)
    }
}

/// The end of a machine.
#[pyclass(frozen, module = "gallivant.execution")]
pub(crate) struct Done {
    json: Option<String>,
    /// The exception of a call that failed, which is not raised; None where it did not.
    #[pyo3(get)]
    error: Option<Exception>,
}

#[pymethods]
impl Done {
    /// What the boundary's call returns, as JSON text, or its exception, raised.
    fn result_json(&self, py: Python<'_>) -> PyResult<&str> {
        match &self.error {
            Some(error) => Err(PyErr::from_value(error.into_pyobject(py)?)),
            None => Ok(self.json.as_deref().unwrap_or("null")),
        }
    }

    fn __repr__(&self) -> &'static str {
        if self.error.is_none() { "<gallivant.execution.Done>" } else { "<gallivant.execution.Done error>" }
    }
}
