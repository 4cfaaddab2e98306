//! EX-IDN in passes: whose a reply is. Job, root turn and session are compared byte for byte and never move.

use std::collections::BTreeMap;

use gallivant_core::Code;
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{error_of, event, observation, observation_with, result, result_with, says};
use crate::support::task::{Answer, TaskRoot, acknowledgement, dispatch, io_error, with};

fn owned() -> TaskRoot {
    let task = TaskRoot::new();
    task.accepted(1);
    task
}

/// A task whose provider has named no session yet.
fn anonymous() -> TaskRoot {
    let task = TaskRoot::new();
    task.submit(dispatch(1), [says(with(acknowledgement(1), json!({"sessionId": null})))]).ok();
    assert_eq!(task.run(1)["sessionId"], Json::Null);
    task
}

#[track_caller]
fn rejected(task: &TaskRoot, answer: Json, code: &str, reason: &str) -> Json {
    let before = task.tree_but_retry_data();
    let report = task.due_pass([says(answer)]).ok();
    assert_eq!(error_of(&report), (code, Some(reason)));
    assert!(before == task.tree_but_retry_data(), "nothing but retry data changes");
    report
}

fn running(changes: Json) -> Json {
    observation_with(1, "running", changes)
}

fn identities(task: &TaskRoot) -> [Json; 3] {
    let run = task.run(1);
    ["providerJobId", "turnId", "sessionId"].map(|key| run[key].clone())
}

#[test]
fn ex_idn_01_every_reply_names_a_job_and_a_root_turn() {
    let bad = [json!(""), json!(7), Json::Null, json!(["j-1"])];
    for name in ["providerJobId", "turnId"] {
        for value in &bad {
            let task = TaskRoot::new();
            let error =
                task.submit(dispatch(1), [says(with(acknowledgement(1), json!({name: value})))]).error();
            assert_eq!((error.code(), error.reason()), (Code::ExecutionAcceptanceUnknown, Some("identity")));
            rejected(&task, running(json!({name: value})), "EXECUTION_PROTOCOL", "identity");
            rejected(&owned(), running(json!({name: value})), "EXECUTION_PROTOCOL", "identity");
        }
    }
}

#[test]
fn ex_idn_02_a_reply_that_names_only_a_job_establishes_nothing() {
    let task = TaskRoot::new();
    let only = json!({"providerJobId": "j-1"});
    assert_eq!(
        task.submit(dispatch(1), [says(only.clone())]).error().code(),
        Code::ExecutionAcceptanceUnknown
    );
    rejected(&task, with(running(json!({})), json!({"turnId": null})), "EXECUTION_PROTOCOL", "identity");
    assert_eq!(task.operation(1)["acceptance"], "unknown");
    assert_eq!(identities(&task), [Json::Null, Json::Null, Json::Null]);
    assert_eq!(task.ledger()["allowance"]["chargedUsd"], 0.5);
    assert!(!String::from_utf8_lossy(&task.tree()["execution.json"]).contains("j-1"));
}

#[test]
fn ex_idn_03_recorded_identities_stay() {
    let task = owned();
    let first = identities(&task);
    for other in ["providerJobId", "turnId"] {
        rejected(&task, running(json!({other: "other"})), "EXECUTION_PROTOCOL", "foreign");
    }
    task.due_pass([says(observation(1, "running"))]).ok();
    task.ended(1, "succeeded");
    rejected(&task, result_with(1, json!({"turnId": "other"})), "EXECUTION_RESULT", "foreign");
    task.due_pass([says(result(1))]).ok();
    assert_eq!(identities(&task), first);
    assert_eq!(task.job(1)["execution"]["turnId"], "t-1");
}

#[test]
fn ex_idn_04_an_observation_of_another_job_or_root_turn_is_foreign() {
    let task = owned();
    for changes in
        [json!({"providerJobId": "j-2"}), json!({"turnId": "t-2"}), json!({"providerJobId": "t-1"})]
    {
        rejected(&task, running(changes), "EXECUTION_PROTOCOL", "foreign");
    }
}

#[test]
fn ex_idn_05_identities_are_compared_byte_for_byte() {
    // The same to the eye, composed and decomposed; another case; white space around.
    for (one, other) in
        [("é", "e\u{301}"), ("Job", "job"), ("job", " job"), ("job", "job\n"), ("j\u{0}", "j")]
    {
        let task = TaskRoot::new();
        let named = json!({"providerJobId": one, "turnId": one, "sessionId": one});
        task.submit(dispatch(1), [says(named.clone())]).ok();
        for (key, reason) in [("providerJobId", "foreign"), ("turnId", "foreign"), ("sessionId", "session")] {
            let seen = with(with(running(json!({})), named.clone()), json!({key: other}));
            rejected(&task, seen, "EXECUTION_PROTOCOL", reason);
        }
        assert_eq!(task.due_pass([says(with(running(json!({})), named))]).ok()["error"], Json::Null);
    }
}

/// A record of an older package: accepted, and without a root turn.
fn without_root_turn() -> TaskRoot {
    let task = owned();
    task.edit(|ledger| {
        ledger["executions"]["run-1"]["turnId"] = Json::Null;
        ledger["operations"]["op-1"]["acknowledgement"]["turnId"] = Json::Null;
    });
    task.due_pass([says(Json::Null)]).ok();
    task
}

#[test]
fn ex_idn_06_a_missing_root_turn_is_found_by_a_lookup_only() {
    let task = without_root_turn();
    // A cached result names it, and does not fill it.
    let cache = with(result(1), json!({"version": 1, "taskId": "t-1", "runId": "run-1", "collectedAt": NOW}));
    task.plant("run-1/result.json", cache.to_string());
    let ended = task.due_pass([says(Json::Null)]);
    assert_eq!(ended.input("lookup")["operationId"], "op-1");
    assert_eq!(task.run(1)["turnId"], Json::Null);
    assert_eq!(task.collect_only("run-1", []).calls.len(), 0);
    let report = task.due_pass([says(observation(1, "running"))]).ok();
    assert_eq!(report["called"], json!(["lookup"]));
    assert_eq!(identities(&task), [json!("j-1"), json!("t-1"), json!("s-1")]);
    assert_eq!(task.operation(1)["acknowledgement"]["turnId"], "t-1");
}

#[test]
fn ex_idn_07_such_a_lookup_names_the_recorded_job() {
    let task = without_root_turn();
    rejected(&task, running(json!({"providerJobId": "j-2"})), "EXECUTION_PROTOCOL", "foreign");
    assert_eq!(task.run(1)["turnId"], Json::Null);
    assert_eq!(task.due_pass([says(running(json!({"turnId": "t-7"})))]).ok()["error"], Json::Null);
    assert_eq!(identities(&task)[1], "t-7");
}

#[test]
fn ex_idn_08_a_session_is_a_nonempty_string_and_a_missing_one_keeps_the_recorded_one() {
    for bad in [json!(""), json!(7), json!(false), json!(["s-1"]), json!({})] {
        rejected(&owned(), running(json!({"sessionId": bad})), "EXECUTION_PROTOCOL", "session");
        rejected(&anonymous(), running(json!({"sessionId": bad})), "EXECUTION_PROTOCOL", "session");
    }
    let task = owned();
    let mut silent = running(json!({"sessionId": null}));
    task.due_pass([says(silent.clone())]).ok();
    silent.as_object_mut().expect("an object").remove("sessionId");
    task.due_pass([says(silent)]).ok();
    assert_eq!((&task.run(1)["sessionId"], &task.run(1)["failures"]), (&json!("s-1"), &json!(0)));
}

#[test]
fn ex_idn_09_a_reported_session_equals_the_recorded_one() {
    let task = owned();
    rejected(&task, running(json!({"sessionId": "s-2"})), "EXECUTION_PROTOCOL", "session");
    task.ended(1, "succeeded");
    rejected(&task, result_with(1, json!({"sessionId": "s-2"})), "EXECUTION_RESULT", "session");
    // A cached one as well: it is not adopted, and the provider is asked.
    let cache =
        result_with(1, json!({"version": 1, "runId": "run-1", "sessionId": "s-2", "collectedAt": NOW}));
    task.plant("run-1/result.json", cache.to_string());
    rejected(&task, result_with(1, json!({"sessionId": "s-2"})), "EXECUTION_RESULT", "session");
    // In a lookup of a continuation, and in its acknowledgement.
    let task = owned();
    task.collected(1);
    let other = with(acknowledgement(2), json!({"sessionId": "s-2"}));
    let error = task.continue_run(dispatch(2), [says(other)]).error();
    assert_eq!(error.reason(), Some("session"));
    rejected(
        &task,
        observation_with(2, "running", json!({"sessionId": "s-2"})),
        "EXECUTION_PROTOCOL",
        "session",
    );
    assert_eq!(task.operation(2)["acceptance"], "unknown");
}

#[test]
fn ex_idn_10_the_first_valid_session_of_the_exact_root_is_recorded() {
    let task = anonymous();
    rejected(&task, running(json!({"turnId": "t-2", "sessionId": "s-9"})), "EXECUTION_PROTOCOL", "foreign");
    assert_eq!(task.run(1)["sessionId"], Json::Null);
    task.due_pass([says(running(json!({"sessionId": "s-9"})))]).ok();
    assert_eq!(task.run(1)["sessionId"], "s-9");
    rejected(&task, running(json!({"sessionId": "s-1"})), "EXECUTION_PROTOCOL", "session");
    // By the result, where nothing before it named one.
    let task = anonymous();
    let silent = json!({"sessionId": null});
    let answers = [observation_with(1, "succeeded", silent), result_with(1, json!({"sessionId": "s-8"}))];
    task.due_pass(answers.map(says)).ok();
    assert_eq!(task.run(1)["sessionId"], "s-8");
}

#[test]
fn ex_idn_11_the_session_of_a_continuation_is_recorded_with_its_intent() {
    let task = owned();
    task.collected(1);
    let error = task.continue_run(dispatch(2), [Answer::Fails(io_error())]).error();
    assert_eq!(error.code(), Code::ExecutionAcceptanceUnknown);
    assert_eq!((&task.operation(2)["sessionId"], &task.run(2)["sessionId"]), (&json!("s-1"), &json!("s-1")));
    // A lookup that names none keeps it.
    let silent = json!({"sessionId": null, "observedAt": NOW + 400_000});
    task.due_pass([says(observation_with(2, "running", silent))]).ok();
    assert_eq!(task.operation(2)["acknowledgement"]["sessionId"], "s-1");
    assert_eq!(task.run(2)["sessionId"], "s-1");
}

#[test]
fn part_of_ex_idn_12_the_session_is_checked_before_events_and_usage_of_a_pass() {
    let task = owned();
    let page = json!({"sessionId": "s-2", "events": [event("e-1")], "costUsd": 4, "gap": true});
    rejected(&task, running(page), "EXECUTION_PROTOCOL", "session");
    assert!(!task.exists("run-1/events.jsonl"));
    assert_eq!(task.ledger()["allowance"]["chargedUsd"], 0.5);
}

#[test]
fn ex_idn_13_a_foreign_reply_authorises_no_continuation() {
    let task = anonymous();
    rejected(&task, running(json!({"turnId": "t-2", "sessionId": "s-9"})), "EXECUTION_PROTOCOL", "foreign");
    let silent = json!({"sessionId": null});
    let answers = [observation_with(1, "succeeded", silent.clone()), result_with(1, silent)];
    task.due_pass(answers.map(says)).ok();
    let (code, reason) = task.refused(|task| task.continue_run(dispatch(2), []));
    assert_eq!((code, reason), (Code::ExecutionOwnership, Some("session")), "there is none to go on in");
}

#[test]
fn ex_idn_19_the_remedy_of_another_session_moves_no_session() {
    let task = owned();
    task.ended(1, "succeeded");
    let report = rejected(&task, result_with(1, json!({"sessionId": "s-2"})), "EXECUTION_RESULT", "session");
    let remedy = report["error"]["remedy"].as_str().expect("a remedy");
    assert!(remedy.contains("restore the exact owned stream or cache, then retry"), "{remedy}");
    assert!(remedy.contains("do not move sessions between runs"), "{remedy}");
    let report = rejected(&owned(), running(json!({"sessionId": "s-2"})), "EXECUTION_PROTOCOL", "session");
    let remedy = report["error"]["remedy"].as_str().expect("a remedy");
    assert!(remedy.contains("do not move sessions between runs"), "{remedy}");
    assert_eq!(report["recovery"], "restore-session");
}

/// Every exact key is one of the secrets, and has the form of a credential.
fn secretive() -> (TaskRoot, BTreeMap<&'static str, String>) {
    let credential = |end: &str| format!("ghp_{}{end}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6");
    let exact: BTreeMap<_, _> = [
        ("taskId", credential("task")),
        ("providerJobId", credential("jobb")),
        ("sessionId", credential("sess")),
        ("turnId", credential("turn")),
        ("repo", credential("repo")),
        ("branch", credential("bran")),
        ("pushedHead", "d".repeat(40)),
    ]
    .into();
    let mut task = TaskRoot::new();
    task.options["taskId"] = json!(exact["taskId"]);
    task.options["secrets"] = json!(exact.values().collect::<Vec<_>>());
    (task, exact)
}

#[test]
fn ex_idn_20_the_identities_of_a_private_result_are_never_altered() {
    let (task, exact) = secretive();
    let names = json!({
        "providerJobId": exact["providerJobId"], "sessionId": exact["sessionId"], "turnId": exact["turnId"]
    });
    task.submit(dispatch(1), [says(names.clone())]).ok();
    let answer = with(
        with(result(1), names.clone()),
        json!({"repo": exact["repo"], "branch": exact["branch"], "pushedHead": exact["pushedHead"]}),
    );
    let seen = with(observation(1, "succeeded"), names);
    task.due_pass([says(seen), says(answer)]).ok();
    assert_eq!(task.run(1)["collected"], true);
    let saved: Json = serde_json::from_str(&task.text("run-1/result.json")).expect("JSON");
    for (key, value) in &exact {
        assert_eq!(saved[key], *value, "{key}");
    }
    assert_eq!((&saved["runId"], &saved["inputHead"]), (&json!("run-1"), &json!(crate::support::task::HEAD)));
    // Read back from the cache they still match.
    task.edit(|ledger| {
        let run = &mut ledger["executions"]["run-1"];
        run["collected"] = json!(false);
        run["state"] = json!("retrieving-results");
    });
    assert_eq!(task.due_pass([]).ok()["error"], Json::Null);
    assert_eq!(task.run(1)["collected"], true);
}

#[test]
fn ex_idn_21_the_ledger_and_the_job_record_keep_them_exact() {
    let (task, exact) = secretive();
    let names = json!({
        "providerJobId": exact["providerJobId"], "sessionId": exact["sessionId"], "turnId": exact["turnId"]
    });
    task.submit(dispatch(1), [says(names.clone())]).ok();
    task.due_pass([says(with(observation(1, "running"), names))]).ok();
    assert_eq!(task.ledger()["taskId"], exact["taskId"]);
    assert_eq!(task.job(1)["taskId"], exact["taskId"]);
    for key in ["providerJobId", "sessionId", "turnId"] {
        for found in
            [&task.run(1)[key], &task.operation(1)["acknowledgement"][key], &task.job(1)["execution"][key]]
        {
            assert_eq!(found, &json!(exact[key]), "{key}");
        }
    }
}

#[test]
fn ex_idn_22_a_cache_with_a_rewritten_identity_is_kept_and_not_adopted() {
    let task = owned();
    task.ended(1, "succeeded");
    let rewritten = json!({
        "version": 1, "taskId": "t-1", "runId": "run-1", "collectedAt": NOW, "providerJobId": "[redacted]"
    });
    let cache = result_with(1, rewritten).to_string();
    task.plant("run-1/result.json", &cache);
    let foreign = result_with(1, json!({"providerJobId": "[redacted]"}));
    let report = rejected(&task, foreign, "EXECUTION_RESULT", "foreign");
    assert_eq!(task.text("run-1/result.json"), cache);
    let remedy = report["error"]["remedy"].as_str().expect("a remedy");
    assert!(remedy.contains("the recorded acknowledgement"), "{remedy}");
    assert!(remedy.contains("do not dispatch"), "{remedy}");
}

#[test]
fn part_of_ex_idn_23_a_collection_checks_the_identities_before_it_saves() {
    let task = owned();
    task.ended(1, "succeeded");
    for changes in
        [json!({"providerJobId": "j-2"}), json!({"turnId": "t-2"}), json!({"inputHead": "b".repeat(40)})]
    {
        rejected(&task, result_with(1, changes), "EXECUTION_RESULT", "foreign");
        assert!(!task.exists("run-1/result.json"));
    }
}

#[test]
fn ex_idn_25_two_runs_never_share_a_job_and_root_turn() {
    let task = owned();
    task.collected(1);
    let error = task.submit(dispatch(2), [says(acknowledgement(1))]).error();
    assert_eq!((error.code(), error.reason()), (Code::ExecutionAcceptanceUnknown, Some("identity")));
    // Nor does a lookup bring one about.
    let at = json!({"observedAt": NOW + 400_000});
    rejected(&task, running(at.clone()), "EXECUTION_PROTOCOL", "identity");
    assert_eq!(task.run(2)["providerJobId"], Json::Null);
    // Another turn of the same job is another root.
    let seen = with(running(at), json!({"turnId": "t-2"}));
    assert_eq!(task.due_pass([says(seen)]).ok()["error"], Json::Null);
    assert_eq!((&task.run(2)["providerJobId"], &task.run(2)["turnId"]), (&json!("j-1"), &json!("t-2")));
}
