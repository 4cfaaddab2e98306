//! The rows of scheduling: `scheduling [--rounds N] [--tasks N] [FOLDER]`. What health authorises, beside opening, reading and
//! parsing its record; and a lane over many tasks that are due, of which one is slow: who waits for whom, and the memory.
#![allow(clippy::disallowed_methods, reason = "a floor makes the bare calls, and a slow provider sleeps")]

use std::error::Error;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gallivant_core::Host;
use gallivant_core::execution::{
    AbortToken, Boundary, ExecutionOptions, HealthOptions, HealthScope, HealthStore, Machine, NoFaults,
    ProbeResult, ProgressLane, Reply, Step,
};
use gallivant_core::json::{Object, Value as CoreValue};
use serde_json::{Value, json};

type Failure = Box<dyn Error>;

/// Of the lane, as the limit of that name is by default.
const CONCURRENCY: u64 = 4;
/// How long the slow provider takes.
const SLOW: Duration = Duration::from_secs(2);
/// So many in a row, because one takes microseconds.
const BATCH: u32 = 200;

fn main() -> Result<(), Failure> {
    let (mut rounds, mut tasks, mut folder) = (60, 1_000, std::env::temp_dir());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => rounds = arguments.next().ok_or("--rounds N")?.parse()?,
            "--tasks" => tasks = arguments.next().ok_or("--tasks N")?.parse()?,
            given => folder = PathBuf::from(given),
        }
    }
    let place = tempfile::tempdir_in(&folder)?;
    authorize(place.path(), rounds)?;
    lane(place.path(), tasks)
}

fn authorize(place: &Path, rounds: usize) -> Result<(), Failure> {
    let (host, scope) = (Host::system(), HealthScope::new("prov", "acct"));
    let root = place.join("health");
    let options = HealthOptions { scopes: vec![scope.clone()], ..HealthOptions::new(&root) };
    let health = HealthStore::new(options, &host)?;
    let refresh = health.begin(&scope)?.ok_or("nothing is due")?;
    refresh.record(ProbeResult::Success { evidence: CoreValue::Null })?;
    let record = fs::read_dir(&root)?.filter_map(Result::ok).map(|entry| entry.path());
    let record = record.filter(|path| path.extension().is_some_and(|end| end == "json")).max();
    let record = record.ok_or("no record")?;
    let floor = || -> Result<(), Failure> {
        let mut text = String::new();
        File::open(&record)?.read_to_string(&mut text)?;
        CoreValue::parse(&text).map(drop).map_err(|error| error.to_string().into())
    };
    let row = || if health.authorize(&scope)? { Ok(()) } else { Err("it is not authorised".into()) };
    let mut times = Vec::new();
    for _ in 0..rounds {
        let before = timed(&floor)?;
        let took = timed(&row)?;
        times.push((took, before, timed(&floor)?));
    }
    let median = |of: &dyn Fn(&(f64, f64, f64)) -> f64| {
        let mut sorted: Vec<f64> = times.iter().map(of).collect();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    println!("{:28} {:>10} {:>10} {:>7}", "row", "row us", "floor us", "ratio");
    let (row, floor) = (median(&|time| time.0), median(&|time| (time.1 + time.2) / 2.0));
    println!(
        "{:28} {row:10.1} {floor:10.1} {:7.2}",
        "authorize",
        median(&|time| 2.0 * time.0 / (time.1 + time.2))
    );
    Ok(())
}

/// One of so many in a row, in microseconds.
fn timed(work: &dyn Fn() -> Result<(), Failure>) -> Result<f64, Failure> {
    let started = Instant::now();
    for _ in 0..BATCH {
        work()?;
    }
    Ok(started.elapsed().as_secs_f64() * 1e6 / f64::from(BATCH))
}

/// Every task is due, and the provider of the first is slow. The others are done when three slots have done them: a task that
/// waited for the slow one would end behind it.
fn lane(place: &Path, tasks: usize) -> Result<(), Failure> {
    let mut boundaries = Vec::new();
    for number in 0..tasks {
        let boundary = task(&place.join(format!("task-{number}")), number)?;
        run(
            boundary.submit(
                object(&json!({"operationId": "op-1", "prompt": "p", "reservationUsd": 1}))?,
                AbortToken::new(),
            ),
            None,
        )?;
        boundaries.push(boundary);
    }
    // What an open task keeps of its ledger from its first pass on is the task's, also where no lane is.
    std::thread::sleep(Duration::from_millis(1_100));
    let before = resident()?;
    for boundary in &boundaries {
        run(boundary.reconcile(false, AbortToken::new()), None)?;
    }
    println!("{:28} {:10.1} KiB", "an open task keeps", (resident()? - before) as f64 / tasks as f64);
    println!(
        "{:28} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "a lane of so many", "others s", "each us", "slow s", "most", "growth KiB"
    );
    for pass in 0..12 {
        // The shortest cadence of a live run is a second.
        std::thread::sleep(Duration::from_millis(1_100));
        let (running, most, done) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let before = resident()?;
        let started = Instant::now();
        let others = std::sync::Mutex::new(Duration::ZERO);
        let reports = ProgressLane::run(&boundaries, CONCURRENCY, &AbortToken::new(), |number, machine| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let report = run(machine, (number == 0).then_some(SLOW));
            running.fetch_sub(1, Ordering::SeqCst);
            if number != 0 {
                done.fetch_add(1, Ordering::SeqCst);
                *others.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = started.elapsed();
            }
            report.map_err(|error| {
                gallivant_core::Error::new(gallivant_core::Code::ExecutionIo, error.to_string())
            })
        })?;
        let whole = started.elapsed();
        if reports.len() != tasks || reports.iter().any(|progress| progress.report.is_err()) {
            return Err(format!("{} of {tasks} tasks were due and went well", reports.len()).into());
        }
        drop(reports);
        let others = others.lock().unwrap_or_else(std::sync::PoisonError::into_inner).as_secs_f64();
        let each = others * 1e6 * (CONCURRENCY - 1) as f64 / (tasks - 1) as f64;
        println!(
            "{:28} {others:10.2} {each:10.0} {:10.2} {:10} {:10}",
            format!("{tasks}, pass {}", pass + 1),
            whole.as_secs_f64(),
            most.load(Ordering::SeqCst),
            resident()? - before
        );
    }
    Ok(())
}

/// What is in memory of this process, in KiB.
fn resident() -> Result<i64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

fn task(root: &Path, number: usize) -> Result<Boundary, Failure> {
    let options = json!({
        "taskId": format!("t-{number}"), "provider": "prov", "account": "acct", "budgetUsd": 8, "health": "external",
        "limits": {"progressMs": 1_000},
        "transport": {"methods": ["submit", "inspect", "continue", "collect", "cancel", "lookup"]},
        "capabilities": {
            "provider": "prov", "transport": "managed-rest", "location": "remote",
            "newDispatch": {"available": true}, "authentication": {"scheme": "key", "secretNames": []},
            "environments": {"required": false, "allowed": null}, "models": "native",
            "policies": {"required": false, "allowed": []}, "continuation": "native",
            "observability": "events", "cancel": true, "interrupt": false,
            "cost": {"reports": true, "hardCap": false}
        },
    });
    let options = ExecutionOptions::from_object(root, &object(&options)?, Arc::new(NoFaults))?;
    Ok(Boundary::new(options, &Host::system())?)
}

/// Carries a machine out, by a provider that takes so long for its answer.
fn run(mut machine: Machine, takes: Option<Duration>) -> Result<CoreValue, Failure> {
    let mut step = machine.start();
    loop {
        let call = match step {
            Step::Done(outcome) => return Ok(outcome?),
            Step::Call(call) => call,
        };
        if let Some(takes) = takes {
            std::thread::sleep(takes);
        }
        let text = |name: &str| call.input.get(name).and_then(CoreValue::as_str).unwrap_or_default();
        let said = match call.method {
            "submit" => json!({"providerJobId": "job", "turnId": format!("turn-{}", text("runId"))}),
            _ => json!({
                "providerJobId": "job", "turnId": text("turnId"), "state": "running",
                "observedAt": Host::system().clock.wall_ms(),
            }),
        };
        step = machine.reply(call.id, Reply::Value(said.to_string()))?;
    }
}

fn object(value: &Value) -> Result<Object, Failure> {
    match CoreValue::parse(&value.to_string()) {
        Ok(CoreValue::Object(object)) => Ok(object),
        _ => Err("no object".into()),
    }
}
