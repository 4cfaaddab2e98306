//! `gallivant.OwnershipGuard`, and the context manager around it.

use std::sync::{Mutex, TryLockError};

use gallivant_core::harness_state as core;
use gallivant_core::{Code, Error};
use pyo3::prelude::*;

use super::writer::Writer;
use crate::{call, error};

/// Holds the record's lock while the session owns the seat. Released by `release()`, at the end of a `with` block, and
/// with the object.
///
/// In a forked child it holds nothing: `sequence` raises `HarnessStateInputError` with reason `forked`, and releasing
/// it does nothing.
#[pyclass(frozen, module = "gallivant")]
#[derive(Debug)]
pub(crate) struct OwnershipGuard {
    guard: core::OwnershipGuard,
}

impl OwnershipGuard {
    pub(super) fn of(guard: core::OwnershipGuard) -> Self {
        OwnershipGuard { guard }
    }
}

#[pymethods]
impl OwnershipGuard {
    /// The sequence that was found to be the session's. Raises `HarnessStateInputError` with reason `released` once
    /// the guard was released, and with reason `forked` in a forked child.
    #[getter]
    fn sequence(&self, py: Python<'_>) -> PyResult<u64> {
        call::fallible(py, || self.guard.sequence())
    }

    /// Lets go of the lock. Does nothing the second time.
    fn release(&self, py: Python<'_>) {
        py.detach(|| self.guard.release());
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (exception_type, exception, traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        exception_type: &Bound<'_, PyAny>,
        exception: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) {
        let _ = (exception_type, exception, traceback);
        self.release(py);
    }
}

/// What `Writer.current_ownership` answers: a context manager, to be entered once.
#[pyclass(frozen, module = "gallivant")]
#[derive(Debug)]
pub(crate) struct CurrentOwnership {
    writer: Py<Writer>,
    entered: Mutex<Option<Py<OwnershipGuard>>>,
}

impl CurrentOwnership {
    pub(super) fn of(writer: Py<Writer>) -> Self {
        CurrentOwnership { writer, entered: Mutex::new(None) }
    }

    /// Exchanges the guard of the block.
    ///
    /// Only threads that hold the interpreter lock this mutex, each for an exchange and no longer: nobody ever waits for
    /// it, and `os.fork`, which holds the interpreter too, never finds it locked. Where a fork that native code made
    /// beside the interpreter does, the child has no block to end.
    fn entered(&self, _py: Python<'_>, now: Option<Py<OwnershipGuard>>) -> Option<Py<OwnershipGuard>> {
        match self.entered.try_lock() {
            Ok(mut entered) => std::mem::replace(&mut *entered, now),
            Err(TryLockError::Poisoned(entered)) => std::mem::replace(&mut *entered.into_inner(), now),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[pymethods]
impl CurrentOwnership {
    fn __enter__(&self, py: Python<'_>) -> PyResult<Option<Py<OwnershipGuard>>> {
        let Some(guard) = self.writer.get().lock_current_ownership(py)? else { return Ok(None) };
        let guard = Py::new(py, guard)?;
        if self.entered(py, Some(guard.clone_ref(py))).is_some() {
            // The lock was had, so the block that entered before has released it by hand; its exit must not
            // release this one.
            guard.get().release(py);
            let message = "the context manager was entered twice; ask the writer for another";
            let error = Error::new(Code::HarnessStateInput, message).with_reason("entered");
            return Err(error::raise(py, &error));
        }
        Ok(Some(guard))
    }

    #[pyo3(signature = (exception_type, exception, traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        exception_type: &Bound<'_, PyAny>,
        exception: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) {
        let _ = (exception_type, exception, traceback);
        if let Some(guard) = self.entered(py, None) {
            guard.get().release(py);
        }
    }
}
