//! `gallivant.execution.ExecutionRegistry`: capability records with what carries their dispatches out.

use gallivant_core::Result;
use gallivant_core::execution::capability::Registered;
use gallivant_core::execution::{self as core, Adapter, Capability};
use gallivant_core::json::Value;
use pyo3::prelude::*;

use super::object_of;
use crate::argument::Given;
use crate::{call, error};

/// The records of all providers, each with its adapter as data. Threads may share it.
#[pyclass(frozen, subclass, module = "gallivant._native")]
#[derive(Debug)]
pub(crate) struct ExecutionRegistry {
    pub(super) registry: core::ExecutionRegistry,
}

#[pymethods]
impl ExecutionRegistry {
    /// A registry with the shipped records, none of which has an adapter yet.
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        call::fallible(py, core::ExecutionRegistry::new).map(|registry| ExecutionRegistry { registry })
    }

    /// Adds a record, and its adapter where `adapter_json` is one. Gives the record as JSON text.
    #[pyo3(signature = (record_json, adapter_json=None, secrets=Vec::new()))]
    fn register_json(
        &self,
        py: Python<'_>,
        record_json: Given<String>,
        adapter_json: Option<Given<String>>,
        secrets: Vec<Given<String>>,
    ) -> PyResult<String> {
        self.shown(py, || {
            let record = Capability::from_value(Value::parse(&record_json.0).unwrap_or(Value::Null))?;
            let adapter = adapter_json.map(|json| adapter_of(&json.0)).transpose()?;
            self.registry.register(record, adapter, &texts(&secrets))
        })
    }

    /// Gives an adapter to a record that has none. Gives the record as JSON text.
    #[pyo3(signature = (provider, adapter_json, secrets=Vec::new()))]
    fn attach_json(
        &self,
        py: Python<'_>,
        provider: Given<String>,
        adapter_json: Given<String>,
        secrets: Vec<Given<String>>,
    ) -> PyResult<String> {
        self.shown(py, || self.registry.attach(&provider.0, adapter_of(&adapter_json.0)?, &texts(&secrets)))
    }

    /// The record of a provider, as JSON text.
    fn capability_json(&self, py: Python<'_>, provider: Given<String>) -> PyResult<String> {
        self.shown(py, || self.registry.capability_for(&provider.0))
    }

    /// All records, as the JSON text of a list.
    fn capabilities_json(&self, py: Python<'_>) -> PyResult<String> {
        let list = || self.registry.capabilities().iter().map(Capability::to_value).collect::<Vec<_>>();
        call::infallible(py, || Value::Array(list()).to_json())
    }
}

impl ExecutionRegistry {
    fn shown(&self, py: Python<'_>, find: impl FnOnce() -> Result<Registered> + Send) -> PyResult<String> {
        call::fallible(py, || find().map(|record| record.capability().to_value().to_json()))
    }
}

fn texts(given: &[Given<String>]) -> Vec<&str> {
    given.iter().map(|Given(text)| text.as_str()).collect()
}

fn adapter_of(json: &str) -> Result<Adapter> {
    Adapter::from_object(&object_of(json, "adapter")?)
}

/// Refuses a runtime in which the execution layer cannot work.
#[pyfunction]
#[pyo3(signature = (contract_version, has_intake))]
pub(crate) fn assert_execution_dependency(
    py: Python<'_>,
    contract_version: Option<Given<u64>>,
    has_intake: bool,
) -> PyResult<()> {
    let runtime = core::Runtime { contract_version: contract_version.map(|given| given.0), has_intake };
    core::assert_execution_dependency(&runtime).map_err(|failed| error::raise(py, &failed))
}
