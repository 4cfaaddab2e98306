//! The journal of a run for JavaScript: the same split as in the core.
//!
//! - `parts`: the plain objects that go in and come out;
//! - `writer`: the journal and its projection;
//! - `reader`: windows of lines, what a journal is worth, the result of a run;
//! - `replay`: the frames of a run;
//! - `lookout`: the thread that waits for all replays of an environment, while there are any;
//! - `display`: what of a log a user interface shows.

mod display;
#[cfg(target_os = "linux")]
mod lookout;
mod parts;
mod reader;
mod replay;
mod writer;
