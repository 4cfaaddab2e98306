//! The life of a process run in the ledger: started, seen, ended, settled, stopped (EX-REC-35, EX-CAN-29 to EX-CAN-43).
//!
//! A local run has no root turn: its job is the run itself.

use super::dispatch::{charge, operation_and_run, put};
use crate::error::{Code, Error, Result};
use crate::execution::cost;
use crate::execution::keys;
use crate::execution::ledger::Ledger;
use crate::execution::ledger::record::{
    Acceptance, Cancellation, CancellationStatus, Execution, ExitSnapshot, FenceKind, FenceScope,
    OwnedIdentity, RunKind,
};
use crate::execution::states::{ProviderState, TerminalState};
use crate::json::{Object, Value};

/// How a process has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Exit {
    /// Its exit status; none where nobody recorded it.
    pub exit: Option<i64>,
    /// The signal that ended it, null where none is told.
    pub signal: Value,
    /// When it ended, in milliseconds since 1970.
    pub ended_at: Option<u64>,
}

impl Exit {
    /// Whether somebody recorded it (EX-LOC-16).
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.ended_at.is_some() && (self.exit.is_some() || !self.signal.is_null())
    }
}

/// What a harness's own output says of a run that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    /// Whether it is well.
    pub ok: bool,
    /// The cost as it was reported.
    pub cost: Value,
    /// The session, where one is told.
    pub session_id: Option<String>,
}

/// The process of a run was started (EX-LED-31): it is owned by this machine. A session that the process does not tell is the
/// one that was sent or preassigned (EX-IDN-14).
///
/// # Errors
/// `EXECUTION_UNKNOWN_RUN`.
pub fn started(
    before: &Ledger,
    operation_id: &str,
    session_id: Option<String>,
    started_at: u64,
    now: u64,
    progress_ms: u64,
) -> Result<Ledger> {
    let mut ledger = before.clone();
    let (mut operation, mut run) = operation_and_run(before, operation_id)?;
    let session = session_id.or_else(|| operation.session_id.clone());
    operation.acceptance = Acceptance::Accepted;
    operation.accepted_at = Some(now);
    operation.acknowledgement = Some(OwnedIdentity {
        provider_job_id: Some(run.run_id.clone()),
        session_id: session.clone(),
        turn_id: None,
        cursor: Value::Null,
        unknown: Object::new(),
    });
    run.provider_job_id = Some(run.run_id.clone());
    run.session_id = session;
    run.started_at = started_at;
    let is_stopping =
        run.cancellation.as_ref().is_some_and(|stop| stop.status == CancellationStatus::Pending);
    run.state = if is_stopping { ProviderState::CancellationRequested } else { ProviderState::Running };
    calm(&mut run);
    run.next_attempt_at = Some(now.saturating_add(progress_ms));
    put(&mut ledger, operation, run);
    Ok(ledger)
}

/// The process tree was seen alive.
#[must_use]
pub fn alive(before: &Ledger, run_id: &str, now: u64, progress_ms: u64) -> Ledger {
    change(before, run_id, |run| {
        run.observed_at = Some(now);
        run.reconciled_at = Some(now);
        calm(run);
        run.next_attempt_at = Some(now.saturating_add(progress_ms));
    })
}

/// A signal was sent to the whole tree: the stop is known to it, and not seen to be done (EX-CAN-29).
#[must_use]
pub fn signalled(before: &Ledger, run_id: &str, now: u64, progress_ms: u64) -> Ledger {
    change(before, run_id, |run| {
        run.state = ProviderState::CancellationRequested;
        if let Some(stop) = run.cancellation.as_mut().filter(|stop| !stop.status.is_final()) {
            stop.status = CancellationStatus::Acknowledged;
            stop.failures = 0;
            stop.next_attempt_at = None;
        }
        run.reconciled_at = Some(now);
        calm(run);
        run.next_attempt_at = Some(now.saturating_add(progress_ms));
    })
}

/// The tree is gone by itself: how it ended is kept, and the run is to be settled from that (EX-CAN-33). An open stop has met
/// an ended run; one that the machine could not send quarantines what it left (EX-REC-35, L8).
#[must_use]
pub fn exited(before: &Ledger, run_id: &str, exit: &Exit, now: u64) -> Ledger {
    change(before, run_id, |run| {
        run.state = ProviderState::RetrievingResults;
        run.exit_snapshot = Some(ExitSnapshot {
            exit: exit.exit,
            signal: exit.signal.clone(),
            ended_at: exit.ended_at,
            unknown: Object::new(),
        });
        run.terminal_observed_at.get_or_insert(now);
        run.observed_at = Some(now);
        run.reconciled_at = Some(now);
        run.next_attempt_at = Some(now);
        if let Some(stop) = run.cancellation.as_mut().filter(|stop| !stop.status.is_final()) {
            run.quarantined |= stop.status == CancellationStatus::Unsupported;
            stop.status = CancellationStatus::Terminal;
            stop.resolved_at = Some(now);
            stop.next_attempt_at = None;
        }
    })
}

/// The tree is gone after a stop: it is confirmed, and what the run left is quarantined (EX-CAN-29, EX-CAN-31).
#[must_use]
pub fn stopped(before: &Ledger, run_id: &str, now: u64) -> Ledger {
    change(before, run_id, |run| {
        run.terminal_state = Some(TerminalState::Cancelled);
        run.state = ProviderState::Cancelled;
        run.quarantined = true;
        run.terminal_observed_at.get_or_insert(now);
        run.observed_at = Some(now);
        run.reconciled_at = Some(now);
        run.completion_inferred = true;
        calm(run);
        run.next_attempt_at = None;
        if let Some(stop) = run.cancellation.as_mut().filter(|stop| !stop.status.is_final()) {
            stop.status = CancellationStatus::Confirmed;
            stop.resolved_at = Some(now);
            stop.next_attempt_at = None;
        }
    })
}

/// The result of an ended run is saved (EX-REC-35, L6 to L7): its end is exact where it was recorded (EX-LOC-26).
///
/// # Errors
/// `EXECUTION_UNKNOWN_RUN`; `EXECUTION_ALLOWANCE` where the charges are no amount any more.
pub fn settled(before: &Ledger, run_id: &str, settlement: &Settlement, now: u64) -> Result<Ledger> {
    let end = if settlement.ok { TerminalState::Succeeded } else { TerminalState::Failed };
    let mut ledger = pay(before, run_id, settlement)?;
    ledger = change(&ledger, run_id, |run| {
        let ended_at = run.exit_snapshot.as_ref().and_then(|snapshot| snapshot.ended_at);
        run.terminal_state = Some(end);
        run.state = end.state();
        run.completed_at = ended_at;
        run.completion_inferred = ended_at.is_none();
        run.collected = true;
        run.collected_at = Some(now);
        run.reconciled_at = Some(now);
        calm(run);
        run.next_attempt_at = None;
    });
    Ok(ledger)
}

/// A run that a timeout has stopped, whose tree is gone: its fence is released, and it has failed (EX-CAN-41 to EX-CAN-43).
///
/// # Errors
/// As [`settled`].
pub fn timed_out(
    before: &Ledger,
    run_id: &str,
    settlement: &Settlement,
    exit: &Exit,
    now: u64,
) -> Result<Ledger> {
    let mut ledger = pay(before, run_id, settlement)?;
    ledger = change(&ledger, run_id, |run| {
        if !run.collected {
            run.terminal_state = Some(TerminalState::Failed);
            run.state = ProviderState::Failed;
            run.collected = true;
            run.collected_at = Some(now);
            run.completed_at = exit.ended_at;
            run.completion_inferred = exit.ended_at.is_none();
            run.terminal_observed_at.get_or_insert(now);
        }
        run.quarantined = true;
        run.reconciled_at = Some(now);
        calm(run);
        run.next_attempt_at = None;
        if let Some(stop) = run.cancellation.as_mut().filter(|stop| !stop.status.is_final()) {
            stop.status = CancellationStatus::Confirmed;
            stop.resolved_at = Some(now);
            stop.next_attempt_at = None;
        }
    });
    ledger.stop_fence = None;
    Ok(ledger)
}

/// Whether the fence is a local timeout's that names exactly this run (EX-CAN-41).
#[must_use]
pub fn has_own_timeout(ledger: &Ledger, run_id: &str) -> bool {
    ledger.stop_fence.as_ref().is_some_and(|fence| {
        fence.kind == FenceKind::Timeout
            && fence.scope == FenceScope::Local
            && fence.run_id.as_deref() == Some(run_id)
    })
}

/// That what is told of a session is the recorded one, where both are known (EX-LOC-21).
///
/// # Errors
/// `EXECUTION_RESULT` with the reason `session`: nothing of the settlement is to be saved.
pub fn check_session(run: &Execution, settlement: &Settlement) -> Result<()> {
    match (&run.session_id, &settlement.session_id) {
        (Some(recorded), Some(told)) if recorded != told => {
            Err(Error::new(Code::ExecutionResult, "an outcome names another session than the recorded one")
                .with_reason("session")
                .with_remedy(
                    "restore the exact owned stream or cache, then retry; do not move sessions between runs",
                ))
        }
        _ => Ok(()),
    }
}

/// Adopts cost and session. Another session than the recorded one is refused, and nothing is saved (EX-LOC-21).
fn pay(before: &Ledger, run_id: &str, settlement: &Settlement) -> Result<Ledger> {
    let mut ledger = before.clone();
    let Some(mut run) = before.executions.get(run_id).cloned() else {
        return Err(Error::new(Code::ExecutionUnknownRun, format!("there is no such run, run=`{run_id}`")));
    };
    check_session(&run, settlement)?;
    if run.session_id.is_none() {
        run.session_id.clone_from(&settlement.session_id);
    }
    // A run from before the ledger has no operation, and so no reservation.
    let mut operation = before.operation_of(&run).cloned();
    let spent = operation.as_ref().and_then(|operation| operation.cost_usd).max(run.cost_usd);
    run.cost_usd = cost::known_cost(spent, Some(&settlement.cost));
    if let Some(operation) = &mut operation {
        operation.cost_usd = run.cost_usd;
    }
    ledger.executions.put(run_id, run);
    if let Some(operation) = operation {
        let operation_id = operation.operation_id.clone();
        ledger.operations.put(&operation_id, operation);
    }
    charge(&mut ledger)?;
    Ok(ledger)
}

/// Adopts a process run from before the ledger as the current one, exactly as its job record names it (EX-CAN-37): it has no
/// operation and an unknown cost.
#[must_use]
pub fn adopted(before: &Ledger, legacy: &LegacyRun, transport: &str, now: u64) -> Ledger {
    let mut ledger = before.clone();
    ledger.created_at.get_or_insert(now);
    ledger.current_run_id = Some(legacy.run_id.clone());
    let transport = transport.to_owned();
    let run = Execution {
        legacy: true,
        provider_job_id: Some(legacy.run_id.clone()),
        session_id: legacy.session_id.clone(),
        state: ProviderState::Running,
        next_attempt_at: Some(now),
        ..Execution::begun(legacy.run_id.clone(), RunKind::Implementation, transport, legacy.started_at)
    };
    ledger.executions.put(&legacy.run_id, run);
    ledger
}

/// A process run from before the ledger that lives, by its job record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacyRun {
    /// The run.
    pub run_id: String,
    /// Its session.
    pub session_id: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started_at: u64,
}

impl LegacyRun {
    /// What a job record says, if it names the run and its process and has no end, and its session is the one that the caller
    /// knows, where one is known (EX-LOC-24).
    #[must_use]
    pub fn of(run_id: &str, job: &Object, known_session: Option<&str>) -> Option<Self> {
        let text = |key: &str| job.get(key).and_then(Value::as_str);
        let names_it = text("runId") == Some(run_id);
        let has_process = job.get("process").and_then(|process| process.get("identity")?.as_str()).is_some();
        let lives = job.get("endedAt").is_none_or(Value::is_null);
        let session_id = text("sessionId");
        let is_known = known_session.is_none_or(|known| session_id == Some(known));
        (names_it && has_process && lives && is_known).then(|| LegacyRun {
            run_id: run_id.to_owned(),
            session_id: session_id.map(str::to_owned),
            started_at: job.get("startedAt").and_then(|at| at.as_number()?.as_u64()).unwrap_or(0),
        })
    }
}

/// An interruption is wanted: the turn is quarantined and stopped like by a stop, and nothing is fenced (EX-CAN-54).
#[must_use]
pub fn interrupted(before: &Ledger, run_id: &str, reason: &str, now: u64) -> Ledger {
    let owner = &before.owner;
    let key = keys::cancellation_key(&owner.task_id, &owner.provider, &owner.account, run_id);
    change(before, run_id, |run| {
        run.quarantined = true;
        run.state = ProviderState::CancellationRequested;
        run.cancellation.get_or_insert_with(|| Cancellation {
            status: CancellationStatus::Pending,
            reason: reason.to_owned(),
            requested_at: now,
            idempotency_key: key,
            attempts: 0,
            failures: 0,
            last_attempt_at: None,
            next_attempt_at: Some(now),
            resolved_at: None,
            unknown: Object::new(),
        });
    })
}

fn change(before: &Ledger, run_id: &str, work: impl FnOnce(&mut Execution)) -> Ledger {
    let mut ledger = before.clone();
    if let Some(mut run) = before.executions.get(run_id).cloned() {
        work(&mut run);
        ledger.executions.put(run_id, run);
    }
    ledger
}

fn calm(run: &mut Execution) {
    run.failures = 0;
    run.last_error = None;
}
