//! What an operation asks of the machine, counted: storage operations, system calls, allocations.
//!
//! Times are measured in `benches/` and are no tests: they depend on what else a machine does. Counts do not.
#![allow(missing_docs, reason = "a test's name says what it shows")]
#![allow(clippy::disallowed_methods, reason = "a test looks at disk and processes itself")]

#[path = "../support/allocations.rs"]
mod allocations;
#[path = "../support/boundary.rs"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod boundary;
#[path = "../support/provider.rs"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod provider;
#[path = "../support/mod.rs"]
mod support;

mod allocating;
mod execution;
mod operations;
mod system_calls;
