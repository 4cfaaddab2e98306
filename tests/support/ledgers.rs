//! What may become of a ledger, whatever happens: the invariants of the execution layer as a comparison of two of them.

use std::collections::BTreeMap;

use gallivant_core::execution::ledger::record::{
    Acceptance, CancellationStatus, Execution, FenceKind, Operation,
};
use gallivant_core::execution::{Ledger, Nanos};

use crate::provider::Provider;

/// What was charged before each intent, for the exact restore of a proven refusal.
pub(crate) type Charged = BTreeMap<String, Nanos>;

/// Whether a later ledger keeps everything that an earlier one has said.
///
/// # Errors
/// What was taken back.
pub(crate) fn follows(before: &Ledger, after: &Ledger, charged: &Charged) -> Result<(), String> {
    let must = |held: bool, what: &str| if held { Ok(()) } else { Err(what.to_owned()) };
    must(before.owner == after.owner, "the owner has changed")?;
    must(before.created_at.is_none() || before.created_at == after.created_at, "createdAt has changed")?;
    let mut restored = None;
    for operation in before.operations.records() {
        let id = &operation.operation_id;
        let Some(now) = after.operations.get(id) else {
            let is_refused = after.dispatch_refusals.iter().any(|refusal| refusal.operation_id == *id);
            must(is_refused && operation.acceptance == Acceptance::Unknown, &format!("{id} is gone"))?;
            restored = Some(charged.get(id).copied().unwrap_or_default());
            continue;
        };
        operation_follows(operation, now).map_err(|what| format!("{id}: {what}"))?;
    }
    for run in before.executions.records() {
        let Some(now) = after.executions.get(&run.run_id) else { continue };
        run_follows(run, now).map_err(|what| format!("{}: {what}", run.run_id))?;
    }
    // I4.
    let (was, is) = (before.allowance.charged_usd, after.allowance.charged_usd);
    match restored {
        None => must(is >= was, &format!("what was charged fell from {was:?} to {is:?}"))?,
        Some(restored) => must(is >= restored, "a refusal restored too little")?,
    }
    let budget = before.allowance.budget_usd;
    must(budget.is_none() || budget == after.allowance.budget_usd, "the budget has changed")?;
    // I11: a fence never goes, and never sinks.
    let rank = |ledger: &Ledger| match ledger.stop_fence.as_ref().map(|fence| fence.kind) {
        None => 0,
        Some(FenceKind::Timeout) => 1,
        Some(FenceKind::Preparation) => 2,
        Some(FenceKind::Operator) => 3,
    };
    must(rank(after) >= rank(before), "a stop is forgotten")
}

fn operation_follows(before: &Operation, after: &Operation) -> Result<(), String> {
    let fixed = |operation: &Operation| {
        (
            (operation.run_id.clone(), operation.sequence, operation.action, operation.kind),
            (operation.input_fingerprint.clone(), operation.idempotency_key.clone(), operation.intent_at),
            (operation.input_head.clone(), operation.reservation_usd, operation.previous_run_id.clone()),
            (operation.preparation.clone(), operation.response.clone(), operation.session_id.clone()),
        )
    };
    if fixed(before) != fixed(after) {
        return Err(format!("the intent has changed: {before:?} and {after:?}"));
    }
    if before.acceptance != Acceptance::Unknown && before.acceptance != after.acceptance {
        return Err(format!("acceptance went from {:?} to {:?}", before.acceptance, after.acceptance));
    }
    if before.acknowledgement.is_some() && before.acknowledgement != after.acknowledgement {
        return Err("the acknowledgement has changed".to_owned());
    }
    if before.cost_usd > after.cost_usd {
        return Err("a known cost has fallen".to_owned());
    }
    if before.operator_act.is_some() && before.operator_act != after.operator_act {
        return Err("an operator's act has changed".to_owned());
    }
    Ok(())
}

fn run_follows(before: &Execution, after: &Execution) -> Result<(), String> {
    let must = |held: bool, what: &str| if held { Ok(()) } else { Err(what.to_owned()) };
    let kept = |before: &Option<String>, after: &Option<String>| before.is_none() || before == after;
    must(kept(&before.provider_job_id, &after.provider_job_id), "the job has changed")?;
    must(kept(&before.turn_id, &after.turn_id), "the root turn has changed")?;
    must(kept(&before.session_id, &after.session_id), "the session has changed")?;
    // I6.
    must(
        before.terminal_state.is_none() || before.terminal_state == after.terminal_state,
        "an end has changed",
    )?;
    must(
        before.terminal_observed_at.is_none() || before.terminal_observed_at == after.terminal_observed_at,
        "the time of an end has changed",
    )?;
    must(before.observed_at <= after.observed_at, "an observation was taken back")?;
    for (was, is, what) in [
        (before.collected, after.collected, "a collected run is none any more"),
        (before.result_rejected, after.result_rejected, "a rejection is gone"),
        (before.absent, after.absent, "an absence is gone"),
        (before.quarantined, after.quarantined, "a quarantine is gone"),
    ] {
        must(!was || is, what)?;
    }
    must(before.cost_usd <= after.cost_usd, "a known cost has fallen")?;
    must(before.controls.iter().all(|control| after.controls.contains(control)), "a control is forgotten")?;
    let Some(stop) = &before.cancellation else { return Ok(()) };
    let Some(now) = &after.cancellation else { return Err("a stop is forgotten".to_owned()) };
    must(stop.idempotency_key == now.idempotency_key && stop.reason == now.reason, "a stop has changed")?;
    must(stop.requested_at == now.requested_at && stop.attempts <= now.attempts, "a stop was taken back")?;
    use CancellationStatus as Is;
    let may_follow = match (stop.status, now.status) {
        (Is::Pending, Is::Unsupported) => false,
        (Is::Pending, _) => true,
        (Is::Acknowledged | Is::Unsupported, Is::Confirmed | Is::Terminal) => true,
        (was, is) => was == is,
    };
    must(may_follow, &format!("a stop went from {:?} to {:?}", stop.status, now.status))
}

/// What has to hold of one ledger beside what its provider knows.
///
/// # Errors
/// What does not hold.
pub(crate) fn judge(ledger: &Ledger, provider: &Provider) -> Result<(), String> {
    let mut unknown = 0;
    let mut pairs = Vec::new();
    for operation in ledger.operations.records() {
        let id = &operation.operation_id;
        unknown += usize::from(operation.acceptance == Acceptance::Unknown);
        let run = ledger.executions.get(&operation.run_id).ok_or(format!("{id} has no run"))?;
        let job = provider.jobs.get(&operation.idempotency_key);
        match operation.acceptance {
            Acceptance::Accepted => {
                let job = job.ok_or(format!("{id} is accepted and nobody has it"))?;
                let known = (run.provider_job_id.as_deref(), run.turn_id.as_deref());
                if known != (Some(&job.job_id), Some(&job.turn_id)) {
                    return Err(format!("{id} is owned as {known:?}, and is {job:?}"));
                }
                pairs.push(known);
                let is_confirmed = run
                    .cancellation
                    .as_ref()
                    .is_some_and(|stop| stop.status == CancellationStatus::Confirmed);
                // I12.
                if is_confirmed && job.state != "cancelled" {
                    return Err(format!("{id}: a stop is confirmed of {job:?}"));
                }
                if let Some(end) = run.terminal_state
                    && end.word() != job.state
                {
                    return Err(format!("{id} has ended as {end:?}, and is {job:?}"));
                }
                // I20.
                if job.cost == 0.0 && (operation.cost_usd.is_some() || run.cost_usd.is_some()) {
                    return Err(format!("{id}: a cost that nobody told"));
                }
            }
            Acceptance::Absent if job.is_some() => {
                return Err(format!("{id} is settled as absent, and is there"));
            }
            Acceptance::Absent | Acceptance::Unknown => {
                if run.provider_job_id.is_some() || run.terminal_state.is_some() || run.collected {
                    return Err(format!("{id}: something is known of a run that nobody owns"));
                }
            }
        }
    }
    let count = pairs.len();
    pairs.sort_unstable();
    pairs.dedup();
    match (unknown, pairs.len() == count) {
        (0 | 1, true) => Ok(()),
        (_, true) => Err("two operations have unknown acceptance".to_owned()),
        _ => Err("two runs are owned as one job and root turn".to_owned()),
    }
}

/// I1: a key was asked for once, and once more for each proven refusal of its operation, of which nothing was created.
///
/// # Errors
/// Which was asked for too often.
pub(crate) fn created_once(provider: &Provider) -> Result<(), String> {
    match provider.creates.iter().find(|(_, count)| **count > 1) {
        None => Ok(()),
        Some((key, count)) => Err(format!("{key} was created {count} times")),
    }
}
