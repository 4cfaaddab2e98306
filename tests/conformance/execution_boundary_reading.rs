//! What may be read of a task, and the boundary of a root that exists: EX-BND-10, EX-BND-16, EX-BND-18, EX-BND-19,
//! EX-BND-21 to EX-BND-23, EX-BND-26, EX-BND-31, EX-CAP-20.

use gallivant_core::Code;
use gallivant_core::execution::{
    AbortToken, Adapter, Boundary, Capability, ExecutionRegistry, Step, execution_live, execution_runner,
};
use gallivant_core::json::Value;
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::task::{
    Answer, TaskRoot, accepts, acknowledgement, dispatch, drive, from_core, io_error, object, remote_options,
    with,
};

#[test]
fn ex_bnd_10_inspect_is_a_cached_read() {
    let task = TaskRoot::new();
    task.accepted(1);
    let before = task.tree();
    let operations = task.machine.operations().len();
    let shown = task.inspect();
    assert_eq!(shown["providerJobId"], "j-1");
    assert!(before == task.tree());
    let made = task.machine.operations().split_off(operations);
    assert!(
        !made.iter().any(|line| line.contains("lock") || line.contains("write") || line.contains("create")),
        "{made:?}"
    );
}

/// What this gives of a settled run.
fn outcome(task: &TaskRoot, n: u32) -> Json {
    from_core(&task.boundary().outcome(&format!("run-{n}")).expect("it is known"))
}

#[test]
fn ex_bnd_16_the_outcome_of_a_settled_run() {
    let task = TaskRoot::new();
    task.accepted(1);
    assert_eq!(outcome(&task, 1), json!(null), "unsettled");
    task.settle(1);
    assert_eq!(outcome(&task, 1), json!(null), "its result is missing, and is collected again");
    let result = json!({"version": 1, "taskId": "t-1", "runId": "run-1", "providerJobId": "j-1", "turnId": "t-1",
        "outcome": {"finished": true, "ok": true, "cost": 0.25, "denials": [{"tool": "sh"}], "exit": 0}});
    task.plant("run-1/result.json", result.to_string());
    task.edit(|ledger| {
        ledger["operations"]["op-1"]["costUsd"] = json!(0.1);
        ledger["executions"]["run-1"]["completedAt"] = json!(NOW);
    });
    let expected = json!({"finished": true, "ok": true, "exit": 0, "cost": 0.25, "denials": [{"tool": "sh"}],
        "resultRejected": false, "quarantined": false, "providerState": "succeeded", "completedAt": NOW,
        "completionInferred": false, "absent": false});
    assert_eq!(outcome(&task, 1), expected);
    // The greater of what the result and the operation say, also while another run is current.
    task.edit(|ledger| ledger["operations"]["op-1"]["costUsd"] = json!(0.75));
    task.accepted(2);
    assert_eq!(outcome(&task, 1), with(expected.clone(), json!({"cost": 0.75})));
    // A result whose identity was rewritten is not the run's own.
    task.plant("run-1/result.json", with(result, json!({"turnId": "[redacted]"})).to_string());
    assert_eq!(outcome(&task, 1), json!(null));
    task.edit(|ledger| {
        let run = &mut ledger["executions"]["run-1"];
        (run["resultRejected"], run["collected"]) = (json!(true), json!(false));
    });
    let rejected = outcome(&task, 1);
    assert_eq!(
        (&rejected["ok"], &rejected["resultRejected"], &rejected["denials"]),
        (&json!(false), &json!(true), &json!([]))
    );
    let boundary = task.boundary();
    assert_eq!(boundary.outcome("run-9").expect_err("none").code(), Code::ExecutionUnknownRun);
    assert_eq!(boundary.outcome("a/b").expect_err("none").code(), Code::ExecutionInput);
}

fn live(value: Json) -> bool {
    execution_live(&Value::parse(&value.to_string()).expect("JSON"))
}

#[test]
fn ex_bnd_18_only_a_settled_run_is_not_live() {
    let task = TaskRoot::new();
    task.accepted(1);
    let run = task.run(1);
    assert!(live(run.clone()) && live(task.job(1)), "metadata, and a raw job record with it");
    for state in ["queued", "running", "retrieving-results", "succeeded", "failed", "status-unknown"] {
        assert!(live(with(run.clone(), json!({"state": state, "terminalState": "succeeded"}))), "{state}");
    }
    for settled in [
        json!({"collected": true}),
        json!({"resultRejected": true}),
        json!({"absent": true}),
        json!({"state": "cancelled"}),
    ] {
        let run = with(run.clone(), settled.clone());
        assert!(!live(run.clone()), "{settled}");
        assert!(!live(with(task.job(1), json!({"execution": run}))), "{settled}");
    }
    // A local run from before the ledger has ended when its end is recorded.
    let old = json!({"runId": "run-1", "provider": "claude", "process": {"pid": 7}, "startedAt": 1, "endedAt": null});
    assert!(live(old.clone()));
    assert!(!live(with(old, json!({"endedAt": 2}))));
}

#[test]
fn ex_bnd_19_an_existing_run_keeps_its_transport_whatever_is_configured_now() {
    let registry = ExecutionRegistry::new().expect("a registry");
    let register = |provider: &str, transport: &str| {
        let record = with(
            remote_options()["capabilities"].clone(),
            json!({"provider": provider, "transport": transport}),
        );
        let record =
            Capability::from_value(Value::parse(&record.to_string()).expect("JSON")).expect("a record");
        let methods = Adapter::Transport(gallivant_core::execution::contract::Methods::all());
        registry.register(record, Some(methods), &[]).expect("registered");
    };
    register("prov", "managed-rest");
    register("other", "cloud-cli");
    let configured = |task: &TaskRoot| {
        let mut options = task.options();
        options.provider = "other".to_owned();
        options.account = "elsewhere".to_owned();
        options
    };
    let provider = |boundary: &Boundary| from_core(&boundary.capabilities())["provider"].clone();
    let task = TaskRoot::new();
    task.accepted(1);
    let boundary = execution_runner(configured(&task), &registry, task.machine.host()).expect("the ledger's");
    assert_eq!(provider(&boundary), "prov");
    let ended = drive(boundary.submit(object(&dispatch(1)), AbortToken::new()), &task, []);
    assert_eq!(ended.ok()["reused"], true, "it owns the task");
    // A ledger without a run records no kind: the saved provider's record has it.
    let prepared = TaskRoot::new();
    let ask = json!({"operationId": "p", "phase": "draft", "prompt": "p", "model": "m"});
    let reply = json!({"boundary": "text-only", "authority": "provider"});
    prepared.prepare(ask, [Answer::Says(reply)]).ok();
    let boundary =
        execution_runner(configured(&prepared), &registry, prepared.machine.host()).expect("saved");
    assert_eq!(provider(&boundary), "prov");
    // Without a ledger it is the job record of the current local run.
    let old = TaskRoot::new();
    old.plant("latest-run", "old-run");
    old.plant(
        "old-run/job.json",
        json!({"provider": "other", "execution": {"transport": "cloud-cli"}}).to_string(),
    );
    let boundary = execution_runner(old.options(), &registry, old.machine.host()).expect("the job record's");
    assert_eq!(provider(&boundary), "other");
    // A kind that is not the registered one is not replaced by it, and a provider that nobody knows has no stand-in.
    task.edit(|ledger| ledger["executions"]["run-1"]["transport"] = json!("older-rest"));
    let error =
        execution_runner(configured(&task), &registry, task.machine.host()).expect_err("another kind");
    assert_eq!(error.code(), Code::ExecutionDependency);
    old.plant("old-run/job.json", json!({"provider": "nobody"}).to_string());
    let error = execution_runner(old.options(), &registry, old.machine.host()).expect_err("nobody");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionCapability, Some("unavailable")));
    // Of a root in which nothing is saved the options stand.
    let fresh = TaskRoot::new();
    let boundary = execution_runner(fresh.options(), &registry, fresh.machine.host()).expect("the options");
    assert_eq!(provider(&boundary), "prov");
    assert!(!fresh.path().exists());
}

#[test]
fn ex_tra_09_no_read_calls_anybody() {
    // Whoever reads gets an answer and never a machine: there is nothing that could call.
    let task = TaskRoot::new();
    task.accepted(1);
    let boundary = task.boundary();
    let reads = [
        "inspect",
        "outcome",
        "current",
        "read",
        "dirOf",
        "resultView",
        "capabilities",
        "healthStatus",
        "check",
        "isDue",
    ];
    for method in reads {
        let input = object(&json!({"runId": "run-1"}));
        let called = boundary.call(method, input, AbortToken::new());
        let is_answer = matches!(called, Ok(gallivant_core::execution::Called::Answer(_)));
        assert!(is_answer, "{method}: {called:?}");
    }
}

#[test]
fn ex_bnd_20_a_read_writes_nothing_takes_no_lock_and_calls_nobody() {
    let task = TaskRoot::new();
    task.submit(
        with(dispatch(1), json!({"kind": "intake", "inputHead": null, "preparation": "text-only"})),
        accepts(1),
    )
    .ok();
    // Somebody holds the lock all the while.
    let kept = task.boundary();
    let mut machine = kept.cancel(object(&json!({"reason": "r"})), AbortToken::new());
    let Step::Call(_) = machine.start() else { panic!("it calls") };
    let before = task.tree();
    let operations = task.machine.operations().len();
    let boundary = task.boundary();
    boundary.inspect().expect("read");
    boundary.outcome("run-1").expect("read");
    boundary.read("run-1").expect("read");
    boundary.dir_of("run-1").expect("named");
    boundary.preparation_status("run-1").expect("read");
    boundary.judge_preparation("run-1").expect("read");
    let _ = boundary.capabilities();
    boundary.current().expect("read");
    boundary.result_view("run-1").expect("read");
    boundary.check("run-1").expect("read");
    boundary.health_status().expect("read");
    let lines = gallivant_core::journal::LogReader::open(
        boundary.dir_of("run-1").expect("named"),
        task.machine.host(),
    );
    let lines = lines.expect("read");
    lines.tail().expect("read");
    let _ = lines.history("1");
    lines.lines(None, 10).expect("read");
    assert!(before == task.tree());
    let made = task.machine.operations().split_off(operations);
    let changes = ["lock", "write", "create", "mkdir", "rename", "exchange", "remove", "sync"];
    assert!(!made.iter().any(|line| changes.iter().any(|change| line.contains(change))), "{made:?}");
}

#[test]
fn ex_bnd_21_the_projection_has_these_members() {
    let members = [
        "taskId",
        "runId",
        "provider",
        "account",
        "kind",
        "acceptance",
        "state",
        "terminalState",
        "terminalObservedAt",
        "observedAt",
        "completedAt",
        "completionInferred",
        "reconciledAt",
        "nextAttemptAt",
        "failures",
        "lastError",
        "recovery",
        "costUsd",
        "collected",
        "collectedAt",
        "quarantined",
        "resultRejected",
        "cancellation",
        "stopFence",
        "live",
        "sessionId",
        "providerJobId",
        "turnId",
    ];
    let task = TaskRoot::new();
    for has_run in [false, true] {
        if has_run {
            task.accepted(1);
        }
        let shown = task.inspect();
        for member in members {
            assert!(shown.get(member).is_some(), "{member}");
        }
    }
    let (shown, run) = (task.inspect(), task.run(1));
    for member in members.iter().filter(|member| run.get(**member).is_some()) {
        assert_eq!(shown[member], run[member], "{member}");
    }
    assert_eq!(
        (&shown["acceptance"], &shown["live"], &shown["recovery"]),
        (&json!("accepted"), &json!(true), &json!(null))
    );
}

#[test]
fn ex_bnd_22_after_a_failure_the_last_accepted_state_and_time_are_shown() {
    let task = TaskRoot::new();
    task.accepted(1);
    let observation = |at: u64, state: &str| {
        Answer::Says(with(acknowledgement(1), json!({"state": state, "observedAt": at, "events": []})))
    };
    let pass = |answer| drive(task.boundary().startup(AbortToken::new()), &task, [answer]);
    task.machine.advance_ms(1000);
    pass(observation(NOW + 500, "running")).ok();
    task.machine.advance_ms(1000);
    for answer in
        [observation(NOW + 1_000_000, "failed"), observation(NOW + 400, "queued"), Answer::Fails(io_error())]
    {
        pass(answer).ok();
        let shown = task.inspect();
        assert_eq!((&shown["state"], &shown["observedAt"]), (&json!("running"), &json!(NOW + 500)));
        assert!(shown["failures"].as_u64().expect("a number") > 0 && !shown["lastError"].is_null());
        assert!(
            shown["nextAttemptAt"].as_u64().expect("ms") > NOW + 2000 && shown["recovery"].is_string(),
            "{shown}"
        );
    }
}

#[test]
fn ex_bnd_23_a_remote_projection_without_both_identities_is_live() {
    let raw = |changes: Json| {
        with(
            json!({"provider": "prov", "state": "succeeded", "collected": true, "terminalState": "succeeded"}),
            changes,
        )
    };
    for identities in [
        json!({}),
        json!({"providerJobId": "j"}),
        json!({"turnId": "t"}),
        json!({"providerJobId": "", "turnId": "t"}),
    ] {
        assert!(live(raw(identities.clone())), "{identities}");
    }
    assert!(!live(raw(json!({"providerJobId": "j", "turnId": "t"}))));
    assert!(
        !live(raw(json!({"process": {"pid": 7}, "providerJobId": "run-1"}))),
        "a local run needs no root turn"
    );
}

#[test]
fn ex_bnd_26_reading_a_job_record_repairs_nothing() {
    let task = TaskRoot::new();
    let boundary = task.boundary();
    assert_eq!(boundary.read("run-1").expect("no root"), None);
    task.accepted(1);
    assert_eq!(boundary.read("run-2").expect("no run"), None);
    let read = boundary.read("run-1").expect("read").expect("there");
    assert_eq!(from_core(&Value::Object(read)), task.job(1));
    task.plant("run-1/job.json", "{\"execution\":{\"state\":\"failed\"},\"theirs\":0.10}");
    let before = task.tree();
    let read = boundary.read("run-1").expect("read").expect("there");
    assert_eq!(read.get("theirs").expect("kept").to_json(), "0.10");
    assert!(before == task.tree(), "it differs from the ledger, and stays");
    task.plant("run-1/job.json", "half of a rec");
    assert_eq!(boundary.read("run-1").expect_err("no JSON").reason(), Some("shape"));
    assert_eq!(task.text("run-1/job.json"), "half of a rec");
    let old = TaskRoot::new();
    old.plant("old/job.json", "{\"endedAt\":5}");
    assert!(old.boundary().read("old").expect("from before the ledger").is_some());
}

#[test]
fn ex_bnd_31_a_runs_directory_is_named_and_an_unsafe_id_is_refused() {
    let task = TaskRoot::new();
    assert_eq!(task.boundary().dir_of("run-1").expect("safe"), task.path().join("run-1"));
    assert!(!task.path().exists());
    for id in ["", ".", "..", "../x", "a/b", "/etc", ".hidden", "a\0b", "a b", "ä", &"x".repeat(129)] {
        assert_eq!(task.boundary().dir_of(id).expect_err(id).code(), Code::ExecutionInput, "{id}");
        assert_eq!(task.boundary().read(id).expect_err(id).code(), Code::ExecutionInput, "{id}");
    }
}

#[test]
fn ex_cap_20_an_unknown_cost_is_null_everywhere() {
    let task = TaskRoot::new();
    let submitted = task.accepted(1);
    assert_eq!(submitted["execution"]["costUsd"], json!(null));
    assert_eq!((&task.operation(1)["costUsd"], &task.run(1)["costUsd"]), (&json!(null), &json!(null)));
    assert_eq!(
        (&task.inspect()["costUsd"], &task.job(1)["execution"]["costUsd"]),
        (&json!(null), &json!(null))
    );
    task.settle(1);
    let result =
        json!({"version": 1, "outcome": {"finished": true, "ok": true, "cost": null, "denials": []}});
    task.plant("run-1/result.json", result.to_string());
    assert_eq!(outcome(&task, 1)["cost"], json!(null));
    task.plant(
        "run-1/result.json",
        with(result, json!({"outcome": {"finished": true, "ok": true, "cost": 0}})).to_string(),
    );
    assert_eq!(outcome(&task, 1)["cost"], 0, "0 is a report");
}
