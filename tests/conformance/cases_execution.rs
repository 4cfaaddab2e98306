//! Field cases of paid work: faults that were reported against comparable software, as small inputs with the right answer. The
//! inputs are in `tests/vectors/cases`, and name things in their own words.
//!
//! Where a case asks for what the specification does not, the specification decides and the test's comment says so. C-037 through
//! a real coordinator is in the tests of the Node package, C-047, C-049 and C-051 of claims in `idempotency/`.

use std::path::PathBuf;

use gallivant_core::Code;
use gallivant_core::execution::cost::charged;
use gallivant_core::execution::{AbortToken, Boundary, ExecutionOptions, Nanos, NoFaults, Round, Step};
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::locks::BRIEF_WAIT_MS;
use crate::support::pass::{observation, observation_with, result, result_with, says};
use crate::support::task::{Answer, TaskRoot, accepts, dispatch, dispatch_with, drive, object};

fn input(file: &str) -> Json {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors/cases").join(file);
    serde_json::from_slice(&std::fs::read(path).expect("the case is there")).expect("it is JSON")
}

/// A remote task in which nobody waits long for the lock.
fn remote() -> TaskRoot {
    let mut task = TaskRoot::new();
    task.options["limits"] = json!({"lockWaitMs": BRIEF_WAIT_MS});
    task
}

#[test]
fn c_037_a_timeout_is_no_failure_and_nothing_is_sent_again() {
    let steps = input("C-037.timeout.steps.json");
    let expected = |at: usize| steps["steps"][at]["expect"].as_str().expect("what is expected").to_owned();
    let task = remote();
    let boundary = task.boundary();
    let mut machine = boundary.submit(object(&dispatch(1)), AbortToken::new());
    let Step::Call(call) = machine.start() else { panic!("it is sent") };
    let key = task.operation(1)["idempotencyKey"].clone();
    assert_eq!(expected(1), "in_flight");
    assert_eq!(task.refused(|task| task.submit(dispatch(1), [])).0, Code::ExecutionBusy);
    task.machine.set_wall_ms(call.deadline_at);
    let Step::Done(Err(error)) = machine.deadline(call.id).expect("it is outstanding") else {
        panic!("it ends")
    };
    assert_eq!(error.code(), Code::ExecutionAcceptanceUnknown);
    drop((machine, boundary));
    assert_eq!(expected(3), "acceptance_unknown, refused");
    let again = task.refused(|task| task.submit(dispatch(1), []));
    assert_eq!(again.0, Code::ExecutionAcceptanceUnknown);
    // Neither under its own nor under another key.
    let other = task.refused(|task| task.submit(dispatch_with(2, json!({"prompt": "do it"})), []));
    assert_eq!(other.0, Code::ExecutionUnresolved);
    assert_eq!(expected(4), "adopted r-5");
    let report = task.forced_pass([says(observation(1, "running"))]);
    assert_eq!((report.calls[0].0, &report.calls[0].1["idempotencyKey"]), ("lookup", &key));
    assert_eq!(expected(5), "already running as r-5");
    let done = task.submit(dispatch(1), []).ok();
    assert_eq!((&done["reused"], &done["acknowledgement"]["providerJobId"]), (&json!(true), &json!("j-1")));
}

#[test]
fn c_040_a_slot_is_dispatched_once_whoever_asks_and_however_often() {
    let case = input("C-040.slot.steps.json");
    // An operation's id has neither colons nor spaces.
    let slot =
        format!("{}.{}", case["task"].as_str().expect("a task"), case["slot"].as_str().expect("a slot"));
    let slot = slot.replace(':', "-");
    let task = remote();
    let work = |slot: &str, n: u32| dispatch_with(n, json!({"operationId": slot}));
    let first = task.boundary();
    let mut machine = first.submit(object(&work(&slot, 1)), AbortToken::new());
    let Step::Call(_) = machine.start() else { panic!("it is sent") };
    // Another coordinator at the same instant.
    assert_eq!(task.refused(|task| task.submit(work(&slot, 1), [])).0, Code::ExecutionBusy);
    // The first one dies before it has recorded the run; its schedule knows nothing of the slot.
    drop((machine, first));
    let again = task.refused(|task| task.submit(work(&slot, 1), []));
    assert_eq!(again.0, Code::ExecutionAcceptanceUnknown);
    task.forced_pass([says(observation(1, "running"))]).ok();
    assert_eq!(task.submit(work(&slot, 1), []).ok()["reused"], true);
    // What has finished never goes back to running, whatever a provider would say.
    task.collected(1);
    let settled = task.run(1);
    assert!(task.due_pass([]).result_is_ok(), "nobody is asked");
    assert_eq!(task.run(1), settled);
    // A sleep over three slots: each of them once, though each is asked for twice.
    for n in 2..5 {
        let slot = format!("nightly.slot-{n}");
        assert_eq!(task.submit(work(&slot, n), accepts(n)).ok()["reused"], false);
        let seen = observation_with(n, "succeeded", json!({"observedAt": task.run(n)["startedAt"]}));
        task.due_pass([says(seen), says(result(n))]).ok();
        assert_eq!(task.run(n)["collected"], true);
        assert_eq!(task.submit(work(&slot, n), []).ok()["reused"], true);
    }
    assert_eq!(task.submit(work(&slot, 1), []).ok()["reused"], true, "the oldest one too");
}

/// Millionths of a dollar as a number of JSON.
fn dollars(micros: &Json) -> Json {
    let Some(micros) = micros.as_i64() else { return Json::Null };
    let sign = if micros < 0 { "-" } else { "" };
    let text = format!("{sign}{}.{:06}", micros.abs() / 1_000_000, micros.abs() % 1_000_000);
    serde_json::from_str(&text).expect("a number")
}

/// EX-COST-01 asks for a budget and a reservation above 0 of every remote dispatch. So what has no cap, and what costs nothing, is
/// refused here too, and not only what is above its cap or has no price.
#[test]
fn c_043_what_has_no_price_and_no_limit_is_never_taken_for_nothing() {
    let rows = input("C-043.price.table.json");
    for row in rows.as_array().expect("rows") {
        let mut task = TaskRoot::new();
        task.options["budgetUsd"] = dollars(&row["cap_micros"]);
        let made =
            ExecutionOptions::from_object(task.path(), &object(&task.options), std::sync::Arc::new(NoFaults))
                .and_then(|options| Boundary::new(options, task.machine.host()));
        if row["cap_micros"] == -1 {
            assert_eq!(made.expect_err("no budget").code(), Code::ExecutionInput, "{row}");
            continue;
        }
        drop(made.expect("a boundary"));
        let work = dispatch_with(1, json!({"reservationUsd": dollars(&row["estimate"])}));
        if row.get("settled").is_none() {
            let refusal = task.refused(|task| task.submit(work, []));
            assert_eq!(refusal.0, Code::ExecutionAllowance, "{row}");
            assert!(!task.exists("execution.json"), "{row}");
            continue;
        }
        task.submit(work, accepts(1)).ok();
        let outcome = json!({"finished": true, "ok": true, "cost": null, "denials": [], "exit": 0});
        let unknown = result_with(1, json!({"outcome": outcome}));
        task.due_pass([says(observation(1, "succeeded")), says(unknown)]).ok();
        assert_eq!(task.run(1)["collected"], true);
        assert_eq!(task.run(1)["costUsd"], Json::Null, "an unknown cost is its own value");
        assert_eq!(
            task.ledger()["allowance"]["chargedUsd"],
            dollars(&row["estimate"]),
            "and counts as what was held"
        );
        assert_eq!(task.inspect()["costUsd"], Json::Null);
    }
    // A cap of the provider's own: 0 allows nothing, and a missing one is not 0.
    for (cap, refusal) in [
        (json!(0), Some(Code::ExecutionAllowance)),
        (json!(-1), Some(Code::ExecutionInput)),
        (json!(null), None),
    ] {
        let task = TaskRoot::new();
        let work = dispatch_with(1, json!({"hardCapUsd": cap}));
        match refusal {
            Some(code) => assert_eq!(task.refused(|task| task.submit(work, [])).0, code, "{cap}"),
            None => drop(task.submit(work, accepts(1)).ok()),
        }
    }
}

/// Amounts are whole nano-dollars here and not micro-dollars: what is finer is rounded up, and 0.0000004 is exact.
#[test]
fn c_045_amounts_add_up_exactly_and_no_other_number_is_one() {
    let case = input("C-045.money.json");
    let parse = |text: &str| Nanos::parse(text, Round::Up);
    let first = &case["accept"][0];
    let one = parse(first["text"].as_str().expect("text")).expect("an amount");
    let times = usize::try_from(first["times"].as_u64().expect("a number")).expect("it fits");
    let total = charged(Nanos::ZERO, std::iter::repeat_n(one, times)).expect("no overflow");
    assert_eq!(total.nanos(), first["total"].as_i64().expect("a total") * 1000);
    assert_eq!(parse("0.0000004").map(Nanos::nanos), Some(400));
    assert_eq!(parse("0.0000000004").map(Nanos::nanos), Some(1), "rounded up, never to 0");
    assert_eq!(parse("0.1").and_then(|one| one.checked_add(parse("0.7")?)), parse("0.8"));
    assert_eq!(parse("1e-3").map(Nanos::nanos), Some(1_000_000));
    for text in case["refuse"].as_array().expect("texts").iter().filter_map(Json::as_str) {
        assert_eq!(parse(text), None, "{text}");
    }
    assert_eq!(charged(total, [Nanos::MAX, one]), None, "an overflow is no total");
    // A cost that is none changes nothing of what is known.
    let task = TaskRoot::new();
    task.accepted(1);
    task.due_pass([says(observation_with(1, "running", json!({"costUsd": 0.25})))]).ok();
    for cost in [json!("0.5"), json!(-1), json!(9.1e9), json!(null), json!("NaN"), json!([1])] {
        task.due_pass([says(observation_with(1, "running", json!({"costUsd": cost})))]).ok();
        assert_eq!(
            (&task.run(1)["costUsd"], &task.ledger()["allowance"]["chargedUsd"]),
            (&json!(0.25), &json!(0.5)),
            "{cost}"
        );
    }
}

/// A key belongs to an intent, and not to its text: kept while the outcome is unknown, and gone with a proven refusal.
#[test]
fn c_047_a_key_is_kept_while_the_outcome_is_unknown_and_never_made_of_the_text_alone() {
    let task = TaskRoot::new();
    task.lost(1);
    let key = task.operation(1)["idempotencyKey"].clone();
    assert_eq!(task.refused(|task| task.submit(dispatch(1), [])).0, Code::ExecutionAcceptanceUnknown);
    assert_eq!(task.operation(1)["idempotencyKey"], key);
    let seen = task.forced_pass([Answer::Says(Json::Null)]);
    assert_eq!(seen.calls[0].1["idempotencyKey"], key, "looked up by the key that was sent");
    task.settle_absent(json!({"operationId": "op-1", "evidence": "the provider's list is empty"})).ok();
    // The same text by another intent.
    let other = task.submit(dispatch(2), accepts(2)).input("submit");
    assert_ne!(other["idempotencyKey"], key);
    assert_eq!(task.submit(dispatch(2), []).ok()["reused"], true, "a replay is visible");
}

#[test]
fn c_063_a_timed_out_run_is_over_when_its_whole_tree_is_gone() {
    let local = |n: u32| {
        dispatch_with(
            n,
            json!({"model": null, "reservationUsd": null, "sessionId": "s-1", "spec": {"argv": ["tool"]}}),
        )
    };
    let spawned = || says(json!({"pid": 4242, "identity": "linux:boot:ns:77"}));
    let task = TaskRoot::local();
    task.submit(local(1), [spawned()]).ok();
    task.machine.advance_ms(2);
    let boundary = task.boundary();
    let stop = boundary.timeout_stop(object(&json!({})), AbortToken::new());
    let stopped = drive(stop, &task, [says(json!({"tree": "alive"})), says(json!({"sent": true}))]).ok();
    assert_eq!(stopped["confirmed"], false);
    // The wrapper is gone and its worker lives on: nothing else may have the workspace.
    task.forced_pass([says(json!({"tree": "alive"}))]).ok();
    assert_eq!(task.run(1)["state"], "cancellation-requested");
    assert_eq!(task.run(1)["terminalState"], Json::Null);
    let second = task.refused(|task| task.continue_run(local(2), []));
    assert_eq!(second.0, Code::ExecutionFenced);
    // Now the tree is gone, and what it has done meanwhile belongs to the first attempt.
    let gone = says(json!({"tree": "gone", "exit": 143, "endedAt": NOW + 1}));
    let told = says(json!({"ok": true, "cost": null, "denials": [], "sessionId": "s-1"}));
    task.forced_pass([gone, told]).ok();
    let run = task.run(1);
    assert_eq!((&run["terminalState"], &run["quarantined"]), (&json!("failed"), &json!(true)));
    let saved: Json = serde_json::from_str(&task.text("run-1/result.json")).expect("JSON");
    assert_eq!((&saved["outcome"]["ok"], &saved["outcome"]["reason"]), (&json!(false), &json!("timeout")));
    assert_eq!(task.continue_run(local(2), [spawned()]).ok()["acceptance"], "accepted");
}

/// The ledger knows a request by its own members, each by its exact bytes.
#[test]
fn c_051_a_changed_request_under_a_known_operation_is_a_conflict() {
    let case = input("C-051.bodies.json");
    let task = TaskRoot::new();
    let body = |text: &Json| dispatch_with(1, json!({"prompt": text}));
    task.submit(body(&case["first"]), accepts(1)).ok();
    for again in case["again"].as_array().expect("bodies") {
        if again["expect"] == "Replay" {
            assert_eq!(task.submit(body(&again["body"]), []).ok()["reused"], true);
        } else if again["body"] != "" {
            let refusal = task.refused(|task| task.submit(body(&again["body"]), []));
            assert_eq!(refusal.0, Code::ExecutionConflict, "{again}");
        }
    }
}
