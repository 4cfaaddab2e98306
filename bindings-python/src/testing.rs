//! A machine that a test controls. `gallivant/testing.py` is the public side.

use std::sync::Arc;

use gallivant_core::Host;
use gallivant_core::execution::Faults;
use gallivant_core::testing;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::argument::{Given, all_taken, taken, text_of};
use crate::call;
use crate::execution::Points;

/// The machine itself with a test's hand on clock, chance and disk. Pass it as `host=` to whatever is tested.
///
/// `wall_ms` is where the wall clock stands, in ms since 1970, or None for the machine's own clock. `random` are
/// the 64-bit values to give in turn, and then counting up from the last; empty for the machine's own chance.
/// `faults_json` is a list of faults as JSON text; `gallivant.testing.TestHost` takes it as Python data. `machine` and
/// `boot` are other names of the machine and of its boot. `jitter` is what stands for chance in the delays of the execution
/// layer's retries, from 0 to 1; `points` is a function that it asks at each of its points.
#[pyclass(frozen, subclass, module = "gallivant.testing")]
#[derive(Debug)]
pub(crate) struct TestHost {
    host: testing::TestHost,
    jitter: Option<f64>,
    points: Option<Py<PyAny>>,
}

/// What only the execution layer takes of a test's machine.
#[derive(Debug, Default)]
pub(crate) struct Seams {
    pub(crate) jitter: Option<f64>,
    pub(crate) faults: Option<Arc<dyn Faults>>,
}

impl TestHost {
    pub(crate) fn host(&self) -> Host {
        self.host.host().clone()
    }

    pub(crate) fn seams(&self, py: Python<'_>) -> Seams {
        let points = self.points.as_ref().map(|points| Points(points.clone_ref(py)));
        Seams { jitter: self.jitter, faults: points.map(|points| Arc::new(points) as _) }
    }
}

#[pymethods]
impl TestHost {
    #[new]
    #[pyo3(signature = (
        *, wall_ms=None, random=Vec::new(), faults_json=None, machine=None, boot=None, jitter=None,
        points: "collections.abc.Callable[[str], str] | None"=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords of a constructor")]
    fn new(
        py: Python<'_>,
        wall_ms: Option<Given<u64>>,
        random: Vec<Given<u64>>,
        faults_json: Option<Given<String>>,
        machine: Option<Given<String>>,
        boot: Option<Given<String>>,
        jitter: Option<Given<f64>>,
        points: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let made = || {
            testing::TestHost::new(testing::TestHostOptions {
                wall_ms: taken(wall_ms),
                random: all_taken(random),
                faults_json: text_of(faults_json.as_ref()),
                machine: text_of(machine.as_ref()),
                boot: text_of(boot.as_ref()),
            })
        };
        if points.as_ref().is_some_and(|points| !points.bind(py).is_callable()) {
            return Err(PyTypeError::new_err("points is not callable"));
        }
        let host = call::fallible(py, made)?;
        Ok(TestHost { host, jitter: taken(jitter), points })
    }

    /// Puts the wall clock there, in ms since 1970, as an operator or a time server does. The clocks by which a record
    /// with the extension object is judged go on: what is to grow old is let by `advance_ms`. Does nothing where the clock
    /// is the machine's own.
    fn set_wall_ms(&self, py: Python<'_>, wall_ms: Given<u64>) -> PyResult<()> {
        call::infallible(py, || self.host.set_wall_ms(wall_ms.0))
    }

    /// Puts all clocks by which something is stamped and judged there, in ms since 1970, the machine having slept for
    /// `slept_ms`. Does nothing where the clock is the machine's own.
    #[pyo3(signature = (wall_ms, *, slept_ms=Given(0)))]
    fn stand_at(&self, py: Python<'_>, wall_ms: Given<u64>, slept_ms: Given<u64>) -> PyResult<()> {
        call::infallible(py, || self.host.stand_at(wall_ms.0, slept_ms.0))
    }

    /// Lets this much time pass on all clocks, or, where it is negative, sets the wall clock back.
    fn advance_ms(&self, py: Python<'_>, ms: Given<i64>) -> PyResult<()> {
        call::infallible(py, || self.host.advance_ms(ms.0))
    }

    /// Replaces the faults by this list, as JSON text. Operations keep their numbers.
    fn set_faults_json(&self, py: Python<'_>, faults_json: Given<String>) -> PyResult<()> {
        call::fallible(py, || self.host.set_faults(&faults_json.0))
    }

    /// The storage operations so far, a line each.
    fn operations(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        call::infallible(py, || self.host.operations())
    }
}

/// Has the native code panic, so that a program can test what it does about `InternalError`.
#[pyfunction]
#[pyo3(signature = () -> "typing.NoReturn")]
pub(crate) fn panic(py: Python<'_>) -> PyResult<()> {
    call::infallible(py, || panic!("as the test asked"))
}
