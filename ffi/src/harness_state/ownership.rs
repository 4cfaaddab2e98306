//! Harness state: doing something only while the session owns the seat.
//!
//! Both forms hold the record's lock. Keep it for as short a time as possible: every other writer of the agent waits, and
//! hooks wait only 250 ms.

use std::ffi::c_void;

use gallivant_core::harness_state::OwnershipGuard;

use super::writer::gallivant_harness_state_writer;
use crate::barrier::{answer, call, outside};
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, borrow, give, null_pointer};

/// Holds the record's lock while the session owns the seat: no claim and no write lands until it is freed.
///
/// Threads: any number at once. Free it with `gallivant_harness_state_ownership_free`, from any thread. In a forked child it
/// holds nothing.
#[derive(Debug)]
pub struct gallivant_harness_state_ownership {
    guard: OwnershipGuard,
}

impl Handle for gallivant_harness_state_ownership {}

/// What is done under the lock. It must not write through any writer of the same agent, which would wait for the lock that
/// this thread holds.
pub type gallivant_harness_state_action = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// Runs `action` under the lock while schema, token and sequence of the record are this session's, and sets `ran` to 1;
/// where they are not, does not run it and sets `ran` to 0. `user_data` is handed to the action and may be NULL.
///
/// Errors: `GALLIVANT_HARNESS_STATE_BUSY`, `_LOCKING`, `_IO`; the action has not run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_writer_with_current_ownership(
    writer: *mut gallivant_harness_state_writer,
    action: gallivant_harness_state_action,
    user_data: *mut c_void,
    ran: *mut i32,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let writer = borrow(writer, "writer")?.writer();
            let action = action.ok_or_else(|| null_pointer("action"))?;
            let out = Out::new(ran, "ran")?;
            let result = writer.with_current_ownership(|| outside(|| action(user_data)))?;
            out.set(i32::from(result.is_some()));
            Ok(())
        })
    }
}

/// Takes the lock while schema, token and sequence of the record are this session's; where they are not, `ownership`
/// becomes NULL, with success.
///
/// Errors: `GALLIVANT_HARNESS_STATE_BUSY`, `_LOCKING`, `_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_writer_lock_current_ownership(
    writer: *mut gallivant_harness_state_writer,
    ownership: *mut *mut gallivant_harness_state_ownership,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let writer = borrow(writer, "writer")?.writer();
            let out = Out::new(ownership, "ownership")?;
            let guard = writer.lock_current_ownership()?;
            out.set(
                guard.map_or(std::ptr::null_mut(), |guard| give(gallivant_harness_state_ownership { guard })),
            );
            Ok(())
        })
    }
}

/// The sequence that was found to be the session's.
///
/// Errors: `GALLIVANT_HARNESS_STATE_INPUT` with reason `forked` when it came through a fork: it holds nothing here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_ownership_sequence(
    ownership: *const gallivant_harness_state_ownership,
    sequence: *mut u64,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let guard = &borrow(ownership, "ownership")?.guard;
            Out::new(sequence, "sequence")?.set(guard.sequence()?);
            Ok(())
        })
    }
}

/// Releases the lock. NULL is allowed. In a forked child it does nothing to the parent's lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_ownership_free(
    ownership: *mut gallivant_harness_state_ownership,
) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(ownership) });
}
