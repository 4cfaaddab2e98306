//! What may be read of a run without a lock: its job record, its outcome, how its preparation stands, and whether a pass is due
//! (EX-BND-16, EX-BND-20, EX-BND-26, EX-BND-31, EX-PRE-16, EX-PRE-22, EX-REC-05). Nothing here writes, takes a lock or calls anybody.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::Inner;
use crate::error::{Code, Error, Result};
use crate::execution::backoff::is_due;
use crate::execution::ledger::Ledger;
use crate::execution::ledger::record::{Cancellation, CancellationStatus, Execution, RunKind};
use crate::execution::preparation::{self, Judgement, Status};
use crate::execution::{controls, job, keys, outcome};
use crate::journal::RESULT;
use crate::json::{Object, Value};
use crate::storage::Directory;

/// The most that `resultBytes` can be set to, and as much again for what the library adds.
const MAX_RESULT_BYTES: u64 = 2 * 67_108_864;

/// The root and its ledger as it stands; the empty one where there is no root yet.
pub(super) fn ledger(inner: &Inner) -> Result<(Option<Arc<dyn Directory>>, Ledger)> {
    inner.check_fork()?;
    match inner.host.files.open_to_read(&inner.options.root) {
        Ok(root) => {
            let ledger = inner.read(&*root)?;
            Ok((Some(root), ledger))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok((None, Ledger::empty(inner.owner.clone())))
        }
        Err(error) => {
            Err(Error::new(Code::ExecutionIo, "the task's root cannot be opened").with_source(error))
        }
    }
}

/// Where the files of a run are, or would be.
pub(super) fn dir_of(inner: &Inner, run_id: &str) -> Result<PathBuf> {
    keys::check_id("runId", run_id)?;
    Ok(inner.options.root.join(run_id))
}

/// The job record of a run as it stands, also of one from before the ledger; none where there is none.
pub(super) fn read(inner: &Inner, run_id: &str) -> Result<Option<Object>> {
    keys::check_id("runId", run_id)?;
    inner.check_fork()?;
    match inner.host.files.open_to_read(&inner.options.root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(Error::new(Code::ExecutionIo, "the task's root cannot be opened").with_source(error))
        }
        Ok(root) => match run_directory(&*root, run_id)? {
            Some(run) => job::read(&*run),
            None => Ok(None),
        },
    }
}

/// EX-BND-25.
pub(super) fn current(inner: &Inner) -> Result<Option<Object>> {
    inner.check_fork()?;
    let failed = |error| Error::new(Code::ExecutionIo, "latest-run cannot be read").with_source(error);
    let mut bytes = Vec::new();
    let found = inner
        .host
        .files
        .open_to_read(&inner.options.root)
        .and_then(|root| root.read_and_close(job::LATEST_RUN, 1024, &mut bytes));
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found.map_err(failed)?,
    };
    match String::from_utf8(bytes).ok().filter(|run_id| keys::is_id(run_id)) {
        Some(run_id) => read(inner, &run_id),
        None => Ok(None),
    }
}

/// EX-JRN-54.
pub(super) fn result_view(inner: &Inner, run_id: &str) -> Result<Value> {
    let (_, ledger) = ledger(inner)?;
    let run = known(&ledger, run_id)?;
    let cost = ledger.operation_of(run).and_then(|operation| operation.cost_usd).max(run.cost_usd);
    let standing = crate::journal::Standing {
        outcome: Some(outcome(inner, run_id)?).filter(|outcome| !outcome.is_null()),
        cost_usd: cost.map(|cost| cost.to_number()),
    };
    let directory = dir_of(inner, run_id)?;
    let view = crate::journal::result_view(directory, &inner.host, &inner.options.secrets, &standing)?;
    Ok(view.unwrap_or(Value::Null))
}

/// EX-BND-16.
pub(super) fn outcome(inner: &Inner, run_id: &str) -> Result<Value> {
    let (root, ledger) = ledger(inner)?;
    let run = known(&ledger, run_id)?;
    if !run.is_settled() {
        return Ok(Value::Null);
    }
    let directory = root.map(|root| run_directory(&*root, run_id)).transpose()?.flatten();
    let (result, job) = match directory {
        Some(directory) => (result(&*directory)?, job::read(&*directory)?),
        None => (None, None),
    };
    let result = result.filter(|result| outcome::is_own(result, &ledger.owner, run));
    Ok(outcome::of(run, ledger.operation_of(run), result.as_ref(), job.as_ref()).unwrap_or(Value::Null))
}

/// EX-PRE-16.
pub(super) fn preparation_status(inner: &Inner, run_id: &str) -> Result<Status> {
    let (_, ledger) = ledger(inner)?;
    let run = intake(&ledger, run_id)?;
    Ok(preparation::status(run, ledger.stop_fence.as_ref()))
}

/// EX-PRE-22.
pub(super) fn judge_preparation(inner: &Inner, run_id: &str) -> Result<Judgement> {
    let (root, ledger) = ledger(inner)?;
    let run = intake(&ledger, run_id)?;
    if !run.collected || run.result_rejected {
        return Ok(Judgement::Pending);
    }
    let directory = root.map(|root| run_directory(&*root, run_id)).transpose()?.flatten();
    let result = directory.map(|directory| result(&*directory)).transpose()?.flatten();
    let has_result = result.is_some_and(|result| outcome::is_own(&result, &ledger.owner, run));
    Ok(if has_result { preparation::judge(run, ledger.intake_deadline_at) } else { Judgement::Pending })
}

/// What is due of a run.
pub(super) struct Due {
    /// A pass.
    pub(super) pass: bool,
    /// Its pending stop, which has a time of its own.
    pub(super) stop: bool,
}

/// What is due of the current run now, in milliseconds since 1970 (EX-REC-05). Of a task without one nothing is.
pub(super) fn due(run: Option<&Execution>, is_forced: bool, now: u64) -> Due {
    let due = |at| is_forced || is_due(at, now);
    let is_pending = |stop: &&Cancellation| stop.status == CancellationStatus::Pending;
    let stop = run.and_then(|run| run.cancellation.as_ref()).filter(is_pending);
    Due {
        pass: run.is_some_and(|run| due(run.next_attempt_at)),
        stop: stop.is_some_and(|stop| due(stop.next_attempt_at)),
    }
}

/// Whether a pass would do anything now.
pub(super) fn is_pass_due(inner: &Inner) -> Result<bool> {
    let (root, ledger) = ledger(inner)?;
    let due = due(ledger.current(), false, inner.host.clock.wall_ms());
    if due.pass || due.stop {
        return Ok(true);
    }
    Ok(root.map(|root| controls::queued(&*root)).transpose()?.flatten().is_some())
}

fn known<'a>(ledger: &'a Ledger, run_id: &str) -> Result<&'a Execution> {
    keys::check_id("runId", run_id)?;
    ledger.executions.get(run_id).ok_or_else(|| {
        Error::new(Code::ExecutionUnknownRun, format!("there is no such run, run=`{run_id}`"))
            .with_run_id(run_id)
    })
}

fn intake<'a>(ledger: &'a Ledger, run_id: &str) -> Result<&'a Execution> {
    let run = known(ledger, run_id)?;
    if run.kind == RunKind::Intake {
        return Ok(run);
    }
    let message = format!("the run is no intake, run=`{run_id}`");
    Err(Error::new(Code::ExecutionInput, message).with_run_id(run_id))
}

fn run_directory(root: &dyn Directory, run_id: &str) -> Result<Option<Arc<dyn Directory>>> {
    match root.open_directory(run_id) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some).map_err(|error| {
            Error::new(Code::ExecutionIo, "the run's directory cannot be opened").with_source(error)
        }),
    }
}

/// The cached result; none where there is none, or none that can be read. Its version is judged first (EX-UPG-09).
fn result(run: &dyn Directory) -> Result<Option<Object>> {
    let mut bytes = Vec::new();
    match run.read_and_close(RESULT, MAX_RESULT_BYTES, &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Error::new(Code::ExecutionIo, "result.json cannot be read").with_source(error));
        }
        Ok(_) => {}
    }
    let value = std::str::from_utf8(&bytes).ok().and_then(|text| Value::parse(text).ok());
    let Some(Value::Object(result)) = value else { return Ok(None) };
    crate::execution::version::check("result", RESULT, result.get("version"), 1)?;
    Ok(Some(result))
}
