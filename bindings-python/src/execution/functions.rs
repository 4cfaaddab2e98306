//! The pure functions of the execution layer by their names, and its constants.

use std::path::PathBuf;

use gallivant_core::execution::contract::Method;
use gallivant_core::execution::{self as core, EXECUTION_LIMITS, PROVIDER_STATES, ProviderState};
use gallivant_core::publication::functions;
use gallivant_core::verification::{SandboxCheck, SystemSandbox};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::argument::Given;
use crate::call;
use crate::host::host_of;

/// Calls a pure function by its name in the contract, with the JSON text of its arguments, and gives JSON text.
#[pyfunction]
pub(crate) fn execution_function(
    py: Python<'_>,
    name: Given<String>,
    args_json: Given<String>,
) -> PyResult<String> {
    call::fallible(py, || functions::call(&name.0, &args_json.0).map(|value| value.to_json()))
}

/// Checks this machine's sandbox and gives the evidence as JSON text. What is public is `gallivant.execution.sandbox_readiness`.
#[pyfunction]
#[pyo3(signature = (scratch=None, runtime=None, runtime_programs=None))]
pub(crate) fn sandbox_readiness_json(
    py: Python<'_>,
    scratch: Option<Given<PathBuf>>,
    runtime: Option<Given<PathBuf>>,
    runtime_programs: Option<Given<PathBuf>>,
) -> PyResult<String> {
    let host = host_of(None);
    let [scratch, runtime, programs] = [scratch, runtime, runtime_programs].map(|given| given.map(|it| it.0));
    call::fallible(py, || {
        let sandbox = SystemSandbox::of(scratch.as_deref(), runtime.as_deref(), programs.as_deref())?;
        Ok(sandbox.check(&host, &|| host.clock.is_cancelled())?.to_json())
    })
}

/// `EXECUTION_VERSION`, `PROVIDER_STATES`, `EXECUTION_LIMITS` and `EXECUTION_CURSOR_BYTES`; `METHODS`, the names of a
/// transport's methods.
#[pyfunction]
#[pyo3(signature = () -> "dict[str, typing.Any]")]
pub(crate) fn execution_constants(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let constants = PyDict::new(py);
    constants.set_item("EXECUTION_VERSION", core::EXECUTION_VERSION)?;
    constants.set_item("EXECUTION_CURSOR_BYTES", core::EXECUTION_CURSOR_BYTES)?;
    let states: Vec<_> = PROVIDER_STATES.iter().copied().map(ProviderState::word).collect();
    constants.set_item("PROVIDER_STATES", states)?;
    let limits: Vec<_> =
        EXECUTION_LIMITS.iter().map(|limit| (limit.name, limit.default, limit.min, limit.max)).collect();
    constants.set_item("EXECUTION_LIMITS", limits)?;
    let methods: Vec<_> = Method::ALL.iter().map(|method| method.word()).collect();
    constants.set_item("METHODS", methods)?;
    Ok(constants)
}
