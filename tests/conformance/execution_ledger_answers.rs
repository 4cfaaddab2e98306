//! Answers to waiting runs, their lost replies, and what a continuation is sent: EX-LED-50 to EX-LED-55, EX-LED-57.

use gallivant_core::Code;
use gallivant_core::execution::{TransportError, contract::ErrorKind};
use serde_json::{Value as Json, json};

use crate::support::task::{
    Answer, TaskRoot, accepts, acknowledgement, dispatch, dispatch_with, io_error, with,
};

/// A task whose current run waits for an answer.
fn waiting() -> TaskRoot {
    let task = TaskRoot::new();
    task.accepted(1);
    task.edit(|ledger| ledger["executions"]["run-1"]["state"] = json!("waiting-for-input"));
    task
}

fn answer(n: u32, answer: &str) -> Json {
    dispatch_with(n, json!({"response": {"signature": "q-1", "answer": answer}}))
}

/// A waiting task whose answer got no reply.
fn lost_answer() -> TaskRoot {
    let task = waiting();
    let error = task.continue_run(answer(2, "yes"), [Answer::Fails(io_error())]).error();
    assert_eq!((error.code(), error.reason()), (Code::ExecutionAcceptanceUnknown, Some("io")));
    task
}

#[test]
fn ex_led_50_an_answer_continues_the_run_that_waits_for_it() {
    let task = waiting();
    assert_eq!(task.refused(|task| task.continue_run(dispatch(2), [])).0, Code::ExecutionActive, "no answer");
    let ended = task.continue_run(answer(2, "the blue one"), accepts(2));
    let sent = ended.input("continue");
    assert_eq!(sent["response"], json!({"signature": "q-1", "answer": "the blue one"}));
    assert_eq!(sent["previous"], json!({"providerJobId": "j-1", "turnId": "t-1"}));
    ended.ok();
    assert_eq!(task.operation(2)["response"], json!({"signature": "q-1"}), "the signature only");
    assert!(!task.text("execution.json").contains("the blue one"));
    assert!(!task.text("run-2/job.json").contains("the blue one"));
    // The signature is a part of the fingerprint, and so is the answer.
    for other in
        [json!({"signature": "q-2", "answer": "the blue one"}), json!({"signature": "q-1", "answer": "red"})]
    {
        let input = dispatch_with(2, json!({"response": other}));
        assert_eq!(task.refused(|task| task.continue_run(input, [])).0, Code::ExecutionConflict);
    }
    // A run in any other state is not answered.
    for state in ["queued", "running", "retrieving-results", "status-unknown", "cancellation-requested"] {
        let task = waiting();
        task.edit(|ledger| ledger["executions"]["run-1"]["state"] = json!(state));
        assert_eq!(
            task.refused(|task| task.continue_run(answer(2, "yes"), [])).0,
            Code::ExecutionActive,
            "{state}"
        );
    }
    let task = waiting();
    task.settle(1);
    assert_eq!(
        task.refused(|task| task.continue_run(answer(2, "yes"), [])).0,
        Code::ExecutionConflict,
        "settled"
    );
}

#[test]
fn ex_led_51_a_lost_answer_leaves_unknown_acceptance_with_the_same_signature_and_key() {
    let task = lost_answer();
    let operation = task.operation(2);
    assert_eq!(
        (&operation["acceptance"], &operation["response"]["signature"]),
        (&json!("unknown"), &json!("q-1"))
    );
    let key = operation["idempotencyKey"].clone();
    assert_eq!(
        task.refused(|task| task.continue_run(answer(2, "yes"), [])).0,
        Code::ExecutionAcceptanceUnknown
    );
    let recovered = task.recover("op-2", answer(2, "yes"), [Answer::Text("null".to_owned())]);
    let sent = recovered.input("recoverResponse");
    assert_eq!((&sent["idempotencyKey"], &sent["response"]["signature"]), (&key, &json!("q-1")));
}

#[test]
fn ex_led_52_recovering_asks_once_and_adopts_an_acknowledgement() {
    let task = lost_answer();
    let before = task.tree();
    for (answered, reason) in [
        (Answer::Text("null".to_owned()), "unresolved"),
        (Answer::Fails(TransportError::of(ErrorKind::Auth, "m")), "auth"),
        (Answer::Fails(TransportError::of(ErrorKind::NotSent, "m")), "io"),
        (Answer::Says(json!({"providerJobId": "j-2"})), "identity"),
        (Answer::Says(with(acknowledgement(2), json!({"cursor": []}))), "cursor"),
        (Answer::Says(with(acknowledgement(2), json!({"sessionId": "another"}))), "session"),
        (Answer::Says(acknowledgement(1)), "identity"),
        (Answer::Deadline, "deadline"),
        (Answer::Abort, "aborted"),
    ] {
        let ended = task.recover("op-2", answer(2, "yes"), [answered]);
        assert_eq!(ended.calls.len(), 1);
        let error = ended.error();
        assert_eq!((error.code(), error.reason()), (Code::ExecutionAcceptanceUnknown, Some(reason)));
        assert!(before == task.tree(), "{reason}: acceptance stays unknown and nothing is written");
    }
    let ended = task.recover("op-2", answer(2, "yes"), accepts(2));
    let sent = ended.input("recoverResponse");
    for (key, expected) in
        [("operationId", "op-2"), ("runId", "run-2"), ("sessionId", "s-1"), ("prompt", "do it")]
    {
        assert_eq!(sent[key], expected);
    }
    assert_eq!(sent["previous"]["providerJobId"], "j-1", "the full input of the lost continue");
    let value = ended.ok();
    assert_eq!((&value["acceptance"], &value["reused"]), (&json!("accepted"), &json!(false)));
    assert_eq!((&task.run(2)["providerJobId"], &task.run(2)["state"]), (&json!("j-2"), &json!("queued")));
    let again = task.recover("op-2", answer(2, "yes"), []);
    assert_eq!(again.ok()["acknowledgement"]["providerJobId"], "j-2", "accepted: no call");
    assert_eq!(
        task.recover("op-9", with(answer(2, "yes"), json!({"operationId": "op-9"})), []).refusal().0,
        Code::ExecutionUnknownRun
    );
}

#[test]
fn ex_led_53_without_the_method_the_answer_stays_ambiguous_and_is_never_sent_again() {
    let mut task = lost_answer();
    task.options["transport"]["methods"] =
        json!(["prepare", "submit", "inspect", "continue", "collect", "cancel", "lookup"]);
    for _ in 0..2 {
        let refused = task.refused(|task| task.recover("op-2", answer(2, "yes"), []));
        assert_eq!(refused.0, Code::ExecutionAcceptanceUnknown);
    }
    assert_eq!(task.operation(2)["acceptance"], "unknown");
}

#[test]
fn ex_led_54_recovering_with_another_answer_conflicts() {
    let task = lost_answer();
    for input in [
        answer(2, "no"),
        with(answer(2, "yes"), json!({"prompt": "do it now"})),
        with(answer(2, "yes"), json!({"runId": "run-3"})),
        answer(3, "yes"),
    ] {
        assert_eq!(task.refused(|task| task.recover("op-2", input, [])).0, Code::ExecutionConflict);
    }
}

#[test]
fn ex_led_55_recovering_what_was_no_answer_is_refused() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    task.continue_run(dispatch(2), [Answer::Deadline]).error();
    for (operation, n) in [("op-1", 1), ("op-2", 2)] {
        assert_eq!(task.refused(|task| task.recover(operation, dispatch(n), [])).0, Code::ExecutionInput);
    }
    assert_eq!(task.refused(|task| task.recover("../op", dispatch(2), [])).0, Code::ExecutionInput);
}

#[test]
fn a_continuation_sends_the_session_of_the_current_run_and_no_other() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    let other = json!({"sessionId": "s-2", "legacySessionId": "s-3"});
    let refused = task.refused(|task| task.continue_run(dispatch_with(2, other), []));
    assert_eq!(refused, (Code::ExecutionOwnership, Some("session")));
    let sent =
        task.continue_run(dispatch_with(2, json!({"legacySessionId": "s-3"})), accepts(2)).input("continue");
    assert_eq!(sent["sessionId"], "s-1");
    assert_eq!(task.operation(2)["sessionId"], "s-1");
    for session in [json!(null), json!("")] {
        let task = TaskRoot::new();
        task.accepted(1);
        task.settle(1);
        task.edit(|ledger| ledger["executions"]["run-1"]["sessionId"] = session);
        let refused =
            task.refused(|task| task.continue_run(dispatch_with(2, json!({"legacySessionId": "s-3"})), []));
        assert_eq!(refused, (Code::ExecutionOwnership, Some("session")));
    }
}

#[test]
fn ex_led_57_without_a_run_there_is_nothing_to_continue() {
    let task = TaskRoot::new();
    assert_eq!(task.refused(|task| task.continue_run(dispatch(1), [])).0, Code::ExecutionUnknownRun);
    assert_eq!(task.refused(|task| task.continue_run(answer(1, "yes"), [])).0, Code::ExecutionUnknownRun);
    // A first operation that was settled as absent leaves no run behind either.
    task.lost(1);
    task.settle_absent(json!({"operationId": "op-1", "evidence": "seen"})).ok();
    assert_eq!(task.refused(|task| task.continue_run(dispatch(2), [])).0, Code::ExecutionUnknownRun);
}
