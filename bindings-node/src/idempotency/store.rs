//! A store for JavaScript.

use std::sync::Arc;
use std::time::Duration;

use gallivant_core::idempotency::{Fingerprint, IdempotencyStore};
use gallivant_core::{Host, Result};
use napi::Env;
use napi::bindgen_prelude::{BigInt, Uint8Array};
use napi_derive::napi;

use super::ear::NativeEar;
use super::parts::{
    AskParts, BeginParts, ClaimViewParts, StoreOptionParts, SweptParts, deadline, fingerprint, left,
    store_options,
};
use crate::answer::Answer;
use crate::bell::Bell;
use crate::error::ErrorParts;
use crate::host::NativeHost;
use crate::job::{Promised, promise};
use crate::options::whole_ms;
use crate::slot::Slot;
use crate::waiting::{NativeWait, Patience, Wait};

/// A store. May be used by several calls at once, until it is closed; what it has handed out goes on.
#[napi]
#[derive(Debug)]
pub struct NativeStore {
    store: Arc<Slot<IdempotencyStore>>,
    host: Host,
    busy: Duration,
}

/// The options with which nothing is set.
#[napi(catch_unwind)]
pub fn default_store_options() -> StoreOptionParts {
    let defaults = gallivant_core::idempotency::StoreOptions::default();
    StoreOptionParts {
        window_ms: Some(whole_ms(defaults.window).into()),
        max_reservation_ms: Some(whole_ms(defaults.max_reservation).into()),
        max_answer_bytes: Some((defaults.max_answer_bytes as u64).into()),
        busy_ms: Some(whole_ms(defaults.busy).into()),
    }
}

/// Begins the wait of an opening.
#[napi(catch_unwind)]
pub fn begin_open(host: &NativeHost, set: StoreOptionParts) -> Answer<NativeWait> {
    Answer::of(|| {
        let busy = store_options(&set)?.busy;
        Ok(NativeWait { wait: Arc::new(Wait::begin(&host.host.clock, busy)) })
    })
}

fn open(path: &str, set: &StoreOptionParts, host: &Host) -> Result<NativeStore> {
    let options = store_options(set)?;
    let store = IdempotencyStore::open(path, &options, host)?;
    let store = Arc::new(Slot::new("IdempotencyStore", store));
    Ok(NativeStore { store, host: host.clone(), busy: options.busy })
}

impl NativeStore {
    /// One try of a call that has no deadline in the core, so that the wait's is told by the clock.
    fn promise<T: Send + napi::bindgen_prelude::ToNapiValue + 'static>(
        &self,
        wait: &NativeWait,
        action: impl FnOnce(&IdempotencyStore) -> Result<T> + Send + 'static,
    ) -> Promised<T> {
        let store = Arc::clone(&self.store);
        promise(wait, Patience::Slices, move || action(&*store.get()?))
    }
}

#[napi]
impl NativeStore {
    /// One try of opening a store.
    #[napi(catch_unwind)]
    pub fn open_async(
        host: &NativeHost,
        path: String,
        set: StoreOptionParts,
        wait: &NativeWait,
    ) -> Promised<NativeStore> {
        let host = host.host.clone();
        promise(wait, Patience::SlicesWithin, move || open(&path, &set, &host))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn open_sync(host: &NativeHost, path: String, set: StoreOptionParts) -> Answer<NativeStore> {
        Answer::of(|| open(&path, &set, &host.host))
    }

    /// Begins a call that waits for another process's transaction for so long; left out: as the store's option says.
    #[napi(catch_unwind)]
    pub fn begin_wait(&self, deadline_ms: Option<BigInt>) -> Answer<NativeWait> {
        Answer::of(|| {
            let length = deadline(deadline_ms.as_ref())?.unwrap_or(self.busy);
            Ok(NativeWait { wait: Arc::new(Wait::begin(&self.host.clock, length)) })
        })
    }

    /// One try of asking what a key means.
    #[napi(catch_unwind)]
    pub fn begin_async(&self, ask: AskParts, body: Uint8Array, wait: &NativeWait) -> Promised<BeginParts> {
        let body = fingerprint(&body);
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&wait.wait));
        promise(wait, Patience::SlicesWithin, move || {
            Ok(ask.with(body?, left(&clock), |ask| store.get()?.ask(ask))?.into())
        })
    }

    /// The same on the calling thread, of a body or of its fingerprint. The parts come by themselves, because looking
    /// into an object costs a call for each member.
    #[napi(catch_unwind)]
    pub fn begin_sync(
        &self,
        operation: String,
        scope: Vec<String>,
        key: String,
        body: &[u8],
        is_fingerprint: bool,
        deadline_ms: Option<BigInt>,
    ) -> Answer<BeginParts> {
        Answer::of(|| {
            let deadline = deadline(deadline_ms.as_ref())?;
            let fingerprint = if is_fingerprint { fingerprint(body)? } else { Fingerprint::of(body) };
            let ask = AskParts { operation, scope, key };
            Ok(ask.with(fingerprint, deadline, |ask| self.store.get()?.ask(ask))?.into())
        })
    }

    /// What stands on disk for a name, or null.
    #[napi(catch_unwind)]
    pub fn inspect_async(&self, ask: AskParts, wait: &NativeWait) -> Promised<Option<ClaimViewParts>> {
        self.promise(wait, move |store| inspect(store, &ask))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn inspect_sync(&self, ask: AskParts) -> Answer<Option<ClaimViewParts>> {
        Answer::of(|| inspect(&*self.store.get()?, &ask))
    }

    /// One try of removing some expired claims.
    #[napi(catch_unwind)]
    pub fn sweep_async(&self, wait: &NativeWait) -> Promised<SweptParts> {
        self.promise(wait, sweep)
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn sweep_sync(&self) -> Answer<SweptParts> {
        Answer::of(|| sweep(&*self.store.get()?))
    }

    /// What a create would be refused with now, or null.
    #[napi(catch_unwind)]
    pub fn capability_async(&self, wait: &NativeWait) -> Promised<Option<ErrorParts>> {
        self.promise(wait, |store| match store.capability() {
            // The slice is over: the try is made again.
            Err(error) if error.code() == gallivant_core::Code::Cancelled => Err(error),
            checked => Ok(checked.err().map(|error| ErrorParts::from(&error))),
        })
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn capability_sync(&self) -> Answer<Option<ErrorParts>> {
        Answer::of(|| Ok(self.store.get()?.capability().err().map(|error| ErrorParts::from(&error))))
    }

    /// Looks whether the machine has slept.
    #[napi(catch_unwind)]
    pub fn notice_sleep(&self) -> Answer<bool> {
        Answer::of(|| {
            self.store.get()?.notice_sleep();
            Ok(true)
        })
    }

    /// Begins to listen for creates that end. The bell rings when it does, and for each that has.
    #[napi(catch_unwind)]
    pub fn listen(&self, env: Env, bell: Bell) -> Answer<NativeEar> {
        Answer::of(|| NativeEar::begin(&env, &*self.store.get()?, bell))
    }

    /// Lets go of the store. Answers whether it was still there.
    #[napi(catch_unwind)]
    pub fn close_async(&self, wait: &NativeWait) -> Promised<bool> {
        let store = Arc::clone(&self.store);
        promise(wait, Patience::Unlimited, move || Ok(store.close()))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn close_sync(&self) -> Answer<bool> {
        Answer::of(|| Ok(self.store.close()))
    }
}

fn inspect(store: &IdempotencyStore, ask: &AskParts) -> Result<Option<ClaimViewParts>> {
    let scope: Vec<&str> = ask.scope.iter().map(String::as_str).collect();
    Ok(store.inspect(&ask.operation, &scope, &ask.key)?.map(ClaimViewParts::from))
}

fn sweep(store: &IdempotencyStore) -> Result<SweptParts> {
    let swept = store.sweep()?;
    Ok(SweptParts { removed: swept.removed.into(), has_more: swept.has_more })
}
