//! EX-TRA-29 and EX-TRA-34: what a driver makes of a method that fails: not sent, rejected, panicked.

use gallivant_core::Code;
use gallivant_core::execution::contract::{ErrorKind, dispatch_not_sent_error};
use gallivant_core::execution::{AbortToken, Method, TransportError, drive, drive_async};
use gallivant_core::json::Value;
use gallivant_core::testing::Mishap;

use crate::execution_transport::{Awaited, How, block_on, timer};
use crate::support::memory_task::{START, Task, at, object, submit, word, work};

#[test]
fn ex_tra_29_not_sent_is_not_believed_of_a_call_that_has_begun_to_send() {
    let not_sent = || dispatch_not_sent_error("prereq", "the key is missing");
    for is_awaited in [false, true] {
        let task = Task::new();
        let boundary = task.boundary();
        let run = |operation: &str| {
            if is_awaited {
                let transport = Awaited::new(&task, How::AtOnce);
                let machine = submit(&boundary, operation);
                block_on(drive_async(machine, &transport, timer(&task), std::future::pending()))
            } else {
                drive(submit(&boundary, operation), &task.transport, &AbortToken::new())
            }
        };
        task.transport.next(Method::Submit, Mishap::Fail(not_sent()));
        let refused = run("op-1").unwrap_err();
        assert_eq!(refused.code(), Code::ExecutionDispatchRefused);
        let refusals = at(&task.ledger(), "dispatchRefusals").as_array().map(<[Value]>::len);
        assert_eq!(refusals, Some(1));

        task.transport.next(Method::Submit, Mishap::FailSending(not_sent()));
        let lost = run("op-1").unwrap_err();
        assert_eq!((lost.code(), lost.reason()), (Code::ExecutionAcceptanceUnknown, Some("io")));
        assert_eq!(word(&task.ledger(), "operations/op-1/acceptance"), "unknown");
    }

    // A continue has it too.
    let task = Task::new();
    let boundary = task.boundary();
    let abort = AbortToken::new();
    drive(submit(&boundary, "op-1"), &task.transport, &abort).expect("it is accepted");
    settle(&task, "run-op-1");
    task.transport.next(Method::Continue, Mishap::FailSending(not_sent()));
    let boundary = task.boundary();
    let lost =
        drive(boundary.continue_run(work("op-2"), abort.clone()), &task.transport, &abort).unwrap_err();
    assert_eq!((lost.code(), lost.reason()), (Code::ExecutionAcceptanceUnknown, Some("io")));
}

/// Makes a run one that has succeeded and was collected, as a pass does.
fn settle(task: &Task, run: &str) {
    let mut ledger = task.ledger();
    let Value::Object(members) = &mut ledger else { panic!("a ledger is an object") };
    let Some(Value::Object(runs)) = members.get_mut("executions") else { panic!("it has runs") };
    let Some(Value::Object(run)) = runs.get_mut(run) else { panic!("the run is there") };
    for (name, value) in object(&format!(
        r#"{{"state":"succeeded","terminalState":"succeeded","observedAt":{START},"terminalObservedAt":{START},
             "completedAt":{START},"collected":true,"collectedAt":{START},"nextAttemptAt":null}}"#
    )) {
        run.insert(name, value);
    }
    std::fs::write(task.root().join("execution.json"), ledger.to_json()).expect("it is written");
}

#[test]
fn ex_tra_34_a_method_that_panics_has_failed_and_the_boundary_goes_on() {
    for how in [None, Some(How::PanicsBeforeItBegins), Some(How::PanicsOnItsWay)] {
        let task = Task::new();
        let boundary = task.boundary();
        let lost = match how {
            None => {
                task.transport.next(Method::Submit, Mishap::Panic);
                drive(submit(&boundary, "op-1"), &task.transport, &AbortToken::new())
            }
            Some(how) => {
                let transport = Awaited::new(&task, how);
                block_on(drive_async(
                    submit(&boundary, "op-1"),
                    &transport,
                    timer(&task),
                    std::future::pending(),
                ))
            }
        };
        let lost = lost.unwrap_err();
        assert_eq!((lost.code(), lost.reason()), (Code::ExecutionAcceptanceUnknown, Some("io")));
        assert!(task.comes_free());
        let ledger = task.ledger();
        assert_eq!(word(&ledger, "executions/run-op-1/lastError/reason"), "io");
        let again = drive(submit(&boundary, "op-2"), &task.transport, &AbortToken::new()).unwrap_err();
        assert_eq!(again.code(), Code::ExecutionUnresolved, "it is refused by the ledger and by no lock");
    }
}

#[test]
fn a_rejection_counts_as_the_failure_that_it_names_and_a_driver_makes_no_other_of_it() {
    let task = Task::new();
    let boundary = task.boundary();
    let rate =
        TransportError { retry_after_ms: Some(90_000), ..TransportError::of(ErrorKind::Rate, "slower") };
    task.transport.next(Method::Submit, Mishap::Fail(rate));
    let lost = drive(submit(&boundary, "op-1"), &task.transport, &AbortToken::new()).unwrap_err();
    assert_eq!((lost.code(), lost.reason()), (Code::ExecutionAcceptanceUnknown, Some("rate")));
    let next = at(&task.ledger(), "executions/run-op-1/nextAttemptAt").as_number().and_then(|at| at.as_u64());
    assert_eq!(next, Some(START + 90_000));
}
