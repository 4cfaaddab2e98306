//! `gallivant.idempotency.Reservation`.

use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use gallivant_core::idempotency as core;
use gallivant_core::{Code, Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::begun::{Origin, patience_of};
use super::fingerprint::Fingerprint;
use crate::argument::Given;
use crate::call;

/// How long a thread pauses while another one's call uses the reservation; such a call takes a commit, which is
/// milliseconds.
const PAUSE: Duration = Duration::from_millis(1);

/// The right to make the thing. It is durable before `begin` returns it. End it by exactly one of `complete` and
/// `release`:
///
///     begun = store.begin("harnesses.create", ["org", "workspace"], key, body)
///     if isinstance(begun, Reservation):
///         with begun as reservation:
///             made = make(body)
///             reservation.complete(made.id, answer)
///
/// The end of the block releases it if neither was called, with an exception or without; so does letting go of it. After
/// `effect_starting` neither does: what became of the thing is then unknown until it is settled. Threads may share it. In a
/// forked child it is the parent's: using it there raises `IdempotencyForkedError`, and the end of the block does nothing.
#[pyclass(frozen, module = "gallivant.idempotency")]
#[derive(Debug)]
pub(crate) struct Reservation {
    how: &'static str,
    fingerprint: gallivant_core::idempotency::Fingerprint,
    /// None once the block is over.
    held: Mutex<Option<core::Reservation>>,
    origin: call::Detached<Origin>,
}

impl Reservation {
    pub(super) fn of(origin: &Origin, reservation: core::Reservation) -> Self {
        Reservation {
            how: reservation.how().word(),
            fingerprint: *reservation.fingerprint(),
            held: Mutex::new(Some(reservation)),
            origin: call::Detached::new(origin.clone()),
        }
    }

    fn act(
        &self,
        py: Python<'_>,
        timeout: Option<Given<f64>>,
        act: impl FnOnce(&mut core::Reservation, Option<Duration>) -> Result<()> + Send,
    ) -> PyResult<()> {
        let deadline = patience_of(py, timeout)?;
        self.origin.refuse_forked(py)?;
        call::fallible(py, || match self.held()?.as_mut() {
            Some(reservation) => act(reservation, deadline),
            None => Err(Error::new(Code::IdempotencyClaimLost, "the reservation has ended with its block")),
        })
    }

    /// Only threads without the interpreter wait here, because whoever holds it may need the interpreter to go on.
    fn held(&self) -> Result<MutexGuard<'_, Option<core::Reservation>>> {
        loop {
            match self.held.try_lock() {
                Ok(held) => return Ok(held),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => self.origin.host.clock.sleep(PAUSE),
            }
            if self.origin.host.clock.is_cancelled() {
                let message = "the wait for another thread's call was cancelled";
                return Err(Error::new(Code::Cancelled, message));
            }
        }
    }
}

#[pymethods]
impl Reservation {
    /// What is to be done: the word `create`.
    #[getter]
    fn kind(&self) -> &'static str {
        "create"
    }

    /// How it came about: `fresh`, `waited`, `taken-over`, `expired`, `recreated` or `settled`.
    #[getter]
    fn how(&self) -> &'static str {
        self.how
    }

    /// Of the body that it belongs to.
    #[getter]
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint { fingerprint: self.fingerprint }
    }

    /// Says what was made and how it was answered. Once this has returned, both are durable, and every repeat gets them.
    ///
    /// Raises `IdempotencyClaimLostError` when somebody else has taken the key over: nothing is changed, and `.resource`
    /// names what the winner made, once it has completed, so that the loser can undo its own. Raises
    /// `IdempotencyAnswerTooLargeError`, `IdempotencyBusyError` and the store's own errors with the reservation still held:
    /// the call may be repeated.
    #[pyo3(signature = (resource, answer, *, timeout=None))]
    fn complete(
        &self,
        py: Python<'_>,
        resource: Given<String>,
        answer: &Bound<'_, PyBytes>,
        timeout: Option<Given<f64>>,
    ) -> PyResult<()> {
        let answer = answer.as_bytes();
        self.act(py, timeout, |held, deadline| held.complete_within(&resource.0, answer, deadline))
    }

    /// Says that nothing outside exists: the next create with this key, and any body, may make the thing. Durable once it
    /// has returned. Raises `IdempotencyClaimLostError`, and as `complete` with the reservation still held.
    #[pyo3(signature = (*, timeout=None))]
    fn release(&self, py: Python<'_>, timeout: Option<Given<f64>>) -> PyResult<()> {
        self.act(py, timeout, core::Reservation::release_within)
    }

    /// Says that an effect which a retry could double may happen from now on. Durable once it has returned: no exception, no
    /// end of the block, no crash and no takeover releases the key any more; only `complete`, `release` or a settlement
    /// does. Where it raises, the effect must not be started.
    #[pyo3(signature = (*, timeout=None))]
    fn effect_starting(&self, py: Python<'_>, timeout: Option<Given<f64>>) -> PyResult<()> {
        self.act(py, timeout, core::Reservation::effect_starting_within)
    }

    /// Says that its owner is still at work. A create that takes more than two minutes calls it now and then, so that
    /// nobody who cannot prove that its process lives takes it over.
    #[pyo3(signature = (*, timeout=None))]
    fn keep_alive(&self, py: Python<'_>, timeout: Option<Given<f64>>) -> PyResult<()> {
        self.act(py, timeout, core::Reservation::keep_alive_within)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Neither a signal nor a `Cancel` ends this: a block's end is tried for a second at most.
    #[pyo3(signature = (exception_type, exception, traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        exception_type: &Bound<'_, PyAny>,
        exception: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let _ = (exception_type, exception, traceback);
        if self.origin.is_forked() {
            return Ok(());
        }
        call::infallible(py, || call::undisturbed(|| self.held().map(|mut held| drop(held.take())).is_ok()))?;
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("<gallivant.idempotency.Reservation how={}>", self.how)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // Nobody uses what is dropped, but for a thread of the parent's that did at the moment of a fork: what that was
        // changing can neither be used nor be dropped.
        let is_in_use = matches!(self.held.try_lock(), Err(TryLockError::WouldBlock));
        let held = self.held.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if is_in_use {
            std::mem::forget(held);
        } else {
            call::let_go(held);
        }
    }
}
