//! Idempotent creates: what a create's key means before, while and after the thing it names exists.
//!
//! In reading order: `words` (the constants), `name` (what a claim is found by), `fingerprint`, `begun` (what a begin
//! answers, and the handles that come with it), `store`, `reservation`, `claim`, `ticket`, `unknown_claim`, `changes`.

mod begun;
mod changes;
mod claim;
mod fingerprint;
mod name;
mod reservation;
mod store;
mod ticket;
mod unknown_claim;
mod words;

pub use begun::*;
pub use changes::*;
pub use claim::*;
pub use fingerprint::*;
pub use name::*;
pub use reservation::*;
pub use store::*;
pub use ticket::*;
pub use unknown_claim::*;
pub use words::*;
