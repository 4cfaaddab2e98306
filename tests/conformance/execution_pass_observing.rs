//! EX-REC-08 to EX-REC-19: look-up and inspection in a pass, the stop between them, and what an observation changes.

use serde_json::{Value as Json, json};

use crate::execution_reconciliation::{failing, io, lost, owned, points, position, running};
use crate::support::NOW;
use crate::support::pass::{error_of, event, failure, observation, observation_with, result, says};
use crate::support::task::{Answer, TaskRoot};

#[test]
fn ex_rec_08_a_lookup_comes_for_an_unknown_acceptance_and_for_a_missing_identity() {
    assert_eq!(lost().due_pass([says(observation(1, "running"))]).ok()["called"], json!(["lookup"]));
    for missing in ["providerJobId", "turnId"] {
        let task = owned();
        task.edit(|ledger| ledger["executions"]["run-1"][missing] = Json::Null);
        let report = task.due_pass([says(observation(1, "running"))]).ok();
        assert_eq!(report["called"], json!(["lookup"]), "no inspection follows");
        assert_eq!(task.due_pass([says(observation(1, "running"))]).ok()["called"], json!(["inspect"]));
    }
}

#[test]
fn ex_rec_09_ownership_is_saved_alone_and_the_page_is_asked_for_again_after_a_crash() {
    let mut task = lost();
    task.faults = failing("pass.owned", 1) as _;
    let page = running(json!({"events": [event("e-1")], "cursor": "c-1", "costUsd": 3}));
    let report = task.due_pass([says(page.clone())]).ok();
    assert_eq!(error_of(&report).0, "EXECUTION_IO");
    let (operation, run) = (task.operation(1), task.run(1));
    assert_eq!(operation["acceptance"], "accepted");
    assert_eq!(operation["acceptedAt"], NOW + 400_000);
    let expected = json!({"providerJobId": "j-1", "sessionId": "s-1", "turnId": "t-1", "cursor": null});
    assert_eq!(operation["acknowledgement"], expected);
    for key in ["cursor", "observedAt", "costUsd"] {
        assert_eq!(run[key], Json::Null, "{key}");
    }
    assert_eq!((&run["state"], &run["turnId"]), (&json!("status-unknown"), &json!("t-1")));
    assert!(!task.exists("run-1/events.jsonl"));
    // No event is lost: the page comes again from the beginning.
    let ended = task.due_pass([says(page)]);
    assert_eq!(ended.input("inspect")["cursor"], Json::Null);
    assert_eq!(task.text("run-1/events.jsonl").lines().count(), 1);
    assert_eq!(task.run(1)["cursor"], "c-1");
}

#[test]
fn ex_rec_10_what_a_lookup_does_not_find_stays_unknown() {
    let task = lost();
    let report = task.due_pass([says(Json::Null)]).ok();
    assert_eq!(error_of(&report), ("EXECUTION_ACCEPTANCE_UNKNOWN", Some("unresolved")));
    let error = &task.run(1)["lastError"];
    assert_eq!((&error["code"], &error["reason"]), (&report["error"]["code"], &report["error"]["reason"]));
    assert_eq!(task.run(1)["failures"], 2, "one by the dispatch");
    let report = task.due_pass([io()]).ok();
    assert_eq!(error_of(&report), ("EXECUTION_IO", Some("io")));
    assert_eq!((&task.run(1)["failures"], &task.operation(1)["acceptance"]), (&json!(3), &json!("unknown")));
    // Without the method nobody is asked, and nothing counts.
    let mut task = TaskRoot::new();
    task.options["transport"]["methods"] =
        json!(["prepare", "submit", "inspect", "continue", "collect", "cancel"]);
    task.lost(1);
    let report = task.due_pass([]).ok();
    assert_eq!((&report["called"], &report["error"]), (&json!([]), &Json::Null));
    assert_eq!(report["recovery"], "inspect-key");
    assert_eq!((&task.run(1)["failures"], &task.operation(1)["acceptance"]), (&json!(1), &json!("unknown")));
}

#[test]
fn ex_rec_11_no_inspection_follows_an_answered_stop_and_one_follows_a_lost_one() {
    for (confirmed, state) in [(true, "cancelled"), (false, "cancellation-requested")] {
        let task = owned();
        task.stop_run([io()]).ok();
        let report = task.due_pass([says(json!({"confirmed": confirmed}))]).ok();
        assert_eq!(report["called"], json!(["cancel"]));
        assert_eq!(report["state"], state);
    }
    for lost in [io(), Answer::Deadline, says(json!({"confirmed": "yes"})), says(json!({}))] {
        let task = owned();
        task.stop_run([io()]).ok();
        let report = task.due_pass([lost, says(observation(1, "running"))]).ok();
        assert_eq!(report["called"], json!(["cancel", "inspect"]));
        // What was lost is told, and stays told while the stop has to be sent again (EX-ERR-05).
        let error = &task.run(1)["lastError"];
        assert_eq!(
            (&error["code"], &error["reason"]),
            (&report["error"]["code"], &report["error"]["reason"])
        );
        assert_eq!(task.run(1)["failures"], 0);
        assert_eq!(task.run(1)["cancellation"]["failures"], 2);
    }
}

#[test]
fn ex_rec_12_an_inspection_needs_an_owned_run_that_has_not_ended() {
    let task = owned();
    assert_eq!(task.due_pass([says(observation(1, "running"))]).ok()["called"], json!(["inspect"]));
    task.ended(1, "failed");
    assert_eq!(task.due_pass([io()]).ok()["called"], json!(["collect"]));
    task.due_pass([says(failure(1))]).ok();
    assert_eq!(task.forced_pass([]).ok()["called"], json!([]));
}

#[test]
fn ex_rec_13_events_are_acknowledged_before_the_ledger_takes_the_cursor() {
    let page = running(json!({"events": [event("e-1"), event("e-2")], "cursor": "c-2", "costUsd": 1}));
    let mut task = owned();
    let seen = points(&mut task, [says(page.clone())]);
    let order =
        ["pass.observed", "journal.checkpoint", "pass.events", "persist:execution.json", "pass.state"];
    let places: Vec<_> = order.iter().map(|point| position(&seen, point)).collect();
    assert!(places.is_sorted(), "{seen:?}");
    let persists = seen.iter().filter(|point| *point == "persist:execution.json").count();
    assert_eq!(persists, 1, "state, times, cost, session and cursor in one");
    // A failure between the two repeats the page, and each event stands there once.
    let mut task = owned();
    task.faults = failing("pass.events", 1) as _;
    assert_eq!(error_of(&task.due_pass([says(page.clone())]).ok()).0, "EXECUTION_IO");
    assert_eq!((task.text("run-1/events.jsonl").lines().count(), &task.run(1)["cursor"]), (2, &Json::Null));
    assert_eq!(task.due_pass([says(page)]).input("inspect")["cursor"], Json::Null);
    assert_eq!((task.text("run-1/events.jsonl").lines().count(), &task.run(1)["cursor"]), (2, &json!("c-2")));
}

#[test]
fn ex_rec_14_any_state_may_follow_any_other_and_the_next_pass_comes_at_its_cadence() {
    let mut task = TaskRoot::new();
    task.options["limits"] = json!({"progressMs": 7_000});
    task.accepted(1);
    let states =
        ["running", "queued", "waiting-for-input", "provisioning", "status-unknown", "queued", "running"];
    for state in states {
        assert_eq!(task.due_pass([io()]).ok()["error"]["reason"], "io");
        let report = task.due_pass([says(observation(1, state))]).ok();
        let run = task.run(1);
        assert_eq!((&run["state"], &run["failures"]), (&json!(state), &json!(0)));
        let at = run["reconciledAt"].as_u64().expect("a time") + 7_000;
        assert_eq!((&run["nextAttemptAt"], &report["nextAttemptAt"]), (&json!(at), &json!(at)));
    }
}

#[test]
fn ex_rec_15_while_a_stop_is_open_the_state_says_so() {
    for answer in [io(), says(json!({"confirmed": false}))] {
        let task = owned();
        task.stop_run([answer]).ok();
        task.edit(|ledger| ledger["executions"]["run-1"]["cancellation"]["nextAttemptAt"] = json!(NOW * 2));
        for state in ["running", "queued", "waiting-for-input", "retrieving-results", "status-unknown"] {
            assert_eq!(task.due_pass([says(observation(1, state))]).ok()["state"], "cancellation-requested");
        }
    }
}

#[test]
fn ex_rec_16_a_reported_retrieval_is_no_end() {
    let task = owned();
    let report = task.due_pass([says(observation(1, "retrieving-results"))]).ok();
    assert_eq!(report["called"], json!(["inspect"]));
    assert_eq!((&report["state"], &report["terminalState"]), (&json!("retrieving-results"), &Json::Null));
    assert_eq!(task.collect_only("run-1", []).calls.len(), 0);
    assert_eq!(task.due_pass([says(observation(1, "running"))]).ok()["called"], json!(["inspect"]));
}

#[test]
fn ex_rec_17_a_seen_end_is_recorded_and_its_result_is_retrieved() {
    for end in ["succeeded", "failed"] {
        let task = owned();
        let seen = observation_with(1, end, json!({"observedAt": NOW + 9, "completedAt": NOW + 4}));
        task.due_pass([says(seen), says(Json::Null)]).ok();
        let run = task.run(1);
        let expected = json!([end, NOW + 9, NOW + 4, false, "retrieving-results", false]);
        let keys = [
            "terminalState",
            "terminalObservedAt",
            "completedAt",
            "completionInferred",
            "state",
            "quarantined",
        ];
        assert_eq!(json!(keys.map(|key| run[key].clone())), expected);
    }
}

#[test]
fn ex_rec_18_a_cancelled_run_is_settled_quarantined_and_not_collected() {
    let task = owned();
    let report = task.due_pass([says(observation(1, "cancelled"))]).ok();
    assert_eq!(report["called"], json!(["inspect"]));
    let run = task.run(1);
    let keys = ["terminalState", "state", "quarantined", "collected", "nextAttemptAt"];
    assert_eq!(json!(keys.map(|key| run[key].clone())), json!(["cancelled", "cancelled", true, false, null]));
    assert_eq!(task.inspect()["live"], false);
    assert_eq!(task.job(1)["endedAt"], NOW);
}

#[test]
fn ex_rec_19_a_recorded_end_never_changes() {
    let task = owned();
    task.ended(1, "succeeded");
    let end = task.run(1)["terminalState"].clone();
    // Nobody is asked for another one, by whatever pass.
    for ended in
        [task.due_pass([says(Json::Null)]), task.forced_pass([says(failure(1))]), task.first_pass([io()])]
    {
        let calls: Vec<_> = ended.calls.iter().map(|(method, _)| *method).collect();
        assert_eq!(calls, ["collect"]);
    }
    assert_eq!((&task.run(1)["terminalState"], &task.run(1)["state"]), (&end, &json!("retrieving-results")));
    task.due_pass([says(result(1))]).ok();
    assert_eq!((&task.run(1)["terminalState"], &task.run(1)["state"]), (&end, &end));
}
