//! Stops: asked for, recorded before anything is sent, sent at most once a call, and never claimed before they are seen
//! (EX-CAN).

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::Inner;
use super::input::{id, missing, text, wrong};
use super::pass::Pass;
use super::task::Task;
use crate::error::{Code, Error, Result};
use crate::execution::capability::{Action, Choice};
use crate::execution::contract::question::Job;
use crate::execution::contract::{Method, Reply};
use crate::execution::controls;
use crate::execution::ledger::lock::{self, AbortToken, PUBLICATION_LOCK};
use crate::execution::ledger::record::{CancellationStatus, Execution, FenceKind};
use crate::execution::machine::{Ended, Line};
use crate::execution::transition::cancel::{self as transition, Request};
use crate::execution::transition::local;
use crate::json::{Object, Value};
use crate::storage::{Directory, LockGuard};

/// A stop waits no longer for a publication step than this, which covers other stops that hold the lock for a moment
/// (EX-CAN-50).
const PUBLICATION_WAIT: Duration = Duration::from_millis(100);

/// `cancel`, and the stops of a preparation and of a timeout (EX-CAN-05, EX-BND-37).
pub(super) async fn cancel(
    inner: Arc<Inner>,
    line: Line,
    abort: AbortToken,
    kind: FenceKind,
    input: Object,
) -> Result<Value> {
    let reason = match kind {
        FenceKind::Timeout => "timeout".to_owned(),
        _ => reason(&input)?,
    };
    let control_id = id(&input, "controlId")?;
    let run_id = id(&input, "runId")?;
    let kill_after_ms = kill_after_ms(&input)?;
    inner.check_fork()?;
    let root = inner.open_root(&abort)?;
    let publication = publication_lock(&inner, &root, &abort)?;
    let mut task = Task::open_beside_publication(&inner, root, &abort)?;
    apply_queued(&mut task)?;
    // Saved together with the request.
    task.adopt_from_before(text(&input, "legacySessionId")?.as_deref())?;
    let request = Request {
        kind,
        reason: inner.redactor.text(&reason).into_owned(),
        run_id: run_id.clone(),
        control_id,
        requested_at: task.now(),
    };
    let next =
        transition::requested(&task.ledger, &request, inner.options.is_local(), inner.capability.cancel);
    task.persist_if_changed(next)?;
    task.point("cancel.record")?;
    // The fence is saved and keeps a publication out; other stops may queue while the provider is asked (EX-CAN-05).
    drop(publication);
    let meant = run_id.or_else(|| task.ledger.current_run_id.clone());
    let current = task.ledger.current_run_id.clone();
    if let Some(run_id) = &current {
        task.align(run_id);
    }
    let mut pass = Pass::over(task, line);
    pass.kill_after_ms = kill_after_ms;
    if current.is_some() && current == meant {
        // What is lost is saved as a reason to come again, and is no error of the request.
        if inner.options.is_local() {
            let failure = pass.local().await.err();
            pass.finish(failure)?;
        } else {
            pass.stop(false).await?;
        }
    }
    pass.task.align_receipts();
    let run = meant.filter(|meant| current.as_ref() == Some(meant));
    let run = run.and_then(|run_id| pass.task.ledger.executions.get(&run_id).cloned());
    Ok(answer(run.as_ref()))
}

/// `interrupt`: stops the turn of a process run and keeps its session, without a fence (EX-CAN-54).
pub(super) async fn interrupt(
    inner: Arc<Inner>,
    line: Line,
    abort: AbortToken,
    input: Object,
) -> Result<Value> {
    let reason = text(&input, "reason")?.unwrap_or_else(|| "interrupt".to_owned());
    let mut task = Task::open(&inner, &abort)?;
    let run = task.ledger.current().filter(|run| !run.is_settled()).cloned();
    let session = run.as_ref().and_then(|run| run.session_id.clone());
    inner.capability.check(&Choice { session, ..Choice::new(Action::Interrupt) })?;
    if !inner.options.is_local() {
        return Err(
            Error::new(Code::ExecutionCapability, "the transport has no interrupt").with_reason("interrupt")
        );
    }
    let run = run.ok_or_else(|| Error::new(Code::ExecutionUnknownRun, "no run is live"))?;
    let reason = inner.redactor.text(&reason).into_owned();
    let next = local::interrupted(&task.ledger, &run.run_id, &reason, task.now());
    task.persist(next)?;
    task.align(&run.run_id);
    let mut pass = Pass::over(task, line);
    let failure = pass.local().await.err();
    pass.finish(failure)?;
    Ok(answer(pass.task.ledger.executions.get(&run.run_id)))
}

/// `requestCancel`: only queues (EX-CAN-03).
pub(super) fn request_cancel(inner: &Arc<Inner>, abort: &AbortToken, input: &Object) -> Result<Value> {
    let reason = reason(input)?;
    let control_id = id(input, "controlId")?.ok_or_else(|| missing("controlId"))?;
    let run_id = id(input, "runId")?;
    inner.check_fork()?;
    let root = inner.open_root(abort)?;
    let _publication = publication_lock(inner, &root, abort)?;
    let ledger = inner.read(&*root)?;
    ledger.check_owner(&inner.owner)?;
    if ledger.created_at.is_none() {
        inner.sync_root_name()?;
    }
    let reason = inner.redactor.text(&reason).into_owned();
    let now = inner.host.clock.wall_ms();
    {
        let mut files = inner.files.lock().unwrap_or_else(PoisonError::into_inner);
        controls::queue(&*root, &ledger, &control_id, run_id.as_deref(), &reason, now, &mut files.writer)?;
    }
    crate::execution::faults::pass(&*inner.options.faults, "control.queued")
        .map_err(|error| Error::new(Code::ExecutionIo, "the control failed").with_source(error))?;
    Ok(Value::Object([("queued", Value::Bool(true))].into_iter().collect()))
}

/// Applies every queued control: fences, records and entries in one Persist, then the receipts (EX-CAN-04). One that makes no
/// sense stays as it is, and fences dispatch.
pub(super) fn apply_queued(task: &mut Task) -> Result<()> {
    let queued = controls::list(&*task.root)?;
    let inner = Arc::clone(&task.inner);
    let is_any = queued.iter().any(|control| control.is_queued() && control.content.is_some());
    let saved = task.ledger.clone();
    if is_any {
        task.adopt_from_before(None)?;
    }
    let mut next = task.ledger.clone();
    task.ledger = saved;
    for control in queued.iter().filter(|control| control.is_queued() && control.content.is_some()) {
        let request = Request {
            kind: FenceKind::Operator,
            reason: control.reason().to_owned(),
            run_id: control.run_id().map(str::to_owned),
            control_id: Some(control.id.clone()),
            requested_at: control.requested_at(),
        };
        next = transition::requested(&next, &request, inner.options.is_local(), inner.capability.cancel);
    }
    if is_any {
        task.persist_if_changed(next)?;
        task.point("control.applied")?;
        task.align_receipts();
    }
    Ok(())
}

impl Pass {
    /// The stop step (EX-CAN-10): at most one call. Answers whether the provider has answered it.
    ///
    /// # Errors
    /// What could not be saved. A lost reply is none: it is noted in the pass.
    pub(super) async fn stop(&mut self, is_forced: bool) -> Result<bool> {
        let inner = Arc::clone(&self.task.inner);
        let Some((run, _)) = self.task.current_remote() else { return Ok(false) };
        let can_cancel = inner.capability.cancel && inner.options.has(Method::Cancel);
        if !transition::is_due(&self.task.ledger, &run, can_cancel, is_forced, self.task.now()) {
            return Ok(false);
        }
        let attempted = transition::attempted(&self.task.ledger, &run.run_id, self.task.now());
        self.task.persist(attempted)?;
        self.task.point("cancel.attempt")?;
        let key = run.cancellation.as_ref().map(|stop| stop.idempotency_key.clone()).unwrap_or_default();
        let job = Job {
            run_id: &run.run_id,
            provider_job_id: run.provider_job_id.as_deref().unwrap_or_default(),
            session_id: run.session_id.as_deref(),
            turn_id: run.turn_id.as_deref().unwrap_or_default(),
        };
        let call = job.cancel(&inner.scope(), &key);
        let confirmed = match self.call(Method::Cancel, call).await {
            Ended::Value(text) => Reply::confirmed(&text),
            ended => Err(self.lost(Method::Cancel, ended)),
        };
        self.task.point("cancel.reply")?;
        let now = self.task.now();
        let next = match &confirmed {
            Ok(confirmed) => {
                let progress_ms = inner.options.limits.progress_ms;
                transition::answered(&self.task.ledger, &run.run_id, *confirmed, now, progress_ms)
            }
            Err(error) => {
                let retry_after_ms = self.take_retry_after();
                let delay = |failures| inner.delay_ms(failures, retry_after_ms);
                transition::lost(&self.task.ledger, &run.run_id, error, now, delay)
            }
        };
        self.task.persist(next)?;
        self.task.align(&run.run_id);
        let is_answered = confirmed.is_ok();
        self.stop_failure = confirmed.err();
        Ok(is_answered)
    }
}

/// What a stop gives (EX-BND-15).
fn answer(run: Option<&Execution>) -> Value {
    let status = run.and_then(|run| run.cancellation.as_ref()).map(|stop| stop.status);
    let mut out = Object::new();
    out.insert("confirmed", Value::Bool(status == Some(CancellationStatus::Confirmed)));
    match status {
        Some(CancellationStatus::Terminal) => {
            out.insert("terminal", Value::Bool(true));
        }
        Some(CancellationStatus::Unsupported) => {
            out.insert("unsupported", Value::Bool(true));
        }
        _ => {}
    }
    Value::Object(out)
}

fn publication_lock(inner: &Inner, root: &Arc<dyn Directory>, abort: &AbortToken) -> Result<LockGuard> {
    let wait = Duration::from_millis(inner.options.limits.lock_wait_ms).min(PUBLICATION_WAIT);
    lock::acquire(root, PUBLICATION_LOCK, wait, &inner.host, abort).map_err(publication_busy)
}

/// A lock that somebody else has, as that of a publication.
pub(super) fn publication_busy(error: Error) -> Error {
    match error.code() {
        Code::ExecutionBusy if error.reason().is_none() => {
            Error::new(Code::ExecutionPublicationBusy, error.message())
        }
        _ => error,
    }
}

/// EX-BND-29.
fn kill_after_ms(input: &Object) -> Result<Option<u64>> {
    match input.get("killAfterMs") {
        None | Some(Value::Null) => Ok(None),
        Some(given) => {
            let ms = given.as_number().and_then(crate::json::Number::as_u64);
            ms.map(Some).ok_or_else(|| wrong("killAfterMs is no number of milliseconds"))
        }
    }
}

fn reason(input: &Object) -> Result<String> {
    let reason = text(input, "reason")?.filter(|reason| !reason.is_empty());
    reason.ok_or_else(|| wrong("reason is missing: say why the run is to be stopped"))
}
