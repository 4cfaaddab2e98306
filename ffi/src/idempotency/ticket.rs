//! Idempotent creates: waiting for a create that runs.

use std::time::Duration;

use super::begun::{begun, deadline, gallivant_idempotency_begun, gallivant_idempotency_ticket};
use super::changes::gallivant_idempotency_changes;
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, borrow};
use crate::options::OutSized;

/// Waits until the create ends, for at most `timeout_ms` (`GALLIVANT_FOREVER`: without end): `GALLIVANT_BEGIN_REPLAY` when it
/// finished, `GALLIVANT_BEGIN_CREATE` when it was released or its owner is gone, `GALLIVANT_BEGIN_UNKNOWN` when its owner is
/// gone after the mark. It wakes within milliseconds where the system tells of the end, and within 25 ms where not. Signals
/// do not end the wait.
///
/// Errors: `GALLIVANT_IDEMPOTENCY_IN_PROGRESS` when it still runs at the end of the time, and the ticket stays good; as
/// `gallivant_idempotency_ticket_look`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_ticket_wait(
    ticket: *const gallivant_idempotency_ticket,
    timeout_ms: u64,
    begun: *mut gallivant_idempotency_begun,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let ticket = borrow(ticket, "ticket")?;
            let out = OutSized::new(begun, "begun")?;
            out.set(self::begun(ticket.ticket.wait(Duration::from_millis(timeout_ms))?));
            Ok(())
        })
    }
}

/// Asks again, without waiting for the create: `GALLIVANT_BEGIN_IN_PROGRESS` with another ticket while it runs. For event
/// loops, when the descriptor of `gallivant_idempotency_changes` is readable or
/// `gallivant_idempotency_ticket_next_look_ms` is over.
///
/// Errors: as `gallivant_idempotency_store_begin`; `GALLIVANT_IDEMPOTENCY_KEY_REUSED` also when the first create was released and
/// the key now belongs to another body.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_ticket_look(
    ticket: *const gallivant_idempotency_ticket,
    deadline_ms: u64,
    begun: *mut gallivant_idempotency_begun,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let ticket = borrow(ticket, "ticket")?;
            let out = OutSized::new(begun, "begun")?;
            out.set(self::begun(ticket.ticket.look_within(deadline(deadline_ms))?));
            Ok(())
        })
    }
}

/// How long from now until the ticket should be looked at again at the latest, in ms: for the timeout of an event loop that
/// polls the descriptor of `changes`, or that has none, where `changes` is NULL or without a descriptor. At least 1, at most
/// 250; 0 where `ticket` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_ticket_next_look_ms(
    ticket: *const gallivant_idempotency_ticket,
    changes: *const gallivant_idempotency_changes,
) -> u64 {
    answer(|| {
        // SAFETY: both are null or handles, by the conventions.
        let (ticket, changes) = unsafe { (ticket.as_ref(), changes.as_ref()) };
        let has_notices = changes.is_some_and(gallivant_idempotency_changes::tells);
        ticket.map_or(0, |ticket| {
            u64::try_from(ticket.ticket.next_look(has_notices).as_millis()).unwrap_or(u64::MAX)
        })
    })
}

/// Frees the ticket, which leaves the create alone. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_ticket_free(ticket: *mut gallivant_idempotency_ticket) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(ticket) });
}
