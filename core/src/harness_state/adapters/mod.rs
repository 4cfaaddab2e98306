//! Harness adapters: what an event of a real harness says about what it is doing (HS-110 to HS-112).
//!
//! One table a harness (`claude.rs`, `codex.rs`, `opencode.rs`, `gemini.rs`) maps its documented events to an
//! [`Effect`]; the form of that table and the look-up are in `table.rs`, what an effect makes of the record that
//! stands is [`Effect::resolve`]. All of it is pure: bytes in, data out, no disk, no clock and no environment, so
//! that every language's hook agrees and a test can replay a recorded run.
//!
//! A payload says what happened, never to whom: agent, token and sequence come from the session's own environment,
//! and no table so much as reads a directory, or a session id but to tell one subagent from another (HS-112). Text that people or models wrote decides
//! nothing either; where a harness has no typed field for something, the table leaves the state alone.
//!
//! A further harness is one more file with its table and one more line in [`Harness`].

mod claude;
mod codex;
mod effect;
mod event;
mod gemini;
mod opencode;
mod table;

#[cfg(test)]
mod tests;

pub use effect::{Effect, Ignored, Resolution};
pub use event::{Child, ChildStep, Documented, Event, Harness, interpret};
