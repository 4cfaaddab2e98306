//! `recoverResponse`: the lost reply of an answer, looked for by the transport's own method for it (EX-LED-51 to EX-LED-55).

use std::sync::Arc;

use super::Inner;
use super::dispatch::{self, Sent, acceptance_unknown, adopt, outcome};
use super::input::{DispatchInput, wrong};
use super::task::Task;
use crate::error::{Code, Error, Result};
use crate::execution::contract::{Acknowledgement, Method};
use crate::execution::keys;
use crate::execution::ledger::lock::AbortToken;
use crate::execution::ledger::record::{Acceptance, Action};
use crate::execution::machine::{Ended, Line};
use crate::execution::transition::{dispatch as transition, operator};
use crate::json::Object;

/// Nothing is written unless an acknowledgement is adopted.
pub(super) async fn recover_response(
    inner: Arc<Inner>,
    line: Line,
    abort: AbortToken,
    operation_id: String,
    input: Object,
) -> Result<crate::json::Value> {
    if !keys::is_id(&operation_id) {
        return Err(wrong("operationId is no id"));
    }
    let input = DispatchInput::parse(Action::Continue, &input)?;
    let mut task = Task::open(&inner, &abort)?;
    let Some(known) = task.ledger.operations.get(&operation_id).cloned() else {
        return Err(transition::unknown_operation(&operation_id));
    };
    if known.response.is_none() {
        return Err(wrong("the operation is no answer").with_operation_id(operation_id));
    }
    let is_same = input.operation_id == operation_id
        && input.run_id(&inner.owner) == known.run_id
        && input.fingerprint(known.session_id.as_deref())? == known.input_fingerprint;
    if !is_same {
        let message = format!("the operation is known with another input, operation=`{operation_id}`");
        return Err(Error::new(Code::ExecutionConflict, message).with_operation_id(operation_id));
    }
    match known.acceptance {
        Acceptance::Accepted => return Ok(outcome(&task.ledger, &known, true)),
        Acceptance::Absent => return Err(operator::absent(&operation_id)),
        Acceptance::Unknown => {}
    }
    if !inner.options.has(Method::RecoverResponse) {
        return Err(acceptance_unknown(&known, "unresolved", ""));
    }
    let sent = Sent {
        run_id: &known.run_id,
        session_id: known.session_id.as_deref(),
        previous_run_id: known.previous_run_id.as_deref(),
        reservation: known.reservation_usd,
    };
    let call = dispatch::call_input(&inner, &task.ledger, &input, &sent)?;
    let method = Method::RecoverResponse;
    let limit = method.reply_limit(inner.options.limits.result_bytes);
    let end = dispatch::without_private(line.transport(method, call, limit).await, &input, &inner);
    let text = match end.ended {
        Ended::Value(text) => text,
        Ended::Oversized => return Err(acceptance_unknown(&known, "oversized", "")),
        Ended::Deadline => return Err(acceptance_unknown(&known, "deadline", "")),
        Ended::Aborted => return Err(acceptance_unknown(&known, "aborted", "")),
        Ended::Error(error) => {
            let error = error.for_method(method, false);
            return Err(acceptance_unknown(
                &known,
                error.cause().1,
                &dispatch::failed("the transport", &error, &inner),
            ));
        }
    };
    task.point("dispatch.reply")?;
    let judged = Acknowledgement::judge_recovered(&text, known.session_id.as_deref()).and_then(|recovered| {
        if let Some(owned) = &recovered {
            transition::check_pair(&task.ledger, &known.run_id, &owned.provider_job_id, &owned.turn_id)?;
        }
        Ok(recovered)
    });
    match judged {
        Ok(Some(acknowledgement)) => {
            let progress_ms = inner.options.limits.progress_ms;
            adopt(&mut task, &operation_id, &acknowledgement, progress_ms)
        }
        Ok(None) => Err(acceptance_unknown(&known, "unresolved", "")),
        Err(error) => Err(acceptance_unknown(&known, error.reason().unwrap_or("shape"), &error.message())),
    }
}
