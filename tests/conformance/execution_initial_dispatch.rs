//! EX-LED-42 to EX-LED-46: the marker of a start that may not have been dispatched yet.

use gallivant_core::Code;
use gallivant_core::execution::initial_dispatch::{INITIAL_DISPATCH, Status, Step};
use gallivant_core::execution::{InitialDispatch, unsubmitted_initial_dispatch};
use gallivant_core::json::Value;

const START: &str = "op-1";
const SUBMIT: Step<'static> = Step::Submit { session_id: None };

fn json(text: &str) -> Value {
    Value::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn marker(status: Status) -> InitialDispatch {
    let text = format!(r#"{{"version":1,"operationId":"{START}","status":"{}"}}"#, status.word());
    InitialDispatch::from_value(&json(&text)).expect("a marker")
}

/// An entry of `START` with this session and marker.
fn entry(session: &str, marker: &str) -> Value {
    json(&format!(r#"{{"startOperationId":"{START}","sessionId":{session},"initial_dispatch":{marker}}}"#))
}

/// A ledger in which these members stand in place of empty ones.
fn ledger(changed: &[(&str, &str)]) -> Value {
    let empty = r#"{"version":1,"taskId":"t","provider":"p","account":"a","createdAt":1,"currentRunId":null,"operations":{},"executions":{},"stopFence":null,"allowance":{"budgetUsd":8,"chargedUsd":0},"preparations":{},"dispatchRefusals":[],"intakeDeadlineAt":null}"#;
    let Value::Object(mut members) = json(empty) else { panic!("an object") };
    for (name, text) in changed {
        members.insert(*name, json(text));
    }
    Value::Object(members)
}

const UNSUBMITTED: &str = r#"{"version":1,"operationId":"op-1","status":"unsubmitted"}"#;
const REFUSED: &str = r#"[{"operationId":"op-0","runId":"r","at":1,"code":"X"},{"operationId":"op-1","runId":"r","at":2,"code":"X"}]"#;

#[test]
fn ex_led_42_the_marker_is_made_read_and_written() {
    let new = InitialDispatch::new(START).expect("an id");
    assert_eq!((new.operation_id(), new.status()), (START, Status::Unsubmitted));
    assert_eq!(new.to_value().to_json(), UNSUBMITTED);
    for status in [Status::Unsubmitted, Status::Dispatching] {
        let marker = marker(status);
        assert_eq!(marker.status(), status);
        assert_eq!(InitialDispatch::from_value(&marker.to_value()).expect("its own value"), marker);
    }
    assert_eq!(INITIAL_DISPATCH, "initial_dispatch");
    assert_eq!(InitialDispatch::new("a/b").expect_err("no id").code(), Code::ExecutionInput);
    for (text, reason) in [
        ("null", "shape"),
        ("[]", "shape"),
        ("\"unsubmitted\"", "shape"),
        (r#"{"operationId":"op-1","status":"unsubmitted"}"#, "version"),
        (r#"{"version":2,"operationId":7}"#, "version"),
        (r#"{"version":"1","operationId":"op-1","status":"unsubmitted"}"#, "version"),
        (r#"{"version":1.0,"operationId":"op-1","status":"unsubmitted"}"#, "version"),
        (r#"{"version":1,"status":"unsubmitted"}"#, "shape"),
        (r#"{"version":1,"operationId":"","status":"unsubmitted"}"#, "shape"),
        (r#"{"version":1,"operationId":"../x","status":"unsubmitted"}"#, "shape"),
        (r#"{"version":1,"operationId":"op-1"}"#, "shape"),
        (r#"{"version":1,"operationId":"op-1","status":"submitted"}"#, "shape"),
    ] {
        let error = InitialDispatch::from_value(&json(text)).expect_err(text);
        assert_eq!((error.code(), error.reason()), (Code::ExecutionInput, Some(reason)), "{text}");
    }
}

#[test]
fn ex_led_43_only_a_marker_an_absent_session_and_an_empty_ledger_say_unsubmitted() {
    let fresh = entry("null", UNSUBMITTED);
    assert!(unsubmitted_initial_dispatch(&fresh, &Value::Null), "without a ledger");
    assert!(unsubmitted_initial_dispatch(&fresh, &ledger(&[])));
    assert!(unsubmitted_initial_dispatch(&fresh, &ledger(&[("dispatchRefusals", REFUSED)])));
    let bare = json(&format!(r#"{{"startOperationId":"{START}","initial_dispatch":{UNSUBMITTED}}}"#));
    assert!(unsubmitted_initial_dispatch(&bare, &ledger(&[])), "no session at all");

    for entry in [
        entry("\"s\"", UNSUBMITTED),
        entry("\"\"", UNSUBMITTED),
        entry("null", r#"{"version":1,"operationId":"op-1","status":"dispatching"}"#),
        entry("null", r#"{"version":1,"operationId":"op-2","status":"unsubmitted"}"#),
        entry("null", r#"{"version":2,"operationId":"op-1","status":"unsubmitted"}"#),
        entry("null", r#""unsubmitted""#),
        entry("null", "null"),
        json(&format!(r#"{{"startOperationId":null,"sessionId":null,"initial_dispatch":{UNSUBMITTED}}}"#)),
        json(&format!(r#"{{"sessionId":null,"initial_dispatch":{UNSUBMITTED}}}"#)),
        json("null"),
        json("[]"),
    ] {
        for ledger in [Value::Null, ledger(&[])] {
            assert!(!unsubmitted_initial_dispatch(&entry, &ledger), "{entry}");
        }
    }
    for changed in [
        ("operations", r#"{"op-1":{"operationId":"op-1","acceptance":"unknown"}}"#),
        ("operations", r#"{"op-9":{"operationId":"op-9","acceptance":"absent"}}"#),
        ("executions", r#"{"run-1":{"legacy":true}}"#),
        ("stopFence", r#"{"kind":"operator","scope":"remote","runId":null,"at":1,"reason":"x"}"#),
        // What cannot be believed is no proof.
        ("operations", "[]"),
        ("executions", "7"),
        ("stopFence", "false"),
        ("version", "2"),
        ("version", "\"1\""),
    ] {
        assert!(!unsubmitted_initial_dispatch(&fresh, &ledger(&[changed])), "{changed:?}");
    }
    for ledger in ["[]", "7", "\"\"", "false", "{}"] {
        assert!(!unsubmitted_initial_dispatch(&fresh, &json(ledger)), "{ledger}");
    }
}

#[test]
fn ex_led_44_without_a_marker_the_refusal_of_the_start_says_it() {
    let refused = ("dispatchRefusals", REFUSED);
    let bare = json(&format!(r#"{{"startOperationId":"{START}","sessionId":null}}"#));
    for entry in [entry("null", "null"), bare] {
        assert!(unsubmitted_initial_dispatch(&entry, &ledger(&[refused])));
        assert!(!unsubmitted_initial_dispatch(&entry, &ledger(&[])), "no refusal");
        assert!(!unsubmitted_initial_dispatch(&entry, &Value::Null), "no ledger");
        for other in ["[]", "{}", r#"[{"operationId":"op-2"}]"#, r#"["op-1"]"#, r#"[{"runId":"op-1"}]"#] {
            assert!(
                !unsubmitted_initial_dispatch(&entry, &ledger(&[("dispatchRefusals", other)])),
                "{other}"
            );
        }
        for changed in [
            ("operations", r#"{"op-2":{}}"#),
            ("executions", r#"{"run-2":{}}"#),
            ("stopFence", r#"{"kind":"timeout"}"#),
        ] {
            assert!(!unsubmitted_initial_dispatch(&entry, &ledger(&[refused, changed])), "{changed:?}");
        }
    }
    assert!(!unsubmitted_initial_dispatch(&entry("\"s\"", "null"), &ledger(&[refused])), "it has a session");
}

#[test]
fn ex_led_45_the_marker_goes_where_its_start_goes_and_nowhere_else() {
    use Status::{Dispatching, Unsubmitted};
    let after = |status, step| marker(status).after(START, step);
    let status = |status, step| after(status, step).expect("a step").map(|marker| marker.status());
    assert_eq!(status(Unsubmitted, SUBMIT), Some(Dispatching));
    assert_eq!(status(Dispatching, Step::Accepted), None, "removed");
    assert_eq!(status(Dispatching, Step::Refused), Some(Unsubmitted));
    assert_eq!(status(Dispatching, Step::Unknown), Some(Dispatching));
    assert_eq!(status(Dispatching, Step::SettledAbsent), None, "removed");
    for step in [Step::Accepted, Step::Refused, Step::Unknown, Step::SettledAbsent] {
        let error = after(Unsubmitted, step).expect_err("nothing was submitted");
        assert_eq!((error.code(), error.operation_id()), (Code::ExecutionConflict, Some(START)), "{step:?}");
    }
    // No step but a proven refusal leads back to where a start may be made.
    for step in [SUBMIT, Step::Accepted, Step::Unknown, Step::SettledAbsent] {
        assert_ne!(status(Dispatching, step), Some(Unsubmitted), "{step:?}");
    }
    // An absent operation stays in the ledger, so no marker makes it a start again.
    let settled = ledger(&[("operations", r#"{"op-1":{"operationId":"op-1","acceptance":"absent"}}"#)]);
    assert!(!unsubmitted_initial_dispatch(&entry("null", UNSUBMITTED), &settled));
}

#[test]
fn ex_led_46_dispatching_authorises_no_other_operation_and_no_session() {
    for status in [Status::Dispatching, Status::Unsubmitted] {
        let marker = marker(status);
        let session = Step::Submit { session_id: Some("s") };
        for (operation, step) in
            [("op-2", SUBMIT), ("op-2", session), (START, session), ("op-2", Step::Accepted)]
        {
            let error = marker.after(operation, step).expect_err("another start");
            assert_eq!(error.code(), Code::ExecutionConflict, "{operation} {step:?}");
        }
    }
    // The same submit may be repeated: one operation is sent once, which the ledger sees to.
    let again = marker(Status::Dispatching).after(START, SUBMIT).expect("the same");
    assert_eq!(again, Some(marker(Status::Dispatching)));
}
