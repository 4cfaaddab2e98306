//! Stops of a provider's job: asked for, recorded, sent, and what they are not (EX-CAN-01 to EX-CAN-11, EX-CAN-22 to EX-CAN-28).

use gallivant_core::Code;
use gallivant_core::execution::{AbortToken, Step};
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{observation, observation_with, says};
use crate::support::task::{Answer, Ended, TaskRoot, dispatch, drive, io_error, object};

pub(crate) fn stop(task: &TaskRoot, control: &str, answers: impl IntoIterator<Item = Answer>) -> Ended {
    let input = json!({"reason": "enough", "controlId": control});
    drive(task.boundary().cancel(object(&input), AbortToken::new()), task, answers)
}

pub(crate) fn queue(task: &TaskRoot, control: &str, reason: &str) -> Ended {
    let input = json!({"reason": reason, "controlId": control});
    drive(task.boundary().request_cancel(object(&input), AbortToken::new()), task, [])
}

pub(crate) fn control(task: &TaskRoot, id: &str) -> Json {
    serde_json::from_str(&task.text(&format!("controls/{id}.json"))).expect("JSON")
}

pub(crate) fn confirmed(is: bool) -> Answer {
    says(json!({"confirmed": is}))
}

/// A run that the provider has accepted and that runs.
pub(crate) fn running() -> TaskRoot {
    let task = TaskRoot::new();
    task.accepted(1);
    task
}

pub(crate) fn names(ended: &Ended) -> Vec<&'static str> {
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
