//! Field cases of the execution layer: each test is named after its case, whose input is in `tests/vectors/cases`. Where an
//! input asks for what the specification does not, the specification decides and a comment says so.

use gallivant_core::Code;
use gallivant_core::execution::cost::charged;
use gallivant_core::execution::{AbortToken, Nanos, Round, Step};
use serde_json::{Value as Json, json};

use crate::support::locks::BRIEF_WAIT_MS;
use crate::support::pass::{observation, result_with, says};
use crate::support::task::{Answer, TaskRoot, acknowledgement, dispatch, dispatch_with, drive, object, with};

fn input(file: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/cases").join(file);
    std::fs::read_to_string(path).expect("the case is there")
}

fn case(file: &str) -> Json {
    serde_json::from_str(&input(file)).expect("it is JSON")
}

/// A task whose lock is waited for briefly, so that what comes beside a call is told soon.
fn impatient() -> TaskRoot {
    let mut task = TaskRoot::new();
    task.options["limits"] = json!({"lockWaitMs": BRIEF_WAIT_MS});
    task
}

#[test]
fn c_037_a_create_without_an_answer_is_never_sent_again() {
    let task = impatient();
    let boundary = task.boundary();
    let mut creates = 0;
    let mut key = None;
    for step in case("C-037.timeout.steps.json")["steps"].as_array().expect("steps") {
        let expected = step["expect"].as_str();
        match (step["op"].as_str().expect("an op"), expected) {
            ("submit", None) => {
                let mut machine = boundary.submit(object(&dispatch(1)), AbortToken::new());
                let Step::Call(call) = machine.start() else { panic!("it is sent") };
                creates += 1;
                key = call.input.get("idempotencyKey").cloned();
                // In flight: the second submit of the case comes while the first waits for its reply.
                assert_eq!(task.refused(|task| task.submit(dispatch(1), [])).0, Code::ExecutionBusy);
                // No answer.
                task.machine.set_wall_ms(call.deadline_at);
                let Ok(Step::Done(Err(error))) = machine.deadline(call.id) else { panic!("it is unknown") };
                assert_eq!(
                    (error.code(), error.reason()),
                    (Code::ExecutionAcceptanceUnknown, Some("deadline"))
                );
            }
            ("submit", Some("in_flight")) | ("adapter reports: no answer", _) => {}
            ("submit", Some("acceptance_unknown, refused")) => {
                let refusal = task.refused(|task| task.submit(dispatch(1), []));
                assert_eq!(refusal, (Code::ExecutionAcceptanceUnknown, Some("unresolved")));
                // Nor is the work sent under another key.
                assert_eq!(task.refused(|task| task.submit(dispatch(2), [])).0, Code::ExecutionUnresolved);
            }
            ("reconcile", _) => {
                let found = [says(observation(1, "running"))];
                assert_eq!(task.due_pass(found).ok()["acceptance"], "accepted");
            }
            ("submit", Some("already running as r-5")) => {
                let again = task.submit(dispatch(1), []).ok();
                assert_eq!((&again["reused"], &again["runId"]), (&json!(true), &json!("run-1")));
                assert_eq!(again["execution"]["state"], "running");
            }
            other => panic!("the case has another step: {other:?}"),
        }
    }
    assert_eq!(creates, 1);
    assert_eq!(task.operation(1)["idempotencyKey"].as_str(), key.as_ref().and_then(|key| key.as_str()));
}

/// An operation is what is to be done, never an attempt at it: task and slot (EX-LED-72).
fn slot(task: &Json, slot: &str) -> Json {
    let operation = format!("{}-{}", task.as_str().expect("a task"), slot.replace(':', "."));
    let run = format!("run-{operation}");
    with(dispatch(1), json!({"operationId": operation, "runId": run, "inputHead": null}))
}

#[test]
fn c_040_a_slot_is_dispatched_once_whatever_its_schedule_file_says() {
    let case = case("C-040.slot.steps.json");
    let task = impatient();
    let first = slot(&case["task"], case["slot"].as_str().expect("a slot"));
    let (one, other) = (task.boundary(), task.boundary());
    let mut machine = one.submit(object(&first), AbortToken::new());
    let Step::Call(_) = machine.start() else { panic!("it is sent") };
    let beside = drive(other.submit(object(&first), AbortToken::new()), &task, []);
    assert_eq!(beside.refusal().0, Code::ExecutionBusy);
    // The first coordinator dies before it has noted anything, and its successor knows nothing but the slot.
    drop(machine);
    drop((one, other));
    let refusal = task.refused(|task| task.submit(first.clone(), []));
    assert_eq!(refusal, (Code::ExecutionAcceptanceUnknown, Some("unresolved")));
    let found = says(with(observation(1, "succeeded"), json!({"sessionId": "s-1"})));
    let collected = says(result_with(1, json!({"inputHead": null})));
    task.due_pass([found, collected]).ok();
    let again = task.submit(first.clone(), []).ok();
    assert_eq!((&again["reused"], &again["execution"]["state"]), (&json!(true), &json!("succeeded")));

    // After a sleep over three slots, each that policy wants is dispatched once, however often it is asked for.
    let days = ["2026-05-03T02:30Z", "2026-05-04T02:30Z", "2026-05-05T02:30Z"];
    for (n, day) in days.iter().enumerate() {
        let n = u32::try_from(n).expect("three") + 2;
        let input = slot(&case["task"], day);
        let made = task.submit(input.clone(), [Answer::Says(acknowledgement(n))]).ok();
        assert_eq!(made["reused"], false, "{day}");
        assert_eq!(task.submit(input, []).ok()["reused"], true, "{day}");
        assert_eq!(task.submit(first.clone(), []).ok()["execution"]["state"], "succeeded", "it stays ended");
        let run = made["runId"].as_str().expect("a run").to_owned();
        task.edit(|ledger| ledger["executions"][&run]["collected"] = json!(true));
    }
    assert_eq!(task.ledger()["operations"].as_object().expect("operations").len(), 4);
}

#[test]
fn c_043_an_unknown_price_is_neither_nothing_nor_without_limit() {
    let usd = |micros: &Json| micros.as_f64().map(|micros| json!(micros / 1e6));
    for row in case("C-043.price.table.json").as_array().expect("rows") {
        let expected = row["expect"].as_str().expect("an end");
        let mut task = TaskRoot::new();
        task.options["budgetUsd"] = usd(&row["cap_micros"]).unwrap_or(Json::Null);
        let input = dispatch_with(1, json!({"reservationUsd": usd(&row["estimate"])}));
        if expected.contains("when the cap is set") {
            let options = gallivant_core::execution::ExecutionOptions::from_object(
                task.path(),
                &object(&task.options),
                std::sync::Arc::clone(&task.faults),
            );
            assert_eq!(options.expect_err("it is invalid").code(), Code::ExecutionInput, "{row}");
        } else if row["settled"].is_null() && row.get("settled").is_some() {
            task.submit(input, [Answer::Says(acknowledgement(1))]).ok();
            let outcome = json!({"finished": true, "ok": true, "cost": null, "denials": [], "exit": 0});
            let collected = result_with(1, json!({"outcome": outcome}));
            task.due_pass([says(observation(1, "succeeded")), says(collected)]).ok();
            assert_eq!(task.ledger()["allowance"]["chargedUsd"], json!(0.001), "what was held stays held");
            let outcome = task.boundary().outcome("run-1").expect("settled");
            assert!(outcome.get("cost").is_some_and(gallivant_core::json::Value::is_null), "{row}");
            assert_eq!(task.inspect()["costUsd"], Json::Null);
        } else {
            // Of a task without a limit, or of work that costs nothing: a remote dispatch needs an amount for both (EX-COST-01,
            // EX-COST-22), so that neither is allowed there.
            let refusal = task.refused(|task| task.submit(input, []));
            assert_eq!(refusal.0, Code::ExecutionAllowance, "{row}");
        }
    }
    // What the case allows without a limit, a local run is: its cost is unknown and stays so.
    let mut task = TaskRoot::local();
    task.options["budgetUsd"] = Json::Null;
    let input = with(dispatch(1), json!({"model": null, "reservationUsd": null, "spec": {"argv": ["tool"]}}));
    let spawned = json!({"pid": 7, "identity": "boot-1:7"});
    task.submit(input, [says(spawned)]).ok();
    assert_eq!(task.inspect()["costUsd"], Json::Null);
    assert_eq!(task.operation(1)["costUsd"], Json::Null);
}

#[test]
fn c_045_amounts_add_up_to_the_last_digit_or_refuse() {
    let case = case("C-045.money.json");
    // Nano-dollars are counted, a thousand of them to a micro-dollar of the case (EX-COST-20).
    let nanos = |text: &str| Nanos::parse(text, Round::Up).map(Nanos::nanos);
    for row in case["accept"].as_array().expect("rows") {
        let text = row["text"].as_str().expect("a text");
        if let Some(times) = row["times"].as_u64() {
            let one = Nanos::parse(text, Round::Up).expect("an amount");
            let sum = charged(Nanos::ZERO, (0..times).map(|_| one)).expect("a sum");
            assert_eq!(Some(sum.nanos()), row["total"].as_i64().map(|micros| micros * 1_000));
        } else if row["expect"] == "cap reached exactly" {
            let mut task = TaskRoot::new();
            task.options["budgetUsd"] = json!(0.8);
            for (n, amount) in (1..).zip(text.split('+')) {
                let amount: Json = serde_json::from_str(amount).expect("an amount");
                let made = dispatch_with(n, json!({"reservationUsd": amount}));
                task.submit(made, [Answer::Says(acknowledgement(n))]).ok();
                task.settle(n);
            }
            assert_eq!(task.ledger()["allowance"]["chargedUsd"].to_string(), "0.8");
            let more = dispatch_with(3, json!({"reservationUsd": 0.000_000_001}));
            assert_eq!(task.refused(|task| task.submit(more, [])).0, Code::ExecutionAllowance);
        } else if row.get("why").is_some() {
            assert_eq!(nanos(text), Some(400), "rounded by nano-dollars, never to 0");
            assert_eq!(nanos("0.0000000004"), Some(1));
        } else {
            assert_eq!(nanos(text), row["micros"].as_i64().map(|micros| micros * 1_000), "{text}");
        }
    }
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    for text in case["refuse"].as_array().expect("texts") {
        if let Some(text) = text.as_str() {
            assert_eq!(nanos(text), None, "{text}");
        }
        // As a text in JSON it is no amount either, and a missing one is not nothing (EX-COST-01).
        let asked = dispatch_with(2, json!({"reservationUsd": text}));
        assert_eq!(task.refused(|task| task.submit(asked, [])).0, Code::ExecutionAllowance, "{text}");
    }
    assert_eq!(task.ledger()["allowance"]["chargedUsd"], json!(0.5));
    let most = Nanos::parse("9000000000", Round::Up).expect("an amount");
    assert_eq!(most.checked_add(Nanos::parse("0.000000001", Round::Up).expect("an amount")), None);
    assert_eq!(charged(Nanos::ZERO, [most, most]), None);
}

#[test]
fn c_047_a_dispatch_keeps_its_key_while_it_is_unknown_and_no_text_makes_one() {
    let steps: Vec<Json> = input("C-047.keys.claims.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a step a line"))
        .collect();
    assert_eq!(steps[3]["expect_key"], "a new key");
    let task = TaskRoot::new();
    let lost = task.submit(dispatch(1), [Answer::Deadline]);
    let first = lost.input("submit")["idempotencyKey"].clone();
    assert_eq!(lost.error().code(), Code::ExecutionAcceptanceUnknown);
    // The same intent once more is not sent, and its key stands.
    assert_eq!(task.submit(dispatch(1), []).refusal().0, Code::ExecutionAcceptanceUnknown);
    assert_eq!(task.operation(1)["idempotencyKey"], first);
    let asked = task.due_pass([says(Json::Null)]);
    assert_eq!(asked.input("lookup")["idempotencyKey"], first, "it is looked up by it");

    // A definite refusal gives the operation free. Its key is made of its names alone (EX-LED-13), so that the same run keeps it
    // (EX-LED-39), and another run of it has another.
    let task = TaskRoot::new();
    let refused = |task: &TaskRoot, input: Json| {
        let answer = gallivant_core::execution::dispatch_not_sent_error("bad-request", "the form is wrong");
        let ended = task.submit(input, [Answer::Fails(answer)]);
        let key = ended.input("submit")["idempotencyKey"].clone();
        assert_eq!(ended.error().code(), Code::ExecutionDispatchRefused);
        key
    };
    let first = refused(&task, dispatch(1));
    assert_eq!(refused(&task, dispatch(1)), first);
    let new = refused(&task, dispatch_with(1, json!({"runId": "run-1b"})));
    assert_ne!(new, first);
    // The same text by another intent.
    let other = dispatch_with(2, json!({"prompt": dispatch(1)["prompt"]}));
    let other = refused(&task, other);
    assert!(other != first && other != new);
    // A replay is visible.
    assert_eq!(task.accepted(3)["reused"], false);
    assert_eq!(task.submit(dispatch(3), []).ok()["reused"], true);
}

#[test]
fn c_051_a_changed_request_is_no_repetition_and_a_reordered_one_is() {
    let case = case("C-051.bodies.json");
    let task = TaskRoot::new();
    let first = case["first"].as_str().expect("a body");
    let asks = |prompt: &str| dispatch_with(1, json!({"prompt": prompt}));
    task.submit(asks(first), [Answer::Says(acknowledgement(1))]).ok();
    for row in case["again"].as_array().expect("rows") {
        let body = row["body"].as_str().expect("a body");
        if row["expect"] == "Replay" {
            assert_eq!(task.submit(asks(body), []).ok()["reused"], true);
            continue;
        }
        // A prompt is a text: each of its bytes counts, and none is another prompt.
        let error = task.submit(asks(body), []).error();
        assert_eq!(error.code(), Code::ExecutionConflict, "{body:?}");
        assert!(body.is_empty() || !error.message().contains(body), "the refusal names no body");
        assert!(!error.message().contains(first));
    }
    // What surrounds the prompt is compared by its meaning (EX-LED-12): the order of members is not a part of it.
    let text = asks(first).to_string();
    let Json::Object(members) = asks(first) else { panic!("an object") };
    let turned: Vec<String> =
        members.iter().rev().map(|(name, value)| format!("{}:{value}", json!(name))).collect();
    let turned = format!("{{{}}}", turned.join(","));
    assert_ne!(turned, text);
    let boundary = task.boundary();
    let gallivant_core::json::Value::Object(turned) =
        gallivant_core::json::Value::parse(&turned).expect("JSON")
    else {
        panic!("an object")
    };
    let again = drive(boundary.submit(turned, AbortToken::new()), &task, []).ok();
    assert_eq!(again["reused"], true);
}
