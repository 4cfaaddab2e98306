//! What is left of a run's process tree (EX-LOC-06 to EX-LOC-09, EX-LOC-28, EX-LOC-30).
//!
//! On Linux, while the supervisor lives, everything that the harness has ever started stands below it, whatever group or
//! session it went to and however often it forked: the supervisor takes in whoever loses a parent, and ends when nobody is left.
//! When it was killed, and on a system that gives orphans to its first process in any case, a process is known to be ours by one
//! of these, and by nothing else: it is the recorded harness, stands below somebody who is ours, is in the group whose number the
//! harness still holds, was saved with its identity when a stop began, or was started with the run's mark.

use std::collections::BTreeSet;

use super::exit::ExitRecord;
use super::process::RunProcess;
use crate::process::{Activity, ProcessTable, RecordedProcess, Standing, System, TableEntry, descendants};

/// A living process of a run, proved to be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Who it is.
    pub process: RecordedProcess,
    /// Its start time in the table's unit.
    pub start: u64,
    /// Whether a signal has stopped it.
    pub is_stopped: bool,
}

/// What is left of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Something lives: these, the harness first. None of them where only the supervisor is left, which has not recorded the
    /// end yet.
    Alive(Vec<Member>),
    /// All of it is provably gone.
    Gone,
    /// Nothing can be proved.
    Unreadable,
}

/// Looks at the tree of a run. Signals nobody.
#[must_use]
pub fn observe(run: &RunProcess, exit: Option<&ExitRecord>, table: &dyn ProcessTable) -> Seen {
    look(run, exit, table).unwrap_or(Seen::Unreadable)
}

/// Whether the harness itself is proved to run: then the tree lives, whoever else is of it. It takes a look at two processes,
/// where the whole of a tree takes one at all that there are. False proves nothing.
#[must_use]
pub fn is_led(run: &RunProcess, table: &dyn ProcessTable) -> bool {
    let is_own = table.own_group().is_none_or(|group| group == run.group) || run.group == table.own_pid();
    let is_proved = run.supervisor.as_ref().is_none_or(|process| proved(process.standing(table)).is_some());
    run.group > 1 && !is_own && is_proved && is_alive(run.leader.standing(table))
}

/// None where nothing can be proved.
fn look(run: &RunProcess, exit: Option<&ExitRecord>, table: &dyn ProcessTable) -> Option<Seen> {
    let leader = proved(run.leader.standing(table))?;
    let supervisor = run.supervisor.as_ref().map(|supervisor| proved(supervisor.standing(table)));
    let supervisor = supervisor.map_or(Some(Standing::Gone), |standing| standing)?;
    if run.group < 2 || run.group == table.own_pid() {
        return None;
    }
    if run.leader.is_of_another_boot(table) {
        // No process outlives its boot.
        return Some(Seen::Gone);
    }
    let has_supervisor = matches!(supervisor, Standing::Alive { .. });
    // Only where it keeps orphans does a supervisor know that nobody is left.
    let is_recorded = table.system().keeps_orphans() && exit.is_some_and(|exit| exit.tree_ended_at.is_some());
    if is_recorded && leader == Standing::Gone {
        return Some(Seen::Gone);
    }
    let entries = table.entries()?;
    let own = table.own_pid();
    if entries.iter().any(|entry| entry.pid == own && entry.group == run.group) {
        // The library's own group is never a run's, whatever a record says.
        return None;
    }
    let found = Found::among(&entries, run, leader, has_supervisor, table)?;
    Some(match found {
        Found { members, .. } if !members.is_empty() => Seen::Alive(members),
        Found { is_doubtful: true, .. } => return None,
        _ if has_supervisor => Seen::Alive(Vec::new()),
        _ => Seen::Gone,
    })
}

struct Found {
    members: Vec<Member>,
    /// Somebody may be ours and is not proved to be.
    is_doubtful: bool,
}

impl Found {
    fn among(
        entries: &[TableEntry],
        run: &RunProcess,
        leader: Standing,
        has_supervisor: bool,
        table: &dyn ProcessTable,
    ) -> Option<Self> {
        let mut is_doubtful = false;
        let supervisor = run.supervisor.as_ref().filter(|_| has_supervisor).map(|process| process.pid);
        let mut roots: BTreeSet<u32> = supervisor.into_iter().collect();
        if is_alive(leader) || leader == Standing::Zombie {
            roots.insert(run.leader.pid);
        }
        for saved in &run.saved {
            match saved.standing(table) {
                Standing::Alive { .. } => drop(roots.insert(saved.pid)),
                Standing::Zombie | Standing::Gone => {}
                Standing::Unproved => is_doubtful = true,
            }
        }
        let in_group = |entry: &&TableEntry| {
            (entry.group == run.group || entry.session == run.group) && entry.activity != Activity::Zombie
        };
        // While the harness has its pid, running or not reaped, the group of that number is its own.
        let holds_group = run.group == run.leader.pid && (is_alive(leader) || leader == Standing::Zombie);
        if holds_group {
            roots.extend(entries.iter().filter(in_group).map(|entry| entry.pid));
        }
        if !has_supervisor || !table.system().keeps_orphans() {
            let mark = run.mark();
            let begun = run.leader.start()?;
            // Starts by a wall clock are in no order where that was set; one that is not known names nobody who could be read.
            let begun = if table.system() == System::MacOs { 1 } else { begun };
            let later = entries.iter().filter(|entry| entry.start >= begun && entry.pid != table.own_pid());
            roots.extend(
                later
                    .filter(|entry| table.was_started_with(entry.pid, &mark) == Some(true))
                    .map(|entry| entry.pid),
            );
        }
        let ours = descendants(entries, roots);
        if !holds_group && !has_supervisor {
            // Another process under the harness's pid proves that the group had been empty before it began.
            let is_reused =
                entries.iter().any(|entry| entry.pid == run.group && Some(entry.start) != run.leader.start());
            is_doubtful |=
                !is_reused && entries.iter().filter(in_group).any(|entry| !ours.contains(&entry.pid));
        }
        let is_other = |pid: u32| Some(pid) == supervisor || pid == table.own_pid() || pid < 2;
        let mut members: Vec<Member> = entries
            .iter()
            .filter(|entry| ours.contains(&entry.pid) && !is_other(entry.pid))
            .filter(|entry| entry.activity != Activity::Zombie)
            .map(|entry| Member {
                process: RecordedProcess::at(entry.pid, entry.start, table),
                start: entry.start,
                is_stopped: entry.activity == Activity::Stopped,
            })
            .collect();
        // The library's own process below a run would be a coordinator that a harness has started; it stops no run by itself.
        members.sort_by_key(|member| (member.process.pid != run.leader.pid, member.process.pid));
        Some(Found { members, is_doubtful })
    }
}

fn proved(standing: Standing) -> Option<Standing> {
    (standing != Standing::Unproved).then_some(standing)
}

fn is_alive(standing: Standing) -> bool {
    matches!(standing, Standing::Alive { .. })
}
