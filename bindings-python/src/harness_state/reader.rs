//! `gallivant.Reader` and `gallivant.Snapshot`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use gallivant_core::Host;
use gallivant_core::harness_state::{self as core, Derived, Moment, ReadBuffer};
use pyo3::prelude::*;

use super::explain::Explanation;
use super::options::{Options, options_of};
use super::probe::{answer_of, probe_of};
use super::record::Record;
use super::state::State;
use crate::argument::{Given, taken};
use crate::call;
use crate::host::host_of;
use crate::testing::TestHost;

/// Reads one agent's record, by its directory or by the record's own path, which need not exist yet. Threads may
/// share it. No lock is taken and nothing is created.
///
/// Raises `HarnessStateInputError` with reason `path` for the empty path.
#[pyclass(frozen, module = "gallivant")]
#[derive(Debug)]
pub(crate) struct Reader {
    reader: core::Reader,
    host: Host,
    /// Never waited for: a thread that finds it in use, and a forked child in which it stays in use for ever, reads
    /// without it.
    again: Mutex<Again>,
}

/// What one read leaves to the next: memory, and the answer, which is handed out again while it stays the same.
#[derive(Debug, Default)]
struct Again {
    buffer: ReadBuffer,
    told: Option<(Derived, Py<State>)>,
}

/// What became of a read that uses [`Again`].
enum Told {
    /// Nothing was ever observed.
    Nothing,
    /// The answer is the one that was told last.
    Again,
    /// It is another.
    Anew(Derived),
}

impl Again {
    fn read(&mut self, reader: &core::Reader, probe: Option<&dyn core::Probe>) -> Told {
        match reader.read_into(probe, &mut self.buffer) {
            None => Told::Nothing,
            Some(derived) if self.told.as_ref().is_some_and(|(told, _)| told.lend() == derived) => {
                Told::Again
            }
            Some(derived) => Told::Anew(derived.to_derived()),
        }
    }
}

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (path, *, options=None, host=None))]
    fn new(
        py: Python<'_>,
        path: Given<PathBuf>,
        options: Option<&Bound<'_, Options>>,
        host: Option<&Bound<'_, TestHost>>,
    ) -> PyResult<Self> {
        let host = host_of(host);
        let reader = opened(py, &path.0, &options_of(options), &host)?;
        Ok(Reader { reader, host, again: Mutex::default() })
    }

    /// What may be concluded now; None when nothing was ever observed, which is not unknown. What cannot be read is
    /// unknown and no exception.
    ///
    /// `probe` says whether the session behind a live record still lives. It is `"lease"` (the session lease), a
    /// `ProcessIdentity`, a fixed answer (`"alive"`, `"dead"`, `"indeterminate"`), or a function that gets the `Record`
    /// and answers one of these words, True (alive), False (dead) or None (indeterminate). It is asked only where its
    /// answer decides. A function that raises an `Exception`, answers anything else, or takes longer than the options'
    /// probe budget, has answered `indeterminate`; `KeyboardInterrupt` and `SystemExit` pass through.
    ///
    /// Raises `HarnessStateInputError` with reason `probe` for what is no probe.
    #[pyo3(signature = (
        probe: "str | ProcessIdentity | collections.abc.Callable[[Record], str | bool | None] | None" = None
    ))]
    fn read(&self, py: Python<'_>, probe: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Py<State>>> {
        let probe = probe.map(|probe| probe_of(probe, &self.reader, &self.host)).transpose()?;
        let probe = probe.as_deref();
        let Ok(mut again) = self.again.try_lock() else {
            let derived = call::infallible(py, || self.reader.read(dynamic(probe)))?;
            return derived.map(|derived| Py::new(py, State::from(derived))).transpose();
        };
        let again = &mut *again;
        match call::infallible(py, || again.read(&self.reader, dynamic(probe)))? {
            Told::Nothing => return Ok(None),
            Told::Again => {}
            Told::Anew(derived) => {
                let state = Py::new(py, State::from(derived.clone()))?;
                again.told = Some((derived, state));
            }
        }
        Ok(again.told.as_ref().map(|(_, state)| state.clone_ref(py)))
    }

    /// As `read`, and why: the record, the clock, each row of the reading table that was tried, and the one that decided.
    #[pyo3(signature = (
        probe: "str | ProcessIdentity | collections.abc.Callable[[Record], str | bool | None] | None" = None
    ))]
    fn explain(&self, py: Python<'_>, probe: Option<&Bound<'_, PyAny>>) -> PyResult<Explanation> {
        let probe = probe.map(|probe| probe_of(probe, &self.reader, &self.host)).transpose()?;
        let probe = probe.as_deref();
        let explain = || self.reader.explain(probe.map(|probe| probe as &dyn core::Probe));
        Explanation::of(py, call::infallible(py, explain)?)
    }

    /// What stands there, for deriving from it later and for looking at the record itself.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        let snapshot = call::infallible(py, || self.reader.snapshot())?;
        Ok(Snapshot { snapshot, options: self.reader.options().clone(), host: self.host.clone() })
    }

    /// The path as it was given.
    #[getter]
    fn path(&self) -> OsString {
        self.reader.path().as_os_str().to_owned()
    }

    fn __repr__(&self) -> String {
        format!("<gallivant.Reader path={:?}>", self.reader.path())
    }
}

fn dynamic(probe: Option<&(dyn core::Probe + Send + Sync)>) -> Option<&dyn core::Probe> {
    probe.map(|probe| probe as &dyn core::Probe)
}

/// A reader of the core. The core's own, which cannot fail, takes the empty path for a record that is not there; here it
/// is refused as a writer's is.
///
/// # Errors
/// `HARNESS_STATE_INPUT` with reason `path` for the empty path.
pub(super) fn opened(
    py: Python<'_>,
    path: &Path,
    options: &core::Options,
    host: &Host,
) -> PyResult<core::Reader> {
    call::fallible(py, || core::Reader::try_open(path, options, host))
}

/// What was found at one moment. Deriving from it reads nothing.
#[pyclass(frozen, module = "gallivant")]
#[derive(Debug)]
pub(crate) struct Snapshot {
    snapshot: core::Snapshot,
    options: core::Options,
    host: Host,
}

impl Snapshot {
    fn at(&self, given: Option<u64>) -> Moment {
        given.map_or_else(|| Moment::now(&self.host), |now_ms| self.snapshot.taken_at().moved_to(now_ms))
    }
}

#[pymethods]
impl Snapshot {
    /// The record, where one was read and decoded; None where nothing stands, or something that is no record.
    #[getter]
    fn record(&self, py: Python<'_>) -> PyResult<Option<Record>> {
        self.snapshot.record().map(|record| Record::of(py, record)).transpose()
    }

    /// Why there is no record although something stands there: one line for people.
    #[getter]
    fn damage(&self) -> Option<String> {
        self.snapshot.damage()
    }

    /// Whether a probe's answer can make a difference at `now_ms`, or now.
    #[pyo3(signature = (*, now_ms=None))]
    fn wants_probe(&self, py: Python<'_>, now_ms: Option<Given<u64>>) -> PyResult<bool> {
        let now_ms = taken(now_ms);
        call::infallible(py, || self.snapshot.wants_probe(&self.options, &self.at(now_ms)))
    }

    /// What may be concluded at `now_ms`, or now, where a probe has answered `probe` (`alive`, `dead`,
    /// `indeterminate`), or where none was asked; None when nothing was ever observed.
    #[pyo3(signature = (*, now_ms=None, probe=None))]
    fn derive(
        &self,
        py: Python<'_>,
        now_ms: Option<Given<u64>>,
        probe: Option<Given<String>>,
    ) -> PyResult<Option<State>> {
        let answer = probe.map(|Given(word)| answer_of(py, &word)).transpose()?;
        let now_ms = taken(now_ms);
        let derived = call::infallible(py, || {
            let at = self.at(now_ms);
            match answer {
                Some(answer) => self.snapshot.derive(&self.options, &at, Some(&mut || answer)),
                None => self.snapshot.derive(&self.options, &at, None),
            }
        })?;
        Ok(derived.map(State::from))
    }

    /// As `derive`, and which row of the reading table decided.
    #[pyo3(signature = (*, now_ms=None, probe=None))]
    fn explain(
        &self,
        py: Python<'_>,
        now_ms: Option<Given<u64>>,
        probe: Option<Given<String>>,
    ) -> PyResult<Explanation> {
        let answer = probe.map(|Given(word)| answer_of(py, &word)).transpose()?;
        let now_ms = taken(now_ms);
        let explanation = call::infallible(py, || {
            let at = self.at(now_ms);
            match answer {
                Some(answer) => self.snapshot.explain(&self.options, &at, Some(&mut || answer)),
                None => self.snapshot.explain(&self.options, &at, None),
            }
        })?;
        Explanation::of(py, explanation)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let record = slf.getattr("record")?.repr()?;
        let damage = slf.getattr("damage")?.repr()?;
        Ok(format!("<gallivant.Snapshot record={} damage={}>", record.to_cow()?, damage.to_cow()?))
    }
}
