//! The calls that are crashed, each over what stood before it.

use gallivant_core::execution::{Boundary, Call, Machine, keys};
use gallivant_core::json::Value as CoreValue;
use serde_json::{Value, json};

use super::world::{Script, World, honest};
use crate::boundary::{Fed, ROOT, dispatch_input, no_abort, object};
use crate::provider::Provider;

pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) options: fn(&mut Value),
    pub(crate) prepare: fn(&mut World),
    pub(crate) call: fn(&Boundary) -> Machine,
    /// How the first call is answered. When it is repeated, the provider is honest.
    pub(crate) script: Script,
    /// The operations that it dispatches.
    pub(crate) dispatches: &'static [&'static str],
    /// The word of the outcome when nothing crashes: `ok`, or an error's code.
    pub(crate) gives: &'static str,
}

const PLAIN: Scenario = Scenario {
    name: "",
    options: |_| {},
    prepare: |_| {},
    call: startup,
    script: honest,
    dispatches: &[],
    gives: "ok",
};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario { name: "the first submit", call: |b| submit(b, "op-1"), dispatches: &["op-1"], ..PLAIN },
    Scenario {
        name: "a submit after a settled run",
        prepare: settled,
        call: |b| submit(b, "op-2"),
        dispatches: &["op-2"],
        ..PLAIN
    },
    Scenario {
        name: "a continue",
        prepare: settled,
        call: |b| b.continue_run(object(&dispatch_input("op-2")), no_abort()),
        dispatches: &["op-2"],
        ..PLAIN
    },
    Scenario { name: "an answer", prepare: waiting, call: answer, dispatches: &["op-2"], ..PLAIN },
    Scenario {
        name: "a proven refusal",
        prepare: settled,
        call: |b| submit(b, "op-2"),
        script: |_, _, _| Fed::error("not-sent"),
        dispatches: &["op-2"],
        gives: "EXECUTION_DISPATCH_REFUSED",
        ..PLAIN
    },
    Scenario {
        name: "a lost reply",
        call: |b| submit(b, "op-1"),
        script: lost,
        dispatches: &["op-1"],
        gives: "EXECUTION_ACCEPTANCE_UNKNOWN",
        ..PLAIN
    },
    Scenario {
        name: "a reply that names an older job",
        prepare: settled,
        call: |b| submit(b, "op-2"),
        script: |provider, call, now| {
            provider.answer(call, now);
            Fed::value(&json!({"providerJobId": "job-1", "turnId": "turn-1"}))
        },
        dispatches: &["op-2"],
        gives: "EXECUTION_ACCEPTANCE_UNKNOWN",
        ..PLAIN
    },
    Scenario { name: "a prepare", call: prepare, ..PLAIN },
    Scenario {
        name: "an intake",
        prepare: |world| drop(world.done(prepare)),
        call: intake,
        dispatches: &["op-1"],
        ..PLAIN
    },
    Scenario {
        name: "an adoption",
        options: |options| {
            options["transport"]["methods"] = json!(["submit", "inspect", "continue", "collect", "cancel"])
        },
        prepare: |world| unknown(world, lost),
        call: |b| {
            let acknowledgement =
                json!({"providerJobId": "job-1", "turnId": "turn-1", "sessionId": "session-1"});
            let input =
                json!({"operationId": "op-1", "acknowledgement": acknowledgement, "evidence": "seen there"});
            b.adopt(object(&input), no_abort())
        },
        ..PLAIN
    },
    Scenario {
        name: "an absence",
        prepare: |world| unknown(world, |_, _, _| Fed::Abort),
        call: |b| {
            let input = json!({"operationId": "op-1", "evidence": "the provider says so"});
            b.settle_absent(object(&input), no_abort())
        },
        ..PLAIN
    },
    Scenario {
        name: "a recovered answer",
        prepare: |world| {
            waiting(world);
            world.call_with(answer, lost);
        },
        call: |b| {
            let input = answer_input();
            b.recover_response("op-2".to_owned(), object(&input), no_abort())
        },
        ..PLAIN
    },
    Scenario { name: "a look-up", prepare: |world| found(world, "running"), ..PLAIN },
    Scenario { name: "a look-up of what has ended", prepare: |world| found(world, "failed"), ..PLAIN },
    Scenario { name: "a look-up and its stop", prepare: found_stopped, ..PLAIN },
    Scenario {
        name: "a look-up of nothing",
        prepare: |world| unknown(world, |_, _, _| Fed::Deadline),
        ..PLAIN
    },
    Scenario {
        name: "a pass that is asked for",
        prepare: |world| running(world, 1),
        call: |b| b.reconcile(true, no_abort()),
        ..PLAIN
    },
    Scenario { name: "a pass with events", prepare: |world| running(world, 3), ..PLAIN },
    Scenario {
        name: "a page that is repeated",
        prepare: |world| {
            running(world, 2);
            world.done(startup);
            world.goes_on(1, "running");
        },
        script: |provider, call, now| {
            let mut said = provider.answer(call, now);
            said["gap"] = json!(true);
            let old = json!({"eventId": "turn-1-1", "type": "output", "data": "again"});
            said["events"].as_array_mut().expect("a list").insert(0, old);
            Fed::value(&said)
        },
        ..PLAIN
    },
    Scenario { name: "an end and its collection", prepare: |world| ended(world, "succeeded"), ..PLAIN },
    Scenario {
        name: "a collection alone",
        prepare: |world| {
            ended(world, "failed");
            world.call_with(startup, |provider, call, now| match call.method {
                "collect" => Fed::error("io"),
                _ => honest(provider, call, now),
            });
        },
        call: |b| b.collect(run_of("op-1"), no_abort()),
        ..PLAIN
    },
    Scenario {
        name: "a result over a bad one",
        prepare: |world| {
            ended(world, "succeeded");
            let path = format!("{ROOT}/{}/result.json", run_of("op-1"));
            world.machine.files.plant_file(path, "{\"version\":1}\n").expect("planted");
        },
        ..PLAIN
    },
    Scenario {
        name: "a rejected collection",
        prepare: |world| ended(world, "succeeded"),
        script: rejecting,
        ..PLAIN
    },
    Scenario {
        name: "an inspection that fails",
        prepare: |world| running(world, 1),
        script: |_, _, _| Fed::error("rate"),
        ..PLAIN
    },
    Scenario { name: "a stop", prepare: |world| running(world, 1), call: cancel, ..PLAIN },
    Scenario {
        name: "a stop that is noted only",
        prepare: |world| {
            running(world, 1);
            world.provider.confirms = false;
        },
        call: cancel,
        ..PLAIN
    },
    Scenario {
        name: "a stop whose reply is lost",
        prepare: |world| running(world, 1),
        call: cancel,
        script: lost,
        ..PLAIN
    },
    Scenario {
        name: "a stop of what nobody knows",
        prepare: |world| unknown(world, lost),
        call: cancel,
        ..PLAIN
    },
    Scenario {
        name: "a stop that the provider does not have",
        options: |options| options["capabilities"]["cancel"] = json!(false),
        prepare: |world| running(world, 1),
        call: cancel,
        ..PLAIN
    },
    Scenario { name: "a stop of what has ended", prepare: settled, call: cancel, ..PLAIN },
    Scenario {
        name: "a stop of a preparation",
        prepare: |world| running(world, 1),
        call: |b| b.preparation_stop(object(&json!({"reason": "enough"})), no_abort()),
        ..PLAIN
    },
    Scenario {
        name: "a stop by time",
        prepare: |world| running(world, 1),
        call: |b| b.timeout_stop(object(&json!({})), no_abort()),
        ..PLAIN
    },
    Scenario {
        name: "a stop that is queued",
        prepare: |world| running(world, 1),
        call: request_cancel,
        ..PLAIN
    },
    Scenario {
        name: "a pass that applies a stop",
        prepare: |world| {
            running(world, 2);
            world.done(request_cancel);
        },
        ..PLAIN
    },
];

pub(crate) fn startup(boundary: &Boundary) -> Machine {
    boundary.startup(no_abort())
}

fn submit(boundary: &Boundary, operation_id: &str) -> Machine {
    boundary.submit(object(&dispatch_input(operation_id)), no_abort())
}

pub(crate) fn request_cancel(boundary: &Boundary) -> Machine {
    boundary.request_cancel(object(&json!({"reason": "enough", "controlId": "c-1"})), no_abort())
}

fn cancel(boundary: &Boundary) -> Machine {
    boundary.cancel(object(&json!({"reason": "enough", "controlId": "c-2"})), no_abort())
}

fn answer(boundary: &Boundary) -> Machine {
    boundary.continue_run(object(&answer_input()), no_abort())
}

fn answer_input() -> Value {
    let mut input = dispatch_input("op-2");
    input["response"] = json!({"signature": "ask-1", "answer": "yes"});
    input
}

fn prepare(boundary: &Boundary) -> Machine {
    let input = json!({"operationId": "op-1", "phase": "draft", "prompt": "plan"});
    boundary.prepare(object(&input), no_abort())
}

/// With the receipt as a simulated machine issues it at its start (EX-PRE-02, EX-PRE-03).
fn intake(boundary: &Boundary) -> Machine {
    let hash = |value: &Value| {
        keys::canonical_hash(&CoreValue::parse(&value.to_string()).expect("JSON")).expect("small numbers")
    };
    let fingerprint = hash(&json!({
        "version": 1, "phase": "draft", "prompt": "plan", "boundary": "environment:none", "authority": "text-only",
        "cmd": null, "args": null, "model": null, "environmentFingerprint": hash(&json!({"env": "g"})),
    }));
    let receipt = json!({
        "version": 1, "provider": "prov", "account": "acct", "authority": "text-only", "boundary": "environment:none",
        "taskId": "t-1", "inputFingerprint": fingerprint, "issuedAt": 1_700_000_000_000_u64, "phase": "draft",
    });
    let input = json!({
        "operationId": "op-1", "kind": "intake", "prompt": "plan", "preparation": receipt, "grant": {"env": "g"},
    });
    boundary.submit(object(&input), no_abort())
}

fn lost(provider: &mut Provider, call: &Call, now: u64) -> Fed {
    provider.answer(call, now);
    Fed::error("io")
}

fn rejecting(provider: &mut Provider, call: &Call, now: u64) -> Fed {
    match call.method {
        "collect" => Fed::error("collection-validation"),
        _ => honest(provider, call, now),
    }
}

fn running(world: &mut World, events: usize) {
    world.done(|b| submit(b, "op-1"));
    world.later(1_000);
    world.goes_on(events, "running");
}

fn ended(world: &mut World, state: &'static str) {
    running(world, 2);
    world.goes_on(0, state);
}

fn waiting(world: &mut World) {
    running(world, 0);
    world.goes_on(0, "waiting-for-input");
    world.done(startup);
}

fn settled(world: &mut World) {
    ended(world, "succeeded");
    world.done(startup);
}

fn unknown(world: &mut World, script: Script) {
    world.call_with(|b| submit(b, "op-1"), script);
    world.later(1_000);
}

fn found(world: &mut World, state: &'static str) {
    unknown(world, lost);
    world.goes_on(2, state);
}

fn found_stopped(world: &mut World) {
    found(world, "running");
    world.done(cancel);
}

/// The run of an operation, derived as the library derives it.
pub(crate) fn run_of(operation_id: &str) -> String {
    keys::run_id("t-1", "prov", "acct", operation_id)
}
