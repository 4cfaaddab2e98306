//! `gallivant.idempotency.Ticket`, and the notices by which an event loop waits.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::Duration;

use gallivant_core::idempotency as core;
use gallivant_core::storage::Notifier;
use gallivant_core::{Code, Error};
use pyo3::prelude::*;

use super::begun::{Begun, Origin, patience_of};
use crate::argument::Given;
use crate::{call, error};

/// A create with the same key and body that runs in this or another process.
#[pyclass(frozen, module = "gallivant.idempotency")]
#[derive(Debug)]
pub(crate) struct Ticket {
    ticket: call::Detached<core::Ticket>,
    origin: call::Detached<Origin>,
}

impl Ticket {
    pub(super) fn of(origin: &Origin, ticket: core::Ticket) -> Self {
        Ticket { ticket: call::Detached::new(ticket), origin: call::Detached::new(origin.clone()) }
    }
}

#[pymethods]
impl Ticket {
    /// What is to be done: the word `in_progress`.
    #[getter]
    fn kind(&self) -> &'static str {
        "in_progress"
    }

    /// How it came about.
    #[getter]
    fn how(&self) -> &'static str {
        self.ticket.how().word()
    }

    /// Waits until the create ends, for at most `timeout` seconds, without end where that is None. Answers a
    /// `FinishedClaim` when it finished, a `Reservation` when it was released or its owner is gone, an `UnknownClaim` when
    /// its owner is gone after the mark. It wakes within milliseconds of the end where the system tells of it. Other threads
    /// run meanwhile, and signal handlers do. The ticket stays good.
    ///
    /// Raises `IdempotencyInProgressError` when it still runs at the deadline; what a signal handler raises, within 0.1 s;
    /// `CancelledError` when a `Cancel` ends the wait; `IdempotencyKeyReusedError` when it was released and the key now
    /// belongs to another body; the store's own errors.
    #[pyo3(signature = (timeout))]
    fn wait(&self, py: Python<'_>, timeout: Option<Given<f64>>) -> PyResult<Begun> {
        let longest = patience_of(py, timeout)?.unwrap_or(Duration::MAX);
        self.origin.begun(py, || self.ticket.wait(longest))
    }

    /// Asks again without waiting for the create: another ticket while it runs. `timeout` is for another process's
    /// transaction. Raises as `wait`.
    #[pyo3(signature = (*, timeout=None))]
    fn look(&self, py: Python<'_>, timeout: Option<Given<f64>>) -> PyResult<Begun> {
        let deadline = patience_of(py, timeout)?;
        self.origin.begun(py, || self.ticket.look_within(deadline))
    }

    /// For whoever waits by means of its own: in how many seconds to look again at the latest, with notices of
    /// `IdempotencyStore.notices` or without.
    fn next_look(&self, py: Python<'_>, has_notices: bool) -> PyResult<f64> {
        self.origin.refuse_forked(py)?;
        call::infallible(py, || self.ticket.next_look(has_notices).as_secs_f64())
    }

    fn __repr__(&self) -> String {
        format!("<gallivant.idempotency.Ticket how={}>", self.how())
    }
}

/// Tells of creates that end, of any key and in any process, for event loops: `descriptor` becomes readable, and is not
/// any more after `drain`. Made by `IdempotencyStore.notices`. Whoever is told asks `Ticket.look`, and asks by
/// `Ticket.next_look` anyway. One thread at a time uses it; in a forked child it is the parent's.
#[pyclass(frozen, module = "gallivant.idempotency")]
#[derive(Debug)]
pub(crate) struct ClaimNotices {
    notifier: Mutex<Option<Box<dyn Notifier>>>,
    descriptor: RawFd,
    origin: call::Detached<Origin>,
}

impl ClaimNotices {
    /// None where the system does not tell, or has no descriptor for it.
    pub(super) fn of(origin: &Origin, notifier: Box<dyn Notifier>) -> Option<Self> {
        let descriptor = notifier.descriptor()?.as_raw_fd();
        let origin = call::Detached::new(origin.clone());
        Some(ClaimNotices { notifier: Mutex::new(Some(notifier)), descriptor, origin })
    }
}

#[pymethods]
impl ClaimNotices {
    /// The descriptor. It is the notices' own: do not read from it or close it.
    #[getter]
    fn descriptor(&self) -> RawFd {
        self.descriptor
    }

    /// Takes what has been told since the last call, without waiting. Raises `HandleBusyError` while another thread uses
    /// it, and `IdempotencyStoreUnavailableError` where the system fails: then look by the time alone.
    fn drain(&self, py: Python<'_>) -> PyResult<()> {
        self.origin.refuse_forked(py)?;
        // It takes two system calls that wait for nothing, so that the interpreter is kept.
        let drained = match self.notifier.try_lock() {
            Ok(mut notifier) => notifier.as_mut().map_or(Ok(()), |notifier| notifier.drain(&mut |_| {})),
            Err(TryLockError::Poisoned(_)) => Ok(()),
            Err(TryLockError::WouldBlock) => {
                return Err(error::raise(
                    py,
                    &Error::new(Code::HandleBusy, "another thread takes the notices"),
                ));
            }
        };
        drained.map_err(|failed| {
            let message = "the notices of the store cannot be read";
            error::raise(py, &Error::new(Code::IdempotencyStoreUnavailable, message).with_source(failed))
        })
    }

    /// Closes the descriptor. Does nothing the second time, and in a forked child.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.origin.is_forked() {
            return Ok(());
        }
        call::infallible(py, || {
            let closed = self.notifier.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(closed);
        })
    }
}
