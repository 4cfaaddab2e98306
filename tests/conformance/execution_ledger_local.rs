//! Dispatches of process runs, as far as the ledger goes: EX-LED-20, EX-LED-27, EX-LED-56, EX-COST-14.

use gallivant_core::Code;
use gallivant_core::execution::FaultAnswer;
use serde_json::{Value as Json, json};

use crate::support::task::{Answer, Points, TaskRoot, accepts, dispatch, dispatch_with, with};

fn spawned() -> [Answer; 1] {
    [Answer::Says(json!({"pid": 4242, "identity": "linux:boot:ns:77"}))]
}

/// The input of a process run.
fn process(n: u32, changes: Json) -> Json {
    let run = json!({"model": null, "reservationUsd": null, "spec": {"argv": ["tool"]}});
    with(dispatch_with(n, run), changes)
}

/// A local task whose first run has ended and is collected, with raw output that nobody has taken in yet.
fn ended() -> TaskRoot {
    let task = TaskRoot::local();
    task.submit(process(1, json!({"sessionId": "s-1"})), spawned()).ok();
    task.settle(1);
    task.plant("run-1/provider.log", "said before it ended\n");
    task
}

#[test]
fn ex_led_20_a_process_run_has_a_spec_and_may_have_a_session() {
    let task = TaskRoot::local();
    for wrong in [json!(null), json!("tool"), json!([])] {
        let refused = task.refused(|task| task.submit(process(1, json!({"spec": wrong})), []));
        assert_eq!(refused.0, Code::ExecutionInput, "{wrong}");
    }
    assert_eq!(
        task.refused(|task| task.submit(process(1, json!({"sessionId": 7})), [])).0,
        Code::ExecutionInput
    );
    let spec = json!({"argv": ["tool", "--quiet"], "cwd": "/", "n": 1});
    let ended = task.submit(process(1, json!({"sessionId": "s-1", "spec": spec})), spawned());
    assert_eq!(ended.input("spawn"), json!({"runId": "run-1", "operationId": "op-1", "spec": spec}));
    assert_eq!((&task.operation(1)["sessionId"], &task.run(1)["sessionId"]), (&json!("s-1"), &json!("s-1")));
    assert_eq!(task.run(1)["state"], "running");
    // A remote dispatch preassigns none.
    let remote = TaskRoot::new();
    remote.submit(dispatch_with(1, json!({"sessionId": "s-9"})), accepts(1)).ok();
    assert_eq!(remote.operation(1)["sessionId"], json!(null));
    assert_eq!(remote.submit(dispatch(1), []).ok()["reused"], true);
}

#[test]
fn ex_led_27_the_old_local_run_is_queued_before_the_intent_of_its_successor() {
    let mut task = ended();
    let points = Points::new("", || FaultAnswer::Go);
    task.faults = points.clone();
    task.submit(process(2, json!({})), spawned()).ok();
    let queue: Json = serde_json::from_str(&task.text("local-output-queue.json")).expect("JSON");
    assert_eq!(queue["runs"], json!(["run-1"]));
    let seen = points.seen();
    let at = |point: &str| {
        seen.iter().position(|seen| seen == point).unwrap_or_else(|| panic!("{point}: {seen:?}"))
    };
    assert!(at("queue.saved") < at("persist:execution.json"), "{seen:?}");
    // Where it cannot be saved there is no intent.
    let task = ended();
    let before = task.text("execution.json");
    task.machine
        .set_faults(
            r#"[{"on":"rename","name":"local-output-queue.json","repeat":true,"do":"error","errno":"EIO"}]"#,
        )
        .expect("faults");
    let failed = task.submit(process(2, json!({})), []);
    assert_eq!(failed.refusal().0, Code::ExecutionQueue);
    assert_eq!(task.text("execution.json"), before);
    task.machine.set_faults("[]").expect("no faults");
    task.submit(process(2, json!({})), spawned()).ok();
}

#[test]
fn ex_led_56_a_run_from_before_the_ledger_is_continued_in_its_own_session() {
    let old = |job: Json| {
        let task = TaskRoot::local();
        task.plant("latest-run", "old-run");
        task.plant(
            "old-run/job.json",
            with(json!({"runId": "old-run", "startedAt": 1, "endedAt": 2}), job).to_string(),
        );
        task
    };
    for (job, given, sent) in [
        (json!({"sessionId": "s-job"}), json!(null), "s-job"),
        (json!({"sessionId": "s-job"}), json!("s-registry"), "s-registry"),
        (json!({}), json!("s-registry"), "s-registry"),
    ] {
        let task = old(job);
        task.continue_run(process(1, json!({"legacySessionId": given})), spawned()).ok();
        assert_eq!(
            (&task.operation(1)["sessionId"], &task.run(1)["sessionId"]),
            (&json!(sent), &json!(sent))
        );
    }
    for job in [json!({}), json!({"sessionId": ""}), json!({"sessionId": null})] {
        let refused = old(job).refused(|task| task.continue_run(process(1, json!({})), []));
        assert_eq!(refused, (Code::ExecutionOwnership, Some("session")));
    }
    // The current run of the ledger comes before whatever the registry says.
    let task = ended();
    task.continue_run(process(2, json!({"legacySessionId": "s-registry"})), spawned()).ok();
    assert_eq!(task.operation(2)["sessionId"], "s-1");
}

#[test]
fn ex_cost_14_a_local_dispatch_needs_no_reservation_and_accounts_for_one() {
    let mut task = TaskRoot::local();
    task.options["budgetUsd"] = json!(null);
    task.submit(process(1, json!({})), spawned()).ok();
    assert_eq!(task.ledger()["allowance"], json!({"budgetUsd": null, "chargedUsd": 0}));
    assert_eq!(task.operation(1)["reservationUsd"], json!(null));
    let task = TaskRoot::local();
    task.submit(process(1, json!({"reservationUsd": 7.5})), spawned()).ok();
    assert_eq!(task.ledger()["allowance"], json!({"budgetUsd": 8, "chargedUsd": 7.5}));
    task.settle(1);
    let refused = task.refused(|task| task.submit(process(2, json!({"reservationUsd": 0.75})), []));
    assert_eq!(refused, (Code::ExecutionAllowance, Some("reservation")));
    task.submit(process(2, json!({})), spawned()).ok();
    assert_eq!(task.ledger()["allowance"]["chargedUsd"], 7.5);
}
