//! What a boundary is made of beside its task: the sandbox that a remote dispatch may need (EX-BND-04, EX-VER-38, EX-VER-39).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use gallivant_core::execution::{AbortToken, Boundary, ExecutionOptions, NoFaults};
use gallivant_core::json::Value;
use gallivant_core::verification::SandboxCheck;
use gallivant_core::{Code, Error, Host};
use serde_json::json;

use crate::support::pass::{observation, says};
use crate::support::task::{
    Answer, Ended, TaskRoot, acknowledgement, dispatch, drive, object, remote_options, with,
};

/// A sandbox that says what it is told to, and how often it was asked.
#[derive(Debug, Default)]
struct Sandbox {
    asked: AtomicUsize,
    fails: Mutex<Option<Code>>,
    /// Fired while the check runs.
    stops: Option<AbortToken>,
}

impl SandboxCheck for Sandbox {
    fn check(&self, _: &Host, is_stopped: &dyn Fn() -> bool) -> Result<Value, Error> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if let Some(token) = &self.stops {
            token.abort();
            assert!(is_stopped());
        }
        match *self.fails.lock().expect("no panic") {
            Some(code) => Err(Error::new(code, "namespaces are restricted").with_remedy("allow namespaces")),
            None => Ok(Value::Null),
        }
    }
}

fn needing(task: &TaskRoot, sandbox: Arc<Sandbox>) -> Boundary {
    let options = ExecutionOptions { sandbox: Some(sandbox), ..task.options() };
    Boundary::new(options, task.machine.host()).expect("a boundary")
}

fn submitted(task: &TaskRoot, boundary: &Boundary, answers: impl IntoIterator<Item = Answer>) -> Ended {
    drive(boundary.submit(object(&dispatch(1)), AbortToken::new()), task, answers)
}

#[test]
fn ex_bnd_04_a_dispatch_that_needs_a_sandbox_waits_for_its_proof() {
    let task = TaskRoot::new();
    let sandbox = Arc::new(Sandbox::default());
    let boundary = needing(&task, Arc::clone(&sandbox));
    for code in [Code::ExecutionVerificationSandbox, Code::ExecutionIo, Code::Internal] {
        *sandbox.fails.lock().expect("no panic") = Some(code);
        let before = task.tree();
        let ended = submitted(&task, &boundary, []);
        assert!(ended.calls.is_empty() && before == task.tree(), "a refusal changes nothing");
        let error = ended.error();
        assert_eq!(error.code(), Code::ExecutionVerificationSandbox, "{code:?}");
        // This system's own remedy reaches the caller.
        assert_eq!(error.remedy() == "allow namespaces", code == Code::ExecutionVerificationSandbox);
    }
    *sandbox.fails.lock().expect("no panic") = None;
    submitted(&task, &boundary, [Answer::Says(acknowledgement(1))]).ok();
    assert_eq!(sandbox.asked.load(Ordering::Relaxed), 4);
    // A known operation needs none, and no pass, collection or stop ever does (EX-VER-40).
    *sandbox.fails.lock().expect("no panic") = Some(Code::ExecutionVerificationSandbox);
    assert_eq!(submitted(&task, &boundary, []).ok()["reused"], true);
    let pass = boundary.reconcile(true, AbortToken::new());
    assert_eq!(drive(pass, &task, [says(observation(1, "running"))]).ok()["state"], "running");
    let stop = boundary.cancel(object(&json!({"reason": "enough"})), AbortToken::new());
    drive(stop, &task, [says(json!({"confirmed": true}))]).ok();
    assert_eq!(sandbox.asked.load(Ordering::Relaxed), 4);
}

#[test]
fn ex_bnd_04_what_is_given_up_in_the_middle_is_not_proved() {
    let refusal = (Code::ExecutionVerificationSandbox, None);
    let task = TaskRoot::new();
    // A check that is given up in the middle has proved nothing.
    let token = AbortToken::new();
    let stopped = Sandbox { stops: Some(token.clone()), ..Sandbox::default() };
    let boundary = needing(&task, Arc::new(stopped));
    assert_eq!(drive(boundary.submit(object(&dispatch(1)), token), &task, []).refusal(), refusal);
    assert!(!task.exists("execution.json"));
    // It is the last thing but the health: what refuses without a probe does so first.
    let sandbox = Arc::new(Sandbox::default());
    let boundary = needing(&task, Arc::clone(&sandbox));
    let dear = with(dispatch(1), json!({"reservationUsd": 9}));
    let ended = drive(boundary.submit(object(&dear), AbortToken::new()), &task, []);
    assert_eq!(ended.refusal().0, Code::ExecutionAllowance);
    assert_eq!(sandbox.asked.load(Ordering::Relaxed), 0);
    let unhealthy = ExecutionOptions { sandbox: Some(sandbox.clone()), health: None, ..task.options() };
    let boundary = Boundary::new(unhealthy, task.machine.host()).expect("a boundary");
    assert_eq!(submitted(&task, &boundary, []).refusal().0, Code::ExecutionHealth);
    assert_eq!(sandbox.asked.load(Ordering::Relaxed), 1);
}

#[test]
fn ex_bnd_04_the_option_is_true_or_false_and_of_remote_work() {
    let made = |required| {
        let options = with(remote_options(), json!({"sandboxRequired": required}));
        ExecutionOptions::from_object("/task", &object(&options), Arc::new(NoFaults))
    };
    for (given, wanted) in [(json!(true), true), (json!(false), false), (json!(null), false)] {
        assert_eq!(made(given).expect("options").sandbox.is_some(), wanted);
    }
    for given in [json!("yes"), json!(1)] {
        assert_eq!(made(given).expect_err("no boolean").code(), Code::ExecutionInput);
    }
    let task = TaskRoot::local();
    let fails = Mutex::new(Some(Code::ExecutionVerificationSandbox));
    let boundary = needing(&task, Arc::new(Sandbox { fails, ..Sandbox::default() }));
    let spec = json!({"model": null, "reservationUsd": null, "spec": {"argv": ["tool"]}});
    let machine = boundary.submit(object(&with(dispatch(1), spec)), AbortToken::new());
    drive(machine, &task, [says(json!({"pid": 7, "identity": "linux:boot:ns:7"}))]).ok();
}

#[test]
fn ex_bnd_04_each_option_of_the_table_is_asked_for_or_left_out() {
    let made = |options: &serde_json::Value| {
        ExecutionOptions::from_object("/task", &object(options), Arc::new(NoFaults))
    };
    // What is required, and exactly one of the two adapters.
    let whole = remote_options();
    made(&whole).expect("options");
    for required in ["taskId", "provider", "account", "capabilities", "transport"] {
        let mut options = whole.clone();
        options.as_object_mut().expect("an object").remove(required);
        let error = made(&options).expect_err(required);
        assert_eq!(error.code(), Code::ExecutionInput, "{required}");
        // A record is named as what it is.
        let named = if required == "capabilities" { "capability record" } else { required };
        assert!(error.message().contains(named), "{required}: {error}");
    }
    for empty in ["taskId", "provider", "account"] {
        assert_eq!(
            made(&with(whole.clone(), json!({empty: ""}))).map(drop).unwrap_err().code(),
            Code::ExecutionInput
        );
    }
    let both = with(whole.clone(), json!({"runner": true}));
    assert_eq!(made(&both).expect_err("both").code(), Code::ExecutionInput);
    // What may be left out, and what it does where it is given.
    let given = json!({
        "budgetUsd": 2.5, "limits": {"deadlineMs": 5000}, "secrets": ["hunter2"], "health": "external",
        "intakeDeadlineAt": 1_780_000_000_000_u64, "sandboxRequired": true
    });
    let options = made(&with(whole.clone(), given)).expect("options");
    assert!(options.budget.is_some() && options.health.is_some() && options.sandbox.is_some());
    assert_eq!(options.limits.deadline_ms, 5000);
    assert_eq!(options.intake_deadline_at, Some(1_780_000_000_000));
    let mut bare = whole;
    for left_out in ["budgetUsd", "limits", "secrets", "health", "intakeDeadlineAt", "sandboxRequired"] {
        bare.as_object_mut().expect("an object").remove(left_out);
    }
    let options = made(&bare).expect("options");
    assert!(options.budget.is_none() && options.health.is_none() && options.sandbox.is_none());
    assert_eq!((options.limits.deadline_ms, options.intake_deadline_at), (20_000, None));
    // `ports` are no JSON: the seams are members of their own, the ports of a publication are given with it (EX-ART-33).
    assert!(options.jitter.is_none());
}
