//! Several processes that dispatch the same operations of one task and are killed at random moments: the provider keeps a line
//! for each create, and there is one a key.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gallivant_core::execution::ledger::record::Acceptance;
use gallivant_core::execution::{Boundary, Call, Ledger, Machine, NoFaults, Reply, Step};
use gallivant_core::json::Value as CoreValue;
use gallivant_core::random::Random;
use gallivant_core::testing::SeededRandom;
use gallivant_core::{Code, Host, Result};
use serde_json::{Value, json};

use crate::boundary::{boundary, dispatch_input, no_abort, object, options};
use crate::{start, wait_for};

const CREATES: &str = "creates";
const TASK: &str = "task";
/// So many creates are made at least, and waited for at most so long.
const MANY: usize = 20;
const LONGEST: Duration = Duration::from_secs(300);

/// A process that dispatches one operation after the other, as fast as the task allows, until it is killed.
pub(crate) fn dispatcher(directory: &Path, first: u64) {
    let mut options = options();
    options["limits"] = json!({"lockWaitMs": 2_000});
    options["budgetUsd"] = json!(1_000_000);
    let root = directory.join(TASK);
    let boundary = boundary(root.to_str().expect("UTF-8"), &options, &Host::system(), Arc::new(NoFaults));
    let mut number = first.max(1);
    println!("\nbegun");
    loop {
        let operation = format!("op-{number}");
        let submit = boundary.submit(object(&dispatch_input(&operation)), no_abort());
        match drive(directory, submit).map_err(|error| (error.code(), error.reason())) {
            Ok(_) => number += 1,
            Err((Code::ExecutionConflict, Some("absent"))) => number += 1,
            Err((Code::ExecutionAcceptanceUnknown | Code::ExecutionUnresolved, _)) => {
                resolve(directory, &boundary)
            }
            Err((Code::ExecutionActive, _)) => drop(drive(directory, boundary.startup(no_abort()))),
            Err((Code::ExecutionBusy, _)) => {}
            Err(other) => panic!("{operation}: {other:?}"),
        }
    }
}

/// What an operator does about an intent whose process died before it sent anything: the look-up under the lock has found
/// nothing, so that nobody is sending it, and nobody will.
fn resolve(directory: &Path, boundary: &Boundary) {
    let Ok(report) = drive(directory, boundary.startup(no_abort())) else { return };
    let operation = report.get("execution").and_then(|run| run.get("operationId")?.as_str());
    let is_unknown = report.get("acceptance").and_then(CoreValue::as_str) == Some("unknown");
    if let Some(operation) = operation.filter(|_| is_unknown) {
        let input = json!({"operationId": operation, "evidence": "no line of it in the books"});
        let _ = drive(directory, boundary.settle_absent(object(&input), no_abort()));
    }
}

fn drive(directory: &Path, mut machine: Machine) -> Result<CoreValue> {
    let mut step = machine.start();
    loop {
        match step {
            Step::Done(outcome) => return outcome,
            Step::Call(call) => {
                let said = answer(directory, &call).to_string();
                step = machine.reply(call.id, Reply::Value(said)).expect("outstanding");
            }
        }
    }
}

/// The provider: its books are one file a key, with a line for each create. Jobs are over at once.
fn answer(directory: &Path, call: &Call) -> Value {
    let input: Value = serde_json::from_str(&CoreValue::Object(call.input.clone()).to_json()).expect("JSON");
    let now = Host::system().clock.wall_ms();
    let observation = |job: &Value, turn: &Value| json!({"providerJobId": job, "turnId": turn, "state": "succeeded", "observedAt": now, "events": []});
    let key = input["idempotencyKey"].as_str().unwrap_or_default();
    match call.method {
        "submit" => {
            let path = directory.join(CREATES).join(key);
            let mut book = OpenOptions::new().append(true).create(true).open(path).expect("a book");
            book.write_all(b"created\n").expect("written");
            json!({"providerJobId": format!("job-{key}"), "turnId": format!("turn-{key}")})
        }
        "lookup" if is_created(&directory.join(CREATES).join(key)) => {
            observation(&json!(format!("job-{key}")), &json!(format!("turn-{key}")))
        }
        "lookup" => Value::Null,
        "inspect" => observation(&input["providerJobId"], &input["turnId"]),
        "collect" => json!({
            "providerJobId": input["providerJobId"], "turnId": input["turnId"], "inputHead": input["inputHead"],
            "outcome": {"finished": true, "ok": true, "exit": 0, "denials": []},
        }),
        other => panic!("no such call: {other}"),
    }
}

/// A book without a line is of a process that was killed before it wrote one.
fn is_created(book: &Path) -> bool {
    fs::metadata(book).is_ok_and(|found| found.len() > 0)
}

#[test]
fn i1_processes_that_are_killed_at_random_moments_create_each_operation_once() {
    let seed = std::env::var("GALLIVANT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_26);
    let kills: u32 = std::env::var("GALLIVANT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(60);
    let dice = SeededRandom::new(seed);
    let place = tempfile::tempdir().expect("a temporary directory");
    let directory = place.path();
    let books = directory.join(CREATES);
    fs::create_dir(&books).expect("a directory for the books");
    let begin = || {
        let created = fs::read_dir(&books).expect("listed").count() as u64;
        let mut process = start("killed-dispatcher", directory, created);
        // On a busy machine it might else be killed each time before it has done anything.
        wait_for(&mut process, "begun");
        process
    };
    let created_so_far = || {
        let books = fs::read_dir(&books).expect("listed").map(|book| book.expect("listed").path());
        books.filter(|book| is_created(book)).count()
    };
    let (mut processes, began, mut killed) =
        ((0..3).map(|_| begin()).collect::<Vec<Child>>(), Instant::now(), 0);
    while killed < kills || (created_so_far() <= MANY && began.elapsed() < LONGEST) {
        killed += 1;
        std::thread::sleep(Duration::from_millis(15 + dice.next_u64() % 60));
        let victim = (dice.next_u64() % 3) as usize;
        assert!(processes[victim].try_wait().expect("ours").is_none(), "seed {seed}: a process failed");
        processes[victim].kill().expect("SIGKILL");
        processes[victim].wait().expect("reaped");
        processes[victim] = begin();
    }
    for mut process in processes {
        process.kill().expect("SIGKILL");
        process.wait().expect("reaped");
    }
    let ledger = Ledger::parse(&fs::read(directory.join(TASK).join("execution.json")).expect("a ledger"))
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let mut created = 0;
    for book in fs::read_dir(&books).expect("listed") {
        let book = book.expect("listed");
        let key = book.file_name().into_string().expect("UTF-8");
        if !is_created(&book.path()) {
            continue;
        }
        let lines = fs::read_to_string(book.path()).expect("read");
        assert_eq!(lines, "created\n", "seed {seed}: {key} was created more than once");
        let operation = ledger.operations.records().find(|known| known.idempotency_key == key);
        let operation = operation.unwrap_or_else(|| panic!("seed {seed}: {key} is lost"));
        assert_ne!(operation.acceptance, Acceptance::Absent, "seed {seed}: {key}");
        created += 1;
    }
    let accepted =
        ledger.operations.records().filter(|known| known.acceptance == Acceptance::Accepted).count();
    assert!(accepted <= created && created - accepted <= 1, "seed {seed}: {accepted} accepted of {created}");
    let absent = ledger.operations.records().filter(|known| known.acceptance == Acceptance::Absent).count();
    println!(
        "dispatch: {killed} kills, {created} creates, one a key, {absent} settled as absent, seed {seed}"
    );
    assert!(created > MANY, "seed {seed}: only {created} creates");
}
