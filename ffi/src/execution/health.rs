//! The health of providers' accounts on disk: who may be dispatched to, whose check is due, and who waits for one.
//!
//! Nothing here checks an account: the program does, and says what the check has shown. What authorises a dispatch is the files
//! alone, for every process; that a refresh is under way is known in the process that began it.

use std::ffi::{c_char, c_void};
use std::time::Duration;

use gallivant_core::execution::{HealthOptions, HealthStore, Limits};
use gallivant_core::redaction::Secrets;
use gallivant_core::{Host, Result};

use super::abort_token::{gallivant_execution_abort_token, token_or_none};
use super::object;
use super::points::{faults_of, gallivant_execution_point, jitter_of};
use super::refresh::{gallivant_execution_probe_result, gallivant_execution_refresh, shown, tell, text_of};
use super::scope::{
    HeldScope, gallivant_execution_due_scopes, gallivant_execution_scope, scope_of, scopes_of,
};
use super::words::JOINED;
use crate::barrier::{answer, call};
use crate::buffer::gallivant_text;
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, array, borrow, give};
use crate::host::{gallivant_host, host_or_system};
use crate::options::{self, sized, timeout};
use crate::view::gallivant_str;

/// Health records below one directory, and the refreshes that were begun through it.
///
/// Threads: any number at once. Free it with `gallivant_execution_health_store_free`, also while boundaries, lanes and refreshes
/// of it are in use. In a forked child its calls answer `GALLIVANT_EXECUTION_INPUT` with reason `forked`; open a fresh one there.
#[derive(Debug)]
pub struct gallivant_execution_health_store {
    store: HealthStore,
    host: Host,
}

impl Handle for gallivant_execution_health_store {}

impl gallivant_execution_health_store {
    pub(super) fn store(&self) -> &HealthStore {
        &self.store
    }
}

/// What a health store is made of. Wherever it is asked for, NULL stands for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_execution_health_options {
    /// Set by `GALLIVANT_EXECUTION_HEALTH_OPTIONS_INIT`.
    pub struct_size: usize,
    /// A JSON object of limits, of which `healthRefreshMs`, `progressMs`, `backoffMaxMs` and `lockWaitMs` count here; no string
    /// for the defaults.
    pub limits_json: gallivant_str,
    /// Whose health is wanted, besides those of whom there is a record: without one they are due. May be NULL where there are
    /// none.
    pub scopes: *const gallivant_execution_scope,
    /// How many scopes.
    pub scope_count: usize,
    /// Values that appear in no record; may be NULL where there are none.
    pub secrets: *const gallivant_str,
    /// How many secrets.
    pub secret_count: usize,
    /// For tests: the number from 0 to 1 that stands for chance in the delays after failures, read when the store is opened; NULL
    /// for the host's chance.
    pub jitter: *const f64,
    /// For tests: called at `persist:<name>` before each record; NULL for nobody.
    pub at_point: gallivant_execution_point,
    /// Handed to `at_point`; may be NULL. It has to live as long as the store and what was made of it.
    pub user_data: *mut c_void,
}
sized!(gallivant_execution_health_options);

// C: #define GALLIVANT_EXECUTION_HEALTH_OPTIONS_INIT \
// C:     { sizeof(gallivant_execution_health_options), { NULL, 0 }, NULL, 0, NULL, 0, NULL, NULL, NULL }

/// Makes the store of the records in the directory `root`, which is created with the first of them and is no task's root. Creates
/// no file, and reads none. `options` and `host` may be NULL.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` for a scope with an empty name, with reason `limits` for those, with reason `secret` for a
/// secret that cannot be searched for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_health_store_open(
    root: *const c_char,
    root_length: usize,
    options: *const gallivant_execution_health_options,
    host: *const gallivant_host,
    store: *mut *mut gallivant_execution_health_store,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let root = gallivant_str::new(root, root_length).text("root")?;
            let host = host_or_system(host);
            let out = Out::new(store, "store")?;
            let store = HealthStore::new(options_of(root, options)?, &host)?;
            out.set(give(gallivant_execution_health_store { store, host }));
            Ok(())
        })
    }
}

/// Wants the health of one more account: without a record it is due from now on.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` for an empty name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_health_store_want(
    store: *const gallivant_execution_health_store,
    scope: *const gallivant_execution_scope,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || borrow(store, "store")?.store.want(scope_of(scope)?)) }
}

/// Whether a dispatch to this account is authorised now: 1 by a saved success that still counts and no refresh that is under way,
/// else 0. Never checks, never writes, takes no lock.
///
/// Errors: `GALLIVANT_EXECUTION_VERSION` with reason `health` for the record of another package, `GALLIVANT_EXECUTION_HEALTH` with
/// reason `shape` for what is none, `GALLIVANT_EXECUTION_IO`; `GALLIVANT_EXECUTION_INPUT` for an empty name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_health_store_authorize(
    store: *const gallivant_execution_health_store,
    scope: *const gallivant_execution_scope,
    is_authorized: *mut i32,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let store = &borrow(store, "store")?.store;
            let scope = scope_of(scope)?;
            let out = Out::new(is_authorized, "is_authorized")?;
            out.set(i32::from(store.authorize(&scope)?));
            Ok(())
        })
    }
}

/// What is recorded of this account, as JSON text; `record_json` becomes NULL where nothing is. Never checks, never writes, takes
/// no lock.
///
/// Errors: as `gallivant_execution_health_store_authorize`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_health_store_status(
    store: *const gallivant_execution_health_store,
    scope: *const gallivant_execution_scope,
    record_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let store = &borrow(store, "store")?.store;
            let scope = scope_of(scope)?;
            let out = Out::new(record_json, "record_json")?;
            let record = store.health_status(&scope)?;
            out.set(record.as_ref().map_or(std::ptr::null_mut(), text_of));
            Ok(())
        })
    }
}

/// The accounts whose check is due now: those that have a record whose time is over, and those that are wanted and have none; without
/// those of which a refresh is under way. A record of another package's version is left to that one. Reads every record, takes no
/// lock.
///
/// Errors: `GALLIVANT_EXECUTION_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_health_store_due(
    store: *const gallivant_execution_health_store,
    due: *mut *mut gallivant_execution_due_scopes,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(store, "store")?;
            let out = Out::new(due, "due")?;
            let due = handle.store.due(handle.host.clock.wall_ms())?;
            out.set(give(gallivant_execution_due_scopes {
                scopes: due.iter().map(HeldScope::new).collect(),
            }));
            Ok(())
        })
    }
}

/// Schedules the refresh of an account, due or not; `refresh` becomes NULL where one is under way already. The account's authority
/// has ended once this has returned, on disk and in this process, and comes back with a recorded success only: so begin first, and
/// start what dispatches after that.
///
/// Errors: those of `gallivant_execution_health_store_authorize` but for a record that makes no sense; `GALLIVANT_EXECUTION_BUSY`;
/// `GALLIVANT_EXECUTION_CAPABILITY` with reason `locking`. Nothing is scheduled then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_health_store_begin(
    store: *const gallivant_execution_health_store,
    scope: *const gallivant_execution_scope,
    refresh: *mut *mut gallivant_execution_refresh,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let store = &borrow(store, "store")?.store;
            let scope = scope_of(scope)?;
            let out = Out::new(refresh, "refresh")?;
            let refresh = store.begin(&scope)?.map(gallivant_execution_refresh::new);
            out.set(refresh.map_or(std::ptr::null_mut(), give));
            Ok(())
        })
    }
}

/// Saves what a check has shown, and ends the account's refresh if one is under way. The record is on disk, file and directory, once
/// this has returned; it is what `record_json` gets, which may be NULL. Of code, remedy and evidence no secret is kept.
///
/// Errors: those of `gallivant_execution_health_store_begin`; `GALLIVANT_EXECUTION_INPUT` too for a failure without a code or a
/// remedy, for evidence that is no JSON or too long. The record is as it was then, or, with `GALLIVANT_EXECUTION_IO`, the new one; a
/// refresh has ended without a result, but where the argument was refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_health_store_record(
    store: *const gallivant_execution_health_store,
    scope: *const gallivant_execution_scope,
    result: *const gallivant_execution_probe_result,
    record_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let store = &borrow(store, "store")?.store;
            let scope = scope_of(scope)?;
            let record = store.record(&scope, shown(result)?)?;
            tell(record_json, &record);
            Ok(())
        })
    }
}

/// 1 where a refresh of this account is under way in this process, else 0, and for what is no scope.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_health_store_scheduled(
    store: *const gallivant_execution_health_store,
    scope: *const gallivant_execution_scope,
) -> i32 {
    answer(|| {
        // SAFETY: null or a handle, and null or a scope, by the conventions.
        let asked = unsafe { (store.as_ref(), scope_of(scope)) };
        i32::from(matches!(asked, (Some(handle), Ok(scope)) if handle.store.scheduled(&scope)))
    })
}

/// Waits until the refresh that is scheduled for this account is over, for at most so many ms (`GALLIVANT_FOREVER` for without end), or
/// until the token fires, which may be NULL. Starts none, and waits for none that begins later. `joined` gets one of the
/// GALLIVANT_JOINED constants.
///
/// Errors: `GALLIVANT_INPUT` for what is no scope.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_health_store_join_scheduled(
    store: *const gallivant_execution_health_store,
    scope: *const gallivant_execution_scope,
    timeout_ms: u64,
    token: *const gallivant_execution_abort_token,
    joined: *mut i32,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let store = &borrow(store, "store")?.store;
            let scope = scope_of(scope)?;
            let out = Out::new(joined, "joined")?;
            let wait = timeout(timeout_ms).unwrap_or(Duration::MAX);
            out.set(JOINED.number(store.join_scheduled(&scope, wait, &token_or_none(token))));
            Ok(())
        })
    }
}

/// Frees the store. NULL is allowed. What was made of it goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_health_store_free(store: *mut gallivant_execution_health_store) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(store) });
}

/// # Safety
/// As [`options::input`], and what the options point to is as the conventions say.
unsafe fn options_of(
    root: &str,
    pointer: *const gallivant_execution_health_options,
) -> Result<HealthOptions> {
    if pointer.is_null() {
        return Ok(HealthOptions::new(root));
    }
    // SAFETY: the same contract.
    unsafe {
        let given = options::input(pointer, "options")?;
        let limits = given.limits_json.optional("limits_json")?;
        let limits = limits.map(|json| object(json, "limits_json")).transpose()?;
        let secrets = array(given.secrets, given.secret_count, "secrets")?.iter();
        let secrets = secrets.map(|secret| secret.text("secrets")).collect::<Result<Vec<_>>>()?;
        Ok(HealthOptions {
            limits: Limits::with_overrides(limits.as_ref())?,
            scopes: scopes_of(given.scopes, given.scope_count)?,
            secrets: Secrets::strict(secrets)?,
            jitter: jitter_of(given.jitter),
            faults: faults_of(given.at_point, given.user_data),
            ..HealthOptions::new(root)
        })
    }
}
