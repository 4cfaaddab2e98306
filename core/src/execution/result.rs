//! A collected result, judged before any of it is saved (EX-OBS-24 to EX-OBS-34).

use super::contract::Reply;
use super::contract::reply::SESSION_REMEDY;
use super::keys;
use super::ledger::record::{Execution, Operation};
use super::states::TerminalState;
use crate::error::{Code, Error, Result};
use crate::json::{Number, Value};

/// What a valid result says, as far as the ledger takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// When the root turn ended, exactly, where that is told.
    pub completed_at: Option<u64>,
    /// The session, where one is reported.
    pub session_id: Option<String>,
    /// The cost as it was reported.
    pub cost: Value,
    /// The exit status, null where none is told.
    pub exit: Value,
}

/// Judges a result of a run, fresh or cached. `now` is milliseconds since 1970.
///
/// # Errors
/// `EXECUTION_RESULT` with the reasons `foreign`, `session`, `incomplete`, `contradiction`, `completion`, `ambiguous`, `shape`. The
/// run, its observation and its allowance stay as they are (EX-OBS-35).
pub fn judge(reply: &Reply, run: &Execution, operation: &Operation, now: u64) -> Result<Judged> {
    let text = |name: &str| reply.given(name).and_then(Value::as_str);
    let is_own = text("providerJobId").is_some_and(|job| run.provider_job_id.as_deref() == Some(job))
        && text("turnId").is_some_and(|turn| run.turn_id.as_deref() == Some(turn));
    let head = reply.get("inputHead").unwrap_or(&Value::Null);
    let has_head = match &operation.input_head {
        Some(expected) => head.as_str() == Some(expected),
        None => head.is_null(),
    };
    if !is_own || !has_head {
        return Err(refused("foreign", "a result is of another job, root turn or input head").with_remedy(
            "restore the exact result of the job and root turn that the recorded acknowledgement names, then retry \
             collection; do not dispatch",
        ));
    }
    let session_id = reply.session(run.session_id.as_deref()).map_err(|_| {
        refused("session", "a result names another session than the recorded one").with_remedy(SESSION_REMEDY)
    })?;
    let outcome = reply.given("outcome");
    let part = |name: &str| outcome.and_then(|outcome| outcome.get(name)).cloned().unwrap_or(Value::Null);
    let ok = match (part("finished"), part("ok")) {
        (Value::Bool(true), Value::Bool(ok)) => ok,
        _ => {
            return Err(refused(
                "incomplete",
                "a result is not finished, or does not say whether it is well",
            ));
        }
    };
    if !matches!(part("denials"), Value::Null | Value::Array(_)) {
        return Err(refused("incomplete", "a result has denials that are no list"));
    }
    let exit = part("exit");
    if !exit.is_null() && exit.as_number().and_then(Number::as_i64).is_none() {
        return Err(refused("incomplete", "a result has an exit that is no integer"));
    }
    let wanted = if ok { TerminalState::Succeeded } else { TerminalState::Failed };
    if run.terminal_state != Some(wanted) {
        return Err(refused("contradiction", "a result contradicts the recorded end of its root turn")
            .with_remedy(
                "have the provider's exact owned result corrected, then retry collection; do not dispatch",
            ));
    }
    let completed_at = completed_at(reply, run, now)?;
    if reply.given("files").is_some() && reply.given("pushedHead").is_some() {
        return Err(refused("ambiguous", "a result has both files and a pushed head"));
    }
    if reply.given("pushedHead").is_some_and(|head| !head.as_str().is_some_and(keys::is_revision)) {
        return Err(refused("shape", "a result has a pushed head that is no revision"));
    }
    Ok(Judged { completed_at, session_id, cost: part("cost"), exit })
}

/// EX-OBS-30.
fn completed_at(reply: &Reply, run: &Execution, now: u64) -> Result<Option<u64>> {
    let Some(value) = reply.given("completedAt") else { return Ok(None) };
    let completed = value.as_number().and_then(Number::as_u64).filter(|completed| {
        *completed >= run.started_at
            && *completed <= now
            && run.terminal_observed_at.is_none_or(|observed| *completed <= observed)
            && run.completed_at.is_none_or(|recorded| recorded == *completed)
    });
    let message = "a result's completedAt contradicts what is recorded of its run";
    completed.map(Some).ok_or_else(|| refused("completion", message))
}

/// A refused result.
pub(super) fn refused(reason: &'static str, message: &str) -> Error {
    Error::new(Code::ExecutionResult, message).with_reason(reason)
}
