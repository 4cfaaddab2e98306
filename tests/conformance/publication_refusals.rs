//! EX-ART-33, EX-ART-34, EX-ART-53, EX-IDN and EX-CAN-25: which runs and results are not published, and why.

use gallivant_core::Code;
use gallivant_core::execution::contract::ErrorKind;
use gallivant_core::execution::{AbortToken, TransportError};
use serde_json::{Value as Json, json};

use crate::execution_preparation::{intake, receipt};
use crate::publication::blocked;
use crate::support::pass::{observation, result_with, says};
use crate::support::publication::{
    APPLICATION, APPLIED, Fate, Field, OTHER, plan, plan_with, published_result, verification,
};
use crate::support::task::{Answer, TaskRoot, accepts, dispatch_with, drive, object, with};

#[track_caller]
fn not_publishable(task: &TaskRoot) {
    let (before, mut field) = (task.tree(), Field::new());
    let error = task.publishes(&mut field).expect_err("the run is refused");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionResult, Some("not-publishable")));
    assert!(!error.remedy().is_empty());
    assert!(field.calls.is_empty() && task.tree() == before, "nothing is asked and nothing written");
}

#[test]
fn ex_pre_30_an_intake_run_never_enters_a_publication() {
    let task = TaskRoot::new();
    let issued = receipt(&task, "draft");
    task.submit(intake(1, &issued), accepts(1)).ok();
    let result = with(published_result(), result_with(1, json!({"inputHead": null})));
    let report = task.due_pass([says(observation(1, "succeeded")), says(result)]).ok();
    assert_eq!((&report["error"], &task.run(1)["kind"]), (&Json::Null, &json!("intake")));
    not_publishable(&task);
}

#[test]
fn ex_art_33_any_other_run_is_refused() {
    let task = TaskRoot::new();
    task.accepted(1);
    not_publishable(&task);
    for change in [
        json!({"kind": "intake"}),
        json!({"quarantined": true}),
        json!({"resultRejected": true}),
        json!({"absent": true}),
        json!({"collected": false}),
        json!({"terminalState": "failed"}),
        json!({"state": "cancelled"}),
    ] {
        let task = TaskRoot::publishable(json!({}));
        task.edit(|ledger| {
            let run = &mut ledger["executions"]["run-1"];
            *run = with(run.clone(), change.clone());
        });
        not_publishable(&task);
    }
    let task = TaskRoot::new();
    let error = task.publishes(&mut Field::new()).expect_err("there is no run");
    assert_eq!(error.code(), Code::ExecutionUnknownRun);
    assert!(!task.exists("execution.json"));
}

#[test]
fn ex_art_33_a_run_that_the_task_has_gone_on_from_is_refused() {
    let task = TaskRoot::publishable(json!({}));
    task.continue_run(
        dispatch_with(2, json!({})),
        [Answer::Says(json!({
            "providerJobId": "j-2", "turnId": "t-2", "sessionId": "s-1"
        }))],
    )
    .ok();
    not_publishable(&task);
}

#[test]
fn ex_art_34_ownership_is_checked_before_any_change() {
    for (change, field, detail) in [
        (json!({"repo": "org/other"}), Field::new(), "repository"),
        (json!({"repo": null}), Field::new(), "repository"),
        (json!({"branch": "task/2"}), Field::new(), "branch"),
        (
            json!({}),
            Field { origin: "https://example.org/org/fork.git".to_owned(), ..Field::new() },
            "origin",
        ),
        (json!({}), Field { branch: "main".to_owned(), ..Field::new() }, "checkout-branch"),
        (json!({}), Field { base_matches: false, ..Field::new() }, "base"),
    ] {
        let (task, mut field) = (TaskRoot::publishable(change), field);
        let answer = blocked(&task, &mut field, "result-validation");
        assert_eq!(answer["detail"], detail);
        assert_eq!(field.calls, ["coordinator.entryStopped", "git.state"], "{detail}: nothing is changed");
    }
    // A checkpoint of another owner is kept, and refuses.
    for key in ["taskId", "runId", "providerJobId", "sessionId", "turnId", "inputHead", "fingerprint"] {
        let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
        field.fate = Some((3, Fate::Fails));
        task.publishes(&mut field).expect_err("the checkout fails");
        task.plant(APPLICATION, with(task.checkpoint(), json!({key: "another"})).to_string());
        let (before, count) = (task.tree(), field.calls.len());
        let error = task.publishes(&mut field).expect_err("it is foreign");
        assert_eq!((error.code(), error.reason()), (Code::ExecutionResult, Some("foreign")), "{key}");
        assert!(task.tree() == before && field.calls.len() == count, "{key}");
    }
}

#[test]
fn ex_art_34_a_result_that_contradicts_its_run_is_refused() {
    for (change, reason) in [
        (json!({"outcome": {"finished": true, "ok": false, "cost": null, "denials": []}}), "contradiction"),
        (json!({"inputHead": OTHER}), "foreign"),
        (json!({"turnId": "t-9"}), "foreign"),
        (json!({"runId": "run-9"}), "foreign"),
        (json!({"taskId": "t-9"}), "foreign"),
    ] {
        let task = TaskRoot::publishable(json!({}));
        let result: Json = serde_json::from_str(&task.text("run-1/result.json")).expect("JSON");
        task.plant("run-1/result.json", with(result, change).to_string());
        let error = task.publishes(&mut Field::new()).expect_err("refused");
        assert_eq!((error.code(), error.reason()), (Code::ExecutionResult, Some(reason)));
        assert!(!task.exists(APPLICATION));
    }
}

/// EX-IDN-09: a cached result of another session is not published, and nothing of it is used.
#[track_caller]
fn refuses_another_session() {
    let task = TaskRoot::publishable(json!({}));
    let result: Json = serde_json::from_str(&task.text("run-1/result.json")).expect("JSON");
    task.plant("run-1/result.json", with(result, json!({"sessionId": "s-9"})).to_string());
    let mut field = Field::new();
    let error = task.publishes(&mut field).expect_err("another session");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionResult, Some("session")));
    assert!(error.remedy().contains("do not move sessions between runs"), "{}", error.remedy());
    assert!(field.calls.is_empty() && !task.exists(APPLICATION));
    assert_eq!(task.run(1)["sessionId"], "s-1");
}

#[test]
fn ex_idn_12_the_session_is_checked_before_anything_of_a_result_is_used_in_publication_too() {
    refuses_another_session();
}

#[test]
fn ex_idn_18_a_session_is_judged_before_it_is_adopted_anywhere() {
    // When it is read back from its cache, and when it is fetched.
    refuses_another_session();
    let task = TaskRoot::new();
    task.accepted(1);
    let result = result_with(1, json!({"sessionId": "s-9"}));
    let report = task.due_pass([says(observation(1, "succeeded")), says(result)]).ok();
    assert_eq!(report["error"]["reason"], "session");
    assert_eq!((&task.run(1)["sessionId"], task.exists("run-1/result.json")), (&json!("s-1"), false));
}

#[test]
fn ex_idn_23_publication_checks_repository_branch_and_revision_again_by_itself() {
    // The collection takes a result whose repository and branch are anything.
    let task = TaskRoot::publishable(json!({"repo": "org/other", "branch": "main"}));
    assert_eq!(task.run(1)["collected"], true);
    assert_eq!(blocked(&task, &mut Field::new(), "result-validation")["detail"], "repository");
    for (at, head) in [("git.state", OTHER), ("publisher.push", APPLIED)] {
        let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
        field.head = head.to_owned();
        let answer = task.publishes(&mut field);
        if at == "git.state" {
            assert_eq!(answer.expect("a block")["reason"], "result-validation");
        } else {
            // It is the exact commit already: taken over, not made again.
            assert_eq!(
                (answer.expect("published")["status"].as_str(), field.commits),
                (Some("published"), 0)
            );
        }
    }
}

#[test]
fn ex_art_53_a_quarantined_failed_or_rejected_run_writes_no_checkpoint() {
    for change in [json!({"quarantined": true}), json!({"terminalState": "failed"})] {
        let task = TaskRoot::publishable(json!({}));
        task.edit(|ledger| {
            let run = &mut ledger["executions"]["run-1"];
            *run = with(run.clone(), change.clone());
        });
        task.publishes(&mut Field::new()).expect_err("refused");
        assert!(!task.exists(APPLICATION) && !task.exists("run-1/application.lock"));
    }
    // A rejected one has its own, which stays.
    let task = TaskRoot::new();
    task.accepted(1);
    let faulty = TransportError::of(ErrorKind::CollectionValidation, "faulty").with_code("artifact");
    task.due_pass([says(observation(1, "succeeded")), Answer::Fails(faulty)]).ok();
    let checkpoint = task.text(APPLICATION);
    assert_eq!(task.checkpoint()["reason"], "result-collection-validation");
    not_publishable(&task);
    assert_eq!(task.text(APPLICATION), checkpoint);
}

#[test]
fn ex_can_25_quarantined_output_never_enters_publication_also_after_a_restart() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.stop_run([says(json!({"confirmed": false}))]).ok();
    let result = result_with(1, published_result());
    task.due_pass([says(observation(1, "succeeded")), says(result)]).ok();
    assert_eq!(task.run(1)["quarantined"], true, "{}", task.run(1));
    let mut field = Field::new();
    let error = task.publishes(&mut field).expect_err("it is stopped");
    assert_eq!((error.code(), field.calls.len()), (Code::ExecutionFenced, 0));
    // Also where the fence is gone, and however often it is asked for.
    task.edit(|ledger| ledger["stopFence"] = Json::Null);
    not_publishable(&task);
    not_publishable(&task);
}

#[test]
fn a_plan_is_judged_by_its_form() {
    use gallivant_core::publication::Plan;
    let whole = json!({
        "repo": "r", "branch": "b", "base": "main", "verification": verification(json!([])),
        "author": {"name": "n", "email": "e"}
    });
    Plan::from_object(&object(&whole)).expect("it is whole");
    for change in [
        json!({"repo": ""}),
        json!({"branch": null}),
        json!({"base": "b"}),
        json!({"verification": verification(json!([1]))}),
        json!({"verification": null}),
        json!({"author": {"name": "n"}}),
        json!({"origin": 1}),
    ] {
        let error = Plan::from_object(&object(&with(whole.clone(), change))).expect_err("it is not");
        assert_eq!(error.code(), Code::ExecutionInput);
    }
    // EX-VER-01: a source that is not the approved one.
    let mut changed = verification(json!(["true"]));
    changed["source"] = json!("something else");
    let error =
        Plan::from_object(&object(&with(whole, json!({"verification": changed})))).expect_err("changed");
    assert_eq!(error.code(), Code::ExecutionConflict);
    // With no command nothing is run, and the sandbox is proved all the same.
    let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    let answer = task
        .publishes_by(&mut field, &plan_with(json!({"verification": verification(json!([]))})))
        .expect("published");
    assert_eq!((answer["status"].as_str(), field.ran.len()), (Some("published"), 0));
    assert_eq!(task.evidence()["commands"], json!([]));
}

#[test]
fn a_publication_that_was_aborted_while_it_waited_has_written_nothing() {
    let task = TaskRoot::publishable(json!({}));
    let before = task.tree();
    let (boundary, abort) = (task.boundary(), AbortToken::new());
    abort.abort();
    let machine = gallivant_core::publication::reconcile_execution_result(&boundary, "run-1", plan(), abort);
    let refusal = drive(machine, &task, []).refusal();
    assert_eq!(refusal, (Code::ExecutionBusy, Some("aborted")));
    assert!(task.tree() == before);
}
