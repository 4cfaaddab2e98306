//! EX-REC-01 to EX-REC-07 and EX-REC-24 to EX-REC-39: the pass, its checks and its order, when it is due, and what ends a run.

use std::sync::Arc;

use gallivant_core::Code;
use gallivant_core::execution::contract::ErrorKind;
use gallivant_core::execution::{FaultAnswer, TransportError};
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{
    error_of, event, failure, observation, observation_with, result, result_with, says,
};
use crate::support::task::{Answer, Points, TaskRoot, dispatch, io_error};

type Break = fn(&TaskRoot);

pub(crate) fn owned() -> TaskRoot {
    let task = TaskRoot::new();
    task.accepted(1);
    task
}

pub(crate) fn lost() -> TaskRoot {
    let task = TaskRoot::new();
    task.lost(1);
    task
}

pub(crate) fn io() -> Answer {
    Answer::Fails(io_error())
}

pub(crate) fn running(changes: Json) -> Json {
    observation_with(1, "running", changes)
}

/// The points that a pass went by, without those of the journal's own steps.
pub(crate) fn points(task: &mut TaskRoot, answers: impl IntoIterator<Item = Answer>) -> Vec<String> {
    let points = Points::new("", || FaultAnswer::Go);
    task.faults = Arc::clone(&points) as _;
    task.due_pass(answers).ok();
    points.seen()
}

pub(crate) fn position(points: &[String], point: &str) -> usize {
    points.iter().position(|seen| seen == point).unwrap_or_else(|| panic!("{point} is not in {points:?}"))
}

/// Fails the nth hit of this point.
pub(crate) fn failing(at: &'static str, nth: u32) -> Arc<Points> {
    let mut hits = 0;
    Points::new(at, move || {
        hits += 1;
        if hits == nth { FaultAnswer::Fail } else { FaultAnswer::Go }
    })
}

#[test]
fn ex_rec_01_only_passes_observe_a_provider() {
    let task = owned();
    // Nothing but its own method is called by each of these.
    assert_eq!(task.stop_run([io()]).calls[0].0, "cancel");
    assert_eq!(task.collect_only("run-1", []).calls.len(), 0);
    task.submit(dispatch(1), []).ok();
    task.inspect();
    assert_eq!(task.forced_pass([io(), io()]).ok()["called"], json!(["cancel", "inspect"]));
    assert_eq!(task.first_pass([io(), io()]).ok()["called"], json!(["cancel", "inspect"]));
}

#[test]
fn ex_rec_02_what_is_wrong_on_disk_is_thrown_before_any_call_and_write() {
    let every: [(&str, Break, Code, &str); 12] = [
        ("version", |task| task.edit(|l| l["version"] = json!(2)), Code::ExecutionVersion, "ledger"),
        ("schema", |task| task.edit(|l| l["operations"] = json!([])), Code::ExecutionProtocol, "ledger"),
        ("owner", |task| task.edit(|l| l["account"] = json!("other")), Code::ExecutionOwnership, ""),
        (
            "cursor",
            |task| task.edit(|l| l["executions"]["run-1"]["cursor"] = json!({})),
            Code::ExecutionProtocol,
            "checkpoint-cursor",
        ),
        (
            "time",
            |task| task.edit(|l| l["executions"]["run-1"]["observedAt"] = json!(NOW * 2)),
            Code::ExecutionProtocol,
            "checkpoint-future",
        ),
        (
            "queue",
            |task| task.plant("local-output-queue.json", "{\"version\":2}"),
            Code::ExecutionVersion,
            "queue",
        ),
        (
            "control",
            |task| task.plant("controls/s.json", "{\"version\":2}"),
            Code::ExecutionVersion,
            "control",
        ),
        (
            "journal",
            |task| task.plant("run-1/journal.json", "{\"version\":2}"),
            Code::ExecutionVersion,
            "journal",
        ),
        (
            "log",
            |task| task.plant("run-1/log-meta.json", "{\"version\":9}"),
            Code::ExecutionVersion,
            "log-meta",
        ),
        (
            "local output",
            |task| task.plant("run-1/local-output.json", "{\"version\":2}"),
            Code::ExecutionVersion,
            "local-output",
        ),
        (
            "result",
            |task| task.plant("run-1/result.json", "{\"version\":2}"),
            Code::ExecutionVersion,
            "result",
        ),
        (
            "application",
            |task| task.plant("run-1/result-application.json", "{\"version\":2}"),
            Code::ExecutionVersion,
            "application",
        ),
    ];
    for (name, break_it, code, reason) in every {
        let task = owned();
        break_it(&task);
        let thrown = (code, Some(reason).filter(|reason| !reason.is_empty()));
        assert_eq!(task.refused(|task| task.forced_pass([])), thrown, "{name}");
        assert_eq!(task.refused(|task| task.first_pass([])), thrown, "{name}");
        assert_eq!(task.refused(|task| task.collect_only("run-1", [])), thrown, "{name}");
    }
    // The first of them is reported: versions of files come last.
    let task = owned();
    task.plant("run-1/journal.json", "{\"version\":2}");
    task.edit(|ledger| ledger["executions"]["run-1"]["observedAt"] = json!(NOW * 2));
    assert_eq!(task.refused(|task| task.pass([])).1, Some("checkpoint-future"));
}

#[test]
fn ex_rec_03_a_repair_is_saved_with_the_next_persist_of_the_pass() {
    let raised = |task: &TaskRoot| task.run(1)["costUsd"].clone();
    let task = owned();
    task.edit(|ledger| ledger["operations"]["op-1"]["costUsd"] = json!(0.25));
    let before = task.tree();
    // A pass that is not due saves nothing, in the job record neither.
    task.pass([]).ok();
    assert!(before == task.tree());
    assert_eq!(raised(&task), Json::Null);
    task.due_pass([io()]).ok();
    assert_eq!(raised(&task), 0.25, "with the retry data");
    let task = owned();
    task.edit(|ledger| ledger["operations"]["op-1"]["costUsd"] = json!(0.25));
    task.plant_control();
    task.pass([io()]).ok();
    assert_eq!((raised(&task), task.job(1)["execution"]["costUsd"].clone()), (json!(0.25), json!(0.25)));
}

#[test]
fn ex_rec_04_controls_are_applied_and_the_job_record_follows_whether_or_not_the_pass_is_due() {
    let mut task = owned();
    task.options["capabilities"]["cancel"] = json!(false);
    task.plant_control();
    assert_eq!(task.pass([]).ok()["called"], json!([]), "not due");
    assert_eq!(task.run(1)["cancellation"]["status"], "unsupported");
    assert_eq!(task.job(1)["execution"], task.run(1), "behind the controls");
    // What a crash left behind the ledger.
    let job = task.text("run-1/job.json");
    task.plant("run-1/job.json", "{}");
    task.pass([]).ok();
    assert_eq!(task.text("run-1/job.json").len(), job.len());
    assert_eq!(task.job(1)["execution"], task.run(1));
}

#[test]
fn ex_rec_05_a_pass_is_due_by_its_time_or_by_force() {
    let task = owned();
    let at = task.run(1)["nextAttemptAt"].as_u64().expect("a time");
    task.machine.set_wall_ms(at - 1);
    assert_eq!(task.pass([]).ok()["called"], json!([]));
    assert_eq!(task.forced_pass([says(observation(1, "running"))]).ok()["called"], json!(["inspect"]));
    let at = task.run(1)["nextAttemptAt"].as_u64().expect("a time");
    task.machine.set_wall_ms(at);
    assert_eq!(task.pass([says(observation(1, "running"))]).ok()["called"], json!(["inspect"]), "inclusive");
    task.edit(|ledger| ledger["executions"]["run-1"]["nextAttemptAt"] = Json::Null);
    assert_eq!(task.pass([says(observation(1, "running"))]).ok()["called"], json!(["inspect"]), "null");
}

#[test]
fn ex_rec_06_the_steps_come_in_their_order_each_at_most_once() {
    let mut task = lost();
    task.stop_run([]).ok();
    let points = points(
        &mut task,
        [says(running(json!({"events": [event("e-1")]}))), says(json!({"confirmed": false}))],
    );
    let order =
        ["pass.lookup", "pass.owned", "journal.pending", "journal.checkpoint", "pass.events", "pass.state"];
    let places: Vec<_> = order.iter().map(|point| position(&points, point)).collect();
    assert!(places.is_sorted(), "{points:?}");
    assert!(position(&points, "pass.owned") < position(&points, "cancel.attempt"), "{points:?}");
    // With everything in one pass: the stop is lost, the end is seen, the cache is bad, the result comes.
    let task = owned();
    task.stop_run([io()]).ok();
    task.plant("run-1/result.json", "{\"version\":1}");
    let ended = task.due_pass([io(), says(observation(1, "succeeded")), says(result(1))]);
    let calls: Vec<_> = ended.calls.iter().map(|(method, _)| *method).collect();
    assert_eq!(calls, ["cancel", "inspect", "collect"]);
}

#[test]
fn ex_rec_07_a_blocked_collection_settles_the_run_without_a_call() {
    let mut task = owned();
    task.ended(1, "succeeded");
    task.faults = failing("collect.blocked", 1) as _;
    let invalid = Answer::Fails(TransportError::of(ErrorKind::CollectionValidation, "a bad manifest"));
    let report = task.due_pass([invalid]).ok();
    assert_eq!(error_of(&report).0, "EXECUTION_IO");
    assert_eq!(task.run(1)["resultRejected"], false);
    let report = task.due_pass([]).ok();
    assert_eq!((&report["called"], &report["error"]), (&json!([]), &Json::Null));
    let run = task.run(1);
    assert_eq!((&run["resultRejected"], &run["state"]), (&json!(true), &json!("succeeded")));
}

#[test]
fn ex_rec_24_the_end_of_a_job_is_the_best_that_is_known() {
    let task = owned();
    let seen = observation_with(1, "succeeded", json!({"observedAt": NOW + 9}));
    task.due_pass([says(seen), says(Json::Null)]).ok();
    assert_eq!(task.job(1)["endedAt"], Json::Null, "while it is not settled");
    task.due_pass([says(result(1))]).ok();
    assert_eq!(task.job(1)["endedAt"], NOW + 9);
    let task = owned();
    task.ended(1, "succeeded");
    task.due_pass([says(result_with(1, json!({"completedAt": NOW})))]).ok();
    assert_eq!((&task.job(1)["endedAt"], &task.job(1)["exit"]), (&json!(NOW), &json!(0)));
}

#[test]
fn ex_rec_26_a_pass_without_a_failure_forgets_the_failures_and_a_settled_run_has_no_next() {
    let task = owned();
    task.due_pass([io()]).ok();
    task.due_pass([says(observation(1, "running"))]).ok();
    assert_eq!((&task.run(1)["failures"], &task.run(1)["lastError"]), (&json!(0), &Json::Null));
    task.collected(1);
    assert_eq!(task.run(1)["nextAttemptAt"], Json::Null);
    // Also where something fails behind the settlement.
    for (at, answers) in [
        ("pass.state", vec![says(observation(1, "cancelled"))]),
        ("collect.ledger", vec![says(observation(1, "succeeded")), says(result(1))]),
    ] {
        let mut task = owned();
        task.faults = failing(at, 1) as _;
        let report = task.due_pass(answers).ok();
        assert_eq!(error_of(&report).0, "EXECUTION_IO");
        let run = task.run(1);
        assert_eq!((&run["nextAttemptAt"], &run["failures"]), (&Json::Null, &json!(0)), "{at}");
        task.pass([]).ok();
        assert_eq!(task.job(1)["execution"], task.run(1));
    }
}

#[test]
fn ex_rec_27_silence_failures_and_time_complete_nothing() {
    let task = owned();
    task.due_pass([says(running(json!({"observedAt": NOW + 5})))]).ok();
    let silence = [
        says(running(json!({"observedAt": NOW + 5}))),
        says(observation(1, "succeeded")),
        io(),
        Answer::Deadline,
        Answer::Abort,
        says(Json::Null),
        Answer::Text("".to_owned()),
    ];
    for answer in silence {
        task.due_pass([answer]).ok();
        let run = task.run(1);
        assert_eq!((&run["state"], &run["terminalState"]), (&json!("running"), &Json::Null));
    }
    task.machine.advance_ms(400 * 24 * 3_600_000);
    task.due_pass([io()]).ok();
    assert_eq!(task.run(1)["terminalState"], Json::Null);
}

#[test]
fn ex_rec_28_a_remote_run_has_no_process_state() {
    let task = owned();
    let job: Json = task.job(1);
    task.plant(
        "run-1/job.json",
        crate::support::task::with(job, json!({"exit": 0, "signal": null})).to_string(),
    );
    let report = task.due_pass([says(observation(1, "running"))]).ok();
    assert_eq!((&report["state"], &report["terminalState"]), (&json!("running"), &Json::Null));
    assert_eq!(task.job(1).get("process"), None);
    assert_eq!(task.inspect()["live"], true);
}

#[test]
fn ex_rec_29_a_settled_run_is_asked_about_no_more() {
    let task = owned();
    task.collected(1);
    let before = task.tree();
    for ended in [task.due_pass([]), task.forced_pass([]), task.first_pass([])] {
        assert_eq!(ended.ok()["called"], json!([]));
    }
    assert!(before == task.tree());
}

#[test]
fn ex_rec_30_a_failed_pass_delays_no_other_task() {
    let (one, other) = (owned(), owned());
    for _ in 0..3 {
        one.due_pass([io()]).ok();
    }
    other.machine.set_wall_ms(NOW + 10_000);
    assert_eq!(other.pass([says(observation(1, "running"))]).ok()["called"], json!(["inspect"]));
}

#[test]
fn ex_rec_31_startup_ignores_the_saved_times_and_later_passes_obey_them() {
    let task = owned();
    task.stop_run([io()]).ok();
    let report = task.first_pass([io(), io()]).ok();
    assert_eq!(report["called"], json!(["cancel", "inspect"]));
    assert_eq!(task.pass([]).ok()["called"], json!([]));
    assert_eq!(task.first_pass([io(), io()]).ok()["called"], json!(["cancel", "inspect"]));
}

#[test]
fn ex_rec_32_a_dispatch_observes_nobody() {
    let task = lost();
    let (code, _) = task.refused(|task| task.submit(dispatch(2), []));
    assert_eq!(code, Code::ExecutionUnresolved);
    task.due_pass([says(observation(1, "running"))]).ok();
    let (code, _) = task.refused(|task| task.submit(dispatch(2), []));
    assert_eq!(code, Code::ExecutionActive);
}

#[test]
fn ex_rec_37_a_lost_reply_changes_no_state_and_the_call_comes_again_with_the_same_input() {
    let lost = || [io(), Answer::Deadline, Answer::Abort, Answer::Text("{".to_owned())];
    let task = owned();
    task.due_pass([says(running(json!({"cursor": "c-1"})))]).ok();
    let mut inputs = Vec::new();
    let before = task.tree_but_retry_data();
    for answer in lost() {
        inputs.push(task.due_pass([answer]).input("inspect"));
        assert!(before == task.tree_but_retry_data());
    }
    task.ended(1, "succeeded");
    let before = task.tree_but_retry_data();
    let mut collections = Vec::new();
    for answer in lost() {
        collections.push(task.due_pass([answer]).input("collect"));
        assert!(before == task.tree_but_retry_data());
    }
    for same in [inputs, collections] {
        assert!(same.windows(2).all(|pair| pair[0] == pair[1]), "{same:?}");
    }
}

#[test]
fn ex_rec_39_after_a_contradictory_result_nothing_else_is_dispatched() {
    let task = owned();
    task.ended(1, "succeeded");
    task.due_pass([says(failure(1))]).ok();
    assert_eq!(task.refused(|task| task.submit(dispatch(2), [])).0, Code::ExecutionActive);
    assert_eq!(task.refused(|task| task.continue_run(dispatch(2), [])).0, Code::ExecutionActive);
}
