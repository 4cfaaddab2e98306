//! EX-SEA-08 for passes: a crash at every fault point that a pass goes by, and a restart that comes to the same end. What is
//! compared is everything that is not a time of the pass itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use gallivant_core::execution::AbortToken;
use gallivant_core::execution::contract::ErrorKind;
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{CrashAt, event, failure, observation, observation_with, result, serve};
use crate::support::task::{Answer, TaskRoot, acknowledgement, dispatch, io_error};

/// What a provider says of a job whenever it is asked, and how it began.
struct Story {
    name: &'static str,
    start: fn() -> TaskRoot,
    says: fn(&str) -> Result<Json, ErrorKind>,
}

fn owned() -> TaskRoot {
    let task = TaskRoot::new();
    task.accepted(1);
    task
}

fn lost() -> TaskRoot {
    let task = TaskRoot::new();
    task.lost(1);
    task
}

fn stopped(task: TaskRoot) -> TaskRoot {
    task.stop_run(
        [Answer::Fails(io_error())]
            .into_iter()
            .take(usize::from(task.operation(1)["acceptance"] == "accepted")),
    )
    .ok();
    task
}

fn page(state: &str) -> Json {
    let events = json!([event("e-1"), event("e-2"), event("e-3")]);
    observation_with(1, state, json!({"events": events, "gap": true, "cursor": "c-3", "costUsd": 2}))
}

fn said(method: &str, observed: Json, collected: Result<Json, ErrorKind>) -> Result<Json, ErrorKind> {
    match method {
        "lookup" | "inspect" => Ok(observed),
        "collect" => collected,
        other => panic!("nobody is to call {other}"),
    }
}

fn stories() -> Vec<Story> {
    vec![
        Story { name: "running", start: owned, says: |method| said(method, page("running"), Ok(Json::Null)) },
        Story {
            name: "succeeded",
            start: owned,
            says: |method| said(method, page("succeeded"), Ok(result(1))),
        },
        Story { name: "found", start: lost, says: |method| said(method, page("failed"), Ok(failure(1))) },
        Story {
            name: "rejected",
            start: lost,
            says: |method| said(method, page("succeeded"), Err(ErrorKind::CollectionValidation)),
        },
        Story {
            name: "cancelled",
            start: || stopped(owned()),
            says: |method| match method {
                "cancel" => Err(ErrorKind::Io),
                _ => said(method, page("cancelled"), Ok(Json::Null)),
            },
        },
        Story {
            name: "stopped",
            start: || stopped(lost()),
            says: |method| match method {
                "cancel" => Ok(json!({"confirmed": true})),
                _ => said(method, observation(1, "running"), Ok(Json::Null)),
            },
        },
        Story {
            name: "superseded",
            start: || {
                let task = owned();
                task.plant("run-1/result.json", json!({"version": 1, "runId": "run-0"}).to_string());
                task
            },
            says: |method| said(method, page("succeeded"), Ok(result(1))),
        },
        Story {
            name: "cached",
            start: || {
                let task = owned();
                let mut cache = result(1);
                cache["version"] = json!(1);
                cache["runId"] = json!("run-1");
                cache["collectedAt"] = json!(NOW);
                task.ended(1, "succeeded");
                task.plant("run-1/result.json", cache.to_string());
                task
            },
            says: |method| said(method, page("succeeded"), Err(ErrorKind::Protocol)),
        },
        Story {
            name: "with a queued stop",
            start: || {
                let task = owned();
                task.plant_control();
                task
            },
            says: |method| match method {
                "cancel" => Ok(json!({"confirmed": false})),
                _ => said(method, page("succeeded"), Ok(result(1))),
            },
        },
    ]
}

/// Passes until there is nothing more to say: three times later than every saved time.
fn to_the_end(task: &TaskRoot, story: &Story) {
    for _ in 0..3 {
        task.machine.advance_ms(400_000);
        let boundary = task.boundary();
        let machine = boundary.reconcile(true, AbortToken::new());
        serve(machine, story.says).unwrap_or_else(|error| panic!("{}: {error}", story.name));
    }
}

/// What no interruption may change: all but the times of passes, and how often something was tried. After a confirmed stop
/// nobody is asked any more what was seen last (EX-REC-11).
fn meaning(task: &TaskRoot) -> BTreeMap<String, String> {
    let mut meaning = BTreeMap::new();
    for (path, bytes) in task.tree() {
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let text = match name.as_str() {
            "execution.json" | "job.json" | "result.json" | "result-application.json" | "stop-1.json" => {
                let mut value: Json = serde_json::from_slice(&bytes).expect("JSON");
                forget(&mut value);
                let is_stopped =
                    |run: &Json| run["completionInferred"] == true && run["state"] == "cancelled";
                for pointer in ["/executions/run-1", "/execution"] {
                    if let Some(run) = value.pointer_mut(pointer).filter(|run| is_stopped(run)) {
                        run["observedAt"] = Json::Null;
                    }
                }
                value.to_string()
            }
            "events.jsonl" => String::from_utf8(bytes)
                .expect("UTF-8")
                .lines()
                .map(|line| {
                    let row: Json = serde_json::from_str(line).expect("JSON");
                    format!("{} {} {}\n", row["sequence"], row["eventId"], row["type"])
                })
                .collect(),
            _ => continue,
        };
        meaning.insert(path, text);
    }
    meaning
}

fn forget(value: &mut Json) {
    const TIMES: [&str; 14] = [
        "reconciledAt",
        "nextAttemptAt",
        "acceptedAt",
        "collectedAt",
        "blockedAt",
        "updatedAt",
        "lastAttemptAt",
        "resolvedAt",
        "requestedAt",
        "terminalObservedAt",
        "attempts",
        "failures",
        "at",
        "endedAt",
    ];
    match value {
        Json::Object(members) => {
            members.retain(|key, _| !TIMES.contains(&key.as_str()));
            members.values_mut().for_each(forget);
        }
        Json::Array(items) => items.iter_mut().for_each(forget),
        _ => {}
    }
}

/// A crash at the nth point of the first pass, and the restart.
fn crash(story: &Story, nth: usize, expected: &BTreeMap<String, String>) -> bool {
    let mut task = (story.start)();
    let charged = task.ledger()["allowance"]["chargedUsd"].clone();
    let fault = CrashAt::new(nth);
    task.faults = fault.clone() as _;
    task.machine.advance_ms(400_000);
    let boundary = task.boundary();
    let crashed = serve(boundary.reconcile(true, AbortToken::new()), story.says).is_err();
    drop(boundary);
    let seen = fault.seen();
    let at = seen.get(nth - 1).cloned().unwrap_or_default();
    task.faults = CrashAt::new(0) as _;
    // What a reader sees in between is one state of the file and not half of one.
    let run = task.run(1);
    assert!(run["terminalState"].is_null() || !run["terminalObservedAt"].is_null(), "{} {at}", story.name);
    to_the_end(&task, story);
    let meaning = meaning(&task);
    for (path, text) in expected {
        assert_eq!(meaning.get(path), Some(text), "{} crashed at {nth} {at}: {path}", story.name);
    }
    let now = task.ledger()["allowance"]["chargedUsd"].as_f64() >= charged.as_f64();
    assert!(now, "{} {at}: what is charged never falls", story.name);
    crashed
}

#[test]
fn ex_sea_08_of_passes_a_crash_at_every_point_and_a_restart_come_to_the_same_end() {
    let (points, crashes) = (Mutex::new(BTreeSet::new()), AtomicUsize::new(0));
    // Most of it is waiting for a disk.
    std::thread::scope(|scope| {
        for story in stories() {
            let (points, crashes) = (&points, &crashes);
            scope.spawn(move || {
                let mut whole = (story.start)();
                let watched = CrashAt::new(0);
                whole.faults = watched.clone() as _;
                to_the_end(&whole, &story);
                let expected = meaning(&whole);
                let mut nth = 1;
                while crash(&story, nth, &expected) {
                    nth += 1;
                }
                crashes.fetch_add(nth - 1, Ordering::Relaxed);
                points.lock().expect("no panic while it is held").extend(watched.seen());
            });
        }
    });
    let (points, crashes) = (points.into_inner().expect("no panic"), crashes.into_inner());
    let wanted = [
        "pass.lookup",
        "pass.owned",
        "pass.observed",
        "pass.events",
        "pass.state",
        "collect.reply",
        "collect.result",
        "collect.ledger",
        "collect.blocked",
        "cancel.attempt",
        "cancel.reply",
        "control.applied",
        "journal.pending",
        "journal.record",
        "journal.key",
        "journal.checkpoint",
    ];
    for point in wanted {
        assert!(points.contains(point), "{point} is not in {points:?}");
    }
    println!("crashes: {crashes}, points: {}", points.len());
    assert!(crashes > 60, "{crashes}");
}

#[test]
fn a_dispatch_that_crashed_is_found_by_a_pass_and_not_sent_again() {
    // The intent alone is durable: the provider has the job all the same.
    let mut sent = 0;
    let mut task = TaskRoot::new();
    let mut nth = 1;
    loop {
        let fault = CrashAt::new(nth);
        task.faults = fault.clone() as _;
        let boundary = task.boundary();
        let machine = boundary.submit(crate::support::task::object(&dispatch(1)), AbortToken::new());
        let done = serve(machine, |method| {
            assert_eq!(method, "submit");
            sent += 1;
            Ok(acknowledgement(1))
        });
        task.faults = CrashAt::new(0) as _;
        if done.is_ok() {
            break;
        }
        if task.exists("execution.json") && task.ledger()["operations"]["op-1"].is_object() {
            task.machine.advance_ms(400_000);
            let boundary = task.boundary();
            let machine = boundary.startup(AbortToken::new());
            serve(machine, |method| said(method, page("running"), Ok(Json::Null))).expect("a pass");
            assert_eq!(task.operation(1)["acceptance"], "accepted", "{:?}", fault.seen());
            assert_eq!(task.run(1)["providerJobId"], "j-1");
        }
        assert!(sent <= 1, "{:?}", fault.seen());
        (task, sent) = (TaskRoot::new(), 0);
        nth += 1;
    }
    assert!(nth > 4, "{nth}");
}
