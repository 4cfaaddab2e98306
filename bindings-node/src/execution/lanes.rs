//! Lanes for JavaScript: which task may start now. They start nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gallivant_core::execution::{DispatchLane, HealthScope, Lane};
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use super::health::{NativeHealthStore, ScopeParts};
use crate::answer::Answer;
use crate::job::{Promised, promise};
use crate::options::unsigned;
use crate::waiting::{NativeWait, Patience};

/// A lane over tasks that are numbered from 0.
#[napi]
#[derive(Debug)]
pub struct NativeLane {
    lane: Lane,
}

#[napi]
impl NativeLane {
    /// A lane over so many tasks.
    #[napi(catch_unwind)]
    pub fn open(tasks: u32, concurrency: BigInt) -> Answer<NativeLane> {
        Answer::of(|| {
            Ok(NativeLane { lane: Lane::new(tasks as usize, unsigned("concurrency", &concurrency)?)? })
        })
    }

    /// The task that starts now, or null.
    #[napi(catch_unwind)]
    pub fn start_next(&mut self) -> Option<u32> {
        self.lane.start_next().and_then(|task| u32::try_from(task).ok())
    }

    /// A task has ended.
    #[napi(catch_unwind)]
    pub fn end(&mut self, task: u32) -> Answer<bool> {
        Answer::of(|| self.lane.end(task as usize).map(|()| true))
    }
}

/// Dispatches that wait for probes, numbered from 0.
#[napi]
#[derive(Debug)]
pub struct NativeDispatchLane {
    lane: Arc<Mutex<DispatchLane>>,
}

impl NativeDispatchLane {
    fn lane(&self) -> MutexGuard<'_, DispatchLane> {
        self.lane.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[napi]
impl NativeDispatchLane {
    /// Joins the probes that are scheduled now for the accounts of the dispatches.
    #[napi(catch_unwind)]
    pub fn open(
        store: &NativeHealthStore,
        scopes: Vec<ScopeParts>,
        concurrency: BigInt,
    ) -> Answer<NativeDispatchLane> {
        Answer::of(|| {
            let scopes: Vec<HealthScope> = scopes.into_iter().map(HealthScope::from).collect();
            let lane = DispatchLane::new(&store.store, &scopes, unsigned("concurrency", &concurrency)?)?;
            Ok(NativeDispatchLane { lane: Arc::new(Mutex::new(lane)) })
        })
    }

    /// The dispatch that is to be retried now, or null. It reads records.
    #[napi(catch_unwind)]
    pub fn retry_next_async(&self, wait: &NativeWait) -> Promised<Option<u32>> {
        let lane = Arc::clone(&self.lane);
        promise(wait, Patience::Unlimited, move || {
            let next = lane.lock().unwrap_or_else(PoisonError::into_inner).retry_next();
            Ok(next.and_then(|dispatch| u32::try_from(dispatch).ok()))
        })
    }

    /// A retry has ended.
    #[napi(catch_unwind)]
    pub fn end(&self, dispatch: u32) -> Answer<bool> {
        Answer::of(|| self.lane().end(dispatch as usize).map(|()| true))
    }

    /// Whether a dispatch waits for its probe, or for a slot.
    #[napi(catch_unwind)]
    pub fn is_waiting(&self) -> bool {
        self.lane().is_waiting()
    }

    /// Waits for probes no longer.
    #[napi(catch_unwind)]
    pub fn give_up(&self) {
        self.lane().give_up();
    }
}
