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
//! It never signals anybody. Its arguments are for people who look at a process list; it reads none of them.

mod harness;
mod plan;
mod record;
mod system;

use std::process::ExitCode;

use harness::Harness;
use plan::Plan;
use record::{Ending, RunRecord};
use system::Control;

fn main() -> ExitCode {
    match supervise() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// # Errors
/// Where nothing was started. The launcher knows it from what was said on the socket, or from its end.
fn supervise() -> std::io::Result<()> {
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
    let identities = match harness.identities() {
        Ok(identities) => identities,
        Err(error) => return control.fail("identity", &error),
    };
    control.say(&identities.line())?;
    let may_start = control.waits_for_go() || record.names(&identities);
    drop(control);
    if may_start {
        harness.open_gate();
    } else {
        harness.close_gate();
    }
    watch(&record, &identities, harness.pid(), may_start, lease);
    Ok(())
}

/// Waits for everything below to end. The harness is reaped only once its end is on disk: until then its pid names nobody else.
fn watch(
    record: &RunRecord,
    identities: &harness::Identities,
    harness: i32,
    was_started: bool,
    lease: Option<system::Descriptor>,
) {
    let (mut ending, mut lease) = (None, lease);
    while let Some(ended) = system::next_ended() {
        if ended.pid == harness {
            let mut end = Ending::of(ended.status, system::wall_ms());
            end.was_started = was_started;
            record.keep(identities, &end);
            ending = Some(end);
            // The session goes with its harness, whatever that has left running.
            lease = None;
        }
        system::reap(ended.pid);
    }
    if let Some(mut end) = ending {
        end.tree_ended_at = Some(system::wall_ms());
        record.keep(identities, &end);
    }
    drop(lease);
}
