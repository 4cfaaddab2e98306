//! Idempotent creates: what a begin answers, and the handles that come with it.

use std::time::Duration;

use gallivant_core::idempotency::{Begin, FinishedClaim, Reservation, Ticket, UnknownClaim};

use super::words::{HOWS, begin_number};
use crate::handle::{Exclusive, Handle, give};
use crate::options::{sized, unless_default};
use crate::view::{Fixed, Texts, gallivant_str};

/// A key that is reserved for one create of this process. Make the thing, then call
/// `gallivant_idempotency_reservation_complete`, or `gallivant_idempotency_reservation_release` where nothing outside can
/// exist.
///
/// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise. Free it with `gallivant_idempotency_reservation_free`, which
/// releases it where neither has been called, unless an effect was marked.
#[derive(Debug)]
pub struct gallivant_idempotency_reservation {
    pub(super) reservation: Exclusive<Reservation>,
}

impl Handle for gallivant_idempotency_reservation {}

/// A create that has finished: what it made, and how it answered. Never changes.
///
/// Threads: any number at once. Free it with `gallivant_idempotency_claim_free`.
#[derive(Debug)]
pub struct gallivant_idempotency_claim {
    pub(super) claim: FinishedClaim,
    pub(super) resource: Fixed<gallivant_str>,
    _texts: Texts,
}

impl Handle for gallivant_idempotency_claim {}

/// A create with the same key and body that runs in this or another process. Never changes.
///
/// Threads: any number at once. Free it with `gallivant_idempotency_ticket_free`.
#[derive(Debug)]
pub struct gallivant_idempotency_ticket {
    pub(super) ticket: Ticket,
}

impl Handle for gallivant_idempotency_ticket {}

/// A create whose owner is gone after an effect was marked, or has not been heard of for too long. It stays so until it is
/// settled, or until its owner ends it after all. Never changes.
///
/// Threads: any number at once. Free it with `gallivant_idempotency_unknown_claim_free`.
#[derive(Debug)]
pub struct gallivant_idempotency_unknown_claim {
    pub(super) claim: UnknownClaim,
}

impl Handle for gallivant_idempotency_unknown_claim {}

/// What a create with this key and this body is to do. Exactly one of the four handles is not NULL, and it belongs to the
/// caller. A call that writes a new answer over an old one frees nothing: free the old one's handle first, or afterwards
/// by a copy of its pointer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_idempotency_begun {
    /// Set by `GALLIVANT_IDEMPOTENCY_BEGUN_INIT`.
    pub struct_size: usize,
    /// Which of the four it is: GALLIVANT_BEGIN.
    pub begin: i32,
    /// How it came about: GALLIVANT_HOW.
    pub how: i32,
    /// With `GALLIVANT_BEGIN_CREATE`.
    pub reservation: *mut gallivant_idempotency_reservation,
    /// With `GALLIVANT_BEGIN_REPLAY`.
    pub claim: *mut gallivant_idempotency_claim,
    /// With `GALLIVANT_BEGIN_IN_PROGRESS`.
    pub ticket: *mut gallivant_idempotency_ticket,
    /// With `GALLIVANT_BEGIN_UNKNOWN`.
    pub unknown: *mut gallivant_idempotency_unknown_claim,
}
sized!(gallivant_idempotency_begun);

// C: #define GALLIVANT_IDEMPOTENCY_BEGUN_INIT \
// C:     { sizeof(gallivant_idempotency_begun), 0, 0, NULL, NULL, NULL, NULL }

/// The answer as C gets it, with its handle given to the host.
pub(super) fn begun(begin: Begin) -> gallivant_idempotency_begun {
    let mut begun = gallivant_idempotency_begun {
        struct_size: 0,
        begin: begin_number(begin.word()),
        how: HOWS.number(begin.how()),
        reservation: std::ptr::null_mut(),
        claim: std::ptr::null_mut(),
        ticket: std::ptr::null_mut(),
        unknown: std::ptr::null_mut(),
    };
    match begin {
        Begin::Create(reservation) => {
            let reservation = Exclusive::new(reservation);
            begun.reservation = give(gallivant_idempotency_reservation { reservation });
        }
        Begin::Replay(claim) => begun.claim = give(claim.into()),
        Begin::InProgress(ticket) => begun.ticket = give(gallivant_idempotency_ticket { ticket }),
        Begin::Unknown(claim) => begun.unknown = give(gallivant_idempotency_unknown_claim { claim }),
    }
    begun
}

/// A deadline in ms; none for the store's own patience.
pub(super) fn deadline(deadline_ms: u64) -> Option<Duration> {
    unless_default(deadline_ms).map(Duration::from_millis)
}

impl From<FinishedClaim> for gallivant_idempotency_claim {
    fn from(claim: FinishedClaim) -> Self {
        let mut texts = Texts::default();
        let [resource] = texts.hold([Some(claim.resource())]);
        // SAFETY: the texts stand beside the view and are not touched again.
        gallivant_idempotency_claim { claim, resource: unsafe { Fixed::new(resource) }, _texts: texts }
    }
}
