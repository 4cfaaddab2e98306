//! A process as a record on disk names it: a pid, and an identity that no later process shares (EX-LOC-05).

use super::table::{ProcessFact, ProcessTable};

/// A process that some record names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedProcess {
    /// Process id, as its pid namespace counts.
    pub pid: u32,
    /// `linux:<boot id>:<inode of the pid namespace>:<start ticks>`.
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
    /// Neither can be proved: the record is malformed, the table cannot be read, or it counts the pids of another
    /// namespace. So too for a pid that no run can have: 0, 1 and this process's own.
    Unproved,
}

/// The parts of an identity.
struct Parts<'a> {
    boot: &'a str,
    namespace: &'a str,
    start: u64,
}

impl RecordedProcess {
    /// The process that runs now under this pid; none where there is none, or it cannot be read.
    #[must_use]
    pub fn of(pid: u32, table: &dyn ProcessTable) -> Option<Self> {
        match table.fact(pid) {
            ProcessFact::Running { start } => {
                let (boot, namespace) = (table.boot(), digits(&table.pid_namespace()));
                let is_known = !boot.is_empty() && !namespace.is_empty();
                is_known.then(|| RecordedProcess { pid, identity: identity(&boot, &namespace, start) })
            }
            ProcessFact::Zombie | ProcessFact::Absent | ProcessFact::Unreadable => None,
        }
    }

    /// A process of this boot and namespace that began at this time.
    #[must_use]
    pub fn at(pid: u32, start: u64, table: &dyn ProcessTable) -> Self {
        RecordedProcess { pid, identity: identity(&table.boot(), &digits(&table.pid_namespace()), start) }
    }

    /// Its start time in the table's unit; none for an identity that is none.
    #[must_use]
    pub fn start(&self) -> Option<u64> {
        self.parts().map(|parts| parts.start)
    }

    /// Whether it belongs to the boot that the table tells.
    #[must_use]
    pub fn is_of_this_boot(&self, table: &dyn ProcessTable) -> bool {
        self.parts().is_some_and(|parts| parts.boot == &*table.boot())
    }

    /// What the table proves. Other boots prove its end; another namespace proves nothing.
    #[must_use]
    pub fn standing(&self, table: &dyn ProcessTable) -> Standing {
        let Some(parts) = self.parts() else { return Standing::Unproved };
        let boot = table.boot();
        if self.pid < 2 || self.pid == table.own_pid() || boot.is_empty() || parts.boot.is_empty() {
            return Standing::Unproved;
        }
        if parts.boot != &*boot {
            return Standing::Gone;
        }
        let namespace = digits(&table.pid_namespace());
        if namespace.is_empty() || digits(parts.namespace) != namespace {
            return Standing::Unproved;
        }
        match table.fact(self.pid) {
            ProcessFact::Running { start } if start == parts.start => Standing::Alive { start },
            ProcessFact::Zombie => Standing::Zombie,
            ProcessFact::Running { .. } | ProcessFact::Absent => Standing::Gone,
            ProcessFact::Unreadable => Standing::Unproved,
        }
    }

    fn parts(&self) -> Option<Parts<'_>> {
        let rest = self.identity.strip_prefix("linux:")?;
        let (rest, start) = rest.rsplit_once(':')?;
        // A namespace may be written as the link names it, with a colon of its own.
        let (boot, namespace) = rest.split_once(':')?;
        Some(Parts { boot, namespace, start: start.parse().ok()? })
    }
}

fn identity(boot: &str, namespace: &str, start: u64) -> String {
    format!("linux:{boot}:{namespace}:{start}")
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
}
