//! Process runs through a scripted process host: how they start, every row of the local state table, runs from before the
//! ledger (EX-REC-35, EX-REC-49, EX-CAN-37, EX-CAN-38, EX-LOC as far as a scripted host goes).

use gallivant_core::Code;
use gallivant_core::execution::AbortToken;
use gallivant_core::execution::contract::dispatch_not_sent_error;
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::says;
use crate::support::task::{Answer, Ended, TaskRoot, dispatch_with, drive, io_error, object};

const KILL_AFTER_MS: i64 = 10_000;

pub(crate) fn spec(n: u32) -> Json {
    dispatch_with(
        n,
        json!({"model": null, "reservationUsd": null, "sessionId": "s-1", "spec": {"argv": ["tool"]}}),
    )
}

pub(crate) fn spawned() -> Answer {
    says(json!({"pid": 4242, "identity": "linux:boot:ns:77"}))
}

pub(crate) fn seen(tree: &str) -> Answer {
    says(json!({"tree": tree}))
}

/// The tree is gone, and how it ended is recorded.
pub(crate) fn gone(exit: i64) -> Answer {
    says(json!({"tree": "gone", "exit": exit, "endedAt": NOW + 1}))
}

pub(crate) fn sent() -> Answer {
    says(json!({"sent": true}))
}

pub(crate) fn told(ok: bool) -> Answer {
    says(json!({"ok": ok, "cost": 1.25, "denials": ["d"], "sessionId": "s-1"}))
}

pub(crate) fn running() -> TaskRoot {
    let task = TaskRoot::local();
    task.submit(spec(1), [spawned()]).ok();
    task.machine.advance_ms(2);
    task
}

pub(crate) fn stop(task: &TaskRoot, answers: impl IntoIterator<Item = Answer>) -> Ended {
    let input = json!({"reason": "enough", "controlId": "k1"});
    drive(task.boundary().cancel(object(&input), AbortToken::new()), task, answers)
}

pub(crate) fn time_out(task: &TaskRoot, answers: impl IntoIterator<Item = Answer>) -> Ended {
    drive(task.boundary().timeout_stop(object(&json!({})), AbortToken::new()), task, answers)
}

pub(crate) fn names(ended: &Ended) -> Vec<&'static str> {
    ended.calls.iter().map(|call| call.0).collect()
}

pub(crate) fn status(task: &TaskRoot) -> Json {
    task.run(1)["cancellation"]["status"].clone()
}

#[test]
fn ex_loc_02_a_process_is_started_once_for_a_saved_intent() {
    let task = TaskRoot::local();
    let boundary = task.boundary();
    let mut machine = boundary.submit(object(&spec(1)), AbortToken::new());
    let gallivant_core::execution::Step::Call(call) = machine.start() else { panic!("it spawns") };
    assert_eq!((call.port.word(), call.method), ("process", "spawn"));
    // Before the spawn: the intent, and a job record that names run and operation.
    assert_eq!(task.operation(1)["acceptance"], "unknown");
    assert_eq!((&task.job(1)["runId"], &task.job(1)["operationId"]), (&json!("run-1"), &json!("op-1")));
    assert!(!task.exists("latest-run"));
    let reply = json!({"pid": 4242, "identity": "linux:boot:ns:77"}).to_string();
    let step = machine.reply(call.id, gallivant_core::execution::Reply::Value(reply)).expect("outstanding");
    assert!(matches!(step, gallivant_core::execution::Step::Done(Ok(_))));
    assert_eq!(task.text("latest-run"), "run-1");
    assert_eq!(task.run(1)["state"], "running");
    assert_eq!(task.run(1)["providerJobId"], "run-1");
    assert_eq!(task.run(1)["sessionId"], "s-1");
}

#[test]
fn ex_loc_03_the_job_record_holds_the_process_right_after_the_spawn() {
    let mut task = TaskRoot::local();
    // The ledger's acceptance fails, and the record has the process already.
    let mut left = 2;
    task.faults = crate::support::task::Points::new("persist:execution.json", move || {
        left -= 1;
        if left == 0 {
            gallivant_core::execution::FaultAnswer::Fail
        } else {
            gallivant_core::execution::FaultAnswer::Go
        }
    });
    assert_eq!(task.submit(spec(1), [spawned()]).error().code(), Code::ExecutionIo);
    assert_eq!(task.operation(1)["acceptance"], "unknown");
    assert_eq!(
        task.job(1)["process"],
        json!({"pid": 4242, "identity": "linux:boot:ns:77", "group": 4242, "startedAt": NOW})
    );
    // What was started is recognised.
    task.forced_pass([seen("alive")]).ok();
    assert_eq!(task.operation(1)["acceptance"], "accepted");
}

#[test]
fn ex_loc_25_only_a_spawn_that_is_not_sent_is_a_proven_refusal() {
    let task = TaskRoot::local();
    let refused = task.submit(spec(1), [Answer::Fails(dispatch_not_sent_error("no-tool", "no such tool"))]);
    assert_eq!(refused.error().code(), Code::ExecutionDispatchRefused);
    assert_eq!(task.ledger()["operations"], json!({}));
    assert!(!task.exists("run-1"));
    for lost in [Answer::Fails(io_error()), Answer::Deadline, says(json!({"pid": 1, "identity": "x"}))] {
        let task = TaskRoot::local();
        let error = task.submit(spec(1), [lost]).error();
        assert_eq!(error.code(), Code::ExecutionAcceptanceUnknown);
        assert_eq!(task.operation(1)["acceptance"], "unknown");
    }
}

#[test]
fn ex_rec_35_and_36_every_row_of_the_local_table() {
    let mut rows = 0;
    let mut row = |name: &str, ended: Ended, calls: &[&str]| {
        assert_eq!(names(&ended), calls, "{name}");
        rows += 1;
    };
    // L1: the process was recorded, the acceptance was not.
    let task = running();
    task.edit(|ledger| {
        let operation = &mut ledger["operations"]["op-1"];
        operation["acceptance"] = json!("unknown");
        operation["acknowledgement"] = Json::Null;
        let run = &mut ledger["executions"]["run-1"];
        run["providerJobId"] = Json::Null;
        run["state"] = json!("status-unknown");
    });
    row("L1", task.forced_pass([seen("alive")]), &["observe"]);
    assert_eq!(task.operation(1)["acceptance"], "accepted");
    // L2: no process is known.
    let task = TaskRoot::local();
    task.submit(spec(1), [Answer::Fails(io_error())]).error();
    row("L2", task.forced_pass([]), &[]);
    assert_eq!(task.refused(|task| task.submit(spec(2), [])).0, Code::ExecutionUnresolved);
    // L3.
    let task = running();
    row("L3", task.due_pass([seen("alive")]), &["observe"]);
    assert_eq!(task.run(1)["state"], "running");
    // L4 and L5.
    let task = running();
    task.plant_control();
    row("L4", task.pass([seen("alive"), sent()]), &["observe", "signal"]);
    assert_eq!(
        (status(&task), task.run(1)["state"].clone()),
        (json!("acknowledged"), json!("cancellation-requested"))
    );
    task.machine.advance_ms(KILL_AFTER_MS - 1);
    row("L5 before KILL", task.forced_pass([seen("alive")]), &["observe"]);
    task.machine.advance_ms(1);
    let killed = task.forced_pass([seen("alive"), sent()]);
    assert_eq!(killed.calls[1].1["signal"], "KILL");
    row("L5 with KILL", killed, &["observe", "signal"]);
    row("L5 gone", task.forced_pass([gone(137)]), &["observe"]);
    assert_eq!((status(&task), task.run(1)["state"].clone()), (json!("confirmed"), json!("cancelled")));
    assert_eq!(task.run(1)["quarantined"], true);
    // L6 and L7.
    let task = running();
    row("L6", task.due_pass([gone(0), told(true)]), &["observe", "outcome"]);
    assert_eq!((&task.run(1)["state"], &task.run(1)["collected"]), (&json!("succeeded"), &json!(true)));
    row("L7", task.forced_pass([]), &[]);
    // L8.
    let mut task = running();
    task.options["capabilities"]["cancel"] = json!(false);
    stop(&task, [seen("alive")]).ok();
    assert_eq!(status(&task), "unsupported");
    row("L8 alive", task.due_pass([seen("alive")]), &["observe"]);
    row("L8 gone", task.due_pass([gone(0), told(true)]), &["observe", "outcome"]);
    assert_eq!((status(&task), task.run(1)["quarantined"].clone()), (json!("terminal"), json!(true)));
    // L9 and L10.
    let task = running();
    time_out(&task, [seen("alive"), sent()]).ok();
    row("L9", task.forced_pass([seen("alive")]), &["observe"]);
    row("L9 unreadable", task.forced_pass([seen("unreadable")]), &["observe"]);
    row("L10", task.forced_pass([gone(143), told(true)]), &["observe", "outcome"]);
    assert_eq!(task.ledger()["stopFence"], Json::Null);
    // L11.
    let task = running();
    row("L11", task.due_pass([seen("unreadable")]), &["observe"]);
    assert_eq!((&task.run(1)["state"], &task.run(1)["failures"]), (&json!("running"), &json!(1)));
    assert_eq!(rows, 15);
}

#[test]
fn ex_rec_49_a_settled_run_is_observed_only_for_its_own_timeout() {
    let task = running();
    task.due_pass([gone(0), told(true)]).ok();
    assert_eq!(names(&task.forced_pass([])), [""; 0]);
    assert_eq!(names(&stop(&task, [])), [""; 0]);
    assert_eq!(names(&task.forced_pass([])), [""; 0]);
}

#[test]
fn ex_loc_17_an_exit_that_nobody_recorded_is_a_failure() {
    let task = running();
    task.due_pass([seen("gone"), told(true)]).ok();
    let run = task.run(1);
    assert_eq!((&run["state"], &run["completionInferred"]), (&json!("failed"), &json!(true)));
    let result: Json = serde_json::from_str(&task.text("run-1/result.json")).expect("JSON");
    assert_eq!(
        (&result["outcome"]["exit"], &result["outcome"]["reason"]),
        (&Json::Null, &json!("exit-unknown"))
    );
}

#[test]
fn ex_loc_21_another_session_is_not_settled() {
    let task = running();
    let foreign = says(json!({"ok": true, "cost": null, "denials": [], "sessionId": "s-9"}));
    let report = task.due_pass([gone(0), foreign]).ok();
    assert_eq!(
        (&report["error"]["code"], &report["error"]["reason"]),
        (&json!("EXECUTION_RESULT"), &json!("session"))
    );
    assert!(!task.exists("run-1/result.json"));
    assert_eq!(task.run(1)["sessionId"], "s-1");
}

#[test]
fn ex_loc_22_a_settlement_is_read_once() {
    let task = running();
    task.due_pass([gone(0), told(true)]).ok();
    let result = task.text("run-1/result.json");
    // A crash between result and ledger: the saved result is taken, and no output is read.
    task.edit(|ledger| {
        let run = &mut ledger["executions"]["run-1"];
        run["collected"] = json!(false);
        run["state"] = json!("retrieving-results");
        run["terminalState"] = Json::Null;
        run["nextAttemptAt"] = Json::Null;
    });
    assert_eq!(names(&task.forced_pass([])), [""; 0]);
    assert_eq!(task.run(1)["state"], "succeeded");
    assert_eq!(task.text("run-1/result.json"), result);
}

#[test]
fn ex_loc_26_the_end_of_a_process_is_exact() {
    let task = running();
    task.due_pass([gone(0), told(true)]).ok();
    let job = task.job(1);
    assert_eq!(
        (&job["endedAt"], &job["completionInferred"], &job["exit"]),
        (&json!(NOW + 1), &json!(false), &json!(0))
    );
}

fn from_before(ended_at: Json) -> TaskRoot {
    let task = TaskRoot::local();
    task.plant("latest-run", "old");
    let job = json!({
        "version": 1, "runId": "old", "startedAt": NOW - 5, "endedAt": ended_at, "sessionId": "s-0",
        "process": {"pid": 4242, "identity": "linux:boot:ns:77", "group": 4242, "startedAt": NOW - 5}
    });
    task.plant("old/job.json", job.to_string());
    task
}

fn stop_from_before(task: &TaskRoot, session: &str, answers: impl IntoIterator<Item = Answer>) -> Ended {
    let input = json!({"reason": "enough", "legacySessionId": session});
    drive(task.boundary().cancel(object(&input), AbortToken::new()), task, answers)
}

#[test]
fn ex_can_37_a_live_run_from_before_the_ledger_is_adopted_before_its_stop() {
    let task = from_before(Json::Null);
    assert_eq!(stop_from_before(&task, "s-0", [seen("alive"), sent()]).ok(), json!({"confirmed": false}));
    let ledger = task.ledger();
    let run = &ledger["executions"]["old"];
    assert_eq!(
        (&run["legacy"], &run["operationId"], &run["costUsd"], &run["providerJobId"], &run["sessionId"]),
        (&json!(true), &Json::Null, &Json::Null, &json!("old"), &json!("s-0"))
    );
    assert_eq!((&ledger["operations"], &ledger["currentRunId"]), (&json!({}), &json!("old")));
    assert_eq!(run["cancellation"]["status"], "acknowledged");
    task.forced_pass([gone(143)]).ok();
    assert_eq!(task.ledger()["executions"]["old"]["state"], "cancelled");
    // A pass that applies a queued stop adopts it too, and settles what had ended by itself.
    let task = from_before(Json::Null);
    task.plant_control();
    let pass = task.first_pass([gone(0), says(json!({"ok": true, "cost": 2, "denials": []}))]);
    assert_eq!(names(&pass), ["observe", "outcome"]);
    let run = task.ledger()["executions"]["old"].clone();
    assert_eq!((&run["state"], &run["costUsd"]), (&json!("succeeded"), &json!(2)));
    assert_eq!(run["cancellation"]["status"], "terminal");
}

#[test]
fn ex_can_38_a_completed_run_from_before_keeps_its_files() {
    let task = from_before(json!(NOW - 1));
    let before = task.text("old/job.json");
    assert_eq!(stop_from_before(&task, "s-0", []).ok(), json!({"confirmed": false}));
    assert_eq!(task.text("old/job.json"), before);
    let ledger = task.ledger();
    assert_eq!((&ledger["executions"], &ledger["stopFence"]["kind"]), (&json!({}), &json!("operator")));
}

#[test]
fn ex_loc_24_what_its_record_does_not_name_exactly_is_not_adopted() {
    let task = from_before(Json::Null);
    assert_eq!(stop_from_before(&task, "s-9", []).ok(), json!({"confirmed": false}));
    assert_eq!(task.ledger()["executions"], json!({}));
    for lacking in ["runId", "process"] {
        let task = from_before(Json::Null);
        let mut job: Json = serde_json::from_str(&task.text("old/job.json")).expect("JSON");
        job.as_object_mut().expect("an object").remove(lacking);
        task.plant("old/job.json", job.to_string());
        stop_from_before(&task, "s-0", []).ok();
        assert_eq!(task.ledger()["executions"], json!({}), "{lacking}");
        assert_eq!(task.ledger()["stopFence"]["kind"], "operator");
    }
}

#[test]
fn ex_loc_18_a_pass_mends_a_stale_pointer() {
    let task = running();
    task.plant("latest-run", "another");
    task.due_pass([seen("alive")]).ok();
    assert_eq!(task.text("latest-run"), "run-1");
}

#[test]
fn ex_jrn_50_a_settlement_waits_for_no_queue() {
    for queue in [
        json!({"version": 1, "runs": ["run-0"]}).to_string(),
        json!({"version": 1, "runs": [7]}).to_string(),
        "no JSON".to_owned(),
    ] {
        let task = running();
        task.plant("run-0/provider.log", "x\n".repeat(1_000));
        task.plant("local-output-queue.json", &queue);
        task.forced_pass([gone(0), told(true)]).ok();
        assert_eq!((&task.run(1)["state"], &task.run(1)["collected"]), (&json!("succeeded"), &json!(true)));
        assert_eq!(task.text("local-output-queue.json"), queue, "it is as it was");
    }
}
