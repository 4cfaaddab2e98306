//! What a pass makes of a ledger: ownership, observations, failures, results (EX-REC-09 to EX-REC-26).

use super::dispatch::{charge, check_pair, operation_and_run, put};
use crate::error::{Error, Result};
use crate::execution::cost;
use crate::execution::ledger::Ledger;
use crate::execution::ledger::record::{Acceptance, CancellationStatus, Execution, LastError, OwnedIdentity};
use crate::execution::observation::Observation;
use crate::execution::result::Judged;
use crate::execution::states::{ProviderState, TerminalState};
use crate::json::{Object, Value};

/// Adopts the ownership that a look-up has found, and nothing else of it: its cursor and state follow once its events are in
/// the journal, so that a crash in between loses none (EX-REC-09).
///
/// # Errors
/// `EXECUTION_PROTOCOL` with the reason `identity` where another run has the same job and root turn.
pub fn owned(before: &Ledger, operation_id: &str, observation: &Observation, now: u64) -> Result<Ledger> {
    let mut ledger = before.clone();
    let (mut operation, mut run) = operation_and_run(before, operation_id)?;
    let identities = &observation.identities;
    check_pair(before, &run.run_id, &identities.provider_job_id, &identities.turn_id)?;
    let session = observation.session_id.clone().or_else(|| run.session_id.clone());
    operation.acceptance = Acceptance::Accepted;
    operation.accepted_at.get_or_insert(now);
    let cursor = operation.acknowledgement.take().map_or(Value::Null, |known| known.cursor);
    operation.acknowledgement = Some(OwnedIdentity {
        provider_job_id: Some(identities.provider_job_id.clone()),
        session_id: session.clone(),
        turn_id: Some(identities.turn_id.clone()),
        cursor,
        unknown: Object::new(),
    });
    run.provider_job_id = Some(identities.provider_job_id.clone());
    run.turn_id = Some(identities.turn_id.clone());
    run.session_id = session;
    put(&mut ledger, operation, run);
    Ok(ledger)
}

/// Adopts a valid observation whose events are in the journal: state, times, cost, session and cursor (EX-REC-13 to
/// EX-REC-19, EX-CAN-16, EX-CAN-17).
///
/// # Errors
/// `EXECUTION_ALLOWANCE` where the charges are no amount any more.
pub fn observed(
    before: &Ledger,
    operation_id: &str,
    observation: &Observation,
    now: u64,
    progress_ms: u64,
) -> Result<Ledger> {
    let mut ledger = before.clone();
    let (mut operation, mut run) = operation_and_run(before, operation_id)?;
    if run.session_id.is_none() {
        run.session_id.clone_from(&observation.session_id);
    }
    if let Some(cursor) = &observation.cursor {
        run.cursor = cursor.to_value();
    }
    run.observed_at = Some(observation.observed_at);
    succeed(&mut run, now);
    run.next_attempt_at = Some(now.saturating_add(progress_ms));
    let known = cost::known_cost(operation.cost_usd.max(run.cost_usd), Some(&observation.cost));
    (operation.cost_usd, run.cost_usd) = (known, known);
    let stop = run.cancellation.as_ref().map(|stop| stop.status);
    match observation.state.terminal() {
        None => {
            let is_open =
                matches!(stop, Some(CancellationStatus::Pending | CancellationStatus::Acknowledged));
            run.state = if is_open { ProviderState::CancellationRequested } else { observation.state };
        }
        Some(end) if run.terminal_state.is_none() => {
            run.terminal_state = Some(end);
            run.terminal_observed_at = Some(observation.observed_at);
            run.completed_at = observation.completed_at;
            run.completion_inferred = observation.completed_at.is_none();
            let is_cancelled = end == TerminalState::Cancelled;
            run.state =
                if is_cancelled { ProviderState::Cancelled } else { ProviderState::RetrievingResults };
            if is_cancelled {
                run.quarantined = true;
                run.next_attempt_at = None;
            }
            end_stop(&mut run, is_cancelled, now);
        }
        // A recorded end never changes (EX-REC-19).
        Some(_) => {}
    }
    put(&mut ledger, operation, run);
    charge(&mut ledger)?;
    Ok(ledger)
}

/// The root turn has ended while a stop was open: it is confirmed by a cancelled end, and has met another end otherwise, whose
/// output is quarantined.
fn end_stop(run: &mut Execution, is_cancelled: bool, now: u64) {
    let Some(stop) = run.cancellation.as_mut().filter(|stop| !stop.status.is_final()) else { return };
    stop.status = if is_cancelled { CancellationStatus::Confirmed } else { CancellationStatus::Terminal };
    stop.resolved_at = Some(now);
    stop.next_attempt_at = None;
    run.quarantined = true;
}

/// Notes a failed pass (EX-OBS-05, EX-REC-25): nothing but retry data changes.
#[must_use]
pub fn failed(before: &Ledger, run_id: &str, error: &Error, now: u64, delay_ms: u64) -> Ledger {
    let mut ledger = before.clone();
    let Some(mut run) = before.executions.get(run_id).cloned() else { return ledger };
    run.failures = run.failures.saturating_add(1);
    run.reconciled_at = Some(now);
    run.next_attempt_at = Some(now.saturating_add(delay_ms));
    run.last_error = Some(LastError::of(error, now));
    ledger.executions.put(run_id, run);
    ledger
}

/// Notes a failure that has its retry data elsewhere (EX-ERR-05).
#[must_use]
pub fn noted(before: &Ledger, run_id: &str, error: &Error, now: u64) -> Ledger {
    let mut ledger = before.clone();
    let Some(mut run) = before.executions.get(run_id).cloned() else { return ledger };
    run.last_error = Some(LastError::of(error, now));
    ledger.executions.put(run_id, run);
    ledger
}

/// Adopts a result that is saved (EX-REC-23): collected at this time, in milliseconds since 1970.
///
/// # Errors
/// `EXECUTION_ALLOWANCE` where the charges are no amount any more.
pub fn collected(
    before: &Ledger,
    operation_id: &str,
    judged: &Judged,
    collected_at: u64,
    now: u64,
) -> Result<Ledger> {
    let mut ledger = before.clone();
    let (mut operation, mut run) = operation_and_run(before, operation_id)?;
    run.collected = true;
    run.collected_at = Some(collected_at);
    if let Some(end) = run.terminal_state {
        run.state = end.state();
    }
    match judged.completed_at {
        Some(completed) => {
            run.completed_at = Some(completed);
            run.completion_inferred = false;
        }
        None if run.completed_at.is_none() => run.completion_inferred = true,
        None => {}
    }
    if run.session_id.is_none() {
        run.session_id.clone_from(&judged.session_id);
    }
    let known = cost::known_cost(operation.cost_usd.max(run.cost_usd), Some(&judged.cost));
    (operation.cost_usd, run.cost_usd) = (known, known);
    succeed(&mut run, now);
    run.next_attempt_at = None;
    put(&mut ledger, operation, run);
    charge(&mut ledger)?;
    Ok(ledger)
}

/// Settles a run whose result was rejected for a fault that stays (EX-ART-61).
#[must_use]
pub fn rejected(before: &Ledger, run_id: &str, now: u64) -> Ledger {
    let mut ledger = before.clone();
    let Some(mut run) = before.executions.get(run_id).cloned() else { return ledger };
    run.result_rejected = true;
    run.collected = false;
    if let Some(end) = run.terminal_state {
        run.state = end.state();
    }
    succeed(&mut run, now);
    run.next_attempt_at = None;
    ledger.executions.put(run_id, run);
    ledger
}

fn succeed(run: &mut Execution, now: u64) {
    run.failures = 0;
    run.last_error = None;
    run.reconciled_at = Some(now);
}
