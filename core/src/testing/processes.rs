//! A process table as data.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::process::{Activity, Lineage, ProcessFact, ProcessTable, Signal, Signalled, System, TableEntry};

/// The processes of a simulated machine, as one of them sees them.
///
/// Cloning shares the machine and the process; [`SimulatedProcesses::as_process`] shares the machine only. Boot,
/// pid namespace and host are those of the machine as all its processes see them.
#[derive(Clone, Debug)]
pub struct SimulatedProcesses {
    machine: Arc<Mutex<Machine>>,
    own_pid: u32,
}

#[derive(Clone, Debug)]
struct Machine {
    facts: BTreeMap<u32, ProcessFact>,
    lineages: BTreeMap<u32, Lineage>,
    boot: String,
    boots: u64,
    pid_namespace: String,
    host: String,
    readable: bool,
    groups: BTreeMap<u32, u32>,
    signals: Vec<(u32, Signal)>,
    system: System,
}

impl SimulatedProcesses {
    /// A machine on which one process runs, which sees itself under this pid with this start time.
    #[must_use]
    pub fn new(own_pid: u32, start: u64) -> Self {
        let machine = Machine {
            facts: BTreeMap::from([(own_pid, ProcessFact::Running { start })]),
            lineages: BTreeMap::new(),
            boot: boot_id(1),
            boots: 1,
            pid_namespace: "pid:[4026531836]".to_owned(),
            host: "simulated-host".to_owned(),
            readable: true,
            groups: BTreeMap::new(),
            signals: Vec::new(),
            system: System::Linux,
        };
        SimulatedProcesses { machine: Arc::new(Mutex::new(machine)), own_pid }
    }

    /// Starts another process and answers the table as that one sees it.
    #[must_use]
    pub fn as_process(&self, pid: u32, start: u64) -> Self {
        self.start(pid, start);
        SimulatedProcesses { machine: Arc::clone(&self.machine), own_pid: pid }
    }

    /// A process runs under this pid from now on, whatever was there before.
    pub fn start(&self, pid: u32, start: u64) {
        self.set(pid, ProcessFact::Running { start });
    }

    /// A process runs under this pid from now on, as a child of `parent` and started with these arguments, the
    /// program's path first.
    pub fn start_program(&self, pid: u32, start: u64, parent: u32, arguments: &[&str]) {
        self.start(pid, start);
        let name = arguments.first().map_or("", |program| program.rsplit('/').next().unwrap_or_default());
        let name = name.to_owned();
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        self.lock().lineages.insert(pid, Lineage { start, parent, name, arguments });
    }

    /// Puts a process into a group; each is otherwise the leader of its own.
    pub fn set_group(&self, pid: u32, group: u32) {
        self.lock().groups.insert(pid, group);
    }

    /// The signals that were sent, in their order. KILL ends a process; the others change nothing.
    #[must_use]
    pub fn signals(&self) -> Vec<(u32, Signal)> {
        self.lock().signals.clone()
    }

    /// The process is gone.
    pub fn end(&self, pid: u32) {
        let mut machine = self.lock();
        machine.facts.remove(&pid);
        machine.lineages.remove(&pid);
    }

    /// Says what is known of a pid; of one of which nothing was said it is known that no process has it.
    pub fn set(&self, pid: u32, fact: ProcessFact) {
        self.lock().facts.insert(pid, fact);
    }

    /// Whether the table can be read; while it cannot, every pid is [`ProcessFact::Unreadable`].
    pub fn set_readable(&self, readable: bool) {
        self.lock().readable = readable;
    }

    /// Sets of which system the table tells; Linux until then.
    pub fn set_system(&self, system: System) {
        self.lock().system = system;
    }

    /// Sets what identifies the boot; empty for a system that does not tell.
    pub fn set_boot(&self, boot: &str) {
        boot.clone_into(&mut self.lock().boot);
    }

    /// Sets what identifies the pid namespace; empty for a system that does not tell.
    pub fn set_pid_namespace(&self, pid_namespace: &str) {
        pid_namespace.clone_into(&mut self.lock().pid_namespace);
    }

    /// Sets what identifies the machine; empty for a system that does not tell.
    pub fn set_host(&self, host: &str) {
        host.clone_into(&mut self.lock().host);
    }

    /// The same machine after a reboot: another boot, and no process but this one, started anew. The table from
    /// which it is made does not change.
    #[must_use]
    pub fn rebooted(&self) -> Self {
        let before = self.lock();
        let boots = before.boots + 1;
        let facts = BTreeMap::from([(self.own_pid, ProcessFact::Running { start: boots })]);
        let (lineages, groups, signals) = Default::default();
        let boot = boot_id(boots);
        let machine = Machine { facts, lineages, groups, signals, boot, boots, ..before.clone() };
        SimulatedProcesses { machine: Arc::new(Mutex::new(machine)), own_pid: self.own_pid }
    }

    fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// In the form that Linux gives it.
fn boot_id(boots: u64) -> String {
    format!("00000000-0000-4000-8000-{boots:012x}")
}

impl ProcessTable for SimulatedProcesses {
    fn system(&self) -> System {
        self.lock().system
    }

    fn own_pid(&self) -> u32 {
        self.own_pid
    }

    fn fact(&self, pid: u32) -> ProcessFact {
        let machine = self.lock();
        match machine.facts.get(&pid) {
            _ if !machine.readable => ProcessFact::Unreadable,
            Some(fact) => *fact,
            None => ProcessFact::Absent,
        }
    }

    fn boot(&self) -> Arc<str> {
        self.lock().boot.as_str().into()
    }

    fn pid_namespace(&self) -> String {
        self.lock().pid_namespace.clone()
    }

    fn host(&self) -> Arc<str> {
        self.lock().host.as_str().into()
    }

    fn entries(&self) -> Option<Vec<TableEntry>> {
        let machine = self.lock();
        let entry = |(pid, fact): (&u32, &ProcessFact)| {
            let (start, activity) = match fact {
                ProcessFact::Running { start } => (*start, Activity::Running),
                ProcessFact::Zombie => (0, Activity::Zombie),
                ProcessFact::Absent | ProcessFact::Unreadable => return None,
            };
            let parent = machine.lineages.get(pid).map_or(0, |lineage| lineage.parent);
            let group = machine.groups.get(pid).copied().unwrap_or(*pid);
            Some(TableEntry { pid: *pid, parent, group, session: group, start, activity })
        };
        machine.readable.then(|| machine.facts.iter().filter_map(entry).collect())
    }

    fn was_started_with(&self, pid: u32, variable: &str) -> Option<bool> {
        let machine = self.lock();
        let lineage = machine.lineages.get(&pid).filter(|_| machine.readable)?;
        Some(lineage.arguments.iter().any(|argument| argument == variable))
    }

    fn signal(&self, pid: u32, start: u64, signal: Signal) -> Signalled {
        let mut machine = self.lock();
        match machine.facts.get(&pid) {
            _ if !machine.readable || pid < 2 || pid == self.own_pid => Signalled::Refused,
            Some(ProcessFact::Running { start: found }) if *found == start => {
                machine.signals.push((pid, signal));
                if signal == Signal::Kill {
                    machine.facts.remove(&pid);
                    machine.lineages.remove(&pid);
                }
                Signalled::Sent
            }
            Some(ProcessFact::Unreadable) => Signalled::Refused,
            _ => Signalled::Gone,
        }
    }

    fn lineage(&self, pid: u32) -> Option<Lineage> {
        let machine = self.lock();
        machine.lineages.get(&pid).filter(|_| machine.readable).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Liveness;

    #[test]
    fn what_is_set_decides_what_is_proved() {
        let table = SimulatedProcesses::new(10, 500);
        assert_eq!((table.own_pid(), table.own_start()), (10, 500));
        let other = table.as_process(11, 600);
        let identity = other.identify(11).expect("it runs");
        assert_eq!(identity.liveness(&table), Liveness::Alive);
        table.set(11, ProcessFact::Unreadable);
        assert_eq!(identity.liveness(&table), Liveness::Indeterminate);
        table.set(11, ProcessFact::Zombie);
        assert_eq!(identity.liveness(&table), Liveness::Dead);
        table.end(11);
        assert_eq!(identity.liveness(&table), Liveness::Dead);
        table.start(11, 700);
        assert_eq!(identity.liveness(&table), Liveness::Dead, "the pid was used again");
        table.start(11, 600);
        table.set_readable(false);
        assert_eq!(identity.liveness(&table), Liveness::Indeterminate);
        table.set_readable(true);
        table.set_pid_namespace("pid:[1]");
        assert_eq!(identity.liveness(&table), Liveness::Indeterminate);
        assert_eq!(identity.liveness(&other), Liveness::Indeterminate, "the machine is shared");
    }

    #[test]
    fn a_reboot_proves_the_death_of_whoever_ran_before() {
        let table = SimulatedProcesses::new(10, 500);
        let identity = table.identify(10).expect("it runs");
        let later = table.rebooted();
        assert_eq!(identity.liveness(&later), Liveness::Dead);
        assert_ne!(later.rebooted().boot(), later.boot());
        assert_eq!(identity.liveness(&table), Liveness::Alive, "the table from which it was made stays");
        later.set_host("another");
        assert_eq!(identity.liveness(&later), Liveness::Indeterminate);
        later.set_boot("");
        assert_eq!(&*later.boot(), "");
    }
}
