//! `gallivant.idempotency.FinishedClaim` and `UnknownClaim`.

use gallivant_core::idempotency as core;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::begun::{Begun, Origin, patience_of};
use crate::argument::{Given, text_of};
use crate::call;

/// What the first create made, and how it answered. `begin` answers it where the create has finished: answer as it did.
#[pyclass(frozen, module = "gallivant.idempotency")]
#[derive(Debug)]
pub(crate) struct FinishedClaim {
    claim: call::Detached<core::FinishedClaim>,
    origin: call::Detached<Origin>,
}

impl FinishedClaim {
    pub(super) fn of(origin: &Origin, claim: core::FinishedClaim) -> Self {
        FinishedClaim { claim: call::Detached::new(claim), origin: call::Detached::new(origin.clone()) }
    }
}

#[pymethods]
impl FinishedClaim {
    /// What is to be done: the word `replay`.
    #[getter]
    fn kind(&self) -> &'static str {
        "replay"
    }

    /// How it came about: `replayed`, `waited` or `settled`.
    #[getter]
    fn how(&self) -> &'static str {
        self.claim.how().word()
    }

    /// The id of the thing that was made.
    #[getter]
    fn resource(&self) -> &str {
        self.claim.resource()
    }

    /// The answer that the first create's caller got, byte for byte; None where the resource was only found afterwards.
    #[getter]
    fn answer<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.claim.answer().map(|answer| PyBytes::new(py, answer))
    }

    /// When the create finished, in ms since 1970.
    #[getter]
    fn completed_ms(&self) -> u64 {
        self.claim.completed_ms()
    }

    /// Says that the resource is proved to be gone, and begins anew: exactly one of all who say so gets a reservation, the
    /// others wait for it. A claim that has been replaced meanwhile answers what replaced it. A read of the resource that
    /// failed or was denied proves nothing. Raises as `IdempotencyStore.begin`.
    #[pyo3(signature = (*, timeout=None))]
    fn recreate(&self, py: Python<'_>, timeout: Option<Given<f64>>) -> PyResult<Begun> {
        let deadline = patience_of(py, timeout)?;
        self.origin.begun(py, || self.claim.recreate_within(deadline))
    }

    /// Whether the claim still stands as it was read. Read-only. Raises as `IdempotencyStore.inspect`.
    fn still_stands(&self, py: Python<'_>) -> PyResult<bool> {
        self.origin.refuse_forked(py)?;
        call::fallible(py, || self.claim.still_stands())
    }

    fn __repr__(&self) -> String {
        format!(
            "<gallivant.idempotency.FinishedClaim resource={:?} how={}>",
            self.claim.resource(),
            self.how()
        )
    }
}

/// A create of which nobody knows whether it made its thing: its owner is gone after the mark, or has not been heard of
/// for too long. It stays so until `settle`, or until its owner ends it after all.
#[pyclass(frozen, module = "gallivant.idempotency")]
#[derive(Debug)]
pub(crate) struct UnknownClaim {
    claim: call::Detached<core::UnknownClaim>,
    origin: call::Detached<Origin>,
}

impl UnknownClaim {
    pub(super) fn of(origin: &Origin, claim: core::UnknownClaim) -> Self {
        UnknownClaim { claim: call::Detached::new(claim), origin: call::Detached::new(origin.clone()) }
    }
}

#[pymethods]
impl UnknownClaim {
    /// What is to be done: the word `unknown`.
    #[getter]
    fn kind(&self) -> &'static str {
        "unknown"
    }

    /// How it came about.
    #[getter]
    fn how(&self) -> &'static str {
        self.claim.how().word()
    }

    /// Says what was found out: the id of the thing where it exists, and the answer is a `FinishedClaim` without a saved
    /// answer; None where it is proved not to exist, and the answer is a `Reservation`. Once this has returned, that is
    /// durable and the former owner has lost. A claim that is not unknown any more answers what it is now.
    ///
    /// Raises as `IdempotencyStore.begin`; `IdempotencyInputError` with reason `resource` for the empty id.
    #[pyo3(signature = (found, *, timeout=None))]
    fn settle(
        &self,
        py: Python<'_>,
        found: Option<Given<String>>,
        timeout: Option<Given<f64>>,
    ) -> PyResult<Begun> {
        let deadline = patience_of(py, timeout)?;
        self.origin.begun(py, || self.claim.settle_within(text_of(found.as_ref()), deadline))
    }

    fn __repr__(&self) -> String {
        format!("<gallivant.idempotency.UnknownClaim how={}>", self.how())
    }
}
