//! Jobs, root turns and sessions: how they become a run's, and that they stay: EX-IDN-01 to EX-IDN-03, EX-IDN-05, EX-IDN-08 to
//! EX-IDN-11, EX-IDN-13, EX-IDN-17, EX-IDN-21, EX-IDN-25, EX-CUR-10, EX-CUR-12.

use gallivant_core::Code;
use gallivant_core::execution::AbortToken;
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::task::{Answer, Ended, TaskRoot, accepts, acknowledgement, dispatch, drive, with};

const UNKNOWN: Code = Code::ExecutionAcceptanceUnknown;

fn observation(changes: Json) -> Answer {
    let observed = json!({"state": "running", "observedAt": NOW, "events": []});
    Answer::Says(with(with(acknowledgement(1), observed), changes))
}

fn pass(task: &TaskRoot, answers: impl IntoIterator<Item = Answer>) -> Ended {
    drive(task.boundary().startup(AbortToken::new()), task, answers)
}

/// Code and reason of what a pass has saved.
fn last_error(task: &TaskRoot) -> (Json, Json) {
    let error = &task.run(1)["lastError"];
    (error["code"].clone(), error["reason"].clone())
}

/// A submit that the provider answers so.
fn answered(acknowledgement: Json) -> (TaskRoot, (Code, Option<&'static str>)) {
    let task = TaskRoot::new();
    let error = task.submit(dispatch(1), [Answer::Says(acknowledgement)]).error();
    (task, (error.code(), error.reason()))
}

#[test]
fn ex_idn_01_a_reply_needs_a_job_and_a_root_turn_as_texts() {
    for key in ["providerJobId", "turnId"] {
        for wrong in [json!(null), json!(""), json!(7), json!(["j"]), json!({})] {
            let (task, refusal) = answered(with(acknowledgement(1), json!({key: wrong})));
            assert_eq!(refusal, (UNKNOWN, Some("identity")), "{key} {wrong}");
            // A lookup is judged alike, and so is an observation.
            let found = pass(&task, [observation(json!({key: wrong}))]);
            assert_eq!(found.calls[0].0, "lookup");
            assert_eq!(last_error(&task), (json!("EXECUTION_PROTOCOL"), json!("identity")), "{key} {wrong}");
            assert_eq!(task.operation(1)["acceptance"], "unknown");
        }
        let task = TaskRoot::new();
        task.accepted(1);
        pass(&task, [observation(json!({key: ""}))]).ok();
        assert_eq!(last_error(&task), (json!("EXECUTION_PROTOCOL"), json!("identity")), "{key}");
    }
}

#[test]
fn ex_idn_02_a_job_alone_establishes_nothing() {
    let (task, refusal) = answered(json!({"providerJobId": "j-1", "sessionId": "s-1", "cursor": "c-1"}));
    assert_eq!(refusal, (UNKNOWN, Some("identity")));
    let (operation, run) = (task.operation(1), task.run(1));
    assert_eq!((&operation["acceptance"], &operation["acknowledgement"]), (&json!("unknown"), &json!(null)));
    for key in ["providerJobId", "turnId", "sessionId", "cursor"] {
        assert_eq!(run[key], json!(null), "{key}");
    }
    assert_eq!(task.ledger()["allowance"]["chargedUsd"], 0.5);
    assert!(!task.text("execution.json").contains("j-1"));
}

#[test]
fn ex_idn_03_job_and_root_turn_of_a_run_never_change() {
    let task = TaskRoot::new();
    task.accepted(1);
    let identities = |task: &TaskRoot| {
        let run = task.run(1);
        [run["providerJobId"].clone(), run["turnId"].clone(), task.operation(1)["acknowledgement"].clone()]
    };
    let before = identities(&task);
    for changes in [json!({"providerJobId": "j-2"}), json!({"turnId": "t-2"})] {
        pass(&task, [observation(changes.clone())]).ok();
        assert_eq!(last_error(&task), (json!("EXECUTION_PROTOCOL"), json!("foreign")), "{changes}");
        let other = json!({"operationId": "op-1", "acknowledgement": with(acknowledgement(1), changes), "evidence": "e"});
        assert_eq!(task.refused(|task| task.adopt(other)).0, Code::ExecutionConflict);
    }
    pass(&task, [observation(json!({}))]).ok();
    task.submit(dispatch(1), []).ok();
    assert_eq!(identities(&task), before);
}

#[test]
fn ex_idn_05_identities_are_compared_byte_for_byte() {
    let task = TaskRoot::new();
    let exact = json!({"providerJobId": " J\u{e9}\n", "turnId": "T", "sessionId": "S "});
    task.submit(dispatch(1), [Answer::Says(exact)]).ok();
    let run = task.run(1);
    assert_eq!(
        (&run["providerJobId"], &run["turnId"], &run["sessionId"]),
        (&json!(" J\u{e9}\n"), &json!("T"), &json!("S "))
    );
    let observed = |job: &str, turn: &str, session: &str| {
        let says = json!({"providerJobId": job, "turnId": turn, "sessionId": session, "state": "running",
            "observedAt": NOW, "events": []});
        pass(&task, [Answer::Says(says)]).ok();
        last_error(&task).1
    };
    assert_eq!(observed("J\u{e9}\n", "T", "S "), "foreign", "trimmed");
    assert_eq!(observed(" J\u{e9}\n", "t", "S "), "foreign", "folded");
    assert_eq!(observed(" Je\u{301}\n", "T", "S "), "foreign", "normalised");
    assert_eq!(observed(" J\u{e9}\n", "T", "S"), "session");
    assert_eq!(observed(" J\u{e9}\n", "T", "S "), json!(null), "the very same");
}

#[test]
fn ex_idn_08_a_reported_session_is_a_text_or_keeps_the_recorded_one() {
    for wrong in [json!(""), json!(7), json!(["s"]), json!(false)] {
        let (task, refusal) = answered(with(acknowledgement(1), json!({"sessionId": wrong})));
        assert_eq!(refusal, (UNKNOWN, Some("session")), "{wrong}");
        assert_eq!(task.run(1)["providerJobId"], json!(null));
        let task = TaskRoot::new();
        task.accepted(1);
        pass(&task, [observation(json!({"sessionId": wrong}))]).ok();
        assert_eq!(last_error(&task), (json!("EXECUTION_PROTOCOL"), json!("session")), "{wrong}");
    }
    let task = TaskRoot::new();
    task.accepted(1);
    pass(&task, [observation(json!({"sessionId": null}))]).ok();
    assert_eq!((&task.run(1)["sessionId"], &task.run(1)["lastError"]), (&json!("s-1"), &json!(null)));
}

#[test]
fn ex_idn_09_another_session_than_the_recorded_one_is_refused() {
    let task = TaskRoot::new();
    task.accepted(1);
    pass(&task, [observation(json!({"sessionId": "s-2"}))]).ok();
    assert_eq!(last_error(&task), (json!("EXECUTION_PROTOCOL"), json!("session")));
    assert_eq!(task.run(1)["sessionId"], "s-1");
    task.settle(1);
    // In the acknowledgement of a continuation, and in the lookup of a lost one.
    let other = json!({"sessionId": "s-2"});
    let error = task.continue_run(dispatch(2), [Answer::Says(with(acknowledgement(2), other))]).error();
    assert_eq!((error.code(), error.reason()), (UNKNOWN, Some("session")));
    let found = json!({"providerJobId": "j-2", "turnId": "t-2", "sessionId": "s-2", "state": "running",
        "observedAt": NOW, "events": []});
    pass(&task, [Answer::Says(found)]).ok();
    assert_eq!(task.run(2)["lastError"]["reason"], "session");
    assert_eq!(task.operation(2)["acceptance"], "unknown");
    // And in a result.
    let task = TaskRoot::new();
    task.accepted(1);
    let result = json!({"providerJobId": "j-1", "turnId": "t-1", "sessionId": "s-2", "inputHead": crate::support::task::HEAD,
        "outcome": {"finished": true, "ok": true, "cost": null, "denials": []}});
    pass(&task, [observation(json!({"state": "succeeded"})), Answer::Says(result)]).ok();
    assert_eq!(last_error(&task), (json!("EXECUTION_RESULT"), json!("session")));
    assert!(!task.exists("run-1/result.json"));
    // Nor is a cached one adopted: it is kept, and nothing of it is used.
    let cached = json!({"version": 1, "taskId": "t-1", "runId": "run-1", "provider": "prov", "providerJobId": "j-1",
        "turnId": "t-1", "sessionId": "s-2", "inputHead": crate::support::task::HEAD,
        "outcome": {"finished": true, "ok": true, "cost": 3, "denials": []}, "collectedAt": NOW});
    task.plant("run-1/result.json", cached.to_string());
    let ended = pass(&task, [Answer::Text("null".to_owned())]);
    assert_eq!(ended.calls[0].0, "collect", "the owned result is asked for");
    assert_eq!((&task.run(1)["collected"], &task.run(1)["costUsd"]), (&json!(false), &json!(null)));
    assert_eq!(task.text("run-1/result.json"), cached.to_string());
}

#[test]
fn ex_idn_10_the_first_valid_session_of_the_root_becomes_the_recorded_one() {
    let task = TaskRoot::new();
    task.submit(dispatch(1), [Answer::Says(json!({"providerJobId": "j-1", "turnId": "t-1"}))]).ok();
    assert_eq!(task.run(1)["sessionId"], json!(null));
    pass(&task, [observation(json!({"sessionId": null}))]).ok();
    pass(&task, [observation(json!({"sessionId": "s-9", "turnId": "t-9"}))]).ok();
    assert_eq!(task.run(1)["sessionId"], json!(null), "a foreign reply records nothing");
    pass(&task, [observation(json!({"sessionId": "s-7"}))]).ok();
    assert_eq!(task.run(1)["sessionId"], "s-7");
    pass(&task, [observation(json!({"sessionId": "s-8"}))]).ok();
    assert_eq!(task.run(1)["sessionId"], "s-7");
}

#[test]
fn ex_idn_11_the_session_that_a_continuation_sends_is_recorded_and_repeated_or_omitted() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    drop(task.continue_run(dispatch(2), [Answer::Dropped]));
    let run = task.run(2);
    assert_eq!(
        (&task.operation(2)["sessionId"], &run["sessionId"]),
        (&json!("s-1"), &json!("s-1")),
        "with the intent"
    );
    for acknowledged in [acknowledgement(2), json!({"providerJobId": "j-2", "turnId": "t-2"})] {
        let task = TaskRoot::new();
        task.accepted(1);
        task.settle(1);
        let value = task.continue_run(dispatch(2), [Answer::Says(acknowledged)]).ok();
        assert_eq!(
            (&value["acknowledgement"]["sessionId"], &task.run(2)["sessionId"]),
            (&json!("s-1"), &json!("s-1"))
        );
    }
}

#[test]
fn ex_idn_13_a_foreign_reply_authorises_no_continuation() {
    let task = TaskRoot::new();
    task.submit(dispatch(1), [Answer::Says(json!({"providerJobId": "j-1", "turnId": "t-1"}))]).ok();
    pass(&task, [observation(json!({"turnId": "t-9", "sessionId": "s-9", "state": "succeeded"}))]).ok();
    assert_eq!(task.refused(|task| task.continue_run(dispatch(2), [])).0, Code::ExecutionActive);
    task.settle(1);
    let refused = task.refused(|task| task.continue_run(dispatch(2), []));
    assert_eq!(refused, (Code::ExecutionOwnership, Some("session")));
}

#[test]
fn ex_idn_17_an_active_writer_from_before_the_ledger_fences_dispatch() {
    let mut task = TaskRoot::local();
    task.options["budgetUsd"] = json!(null);
    let input = || json!({"operationId": "op-1", "prompt": "p", "policy": "safe"});
    task.plant("latest-run", "old-run");
    task.plant("old-run/job.json", json!({"runId": "old-run", "sessionId": "s", "startedAt": 1}).to_string());
    let ended = task.submit(input(), []);
    let error = ended.error();
    assert_eq!((error.code(), error.run_id()), (Code::ExecutionActive, Some("old-run")));
    assert_eq!(task.refused(|task| task.continue_run(input(), [])).0, Code::ExecutionActive);
    assert!(!task.exists("execution.json"));
}

#[test]
fn ex_idn_21_ledger_and_job_record_keep_identities_exact() {
    // Each is equal to a secret, or looks like one.
    let key = "sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let mut task = TaskRoot::new();
    task.options["secrets"] = json!(["secret-job-name", "secret-turn-name", "secret-session"]);
    let acknowledged = json!({"providerJobId": "secret-job-name", "turnId": "secret-turn-name", "sessionId": "secret-session"});
    task.submit(dispatch(1), [Answer::Says(acknowledged.clone())]).ok();
    for run in [task.run(1), task.job(1)["execution"].clone(), task.operation(1)["acknowledgement"].clone()] {
        assert_eq!(with(run.clone(), acknowledged.clone()), run);
    }
    assert_eq!(task.job(1)["sessionId"], "secret-session");
    task.settle(1);
    let sent = task.continue_run(dispatch(2), accepts_in("secret-session")).input("continue");
    assert_eq!(
        (&sent["sessionId"], &sent["previous"]["providerJobId"]),
        (&json!("secret-session"), &json!("secret-job-name"))
    );
    let task = TaskRoot::new();
    task.submit(dispatch(1), [Answer::Says(json!({"providerJobId": key, "turnId": key, "sessionId": key}))])
        .ok();
    assert_eq!((&task.run(1)["providerJobId"], &task.job(1)["sessionId"]), (&json!(key), &json!(key)));
}

fn accepts_in(session: &str) -> [Answer; 1] {
    [Answer::Says(with(acknowledgement(2), json!({"sessionId": session})))]
}

#[test]
fn ex_idn_25_two_runs_never_share_a_job_and_root_turn() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    let error = task.submit(dispatch(2), accepts(1)).error();
    assert_eq!((error.code(), error.reason()), (UNKNOWN, Some("identity")));
    let found =
        json!({"providerJobId": "j-1", "turnId": "t-1", "state": "running", "observedAt": NOW, "events": []});
    pass(&task, [Answer::Says(found)]).ok();
    assert_eq!(task.operation(2)["acceptance"], "unknown", "nor by a lookup");
    let again = json!({"operationId": "op-2", "acknowledgement": acknowledgement(1), "evidence": "e"});
    assert_eq!(
        task.refused(|task| task.adopt(again)),
        (Code::ExecutionProtocol, Some("identity")),
        "nor by an operator"
    );
    // One of the two may be an earlier one's.
    let other = json!({"operationId": "op-2", "evidence": "e",
        "acknowledgement": {"providerJobId": "j-1", "turnId": "t-2"}});
    assert_eq!(task.adopt(other).ok()["acceptance"], "accepted");
}

#[test]
fn ex_cur_10_an_acknowledgement_with_an_invalid_cursor_is_rejected_and_a_lookup_recovers_it() {
    for cursor in [json!({}), json!(["c"]), json!("c".repeat(4095))] {
        let (task, refusal) = answered(with(acknowledgement(1), json!({"cursor": cursor})));
        assert_eq!(refusal, (UNKNOWN, Some("cursor")));
        assert_eq!(
            (&task.operation(1)["acceptance"], &task.run(1)["cursor"]),
            (&json!("unknown"), &json!(null))
        );
        let found = pass(&task, [observation(json!({"cursor": "c-1"}))]);
        assert_eq!(found.calls[0].0, "lookup");
        assert_eq!(
            (&task.operation(1)["acceptance"], &task.run(1)["cursor"]),
            (&json!("accepted"), &json!("c-1"))
        );
    }
}

#[test]
fn ex_cur_12_the_cursor_of_an_acknowledgement_is_the_first_of_its_run() {
    for cursor in ["\"\"", "false", "0", "\"c-1\"", "123456789012345678901234567890", "-1.5"] {
        let task = TaskRoot::new();
        let text = format!(r#"{{"providerJobId":"j-1","turnId":"t-1","cursor":{cursor}}}"#);
        task.submit(dispatch(1), [Answer::Text(text)]).ok();
        let saved = format!("\"cursor\":{cursor}");
        assert_eq!(task.text("execution.json").matches(&saved).count(), 2, "operation and run: {cursor}");
        let boundary = task.boundary();
        let mut machine = boundary.startup(AbortToken::new());
        let gallivant_core::execution::Step::Call(call) = machine.start() else { panic!("it asks") };
        assert_eq!(call.input.get("cursor").expect("a cursor").to_json(), cursor, "with its exact digits");
    }
    let task = TaskRoot::new();
    task.accepted(1);
    assert_eq!(task.run(1)["cursor"], json!(null));
}
