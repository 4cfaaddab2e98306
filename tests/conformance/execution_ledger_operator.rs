//! What an operator restores or settles: EX-LED-59 to EX-LED-67.

use gallivant_core::Code;
use gallivant_core::execution::AbortToken;
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::locks::BRIEF_WAIT_MS;
use crate::support::task::{
    Answer, TaskRoot, accepts, acknowledgement, dispatch, dispatch_with, drive, from_core, io_error, object,
    with,
};

fn adoption(n: u32) -> Json {
    json!({"operationId": format!("op-{n}"), "acknowledgement": acknowledgement(n),
        "evidence": "seen in the provider's console by an operator"})
}

fn absence(n: u32) -> Json {
    json!({"operationId": format!("op-{n}"), "evidence": "the provider's log has no such key"})
}

/// A task whose first operation is unknown.
fn unknown() -> TaskRoot {
    let task = TaskRoot::new();
    task.lost(1);
    task
}

fn cancel(task: &TaskRoot, answers: impl IntoIterator<Item = Answer>) -> Json {
    let input = object(&json!({"reason": "enough"}));
    drive(task.boundary().cancel(input, AbortToken::new()), task, answers).ok()
}

#[test]
fn ex_led_59_adopting_restores_the_exact_ownership_without_a_call() {
    let mut task = unknown();
    task.options["capabilities"]["newDispatch"]["available"] = json!(false);
    task.options["transport"]["methods"] =
        json!(["submit", "inspect", "continue", "collect", "cancel", "prepare"]);
    let ended = task.adopt(adoption(1));
    assert!(ended.calls.is_empty());
    let value = ended.ok();
    assert_eq!((&value["acceptance"], &value["reused"]), (&json!("accepted"), &json!(false)));
    assert_eq!(value["acknowledgement"]["providerJobId"], "j-1");
    let run = task.run(1);
    assert_eq!(
        (&run["providerJobId"], &run["turnId"], &run["sessionId"]),
        (&json!("j-1"), &json!("t-1"), &json!("s-1"))
    );
}

#[test]
fn ex_led_60_an_adoption_is_checked_in_order_and_a_refusal_changes_nothing() {
    let task = unknown();
    for input in [
        with(adoption(1), json!({"operationId": null})),
        with(adoption(1), json!({"operationId": "/"})),
        with(adoption(1), json!({"acknowledgement": null})),
        with(adoption(1), json!({"acknowledgement": []})),
        with(adoption(1), json!({"evidence": ""})),
        with(adoption(1), json!({"evidence": null})),
        with(adoption(1), json!({"evidence": 7})),
        // The shape comes before the operation, which is not known.
        with(adoption(9), json!({"evidence": ""})),
    ] {
        assert_eq!(task.refused(|task| task.adopt(input.clone())).0, Code::ExecutionInput, "{input}");
    }
    assert_eq!(task.refused(|task| task.adopt(adoption(9))).0, Code::ExecutionUnknownRun);
    let with_acknowledgement = |changes| {
        let changed = with(acknowledgement(1), changes);
        task.refused(|task| task.adopt(with(adoption(1), json!({"acknowledgement": changed}))))
    };
    for (changes, reason) in [
        // Each but the last breaks a later rule too.
        (json!({"cursor": {}, "turnId": "", "sessionId": ""}), "cursor"),
        (json!({"turnId": "", "sessionId": ""}), "identity"),
        (json!({"providerJobId": null}), "identity"),
        (json!({"providerJobId": 7}), "identity"),
        (json!({"sessionId": ""}), "session"),
    ] {
        assert_eq!(with_acknowledgement(changes), (Code::ExecutionProtocol, Some(reason)));
    }
    // The ledger is judged before the operation.
    let broken = unknown();
    broken.edit(|ledger| ledger["executions"]["run-1"]["cursor"] = json!([]));
    let refusal = (Code::ExecutionProtocol, Some("checkpoint-cursor"));
    assert_eq!(broken.refused(|task| task.adopt(adoption(9))), refusal);
    let mut foreign = unknown();
    foreign.options["account"] = json!("another");
    assert_eq!(foreign.refused(|task| task.adopt(adoption(1))).0, Code::ExecutionOwnership);
    // The session that a continue has sent, and a pair that another operation has.
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    task.continue_run(dispatch(2), [Answer::Fails(io_error())]).error();
    let other = with(acknowledgement(2), json!({"sessionId": "s-2"}));
    let refused = task.refused(|task| task.adopt(with(adoption(2), json!({"acknowledgement": other}))));
    assert_eq!(refused, (Code::ExecutionProtocol, Some("session")));
    let refused =
        task.refused(|task| task.adopt(with(adoption(2), json!({"acknowledgement": acknowledgement(1)}))));
    assert_eq!(refused, (Code::ExecutionProtocol, Some("identity")));
    // A local operation has no acknowledgement to restore.
    let mut local = TaskRoot::local();
    let text = unknown().text("execution.json").replace("managed-rest", "cli");
    local.plant("execution.json", text);
    assert_eq!(local.refused(|task| task.adopt(adoption(1))).0, Code::ExecutionInput);
    assert_eq!(
        local.refused(|task| task.adopt(adoption(9))).0,
        Code::ExecutionUnknownRun,
        "known comes first"
    );
    local.options["limits"] = json!({"lockWaitMs": BRIEF_WAIT_MS});
    assert_eq!(local.settle_absent(absence(1)).ok()["acceptance"], "absent", "it serves local operations");
}

#[test]
fn ex_led_61_an_adoption_is_one_persist_and_a_pending_stop_stays_pending() {
    let task = unknown();
    assert_eq!(cancel(&task, []), json!({"confirmed": false}));
    let (fence, stop) = (task.ledger()["stopFence"].clone(), task.run(1)["cancellation"].clone());
    assert_eq!(stop["status"], "pending");
    task.machine.advance_ms(3000);
    let acknowledged = with(acknowledgement(1), json!({"cursor": "c-1"}));
    task.adopt(with(adoption(1), json!({"acknowledgement": acknowledged}))).ok();
    let run = task.run(1);
    assert_eq!((&run["state"], &run["cancellation"]), (&json!("cancellation-requested"), &stop));
    assert_eq!(task.ledger()["stopFence"], fence, "fences stay");
    assert_eq!(
        (&run["cursor"], &run["failures"], &run["nextAttemptAt"]),
        (&json!("c-1"), &json!(0), &json!(NOW + 13_000))
    );
    assert_eq!(task.operation(1)["acceptedAt"], NOW + 3000);
    assert_eq!(task.operation(1)["operatorAct"]["act"], "adopt");
    // The next pass sends the stop.
    let boundary = task.boundary();
    let ended =
        drive(boundary.reconcile(true, AbortToken::new()), &task, [Answer::Says(json!({"confirmed": true}))]);
    assert_eq!(ended.input("cancel")["providerJobId"], "j-1");
    assert_eq!(task.run(1)["state"], "cancelled");
}

#[test]
fn ex_led_62_an_accepted_operation_is_given_back_or_conflicts() {
    let task = unknown();
    task.adopt(adoption(1)).ok();
    let before = task.tree();
    for acknowledged in [
        acknowledgement(1),
        json!({"providerJobId": "j-1", "turnId": "t-1"}),
        // Nothing is adopted of it, so nothing else of it is judged.
        json!({"providerJobId": "j-1", "turnId": "t-1", "cursor": {}}),
    ] {
        let again = json!({"operationId": "op-1", "acknowledgement": acknowledged, "evidence": "seen again"});
        assert_eq!(task.adopt(again).ok()["reused"], true);
        assert!(before == task.tree(), "the first evidence stays");
    }
    for changes in [json!({"providerJobId": "j-2"}), json!({"turnId": "t-2"}), json!({"sessionId": "s-2"})] {
        let other = json!({"acknowledgement": with(acknowledgement(1), changes)});
        assert_eq!(
            task.refused(|task| task.adopt(with(adoption(1), other))),
            (Code::ExecutionConflict, None)
        );
    }
    let task = unknown();
    task.settle_absent(absence(1)).ok();
    assert_eq!(task.refused(|task| task.adopt(adoption(1))), (Code::ExecutionConflict, Some("absent")));
}

#[test]
fn ex_led_63_an_absence_is_checked_like_an_adoption() {
    let task = unknown();
    for changes in
        [json!({"operationId": ""}), json!({"evidence": ""}), json!({"evidence": "e".repeat(4097)})]
    {
        assert_eq!(
            task.refused(|task| task.settle_absent(with(absence(1), changes))).0,
            Code::ExecutionInput
        );
    }
    assert_eq!(task.refused(|task| task.settle_absent(absence(9))).0, Code::ExecutionUnknownRun);
    let mut foreign = unknown();
    foreign.options["taskId"] = json!("t-2");
    assert_eq!(foreign.refused(|task| task.settle_absent(absence(1))).0, Code::ExecutionOwnership);
    let ended = task.settle_absent(absence(1));
    assert!(ended.calls.is_empty());
    assert_eq!(ended.ok()["acceptance"], "absent");
}

#[test]
fn ex_led_64_an_absent_operation_is_settled_and_the_run_before_it_is_current_again() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    task.lost(2);
    let before = task.run(2);
    task.machine.advance_ms(700);
    task.settle_absent(absence(2)).ok();
    let ledger = task.ledger();
    assert_eq!(ledger["currentRunId"], "run-1");
    let act =
        json!({"act": "settle-absent", "at": NOW + 700, "evidence": "the provider's log has no such key"});
    assert_eq!(
        (&task.operation(2)["acceptance"], &task.operation(2)["operatorAct"]),
        (&json!("absent"), &act)
    );
    let settled = with(before, json!({"absent": true, "nextAttemptAt": null}));
    assert_eq!(task.run(2), settled, "identities, state, terminal state and times stay");
    assert_eq!(task.job(2)["execution"], settled);
    let outcome = from_core(&task.boundary().outcome("run-2").expect("settled"));
    assert_eq!(
        outcome,
        json!({"finished": true, "ok": false, "exit": null, "cost": null, "denials": [],
        "resultRejected": false, "quarantined": false, "providerState": "status-unknown", "completedAt": null,
        "completionInferred": false, "absent": true})
    );
    // An open stop has met nothing that runs. A run that is not the current one leaves the current one alone.
    let task = unknown();
    cancel(&task, []);
    task.settle_absent(absence(1)).ok();
    let stop = &task.run(1)["cancellation"];
    assert_eq!((&stop["status"], &stop["resolvedAt"]), (&json!("terminal"), &json!(NOW)));
    assert_eq!(task.ledger()["currentRunId"], json!(null));
}

#[test]
fn ex_led_65_the_charge_stays_and_the_id_is_spent() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    task.lost(2);
    task.settle_absent(absence(2)).ok();
    assert_eq!(task.ledger()["allowance"]["chargedUsd"], 1);
    let absent = (Code::ExecutionConflict, Some("absent"));
    assert_eq!(task.refused(|task| task.submit(dispatch(2), [])), absent);
    let other = dispatch_with(2, json!({"prompt": "something else"}));
    assert_eq!(task.refused(|task| task.submit(other, [])).0, Code::ExecutionConflict);
    let sent = task.continue_run(dispatch(3), accepts(3)).input("continue");
    assert_eq!((&sent["sessionId"], &sent["previous"]["providerJobId"]), (&json!("s-1"), &json!("j-1")));
    let fenced = unknown();
    cancel(&fenced, []);
    fenced.settle_absent(absence(1)).ok();
    assert_eq!(fenced.refused(|task| task.submit(dispatch(2), [])).0, Code::ExecutionFenced, "fences stay");
    let answered = TaskRoot::new();
    answered.accepted(1);
    answered.edit(|ledger| ledger["executions"]["run-1"]["state"] = json!("waiting-for-input"));
    let answer = dispatch_with(2, json!({"response": {"signature": "q", "answer": 1}}));
    answered.continue_run(answer.clone(), [Answer::Deadline]).error();
    answered.settle_absent(absence(2)).ok();
    assert_eq!(answered.refused(|task| task.continue_run(answer.clone(), [])), absent);
    assert_eq!(answered.refused(|task| task.recover("op-2", answer.clone(), [])), absent);
}

#[test]
fn ex_led_66_a_repeated_absence_is_given_back_and_an_accepted_operation_conflicts() {
    let task = unknown();
    task.settle_absent(absence(1)).ok();
    let before = task.tree();
    let again = task.settle_absent(with(absence(1), json!({"evidence": "looked again"}))).ok();
    assert_eq!((&again["acceptance"], &again["reused"]), (&json!("absent"), &json!(true)));
    assert!(before == task.tree());
    let task = TaskRoot::new();
    task.accepted(1);
    assert_eq!(task.refused(|task| task.settle_absent(absence(1))), (Code::ExecutionConflict, None));
}

#[test]
fn ex_led_67_the_evidence_is_kept_redacted_and_nothing_automatic_does_as_much() {
    let mut task = unknown();
    task.options["secrets"] = json!(["hunter2-hunter2"]);
    // Bytes, and not characters, count.
    let longest = "ä".repeat(2048);
    for (evidence, fits) in [(longest.clone() + "!", false), ("x".repeat(4097), false), (longest, true)] {
        let ended = task.adopt(with(adoption(1), json!({"evidence": evidence})));
        assert_eq!(ended.result_is_ok(), fits);
    }
    let task = {
        let mut task = unknown();
        task.options["secrets"] = json!(["hunter2-hunter2"]);
        task
    };
    task.machine.advance_ms(40);
    task.adopt(with(adoption(1), json!({"evidence": "password hunter2-hunter2 opened the console"}))).ok();
    let act = task.operation(1)["operatorAct"].clone();
    assert_eq!((&act["act"], &act["at"]), (&json!("adopt"), &json!(NOW + 40)));
    let evidence = act["evidence"].as_str().expect("a text");
    assert!(evidence.ends_with("opened the console") && !evidence.contains("hunter2"), "{evidence}");
    // Passes, null lookups, deadlines and time bring an unknown operation no further.
    let task = unknown();
    for answer in [
        Answer::Text("null".to_owned()),
        Answer::Fails(io_error()),
        Answer::Deadline,
        Answer::Says(json!({})),
    ] {
        task.machine.advance_ms(10_000_000);
        let boundary = task.boundary();
        let ended = drive(boundary.startup(AbortToken::new()), &task, [answer]);
        assert_eq!(ended.input("lookup")["operationId"], "op-1");
        let operation = task.operation(1);
        assert_eq!((&operation["acceptance"], &operation["operatorAct"]), (&json!("unknown"), &json!(null)));
        assert_eq!(task.run(1)["absent"], false);
    }
}

#[test]
fn both_acts_return_like_a_submit() {
    let shape = |value: &Json| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    let submitted = TaskRoot::new().accepted(1);
    assert_eq!(shape(&unknown().adopt(adoption(1)).ok()), shape(&submitted));
    let absent = unknown().settle_absent(absence(1)).ok();
    assert_eq!(shape(&absent), shape(&submitted));
    assert_eq!(
        (&absent["operationId"], &absent["runId"], &absent["acknowledgement"]),
        (&json!("op-1"), &json!("run-1"), &json!(null))
    );
}
