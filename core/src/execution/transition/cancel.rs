//! What stop requests and their replies make of a ledger: fences by rank, and the record of a stop as a pure state table
//! (EX-CAN-02 to EX-CAN-21, EX-CAN-39).

use crate::error::Error;
use crate::execution::keys;
use crate::execution::ledger::Ledger;
use crate::execution::ledger::record::{
    Acceptance, Cancellation, CancellationStatus, Execution, FenceKind, FenceScope, LastError, StopFence,
};
use crate::execution::states::{ProviderState, TerminalState};
use crate::json::Object;

/// A request to stop.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the fence is.
    pub kind: FenceKind,
    /// Why; redacted.
    pub reason: String,
    /// The run that is to be stopped; none for the current one.
    pub run_id: Option<String>,
    /// By which the request is known again.
    pub control_id: Option<String>,
    /// When it was asked for, in milliseconds since 1970.
    pub requested_at: u64,
}

/// Sets the fence and, where the current run is meant, its record (EX-CAN-01, EX-CAN-06 to EX-CAN-08). A repeated request keeps
/// the first record and adds its control.
#[must_use]
pub fn requested(before: &Ledger, request: &Request, is_local: bool, can_cancel: bool) -> Ledger {
    let mut ledger = before.clone();
    let meant = request.run_id.clone().or_else(|| before.current_run_id.clone());
    ledger.created_at.get_or_insert(request.requested_at);
    fence(&mut ledger, request, meant.clone(), is_local);
    let Some(run_id) = meant else { return ledger };
    let Some(mut run) = before.executions.get(&run_id).cloned() else { return ledger };
    if let Some(control) = &request.control_id
        && !run.controls.contains(control)
    {
        run.controls.push(control.clone());
    }
    if before.current_run_id.as_ref() == Some(&run_id) && run.cancellation.is_none() {
        let owner = &before.owner;
        let key = keys::cancellation_key(&owner.task_id, &owner.provider, &owner.account, &run_id);
        record(&mut run, request, key, is_local, can_cancel);
        let is_accepted =
            before.operation_of(&run).is_none_or(|operation| operation.acceptance == Acceptance::Accepted);
        let is_pending =
            run.cancellation.as_ref().is_some_and(|stop| stop.status == CancellationStatus::Pending);
        if is_pending && is_accepted {
            run.state = ProviderState::CancellationRequested;
        }
    }
    ledger.executions.put(&run_id, run);
    ledger
}

fn fence(ledger: &mut Ledger, request: &Request, run_id: Option<String>, is_local: bool) {
    let stands = ledger.stop_fence.as_ref().map(|fence| rank(fence.kind));
    if stands.is_some_and(|stands| stands >= rank(request.kind)) {
        return;
    }
    ledger.stop_fence = Some(StopFence {
        kind: request.kind,
        scope: if is_local { FenceScope::Local } else { FenceScope::Remote },
        run_id,
        at: request.requested_at,
        reason: request.reason.clone(),
        unknown: Object::new(),
    });
}

const fn rank(kind: FenceKind) -> u8 {
    match kind {
        FenceKind::Timeout => 0,
        FenceKind::Preparation => 1,
        FenceKind::Operator => 2,
    }
}

fn record(run: &mut Execution, request: &Request, key: String, is_local: bool, can_cancel: bool) {
    let has_ended = run.terminal_state.is_some() || run.is_settled();
    let status = match (has_ended, can_cancel) {
        (true, _) => CancellationStatus::Terminal,
        (false, true) => CancellationStatus::Pending,
        (false, false) => CancellationStatus::Unsupported,
    };
    let at = request.requested_at;
    run.cancellation = Some(Cancellation {
        status,
        reason: request.reason.clone(),
        requested_at: at,
        idempotency_key: key,
        attempts: 0,
        failures: 0,
        last_attempt_at: None,
        next_attempt_at: (status == CancellationStatus::Pending).then_some(at),
        resolved_at: has_ended.then_some(at),
        unknown: Object::new(),
    });
    // The output of a remote run that was to be stopped is not published any more; a local one keeps what it has (EX-CAN-32).
    if has_ended && !is_local {
        run.quarantined = true;
    }
}

/// Whether a stop is to be sent now (EX-CAN-10).
#[must_use]
pub fn is_due(ledger: &Ledger, run: &Execution, can_cancel: bool, is_forced: bool, now: u64) -> bool {
    let Some(stop) = &run.cancellation else { return false };
    let is_owned = run.provider_job_id.is_some()
        && run.turn_id.is_some()
        && ledger.operation_of(run).is_some_and(|operation| operation.acceptance == Acceptance::Accepted);
    stop.status == CancellationStatus::Pending
        && is_owned
        && run.terminal_state.is_none()
        && can_cancel
        && (is_forced || crate::execution::backoff::is_due(stop.next_attempt_at, now))
}

/// Notes that a stop is about to be sent (EX-CAN-15). A crash from here on leaves it due.
#[must_use]
pub fn attempted(before: &Ledger, run_id: &str, now: u64) -> Ledger {
    change(before, run_id, |_, stop| {
        stop.attempts = stop.attempts.saturating_add(1);
        stop.last_attempt_at = Some(now);
    })
}

/// The provider has answered a stop: it is done, or it is known (EX-CAN-13, EX-CAN-14).
#[must_use]
pub fn answered(before: &Ledger, run_id: &str, confirmed: bool, now: u64, progress_ms: u64) -> Ledger {
    change(before, run_id, |run, stop| {
        stop.failures = 0;
        stop.next_attempt_at = None;
        run.reconciled_at = Some(now);
        run.failures = 0;
        run.last_error = None;
        if confirmed {
            stop.status = CancellationStatus::Confirmed;
            stop.resolved_at = Some(now);
            run.terminal_state = Some(TerminalState::Cancelled);
            run.state = ProviderState::Cancelled;
            run.quarantined = true;
            run.terminal_observed_at = Some(now);
            run.completion_inferred = true;
            run.next_attempt_at = None;
        } else {
            stop.status = CancellationStatus::Acknowledged;
            run.state = ProviderState::CancellationRequested;
            run.next_attempt_at = Some(now.saturating_add(progress_ms));
        }
    })
}

/// The reply to a stop was lost: it stays pending, and is sent again with the same key (EX-CAN-15).
#[must_use]
pub fn lost(
    before: &Ledger,
    run_id: &str,
    error: &Error,
    now: u64,
    delay_ms: impl FnOnce(u64) -> u64,
) -> Ledger {
    change(before, run_id, |run, stop| {
        run.last_error = Some(LastError::of(error, now));
        stop.failures = stop.failures.saturating_add(1);
        stop.next_attempt_at = Some(now.saturating_add(delay_ms(stop.failures)));
    })
}

fn change(before: &Ledger, run_id: &str, work: impl FnOnce(&mut Execution, &mut Cancellation)) -> Ledger {
    let mut ledger = before.clone();
    let Some(mut run) = before.executions.get(run_id).cloned() else { return ledger };
    let Some(mut stop) = run.cancellation.take() else { return ledger };
    // What is final never changes (EX-CAN-18).
    if !stop.status.is_final() {
        work(&mut run, &mut stop);
    }
    run.cancellation = Some(stop);
    ledger.executions.put(run_id, run);
    ledger
}
