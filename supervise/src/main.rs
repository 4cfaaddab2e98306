//! `gallivant-supervise`: a process of its own between a local run's launcher and its harness.
//!
//! It is started by the library with a socket as its standard input and the run's `provider.log` as its standard output and
//! error, and told over the socket what to start. It then
//!
//! 1. leaves the launcher's session and becomes the reaper of everything below it, so that no descendant of the harness can
//!    leave its sight;
//! 2. forks the harness, which waits behind a gate, and tells the launcher both identities;
//! 3. opens the gate once the launcher says that the identities are on disk, or once the launcher is gone and the run's job
//!    record names exactly this harness. Otherwise the harness is never started;
//! 4. waits, writes `exit.json` durably when the harness has ended, and again when the last process below it has, and ends.
//!
//! macOS has no reaper but the first process. There the harness is reaped, and this program ends, once nobody is left in its
//! group and session; that nobody is left anywhere is then not known, and not written.
//!
//! It never signals anybody. Its arguments are for people who look at a process list; it reads none of them.

// Without the preparations of the standard library's own beginning, which a start would pay for: it reads the map of this
// process's memory and sets a stack for signals up.
#![no_main]
// Without the rest of the standard library too, where a panic ends the program. Where one unwinds, as in the build of the tests,
// nothing but the standard library can carry it.
#![cfg_attr(panic = "abort", no_std)]

extern crate alloc;

#[cfg(panic = "abort")]
mod alone;
mod error;
mod harness;
mod identity;
mod plan;
mod record;
mod system;

use core::ffi::{c_char, c_int};

use harness::Harness;
use plan::Plan;
use record::{Ending, RunRecord};
use system::Control;

/// Where the system begins.
// SAFETY: there is no other symbol of this name in the program.
#[unsafe(no_mangle)]
pub extern "C" fn main(_: c_int, _: *const *const c_char) -> c_int {
    match supervise() {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

/// # Errors
/// Where nothing was started. The launcher knows it from what was said on the socket, or from its end.
fn supervise() -> error::Result<()> {
    let control = Control::take()?;
    // The launcher waits for the process that it has started, which is over at once: it leaves nothing to be reaped behind.
    if system::fork()? != 0 {
        system::end(0);
    }
    system::become_reaper()?;
    let plan = Plan::read(&control)?;
    let record = match RunRecord::open(&plan) {
        Ok(record) => record,
        Err(error) => return control.fail("directory", &error),
    };
    let mut harness = match Harness::fork(&plan) {
        Ok(harness) => harness,
        Err((stage, error)) => return control.fail(stage, &error),
    };
    // After the fork, so that the harness has no copy; before it starts, so that nobody takes its session for dead.
    let lease = system::take_lease(&plan.lease, &plan.token);
    control.say(&harness.identities().line())?;
    let may_start = control.waits_for_go() || record.names(harness.identities());
    drop(control);
    if may_start {
        harness.open_gate();
    } else {
        harness.close_gate();
    }
    watch(&record, &harness, may_start, lease);
    Ok(())
}

/// Waits for everything below to end. The harness is reaped only once its end is on disk: until then its pid names nobody else.
fn watch(record: &RunRecord, harness: &Harness, was_started: bool, lease: Option<system::Descriptor>) {
    let (mut ending, mut lease) = (None, lease);
    while let Some(ended) = system::next_ended() {
        if ended.pid == harness.pid() {
            let mut end = Ending::of(ended.status, system::wall_ms());
            end.was_started = was_started;
            record.keep(harness.identities(), &end);
            ending = Some(end);
            // The session goes with its harness, whatever that has left running.
            lease = None;
            if !system::KEEPS_ORPHANS {
                system::wait_for_company(ended.pid);
            }
        }
        system::reap(ended.pid);
    }
    if let Some(mut end) = ending.filter(|_| system::KEEPS_ORPHANS) {
        end.tree_ended_at = Some(system::wall_ms());
        record.keep(harness.identities(), &end);
    }
    drop(lease);
}
