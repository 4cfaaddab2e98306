//! `gallivant.Fleet` and what it reads.
//!
//! What a read found stays in a sheet of the core's. Python's objects are made when they are asked for, so that a fleet of
//! which a program looks at three seats costs three objects, and are told again while they stay the same.

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use gallivant_core::harness_state::{
    self as core, FleetComparison, FleetOptions, FleetProbe, FleetSheet, FleetSummary, gather_fleet,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyIterator, PyTuple};

use super::options::{Options, options_of};
use super::probe::fleet_probe_of;
use super::state::State;
use crate::argument::{Given, taken};
use crate::call;
use crate::host::host_of;
use crate::testing::TestHost;
use crate::value::{self, value};

/// The core's bounds for four optional arguments.
pub(super) fn bounds_of(
    max_depth: Option<Given<u32>>,
    max_records: Option<Given<usize>>,
    max_directories: Option<Given<usize>>,
    threads: Option<Given<usize>>,
) -> FleetOptions {
    let default = FleetOptions::default();
    FleetOptions {
        max_depth: taken(max_depth).unwrap_or(default.max_depth),
        max_records: taken(max_records).unwrap_or(default.max_records),
        max_directories: taken(max_directories).unwrap_or(default.max_directories),
        threads: taken(threads).unwrap_or(default.threads),
    }
}

/// Every record below a directory, read again and again. Threads may share it, of which one reads at a time; a forked
/// child may go on using it. The root need not exist yet, and nothing is created or locked.
///
/// `max_depth` is how many levels of directories below the root are entered (8; 0 looks at the root alone, 128 is the
/// most), `max_records` how many records are read (100,000), `max_directories` how many directories are entered (200,000).
/// With `probe='lease'` the lease of each live record's session is asked for. Links are not followed on the way. `threads` is
/// how many threads walk a tree of which nothing is known yet, the calling one among them (1, at most 64); the others have ended
/// once the read returns, and what is found and its order are the same whatever the number.
///
/// The first read walks the tree. Later ones open only what has changed since. Above 1,024 agents' directories with
/// nothing below them, a record that appears below one of those is found by the eighth read at the latest. A read that
/// finds what the one before it found answers the same view, which the fleet keeps for that.
///
/// Raises `HarnessStateInputError` with reason `path` for the empty path, with reason `probe` for another probe.
#[pyclass(frozen, module = "gallivant")]
pub(crate) struct Fleet {
    fleet: core::Fleet,
    probe: FleetProbe,
    /// What was told last. Never waited for: in a forked child it may stay in use for ever.
    told: Mutex<Option<Py<FleetView>>>,
}

#[pymethods]
impl Fleet {
    #[new]
    #[pyo3(signature = (
        root, *, max_depth=None, max_records=None, max_directories=None, threads=None,
        probe: "str | None" = None, options=None, host=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        root: Given<PathBuf>,
        max_depth: Option<Given<u32>>,
        max_records: Option<Given<usize>>,
        max_directories: Option<Given<usize>>,
        threads: Option<Given<usize>>,
        probe: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, Options>>,
        host: Option<&Bound<'_, TestHost>>,
    ) -> PyResult<Self> {
        let bounds = bounds_of(max_depth, max_records, max_directories, threads);
        let (probe, options, host) = (fleet_probe_of(probe)?, options_of(options), host_of(host));
        let fleet = call::fallible(py, || core::Fleet::open(root.0, &bounds, &options, &host))?;
        Ok(Fleet { fleet, probe, told: Mutex::default() })
    }

    /// Every record, and what may be concluded from each now. What cannot be read is an entry that is unknown, what was
    /// not looked at is said in `left_out`, and a root that does not exist has no entries.
    fn read(&self, py: Python<'_>) -> PyResult<Py<FleetView>> {
        let told = self.told.try_lock().ok().and_then(|told| told.as_ref().map(|view| view.clone_ref(py)));
        let before = told.as_ref().map(|view| Arc::clone(&view.get().sheet)).unwrap_or_default();
        let mut comparison = FleetComparison::with(&before);
        let summary =
            call::infallible(py, || self.fleet.for_each(self.probe, |entry| comparison.push(&entry)))?;
        let changed = comparison.into_changed();
        if let (None, Some(view)) = (&changed, told)
            && view.get().summary == summary
        {
            return Ok(view);
        }
        let sheet = changed.map_or(before, Arc::new);
        let view = Py::new(py, FleetView::of(py, sheet, summary)?)?;
        if let Ok(mut told) = self.told.try_lock() {
            *told = Some(view.clone_ref(py));
        }
        Ok(view)
    }

    /// Forgets what was found, so that the next read walks the whole tree again.
    fn forget(&self, py: Python<'_>) -> PyResult<()> {
        if let Ok(mut told) = self.told.try_lock() {
            *told = None;
        }
        call::infallible(py, || self.fleet.forget())
    }

    /// The root, as an absolute path.
    #[getter]
    fn root(&self) -> OsString {
        self.fleet.root().as_os_str().to_owned()
    }

    fn __repr__(&self) -> String {
        format!("<gallivant.Fleet root={:?}>", self.fleet.root())
    }
}

/// Reads every record below a directory once. For more than one read make a `Fleet`, which takes the same arguments.
#[pyfunction]
#[pyo3(signature = (
    root, *, max_depth=None, max_records=None, max_directories=None, threads=None,
    probe: "str | None" = None, options=None, host=None
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn read_fleet(
    py: Python<'_>,
    root: Given<PathBuf>,
    max_depth: Option<Given<u32>>,
    max_records: Option<Given<usize>>,
    max_directories: Option<Given<usize>>,
    threads: Option<Given<usize>>,
    probe: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, Options>>,
    host: Option<&Bound<'_, TestHost>>,
) -> PyResult<FleetView> {
    let bounds = bounds_of(max_depth, max_records, max_directories, threads);
    let (probe, options, host) = (fleet_probe_of(probe)?, options_of(options), host_of(host));
    let mut sheet = FleetSheet::default();
    let summary = call::fallible(py, || {
        let add = |part: &mut FleetSheet, entry: core::EntryRef<'_>| part.push(&entry);
        gather_fleet(root.0, &bounds, probe, &options, &host, add, |part| sheet.append(&part))
    })?;
    FleetView::of(py, Arc::new(sheet), summary)
}

const ZERO: Given<u64> = Given(0);

value! {
    /// What a walk did not look at; nothing of it hides anything else. True where something was left out.
    LeftOut {
        /// Directories below the last level that is entered.
        too_deep: u64 = ZERO,
        /// Directories that were known and not entered when the number of records or directories was reached.
        too_many: u64 = ZERO,
        /// Directories that could not be listed or searched. Where the record in one can be read, it is.
        unreadable: u64 = ZERO,
        /// Directories whose names are not UTF-8.
        unnameable: u64 = ZERO,
        /// The first of the unreadable directories and why, in one line for people.
        example: Option<String> = None,
    }

    fn __bool__(&self) -> bool {
        self.too_deep + self.too_many + self.unreadable + self.unnameable > 0
    }
}

impl From<core::LeftOut> for LeftOut {
    fn from(left_out: core::LeftOut) -> Self {
        LeftOut {
            too_deep: left_out.too_deep,
            too_many: left_out.too_many,
            unreadable: left_out.unreadable,
            unnameable: left_out.unnameable,
            example: left_out.example,
        }
    }
}

/// One record of a fleet: where it is, and what may be concluded from it.
#[pyclass(frozen, module = "gallivant")]
pub(crate) struct FleetEntry {
    path: EntryPath,
    state: PyOnceLock<Py<State>>,
}

enum EntryPath {
    /// An entry of a sheet; the state is made from it when it is asked for.
    Lent(Arc<FleetSheet>, usize),
    Own(String),
}

impl FleetEntry {
    const FIELDS: &'static [&'static str] = &["path", "state"];
}

#[pymethods]
impl FleetEntry {
    #[new]
    #[pyo3(signature = (*, path, state))]
    fn new(py: Python<'_>, path: Given<String>, state: Py<State>) -> Self {
        let made = PyOnceLock::new();
        made.get_or_init(py, || state);
        FleetEntry { path: EntryPath::Own(path.0), state: made }
    }

    /// The agent's directory by its path below the root; `.` for the root itself.
    #[getter]
    fn path(&self) -> &str {
        match &self.path {
            EntryPath::Lent(sheet, position) => sheet.get(*position).map_or("", |(path, _)| path),
            EntryPath::Own(path) => path,
        }
    }

    /// What may be concluded.
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<Py<State>> {
        let state = self.state.get_or_try_init(py, || match &self.path {
            EntryPath::Lent(sheet, position) => Py::new(py, State::lent(sheet, *position)),
            EntryPath::Own(_) => unreachable!("an entry that was made of a state has it"),
        })?;
        Ok(state.clone_ref(py))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        value::repr(slf.as_any(), Self::FIELDS)
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        value::equal(slf.as_any(), other, Self::FIELDS)
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        value::hash(slf.as_any(), Self::FIELDS)
    }

    #[pyo3(signature = () -> "tuple[tuple[()], dict[str, object]]")]
    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        value::arguments(slf.as_any(), Self::FIELDS)
    }
}

/// Every record of a fleet, in the order of their paths: name by name, a directory before what is below it.
///
/// `len(view)`, `view[3]`, `for entry in view`.
#[pyclass(frozen, sequence, module = "gallivant")]
pub(crate) struct FleetView {
    sheet: Arc<FleetSheet>,
    summary: FleetSummary,
    entries: PyOnceLock<Py<PyTuple>>,
    left_out: Py<LeftOut>,
}

impl FleetView {
    const FIELDS: &'static [&'static str] = &["entries", "valid_until_ms", "left_out"];

    fn of(py: Python<'_>, sheet: Arc<FleetSheet>, summary: FleetSummary) -> PyResult<Self> {
        let left_out = Py::new(py, LeftOut::from(summary.left_out.clone()))?;
        Ok(FleetView { sheet, summary, entries: PyOnceLock::new(), left_out })
    }

    fn made<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyTuple>> {
        let entries = self.entries.get_or_try_init(py, || {
            let entry = |position| {
                let path = EntryPath::Lent(Arc::clone(&self.sheet), position);
                Py::new(py, FleetEntry { path, state: PyOnceLock::new() })
            };
            let entries = (0..self.sheet.len()).map(entry).collect::<PyResult<Vec<_>>>()?;
            PyTuple::new(py, entries).map(Bound::unbind)
        })?;
        Ok(entries.bind(py))
    }
}

#[pymethods]
impl FleetView {
    #[new]
    #[pyo3(signature = (*, entries, left_out, valid_until_ms=None))]
    fn new(
        py: Python<'_>,
        entries: Vec<Py<FleetEntry>>,
        left_out: Py<LeftOut>,
        valid_until_ms: Option<Given<u64>>,
    ) -> PyResult<Self> {
        let made = PyOnceLock::new();
        made.get_or_try_init(py, || PyTuple::new(py, entries).map(Bound::unbind))?;
        let summary = FleetSummary { valid_until_ms: taken(valid_until_ms), ..FleetSummary::default() };
        Ok(FleetView { sheet: Arc::default(), summary, entries: made, left_out })
    }

    /// The records.
    #[getter]
    fn entries<'py>(&self, py: Python<'py>) -> PyResult<Entries<'py>> {
        Ok(Entries(self.made(py)?.clone()))
    }

    /// The instant at which the first of these answers changes by time alone, wall clock in ms since 1970; None where
    /// time alone changes none.
    #[getter]
    fn valid_until_ms(&self) -> Option<u64> {
        self.summary.valid_until_ms
    }

    /// What was not looked at.
    #[getter]
    fn left_out(&self, py: Python<'_>) -> Py<LeftOut> {
        self.left_out.clone_ref(py)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.entries.get(py).map_or(self.sheet.len(), |entries| entries.bind(py).len())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<EntryIterator<'py>> {
        self.made(py)?.try_iter().map(EntryIterator)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, position: Given<isize>) -> PyResult<Bound<'py, FleetEntry>> {
        Ok(self.made(py)?.as_any().get_item(position.0)?.cast_into()?)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        value::repr(slf.as_any(), Self::FIELDS)
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        value::equal(slf.as_any(), other, Self::FIELDS)
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        value::hash(slf.as_any(), Self::FIELDS)
    }

    #[pyo3(signature = () -> "tuple[tuple[()], dict[str, object]]")]
    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        value::arguments(slf.as_any(), Self::FIELDS)
    }
}

/// A tuple of entries.
struct Entries<'py>(Bound<'py, PyTuple>);

impl<'py> IntoPyObject<'py> for Entries<'py> {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = Infallible;

    #[cfg(feature = "stubs")]
    const OUTPUT_TYPE: pyo3::inspect::PyStaticExpr = pyo3::type_hint_subscript!(
        pyo3::type_hint_identifier!("builtins", "tuple"),
        <Py<FleetEntry> as IntoPyObject<'py>>::OUTPUT_TYPE,
        pyo3::inspect::PyStaticExpr::Constant { value: pyo3::inspect::PyStaticConstant::Ellipsis }
    );

    fn into_pyobject(self, _py: Python<'py>) -> Result<Self::Output, Self::Error> {
        Ok(self.0)
    }
}

/// An iterator over entries.
struct EntryIterator<'py>(Bound<'py, PyIterator>);

impl<'py> IntoPyObject<'py> for EntryIterator<'py> {
    type Target = PyIterator;
    type Output = Bound<'py, PyIterator>;
    type Error = Infallible;

    #[cfg(feature = "stubs")]
    const OUTPUT_TYPE: pyo3::inspect::PyStaticExpr = pyo3::type_hint_subscript!(
        pyo3::type_hint_identifier!("collections.abc", "Iterator"),
        <Py<FleetEntry> as IntoPyObject<'py>>::OUTPUT_TYPE
    );

    fn into_pyobject(self, _py: Python<'py>) -> Result<Self::Output, Self::Error> {
        Ok(self.0)
    }
}
