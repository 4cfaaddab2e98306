//! `gallivant.Options`.

use std::time::Duration;

use gallivant_core::harness_state as core;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::argument::{Given, all_taken, taken, whole_ms};
use crate::value;

/// Options of readers and writers, times in milliseconds. Without arguments they agree with existing deployments; an
/// option that is None has its default.
///
/// - `schema`: the schema to write, compared whole. Default `'st2.harness-state.v1'`.
/// - `also_accepted_schemas`: further ones to accept when reading. Default `()`.
/// - `stale_ms`: from this age on a record tells nothing. Default `900000`, which is 15 minutes.
/// - `refresh_ms`: from this age on an unchanged observation is stamped again, and a session's heartbeat is due.
///   Default `300000`, which is 5 minutes.
/// - `future_skew_ms`: a stamp further ahead than this is not believed. Default `60000`, which is a minute.
/// - `lock_wait_ms`: how long a call waits for the lock; a hook waits for 250 ms at most. Default `10000`, which is 10
///   seconds.
/// - `wrapperless_prefixes`: of the tokens of sessions that no wrapper launched. Default `('claude-session-',)`.
/// - `extension`: whether records carry the extension object, and are judged by it. Default `True`.
/// - `probe_budget_ms`: a probe that takes longer has answered nothing. Default `100`.
#[pyclass(frozen, module = "gallivant")]
#[derive(Debug)]
pub(crate) struct Options {
    options: core::Options,
}

const FIELDS: &[&str] = &[
    "schema",
    "also_accepted_schemas",
    "stale_ms",
    "refresh_ms",
    "future_skew_ms",
    "lock_wait_ms",
    "wrapperless_prefixes",
    "extension",
    "probe_budget_ms",
];

/// The core's options for an optional `options` argument.
pub(crate) fn options_of(given: Option<&Bound<'_, Options>>) -> core::Options {
    given.map(|options| options.get().options.clone()).unwrap_or_default()
}

#[pymethods]
impl Options {
    #[new]
    #[pyo3(signature = (
        *,
        schema=None,
        also_accepted_schemas=None,
        stale_ms=None,
        refresh_ms=None,
        future_skew_ms=None,
        lock_wait_ms=None,
        wrapperless_prefixes=None,
        extension=None,
        probe_budget_ms=None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        schema: Option<Given<String>>,
        also_accepted_schemas: Option<Vec<Given<String>>>,
        stale_ms: Option<Given<u64>>,
        refresh_ms: Option<Given<u64>>,
        future_skew_ms: Option<Given<u64>>,
        lock_wait_ms: Option<Given<u64>>,
        wrapperless_prefixes: Option<Vec<Given<String>>>,
        extension: Option<bool>,
        probe_budget_ms: Option<Given<u64>>,
    ) -> Self {
        let default = core::Options::default();
        let options = core::Options {
            schema: taken(schema).unwrap_or(default.schema),
            also_accepted_schemas: also_accepted_schemas.map_or(default.also_accepted_schemas, all_taken),
            stale_ms: taken(stale_ms).unwrap_or(default.stale_ms),
            refresh_ms: taken(refresh_ms).unwrap_or(default.refresh_ms),
            future_skew_ms: taken(future_skew_ms).unwrap_or(default.future_skew_ms),
            lock_wait: taken(lock_wait_ms).map_or(default.lock_wait, Duration::from_millis),
            wrapperless_prefixes: wrapperless_prefixes.map_or(default.wrapperless_prefixes, all_taken),
            extension: extension.unwrap_or(default.extension),
            probe_budget: taken(probe_budget_ms).map_or(default.probe_budget, Duration::from_millis),
        };
        Options { options }
    }

    /// The schema to write, compared whole. Default `'st2.harness-state.v1'`.
    #[getter]
    fn schema(&self) -> &str {
        &self.options.schema
    }

    /// Further schemas to accept when reading. Default `()`.
    #[getter]
    fn also_accepted_schemas(&self) -> Texts<'_> {
        Texts(&self.options.also_accepted_schemas)
    }

    /// From this age on a record tells nothing, in ms. Default `900000`.
    #[getter]
    fn stale_ms(&self) -> u64 {
        self.options.stale_ms
    }

    /// From this age on an unchanged observation is stamped again, in ms. Default `300000`.
    #[getter]
    fn refresh_ms(&self) -> u64 {
        self.options.refresh_ms
    }

    /// A stamp further ahead than this is not believed, in ms. Default `60000`.
    #[getter]
    fn future_skew_ms(&self) -> u64 {
        self.options.future_skew_ms
    }

    /// How long a call waits for the lock, in ms. Default `10000`.
    #[getter]
    fn lock_wait_ms(&self) -> u64 {
        whole_ms(self.options.lock_wait)
    }

    /// The prefixes of the tokens of sessions that no wrapper launched. Default `('claude-session-',)`.
    #[getter]
    fn wrapperless_prefixes(&self) -> Texts<'_> {
        Texts(&self.options.wrapperless_prefixes)
    }

    /// Whether records carry the extension object, and are judged by it. Default `True`.
    #[getter]
    fn extension(&self) -> bool {
        self.options.extension
    }

    /// A probe that takes longer than this has answered nothing, in ms. Default `100`.
    #[getter]
    fn probe_budget_ms(&self) -> u64 {
        whole_ms(self.options.probe_budget)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        value::repr(slf.as_any(), FIELDS)
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        value::equal(slf.as_any(), other, FIELDS)
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        value::hash(slf.as_any(), FIELDS)
    }

    #[pyo3(signature = () -> "tuple[tuple[()], dict[str, object]]")]
    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        value::arguments(slf.as_any(), FIELDS)
    }
}

/// A list of the core as a tuple, because options do not change.
struct Texts<'a>(&'a [String]);

impl<'py> IntoPyObject<'py> for Texts<'_> {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    #[cfg(feature = "stubs")]
    const OUTPUT_TYPE: pyo3::inspect::PyStaticExpr = pyo3::type_hint_subscript!(
        pyo3::type_hint_identifier!("builtins", "tuple"),
        pyo3::type_hint_identifier!("builtins", "str"),
        pyo3::inspect::PyStaticExpr::Constant { value: pyo3::inspect::PyStaticConstant::Ellipsis }
    );

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        PyTuple::new(py, self.0)
    }
}
