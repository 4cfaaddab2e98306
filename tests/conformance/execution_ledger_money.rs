//! What is charged, and what a ledger permits: EX-COST-01, EX-COST-05 to EX-COST-07, EX-COST-10, EX-COST-11, EX-COST-15 to
//! EX-COST-19.

use gallivant_core::Code;
use gallivant_core::execution::AbortToken;
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::task::{
    Answer, Ended, HEAD, TaskRoot, accepts, acknowledgement, dispatch, dispatch_with, drive, from_core,
    io_error, object, with,
};

const BUDGET: (Code, Option<&str>) = (Code::ExecutionAllowance, Some("budget"));

fn observation(n: u32, changes: Json) -> Answer {
    let observed = json!({"state": "running", "observedAt": NOW, "events": []});
    Answer::Says(with(with(acknowledgement(n), observed), changes))
}

fn result(n: u32, cost: Json) -> Answer {
    Answer::Says(json!({"providerJobId": format!("j-{n}"), "turnId": format!("t-{n}"), "sessionId": "s-1",
        "inputHead": HEAD, "outcome": {"finished": true, "ok": true, "cost": cost, "denials": []}}))
}

fn pass(task: &TaskRoot, answers: impl IntoIterator<Item = Answer>) -> Ended {
    drive(task.boundary().startup(AbortToken::new()), task, answers)
}

fn charged(task: &TaskRoot) -> Json {
    task.ledger()["allowance"]["chargedUsd"].clone()
}

fn costs(task: &TaskRoot) -> (Json, Json) {
    (task.operation(1)["costUsd"].clone(), task.run(1)["costUsd"].clone())
}

#[test]
fn ex_cost_01_a_remote_dispatch_needs_a_budget_and_a_reservation_above_zero() {
    for (budget, reason) in [
        (json!(null), "budget"),
        (json!(0), "budget"),
        (serde_json::from_str("9e-10").expect("a number"), "budget"),
    ] {
        let mut task = TaskRoot::new();
        task.options["budgetUsd"] = budget;
        let refused = task.refused(|task| task.submit(dispatch(1), []));
        assert_eq!(refused, (Code::ExecutionAllowance, Some(reason)));
        assert!(!task.exists("execution.json"), "no intent");
    }
    let task = TaskRoot::new();
    for reservation in [json!(null), json!(0), json!(-1), json!("1"), json!(true), json!(9_000_000_001_u64)] {
        let input = dispatch_with(1, json!({"reservationUsd": reservation}));
        let refused = task.refused(|task| task.submit(input, []));
        assert_eq!(refused, (Code::ExecutionAllowance, Some("reservation")), "{reservation}");
    }
    let least: Json = serde_json::from_str("1e-10").expect("a number");
    task.submit(dispatch_with(1, json!({"reservationUsd": least})), accepts(1)).ok();
    assert!(task.text("execution.json").contains("\"reservationUsd\":0.000000001"), "rounded up");
}

#[test]
fn ex_cost_05_the_charge_is_the_greater_of_what_it_was_and_of_all_charges() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    task.accepted(2);
    assert_eq!(charged(&task), 1);
    pass(&task, [observation(2, json!({"costUsd": 2.25}))]).ok();
    assert_eq!(charged(&task), 2.75, "0.5 and 2.25");
    // What an older package has charged more stays charged.
    task.settle(2);
    task.edit(|ledger| ledger["allowance"]["chargedUsd"] = json!(5));
    task.accepted(3);
    assert_eq!(charged(&task), 5, "the sum is 3.25");
    let refusal = gallivant_core::execution::dispatch_not_sent_error("no-seat", "");
    task.settle(3);
    task.submit(dispatch_with(4, json!({"reservationUsd": 2})), [Answer::Fails(refusal)]).error();
    assert_eq!(charged(&task), 5, "and falls by a proven refusal to what it was before");
}

#[test]
fn ex_cost_06_a_reservation_is_never_released() {
    for answers in [
        vec![observation(1, json!({"state": "succeeded", "costUsd": 0.01})), result(1, json!(null))],
        vec![observation(1, json!({"state": "failed"})), Answer::Fails(io_error())],
        vec![observation(1, json!({"state": "cancelled", "costUsd": 0}))],
    ] {
        let task = TaskRoot::new();
        task.accepted(1);
        pass(&task, answers).ok();
        assert_eq!(charged(&task), 0.5);
    }
    let task = TaskRoot::new();
    task.lost(1);
    assert_eq!(charged(&task), 0.5, "unknown acceptance");
    task.settle_absent(json!({"operationId": "op-1", "evidence": "e"})).ok();
    assert_eq!(charged(&task), 0.5, "absent");
}

#[test]
fn ex_cost_07_the_cost_of_a_run_is_the_highest_that_was_reported_of_it() {
    let task = TaskRoot::new();
    task.lost(1);
    pass(&task, [observation(1, json!({"costUsd": 0.7}))]).ok();
    assert_eq!(costs(&task), (json!(0.7), json!(0.7)), "by a lookup");
    pass(&task, [observation(1, json!({"costUsd": 0.4}))]).ok();
    assert_eq!(costs(&task), (json!(0.7), json!(0.7)), "a lower one changes nothing");
    pass(&task, [observation(1, json!({"costUsd": 0.9}))]).ok();
    assert_eq!((costs(&task), charged(&task)), ((json!(0.9), json!(0.9)), json!(0.9)), "by an inspection");
    pass(&task, [observation(1, json!({"state": "succeeded"})), result(1, json!(1.1))]).ok();
    assert_eq!((costs(&task), charged(&task)), ((json!(1.1), json!(1.1)), json!(1.1)), "by a result");
}

#[test]
fn ex_cost_10_the_cost_of_a_rejected_reply_is_not_adopted() {
    let task = TaskRoot::new();
    task.accepted(1);
    for broken in [
        json!({"turnId": "t-9"}),
        json!({"sessionId": "s-9"}),
        json!({"state": "asleep"}),
        json!({"cursor": {}}),
        json!({"observedAt": NOW + 1}),
        json!({"events": [{}]}),
    ] {
        pass(&task, [observation(1, with(broken.clone(), json!({"costUsd": 3})))]).ok();
        assert_eq!(costs(&task), (json!(null), json!(null)), "{broken}");
    }
    let foreign = json!({"providerJobId": "j-1", "turnId": "t-9", "inputHead": HEAD,
        "outcome": {"finished": true, "ok": true, "cost": 3, "denials": []}});
    pass(&task, [observation(1, json!({"state": "succeeded"})), Answer::Says(foreign)]).ok();
    assert_eq!((costs(&task), charged(&task)), ((json!(null), json!(null)), json!(0.5)));
}

#[test]
fn ex_cost_11_the_private_result_keeps_the_cost_that_was_reported_in_it() {
    let task = TaskRoot::new();
    task.accepted(1);
    pass(&task, [observation(1, json!({"state": "succeeded", "costUsd": 0.9})), result(1, json!(0.3))]).ok();
    let saved: Json = serde_json::from_str(&task.text("run-1/result.json")).expect("JSON");
    assert_eq!(saved["outcome"]["cost"], 0.3);
    assert_eq!(costs(&task), (json!(0.9), json!(0.9)));
}

#[test]
fn an_adoption_by_an_operator_reports_no_cost() {
    let task = TaskRoot::new();
    task.lost(1);
    let acknowledged = with(acknowledgement(1), json!({"costUsd": 3}));
    task.adopt(json!({"operationId": "op-1", "acknowledgement": acknowledged, "evidence": "e"})).ok();
    assert_eq!((costs(&task), charged(&task)), ((json!(null), json!(null)), json!(0.5)));
}

#[test]
fn ex_cost_15_an_exhausted_allowance_refuses_dispatch_and_nothing_else() {
    let task = TaskRoot::new();
    task.accepted(1);
    pass(&task, [observation(1, json!({"costUsd": 8}))]).ok();
    // The running job is looked after, collected and stopped as ever.
    let called = pass(&task, [observation(1, json!({"state": "succeeded"})), result(1, json!(8))]).calls;
    assert_eq!(called.iter().map(|(method, _)| *method).collect::<Vec<_>>(), ["inspect", "collect"]);
    let input = |kind: Json| with(dispatch(2), kind);
    assert_eq!(task.refused(|task| task.submit(input(json!({})), [])), BUDGET_LEFT);
    assert_eq!(task.refused(|task| task.continue_run(input(json!({})), [])), BUDGET_LEFT);
    let intake = json!({"kind": "intake", "inputHead": null, "preparation": "text-only"});
    assert_eq!(task.refused(|task| task.submit(input(intake), [])), BUDGET);
    let stopped =
        drive(task.boundary().cancel(object(&json!({"reason": "r"})), AbortToken::new()), &task, []);
    assert_eq!(stopped.ok()["terminal"], true);
    let task = TaskRoot::new();
    task.accepted(1);
    pass(&task, [observation(1, json!({"costUsd": 80}))]).ok();
    let stop = drive(
        task.boundary().cancel(object(&json!({"reason": "r"})), AbortToken::new()),
        &task,
        [Answer::Says(json!({"confirmed": true}))],
    );
    assert_eq!(stop.ok()["confirmed"], true);
}

/// A reservation that is not covered by what is left.
const BUDGET_LEFT: (Code, Option<&str>) = (Code::ExecutionAllowance, Some("reservation"));

#[test]
fn ex_cost_16_usage_above_the_budget_is_recorded_in_full() {
    let task = TaskRoot::new();
    task.accepted(1);
    pass(&task, [observation(1, json!({"costUsd": 12.000000001}))]).ok();
    assert!(
        task.text("execution.json").contains("\"allowance\":{\"budgetUsd\":8,\"chargedUsd\":12.000000001")
    );
    task.settle(1);
    let error = task.submit(dispatch(2), []).error();
    assert_eq!(error.code(), Code::ExecutionAllowance);
    assert!(error.message().contains("remaining=`-4.000000001`"), "{error}");
}

#[test]
fn ex_cost_17_the_budget_is_that_of_the_first_intent() {
    let mut task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    for other in [json!(9), json!(7.999999999), json!(80)] {
        task.options["budgetUsd"] = other.clone();
        let refused = task.refused(|task| task.submit(dispatch(2), []));
        assert_eq!(refused, (Code::ExecutionConflict, Some("budget")), "{other}");
    }
    assert_eq!(task.ledger()["allowance"]["budgetUsd"], 8);
    // The same amount in other digits is the same budget.
    task.options["budgetUsd"] = serde_json::from_str("8.0000000001").expect("a number");
    task.accepted(2);
}

#[test]
fn ex_cost_18_deadlines_and_retries_change_neither_budget_nor_reservation() {
    let mut task = TaskRoot::new();
    task.options["intakeDeadlineAt"] = json!(NOW + 1);
    task.submit(dispatch(1), [Answer::Deadline]).error();
    let money = |task: &TaskRoot| {
        let ledger = task.ledger();
        (
            ledger["allowance"].clone(),
            task.operation(1)["reservationUsd"].clone(),
            ledger["intakeDeadlineAt"].clone(),
        )
    };
    let before = money(&task);
    for answer in
        [Answer::Deadline, Answer::Fails(io_error()), Answer::Abort, Answer::Text("null".to_owned())]
    {
        task.machine.advance_ms(1_000_000);
        pass(&task, [answer]).ok();
        assert_eq!(money(&task), before);
    }
    assert!(task.run(1)["failures"].as_u64().expect("a number") >= 4);
}

#[test]
fn ex_cost_19_reading_a_cost_asks_nobody() {
    let task = TaskRoot::new();
    task.accepted(1);
    pass(&task, [observation(1, json!({"state": "succeeded", "costUsd": 0.75})), result(1, json!(0.6))]).ok();
    // None of these is a machine, so none of them can call.
    let boundary = task.boundary();
    assert_eq!(from_core(&boundary.inspect().expect("read"))["costUsd"], 0.75);
    assert_eq!(from_core(&boundary.outcome("run-1").expect("read"))["cost"], 0.75);
    let job = boundary.read("run-1").expect("read").expect("there");
    assert_eq!(from_core(job.get("execution").expect("metadata"))["costUsd"], 0.75);
}
