//! The private native half of the Node package `gallivant`.
//!
//! It converts, calls the core, and converts back; it decides nothing. The public API is JavaScript in `lib/`, and
//! nothing but `lib/` loads this module. In reading order:
//!
//! - [`error`], [`answer`]: every call answers an object that holds either a value or an error. A native function
//!   throws nothing of its own, so that one JavaScript class is made from one description;
//! - [`barrier`]: no panic crosses into JavaScript or into libuv;
//! - [`waiting`], [`job`]: a call on libuv's pool waits for a lock a few milliseconds at most and then says when to
//!   call again, so that waiting calls hold no worker. No call has a thread of its own that would have to be joined;
//! - [`host`], [`options`]: the machine, and what may be set;
//! - [`bell`], [`clean_up`], [`slot`]: what a thread rings; threads that end with their environment; things that may be
//!   closed before they are collected;
//! - [`harness_state`]: the first domain. A watch has a thread, which is joined when it is closed, and at the latest when
//!   its environment ends;
//! - [`idempotency`]: idempotent creates. A store has such a thread while somebody waits for a create of another;
//! - [`redaction`]: secrets out of texts and streams, on the thread that calls;
//! - [`journal`]: the journal of a run. One thread waits for all replays of an environment, while there are any;
//! - [`execution`]: the execution layer. A running call is a machine that JavaScript drives, a task of the pool for each step.
//!   What a publication has done on this machine is done on threads, which are joined as that of a watch is;
//! - [`testing`]: a machine that a test controls.
//!
//! Conventions: each `#[napi]` function says `catch_unwind`, and so does each `Task::compute`; a test looks for both.
//! 64-bit numbers are bigints. What is none in Rust is null in results. No state is global: each JavaScript
//! environment (the main thread, each worker) has its own objects, and they go with it.

#![expect(unreachable_pub, reason = "the macros hand public items to JavaScript, not to other crates")]

mod answer;
mod barrier;
mod bell;
mod clean_up;
mod error;
mod execution;
mod harness_state;
mod host;
mod idempotency;
mod job;
mod journal;
mod options;
mod redaction;
mod slot;
mod testing;
mod waiting;

use napi_derive::napi;

/// The version of the library.
#[napi(catch_unwind)]
pub fn version() -> &'static str {
    gallivant_core::VERSION
}
