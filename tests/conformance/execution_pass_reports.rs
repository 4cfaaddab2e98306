//! EX-BND-11 to EX-BND-13, EX-JRN-22, EX-REC-48, EX-ERR-05 and others: what a pass reports, what it throws, and what it costs.

use std::sync::Arc;

use gallivant_core::Code;
use gallivant_core::execution::contract::ErrorKind;
use gallivant_core::execution::{FaultAnswer, TransportError};
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{error_of, event, failure, observation, observation_with, result, says};
use crate::support::task::{Answer, Points, TaskRoot, io_error, with};

fn owned() -> TaskRoot {
    let task = TaskRoot::new();
    task.accepted(1);
    task
}

fn lost() -> TaskRoot {
    let task = TaskRoot::new();
    task.lost(1);
    task
}

fn running(changes: Json) -> Json {
    observation_with(1, "running", changes)
}

fn io() -> Answer {
    Answer::Fails(io_error())
}

#[test]
fn ex_bnd_11_startup_is_one_forced_pass_and_reconcile_one_that_is_due() {
    let task = owned();
    assert_eq!(task.pass([]).ok()["called"], json!([]));
    assert_eq!(task.first_pass([io()]).ok()["called"], json!(["inspect"]));
    assert_eq!(task.pass([]).ok()["called"], json!([]));
    assert_eq!(task.forced_pass([io()]).ok()["called"], json!(["inspect"]));
    // The checks are those of every pass.
    task.plant("run-1/journal.json", "{\"version\":2}");
    assert_eq!(task.refused(|task| task.first_pass([])), (Code::ExecutionVersion, Some("journal")));
    // Without a run there is nothing to do, and nothing is made but the lock file.
    let empty = TaskRoot::new();
    let report = empty.first_pass([]).ok();
    assert_eq!((&report["runId"], &report["called"]), (&Json::Null, &json!([])));
    assert!(empty.tree().is_empty());
}

#[test]
fn ex_bnd_12_the_report_has_these_members() {
    let task = owned();
    let report = task.due_pass([says(observation(1, "running"))]).ok();
    let next = NOW + 400_000 + 10_000;
    for (key, value) in [
        ("runId", json!("run-1")),
        ("acceptance", json!("accepted")),
        ("state", json!("running")),
        ("terminalState", Json::Null),
        ("called", json!(["inspect"])),
        ("error", Json::Null),
        ("nextAttemptAt", json!(next)),
        ("recovery", Json::Null),
    ] {
        assert_eq!(report.get(key), Some(&value), "{key}");
    }
    let report = task.due_pass([says(observation(1, "succeeded")), says(failure(1))]).ok();
    assert_eq!(report["called"], json!(["inspect", "collect"]));
    assert_eq!(
        (&report["terminalState"], &report["state"]),
        (&json!("succeeded"), &json!("retrieving-results"))
    );
    let error = report["error"].as_object().expect("an error");
    let keys: Vec<_> = error.keys().map(String::as_str).collect();
    assert_eq!(keys.len(), 3);
    assert_eq!((&error["code"], &error["reason"]), (&json!("EXECUTION_RESULT"), &json!("contradiction")));
    assert!(!error["remedy"].as_str().expect("a remedy").is_empty());
    assert_eq!(report["recovery"], "correct-result");
}

#[test]
fn ex_bnd_13_what_was_saved_is_reported_and_what_was_not_is_thrown() {
    let saved = [
        (io(), "EXECUTION_IO", "io"),
        (Answer::Deadline, "EXECUTION_DEADLINE", "deadline"),
        (Answer::Abort, "EXECUTION_IO", "aborted"),
        (says(observation(1, "done")), "EXECUTION_PROTOCOL", "state"),
        (Answer::Text("x".repeat(131_073)), "EXECUTION_PROTOCOL", "shape"),
    ];
    for (answer, code, reason) in saved {
        let task = owned();
        let report = task.due_pass([answer]).ok();
        assert_eq!(error_of(&report), (code, Some(reason)));
        assert_eq!((&task.run(1)["failures"], &task.run(1)["lastError"]["code"]), (&json!(1), &json!(code)));
    }
    let task = owned();
    task.edit(|ledger| ledger["executions"]["run-1"]["cursor"] = json!([]));
    assert_eq!(task.refused(|task| task.first_pass([])).1, Some("checkpoint-cursor"));
    // Where even the failure cannot be saved it is thrown too.
    let mut task = owned();
    task.faults = Points::new("persist:execution.json", || FaultAnswer::Fail);
    task.machine.advance_ms(400_000);
    assert_eq!(task.pass([io()]).error().code(), Code::ExecutionIo);
    assert_eq!(task.run(1)["failures"], 0);
}

#[test]
fn ex_err_05_what_has_a_saved_consequence_stands_in_last_error() {
    let ended = || {
        let task = owned();
        task.ended(1, "succeeded");
        task
    };
    let late = || Answer::Fails(TransportError { retry_after_ms: Some(20_000), ..io_error() });
    let every: [(TaskRoot, Vec<Answer>); 8] = [
        (owned(), vec![io()]),
        (owned(), vec![late()]),
        (owned(), vec![Answer::Deadline]),
        (owned(), vec![says(observation(1, "done"))]),
        (lost(), vec![says(Json::Null)]),
        (lost(), vec![says(json!({"providerJobId": "j"}))]),
        (ended(), vec![says(Json::Null)]),
        (ended(), vec![says(failure(1))]),
    ];
    for (task, answers) in every {
        let report = task.due_pass(answers).ok();
        let error = &task.run(1)["lastError"];
        assert_eq!(
            (&error["code"], &error["reason"]),
            (&report["error"]["code"], &report["error"]["reason"])
        );
        assert_eq!(task.inspect()["lastError"], *error);
    }
    // A lost stop has its retry data in its own record.
    let task = owned();
    task.stop_run([Answer::Deadline]).ok();
    assert_eq!(task.run(1)["lastError"]["code"], "EXECUTION_DEADLINE");
}

#[test]
fn ex_err_06_no_report_and_no_file_tells_what_a_transport_said() {
    let mut task = TaskRoot::new();
    task.options["secrets"] = json!(["hunter2-secret"]);
    task.accepted(1);
    let said = TransportError::of(ErrorKind::Io, "hunter2-secret for prompt do it");
    for answer in [
        Answer::Fails(said),
        says(observation(1, "hunter2-secret")),
        Answer::Text("hunter2-secret".to_owned()),
    ] {
        let report = task.due_pass([answer]).ok().to_string();
        assert!(!report.contains("hunter2") && !report.contains("do it"), "{report}");
    }
    for (path, bytes) in task.tree() {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!text.contains("hunter2") && !text.contains("do it"), "{path}");
    }
}

/// A run whose journal refuses.
fn damaged(task: &TaskRoot) {
    task.plant("run-1/events.jsonl", "damage\n");
}

#[test]
fn ex_jrn_22_a_refused_journal_stops_neither_stops_nor_collection() {
    let refused = |report: &Json| assert_eq!(error_of(report).0, "EXECUTION_JOURNAL");
    let task = owned();
    damaged(&task);
    let report = task.due_pass([]).ok();
    refused(&report);
    assert_eq!(report["called"], json!([]), "no inspection, whose reply could not be saved");
    // A stop goes out.
    task.stop_run([io()]).ok();
    let report = task.due_pass([says(json!({"confirmed": false}))]).ok();
    refused(&report);
    assert_eq!(report["called"], json!(["cancel"]));
    let task = owned();
    damaged(&task);
    task.stop_run([io()]).ok();
    let report = task.due_pass([says(json!({"confirmed": true}))]).ok();
    assert_eq!((&report["error"], &report["state"]), (&Json::Null, &json!("cancelled")), "it is settled");
    // So does a collection, and what fails in it is not told before the journal.
    let task = owned();
    task.ended(1, "succeeded");
    damaged(&task);
    let report = task.due_pass([says(Json::Null)]).ok();
    refused(&report);
    assert_eq!((&report["called"], &report["recovery"]), (&json!(["collect"]), &json!("restore-backup")));
    let report = task.due_pass([says(result(1))]).ok();
    assert_eq!((&report["error"], &report["state"]), (&Json::Null, &json!("succeeded")));
    assert_eq!(task.text("run-1/events.jsonl"), "damage\n");
    // No lookup either.
    let task = TaskRoot::new();
    task.lost(1);
    damaged(&task);
    let report = task.due_pass([]).ok();
    assert_eq!(error_of(&report).0, "EXECUTION_JOURNAL");
}

#[test]
fn part_of_ex_jrn_50_a_settlement_waits_for_no_queue() {
    let task = owned();
    task.ended(1, "succeeded");
    task.plant("local-output-queue.json", json!({"version": 1, "runs": ["run-0"]}).to_string());
    task.due_pass([says(result(1))]).ok();
    assert_eq!(task.run(1)["collected"], true);
}

#[test]
fn ex_pre_21_a_pass_observes_and_collects_an_intake_however_late_it_is() {
    let mut task = TaskRoot::new();
    task.options["intakeDeadlineAt"] = json!(NOW + 1);
    task.accepted(1);
    task.edit(|ledger| {
        ledger["operations"]["op-1"]["kind"] = json!("intake");
        ledger["operations"]["op-1"]["phase"] = json!("draft");
        ledger["operations"]["op-1"]["inputHead"] = Json::Null;
        ledger["executions"]["run-1"]["kind"] = json!("intake");
        ledger["intakeDeadlineAt"] = json!(NOW + 1);
    });
    task.machine.advance_ms(30 * 24 * 3_600_000);
    let told = with(result(1), json!({"inputHead": null, "text": "a plan", "completedAt": NOW}));
    let report = task.pass([says(observation(1, "succeeded")), says(told)]).ok();
    assert_eq!((&report["called"], &report["error"]), (&json!(["inspect", "collect"]), &Json::Null));
    assert_eq!((&task.run(1)["collected"], &task.run(1)["cancellation"]), (&json!(true), &Json::Null));
}

#[test]
fn ex_red_15_what_a_pass_saves_of_events_diagnostics_and_denials_is_redacted() {
    let mut task = TaskRoot::new();
    task.options["secrets"] = json!(["hunter2-secret"]);
    task.accepted(1);
    let page = json!({"events": [with(event("e-1"), json!({"data": {"said": "hunter2-secret"}}))]});
    task.due_pass([says(observation_with(1, "running", page))]).ok();
    let mut told = result(1);
    told["outcome"]["diagnostics"] = json!({"stderr": "hunter2-secret"});
    told["outcome"]["denials"] = json!(["hunter2-secret"]);
    task.due_pass([says(observation(1, "succeeded")), says(told)]).ok();
    assert_eq!(task.run(1)["collected"], true);
    for (path, bytes) in task.tree() {
        assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"), "{path}");
    }
}

#[test]
fn a_due_pass_without_events_makes_at_most_two_persists() {
    let mut task = owned();
    for (answers, at_most) in [
        (vec![says(observation(1, "running"))], 2),
        (vec![io()], 2),
        (vec![says(observation(1, "waiting-for-input"))], 2),
        // Nothing to say but the time of the pass.
        (vec![says(observation(1, "waiting-for-input"))], 2),
    ] {
        let points = Points::new("", || FaultAnswer::Go);
        task.faults = Arc::clone(&points) as _;
        task.machine.advance_ms(400_000);
        let from = task.machine.operations().len();
        task.pass(answers).ok();
        let persists = task.persists(from);
        assert!(persists.len() <= at_most, "{persists:?}");
        assert!(!persists.is_empty(), "the operations are noted");
        let named = points.seen().iter().filter(|point| point.starts_with("persist:")).count();
        assert_eq!(named, persists.len(), "each is announced by its fault point");
    }
    // One that is not due makes none.
    let from = task.machine.operations().len();
    task.pass([]).ok();
    assert!(task.persists(from).is_empty());
}

#[test]
fn ex_rec_48_what_is_unresolved_has_a_word_for_what_is_to_be_done() {
    let after = |task: TaskRoot, answer: Answer| {
        let report = task.due_pass([answer]).ok();
        assert_eq!(report["recovery"], task.inspect()["recovery"]);
        report["recovery"].as_str().expect("a word").to_owned()
    };
    let ended = || {
        let task = owned();
        task.ended(1, "succeeded");
        task
    };
    assert_eq!(after(lost(), says(Json::Null)), "retry-later");
    assert_eq!(after(owned(), io()), "retry-later");
    assert_eq!(after(owned(), says(running(json!({"observedAt": NOW * 2})))), "correct-clock");
    assert_eq!(after(owned(), says(running(json!({"sessionId": "s-2"})))), "restore-session");
    assert_eq!(after(ended(), says(failure(1))), "correct-result");
    assert_eq!(after(ended(), says(Json::Null)), "retry-later");
    let damaged = owned();
    damaged.plant("run-1/events.jsonl", "damage\n");
    assert_eq!(damaged.due_pass([]).ok()["recovery"], "restore-backup");
    let task = owned();
    assert_eq!(task.due_pass([says(observation(1, "running"))]).ok()["recovery"], Json::Null);
}
