//! EX-CAN-29 to EX-CAN-36, EX-CAN-41 to EX-CAN-43 and EX-CAN-54: stops, timeouts and interruptions of process runs, through a
//! scripted process host.

use gallivant_core::Code;
use gallivant_core::execution::AbortToken;
use serde_json::{Value as Json, json};

use crate::execution_local_runs::{
    gone, names, running, seen, sent, spawned, spec, status, stop, time_out, told,
};
use crate::support::NOW;
use crate::support::pass::{CrashAt, says, serve};
use crate::support::task::{Answer, Ended, TaskRoot, drive, io_error, object};

#[test]
fn ex_can_29_the_sending_alone_confirms_nothing() {
    let task = running();
    let ended = stop(&task, [seen("alive"), sent()]);
    assert_eq!(ended.calls[1].1["signal"], "TERM");
    assert_eq!(ended.calls[1].1["process"]["pid"], 4242);
    assert_eq!(ended.ok(), json!({"confirmed": false}));
    assert_eq!(status(&task), "acknowledged");
    let kill = task.job(1)["killAfter"].clone();
    assert_eq!((&kill["signal"], &kill["at"]), (&json!("KILL"), &json!(NOW + 2 + 10_000)));
}

#[test]
fn a_signal_that_was_lost_is_sent_again_before_the_tree_is_killed() {
    for lost in [Answer::Fails(io_error()), Answer::Dropped, says(json!({"sent": false}))] {
        let task = running();
        stop(&task, [seen("alive"), lost]);
        assert_eq!(status(&task), "pending");
        let kill_at = task.job(1)["killAfter"]["at"].clone();
        let again = task.forced_pass([seen("alive"), sent()]);
        assert_eq!(again.calls[1].1["signal"], "TERM");
        assert_eq!(status(&task), "acknowledged");
        assert_eq!(task.job(1)["killAfter"]["at"], kill_at, "the time of the kill stays");
    }
}

#[test]
fn ex_can_30_a_living_descendant_or_an_unreadable_table_keeps_the_run() {
    let task = running();
    stop(&task, [seen("alive"), sent()]).ok();
    for tree in ["alive", "unreadable"] {
        task.forced_pass([seen(tree)]).ok();
        assert_eq!(task.run(1)["state"], "cancellation-requested", "{tree}");
        assert_eq!(status(&task), "acknowledged");
    }
}

#[test]
fn ex_can_31_output_after_a_stop_is_quarantined() {
    let task = running();
    stop(&task, [seen("alive"), sent()]).ok();
    task.forced_pass([gone(0)]).ok();
    let run = task.run(1);
    assert_eq!((&run["quarantined"], &run["terminalState"]), (&json!(true), &json!("cancelled")));
    assert!(!task.exists("run-1/result.json"));
}

#[test]
fn ex_can_32_a_stop_after_collection_changes_no_outcome() {
    let mut task = running();
    task.due_pass([gone(3), told(false)]).ok();
    let before = task.run(1);
    task.options["capabilities"]["cancel"] = json!(false);
    assert_eq!(stop(&task, []).ok(), json!({"confirmed": false, "terminal": true}));
    let mut after = task.run(1);
    assert_eq!(after["cancellation"]["status"], "terminal");
    assert_eq!(task.ledger()["stopFence"]["scope"], "local");
    (after["cancellation"], after["controls"]) = (Json::Null, json!([]));
    assert_eq!(after, before);
}

#[test]
fn ex_can_33_and_35_a_process_that_had_ended_settles_from_its_snapshot() {
    let task = running();
    let ended = stop(&task, [gone(0), Answer::Fails(io_error())]);
    assert_eq!(ended.ok(), json!({"confirmed": false, "terminal": true}));
    let run = task.run(1);
    assert_eq!((&run["state"], &run["collected"]), (&json!("retrieving-results"), &json!(false)));
    assert_eq!(run["exitSnapshot"], json!({"exit": 0, "signal": null, "endedAt": NOW + 1}));
    assert_eq!(run["cancellation"]["attempts"], 0);
    // The next pass finishes from the snapshot, without looking at the process again.
    assert_eq!(names(&task.due_pass([told(true)])), ["outcome"]);
    let run = task.run(1);
    assert_eq!((&run["state"], &run["quarantined"]), (&json!("succeeded"), &json!(false)));
    assert_eq!((&run["completedAt"], &run["costUsd"]), (&json!(NOW + 1), &json!(1.25)));
}

#[test]
fn ex_can_34_an_uncertain_exit_under_a_stop_is_a_stop() {
    let task = running();
    assert_eq!(stop(&task, [seen("gone")]).ok(), json!({"confirmed": true}));
    assert_eq!(task.run(1)["quarantined"], true);
}

#[test]
fn ex_can_35_a_result_that_cannot_be_saved_is_saved_later() {
    let mut task = running();
    task.faults = crate::support::task::Points::new("persist:run-1/result.json", {
        let mut left = 1;
        move || {
            left -= 1;
            if left == 0 {
                gallivant_core::execution::FaultAnswer::Fail
            } else {
                gallivant_core::execution::FaultAnswer::Go
            }
        }
    });
    stop(&task, [gone(0), told(true)]).ok();
    assert_eq!(task.run(1)["state"], "retrieving-results");
    assert!(!task.exists("run-1/result.json"));
    stop(&task, [told(true)]).ok();
    assert_eq!(task.run(1)["state"], "succeeded");
}

#[test]
fn ex_can_36_a_lost_launch_reply_is_accepted_before_the_stop_is_sent() {
    let task = running();
    task.edit(|ledger| {
        ledger["operations"]["op-1"]["acceptance"] = json!("unknown");
        ledger["operations"]["op-1"]["acknowledgement"] = Json::Null;
        ledger["executions"]["run-1"]["providerJobId"] = Json::Null;
    });
    task.plant_control();
    let pass = task.forced_pass([seen("alive"), sent()]);
    assert_eq!(names(&pass), ["observe", "signal"]);
    assert_eq!(task.operation(1)["acceptance"], "accepted");
    assert_eq!(status(&task), "acknowledged");
}

#[test]
fn ex_can_41_and_42_a_timeout_ends_with_exactly_its_run() {
    let task = running();
    time_out(&task, [seen("alive"), sent()]).ok();
    assert_eq!(task.ledger()["stopFence"]["scope"], "local");
    for tree in ["alive", "unreadable"] {
        task.forced_pass([seen(tree)]).ok();
        assert_eq!(task.ledger()["stopFence"]["kind"], "timeout", "{tree}");
    }
    task.forced_pass([gone(143), told(true)]).ok();
    let run = task.run(1);
    assert_eq!(
        (&run["terminalState"], &run["collected"], &run["quarantined"], &run["cancellation"]["status"]),
        (&json!("failed"), &json!(true), &json!(true), &json!("confirmed"))
    );
    let result: Json = serde_json::from_str(&task.text("run-1/result.json")).expect("JSON");
    assert_eq!((&result["outcome"]["ok"], &result["outcome"]["reason"]), (&json!(false), &json!("timeout")));
    assert_eq!((&result["outcome"]["cost"], &result["outcome"]["denials"]), (&json!(1.25), &json!(["d"])));
    // A fence that names another run is kept.
    let task = running();
    time_out(&task, [seen("alive"), sent()]).ok();
    task.edit(|ledger| ledger["stopFence"]["runId"] = json!("run-0"));
    task.forced_pass([gone(0)]).ok();
    assert_eq!(task.ledger()["stopFence"]["runId"], "run-0");
}

#[test]
fn ex_can_42_a_timed_out_run_stays_failed() {
    let task = running();
    time_out(&task, [seen("alive"), sent()]).ok();
    task.forced_pass([gone(0), told(true)]).ok();
    let before = task.run(1);
    task.forced_pass([]).ok();
    assert_eq!(task.run(1), before);
}

#[test]
fn ex_can_43_after_the_release_the_session_goes_on() {
    let task = running();
    time_out(&task, [seen("alive"), sent()]).ok();
    task.forced_pass([gone(0), told(true)]).ok();
    let ended = task.continue_run(spec(2), [spawned()]);
    assert_eq!(ended.ok()["acceptance"], "accepted");
    assert_eq!(task.run(2)["sessionId"], "s-1");
}

fn interrupt(task: &TaskRoot, answers: impl IntoIterator<Item = Answer>) -> Ended {
    drive(task.boundary().interrupt(object(&json!({})), AbortToken::new()), task, answers)
}

#[test]
fn ex_can_54_an_interruption_keeps_the_session_and_sets_no_fence() {
    let task = running();
    assert_eq!(interrupt(&task, [seen("alive"), sent()]).ok(), json!({"confirmed": false}));
    assert_eq!(task.ledger()["stopFence"], Json::Null);
    assert_eq!((&task.run(1)["quarantined"], &task.run(1)["sessionId"]), (&json!(true), &json!("s-1")));
    assert_eq!(task.refused(|task| task.continue_run(spec(2), [])).0, Code::ExecutionActive);
    task.forced_pass([seen("alive")]).ok();
    assert_eq!(task.refused(|task| task.continue_run(spec(2), [])).0, Code::ExecutionActive);
    task.forced_pass([gone(130)]).ok();
    assert_eq!(task.continue_run(spec(2), [spawned()]).ok()["acceptance"], "accepted");
    assert_eq!(task.run(2)["sessionId"], "s-1");
    // Nothing lives: there is nothing to interrupt; and a provider's turn is not interrupted.
    let task = TaskRoot::local();
    assert_eq!(task.refused(|task| interrupt(task, [])).0, Code::ExecutionCapability);
    let task = TaskRoot::new();
    task.accepted(1);
    assert_eq!(task.refused(|task| interrupt(task, [])), (Code::ExecutionCapability, Some("interrupt")));
}

#[test]
fn ex_bnd_34_an_interruption_is_made_again_after_a_crash_at_any_point() {
    let host = |method: &str| match method {
        "observe" => Ok(json!({"tree": "alive"})),
        "signal" => Ok(json!({"sent": true})),
        other => panic!("nobody is to call {other}"),
    };
    let interrupted = |task: &TaskRoot| {
        let boundary = task.boundary();
        let machine = boundary.interrupt(object(&json!({})), AbortToken::new());
        serve(machine, host)
    };
    let mut nth = 1;
    loop {
        let mut task = running();
        task.faults = CrashAt::new(nth);
        let crashed = interrupted(&task).is_err();
        task.faults = CrashAt::new(0);
        task.machine.advance_ms(400_000);
        let again = interrupted(&task).expect("made again, as the first call of its process");
        assert_eq!(again, json!({"confirmed": false}), "crashed at {nth}");
        let (run, ledger) = (task.run(1), task.ledger());
        assert_eq!((&ledger["stopFence"], &run["quarantined"]), (&Json::Null, &json!(true)), "at {nth}");
        assert_eq!((&run["sessionId"], &run["cancellation"]["reason"].is_string()), (&json!("s-1"), &true));
        task.forced_pass([gone(130)]).ok();
        assert_eq!(task.continue_run(spec(2), [spawned()]).ok()["acceptance"], "accepted", "at {nth}");
        if !crashed {
            break;
        }
        nth += 1;
    }
    assert!(nth > 4, "{nth}");
}
