//! How an intake turn stands, whether it came in time, and what its stops do: EX-PRE-15, EX-PRE-16, EX-PRE-20 to EX-PRE-29.

use gallivant_core::Code;
use gallivant_core::execution::{AbortToken, Step};
use serde_json::{Value as Json, json};

use crate::execution_preparation::{intake, receipt};
use crate::support::NOW;
use crate::support::task::{
    Answer, Ended, TaskRoot, accepts, acknowledgement, dispatch_with, drive, from_core, io_error, object,
    with,
};

const DEADLINE: u64 = NOW + 60_000;

/// A task with one accepted intake turn and a deadline.
fn started() -> TaskRoot {
    let mut task = TaskRoot::new();
    task.options["intakeDeadlineAt"] = json!(DEADLINE);
    let receipt = receipt(&task, "draft");
    task.submit(intake(1, &receipt), accepts(1)).ok();
    task
}

fn status(task: &TaskRoot) -> Json {
    from_core(&task.boundary().preparation_status("run-1").expect("it is known").to_value())
}

fn stands(status: &str, next: Json) -> Json {
    json!({"status": status, "nextAction": next})
}

fn judged(task: &TaskRoot) -> &'static str {
    task.boundary().judge_preparation("run-1").expect("it is known").word()
}

fn observed(state: &str, changes: Json) -> Answer {
    let observation = json!({"state": state, "observedAt": NOW, "events": []});
    Answer::Says(with(with(acknowledgement(1), observation), changes))
}

fn result() -> Answer {
    Answer::Says(json!({"providerJobId": "j-1", "turnId": "t-1", "sessionId": "s-1", "inputHead": null,
        "outcome": {"finished": true, "ok": true, "cost": null, "denials": []}, "text": "a draft"}))
}

fn pass(task: &TaskRoot, answers: impl IntoIterator<Item = Answer>) -> Ended {
    drive(task.boundary().startup(AbortToken::new()), task, answers)
}

fn stop(task: &TaskRoot, answers: impl IntoIterator<Item = Answer>) -> Ended {
    let input = object(&json!({"reason": "the owner has withdrawn it"}));
    drive(task.boundary().preparation_stop(input, AbortToken::new()), task, answers)
}

/// A collected turn whose times are these.
fn ended(times: Json) -> TaskRoot {
    let task = started();
    let known = json!({"collected": true, "state": "succeeded", "terminalState": "succeeded"});
    task.edit(|ledger| {
        ledger["executions"]["run-1"] = with(with(ledger["executions"]["run-1"].clone(), known), times);
    });
    task.plant(
        "run-1/result.json",
        json!({"version": 1, "taskId": "t-1", "runId": "run-1", "provider": "prov",
        "providerJobId": "j-1", "turnId": "t-1", "outcome": {"finished": true, "ok": true}})
        .to_string(),
    );
    task
}

#[test]
fn ex_pre_15_every_phase_goes_by_the_same_calls() {
    for phase in ["draft", "clarify", "repair"] {
        let task = TaskRoot::new();
        let receipt = receipt(&task, phase);
        task.submit(intake(1, &receipt), accepts(1)).ok();
        let called = pass(&task, [observed("succeeded", json!({"completedAt": NOW})), result()]).calls;
        assert_eq!(called.iter().map(|(method, _)| *method).collect::<Vec<_>>(), ["inspect", "collect"]);
        assert_eq!(status(&task), stands("retrieved", json!(null)), "{phase}");
        assert_eq!(judged(&task), "timely", "without a deadline nothing is late");
    }
}

#[test]
fn ex_pre_16_an_intake_is_preparing_until_its_result_is_known() {
    let task = TaskRoot::new();
    let receipt = receipt(&task, "draft");
    task.submit(intake(1, &receipt), [Answer::Fails(io_error())]).error();
    assert_eq!(status(&task), stands("preparing", json!("reconcile")), "acceptance is unknown");
    task.adopt(json!({"operationId": "op-1", "acknowledgement": acknowledgement(1), "evidence": "seen"}))
        .ok();
    assert_eq!(status(&task), stands("preparing", json!("reconcile")), "owned");
    let before = task.tree();
    task.edit(|ledger| {
        ledger["executions"]["run-1"]["terminalState"] = json!("succeeded");
        ledger["executions"]["run-1"]["state"] = json!("retrieving-results");
    });
    assert_eq!(status(&task), stands("preparing", json!("reconcile")), "ended, and not collected");
    assert!(before != task.tree());
    task.settle(1);
    let before = task.tree();
    assert_eq!(status(&task), stands("retrieved", json!(null)));
    assert!(before == task.tree(), "it reads");
    let boundary = task.boundary();
    assert_eq!(boundary.preparation_status("run-9").expect_err("none").code(), Code::ExecutionUnknownRun);
    assert_eq!(boundary.preparation_status("../x").expect_err("none").code(), Code::ExecutionInput);
    task.submit(dispatch_with(2, json!({})), accepts(2)).ok();
    assert_eq!(boundary.preparation_status("run-2").expect_err("no intake").code(), Code::ExecutionInput);
}

#[test]
fn ex_pre_20_the_deadline_is_saved_with_the_first_intake_and_is_inclusive() {
    let task = started();
    assert_eq!(task.ledger()["intakeDeadlineAt"], DEADLINE);
    let mut later = task;
    later.settle(1);
    later.options["intakeDeadlineAt"] = json!(DEADLINE + 1);
    later.submit(intake(2, &json!("text-only")), accepts(2)).ok();
    assert_eq!(later.ledger()["intakeDeadlineAt"], DEADLINE, "that of the first intent");
    assert_eq!(judged(&ended(json!({"completedAt": DEADLINE}))), "timely");
    assert_eq!(judged(&ended(json!({"completedAt": DEADLINE + 1}))), "late");
    // What is no intake sets none.
    let mut task = TaskRoot::new();
    task.options["intakeDeadlineAt"] = json!(DEADLINE);
    task.accepted(1);
    assert_eq!(task.ledger()["intakeDeadlineAt"], json!(null));
}

#[test]
fn ex_pre_21_a_pass_long_after_the_deadline_observes_and_collects_first() {
    let task = started();
    task.machine.set_wall_ms(DEADLINE + 86_400_000);
    let completed = json!({"observedAt": DEADLINE + 86_400_000, "completedAt": DEADLINE});
    let called = pass(&task, [observed("succeeded", completed), result()]).calls;
    assert_eq!(called.len(), 2, "no stop is sent");
    assert_eq!(task.run(1)["collected"], true);
    assert_eq!(judged(&task), "timely");
}

#[test]
fn ex_pre_22_the_exact_end_is_compared_else_the_bounds() {
    let (soon, late) = (DEADLINE - 1, DEADLINE + 1);
    for (completed, terminal, collected, expected) in [
        (json!(soon), json!(late), json!(late), "timely"),
        (json!(late), json!(soon), json!(soon), "late"),
        (json!(null), json!(soon), json!(late), "timely"),
        (json!(null), json!(late), json!(soon), "late"),
        (json!(null), json!(null), json!(soon), "timely"),
        (json!(null), json!(null), json!(late), "late"),
        (json!(null), json!(null), json!(null), "pending"),
    ] {
        let times =
            json!({"completedAt": completed, "terminalObservedAt": terminal, "collectedAt": collected});
        assert_eq!(judged(&ended(times.clone())), expected, "{times}");
    }
}

#[test]
fn ex_pre_23_late_output_keeps_its_result_usage_and_cost() {
    let task = started();
    task.machine.set_wall_ms(DEADLINE + 1000);
    let late = json!({"observedAt": DEADLINE + 1000, "completedAt": DEADLINE + 1, "costUsd": 0.75});
    pass(&task, [observed("succeeded", late), result()]).ok();
    assert_eq!(judged(&task), "late");
    assert_eq!((&task.run(1)["collected"], &task.run(1)["costUsd"]), (&json!(true), &json!(0.75)));
    assert!(task.text("run-1/result.json").contains("a draft"));
    let outcome = from_core(&task.boundary().outcome("run-1").expect("settled"));
    assert_eq!((&outcome["ok"], &outcome["cost"]), (&json!(true), &json!(0.75)));
    assert_eq!(task.ledger()["allowance"]["chargedUsd"], 0.75);
}

#[test]
fn ex_pre_24_a_bound_after_the_deadline_is_late() {
    let inferred =
        json!({"completedAt": null, "terminalObservedAt": DEADLINE + 1, "completionInferred": true});
    assert_eq!(judged(&ended(inferred)), "late", "even if the work may have ended before");
}

#[test]
fn ex_pre_25_without_a_valid_result_it_is_pending_and_no_stop_is_sent() {
    let in_time = json!({"completedAt": DEADLINE - 1});
    for file in [
        None,
        Some("{"),
        Some("[]"),
        Some(r#"{"version":1,"runId":"run-2"}"#),
        Some(r#"{"version":1,"turnId":"t-9"}"#),
    ] {
        let task = ended(in_time.clone());
        match file {
            None => std::fs::remove_file(task.path().join("run-1/result.json")).expect("removed"),
            Some(text) => task.plant("run-1/result.json", text),
        }
        assert_eq!(judged(&task), "pending", "{file:?}");
    }
    assert_eq!(judged(&ended(with(in_time.clone(), json!({"collected": false})))), "pending");
    assert_eq!(judged(&ended(with(in_time, json!({"resultRejected": true})))), "pending");
    // Long after the deadline, a root that has ended is asked for its result and for nothing else.
    let task = started();
    task.machine.set_wall_ms(DEADLINE + 1);
    let completed = json!({"observedAt": DEADLINE + 1, "completedAt": DEADLINE - 1});
    pass(&task, [observed("succeeded", completed), Answer::Text("null".to_owned())]).ok();
    assert_eq!(judged(&task), "pending");
    let called = pass(&task, [Answer::Text("null".to_owned())]).calls;
    assert_eq!(called[0].0, "collect");
}

#[test]
fn ex_pre_26_a_stop_of_a_preparation_is_saved_before_it_is_sent() {
    let task = started();
    let input = object(&json!({"reason": "withdrawn"}));
    let kept = task.boundary();
    let mut machine = kept.preparation_stop(input, AbortToken::new());
    let Step::Call(call) = machine.start() else { panic!("it is sent") };
    assert_eq!(call.method, "cancel");
    let fence = &task.ledger()["stopFence"];
    assert_eq!((&fence["kind"], &fence["runId"]), (&json!("preparation"), &json!("run-1")));
    assert_eq!(task.run(1)["cancellation"]["status"], "pending");
    // Of unresolved work too, where nothing can be sent.
    let task = TaskRoot::new();
    task.submit(intake(1, &json!("text-only")), [Answer::Deadline]).error();
    stop(&task, []).ok();
    assert_eq!(task.ledger()["stopFence"]["kind"], "preparation");
}

#[test]
fn ex_pre_27_while_a_stop_is_open_the_next_action_is_to_cancel_and_nothing_is_dispatched() {
    let open = |answers: Vec<Answer>, unsupported: bool| {
        let mut task = started();
        task.options["capabilities"]["cancel"] = json!(!unsupported);
        stop(&task, answers).ok();
        assert_eq!(status(&task), stands("preparing", json!("cancel")));
        let refused = task.refused(|task| task.submit(intake(2, &json!("text-only")), []));
        assert_eq!(refused.0, Code::ExecutionFenced);
        task.run(1)["cancellation"]["status"].clone()
    };
    assert_eq!(open(vec![Answer::Fails(io_error())], false), "pending");
    assert_eq!(open(vec![Answer::Says(json!({"confirmed": false}))], false), "acknowledged");
    assert_eq!(open(vec![], true), "unsupported");
}

#[test]
fn ex_pre_28_a_confirmed_stop_or_end_blocks_and_quarantines() {
    let task = started();
    stop(&task, [Answer::Says(json!({"confirmed": true}))]).ok();
    assert_eq!(status(&task), stands("blocked", json!(null)));
    assert_eq!(task.run(1)["quarantined"], true);
    let task = started();
    stop(&task, [Answer::Says(json!({"confirmed": false}))]).ok();
    pass(&task, [observed("succeeded", json!({"completedAt": NOW})), result()]).ok();
    assert_eq!(status(&task), stands("blocked", json!(null)), "it had ended by itself");
    assert_eq!(task.run(1)["quarantined"], true);
}

#[test]
fn ex_pre_29_a_pending_stop_by_time_is_driven_on_and_other_blocked_records_are_inert() {
    let task = started();
    let stopped = drive(
        task.boundary().timeout_stop(object(&json!({})), AbortToken::new()),
        &task,
        [Answer::Fails(io_error())],
    );
    stopped.ok();
    assert_eq!(task.ledger()["stopFence"]["kind"], "timeout");
    assert_eq!(status(&task), stands("preparing", json!("cancel")));
    let called = pass(&task, [Answer::Says(json!({"confirmed": true}))]).calls;
    assert_eq!(called[0].0, "cancel", "sent again");
    assert_eq!(status(&task), stands("blocked", json!(null)));
    let ended = pass(&task, []);
    assert!(ended.calls.is_empty(), "nobody is called for it any more");
}
