//! What may be read of a task without a lock: the projection, what is live, what is unresolved (EX-BND-18 to EX-BND-23).

use std::path::Path;

use super::Inner;
use crate::error::{Code, Result};
use crate::execution::contract::Method;
use crate::execution::ledger::record::{Acceptance, Execution, Operation};
use crate::execution::ledger::{Ledger, Owner};
use crate::host::Host;
use crate::json::{Object, Value};

/// The projection of the current run (EX-BND-21). Without a run its members are null, but for the owner, the fence and `live`.
pub(super) fn inspect(inner: &Inner) -> Result<Value> {
    let (_, ledger) = super::reading::ledger(inner)?;
    Ok(project(&ledger, ledger.current(), inner))
}

pub(super) fn project(ledger: &Ledger, run: Option<&Execution>, inner: &Inner) -> Value {
    let has_lookup = inner.options.has(Method::Lookup);
    let metadata = run.map_or(Value::Null, |run| run.to_value());
    let of_run = |key: &str| metadata.get(key).cloned().unwrap_or(Value::Null);
    let operation = run.and_then(|run| ledger.operation_of(run));
    let text = |text: &str| Value::String(text.to_owned());
    let mut out = Object::new();
    out.insert("taskId", text(&ledger.owner.task_id));
    out.insert("runId", of_run("runId"));
    out.insert("provider", text(&ledger.owner.provider));
    out.insert("account", text(&ledger.owner.account));
    out.insert("kind", of_run("kind"));
    out.insert("acceptance", operation.map_or(Value::Null, |operation| text(operation.acceptance.word())));
    for key in [
        "state",
        "terminalState",
        "terminalObservedAt",
        "observedAt",
        "completedAt",
        "completionInferred",
        "reconciledAt",
        "nextAttemptAt",
        "failures",
        "lastError",
    ] {
        out.insert(key, of_run(key));
    }
    out.insert(
        "recovery",
        run.and_then(|run| recovery(run, operation, has_lookup)).map_or(Value::Null, text),
    );
    for key in ["costUsd", "collected", "collectedAt", "quarantined", "resultRejected", "cancellation"] {
        out.insert(key, of_run(key));
    }
    out.insert("stopFence", ledger.stop_fence.as_ref().map_or(Value::Null, |fence| fence.to_value()));
    out.insert("live", Value::Bool(run.is_some_and(|run| !run.is_settled())));
    for key in ["sessionId", "providerJobId", "turnId", "workflow"] {
        out.insert(key, of_run(key));
    }
    out.insert("execution", metadata);
    Value::Object(out)
}

/// What is to be done about a run, as a word of EX-REC-48; none where nothing is.
pub(super) fn recovery(
    run: &Execution,
    operation: Option<&Operation>,
    has_lookup: bool,
) -> Option<&'static str> {
    if run.is_settled() {
        return None;
    }
    let is_unknown = operation.is_some_and(|operation| operation.acceptance == Acceptance::Unknown);
    let error = run.last_error.as_ref().filter(|_| run.failures > 0);
    match error.and_then(|error| error.reason.as_deref()) {
        _ if is_unknown && !has_lookup => Some("inspect-key"),
        Some("session") => Some("restore-session"),
        Some("future" | "time" | "stale") => Some("correct-clock"),
        // The provider has none yet, and nothing of it is wrong.
        Some("missing") => Some("retry-later"),
        _ if error.is_some_and(|error| error.code == Code::ExecutionResult.name()) => Some("correct-result"),
        _ if error.is_some_and(|error| error.code == Code::ExecutionJournal.name()) => Some("restore-backup"),
        _ if is_unknown || error.is_some() => Some("retry-later"),
        _ => None,
    }
}

/// Whether a run, by its ledger metadata or by a raw job record, is live (EX-BND-18, EX-BND-23).
#[must_use]
pub fn execution_live(value: &Value) -> bool {
    let flag = |value: &Value, key: &str| value.get(key).and_then(Value::as_bool) == Some(true);
    let state = |value: &Value| value.get("state").and_then(Value::as_str).map(str::to_owned);
    let is_text = |key: &str| value.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let metadata = value.get("execution").filter(|execution| !execution.is_null());
    let is_raw_job = metadata.is_none() && value.get("state").is_none();
    if is_raw_job {
        // A process run from before the ledger: it has ended when its end is recorded.
        return value.get("endedAt").is_none_or(Value::is_null);
    }
    let run = metadata.unwrap_or(value);
    let settled = ["collected", "resultRejected", "absent"].iter().any(|key| flag(run, key))
        || state(run).as_deref() == Some("cancelled");
    let is_local = value.get("process").is_some_and(|process| !process.is_null())
        || run.get("location").and_then(Value::as_str) == Some("local");
    let has_identities = |run: &Value| {
        ["providerJobId", "turnId"]
            .iter()
            .all(|key| run.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty()))
    };
    // A remote projection without both identities is live, whatever else it says, but for what an operator settled.
    if metadata.is_none() && is_text("provider") && !is_local && !has_identities(run) && !flag(run, "absent")
    {
        return true;
    }
    !settled
}

/// An operation whose acceptance is unknown, for whoever has to find out (EX-UPG-04).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedOperation {
    /// Whose it is.
    pub owner: Owner,
    /// The operation.
    pub operation_id: String,
    /// Its run.
    pub run_id: String,
    /// The key by which the provider knows it.
    pub idempotency_key: String,
    /// When its intent was saved, in milliseconds since 1970.
    pub intent_at: u64,
    /// What to do.
    pub remedy: &'static str,
}

/// Lists every operation of a task's root whose acceptance is unknown. Reads one file, takes no lock.
///
/// # Errors
/// `EXECUTION_VERSION`, `EXECUTION_PROTOCOL` with the reason `ledger`, `EXECUTION_IO`. A root without a ledger has none.
pub fn unresolved(root: &Path, host: &Host) -> Result<Vec<UnresolvedOperation>> {
    let Some(ledger) = crate::execution::ledger_on_disk(root, host)? else { return Ok(Vec::new()) };
    let unknown = ledger.operations.records().filter(|operation| operation.acceptance == Acceptance::Unknown);
    Ok(unknown
        .map(|operation| UnresolvedOperation {
            owner: ledger.owner.clone(),
            operation_id: operation.operation_id.clone(),
            run_id: operation.run_id.clone(),
            idempotency_key: operation.idempotency_key.clone(),
            intent_at: operation.intent_at,
            remedy: Code::ExecutionAcceptanceUnknown.remedy(),
        })
        .collect())
}
