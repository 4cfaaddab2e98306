//! What records of older packages become when a pass meets them (EX-REC-40 to EX-REC-44).

use crate::execution::ledger::Ledger;
use crate::execution::ledger::record::{Acceptance, Execution};
use crate::execution::states::{ProviderState, TerminalState};

/// What stands in a run's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Whether there is a `result.json`.
    pub exists: bool,
    /// Whether it is a valid result of the run, by the end that is recorded or claimed for it.
    pub is_valid: bool,
}

/// The end that a record's state claims.
#[must_use]
pub fn claimed(run: &Execution) -> Option<TerminalState> {
    run.terminal_state.or_else(|| run.state.terminal())
}

/// Repairs one run in memory; none where there is nothing to repair. It is saved with whatever the pass saves next. Nothing
/// is dispatched, and no file is touched.
#[must_use]
pub fn repair(before: &Ledger, run_id: &str, is_local: bool, cache: Cache) -> Option<Ledger> {
    let stands = before.executions.get(run_id)?;
    let mut run = stands.clone();
    let operation = before.operation_of(stands);
    let is_accepted = operation.is_none_or(|operation| operation.acceptance == Acceptance::Accepted);
    if run.absent {
        return None;
    }
    let has_identities = run.provider_job_id.is_some() && (is_local || run.turn_id.is_some());
    if !is_local && claimed(&run).is_some() && (!has_identities || !is_accepted) {
        // Only a look-up can establish it again (EX-REC-42).
        run.terminal_state = None;
        run.terminal_observed_at = None;
        run.completed_at = None;
        run.state = ProviderState::StatusUnknown;
        run.collected = false;
    } else if run.collected && !run.result_rejected {
        let has_no_end = run.terminal_state.is_none();
        let contradicts = run.terminal_state.is_some_and(|end| end.state() != run.state);
        let end = claimed(&run);
        let is_collectable = matches!(end, Some(TerminalState::Succeeded | TerminalState::Failed));
        if is_collectable && (contradicts || !cache.exists || (has_no_end && !cache.is_valid)) {
            run.state = ProviderState::RetrievingResults;
            run.collected = false;
            run.next_attempt_at = None;
        }
        run.terminal_state = end;
    }
    if let Some(operation) = operation {
        run.cost_usd = run.cost_usd.max(operation.cost_usd);
    }
    if run == *stands {
        return None;
    }
    let mut ledger = before.clone();
    ledger.executions.put(run_id, run);
    Some(ledger)
}
