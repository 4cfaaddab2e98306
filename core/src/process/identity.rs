//! What names one process for ever, and what can be proved about it.

use super::table::{ProcessFact, ProcessTable};

/// Names one process. A pid alone names nobody, because it is used again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Process id, as the process's own namespace counts.
    pub pid: u32,
    /// Start time in the unit of the system's process table (Linux: clock ticks since boot).
    pub start: u64,
    /// Identifies the boot of the machine; empty where the system does not tell.
    pub boot: String,
    /// Identifies the pid namespace; empty where the system does not tell.
    pub pid_namespace: String,
    /// Identifies the machine; empty where the system does not tell.
    pub host: String,
}

/// What can be proved about a process or a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Liveness {
    /// It runs.
    Alive,
    /// It is provably gone.
    Dead,
    /// Neither can be proved.
    Indeterminate,
}

impl Liveness {
    /// The lower-case word of the conformance protocol.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Liveness::Alive => "alive",
            Liveness::Dead => "dead",
            Liveness::Indeterminate => "indeterminate",
        }
    }

    /// The value of a word; `None` for any other word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "alive" => Some(Liveness::Alive),
            "dead" => Some(Liveness::Dead),
            "indeterminate" => Some(Liveness::Indeterminate),
            _ => None,
        }
    }
}

impl ProcessIdentity {
    /// What the table proves about this process.
    ///
    /// The same machine booted again proves death. Another machine, another or an unreadable pid namespace and
    /// an unreadable table prove nothing. A pid that now belongs to a process with another start time proves
    /// death, and so does a zombie; a stopped process, or one that may not be signalled, is alive.
    #[must_use]
    pub fn liveness(&self, table: &dyn ProcessTable) -> Liveness {
        if self.host.is_empty() || *self.host != *table.host() {
            return Liveness::Indeterminate;
        }
        let boot = table.boot();
        if self.boot.is_empty() || boot.is_empty() {
            return Liveness::Indeterminate;
        }
        if *self.boot != *boot {
            return Liveness::Dead;
        }
        let namespace = table.pid_namespace();
        if self.pid_namespace.is_empty() || self.pid_namespace != namespace {
            return Liveness::Indeterminate;
        }
        match table.fact(self.pid) {
            ProcessFact::Running { start } if start == self.start => Liveness::Alive,
            ProcessFact::Running { .. } | ProcessFact::Zombie | ProcessFact::Absent => Liveness::Dead,
            ProcessFact::Unreadable => Liveness::Indeterminate,
        }
    }
}
