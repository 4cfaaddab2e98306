//! Idempotent creates: the fingerprint of a body that comes in parts.

use std::ffi::c_void;

use gallivant_core::idempotency::{Fingerprint, FingerprintBuilder};

use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Exclusive, Handle, Out, array, borrow, give};

/// How long a fingerprint is, in bytes.
pub const GALLIVANT_IDEMPOTENCY_FINGERPRINT_BYTES: usize = 32;

/// The fingerprint of a body that is too large for memory, in the making: SHA-256 over exactly the bytes that were
/// received. How they are cut makes no difference. There is no canonical form: `{"a":1}` and `{ "a": 1 }` are two bodies,
/// so whoever retries resends the bytes that were sent first.
///
/// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise. Free it with `gallivant_idempotency_fingerprint_free`.
#[derive(Debug)]
pub struct gallivant_idempotency_fingerprint {
    builder: Exclusive<FingerprintBuilder>,
}

impl Handle for gallivant_idempotency_fingerprint {}

const NAME: &str = "gallivant_idempotency_fingerprint";

/// Begins a fingerprint, of the empty body so far.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_fingerprint_new(
    fingerprint: *mut *mut gallivant_idempotency_fingerprint,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let out = Out::new(fingerprint, "fingerprint")?;
            let builder = Exclusive::new(Fingerprint::builder());
            out.set(give(gallivant_idempotency_fingerprint { builder }));
            Ok(())
        })
    }
}

/// Adds the next bytes of the body. `part` may be NULL where `length` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_fingerprint_update(
    fingerprint: *mut gallivant_idempotency_fingerprint,
    part: *const c_void,
    length: usize,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let fingerprint = borrow(fingerprint, "fingerprint")?;
            let part = array(part.cast::<u8>(), length, "part")?;
            fingerprint.builder.take(NAME)?.update(part);
            Ok(())
        })
    }
}

/// Writes the fingerprint of everything that was added so far into `bytes`, which has room for
/// `GALLIVANT_IDEMPOTENCY_FINGERPRINT_BYTES`. More may be added afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_fingerprint_bytes(
    fingerprint: *const gallivant_idempotency_fingerprint,
    bytes: *mut u8,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let fingerprint = borrow(fingerprint, "fingerprint")?;
            let out = Out::new(bytes.cast::<[u8; GALLIVANT_IDEMPOTENCY_FINGERPRINT_BYTES]>(), "bytes")?;
            let builder = fingerprint.builder.take(NAME)?.clone();
            out.set(*builder.finish().as_bytes());
            Ok(())
        })
    }
}

/// Frees the fingerprint. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_fingerprint_free(
    fingerprint: *mut gallivant_idempotency_fingerprint,
) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(fingerprint) });
}
