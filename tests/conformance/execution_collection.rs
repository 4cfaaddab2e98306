//! EX-REC-20 to EX-REC-25, EX-REC-38, EX-ART-60 to EX-ART-66, EX-BND-14: results are collected once, from the cache before the
//! provider, and a fault that stays settles the run.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use gallivant_core::Code;
use gallivant_core::execution::contract::ErrorKind;
use gallivant_core::execution::{FaultAnswer, TransportError};
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{error_of, failure, observation, result, result_with, says};
use crate::support::task::{Answer, Points, TaskRoot, dispatch, io_error, with};

fn ended_as(state: &str) -> TaskRoot {
    let task = TaskRoot::new();
    task.accepted(1);
    task.ended(1, state);
    task
}

fn succeeded() -> TaskRoot {
    ended_as("succeeded")
}

fn invalid() -> Answer {
    Answer::Fails(TransportError::of(ErrorKind::CollectionValidation, "hunter2 is in the manifest"))
}

/// A result as the library saves it.
fn cache(changes: Json) -> Json {
    let own =
        json!({"version": 1, "taskId": "t-1", "runId": "run-1", "provider": "prov", "collectedAt": NOW + 7});
    with(with(result(1), own), changes)
}

fn outcome(task: &TaskRoot) -> Json {
    let outcome = task.boundary().outcome("run-1").expect("read");
    serde_json::from_str(&outcome.to_json()).expect("JSON")
}

fn fail_at(task: &mut TaskRoot, point: &'static str) {
    let mut is_first = true;
    let act = move || if std::mem::take(&mut is_first) { FaultAnswer::Fail } else { FaultAnswer::Go };
    task.faults = Points::new(point, act);
}

#[test]
fn ex_rec_20_a_valid_cached_result_is_adopted_without_a_call_and_with_its_own_time() {
    let task = succeeded();
    task.plant("run-1/result.json", cache(json!({})).to_string());
    let before = task.text("run-1/result.json");
    assert_eq!(task.due_pass([]).ok()["called"], json!([]));
    let run = task.run(1);
    assert_eq!((&run["collected"], &run["collectedAt"]), (&json!(true), &json!(NOW + 7)));
    assert_eq!(task.text("run-1/result.json"), before);
    assert_eq!((&task.job(1)["exit"], &task.job(1)["endedAt"]), (&json!(0), &json!(NOW)));
    // It is judged by all the rules of a result.
    let bad = [
        json!({"turnId": "t-2"}),
        json!({"inputHead": null}),
        json!({"sessionId": "s-2"}),
        json!({"outcome": {"finished": true}}),
        json!({"outcome": {"finished": true, "ok": false}}),
        json!({"completedAt": NOW + 1}),
        json!({"files": [], "pushedHead": "b".repeat(40)}),
        json!({"runId": "run-2"}),
    ];
    for changes in bad {
        let task = succeeded();
        task.plant("run-1/result.json", cache(changes.clone()).to_string());
        assert_eq!(task.due_pass([says(Json::Null)]).ok()["called"], json!(["collect"]), "{changes}");
        assert_eq!(task.run(1)["collected"], false);
    }
}

#[test]
fn ex_rec_21_an_invalid_cache_is_kept_until_a_valid_result_comes() {
    for invalid in
        [cache(json!({"turnId": "t-2"})).to_string(), "{\"version\":1}".to_owned(), "no JSON".to_owned()]
    {
        let task = succeeded();
        task.plant("run-1/result.json", &invalid);
        task.due_pass([Answer::Fails(io_error())]).ok();
        assert_eq!(task.text("run-1/result.json"), invalid);
        assert!(!task.exists("run-1/result.superseded.json"));
        task.due_pass([says(result(1))]).ok();
        assert_eq!(task.text("run-1/result.superseded.json"), invalid);
        assert_eq!(task.run(1)["collected"], true);
    }
    // The first that was superseded stays.
    let task = succeeded();
    task.plant("run-1/result.superseded.json", "the first");
    task.plant("run-1/result.json", "the second");
    task.due_pass([says(result(1))]).ok();
    assert_eq!(task.text("run-1/result.superseded.json"), "the first");
    assert_eq!(task.run(1)["collected"], true);
}

#[test]
fn ex_rec_22_a_collection_may_follow_the_end_in_the_same_pass() {
    let task = TaskRoot::new();
    task.accepted(1);
    let report = task.due_pass([says(observation(1, "failed")), says(failure(1))]).ok();
    assert_eq!(report["called"], json!(["inspect", "collect"]));
    assert_eq!((&report["state"], &report["terminalState"]), (&json!("failed"), &json!("failed")));
}

#[test]
fn ex_rec_23_the_result_is_on_disk_before_the_ledger_and_the_ledger_before_the_job() {
    let mut task = succeeded();
    let points = Points::new("", || FaultAnswer::Go);
    task.faults = Arc::clone(&points) as _;
    task.due_pass([says(result(1))]).ok();
    let expected = [
        "collect.reply",
        "persist:run-1/result.json",
        "collect.result",
        "persist:execution.json",
        "collect.ledger",
        "persist:run-1/job.json",
    ];
    assert_eq!(points.seen(), expected);
    let run = task.run(1);
    assert_eq!(run["collectedAt"], run["reconciledAt"]);
    assert_eq!((&run["state"], &run["costUsd"]), (&json!("succeeded"), &json!(0.25)));
    let job = task.job(1);
    assert_eq!(
        (&job["exit"], &job["completionInferred"], &job["endedAt"]),
        (&json!(0), &json!(true), &json!(NOW))
    );
}

#[test]
fn ex_rec_25_a_failed_collection_keeps_the_run_and_backs_off() {
    let task = succeeded();
    let mut failures = task.run(1)["failures"].as_u64().expect("a number");
    for (answer, code) in [
        (Answer::Fails(io_error()), "EXECUTION_IO"),
        (Answer::Deadline, "EXECUTION_DEADLINE"),
        (says(Json::Null), "EXECUTION_RESULT"),
        (Answer::Text("[]".to_owned()), "EXECUTION_PROTOCOL"),
    ] {
        let report = task.due_pass([answer]).ok();
        let run = task.run(1);
        failures += 1;
        assert_eq!((&run["state"], &run["failures"]), (&json!("retrieving-results"), &json!(failures)));
        assert_eq!((run["lastError"]["code"].as_str(), error_of(&report).0), (Some(code), code));
        assert!(run["nextAttemptAt"].as_u64() > run["reconciledAt"].as_u64());
    }
    // What the transport asks for is heeded, up to the longest wait.
    let late = TransportError { retry_after_ms: Some(250_000), ..io_error() };
    task.due_pass([Answer::Fails(late)]).ok();
    let run = task.run(1);
    let delay =
        run["nextAttemptAt"].as_u64().expect("a time") - run["reconciledAt"].as_u64().expect("a time");
    assert!((250_000..=300_000).contains(&delay), "{delay}");
}

#[test]
fn ex_rec_38_a_contradictory_result_is_never_saved_and_never_settled() {
    let wants = |report: &Json| {
        let remedy = report["error"]["remedy"].as_str().expect("a remedy").to_owned();
        assert!(remedy.contains("exact owned result corrected, then retry collection"), "{remedy}");
        assert!(remedy.contains("do not dispatch"), "{remedy}");
        assert_eq!(report["error"]["reason"], "contradiction");
    };
    let task = succeeded();
    let charged = task.ledger()["allowance"].clone();
    wants(&task.due_pass([says(failure(1))]).ok());
    assert!(!task.exists("run-1/result.json"));
    // Cached, it stays for inspection and is not settled either.
    let contradiction = with(cache(json!({})), json!({"outcome": failure(1)["outcome"]})).to_string();
    task.plant("run-1/result.json", &contradiction);
    wants(&task.due_pass([says(failure(1))]).ok());
    assert_eq!(task.text("run-1/result.json"), contradiction);
    let run = task.run(1);
    assert_eq!((&run["terminalState"], &run["state"]), (&json!("succeeded"), &json!("retrieving-results")));
    assert_eq!(
        (&task.ledger()["allowance"], &task.operation(1)["acceptance"]),
        (&charged, &json!("accepted"))
    );
    task.due_pass([says(result(1))]).ok();
    assert_eq!(task.run(1)["collected"], true);
}

#[test]
fn ex_rec_47_a_restart_loses_none_of_cost_session_and_times() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.due_pass([
        says(with(observation(1, "succeeded"), json!({"completedAt": NOW, "costUsd": 3}))),
        says(result(1)),
    ])
    .ok();
    let run = task.run(1);
    assert_eq!(
        (&run["collectedAt"], &run["observedAt"], &run["completedAt"]),
        (&json!(NOW + 400_000), &json!(NOW), &json!(NOW))
    );
    let told = outcome(&task);
    assert_eq!(
        (&told["cost"], &told["completedAt"], &told["completionInferred"]),
        (&json!(3), &json!(NOW), &json!(false))
    );
    task.first_pass([]).ok();
    assert_eq!((task.run(1), outcome(&task)), (run, told));
}

#[test]
fn ex_rec_46_a_settled_run_needs_no_logs() {
    let task = succeeded();
    task.due_pass([says(result(1))]).ok();
    let told = outcome(&task);
    for name in std::fs::read_dir(task.path().join("run-1")).expect("read") {
        let path = name.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !["result.json", "job.json"].contains(&&*name) {
            std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path)).expect("removed");
        }
    }
    assert_eq!(task.first_pass([]).ok()["called"], json!([]));
    assert_eq!(outcome(&task), told);
}

#[test]
fn ex_art_60_a_rejection_saves_its_checkpoint_first() {
    let mut task = succeeded();
    let points = Points::new("", || FaultAnswer::Go);
    task.faults = Arc::clone(&points) as _;
    let report = task.due_pass([invalid()]).ok();
    assert_eq!(report["error"], Json::Null, "the run is settled");
    let seen = points.seen();
    let order = [
        "persist:run-1/result-application.json",
        "collect.blocked",
        "persist:execution.json",
        "persist:run-1/job.json",
    ];
    assert_eq!(seen, order);
    let checkpoint: Json = serde_json::from_str(&task.text("run-1/result-application.json")).expect("JSON");
    let run = task.run(1);
    for key in ["runId", "providerJobId", "sessionId", "turnId"] {
        assert_eq!(checkpoint[key], run[key], "{key}");
    }
    assert_eq!(checkpoint["inputHead"], task.operation(1)["inputHead"]);
    assert_eq!((&checkpoint["version"], &checkpoint["taskId"]), (&json!(1), &json!("t-1")));
    assert_eq!(
        (&checkpoint["status"], &checkpoint["reason"]),
        (&json!("blocked"), &json!("result-collection-validation"))
    );
    let mode = std::fs::metadata(task.path().join("run-1/result-application.json"))
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    // What the transport said of the payload is nowhere.
    for (path, bytes) in task.tree() {
        assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"), "{path}");
    }
}

#[test]
fn ex_art_61_then_one_persist_settles_the_run() {
    for state in ["succeeded", "failed"] {
        let task = ended_as(state);
        task.due_pass([invalid()]).ok();
        let run = task.run(1);
        let keys = ["resultRejected", "state", "collected", "nextAttemptAt", "failures"];
        assert_eq!(json!(keys.map(|key| run[key].clone())), json!([true, state, false, null, 0]));
        assert_eq!(task.job(1)["execution"], run);
    }
}

#[test]
fn ex_art_62_there_is_no_result_and_the_outcome_says_why() {
    let task = ended_as("failed");
    task.due_pass([invalid()]).ok();
    assert!(!task.exists("run-1/result.json"));
    let told = outcome(&task);
    let keys = ["finished", "ok", "resultRejected", "providerState", "exit", "cost"];
    assert_eq!(json!(keys.map(|key| told[key].clone())), json!([true, false, true, "failed", null, null]));
    // A corrective continuation of the same session is allowed.
    let input = crate::support::task::dispatch_with(2, json!({}));
    task.continue_run(input, [says(json!({"providerJobId": "j-2", "turnId": "t-2"}))]).ok();
}

/// A rejection whose ledger was not written.
fn cut_short() -> TaskRoot {
    let mut task = succeeded();
    fail_at(&mut task, "collect.blocked");
    let report = task.due_pass([invalid()]).ok();
    assert_eq!(error_of(&report).0, "EXECUTION_IO");
    assert_eq!(task.run(1)["resultRejected"], false);
    task
}

#[test]
fn ex_art_63_after_a_crash_the_run_is_settled_from_its_own_checkpoint_only() {
    let task = cut_short();
    let report = task.due_pass([]).ok();
    assert_eq!((&report["called"], &report["error"]), (&json!([]), &Json::Null));
    assert_eq!(task.run(1)["resultRejected"], true);
    for key in ["taskId", "runId", "providerJobId", "sessionId", "turnId", "inputHead"] {
        let task = cut_short();
        let mut checkpoint: Json =
            serde_json::from_str(&task.text("run-1/result-application.json")).expect("JSON");
        checkpoint[key] = json!("other");
        let text = checkpoint.to_string();
        task.plant("run-1/result-application.json", &text);
        assert_eq!(task.due_pass([says(Json::Null)]).ok()["called"], json!(["collect"]), "{key}");
        assert_eq!(task.text("run-1/result-application.json"), text, "it is kept");
        assert_eq!(task.run(1)["resultRejected"], false);
    }
    for (key, other) in [("status", "verifying"), ("reason", "result-validation")] {
        let task = cut_short();
        let mut checkpoint: Json =
            serde_json::from_str(&task.text("run-1/result-application.json")).expect("JSON");
        checkpoint[key] = json!(other);
        task.plant("run-1/result-application.json", checkpoint.to_string());
        assert_eq!(task.due_pass([says(Json::Null)]).ok()["called"], json!(["collect"]), "{key}");
    }
}

#[test]
fn ex_art_64_nobody_is_asked_for_a_rejected_result_again() {
    let settled = succeeded();
    settled.due_pass([invalid()]).ok();
    for task in [settled, cut_short()] {
        assert!(task.collect_only("run-1", []).calls.is_empty());
        assert!(task.forced_pass([]).calls.is_empty());
        assert!(task.first_pass([]).calls.is_empty());
        assert_eq!(task.run(1)["resultRejected"], true);
    }
}

#[test]
fn ex_art_65_without_its_checkpoint_nothing_is_rejected() {
    let mut task = succeeded();
    fail_at(&mut task, "persist:run-1/result-application.json");
    let report = task.due_pass([invalid()]).ok();
    assert_eq!(error_of(&report).0, "EXECUTION_IO");
    let run = task.run(1);
    assert_eq!((&run["state"], &run["resultRejected"]), (&json!("retrieving-results"), &json!(false)));
    assert!(run["nextAttemptAt"].as_u64() > run["reconciledAt"].as_u64());
    assert!(!task.exists("run-1/result-application.json"));
    task.due_pass([says(result(1))]).ok();
    assert_eq!(task.run(1)["collected"], true);
}

#[test]
fn ex_art_66_an_io_failure_is_no_rejection_whatever_it_says() {
    let task = succeeded();
    for kind in [ErrorKind::Io, ErrorKind::Protocol, ErrorKind::NotSent, ErrorKind::Auth] {
        let said = "collection-validation: result-collection-validation";
        task.due_pass([Answer::Fails(TransportError::of(kind, said))]).ok();
        assert_eq!(
            (&task.run(1)["resultRejected"], &task.run(1)["state"]),
            (&json!(false), &json!("retrieving-results"))
        );
        assert!(!task.exists("run-1/result-application.json"));
    }
    // Of an inspection it is an i/o failure too.
    let task = TaskRoot::new();
    task.accepted(1);
    assert_eq!(error_of(&task.due_pass([invalid()]).ok()), ("EXECUTION_IO", Some("io")));
}

#[test]
fn ex_bnd_14_collect_makes_the_collection_step_and_nothing_else() {
    let task = TaskRoot::new();
    task.accepted(1);
    assert_eq!(task.refused(|task| task.collect_only("run-9", [])).0, Code::ExecutionUnknownRun);
    assert_eq!(task.refused(|task| task.collect_only("../x", [])).0, Code::ExecutionInput);
    let (projection, shown) = (task.collect_only("run-1", []), task.inspect());
    assert_eq!(projection.ok(), shown, "for another state");
    task.ended(1, "succeeded");
    // Whether or not the pass is due, and whatever is queued.
    task.plant_control();
    assert_eq!(task.collect_only("run-1", [says(Json::Null)]).ok()["called"], json!(["collect"]));
    assert_eq!(task.run(1)["controls"], json!([]));
    let report = task.collect_only("run-1", [says(result(1))]).ok();
    assert_eq!((&report["called"], &report["state"]), (&json!(["collect"]), &json!("succeeded")));
    let before = task.tree();
    let (projection, shown) = (task.collect_only("run-1", []), task.inspect());
    assert_eq!(projection.ok(), shown);
    assert!(before == task.tree());
}

#[test]
fn ex_bnd_16_the_outcome_is_null_until_the_run_is_settled() {
    let task = succeeded();
    assert_eq!(outcome(&task), Json::Null);
    let whole = result_with(1, json!({"completedAt": NOW}));
    task.due_pass([says(whole)]).ok();
    let expected = json!({
        "finished": true, "ok": true, "exit": 0, "cost": 0.25, "denials": [], "resultRejected": false,
        "quarantined": false, "providerState": "succeeded", "completedAt": NOW, "completionInferred": false,
        "absent": false
    });
    assert_eq!(outcome(&task), expected);
    assert_eq!(task.boundary().outcome("run-9").expect_err("unknown").code(), Code::ExecutionUnknownRun);
    assert_eq!(task.boundary().outcome("../x").expect_err("no id").code(), Code::ExecutionInput);
    // While another run is current it stays.
    task.submit(dispatch(2), crate::support::task::accepts(2)).ok();
    assert_eq!(outcome(&task), expected);
    let cancelled = TaskRoot::new();
    cancelled.accepted(1);
    cancelled.due_pass([says(observation(1, "cancelled"))]).ok();
    let told = outcome(&cancelled);
    let keys = ["finished", "ok", "quarantined", "providerState"];
    assert_eq!(json!(keys.map(|key| told[key].clone())), json!([true, false, true, "cancelled"]));
}
