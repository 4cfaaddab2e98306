//! All processes at once, and which of them stand below others.

use std::collections::{BTreeMap, BTreeSet};

/// One process of a table that was read as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableEntry {
    /// Its pid.
    pub pid: u32,
    /// Its parent's pid; 0 where it has none in this namespace.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Its session.
    pub session: u32,
    /// Its start time in the table's unit.
    pub start: u64,
    /// Whether it runs.
    pub activity: Activity,
}

/// Whether a process of a table runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It runs, or could.
    Running,
    /// It was stopped by a signal, and would not take another one up before it is continued.
    Stopped,
    /// It has ended and only waits for its parent.
    Zombie,
}

/// The pids of these processes and of all below them, as the table shows them. The table is read process by process and not
/// at one instant: a child that was forked meanwhile may be missing.
#[must_use]
pub fn descendants(entries: &[TableEntry], roots: impl IntoIterator<Item = u32>) -> BTreeSet<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in entries {
        children.entry(entry.parent).or_default().push(entry.pid);
    }
    let mut found = BTreeSet::new();
    let mut next: Vec<u32> = roots.into_iter().collect();
    while let Some(pid) = next.pop() {
        if found.insert(pid) {
            next.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_below_is_found_once() {
        let entry = |pid, parent| TableEntry {
            pid,
            parent,
            group: pid,
            session: pid,
            start: 1,
            activity: Activity::Running,
        };
        let entries = [entry(1, 0), entry(5, 1), entry(6, 5), entry(7, 6), entry(8, 1), entry(9, 9)];
        assert_eq!(descendants(&entries, [5]), BTreeSet::from([5, 6, 7]));
        assert_eq!(descendants(&entries, [6, 8]), BTreeSet::from([6, 7, 8]));
        assert_eq!(
            descendants(&entries, [9]),
            BTreeSet::from([9]),
            "a table that was read while pids were reused"
        );
    }
}
