//! Stops of a provider's job: asked for, recorded, sent, answered (EX-CAN-01 to EX-CAN-28).

use gallivant_core::Code;
use gallivant_core::execution::{AbortToken, Step};
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{observation, observation_with, result, says};
use crate::support::task::{Answer, Ended, TaskRoot, dispatch, drive, io_error, object};

fn stop(task: &TaskRoot, control: &str, answers: impl IntoIterator<Item = Answer>) -> Ended {
    let input = json!({"reason": "enough", "controlId": control});
    drive(task.boundary().cancel(object(&input), AbortToken::new()), task, answers)
}

fn queue(task: &TaskRoot, control: &str, reason: &str) -> Ended {
    let input = json!({"reason": reason, "controlId": control});
    drive(task.boundary().request_cancel(object(&input), AbortToken::new()), task, [])
}

fn control(task: &TaskRoot, id: &str) -> Json {
    serde_json::from_str(&task.text(&format!("controls/{id}.json"))).expect("JSON")
}

fn confirmed(is: bool) -> Answer {
    says(json!({"confirmed": is}))
}

fn without_cancel(task: &mut TaskRoot) {
    task.options["capabilities"]["cancel"] = json!(false);
}

/// A run that the provider has accepted and that runs.
fn running() -> TaskRoot {
    let task = TaskRoot::new();
    task.accepted(1);
    task
}

fn names(ended: &Ended) -> Vec<&'static str> {
    ended.calls.iter().map(|call| call.0).collect()
}

#[test]
fn ex_can_01_a_stop_fences_from_the_moment_it_is_accepted() {
    let task = running();
    task.collected(1);
    queue(&task, "k1", "enough").ok();
    assert_eq!(task.refused(|task| task.submit(dispatch(2), [])).0, Code::ExecutionFenced);
    // Whatever becomes of the stop itself.
    let task = running();
    assert_eq!(stop(&task, "k1", [Answer::Fails(io_error())]).ok(), json!({"confirmed": false}));
    assert_eq!(task.refused(|task| task.submit(dispatch(2), [])).0, Code::ExecutionFenced);
    assert_eq!(task.ledger()["stopFence"]["kind"], "operator");
}

#[test]
fn ex_can_02_the_record_of_a_stop() {
    let task = running();
    let ended = stop(&task, "k1", [confirmed(false)]);
    let sent = ended.input("cancel");
    let mut record = task.run(1)["cancellation"].clone();
    assert_eq!(sent["idempotencyKey"], record["idempotencyKey"]);
    assert!(record["idempotencyKey"].as_str().expect("a key").starts_with("gx-"));
    record["idempotencyKey"] = json!("gx");
    assert_eq!(
        record,
        json!({
            "status": "acknowledged", "reason": "enough", "requestedAt": NOW, "idempotencyKey": "gx",
            "attempts": 1, "failures": 0, "lastAttemptAt": NOW, "nextAttemptAt": null, "resolvedAt": null
        })
    );
}

#[test]
fn ex_can_03_a_request_is_queued_while_somebody_else_has_the_lock() {
    use std::os::unix::fs::MetadataExt as _;
    let task = running();
    let boundary = task.boundary();
    let mut pass = boundary.reconcile(true, AbortToken::new());
    let Step::Call(call) = pass.start() else { panic!("it inspects") };
    assert_eq!(queue(&task, "k1", "enough").ok(), json!({"queued": true}));
    assert_eq!(
        control(&task, "k1"),
        json!({
            "version": 1, "controlId": "k1", "runId": null, "reason": "enough", "requestedAt": NOW,
            "status": "queued"
        })
    );
    let file = task.path().join("controls/k1.json");
    assert_eq!(file.metadata().expect("there").mode() & 0o777, 0o600);
    // A second request of the same id leaves the first as it is.
    let before = task.tree();
    assert_eq!(queue(&task, "k1", "again").ok(), json!({"queued": true}));
    assert!(before == task.tree());
    assert_eq!(pass_outstanding(&pass), Some(call.id));
    // Nothing of the ledger was touched.
    assert_eq!(task.ledger()["stopFence"], Json::Null);
    assert_eq!(task.refused(|task| queue(task, "../k", "x")), (Code::ExecutionInput, None));
    assert_eq!(task.refused(|task| queue(task, "k2", "")), (Code::ExecutionInput, None));
}

fn pass_outstanding(machine: &gallivant_core::execution::Machine) -> Option<u64> {
    machine.outstanding_id()
}

#[test]
fn ex_can_04_queued_controls_are_applied_by_time_and_id() {
    let task = running();
    queue(&task, "b", "second").ok();
    queue(&task, "a", "first by its id").ok();
    task.machine.advance_ms(5);
    queue(&task, "0", "later").ok();
    // A dispatch applies nothing.
    assert_eq!(task.refused(|task| task.submit(dispatch(2), [])).0, Code::ExecutionFenced);
    let report = task.pass([confirmed(false)]).ok();
    assert_eq!(report["called"], json!(["cancel"]));
    let run = task.run(1);
    assert_eq!(run["controls"], json!(["a", "b", "0"]));
    assert_eq!(run["cancellation"]["reason"], "first by its id");
    assert_eq!(task.ledger()["stopFence"]["reason"], "first by its id");
    for id in ["a", "b", "0"] {
        assert_eq!(control(&task, id)["status"], "applied", "{id}");
    }
    // A cancel applies them too.
    let task = running();
    queue(&task, "k", "queued").ok();
    stop(&task, "k2", [confirmed(true)]).ok();
    assert_eq!(task.run(1)["controls"], json!(["k", "k2"]));
    assert_eq!(control(&task, "k")["status"], "confirmed");
}

#[test]
fn ex_can_05_others_may_queue_a_stop_while_one_is_sent() {
    let task = running();
    let boundary = task.boundary();
    let mut machine = boundary.cancel(object(&json!({"reason": "enough"})), AbortToken::new());
    let Step::Call(_) = machine.start() else { panic!("it calls") };
    assert_eq!(queue(&task, "k1", "me too").ok(), json!({"queued": true}));
    drop(machine);
    assert!(!task.exists("controls/stop.json"), "a direct stop writes no control file");
    let files: Vec<String> = task.tree().into_keys().filter(|path| path.starts_with("controls/")).collect();
    assert_eq!(files, ["controls/", "controls/k1.json"]);
}

#[test]
fn ex_can_06_the_record_is_saved_before_anything_is_sent() {
    let task = TaskRoot::new();
    task.lost(1);
    stop(&task, "k1", []).ok();
    let record = task.run(1)["cancellation"].clone();
    assert_eq!(
        (&record["attempts"], &record["failures"], &record["nextAttemptAt"], &record["status"]),
        (&json!(0), &json!(0), &json!(NOW), &json!("pending"))
    );
    // The call finds the record on disk.
    let task = running();
    let boundary = task.boundary();
    let mut machine = boundary.cancel(object(&json!({"reason": "enough"})), AbortToken::new());
    let Step::Call(_) = machine.start() else { panic!("it calls") };
    assert_eq!(task.run(1)["cancellation"]["status"], "pending");
    assert_eq!(task.ledger()["stopFence"]["runId"], "run-1");
}

#[test]
fn ex_can_07_a_repeated_request_keeps_the_first_record() {
    let task = running();
    stop(&task, "k1", [Answer::Fails(io_error())]).ok();
    let first = task.run(1)["cancellation"].clone();
    task.machine.advance_ms(1);
    stop(&task, "k2", []).ok();
    let second = task.run(1);
    for key in ["reason", "requestedAt", "idempotencyKey"] {
        assert_eq!(second["cancellation"][key], first[key]);
    }
    assert_eq!(second["controls"], json!(["k1", "k2"]));
}

#[test]
fn ex_can_08_a_request_for_another_run_sets_the_fence_alone() {
    let task = running();
    let other = json!({"reason": "enough", "runId": "run-9"});
    let ended = drive(task.boundary().cancel(object(&other), AbortToken::new()), &task, []);
    assert_eq!(ended.ok(), json!({"confirmed": false}));
    assert_eq!(task.ledger()["stopFence"]["runId"], "run-9");
    assert_eq!(task.run(1)["cancellation"], Json::Null);
    // Without a current run it names none.
    let task = TaskRoot::new();
    stop(&task, "k1", []).ok();
    assert_eq!(task.ledger()["stopFence"]["runId"], Json::Null);
    assert_eq!(task.refused(|task| task.submit(dispatch(1), [])).0, Code::ExecutionFenced);
}

#[test]
fn ex_can_09_and_11_nothing_is_sent_before_the_exact_ownership_is_saved() {
    let task = TaskRoot::new();
    task.lost(1);
    assert_eq!(stop(&task, "k1", []).ok(), json!({"confirmed": false}));
    assert_eq!(task.run(1)["cancellation"]["status"], "pending");
    let key = task.run(1)["cancellation"]["idempotencyKey"].clone();
    let boundary = task.boundary();
    let mut pass = boundary.reconcile(true, AbortToken::new());
    let Step::Call(call) = pass.start() else { panic!("it looks up") };
    assert_eq!(call.method, "lookup");
    let found = observation(1, "running").to_string();
    let reply = gallivant_core::execution::Reply::Value(found);
    let Step::Call(call) = pass.reply(call.id, reply).expect("outstanding") else { panic!("it stops") };
    assert_eq!(call.method, "cancel");
    assert_eq!(call.input.get("idempotencyKey").and_then(|key| key.as_str()), key.as_str());
    assert_eq!(task.operation(1)["acceptance"], "accepted", "saved before the stop is sent");
    assert_eq!(task.run(1)["providerJobId"], "j-1");
}

#[test]
fn ex_can_09_an_unknown_acceptance_sends_no_stop() {
    let task = TaskRoot::new();
    task.lost(1);
    assert_eq!(stop(&task, "k1", []).ok(), json!({"confirmed": false}));
    let report = task.forced_pass([says(Json::Null)]).ok();
    assert_eq!(report["called"], json!(["lookup"]));
    assert_eq!(task.run(1)["cancellation"]["status"], "pending");
    assert_eq!(task.run(1)["cancellation"]["attempts"], 0);
}

#[test]
fn ex_can_10_a_stop_is_sent_when_it_is_due_and_the_run_is_owned_and_open() {
    let task = running();
    stop(&task, "k1", [Answer::Fails(io_error())]).ok();
    // Not due: the pass is not either.
    let report = task.pass([]).ok();
    assert_eq!(report["called"], json!([]));
    let next = task.run(1)["cancellation"]["nextAttemptAt"].as_i64().expect("a time");
    task.machine.set_wall_ms(next as u64);
    let again = task.pass([confirmed(false)]);
    assert_eq!(names(&again), ["cancel"]);
    // Acknowledged: never again.
    let report = task.due_pass([says(observation(1, "running"))]).ok();
    assert_eq!(report["called"], json!(["inspect"]));
}

#[test]
fn ex_can_11_the_ownership_is_there_before_the_stop_of_the_same_pass() {
    let task = TaskRoot::new();
    task.lost(1);
    queue(&task, "k1", "enough").ok();
    let pass = task.forced_pass([says(observation(1, "running")), Answer::Dropped]);
    assert_eq!(names(&pass), ["lookup", "cancel"]);
    assert_eq!(task.operation(1)["acceptance"], "accepted");
    assert_eq!(task.run(1)["cancellation"]["attempts"], 1);
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

#[test]
fn ex_can_22_receipts_follow_the_record_of_their_run() {
    let task = running();
    queue(&task, "k1", "enough").ok();
    task.pass([confirmed(false)]).ok();
    assert_eq!(control(&task, "k1")["status"], "applied");
    task.due_pass([says(observation(1, "cancelled"))]).ok();
    assert_eq!(control(&task, "k1")["status"], "confirmed");
    // An older receipt of another run is left alone.
    let task = running();
    task.plant(
        "controls/old.json",
        json!({"version": 1, "controlId": "old", "runId": "run-0", "reason": "r", "requestedAt": 1, "status": "applied"})
            .to_string(),
    );
    stop(&task, "k1", [confirmed(true)]).ok();
    assert_eq!(control(&task, "old")["status"], "applied");
}

#[test]
fn ex_can_22_a_crash_between_ledger_and_receipt_is_repaired() {
    let task = running();
    queue(&task, "k1", "enough").ok();
    let queued = task.text("controls/k1.json");
    task.pass([confirmed(true)]).ok();
    task.plant("controls/k1.json", queued);
    task.forced_pass([]).ok();
    assert_eq!(control(&task, "k1")["status"], "confirmed");
    assert_eq!(task.run(1)["controls"], json!(["k1"]), "applied once");
}

#[test]
fn ex_can_23_the_end_of_a_submitting_client_is_no_stop() {
    for answer in [Answer::Abort, Answer::Dropped] {
        let task = TaskRoot::new();
        task.submit(dispatch(1), [answer]);
        assert_eq!(task.operation(1)["acceptance"], "unknown");
        assert_eq!(task.run(1)["cancellation"], Json::Null);
        assert_eq!(task.ledger()["stopFence"], Json::Null);
        assert_eq!(task.run(1)["state"], "status-unknown");
    }
}

#[test]
fn ex_can_24_a_read_drives_no_stop() {
    let task = running();
    queue(&task, "k1", "enough").ok();
    let before = task.tree();
    task.inspect();
    task.boundary().outcome("run-1").expect("read");
    task.boundary().read("run-1").expect("read");
    assert!(before == task.tree());
}

#[test]
fn ex_can_26_no_replacement_while_the_fence_stays_or_the_run_is_open() {
    let task = running();
    stop(&task, "k1", [confirmed(false)]).ok();
    assert_eq!(task.refused(|task| task.submit(dispatch(2), [])).0, Code::ExecutionFenced);
    task.edit(|ledger| ledger["stopFence"] = Json::Null);
    assert_eq!(task.refused(|task| task.submit(dispatch(2), [])).0, Code::ExecutionActive);
    task.due_pass([says(observation_with(1, "cancelled", json!({})))]).ok();
    assert_eq!(
        task.submit(dispatch(2), [Answer::Fails(io_error())]).error().code(),
        Code::ExecutionAcceptanceUnknown
    );
}

#[test]
fn ex_can_28_a_deadline_of_a_submit_is_no_cancellation() {
    let task = TaskRoot::new();
    let error = task.submit(dispatch(1), [Answer::Deadline]).error();
    assert_eq!((error.code(), error.reason()), (Code::ExecutionAcceptanceUnknown, Some("deadline")));
    assert_eq!((&task.run(1)["cancellation"], &task.ledger()["stopFence"]), (&Json::Null, &Json::Null));
    // The job may run: it is looked for, and not stopped.
    let observed = observation_with(1, "running", json!({"observedAt": NOW + 20_000}));
    assert_eq!(names(&task.forced_pass([says(observed)])), ["lookup"]);
}
