//! A process as a record on disk names it: a pid, and an identity that no later process shares (EX-LOC-05).

use super::table::{ProcessFact, ProcessTable, System};

/// A process that some record names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedProcess {
    /// Process id, as its pid namespace counts.
    pub pid: u32,
    /// `linux:<boot id>:<inode of the pid namespace>:<start ticks>`, or `darwin:<start seconds>.<microseconds>`, the latter in
    /// six digits.
    pub identity: String,
}

/// What the process table proves about a recorded process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It runs, and began at this time in the table's unit.
    Alive {
        /// The start time.
        start: u64,
    },
    /// It has ended, and nobody has asked how: its pid is still its own.
    Zombie,
    /// It is provably gone: no process has its pid, another one has it, or the machine was booted since.
    Gone,
    /// Neither can be proved: the record is malformed or another system's, the table cannot be read, or it counts the pids of
    /// another namespace. So too for a pid that no run can have: 0, 1 and this process's own.
    Unproved,
}

/// An identity.
enum Parts<'a> {
    Linux {
        boot: &'a str,
        namespace: &'a str,
        start: u64,
    },
    /// The start is an instant, which names the boot too.
    Darwin {
        start: u64,
    },
}

impl RecordedProcess {
    /// The process that runs now under this pid; none where there is none, or it cannot be read.
    #[must_use]
    pub fn of(pid: u32, table: &dyn ProcessTable) -> Option<Self> {
        match table.fact(pid) {
            ProcessFact::Running { start } => {
                let is_known = match table.system() {
                    System::Linux => !table.boot().is_empty() && !digits(&table.pid_namespace()).is_empty(),
                    System::MacOs => true,
                };
                is_known.then(|| RecordedProcess::at(pid, start, table))
            }
            ProcessFact::Zombie | ProcessFact::Absent | ProcessFact::Unreadable => None,
        }
    }

    /// A process of this boot and namespace that began at this time.
    #[must_use]
    pub fn at(pid: u32, start: u64, table: &dyn ProcessTable) -> Self {
        let identity = match table.system() {
            System::Linux => format!("linux:{}:{}:{start}", table.boot(), digits(&table.pid_namespace())),
            System::MacOs => format!("darwin:{}.{:06}", start / 1_000_000, start % 1_000_000),
        };
        RecordedProcess { pid, identity }
    }

    /// Its start time in the table's unit; none for an identity that is none.
    #[must_use]
    pub fn start(&self) -> Option<u64> {
        self.parts().map(|parts| match parts {
            Parts::Linux { start, .. } | Parts::Darwin { start } => start,
        })
    }

    /// Whether its identity names another boot than the one that the table tells. One that names none does not.
    #[must_use]
    pub fn is_of_another_boot(&self, table: &dyn ProcessTable) -> bool {
        match self.parts() {
            Some(Parts::Linux { boot, .. }) => boot != &*table.boot(),
            Some(Parts::Darwin { .. }) | None => false,
        }
    }

    /// What the table proves. Other boots prove its end; another namespace proves nothing.
    #[must_use]
    pub fn standing(&self, table: &dyn ProcessTable) -> Standing {
        let Some(parts) = self.parts() else { return Standing::Unproved };
        if self.pid < 2 || self.pid == table.own_pid() {
            return Standing::Unproved;
        }
        let begun = match (parts, table.system()) {
            (Parts::Linux { boot, namespace, start }, System::Linux) => {
                let own_boot = table.boot();
                if own_boot.is_empty() || boot.is_empty() {
                    return Standing::Unproved;
                }
                if boot != &*own_boot {
                    return Standing::Gone;
                }
                let own_namespace = digits(&table.pid_namespace());
                if own_namespace.is_empty() || digits(namespace) != own_namespace {
                    return Standing::Unproved;
                }
                start
            }
            (Parts::Darwin { start }, System::MacOs) => start,
            (Parts::Linux { .. }, System::MacOs) | (Parts::Darwin { .. }, System::Linux) => {
                return Standing::Unproved;
            }
        };
        match table.fact(self.pid) {
            ProcessFact::Running { start } if start == begun => Standing::Alive { start },
            ProcessFact::Zombie => Standing::Zombie,
            ProcessFact::Running { .. } | ProcessFact::Absent => Standing::Gone,
            ProcessFact::Unreadable => Standing::Unproved,
        }
    }

    fn parts(&self) -> Option<Parts<'_>> {
        if let Some(start) = self.identity.strip_prefix("darwin:") {
            let (seconds, microseconds) = start.split_once('.')?;
            let microseconds = microseconds.parse::<u64>().ok().filter(|part| *part < 1_000_000)?;
            let start = seconds.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(microseconds)?;
            return Some(Parts::Darwin { start });
        }
        let rest = self.identity.strip_prefix("linux:")?;
        let (rest, start) = rest.rsplit_once(':')?;
        // A namespace may be written as the link names it, with a colon of its own.
        let (boot, namespace) = rest.split_once(':')?;
        Some(Parts::Linux { boot, namespace, start: start.parse().ok()? })
    }
}

/// The inode in the name of a namespace.
fn digits(namespace: &str) -> String {
    namespace.chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SimulatedProcesses;

    #[test]
    fn ex_loc_05_all_parts_of_an_identity_have_to_match() {
        let table = SimulatedProcesses::new(10, 500);
        let other = table.as_process(4242, 900);
        let process = RecordedProcess::of(4242, &table).expect("it runs");
        assert_eq!(process.identity, "linux:00000000-0000-4000-8000-000000000001:4026531836:900");
        assert_eq!(process.standing(&table), Standing::Alive { start: 900 });
        assert_eq!(process.standing(&other), Standing::Unproved, "a run is never the library's own process");
        table.start(4242, 15_000);
        assert_eq!(process.standing(&table), Standing::Gone, "another process has the pid");
        table.set(4242, ProcessFact::Zombie);
        assert_eq!(process.standing(&table), Standing::Zombie);
        table.set(4242, ProcessFact::Unreadable);
        assert_eq!(process.standing(&table), Standing::Unproved);
        table.end(4242);
        assert_eq!(process.standing(&table), Standing::Gone);
        table.start(4242, 900);
        table.set_pid_namespace("pid:[7]");
        assert_eq!(process.standing(&table), Standing::Unproved);
        assert_eq!(process.standing(&table.rebooted()), Standing::Gone);
        for identity in ["", "linux", "linux:a:1", "linux:a:1:x", "darwin:1.2", "linux::1:2"] {
            let malformed = RecordedProcess { pid: 4242, identity: identity.to_owned() };
            assert_eq!(malformed.standing(&table), Standing::Unproved, "{identity}");
        }
    }

    #[test]
    fn ex_loc_05_on_macos_the_start_alone_tells_one_process_from_all_others() {
        let table = SimulatedProcesses::new(10, 500);
        table.set_system(System::MacOs);
        table.start(4242, 1_700_000_000_000_321);
        let process = RecordedProcess::of(4242, &table).expect("it runs");
        assert_eq!(process.identity, "darwin:1700000000.000321");
        assert_eq!(process.start(), Some(1_700_000_000_000_321));
        assert_eq!(process.standing(&table), Standing::Alive { start: 1_700_000_000_000_321 });
        let padded = RecordedProcess { pid: 4242, identity: "darwin:1700000000.321".to_owned() };
        assert_eq!(padded.standing(&table), process.standing(&table), "the number counts, not its digits");
        table.start(4242, 1_700_000_000_000_322);
        assert_eq!(process.standing(&table), Standing::Gone, "another process has the pid");
        table.set(4242, ProcessFact::Unreadable);
        assert_eq!(process.standing(&table), Standing::Unproved);
        let rebooted = table.rebooted();
        assert_eq!(process.standing(&rebooted), Standing::Gone);
        table.set_boot("");
        table.set_pid_namespace("");
        table.end(4242);
        assert_eq!(process.standing(&table), Standing::Gone, "neither is a part of this identity");
        table.start(4242, 1_700_000_000_000_321);
        for identity in
            ["darwin:", "darwin:1", "darwin:1.1000000", "darwin:x.1", "darwin:1.-1", "linux:a:1:5"]
        {
            let malformed = RecordedProcess { pid: 4242, identity: identity.to_owned() };
            assert_eq!(malformed.standing(&table), Standing::Unproved, "{identity}");
        }
    }
}
