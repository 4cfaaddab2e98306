//! Observed harness state for JavaScript: the same split as in the core.
//!
//! - `parts`: the plain objects that go in and come out;
//! - `claim`, `writer`, `session`, `hook`: writing;
//! - `reader`: reading, with probes.

mod claim;
mod hook;
mod parts;
mod reader;
mod session;
mod slot;
mod writer;

pub(crate) use parts::ProcessParts;
