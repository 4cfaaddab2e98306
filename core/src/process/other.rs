//! A system whose processes nobody here knows how to name: a missing one is known by `kill(pid, 0)`, and nothing else is.

use std::sync::Arc;
use std::time::Duration;

use super::table::absent_by_signal;
use super::{Lineage, ProcessFact, ProcessTable, SystemProcessTable};

#[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's process facts")]
impl ProcessTable for SystemProcessTable {
    fn own_pid(&self) -> u32 {
        std::process::id()
    }

    fn fact(&self, pid: u32) -> ProcessFact {
        if absent_by_signal(pid) { ProcessFact::Absent } else { ProcessFact::Unreadable }
    }

    fn boot(&self) -> Arc<str> {
        "".into()
    }

    fn pid_namespace(&self) -> String {
        String::new()
    }

    fn host(&self) -> Arc<str> {
        rustix::system::uname().nodename().to_string_lossy().into()
    }

    fn lineage(&self, _pid: u32) -> Option<Lineage> {
        None
    }
}

/// Nothing is known of start times.
pub(super) fn since_boot(_start: u64) -> Option<Duration> {
    None
}
