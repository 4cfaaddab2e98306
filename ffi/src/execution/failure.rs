//! How a method of a transport fails.

use std::ffi::c_char;

use gallivant_core::execution::contract::ErrorKind;
use gallivant_core::execution::{TransportError, collection_validation_error, dispatch_not_sent_error};
use gallivant_core::{Error, Result};

use super::words::{
    FAILURES, GALLIVANT_FAILURE_COLLECTION_VALIDATION, GALLIVANT_FAILURE_IO, GALLIVANT_FAILURE_NOT_SENT,
};
use crate::barrier::call;
use crate::error::gallivant_error;
use crate::options::{self, OutSized, sized};
use crate::view::{gallivant_optional_u64, gallivant_str};

/// What a method has failed with. The message is redacted before it is saved, logged or returned.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_execution_failure {
    /// Set by `GALLIVANT_EXECUTION_FAILURE_INIT`.
    pub struct_size: usize,
    /// One of the GALLIVANT_FAILURE constants; 0 counts as `GALLIVANT_FAILURE_IO`.
    pub kind: i32,
    /// The transport's words; no string for none.
    pub message: gallivant_str,
    /// The transport's own code, or the reason of a faulty artifact; no string or an empty one for none.
    pub code: gallivant_str,
    /// After how many milliseconds the provider wants to be asked again.
    pub retry_after_ms: gallivant_optional_u64,
}
sized!(gallivant_execution_failure);

// C: #define GALLIVANT_EXECUTION_FAILURE_INIT \
// C:     { sizeof(gallivant_execution_failure), 0, { NULL, 0 }, { NULL, 0 }, { 0, 0 } }

/// Makes the failure of a submit or a continue that was refused before anything was sent. That is honest only before the
/// transport has saved anything of its own for the operation and before its first request to the provider, set-up requests
/// included. The strings stay the caller's and are read when the failure is fed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_dispatch_not_sent_error(
    code: *const c_char,
    code_length: usize,
    message: *const c_char,
    message_length: usize,
    failure: *mut gallivant_execution_failure,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let texts = [gallivant_str::new(code, code_length), gallivant_str::new(message, message_length)];
            set(GALLIVANT_FAILURE_NOT_SENT, texts, OutSized::new(failure, "failure")?)
        })
    }
}

/// Makes the failure of a collect whose downloaded artifact is faulty and will be so each time; `reason` says how. The strings
/// stay the caller's and are read when the failure is fed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_collection_validation_error(
    reason: *const c_char,
    reason_length: usize,
    message: *const c_char,
    message_length: usize,
    failure: *mut gallivant_execution_failure,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let texts =
                [gallivant_str::new(reason, reason_length), gallivant_str::new(message, message_length)];
            set(GALLIVANT_FAILURE_COLLECTION_VALIDATION, texts, OutSized::new(failure, "failure")?)
        })
    }
}

/// # Safety
/// The strings are as the conventions say.
unsafe fn set(
    kind: i32,
    [code, message]: [gallivant_str; 2],
    out: OutSized<gallivant_execution_failure>,
) -> Result<()> {
    // SAFETY: the same contract.
    unsafe { (code.text("code")?, message.text("message")?) };
    out.set(gallivant_execution_failure {
        struct_size: 0,
        kind,
        message,
        code,
        retry_after_ms: gallivant_optional_u64::default(),
    });
    Ok(())
}

/// The failure that a caller tells.
///
/// # Errors
/// `GALLIVANT_INPUT` for a struct, a constant or a string that cannot be used.
///
/// # Safety
/// As [`options::input`], and its strings are as the conventions say.
pub(super) unsafe fn told(failure: *const gallivant_execution_failure) -> Result<TransportError> {
    // SAFETY: the same contract.
    let (failure, message, code) = unsafe {
        let failure = options::input(failure, "failure")?;
        let message = failure.message.optional("message")?.unwrap_or_default();
        (failure, message, failure.code.optional("code")?.unwrap_or_default())
    };
    let kind = if failure.kind == 0 { GALLIVANT_FAILURE_IO } else { failure.kind };
    let told = match FAILURES.input(kind)? {
        ErrorKind::NotSent => dispatch_not_sent_error(code, message),
        ErrorKind::CollectionValidation => collection_validation_error(code, message),
        kind => TransportError::of(kind, message).with_code(code),
    };
    Ok::<_, Error>(TransportError { retry_after_ms: failure.retry_after_ms.get(), ..told })
}
