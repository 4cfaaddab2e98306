//! The schema of `execution.json` and of `job.json`, fingerprints and keys: EX-LED-01 to EX-LED-15, EX-LED-73, EX-JRN-02.

use std::os::unix::fs::PermissionsExt;

use gallivant_core::Code;
use gallivant_core::execution::{AbortToken, FaultAnswer, Ledger, keys};
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::task::{
    Answer, HEAD, Points, TaskRoot, accepts, acknowledgement, dispatch, dispatch_with, drive, from_core,
    io_error,
};

const LEDGER: (Code, Option<&str>) = (Code::ExecutionProtocol, Some("ledger"));

fn keys_of(value: &Json) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn sorted(text: &str) -> Vec<&str> {
    let mut words: Vec<_> = text.split_whitespace().collect();
    words.sort_unstable();
    words
}

/// The ledger with one member changed refuses a submit, and stays byte for byte.
#[track_caller]
fn broken(change: impl FnOnce(&mut Json)) -> (Code, Option<&'static str>) {
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    task.edit(change);
    task.refused(|task| task.submit(dispatch(2), []))
}

#[test]
fn ex_led_01_the_ledger_has_these_members_and_no_other() {
    let task = TaskRoot::new();
    task.accepted(1);
    let ledger = task.ledger();
    let members = "version taskId provider account createdAt currentRunId operations executions stopFence allowance \
        preparations dispatchRefusals intakeDeadlineAt";
    assert_eq!(keys_of(&ledger), sorted(members));
    assert_eq!(keys_of(&ledger["allowance"]), ["budgetUsd", "chargedUsd"]);
    assert_eq!((&ledger["version"], &ledger["createdAt"]), (&json!(1), &json!(NOW)));
    task.machine.advance_ms(5000);
    task.settle(1);
    task.accepted(2);
    assert_eq!(task.ledger()["createdAt"], NOW, "the first write");
    for (key, wrong) in [
        ("taskId", json!(7)),
        ("provider", json!(null)),
        ("currentRunId", json!("run-9")),
        ("operations", json!([])),
        ("executions", json!(null)),
        ("allowance", json!({"budgetUsd": 8})),
        ("allowance", json!({"budgetUsd": -8, "chargedUsd": 0})),
        ("stopFence", json!({"kind": "whim", "scope": "local", "runId": null, "at": 1, "reason": "r"})),
        ("dispatchRefusals", json!({})),
        ("preparations", json!([])),
        ("intakeDeadlineAt", json!("soon")),
        ("createdAt", json!(-1)),
    ] {
        assert_eq!(broken(|ledger| ledger[key] = wrong), LEDGER, "{key}");
    }
}

#[test]
fn ex_led_02_an_operation_has_these_members() {
    let task = TaskRoot::new();
    task.accepted(1);
    let operation = task.operation(1);
    let members = "operationId runId sequence action kind phase inputFingerprint idempotencyKey intentAt inputHead \
        acceptance acceptedAt acknowledgement sessionId reservationUsd costUsd previousRunId preparation response \
        operatorAct";
    assert_eq!(keys_of(&operation), sorted(members));
    assert_eq!(keys_of(&operation["acknowledgement"]), sorted("providerJobId sessionId turnId cursor"));
    task.settle(1);
    task.accepted(2);
    assert_eq!(
        (&task.operation(2)["sequence"], &task.operation(2)["previousRunId"]),
        (&json!(2), &json!("run-1"))
    );
    for (key, wrong) in [
        ("operationId", json!("op-2")),
        ("runId", json!("run-2")),
        ("sequence", json!(0)),
        ("sequence", json!(1.5)),
        ("action", json!("start")),
        ("kind", json!("other")),
        ("phase", json!("final")),
        ("acceptance", json!("perhaps")),
        ("intentAt", json!(null)),
        ("reservationUsd", json!("0.5")),
        ("response", json!({})),
        ("operatorAct", json!({"act": "guess", "at": 1, "evidence": "e"})),
    ] {
        assert_eq!(broken(|ledger| ledger["operations"]["op-1"][key] = wrong), LEDGER, "{key}");
    }
}

#[test]
fn ex_led_03_the_metadata_of_a_run_has_these_members() {
    let task = TaskRoot::new();
    let echo = json!({"environment": "env-echoed", "model": null});
    let acknowledged = crate::support::task::with(acknowledgement(1), echo);
    task.submit(dispatch(1), [Answer::Says(acknowledged)]).ok();
    let run = task.run(1);
    let members = "runId operationId kind legacy transport receipt providerJobId sessionId turnId environment model policy \
        state terminalState startedAt observedAt reconciledAt nextAttemptAt terminalObservedAt completedAt collectedAt \
        completionInferred failures lastError cursor costUsd collected quarantined resultRejected absent controls \
        cancellation exitSnapshot workflow";
    assert_eq!(keys_of(&run), sorted(members));
    assert_eq!(run["startedAt"], task.operation(1)["intentAt"]);
    assert_eq!(
        (&run["environment"], &run["model"], &run["policy"]),
        (&json!("env-echoed"), &json!("m-1"), &json!("safe"))
    );
    for (key, wrong) in [
        ("runId", json!("run-2")),
        ("operationId", json!(null)),
        ("operationId", json!("op-9")),
        ("state", json!("asleep")),
        ("terminalState", json!("running")),
        ("failures", json!(-1)),
        ("controls", json!("stop-1")),
        ("collected", json!("yes")),
        ("costUsd", json!("1")),
        ("lastError", json!("EXECUTION_IO")),
    ] {
        assert_eq!(broken(|ledger| ledger["executions"]["run-1"][key] = wrong), LEDGER, "{key}");
    }
    // A run from before the ledger, and only that, has no operation.
    let task = TaskRoot::new();
    task.accepted(1);
    task.edit(|ledger| {
        let mut run = ledger["executions"]["run-1"].clone();
        (run["runId"], run["operationId"], run["legacy"]) = (json!("old"), json!(null), json!(true));
        ledger["executions"]["old"] = run;
    });
    assert_eq!(task.inspect()["runId"], "run-1");
}

#[test]
fn ex_led_04_a_new_remote_run_after_its_acceptance_is_the_example() {
    let task = TaskRoot::new();
    task.accepted(1);
    let hash = task.operation(1)["inputFingerprint"].clone();
    let key = keys::dispatch_key("t-1", "prov", "acct", "run-1", "op-1");
    // The example of the clause with the values of this run in it.
    let example = r#"{"version":1,"taskId":"t-1","provider":"prov","account":"acct","createdAt":<now>,
        "currentRunId":"run-1","stopFence":null,"preparations":{},"dispatchRefusals":[],
        "intakeDeadlineAt":null,"allowance":{"budgetUsd":8,"chargedUsd":0.5},
        "operations":{"op-1":{"operationId":"op-1","runId":"run-1","sequence":1,"action":"submit",
        "kind":"implementation","phase":null,"inputFingerprint":<hash>,"idempotencyKey":"<key>",
        "intentAt":<now>,"inputHead":"<revision>","acceptance":"accepted","acceptedAt":<now>,
        "acknowledgement":{"providerJobId":"j-1","sessionId":"s-1","turnId":"t-1","cursor":null},
        "sessionId":null,"reservationUsd":0.5,"costUsd":null,"previousRunId":null,"preparation":null,
        "response":null,"operatorAct":null}},
        "executions":{"run-1":{"runId":"run-1","operationId":"op-1","kind":"implementation","legacy":false,
        "transport":"managed-rest","receipt":null,"providerJobId":"j-1","sessionId":"s-1","turnId":"t-1",
        "environment":"env-1","model":"m-1","policy":"safe","state":"queued","terminalState":null,
        "startedAt":<now>,"observedAt":null,"reconciledAt":null,"nextAttemptAt":<next>,
        "terminalObservedAt":null,"completedAt":null,"collectedAt":null,"completionInferred":false,
        "failures":0,"lastError":null,"cursor":null,"costUsd":null,"collected":false,"quarantined":false,
        "resultRejected":false,"absent":false,"controls":[],"cancellation":null,"exitSnapshot":null,
        "workflow":null}}}"#;
    let (now, next) = (NOW.to_string(), (NOW + 10_000).to_string());
    let values = [
        ("<now>", &*now),
        ("<next>", &*next),
        ("<hash>", &hash.to_string()),
        ("<key>", &key),
        ("<revision>", HEAD),
    ];
    let example = values.iter().fold(example.to_owned(), |text, (name, value)| text.replace(name, value));
    assert_eq!(task.ledger(), serde_json::from_str::<Json>(&example).expect("JSON"));
    assert!(task.text("execution.json").contains("\"chargedUsd\":0.5"), "the shortest decimal number");
}

#[test]
fn ex_led_05_a_fence_has_kind_scope_run_time_and_reason() {
    for kind in ["operator", "preparation", "timeout"] {
        let task = TaskRoot::new();
        task.accepted(1);
        task.settle(1);
        let fence = json!({"kind": kind, "scope": "remote", "runId": "run-1", "at": NOW, "reason": "enough"});
        task.edit(|ledger| ledger["stopFence"] = fence.clone());
        assert_eq!(task.inspect()["stopFence"], fence);
        let error = task.submit(dispatch(2), []).error();
        assert_eq!((error.code(), error.run_id()), (Code::ExecutionFenced, Some("run-1")));
        assert!(error.message().contains(kind), "{error}");
    }
    let fence = |key: &str, value| {
        let mut fence = json!({"kind": "operator", "scope": "local", "runId": null, "at": 1, "reason": "r"});
        fence[key] = value;
        broken(|ledger| ledger["stopFence"] = fence)
    };
    for (key, value) in
        [("scope", json!("moon")), ("at", json!(null)), ("reason", json!(7)), ("runId", json!(7))]
    {
        assert_eq!(fence(key, value), LEDGER, "{key}");
    }
}

#[test]
fn ex_led_07_an_absent_ledger_is_an_empty_one_and_the_first_intent_writes_it() {
    let task = TaskRoot::new();
    let shown = task.inspect();
    assert_eq!(
        (&shown["taskId"], &shown["runId"], &shown["live"]),
        (&json!("t-1"), &json!(null), &json!(false))
    );
    assert!(!task.path().exists(), "reading creates nothing");
    let refused = task.refused(|task| task.submit(dispatch_with(1, json!({"policy": null})), []));
    assert_eq!(refused.0, Code::ExecutionCapability);
    assert!(!task.exists("execution.json"));
    task.accepted(1);
    assert!(task.exists("execution.json"));
    let task = TaskRoot::new();
    let input = json!({"operationId": "p-1", "phase": "draft", "prompt": "p", "model": "m-1"});
    let reply = json!({"boundary": "text-only", "authority": "provider", "grant": null});
    task.prepare(input, [Answer::Says(reply)]).ok();
    assert_eq!(task.ledger()["createdAt"], NOW, "the first receipt writes it too");
}

#[test]
fn ex_led_08_what_is_no_ledger_is_refused_before_any_call_and_kept() {
    for text in ["", "{", "[]", "null", "\"ledger\"", "{\"version\":1}", "{\"version\":1,\"version\":1}"] {
        let task = TaskRoot::new();
        task.plant("execution.json", text);
        assert_eq!(task.refused(|task| task.submit(dispatch(1), [])), LEDGER, "{text}");
        assert_eq!(task.boundary().inspect().expect_err(text).reason(), Some("ledger"));
        assert_eq!(task.text("execution.json"), text);
    }
    let task = TaskRoot::new();
    task.plant("execution.json", b"{\"version\":1,\"taskId\":\"\xff\"}");
    let error = task.submit(dispatch(1), []).error();
    assert_eq!((error.code(), error.reason()), LEDGER);
    assert!(error.remedy().contains("do not delete an intent"), "{}", error.remedy());
}

#[test]
fn ex_led_10_every_run_and_operation_stays_but_for_a_proven_refusal() {
    let task = TaskRoot::new();
    for n in 1..=12 {
        task.accepted(n);
        task.settle(n);
    }
    let ledger = task.ledger();
    assert_eq!(ledger["operations"].as_object().expect("an object").len(), 12);
    assert_eq!(ledger["executions"].as_object().expect("an object").len(), 12);
    let refusal = gallivant_core::execution::dispatch_not_sent_error("no-seat", "");
    task.submit(dispatch(13), [Answer::Fails(refusal)]).error();
    assert_eq!(task.ledger()["operations"], ledger["operations"]);
    assert_eq!(task.ledger()["executions"], ledger["executions"]);
}

#[test]
fn ex_led_11_the_job_record_has_the_same_metadata_and_is_written_after_the_ledger() {
    let mut task = TaskRoot::new();
    let points = Points::new("", || FaultAnswer::Go);
    task.faults = points.clone();
    task.accepted(1);
    assert_eq!(task.job(1)["execution"], task.run(1));
    let seen = points.seen();
    let at = |point: &str| {
        seen.iter().rposition(|seen| seen == point).unwrap_or_else(|| panic!("{point} in {seen:?}"))
    };
    assert!(at("persist:execution.json") < at("persist:run-1/job.json"), "{seen:?}");
    // What cannot be written is left to the next pass: the ledger is right.
    let mut task = TaskRoot::new();
    task.faults = Points::new("persist:run-1/job.json", || FaultAnswer::Fail);
    assert_eq!(task.accepted(1)["acceptance"], "accepted");
    assert!(!task.exists("run-1/job.json"));
    assert_eq!(task.inspect()["providerJobId"], "j-1");
    // Where the two differ the ledger wins, and the next pass writes the record again.
    task.faults = std::sync::Arc::new(gallivant_core::execution::NoFaults);
    for text in ["{}", "half a rec", "{\"execution\":{\"state\":\"failed\",\"turnId\":\"t-9\"},\"theirs\":1}"]
    {
        task.plant("run-1/job.json", text);
        let observed = json!({"state": "running", "observedAt": NOW, "events": []});
        let answer = Answer::Says(crate::support::task::with(acknowledgement(1), observed));
        drive(task.boundary().startup(AbortToken::new()), &task, [answer]).ok();
        assert_eq!(task.run(1)["turnId"], "t-1");
        assert_eq!(task.job(1)["execution"], task.run(1), "{text}");
    }
}

#[test]
fn ex_led_12_the_fingerprint_covers_what_is_asked_and_neither_money_nor_workflow() {
    let task = TaskRoot::new();
    let input = dispatch_with(1, json!({"workflow": {"round": 1}}));
    task.submit(input, accepts(1)).ok();
    let canonical = format!(
        r#"{{"action":"submit","environment":"env-1","inputHead":"{HEAD}","kind":"implementation","model":"m-1","policy":"safe","preparation":null,"prompt":"do it","response":null,"sessionId":null,"successorOf":null}}"#
    );
    let value = gallivant_core::json::Value::parse(&canonical).expect("JSON");
    let expected = keys::canonical_hash(&value).expect("hashed");
    assert_eq!(expected, "8f2552328364e246985438f806c805d651cb099cd8387f60815fac88861d7366");
    assert_eq!(task.operation(1)["inputFingerprint"], expected);
    let others = json!({"reservationUsd": 7, "hardCapUsd": 3, "workflow": [2]});
    assert_eq!(task.submit(dispatch_with(1, others), []).ok()["reused"], true);
    for (key, value) in [
        ("prompt", json!("do it ")),
        ("inputHead", json!("b".repeat(40))),
        ("policy", json!("other")),
        ("model", json!("m-2")),
        ("environment", json!(null)),
        ("successorOf", json!("run-0")),
    ] {
        let mut input = dispatch(1);
        input[key] = value;
        assert_eq!(task.refused(|task| task.submit(input, [])).0, Code::ExecutionConflict, "{key}");
    }
    // A known continue is compared by the session that was saved with it, whatever run is current by then.
    task.settle(1);
    task.continue_run(dispatch(2), accepts(2)).ok();
    task.settle(2);
    task.submit(
        dispatch(3),
        [Answer::Says(json!({"providerJobId": "j", "turnId": "t", "sessionId": "s-3"}))],
    )
    .ok();
    assert_eq!(task.continue_run(dispatch(2), []).ok()["reused"], true);
}

#[test]
fn ex_led_13_the_key_of_a_dispatch_is_the_same_after_any_restart() {
    let task = TaskRoot::new();
    let refusal = gallivant_core::execution::dispatch_not_sent_error("no-seat", "");
    let refused = task.submit(dispatch(1), [Answer::Fails(refusal)]);
    let key = refused.input("submit")["idempotencyKey"].clone();
    assert_eq!(key, keys::dispatch_key("t-1", "prov", "acct", "run-1", "op-1"));
    task.machine.advance_ms(1_000_000);
    let again = task.submit(dispatch_with(1, json!({"prompt": "something else"})), accepts(1));
    assert_eq!(again.input("submit")["idempotencyKey"], key, "it depends on nothing else");
    assert_eq!(task.operation(1)["idempotencyKey"], key);
}

#[test]
fn ex_led_49_the_workflow_is_saved_with_the_intent_and_given_back() {
    let task = TaskRoot::new();
    let input = r#"{"round":12345678901234567890123,"share":0.10,"note":null}"#;
    let workflow = gallivant_core::json::Value::parse(input).expect("JSON");
    let mut given = crate::support::task::object(&dispatch(1));
    given.insert("workflow", workflow.clone());
    let boundary = task.boundary();
    let machine = boundary.submit(given, gallivant_core::execution::AbortToken::new());
    let ended = crate::support::task::drive(machine, &task, [Answer::Fails(io_error())]);
    assert_eq!(ended.error().code(), Code::ExecutionAcceptanceUnknown);
    assert!(task.text("execution.json").contains(&format!("\"workflow\":{input}")), "digit for digit");
    let shown = task.boundary().inspect().expect("inspected");
    assert_eq!(shown.get("workflow"), Some(&workflow));
}

#[test]
fn ex_led_73_an_integer_that_not_every_language_reads_is_to_be_given_as_text() {
    let number = (Code::ExecutionInput, Some("number"));
    let task = TaskRoot::new();
    task.accepted(1);
    task.edit(|ledger| ledger["executions"]["run-1"]["state"] = json!("waiting-for-input"));
    let answer = |answer: Json| dispatch_with(2, json!({"response": {"signature": "q-1", "answer": answer}}));
    for too_large in ["9007199254740992", "-9007199254740992", "1e300"] {
        let too_large: Json = serde_json::from_str(too_large).expect("a number");
        assert_eq!(task.refused(|task| task.continue_run(answer(too_large), [])), number);
    }
    let grant = json!({"kind": "intake", "inputHead": null, "preparation": "text-only",
        "grant": {"deep": [{"n": 9_007_199_254_740_992_u64}]}});
    assert_eq!(
        task.refused(|task| task.submit(dispatch_with(2, grant), [])),
        number,
        "the input comes first"
    );
    task.continue_run(answer(json!([9_007_199_254_740_991_u64, "9007199254740992"])), accepts(2)).ok();
}

#[test]
fn ex_jrn_01_the_files_of_a_root_are_private() {
    let task = TaskRoot::new();
    task.accepted(1);
    let observed = json!({"state": "succeeded", "observedAt": NOW,
        "events": [{"eventId": "e-1", "sequence": 1, "type": "output", "timestamp": null, "data": "text"}]});
    let result = json!({"providerJobId": "j-1", "turnId": "t-1", "inputHead": HEAD,
        "outcome": {"finished": true, "ok": true, "cost": null, "denials": []}});
    let answers =
        [Answer::Says(crate::support::task::with(acknowledgement(1), observed)), Answer::Says(result)];
    drive(task.boundary().startup(AbortToken::new()), &task, answers).ok();
    let stop = crate::support::task::object(&json!({"reason": "r", "controlId": "c-1"}));
    drive(task.boundary().request_cancel(stop, AbortToken::new()), &task, []).ok();
    let mode =
        |path: &str| task.path().join(path).metadata().expect("it is there").permissions().mode() & 0o7777;
    let names: Vec<_> = task.tree().into_keys().collect();
    for name in names.iter().map(String::as_str).chain(["execution.lock", "publication.lock"]) {
        assert_eq!(mode(name), if name.ends_with('/') { 0o700 } else { 0o600 }, "{name}");
    }
    for name in [
        "controls/c-1.json",
        "execution.json",
        "run-1/events.jsonl",
        "run-1/job.json",
        "run-1/journal.json",
        "run-1/result.json",
    ] {
        assert!(names.iter().any(|found| found == name), "{name} in {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("staged") || name.contains(".tmp-")), "{names:?}");
}

#[test]
fn ex_jrn_02_a_job_record_has_these_members_and_keeps_others() {
    let task = TaskRoot::new();
    task.plant(
        "run-1/job.json",
        json!({"version": 1, "process": {"pid": 7}, "killAfter": 5, "theirs": [1]}).to_string(),
    );
    task.accepted(1);
    let job = task.job(1);
    let members = "version taskId runId operationId provider account kind startedAt endedAt completionInferred exit signal \
        sessionId execution process killAfter theirs";
    assert_eq!(keys_of(&job), sorted(members));
    assert_eq!(
        (&job["process"], &job["killAfter"], &job["theirs"]),
        (&json!({"pid": 7}), &json!(5), &json!([1]))
    );
    assert_eq!((&job["version"], &job["taskId"], &job["endedAt"]), (&json!(1), &json!("t-1"), &json!(null)));
    assert_eq!((&job["startedAt"], &job["sessionId"]), (&json!(NOW), &json!("s-1")));
}

#[test]
fn ex_led_58_every_call_gives_the_metadata_that_the_ledger_has() {
    let task = TaskRoot::new();
    assert_eq!(task.accepted(1)["execution"], task.run(1));
    assert_eq!(task.submit(dispatch(1), []).ok()["execution"], task.run(1));
    task.plant("run-1/job.json", json!({"execution": {"state": "failed"}}).to_string());
    assert_eq!(task.inspect()["execution"], task.run(1), "the ledger wins");
}

#[test]
fn ex_led_06_a_ledger_is_replaced_whole_under_the_lock() {
    // Writing in place would keep the file: a replacement is another one, made beside it, synced and renamed.
    let (host, simulation) = gallivant_core::testing::simulated_host(1);
    let options = gallivant_core::execution::ExecutionOptions::from_object(
        "/task",
        &crate::support::task::object(&crate::support::task::remote_options()),
        std::sync::Arc::new(gallivant_core::execution::NoFaults),
    );
    let boundary =
        gallivant_core::execution::Boundary::new(options.expect("options"), &host).expect("a boundary");
    let input = crate::support::task::object(&dispatch(1));
    let mut machine = boundary.submit(input, gallivant_core::execution::AbortToken::new());
    let gallivant_core::execution::Step::Call(_) = machine.start() else { panic!("it calls") };
    let trace = simulation.files.trace();
    let position = |what: &str| {
        trace.iter().position(|line| line.contains(what)).unwrap_or_else(|| panic!("{what}: {trace:#?}"))
    };
    assert!(position("try_lock") < position("-> execution.json"), "{trace:#?}");
    let renamed = position("-> execution.json");
    assert!(trace[..renamed].iter().any(|line| line.contains("sync")), "{trace:#?}");
    assert!(trace[renamed + 1].contains("sync"), "the directory is synced next: {trace:#?}");
    assert!(!trace.iter().any(|line| line.contains("write execution.json")), "{trace:#?}");
    assert!(
        simulation.files.lock_on("/task/execution.lock").expect("there").is_some(),
        "held during the call"
    );
    for image in simulation.files.images_after_crash() {
        let bytes = image.files.contents("/task/execution.json").expect("the intent is durable");
        let ledger = Ledger::parse(&bytes).expect("whole");
        assert_eq!(from_core(&ledger.current().expect("a run").to_value())["state"], "status-unknown");
    }
}
