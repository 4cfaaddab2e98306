//! `gallivant.journal.Journal` and `Projection`.

use std::ffi::OsString;
use std::path::PathBuf;

use gallivant_core::journal as core;
use pyo3::prelude::*;

use super::event::{Owner, Page};
use super::held::Held;
use super::values::{Appended, Projected, Recovered};
use crate::argument::Given;
use crate::call;
use crate::host::host_of;
use crate::redaction::Redactor;
use crate::testing::TestHost;

/// The journal of one run, as its one writer has it. Opened by `Journal.open`.
///
///     with Journal.open(directory, owner, Redactor(secrets)) as journal:
///         journal.append([Event("e-1", "provider", "message", {"text": "hello"})])
///
/// It takes no lock: one program at a time writes, under a lock of its own that guards the run. Threads may share it; one
/// call waits for the other. In a forked child it is the parent's: using it there is `ExecutionInputError` with reason
/// `forked`, closing it does nothing.
#[pyclass(frozen, module = "gallivant.journal")]
pub(crate) struct Journal {
    directory: PathBuf,
    owner: Py<Owner>,
    held: Held<core::Journal>,
}

#[pymethods]
impl Journal {
    /// The journal in a run's directory, which exists. Nothing of it is read before the first call that needs it. Ids, types
    /// and data of events are redacted before any byte of them is written.
    ///
    /// Raises `ExecutionUnknownRunError` where there is no such directory, `ExecutionIoError` where it cannot be opened.
    #[staticmethod]
    #[pyo3(signature = (directory, owner, redactor, *, host=None))]
    fn open(
        py: Python<'_>,
        directory: Given<PathBuf>,
        owner: Py<Owner>,
        redactor: &Bound<'_, Redactor>,
        host: Option<&Bound<'_, TestHost>>,
    ) -> PyResult<Self> {
        let (Given(directory), host, whose) = (directory, host_of(host), owner.get().to_core());
        let redactor = &redactor.get().redactor;
        let journal = call::fallible(py, || core::Journal::open(&directory, whose, &host, redactor))?;
        Ok(Journal { directory, owner, held: Held::new(journal, "journal", host) })
    }

    /// Appends the events of a page that are not in the journal yet, each once, in the page's order.
    ///
    /// Once it has returned, every event of the page is readable or a gap stands for it, durably, and a repetition of the
    /// page adds nothing. What it costs does not depend on the length of the journal. A batch that a crash has left pending
    /// is recovered first. In the place of events a page may hold dictionaries of the members that `Event.page_from_json`
    /// takes.
    ///
    /// Raises `ExecutionInputError` for an event that no record can hold, and with reason `event` or `shape` for what is none;
    /// `TypeError` and `ValueError` for data that `json.dumps` does not take; nothing was written then.
    /// `ExecutionJournalError` and `ExecutionVersionError` for a journal that is damaged; all its files are as they were.
    /// `ExecutionIoError`: repeating the page appends what is missing.
    #[pyo3(signature = (
        page: "collections.abc.Iterable[Event] | collections.abc.Iterable[collections.abc.Mapping[str, typing.Any]]"
    ))]
    fn append(&self, py: Python<'_>, page: &Bound<'_, PyAny>) -> PyResult<Appended> {
        let page = Page::of(page)?;
        let appended = self.held.act(py, |journal| journal.append(&page.events()?))?;
        Appended::of(py, appended)
    }

    /// Judges what stands on disk and finishes a batch that was left pending. Once it has returned nothing is pending. Where
    /// nothing was, it writes nothing, but for what crashed writers left staged, which it removes.
    ///
    /// Raises `ExecutionJournalError` and `ExecutionVersionError` for a journal that is damaged: every file is as it was.
    /// `ExecutionIoError`: another recovery goes on where this one stopped.
    fn recover(&self, py: Python<'_>) -> PyResult<Recovered> {
        let recovered = self.held.act(py, core::Journal::recover)?;
        Recovered::of(py, recovered)
    }

    /// Whose journal it is.
    #[getter]
    fn owner(&self, py: Python<'_>) -> Py<Owner> {
        self.owner.clone_ref(py)
    }

    /// The run's directory, as it was given.
    #[getter]
    fn directory(&self) -> OsString {
        self.directory.as_os_str().to_owned()
    }

    /// Closes every descriptor, once a call in another thread has done. Does nothing the second time.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.held.close(py)
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

    fn __repr__(&self) -> String {
        format!("<gallivant.journal.Journal directory={:?}>", self.directory)
    }
}

/// The writer of one run's public lines, `job.log`, which are made from the journal. Opened by `Projection.open`.
///
/// Like a `Journal` it takes no lock, threads may share it, and in a forked child it is the parent's. Readers take none
/// either and are disturbed by nothing that it does.
#[pyclass(frozen, module = "gallivant.journal")]
pub(crate) struct Projection {
    directory: PathBuf,
    held: Held<core::Projection>,
}

#[pymethods]
impl Projection {
    /// The projection in a run's directory, which exists. Nothing is read or written.
    ///
    /// Raises `ExecutionUnknownRunError` where there is no such directory, `ExecutionIoError` where it cannot be opened.
    #[staticmethod]
    #[pyo3(signature = (directory, *, host=None))]
    fn open(py: Python<'_>, directory: Given<PathBuf>, host: Option<&Bound<'_, TestHost>>) -> PyResult<Self> {
        let (Given(directory), host) = (directory, host_of(host));
        let projection = call::fallible(py, || core::Projection::open(&directory, &host))?;
        Ok(Projection { directory, held: Held::new(projection, "projection", host) })
    }

    /// Writes a line for each record of the journal that is acknowledged and has none yet. Durable once it has returned.
    /// Where nothing is new, nothing is written.
    ///
    /// Raises `ExecutionIoError`; `ExecutionVersionError` and `ExecutionJournalError` as the journal refuses, or for
    /// `log-meta.json`. What was acknowledged stays.
    fn catch_up(&self, py: Python<'_>) -> PyResult<Projected> {
        self.held.act(py, core::Projection::catch_up).map(Projected::from)
    }

    /// Drops whole old lines so that at most this many bytes of `job.log` stay. Journal, keys, result and checkpoints are
    /// not touched. Raises as `catch_up`; the next one then writes again what is missing.
    fn trim(&self, py: Python<'_>, keep_bytes: Given<u64>) -> PyResult<Projected> {
        self.held.act(py, |projection| projection.trim(keep_bytes.0)).map(Projected::from)
    }

    /// The run's directory, as it was given.
    #[getter]
    fn directory(&self) -> OsString {
        self.directory.as_os_str().to_owned()
    }

    /// Closes every descriptor, once a call in another thread has done. Does nothing the second time.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.held.close(py)
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

    fn __repr__(&self) -> String {
        format!("<gallivant.journal.Projection directory={:?}>", self.directory)
    }
}
