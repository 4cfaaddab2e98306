//! Redaction: secrets and recognised credentials out of whatever is kept or shown (EX-RED).
//!
//! - [`Secrets`]: what is secret, and every form in which it is looked for;
//! - [`Redactor`]: one automaton over secrets, anchors of recognised patterns and the mark, built once; redacts texts
//!   ([`text`]) and JSON values ([`value`]);
//! - [`Stream`]: the same over a text that comes in pieces ([`stream`]);
//! - `patterns`: what a recognised credential looks like; `machines`: what decides it, started by an anchor;
//! - `automaton`: all that is looked for, compiled;
//! - `scan`: the one pass over the bytes, and what is covered after it.
//!
//! # The rule
//!
//! Every occurrence of every form of every secret is covered, and so is every recognised credential. Covered stretches
//! that share a byte are one; each one becomes one [`MARK`], and two that only touch become two. So the order of the
//! secrets is without effect, and nothing of a secret is left at the edges of another.
//!
//! A mark that stands in the text already is left alone, and nothing that overlaps it counts as an occurrence. No
//! stretch that is kept holds an occurrence, so a second pass finds nothing: redaction is idempotent. Two things follow
//! that may surprise. A mark in front of a key counts as its left border, as what it covers did. And a secret that
//! holds the mark itself is looked for by its parts around it.
//!
//! What is covered depends on the bytes alone and never on how they were cut: whatever a pattern needs to know lies
//! within a fixed distance, which `patterns` names for each.

mod automaton;
mod machines;
mod patterns;
mod scan;
mod secrets;
pub mod stream;
pub mod text;
pub mod value;

pub use patterns::Patterns;
pub use secrets::Secrets;
pub use stream::{Stream, Writer};
pub use text::Redactor;
pub use value::{Step, sanitize};

/// What stands in the place of whatever was covered (EX-RED-03).
pub const MARK: &str = "[redacted]";
