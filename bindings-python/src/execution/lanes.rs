//! Lanes behind `gallivant.execution` (EX-SCH-25 to EX-SCH-31): which task may start now. They start nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use super::health::{HealthStore, scope_of};
use crate::argument::Given;
use crate::call;

/// A lane over tasks that are numbered from 0. Threads may share it.
#[pyclass(frozen, module = "gallivant._native")]
#[derive(Debug)]
pub(crate) struct Lane {
    lane: Mutex<gallivant_core::execution::Lane>,
}

impl Lane {
    fn lane(&self) -> MutexGuard<'_, gallivant_core::execution::Lane> {
        self.lane.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Lane {
    /// A lane over so many tasks.
    #[new]
    fn new(py: Python<'_>, tasks: Given<usize>, concurrency: Given<u64>) -> PyResult<Self> {
        let lane = call::fallible(py, || gallivant_core::execution::Lane::new(tasks.0, concurrency.0))?;
        Ok(Lane { lane: Mutex::new(lane) })
    }

    /// The task that starts now; None while every slot is held, and when all have started.
    fn start_next(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        call::infallible(py, || self.lane().start_next())
    }

    /// A task has ended, however it has.
    fn end(&self, py: Python<'_>, task: Given<usize>) -> PyResult<()> {
        call::fallible(py, || self.lane().end(task.0))
    }
}

/// Dispatches that wait for probes, numbered from 0. Threads may share it.
#[pyclass(frozen, module = "gallivant._native")]
#[derive(Debug)]
pub(crate) struct DispatchLane {
    lane: Mutex<gallivant_core::execution::DispatchLane>,
}

impl DispatchLane {
    fn lane(&self) -> MutexGuard<'_, gallivant_core::execution::DispatchLane> {
        self.lane.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl DispatchLane {
    /// Joins the probes that are scheduled now for the accounts of the dispatches.
    #[new]
    fn new(
        py: Python<'_>,
        store: &Bound<'_, HealthStore>,
        scopes: Vec<(Given<String>, Given<String>)>,
        concurrency: Given<u64>,
    ) -> PyResult<Self> {
        let store = store.get();
        let lane = call::fallible(py, || {
            let scopes: Vec<_> =
                scopes.into_iter().map(|(provider, account)| scope_of(provider, account)).collect();
            gallivant_core::execution::DispatchLane::new(&store.store, &scopes, concurrency.0)
        })?;
        Ok(DispatchLane { lane: Mutex::new(lane) })
    }

    /// The dispatch that is to be retried now, or None. It reads records.
    fn retry_next(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        call::infallible(py, || self.lane().retry_next())
    }

    /// A retry has ended, however it has.
    fn end(&self, py: Python<'_>, dispatch: Given<usize>) -> PyResult<()> {
        call::fallible(py, || self.lane().end(dispatch.0))
    }

    /// Whether a dispatch waits for its probe, or for a slot.
    fn is_waiting(&self, py: Python<'_>) -> PyResult<bool> {
        call::infallible(py, || self.lane().is_waiting())
    }

    /// Waits for probes no longer.
    fn give_up(&self, py: Python<'_>) -> PyResult<()> {
        call::infallible(py, || self.lane().give_up())
    }
}
