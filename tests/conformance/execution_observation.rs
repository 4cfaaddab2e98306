//! EX-OBS-01 to EX-OBS-05, EX-OBS-17 to EX-OBS-23, EX-CUR and EX-TRA: observations, judged as a whole by a pass and adopted as a
//! whole.

use gallivant_core::Code;
use gallivant_core::execution::PROVIDER_STATES;
use gallivant_core::execution::cursor::EXECUTION_CURSOR_BYTES;
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{error_of, event, observation, observation_with, says};
use crate::support::task::{Answer, TaskRoot, acknowledgement, dispatch, with};

pub(crate) fn owned() -> TaskRoot {
    let task = TaskRoot::new();
    task.accepted(1);
    task
}

/// A running observation with these members changed.
pub(crate) fn running(changes: Json) -> Json {
    observation_with(1, "running", changes)
}

/// A due pass that is told this adopts nothing of it, and gives this reason.
#[track_caller]
pub(crate) fn rejected(task: &TaskRoot, answer: Answer, reason: &str) -> Json {
    let (before, run) = (task.tree_but_retry_data(), task.run(1));
    let report = task.due_pass([answer]).ok();
    assert_eq!(error_of(&report), ("EXECUTION_PROTOCOL", Some(reason)));
    assert!(before == task.tree_but_retry_data(), "nothing but retry data changes: {reason}");
    let after = task.run(1);
    assert_eq!(after["failures"].as_u64(), run["failures"].as_u64().map(|failures| failures + 1));
    assert_eq!(after["lastError"]["reason"], reason);
    report
}

#[track_caller]
pub(crate) fn accepted(task: &TaskRoot, observation: Json) -> Json {
    let report = task.due_pass([says(observation)]).ok();
    assert_eq!(report["error"], Json::Null);
    task.run(1)
}

fn rows(task: &TaskRoot) -> Vec<Json> {
    let text = task.text("run-1/events.jsonl");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn ids(task: &TaskRoot) -> Vec<String> {
    rows(task).iter().map(|row| row["eventId"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn ex_obs_01_four_members_are_required_and_the_others_may_be_missing() {
    let task = owned();
    let least = json!({"providerJobId": "j-1", "turnId": "t-1", "state": "running", "observedAt": NOW});
    assert_eq!(accepted(&task, least.clone())["state"], "running");
    for (missing, reason) in
        [("providerJobId", "identity"), ("turnId", "identity"), ("state", "state"), ("observedAt", "time")]
    {
        let mut lacking = least.clone();
        lacking.as_object_mut().expect("an object").remove(missing);
        rejected(&task, says(lacking), reason);
    }
    rejected(&task, says(Json::Null), "shape");
    rejected(&task, says(json!([least])), "shape");
}

#[test]
fn ex_obs_02_only_the_words_of_the_list_are_states() {
    let task = owned();
    for state in ["Running", "running ", "done", ""] {
        rejected(&task, says(observation(1, state)), "state");
    }
    for state in [json!(7), Json::Null, json!(["running"])] {
        rejected(&task, says(running(json!({"state": state}))), "state");
    }
    for state in PROVIDER_STATES {
        let task = owned();
        let report = task.due_pass(
            [says(observation(1, state.word())), says(Json::Null)]
                .into_iter()
                .take(if matches!(state.word(), "succeeded" | "failed") { 2 } else { 1 }),
        );
        assert_eq!(report.ok()["called"][0], "inspect");
        assert_eq!(task.run(1)["observedAt"], NOW);
    }
}

#[test]
fn ex_obs_03_the_first_rule_that_is_broken_gives_the_reason() {
    let task = owned();
    accepted(&task, running(json!({"observedAt": NOW + 5})));
    let bad_event = json!({"eventId": ""});
    // Each with everything behind it broken too.
    let faults = [
        ("shape", json!({"gap": 7})),
        ("cursor", json!({"cursor": {}})),
        ("identity", json!({"turnId": 7})),
        ("foreign", json!({"providerJobId": "j-2"})),
        ("session", json!({"sessionId": "s-2"})),
        ("state", json!({"state": "done"})),
        ("time", json!({"observedAt": "now"})),
        ("stale", json!({"observedAt": NOW})),
        ("future", json!({"observedAt": NOW + 1_000_000_000})),
        ("completion", json!({"completedAt": NOW})),
        ("page", json!({"events": vec![bad_event.clone(); 101]})),
        ("event", json!({"events": [bad_event]})),
    ];
    for first in 0..faults.len() {
        let mut broken = running(json!({"observedAt": NOW + 5}));
        for (_, changes) in faults[first..].iter().rev() {
            broken = with(broken, changes.clone());
        }
        rejected(&task, says(broken), faults[first].0);
    }
}

#[test]
fn ex_obs_04_nothing_of_a_rejected_reply_is_adopted() {
    let task = TaskRoot::new();
    let mut anonymous = acknowledgement(1);
    anonymous["sessionId"] = Json::Null;
    task.submit(dispatch(1), [says(anonymous)]).ok();
    let everything = running(json!({
        "state": "succeeded", "completedAt": NOW - 1, "cursor": "c-9", "costUsd": 3,
        "events": [event("e-1")], "gap": true
    }));
    rejected(&task, says(everything), "completion");
    assert!(!task.exists("run-1/events.jsonl"));
    let run = task.run(1);
    for key in ["sessionId", "cursor", "observedAt", "terminalState", "costUsd", "completedAt"] {
        assert_eq!(run[key], Json::Null, "{key}");
    }
    assert_eq!(run["state"], "queued");
    // The next inspection asks as if there had been none.
    let ended = task.due_pass([says(observation(1, "running"))]);
    assert_eq!(ended.input("inspect")["cursor"], Json::Null);
    assert_eq!(ended.input("inspect")["sessionId"], Json::Null);
}

#[test]
fn ex_obs_05_a_rejected_reply_counts_as_a_failure_and_backs_off() {
    let task = owned();
    let mut last = 0;
    for failures in 1..=3_u64 {
        rejected(&task, says(observation(1, "done")), "state");
        let run = task.run(1);
        assert_eq!(run["failures"], failures);
        let now = run["reconciledAt"].as_u64().expect("a time");
        let delay = run["nextAttemptAt"].as_u64().expect("a time") - now;
        let full = 10_000 << (failures - 1);
        assert!((full / 2..=full).contains(&delay), "failures={failures} delay={delay}");
        assert!(now > last);
        last = now;
    }
    let run = accepted(&task, observation(1, "running"));
    assert_eq!((&run["failures"], &run["lastError"]), (&json!(0), &Json::Null));
}

#[test]
fn ex_obs_17_a_page_that_is_too_large_rejects_the_whole_reply() {
    let task = owned();
    let many = |count: usize| (0..count).map(|n| event(&format!("e-{n}"))).collect::<Vec<_>>();
    rejected(&task, says(running(json!({"events": many(101), "cursor": "c-1"}))), "page");
    accepted(&task, running(json!({"events": many(100)})));
    assert_eq!(rows(&task).len(), 100);
    // One byte more than the limit, and exactly the limit; white space does not count.
    let sized = |bytes: usize| {
        let mut event = event("long");
        let empty = json!([with(event.clone(), json!({"data": ""}))]).to_string().len();
        event["data"] = json!("x".repeat(bytes - empty));
        assert_eq!(json!([event]).to_string().len(), bytes);
        running(json!({"events": [event]}))
    };
    rejected(&task, says(sized(65_537)), "page");
    let spaced = serde_json::to_string_pretty(&sized(65_536)).expect("JSON");
    task.due_pass([Answer::Text(spaced)]).ok();
    assert_eq!(task.run(1)["failures"], 0);
    assert_eq!(rows(&task).len(), 101);
    // The limits are the boundary's.
    let mut task = TaskRoot::new();
    task.options["limits"] = json!({"eventPageRecords": 1});
    task.accepted(1);
    rejected(&task, says(running(json!({"events": many(2)}))), "page");
}

#[test]
fn ex_obs_18_one_bad_event_rejects_the_reply() {
    let task = owned();
    let bad = [
        json!({"eventId": ""}),
        json!({"eventId": 7}),
        json!({"eventId": "\u{1f600}".repeat(256) + "a"}),
        json!({"type": ""}),
        json!({"type": Json::Null}),
        json!({"type": "ä".repeat(32) + "a"}),
        json!({"sequence": -1}),
        json!({"sequence": 1.5}),
        json!({"sequence": "1"}),
        json!({"timestamp": "now"}),
        json!({"timestamp": true}),
    ];
    for changes in bad {
        let page = json!({"events": [event("good"), with(event("bad"), changes)]});
        rejected(&task, says(running(page)), "event");
    }
    for page in [json!(["e-1"]), json!([Json::Null])] {
        rejected(&task, says(running(json!({"events": page}))), "event");
    }
    let text = running(json!({"events": [with(event("e"), json!({"timestamp": 7}))]})).to_string();
    rejected(&task, Answer::Text(text.replace("\"timestamp\":7", "\"timestamp\":1e400")), "event");
    assert!(!task.exists("run-1/events.jsonl"));
    let longest = with(
        event(&"\u{1f600}".repeat(256)),
        json!({"type": "ä".repeat(32), "sequence": 0, "timestamp": -1.5, "data": {"any": [1, null]}}),
    );
    accepted(&task, running(json!({"events": [longest]})));
    assert_eq!(rows(&task)[0]["data"], json!({"any": [1, null]}));
}

#[test]
fn ex_obs_19_the_time_of_an_event_is_not_compared_with_the_clock() {
    let task = owned();
    let at = |id: &str, time: Json| with(event(id), json!({"timestamp": time}));
    let page = json!([at("old", json!(1)), at("late", json!(NOW * 2)), at("before", json!(-7))]);
    accepted(&task, running(json!({"events": page})));
    assert_eq!(ids(&task), ["old", "late", "before"]);
}

#[test]
fn ex_obs_20_missing_events_are_an_empty_page_and_complete_nothing() {
    let task = owned();
    for events in [None, Some(Json::Null), Some(json!([]))] {
        let mut seen = observation(1, "running");
        if let Some(events) = events {
            seen["events"] = events;
        }
        let run = accepted(&task, seen);
        assert_eq!((&run["state"], &run["terminalState"]), (&json!("running"), &Json::Null));
    }
}

#[test]
fn ex_obs_21_a_gap_is_true_or_an_object_with_a_reason() {
    let task = owned();
    for none in [json!(false), Json::Null] {
        accepted(&task, running(json!({"gap": none})));
    }
    assert!(!task.exists("run-1/events.jsonl"));
    for bad in [json!("yes"), json!(1), json!({}), json!({"reason": 7}), json!([])] {
        rejected(&task, says(running(json!({"gap": bad}))), "shape");
    }
    accepted(&task, running(json!({"gap": true, "cursor": "c-1"})));
    accepted(&task, running(json!({"gap": {"reason": "pruned"}, "cursor": "c-2"})));
    assert_eq!(ids(&task), ["gap-c-1", "gap-c-2"]);
}

#[test]
fn ex_obs_22_an_invalid_cost_rejects_nothing_and_changes_nothing() {
    let task = owned();
    accepted(&task, running(json!({"costUsd": 0.75})));
    for bad in
        [json!(-1), json!("9"), json!(true), json!({}), Json::Null, json!(9_000_000_001_u64), json!(0.5)]
    {
        let run = accepted(&task, running(json!({"costUsd": bad})));
        assert_eq!(run["costUsd"], 0.75);
    }
}

#[test]
fn ex_obs_23_the_example_is_a_valid_observation() {
    let task = TaskRoot::new();
    let answer = json!({"providerJobId": "j-9", "sessionId": "s-9", "turnId": "t-9"});
    task.submit(dispatch(1), [says(answer)]).ok();
    let example = r#"{"providerJobId":"j-9","sessionId":"s-9","turnId":"t-9","state":"running",
        "observedAt":1780000000000,"cursor":"c-41","gap":false,"costUsd":null,
        "events":[{"eventId":"e-1","sequence":1,"type":"output","timestamp":1780000000000,"data":"text"}]}"#;
    let example = example.replace("\"observedAt\":1780000000000", &format!("\"observedAt\":{NOW}"));
    task.due_pass([Answer::Text(example)]).ok();
    let run = task.run(1);
    assert_eq!(
        (&run["state"], &run["cursor"], &run["failures"]),
        (&json!("running"), &json!("c-41"), &json!(0))
    );
    assert_eq!(rows(&task)[0]["providerSequence"], 1);
}

#[test]
fn ex_cur_07_the_cursor_is_judged_before_anything_of_the_reply_is_used() {
    let task = owned();
    // With everything else wrong as well, the cursor is what it is refused for.
    let broken = json!({"cursor": [1], "providerJobId": 7, "state": "done", "observedAt": "x", "events": 7});
    rejected(&task, says(broken), "cursor");
}

#[test]
fn ex_cur_08_an_invalid_token_rejects_the_whole_reply() {
    let task = owned();
    accepted(&task, running(json!({"cursor": "c-1", "events": [event("e-1")]})));
    let long = "a".repeat(EXECUTION_CURSOR_BYTES);
    for bad in [json!({}), json!([]), json!(long)] {
        let page = json!({"cursor": bad, "events": [event("e-2")], "costUsd": 5, "state": "succeeded"});
        rejected(&task, says(running(page)), "cursor");
        assert_eq!(task.run(1)["lastError"]["code"], "EXECUTION_PROTOCOL");
    }
    let text = running(json!({"cursor": 7})).to_string().replace("\"cursor\":7", "\"cursor\":1e400");
    rejected(&task, Answer::Text(text), "cursor");
    assert_eq!(ids(&task), ["e-1"]);
}

#[test]
fn ex_cur_09_after_a_rejected_token_the_last_validated_one_is_sent() {
    for token in [json!("c-1"), json!(false), json!(0), json!("")] {
        let task = owned();
        accepted(&task, running(json!({"cursor": token})));
        rejected(&task, says(running(json!({"cursor": {}}))), "cursor");
        let ended = task.due_pass([says(observation(1, "running"))]);
        assert_eq!(ended.input("inspect")["cursor"], token);
    }
}

#[test]
fn ex_cur_11_an_invalid_token_of_a_lookup_reply_adopts_nothing() {
    let task = TaskRoot::new();
    task.lost(1);
    rejected(&task, says(running(json!({"cursor": [1]}))), "cursor");
    assert_eq!(task.operation(1)["acceptance"], "unknown");
    let ended = task.due_pass([says(observation(1, "running"))]);
    assert_eq!(ended.input("lookup")["cursor"], Json::Null);
    assert_eq!(task.operation(1)["acceptance"], "accepted");
}

#[test]
fn ex_cur_23_the_gap_stands_before_the_events_of_its_reply() {
    let task = owned();
    let page = json!({"gap": true, "events": [event("e-1"), event("e-2")], "cursor": "c-2"});
    accepted(&task, running(page));
    assert_eq!(ids(&task), ["gap-c-2", "e-1", "e-2"]);
}

#[test]
fn ex_tra_15_the_input_of_an_inspection() {
    let task = owned();
    accepted(&task, running(json!({"cursor": "c-1"})));
    let input = task.due_pass([says(observation(1, "running"))]).input("inspect");
    let expected = json!({
        "taskId": "t-1", "provider": "prov", "account": "acct", "runId": "run-1", "providerJobId": "j-1",
        "sessionId": "s-1", "turnId": "t-1", "cursor": "c-1", "startedAt": NOW
    });
    assert_eq!(input, expected);
}

#[test]
fn ex_tra_22_the_input_of_a_lookup_is_the_saved_intent() {
    let task = TaskRoot::new();
    task.lost(1);
    let key = task.operation(1)["idempotencyKey"].clone();
    let input = task.due_pass([says(Json::Null)]).input("lookup");
    let expected = json!({
        "taskId": "t-1", "provider": "prov", "account": "acct", "runId": "run-1", "operationId": "op-1",
        "idempotencyKey": key, "inputHead": crate::support::task::HEAD, "intentAt": NOW, "action": "submit",
        "cursor": null
    });
    assert_eq!(input, expected);
    // A continuation says so, and in which session.
    let task = owned();
    task.collected(1);
    let error = task.continue_run(dispatch(2), [Answer::Fails(crate::support::task::io_error())]).error();
    assert_eq!(error.code(), Code::ExecutionAcceptanceUnknown);
    let input = task.due_pass([says(Json::Null)]).input("lookup");
    assert_eq!((&input["action"], &input["sessionId"]), (&json!("continue"), &json!("s-1")));
}

#[test]
fn ex_tra_23_a_lookup_is_judged_like_an_inspection_and_null_proves_nothing() {
    let task = TaskRoot::new();
    task.lost(1);
    for (changes, reason) in [
        (json!({"turnId": null}), "identity"),
        (json!({"sessionId": ""}), "session"),
        (json!({"state": "done"}), "state"),
        (json!({"completedAt": NOW}), "completion"),
        (json!({"events": [7]}), "event"),
    ] {
        rejected(&task, says(running(changes)), reason);
    }
    let (before, key) = (task.tree_but_retry_data(), task.operation(1)["idempotencyKey"].clone());
    for _ in 0..3 {
        let report = task.due_pass([says(Json::Null)]).ok();
        assert_eq!(error_of(&report), ("EXECUTION_ACCEPTANCE_UNKNOWN", Some("unresolved")));
    }
    assert!(before == task.tree_but_retry_data(), "null changes nothing");
    let refusal = task.submit(dispatch(1), []).refusal();
    assert_eq!(refusal.0, Code::ExecutionAcceptanceUnknown);
    assert_eq!(task.submit(dispatch(2), []).refusal().0, Code::ExecutionUnresolved);
    assert_eq!(task.operation(1)["idempotencyKey"], key);
}
