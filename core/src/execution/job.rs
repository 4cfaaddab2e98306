//! `job.json` in a run's directory: what a reader of one run needs, with a copy of its metadata (EX-JRN-02, EX-LED-11).
//!
//! It is written after the ledger. Where the two differ, the ledger is right.

use std::io;
use std::sync::Arc;

use super::ledger::file::{JOB, Writer};
use super::ledger::record::Execution;
use super::ledger::{Ledger, VERSION};
use crate::clock::Clock;
use crate::error::{Code, Error, Result};
use crate::json::{Number, Object, Value};
use crate::storage::{Directory, Seen};

/// The file in a task's root that names its current local run (EX-JRN-01).
pub const LATEST_RUN: &str = "latest-run";

/// As the longest result and what the library adds.
const MAX_BYTES: u64 = 2 * 67_108_864;

/// Reads the job record of a run; none where there is none. What it holds is not judged.
///
/// # Errors
/// `EXECUTION_IO`; `EXECUTION_PROTOCOL` with the reason `shape` where it is no JSON object.
pub fn read(run: &dyn Directory) -> Result<Option<Object>> {
    read_object(run, JOB)
}

/// As [`read`], of a record that may have been read before.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_again(
    run: &dyn Directory,
    run_id: &str,
    seen: &mut Seen<Object>,
    clock: &dyn Clock,
) -> Result<Option<Object>> {
    let judge = |bytes: &[u8]| object(JOB, bytes);
    seen.read((run, JOB), run_id, MAX_BYTES, clock, |error| unreadable(JOB, error), judge)
}

/// Reads a file that is one JSON object; none where there is none.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_object(run: &dyn Directory, name: &str) -> Result<Option<Object>> {
    let mut bytes = Vec::new();
    match run.read_and_close(name, MAX_BYTES, &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(name, error)),
        Ok(_) => object(name, &bytes).map(Some),
    }
}

fn unreadable(name: &str, error: io::Error) -> Error {
    Error::new(Code::ExecutionIo, format!("{name} cannot be read")).with_source(error)
}

fn object(name: &str, bytes: &[u8]) -> Result<Object> {
    match std::str::from_utf8(bytes).ok().and_then(|text| Value::parse(text).ok()) {
        Some(Value::Object(object)) => Ok(object),
        _ => {
            Err(Error::new(Code::ExecutionProtocol, format!("{name} is no JSON object")).with_reason("shape"))
        }
    }
}

/// Writes the job record of a run as the ledger has it, creating the run's directory where it is missing. Members that only a
/// process run has stay as they are. Nothing is written where it says so already. The record is durable once this has returned
/// for a process and for a settled run; else it is whole, and the next pass writes it again if the power took the newer one.
///
/// # Errors
/// `EXECUTION_IO`. The ledger stands; the next pass writes the record again.
pub(crate) fn align(
    root: &dyn Directory,
    ledger: &Ledger,
    run: &Execution,
    exit: Option<&Value>,
    (writer, seen, clock): (&mut Writer, &mut Seen<Object>, &dyn Clock),
) -> Result<()> {
    let directory = open_or_create(root, &run.run_id)?;
    let stands = read_again(&*directory, &run.run_id, seen, clock).ok().flatten().unwrap_or_default();
    if stands.is_empty() {
        // Whoever made the directory may have died before its name was durable; a record in it proves that it is.
        root.sync().map_err(unmade)?;
    }
    let mut next = record(stands.clone(), ledger, run);
    if let Some(exit) = exit {
        next.insert("exit", exit.clone());
    }
    if next == stands {
        return Ok(());
    }
    if exit.is_none() && run.collected {
        // A crash may have come before the record was written: the result says how the run ended.
        let result = crate::journal::RESULT;
        if let Some(exit) = read_object(&*directory, result)
            .ok()
            .flatten()
            .and_then(|result| result.get("outcome")?.get("exit").cloned())
        {
            next.insert("exit", exit);
        }
    }
    // Of a remote run that goes on this is nothing but a copy, which the next pass mends from the ledger. What only it says of a
    // process, and how a run ended, which no pass may come to again, has to last.
    let must_last = next.get("process").is_some() || run.is_settled();
    let mut text = Value::Object(next).to_json();
    text.push('\n');
    let below = format!("{}/", run.run_id);
    if must_last {
        writer.persist(&*directory, &below, JOB, &text)
    } else {
        writer.copy(&*directory, &below, JOB, &text)
    }
}

/// Writes a job record as it is given, durably, creating the run's directory where it is missing.
///
/// # Errors
/// `EXECUTION_IO`.
pub(crate) fn write(root: &dyn Directory, run_id: &str, job: Object, writer: &mut Writer) -> Result<()> {
    let directory = open_or_create(root, run_id)?;
    let mut text = Value::Object(job).to_json();
    text.push('\n');
    writer.persist(&*directory, &format!("{run_id}/"), JOB, &text)
}

fn record(mut job: Object, ledger: &Ledger, run: &Execution) -> Object {
    let text = |text: &str| Value::String(text.to_owned());
    let ended =
        run.completed_at.or(run.terminal_observed_at).or(run.collected_at).filter(|_| run.is_settled());
    job.insert("version", number(VERSION));
    job.insert("taskId", text(&ledger.owner.task_id));
    job.insert("runId", text(&run.run_id));
    job.insert("operationId", run.operation_id.as_deref().map_or(Value::Null, text));
    job.insert("provider", text(&ledger.owner.provider));
    job.insert("account", text(&ledger.owner.account));
    job.insert("kind", text(run.kind.word()));
    job.insert("startedAt", number(run.started_at));
    job.insert("endedAt", ended.map_or(Value::Null, number));
    job.insert("completionInferred", Value::Bool(run.completion_inferred));
    for kept in ["exit", "signal"] {
        if job.get(kept).is_none() {
            job.insert(kept, Value::Null);
        }
    }
    job.insert("sessionId", run.session_id.as_deref().map_or(Value::Null, text));
    job.insert("execution", run.to_value());
    job
}

fn open_or_create(root: &dyn Directory, run_id: &str) -> Result<Arc<dyn Directory>> {
    match root.open_directory(run_id) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match root.make_directory(run_id) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made.map_err(unmade)?,
            }
            root.open_directory(run_id).map_err(unmade)
        }
        opened => opened.map_err(unmade),
    }
}

fn unmade(error: io::Error) -> Error {
    Error::new(Code::ExecutionIo, "the run's directory cannot be made").with_source(error)
}

/// A time or version.
pub(crate) fn number(number: u64) -> Value {
    Number::parse(&number.to_string()).map_or(Value::Null, Value::Number)
}
