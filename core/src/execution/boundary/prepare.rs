//! `prepare`: a receipt for an intake turn; and whether a dispatch may use one (EX-PRE).

use std::sync::Arc;

use super::input::{DispatchInput, id, missing, text, wrong};
use super::native;
use super::task::Task;
use super::{Inner, no_method};
use crate::error::{Code, Error, Result};
use crate::execution::capability::record::Preparation;
use crate::execution::capability::{Action, Choice};
use crate::execution::contract::request::{PrepareRequest, Scope};
use crate::execution::contract::{Method, Phase, Prepared};
use crate::execution::keys::canonical_hash;
use crate::execution::ledger::Owner;
use crate::execution::ledger::lock::AbortToken;
use crate::execution::ledger::record::{Receipt, RunKind};
use crate::execution::machine::{Ended, Line};
use crate::execution::{cost, job};
use crate::json::{Object, Value};

/// The most intake operations of a task (EX-PRE-18).
const INTAKE_TURNS: usize = 16;
/// The most of them that repair (EX-PRE-19).
const REPAIRS: usize = 3;

pub(super) async fn prepare(
    inner: Arc<Inner>,
    line: Line,
    abort: AbortToken,
    input: Object,
) -> Result<Value> {
    id(&input, "operationId")?.ok_or_else(|| missing("operationId"))?;
    let phase = text(&input, "phase")?.ok_or_else(|| missing("phase"))?;
    let phase =
        Phase::from_word(&phase).ok_or_else(|| wrong("phase is none of draft, clarify and repair"))?;
    let prompt = text(&input, "prompt")?.ok_or_else(|| missing("prompt"))?;
    let environment = input.get("environment").cloned().unwrap_or(Value::Null);
    let model = text(&input, "model")?.map_or(Value::Null, Value::String);
    let mut task = Task::open(&inner, &abort)?;
    task.check_fence()?;
    let is_local = inner.options.is_local();
    inner.capability.check(&Choice {
        model: model.clone(),
        // Of a local one these are variables, and no name of an environment.
        environment: if is_local { Value::Null } else { environment.clone() },
        ..Choice::new(Action::Prepare)
    })?;
    let declared = declared(&inner)?;
    if is_local {
        let wanted = native::Wanted { phase, prompt: &prompt, model: &model, environment: &environment };
        let rendered = native::prepare(&inner, &line, &abort, declared, &wanted).await?;
        let fingerprint = fingerprint(phase, &prompt, declared, &rendered, &model, &Value::Null)?;
        let issued = issue_unless_stopped(&mut task, &abort, declared, phase, fingerprint)?;
        return Ok(Value::Object([("receipt", issued), ("native", rendered)].into_iter().collect()));
    }
    if !inner.options.has(Method::Prepare) {
        return Err(no_method(Method::Prepare.word()));
    }
    let sandbox = inner.check_sandbox(&abort)?;
    let allowance = cost::check_intake(inner.options.budget, task.ledger.allowance.charged_usd)?.to_number();
    let scope = Scope {
        task_id: &inner.owner.task_id,
        provider: &inner.owner.provider,
        account: &inner.owner.account,
    };
    let call = PrepareRequest {
        scope,
        phase,
        prompt: &prompt,
        environment: &environment,
        allowance_usd: &allowance,
    }
    .to_value();
    let Value::Object(call) = call else { return Err(Error::new(Code::Internal, "an input is an object")) };
    let method = Method::Prepare;
    let end = line.transport(method, call, method.reply_limit(inner.options.limits.result_bytes)).await;
    let failed = |code, reason, message: &str| Error::new(code, message.to_owned()).with_reason(reason);
    let text = match end.ended {
        Ended::Value(text) => text,
        Ended::Oversized => {
            return Err(failed(Code::ExecutionProtocol, "oversized", "the reply to a prepare is too long"));
        }
        Ended::Deadline => {
            return Err(failed(Code::ExecutionDeadline, "deadline", "the prepare did not end in its time"));
        }
        Ended::Aborted => return Err(failed(Code::ExecutionIo, "aborted", "the prepare was aborted")),
        Ended::Error(error) => {
            let (code, reason) = error.for_method(method, end.sending).cause();
            return Err(failed(code, reason, "the transport's prepare failed"));
        }
    };
    let prepared = Prepared::judge(&text, declared)?;
    let fingerprint = fingerprint(phase, &prompt, declared, &Value::Null, &model, &prepared.grant)?;
    let issued = issue_unless_stopped(&mut task, &abort, declared, phase, fingerprint)?;
    let mut members: Object = [("receipt", issued), ("environment", prepared.grant)].into_iter().collect();
    if let Some(evidence) = sandbox {
        members.insert("sandbox", evidence);
    }
    Ok(Value::Object(members))
}

/// Saves a receipt, unless a stop has come while the provider or the harness was asked: then none is issued (EX-PRE-10).
fn issue_unless_stopped(
    task: &mut Task,
    abort: &AbortToken,
    declared: &Preparation,
    phase: Phase,
    fingerprint: String,
) -> Result<Value> {
    task.point("prepare.reply")?;
    if abort.is_aborted() {
        return Err(Error::new(Code::ExecutionDeadline, "the prepare was aborted").with_reason("aborted"));
    }
    task.check_fence()?;
    let owner = task.inner.owner.clone();
    let receipt = issue(task, &owner, declared, phase, fingerprint.clone());
    let mut next = task.ledger.clone();
    next.created_at.get_or_insert(task.now());
    let issued = receipt.to_value();
    next.preparations.put(&fingerprint, receipt);
    task.sweep();
    task.persist(next)?;
    task.point("prepare.receipt")?;
    Ok(issued)
}

fn issue(task: &Task, owner: &Owner, declared: &Preparation, phase: Phase, fingerprint: String) -> Receipt {
    let used = task
        .ledger
        .operations
        .records()
        .filter(|operation| operation.preparation.as_ref() == Some(&fingerprint));
    // Later than every use of the same receipt, also where the clock stands still or has gone back: only a receipt that was
    // issued after its last use may be used again (EX-PRE-14).
    let after = used.map(|operation| operation.intent_at.saturating_add(1)).max().unwrap_or(0);
    Receipt {
        version: crate::execution::capability::record::PREPARATION_VERSION,
        provider: owner.provider.clone(),
        account: owner.account.clone(),
        authority: declared.authority.clone(),
        boundary: declared.boundary.clone(),
        task_id: owner.task_id.clone(),
        input_fingerprint: fingerprint,
        issued_at: task.now().max(after),
        phase,
        unknown: Object::new(),
    }
}

/// What a dispatch of intake takes from its receipt.
pub(super) struct UsedReceipt {
    /// None for the word of an older package.
    pub(super) fingerprint: Option<String>,
    pub(super) phase: Option<Phase>,
}

/// Whether a dispatch may use the receipt that it gives, and whether a turn is left (EX-PRE-06 to EX-PRE-09, EX-PRE-14,
/// EX-PRE-18, EX-PRE-19); none for what is no intake.
///
/// # Errors
/// `EXECUTION_PREPARATION`; `EXECUTION_ALLOWANCE` with the reasons `turn-limit` and `repair-limit`.
pub(super) fn check_receipt(task: &Task, input: &DispatchInput) -> Result<Option<UsedReceipt>> {
    if input.kind != RunKind::Intake {
        return Ok(None);
    }
    let declared = declared(&task.inner)?;
    let used = match &input.preparation {
        Value::String(word) if *word == declared.boundary => UsedReceipt { fingerprint: None, phase: None },
        Value::String(_) => return Err(refused("the receipt is not the declared boundary")),
        Value::Object(given) => check_issued(task, input, declared, given)?,
        _ => return Err(refused("there is no receipt")),
    };
    let intakes = || task.ledger.operations.records().filter(|operation| operation.kind == RunKind::Intake);
    if intakes().count() >= INTAKE_TURNS {
        let message = format!("no intake turn is left, limit=`{INTAKE_TURNS}`");
        return Err(Error::new(Code::ExecutionAllowance, message).with_reason("turn-limit"));
    }
    let repairs = intakes().filter(|operation| operation.phase == Some(Phase::Repair)).count();
    if used.phase == Some(Phase::Repair) && repairs >= REPAIRS {
        let message = format!("no repair is left, limit=`{REPAIRS}`");
        return Err(Error::new(Code::ExecutionAllowance, message).with_reason("repair-limit"));
    }
    Ok(Some(used))
}

fn check_issued(
    task: &Task,
    input: &DispatchInput,
    declared: &Preparation,
    given: &Object,
) -> Result<UsedReceipt> {
    let owner = &task.inner.owner;
    let given =
        Receipt::parse(given).map_err(|key| refused(&format!("the receipt is none, member=`{key}`")))?;
    let issued = task.ledger.preparations.get(&given.input_fingerprint);
    let issued =
        issued.filter(|issued| **issued == given).ok_or_else(|| refused("the receipt is not issued"))?;
    let is_own = issued.task_id == owner.task_id
        && issued.provider == owner.provider
        && issued.account == owner.account
        && issued.authority == declared.authority
        && issued.boundary == declared.boundary;
    if !is_own {
        return Err(refused("the receipt belongs to another task, provider, account, authority or boundary"));
    }
    let computed =
        fingerprint(issued.phase, &input.prompt, declared, &input.native, &input.model, &input.grant)?;
    if computed != issued.input_fingerprint {
        return Err(refused("the receipt was issued for another input"));
    }
    let mut uses = task.ledger.operations.records();
    let is_used = uses.any(|operation| {
        operation.preparation.as_ref() == Some(&computed) && operation.intent_at >= issued.issued_at
    });
    if is_used {
        return Err(refused("the receipt has been used"));
    }
    Ok(UsedReceipt { fingerprint: Some(computed), phase: Some(issued.phase) })
}

/// EX-PRE-03, EX-PRE-04: the grant itself goes into no file.
fn fingerprint(
    phase: Phase,
    prompt: &str,
    declared: &Preparation,
    native: &Value,
    model: &Value,
    grant: &Value,
) -> Result<String> {
    let text = |text: &str| Value::String(text.to_owned());
    let environment = if grant.is_null() { Value::Null } else { Value::String(canonical_hash(grant)?) };
    let part = |key: &str| native.get(key).cloned().unwrap_or(Value::Null);
    let members = [
        ("version", job::number(1)),
        ("phase", text(phase.word())),
        ("prompt", text(prompt)),
        ("boundary", text(&declared.boundary)),
        ("authority", text(&declared.authority)),
        ("cmd", part("cmd")),
        ("args", part("args")),
        ("model", model.clone()),
        ("environmentFingerprint", environment),
    ];
    canonical_hash(&Value::Object(members.into_iter().collect()))
}

fn declared(inner: &Inner) -> Result<&Preparation> {
    let declared = inner.capability.preparation.as_ref();
    declared.ok_or_else(|| {
        Error::new(Code::ExecutionCapability, "the provider has no preparation, field=`preparation`")
            .with_reason("preparation")
    })
}

fn refused(message: &str) -> Error {
    Error::new(Code::ExecutionPreparation, message)
}
