//! The calls of local runs (EX-BND-24 to EX-BND-30): start, settle, kill, and whether a tree is gone.
//!
//! They are the calls of every run under the names of a process runner: each is a dispatch, a pass or a stop, and none knows
//! anything of its own about the ledger.

use std::sync::Arc;
use std::time::Duration;

use super::input::wrong;
use super::{Inner, cancel, dispatch, pass, reading};
use crate::error::{Code, Error, Result};
use crate::execution::ledger::lock::AbortToken;
use crate::execution::ledger::record::{Action, FenceKind};
use crate::execution::machine::Line;
use crate::json::{Object, Value};

/// Between two looks at a tree that is to go: from so long, doubled each time, to so long.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// One look of a wait for a tree that is to go (EX-BND-30). Whoever waits looks, has a pass run where a kill is due, and sleeps in
/// the idiom of its language, until the tree is gone or it has waited long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KillLook {
    /// The whole tree is provably gone: the wait is over.
    pub is_gone: bool,
    /// The time has come at which the stop has what is left killed: a forced pass is to be run before the pause. Somebody else who
    /// holds the task's lock does it just as well.
    pub is_kill_due: bool,
    /// How long until the next look, if the wait lasts that long.
    pub pause: Duration,
}

/// `start`: a submit that gives the job record (EX-BND-24). Without an operation id it is a new operation.
pub(super) async fn start(
    inner: Arc<Inner>,
    line: Line,
    abort: AbortToken,
    mut input: Object,
) -> Result<Value> {
    local(&inner)?;
    if input.get("operationId").is_none_or(Value::is_null) {
        let id = format!("op-{:016x}{:016x}", inner.host.random.next_u64(), inner.host.random.next_u64());
        input.insert("operationId", Value::from(id));
    }
    let done = dispatch::dispatch(Arc::clone(&inner), line, abort, Action::Submit, input).await?;
    let run_id = done.get("runId").and_then(Value::as_str).unwrap_or_default();
    Ok(reading::read(&inner, run_id)?.map_or(Value::Null, Value::Object))
}

/// `settle`: the outcome of a run that has ended (EX-BND-28); null while it has not. A settled run's is read and nothing is done.
pub(super) async fn settle(
    inner: Arc<Inner>,
    line: Line,
    abort: AbortToken,
    run_id: String,
) -> Result<Value> {
    local(&inner)?;
    let outcome = reading::outcome(&inner, &run_id)?;
    if !outcome.is_null() {
        return Ok(outcome);
    }
    {
        let mut pass = pass::begin(&inner, line, &abort)?;
        if pass.task.ledger.current_run_id.as_ref() != Some(&run_id) {
            return Ok(Value::Null);
        }
        cancel::apply_queued(&mut pass.task)?;
        let failure = pass.local().await.err();
        if let Some(failure) = pass.finish(failure)? {
            return Err(failure);
        }
        pass.task.align_receipts();
    }
    reading::outcome(&inner, &run_id)
}

/// `kill`: a stop of the tree (EX-BND-29).
pub(super) async fn kill(inner: Arc<Inner>, line: Line, abort: AbortToken, input: Object) -> Result<Value> {
    local(&inner)?;
    cancel::cancel(inner, line, abort, FenceKind::Operator, input).await
}

/// Whether the whole tree of a run is provably gone. Reads, and signals nobody.
pub(super) fn is_gone(inner: &Inner, run_id: &str) -> Result<bool> {
    local(inner)?;
    let host = inner.options.process_host.as_ref().ok_or_else(|| {
        Error::new(Code::ExecutionCapability, "the process host of the host program is asked by it alone")
            .with_reason("unavailable")
    })?;
    let job = reading::read(inner, run_id)?.ok_or_else(|| pass::unknown_run(run_id))?;
    let null = Value::Null;
    let failed = |error| Error::new(Code::ExecutionIo, "the run cannot be looked at").with_source(error);
    let run = inner.host.files.open_to_read(&reading::dir_of(inner, run_id)?).map_err(failed)?;
    let process = job.get("process").unwrap_or(&null);
    let kill_after = job.get("killAfter").unwrap_or(&null);
    let seen = host.observe(&*run, process, kill_after, &inner.host).map_err(failed)?;
    Ok(seen.get("tree").and_then(Value::as_str) == Some("gone"))
}

/// Whether a stop has begun and its patience is over.
pub(super) fn is_kill_due(inner: &Inner, run_id: &str) -> Result<bool> {
    let job = reading::read(inner, run_id)?.unwrap_or_default();
    let at = job.get("killAfter").and_then(|kill| kill.get("at")?.as_number()?.as_u64());
    Ok(at.is_some_and(|at| inner.host.clock.wall_ms() >= at))
}

/// A look after so many others: whether the tree is gone, else what is done until the next one.
pub(super) fn look_for_kill(inner: &Inner, run_id: &str, looks: u32) -> Result<KillLook> {
    let is_gone = is_gone(inner, run_id)?;
    let doubled = 2_u32.checked_pow(looks).and_then(|times| FIRST_PAUSE.checked_mul(times));
    Ok(KillLook {
        is_gone,
        is_kill_due: !is_gone && is_kill_due(inner, run_id)?,
        pause: doubled.map_or(LONGEST_PAUSE, |pause| pause.min(LONGEST_PAUSE)),
    })
}

fn local(inner: &Inner) -> Result<()> {
    if inner.options.is_local() { Ok(()) } else { Err(wrong("the call belongs to local runs")) }
}
