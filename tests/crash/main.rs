//! A crash, and a failure, at every storage operation of every call.
//!
//! A crash of the process leaves what other processes see at once; a crash of the machine leaves any of the images in
//! which the disk may be found afterwards.
#![allow(missing_docs, reason = "a test's name says what it shows")]
#![allow(clippy::disallowed_methods, reason = "a test plants and reads files itself")]

#[path = "../support/boundary.rs"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod boundary;
#[path = "../support/ledgers.rs"]
mod ledgers;
#[path = "../support/provider.rs"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod provider;

#[path = "../support/mod.rs"]
mod support;

use support::{output, run};

mod artifacts;
mod execution;
mod execution_passes;
mod harness_state;
mod health;
mod idempotency;
mod journal;
mod local_output;
mod publication;
mod verification;
