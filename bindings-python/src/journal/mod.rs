//! The journal of a run: one file for each thing that a program has of it.
//!
//! - `event`: whose a journal is, and what is said to it;
//! - `values`: what calls answer;
//! - `held`: what one thread at a time may use, and what becomes of it at its end and in a forked child;
//! - `writing`: the journal and its projection;
//! - `reading`: windows of lines, what a journal is worth, the result, and whose diagnostics have expired;
//! - `replay`: all lines and those to come.

mod event;
mod held;
mod reading;
mod replay;
mod values;
mod writing;

pub(crate) use event::{Event, Owner};
pub(crate) use reading::{LogReader, check, read_run_result_json, retention_candidates};
pub(crate) use replay::{Frame, Replay};
pub(crate) use values::{
    Appended, Checked, Gap, PendingBatch, Placed, Position, Projected, Recovered, Row, Window,
};
pub(crate) use writing::{Journal, Projection};
