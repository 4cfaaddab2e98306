//! The boundary of a task behind `gallivant.execution.Execution`, and what lists a root's unresolved operations.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use gallivant_core::execution::{self as core, Called, ExecutionOptions, FixedJitter};
use gallivant_core::{Code, Error, Host, Result, publication};
use pyo3::prelude::*;

use super::health::HealthStore;
use super::machine::Machine;
use super::object_of;
use super::registry::ExecutionRegistry;
use crate::argument::Given;
use crate::call;
use crate::host::host_of;
use crate::testing::TestHost;
use crate::value::value;

/// Ends the wait of a machine for the task's lock.
#[pyclass(frozen, module = "gallivant.execution")]
#[derive(Debug, Default)]
pub(crate) struct AbortToken {
    pub(super) token: core::AbortToken,
}

#[pymethods]
impl AbortToken {
    #[new]
    fn new() -> Self {
        AbortToken::default()
    }

    /// Ends it, now and from now on. Never blocks and cannot be undone.
    fn abort(&self) {
        self.token.abort();
    }
}

/// The boundary of one task, whose documents are JSON text. Threads may share it.
#[pyclass(frozen, module = "gallivant._native")]
pub(crate) struct Boundary {
    /// None once it is closed. Held for as long as it takes to copy the pointer.
    slot: Mutex<Option<core::Boundary>>,
    host: Host,
    limits_json: String,
}

#[pymethods]
impl Boundary {
    /// Makes the boundary of a task; with `existing`, for the provider that its files have, by its record in `registry`.
    /// Creates no file.
    #[new]
    #[pyo3(signature = (root, options_json, *, registry=None, existing=false, health=None, host=None))]
    fn new(
        py: Python<'_>,
        root: Given<PathBuf>,
        options_json: Given<String>,
        registry: Option<&Bound<'_, ExecutionRegistry>>,
        existing: bool,
        health: Option<&Bound<'_, HealthStore>>,
        host: Option<&Bound<'_, TestHost>>,
    ) -> PyResult<Self> {
        let seams = host.map(|host| host.get().seams(py)).unwrap_or_default();
        let (host, registry) = (host_of(host), registry.map(|registry| registry.get().registry.clone()));
        let health = health.map(|health| health.get().store.clone());
        let made = call::fallible(py, || {
            let faults = seams.faults.unwrap_or_else(|| Arc::new(core::NoFaults));
            let options = object_of(&options_json.0, "options")?;
            let mut options = ExecutionOptions::from_object(root.0, &options, faults)?;
            options.jitter = seams.jitter.map(|jitter| Arc::new(FixedJitter(jitter)) as _);
            if let Some(store) = health {
                options.health = Some(Arc::new(store));
            }
            match (registry, existing) {
                (Some(registry), true) => core::execution_runner(options, &registry, &host),
                (Some(registry), false) => {
                    let record = registry.capability_for(&options.provider)?;
                    options.capabilities = core::Capabilities::Registered { record, registry };
                    core::Boundary::new(options, &host)
                }
                (None, _) => core::Boundary::new(options, &host),
            }
        })?;
        let limits_json = made.limits().to_value().to_json();
        Ok(Boundary { slot: Mutex::new(Some(made)), host, limits_json })
    }

    /// Calls a method by its name in the contract: a machine that is to be started, or the answer as JSON text.
    #[pyo3(signature = (method, input_json, token) -> "Machine | str")]
    fn call(
        &self,
        py: Python<'_>,
        method: Given<String>,
        input_json: Given<String>,
        token: &Bound<'_, AbortToken>,
    ) -> PyResult<Answer> {
        let token = token.get().token.clone();
        let called = call::fallible(py, || {
            publication::call(&self.opened()?, &method.0, object_of(&input_json.0, "input")?, token)
        })?;
        match called {
            Called::Machine(machine) => Py::new(py, Machine::new(*machine, &self.host)).map(Answer::Machine),
            Called::Answer(answer) => Ok(Answer::Text(answer.to_json())),
        }
    }

    /// Raises `ExecutionInputError` with the reason `closed` where it is closed.
    fn refuse_closed(&self, py: Python<'_>) -> PyResult<()> {
        call::last(py, || self.opened().map(drop))
    }

    /// The boundary's clock, in ms since 1970.
    fn now_ms(&self, py: Python<'_>) -> PyResult<u64> {
        call::infallible(py, || self.host.clock.wall_ms())
    }

    /// The limits in force, as JSON text.
    #[getter]
    fn limits_json(&self) -> &str {
        &self.limits_json
    }

    /// Lets go of it and of its machines, as a crash would. Waits for the steps that are being taken. Does nothing the second
    /// time.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        call::infallible(py, || {
            let boundary = self.slot().take();
            call::undisturbed(|| drop(boundary));
        })
    }
}

impl Boundary {
    pub(super) fn opened(&self) -> Result<core::Boundary> {
        let closed = || Error::new(Code::ExecutionInput, "the boundary is closed").with_reason("closed");
        self.slot().clone().ok_or_else(closed)
    }

    fn slot(&self) -> MutexGuard<'_, Option<core::Boundary>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Boundary {
    fn drop(&mut self) {
        // A thread of the parent's may have been in it at the moment of a fork.
        let is_in_use = matches!(self.slot.try_lock(), Err(TryLockError::WouldBlock));
        let boundary = self.slot.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if is_in_use {
            std::mem::forget(boundary);
        } else {
            call::let_go(boundary);
        }
    }
}

/// What a method gives.
#[derive(IntoPyObject)]
enum Answer {
    Machine(Py<Machine>),
    Text(String),
}

value! {
    in "gallivant.execution";
    /// An operation whose acceptance is unknown, for whoever has to find out.
    UnresolvedOperation {
        /// The task.
        task_id: String,
        /// The provider.
        provider: String,
        /// The account at the provider.
        account: String,
        /// The operation.
        operation_id: String,
        /// Its run.
        run_id: String,
        /// The key by which the provider knows it.
        idempotency_key: String,
        /// When its intent was saved, in milliseconds since 1970.
        intent_at: u64,
        /// What to do.
        remedy: String,
    }
}

/// Lists every operation of a task's root whose acceptance is unknown. Reads one file and takes no lock; a root without a ledger
/// has none.
///
/// Raises `ExecutionVersionError` for a ledger of another package, `ExecutionProtocolError` with the reason `ledger` for one
/// that makes no sense, `ExecutionIoError`.
#[pyfunction]
#[pyo3(signature = (root, *, host=None))]
pub(crate) fn unresolved(
    py: Python<'_>,
    root: Given<PathBuf>,
    host: Option<&Bound<'_, TestHost>>,
) -> PyResult<Vec<UnresolvedOperation>> {
    let host = host_of(host);
    let found = call::fallible(py, || -> Result<_> { core::unresolved(&root.0, &host) })?;
    let operation = |found: core::UnresolvedOperation| UnresolvedOperation {
        task_id: found.owner.task_id,
        provider: found.owner.provider,
        account: found.owner.account,
        operation_id: found.operation_id,
        run_id: found.run_id,
        idempotency_key: found.idempotency_key,
        intent_at: found.intent_at,
        remedy: found.remedy.to_owned(),
    };
    Ok(found.into_iter().map(operation).collect())
}
