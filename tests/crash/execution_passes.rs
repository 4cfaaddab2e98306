//! A pass of the execution layer: a crash of the process and of the machine at every operation of it, every operation failing,
//! and another pass, which comes to the same end. The provider is asked to dispatch once.

use std::collections::BTreeMap;
use std::sync::Arc;

use gallivant_core::execution::contract::ErrorKind;
use gallivant_core::execution::{
    AbortToken, Boundary, ExecutionOptions, Machine, NoFaults, Reply, Step, TransportError,
};
use gallivant_core::json::{Object, Value};
use gallivant_core::testing::{CrashImage, Errno, Fault, FaultyFileSystem, Simulation, simulated_host};
use gallivant_core::{Code, Error};
use serde_json::{Value as Json, json};

const HEAD: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// What a provider says by the method's name, and whether the ownership is still to be found.
struct Story {
    name: &'static str,
    is_lost: bool,
    says: fn(&str, u64) -> Result<Json, ErrorKind>,
}

const STORIES: &[Story] = &[
    Story {
        name: "an ownership and an end",
        is_lost: true,
        says: |method, now| said(method, now, "succeeded", Ok(result())),
    },
    Story {
        name: "a rejected result",
        is_lost: false,
        says: |method, now| said(method, now, "succeeded", Err(ErrorKind::CollectionValidation)),
    },
];

fn said(method: &str, now: u64, state: &str, collected: Result<Json, ErrorKind>) -> Result<Json, ErrorKind> {
    let event = |id: &str| json!({"eventId": id, "type": "output", "data": id});
    match method {
        "lookup" | "inspect" => Ok(json!({
            "providerJobId": "j-1", "turnId": "t-1", "sessionId": "s-1", "state": state, "observedAt": now,
            "events": [event("e-1"), event("e-2")], "cursor": "c-2", "costUsd": 2
        })),
        "collect" => collected,
        other => panic!("nobody is to call {other}"),
    }
}

fn result() -> Json {
    json!({
        "providerJobId": "j-1", "turnId": "t-1", "sessionId": "s-1", "inputHead": HEAD,
        "outcome": {"finished": true, "ok": true, "cost": 1, "denials": [], "exit": 0}
    })
}

fn object(value: &Json) -> Object {
    match Value::parse(&value.to_string()) {
        Ok(Value::Object(object)) => object,
        other => panic!("no object: {other:?}"),
    }
}

fn boundary(machine: &Simulation) -> Boundary {
    let options = json!({
        "taskId": "t-1", "provider": "prov", "account": "acct",
        "capabilities": {
            "provider": "prov", "transport": "managed-rest", "location": "remote",
            "newDispatch": {"available": true, "reason": null},
            "authentication": {"scheme": "none", "secretNames": []},
            "environments": {"required": false, "allowed": null}, "models": "required",
            "policies": {"required": true, "allowed": ["safe"]}, "preparation": null, "continuation": "native",
            "observability": "events", "cancel": true, "interrupt": false,
            "cost": {"reports": true, "hardCap": false}, "qualification": null
        },
        "transport": {"methods": ["prepare", "submit", "inspect", "continue", "collect", "cancel", "lookup"]},
        "budgetUsd": 8, "health": "external"
    });
    let options =
        ExecutionOptions::from_object("/task", &object(&options), Arc::new(NoFaults)).expect("options");
    Boundary::new(options, &machine.host()).expect("a boundary")
}

fn serve(
    mut machine: Machine,
    mut says: impl FnMut(&str) -> Result<Json, ErrorKind>,
) -> Result<Value, Error> {
    let mut step = machine.start();
    loop {
        let call = match step {
            Step::Done(done) => return done,
            Step::Call(call) => call,
        };
        let reply = match says(call.method) {
            Ok(value) => Reply::Value(value.to_string()),
            Err(kind) => Reply::Error(TransportError::of(kind, "no")),
        };
        step = machine.reply(call.id, reply).expect("the call is outstanding");
    }
}

/// A machine on which the dispatch is durable, and a pass is due.
fn prepared(story: &Story) -> Simulation {
    let (_, machine) = simulated_host(7);
    let input = json!({
        "operationId": "op-1", "runId": "run-1", "prompt": "do it", "inputHead": HEAD, "policy": "safe",
        "model": "m-1", "environment": "env-1", "reservationUsd": 0.5
    });
    let dispatched = serve(boundary(&machine).submit(object(&input), AbortToken::new()), |_| {
        if story.is_lost { Err(ErrorKind::Io) } else { Ok(json!({"providerJobId": "j-1", "turnId": "t-1"})) }
    });
    assert_eq!(dispatched.is_err(), story.is_lost);
    machine.files.sync_everything();
    machine.another_process()
}

fn pass(story: &Story, machine: &Simulation) -> Result<Value, Error> {
    // The dispatch's own clock is the pass's: what is seen is seen at its start.
    let started =
        read(&machine.files, "execution.json")["operations"]["op-1"]["intentAt"].as_u64().expect("a time");
    serve(boundary(machine).startup(AbortToken::new()), |method| (story.says)(method, started))
}

fn read(files: &FaultyFileSystem, name: &str) -> Json {
    let bytes = files.contents(format!("/task/{name}")).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What every end has in common, whatever came between.
fn meaning(files: &FaultyFileSystem) -> BTreeMap<String, Json> {
    let ledger = read(files, "execution.json");
    let run = &ledger["executions"]["run-1"];
    let of_run = [
        "state",
        "terminalState",
        "providerJobId",
        "turnId",
        "sessionId",
        "observedAt",
        "cursor",
        "costUsd",
        "collected",
        "resultRejected",
        "completionInferred",
        "failures",
        "lastError",
        "quarantined",
    ];
    let mut meaning: BTreeMap<_, _> =
        of_run.iter().map(|key| ((*key).to_owned(), run[key].clone())).collect();
    meaning.insert("charged".to_owned(), ledger["allowance"].clone());
    meaning.insert("acceptance".to_owned(), ledger["operations"]["op-1"]["acceptance"].clone());
    let job = read(files, "run-1/job.json");
    assert_eq!(job["execution"], *run, "the job record follows the ledger");
    meaning.insert("exit".to_owned(), job["exit"].clone());
    let log = files.contents("/task/run-1/events.jsonl").expect("a log");
    let ids = String::from_utf8(log)
        .expect("UTF-8")
        .lines()
        .map(|line| {
            let row: Json = serde_json::from_str(line).expect("JSON");
            json!([row["sequence"], row["eventId"]])
        })
        .collect::<Vec<_>>();
    meaning.insert("events".to_owned(), json!(ids));
    meaning
}

fn undisturbed(story: &Story) -> (u64, BTreeMap<String, Json>) {
    let machine = prepared(story);
    pass(story, &machine).expect(story.name);
    (machine.files.last_number(), meaning(&machine.files))
}

/// Another pass, and another one after that, come to the end that an undisturbed one comes to, but for a gap where the
/// append was interrupted.
fn assert_recovers(story: &Story, machine: &Simulation, expected: &BTreeMap<String, Json>, at: &str) {
    for _ in 0..2 {
        pass(story, machine).unwrap_or_else(|error| panic!("{at}: {error}"));
    }
    let mut meaning = meaning(&machine.files);
    let events = meaning["events"].as_array().expect("events").clone();
    let own = |id: &Json| id == "e-1" || id == "e-2";
    let ids: Vec<&Json> = events.iter().map(|event| &event[1]).filter(|id| own(id)).collect();
    assert_eq!(ids, [&json!("e-1"), &json!("e-2")], "{at}: each event once, or a gap that stands for it");
    meaning.insert("events".to_owned(), expected["events"].clone());
    assert_eq!(&meaning, expected, "{at}");
}

#[test]
fn part_of_ex_sea_08_a_process_that_dies_at_any_operation_of_a_pass_loses_nothing() {
    let mut points = 0;
    for story in STORIES {
        let (operations, expected) = undisturbed(story);
        for number in 1..=operations {
            // What a crash just before an operation leaves, one just after the last operation has left.
            let crashing = prepared(story);
            let at = format!("{} operation {number}", story.name);
            crashing.files.set_faults([Fault::crash_after(number)]);
            let _ = pass(story, &crashing);
            points += u32::from(crashing.files.is_dead());
            assert_recovers(story, &crashing.another_process(), &expected, &at);
        }
    }
    assert!(points > 100, "only {points} crashes");
}

#[test]
fn a_machine_that_goes_down_in_a_pass_comes_to_the_same_end() {
    let mut images = 0;
    for story in STORIES {
        let (operations, expected) = undisturbed(story);
        // Each machine takes its time; the images of every operation of the files' own writers are tried beside them.
        for number in (1..=operations).step_by(5) {
            let crashing = prepared(story);
            crashing.files.set_faults([Fault::crash_after(number)]);
            let _ = pass(story, &crashing);
            for CrashImage { description, files } in
                crashing.files.images_after_crash().seeded(number, 1).take(4)
            {
                images += 1;
                let at = format!("{}, operation {number}, {description}", story.name);
                assert_recovers(story, &crashing.rebooted(&files), &expected, &at);
            }
        }
    }
    assert!(images > 60, "only {images} images");
}

#[test]
fn an_operation_that_fails_is_reported_and_made_up_for() {
    for story in STORIES {
        let (operations, expected) = undisturbed(story);
        for number in 1..=operations {
            let failing = prepared(story);
            failing.files.set_faults([Fault::error_at(number, Errno::EIO)]);
            let at = format!("{} operation {number} fails", story.name);
            if let Err(error) = pass(story, &failing) {
                let codes = [Code::ExecutionIo, Code::ExecutionCapability, Code::ExecutionBusy];
                assert!(codes.contains(&error.code()), "{at}: {error}");
            }
            failing.files.set_faults([]);
            assert_recovers(story, &failing, &expected, &at);
        }
    }
}
