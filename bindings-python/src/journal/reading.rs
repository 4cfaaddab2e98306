//! `gallivant.journal.LogReader`, and what reads a run's other files: `check`, the result, the candidates of retention.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use gallivant_core::{Code, Error, Result, journal as core};
use pyo3::prelude::*;

use super::values::{Checked, Gap, Window};
use crate::argument::{Given, text_of};
use crate::call;
use crate::host::host_of;
use crate::testing::TestHost;

/// A reader of one run's lines. It writes nothing, takes no lock, and keeps nothing open but the run's directory. Opened by
/// `LogReader.open`. Threads may share it, and a forked child may go on using it.
#[pyclass(frozen, module = "gallivant.journal")]
pub(crate) struct LogReader {
    directory: PathBuf,
    /// None once it is closed. Held for as long as it takes to copy the pointer, so that it may be taken without letting go
    /// of the interpreter.
    reader: Mutex<Option<Arc<core::LogReader>>>,
}

impl LogReader {
    fn window(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&core::LogReader) -> Result<core::Window> + Send,
    ) -> PyResult<Window> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let window = call::fallible(py, || match reader {
            Some(reader) => read(&reader),
            None => Err(Error::new(Code::ExecutionInput, "the reader is closed").with_reason("closed")),
        })?;
        Window::of(py, window)
    }
}

#[pymethods]
impl LogReader {
    /// Reads in a run's directory, which exists.
    ///
    /// Raises `ExecutionUnknownRunError` where there is no such directory, `ExecutionIoError` where it cannot be opened.
    #[staticmethod]
    #[pyo3(signature = (directory, *, host=None))]
    fn open(py: Python<'_>, directory: Given<PathBuf>, host: Option<&Bound<'_, TestHost>>) -> PyResult<Self> {
        let (Given(directory), host) = (directory, host_of(host));
        let reader = call::fallible(py, || core::LogReader::open(&directory, &host))?;
        Ok(LogReader { directory, reader: Mutex::new(Some(Arc::new(reader))) })
    }

    /// The last rows: at most 400, and at most 262,144 bytes of them. What is read does not depend on the log's length.
    ///
    /// Raises `ExecutionIoError` for whatever is not a missing file; `ExecutionVersionError` and `ExecutionJournalError` for
    /// `log-meta.json`; `ExecutionInputError` with reason `closed`.
    fn tail(&self, py: Python<'_>) -> PyResult<Window> {
        self.window(py, core::LogReader::tail)
    }

    /// The rows just before the one with this id, within the same limits. Raises as `tail`, and `ExecutionInputError` for an
    /// id that no row ever had.
    fn history(&self, py: Python<'_>, before: Given<String>) -> PyResult<Window> {
        self.window(py, |reader| reader.history(&before.0))
    }

    /// At most `limit` rows just after the one with this id, from the oldest on without one; within the same limits. Raises
    /// as `history`.
    #[pyo3(signature = (after=None, limit=Given(core::MAX_ROWS)))]
    fn lines(&self, py: Python<'_>, after: Option<Given<String>>, limit: Given<usize>) -> PyResult<Window> {
        self.window(py, |reader| reader.lines(text_of(after.as_ref()), limit.0))
    }

    /// The run's directory, as it was given.
    #[getter]
    fn directory(&self) -> OsString {
        self.directory.as_os_str().to_owned()
    }

    /// Closes the directory, once reads in other threads have done. Does nothing the second time.
    fn close(&self) {
        drop(self.reader.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (exception_type, exception, traceback, /))]
    fn __exit__(
        &self,
        exception_type: &Bound<'_, PyAny>,
        exception: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) {
        let _ = (exception_type, exception, traceback);
        self.close();
    }

    fn __repr__(&self) -> String {
        format!("<gallivant.journal.LogReader directory={:?}>", self.directory)
    }
}

/// Checks the journal in a run's directory: which of it is whole, what is a gap, what is damaged. A run that never recorded
/// anything has an empty one. Writes nothing. The acknowledged bytes are read once.
///
/// With a function as `visit` each gap is handed to it as it is found, and the list in the answer stays empty: then the
/// memory does not depend on the journal's length. What the function raises is raised once the log is read.
///
/// Raises `ExecutionJournalError` and `ExecutionVersionError` as the journal refuses, `ExecutionUnknownRunError` where there
/// is no such directory, `ExecutionIoError`.
#[pyfunction]
#[pyo3(signature = (
    directory, *, visit: "collections.abc.Callable[[Gap], object] | None" = None, host=None
))]
pub(crate) fn check(
    py: Python<'_>,
    directory: Given<PathBuf>,
    visit: Option<Py<PyAny>>,
    host: Option<&Bound<'_, TestHost>>,
) -> PyResult<Checked> {
    let host = host_of(host);
    let checked = match visit {
        None => call::fallible(py, || core::check(&directory.0, &host))?,
        Some(visit) => {
            let mut raised = false;
            let mut hand_out = |gap: core::Gap| {
                if raised {
                    return;
                }
                let told = Python::attach(|py| visit.call1(py, (Py::new(py, Gap::from(gap))?,)).map(drop));
                if let Err(failed) = told {
                    raised = true;
                    call::raise_afterwards(failed);
                }
            };
            call::fallible(py, || core::check_with(&directory.0, &host, &mut hand_out))?
        }
    };
    Checked::of(py, checked)
}

/// The collected result of a run as it may be shown, as JSON text; None where there is none. `read_run_result` gives it as
/// Python data. It is redacted by recognised credentials, shows neither text of files nor diagnostics, and numbers keep
/// their digits. Writes nothing.
///
/// Raises `ExecutionUnknownRunError`, `ExecutionIoError`, `ExecutionVersionError`.
#[pyfunction]
#[pyo3(signature = (directory, *, host=None))]
pub(crate) fn read_run_result_json(
    py: Python<'_>,
    directory: Given<PathBuf>,
    host: Option<&Bound<'_, TestHost>>,
) -> PyResult<Option<String>> {
    let host = host_of(host);
    call::fallible(py, || Ok(core::read_run_result(&directory.0, &host)?.map(|value| value.to_json())))
}

/// The runs below a root whose private raw diagnostics are there and have expired and whose result is durable, in the order
/// of their names. Nothing is removed.
///
/// Raises `ExecutionIoError`. A run that cannot be judged is left out.
#[pyfunction]
#[pyo3(signature = (root, *, host=None))]
pub(crate) fn retention_candidates(
    py: Python<'_>,
    root: Given<PathBuf>,
    host: Option<&Bound<'_, TestHost>>,
) -> PyResult<Vec<String>> {
    let host = host_of(host);
    call::fallible(py, || core::retention_candidates(&root.0, &host))
}
