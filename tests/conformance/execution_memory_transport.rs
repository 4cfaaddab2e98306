//! The provider in memory under real passes: what it loses and lies is not believed, and what it does is followed.

use gallivant_core::Code;
use gallivant_core::execution::{AbortToken, Method, Nanos, ProviderState, Round, drive};
use gallivant_core::json::Value;
use gallivant_core::testing::Mishap;

use crate::support::memory_task::{Task, at, object, submit, word};

fn cost(dollars: &str) -> Nanos {
    Nanos::parse(dollars, Round::Up).expect("it is an amount")
}

#[test]
fn a_provider_in_memory_lies_as_a_test_says_and_is_not_believed() {
    for (mishap, reason) in [
        (Mishap::LoseReply, "io"),
        (Mishap::Oversized(65_537), "oversized"),
        (Mishap::Oversized(65_536), "identity"),
        (Mishap::Reply("no JSON".into()), "shape"),
        (Mishap::Reply("[]".into()), "shape"),
        (Mishap::Replace("turnId", Value::from("")), "identity"),
        (Mishap::Replace("providerJobId", Value::from(7_u64)), "identity"),
        (Mishap::Replace("sessionId", Value::from("")), "session"),
        (Mishap::Replace("cursor", Value::from(Vec::new())), "cursor"),
    ] {
        let task = Task::new();
        let boundary = task.boundary();
        task.transport.next(Method::Submit, mishap.clone());
        let lost = drive(submit(&boundary, "op-1"), &task.transport, &AbortToken::new()).unwrap_err();
        assert_eq!(
            (lost.code(), lost.reason()),
            (Code::ExecutionAcceptanceUnknown, Some(reason)),
            "{mishap:?}"
        );
        // The provider has it, and a pass finds it by its key.
        let abort = AbortToken::new();
        drive(boundary.reconcile(true, abort.clone()), &task.transport, &abort).expect("it is looked up");
        assert_eq!(word(&task.ledger(), "operations/op-1/acceptance"), "accepted", "{mishap:?}");
        assert_eq!(task.transport.creates(), 1);
    }
}

#[test]
fn a_job_in_memory_is_followed_to_its_result() {
    let task = Task::new();
    let boundary = task.boundary();
    let abort = AbortToken::new();
    let pass = || drive(boundary.reconcile(true, abort.clone()), &task.transport, &abort).expect("a pass");
    drive(submit(&boundary, "op-1"), &task.transport, &abort).expect("it is accepted");
    for text in ["one", "two"] {
        assert!(task.transport.emit("turn-1", "output", Value::from(text)));
    }
    assert_eq!(word(&pass(), "state"), "running");
    task.transport.next(Method::Inspect, Mishap::RepeatEvents);
    pass();
    let events = std::fs::read_to_string(task.root().join("run-op-1/events.jsonl")).expect("a journal");
    assert_eq!(events.lines().count(), 2, "each event once: {events}");
    assert!(task.transport.report_cost("turn-1", cost("0.25")));
    assert!(task.transport.finish("turn-1", true, "done"));
    assert_eq!(word(&pass(), "terminalState"), "succeeded");
    let run = boundary.inspect().expect("it is read");
    assert_eq!(at(&run, "collected").as_bool(), Some(true), "{}", run.to_json());
    assert_eq!(at(&run, "costUsd").to_json(), "0.25");
    assert!(!task.transport.emit("turn-2", "output", Value::Null), "there is no such job");
}

#[test]
fn ex_tra_25_a_lost_answer_is_repeated_only_where_it_is_found_and_its_absence_proves_nothing() {
    let task = Task::new();
    let boundary = task.boundary();
    let abort = AbortToken::new();
    let pass = || drive(boundary.reconcile(true, abort.clone()), &task.transport, &abort).expect("a pass");
    drive(submit(&boundary, "op-1"), &task.transport, &abort).expect("it is accepted");
    assert!(task.transport.set_state("turn-1", ProviderState::WaitingForInput));
    assert_eq!(word(&pass(), "state"), "waiting-for-input");
    let answer = |text: &str| {
        object(&format!(
            r#"{{"operationId":"op-2","runId":"run-op-2","prompt":"","reservationUsd":0.5,
                 "response":{{"signature":"ask-1","answer":"{text}"}}}}"#
        ))
    };
    task.transport.next(Method::Continue, Mishap::LoseReply);
    let lost = drive(boundary.continue_run(answer("yes"), abort.clone()), &task.transport, &abort);
    assert_eq!(lost.expect_err("it is lost").code(), Code::ExecutionAcceptanceUnknown);
    let recover = |text: &str| {
        let machine = boundary.recover_response("op-2".to_owned(), answer(text), abort.clone());
        drive(machine, &task.transport, &abort)
    };
    // That nothing is found does not free the intent, and nothing is sent in its place.
    let made = task.transport.creates();
    task.transport.next(Method::RecoverResponse, Mishap::Reply("null".into()));
    assert_eq!(recover("yes").expect_err("nothing is found").code(), Code::ExecutionAcceptanceUnknown);
    assert_eq!(word(&task.ledger(), "operations/op-2/acceptance"), "unknown");
    // Another answer is not the one that was lost.
    let asked = task.transport.calls().len();
    assert_eq!(recover("no").expect_err("another answer").code(), Code::ExecutionConflict);
    assert_eq!(task.transport.calls().len(), asked);
    // The provider has the pending call: it is owned, and it was made once.
    assert_eq!(word(&recover("yes").expect("it is found"), "acceptance"), "accepted");
    assert_eq!(task.transport.creates(), made);
    let continued = task.transport.calls().iter().filter(|method| **method == Method::Continue).count();
    assert_eq!(continued, 1);
}
