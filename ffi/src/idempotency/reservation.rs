//! Idempotent creates: the right to make the thing, and how it ends.
//!
//! `deadline_ms` says how long a call waits for another process's transaction, in ms; `GALLIVANT_DEFAULT` for the store's
//! option.

use std::ffi::{c_char, c_void};

use gallivant_core::Result;
use gallivant_core::idempotency::Reservation;

use super::begun::{deadline, gallivant_idempotency_reservation};
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, array, borrow};
use crate::view::gallivant_str;

/// Says what was made, by an id that is not empty, and how it was answered, in any bytes; `answer` may be NULL where its
/// length is 0. Once this has returned, both are durable, and every repeat gets them.
///
/// Errors: `GALLIVANT_IDEMPOTENCY_CLAIM_LOST` when somebody else has taken the key over: nothing is changed, and
/// `gallivant_error_resource` names what the winner made, once it has completed, so that the loser can undo its own.
/// `_ANSWER_TOO_LARGE`, `_INPUT` with reason `resource`, `_BUSY`, `_STORE_UNAVAILABLE` and what else the store answers:
/// the reservation is still held, and the call may be repeated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_reservation_complete(
    reservation: *mut gallivant_idempotency_reservation,
    resource: *const c_char,
    resource_length: usize,
    answer: *const c_void,
    answer_length: usize,
    deadline_ms: u64,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let resource = gallivant_str::new(resource, resource_length).text("resource")?;
            let answer = array(answer.cast::<u8>(), answer_length, "answer")?;
            held(reservation, |held| held.complete_within(resource, answer, deadline(deadline_ms)))
        })
    }
}

/// Says that nothing outside exists: the next create with this key, and any body, may make the thing. Once this has
/// returned, that is durable. It also ends a reservation whose effect was marked.
///
/// Errors: `GALLIVANT_IDEMPOTENCY_CLAIM_LOST` when somebody else has taken the key over, and nothing is changed; what the
/// store answers: it is still held.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_reservation_release(
    reservation: *mut gallivant_idempotency_reservation,
    deadline_ms: u64,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || held(reservation, |held| held.release_within(deadline(deadline_ms)))) }
}

/// Says that an effect which a retry could double may happen from now on. Once this has returned, that is durable: no
/// freeing, crash or takeover releases the key any more, until it is completed, released or settled. It counts as
/// `gallivant_idempotency_reservation_keep_alive`.
///
/// Errors: `GALLIVANT_IDEMPOTENCY_CLAIM_LOST`; what the store answers. After any of them the effect must not be started.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_reservation_effect_starting(
    reservation: *mut gallivant_idempotency_reservation,
    deadline_ms: u64,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || held(reservation, |held| held.effect_starting_within(deadline(deadline_ms)))) }
}

/// Says that its owner is still at work, so that nobody who cannot prove it takes the key over for another two minutes.
/// Once this has returned, that is durable.
///
/// Errors: `GALLIVANT_IDEMPOTENCY_CLAIM_LOST`; what the store answers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_reservation_keep_alive(
    reservation: *mut gallivant_idempotency_reservation,
    deadline_ms: u64,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || held(reservation, |held| held.keep_alive_within(deadline(deadline_ms)))) }
}

/// Frees the reservation. Where it was neither completed nor released, it is released, waiting for the store for at most a
/// second; after a marked effect its outcome is unknown instead, for whoever asks next. A release that fails is left to
/// the end of this process. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_reservation_free(
    reservation: *mut gallivant_idempotency_reservation,
) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(reservation) });
}

/// Does something with a reservation that no other call is using.
///
/// # Safety
/// `reservation` is null or a handle of this library.
unsafe fn held(
    reservation: *mut gallivant_idempotency_reservation,
    act: impl FnOnce(&mut Reservation) -> Result<()>,
) -> Result<()> {
    // SAFETY: the same contract.
    let handle = unsafe { borrow(reservation, "reservation") }?;
    let mut held = handle.reservation.take("gallivant_idempotency_reservation")?;
    act(&mut held)
}
