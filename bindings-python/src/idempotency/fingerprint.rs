//! `gallivant.idempotency.Fingerprint` and the builder of one.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, TryLockError};

use gallivant_core::idempotency as core;
use gallivant_core::{Code, Error};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::{call, error};

/// SHA-256 of a request's body, over exactly the bytes that were sent: `Fingerprint(body)`, or `FingerprintBuilder` for a
/// body in parts. There is no canonical form: `{"a":1}` and `{ "a": 1 }` are two bodies.
#[pyclass(frozen, eq, module = "gallivant.idempotency")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(super) fingerprint: core::Fingerprint,
}

#[pymethods]
impl Fingerprint {
    #[new]
    fn new(py: Python<'_>, body: &Bound<'_, PyBytes>) -> PyResult<Self> {
        let body = body.as_bytes();
        call::infallible(py, || core::Fingerprint::of(body)).map(|fingerprint| Fingerprint { fingerprint })
    }

    /// One whose 32 bytes were taken before, by any means that takes SHA-256.
    ///
    /// Raises `IdempotencyInputError` with reason `digest` for another number of bytes.
    #[staticmethod]
    fn from_digest(py: Python<'_>, digest: &Bound<'_, PyBytes>) -> PyResult<Self> {
        match <[u8; 32]>::try_from(digest.as_bytes()) {
            Ok(bytes) => Ok(Fingerprint { fingerprint: core::Fingerprint::from_bytes(bytes) }),
            Err(_) => {
                let message = format!("a digest has 32 bytes, bytes=`{}`", digest.as_bytes().len());
                let refused = Error::new(Code::IdempotencyInput, message).with_reason("digest");
                Err(error::raise(py, &refused))
            }
        }
    }

    /// The 32 bytes of the hash.
    #[getter]
    fn digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.fingerprint.as_bytes())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.fingerprint.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("<gallivant.idempotency.Fingerprint {:?}>", self.fingerprint)
    }
}

/// Takes the fingerprint of a body that comes in parts, such as one too large for memory. How it is cut makes no
/// difference. One thread at a time uses it.
#[pyclass(frozen, module = "gallivant.idempotency")]
#[derive(Debug, Default)]
pub(crate) struct FingerprintBuilder {
    builder: Mutex<core::FingerprintBuilder>,
}

#[pymethods]
impl FingerprintBuilder {
    #[new]
    fn new() -> Self {
        FingerprintBuilder::default()
    }

    /// Adds the next bytes of the body. Raises `HandleBusyError` while another thread uses it.
    fn update(&self, py: Python<'_>, part: &Bound<'_, PyBytes>) -> PyResult<()> {
        let part = part.as_bytes();
        self.with(py, |builder| builder.update(part))
    }

    /// The fingerprint of everything that was added so far. More may be added afterwards. Raises `HandleBusyError` while
    /// another thread uses it.
    fn finish(&self, py: Python<'_>) -> PyResult<Fingerprint> {
        let fingerprint = self.with(py, |builder| builder.clone().finish())?;
        Ok(Fingerprint { fingerprint })
    }
}

impl FingerprintBuilder {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut core::FingerprintBuilder) -> T + Send,
    ) -> PyResult<T> {
        // Nobody waits for it, and so no forked child waits for ever.
        let tried = || match self.builder.try_lock() {
            Ok(mut builder) => Ok(act(&mut builder)),
            Err(TryLockError::Poisoned(poisoned)) => Ok(act(&mut poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => {
                Err(Error::new(Code::HandleBusy, "another thread adds to the fingerprint"))
            }
        };
        call::last(py, tried)
    }
}

/// The fingerprint that a `body` argument stands for: the body itself, or a fingerprint that was taken before.
///
/// # Errors
/// A `TypeError` for anything else.
pub(super) fn fingerprint_of(body: &Bound<'_, PyAny>) -> PyResult<core::Fingerprint> {
    if let Ok(taken) = body.cast::<Fingerprint>() {
        return Ok(taken.get().fingerprint);
    }
    let Ok(bytes) = body.cast::<PyBytes>() else {
        return Err(PyTypeError::new_err("a body is bytes, exactly as they were sent, or a Fingerprint"));
    };
    let bytes = bytes.as_bytes();
    call::infallible(body.py(), || core::Fingerprint::of(bytes))
}
