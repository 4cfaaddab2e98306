//! The life of a dispatch in the ledger: intent, then accepted, unknown or refused (EX-LED-28 to EX-LED-38).

use crate::error::{Code, Error, Result};
use crate::execution::contract::Acknowledgement;
use crate::execution::cost;
use crate::execution::keys;
use crate::execution::ledger::Ledger;
use crate::execution::ledger::record::{
    Acceptance, Action, CancellationStatus, DispatchRefusal, Execution, LastError, Operation, OwnedIdentity,
    Phase, Response, RunKind,
};
use crate::execution::money::Nanos;
use crate::execution::states::ProviderState;
use crate::json::{Object, Value};

/// How many refusals are kept (EX-LED-38).
pub const REFUSALS_KEPT: usize = 20;

/// What is to be dispatched, after every check.
#[derive(Clone, Debug)]
pub struct Intent {
    /// The operation.
    pub operation_id: String,
    /// The run that it makes.
    pub run_id: String,
    /// How it is dispatched.
    pub action: Action,
    /// What it is for.
    pub kind: RunKind,
    /// Which turn of an intake it is.
    pub phase: Option<Phase>,
    /// The hash of its input.
    pub input_fingerprint: String,
    /// The revision that it starts from.
    pub input_head: Option<String>,
    /// The session that is sent, or preassigned.
    pub session_id: Option<String>,
    /// What is reserved for it.
    pub reservation: Option<Nanos>,
    /// The receipt that it uses.
    pub preparation: Option<String>,
    /// The request that it answers.
    pub response: Option<String>,
    /// The kind of transport.
    pub transport: String,
    /// The environment that is sent.
    pub environment: Value,
    /// The model that is sent.
    pub model: Value,
    /// The policy that is sent.
    pub policy: Value,
    /// The coordinator's own note.
    pub workflow: Value,
    /// The task's budget.
    pub budget: Option<Nanos>,
    /// When an intake must have ended.
    pub intake_deadline_at: Option<u64>,
}

/// Records an intent: the operation with unknown acceptance, its run, its reservation, and the run as the current one
/// (EX-LED-28). Times are milliseconds since 1970.
///
/// # Errors
/// `EXECUTION_ALLOWANCE` where the sum of all charges is no amount any more.
pub fn intent(before: &Ledger, intent: Intent, now: u64) -> Result<Ledger> {
    let mut ledger = before.clone();
    ledger.created_at.get_or_insert(now);
    if ledger.allowance.budget_usd.is_none() {
        ledger.allowance.budget_usd = intent.budget;
    }
    if intent.kind == RunKind::Intake && ledger.intake_deadline_at.is_none() {
        ledger.intake_deadline_at = intent.intake_deadline_at;
    }
    let owner = &ledger.owner;
    let key = keys::dispatch_key(
        &owner.task_id,
        &owner.provider,
        &owner.account,
        &intent.run_id,
        &intent.operation_id,
    );
    let sequence = ledger.operations.records().map(|operation| operation.sequence).max().unwrap_or(0) + 1;
    let previous_run_id = ledger.current_run_id.replace(intent.run_id.clone());
    let operation = Operation {
        operation_id: intent.operation_id.clone(),
        run_id: intent.run_id.clone(),
        sequence,
        action: intent.action,
        kind: intent.kind,
        phase: intent.phase,
        input_fingerprint: intent.input_fingerprint,
        idempotency_key: key,
        intent_at: now,
        input_head: intent.input_head,
        acceptance: Acceptance::Unknown,
        accepted_at: None,
        acknowledgement: None,
        session_id: intent.session_id.clone(),
        reservation_usd: intent.reservation,
        cost_usd: None,
        previous_run_id,
        preparation: intent.preparation.clone(),
        response: intent.response.map(|signature| Response { signature, unknown: Object::new() }),
        operator_act: None,
        unknown: Object::new(),
    };
    let run = Execution {
        operation_id: Some(intent.operation_id.clone()),
        receipt: intent.preparation,
        session_id: intent.session_id,
        environment: intent.environment,
        model: intent.model,
        policy: intent.policy,
        workflow: intent.workflow,
        ..Execution::begun(intent.run_id.clone(), intent.kind, intent.transport, now)
    };
    if let Some(fingerprint) = &operation.preparation
        && let Some(mut receipt) =
            ledger.preparations.get(fingerprint).filter(|it| it.issued_at > now).cloned()
    {
        // A clock that stands or has gone back: a receipt that is issued after its use would count as unused (EX-PRE-14).
        receipt.issued_at = now;
        ledger.preparations.put(fingerprint, receipt);
    }
    ledger.operations.put(&intent.operation_id, operation);
    ledger.executions.put(&intent.run_id, run);
    charge(&mut ledger)?;
    Ok(ledger)
}

/// Raises what is charged to the sum of all charges, in the order of intents (EX-COST-05).
///
/// # Errors
/// `EXECUTION_ALLOWANCE` where that is no amount any more (EX-COST-20).
pub fn charge(ledger: &mut Ledger) -> Result<()> {
    let mut operations: Vec<&Operation> = ledger.operations.records().collect();
    operations.sort_by_key(|operation| operation.sequence);
    let charges =
        operations.into_iter().map(|operation| cost::charge(operation.reservation_usd, operation.cost_usd));
    ledger.allowance.charged_usd = cost::charged(ledger.allowance.charged_usd, charges).ok_or_else(|| {
        Error::new(Code::ExecutionAllowance, "the sum of all charges is too large to be counted")
    })?;
    Ok(())
}

/// Adopts an acknowledgement (EX-LED-31, EX-LED-32). A stop that is pending stays so.
///
/// # Errors
/// `EXECUTION_UNKNOWN_RUN`; `EXECUTION_PROTOCOL` with the reason `identity` where another operation has the same job and root
/// turn (EX-TRA-17, EX-IDN-25).
pub fn accepted(
    before: &Ledger,
    operation_id: &str,
    acknowledgement: &Acknowledgement,
    now: u64,
    progress_ms: u64,
    is_local: bool,
) -> Result<Ledger> {
    let mut ledger = before.clone();
    let (mut operation, mut run) = operation_and_run(before, operation_id)?;
    check_pair(before, &run.run_id, &acknowledgement.provider_job_id, &acknowledgement.turn_id)?;
    let session = acknowledgement.session_id.clone().or_else(|| operation.session_id.clone());
    let cursor = acknowledgement.cursor.as_ref().map_or(Value::Null, |cursor| cursor.to_value());
    operation.acceptance = Acceptance::Accepted;
    operation.accepted_at = Some(now);
    operation.acknowledgement = Some(OwnedIdentity {
        provider_job_id: Some(acknowledgement.provider_job_id.clone()),
        session_id: session.clone(),
        turn_id: Some(acknowledgement.turn_id.clone()),
        cursor: cursor.clone(),
        unknown: Object::new(),
    });
    run.provider_job_id = Some(acknowledgement.provider_job_id.clone());
    run.turn_id = Some(acknowledgement.turn_id.clone());
    run.session_id = session;
    run.cursor = cursor;
    let echoes = [
        (&acknowledgement.environment, &mut run.environment),
        (&acknowledgement.model, &mut run.model),
        (&acknowledgement.policy, &mut run.policy),
    ];
    for (echo, kept) in echoes {
        if let Some(echo) = echo.as_ref().filter(|echo| !echo.is_null()) {
            *kept = echo.clone();
        }
    }
    let is_stopping =
        run.cancellation.as_ref().is_some_and(|stop| stop.status == CancellationStatus::Pending);
    run.state = match (is_stopping, is_local) {
        (true, _) => ProviderState::CancellationRequested,
        (false, true) => ProviderState::Running,
        (false, false) => ProviderState::Queued,
    };
    run.failures = 0;
    run.last_error = None;
    run.next_attempt_at = Some(now.saturating_add(progress_ms));
    put(&mut ledger, operation, run);
    Ok(ledger)
}

/// That no other operation of the ledger has this job and root turn.
///
/// # Errors
/// `EXECUTION_PROTOCOL` with the reason `identity`.
pub fn check_pair(ledger: &Ledger, run_id: &str, job: &str, turn: &str) -> Result<()> {
    let others = ledger.executions.records().filter(|run| run.run_id != run_id);
    let mut owned = others.map(|run| (run.provider_job_id.as_deref(), run.turn_id.as_deref()));
    if owned.any(|pair| pair == (Some(job), Some(turn))) {
        let message = "another operation has the same job and root turn";
        return Err(Error::new(Code::ExecutionProtocol, message).with_reason("identity"));
    }
    Ok(())
}

/// Notes that the dispatch's reply was lost, late or invalid; its acceptance stays unknown (EX-LED-33).
///
/// # Errors
/// `EXECUTION_UNKNOWN_RUN`.
pub fn unknown(
    before: &Ledger,
    operation_id: &str,
    reason: &'static str,
    now: u64,
    delay_ms: u64,
) -> Result<Ledger> {
    let mut ledger = before.clone();
    let (operation, mut run) = operation_and_run(before, operation_id)?;
    run.failures = 1;
    run.next_attempt_at = Some(now.saturating_add(delay_ms));
    run.last_error = Some(LastError {
        code: Code::ExecutionAcceptanceUnknown.name().to_owned(),
        reason: Some(reason.to_owned()),
        at: now,
        unknown: Object::new(),
    });
    put(&mut ledger, operation, run);
    Ok(ledger)
}

/// Takes a dispatch back of which it is proved that nothing was sent (EX-LED-36): the current run, what was charged and the receipts are as
/// `before` has them, the operation and its run are gone, and the refusal is noted.
#[must_use]
pub fn refused(before: &Ledger, dispatched: &Ledger, operation_id: &str, code: &str, now: u64) -> Ledger {
    let mut ledger = dispatched.clone();
    let run_id = dispatched.operations.get(operation_id).map(|operation| operation.run_id.clone());
    let run_id = run_id.unwrap_or_default();
    ledger.current_run_id.clone_from(&before.current_run_id);
    ledger.allowance.charged_usd = before.allowance.charged_usd;
    ledger.preparations.clone_from(&before.preparations);
    ledger.operations.remove(operation_id);
    ledger.executions.remove(&run_id);
    ledger.dispatch_refusals.push(DispatchRefusal {
        operation_id: operation_id.to_owned(),
        run_id,
        at: now,
        code: code.to_owned(),
        unknown: Object::new(),
    });
    let surplus = ledger.dispatch_refusals.len().saturating_sub(REFUSALS_KEPT);
    ledger.dispatch_refusals.drain(..surplus);
    ledger
}

pub(super) fn operation_and_run(ledger: &Ledger, operation_id: &str) -> Result<(Operation, Execution)> {
    let operation = ledger.operations.get(operation_id);
    let run = operation.and_then(|operation| ledger.executions.get(&operation.run_id));
    operation.cloned().zip(run.cloned()).ok_or_else(|| unknown_operation(operation_id))
}

pub(super) fn put(ledger: &mut Ledger, operation: Operation, run: Execution) {
    let (operation_id, run_id) = (operation.operation_id.clone(), run.run_id.clone());
    ledger.operations.put(&operation_id, operation);
    ledger.executions.put(&run_id, run);
}

/// There is no such operation.
pub(crate) fn unknown_operation(operation_id: &str) -> Error {
    Error::new(Code::ExecutionUnknownRun, format!("there is no such operation, operation=`{operation_id}`"))
        .with_operation_id(operation_id)
}
