//! `adopt` and `settleAbsent`: what an operator has seen at the provider, recorded (EX-LED-59 to EX-LED-67). No pass and no
//! other automatic path comes here.

use std::sync::Arc;

use super::Inner;
use super::dispatch::outcome;
use super::input::{id, missing, text, wrong};
use super::task::Task;
use crate::error::Result;
use crate::execution::ledger::lock::AbortToken;
use crate::execution::transition::dispatch::unknown_operation;
use crate::execution::transition::operator::{self, Evidence};
use crate::json::{Object, Value};

/// The longest evidence (EX-LED-67).
const MAX_EVIDENCE_BYTES: usize = 4096;

pub(super) fn adopt(inner: &Arc<Inner>, abort: &AbortToken, input: &Object) -> Result<Value> {
    let operation_id = id(input, "operationId")?.ok_or_else(|| missing("operationId"))?;
    let Some(Value::Object(given)) = input.get("acknowledgement") else {
        return Err(wrong("acknowledgement is no object"));
    };
    let evidence = evidence(input)?;
    let mut task = Task::open(inner, abort)?;
    if inner.options.is_local() && task.ledger.operations.contains(&operation_id) {
        return Err(wrong("a local operation is not adopted").with_operation_id(operation_id));
    }
    let evidence = Evidence { text: inner.redactor.text(&evidence).into_owned(), at: task.now() };
    let next =
        operator::adopt(&task.ledger, &operation_id, given, evidence, inner.options.limits.progress_ms)?;
    finish(&mut task, &operation_id, next)
}

pub(super) fn settle_absent(inner: &Arc<Inner>, abort: &AbortToken, input: &Object) -> Result<Value> {
    let operation_id = id(input, "operationId")?.ok_or_else(|| missing("operationId"))?;
    let evidence = evidence(input)?;
    let mut task = Task::open(inner, abort)?;
    let evidence = Evidence { text: inner.redactor.text(&evidence).into_owned(), at: task.now() };
    let next = operator::settle_absent(&task.ledger, &operation_id, evidence)?;
    finish(&mut task, &operation_id, next)
}

/// Saves what the act makes of the ledger; where it makes nothing of it, what is saved already is given.
fn finish(
    task: &mut Task,
    operation_id: &str,
    next: Option<crate::execution::ledger::Ledger>,
) -> Result<Value> {
    let is_new = next.is_some();
    if let Some(next) = next {
        task.persist(next)?;
    }
    let operation =
        task.ledger.operations.get(operation_id).ok_or_else(|| unknown_operation(operation_id))?;
    if is_new {
        task.align(&operation.run_id);
    }
    Ok(outcome(&task.ledger, operation, !is_new))
}

fn evidence(input: &Object) -> Result<String> {
    let evidence = text(input, "evidence")?.filter(|evidence| !evidence.is_empty());
    let evidence =
        evidence.ok_or_else(|| wrong("evidence is missing: say what was seen, where and by whom"))?;
    if evidence.len() > MAX_EVIDENCE_BYTES {
        let message =
            format!("evidence is too long, bytes=`{}` limit=`{MAX_EVIDENCE_BYTES}`", evidence.len());
        return Err(wrong(&message));
    }
    Ok(evidence)
}
