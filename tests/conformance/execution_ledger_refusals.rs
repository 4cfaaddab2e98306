//! What refuses a dispatch, in which order, and that nothing is changed or called then: EX-LED-21 to EX-LED-26, EX-CAP-07,
//! EX-CAP-11, EX-CAP-12, EX-CUR-13, EX-CUR-15.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use gallivant_core::Code;
use gallivant_core::execution::{AbortToken, Boundary, Step};
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::locks::BRIEF_WAIT_MS;
use crate::support::task::{
    Answer, Ended, TaskRoot, accepts, acknowledgement, dispatch, dispatch_with, drive, io_error, object, with,
};

/// One broken rule: what it is called, how it is broken on disk, in the options, in the input, and what refuses.
struct Rule {
    name: &'static str,
    disk: fn(&TaskRoot),
    options: fn(&mut Json),
    input: fn(&mut Json),
    refusal: (Code, Option<&'static str>),
}

fn nothing(_: &TaskRoot) {}

fn as_it_is(_: &mut Json) {}

/// The rules of EX-LED-21 in its order, each broken by itself. Where two are broken, the earlier one is reported.
fn rules() -> Vec<Rule> {
    let rule = |name, disk, options, input, refusal| Rule { name, disk, options, input, refusal };
    vec![
        rule("input", nothing, as_it_is, |input| input["prompt"] = json!(null), (Code::ExecutionInput, None)),
        rule(
            "version",
            |task| task.edit(|ledger| ledger["version"] = json!(2)),
            as_it_is,
            as_it_is,
            (Code::ExecutionVersion, Some("ledger")),
        ),
        rule(
            "schema",
            |task| task.edit(|ledger| ledger["currentRunId"] = json!("run-77")),
            as_it_is,
            as_it_is,
            (Code::ExecutionProtocol, Some("ledger")),
        ),
        rule(
            "ownership",
            nothing,
            |options| options["taskId"] = json!("t-2"),
            as_it_is,
            (Code::ExecutionOwnership, None),
        ),
        rule(
            "cursor",
            |task| task.edit(|ledger| ledger["executions"]["run-1"]["cursor"] = json!({"page": 2})),
            as_it_is,
            as_it_is,
            (Code::ExecutionProtocol, Some("checkpoint-cursor")),
        ),
        rule(
            "run id",
            nothing,
            as_it_is,
            |input| input["runId"] = json!("run-1"),
            (Code::ExecutionConflict, None),
        ),
        rule("queued control", TaskRoot::plant_control, as_it_is, as_it_is, (Code::ExecutionFenced, None)),
        rule(
            "unresolved",
            |task| {
                task.edit(|ledger| {
                    ledger["operations"]["op-1"]["acceptance"] = json!("unknown");
                });
            },
            as_it_is,
            as_it_is,
            (Code::ExecutionUnresolved, None),
        ),
        rule(
            "active",
            |task| task.edit(|ledger| ledger["executions"]["run-1"]["collected"] = json!(false)),
            as_it_is,
            as_it_is,
            (Code::ExecutionActive, None),
        ),
        rule(
            "availability",
            nothing,
            |options| options["capabilities"]["newDispatch"]["available"] = json!(false),
            as_it_is,
            (Code::ExecutionCapability, Some("unavailable")),
        ),
        rule(
            "policy",
            nothing,
            as_it_is,
            |input| input["policy"] = json!("anything goes"),
            (Code::ExecutionCapability, Some("policy")),
        ),
        rule(
            "model",
            nothing,
            as_it_is,
            |input| input["model"] = json!(null),
            (Code::ExecutionCapability, Some("model")),
        ),
        rule(
            "environment",
            nothing,
            |options| options["capabilities"]["environments"]["allowed"] = json!(["env-2"]),
            as_it_is,
            (Code::ExecutionCapability, Some("environment")),
        ),
        rule(
            "receipt",
            nothing,
            as_it_is,
            |input| {
                input["kind"] = json!("intake");
                input["inputHead"] = json!(null);
            },
            (Code::ExecutionPreparation, None),
        ),
        rule(
            "output queue",
            |task| task.plant("local-output-queue.json", "{\"version\":1,\"runs\":7}"),
            as_it_is,
            as_it_is,
            (Code::ExecutionQueue, Some("output-state")),
        ),
        rule(
            "allowance",
            nothing,
            as_it_is,
            |input| input["reservationUsd"] = json!(0),
            (Code::ExecutionAllowance, Some("reservation")),
        ),
        rule(
            "health",
            nothing,
            |options| options["health"] = json!(null),
            as_it_is,
            (Code::ExecutionHealth, None),
        ),
    ]
}

/// The files of a task with one settled run.
fn settled() -> &'static BTreeMap<String, Vec<u8>> {
    static FILES: OnceLock<BTreeMap<String, Vec<u8>>> = OnceLock::new();
    FILES.get_or_init(|| {
        let task = TaskRoot::new();
        task.accepted(1);
        task.settle(1);
        task.tree()
    })
}

/// A task with one settled run, broken by these rules, and the refusal of its next submit.
fn refusal(broken: &[&Rule]) -> (Code, Option<&'static str>) {
    let mut task = TaskRoot::new();
    for (path, bytes) in settled().iter().filter(|(path, _)| !path.ends_with('/')) {
        task.plant(path, bytes);
    }
    // Later rules first: a version that is not supported hides whatever else is edited.
    for rule in broken.iter().rev() {
        (rule.disk)(&task);
        (rule.options)(&mut task.options);
    }
    let mut input = dispatch(2);
    for rule in broken {
        (rule.input)(&mut input);
    }
    task.refused(|task| task.submit(input, []))
}

pub(crate) fn pass(task: &TaskRoot, answers: impl IntoIterator<Item = Answer>) -> Ended {
    drive(task.boundary().startup(AbortToken::new()), task, answers)
}

#[test]
fn ex_led_21_the_first_broken_rule_is_reported() {
    let rules = rules();
    for (at, earlier) in rules.iter().enumerate() {
        for later in &rules[at + 1..] {
            let found = refusal(&[earlier, later]);
            assert_eq!(found, earlier.refusal, "{} before {}", earlier.name, later.name);
        }
    }
    // A lock that is held comes after the input and before the ledger.
    let mut task = TaskRoot::new();
    task.options["limits"] = json!({"lockWaitMs": BRIEF_WAIT_MS});
    task.accepted(1);
    task.edit(|ledger| ledger["version"] = json!(2));
    let held = task.hold("execution.lock");
    assert_eq!(task.refused(|task| task.submit(dispatch(2), [])).0, Code::ExecutionBusy);
    assert_eq!(
        task.refused(|task| task.submit(dispatch_with(2, json!({"prompt": 7})), [])).0,
        Code::ExecutionInput
    );
    drop(held);
    assert_eq!(task.refused(|task| task.submit(dispatch(2), [])).0, Code::ExecutionVersion);
    // A known operation comes before a fence, and the session of a continuation before the allowance.
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    task.plant_control();
    assert_eq!(task.submit(dispatch(1), []).ok()["reused"], true);
    std::fs::remove_file(task.path().join("controls/stop-1.json")).expect("removed");
    task.edit(|ledger| ledger["executions"]["run-1"]["sessionId"] = json!(null));
    let refused = task.refused(|task| task.continue_run(dispatch_with(2, json!({"reservationUsd": 0})), []));
    assert_eq!(refused, (Code::ExecutionOwnership, Some("session")));
}

#[test]
fn ex_led_26_every_refusal_leaves_the_tree_as_it_was_and_makes_no_call() {
    // `refusal` compares the whole tree but for the lock files, and fails on a call.
    for rule in rules() {
        assert_eq!(refusal(&[&rule]), rule.refusal, "{}", rule.name);
    }
    // The same input is accepted where nothing is broken.
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    task.accepted(2);
}

#[test]
fn the_input_of_a_dispatch_is_judged_by_its_shape() {
    let task = TaskRoot::new();
    for (key, wrong) in [
        ("operationId", json!(null)),
        ("operationId", json!("../op")),
        ("runId", json!(".run")),
        ("runId", json!(7)),
        ("kind", json!("other")),
        ("prompt", json!(null)),
        ("prompt", json!({})),
        ("inputHead", json!("A".repeat(40))),
        ("inputHead", json!("a".repeat(41))),
        ("policy", json!(["safe"])),
        ("model", json!(1)),
        ("environment", json!({})),
        ("hardCapRequired", json!("yes")),
        ("hardCapUsd", json!(-1)),
        ("grant", json!("g")),
        ("native", json!([])),
        ("successorOf", json!(1)),
        ("sessionId", json!(1)),
        ("preparation", json!("text-only")),
        ("response", json!({"signature": "s", "answer": 1})),
    ] {
        let refused = task.refused(|task| task.submit(with(dispatch(1), json!({key: wrong})), []));
        assert_eq!(refused.0, Code::ExecutionInput, "{key}");
    }
    for wrong in [json!({"signature": "", "answer": 1}), json!({"signature": "s"}), json!("s")] {
        let input = dispatch_with(1, json!({"response": wrong}));
        assert_eq!(task.refused(|task| task.continue_run(input, [])).0, Code::ExecutionInput);
    }
    assert!(!task.path().exists(), "not even the root is made");
    let ended = task.submit(
        json!({"operationId": "op-1", "prompt": "", "policy": "safe", "model": "m",
        "reservationUsd": 1}),
        accepts(1),
    );
    assert_eq!(ended.input("submit")["kind"], "implementation", "the default");
}

#[test]
fn ex_led_22_a_known_operation_is_reused_without_a_call_or_a_write() {
    let task = TaskRoot::new();
    let first = task.accepted(1);
    assert_eq!(first["reused"], false);
    let before = task.tree();
    let again = task.submit(dispatch(1), []).ok();
    assert_eq!(again, with(first, json!({"reused": true})));
    assert!(before == task.tree());
    let task = TaskRoot::new();
    task.lost(1);
    let before = task.tree();
    let ended = task.submit(dispatch(1), []);
    assert!(ended.calls.is_empty());
    let error = ended.error();
    assert_eq!(error.code(), Code::ExecutionAcceptanceUnknown);
    assert_eq!((error.operation_id(), error.run_id()), (Some("op-1"), Some("run-1")));
    assert!(before == task.tree());
}

#[test]
fn ex_led_23_a_known_operation_with_another_input_or_run_conflicts() {
    let task = TaskRoot::new();
    task.accepted(1);
    for changes in [json!({"prompt": "do more"}), json!({"runId": "run-2"}), json!({"runId": null})] {
        let refused = task.refused(|task| task.submit(dispatch_with(1, changes.clone()), []));
        assert_eq!(refused, (Code::ExecutionConflict, None), "{changes}");
    }
    assert_eq!(task.refused(|task| task.continue_run(dispatch(1), [])).0, Code::ExecutionConflict);
}

#[test]
fn ex_led_24_reuse_works_after_settling_under_a_fence_and_beside_a_later_run() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    assert_eq!(task.submit(dispatch(1), []).ok()["reused"], true, "settled");
    task.accepted(2);
    assert_eq!(task.submit(dispatch(1), []).ok()["acknowledgement"]["providerJobId"], "j-1", "a later run");
    task.edit(|ledger| {
        ledger["stopFence"] =
            json!({"kind": "operator", "scope": "remote", "runId": null, "at": 1, "reason": "r"});
    });
    let again = Boundary::new(task.options(), task.machine.host()).expect("another process");
    let mut machine = again.submit(object(&dispatch(1)), AbortToken::new());
    let Step::Done(Ok(reused)) = machine.start() else { panic!("it is reused") };
    assert_eq!(reused.get("reused").and_then(gallivant_core::json::Value::as_bool), Some(true), "fenced");
}

#[test]
fn ex_led_25_a_run_id_is_used_once() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    let refused = task.refused(|task| task.submit(dispatch_with(2, json!({"runId": "run-1"})), []));
    assert_eq!(refused, (Code::ExecutionConflict, None));
    // Also before a fence: the id will never do.
    task.plant_control();
    let refused = task.refused(|task| task.submit(dispatch_with(2, json!({"runId": "run-1"})), []));
    assert_eq!(refused, (Code::ExecutionConflict, None));
}

#[test]
fn ex_cap_07_capabilities_are_checked_before_any_intent_and_any_call() {
    for (changes, reason) in [
        (json!({"policy": "other"}), "policy"),
        (json!({"model": ""}), "model"),
        (json!({"environment": ""}), "environment"),
        (json!({"hardCapRequired": true}), "hard-cap"),
    ] {
        let task = TaskRoot::new();
        let refused = task.refused(|task| task.submit(dispatch_with(1, changes), []));
        assert_eq!(refused, (Code::ExecutionCapability, Some(reason)));
        assert!(!task.exists("execution.json"), "{reason}");
    }
}

#[test]
fn ex_cap_11_a_refusal_tries_nothing_else_and_changes_no_default() {
    let mut task = TaskRoot::new();
    task.options["capabilities"]["environments"] = json!({"required": true, "allowed": ["env-1", "env-2"]});
    let before = task.options.clone();
    for changes in [json!({"environment": "env-3"}), json!({"policy": "wild"}), json!({"model": null})] {
        task.refused(|task| task.submit(dispatch_with(1, changes), []));
    }
    assert_eq!(task.options, before);
    let sent = task.submit(dispatch(1), accepts(1)).input("submit");
    for (key, value) in [("environment", "env-1"), ("policy", "safe"), ("model", "m-1"), ("account", "acct")]
    {
        assert_eq!(sent[key], value, "as it was chosen");
    }
}

#[test]
fn ex_cap_12_without_new_dispatch_owned_work_is_still_looked_after() {
    let mut task = TaskRoot::new();
    task.lost(1);
    task.options["capabilities"]["newDispatch"] = json!({"available": false, "reason": "closed"});
    let unavailable = (Code::ExecutionCapability, Some("unavailable"));
    let adopted = json!({"operationId": "op-1", "acknowledgement": acknowledgement(1), "evidence": "seen"});
    assert_eq!(task.adopt(adopted).ok()["acceptance"], "accepted");
    assert_eq!(task.submit(dispatch(1), []).ok()["reused"], true);
    assert_eq!(task.inspect()["providerJobId"], "j-1");
    let observed = json!({"state": "running", "observedAt": NOW, "events": []});
    let called = pass(&task, [Answer::Says(with(acknowledgement(1), observed))]).calls;
    assert_eq!(called[0].0, "inspect");
    let observed = json!({"state": "succeeded", "observedAt": NOW, "events": []});
    let called =
        pass(&task, [Answer::Says(with(acknowledgement(1), observed)), Answer::Fails(io_error())]).calls;
    assert_eq!(called[1].0, "collect");
    let stop = object(&json!({"reason": "r", "controlId": "c-1"}));
    assert_eq!(drive(task.boundary().cancel(stop, AbortToken::new()), &task, []).ok()["terminal"], true);
    task.edit(|ledger| ledger["stopFence"] = json!(null));
    task.settle(1);
    assert_eq!(task.refused(|task| task.submit(dispatch(2), [])), unavailable);
    assert_eq!(task.refused(|task| task.continue_run(dispatch(2), [])), unavailable);
    let prepare = json!({"operationId": "p", "phase": "draft", "prompt": "p", "model": "m"});
    assert_eq!(task.refused(|task| task.prepare(prepare, [])), unavailable);
}

#[test]
fn ex_cur_13_a_saved_cursor_that_is_invalid_refuses_before_any_call() {
    let long = "c".repeat(4096);
    for cursor in [json!({}), json!([1]), json!(long)] {
        for pointer in ["/executions/run-1/cursor", "/operations/op-1/acknowledgement/cursor"] {
            let task = TaskRoot::new();
            task.accepted(1);
            task.settle(1);
            task.edit(|ledger| *ledger.pointer_mut(pointer).expect("a cursor") = cursor.clone());
            let refusal = (Code::ExecutionProtocol, Some("checkpoint-cursor"));
            assert_eq!(task.refused(|task| task.submit(dispatch(2), [])), refusal, "{pointer}");
            assert_eq!(task.refused(|task| task.continue_run(dispatch(2), [])), refusal, "{pointer}");
            let token = AbortToken::new;
            let stop = || object(&json!({"reason": "r"}));
            assert_eq!(task.refused(|t| drive(t.boundary().startup(token()), t, [])), refusal, "{pointer}");
            assert_eq!(
                task.refused(|t| drive(t.boundary().reconcile(false, token()), t, [])),
                refusal,
                "{pointer}"
            );
            let run = || "run-1".to_owned();
            assert_eq!(
                task.refused(|t| drive(t.boundary().collect(run(), token()), t, [])),
                refusal,
                "{pointer}"
            );
            assert_eq!(
                task.refused(|t| drive(t.boundary().cancel(stop(), token()), t, [])),
                refusal,
                "{pointer}"
            );
        }
    }
}

#[test]
fn ex_cur_15_a_cursor_of_a_settled_run_is_checked_as_well() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    task.accepted(2);
    task.settle(2);
    task.edit(|ledger| ledger["executions"]["run-1"]["cursor"] = json!({"of": "an earlier run"}));
    let refused = task.refused(|task| task.submit(dispatch(3), []));
    assert_eq!(refused, (Code::ExecutionProtocol, Some("checkpoint-cursor")));
}
