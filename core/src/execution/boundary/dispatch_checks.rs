//! What refuses a dispatch before its intent is saved, in the order of EX-LED-21. Nothing of the task is written yet, and
//! nothing sent.

use super::dispatch::method_of;
use super::input::DispatchInput;
use super::task::Task;
use super::{Inner, no_method};
use crate::error::{Code, Error, Result};
use crate::execution::capability::{Action as Wanted, Choice};
use crate::execution::cost;
use crate::execution::ledger::lock::AbortToken;
use crate::execution::ledger::record::{Action, Execution, RunKind};
use crate::execution::money::Nanos;
use crate::execution::states::ProviderState;
use crate::execution::transition::dispatch as transition;
use crate::journal::OutputQueue;
use crate::json::Value;

/// Every check between the known operation and the intent, in the order of EX-LED-21.
pub(super) fn checked(task: &Task, input: &DispatchInput, abort: &AbortToken) -> Result<transition::Intent> {
    let inner = &*task.inner;
    let ledger = &task.ledger;
    let run_id = input.run_id(&inner.owner);
    if ledger.executions.contains(&run_id) {
        let message = format!("the run id is in use, run=`{run_id}`");
        return Err(Error::new(Code::ExecutionConflict, message).with_run_id(&run_id));
    }
    task.check_fence()?;
    if let Some(unknown) = ledger.unresolved() {
        let message =
            format!("another operation has unknown acceptance, operation=`{}`", unknown.operation_id);
        return Err(Error::new(Code::ExecutionUnresolved, message)
            .with_operation_id(&unknown.operation_id)
            .with_run_id(&unknown.run_id));
    }
    check_active(task, input)?;
    inner.capability.check(&choice(input))?;
    super::process_host::check(inner, input)?;
    if !inner.options.is_local() {
        check_method(inner, input.action)?;
    }
    let preparation = super::prepare::check_receipt(task, input)?;
    let session_id = session(task, input)?;
    OutputQueue::open(&inner.options.root, &inner.host)?.check()?;
    let reservation = allowance(task, input)?;
    inner.check_sandbox(abort)?;
    check_health(task)?;
    Ok(transition::Intent {
        operation_id: input.operation_id.clone(),
        run_id,
        action: input.action,
        kind: input.kind,
        phase: preparation.as_ref().and_then(|receipt| receipt.phase),
        input_fingerprint: input.fingerprint(session_id.as_deref())?,
        input_head: input.input_head.clone(),
        session_id,
        reservation,
        preparation: preparation.and_then(|receipt| receipt.fingerprint),
        response: input.response.as_ref().map(|response| response.signature.clone()),
        transport: inner.capability.transport.clone(),
        environment: input.environment.clone(),
        model: input.model.clone(),
        policy: input.policy.clone(),
        workflow: input.workflow.clone(),
        budget: inner.options.budget,
        intake_deadline_at: inner.options.intake_deadline_at,
    })
}

/// Refuses while a run is live: but for an answer to the run that waits for it (EX-LED-50).
fn check_active(task: &Task, input: &DispatchInput) -> Result<()> {
    let waits = |run: &Execution| run.state == ProviderState::WaitingForInput && run.turn_id.is_some();
    let active =
        |run_id: &str, message: String| Err(Error::new(Code::ExecutionActive, message).with_run_id(run_id));
    match (task.ledger.current(), &input.response) {
        (Some(run), Some(_)) if !run.is_settled() && waits(run) => Ok(()),
        (Some(run), _) if !run.is_settled() => {
            let (run_id, state) = (&run.run_id, run.state.word());
            active(run_id, format!("the current run is live, run=`{run_id}` state=`{state}`"))
        }
        (Some(_), Some(_)) => Err(Error::new(Code::ExecutionConflict, "no run waits for an answer")),
        (Some(_), None) => Ok(()),
        // Without any run it is the session that is missing.
        (None, _) => match task.run_from_before()? {
            Some((run_id, job)) if job.get("endedAt").is_none_or(Value::is_null) => {
                active(&run_id, format!("a run from before the ledger is live, run=`{run_id}`"))
            }
            _ => Ok(()),
        },
    }
}

fn check_method(inner: &Inner, action: Action) -> Result<()> {
    let method = method_of(action);
    if inner.options.has(method) { Ok(()) } else { Err(no_method(method.word())) }
}

fn choice(input: &DispatchInput) -> Choice {
    Choice {
        kind: input.kind,
        policy: input.policy.clone(),
        model: input.model.clone(),
        environment: input.environment.clone(),
        hard_cap_required: input.hard_cap_required,
        hard_cap_usd: input.hard_cap_usd.clone(),
        ..Choice::new(match input.action {
            Action::Submit => Wanted::Submit,
            Action::Continue => Wanted::Continue,
        })
    }
}

/// The session that is sent (EX-LED-56, EX-LED-57): the current run's own, and no other.
fn session(task: &Task, input: &DispatchInput) -> Result<Option<String>> {
    if input.action == Action::Submit {
        return Ok(input.session_id.clone().filter(|_| task.inner.options.is_local()));
    }
    let found = match task.ledger.current() {
        Some(run) => run.session_id.clone(),
        None => match task.run_from_before()? {
            Some((_, job)) => {
                let recorded = job.get("sessionId").and_then(Value::as_str).map(str::to_owned);
                input.legacy_session_id.clone().or(recorded)
            }
            None => return Err(Error::new(Code::ExecutionUnknownRun, "there is no run to continue")),
        },
    };
    let refused = |message: &str| Error::new(Code::ExecutionOwnership, message).with_reason("session");
    let session = found.filter(|session| !session.is_empty());
    let session = session.ok_or_else(|| {
        let remedy = if task.inner.options.is_local() {
            "restore the exact owned stream or cache, then retry; do not move sessions between runs"
        } else {
            "have the transport's replies name the session of each turn, for a provider without sessions the job's own id; \
             a run that has ended without one cannot be continued"
        };
        refused("the run to continue has no recorded session, member=`sessionId`").with_remedy(remedy)
    })?;
    if input.session_id.as_ref().is_some_and(|given| *given != session) {
        return Err(refused("the session is not the one that is recorded for the run to continue")
            .with_remedy(
                "restore the exact owned stream or cache, then retry; do not move sessions between runs",
            ));
    }
    Ok(Some(session))
}

fn allowance(task: &Task, input: &DispatchInput) -> Result<Option<Nanos>> {
    let options = &task.inner.options;
    let allowance = &task.ledger.allowance;
    let charged = allowance.charged_usd;
    let reservation = if input.kind == RunKind::Intake && !options.is_local() {
        Some(cost::check_intake(options.budget, charged)?)
    } else {
        cost::check_dispatch(options.budget, charged, input.reservation.as_ref(), options.is_local())?
    };
    input.hard_cap.check_allowance()?;
    if allowance.budget_usd.is_some() {
        cost::check_budget(allowance.budget_usd, options.budget)?;
    }
    Ok(reservation)
}

fn check_health(task: &Task) -> Result<()> {
    let inner = &*task.inner;
    match &inner.options.health {
        Some(health) => health.check(&inner.owner.provider, &inner.owner.account, task.now()),
        None => Err(Error::new(Code::ExecutionHealth, "nobody vouches for the provider's health")
            .with_remedy("open the boundary with a health store, or with the word external")),
    }
}
