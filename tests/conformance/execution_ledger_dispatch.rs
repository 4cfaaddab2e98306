//! From intent to acceptance, and the other ways in which a dispatch ends: EX-LED-28 to EX-LED-40, EX-LED-48, EX-CAP-22.

use gallivant_core::execution::contract::ErrorKind;
use gallivant_core::execution::{
    AbortToken, FaultAnswer, Reply, Step, TransportError, dispatch_not_sent_error,
};
use gallivant_core::testing::simulated_host;
use gallivant_core::{Code, execution};
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::task::{
    Answer, Points, TaskRoot, accepts, acknowledgement, control, dispatch, dispatch_with, from_core,
    io_error, object, remote_options, with,
};

fn not_sent() -> TransportError {
    dispatch_not_sent_error("no-seat", "all seats are taken")
}

#[test]
fn an_output_queue_that_cannot_be_believed_saves_no_intent() {
    let mut task = TaskRoot::local();
    task.plant("local-output-queue.json", "{\"version\":1,\"runs\":\"none\"}");
    task.options["budgetUsd"] = json!(null);
    let input = json!({"operationId": "op-1", "prompt": "p", "policy": "safe"});
    assert_eq!(task.refused(|task| task.submit(input, [])).0, Code::ExecutionQueue);
    assert!(!task.exists("execution.json"), "no intent is saved");
    // The same of a state of a queued run that cannot be believed.
    let queue = json!({"version": 1, "runs": ["run-0"]});
    task.plant("local-output-queue.json", queue.to_string());
    task.plant("run-0/local-output.json", "{\"version\":1}");
    let input = json!({"operationId": "op-1", "prompt": "p", "policy": "safe"});
    assert_eq!(task.refused(|task| task.submit(input, [])).0, Code::ExecutionQueue);
    assert!(!task.exists("execution.json"), "no intent is saved");
}

#[test]
fn ex_led_28_the_intent_is_durable_before_the_transport_is_called() {
    let (host, simulation) = simulated_host(3);
    let faults = std::sync::Arc::new(execution::NoFaults);
    let options = execution::ExecutionOptions::from_object("/task", &object(&remote_options()), faults);
    let boundary = execution::Boundary::new(options.expect("options"), &host).expect("a boundary");
    let mut machine = boundary.submit(object(&dispatch(1)), AbortToken::new());
    let Step::Call(call) = machine.start() else { panic!("it calls") };
    let images: Vec<_> = simulation.files.images_after_crash().collect();
    assert!(!images.is_empty());
    for image in images {
        let bytes = image.files.contents("/task/execution.json").expect("it is there");
        let ledger: Json = serde_json::from_slice(&bytes).expect("whole");
        let (operation, run) = (&ledger["operations"]["op-1"], &ledger["executions"]["run-1"]);
        assert_eq!(operation["acceptance"], "unknown", "{}", image.description);
        assert_eq!(operation["idempotencyKey"], from_core(call.input.get("idempotencyKey").expect("a key")));
        assert_eq!(
            (&operation["reservationUsd"], &ledger["allowance"]["chargedUsd"]),
            (&json!(0.5), &json!(0.5))
        );
        assert_eq!((&run["state"], &ledger["currentRunId"]), (&json!("status-unknown"), &json!("run-1")));
        for identity in ["providerJobId", "turnId", "sessionId", "cursor"] {
            assert_eq!(run[identity], json!(null), "{identity}");
        }
    }
}

#[test]
fn ex_led_29_a_stop_that_is_queued_after_the_intent_ends_the_dispatch_as_a_proven_refusal() {
    let mut task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    let before = task.ledger();
    let controls = task.path().join("controls");
    let points = Points::new("dispatch.intent", move || {
        std::fs::create_dir_all(&controls).expect("a directory");
        std::fs::write(controls.join("stop-1.json"), control()).expect("a stop");
        FaultAnswer::Go
    });
    task.faults = points.clone();
    let ended = task.submit(dispatch(2), []);
    assert!(ended.calls.is_empty(), "the transport is not called");
    let error = ended.error();
    assert_eq!((error.code(), error.operation_id()), (Code::ExecutionFenced, Some("op-2")));
    assert!(points.seen().contains(&"dispatch.intent".to_owned()), "the intent was saved before");
    let after = task.ledger();
    assert_eq!(after["operations"], before["operations"]);
    assert_eq!(
        (&after["currentRunId"], &after["allowance"]),
        (&before["currentRunId"], &before["allowance"])
    );
    let entry = json!({"operationId": "op-2", "runId": "run-2", "at": NOW, "code": "EXECUTION_FENCED"});
    assert_eq!(after["dispatchRefusals"], json!([entry]));
}

#[test]
fn ex_led_30_a_dispatch_is_called_once_and_never_repeated() {
    for answer in [
        Answer::Fails(io_error()),
        Answer::Deadline,
        Answer::Abort,
        Answer::Dropped,
        Answer::Text("?".into()),
    ] {
        let task = TaskRoot::new();
        let ended = task.submit(dispatch(1), [answer]);
        assert_eq!(ended.calls.len(), 1);
        drop(ended);
        for _ in 0..3 {
            let refused = task.refused(|task| task.submit(dispatch(1), []));
            assert_eq!(refused.0, Code::ExecutionAcceptanceUnknown, "no second call");
        }
    }
}

#[test]
fn ex_led_31_a_valid_acknowledgement_is_adopted_in_one_persist() {
    let mut task = TaskRoot::new();
    let points = Points::new("", || FaultAnswer::Go);
    task.faults = points.clone();
    task.options["limits"] = json!({"progressMs": 7000});
    let acknowledged = with(acknowledgement(1), json!({"cursor": 12345678901234567890_u64}));
    let value = task.submit(dispatch(1), [Answer::Says(acknowledged)]).ok();
    assert_eq!((&value["acceptance"], &value["reused"]), (&json!("accepted"), &json!(false)));
    let persists = points.seen().iter().filter(|point| *point == "persist:execution.json").count();
    assert_eq!(persists, 2, "the intent, and the acceptance");
    let (operation, run) = (task.operation(1), task.run(1));
    assert_eq!((&operation["acceptance"], &operation["acceptedAt"]), (&json!("accepted"), &json!(NOW)));
    assert_eq!(operation["acknowledgement"], value["acknowledgement"]);
    for (key, expected) in [
        ("providerJobId", json!("j-1")),
        ("turnId", json!("t-1")),
        ("sessionId", json!("s-1")),
        ("cursor", json!(12345678901234567890_u64)),
        ("state", json!("queued")),
        ("failures", json!(0)),
        ("lastError", json!(null)),
        ("nextAttemptAt", json!(NOW + 7000)),
    ] {
        assert_eq!(run[key], expected, "{key}");
    }
}

#[test]
fn ex_led_32_an_acknowledgement_sets_no_end_no_cost_and_no_observation() {
    let task = TaskRoot::new();
    let says = json!({"state": "succeeded", "terminalState": "succeeded", "costUsd": 3, "observedAt": NOW,
        "completedAt": NOW, "collected": true});
    task.submit(dispatch(1), [Answer::Says(with(acknowledgement(1), says))]).ok();
    let run = task.run(1);
    assert_eq!(run["state"], "queued");
    for key in ["terminalState", "costUsd", "observedAt", "completedAt", "terminalObservedAt"] {
        assert_eq!(run[key], json!(null), "{key}");
    }
    assert_eq!((&run["collected"], &task.operation(1)["costUsd"]), (&json!(false), &json!(null)));
}

#[test]
fn ex_led_33_any_other_ending_leaves_the_intent_unknown_with_its_reason() {
    let failing = |kind| Answer::Fails(TransportError::of(kind, "m"));
    for (answer, reason) in [
        (failing(ErrorKind::Io), "io"),
        (failing(ErrorKind::Auth), "auth"),
        (failing(ErrorKind::Rate), "rate"),
        (failing(ErrorKind::Protocol), "protocol"),
        (failing(ErrorKind::CollectionValidation), "io"),
        (Answer::Deadline, "deadline"),
        (Answer::Abort, "aborted"),
        (Answer::Text("null".to_owned()), "shape"),
        (Answer::Text("{".to_owned()), "shape"),
        (Answer::Says(json!({"providerJobId": "j"})), "identity"),
        (Answer::Says(with(acknowledgement(1), json!({"cursor": {}}))), "cursor"),
        (Answer::Says(with(acknowledgement(1), json!({"sessionId": ""}))), "session"),
    ] {
        let task = TaskRoot::new();
        let error = task.submit(dispatch(1), [answer]).error();
        assert_eq!((error.code(), error.reason()), (Code::ExecutionAcceptanceUnknown, Some(reason)));
        let (operation, run) = (task.operation(1), task.run(1));
        assert_eq!((&operation["acceptance"], &run["failures"]), (&json!("unknown"), &json!(1)), "{reason}");
        assert_eq!(run["lastError"]["code"], "EXECUTION_ACCEPTANCE_UNKNOWN");
        assert_eq!(run["lastError"]["reason"], reason);
        let (now, next) =
            (run["lastError"]["at"].as_u64().expect("ms"), run["nextAttemptAt"].as_u64().expect("ms"));
        assert!(next > now && next <= now + 300_000, "{reason}: {now} {next}");
        assert_eq!((&run["state"], &run["providerJobId"]), (&json!("status-unknown"), &json!(null)));
        assert_eq!(task.ledger()["allowance"]["chargedUsd"], 0.5, "the reservation stays charged");
    }
    // What the provider asks for is waited for at least.
    let task = TaskRoot::new();
    let patient =
        TransportError { retry_after_ms: Some(120_000), ..TransportError::of(ErrorKind::Rate, "m") };
    task.submit(dispatch(1), [Answer::Fails(patient)]).error();
    assert!(task.run(1)["nextAttemptAt"].as_u64().expect("ms") >= NOW + 120_000);
    // A crash leaves the intent as it was saved.
    let task = TaskRoot::new();
    drop(task.submit(dispatch(1), [Answer::Dropped]));
    let run = task.run(1);
    assert_eq!(
        (&run["failures"], &run["lastError"], &run["nextAttemptAt"]),
        (&json!(0), &json!(null), &json!(null))
    );
    assert_eq!(task.operation(1)["acceptance"], "unknown");
}

#[test]
fn ex_led_34_unknown_acceptance_authorises_no_other_dispatch() {
    let mut task = TaskRoot::new();
    task.faults = Points::new("dispatch.intent", || FaultAnswer::Fail);
    // It stops between the intent and the call, as a crash there does: nobody was called, and it counts as unknown.
    let ended = task.submit(dispatch(1), []);
    assert_eq!(ended.error().code(), Code::ExecutionIo);
    task.faults = std::sync::Arc::new(execution::NoFaults);
    assert_eq!(task.operation(1)["acceptance"], "unknown");
    task.machine.advance_ms(1_000_000_000);
    assert_eq!(task.refused(|task| task.submit(dispatch(1), [])).0, Code::ExecutionAcceptanceUnknown);
    for n in [2, 3] {
        let ended = task.submit(dispatch(n), []);
        assert!(ended.calls.is_empty());
        let error = ended.error();
        assert_eq!((error.code(), error.operation_id()), (Code::ExecutionUnresolved, Some("op-1")));
    }
    assert_eq!(task.refused(|task| task.continue_run(dispatch(2), [])).0, Code::ExecutionUnresolved);
    // An operator's act ends it.
    task.settle_absent(json!({"operationId": "op-1", "evidence": "no such job at the provider"})).ok();
    task.accepted(2);
}

#[test]
fn ex_led_35_the_remedy_of_unknown_acceptance_says_what_to_do_and_what_not() {
    let task = TaskRoot::new();
    let remedies = [
        task.submit(dispatch(1), [Answer::Deadline]).error().remedy().to_owned(),
        task.submit(dispatch(1), []).error().remedy().to_owned(),
        execution::unresolved(&task.path(), task.machine.host()).expect("read")[0].remedy.to_owned(),
    ];
    for remedy in remedies {
        for part in ["reconcile", "look the key up", "adopt", "settleAbsent", "do not delete the intent"] {
            assert!(remedy.contains(part), "{part}: {remedy}");
        }
    }
}

#[test]
fn ex_led_36_a_proven_refusal_restores_run_and_charge_and_is_noted() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    let before = task.ledger();
    task.machine.advance_ms(500);
    let error = task.submit(dispatch(2), [Answer::Fails(not_sent())]).error();
    assert_eq!((error.code(), error.reason()), (Code::ExecutionDispatchRefused, Some("dispatch-refused")));
    assert_eq!((error.operation_id(), error.run_id()), (Some("op-2"), Some("run-2")));
    let entry = json!({"operationId": "op-2", "runId": "run-2", "at": NOW + 500, "code": "no-seat"});
    assert_eq!(task.ledger(), with(before, json!({"dispatchRefusals": [entry]})));
}

#[test]
fn ex_led_37_the_directory_of_a_refused_run_goes_if_it_holds_nothing_else() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    let old = task.text("run-1/job.json");
    task.submit(dispatch(2), [Answer::Fails(not_sent())]).error();
    assert!(!task.exists("run-2"));
    task.plant("run-3/notes.txt", "somebody's");
    task.submit(dispatch(3), [Answer::Fails(not_sent())]).error();
    assert_eq!(task.text("run-3/notes.txt"), "somebody's");
    assert_eq!(task.text("run-1/job.json"), old, "nothing of the old run changes");
}

#[test]
fn ex_led_38_the_latest_twenty_refusals_stay_oldest_first() {
    let task = TaskRoot::new();
    for n in 1..=23 {
        task.machine.advance_ms(1);
        let refusal = dispatch_not_sent_error(format!("code-{n}"), "m");
        task.submit(dispatch(n), [Answer::Fails(refusal)]).error();
    }
    let refusals = task.ledger()["dispatchRefusals"].as_array().expect("an array").clone();
    assert_eq!(refusals.len(), 20);
    for (at, entry) in refusals.iter().enumerate() {
        let n = at + 4;
        let expected = json!({"operationId": format!("op-{n}"), "runId": format!("run-{n}"), "at": NOW + n as u64,
            "code": format!("code-{n}")});
        assert_eq!(*entry, expected);
    }
    let task = TaskRoot::new();
    let nameless = TransportError::of(ErrorKind::NotSent, "m");
    task.submit(dispatch(1), [Answer::Fails(nameless)]).error();
    assert_eq!(task.ledger()["dispatchRefusals"][0]["code"], "not-sent");
}

#[test]
fn ex_led_39_a_refused_operation_may_be_dispatched_again() {
    let task = TaskRoot::new();
    let key = task.submit(dispatch(1), [Answer::Fails(not_sent())]).input("submit")["idempotencyKey"].clone();
    let again = task.submit(dispatch(1), accepts(1));
    assert_eq!(again.input("submit")["idempotencyKey"], key);
    assert_eq!(again.ok()["reused"], false);
    assert_eq!(task.ledger()["dispatchRefusals"].as_array().expect("an array").len(), 1, "the entry stays");
    assert_eq!(task.operation(1)["sequence"], 1);
}

#[test]
fn ex_led_40_no_refusal_is_proven_after_sending_or_without_the_mark() {
    let unmarked = TransportError::of(ErrorKind::Io, "not sent").with_code("not-sent");
    for (answer, reason) in [
        (Answer::SendsAndFails(not_sent()), "io"),
        (Answer::Fails(unmarked), "io"),
        (Answer::Deadline, "deadline"),
        (Answer::Says(json!({"kind": "not-sent", "error": "not-sent"})), "identity"),
    ] {
        let task = TaskRoot::new();
        let error = task.submit(dispatch(1), [answer]).error();
        assert_eq!((error.code(), error.reason()), (Code::ExecutionAcceptanceUnknown, Some(reason)));
        assert_eq!(task.ledger()["dispatchRefusals"], json!([]));
        assert_eq!(task.operation(1)["acceptance"], "unknown");
    }
    // The mark of a call that has ended already proves nothing either.
    let task = TaskRoot::new();
    let boundary = task.boundary();
    let mut machine = boundary.submit(object(&dispatch(1)), AbortToken::new());
    let Step::Call(call) = machine.start() else { panic!("it calls") };
    task.machine.set_wall_ms(call.deadline_at);
    let step = machine.reply(call.id, Reply::Error(not_sent())).expect("it is outstanding");
    let Step::Done(Err(error)) = step else { panic!("it is over") };
    assert_eq!(error.reason(), Some("deadline"), "a reply at its deadline is dropped unread");
}

#[test]
fn ex_led_48_a_resume_asks_the_marker_and_the_ledger_first() {
    let entry = |status: &str| {
        let marker = json!({"version": 1, "operationId": "op-1", "status": status});
        let entry = json!({"startOperationId": "op-1", "sessionId": null, "initial_dispatch": marker});
        gallivant_core::json::Value::parse(&entry.to_string()).expect("JSON")
    };
    let may_start = |task: &TaskRoot, status: &str| {
        let text =
            if task.exists("execution.json") { task.text("execution.json") } else { "null".to_owned() };
        let ledger = gallivant_core::json::Value::parse(&text).expect("JSON");
        execution::unsubmitted_initial_dispatch(&entry(status), &ledger)
    };
    let task = TaskRoot::new();
    assert!(may_start(&task, "unsubmitted"));
    assert!(!may_start(&task, "dispatching"), "whoever resumes it");
    task.submit(dispatch(1), [Answer::Fails(not_sent())]).error();
    assert!(may_start(&task, "unsubmitted"), "a proven refusal leaves it unsubmitted");
    drop(task.submit(dispatch(1), [Answer::Dropped]));
    assert!(!may_start(&task, "unsubmitted"), "a saved intent is not dispatched again by another way in");
}

#[test]
fn ex_cap_22_the_cap_is_told_to_a_provider_that_enforces_it() {
    let capped = dispatch_with(1, json!({"hardCapUsd": 1.25, "hardCapRequired": true}));
    let task = TaskRoot::new();
    assert_eq!(task.submit(capped, accepts(1)).input("submit")["hardCapUsd"], 1.25);
    let mut task = TaskRoot::new();
    task.options["capabilities"]["cost"]["hardCap"] = json!(false);
    let asked = dispatch_with(1, json!({"hardCapUsd": 1.25}));
    assert_eq!(task.submit(asked, accepts(1)).input("submit")["hardCapUsd"], json!(null));
}
