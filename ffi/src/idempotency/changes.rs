//! Idempotent creates: a descriptor for event loops that wait for creates to end.
//!
//! There is no thread. One descriptor serves all tickets of a store: it wakes for every key, and whoever waits looks.

use std::os::fd::AsRawFd;

use gallivant_core::storage::Notifier;
use gallivant_core::{Code, Error};

use super::store::gallivant_idempotency_store;
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Exclusive, Handle, Out, borrow, give};

/// Tells of creates that end, in any process. It says where to look and never what is there, and it may be silent about an
/// end: look at each ticket when its descriptor is readable, and when `gallivant_idempotency_ticket_next_look_ms` is over.
///
/// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise. Free it with `gallivant_idempotency_changes_free`, which
/// closes the descriptor.
#[derive(Debug)]
pub struct gallivant_idempotency_changes {
    has_descriptor: bool,
    notifier: Exclusive<Option<Box<dyn Notifier>>>,
}

impl Handle for gallivant_idempotency_changes {}

const NAME: &str = "gallivant_idempotency_changes";

const NO_DESCRIPTOR: i32 = -1;

impl gallivant_idempotency_changes {
    /// Whether there is a descriptor to poll.
    pub(super) fn tells(&self) -> bool {
        self.has_descriptor
    }
}

/// Begins to tell of creates that end from now on. Look at the tickets once after it, so that no end falls in between.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_store_changes(
    store: *const gallivant_idempotency_store,
    changes: *mut *mut gallivant_idempotency_changes,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let store = borrow(store, "store")?;
            let out = Out::new(changes, "changes")?;
            let notifier = store.store.notifier();
            let has_descriptor = notifier.as_ref().is_some_and(|notifier| notifier.descriptor().is_some());
            let notifier = Exclusive::new(notifier);
            out.set(give(gallivant_idempotency_changes { has_descriptor, notifier }));
            Ok(())
        })
    }
}

/// A descriptor for `poll`, `select`, `epoll` and event loops that becomes readable when a create has ended, or something
/// else has happened to the store's directory. It is the handle's own: only poll it.
///
/// -1 where there is none: where the system does not tell (a limit that is reached, other platforms), so that tickets are
/// looked at when `gallivant_idempotency_ticket_next_look_ms` is over; in a forked child; while another call uses the handle;
/// and where `changes` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_changes_descriptor(
    changes: *const gallivant_idempotency_changes,
) -> i32 {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        let notifier = unsafe { changes.as_ref() }.and_then(|changes| changes.notifier.take(NAME).ok());
        let descriptor = notifier.as_ref().and_then(|notifier| notifier.as_ref()?.descriptor());
        descriptor.map_or(NO_DESCRIPTOR, |descriptor| descriptor.as_raw_fd())
    })
}

/// Takes what was told, so that the descriptor is not readable any more until something new happens. Call it before the
/// tickets are looked at, so that an end in between makes it readable again.
///
/// Errors: `GALLIVANT_IDEMPOTENCY_FORKED` in a forked child; `GALLIVANT_IDEMPOTENCY_STORE_UNAVAILABLE` where the system cannot
/// tell any more: open another one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_changes_drain(
    changes: *mut gallivant_idempotency_changes,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let changes = borrow(changes, "changes")?;
            let mut notifier = changes.notifier.take(NAME)?;
            let Some(notifier) = notifier.as_mut() else { return Ok(()) };
            if notifier.is_forked() {
                let message = "the descriptor came through a fork and is the parent's";
                return Err(Error::new(Code::IdempotencyForked, message).with_reason("forked"));
            }
            notifier.drain(&mut |_| {}).map_err(|failure| {
                let message = "what was told of the store cannot be read";
                Error::new(Code::IdempotencyStoreUnavailable, message).with_source(failure)
            })
        })
    }
}

/// Frees the handle and closes its descriptor. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_idempotency_changes_free(changes: *mut gallivant_idempotency_changes) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(changes) });
}
