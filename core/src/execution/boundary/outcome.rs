//! How a run has ended, for whoever decides what comes next (EX-BND-16). Reads files, takes no lock, writes nothing.

use std::io;
use std::sync::Arc;

use super::Inner;
use crate::error::{Code, Error, Result};
use crate::execution::job::read_object;
use crate::execution::ledger::Ledger;
use crate::execution::ledger::record::Execution;
use crate::execution::money::{Nanos, Round};
use crate::execution::version;
use crate::journal::RESULT;
use crate::json::{Object, Value};
use crate::storage::Directory;

/// The settled outcome of a run; null while it is not settled.
///
/// # Errors
/// `EXECUTION_INPUT` for what is no id, `EXECUTION_UNKNOWN_RUN`, and those of the ledger and of `result.json`.
pub(super) fn outcome(inner: &Inner, run_id: &str) -> Result<Value> {
    if !crate::execution::keys::is_id(run_id) {
        return Err(super::input::wrong("runId is no id"));
    }
    let Some((root, ledger)) = inner.look()? else { return Err(super::pass::unknown_run(run_id)) };
    let run = ledger.executions.get(run_id).ok_or_else(|| super::pass::unknown_run(run_id))?;
    if !run.is_settled() {
        return Ok(Value::Null);
    }
    let result = if run.collected { collected(&*root, run_id)? } else { None };
    if run.collected && result.is_none() {
        // The next pass collects it again (EX-REC-40).
        return Ok(Value::Null);
    }
    Ok(settled(&ledger, run, result.as_ref()))
}

fn settled(ledger: &Ledger, run: &Execution, result: Option<&Object>) -> Value {
    let told = result.and_then(|result| result.get("outcome"));
    let part = |name: &str| told.and_then(|told| told.get(name)).cloned();
    // The greater of what the result and what the operation says, null where neither knows (EX-COST-12).
    let known = ledger.operation_of(run).and_then(|operation| operation.cost_usd).max(run.cost_usd);
    let cost = known.max(part("cost").and_then(|cost| Nanos::from_value(&cost, Round::Up)));
    let end = run.terminal_state.map(|end| end.state()).unwrap_or(run.state);
    let members = [
        ("finished", Value::Bool(true)),
        ("ok", part("ok").unwrap_or(Value::Bool(false))),
        ("exit", part("exit").unwrap_or(Value::Null)),
        ("cost", cost.map_or(Value::Null, |cost| Value::Number(cost.to_number()))),
        ("denials", part("denials").filter(|denials| !denials.is_null()).unwrap_or(Value::Array(Vec::new()))),
        ("resultRejected", Value::Bool(run.result_rejected)),
        ("quarantined", Value::Bool(run.quarantined)),
        ("providerState", Value::from(end.word())),
        ("completedAt", Value::from(run.completed_at)),
        ("completionInferred", Value::Bool(run.completion_inferred)),
        ("absent", Value::Bool(run.absent)),
    ];
    Value::Object(members.into_iter().collect::<Object>())
}

fn collected(root: &dyn Directory, run_id: &str) -> Result<Option<Object>> {
    let run = match root.open_directory(run_id) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| {
            Error::new(Code::ExecutionIo, "the run's directory cannot be opened").with_source(error)
        })?,
    };
    let result = read_object(&*run, RESULT)?;
    if let Some(result) = &result {
        version::check("result", RESULT, result.get("version"), 1)?;
    }
    Ok(result)
}

impl Inner {
    /// The root and the ledger in it, without a lock; none where there is no root.
    ///
    /// # Errors
    /// Those of the ledger, and `EXECUTION_IO`.
    pub(super) fn look(&self) -> Result<Option<(Arc<dyn Directory>, Ledger)>> {
        self.check_fork()?;
        let root = match self.host.files.open_to_read(&self.options.root) {
            Ok(root) => root,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(
                    Error::new(Code::ExecutionIo, "the task's root cannot be opened").with_source(error)
                );
            }
        };
        let ledger = self.read(&*root)?;
        Ok(Some((root, ledger)))
    }
}
