//! Abort tokens: how a caller ends its own waits, from another thread.

use gallivant_core::execution::AbortToken;

use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, borrow, give};

/// Ends the waits of the calls that it was given to: for the task's lock, and for a method of the transport. It fires once and
/// for good.
///
/// Threads: any number at once. Free it with `gallivant_execution_abort_token_free`.
#[derive(Debug)]
pub struct gallivant_execution_abort_token {
    token: AbortToken,
}

impl Handle for gallivant_execution_abort_token {}

/// Makes a token that has not fired.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_abort_token_new(
    token: *mut *mut gallivant_execution_abort_token,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let out = Out::new(token, "token")?;
            out.set(give(gallivant_execution_abort_token { token: AbortToken::new() }));
            Ok(())
        })
    }
}

/// Fires. May be called at any time and more than once. Does nothing where `token` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_abort_token_abort(
    token: *const gallivant_execution_abort_token,
) {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        if let Some(token) = unsafe { token.as_ref() } {
            token.token.abort();
        }
    });
}

/// 1 where it has fired, else 0; 0 where `token` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_abort_token_is_aborted(
    token: *const gallivant_execution_abort_token,
) -> i32 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| i32::from(unsafe { borrow(token, "token") }.is_ok_and(|token| token.token.is_aborted())))
}

/// Frees the token. NULL is allowed. Calls that have it go on, and nothing ends their waits any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_abort_token_free(token: *mut gallivant_execution_abort_token) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(token) });
}

/// The token of an argument that may be null.
///
/// # Safety
/// `token` is null or a handle of this library.
pub(crate) unsafe fn token_or_none(token: *const gallivant_execution_abort_token) -> AbortToken {
    // SAFETY: the same contract.
    unsafe { token.as_ref() }.map_or_else(AbortToken::new, |token| token.token.clone())
}
