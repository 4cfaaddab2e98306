//! What a settled run has come to (EX-BND-16, EX-LED-64), as a pure function of what is recorded of it.

use super::ledger::Owner;
use super::ledger::record::{Execution, Operation};
use super::money::{Nanos, Round};
use super::states::ProviderState;
use crate::json::{Object, Value};

/// Whether a cached result is this run's own: owner, run, job and root turn, byte for byte. One whose identity was rewritten
/// is not adopted (EX-IDN-22). A result from before one of these members was saved lacks it.
#[must_use]
pub fn is_own(result: &Object, owner: &Owner, run: &Execution) -> bool {
    let is = |key: &str, expected: Option<&str>| match result.get(key) {
        None => true,
        Some(value) => value.as_str() == expected,
    };
    let session = result.get("sessionId").filter(|session| !session.is_null());
    let is_session = match (session, &run.session_id) {
        (Some(said), Some(recorded)) => said.as_str() == Some(recorded),
        _ => true,
    };
    is_session
        && is("taskId", Some(&owner.task_id))
        && is("provider", Some(&owner.provider))
        && is("runId", Some(&run.run_id))
        && is("providerJobId", run.provider_job_id.as_deref())
        && is("turnId", run.turn_id.as_deref())
}

/// `{finished, ok, exit, cost, denials, resultRejected, quarantined, providerState, completedAt, completionInferred, absent}`;
/// none while the run is not settled, and while a collected one lacks its result: the next pass collects that again
/// (EX-REC-40).
///
/// `result` is the run's own cached result, `job` its job record, which holds the settlement of a local run. `cost` is the
/// greatest that is known of the run, in US dollars, and null where none is (EX-COST-12).
#[must_use]
pub fn of(
    run: &Execution,
    operation: Option<&Operation>,
    result: Option<&Object>,
    job: Option<&Object>,
) -> Option<Value> {
    let settlement = job.and_then(|job| job.get("settlement")).filter(|settlement| !settlement.is_null());
    let said = result.and_then(|result| result.get("outcome")).or(settlement);
    let needs_result = run.collected && !run.result_rejected && run.state != ProviderState::Cancelled;
    if !run.is_settled() || (needs_result && said.is_none()) {
        return None;
    }
    let said = said.filter(|_| run.collected && !run.absent);
    let member = |key: &str| said.and_then(|said| said.get(key)).cloned().unwrap_or(Value::Null);
    let ok = !run.result_rejected && run.state != ProviderState::Cancelled;
    let told = said.and_then(|said| said.get("cost")).and_then(|cost| Nanos::from_value(cost, Round::Up));
    let cost = told.max(run.cost_usd).max(operation.and_then(|operation| operation.cost_usd));
    let exit = match member("exit") {
        Value::Null => job.and_then(|job| job.get("exit")).cloned().unwrap_or(Value::Null),
        exit => exit,
    };
    let denials = match member("denials") {
        denials @ Value::Array(_) => denials,
        _ => Value::Array(Vec::new()),
    };
    let members = [
        ("finished", Value::Bool(true)),
        ("ok", Value::Bool(ok && member("ok").as_bool() == Some(true))),
        ("exit", exit),
        ("cost", cost.map_or(Value::Null, |cost| Value::Number(cost.to_number()))),
        ("denials", denials),
        ("resultRejected", Value::Bool(run.result_rejected)),
        ("quarantined", Value::Bool(run.quarantined)),
        ("providerState", Value::from(run.state.word())),
        ("completedAt", Value::from(run.completed_at)),
        ("completionInferred", Value::Bool(run.completion_inferred)),
        ("absent", Value::Bool(run.absent)),
    ];
    Some(Value::Object(members.into_iter().collect()))
}
