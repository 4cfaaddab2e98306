//! `submit` and `continue` (EX-LED-20 to EX-LED-40).
//!
//! The order is the guarantee: every check, then the intent on disk, then a last look for a stop, then the one call, then what
//! came of it on disk. The task's lock is held throughout.

use std::sync::Arc;

use super::Inner;
use super::dispatch_checks::checked;
use super::input::DispatchInput;
use super::local::{self, Started};
use super::task::Task;
use crate::error::{Code, Error, Result};
use crate::execution::contract::request::{ContinueRequest, PreparedTurn, Response, Scope, SubmitRequest};
use crate::execution::contract::{Acknowledgement, ErrorKind, Method, TransportError};
use crate::execution::keys;
use crate::execution::ledger::Ledger;
use crate::execution::ledger::lock::AbortToken;
use crate::execution::ledger::record::{Acceptance, Action, Operation, RunKind};
use crate::execution::machine::{CallEnd, Ended, Line};
use crate::execution::money::Nanos;
use crate::execution::transition::{dispatch as transition, operator};
use crate::journal::OutputQueue;
use crate::json::{Object, Value};
use crate::redaction::{Patterns, Redactor};

pub(super) async fn dispatch(
    inner: Arc<Inner>,
    line: Line,
    abort: AbortToken,
    action: Action,
    input: Object,
) -> Result<Value> {
    let input = DispatchInput::parse(action, &input)?;
    let mut task = Task::open(&inner, &abort)?;
    if let Some(known) = task.ledger.operations.get(&input.operation_id) {
        return reuse(&task.ledger, known, &input, &inner);
    }
    let intent = checked(&task, &input, &abort)?;
    let run_id = intent.run_id.clone();
    let before = task.ledger.clone();
    let session = intent.session_id.clone();
    let is_local = inner.options.is_local();
    if is_local && input.spec.is_null() {
        return Err(super::input::missing("spec"));
    }
    let method = method_of(action);
    let sent = Sent {
        run_id: &intent.run_id,
        session_id: intent.session_id.as_deref(),
        previous_run_id: before.current_run_id.as_deref(),
        reservation: intent.reservation,
    };
    let call = if is_local { Object::new() } else { call_input(&inner, &before, &input, &sent)? };
    hold_predecessor(&task)?;
    task.sweep();
    let next = transition::intent(&before, intent, task.now())?;
    task.persist(next)?;
    task.point("dispatch.intent")?;
    task.align(&run_id);
    if let Err(stop) = task.check_fence() {
        // Where it cannot be known whether there is a stop, nothing is sent either.
        return Err(refuse(&mut task, &before, &input.operation_id, stop.code().name(), stop));
    }
    if is_local {
        return start(&mut task, &line, &before, &input, &run_id).await;
    }
    let limit = method.reply_limit(inner.options.limits.result_bytes);
    let end = without_private(line.transport(method, call, limit).await, &input, &inner);
    task.point("dispatch.reply")?;
    settle(&mut task, &before, &input.operation_id, session.as_deref(), method, end)
}

/// Starts the process of a local run. Its job record names run and operation before that (EX-LOC-03), so that what was started
/// is recognised; where it cannot be written, nothing is started.
async fn start(
    task: &mut Task,
    line: &Line,
    before: &Ledger,
    input: &DispatchInput,
    run_id: &str,
) -> Result<Value> {
    let operation_id = input.operation_id.as_str();
    let names_it = task
        .read_job(run_id)?
        .is_some_and(|job| job.get("operationId").and_then(Value::as_str) == Some(operation_id));
    if !names_it {
        let error = Error::new(Code::ExecutionIo, "job.json cannot be saved");
        return Err(refuse(task, before, operation_id, error.code().name(), error));
    }
    let spec = super::process_host::spec(&task.inner, input)?;
    let start = local::Start {
        operation_id,
        run_id,
        spec: &spec,
        prompt: &input.prompt,
        model: input.model.as_str(),
        is_resumed: input.action == Action::Continue,
    };
    match local::start(task, line, &start).await? {
        Started::Running(outcome) => Ok(outcome),
        Started::NotSent(error) => {
            let error = hide(error, input, &task.inner);
            Err(not_sent(task, before, operation_id, &error))
        }
        Started::Lost(reason, error) => {
            let said =
                error.map(|error| failed("the process host", &hide(error, input, &task.inner), &task.inner));
            let why = said.unwrap_or_default();
            Err(lost(task, operation_id, &Lost { reason, why, retry_after_ms: None })?)
        }
    }
}

/// A known operation: what is saved of it, or why it is not dispatched again (EX-LED-22, EX-LED-23, EX-LED-65).
fn reuse(ledger: &Ledger, known: &Operation, input: &DispatchInput, inner: &Inner) -> Result<Value> {
    let conflict = |what: &str| {
        let message =
            format!("the operation is known with another {what}, operation=`{}`", known.operation_id);
        Error::new(Code::ExecutionConflict, message)
            .with_operation_id(&known.operation_id)
            .with_run_id(&known.run_id)
    };
    if known.action != input.action
        || known.input_fingerprint != input.fingerprint(known.session_id.as_deref())?
    {
        return Err(conflict("input"));
    }
    if known.run_id != input.run_id(&inner.owner) {
        return Err(conflict("run id"));
    }
    match known.acceptance {
        Acceptance::Accepted => Ok(outcome(ledger, known, true)),
        Acceptance::Absent => Err(operator::absent(&known.operation_id).with_run_id(&known.run_id)),
        Acceptance::Unknown => Err(acceptance_unknown(known, "unresolved", "")),
    }
}

pub(super) fn method_of(action: Action) -> Method {
    match action {
        Action::Submit => Method::Submit,
        Action::Continue => Method::Continue,
    }
}

/// The output of an earlier local run is in the queue before its successor's intent is saved (EX-LED-27).
fn hold_predecessor(task: &Task) -> Result<()> {
    let Some(run) = task.ledger.current().filter(|_| task.inner.options.is_local()) else { return Ok(()) };
    let held = crate::journal::LocalRun { started_at_ms: run.started_at, has_exited: run.is_settled() };
    let mut queue = OutputQueue::open(&task.inner.options.root, &task.inner.host)?;
    if queue.hold(&run.run_id, held)? {
        task.point("queue.saved")?;
    }
    Ok(())
}

/// The input of the call, made before anything is saved, so that what it cannot say refuses the dispatch.
pub(super) fn call_input(
    inner: &Inner,
    ledger: &Ledger,
    input: &DispatchInput,
    sent: &Sent<'_>,
) -> Result<Object> {
    let scope = Scope {
        task_id: &inner.owner.task_id,
        provider: &inner.owner.provider,
        account: &inner.owner.account,
    };
    let key =
        keys::dispatch_key(scope.task_id, scope.provider, scope.account, sent.run_id, &input.operation_id);
    let reservation = sent.reservation.map(Nanos::to_number);
    let hard_cap = input.hard_cap.told(inner.capability.cost.hard_cap).map(Nanos::to_number);
    let submit = SubmitRequest {
        scope,
        run_id: sent.run_id,
        operation_id: &input.operation_id,
        idempotency_key: &key,
        kind: input.kind,
        prompt: &input.prompt,
        input_head: input.input_head.as_deref(),
        policy: &input.policy,
        model: &input.model,
        environment: &input.environment,
        reservation_usd: reservation.as_ref(),
        hard_cap_usd: hard_cap.as_ref(),
        preparation: (input.kind == RunKind::Intake)
            .then_some(PreparedTurn { receipt: &input.preparation, grant: &input.grant }),
    };
    let value = match input.action {
        Action::Submit => submit.to_value(),
        Action::Continue => {
            let previous = sent.previous_run_id.and_then(|run_id| ledger.executions.get(run_id));
            let job = previous.and_then(|run| run.provider_job_id.as_deref());
            ContinueRequest {
                submit,
                session_id: sent.session_id.unwrap_or_default(),
                previous_job_id: job.unwrap_or_default(),
                previous_turn_id: previous.and_then(|run| run.turn_id.as_deref()),
                response: input
                    .response
                    .as_ref()
                    .map(|given| Response { signature: &given.signature, answer: &given.answer }),
            }
            .to_value()
        }
    };
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(Error::new(Code::Internal, "the input of a call is an object")),
    }
}

/// What a dispatch sends besides its input.
pub(super) struct Sent<'a> {
    pub(super) run_id: &'a str,
    pub(super) session_id: Option<&'a str>,
    pub(super) previous_run_id: Option<&'a str>,
    pub(super) reservation: Option<Nanos>,
}

/// What came of the one call, on disk before it is told.
fn settle(
    task: &mut Task,
    before: &Ledger,
    operation_id: &str,
    session: Option<&str>,
    method: Method,
    end: CallEnd,
) -> Result<Value> {
    match judge(task, operation_id, session, method, end) {
        Judged::Owned(acknowledgement) => {
            let progress_ms = task.inner.options.limits.progress_ms;
            adopt(task, operation_id, &acknowledgement, progress_ms)
        }
        Judged::NotSent(error) => Err(not_sent(task, before, operation_id, &error)),
        Judged::Lost(told) => Err(lost(task, operation_id, &told)?),
    }
}

/// A proven refusal: the dispatch is taken back, and the refusal is noted under the transport's own word (EX-LED-36).
fn not_sent(task: &mut Task, before: &Ledger, operation_id: &str, error: &TransportError) -> Error {
    let code = error.code.as_deref().unwrap_or(error.kind.word()).to_owned();
    let code = task.inner.redactor.text(&code).into_owned();
    let told = error.told(&task.inner.redactor);
    let message =
        format!("the dispatch was refused before anything was sent, operation=`{operation_id}` {told}");
    let refusal = Error::new(Code::ExecutionDispatchRefused, message.trim_end())
        .with_reason("dispatch-refused")
        .with_operation_id(operation_id);
    refuse(task, before, operation_id, &code, refusal)
}

/// What came of the call is not known: that is saved, and told (EX-LED-33).
///
/// # Errors
/// What could not be saved.
fn lost(task: &mut Task, operation_id: &str, lost: &Lost) -> Result<Error> {
    let delay = task.inner.delay_ms(1, lost.retry_after_ms);
    let next = transition::unknown(&task.ledger, operation_id, lost.reason, task.now(), delay)?;
    task.persist(next)?;
    let Some(operation) = task.ledger.operations.get(operation_id) else {
        return Err(transition::unknown_operation(operation_id));
    };
    task.align(&operation.run_id);
    Ok(acceptance_unknown(operation, lost.reason, &lost.why))
}

/// Adopts an acknowledgement and gives the outcome of a dispatch.
///
/// # Errors
/// `EXECUTION_IO`.
pub(super) fn adopt(
    task: &mut Task,
    operation_id: &str,
    acknowledgement: &Acknowledgement,
    progress_ms: u64,
) -> Result<Value> {
    let local = task.inner.options.is_local();
    let next =
        transition::accepted(&task.ledger, operation_id, acknowledgement, task.now(), progress_ms, local)?;
    task.persist(next)?;
    task.point("dispatch.accepted")?;
    let Some(operation) = task.ledger.operations.get(operation_id) else {
        return Err(transition::unknown_operation(operation_id));
    };
    task.align(&operation.run_id);
    Ok(outcome(&task.ledger, operation, false))
}

/// Takes a dispatch back of which nothing was sent. What is told is `refusal`, or that it could not be saved.
fn refuse(task: &mut Task, before: &Ledger, operation_id: &str, code: &str, refusal: Error) -> Error {
    let run_id = task.ledger.operations.get(operation_id).map(|operation| operation.run_id.clone());
    let next = transition::refused(before, &task.ledger, operation_id, code, task.now());
    if let Err(failed) = task.persist(next) {
        return failed;
    }
    let run_id = run_id.unwrap_or_default();
    task.remove_run(&run_id);
    refusal.with_operation_id(operation_id).with_run_id(run_id)
}

pub(super) enum Judged {
    /// The provider owns the operation under these names.
    Owned(Box<Acknowledgement>),
    /// It is proved that nothing was sent.
    NotSent(TransportError),
    /// Whatever else.
    Lost(Lost),
}

pub(super) struct Lost {
    pub(super) reason: &'static str,
    /// What is known besides: the transport's own words, redacted, or which rule its reply breaks. It is told and not saved.
    pub(super) why: String,
    pub(super) retry_after_ms: Option<f64>,
}

/// What the end of a call says of an operation.
pub(super) fn judge(
    task: &Task,
    operation_id: &str,
    session: Option<&str>,
    method: Method,
    end: CallEnd,
) -> Judged {
    let ledger = &task.ledger;
    let lost = |reason| Judged::Lost(Lost { reason, why: String::new(), retry_after_ms: None });
    let text = match end.ended {
        Ended::Value(text) => text,
        Ended::Oversized => return lost("oversized"),
        Ended::Deadline => return lost("deadline"),
        Ended::Aborted => return lost("aborted"),
        Ended::Error(error) => {
            let error = error.for_method(method, end.sending);
            if error.kind == ErrorKind::NotSent {
                return Judged::NotSent(error);
            }
            return Judged::Lost(Lost {
                reason: error.cause().1,
                why: failed("the transport", &error, &task.inner),
                retry_after_ms: error.retry_after_ms.map(|ms| ms as f64),
            });
        }
    };
    let judged = Acknowledgement::judge(&text, session).and_then(|acknowledgement| {
        let run_id = ledger.operations.get(operation_id).map_or("", |operation| &operation.run_id);
        let (job, turn) = (&acknowledgement.provider_job_id, &acknowledgement.turn_id);
        transition::check_pair(ledger, run_id, job, turn).map(|()| acknowledgement)
    });
    match judged {
        Ok(acknowledgement) => Judged::Owned(Box::new(acknowledgement)),
        Err(error) => Judged::Lost(Lost {
            reason: error.reason().unwrap_or("shape"),
            why: error.message(),
            retry_after_ms: None,
        }),
    }
}

/// The end of a dispatch's call without what is private of its input.
pub(super) fn without_private(end: CallEnd, input: &DispatchInput, inner: &Inner) -> CallEnd {
    let ended = match end.ended {
        Ended::Error(error) => Ended::Error(hide(error, input, inner)),
        ended => ended,
    };
    CallEnd { ended, ..end }
}

/// A failure whose words repeat neither a secret nor the prompt, the answer or the grant (EX-ERR-06). Secrets go first, so that none is
/// cut to pieces.
fn hide(error: TransportError, input: &DispatchInput, inner: &Inner) -> TransportError {
    match Redactor::new(&input.private(&inner.redactor), Patterns::Off) {
        Ok(private) => error.redacted(|text| private.text(&inner.redactor.text(text)).into_owned()),
        // Where not all of it can be looked for, nothing is told.
        Err(_) => TransportError { message: String::new(), ..error },
    }
}

/// That somebody's method failed, and what it said of it; empty where it said nothing.
pub(super) fn failed(who: &str, error: &TransportError, inner: &Inner) -> String {
    let told = error.told(&inner.redactor);
    if told.is_empty() { told } else { format!("{who} failed, {told}") }
}

/// EX-LED-33, with the remedy of EX-LED-35. `why` is what is known besides, or empty.
pub(super) fn acceptance_unknown(operation: &Operation, reason: &'static str, why: &str) -> Error {
    let mut message =
        format!("it is not known whether the provider owns it, operation=`{}`", operation.operation_id);
    if !why.is_empty() {
        message.push_str(": ");
        message.push_str(why);
    }
    Error::new(Code::ExecutionAcceptanceUnknown, message)
        .with_reason(reason)
        .with_operation_id(&operation.operation_id)
        .with_run_id(&operation.run_id)
}

/// What a dispatch gives (EX-BND-09), with a copy of the run's metadata (EX-LED-58).
pub(super) fn outcome(ledger: &Ledger, operation: &Operation, reused: bool) -> Value {
    let text = |text: &str| Value::String(text.to_owned());
    let mut out = Object::new();
    out.insert("operationId", text(&operation.operation_id));
    out.insert("runId", text(&operation.run_id));
    out.insert("acceptance", text(operation.acceptance.word()));
    let acknowledgement = operation.acknowledgement.as_ref();
    out.insert("acknowledgement", acknowledgement.map_or(Value::Null, |owned| owned.to_value()));
    out.insert("reused", Value::Bool(reused));
    let run = ledger.executions.get(&operation.run_id);
    out.insert("execution", run.map_or(Value::Null, |run| run.to_value()));
    Value::Object(out)
}
