//! EX-CAN-12 to EX-CAN-21: what becomes of a stop by its reply, by an observation, and by an end that came first.

use gallivant_core::Code;
use serde_json::{Value as Json, json};

use crate::execution_cancel::{confirmed, control, names, queue, running, stop};
use crate::support::NOW;
use crate::support::pass::{observation, result, says};
use crate::support::task::{Answer, TaskRoot, dispatch, io_error};

fn without_cancel(task: &mut TaskRoot) {
    task.options["capabilities"]["cancel"] = json!(false);
}

#[test]
fn ex_can_12_without_the_capability_nothing_is_called() {
    let mut task = running();
    without_cancel(&mut task);
    assert_eq!(stop(&task, "k1", []).ok(), json!({"confirmed": false, "unsupported": true}));
    assert_eq!(task.run(1)["cancellation"]["status"], "unsupported");
    assert_eq!(stop(&task, "k2", []).ok(), json!({"confirmed": false, "unsupported": true}));
    let report = task.due_pass([says(observation(1, "running"))]).ok();
    assert_eq!(report["called"], json!(["inspect"]));
    assert_eq!(task.refused(|task| task.submit(dispatch(2), [])).0, Code::ExecutionFenced);
}

#[test]
fn ex_can_13_a_confirmed_stop_ends_the_run() {
    let task = running();
    task.machine.advance_ms(7);
    assert_eq!(stop(&task, "k1", [confirmed(true)]).ok(), json!({"confirmed": true}));
    let run = task.run(1);
    assert_eq!(run["cancellation"]["status"], "confirmed");
    assert_eq!(run["cancellation"]["resolvedAt"], NOW + 7);
    assert_eq!(
        (&run["terminalState"], &run["state"], &run["quarantined"], &run["completionInferred"]),
        (&json!("cancelled"), &json!("cancelled"), &json!(true), &json!(true))
    );
    assert_eq!(run["terminalObservedAt"], NOW + 7);
    assert_eq!(run["nextAttemptAt"], Json::Null);
    assert_eq!(task.due_pass([]).ok()["called"], json!([]));
}

#[test]
fn ex_can_14_an_acknowledged_stop_is_not_sent_again() {
    let task = running();
    assert_eq!(stop(&task, "k1", [confirmed(false)]).ok(), json!({"confirmed": false}));
    let run = task.run(1);
    assert_eq!(
        (&run["cancellation"]["status"], &run["state"], &run["nextAttemptAt"]),
        (&json!("acknowledged"), &json!("cancellation-requested"), &json!(NOW + 10_000))
    );
    assert_eq!(stop(&task, "k2", []).ok(), json!({"confirmed": false}));
    let report = task.due_pass([says(observation(1, "running"))]).ok();
    assert_eq!(
        (&report["called"], &report["state"]),
        (&json!(["inspect"]), &json!("cancellation-requested"))
    );
}

#[test]
fn ex_can_15_a_lost_reply_is_sent_again_with_the_same_key() {
    let lost = [
        Answer::Fails(io_error()),
        Answer::Deadline,
        Answer::Abort,
        says(json!({"confirmed": "yes"})),
        says(json!({})),
        Answer::Text("no JSON".to_owned()),
    ];
    for answer in lost {
        let task = running();
        let first = stop(&task, "k1", [answer]);
        let key = first.input("cancel")["idempotencyKey"].clone();
        assert_eq!(first.ok(), json!({"confirmed": false}));
        let record = task.run(1)["cancellation"].clone();
        assert_eq!(
            (&record["status"], &record["failures"], &record["attempts"]),
            (&json!("pending"), &json!(1), &json!(1))
        );
        assert!(
            record["nextAttemptAt"].as_u64().expect("a time")
                > record["lastAttemptAt"].as_u64().expect("one")
        );
        let again = task.forced_pass([confirmed(true)]);
        assert_eq!(again.input("cancel")["idempotencyKey"], key);
        assert_eq!(task.run(1)["cancellation"]["attempts"], 2);
    }
    // The attempt is saved before the call; a crash leaves the stop due.
    let task = running();
    stop(&task, "k1", [Answer::Dropped]);
    let record = task.run(1)["cancellation"].clone();
    assert_eq!((&record["attempts"], &record["lastAttemptAt"]), (&json!(1), &json!(NOW)));
    assert_eq!(record["nextAttemptAt"], NOW);
    assert_eq!(names(&task.pass([confirmed(true)])), ["cancel"]);
}

#[test]
fn ex_can_16_an_observed_cancelled_confirms_every_open_stop() {
    for start in ["pending", "acknowledged", "unsupported"] {
        let mut task = running();
        match start {
            "pending" => drop(stop(&task, "k", [Answer::Fails(io_error())]).ok()),
            "acknowledged" => drop(stop(&task, "k", [confirmed(false)]).ok()),
            _ => {
                without_cancel(&mut task);
                stop(&task, "k", []).ok();
            }
        }
        assert_eq!(task.run(1)["cancellation"]["status"], start);
        let lost = (start == "pending").then(|| Answer::Fails(io_error()));
        task.due_pass(lost.into_iter().chain([says(observation(1, "cancelled"))])).ok();
        let run = task.run(1);
        assert_eq!(
            (&run["cancellation"]["status"], &run["state"]),
            (&json!("confirmed"), &json!("cancelled"))
        );
        assert_eq!(run["quarantined"], true, "{start}");
    }
}

#[test]
fn ex_can_17_another_end_is_met_and_no_cancellation_is_claimed() {
    for start in ["pending", "acknowledged", "unsupported"] {
        let mut task = running();
        match start {
            "pending" => drop(stop(&task, "k", [Answer::Fails(io_error())]).ok()),
            "acknowledged" => drop(stop(&task, "k", [confirmed(false)]).ok()),
            _ => {
                without_cancel(&mut task);
                stop(&task, "k", []).ok();
            }
        }
        let lost = (start == "pending").then(|| Answer::Fails(io_error()));
        let rest = [says(observation(1, "succeeded")), says(result(1))];
        let report = task.due_pass(lost.into_iter().chain(rest)).ok();
        assert_eq!(report["state"], "succeeded", "{start}");
        let run = task.run(1);
        assert_eq!(run["cancellation"]["status"], "terminal", "{start}");
        assert_eq!((&run["collected"], &run["quarantined"]), (&json!(true), &json!(true)));
    }
}

#[test]
fn ex_can_18_19_and_20_what_is_final_stays_and_calls_nobody() {
    let task = running();
    stop(&task, "k1", [confirmed(true)]).ok();
    let before = task.run(1);
    assert_eq!(stop(&task, "k1", []).ok(), json!({"confirmed": true}));
    assert_eq!(task.run(1), before);
    let task = running();
    task.collected(1);
    let before = task.run(1);
    assert_eq!(stop(&task, "k1", []).ok(), json!({"confirmed": false, "terminal": true}));
    let after = task.run(1);
    for key in ["state", "terminalState", "completedAt", "terminalObservedAt", "collectedAt", "costUsd"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    assert_eq!(stop(&task, "k1", []).ok(), json!({"confirmed": false, "terminal": true}));
}

#[test]
fn ex_can_18_a_final_status_survives_every_event() {
    let task = running();
    stop(&task, "k1", [confirmed(true)]).ok();
    let record = task.run(1)["cancellation"].clone();
    queue(&task, "k2", "again").ok();
    task.forced_pass([]).ok();
    assert_eq!(task.run(1)["cancellation"], record);
    assert_eq!(control(&task, "k2")["status"], "confirmed");
}

#[test]
fn ex_can_19_a_stop_of_an_ended_root_keeps_its_history() {
    let task = running();
    task.ended(1, "failed");
    let before = task.run(1);
    assert_eq!(stop(&task, "k1", []).ok(), json!({"confirmed": false, "terminal": true}));
    let after = task.run(1);
    assert_eq!(after["terminalState"], before["terminalState"]);
    assert_eq!(after["state"], "retrieving-results");
    assert_eq!(after["quarantined"], true);
}

#[test]
fn ex_can_20_a_confirmed_stop_is_told_again() {
    let task = running();
    stop(&task, "k1", [confirmed(true)]).ok();
    let before = task.ledger();
    assert_eq!(stop(&task, "k1", []).ok(), json!({"confirmed": true}));
    assert_eq!(task.ledger(), before);
}

#[test]
fn ex_can_21_every_row_of_the_state_table() {
    use gallivant_core::execution::ledger::Ledger;
    use gallivant_core::execution::ledger::record::{CancellationStatus as S, FenceKind};
    use gallivant_core::execution::transition::cancel::{self, Request};
    let request = Request {
        kind: FenceKind::Operator,
        reason: "enough".into(),
        run_id: None,
        control_id: None,
        requested_at: NOW,
    };
    let status = |ledger: &Ledger| {
        ledger.executions.get("run-1").and_then(|run| run.cancellation.as_ref()).map(|stop| stop.status)
    };
    let load = |task: &TaskRoot| Ledger::parse(task.text("execution.json").as_bytes()).expect("a ledger");
    let failed = gallivant_core::Error::new(Code::ExecutionIo, "lost").with_reason("io");
    let (unknown, open, ended) = (TaskRoot::new(), running(), running());
    unknown.lost(1);
    ended.ended(1, "failed");
    let mut rows = 0;
    let mut row = |ledger: &Ledger, expected: S| {
        assert_eq!(status(ledger), Some(expected));
        rows += 1;
    };
    let pending = cancel::requested(&load(&open), &request, false, true);
    row(&pending, S::Pending);
    row(&cancel::requested(&load(&unknown), &request, false, true), S::Pending);
    let unsupported = cancel::requested(&load(&open), &request, false, false);
    row(&unsupported, S::Unsupported);
    let terminal = cancel::requested(&load(&ended), &request, false, true);
    row(&terminal, S::Terminal);
    let confirmed = cancel::answered(&pending, "run-1", true, NOW, 1);
    row(&confirmed, S::Confirmed);
    let acknowledged = cancel::answered(&pending, "run-1", false, NOW, 1);
    row(&acknowledged, S::Acknowledged);
    row(&cancel::lost(&pending, "run-1", &failed, NOW, |_| 1), S::Pending);
    for last in [&confirmed, &terminal] {
        let stands = status(last).expect("a record");
        row(&cancel::answered(last, "run-1", true, NOW, 1), stands);
        row(&cancel::answered(last, "run-1", false, NOW, 1), stands);
        row(&cancel::lost(last, "run-1", &failed, NOW, |_| 1), stands);
        row(&cancel::requested(last, &request, false, true), stands);
    }
    assert_eq!(rows, 15);
}
