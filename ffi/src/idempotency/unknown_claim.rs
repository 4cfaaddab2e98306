//! Idempotent creates: a create of which nobody knows whether it made its thing, and how that is settled.

use std::ffi::c_char;

use gallivant_core::Result;

use super::begun::{begun, deadline, gallivant_idempotency_begun, gallivant_idempotency_unknown_claim};
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, borrow};
use crate::options::OutSized;
use crate::view::gallivant_str;

/// Says that the thing exists, by an id that is not empty: the answer is `GALLIVANT_BEGIN_REPLAY` without a saved answer. Once
/// this has returned, that is durable, and the former owner has lost. A claim that is not unknown any more answers what it
/// is now.
///
/// Errors: as `gallivant_idempotency_store_begin`; `GALLIVANT_IDEMPOTENCY_INPUT` with reason `resource` for an empty id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_unknown_claim_settle_found(
    claim: *const gallivant_idempotency_unknown_claim,
    resource: *const c_char,
    resource_length: usize,
    deadline_ms: u64,
    begun: *mut gallivant_idempotency_begun,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let resource = gallivant_str::new(resource, resource_length).text("resource")?;
            settle(claim, Some(resource), deadline_ms, begun)
        })
    }
}

/// Says that the thing is proved not to exist: the answer is `GALLIVANT_BEGIN_CREATE`, unmarked. Once this has returned, that
/// is durable, and the former owner has lost. A claim that is not unknown any more answers what it is now.
///
/// Errors: as `gallivant_idempotency_store_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_unknown_claim_settle_absent(
    claim: *const gallivant_idempotency_unknown_claim,
    deadline_ms: u64,
    begun: *mut gallivant_idempotency_begun,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || settle(claim, None, deadline_ms, begun)) }
}

/// Frees the claim, which leaves it unknown. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_unknown_claim_free(
    claim: *mut gallivant_idempotency_unknown_claim,
) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(claim) });
}

/// # Safety
/// The pointers are as the conventions say.
unsafe fn settle(
    claim: *const gallivant_idempotency_unknown_claim,
    found: Option<&str>,
    deadline_ms: u64,
    begun: *mut gallivant_idempotency_begun,
) -> Result<()> {
    // SAFETY: the same contract.
    let (claim, out) = unsafe { (borrow(claim, "claim")?, OutSized::new(begun, "begun")?) };
    out.set(self::begun(claim.claim.settle_within(found, deadline(deadline_ms))?));
    Ok(())
}
