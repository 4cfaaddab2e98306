//! Signals to a run's tree: to each process that is proved to be of it, and to nobody else (EX-LOC-06, EX-LOC-10 to EX-LOC-13).

use std::collections::BTreeSet;

use super::exit::ExitRecord;
use super::observe::{Member, Seen, observe};
use super::process::RunProcess;
use crate::process::{ProcessTable, Signal, Signalled};

/// A tree that forks is looked at so often, at most, until nobody new is seen.
const ROUNDS: usize = 64;

/// What has become of a signal to a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Whether everybody who was seen was signalled, or gone by then.
    pub whole: bool,
    /// How many processes were signalled.
    pub count: usize,
}

/// Sends TERM or KILL to a tree.
///
/// TERM goes once to everybody, the harness first, and lets those go on who were stopped, so that they can take it up. For KILL
/// the tree is first brought to a stand, round by round until nobody new is seen, so that it cannot fork away from it.
#[must_use]
pub fn signal(run: &RunProcess, exit: Option<&ExitRecord>, signal: Signal, table: &dyn ProcessTable) -> Sent {
    if signal == Signal::Kill { kill(run, exit, table) } else { once(&seen(run, exit, table), signal, table) }
}

fn once(members: &Option<Vec<Member>>, signal: Signal, table: &dyn ProcessTable) -> Sent {
    let Some(members) = members else { return Sent { whole: false, count: 0 } };
    let mut sent = Sent { whole: true, count: 0 };
    for member in members {
        match table.signal(member.process.pid, member.start, signal) {
            Signalled::Sent => sent.count += 1,
            Signalled::Gone => continue,
            Signalled::Refused => sent.whole = false,
        }
        if member.is_stopped && signal == Signal::Term {
            let _ = table.signal(member.process.pid, member.start, Signal::Continue);
        }
    }
    sent
}

fn kill(run: &RunProcess, exit: Option<&ExitRecord>, table: &dyn ProcessTable) -> Sent {
    let mut standing = BTreeSet::new();
    let mut members = seen(run, exit, table);
    for _ in 0..ROUNDS {
        let Some(now) = &members else { break };
        let mut is_still = true;
        for member in now {
            if standing.insert((member.process.pid, member.start)) {
                is_still = false;
                let _ = table.signal(member.process.pid, member.start, Signal::Stop);
            }
        }
        if is_still {
            break;
        }
        members = seen(run, exit, table);
    }
    once(&members, Signal::Kill, table)
}

/// None where nothing can be proved.
fn seen(run: &RunProcess, exit: Option<&ExitRecord>, table: &dyn ProcessTable) -> Option<Vec<Member>> {
    match observe(run, exit, table) {
        Seen::Alive(members) => Some(members),
        Seen::Gone => Some(Vec::new()),
        Seen::Unreadable => None,
    }
}
