//! The boundary object: how it is made, what its calls give, and what they leave after a crash: EX-BND-03,
//! EX-BND-05 to EX-BND-09, EX-BND-17, EX-BND-33, EX-BND-35, EX-BND-40, EX-CAP-19, EX-CAP-23.

use std::sync::Arc;

use gallivant_core::execution::{AbortToken, Boundary, ExecutionOptions, NoFaults, Step, keys};
use gallivant_core::testing::{Fault, Simulation, simulated_host};
use gallivant_core::{Code, Error};
use serde_json::{Value as Json, json};

use crate::support::task::{
    Answer, TaskRoot, accepts, acknowledgement, dispatch, dispatch_with, drive, from_core, object,
    remote_options, with,
};

fn made(options: &Json) -> Result<Boundary, Error> {
    let task = TaskRoot::new();
    let options = ExecutionOptions::from_object(task.path(), &object(options), Arc::new(NoFaults))?;
    let boundary = Boundary::new(options, task.machine.host())?;
    assert!(!task.path().exists());
    Ok(boundary)
}

#[track_caller]
fn not_made(options: &Json) -> (Code, Option<&'static str>) {
    let error = made(options).expect_err("it is refused");
    (error.code(), error.reason())
}

#[test]
fn ex_bnd_03_no_provider_state_implies_that_something_is_ready() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.edit(|ledger| ledger["executions"]["run-1"]["state"] = json!("succeeded"));
    let shown = task.inspect();
    assert_eq!(
        (&shown["state"], &shown["live"], &shown["collected"]),
        (&json!("succeeded"), &json!(true), &json!(false))
    );
    let boundary = task.boundary();
    assert!(boundary.outcome("run-1").expect("read").is_null(), "it is not settled");
    assert_eq!(task.refused(|task| task.submit(dispatch(2), [])).0, Code::ExecutionActive);
}

#[test]
fn the_options_are_judged() {
    let good = remote_options();
    made(&good).expect("they are good");
    for missing in ["taskId", "provider", "account", "capabilities"] {
        let mut options = good.clone();
        options[missing] = json!(null);
        assert_eq!(not_made(&options).0, Code::ExecutionInput, "{missing}");
    }
    for optional in ["budgetUsd", "limits", "secrets", "health", "intakeDeadlineAt"] {
        let mut options = good.clone();
        options[optional] = json!(null);
        made(&options).expect(optional);
    }
    for (changes, reason) in [
        (json!({"taskId": ""}), None),
        (json!({"account": 7}), None),
        (json!({"budgetUsd": -1}), None),
        (json!({"budgetUsd": "8"}), None),
        (json!({"limits": {"deadlineMs": 0}}), Some("limits")),
        (json!({"limits": []}), Some("limits")),
        (json!({"secrets": "s"}), Some("secret")),
        (json!({"secrets": [7]}), Some("secret")),
        (json!({"health": "well"}), None),
        (json!({"intakeDeadlineAt": "noon"}), None),
        (json!({"transport": {"methods": ["submit", "dance"]}}), None),
    ] {
        assert_eq!(
            not_made(&with(good.clone(), changes.clone())),
            (Code::ExecutionInput, reason),
            "{changes}"
        );
    }
}

#[test]
fn ex_bnd_05_exactly_one_of_transport_and_runner_that_fits_the_record() {
    let task = TaskRoot::local();
    made(&task.options).expect("a runner with a local record");
    let refusal = (Code::ExecutionInput, None);
    assert_eq!(not_made(&with(remote_options(), json!({"runner": true}))), refusal, "both");
    assert_eq!(not_made(&with(remote_options(), json!({"transport": null}))), refusal, "neither");
    assert_eq!(not_made(&with(remote_options(), json!({"transport": null, "runner": true}))), refusal);
    let transport = remote_options()["transport"].clone();
    assert_eq!(
        not_made(&with(task.options.clone(), json!({"runner": null, "transport": transport}))),
        refusal
    );
}

#[test]
fn ex_bnd_06_making_a_boundary_creates_nothing() {
    let (host, simulation) = simulated_host(1);
    let options = ExecutionOptions::from_object("/task", &object(&remote_options()), Arc::new(NoFaults));
    let boundary = Boundary::new(options.expect("options"), &host).expect("a boundary");
    assert!(boundary.limits().deadline_ms > 0);
    assert_eq!(simulation.files.trace(), [""; 0], "the disk is not touched");
}

#[test]
fn ex_bnd_07_another_owner_is_refused_by_every_call_that_would_write() {
    for (key, value) in [("taskId", "t-2"), ("provider", "other"), ("account", "other"), ("taskId", "T-1")] {
        let mut task = TaskRoot::new();
        task.accepted(1);
        task.options[key] = json!(value);
        if key == "provider" {
            task.options["capabilities"]["provider"] = json!(value);
        }
        let ownership = (Code::ExecutionOwnership, None);
        let evidence = json!({"operationId": "op-1", "evidence": "e", "acknowledgement": acknowledgement(1)});
        let prepare = json!({"operationId": "p", "phase": "draft", "prompt": "p", "model": "m"});
        assert_eq!(task.refused(|task| task.submit(dispatch(1), [])), ownership);
        assert_eq!(task.refused(|task| task.continue_run(dispatch(2), [])), ownership);
        assert_eq!(task.refused(|task| task.prepare(prepare, [])), ownership);
        assert_eq!(task.refused(|task| task.adopt(evidence.clone())), ownership);
        assert_eq!(task.refused(|task| task.settle_absent(evidence)), ownership);
        let stop = |task: &TaskRoot| object(&json!({"reason": format!("r{}", task.path().display())}));
        let token = AbortToken::new;
        assert_eq!(task.refused(|t| drive(t.boundary().startup(token()), t, [])), ownership);
        assert_eq!(task.refused(|t| drive(t.boundary().reconcile(true, token()), t, [])), ownership);
        assert_eq!(
            task.refused(|t| drive(t.boundary().collect("run-1".to_owned(), token()), t, [])),
            ownership
        );
        assert_eq!(task.refused(|t| drive(t.boundary().cancel(stop(t), token()), t, [])), ownership);
        let queued = object(&json!({"reason": "r", "controlId": "c-1"}));
        assert_eq!(task.refused(|t| drive(t.boundary().request_cancel(queued, token()), t, [])), ownership);
    }
}

#[test]
fn ex_bnd_08_an_outcome_is_what_done_gives() {
    let task = TaskRoot::new();
    let input = json!({"operationId": "p-1", "phase": "draft", "prompt": "p", "model": "m-1"});
    let kept = task.boundary();
    let mut machine = kept.prepare(object(&input), AbortToken::new());
    let Step::Call(call) = machine.start() else { panic!("it calls") };
    assert_eq!(call.method, "prepare");
    let reply = json!({"boundary": "text-only", "authority": "provider", "grant": {}}).to_string();
    let step = machine.reply(call.id, gallivant_core::execution::Reply::Value(reply)).expect("outstanding");
    let Step::Done(Ok(value)) = step else { panic!("it is done") };
    assert_eq!(from_core(&value)["receipt"]["boundary"], "text-only");
    // A refusal is an outcome too.
    let kept = task.boundary();
    let mut machine = kept.prepare(object(&json!({})), AbortToken::new());
    let Step::Done(Err(error)) = machine.start() else { panic!("it is refused") };
    assert_eq!(error.code(), Code::ExecutionInput);
}

#[test]
fn ex_bnd_09_a_dispatch_gives_operation_run_acceptance_acknowledgement_and_whether_it_was_reused() {
    let task = TaskRoot::new();
    let acknowledged = json!({"providerJobId": "j-1", "sessionId": "s-1", "turnId": "t-1", "cursor": null});
    let expected = json!({"operationId": "op-1", "runId": "run-1", "acceptance": "accepted",
        "acknowledgement": acknowledged, "reused": false});
    let first = task.accepted(1);
    assert_eq!(with(first.clone(), expected.clone()), first);
    let again = task.submit(dispatch(1), []).ok();
    assert_eq!(again, with(first, json!({"reused": true})));
    task.settle(1);
    let next = task.continue_run(dispatch(2), accepts(2)).ok();
    assert_eq!((&next["operationId"], &next["reused"]), (&json!("op-2"), &json!(false)));
}

#[test]
fn ex_bnd_17_recovering_an_answer_is_a_call_of_the_boundary() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.edit(|ledger| ledger["executions"]["run-1"]["state"] = json!("waiting-for-input"));
    let answer = dispatch_with(2, json!({"response": {"signature": "q", "answer": "yes"}}));
    task.continue_run(answer.clone(), [Answer::Deadline]).error();
    let ended = task.recover("op-2", answer, accepts(2));
    assert_eq!(ended.calls[0].0, "recoverResponse");
    assert_eq!(ended.ok()["acceptance"], "accepted");
}

#[test]
fn ex_bnd_33_a_run_that_is_given_no_id_is_named_after_its_operation() {
    let task = TaskRoot::new();
    let named = keys::run_id("t-1", "prov", "acct", "op-1");
    let ended = task.submit(dispatch_with(1, json!({"runId": null})), accepts(1));
    assert_eq!(ended.input("submit")["runId"], named);
    assert_eq!(ended.ok()["runId"], named);
    assert!(task.exists(&format!("{named}/job.json")));
    assert_eq!(task.submit(dispatch_with(1, json!({"runId": null})), []).ok()["reused"], true);
    assert_eq!(
        task.submit(dispatch_with(1, json!({"runId": named})), []).ok()["reused"],
        true,
        "one and the same"
    );
}

/// A boundary of a simulated machine.
fn simulated(simulation: &Simulation) -> Boundary {
    let options = ExecutionOptions::from_object("/task", &object(&remote_options()), Arc::new(NoFaults));
    Boundary::new(options.expect("options"), &simulation.host()).expect("a boundary")
}

/// Submits, and tells whether the provider was called and what came of it.
fn submit(simulation: &Simulation) -> (bool, Result<Json, Code>) {
    let kept = simulated(simulation);
    let mut machine = kept.submit(object(&dispatch(1)), AbortToken::new());
    match machine.start() {
        Step::Done(done) => (false, done.map(|value| from_core(&value)).map_err(|error| error.code())),
        Step::Call(call) => {
            let reply = gallivant_core::execution::Reply::Value(acknowledgement(1).to_string());
            let Ok(Step::Done(done)) = machine.reply(call.id, reply) else { panic!("one call") };
            (true, done.map(|value| from_core(&value)).map_err(|error| error.code()))
        }
    }
}

#[test]
fn a_dispatch_that_crashed_anywhere_is_repeated_safely() {
    let (_, whole) = simulated_host(9);
    submit(&whole).1.expect("accepted");
    let (mut dispatched_again, mut images) = (0, 0);
    for number in 1..=whole.files.last_number() {
        let (_, crashing) = simulated_host(9);
        crashing.files.set_faults([Fault::crash_at(number)]);
        let (was_called, _) = submit(&crashing);
        for image in crashing.files.images_after_crash() {
            images += 1;
            let after = crashing.rebooted(&image.files);
            let (is_called, done) = submit(&after);
            // Called at most once for one operation, whatever the crash has left (I1).
            assert!(!(was_called && is_called), "{number}: {}", image.description);
            dispatched_again += u32::from(is_called);
            match done {
                Ok(value) => assert_eq!(value["acceptance"], "accepted", "{number}"),
                Err(code) => {
                    assert_eq!(code, Code::ExecutionAcceptanceUnknown, "{number}: {}", image.description);
                    let evidence = object(
                        &json!({"operationId": "op-1", "acknowledgement": acknowledgement(1), "evidence": "e"}),
                    );
                    let Step::Done(done) = simulated(&after).adopt(evidence, AbortToken::new()).start()
                    else {
                        panic!("no call")
                    };
                    assert_eq!(from_core(&done.expect("adopted"))["acceptance"], "accepted");
                }
            }
            let (is_called, done) = submit(&after);
            assert!(!is_called && done.expect("reused")["reused"] == true, "{number}: {}", image.description);
        }
    }
    assert!(dispatched_again > 10 && images > 50, "{dispatched_again} of {images}");
}

#[test]
fn ex_bnd_35_two_boundaries_of_a_root_act_one_after_another() {
    let task = TaskRoot::new();
    let (one, two) = (task.boundary(), task.boundary());
    let call = |boundary: &Boundary, n: u32, answers: Vec<Answer>| {
        drive(boundary.submit(object(&dispatch(n)), AbortToken::new()), &task, answers)
    };
    call(&one, 1, accepts(1).into()).ok();
    assert_eq!(call(&two, 1, vec![]).ok()["reused"], true, "what one has written the other knows");
    assert_eq!(call(&two, 2, vec![]).refusal().0, Code::ExecutionActive);
    task.settle(1);
    call(&two, 2, accepts(2).into()).ok();
    assert_eq!(call(&one, 2, vec![]).ok()["reused"], true);
    // At once, from threads: one of them dispatches, each other is told what came of it or that it is too early to tell.
    let task = TaskRoot::new();
    let outcomes: Vec<(usize, Result<bool, Code>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let kept = task.boundary();
                    let mut machine = kept.submit(object(&dispatch(1)), AbortToken::new());
                    match machine.start() {
                        Step::Call(call) => {
                            let reply =
                                gallivant_core::execution::Reply::Value(acknowledgement(1).to_string());
                            let Ok(Step::Done(Ok(_))) = machine.reply(call.id, reply) else {
                                panic!("accepted")
                            };
                            (1, Ok(false))
                        }
                        Step::Done(Ok(value)) => (0, Ok(from_core(&value)["reused"] == true)),
                        Step::Done(Err(error)) => (0, Err(error.code())),
                    }
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(outcomes.iter().map(|(calls, _)| calls).sum::<usize>(), 1, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|(_, done)| *done == Ok(true)).count(), 3, "{outcomes:?}");
}

#[test]
fn ex_bnd_40_what_must_be_durable_is_durable_before_a_call_is_handed_out() {
    let (_, simulation) = simulated_host(4);
    let boundary = simulated(&simulation);
    let step = |mut machine: gallivant_core::execution::Machine| {
        let Step::Call(call) = machine.start() else { panic!("it calls") };
        (machine, call)
    };
    let states = |key: &str| {
        let images = simulation.files.images_after_crash();
        let found = images.map(|image| {
            let bytes = image.files.contents("/task/execution.json").expect("durable");
            let ledger: Json = serde_json::from_slice(&bytes).expect("whole");
            ledger.pointer(key).cloned().unwrap_or(Json::Null)
        });
        let mut found: Vec<Json> = found.collect();
        found.dedup();
        found
    };
    let (mut machine, call) = step(boundary.submit(object(&dispatch(1)), AbortToken::new()));
    assert_eq!(states("/operations/op-1/acceptance"), [json!("unknown")]);
    let reply = gallivant_core::execution::Reply::Value(acknowledgement(1).to_string());
    let Ok(Step::Done(Ok(_))) = machine.reply(call.id, reply) else { panic!("accepted") };
    let (_machine, call) = step(boundary.cancel(object(&json!({"reason": "r"})), AbortToken::new()));
    assert_eq!(call.method, "cancel");
    assert_eq!(states("/stopFence/kind"), [json!("operator")]);
    assert_eq!(states("/executions/run-1/cancellation/attempts"), [json!(1)]);
}

#[test]
fn ex_cap_19_a_provider_without_a_stop_still_takes_the_request() {
    let mut task = TaskRoot::new();
    task.accepted(1);
    task.options["capabilities"]["cancel"] = json!(false);
    let stopped =
        drive(task.boundary().cancel(object(&json!({"reason": "r"})), AbortToken::new()), &task, []);
    assert_eq!(stopped.ok(), json!({"confirmed": false, "unsupported": true}));
    assert_eq!(task.run(1)["cancellation"]["status"], "unsupported");
    assert_eq!(task.ledger()["stopFence"]["kind"], "operator");
}

#[test]
fn ex_cap_23_no_output_calls_a_reservation_a_limit_of_the_provider() {
    let task = TaskRoot::new();
    let sent = task.submit(dispatch(1), accepts(1)).input("submit");
    assert_eq!((&sent["reservationUsd"], &sent["hardCapUsd"]), (&json!(0.5), &json!(null)));
    task.settle(1);
    let refused = task.submit(dispatch_with(2, json!({"reservationUsd": 7.6})), []).error();
    assert_eq!((refused.code(), refused.reason()), (Code::ExecutionAllowance, Some("reservation")));
    let shown = format!("{refused} {} {} {}", refused.remedy(), task.inspect(), task.text("execution.json"));
    for word in ["billing", "invoice", "provider limit", "hardCap"] {
        assert!(!shown.to_lowercase().contains(&word.to_lowercase()), "{word}: {shown}");
    }
}
