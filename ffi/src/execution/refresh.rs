//! The refresh of an account's health: what a check has shown, and who has begun one.

use std::sync::{Mutex, PoisonError};

use gallivant_core::execution::{HealthRecord, ProbeResult, Refresh};
use gallivant_core::json::{Object, Value};
use gallivant_core::{Code, Error, Result};

use super::scope::{HeldScope, gallivant_execution_scope};
use crate::barrier::{answer, call};
use crate::buffer::gallivant_text;
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, borrow, give};
use crate::options::{self, sized};
use crate::view::{gallivant_optional_u64, gallivant_str};

/// What a check of an account has shown.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_execution_probe_result {
    /// Set by `GALLIVANT_EXECUTION_PROBE_RESULT_INIT`.
    pub struct_size: usize,
    /// Not 0 where the account can be worked with.
    pub ok: i32,
    /// Of a failure, what failed, as a word; not empty.
    pub code: gallivant_str,
    /// Of a failure, what to do about it, in one sentence: the remedy of every dispatch that it refuses; not empty.
    pub remedy: gallivant_str,
    /// What the check has seen, as JSON text; no string for nothing. Nothing is decided by it.
    pub evidence_json: gallivant_str,
    /// Of a failure, after how many milliseconds the provider wants to be asked again.
    pub retry_after_ms: gallivant_optional_u64,
}
sized!(gallivant_execution_probe_result);

// C: #define GALLIVANT_EXECUTION_PROBE_RESULT_INIT \
// C:     { sizeof(gallivant_execution_probe_result), 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { 0, 0 } }

/// A refresh that was scheduled: whoever has it runs the check, and records what it has shown.
///
/// Threads: any number at once. Free it with `gallivant_execution_refresh_free`, which gives it up where nothing was recorded.
#[derive(Debug)]
pub struct gallivant_execution_refresh {
    /// None once it is over.
    slot: Mutex<Option<Refresh>>,
    scope: HeldScope,
}

impl Handle for gallivant_execution_refresh {}

impl gallivant_execution_refresh {
    pub(super) fn new(refresh: Refresh) -> Self {
        let scope = HeldScope::new(refresh.scope());
        gallivant_execution_refresh { slot: Mutex::new(Some(refresh)), scope }
    }
}

/// Whose health is to be checked. Its names are valid until `refresh` is freed.
///
/// Errors: none but those of NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_refresh_scope(
    refresh: *const gallivant_execution_refresh,
    scope: *mut gallivant_execution_scope,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(refresh, "refresh")?;
            Out::new(scope, "scope")?.set(handle.scope.view());
            Ok(())
        })
    }
}

/// Saves what the check has shown and ends the refresh, as `gallivant_execution_health_store_record`. Those who wait for the refresh
/// go on after the record is on disk.
///
/// Errors: as that; `GALLIVANT_EXECUTION_INPUT` with reason `closed` where the refresh is over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_refresh_record(
    refresh: *const gallivant_execution_refresh,
    result: *const gallivant_execution_probe_result,
    record_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(refresh, "refresh")?;
            let result = shown(result)?;
            let taken = handle.slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            let over = || Error::new(Code::ExecutionInput, "the refresh is over").with_reason("closed");
            let record = taken.ok_or_else(over)?.record(result)?;
            tell(record_json, &record);
            Ok(())
        })
    }
}

/// Frees the refresh. NULL is allowed. Where nothing was recorded it is given up: the account stays without authority, and its check
/// is due.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_refresh_free(refresh: *mut gallivant_execution_refresh) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(refresh) });
}

/// What a caller says that a check has shown, in the form that the core judges.
///
/// # Safety
/// As [`options::input`], and its strings are as the conventions say.
pub(super) unsafe fn shown(pointer: *const gallivant_execution_probe_result) -> Result<ProbeResult> {
    // SAFETY: the same contract.
    let (given, code, remedy, evidence) = unsafe {
        let given = options::input(pointer, "result")?;
        (
            given,
            given.code.optional("code")?,
            given.remedy.optional("remedy")?,
            given.evidence_json.optional("evidence_json")?,
        )
    };
    let malformed = |_| {
        let message = "a text is no JSON, argument=`evidence_json`";
        Error::new(Code::ExecutionInput, message).with_reason("shape")
    };
    let members: [(&str, Value); 5] = [
        ("ok", (given.ok != 0).into()),
        ("code", code.map(str::to_owned).into()),
        ("remedy", remedy.map(str::to_owned).into()),
        ("evidence", evidence.map_or(Ok(Value::Null), Value::parse).map_err(malformed)?),
        ("retryAfterMs", given.retry_after_ms.get().map_or(Value::Null, Value::from)),
    ];
    ProbeResult::from_value(&Value::Object(members.into_iter().collect::<Object>()))
}

/// A record, given to the host.
pub(super) fn text_of(record: &HealthRecord) -> *mut gallivant_text {
    give(gallivant_text::new(&record.to_value().to_json()))
}

/// Gives a record to a place that may be null.
///
/// # Safety
/// `place` is null or may be written to.
pub(super) unsafe fn tell(place: *mut *mut gallivant_text, record: &HealthRecord) {
    // SAFETY: the same contract.
    if let Some(place) = unsafe { place.as_mut() } {
        *place = text_of(record);
    }
}
