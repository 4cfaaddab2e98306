//! The provider in memory under real passes: what it loses and lies is not believed, and what it does is followed.

use gallivant_core::Code;
use gallivant_core::execution::{AbortToken, Method, Nanos, Round, drive};
use gallivant_core::json::Value;
use gallivant_core::testing::Mishap;

use crate::support::memory_task::{Task, at, submit, word};

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
