//! Idempotent creates: a create that has finished, and what to do when its resource is gone.

use super::begun::{begun, deadline, gallivant_idempotency_begun, gallivant_idempotency_claim};
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Out, borrow};
use crate::options::OutSized;
use crate::view::{gallivant_bytes, gallivant_str};

/// The id of the thing that was made, valid until the claim is freed; no string where `claim` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_claim_resource(
    claim: *const gallivant_idempotency_claim,
) -> gallivant_str {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { claim.as_ref() }.map_or(gallivant_str::NONE, |claim| *claim.resource.get()))
}

/// The answer that the first create's caller got, byte for byte, valid until the claim is freed; no bytes where the thing
/// was only found afterwards and no answer was saved, and where `claim` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_claim_answer(
    claim: *const gallivant_idempotency_claim,
) -> gallivant_bytes {
    // SAFETY: null or a handle, by the conventions.
    answer(|| gallivant_bytes::new(unsafe { claim.as_ref() }.and_then(|claim| claim.claim.answer())))
}

/// When the create finished, in ms since 1970; 0 where `claim` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_claim_completed_ms(
    claim: *const gallivant_idempotency_claim,
) -> u64 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { claim.as_ref() }.map_or(0, |claim| claim.claim.completed_ms()))
}

/// Whether the claim still stands as it was read: 1 if so, 0 if not. A resource that was not found is gone only if the claim
/// still stands after the look. Writes nothing.
///
/// Errors: those of the store.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_claim_still_stands(
    claim: *const gallivant_idempotency_claim,
    stands: *mut i32,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let claim = borrow(claim, "claim")?;
            let out = Out::new(stands, "stands")?;
            out.set(i32::from(claim.claim.still_stands()?));
            Ok(())
        })
    }
}

/// Says that the resource is proved to be gone: the key names nothing any more, and exactly one of all who say so gets
/// `GALLIVANT_BEGIN_CREATE`; the others wait for it. A claim that has been replaced meanwhile answers what replaced it. Once
/// this has returned, the new reservation is durable. A read of the resource that failed or was denied proves nothing.
///
/// Errors: as `gallivant_idempotency_store_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_claim_recreate(
    claim: *const gallivant_idempotency_claim,
    deadline_ms: u64,
    begun: *mut gallivant_idempotency_begun,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let claim = borrow(claim, "claim")?;
            let out = OutSized::new(begun, "begun")?;
            out.set(self::begun(claim.claim.recreate_within(deadline(deadline_ms))?));
            Ok(())
        })
    }
}

/// Frees the claim, which leaves it as it is on disk, and ends its strings and bytes. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_claim_free(claim: *mut gallivant_idempotency_claim) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(claim) });
}
