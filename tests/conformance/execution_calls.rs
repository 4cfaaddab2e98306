//! What the boundary asks of a transport and what it takes of its replies, across its methods: limits, keys, bytes, words
//! (EX-TRA, EX-CAP-14, EX-CAP-15, EX-LED-20, 27, 56, EX-BND-25, 37, 45, EX-COST-13, 14, EX-PRE-10).

use gallivant_core::Code;
use gallivant_core::execution::contract::{ErrorKind, TransportError};
use gallivant_core::execution::{AbortToken, Reply, Step};
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{observation, observation_with, says};
use crate::support::task::{
    Answer, Ended, TaskRoot, acknowledgement, dispatch, dispatch_with, drive, io_error, object, with,
};

fn padded(mut value: Json, bytes: usize) -> String {
    value["padding"] = json!("");
    let length = value.to_string().len();
    value["padding"] = json!("x".repeat(bytes - length));
    let text = value.to_string();
    assert_eq!(text.len(), bytes);
    text
}

fn answer(n: u32, signature: &str, answer: &str) -> Json {
    dispatch_with(n, json!({"response": {"signature": signature, "answer": answer}}))
}

/// A run that waits for an answer.
fn waiting() -> TaskRoot {
    let task = TaskRoot::new();
    task.accepted(1);
    task.forced_pass([says(observation(1, "waiting-for-input"))]).ok();
    task
}

#[test]
fn ex_tra_06_a_reply_is_measured_before_it_is_read() {
    let most = 65_536;
    let task = TaskRoot::new();
    task.submit(dispatch(1), [Answer::Text(padded(acknowledgement(1), most))]).ok();
    let task = TaskRoot::new();
    let error = task.submit(dispatch(1), [Answer::Text(padded(acknowledgement(1), most + 1))]).error();
    assert_eq!(error.code(), Code::ExecutionAcceptanceUnknown);
    // A text that is no JSON at all is judged by its length too.
    let task = TaskRoot::new();
    task.accepted(1);
    let report = task.forced_pass([Answer::Text("x".repeat(131_073))]).ok();
    assert_eq!(report["error"]["code"], "EXECUTION_PROTOCOL");
    task.forced_pass([Answer::Text(padded(observation(1, "running"), 131_072))]).ok();
    assert_eq!(task.run(1)["state"], "running");
    // A result has a limit of its own, and is unresolved above it.
    let mut task = TaskRoot::new();
    task.options["limits"] = json!({"resultBytes": 65_536});
    task.accepted(1);
    task.ended(1, "succeeded");
    let long = padded(crate::support::pass::result(1), 65_537);
    let report = task.forced_pass([Answer::Text(long)]).ok();
    assert_eq!(
        (&report["error"]["code"], &report["error"]["reason"]),
        (&json!("EXECUTION_RESULT"), &json!("oversized"))
    );
    task.forced_pass([Answer::Text(padded(crate::support::pass::result(1), 65_536))]).ok();
    assert_eq!(task.run(1)["collected"], true);
}

#[test]
fn ex_tra_17_a_repeated_job_and_root_turn_leaves_acceptance_unknown() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.collected(1);
    let error = task.continue_run(dispatch(2), [says(acknowledgement(1))]).error();
    assert_eq!((error.code(), error.reason()), (Code::ExecutionAcceptanceUnknown, Some("identity")));
    // Since the first run was collected.
    let later = json!({"observedAt": NOW + 400_000});
    let report = task.forced_pass([says(observation_with(1, "running", later.clone()))]).ok();
    assert_eq!(report["error"]["reason"], "identity");
    assert_eq!(task.operation(2)["acceptance"], "unknown");
    // One of the two may be the same.
    let same_job = observation_with(2, "running", with(later, json!({"providerJobId": "j-1"})));
    task.forced_pass([says(same_job)]).ok();
    assert_eq!(task.operation(2)["acceptance"], "accepted");
}

#[test]
fn ex_tra_19_and_20_a_stop_has_its_own_key_and_a_boolean_answer() {
    let task = TaskRoot::new();
    task.accepted(1);
    let stop = task.stop_run([says(json!({"confirmed": true}))]);
    let input = stop.input("cancel");
    let mut keys: Vec<&String> = input.as_object().expect("an object").keys().collect();
    keys.sort_unstable();
    let expected =
        ["account", "idempotencyKey", "provider", "providerJobId", "runId", "sessionId", "taskId", "turnId"];
    assert_eq!(keys, expected);
    assert_ne!(input["idempotencyKey"], task.operation(1)["idempotencyKey"]);
}

#[test]
fn ex_tra_20_what_is_no_boolean_is_a_lost_stop() {
    for confirmed in [json!("true"), json!(1), Json::Null, json!([true])] {
        let task = TaskRoot::new();
        task.accepted(1);
        assert_eq!(task.stop_run([says(json!({"confirmed": confirmed}))]).ok(), json!({"confirmed": false}));
        assert_eq!(task.run(1)["cancellation"]["failures"], 1);
    }
}

#[test]
fn ex_tra_24_a_recovery_is_asked_what_the_lost_continue_was() {
    let task = waiting();
    let lost = task.continue_run(answer(2, "ask-1", "yes"), [Answer::Fails(io_error())]);
    let sent = lost.input("continue");
    let recovered = task.recover("op-2", answer(2, "ask-1", "yes"), [says(acknowledgement(2))]);
    assert_eq!(recovered.input("recoverResponse"), sent);
    assert_eq!(sent["response"], json!({"signature": "ask-1", "answer": "yes"}));
    assert_eq!(task.operation(2)["acceptance"], "accepted");
}

#[test]
fn ex_tra_28_not_sent_is_taken_at_its_word_and_only_before_sending() {
    let not_sent = || TransportError::of(ErrorKind::NotSent, "no account").with_code("no-account");
    let task = TaskRoot::new();
    assert_eq!(
        task.submit(dispatch(1), [Answer::Fails(not_sent())]).error().code(),
        Code::ExecutionDispatchRefused
    );
    let task = TaskRoot::new();
    assert_eq!(
        task.submit(dispatch(1), [Answer::SendsAndFails(not_sent())]).error().code(),
        Code::ExecutionAcceptanceUnknown
    );
    assert_eq!(task.operation(1)["acceptance"], "unknown");
}

#[test]
fn ex_tra_32_texts_are_handed_over_byte_for_byte() {
    let odd = " \u{feff}A\u{301}\r\n\t\"\\ \u{1f600} ";
    let task = TaskRoot::new();
    let input = dispatch_with(1, json!({"prompt": odd, "environment": odd}));
    let reply = with(acknowledgement(1), json!({"sessionId": odd, "cursor": odd}));
    let sent = task.submit(input, [says(reply)]).input("submit");
    assert_eq!((&sent["prompt"], &sent["environment"]), (&json!(odd), &json!(odd)));
    let pass = task.forced_pass([says(observation_with(1, "running", json!({"sessionId": odd})))]);
    let asked = pass.input("inspect");
    assert_eq!((&asked["sessionId"], &asked["cursor"]), (&json!(odd), &json!(odd)));
}

#[test]
fn ex_tra_33_a_transports_words_are_redacted_wherever_they_go() {
    let mut task = TaskRoot::new();
    task.options["secrets"] = json!(["hunter2"]);
    let failure = || Answer::Fails(TransportError::of(ErrorKind::Io, "no route for hunter2"));
    let error = task.submit(dispatch(1), [failure()]).error();
    assert!(!format!("{error} {}", error.remedy()).contains("hunter2"));
    let report = task.forced_pass([failure()]).ok();
    assert!(!report.to_string().contains("hunter2"), "{report}");
    let refusal = TransportError::of(ErrorKind::NotSent, "hunter2").with_code("code-hunter2");
    let mut other = TaskRoot::new();
    other.options["secrets"] = json!(["hunter2"]);
    other.submit(dispatch(1), [Answer::Fails(refusal)]).error();
    for task in [&task, &other] {
        for (path, bytes) in task.tree() {
            assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"), "{path}");
        }
    }
}

#[test]
fn ex_cap_14_the_same_record_under_another_name_does_the_same() {
    let run = |name: &str| {
        let mut task = TaskRoot::new();
        task.options["provider"] = json!(name);
        task.options["capabilities"]["provider"] = json!(name);
        task.accepted(1);
        task.collected(1);
        let stop = task.stop_run([]).ok();
        let mut ledger = task.ledger();
        ledger["provider"] = Json::Null;
        let text = ledger.to_string();
        // Keys are hashes over the name.
        let text: String = text
            .split("gx-")
            .enumerate()
            .map(|(at, part)| if at == 0 { part } else { &part[64..] })
            .collect();
        (text, stop, task.boundary().outcome("run-1").expect("settled").to_json())
    };
    let first = run("prov");
    for name in ["claude", "codex", "openai-agents", "anything-else"] {
        assert_eq!(run(name), first, "{name}");
    }
}

#[test]
fn ex_cap_15_only_a_native_continuation_continues_and_a_successor_is_a_submit() {
    for continuation in ["successor", "none"] {
        let mut task = TaskRoot::new();
        task.options["capabilities"]["continuation"] = json!(continuation);
        task.accepted(1);
        // Not before the earlier run is settled.
        let successor = dispatch_with(2, json!({"successorOf": "run-1"}));
        assert_eq!(task.refused(|task| task.submit(successor.clone(), [])).0, Code::ExecutionActive);
        task.collected(1);
        assert_eq!(
            task.refused(|task| task.continue_run(dispatch(2), [])),
            (Code::ExecutionCapability, Some("continuation"))
        );
        task.submit(successor, [says(acknowledgement(2))]).ok();
        assert_eq!(task.ledger()["currentRunId"], "run-2");
    }
}

#[test]
fn ex_cap_25_a_boundary_takes_no_record_of_another_registry() {
    use gallivant_core::execution::{Adapter, Boundary, Capabilities, Capability, ExecutionRegistry};
    let task = TaskRoot::new();
    let (own, other) =
        (ExecutionRegistry::new().expect("shipped"), ExecutionRegistry::new().expect("shipped"));
    let mut options = task.options();
    let Adapter::Transport(methods) = options.adapter.clone() else { panic!("a transport") };
    let record = object(&task.options["capabilities"]);
    let record = Capability::from_value(gallivant_core::json::Value::Object(record)).expect("a record");
    let registered = own.register(record, Some(Adapter::Transport(methods)), &[]).expect("registered");
    assert!(registered.registry().is_same(&own));
    options.capabilities = Capabilities::Registered { record: registered.clone(), registry: own.clone() };
    Boundary::new(options.clone(), task.machine.host()).expect("its own registry");
    options.capabilities = Capabilities::Registered { record: registered, registry: other };
    let refused = Boundary::new(options, task.machine.host()).expect_err("another one");
    assert_eq!(refused.code(), Code::ExecutionDependency);
    assert!(!task.path().exists());
}

#[test]
fn ex_led_20_every_member_of_a_dispatch_is_read() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.collected(1);
    let input = json!({
        "operationId": "op-2", "runId": "run-2", "kind": "implementation", "prompt": "p",
        "inputHead": "b".repeat(64), "policy": "safe", "model": "m-2", "environment": "env-2",
        "reservationUsd": 0.25, "hardCapRequired": true, "hardCapUsd": 1.5, "workflow": {"round": 2},
        "successorOf": null, "response": null, "legacySessionId": null, "sessionId": "s-1"
    });
    let sent = task.continue_run(input, [says(acknowledgement(2))]).input("continue");
    for (key, value) in [
        ("prompt", json!("p")),
        ("inputHead", json!("b".repeat(64))),
        ("policy", json!("safe")),
        ("model", json!("m-2")),
        ("environment", json!("env-2")),
        ("reservationUsd", json!(0.25)),
        ("hardCapUsd", json!(1.5)),
        ("sessionId", json!("s-1")),
        ("kind", json!("implementation")),
    ] {
        assert_eq!(sent[key], value, "{key}");
    }
    assert_eq!(task.run(2)["workflow"], json!({"round": 2}));
    // Each of the wrong type is refused by its name.
    for (key, value) in [
        ("operationId", json!(7)),
        ("runId", json!("../x")),
        ("kind", json!("other")),
        ("prompt", json!(null)),
        ("inputHead", json!("HEAD")),
        ("policy", json!(1)),
        ("model", json!([])),
        ("environment", json!({})),
        ("hardCapRequired", json!("yes")),
        ("hardCapUsd", json!(-1)),
        ("grant", json!("g")),
        ("native", json!(1)),
        ("spec", json!([])),
        ("successorOf", json!(1)),
        ("response", json!({"signature": ""})),
        ("sessionId", json!(1)),
        ("legacySessionId", json!(1)),
    ] {
        let task = TaskRoot::new();
        let wrong = dispatch_with(1, json!({key: value}));
        let ended = task.submit(wrong, []);
        assert!(ended.calls.is_empty());
        let error = ended.error();
        assert_eq!(error.code(), Code::ExecutionInput, "{key}");
        assert!(error.message().contains(key), "{key}: {}", error.message());
    }
}

fn local(n: u32, changes: Json) -> Json {
    let local =
        json!({"model": null, "reservationUsd": null, "sessionId": "s-1", "spec": {"argv": ["tool"]}});
    with(dispatch_with(n, local), changes)
}

fn spawned() -> Answer {
    says(json!({"pid": 4242, "identity": "linux:boot:ns:77"}))
}

fn ended_locally() -> TaskRoot {
    let task = TaskRoot::local();
    task.submit(local(1, json!({})), [spawned()]).ok();
    task.machine.advance_ms(2);
    let gone = says(json!({"tree": "gone", "exit": 0, "endedAt": NOW + 1}));
    task.due_pass([gone, says(json!({"ok": true, "cost": null, "denials": []}))]).ok();
    task
}

#[test]
fn ex_led_27_the_output_of_a_predecessor_is_queued_before_the_intent() {
    let task = ended_locally();
    task.plant("run-1/provider.log", "a line\n");
    task.continue_run(local(2, json!({})), [spawned()]).ok();
    let queue: Json = serde_json::from_str(&task.text("local-output-queue.json")).expect("JSON");
    assert_eq!(queue["runs"], json!(["run-1"]));
    // Where the queue cannot be saved there is no intent.
    let task = ended_locally();
    task.plant("run-1/provider.log", "a line\n");
    task.plant("local-output-queue.json", "no queue");
    let refusal = task.refused(|task| task.continue_run(local(2, json!({})), []));
    assert_eq!(refusal.0, Code::ExecutionQueue);
}

#[test]
fn ex_led_56_a_continue_sends_the_session_that_is_recorded() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.collected(1);
    let sent = task.continue_run(dispatch(2), [says(acknowledgement(2))]).input("continue");
    assert_eq!(sent["sessionId"], "s-1");
    // A local run from before the ledger: the session that the coordinator knows, else that of its job record.
    for (known, expected) in [(Json::Null, "s-0"), (json!("s-registry"), "s-registry")] {
        let task = TaskRoot::local();
        task.plant("latest-run", "old");
        let job = json!({"version": 1, "runId": "old", "endedAt": NOW - 1, "sessionId": "s-0"});
        task.plant("old/job.json", job.to_string());
        let input = local(1, json!({"sessionId": null, "legacySessionId": known}));
        task.continue_run(input, [spawned()]).ok();
        assert_eq!(task.operation(1)["sessionId"], expected);
    }
    // None of them.
    let task = TaskRoot::new();
    task.submit(dispatch(1), [says(with(acknowledgement(1), json!({"sessionId": null})))]).ok();
    task.settle(1);
    assert_eq!(
        task.refused(|task| task.continue_run(dispatch(2), [])),
        (Code::ExecutionOwnership, Some("session"))
    );
}

#[test]
fn ex_bnd_25_the_current_local_run_is_the_one_that_latest_run_names() {
    let task = TaskRoot::local();
    assert!(task.boundary().current().expect("read").is_none());
    task.submit(local(1, json!({})), [spawned()]).ok();
    let current = task.boundary().current().expect("read").expect("a record");
    assert_eq!(current.get("runId").and_then(|run| run.as_str()), Some("run-1"));
}

#[test]
fn ex_bnd_37_stops_of_preparations_and_timeouts_return_like_a_cancel() {
    for kind in ["preparation", "timeout"] {
        let task = TaskRoot::new();
        task.accepted(1);
        let boundary = task.boundary();
        let input = object(&json!({"reason": "enough"}));
        let machine = match kind {
            "preparation" => boundary.preparation_stop(input, AbortToken::new()),
            _ => boundary.timeout_stop(object(&json!({})), AbortToken::new()),
        };
        assert_eq!(
            drive(machine, &task, [says(json!({"confirmed": true}))]).ok(),
            json!({"confirmed": true})
        );
        let fence = task.ledger()["stopFence"].clone();
        assert_eq!(fence["kind"], kind);
        assert_eq!(fence["reason"], if kind == "timeout" { "timeout" } else { "enough" });
    }
}

#[test]
fn ex_bnd_45_a_check_of_a_run_is_the_journals() {
    let task = TaskRoot::new();
    task.accepted(1);
    let page = observation_with(1, "running", json!({"events": [crate::support::pass::event("e1")]}));
    task.forced_pass([says(page)]).ok();
    let before = task.tree();
    let checked = task.boundary().check("run-1").expect("whole");
    assert_eq!(checked.get("records").and_then(|records| records.as_number()?.as_u64()), Some(1));
    assert!(before == task.tree());
}

#[test]
fn ex_cost_13_an_adopted_run_has_no_known_cost_and_no_reservation() {
    let task = TaskRoot::local();
    task.plant("latest-run", "old");
    let job = json!({
        "version": 1, "runId": "old", "endedAt": null, "sessionId": "s-0", "startedAt": NOW,
        "process": {"pid": 4242, "identity": "linux:boot:ns:77"}
    });
    task.plant("old/job.json", job.to_string());
    task.stop_run([says(json!({"tree": "unreadable"}))]).ok();
    let ledger = task.ledger();
    assert_eq!(ledger["executions"]["old"]["costUsd"], Json::Null);
    assert_eq!((&ledger["operations"], &ledger["allowance"]["chargedUsd"]), (&json!({}), &json!(0)));
}

#[test]
fn ex_cost_14_a_local_reservation_is_accounted_like_any_other() {
    let task = TaskRoot::local();
    task.submit(local(1, json!({"reservationUsd": 0.75})), [spawned()]).ok();
    assert_eq!(task.ledger()["allowance"]["chargedUsd"], 0.75);
    let task = TaskRoot::local();
    task.submit(local(1, json!({})), [spawned()]).ok();
    assert_eq!(task.ledger()["allowance"]["chargedUsd"], 0);
    let task = TaskRoot::local();
    let refusal = task.refused(|task| task.submit(local(1, json!({"reservationUsd": 9})), []));
    assert_eq!(refusal, (Code::ExecutionAllowance, Some("reservation")));
}

#[test]
fn ex_pre_10_a_stop_that_came_meanwhile_issues_no_receipt() {
    let input = json!({"operationId": "op-1", "phase": "draft", "prompt": "p", "model": "m-1"});
    let reply = json!({"boundary": "text-only", "authority": "provider", "grant": {"token": "g"}});
    let task = TaskRoot::new();
    let boundary = task.boundary();
    let mut machine = boundary.prepare(object(&input), AbortToken::new());
    let Step::Call(call) = machine.start() else { panic!("it calls") };
    let queue = json!({"reason": "enough", "controlId": "k1"});
    drive(boundary.request_cancel(object(&queue), AbortToken::new()), &task, []).ok();
    let step = machine.reply(call.id, Reply::Value(reply.to_string())).expect("outstanding");
    let Step::Done(Err(error)) = step else { panic!("it is refused") };
    assert_eq!(error.code(), Code::ExecutionFenced);
    assert!(!task.exists("execution.json"));
    for (answer, code) in [(Answer::Deadline, Code::ExecutionDeadline), (Answer::Abort, Code::ExecutionIo)] {
        let task = TaskRoot::new();
        let ended: Ended = task.prepare(input.clone(), [answer]);
        assert_eq!(ended.error().code(), code);
        assert!(!task.exists("execution.json"));
    }
}
