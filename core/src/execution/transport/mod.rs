//! The host's side in Rust: what a transport is here, and the drivers that carry a machine's calls out (EX-TRA-35).
//!
//! - [`TransportCall`]: what a method is given ([`call`]);
//! - [`Transport`] and [`drive`]: methods that block ([`blocking`]); `worker` runs one so that it can be left alone;
//! - `AsyncTransport` and `drive_async`: methods that are awaited, on any runtime (`future`, with the feature `async`);
//! - [`check_transport`]: whether a transport keeps the parts of the contract that only its provider's side shows
//!   ([`check`]); its steps without I/O, which every language drives in its own way ([`check_steps`]), what they are about
//!   ([`check_subject`]), and what is wrong with what was seen (`check_judge`).
//!
//! A host that has other idioms steps the [`Machine`](super::Machine) itself: a driver has no rule of its own but the waiting.

pub mod blocking;
pub mod call;
pub mod check;
mod check_judge;
pub mod check_steps;
pub mod check_subject;
#[cfg(feature = "async")]
pub mod future;
mod worker;

pub use blocking::{Transport, drive};
pub use call::{GRACE_MS, TransportCall};
pub use check::{Witness, check_step, check_transport};
pub use check_steps::{Asked, CheckSteps, QUIET_MS};
pub use check_subject::{Counts, Ending, Finding, PROMPT, Seen, Subject};
#[cfg(feature = "async")]
pub use future::{AsyncTransport, ReplyFuture, drive_async};
