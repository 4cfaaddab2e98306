//! The health of providers' accounts, for JavaScript.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gallivant_core::execution::{
    Faults, FixedJitter, HealthOptions, HealthRecord, HealthScope, HealthStore, Limits, NoFaults,
    ProbeResult, Refresh,
};
use gallivant_core::json::Value;
use gallivant_core::redaction::Secrets;
use gallivant_core::{Code, Error, Host, Result};
use napi::bindgen_prelude::ToNapiValue;
use napi_derive::napi;

use super::boundary::object;
use crate::answer::Answer;
use crate::error::closed;
use crate::host::NativeHost;
use crate::job::{Promised, promise};
use crate::waiting::{NativeWait, Patience, Wait};

/// An account of a provider.
#[napi(object)]
#[derive(Clone, Debug)]
pub struct ScopeParts {
    /// The provider.
    pub provider: String,
    /// The account.
    pub account: String,
}

impl From<ScopeParts> for HealthScope {
    fn from(parts: ScopeParts) -> Self {
        HealthScope::new(parts.provider, parts.account)
    }
}

/// Health records below one directory.
#[napi]
#[derive(Debug)]
pub struct NativeHealthStore {
    pub(super) store: HealthStore,
    host: Host,
    lock_wait: Duration,
}

#[napi]
impl NativeHealthStore {
    /// Makes a store. The limits are the text of a JSON object.
    #[napi(catch_unwind)]
    pub fn open(
        host: &NativeHost,
        root: String,
        limits: String,
        scopes: Vec<ScopeParts>,
        secrets: Vec<Option<String>>,
    ) -> Answer<NativeHealthStore> {
        Answer::of(|| {
            let refused = secrets.iter().position(Option::is_none).map(Secrets::not_a_string);
            refused.map_or(Ok(()), Err)?;
            let limits = Limits::with_overrides(Some(&object("limits", &limits)?))?;
            let seams = &host.seams;
            let options = HealthOptions {
                limits,
                scopes: scopes.into_iter().map(HealthScope::from).collect(),
                secrets: Secrets::strict(secrets.iter().flatten())?,
                jitter: seams.jitter.map(|jitter| Arc::new(FixedJitter(jitter)) as _),
                faults: seams.faults.clone().unwrap_or_else(|| Arc::new(NoFaults) as Arc<dyn Faults>),
                ..HealthOptions::new(root)
            };
            Ok(NativeHealthStore {
                store: HealthStore::new(options, &host.host)?,
                host: host.host.clone(),
                lock_wait: Duration::from_millis(limits.lock_wait_ms),
            })
        })
    }

    /// Begins a wait as long as a call of this store waits for its lock.
    #[napi(catch_unwind)]
    pub fn begin_wait(&self) -> Answer<NativeWait> {
        Answer::of(|| Ok(NativeWait { wait: Arc::new(Wait::begin(&self.host.clock, self.lock_wait)) }))
    }

    /// Wants the health of one more account.
    #[napi(catch_unwind)]
    pub fn want(&self, scope: ScopeParts) -> Answer<bool> {
        Answer::of(|| self.store.want(scope.into()).map(|()| true))
    }

    /// Whether a refresh of this account is under way.
    #[napi(catch_unwind)]
    pub fn scheduled(&self, scope: ScopeParts) -> bool {
        self.store.scheduled(&scope.into())
    }

    /// Whether a dispatch to this account is authorised now.
    #[napi(catch_unwind)]
    pub fn authorize_async(&self, scope: ScopeParts, wait: &NativeWait) -> Promised<bool> {
        self.promise(wait, Patience::Unlimited, move |store| store.authorize(&scope.into()))
    }

    /// What is recorded of this account, as JSON text.
    #[napi(catch_unwind)]
    pub fn status_async(&self, scope: ScopeParts, wait: &NativeWait) -> Promised<String> {
        self.promise(wait, Patience::Unlimited, move |store| {
            let record = store.health_status(&scope.into())?;
            Ok(record.as_ref().map_or(Value::Null, HealthRecord::to_value).to_json())
        })
    }

    /// The accounts whose check is due now.
    #[napi(catch_unwind)]
    pub fn due_async(&self, wait: &NativeWait) -> Promised<Vec<ScopeParts>> {
        let now = self.host.clock.wall_ms();
        self.promise(wait, Patience::Unlimited, move |store| {
            let parts = |scope: HealthScope| ScopeParts { provider: scope.provider, account: scope.account };
            Ok(store.due(now)?.into_iter().map(parts).collect())
        })
    }

    /// One try of scheduling a refresh; none where one is under way.
    #[napi(catch_unwind)]
    pub fn begin_async(&self, scope: ScopeParts, wait: &NativeWait) -> Promised<Option<NativeRefresh>> {
        self.promise(wait, Patience::Slices, move |store| {
            let refresh = store.begin(&scope.into())?;
            Ok(refresh.map(|refresh| NativeRefresh { refresh: Arc::new(Mutex::new(Some(refresh))) }))
        })
    }

    /// Saves what a check has shown, which is JSON text; the record is too. In one try, because a failed one ends the refresh.
    #[napi(catch_unwind)]
    pub fn record_async(&self, scope: ScopeParts, result: String, wait: &NativeWait) -> Promised<String> {
        self.promise(wait, Patience::OneTry, move |store| {
            Ok(store.record(&scope.into(), shown(&result)?)?.to_value().to_json())
        })
    }
}

impl NativeHealthStore {
    fn promise<T: Send + ToNapiValue + 'static>(
        &self,
        wait: &NativeWait,
        patience: Patience,
        action: impl FnOnce(&HealthStore) -> Result<T> + Send + 'static,
    ) -> Promised<T> {
        let store = self.store.clone();
        promise(wait, patience, move || action(&store).map_err(cut))
    }
}

/// A scheduled refresh. It is given up where the object is collected.
#[napi]
#[derive(Debug)]
pub struct NativeRefresh {
    refresh: Arc<Mutex<Option<Refresh>>>,
}

#[napi]
impl NativeRefresh {
    /// Saves what the check has shown, and ends the refresh.
    #[napi(catch_unwind)]
    pub fn record_async(&self, result: String, wait: &NativeWait) -> Promised<String> {
        let refresh = Arc::clone(&self.refresh);
        promise(wait, Patience::OneTry, move || {
            let result = shown(&result)?;
            let refresh = refresh.lock().unwrap_or_else(PoisonError::into_inner).take();
            let record = refresh.ok_or_else(|| closed("Refresh"))?.record(result).map_err(cut)?;
            Ok(record.to_value().to_json())
        })
    }

    /// Ends the refresh without a result. Answers whether it was under way.
    #[napi(catch_unwind)]
    pub fn give_up(&self) -> bool {
        self.refresh.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
    }
}

fn shown(result: &str) -> Result<ProbeResult> {
    ProbeResult::from_value(&Value::Object(object("result", result)?))
}

/// The wait for the lock has ended with this try, or by the caller's signal. Nothing was written then.
fn cut(error: Error) -> Error {
    match (error.code(), error.reason()) {
        (Code::ExecutionBusy, Some("aborted")) => Error::new(Code::Cancelled, "the try is over"),
        _ => error,
    }
}
