//! EX-SCH-29 to EX-SCH-31: dispatches that wait for a probe of their account.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gallivant_core::clock::Clock;
use gallivant_core::execution::{
    AbortToken, Boundary, DispatchLane, Dispatched, ExecutionOptions, HealthOptions, HealthScope,
    HealthStore, NoFaults, ProbeResult, drive,
};
use gallivant_core::json::Value;
use gallivant_core::testing::{MEMORY_CAPABILITY, ManualClock};
use gallivant_core::{Code, Host, Result};

use crate::execution_lanes::{Gauge, LONG};
use crate::support::memory_task::{START, Task, object, submit};

/// A clock that tells how often somebody has waited on it.
#[derive(Debug)]
struct Waits(ManualClock, AtomicUsize);

impl Clock for Waits {
    fn wall_ms(&self) -> u64 {
        self.0.wall_ms()
    }
    fn boot(&self) -> Duration {
        self.0.boot()
    }
    fn awake(&self) -> Duration {
        self.0.awake()
    }
    fn sleep(&self, length: Duration) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.sleep(length);
    }
}

/// A health store, and tasks of several accounts over it.
struct Clinic {
    task: Task,
    store: HealthStore,
    waits: Arc<Waits>,
}

impl Clinic {
    fn new() -> Self {
        let task = Task::new();
        let waits = Arc::new(Waits(ManualClock::new(START), AtomicUsize::new(0)));
        let host = Host { clock: Arc::clone(&waits) as _, ..task.host.clone() };
        let store = HealthStore::new(HealthOptions::new(task.root().join("health")), &host).expect("a store");
        Clinic { task, store, waits }
    }

    /// Until the lane that has just been started has joined its probes, and waits for them.
    fn lane_waits(&self) {
        let before = self.waits.1.load(Ordering::SeqCst);
        while self.waits.1.load(Ordering::SeqCst) == before {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The boundary of a task of this account, as its coordinator keeps it beside the account's scope.
    fn refused(&self, number: usize, account: &str) -> (HealthScope, Boundary) {
        let options = object(&format!(
            r#"{{"taskId":"t-{number}","provider":"memory","account":"{account}","budgetUsd":8,
                 "capabilities":{MEMORY_CAPABILITY},"transport":{{"methods":
                 ["prepare","submit","inspect","continue","collect","cancel","lookup"]}}}}"#
        ));
        let root = self.task.root().join(format!("task-{number}"));
        let options = ExecutionOptions::from_object(root, &options, Arc::new(NoFaults)).expect("options");
        let options = ExecutionOptions { health: Some(Arc::new(self.store.clone())), ..options };
        let boundary = Boundary::new(options, &self.task.host).expect("a boundary");
        let error = self.dispatch(&boundary).expect_err("nobody vouches for it");
        assert_eq!(error.code(), Code::ExecutionHealth);
        (scope(account), boundary)
    }

    fn dispatch(&self, boundary: &Boundary) -> Result<Value> {
        drive(submit(boundary, "op-1"), &self.task.transport, &AbortToken::new())
    }
}

fn scope(account: &str) -> HealthScope {
    HealthScope::new("memory", account)
}

fn success() -> ProbeResult {
    ProbeResult::Success { evidence: Value::Null }
}

fn failed() -> ProbeResult {
    let (code, remedy) = ("signed-out".to_owned(), "sign in again".to_owned());
    ProbeResult::Failure { code, remedy, evidence: Value::Null, retry_after_ms: None }
}

#[test]
fn ex_sch_29_a_dispatch_joins_the_scheduled_probe_and_is_retried_once_after_its_result() {
    let clinic = Clinic::new();
    let store = &clinic.store;
    let dispatches =
        ["a", "slow", "a", "none", "b"].iter().enumerate().map(|(n, account)| clinic.refused(n, account));
    let dispatches: Vec<_> = dispatches.collect();
    let scopes = || dispatches.iter().map(|(scope, _)| scope);
    let begin = |account| store.begin(&scope(account)).expect("begun").expect("not under way");
    let (a, slow, b) = (begin("a"), begin("slow"), begin("b"));

    let mut lane = DispatchLane::new(store, scopes(), 2).expect("a lane");
    assert_eq!(lane.retry_next(), None);
    assert!(lane.is_waiting());
    assert!(!store.scheduled(&scope("none")), "it starts no probe");
    a.record(success()).expect("saved");
    assert_eq!((lane.retry_next(), lane.retry_next()), (Some(0), Some(2)), "in their order");
    b.record(success()).expect("saved");
    assert_eq!(lane.retry_next(), None, "both slots are held, and none by the one that waits");
    lane.end(2).expect("it runs");
    assert_eq!(lane.end(2).expect_err("it has ended").code(), Code::ExecutionInput);
    assert_eq!(lane.retry_next(), Some(4));
    lane.end(0).expect("it runs");
    lane.end(4).expect("it runs");
    // A probe that begins later is not joined, however the one that was joined has ended.
    drop(slow);
    let later = begin("slow");
    assert_eq!(lane.retry_next(), None);
    assert!(!lane.is_waiting());
    later.record(success()).expect("saved");
    assert_eq!(lane.retry_next(), None, "each is told at most once");

    // The driver, with a probe that ends while it waits.
    let (a, slow) = (begin("a"), begin("slow"));
    let tried = AtomicUsize::new(0);
    let abort = AbortToken::new();
    let outcomes = std::thread::scope(|threads| {
        let lane = threads.spawn(|| {
            DispatchLane::run(store, &dispatches, 2, LONG, &abort, |boundary| {
                tried.fetch_add(1, Ordering::SeqCst);
                let outcome = clinic.dispatch(boundary);
                assert!(outcome.is_ok(), "{outcome:?}");
            })
        });
        clinic.lane_waits();
        a.record(success()).expect("saved");
        while tried.load(Ordering::SeqCst) < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        slow.record(success()).expect("saved");
        lane.join().expect("it ends").expect("a lane")
    });
    let retried: Vec<_> =
        outcomes.iter().map(|outcome| matches!(outcome, Dispatched::Retried(Ok(())))).collect();
    assert!(retried[0] && retried[1] && retried[2], "{retried:?}");
    assert_eq!(retried[3..], [false, false], "without a probe that was scheduled then");
    assert_eq!(clinic.task.transport.creates(), 3);
    assert_eq!(tried.load(Ordering::SeqCst), 3);
}

#[test]
fn ex_sch_29_a_thousand_dispatches_of_one_probe_are_retried_once_each_four_at_a_time() {
    let clinic = Clinic::new();
    let dispatches: Vec<_> = (0..1_000_usize).map(|number| (scope("a"), number)).collect();
    let refresh = clinic.store.begin(&scope("a")).expect("begun").expect("not under way");
    let (gauge, tried) = (Gauge::default(), Mutex::new(Vec::new()));
    let outcomes = std::thread::scope(|threads| {
        let lane = threads.spawn(|| {
            DispatchLane::run(&clinic.store, &dispatches, 4, LONG, &AbortToken::new(), |number| {
                gauge.within(|| tried.lock().expect("no panic").push(*number));
                *number
            })
        });
        clinic.lane_waits();
        assert!(tried.lock().expect("no panic").is_empty(), "before the result is saved");
        refresh.record(success()).expect("saved");
        lane.join().expect("it ends").expect("a lane")
    });
    let retried = outcomes.into_iter().map(|outcome| match outcome {
        Dispatched::Retried(number) => number.expect("no panic"),
        Dispatched::Refused => panic!("it was joined"),
    });
    assert_eq!(retried.collect::<Vec<_>>(), (0..1_000).collect::<Vec<_>>());
    assert_eq!(tried.into_inner().expect("no panic").len(), 1_000);
    assert!(gauge.most.load(Ordering::SeqCst) <= 4);
}

#[test]
fn ex_sch_30_a_retry_is_the_same_dispatch_with_all_its_checks() {
    let clinic = Clinic::new();
    let dispatches: Vec<_> = (0..3).map(|number| clinic.refused(number, "a")).collect();
    let abort = AbortToken::new();
    // Meanwhile one task is stopped, and another one's ledger comes to belong to somebody else.
    let stop = object(r#"{"reason":"enough","controlId":"stop-1"}"#);
    drive(dispatches[0].1.request_cancel(stop, abort.clone()), &clinic.task.transport, &abort)
        .expect("queued");
    let foreign = clinic.refused(7, "a").1;
    clinic.store.record(&scope("a"), success()).expect("saved");
    clinic.dispatch(&foreign).expect("accepted");
    let [from, to] = ["task-7", "task-1"].map(|task| clinic.task.root().join(task).join("execution.json"));
    std::fs::create_dir_all(to.parent().expect("a parent")).expect("a directory");
    std::fs::copy(from, to).expect("copied");

    let refresh = clinic.store.begin(&scope("a")).expect("begun").expect("not under way");
    let calls = clinic.task.transport.creates();
    let outcomes = std::thread::scope(|threads| {
        let lane = threads.spawn(|| {
            DispatchLane::run(&clinic.store, &dispatches, 4, LONG, &abort, |boundary| {
                clinic.dispatch(boundary)
            })
        });
        clinic.lane_waits();
        refresh.record(success()).expect("saved");
        lane.join().expect("it ends").expect("a lane")
    });
    let codes = outcomes.into_iter().map(|outcome| match outcome {
        Dispatched::Retried(outcome) => outcome.expect("no panic").err().map(|error| error.code()),
        Dispatched::Refused => panic!("it was retried"),
    });
    let wanted = [Some(Code::ExecutionFenced), Some(Code::ExecutionOwnership), None];
    assert_eq!(codes.collect::<Vec<_>>(), wanted);
    assert_eq!(clinic.task.transport.creates(), calls + 1);
}

#[test]
fn ex_sch_31_without_a_probe_or_after_a_failed_one_a_dispatch_stays_refused_and_as_it_was() {
    let clinic = Clinic::new();
    let (store, abort) = (&clinic.store, AbortToken::new());
    let dispatches: Vec<_> = (0..3).map(|number| clinic.refused(number, "a")).collect();
    let nobody = |_: &Boundary| panic!("it is not retried");
    let run = |wait| {
        let outcomes = DispatchLane::run(store, &dispatches, 2, wait, &abort, nobody).expect("a lane");
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Dispatched::Refused)), "{outcomes:?}");
    };
    let files = clinic.task.files();
    run(LONG);
    assert_eq!(clinic.task.files(), files, "at once, and unchanged");

    let refresh = store.begin(&scope("a")).expect("begun").expect("not under way");
    std::thread::scope(|threads| {
        let lane = threads.spawn(|| run(LONG));
        clinic.lane_waits();
        refresh.record(failed()).expect("saved");
        lane.join().expect("they stay refused");
    });
    let refresh = store.begin(&scope("a")).expect("begun").expect("not under way");
    run(Duration::from_millis(20));
    assert!(store.scheduled(&scope("a")), "a lane that waits no longer leaves the probe alone");
    let without_health = |files: std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>| {
        files
            .into_iter()
            .filter(|(path, _)| !path.starts_with(clinic.task.root().join("health")))
            .collect::<Vec<_>>()
    };
    assert_eq!(without_health(clinic.task.files()), without_health(files));

    // The next interval finds them as they were.
    refresh.record(success()).expect("saved");
    for (_, boundary) in &dispatches {
        assert!(clinic.dispatch(boundary).is_ok());
    }
    assert_eq!(clinic.task.transport.creates(), 3);
}
