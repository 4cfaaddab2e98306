//! What a store answers.

use super::{FinishedClaim, Reservation, Ticket, UnknownClaim};

/// How an answer came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// Nothing was known of the key.
    Fresh,
    /// The create had finished before.
    Replayed,
    /// After waiting for a create that ran.
    Waited,
    /// The owner of the reservation was gone.
    TakenOver,
    /// The claim had lived its window.
    Expired,
    /// The resource was reported to be gone.
    Recreated,
    /// An unknown outcome was settled.
    Settled,
}

impl How {
    /// The word of the specification.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            How::Fresh => "fresh",
            How::Replayed => "replayed",
            How::Waited => "waited",
            How::TakenOver => "taken-over",
            How::Expired => "expired",
            How::Recreated => "recreated",
            How::Settled => "settled",
        }
    }
}

/// What a create with this key and this body is to do.
#[must_use = "a reservation that is dropped is released"]
#[derive(Debug)]
pub enum Begin {
    /// Make the thing, then call exactly one of [`Reservation::complete`] and [`Reservation::release`].
    Create(Reservation),
    /// It was made: answer as the first create did.
    Replay(FinishedClaim),
    /// It is being made: wait for it.
    InProgress(Ticket),
    /// Whether it was made is not known: find out, then [`UnknownClaim::settle`].
    Unknown(UnknownClaim),
}

impl Begin {
    /// How it came about.
    #[must_use]
    pub fn how(&self) -> How {
        match self {
            Begin::Create(reservation) => reservation.how(),
            Begin::Replay(claim) => claim.how(),
            Begin::InProgress(ticket) => ticket.how(),
            Begin::Unknown(claim) => claim.how(),
        }
    }

    /// The word of the specification: `create`, `replay`, `in_progress` or `unknown`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Begin::Create(_) => "create",
            Begin::Replay(_) => "replay",
            Begin::InProgress(_) => "in_progress",
            Begin::Unknown(_) => "unknown",
        }
    }
}

/// What stands on disk for a name, for whoever only looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimView {
    /// How far the create is.
    pub state: ViewState,
    /// The id of the thing that was made; none before.
    pub resource: Option<String>,
    /// The saved answer; none before, and where the resource was only found afterwards.
    pub answer: Option<Vec<u8>>,
}

/// How far a create is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViewState {
    /// Reserved, and nothing outside may exist.
    Reserved,
    /// Reserved, and an effect may have happened.
    Marked,
    /// Finished.
    Finished,
}

impl ViewState {
    /// The lower-case word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            ViewState::Reserved => "reserved",
            ViewState::Marked => "marked",
            ViewState::Finished => "finished",
        }
    }
}
