//! Dispatches that were refused by health, once more after the refresh that was scheduled already.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gallivant_core::execution::{DispatchLane, Dispatched};

use super::abort_token::{gallivant_execution_abort_token, token_or_none};
use super::health::gallivant_execution_health_store;
use super::lanes::{Shared, gallivant_execution_task};
use super::scope::{gallivant_execution_scope, scopes_of};
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, borrow, give, null_pointer};
use crate::options::timeout;
use crate::view::gallivant_optional_u64;

/// Dispatches, numbered from 0, and the refreshes that they wait for. It begins no refresh and starts nothing.
///
/// Threads: any number at once. Free it with `gallivant_execution_dispatch_lane_free`.
#[derive(Debug)]
pub struct gallivant_execution_dispatch_lane {
    lane: Mutex<DispatchLane>,
}

impl Handle for gallivant_execution_dispatch_lane {}

impl gallivant_execution_dispatch_lane {
    fn lane(&self) -> MutexGuard<'_, DispatchLane> {
        self.lane.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Joins, for each dispatch, the refresh that is scheduled now for its account; `scopes` has the account of each. Those without one stay
/// refused. At most `concurrency` retries run at one time: from 1 to 64.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `limits`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_dispatch_lane_new(
    store: *const gallivant_execution_health_store,
    scopes: *const gallivant_execution_scope,
    count: usize,
    concurrency: u64,
    lane: *mut *mut gallivant_execution_dispatch_lane,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let store = borrow(store, "store")?.store();
            let scopes = scopes_of(scopes, count)?;
            let out = Out::new(lane, "lane")?;
            let lane = Mutex::new(DispatchLane::new(store, &scopes, concurrency)?);
            out.set(give(gallivant_execution_dispatch_lane { lane }));
            Ok(())
        })
    }
}

/// The dispatch that is to be retried now: the first of those whose refresh is over and has left its account with authority, as far as a
/// slot is free. Absent where there is nothing to start now; `gallivant_execution_dispatch_lane_is_waiting` says whether there may be
/// later. The retry is the program's own dispatch with all its checks. Each is told once. Reads records.
///
/// Errors: none but those of NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_dispatch_lane_retry_next(
    lane: *const gallivant_execution_dispatch_lane,
    dispatch: *mut gallivant_optional_u64,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(lane, "lane")?;
            let out = Out::new(dispatch, "dispatch")?;
            out.set(handle.lane().retry_next().map(|dispatch| dispatch as u64).into());
            Ok(())
        })
    }
}

/// A retry has ended, well or not.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` for a dispatch that does not run. Nothing has changed then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_dispatch_lane_end(
    lane: *const gallivant_execution_dispatch_lane,
    dispatch: usize,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || borrow(lane, "lane")?.lane().end(dispatch)) }
}

/// 1 where a dispatch waits for its refresh or for a slot, else 0, and where `lane` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_dispatch_lane_is_waiting(
    lane: *const gallivant_execution_dispatch_lane,
) -> i32 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| i32::from(unsafe { lane.as_ref() }.is_some_and(|lane| lane.lane().is_waiting())))
}

/// Waits no longer: the dispatches whose refresh is still under way stay refused. Does nothing where `lane` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_dispatch_lane_give_up(
    lane: *const gallivant_execution_dispatch_lane,
) {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        if let Some(lane) = unsafe { lane.as_ref() } {
            lane.lane().give_up();
        }
    });
}

/// Frees the lane. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_dispatch_lane_free(
    lane: *mut gallivant_execution_dispatch_lane,
) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(lane) });
}

/// Retries each dispatch once after the refresh that is scheduled for its account, at most `concurrency` at a time (1 to 64). Returns when
/// all have ended, and waits for refreshes no longer than so many ms (`GALLIVANT_FOREVER` for without end), or until the token fires,
/// which may be NULL. `retry` is called on the calling thread and on others beside it, with the number of the dispatch; what it comes
/// to, it leaves behind `user_data`, which may be NULL.
///
/// `is_retried` has room for a number for each dispatch: 1 where it was retried, 0 where it stays refused and as it was.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `limits`; nothing has run then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_dispatch_lane_run(
    store: *const gallivant_execution_health_store,
    scopes: *const gallivant_execution_scope,
    count: usize,
    concurrency: u64,
    timeout_ms: u64,
    token: *const gallivant_execution_abort_token,
    retry: gallivant_execution_task,
    user_data: *mut c_void,
    is_retried: *mut i32,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let store = borrow(store, "store")?.store();
            let dispatches: Vec<_> = scopes_of(scopes, count)?.into_iter().zip(0_u64..).collect();
            let retry = Shared(retry.ok_or_else(|| null_pointer("retry"))?, user_data);
            let out = Out::new(is_retried, "is_retried")?;
            let wait = timeout(timeout_ms).unwrap_or(Duration::MAX);
            let token = token_or_none(token);
            let ends = DispatchLane::run(store, &dispatches, concurrency, wait, &token, |number| {
                retry.run(*number);
            })?;
            let told: Vec<i32> =
                ends.iter().map(|end| i32::from(!matches!(end, Dispatched::Refused))).collect();
            out.fill(&told);
            Ok(())
        })
    }
}
