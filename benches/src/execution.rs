//! The rows of the execution layer, each beside its floor in one run: `execution [--rounds N] [FOLDER…]`.
//!
//! A floor is the bare calls with as many bytes: a new file, a write, a sync, a rename, a sync of the directory. Floor and row
//! take turns, and the median of the rounds' ratios is told.
#![allow(clippy::disallowed_methods, reason = "a floor makes the bare calls")]

use std::error::Error;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use gallivant_core::Host;
use gallivant_core::execution::ledger::Owner;
use gallivant_core::execution::ledger::file::{LedgerFile, Writer};
use gallivant_core::execution::{AbortToken, Boundary, ExecutionOptions, Machine, NoFaults, Reply, Step};
use gallivant_core::json::{Object, Value as CoreValue};
use serde_json::{Value, json};

type Failure = Box<dyn Error>;
type Work<'a> = Box<dyn FnMut() -> Result<(), Failure> + 'a>;

fn main() -> Result<(), Failure> {
    let (mut rounds, mut folders) = (60, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => rounds = arguments.next().ok_or("--rounds N")?.parse()?,
            folder => folders.push(PathBuf::from(folder)),
        }
    }
    if folders.is_empty() {
        folders.push(std::env::temp_dir());
    }
    println!("{:28} {:>10} {:>10} {:>7}", "row", "row us", "floor us", "ratio");
    for folder in folders {
        println!("in {}", folder.display());
        for operations in [1, 1_000] {
            rows(&folder, operations, rounds)?;
        }
    }
    Ok(())
}

fn rows(folder: &Path, operations: u64, rounds: usize) -> Result<(), Failure> {
    let place = tempfile::tempdir_in(folder)?;
    let mut task = Task::new(&place.path().join("task"), operations)?;
    let floor = Floor::new(place.path())?;
    let bytes = fs::metadata(task.root.join("execution.json"))?.len() as usize;
    let job = fs::metadata(task.root.join(task.run_id()?).join("job.json"))?.len() as usize;
    let name = |row: &str| format!("{row}, {operations} operations");

    let host = Host::system();
    let root = host.files.open(&task.root)?;
    let owner = Owner { task_id: "t-1".to_owned(), provider: "prov".to_owned(), account: "acct".to_owned() };
    let mut file = LedgerFile::default();
    let ledger = file.read(&*root, &owner)?;
    let mut writer = Writer::new(&host, Arc::new(NoFaults));
    let persist: Work<'_> = Box::new(|| Ok(file.persist(&*root, &ledger, &mut writer)?));
    beside(&name("persist"), rounds, Box::new(|| floor.persist(bytes)), persist)?;

    let path = task.root.join("execution.json");
    let parse: Work<'_> = Box::new(|| {
        let mut text = String::new();
        File::open(&path)?.read_to_string(&mut text)?;
        CoreValue::parse(&text).map_err(|error| error.to_string())?;
        Ok(())
    });
    let boundary = task.boundary.clone();
    let inspect: Work<'_> = Box::new(|| boundary.inspect().map(drop).map_err(Into::into));
    beside(&name("inspect"), rounds, parse, inspect)?;

    let mut times = Vec::new();
    for round in 0..rounds {
        let before = timed(|| floor.dispatch(bytes, job, round))?;
        let took = timed(|| task.submit())?;
        let after = timed(|| floor.dispatch(bytes, job, rounds + round))?;
        times.push((took, before, after));
        task.settle()?;
    }
    tell(&name("dispatch"), &times);

    task.submit()?;
    let pass: Work<'_> = Box::new(|| task.pass(true));
    let bare: Work<'_> = Box::new(|| {
        floor.persist(bytes)?;
        floor.persist(job)
    });
    beside(&name("pass"), rounds, bare, pass)?;

    let mut control = 0;
    let queue: Work<'_> = Box::new(|| {
        control += 1;
        let input = json!({"reason": "enough", "controlId": format!("c-{control}")});
        task.run(task.boundary.request_cancel(object(&input)?, AbortToken::new())).map(drop)
    });
    beside(&name("queue"), rounds, Box::new(|| floor.persist(120)), queue)
}

fn timed(work: impl FnOnce() -> Result<(), Failure>) -> Result<f64, Failure> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed().as_secs_f64() * 1e6)
}

fn beside(name: &str, rounds: usize, mut floor: Work<'_>, mut row: Work<'_>) -> Result<(), Failure> {
    for _ in 0..3 {
        floor()?;
        row()?;
    }
    let mut times = Vec::new();
    for _ in 0..rounds {
        let before = timed(&mut floor)?;
        let took = timed(&mut row)?;
        times.push((took, before, timed(&mut floor)?));
    }
    tell(name, &times);
    Ok(())
}

fn tell(name: &str, times: &[(f64, f64, f64)]) {
    let median = |of: &dyn Fn(&(f64, f64, f64)) -> f64| {
        let mut sorted: Vec<f64> = times.iter().map(of).collect();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let (row, floor) = (median(&|time| time.0), median(&|time| (time.1 + time.2) / 2.0));
    let ratio = median(&|time| 2.0 * time.0 / (time.1 + time.2));
    println!("{name:28} {row:10.0} {floor:10.0} {ratio:7.2}");
}

/// The bare calls, in a directory of their own.
struct Floor {
    path: PathBuf,
    directory: File,
    bytes: Vec<u8>,
}

impl Floor {
    fn new(place: &Path) -> Result<Self, Failure> {
        let path = place.join("floor");
        fs::create_dir(&path)?;
        Ok(Floor { directory: File::open(&path)?, path, bytes: vec![b'x'; 16 << 20] })
    }

    fn persist(&self, bytes: usize) -> Result<(), Failure> {
        self.replace(&self.path, &self.directory, bytes)
    }

    fn replace(&self, path: &Path, directory: &File, bytes: usize) -> Result<(), Failure> {
        let staged = path.join(".staged");
        let mut file = File::create_new(&staged)?;
        file.write_all(&self.bytes[..bytes])?;
        file.sync_all()?;
        drop(file);
        fs::rename(staged, path.join("file"))?;
        Ok(directory.sync_all()?)
    }

    /// The ledger, a new directory with the job record, the ledger, and the job record.
    fn dispatch(&self, ledger: usize, job: usize, round: usize) -> Result<(), Failure> {
        self.persist(ledger)?;
        let run = self.path.join(format!("run-{round}"));
        fs::create_dir(&run)?;
        self.directory.sync_all()?;
        let directory = File::open(&run)?;
        self.replace(&run, &directory, job)?;
        self.persist(ledger)?;
        self.replace(&run, &directory, job)
    }
}

/// A task with so many settled operations, and a provider whose jobs are what it is told that they are.
struct Task {
    root: PathBuf,
    boundary: Boundary,
    operations: u64,
}

impl Task {
    fn new(root: &Path, operations: u64) -> Result<Self, Failure> {
        let options = json!({
            "taskId": "t-1", "provider": "prov", "account": "acct", "budgetUsd": 1_000_000, "health": "external",
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
        let made = ExecutionOptions::from_object(root, &object(&options)?, Arc::new(NoFaults))?;
        let boundary = Boundary::new(made, &Host::system())?;
        let mut task = Task { root: root.to_owned(), boundary, operations: 0 };
        task.submit()?;
        task.settle()?;
        if operations > 1 {
            task.multiply(operations)?;
        }
        Ok(task)
    }

    /// Puts copies of the one settled operation into the ledger, under names of their own.
    fn multiply(&mut self, operations: u64) -> Result<(), Failure> {
        let path = self.root.join("execution.json");
        let mut ledger: Value = serde_json::from_slice(&fs::read(&path)?)?;
        let operation = ledger["operations"]["op-1"].clone();
        let run = ledger["executions"][operation["runId"].as_str().unwrap_or_default()].clone();
        for number in 2..=operations {
            let (operation_id, run_id) = (format!("op-{number}"), format!("r-{number:032}"));
            let (mut operation, mut run) = (operation.clone(), run.clone());
            operation["operationId"] = json!(operation_id);
            operation["runId"] = json!(run_id);
            operation["sequence"] = json!(number);
            run["operationId"] = json!(operation_id);
            run["runId"] = json!(run_id);
            run["turnId"] = json!(format!("old-turn-{number}"));
            ledger["operations"][&operation_id] = operation;
            ledger["executions"][&run_id] = run;
        }
        self.operations = operations;
        Ok(fs::write(path, ledger.to_string())?)
    }

    fn run(&self, mut machine: Machine) -> Result<CoreValue, Failure> {
        let mut step = machine.start();
        loop {
            match step {
                Step::Done(outcome) => return Ok(outcome?),
                Step::Call(call) => {
                    let text =
                        |name: &str| call.input.get(name).and_then(CoreValue::as_str).unwrap_or_default();
                    let now = Host::system().clock.wall_ms();
                    let said = match call.method {
                        "submit" => {
                            json!({"providerJobId": "job", "turnId": format!("turn-{}", text("operationId"))})
                        }
                        "inspect" => {
                            json!({"providerJobId": "job", "turnId": text("turnId"), "state": "running", "observedAt": now})
                        }
                        _ => json!({"confirmed": true}),
                    };
                    step = machine.reply(call.id, Reply::Value(said.to_string()))?;
                }
            }
        }
    }

    fn submit(&mut self) -> Result<(), Failure> {
        self.operations += 1;
        let operation = format!("op-{}", self.operations);
        let input = json!({"operationId": operation, "prompt": "do it", "reservationUsd": 0.01});
        self.run(self.boundary.submit(object(&input)?, AbortToken::new())).map(drop)
    }

    fn pass(&self, force: bool) -> Result<(), Failure> {
        self.run(self.boundary.reconcile(force, AbortToken::new())).map(drop)
    }

    /// Marks the current run as settled in the file, which is not what is measured.
    fn settle(&self) -> Result<(), Failure> {
        let path = self.root.join("execution.json");
        let mut ledger: Value = serde_json::from_slice(&fs::read(&path)?)?;
        let run = ledger["currentRunId"].as_str().ok_or("no run")?.to_owned();
        ledger["executions"][&run]["state"] = json!("cancelled");
        ledger["executions"][&run]["terminalState"] = json!("cancelled");
        fs::write(path, ledger.to_string())?;
        // The boundary reads the file anew here, and not in what is measured.
        self.run(self.boundary.reconcile(false, AbortToken::new())).map(drop)
    }

    fn run_id(&self) -> Result<String, Failure> {
        let ledger: Value = serde_json::from_slice(&fs::read(self.root.join("execution.json"))?)?;
        Ok(ledger["currentRunId"].as_str().ok_or("no run")?.to_owned())
    }
}

fn object(value: &Value) -> Result<Object, Failure> {
    match CoreValue::parse(&value.to_string()) {
        Ok(CoreValue::Object(object)) => Ok(object),
        _ => Err("no object".into()),
    }
}
