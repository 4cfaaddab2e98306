//! What passes over live runs ask of the machine, counted: the disk through a file system that records, the process table through
//! one that counts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gallivant_core::execution::{AbortToken, LocalRuns};
use gallivant_core::process::{
    Lineage, ProcessFact, ProcessTable, Signal, Signalled, SystemProcessTable, TableEntry,
};
use gallivant_core::testing::{InjectingFileSystem, OperationKind, OperationRecord};

use crate::ground::{Ground, eventually};

/// The machine's table, with a count of what it is asked.
#[derive(Debug, Default)]
struct Counted {
    processes: AtomicUsize,
    tables: AtomicUsize,
    environments: AtomicUsize,
}

impl Counted {
    /// Looks at one process, at all of them, and at environments, since the last time.
    fn taken(&self) -> (usize, usize, usize) {
        let take = |count: &AtomicUsize| count.swap(0, Ordering::Relaxed);
        (take(&self.processes), take(&self.tables), take(&self.environments))
    }
}

impl ProcessTable for Counted {
    fn own_pid(&self) -> u32 {
        SystemProcessTable.own_pid()
    }

    fn own(&self) -> (u32, u64) {
        SystemProcessTable.own()
    }

    fn own_group(&self) -> Option<u32> {
        SystemProcessTable.own_group()
    }

    fn fact(&self, pid: u32) -> ProcessFact {
        self.processes.fetch_add(1, Ordering::Relaxed);
        SystemProcessTable.fact(pid)
    }

    fn boot(&self) -> Arc<str> {
        SystemProcessTable.boot()
    }

    fn pid_namespace(&self) -> String {
        SystemProcessTable.pid_namespace()
    }

    fn host(&self) -> Arc<str> {
        SystemProcessTable.host()
    }

    fn lineage(&self, pid: u32) -> Option<Lineage> {
        self.processes.fetch_add(1, Ordering::Relaxed);
        SystemProcessTable.lineage(pid)
    }

    fn entries(&self) -> Option<Vec<TableEntry>> {
        self.tables.fetch_add(1, Ordering::Relaxed);
        SystemProcessTable.entries()
    }

    fn was_started_with(&self, pid: u32, variable: &str) -> Option<bool> {
        self.environments.fetch_add(1, Ordering::Relaxed);
        SystemProcessTable.was_started_with(pid, variable)
    }

    fn signal(&self, pid: u32, start: u64, signal: Signal) -> Signalled {
        SystemProcessTable.signal(pid, start, signal)
    }
}

/// A coordinator of so many tasks with a live run each.
struct Fleet {
    grounds: Vec<Ground>,
    runs: Vec<LocalRuns>,
    files: InjectingFileSystem,
    table: Arc<Counted>,
    seen: usize,
}

impl Fleet {
    fn of(count: usize) -> Self {
        let table = Arc::new(Counted::default());
        let mut files = None;
        let grounds: Vec<Ground> = (0..count)
            .map(|_| {
                let mut ground = Ground::new();
                let recording =
                    files.get_or_insert_with(|| InjectingFileSystem::new(Arc::clone(&ground.host.files)));
                ground.host.files = Arc::new(recording.clone());
                ground.host.processes = table.clone();
                ground
            })
            .collect();
        let runs: Vec<LocalRuns> = grounds.iter().map(Ground::runs).collect();
        for (ground, runs) in grounds.iter().zip(&runs) {
            let script =
                "echo begun; while true; do if test -e say; then rm say; echo said; fi; sleep 0.2; done";
            let input = crate::ground::object(&ground.script(1, script));
            runs.start(input, &AbortToken::new()).expect("it starts");
        }
        Fleet { grounds, runs, files: files.expect("one at least"), table, seen: 0 }
    }

    fn pass(&self) {
        for runs in &self.runs {
            runs.pass(&AbortToken::new()).expect("a pass");
        }
    }

    /// The operations since the last time.
    fn made(&mut self) -> Vec<OperationRecord> {
        let made = self.files.operations().split_off(self.seen);
        self.seen += made.len();
        made
    }
}

/// The names of what was read, with how often. Whoever asks for a file that is not there has read nothing.
fn read(made: &[OperationRecord]) -> BTreeMap<&str, usize> {
    let mut names = BTreeMap::new();
    for operation in made.iter().filter(|operation| is_read(operation.kind)) {
        let name = operation.text.split_once(' ').map_or("", |(_, name)| name);
        if Path::new(&operation.directory).join(name).exists() {
            *names.entry(name).or_default() += 1;
        }
    }
    names
}

fn is_read(kind: OperationKind) -> bool {
    kind.word().contains("read")
}

#[test]
fn a_pass_over_a_hundred_live_runs_reads_only_what_has_changed() {
    const RUNS: usize = 100;
    let mut fleet = Fleet::of(RUNS);
    // What they have said at their beginning is taken in.
    eventually("a pass that takes nothing in", || {
        fleet.pass();
        let taken = |runs: &LocalRuns| runs.lines("run-1", None, 10).expect("lines").rows.len();
        fleet.runs.iter().all(|runs| taken(runs) >= 1)
    });
    fleet.pass();
    fleet.made();
    fleet.table.taken();
    fleet.pass();
    let quiet = fleet.made();
    let (processes, tables, environments) = fleet.table.taken();
    println!("quiet: {processes} processes, {tables} tables; {:?}", read(&quiet));
    // Each pass has saved when it looked: these two are not what they were. Of all others nothing is read.
    let reads = read(&quiet);
    assert!(reads.keys().copied().eq(["execution.json", "job.json"]), "{reads:?}");
    assert!(reads.values().all(|reads| *reads <= RUNS), "{reads:?}");
    assert_eq!((tables, environments), (0, 0), "no table is read as a whole for a harness that runs");
    assert!(processes <= 2 * RUNS, "the harness and its supervisor: {processes}");
    let of_output = |made: &[OperationRecord]| -> Vec<String> {
        let reads = made.iter().filter(|operation| is_read(operation.kind));
        reads
            .filter(|operation| operation.text.contains("provider.log"))
            .map(|o| o.directory.clone())
            .collect()
    };
    assert_eq!(of_output(&quiet), Vec::<String>::new());
    // One of them says something.
    std::fs::write(fleet.grounds[41].place().join("say"), "").expect("written");
    eventually("what it says", || fleet.grounds[41].text("run-1/provider.log").contains("said"));
    fleet.pass();
    let loud = fleet.made();
    let mut places = of_output(&loud);
    places.dedup();
    assert_eq!(places.len(), 1, "{places:?}");
    assert!(std::path::Path::new(&places[0]).starts_with(fleet.grounds[41].task()), "{places:?}");
    let more = loud.len() - quiet.len();
    assert!(more < 100, "all others do what they did: {more}");
}
