//! What an operator's acts make of a ledger (EX-LED-59 to EX-LED-67).

use super::dispatch;
use crate::error::{Code, Error, Result};
use crate::execution::contract::{Acknowledgement, Reply};
use crate::execution::ledger::Ledger;
use crate::execution::ledger::record::{Acceptance, Act, CancellationStatus, OperatorAct, OwnedIdentity};
use crate::json::{Object, Value};

/// What an act is recorded with.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// What was seen, where and by whom; redacted.
    pub text: String,
    /// When the act is performed, in milliseconds since 1970.
    pub at: u64,
}

/// Restores the exact ownership of an operation whose acceptance is unknown; none where it is accepted with the same
/// identities already, and nothing is to be written (EX-LED-60 to EX-LED-62). `given` has the form of an acknowledgement.
///
/// # Errors
/// `EXECUTION_UNKNOWN_RUN`, `EXECUTION_CONFLICT`, and those of the acknowledgement's rules.
pub fn adopt(
    before: &Ledger,
    operation_id: &str,
    given: &Object,
    evidence: Evidence,
    progress_ms: u64,
) -> Result<Option<Ledger>> {
    let (operation, _) = dispatch::operation_and_run(before, operation_id)?;
    if operation.acceptance == Acceptance::Absent {
        return Err(absent(operation_id));
    }
    if operation.acceptance == Acceptance::Accepted {
        // Of an accepted operation nothing else of what is given is looked at, since nothing is adopted of it.
        let owned = operation.acknowledgement.as_ref().filter(|owned| is_same(owned, given));
        return owned.map(|_| None).ok_or_else(|| accepted_otherwise(operation_id));
    }
    let acknowledgement =
        Acknowledgement::from_reply(&Reply::from_object(given.clone()), operation.session_id.as_deref())?;
    let mut ledger =
        dispatch::accepted(before, operation_id, &acknowledgement, evidence.at, progress_ms, false)?;
    note(&mut ledger, operation_id, Act::Adopt, evidence)?;
    Ok(Some(ledger))
}

/// Records that the provider never accepted an operation; none where that is recorded already (EX-LED-63 to EX-LED-66).
///
/// # Errors
/// `EXECUTION_UNKNOWN_RUN`; `EXECUTION_CONFLICT` for an accepted operation.
pub fn settle_absent(before: &Ledger, operation_id: &str, evidence: Evidence) -> Result<Option<Ledger>> {
    let (mut operation, mut run) = dispatch::operation_and_run(before, operation_id)?;
    match operation.acceptance {
        Acceptance::Absent => return Ok(None),
        Acceptance::Accepted => return Err(accepted_otherwise(operation_id)),
        Acceptance::Unknown => {}
    }
    let mut ledger = before.clone();
    operation.acceptance = Acceptance::Absent;
    run.absent = true;
    run.next_attempt_at = None;
    if let Some(stop) = run.cancellation.as_mut().filter(|stop| !stop.status.is_final()) {
        stop.status = CancellationStatus::Terminal;
        stop.resolved_at = Some(evidence.at);
        stop.next_attempt_at = None;
    }
    if ledger.current_run_id.as_ref() == Some(&run.run_id) {
        ledger.current_run_id.clone_from(&operation.previous_run_id);
    }
    dispatch::put(&mut ledger, operation, run);
    note(&mut ledger, operation_id, Act::SettleAbsent, evidence)?;
    Ok(Some(ledger))
}

/// Whether the same job and root turn are given, and the same session if one is.
fn is_same(owned: &OwnedIdentity, given: &Object) -> bool {
    let text = |key: &str| given.get(key).and_then(Value::as_str);
    let has_session = given.get("sessionId").is_some_and(|session| !session.is_null());
    owned.provider_job_id.is_some()
        && owned.provider_job_id.as_deref() == text("providerJobId")
        && owned.turn_id.is_some()
        && owned.turn_id.as_deref() == text("turnId")
        && (!has_session || owned.session_id.as_deref() == text("sessionId"))
}

fn note(ledger: &mut Ledger, operation_id: &str, act: Act, evidence: Evidence) -> Result<()> {
    let (mut operation, run) = dispatch::operation_and_run(ledger, operation_id)?;
    operation.operator_act =
        Some(OperatorAct { act, at: evidence.at, evidence: evidence.text, unknown: Object::new() });
    dispatch::put(ledger, operation, run);
    Ok(())
}

/// An operation that was settled as absent is never dispatched and never adopted (EX-LED-62, EX-LED-65).
pub(crate) fn absent(operation_id: &str) -> Error {
    let message = format!("the operation was settled as absent, operation=`{operation_id}`");
    Error::new(Code::ExecutionConflict, message)
        .with_reason("absent")
        .with_operation_id(operation_id)
        .with_remedy("use a new operation id for new work")
}

fn accepted_otherwise(operation_id: &str) -> Error {
    let message = format!("the operation is accepted, with its own identities, operation=`{operation_id}`");
    Error::new(Code::ExecutionConflict, message)
        .with_operation_id(operation_id)
        .with_remedy("keep the recorded ownership; reconcile observes it")
}
