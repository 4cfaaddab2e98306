//! EX-REC-40 to EX-REC-45 and EX-COST-12: what records of older packages become when a pass meets them. Nothing of it is
//! dispatched, and no file of a run is lost.

use gallivant_core::Code;
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{failure, observation, observation_with, result, result_with, says};
use crate::support::task::{Answer, TaskRoot, dispatch, io_error, with};

/// A run that was collected, with these members of its metadata changed.
fn collected(changes: Json) -> TaskRoot {
    let task = TaskRoot::new();
    task.accepted(1);
    task.collected(1);
    change(&task, changes);
    task
}

fn change(task: &TaskRoot, changes: Json) {
    task.edit(|ledger| {
        let run = ledger["executions"]["run-1"].clone();
        ledger["executions"]["run-1"] = with(run, changes);
    });
}

fn without_result(changes: Json) -> TaskRoot {
    let task = collected(changes);
    std::fs::remove_file(task.path().join("run-1/result.json")).expect("removed");
    task
}

fn outcome(task: &TaskRoot, run_id: &str) -> Json {
    let outcome = task.boundary().outcome(run_id).expect("read");
    serde_json::from_str(&outcome.to_json()).expect("JSON")
}

/// State, terminal state and whether it is collected.
fn standing(task: &TaskRoot) -> Json {
    let run = task.run(1);
    json!(["state", "terminalState", "collected"].map(|key| run[key].clone()))
}

#[test]
fn ex_rec_40_a_collected_run_without_a_result_is_retrieved_again() {
    for end in [json!("succeeded"), Json::Null] {
        let task = without_result(json!({"terminalState": end}));
        assert_eq!(outcome(&task, "run-1"), Json::Null);
        let report = task.pass([says(Json::Null)]).ok();
        assert_eq!(report["called"], json!(["collect"]), "nothing is dispatched, nothing observed");
        assert_eq!(standing(&task), json!(["retrieving-results", "succeeded", false]));
        task.due_pass([says(result(1))]).ok();
        assert_eq!(standing(&task), json!(["succeeded", "succeeded", true]));
    }
    // A rejected one has none, and is settled.
    let task = without_result(json!({"resultRejected": true, "collected": false}));
    assert_eq!(task.due_pass([]).ok()["called"], json!([]));
    assert_eq!(standing(&task), json!(["succeeded", "succeeded", false]));
}

#[test]
fn ex_rec_41_a_state_that_contradicts_the_recorded_end_is_retrieved_again() {
    for state in ["failed", "running", "retrieving-results"] {
        let task = collected(json!({"state": state}));
        let cache = task.text("run-1/result.json");
        // The cache agrees with the recorded end, so it is adopted again.
        assert_eq!(task.pass([]).ok()["called"], json!([]));
        assert_eq!(standing(&task), json!(["succeeded", "succeeded", true]));
        assert_eq!(task.text("run-1/result.json"), cache);
    }
    // Where it does not, it stays for inspection.
    let task = collected(json!({"terminalState": "failed"}));
    let cache = task.text("run-1/result.json");
    assert_eq!(task.pass([Answer::Fails(io_error())]).ok()["called"], json!(["collect"]));
    assert_eq!(standing(&task), json!(["retrieving-results", "failed", false]));
    assert_eq!(task.text("run-1/result.json"), cache);
    assert_eq!(outcome(&task, "run-1"), Json::Null);
    assert_eq!(task.submit(dispatch(2), []).refusal().0, Code::ExecutionActive);
    task.due_pass([says(failure(1))]).ok();
    assert_eq!(standing(&task), json!(["failed", "failed", true]));
    assert_eq!(task.text("run-1/result.superseded.json"), cache);
}

#[test]
fn ex_rec_42_an_end_without_both_identities_is_dropped_and_only_a_lookup_brings_one_back() {
    for missing in ["providerJobId", "turnId"] {
        for claim in [
            json!({"state": "succeeded", "terminalState": "succeeded"}),
            json!({"state": "failed", "terminalState": null}),
            json!({"state": "retrieving-results", "terminalState": "failed"}),
            json!({"state": "cancelled", "terminalState": "cancelled"}),
        ] {
            let task = collected(with(claim, json!({"terminalObservedAt": NOW, "completedAt": NOW})));
            change(&task, json!({missing: null}));
            let cache = task.text("run-1/result.json");
            let report = task.pass([says(Json::Null)]).ok();
            assert_eq!(report["called"], json!(["lookup"]));
            assert_eq!(standing(&task), json!(["status-unknown", null, false]));
            let run = task.run(1);
            assert_eq!((&run["terminalObservedAt"], &run["completedAt"]), (&Json::Null, &Json::Null));
            assert_eq!(task.text("run-1/result.json"), cache);
            // The cached result is adopted once the look-up has found the end that it belongs to.
            let seen = says(observation(1, "succeeded"));
            assert_eq!(task.due_pass([seen]).ok()["called"], json!(["lookup"]));
            assert_eq!(standing(&task), json!(["succeeded", "succeeded", true]));
        }
    }
}

#[test]
fn ex_rec_43_a_collected_record_takes_its_end_from_its_state_and_stays_collected_by_a_valid_result() {
    let task = collected(json!({"terminalState": null}));
    assert_eq!(task.forced_pass([]).ok()["called"], json!([]));
    // Nothing was to be saved, so the repair is in memory alone, and again with the next pass.
    let report = task.forced_pass([]).ok();
    assert_eq!((&report["terminalState"], &report["state"]), (&json!("succeeded"), &json!("succeeded")));
    for invalid in [failure(1), result_with(1, json!({"turnId": "t-2"})), json!({"providerJobId": "j-1"})] {
        let task = collected(json!({"terminalState": null}));
        let cache = with(invalid, json!({"version": 1, "runId": "run-1"})).to_string();
        task.plant("run-1/result.json", &cache);
        assert_eq!(task.pass([says(Json::Null)]).ok()["called"], json!(["collect"]));
        assert_eq!(standing(&task), json!(["retrieving-results", "succeeded", false]));
        assert_eq!(task.text("run-1/result.json"), cache);
    }
}

#[test]
fn ex_rec_44_the_cost_of_the_metadata_is_raised_to_that_of_the_operation() {
    for lower in [Json::Null, json!(0), json!(0.5)] {
        let task = TaskRoot::new();
        task.accepted(1);
        task.due_pass([says(observation_with(1, "running", json!({"costUsd": 2})))]).ok();
        change(&task, json!({"costUsd": lower}));
        task.due_pass([Answer::Fails(io_error())]).ok();
        assert_eq!((&task.run(1)["costUsd"], &task.operation(1)["costUsd"]), (&json!(2), &json!(2)));
    }
}

#[test]
fn ex_rec_45_an_entry_from_before_the_ledger_stays_readable_and_as_it_is() {
    let task = TaskRoot::local();
    let job = json!({"taskId": "t-1", "runId": "old-1", "provider": "prov", "sessionId": "s-0", "endedAt": NOW, "pr": 7});
    task.plant("old-1/job.json", job.to_string());
    task.plant("latest-run", "old-1");
    let before = task.tree();
    assert_eq!(task.first_pass([]).ok()["called"], json!([]));
    assert!(before == task.tree());
    assert_eq!(task.inspect()["runId"], Json::Null);
}

#[test]
fn ex_cost_12_an_outcome_shows_the_greatest_cost_that_is_known_of_its_own_run() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.due_pass([says(observation_with(1, "running", json!({"costUsd": 2})))]).ok();
    task.collected(1);
    assert_eq!(outcome(&task, "run-1")["cost"], 2, "more than the result tells");
    task.submit(dispatch(2), crate::support::task::accepts(2)).ok();
    let seen = observation_with(2, "running", json!({"costUsd": 5, "observedAt": NOW + 800_000}));
    task.due_pass([says(seen)]).ok();
    assert_eq!(outcome(&task, "run-1")["cost"], 2, "while another run is current, in a new boundary");
    // The result's own where it is greater, and null where nobody knows.
    let told = |cost: Json| {
        let task = TaskRoot::new();
        task.accepted(1);
        let mut result = result(1);
        result["outcome"]["cost"] = cost;
        task.due_pass([says(observation(1, "succeeded")), says(result)]).ok();
        outcome(&task, "run-1")["cost"].clone()
    };
    assert_eq!((told(json!(3)), told(Json::Null), told(json!(0))), (json!(3), Json::Null, json!(0)));
}
