//! EX-OBS-24 to EX-OBS-38 and EX-COST-11: results, judged before anything of them is saved.

use gallivant_core::Code;
use gallivant_core::execution::TransportError;
use gallivant_core::execution::contract::ErrorKind;
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{error_of, failure, observation, observation_with, result, result_with, says};
use crate::support::task::{Answer, HEAD, TaskRoot, dispatch, dispatch_with, with};

/// A run whose root turn has succeeded, and whose result is still to be collected.
fn succeeded() -> TaskRoot {
    ended_as("succeeded")
}

fn ended_as(state: &str) -> TaskRoot {
    let task = TaskRoot::new();
    task.accepted(1);
    task.ended(1, state);
    task
}

/// A collection that ends so leaves everything as it is and comes again.
#[track_caller]
fn refused(task: &TaskRoot, answer: Answer, reason: &str) -> Json {
    let (before, run) = (task.tree_but_retry_data(), task.run(1));
    let report = task.due_pass([answer]).ok();
    assert_eq!(error_of(&report), ("EXECUTION_RESULT", Some(reason)));
    assert!(before == task.tree_but_retry_data(), "nothing but retry data changes: {reason}");
    let after = task.run(1);
    assert_eq!(after["state"], "retrieving-results");
    assert_eq!(after["failures"].as_u64(), run["failures"].as_u64().map(|failures| failures + 1));
    assert_eq!(after["lastError"]["code"], "EXECUTION_RESULT");
    assert_eq!(after["lastError"]["reason"], reason);
    assert!(after["nextAttemptAt"].as_u64() > after["reconciledAt"].as_u64());
    report
}

#[track_caller]
fn collected(task: &TaskRoot, result: Json) -> Json {
    let report = task.due_pass([says(result)]).ok();
    assert_eq!(report["error"], Json::Null);
    assert_eq!(task.run(1)["collected"], true);
    saved(task)
}

fn saved(task: &TaskRoot) -> Json {
    serde_json::from_str(&task.text("run-1/result.json")).expect("JSON")
}

/// A result whose outcome has these members changed.
fn outcome(changes: Json) -> Json {
    let mut result = result(1);
    result["outcome"] = with(result["outcome"].clone(), changes);
    result
}

#[test]
fn ex_obs_24_a_result_names_its_owner_and_tells_its_outcome() {
    let task = succeeded();
    for missing in ["providerJobId", "turnId", "inputHead"] {
        let mut lacking = result(1);
        lacking.as_object_mut().expect("an object").remove(missing);
        refused(&task, says(lacking), "foreign");
    }
    for exit in [json!("1"), json!(1.5), json!([])] {
        refused(&task, says(outcome(json!({"exit": exit}))), "incomplete");
    }
    refused(&task, says(outcome(json!({"denials": "none"}))), "incomplete");
    let whole = with(
        outcome(json!({"exit": -9, "diagnostics": {"any": [1]}, "denials": [{"tool": "sh"}]})),
        json!({"completedAt": NOW, "repo": "r/r", "branch": "b", "pr": {"title": "t", "body": "b"}, "text": "said"}),
    );
    let saved = collected(&task, whole.clone());
    for key in [
        "providerJobId",
        "turnId",
        "sessionId",
        "inputHead",
        "outcome",
        "completedAt",
        "repo",
        "branch",
        "pr",
    ] {
        assert_eq!(saved[key], whole[key], "{key}");
    }
    assert_eq!(task.job(1)["exit"], -9);
    // An intake has no head, and its result has none.
    let task = TaskRoot::new();
    task.accepted(1);
    task.edit(|ledger| ledger["operations"]["op-1"]["inputHead"] = Json::Null);
    task.ended(1, "succeeded");
    refused(&task, says(result(1)), "foreign");
    collected(&task, result_with(1, json!({"inputHead": null})));
}

#[test]
fn ex_obs_25_a_revision_has_40_or_64_lower_case_digits() {
    let task = TaskRoot::new();
    let bad =
        ["", "a", &HEAD[1..], &format!("{HEAD}a"), &HEAD.to_uppercase(), &HEAD.replace('a', "g"), "main"];
    for head in bad {
        let refusal = task.refused(|task| task.submit(dispatch_with(1, json!({"inputHead": head})), []));
        assert_eq!(refusal.0, Code::ExecutionInput, "{head}");
    }
    for (n, head) in [(1, HEAD.to_owned()), (2, "0".repeat(64))] {
        let task = TaskRoot::new();
        let input = dispatch_with(n, json!({"inputHead": head}));
        task.submit(input, crate::support::task::accepts(n)).ok();
        task.ended(n, "succeeded");
        // The result has to say the same, digit for digit.
        let refused = result_with(n, json!({"inputHead": head.to_uppercase() + "0"}));
        assert_eq!(error_of(&task.due_pass([says(refused)]).ok()).1, Some("foreign"));
        task.due_pass([says(result_with(n, json!({"inputHead": head})))]).ok();
        assert_eq!(task.run(n)["collected"], true);
    }
}

#[test]
fn ex_obs_26_the_librarys_keys_come_from_the_library() {
    let task = succeeded();
    let foreign = json!({
        "version": 9, "taskId": "t-2", "runId": "run-2", "provider": "other", "collectedAt": 7
    });
    let saved = collected(&task, result_with(1, foreign));
    let now = task.run(1)["collectedAt"].clone();
    let keys = ["version", "taskId", "runId", "provider", "collectedAt"].map(|key| saved[key].clone());
    assert_eq!(keys, [json!(1), json!("t-1"), json!("run-1"), json!("prov"), now]);
}

#[test]
fn ex_obs_27_the_summary_of_artifacts_is_the_librarys_own() {
    let claimed = json!({"version": 7, "files": ["mine"]});
    let saved = collected(&succeeded(), result_with(1, json!({"artifacts": claimed})));
    assert_eq!(saved["artifacts"], Json::Null);
    let file = json!({"path": "a", "beforeHash": null, "afterHash": "c".repeat(64), "text": "x"});
    let saved = collected(&succeeded(), result_with(1, json!({"artifacts": claimed, "files": [file]})));
    let entry = json!({"path": "a", "beforeHash": null, "afterHash": "c".repeat(64), "change": "create"});
    assert_eq!(saved["artifacts"], json!({"version": 1, "files": [entry]}));
}

#[test]
fn ex_obs_28_a_result_that_is_not_finished_or_says_nothing_is_incomplete() {
    let task = succeeded();
    for finished in [json!(false), json!("true"), json!(1), Json::Null] {
        refused(&task, says(outcome(json!({"finished": finished}))), "incomplete");
    }
    for ok in [json!("true"), json!(1), Json::Null] {
        refused(&task, says(outcome(json!({"ok": ok}))), "incomplete");
    }
    for none in [Json::Null, json!([]), json!("ok")] {
        refused(&task, says(result_with(1, json!({"outcome": none}))), "incomplete");
    }
    collected(&task, result(1));
}

#[test]
fn ex_obs_29_a_result_of_another_root_is_foreign_and_of_another_session_too() {
    let task = succeeded();
    for (key, other) in [
        ("providerJobId", json!("j-2")),
        ("providerJobId", json!("J-1")),
        ("turnId", json!("t-2")),
        ("turnId", Json::Null),
        ("inputHead", json!("b".repeat(40))),
        ("inputHead", Json::Null),
    ] {
        let report = refused(&task, says(result_with(1, json!({key: other}))), "foreign");
        assert!(report["error"]["remedy"].as_str().expect("a remedy").contains("do not dispatch"));
    }
    for session in [json!("s-2"), json!(""), json!(7)] {
        refused(&task, says(result_with(1, json!({"sessionId": session}))), "session");
    }
    collected(&task, result_with(1, json!({"sessionId": null})));
}

#[test]
fn ex_obs_30_a_results_completion_agrees_with_what_was_observed() {
    let at = |completed: Json| result_with(1, json!({"completedAt": completed}));
    let task = TaskRoot::new();
    task.accepted(1);
    let seen = observation_with(1, "succeeded", json!({"observedAt": NOW + 50}));
    task.due_pass([says(seen), says(Json::Null)]).ok();
    // Before the start, behind the terminal observation, in the future, no time.
    for bad in [json!(NOW - 1), json!(NOW + 51), json!(NOW * 2), json!("x"), json!(NOW as f64 + 0.5)] {
        refused(&task, says(at(bad)), "completion");
    }
    collected(&task, at(json!(NOW + 50)));
    let run = task.run(1);
    assert_eq!((&run["completedAt"], &run["completionInferred"]), (&json!(NOW + 50), &json!(false)));
    assert_eq!(task.job(1)["endedAt"], NOW + 50);
    // An exact time that is recorded is not another one afterwards.
    let task = TaskRoot::new();
    task.accepted(1);
    let seen = observation_with(1, "succeeded", json!({"observedAt": NOW + 50, "completedAt": NOW + 7}));
    task.due_pass([says(seen), says(Json::Null)]).ok();
    refused(&task, says(at(json!(NOW + 8))), "completion");
    collected(&task, at(json!(NOW + 7)));
}

#[test]
fn ex_obs_31_a_result_without_a_completion_keeps_what_is_recorded() {
    let task = TaskRoot::new();
    task.accepted(1);
    let seen = observation_with(1, "succeeded", json!({"observedAt": NOW + 50, "completedAt": NOW + 7}));
    task.due_pass([says(seen), says(result(1))]).ok();
    let run = task.run(1);
    assert_eq!((&run["completedAt"], &run["completionInferred"]), (&json!(NOW + 7), &json!(false)));
    // An older record without any time of its end: the collection is the bound.
    let task = succeeded();
    task.edit(|ledger| ledger["executions"]["run-1"]["terminalObservedAt"] = Json::Null);
    collected(&task, result(1));
    let run = task.run(1);
    assert_eq!((&run["completedAt"], &run["completionInferred"]), (&Json::Null, &json!(true)));
    assert_eq!(task.job(1)["endedAt"], run["collectedAt"]);
}

#[test]
fn ex_obs_32_a_result_that_contradicts_its_root_turn_is_refused() {
    refused(&succeeded(), says(failure(1)), "contradiction");
    let task = ended_as("failed");
    refused(&task, says(result(1)), "contradiction");
    collected(&task, failure(1));
    assert_eq!(task.run(1)["state"], "failed");
}

#[test]
fn ex_obs_33_a_missing_result_and_one_that_is_too_large_are_unresolved() {
    let mut task = TaskRoot::new();
    task.options["limits"] = json!({"resultBytes": 65_536});
    task.accepted(1);
    task.ended(1, "succeeded");
    refused(&task, says(Json::Null), "missing");
    let sized = |bytes: usize| {
        let empty = result_with(1, json!({"text": ""})).to_string().len();
        result_with(1, json!({"text": "x".repeat(bytes - empty)}))
    };
    refused(&task, says(sized(65_537)), "oversized");
    assert_eq!(task.inspect()["recovery"], "correct-result");
    collected(&task, sized(65_536));
}

#[test]
fn ex_obs_34_files_and_a_pushed_head_are_ambiguous() {
    let task = succeeded();
    let both = json!({"files": [], "pushedHead": "b".repeat(40)});
    refused(&task, says(result_with(1, both)), "ambiguous");
    let saved = collected(&task, result_with(1, json!({"files": null, "pushedHead": "b".repeat(40)})));
    assert_eq!(saved["pushedHead"], "b".repeat(40));
}

#[test]
fn ex_obs_35_whatever_is_wrong_with_a_result_the_run_waits_for_a_right_one() {
    let task = succeeded();
    let spent = task.ledger()["allowance"].clone();
    let every = [
        (Json::Null, "missing"),
        (outcome(json!({"finished": false, "cost": 7})), "incomplete"),
        (result_with(1, json!({"turnId": "t-2", "completedAt": NOW})), "foreign"),
        (result_with(1, json!({"sessionId": "s-2"})), "session"),
        (result_with(1, json!({"completedAt": 1})), "completion"),
        (outcome(json!({"ok": false, "cost": 7})), "contradiction"),
        (result_with(1, json!({"files": [], "pushedHead": "b".repeat(40)})), "ambiguous"),
    ];
    for (answer, reason) in every {
        refused(&task, says(answer), reason);
        assert!(!task.exists("run-1/result.json"));
        assert_eq!(task.ledger()["allowance"], spent);
        assert_eq!(task.operation(1)["acceptance"], "accepted");
    }
    // Not due before its time.
    assert_eq!(task.pass([]).ok()["called"], json!([]));
    collected(&task, result(1));
}

#[test]
fn ex_obs_36_a_success_of_the_provider_is_not_yet_a_result() {
    let task = succeeded();
    assert_eq!(task.run(1)["terminalState"], "succeeded");
    assert_eq!(task.inspect()["live"], true);
    assert_eq!(task.boundary().outcome("run-1").expect("read").to_json(), "null");
    assert_eq!(task.submit(dispatch(2), []).refusal().0, Code::ExecutionActive);
    collected(&task, result(1));
    assert_eq!(task.inspect()["live"], false);
}

#[test]
fn ex_obs_37_a_failed_result_is_saved_with_all_that_it_tells() {
    let task = ended_as("failed");
    let mut whole = failure(1);
    whole["outcome"] = with(
        whole["outcome"].clone(),
        json!({"cost": 0.75, "denials": ["no"], "diagnostics": {"stderr": "it broke"}}),
    );
    let saved = collected(&task, whole);
    assert_eq!(saved["outcome"]["diagnostics"]["stderr"], "it broke");
    assert_eq!(saved["outcome"]["denials"], json!(["no"]));
    assert_eq!(saved["sessionId"], "s-1");
    assert_eq!(task.operation(1)["costUsd"], 0.75);
    let run = task.run(1);
    assert_eq!((&run["state"], &run["collected"]), (&json!("failed"), &json!(true)));
}

#[test]
fn ex_obs_38_denials_are_kept_redacted_through_collection_and_replay() {
    let mut task = TaskRoot::new();
    task.options["secrets"] = json!(["hunter2-secret"]);
    task.accepted(1);
    task.ended(1, "succeeded");
    let denials = json!(["no", {"tool": "sh", "said": "hunter2-secret"}, 7, null, [true]]);
    let first = collected(&task, outcome(json!({"denials": denials})));
    let kept = &first["outcome"]["denials"];
    assert_eq!(
        (&kept[0], &kept[1]["tool"], &kept[2], &kept[4]),
        (&json!("no"), &json!("sh"), &json!(7), &json!([true]))
    );
    assert!(!first.to_string().contains("hunter2"));
    let outcome: Json =
        serde_json::from_str(&task.boundary().outcome("run-1").expect("read").to_json()).expect("JSON");
    assert_eq!(&outcome["denials"], kept);
    // From the cache after a crash they are the same.
    task.edit(|ledger| {
        let run = &mut ledger["executions"]["run-1"];
        run["collected"] = json!(false);
        run["state"] = json!("retrieving-results");
    });
    assert_eq!(task.due_pass([]).ok()["error"], Json::Null);
    assert_eq!(&saved(&task)["outcome"]["denials"], kept);
}

#[test]
fn ex_cost_11_the_private_result_keeps_the_cost_that_it_told() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.due_pass([says(observation_with(1, "running", json!({"costUsd": 2})))]).ok();
    task.ended(1, "succeeded");
    let answer = outcome(json!({"cost": 7})).to_string().replace("\"cost\":7", "\"cost\":0.12345678949");
    task.due_pass([Answer::Text(answer)]).ok();
    // Rounded up to a nano-dollar, and not raised to what is known.
    assert_eq!(saved(&task)["outcome"]["cost"], 0.12345679);
    assert_eq!((&task.operation(1)["costUsd"], &task.run(1)["costUsd"]), (&json!(2), &json!(2)));
}

#[test]
fn ex_tra_18_the_input_of_a_collection() {
    let task = succeeded();
    let input = task.due_pass([Answer::Fails(TransportError::of(ErrorKind::Io, "gone"))]).input("collect");
    let expected = json!({
        "taskId": "t-1", "runId": "run-1", "providerJobId": "j-1", "sessionId": "s-1", "turnId": "t-1",
        "inputHead": HEAD, "terminalState": "succeeded"
    });
    assert_eq!(input, expected);
    // Null is "not available yet".
    refused(&task, says(Json::Null), "missing");
    assert_eq!(task.inspect()["recovery"], "retry-later");
}

#[test]
fn a_result_that_is_no_object_is_a_protocol_failure() {
    let task = succeeded();
    for bad in ["[]", "7", "\"done\"", "{", ""] {
        let report = task.due_pass([Answer::Text(bad.to_owned())]).ok();
        assert_eq!(error_of(&report), ("EXECUTION_PROTOCOL", Some("shape")), "{bad}");
    }
    let report = task.forced_pass([says(observation(1, "succeeded"))]).ok();
    assert_eq!(error_of(&report).1, Some("foreign"), "an observation is no result");
}

#[test]
fn ex_obs_25_a_pushed_head_that_is_no_revision_is_refused_at_collection() {
    let pushed = |head: Json| {
        let mut told = result(1);
        told["pushedHead"] = head;
        told
    };
    let (short, long) = ("a".repeat(40), "0".repeat(64));
    let task = succeeded();
    let bad = [
        json!(""),
        json!("main"),
        json!(7),
        json!([short]),
        json!(short[1..]),
        json!("a".repeat(41)),
        json!("A".repeat(40)),
        json!(format!("{short} ")),
        json!("g".repeat(64)),
    ];
    for head in bad {
        refused(&task, says(pushed(head)), "shape");
    }
    collected(&task, pushed(json!(long)));
    // A cached one is judged alike.
    let task = succeeded();
    let mut cache = pushed(json!("HEAD"));
    cache["version"] = json!(1);
    cache["runId"] = json!("run-1");
    cache["collectedAt"] = json!(NOW);
    task.plant("run-1/result.json", cache.to_string());
    collected(&task, pushed(json!(short)));
    collected(&succeeded(), pushed(Json::Null));
}
