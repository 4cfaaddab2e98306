//! The machine's own process table under another name.

use std::sync::Arc;

use crate::process::{Lineage, ProcessFact, ProcessTable, Signal, Signalled, TableEntry};

/// A process table that tells the facts of another one and says that they are those of another machine, or of another
/// boot: what two containers or two hosts with one store see of each other.
#[derive(Debug)]
pub struct RenamedMachine {
    table: Arc<dyn ProcessTable>,
    host: Option<Arc<str>>,
    boot: Option<Arc<str>>,
}

impl RenamedMachine {
    /// The facts of this table; none leaves a name as it is.
    #[must_use]
    pub fn new(table: Arc<dyn ProcessTable>, host: Option<&str>, boot: Option<&str>) -> Self {
        RenamedMachine { table, host: host.map(Arc::from), boot: boot.map(Arc::from) }
    }
}

impl ProcessTable for RenamedMachine {
    fn own_pid(&self) -> u32 {
        self.table.own_pid()
    }

    fn fact(&self, pid: u32) -> ProcessFact {
        self.table.fact(pid)
    }

    fn own_start(&self) -> u64 {
        self.table.own_start()
    }

    fn boot(&self) -> Arc<str> {
        self.boot.clone().unwrap_or_else(|| self.table.boot())
    }

    fn pid_namespace(&self) -> String {
        self.table.pid_namespace()
    }

    fn host(&self) -> Arc<str> {
        self.host.clone().unwrap_or_else(|| self.table.host())
    }

    fn lineage(&self, pid: u32) -> Option<Lineage> {
        self.table.lineage(pid)
    }

    fn entries(&self) -> Option<Vec<TableEntry>> {
        self.table.entries()
    }

    fn was_started_with(&self, pid: u32, variable: &str) -> Option<bool> {
        self.table.was_started_with(pid, variable)
    }

    fn signal(&self, pid: u32, start: u64, signal: Signal) -> Signalled {
        self.table.signal(pid, start, signal)
    }
}
