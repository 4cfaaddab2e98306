//! Collection: a cached result before a call, a valid result on disk before the ledger says so, and a fault that stays
//! settles the run (EX-REC-07, EX-REC-20 to EX-REC-25, EX-ART-60 to EX-ART-66).

use std::io;
use std::sync::{Arc, PoisonError};

use super::pass::Pass;
use super::task::Task;
use crate::error::{Code, Error, Result};
use crate::execution::application::{APPLICATION, Checkpoint, OwnerKeys, REJECTED, Status};
use crate::execution::contract::question::Job;
use crate::execution::contract::{ErrorKind, Method, Reply};
use crate::execution::ledger::record::{Execution, Operation};
use crate::execution::machine::Ended;
use crate::execution::money::{Nanos, Round};
use crate::execution::result::{self, Judged, refused};
use crate::execution::states::ProviderState;
use crate::execution::transition::observe;
use crate::execution::version;
use crate::journal::{Collected, RESULT, private_result};
use crate::json::{Number, Object, Value};
use crate::storage::Directory;

/// Under which an invalid cached result is kept when a valid one arrives (EX-REC-21).
const SUPERSEDED: &str = "result.superseded.json";
/// As the longest result and what the library adds.
const MAX_BYTES: u64 = 2 * 67_108_864;

/// A cached result.
pub(super) struct Cached {
    pub(super) object: Object,
    pub(super) judged: Result<Judged>,
}

/// Reads the cached result of a run and judges it; none where there is none. What is no JSON object is an invalid one.
///
/// # Errors
/// `EXECUTION_VERSION`, `EXECUTION_IO`.
pub(super) fn cached(
    run_directory: &dyn Directory,
    run: &Execution,
    operation: &Operation,
    now: u64,
) -> Result<Option<Cached>> {
    let mut bytes = Vec::new();
    match run_directory.read_and_close(RESULT, MAX_BYTES, &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Error::new(Code::ExecutionIo, "result.json cannot be read").with_source(error));
        }
        Ok(_) => {}
    }
    let value = std::str::from_utf8(&bytes).ok().and_then(|text| Value::parse(text).ok());
    let Some(Value::Object(object)) = value else {
        let judged = Err(refused("incomplete", "result.json is no JSON object"));
        return Ok(Some(Cached { object: Object::new(), judged }));
    };
    version::check("result", RESULT, object.get("version"), 1)?;
    let is_own = object.get("runId").and_then(Value::as_str) == Some(&run.run_id);
    let judged = if is_own {
        result::judge(&Reply::from_object(object.clone()), &result::Owner::of(run, operation), now)
    } else {
        Err(refused("foreign", "result.json belongs to another run"))
    };
    Ok(Some(Cached { object, judged }))
}

/// The collection step of a pass.
pub(super) async fn collect(pass: &mut Pass) -> Result<()> {
    let Some((run, operation)) = pass.task.current_remote() else { return Ok(()) };
    if run.state != ProviderState::RetrievingResults || run.is_settled() {
        return Ok(());
    }
    let Some(end) = run.terminal_state else { return Ok(()) };
    let directory = pass.run_directory()?;
    let found = cached(&*directory, &run, &operation, pass.task.now())?;
    let replaces = found.is_some();
    if let Some(Cached { object, judged: Ok(judged) }) = &found {
        let collected_at = object.get("collectedAt").and_then(Value::as_number).and_then(Number::as_u64);
        return adopt(&mut pass.task, &operation, judged, collected_at);
    }
    let inner = Arc::clone(&pass.task.inner);
    let method = Method::Collect;
    if !inner.options.has(method) {
        return Err(super::no_method(method.word()));
    }
    let job = Job {
        run_id: &run.run_id,
        provider_job_id: run.provider_job_id.as_deref().unwrap_or_default(),
        session_id: run.session_id.as_deref(),
        turn_id: run.turn_id.as_deref().unwrap_or_default(),
    };
    let call = job.collect(&inner.owner.task_id, operation.input_head.as_deref(), end.word());
    let reply = match pass.call(method, call).await {
        Ended::Value(text) => Reply::receive(method, &text, inner.options.limits.result_bytes)
            .and_then(|reply| reply.ok_or_else(|| refused("missing", "the result is not available yet"))),
        Ended::Oversized => Err(refused("oversized", "a result is too long")),
        Ended::Error(error) if error.kind == ErrorKind::CollectionValidation => {
            return reject(&mut pass.task, &run, &operation);
        }
        ended => Err(pass.lost(method, ended)),
    }?;
    let judged = result::judge(&reply, &result::Owner::of(&run, &operation), pass.task.now())?;
    pass.task.point("collect.reply")?;
    let now = pass.task.now();
    let collected = Collected {
        task_id: &inner.owner.task_id,
        run_id: &run.run_id,
        provider: &inner.owner.provider,
        collected_at_ms: now,
    };
    let mut text = private_result(&collected, &accounted(reply.members()), &inner.redactor).to_json();
    text.push('\n');
    if replaces && directory.metadata(SUPERSEDED).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    {
        let failed =
            |error| Error::new(Code::ExecutionIo, "result.json cannot be renamed").with_source(error);
        directory.rename(RESULT, SUPERSEDED).and_then(|()| directory.sync()).map_err(failed)?;
    }
    save(&pass.task, &*directory, &run.run_id, RESULT, &text)?;
    pass.task.point("collect.result")?;
    adopt(&mut pass.task, &operation, &judged, None)
}

/// The members of a result with the cost in it as it counts (EX-COST-11, EX-COST-20); what is no amount is unknown.
fn accounted(result: &Object) -> Object {
    let mut result = result.clone();
    if let Some(Value::Object(outcome)) = result.get_mut("outcome")
        && let Some(cost) = outcome.get_mut("cost")
    {
        *cost =
            Nanos::from_value(cost, Round::Up).map_or(Value::Null, |cost| Value::Number(cost.to_number()));
    }
    result
}

/// A valid result that is on disk becomes the ledger's.
fn adopt(task: &mut Task, operation: &Operation, judged: &Judged, collected_at: Option<u64>) -> Result<()> {
    let now = task.now();
    let collected_at = collected_at.unwrap_or(now);
    let next = observe::collected(&task.ledger, &operation.operation_id, judged, collected_at, now)?;
    task.persist(next)?;
    task.point("collect.ledger")?;
    task.align_with_exit(&operation.run_id, &judged.exit);
    Ok(())
}

/// A fault that stays: the checkpoint first, then the ledger (EX-ART-60, EX-ART-61).
fn reject(task: &mut Task, run: &Execution, operation: &Operation) -> Result<()> {
    let directory = task.root.open_directory(&run.run_id);
    let directory = directory.map_err(|error| {
        Error::new(Code::ExecutionIo, "the run's directory cannot be opened").with_source(error)
    })?;
    let now = task.now();
    let owner = OwnerKeys::of(&task.inner.owner.task_id, run, operation);
    let text = Checkpoint::begun(&owner, None, now).blocked(REJECTED, None, now)?.encode();
    save(task, &*directory, &run.run_id, APPLICATION, &text)?;
    task.point("collect.blocked")?;
    settle_rejected(task, &run.run_id)
}

fn settle_rejected(task: &mut Task, run_id: &str) -> Result<()> {
    let next = observe::rejected(&task.ledger, run_id, task.now());
    task.persist(next)?;
    task.align(run_id);
    Ok(())
}

/// Settles a run from its checkpoint, without a call, where a crash came between the two writes of a rejection and all six
/// owner keys match (EX-REC-07, EX-ART-63).
///
/// # Errors
/// `EXECUTION_VERSION`, `EXECUTION_IO`.
pub(super) fn recover_rejected(task: &mut Task, directory: &dyn Directory) -> Result<()> {
    let Some((run, operation)) = task.current_remote() else { return Ok(()) };
    if run.is_settled() {
        return Ok(());
    }
    let checkpoint = match Checkpoint::read(directory) {
        // What is no checkpoint proves nothing, and is kept.
        Err(error) if error.reason() == Some("foreign") => return Ok(()),
        read => read?,
    };
    let Some(checkpoint) = checkpoint else { return Ok(()) };
    let is_rejection = checkpoint.status() == Status::Blocked && checkpoint.reason() == Some(REJECTED);
    let is_own = checkpoint.is_owned_by(&OwnerKeys::of(&task.inner.owner.task_id, &run, &operation));
    if is_rejection && is_own && run.terminal_state.is_some() {
        settle_rejected(task, &run.run_id)?;
    }
    Ok(())
}

fn save(task: &Task, directory: &dyn Directory, run_id: &str, name: &str, text: &str) -> Result<()> {
    let mut files = task.inner.files.lock().unwrap_or_else(PoisonError::into_inner);
    files.writer.persist(directory, &format!("{run_id}/"), name, text)
}
