//! The health of providers' accounts behind `gallivant.execution.HealthStore` (EX-SCH-09 to EX-SCH-19). Nothing here probes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use gallivant_core::execution::{
    AbortToken, FixedJitter, HealthOptions, HealthRecord, HealthScope, Limits, NoFaults, ProbeResult,
    Refresh as CoreRefresh,
};
use gallivant_core::json::Value;
use gallivant_core::redaction::Secrets;
use gallivant_core::{Code, Error, Host, Result};
use pyo3::prelude::*;

use super::object_of;
use crate::argument::{Given, length_of};
use crate::call;
use crate::host::host_of;
use crate::testing::TestHost;

/// Health records below one directory. Threads may share it.
#[pyclass(frozen, subclass, module = "gallivant._native")]
#[derive(Debug)]
pub(crate) struct HealthStore {
    pub(super) store: gallivant_core::execution::HealthStore,
    host: Host,
}

#[pymethods]
impl HealthStore {
    /// Makes a store. Creates no file, and reads none.
    #[new]
    #[pyo3(signature = (root, *, limits_json=None, scopes=Vec::new(), secrets=Vec::new(), host=None))]
    fn new(
        py: Python<'_>,
        root: Given<PathBuf>,
        limits_json: Option<Given<String>>,
        scopes: Vec<(Given<String>, Given<String>)>,
        secrets: Vec<Given<String>>,
        host: Option<&Bound<'_, TestHost>>,
    ) -> PyResult<Self> {
        let seams = host.map(|host| host.get().seams(py)).unwrap_or_default();
        let host = host_of(host);
        let store = call::fallible(py, || {
            let limits = limits_json.map(|json| object_of(&json.0, "limits")).transpose()?;
            let options = HealthOptions {
                limits: Limits::with_overrides(limits.as_ref())?,
                scopes: scopes.into_iter().map(|(provider, account)| scope_of(provider, account)).collect(),
                secrets: Secrets::strict(secrets.iter().map(|secret| &secret.0))?,
                jitter: seams.jitter.map(|jitter| Arc::new(FixedJitter(jitter)) as _),
                faults: seams.faults.unwrap_or_else(|| Arc::new(NoFaults)),
                ..HealthOptions::new(root.0)
            };
            gallivant_core::execution::HealthStore::new(options, &host)
        })?;
        Ok(HealthStore { store, host })
    }

    /// Wants the health of one more account: without a record its check is due.
    fn want(&self, py: Python<'_>, provider: Given<String>, account: Given<String>) -> PyResult<()> {
        call::fallible(py, || self.store.want(scope_of(provider, account)))
    }

    /// Whether a dispatch is authorised now, by a success that still counts and no refresh under way. Never probes, never writes.
    fn authorize(&self, py: Python<'_>, provider: Given<String>, account: Given<String>) -> PyResult<bool> {
        call::fallible(py, || self.store.authorize(&scope_of(provider, account)))
    }

    /// What is recorded, as JSON text. Never probes, never writes.
    fn status_json(
        &self,
        py: Python<'_>,
        provider: Given<String>,
        account: Given<String>,
    ) -> PyResult<Option<String>> {
        let record = call::fallible(py, || self.store.health_status(&scope_of(provider, account)))?;
        Ok(record.as_ref().map(text_of))
    }

    /// The accounts whose check is due now: provider and account.
    fn due(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let due = call::fallible(py, || self.store.due(self.host.clock.wall_ms()))?;
        Ok(due.into_iter().map(|scope| (scope.provider, scope.account)).collect())
    }

    /// Schedules a refresh; None where one is under way. The account's authority has ended once it has returned.
    fn begin(
        &self,
        py: Python<'_>,
        provider: Given<String>,
        account: Given<String>,
    ) -> PyResult<Option<Refresh>> {
        let begun = call::fallible(py, || self.store.begin(&scope_of(provider, account)))?;
        Ok(begun.map(|refresh| Refresh { slot: Mutex::new(Some(refresh)) }))
    }

    /// Saves what a check has shown, and gives the record as JSON text; it is on disk then.
    fn record_json(
        &self,
        py: Python<'_>,
        provider: Given<String>,
        account: Given<String>,
        result_json: Given<String>,
    ) -> PyResult<String> {
        let save = || self.store.record(&scope_of(provider, account), result_of(&result_json.0)?);
        call::fallible(py, save).map(|record| text_of(&record))
    }

    /// Whether a refresh of this account is under way in this store.
    fn scheduled(&self, py: Python<'_>, provider: Given<String>, account: Given<String>) -> PyResult<bool> {
        call::infallible(py, || self.store.scheduled(&scope_of(provider, account)))
    }

    /// Waits for the refresh that is under way, at most so many seconds: `not-scheduled`, `over` or `under-way`. Starts none.
    #[pyo3(signature = (provider, account, timeout))]
    fn join_scheduled(
        &self,
        py: Python<'_>,
        provider: Given<String>,
        account: Given<String>,
        timeout: Given<f64>,
    ) -> PyResult<&'static str> {
        let wait = length_of(py, timeout.0)?.unwrap_or(std::time::Duration::MAX);
        let scope = scope_of(provider, account);
        let joined = call::infallible(py, || self.store.join_scheduled(&scope, wait, &AbortToken::new()))?;
        Ok(joined.word())
    }
}

/// A scheduled refresh: whoever has it runs the check, and records what it has shown or gives it up. The end of a `with` block, and
/// letting go of it, give it up.
#[pyclass(frozen, module = "gallivant.execution")]
#[derive(Debug)]
pub(crate) struct Refresh {
    /// None once it is over.
    slot: Mutex<Option<CoreRefresh>>,
}

#[pymethods]
impl Refresh {
    /// Saves what the check has shown, `{ok, evidence?, code?, remedy?, retryAfterMs?}` as JSON text, and ends the refresh. Gives the
    /// record as JSON text.
    fn record_json(&self, py: Python<'_>, result_json: Given<String>) -> PyResult<String> {
        let record = call::fallible(py, || {
            let result = result_of(&result_json.0)?;
            let over = || Error::new(Code::ExecutionInput, "the refresh is over").with_reason("closed");
            self.taken().ok_or_else(over)?.record(result)
        })?;
        Ok(text_of(&record))
    }

    /// Ends it without a result: the account stays without authority, and its check is due. Whether it was under way.
    fn give_up(&self, py: Python<'_>) -> PyResult<bool> {
        call::infallible(py, || self.taken().is_some())
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
        self.give_up(py).map(drop)
    }
}

impl Refresh {
    fn taken(&self) -> Option<CoreRefresh> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

pub(super) fn scope_of(provider: Given<String>, account: Given<String>) -> HealthScope {
    HealthScope::new(provider.0, account.0)
}

fn result_of(json: &str) -> Result<ProbeResult> {
    ProbeResult::from_value(&Value::Object(object_of(json, "result")?))
}

fn text_of(record: &HealthRecord) -> String {
    record.to_value().to_json()
}
