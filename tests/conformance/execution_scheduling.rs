//! EX-SCH-22, EX-SCH-24, EX-SCH-27, EX-SCH-28, EX-SCH-32: when passes are due, and how they, probes and reviews stay apart.

use std::sync::Arc;

use gallivant_core::execution::{
    AbortToken, Boundary, ExecutionOptions, HealthOptions, HealthScope, HealthStore, Lane, Limits,
    ProbeResult, ProgressLane,
};
use gallivant_core::json::Value;
use gallivant_core::{Code, Error};
use serde_json::json;

use crate::support::NOW;
use crate::support::pass::{observation, says};
use crate::support::task::{Answer, TaskRoot, dispatch, drive, io_error, object};

/// A run whose inspection has failed once, and when the next one is due.
fn failed_once() -> (TaskRoot, u64) {
    let task = TaskRoot::new();
    task.accepted(1);
    task.machine.advance_ms(10_000);
    let report = task.pass([Answer::Fails(io_error())]).ok();
    assert_eq!(report["error"]["code"], "EXECUTION_IO");
    let due = task.run(1)["nextAttemptAt"].as_u64().expect("a time");
    let delay = due - (NOW + 10_000);
    assert!((5_000..=10_000).contains(&delay), "{delay}");
    (task, due)
}

#[test]
fn ex_sch_22_a_saved_retry_time_holds_after_a_restart_but_for_startup() {
    let (task, due) = failed_once();
    // Each of these is a new boundary, as after a restart.
    task.machine.set_wall_ms(due - 1);
    assert!(!task.boundary().is_due().expect("read"));
    assert_eq!(task.pass([]).ok()["called"], json!([]));
    assert_eq!(task.run(1)["nextAttemptAt"], due, "and it is the same time still");
    let report = task.first_pass([Answer::Fails(io_error())]).ok();
    assert_eq!(report["called"], json!(["inspect"]));
    let next = task.run(1)["nextAttemptAt"].as_u64().expect("a time");
    assert!(next > due);
    task.machine.set_wall_ms(next - 1);
    assert_eq!(task.pass([]).ok()["called"], json!([]), "later passes obey again");
    task.machine.set_wall_ms(next);
    assert!(task.boundary().is_due().expect("read"));
    assert_eq!(task.pass([says(observation(1, "running"))]).ok()["called"], json!(["inspect"]));
}

#[test]
fn ex_sch_24_a_clock_that_goes_back_makes_no_saved_time_later() {
    let (task, due) = failed_once();
    task.machine.set_wall_ms(NOW + 1);
    assert_eq!(task.pass([]).ok()["called"], json!([]));
    assert_eq!(task.run(1)["nextAttemptAt"], due);
    assert!(!task.boundary().is_due().expect("read"));
    task.machine.set_wall_ms(due);
    assert_eq!(task.pass([says(observation(1, "running"))]).ok()["called"], json!(["inspect"]));

    // The same of a health check.
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = HealthStore::new(HealthOptions::new(directory.path()), task.machine.host()).expect("a store");
    let scope = HealthScope::new("prov", "acct");
    let next = store.record(&scope, failure()).expect("saved").next_attempt_at_ms;
    assert_eq!(store.due(NOW).expect("read"), []);
    assert_eq!(
        store.health_status(&scope).expect("read").map(|record| record.next_attempt_at_ms),
        Some(next)
    );
    assert_eq!(store.due(next).expect("read"), [scope]);
}

fn failure() -> ProbeResult {
    let (code, remedy) = ("signed-out".to_owned(), "sign in again".to_owned());
    ProbeResult::Failure { code, remedy, evidence: Value::Null, retry_after_ms: None }
}

#[test]
fn ex_sch_27_two_lanes_share_no_slots() {
    let mut progress = Lane::new(3, 1).expect("a lane");
    let mut review = Lane::new(3, 2).expect("a lane");
    assert_eq!((progress.start_next(), progress.start_next()), (Some(0), None));
    assert_eq!((review.start_next(), review.start_next(), review.start_next()), (Some(0), Some(1), None));
    review.end(0).expect("it runs");
    assert_eq!(progress.start_next(), None, "a slot of the other lane");
    assert_eq!(review.start_next(), Some(2));

    // Within a lane that is full of what waits, another one runs to its end.
    let outer = Lane::run(&[0, 1], 2, |_| Lane::run(&[0, 1, 2], 1, |task| *task).expect("a lane").len());
    let lengths: Result<Vec<_>, Error> = outer.expect("a lane").into_iter().collect();
    assert_eq!(lengths.expect("well"), [3, 3]);
}

#[test]
fn ex_sch_28_begin_marks_a_scope_before_the_lanes_start() {
    let task = TaskRoot::new();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = HealthStore::new(HealthOptions::new(directory.path()), task.machine.host()).expect("a store");
    let scope = HealthScope::new("prov", "acct");
    store.record(&scope, ProbeResult::Success { evidence: Value::Null }).expect("saved");
    let options = ExecutionOptions { health: Some(Arc::new(store.clone())), ..task.options() };
    let boundary = Boundary::new(options, task.machine.host()).expect("a boundary");
    task.machine.advance_ms(60_000);
    let due = store.due(task.machine.host().clock.wall_ms()).expect("read");
    assert_eq!(due, std::slice::from_ref(&scope));
    let refreshes: Vec<_> =
        due.iter().map(|scope| store.begin(scope).expect("begun").expect("not under way")).collect();
    // From here on a lane's dispatch is refused and finds the probe that it may join, whether its worker has begun or not.
    assert!(store.scheduled(&scope));
    let submit = || boundary.submit(object(&dispatch(1)), AbortToken::new());
    assert_eq!(drive(submit(), &task, []).refusal(), (Code::ExecutionHealth, None));
    // Passes go on beside it.
    assert!(
        ProgressLane::run(std::slice::from_ref(&boundary), 1, &AbortToken::new(), |_, _| Ok(Value::Null))
            .expect("a lane")
            .is_empty()
    );
    for refresh in refreshes {
        refresh.record(ProbeResult::Success { evidence: Value::Null }).expect("saved");
    }
    let accepted = [says(crate::support::task::acknowledgement(1))];
    assert_eq!(drive(submit(), &task, accepted).ok()["acceptance"], "accepted");
}

#[test]
fn ex_sch_32_passes_come_when_their_own_time_comes_however_often_a_coordinator_asks() {
    let names: Vec<_> = Limits::default()
        .to_value()
        .as_object()
        .expect("an object")
        .iter()
        .map(|(name, _)| name.to_owned())
        .collect();
    assert!(
        !names.iter().any(|name| name.to_lowercase().contains("review") || name.contains("poll")),
        "{names:?}"
    );
    for interval_ms in [1_000, 3_000, 10_000, 25_000] {
        let task = TaskRoot::new();
        task.accepted(1);
        let boundary = task.boundary();
        let mut passes = Vec::new();
        for tick in 1..=60_000 / interval_ms {
            let now = NOW + tick * interval_ms;
            task.machine.set_wall_ms(now);
            let reports =
                ProgressLane::run(std::slice::from_ref(&boundary), 1, &AbortToken::new(), |_, machine| {
                    Ok(Value::from(drive(machine, &task, [says(observation(1, "running"))]).ok().to_string()))
                });
            let reports = reports.expect("a lane");
            if let [progress] = &reports[..] {
                assert!(progress.report.is_ok(), "{progress:?}");
                passes.push(now - NOW);
            }
        }
        // At the first tick that is 10 s after the pass before it: never earlier, and no later than that.
        let mut wanted = Vec::new();
        let mut due = 10_000;
        for at in (1..=60_000 / interval_ms).map(|tick| tick * interval_ms) {
            if at >= due {
                wanted.push(at);
                due = at + 10_000;
            }
        }
        assert_eq!(passes, wanted, "{interval_ms}");
    }
}
