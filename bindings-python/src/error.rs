//! The core's errors as Python exceptions.
//!
//! The classes are Python's, in `gallivant/errors.py`; this file looks up the class and fills the attributes.

use std::convert::Infallible;

use gallivant_core::Error;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The exception for an error, to be raised.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    match Exception::of(py, error) {
        Ok(exception) => PyErr::from_value(exception.0.into_bound(py)),
        // The package is broken, which is then what is raised.
        Err(broken) => broken,
    }
}

/// An instance of one of the exception classes that is reported and not raised.
#[derive(Debug)]
pub(crate) struct Exception(Py<PyAny>);

impl Exception {
    /// The exception for an error.
    ///
    /// # Errors
    /// Whatever importing `gallivant.errors` raises.
    pub(crate) fn of(py: Python<'_>, error: &Error) -> PyResult<Self> {
        static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let code = error.code();
        let parts = (
            code.name(),
            error.kind().name(),
            error.reason(),
            error.message(),
            error.remedy(),
            error.os_error(),
            // As text: a `Path` of Rust would become a `pathlib.Path`, which costs an import.
            error.file().map(std::path::Path::as_os_str),
            error.resource(),
            error.run_id(),
            error.operation_id(),
        );
        let exception = MAKE.import(py, "gallivant.errors", "_from_native")?.call1(parts)?;
        Ok(Exception(exception.unbind()))
    }

    /// The exception for an error that a result carries, if it carries one.
    ///
    /// # Errors
    /// As [`Exception::of`].
    pub(crate) fn of_optional(py: Python<'_>, error: Option<&Error>) -> PyResult<Option<Self>> {
        error.map(|error| Exception::of(py, error)).transpose()
    }
}

impl<'py> IntoPyObject<'py> for &Exception {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = Infallible;

    #[cfg(feature = "stubs")]
    const OUTPUT_TYPE: pyo3::inspect::PyStaticExpr =
        pyo3::type_hint_identifier!("gallivant.errors", "GallivantError");

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Self::Error> {
        Ok(self.0.bind(py).clone())
    }
}

impl<'py> FromPyObject<'_, 'py> for Exception {
    type Error = PyErr;

    #[cfg(feature = "stubs")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr =
        pyo3::type_hint_identifier!("gallivant.errors", "GallivantError");

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        static BASE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let base = BASE.import(object.py(), "gallivant.errors", "GallivantError")?;
        if object.is_instance(base)? {
            Ok(Exception(object.to_owned().unbind()))
        } else {
            Err(PyTypeError::new_err("expected a gallivant.GallivantError"))
        }
    }
}
