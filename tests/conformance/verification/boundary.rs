//! The sandbox and a boundary: EX-VER-39, EX-VER-40, EX-VER-42.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gallivant_core::execution::{
    AbortToken, Boundary, ExecutionOptions, HealthOptions, HealthScope, HealthStore, ProbeResult,
};
use gallivant_core::json::{Object, Value};
use gallivant_core::verification::SandboxCheck;
use gallivant_core::verification::running::Stop;
use gallivant_core::{Code, Error, Host, Result};
use serde_json::json;

use crate::support::NOW;
use crate::support::pass::{observation, result, says};
use crate::support::task::{
    Ended, TaskRoot, accepts, acknowledgement, dispatch, drive, object, remote_options, with,
};

/// A sandbox that works or does not, and counts how often it is asked.
#[derive(Debug, Default)]
struct Switch {
    is_broken: AtomicBool,
    asked: AtomicUsize,
}

fn evidence() -> Value {
    Value::parse(r#"{"driver":"bubblewrap","probe":{"status":"passed","n":12345678901234567890.5}}"#)
        .expect("JSON")
}

impl SandboxCheck for Switch {
    fn check(&self, _: &Host, stop: Stop<'_>) -> Result<Value> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.is_broken.load(Ordering::Relaxed) || stop() {
            let message = "the sandbox is not proved to work: the program is missing";
            return Err(Error::new(Code::ExecutionVerificationSandbox, message)
                .with_remedy("install it, then resume"));
        }
        Ok(evidence())
    }
}

struct Ground {
    task: TaskRoot,
    sandbox: Arc<Switch>,
    boundary: Boundary,
}

impl Ground {
    fn new(task: TaskRoot) -> Ground {
        let sandbox = Arc::new(Switch::default());
        let options = ExecutionOptions { sandbox: Some(sandbox.clone()), ..task.options() };
        let boundary = Boundary::new(options, task.machine.host()).expect("a boundary");
        Ground { task, sandbox, boundary }
    }

    fn breaks(&self) {
        self.sandbox.is_broken.store(true, Ordering::Relaxed);
    }

    fn asked(&self) -> usize {
        self.sandbox.asked.swap(0, Ordering::Relaxed)
    }

    fn submit(&self, input: &serde_json::Value, n: Option<u32>) -> Ended {
        let answers = n.map(accepts).into_iter().flatten();
        drive(self.boundary.submit(object(input), AbortToken::new()), &self.task, answers)
    }
}

#[test]
fn ex_ver_39_a_required_sandbox_is_asked_before_a_remote_dispatch() {
    let ground = Ground::new(TaskRoot::new());
    ground.breaks();
    let refused = ground.task.refused(|_| ground.submit(&dispatch(1), None));
    assert_eq!(refused, (Code::ExecutionVerificationSandbox, None));
    assert_eq!(ground.asked(), 1);
    assert!(!ground.task.exists("execution.json"), "no intent, and the words can be used again");
    // A cheaper check that fails is reported first, and the sandbox is not asked.
    let wrong = with(dispatch(1), json!({"reservationUsd": 900}));
    assert_eq!(ground.task.refused(|_| ground.submit(&wrong, None)).0, Code::ExecutionAllowance);
    assert_eq!(ground.asked(), 0);
    ground.sandbox.is_broken.store(false, Ordering::Relaxed);
    assert!(!ground.submit(&dispatch(1), Some(1)).ok()["reused"].as_bool().expect("a flag"));
    assert_eq!(ground.asked(), 1);
    // A known operation is answered from what is saved.
    assert!(ground.submit(&dispatch(1), None).ok()["reused"].as_bool().expect("a flag"));
    assert_eq!(ground.asked(), 0);
    // A caller's stop ends the question.
    let ground = Ground::new(TaskRoot::new());
    let token = AbortToken::new();
    let mut machine = ground.boundary.submit(object(&dispatch(1)), token.clone());
    token.abort();
    drop(drive_to_error(&mut machine));
    assert!(!ground.task.exists("execution.json"));
    // Nothing is asked where none is required, and none for what runs on this machine.
    let task = TaskRoot::new();
    assert!(task.options().sandbox.is_none());
    let local = Ground::new(TaskRoot::local());
    local.breaks();
    let input = json!({"operationId": "op-1", "prompt": "p", "policy": "safe"});
    let error = local.submit(&input, None).error();
    assert_ne!(error.code(), Code::ExecutionVerificationSandbox);
    assert_eq!(local.asked(), 0);
}

fn drive_to_error(machine: &mut gallivant_core::execution::Machine) -> Error {
    match machine.start() {
        gallivant_core::execution::Step::Done(done) => done.expect_err("refused"),
        gallivant_core::execution::Step::Call(call) => panic!("{}", call.method),
    }
}

#[test]
fn ex_ver_39_sandbox_required_is_an_option() {
    let options = |required: serde_json::Value| {
        let task = TaskRoot::new();
        let options = with(remote_options(), json!({"sandboxRequired": required}));
        ExecutionOptions::from_object(task.path(), &object(&options), task.faults.clone())
            .map(|options| options.sandbox.is_some())
            .map_err(|error| error.code())
    };
    assert_eq!(options(json!(true)), Ok(true));
    assert_eq!(options(json!(false)), Ok(false));
    assert_eq!(options(json!(null)), Ok(false));
    assert_eq!(options(json!("yes")), Err(Code::ExecutionInput));
    // Set, it is this machine's sandbox that decides, and what it decides is what readiness says.
    let mut task = TaskRoot::new();
    task.options["sandboxRequired"] = json!(true);
    let answers = if super::ground::sandbox_works() { Some(accepts(1)) } else { None };
    let submitted = task.submit(dispatch(1), answers.into_iter().flatten());
    if super::ground::sandbox_works() {
        submitted.ok();
    } else {
        assert_eq!(submitted.error().code(), Code::ExecutionVerificationSandbox);
    }
}

#[test]
fn ex_ver_40_passes_collection_and_stops_go_on_without_a_sandbox() {
    let ground = Ground::new(TaskRoot::new());
    ground.submit(&dispatch(1), Some(1)).ok();
    ground.breaks();
    ground.asked();
    let task = &ground.task;
    task.machine.advance_ms(10_000);
    let pass = |answers: Vec<crate::support::task::Answer>| {
        drive(ground.boundary.reconcile(true, AbortToken::new()), task, answers)
    };
    assert_eq!(pass(vec![says(observation(1, "running"))]).ok()["state"], "running");
    task.machine.advance_ms(400_000);
    let later = with(observation(1, "succeeded"), json!({"observedAt": NOW + 300_000}));
    let report = pass(vec![says(later), says(result(1))]).ok();
    assert_eq!(report["error"], json!(null));
    assert_eq!(task.run(1)["collected"], true);
    assert_eq!(ground.asked(), 0, "none of them asks");
    // The next dispatch does.
    let next = with(dispatch(2), json!({"sessionId": acknowledgement(1)["sessionId"]}));
    let refused = drive(ground.boundary.continue_run(object(&next), AbortToken::new()), task, []);
    assert_eq!(refused.error().code(), Code::ExecutionVerificationSandbox);
    // A stop of a live run.
    let ground = Ground::new(TaskRoot::new());
    ground.submit(&dispatch(1), Some(1)).ok();
    ground.breaks();
    let stop = json!({"reason": "enough", "controlId": "stop-1"});
    let stopped = drive(
        ground.boundary.cancel(object(&stop), AbortToken::new()),
        &ground.task,
        [says(json!({"confirmed": true}))],
    );
    assert_eq!(stopped.ok()["confirmed"], true);
}

#[test]
fn ex_ver_42_preparation_and_health_keep_the_evidence() {
    let reply = json!({"boundary": "text-only", "authority": "provider", "grant": {"token": "t"}});
    let question = json!({"operationId": "p-1", "phase": "draft", "prompt": "draft it", "model": "m-1", "environment": "env-1"});
    let ground = Ground::new(TaskRoot::new());
    let prepare = |answers: Vec<crate::support::task::Answer>| {
        drive(ground.boundary.prepare(object(&question), AbortToken::new()), &ground.task, answers)
    };
    ground.breaks();
    assert_eq!(ground.task.refused(|_| prepare(Vec::new())).0, Code::ExecutionVerificationSandbox);
    ground.sandbox.is_broken.store(false, Ordering::Relaxed);
    let prepared = prepare(vec![says(reply.clone())]).ok();
    assert_eq!(prepared["sandbox"]["driver"], "bubblewrap");
    assert_eq!(prepared["sandbox"]["probe"]["status"], "passed");
    let plain = TaskRoot::new().prepare(question.clone(), [says(reply)]).ok();
    assert!(plain.get("sandbox").is_none(), "none where none is required");

    let place = tempfile::tempdir().expect("a directory");
    let store = HealthStore::new(HealthOptions::new(place.path().join("health")), ground.task.machine.host());
    let store = store.expect("a store");
    let whole: Object = [("sandbox", evidence())].into_iter().collect();
    let scope = HealthScope::new("prov", "acct");
    store.record(&scope, ProbeResult::Success { evidence: Value::from(whole.clone()) }).expect("saved");
    let kept = store.health_status(&scope).expect("read").expect("a record");
    assert_eq!(kept.evidence, Value::from(whole), "digit for digit");
}
