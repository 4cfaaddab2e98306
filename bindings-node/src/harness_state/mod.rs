//! Observed harness state for JavaScript: the same split as in the core.
//!
//! - `parts`: the plain objects that go in and come out;
//! - `claim`, `writer`, `session`, `hook`: writing;
//! - `reader`, `explain`: reading, with probes;
//! - `sheet`, `fleet`: reading many in one crossing;
//! - `watch`, `follower`: being told of changes: the object, and its thread.

mod claim;
mod explain;
mod fleet;
mod follower;
mod hook;
mod parts;
mod reader;
mod session;
mod sheet;
mod watch;
mod writer;

pub(crate) use parts::ProcessParts;
