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

/// What is recorded of a run, as far as a result is judged by it. Times are milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// Its job.
    pub provider_job_id: Option<&'a str>,
    /// Its root turn.
    pub turn_id: Option<&'a str>,
    /// Its session, where it is known.
    pub session_id: Option<&'a str>,
    /// The revision that the work began at; none for intake.
    pub input_head: Option<&'a str>,
    /// How the root turn has ended.
    pub terminal_state: Option<TerminalState>,
    /// When it began at the earliest.
    pub started_at: u64,
    /// The time of the first observation that it has ended.
    pub terminal_observed_at: Option<u64>,
    /// When it ended, exactly, where that is recorded.
    pub completed_at: Option<u64>,
}

impl<'a> Owner<'a> {
    /// As a ledger has it.
    #[must_use]
    pub fn of(run: &'a Execution, operation: &'a Operation) -> Self {
        Owner {
            provider_job_id: run.provider_job_id.as_deref(),
            turn_id: run.turn_id.as_deref(),
            session_id: run.session_id.as_deref(),
            input_head: operation.input_head.as_deref(),
            terminal_state: run.terminal_state,
            started_at: run.started_at,
            terminal_observed_at: run.terminal_observed_at,
            completed_at: run.completed_at,
        }
    }
}

/// Judges a result of a run, fresh or cached. `now` is milliseconds since 1970.
///
/// # Errors
/// `EXECUTION_RESULT` with the reasons `foreign`, `session`, `incomplete`, `contradiction`, `completion`, `ambiguous`, `shape`. The
/// run, its observation and its allowance stay as they are (EX-OBS-35).
pub fn judge(reply: &Reply, run: &Owner<'_>, now: u64) -> Result<Judged> {
    let text = |name: &str| reply.given(name).and_then(Value::as_str);
    let differs = |name: &str, recorded: Option<&str>| text(name).is_none_or(|said| recorded != Some(said));
    let is_foreign = [("providerJobId", run.provider_job_id), ("turnId", run.turn_id)];
    if let Some((member, _)) = is_foreign.into_iter().find(|(name, recorded)| differs(name, *recorded)) {
        let message = format!("a result is of another job or root turn, member=`{member}`");
        return Err(refused("foreign", &message).with_remedy(
            "restore the exact result of the job and root turn that the recorded acknowledgement names, then retry \
             collection; do not dispatch",
        ));
    }
    let head = reply.get("inputHead").unwrap_or(&Value::Null);
    let has_head = match run.input_head {
        Some(expected) => head.as_str() == Some(expected),
        None => head.is_null(),
    };
    if !has_head {
        let message = "a result has another input head than its operation, member=`inputHead`";
        return Err(refused("foreign", message).with_remedy(
            "have the transport's collect return the inputHead that it was called with, null where that was null, \
             then retry collection; do not dispatch",
        ));
    }
    let session_id = reply.session(run.session_id).map_err(|_| {
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
fn completed_at(reply: &Reply, run: &Owner<'_>, now: u64) -> Result<Option<u64>> {
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
