//! The native half of `gallivant.redaction`.

use std::sync::{Mutex, PoisonError};

use gallivant_core::redaction as core;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::argument::Given;
use crate::call;
use crate::error;

/// Redacts by one set of secrets, and recognised credentials besides unless `patterns` is false. Never changes; any
/// number of threads may use it.
///
/// Raises `ExecutionInputError` with the reason `secret` for a secret that is empty or neither `str` nor `bytes`, by its
/// position and never by its value.
#[pyclass(frozen, subclass, module = "gallivant._native")]
pub(crate) struct Redactor {
    pub(crate) redactor: core::Redactor,
}

#[pymethods]
impl Redactor {
    #[new]
    #[pyo3(signature = (secrets: "collections.abc.Iterable[str | bytes]", *, patterns=true))]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = secrets_of)] secrets: Vec<Secret>,
        patterns: bool,
    ) -> PyResult<Self> {
        let patterns = if patterns { core::Patterns::Recognised } else { core::Patterns::Off };
        let redactor = call::infallible(py, || {
            let refused = secrets.iter().position(Option::is_none).map(core::Secrets::not_a_string);
            refused.map_or(Ok(()), Err)?;
            core::Redactor::new(&core::Secrets::strict(secrets.iter().flatten())?, patterns)
        })?;
        Ok(Redactor { redactor: redactor.map_err(|failed| error::raise(py, &failed))? })
    }

    /// The text without secrets. A secret that goes on in the next text is found by a stream only.
    fn text(&self, py: Python<'_>, text: Given<String>) -> PyResult<String> {
        call::infallible(py, || self.redactor.text(&text.0).into_owned())
    }

    /// Many texts in one call.
    fn texts(&self, py: Python<'_>, texts: Vec<Given<String>>) -> PyResult<Vec<String>> {
        call::infallible(py, || texts.iter().map(|text| self.redactor.text(&text.0).into_owned()).collect())
    }

    /// The bytes without secrets.
    fn data<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let redacted = call::infallible(py, || self.redactor.bytes(data))?;
        Ok(PyBytes::new(py, &redacted))
    }

    /// A redacted copy of a JSON text: strings and keys at any depth. Members keep their order and numbers their digits.
    ///
    /// Raises `ExecutionInputError` with the reason `shape` for what is not one JSON value.
    fn json(&self, py: Python<'_>, text: Given<String>) -> PyResult<String> {
        call::infallible(py, || self.redactor.json(&text.0))?.map_err(|failed| error::raise(py, &failed))
    }

    /// A text that comes in pieces.
    fn stream(&self) -> Stream {
        Stream { stream: Mutex::new(self.redactor.stream()) }
    }

    /// The most bytes that a stream holds back.
    #[getter]
    fn most_held_back(&self) -> usize {
        self.redactor.most_held_back()
    }

    fn __repr__(&self) -> &'static str {
        "<Redactor>"
    }
}

/// A text that comes in pieces. What comes out does not depend on how it was cut.
///
/// A stream holds back what may still become a part of a secret; `finish()` gives the rest, and what was pushed and not
/// finished is lost. `gallivant.redaction.Writer` finishes by itself.
#[pyclass(frozen, module = "gallivant._native")]
pub(crate) struct Stream {
    stream: Mutex<core::Stream>,
}

impl Stream {
    fn run<'py>(
        &self,
        py: Python<'py>,
        action: impl FnOnce(&mut core::Stream, &mut Vec<u8>) + Send,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let out = call::infallible(py, || {
            let mut out = Vec::new();
            action(&mut self.stream.lock().unwrap_or_else(PoisonError::into_inner), &mut out);
            out
        })?;
        Ok(PyBytes::new(py, &out))
    }
}

#[pymethods]
impl Stream {
    /// Takes a piece and gives what is certain by now.
    fn push<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        self.run(py, |stream, out| stream.push(data, out))
    }

    /// Takes many pieces in one call.
    #[pyo3(signature = (pieces: "list[bytes]"))]
    fn push_all<'py>(
        &self,
        py: Python<'py>,
        pieces: Vec<Bound<'py, PyBytes>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
        self.run(py, |stream, out| pieces.iter().for_each(|piece| stream.push(piece, out)))
    }

    /// The text ends here: gives the rest. The next piece begins another text.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.run(py, |stream, out| stream.finish(out))
    }

    /// How many bytes are held back now.
    #[getter]
    fn held_back(&self, py: Python<'_>) -> PyResult<usize> {
        call::infallible(py, || self.stream.lock().unwrap_or_else(PoisonError::into_inner).held_back())
    }

    fn __repr__(&self) -> &'static str {
        "<Stream>"
    }
}

/// The bytes of a secret; none for what is no string.
type Secret = Option<Vec<u8>>;

fn secrets_of(given: &Bound<'_, PyAny>) -> PyResult<Vec<Secret>> {
    // One string would be taken for the list of its letters, and each of them for a secret.
    if given.is_instance_of::<PyString>() || given.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err("secrets have to be an iterable of str or bytes"));
    }
    given.try_iter()?.map(|secret| secret_of(&secret?)).collect()
}

fn secret_of(secret: &Bound<'_, PyAny>) -> PyResult<Secret> {
    if let Ok(bytes) = secret.cast::<PyBytes>() {
        return Ok(Some(bytes.as_bytes().to_vec()));
    }
    if secret.is_instance_of::<PyString>() {
        return Ok(Some(secret.extract::<Given<String>>()?.0.into_bytes()));
    }
    Ok(None)
}
