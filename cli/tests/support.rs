//! What the conformance tests have of a task.
#![allow(dead_code, reason = "a part of it is used")]

/// The wall clock at the start of each test: before that of the machine, which the program reads.
pub(crate) const NOW: u64 = 1_700_000_000_000;

#[path = "../../tests/support/locks.rs"]
pub(crate) mod locks;
#[path = "../../tests/support/task.rs"]
pub(crate) mod task;
