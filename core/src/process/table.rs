//! The trait through which facts about processes come in, and the machine's own table.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::signal::{Signal, Signalled};
use super::{ProcessIdentity, TableEntry};

/// Facts about processes of this machine, as this process's pid namespace counts them.
pub trait ProcessTable: Send + Sync + fmt::Debug {
    /// Of which system it tells.
    fn system(&self) -> System {
        System::Linux
    }
    /// This process's pid. Read anew at each call, because a fork changes it.
    fn own_pid(&self) -> u32;
    /// What is known of a pid.
    fn fact(&self, pid: u32) -> ProcessFact;
    /// This process's start time in the table's unit; 0 where it cannot be read.
    fn own_start(&self) -> u64 {
        match self.fact(self.own_pid()) {
            ProcessFact::Running { start } => start,
            ProcessFact::Zombie | ProcessFact::Absent | ProcessFact::Unreadable => 0,
        }
    }
    /// This process's pid and its start time at once.
    fn own(&self) -> (u32, u64) {
        (self.own_pid(), self.own_start())
    }
    /// Identifies the present boot; empty where the system does not tell.
    fn boot(&self) -> Arc<str>;
    /// Identifies this process's pid namespace; empty where the system does not tell.
    fn pid_namespace(&self) -> String;
    /// Identifies the machine; empty where the system does not tell.
    fn host(&self) -> Arc<str>;
    /// What is known of a process's place among the others; `None` where it cannot be read.
    fn lineage(&self, pid: u32) -> Option<Lineage>;
    /// The parent of this process; 0 where it has none in this namespace, `None` where it cannot be read.
    fn own_parent(&self) -> Option<u32> {
        self.lineage(self.own_pid()).map(|own| own.parent)
    }

    /// The process group of this process; `None` where it cannot be read.
    fn own_group(&self) -> Option<u32> {
        let own = self.own_pid();
        self.entries()?.iter().find(|entry| entry.pid == own).map(|entry| entry.group)
    }

    /// Every process that the table shows; `None` where it cannot be read as a whole, as where nobody has said how.
    fn entries(&self) -> Option<Vec<TableEntry>> {
        None
    }
    /// Whether a process was started with this variable, `NAME=value`, in its environment; `None` where that cannot be read.
    fn was_started_with(&self, pid: u32, variable: &str) -> Option<bool> {
        let _ = (pid, variable);
        None
    }
    /// Sends a signal to the process that has this pid and began at this time, and to no other. Never to the pids 0 and 1 and
    /// to this process. A table that does not know how refuses.
    fn signal(&self, pid: u32, start: u64, signal: Signal) -> Signalled {
        let _ = (pid, start, signal);
        Signalled::Refused
    }

    /// The identity of a process that runs now; `None` when there is no such process or it cannot be read.
    fn identify(&self, pid: u32) -> Option<ProcessIdentity> {
        match self.fact(pid) {
            ProcessFact::Running { start } => Some(ProcessIdentity {
                pid,
                start,
                boot: self.boot().to_string(),
                pid_namespace: self.pid_namespace(),
                host: self.host().to_string(),
            }),
            ProcessFact::Zombie | ProcessFact::Absent | ProcessFact::Unreadable => None,
        }
    }
}

/// The systems whose processes can be named for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum System {
    /// Start times are ticks since boot, which mean something together with the boot and the pid namespace.
    Linux,
    /// Start times are microseconds since 1970, which no other process of the same pid shares, of whichever boot.
    MacOs,
}

impl System {
    /// Whether a process that has asked for it takes in whoever loses a parent below it, so that everything which it has
    /// ever started stands below it for as long as it lives. Linux has had it since 3.4.
    #[must_use]
    pub const fn keeps_orphans(self) -> bool {
        matches!(self, System::Linux)
    }
}

/// What is known of a pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessFact {
    /// A process runs or is stopped under this pid.
    Running {
        /// Its start time in the table's unit.
        start: u64,
    },
    /// It has ended and only waits for its parent.
    Zombie,
    /// No process has this pid.
    Absent,
    /// The table cannot be read, or says nothing that can be understood.
    Unreadable,
}

/// A process's parent, and the names under which it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// Its start time in the table's unit.
    pub start: u64,
    /// Its parent's pid; 0 where it has none in this namespace.
    pub parent: u32,
    /// The name that the system keeps, which Linux cuts after 15 bytes and macOS after 31.
    pub name: String,
    /// The arguments with which it was started, the program's own name first; empty where they cannot be read.
    pub arguments: Vec<String>,
}

/// The process table of the machine.
///
/// Linux: `/proc/<pid>/stat`, `/proc/sys/kernel/random/boot_id`, the link `/proc/self/ns/pid`, `/etc/machine-id`
/// or else the node name. macOS: `proc_pidinfo`, `proc_listallpids`, `getsid`, the variables `kern.bootsessionuuid` and
/// `kern.procargs2`, `gethostuuid` or else the node name. Elsewhere a missing process is known by `kill(pid, 0)`, and nothing
/// else is.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemProcessTable;

/// A start time in the table's unit as time since boot, on the clock that counts sleep; `None` where the system does
/// not tell.
#[must_use]
pub fn since_boot(start: u64) -> Option<Duration> {
    super::machine::since_boot(start)
}

/// Whether no process has this pid, a zombie being one.
#[cfg(not(target_os = "macos"))]
pub(super) fn absent_by_signal(pid: u32) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return true };
    match rustix::process::Pid::from_raw(pid) {
        Some(pid) => rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH),
        None => true,
    }
}
