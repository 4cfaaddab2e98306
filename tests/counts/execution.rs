//! What the calls of the execution layer ask of the disk, as the recording directory sees it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gallivant_core::execution::{Boundary, Machine, NoFaults, Reply, Step};
use gallivant_core::testing::{OperationKind, OperationRecord, Simulation, simulated_host};
use serde_json::json;

use crate::boundary::{ROOT, boundary, dispatch_input, no_abort, object, options};
use crate::provider::Provider;

/// A task whose first run has ended, its boundary and its provider.
struct Task {
    machine: Simulation,
    boundary: Boundary,
    provider: Provider,
}

impl Task {
    fn new() -> Task {
        let (host, machine) = simulated_host(1);
        let boundary = boundary(ROOT, &options(), &host, Arc::new(NoFaults));
        Task { machine, boundary, provider: Provider::new() }
    }

    /// One whose run is live.
    fn running() -> Task {
        let mut task = Task::new();
        let submit = task.boundary.submit(object(&dispatch_input("op-1")), no_abort());
        task.run(submit, |_| {});
        task
    }

    /// Runs a machine with honest answers; `at_call` is asked at each call.
    fn run(&mut self, mut machine: Machine, mut at_call: impl FnMut(&Task)) {
        let mut step = machine.start();
        while let Step::Call(call) = step {
            at_call(self);
            let now = self.machine.host().clock.wall_ms();
            let said = self.provider.answer(&call, now).to_string();
            step = machine.reply(call.id, Reply::Value(said)).expect("outstanding");
        }
        let Step::Done(outcome) = step else { unreachable!("the loop ends with it") };
        outcome.unwrap_or_else(|error| panic!("{error}"));
    }

    /// The operations since the last look.
    fn made(&self) -> Vec<OperationRecord> {
        let made = self.machine.files.operations();
        self.machine.files.forget_operations();
        made
    }

    fn later(&self) {
        self.machine.clock.advance(Duration::from_secs(60));
    }
}

fn count(made: &[OperationRecord], kind: OperationKind) -> usize {
    made.iter().filter(|operation| operation.kind == kind).count()
}

/// The Persists by the names that they replaced.
fn persists(made: &[OperationRecord]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for operation in made.iter().filter(|operation| operation.kind == OperationKind::Rename) {
        let name = operation.text.rsplit(' ').next().expect("a name").to_owned();
        *found.entry(name).or_default() += 1;
    }
    found
}

#[test]
fn ex_led_28_a_submit_is_two_persists_of_the_ledger_one_of_them_before_its_call() {
    let mut task = Task::running();
    let now = task.machine.host().clock.wall_ms();
    let key = task.provider.jobs.keys().next().expect("a job").clone();
    task.provider.goes_on(&key, 0, "succeeded", now);
    let startup = task.boundary.startup(no_abort());
    task.run(startup, |_| {});
    task.later();
    task.made();
    let submit = task.boundary.submit(object(&dispatch_input("op-2")), no_abort());
    let mut before = BTreeMap::new();
    task.run(submit, |task| before = persists(&task.machine.files.operations()));
    let made = task.made();
    assert_eq!(before.get("execution.json"), Some(&1), "{before:?}");
    assert_eq!(persists(&made).get("execution.json"), Some(&2), "{made:#?}");
    // A Persist of the ledger is one new file, one sync of it, and one of its directory; the job record is a copy, whose name
    // is not synced; the run's directory is made with one more.
    let persisted: usize = persists(&made).values().sum();
    assert_eq!(persisted, 4, "{:?}", persists(&made));
    assert_eq!((count(&made, OperationKind::Create), count(&made, OperationKind::Write)), (4, 4));
    assert_eq!((count(&made, OperationKind::Sync), count(&made, OperationKind::SyncDirectory)), (4, 3));
    assert_eq!(count(&made, OperationKind::TryLock), 1, "{made:#?}");
}

#[test]
fn ex_led_22_a_reused_operation_writes_nothing() {
    let mut task = Task::running();
    task.made();
    let submit = task.boundary.submit(object(&dispatch_input("op-1")), no_abort());
    task.run(submit, |_| panic!("nothing is called"));
    let made = task.made();
    let written = made.iter().find(|operation| {
        operation.kind.is_mutating()
            && !matches!(operation.kind, OperationKind::OpenLock | OperationKind::SetLockContents)
    });
    assert!(written.is_none(), "{written:?}");
}

#[test]
fn ex_rec_14_a_due_pass_without_events_is_two_persists_at_most() {
    let mut task = Task::running();
    task.later();
    let startup = task.boundary.startup(no_abort());
    task.run(startup, |_| {});
    for _ in 0..3 {
        task.later();
        task.made();
        let pass = task.boundary.reconcile(false, no_abort());
        task.run(pass, |_| {});
        let made = task.made();
        let persisted = persists(&made);
        assert_eq!(persisted.get("execution.json"), Some(&1), "{persisted:?}");
        assert!(persisted.values().sum::<usize>() <= 2, "{persisted:?}");
        assert!(count(&made, OperationKind::Sync) <= 2 && count(&made, OperationKind::SyncDirectory) <= 2);
    }
}

#[test]
fn ex_can_52_a_stop_is_queued_with_two_syncs_while_a_pass_waits_for_its_provider() {
    let mut task = Task::running();
    let queue = |other: &Boundary, id: &str| {
        let input = json!({"reason": "enough", "controlId": id});
        let mut machine = other.request_cancel(object(&input), no_abort());
        let Step::Done(outcome) = machine.start() else { panic!("it calls nobody") };
        outcome.unwrap_or_else(|error| panic!("{error}"));
    };
    let beside = task.machine.another_process();
    let other = boundary(ROOT, &options(), &beside.host(), Arc::new(NoFaults));
    let syncs = || {
        let made = beside.files.operations();
        beside.files.forget_operations();
        count(&made, OperationKind::Sync) + count(&made, OperationKind::SyncDirectory)
    };
    task.later();
    let pass = task.boundary.reconcile(true, no_abort());
    let mut found = Vec::new();
    task.run(pass, |_| {
        for id in ["c-1", "c-2", "c-3"] {
            queue(&other, id);
            found.push(syncs());
        }
    });
    assert_eq!(found, [2, 2, 2]);
}

#[test]
fn part_of_ex_can_52_a_stop_that_finds_no_directory_makes_its_name_durable_with_a_third_sync() {
    let task = Task::running();
    let root = task.machine.host().files.open(Path::new(ROOT)).expect("it is there");
    let queue = |id: &str| {
        let input = json!({"reason": "enough", "controlId": id});
        let before = task.machine.files.operations().len();
        let mut machine = task.boundary.request_cancel(object(&input), no_abort());
        let Step::Done(outcome) = machine.start() else { panic!("it calls nobody") };
        outcome.unwrap_or_else(|error| panic!("{error}"));
        let made = task.machine.files.operations().split_off(before);
        count(&made, OperationKind::Sync) + count(&made, OperationKind::SyncDirectory)
    };
    root.remove_directory("controls").expect("it is empty");
    assert_eq!(queue("c-1"), 3);
    assert!(root.metadata(".controls-unsynced").is_err());
    assert_eq!(queue("c-2"), 2);
    // Whoever made it died before its sync.
    for name in ["c-1.json", "c-2.json"] {
        root.open_directory("controls").expect("it is there").remove(name).expect("it is there");
    }
    root.append(".controls-unsynced", b"").expect("it is made");
    assert_eq!(queue("c-3"), 3);
    assert!(root.metadata(".controls-unsynced").is_err());
}

#[test]
fn ex_bnd_20_a_cached_inspection_opens_the_root_and_reads_one_file() {
    let task = Task::running();
    task.boundary.inspect().expect("it reads");
    task.made();
    task.boundary.inspect().expect("it reads");
    let made: Vec<_> = task.made().iter().map(|operation| operation.kind).collect();
    assert_eq!(made, [OperationKind::Open, OperationKind::Read]);
}

#[test]
fn part_of_ex_rec_14_a_page_of_a_hundred_events_is_the_journals_writes_and_one_persist_of_the_ledger() {
    let mut task = Task::running();
    let mut cursor = 0;
    // The first page makes the journal; the second is what is counted.
    for page in 0..2 {
        task.later();
        task.made();
        let mut machine = task.boundary.reconcile(true, no_abort());
        let Step::Call(call) = machine.start() else { panic!("it inspects") };
        let now = task.machine.host().clock.wall_ms();
        let mut said = task.provider.answer(&call, now);
        let events = (0..100).map(
            |at| json!({"eventId": format!("e-{page}-{at}"), "type": "output", "data": "x".repeat(300)}),
        );
        said["events"] = events.collect();
        cursor += 100;
        said["cursor"] = json!(cursor);
        let done = machine.reply(call.id, Reply::Value(said.to_string())).expect("outstanding");
        assert!(matches!(done, Step::Done(Ok(_))));
    }
    let made = task.made();
    // The append of EX-JRN-12 by its own count: two replacements of the checkpoint and the log; then the projection.
    let syncs: Vec<&str> = made.iter().filter(|one| one.kind == OperationKind::Sync).map(name_of).collect();
    let replaced = persists(&made);
    assert_eq!(syncs.iter().filter(|name| **name == "events.jsonl").count(), 1, "{syncs:?}");
    assert_eq!(replaced.get("journal.json"), Some(&2), "{replaced:?}");
    let projection = ["job.log", "job.idx"];
    assert_eq!(syncs.iter().filter(|name| projection.contains(name)).count(), 2, "{syncs:?}");
    assert_eq!(replaced.get("log-meta.json"), Some(&1), "{replaced:?}");
    // Beside the journal: the ledger once, and the copy of its metadata that EX-LED-11 asks for, whose name is not synced.
    let beside: BTreeMap<_, _> = replaced
        .iter()
        .filter(|(name, _)| !["journal.json", "log-meta.json"].contains(&name.as_str()))
        .collect();
    let wanted = [("execution.json".to_owned(), 1), ("job.json".to_owned(), 1)];
    assert_eq!(beside, wanted.iter().map(|(name, count)| (name, count)).collect(), "{made:#?}");
    assert_eq!((syncs.len(), count(&made, OperationKind::SyncDirectory)), (8, 5), "{syncs:?}");
}

/// The last name of an operation's text.
fn name_of(operation: &OperationRecord) -> &str {
    operation.text.rsplit(' ').next().expect("a name")
}
