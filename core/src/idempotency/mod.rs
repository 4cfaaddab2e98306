//! Idempotent creates: what a create's key means before, while and after the thing it names exists.
//!
//! The caller sends a key with a create; the store remembers, on disk, what that key stands for. [`IdempotencyStore`]
//! answers each create with one of four: make it ([`Begin::Create`]), here is what it made ([`Begin::Replay`]), it is
//! being made ([`Begin::InProgress`]), nobody knows whether it was made ([`Begin::Unknown`]).
//!
//! One file on disk, by default `idempotency.db` with SQLite's `-wal` and `-shm` beside it; see
//! `docs/format/idempotency.md`.
//!
//! In reading order:
//!
//! - `key`, `fingerprint`: what a claim is found by, and what tells a repeat from another request;
//! - `claim`: what stands on disk for one name;
//! - `takeover`, `begin`: what that means now; pure functions, no disk;
//! - `engine`: the trait behind which claims are kept; `sqlite`: the embedded default; `memory`: one for tests;
//!   `patience`: waiting for somebody else's transaction;
//! - `listing`: every claim, for an operator who only looks;
//! - `options`, `store`: the handle; `answer`: what it answers;
//! - `reservation`, `ticket`, `finished`, `unknown`: what the holder of each answer may do.

mod answer;
mod begin;
mod claim;
mod engine;
mod fingerprint;
mod finished;
mod key;
mod listing;
mod memory;
mod options;
mod patience;
mod reservation;
mod sqlite;
mod store;
mod takeover;
mod ticket;
mod unknown;

pub use answer::{Begin, ClaimView, How, ViewState};
pub use begin::{Meaning, judge};
pub use claim::{ClaimRecord, ClaimState, ClaimToken, Owner, Stamp};
pub use engine::{Change, ClaimStore, Swept};
pub use fingerprint::{Fingerprint, FingerprintBuilder};
pub use finished::FinishedClaim;
pub use key::{ClaimName, MAX_PART_BYTES};
pub use listing::{
    ClaimPage, ClaimReader, ListOptions, Listed, ListedClaim, ListedOwner, ListedState, StoredClaim,
    UnderstoodClaim, list_claims,
};
pub use memory::MemoryClaims;
pub use options::StoreOptions;
pub use patience::Patience;
pub use reservation::Reservation;
pub use sqlite::{CheckedStore, check_store, read_claims};
pub use store::{Ask, IdempotencyStore};
pub use takeover::{Facts, Fate, TAKEOVER_MS, fate};
pub use ticket::Ticket;
pub use unknown::UnknownClaim;
