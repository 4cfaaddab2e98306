//! EX-OBS-06 to EX-OBS-16: the times of an observation, and when a run has ended.

use gallivant_core::Code;
use gallivant_core::execution::PROVIDER_STATES;
use serde_json::{Value as Json, json};

use crate::execution_observation::{accepted, owned, rejected, running};
use crate::support::NOW;
use crate::support::pass::{observation_with, result_with, says};
use crate::support::task::{Answer, TaskRoot};

#[test]
fn ex_obs_06_a_time_is_a_whole_number_of_milliseconds() {
    let task = owned();
    for bad in ["2000000000000.5", "\"2000000000000\"", "null", "true", "1e400", "[2000000000000]"] {
        let text = running(json!({"observedAt": 7})).to_string().replace(":7,", &format!(":{bad},"));
        assert!(text.contains(bad));
        rejected(&task, Answer::Text(text), "time");
    }
    // The same number in another spelling is the same number.
    let text = running(json!({"observedAt": 7})).to_string().replace(":7,", ":2000000000000.0,");
    task.due_pass([Answer::Text(text)]).ok();
    assert_eq!(task.run(1)["observedAt"], NOW);
}

#[test]
fn ex_obs_07_an_observation_is_no_older_than_the_run_and_the_last_one() {
    let task = owned();
    for old in [json!(NOW - 1), json!(0), json!(-1), json!(-1e300)] {
        rejected(&task, says(running(json!({"observedAt": old}))), "stale");
    }
    assert_eq!(accepted(&task, running(json!({"observedAt": NOW})))["observedAt"], NOW, "equal to the start");
    assert_eq!(accepted(&task, running(json!({"observedAt": NOW + 9})))["observedAt"], NOW + 9);
    rejected(&task, says(running(json!({"observedAt": NOW + 8}))), "stale");
    assert_eq!(
        accepted(&task, observation_with(1, "queued", json!({"observedAt": NOW + 9})))["state"],
        "queued"
    );
}

#[test]
fn ex_obs_08_an_observation_from_the_future_is_rejected_without_tolerance() {
    let task = owned();
    let now = NOW + 400_000;
    rejected(&task, says(running(json!({"observedAt": now + 1}))), "future");
    for far in [json!(u64::MAX), json!(1e300)] {
        rejected(&task, says(running(json!({"observedAt": far}))), "future");
    }
    let now = now + 3 * 400_000;
    assert_eq!(accepted(&task, running(json!({"observedAt": now})))["observedAt"], now, "equal is accepted");
}

#[test]
fn ex_obs_09_the_times_of_a_lookup_reply_are_judged_too_and_establish_nothing() {
    for (time, reason) in [(json!("x"), "time"), (json!(NOW - 1), "stale"), (json!(NOW + 400_001), "future")]
    {
        let task = TaskRoot::new();
        task.lost(1);
        rejected(&task, says(running(json!({"observedAt": time}))), reason);
        assert_eq!(task.operation(1)["acceptance"], "unknown");
        assert_eq!(task.run(1)["providerJobId"], Json::Null);
    }
}

#[test]
fn ex_obs_10_the_remedy_of_a_future_time_corrects_the_transport_and_dispatches_nothing() {
    let task = owned();
    let report = rejected(&task, says(running(json!({"observedAt": NOW + 400_001}))), "future");
    let remedy = report["error"]["remedy"].as_str().expect("a remedy");
    for part in ["clock", "units of the transport", "reconcile the same job and key", "no new dispatch"] {
        assert!(remedy.contains(part), "{remedy}");
    }
    assert_eq!(report["recovery"], "correct-clock");
}

#[test]
fn ex_obs_11_a_saved_time_that_lies_in_the_future_is_thrown_before_anything() {
    for key in ["observedAt", "terminalObservedAt", "completedAt"] {
        let task = owned();
        task.edit(|ledger| ledger["executions"]["run-1"][key] = json!(NOW + 1));
        let thrown = (Code::ExecutionProtocol, Some("checkpoint-future"));
        assert_eq!(task.refused(|task| task.first_pass([])), thrown, "{key}");
        assert_eq!(task.refused(|task| task.pass([])), thrown, "{key}");
        let remedy = task.forced_pass([]).error().remedy().to_owned();
        for part in
            ["restore the last authoritative observation evidence", "ownership", "intents", "allowance"]
        {
            assert!(remedy.contains(part), "{remedy}");
        }
        // The clock catches up.
        task.machine.set_wall_ms(NOW + 1);
        if key == "observedAt" {
            let seen = running(json!({"observedAt": NOW + 1}));
            assert_eq!(task.forced_pass([says(seen)]).ok()["error"], Json::Null);
        }
    }
}

#[test]
fn ex_obs_12_only_an_end_has_a_completion_time() {
    let task = owned();
    for state in PROVIDER_STATES.iter().filter(|state| state.terminal().is_none()) {
        let seen = observation_with(1, state.word(), json!({"completedAt": NOW}));
        rejected(&task, says(seen), "completion");
    }
    for state in ["succeeded", "failed", "cancelled"] {
        let task = owned();
        let answers = [says(observation_with(1, state, json!({"completedAt": NOW}))), says(Json::Null)];
        task.due_pass(answers.into_iter().take(if state == "cancelled" { 1 } else { 2 })).ok();
        assert_eq!(task.run(1)["completedAt"], NOW, "{state}");
    }
}

#[test]
fn ex_obs_13_a_completion_lies_between_the_start_and_the_observation() {
    let task = owned();
    let at = |completed: Json| {
        observation_with(1, "cancelled", json!({"observedAt": NOW + 9, "completedAt": completed}))
    };
    for bad in [json!(NOW - 1), json!(NOW + 10), json!(-1), json!("x"), json!(NOW as f64 + 0.5), json!(false)]
    {
        rejected(&task, says(at(bad)), "completion");
    }
    for (good, n) in [(NOW, 0), (NOW + 9, 1)] {
        let task = owned();
        assert_eq!(accepted(&task, at(json!(good)))["completedAt"], good, "{n}");
    }
}

#[test]
fn ex_obs_14_the_time_of_collection_is_never_an_exact_completion() {
    let task = owned();
    task.collected(1);
    let run = task.run(1);
    assert_eq!((&run["completedAt"], &run["completionInferred"]), (&Json::Null, &json!(true)));
    assert_eq!(run["collectedAt"], NOW + 400_000);
    assert_eq!(task.job(1)["endedAt"], NOW, "the bound that was observed");
}

#[test]
fn ex_obs_15_a_missing_completion_makes_the_first_terminal_observation_a_bound() {
    for completed in [Some(Json::Null), None] {
        let task = owned();
        let mut seen = observation_with(1, "cancelled", json!({"observedAt": NOW + 3}));
        if let Some(completed) = completed {
            seen["completedAt"] = completed;
        }
        let run = accepted(&task, seen);
        assert_eq!(run["completedAt"], Json::Null);
        assert_eq!(run["terminalObservedAt"], NOW + 3);
        assert_eq!(run["completionInferred"], true);
    }
    let task = owned();
    let run = accepted(&task, observation_with(1, "cancelled", json!({"completedAt": NOW})));
    assert_eq!(run["completionInferred"], false);
}

#[test]
fn ex_obs_16_the_time_of_the_first_terminal_observation_stays() {
    let task = owned();
    task.ended(1, "succeeded");
    let first = task.run(1)["terminalObservedAt"].clone();
    assert_eq!(first, NOW);
    task.due_pass([says(Json::Null)]).ok();
    task.due_pass([says(result_with(1, json!({"completedAt": NOW})))]).ok();
    let run = task.run(1);
    assert_eq!((&run["terminalObservedAt"], &run["collected"]), (&first, &json!(true)));
}
