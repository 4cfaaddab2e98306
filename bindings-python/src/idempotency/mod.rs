//! Idempotent creates: one file for each thing that a store hands out.
//!
//! - `store`: the handle, and what it answers besides;
//! - `fingerprint`: what tells a repeat from another request;
//! - `begun`: one of four, and how it becomes Python's;
//! - `reservation`, `ticket`, `claims`: what the holder of each answer may do.
//!
//! In a forked child all of them are the parent's. Each looks at the process before it touches a mutex of its own: one
//! that another thread held at the moment of the fork would stay locked for ever.

mod begun;
mod claims;
mod fingerprint;
mod reservation;
mod store;
mod ticket;

pub(crate) use claims::{FinishedClaim, UnknownClaim};
pub(crate) use fingerprint::{Fingerprint, FingerprintBuilder};
pub(crate) use reservation::Reservation;
pub(crate) use store::{Capability, ClaimView, IdempotencyStore, Swept};
pub(crate) use ticket::{ClaimNotices, Ticket};
