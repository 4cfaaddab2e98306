//! Idempotent creates for JavaScript: the same split as in the core.
//!
//! - `parts`: the plain objects that go in and come out;
//! - `store`, `fingerprint`: asking;
//! - `reservation`, `claims`: what the holder of each answer may do;
//! - `ear`: the thread that hears of creates that end, while somebody waits for one.

mod claims;
mod ear;
mod fingerprint;
mod parts;
mod reservation;
mod store;
