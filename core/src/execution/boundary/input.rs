//! The input of a dispatch, judged by its shape (EX-LED-20).

use crate::error::{Code, Error, Result};
use crate::execution::cost::HardCap;
use crate::execution::keys::{self, FingerprintInput};
use crate::execution::ledger::record::{Action, RunKind};
use crate::json::{Object, Value};
use crate::redaction::{Redactor, Secrets};

/// What a caller of `submit` or `continue` gives.
#[derive(Clone, Debug)]
pub(super) struct DispatchInput {
    pub(super) action: Action,
    pub(super) operation_id: String,
    pub(super) run_id: Option<String>,
    pub(super) kind: RunKind,
    pub(super) prompt: String,
    pub(super) input_head: Option<String>,
    pub(super) policy: Value,
    pub(super) model: Value,
    pub(super) environment: Value,
    pub(super) reservation: Option<Value>,
    pub(super) hard_cap: HardCap,
    pub(super) hard_cap_required: bool,
    pub(super) hard_cap_usd: Value,
    /// A receipt, or the word of an older package.
    pub(super) preparation: Value,
    pub(super) grant: Value,
    pub(super) native: Value,
    /// How a local run is started.
    pub(super) spec: Value,
    pub(super) workflow: Value,
    pub(super) successor_of: Value,
    pub(super) response: Option<ResponseInput>,
    pub(super) session_id: Option<String>,
    pub(super) legacy_session_id: Option<String>,
}

/// An answer to a waiting run.
#[derive(Clone, Debug)]
pub(super) struct ResponseInput {
    pub(super) signature: String,
    pub(super) answer: Value,
    /// Signature and answer, as they were given.
    pub(super) whole: Value,
}

impl DispatchInput {
    /// The texts of it that no error may hold: prompt, answer and grant, also as they are without secrets (EX-ERR-06).
    pub(super) fn private(&self, redactor: &Redactor) -> Secrets {
        let mut found = vec![self.prompt.clone()];
        texts(&self.grant, &mut found);
        if let Some(response) = &self.response {
            texts(&response.answer, &mut found);
        }
        let redacted: Vec<String> = found.iter().map(|text| redactor.text(text).into_owned()).collect();
        Secrets::lenient(found.into_iter().chain(redacted))
    }

    /// # Errors
    /// `EXECUTION_INPUT` that names the member, with the reason `number` for an integer that JSON does not carry exactly.
    pub(super) fn parse(action: Action, input: &Object) -> Result<Self> {
        let operation_id = id(input, "operationId")?.ok_or_else(|| missing("operationId"))?;
        let kind = match text(input, "kind")? {
            None => RunKind::Implementation,
            Some(word) => {
                RunKind::from_word(&word).ok_or_else(|| wrong("kind is neither implementation nor intake"))?
            }
        };
        let input_head = text(input, "inputHead")?;
        if input_head.as_deref().is_some_and(|head| !keys::is_revision(head)) {
            return Err(wrong("inputHead is no revision of 40 or 64 lower-case hexadecimal digits"));
        }
        if kind == RunKind::Intake && input_head.is_some() {
            return Err(wrong("inputHead is null for intake"));
        }
        let hard_cap_required = flag(input, "hardCapRequired")?;
        let hard_cap_usd = value(input, "hardCapUsd");
        let response = response(input)?;
        if response.is_some() && action == Action::Submit {
            return Err(wrong("response belongs to a continue"));
        }
        let preparation = value(input, "preparation");
        if kind == RunKind::Implementation && !preparation.is_null() {
            return Err(wrong("preparation belongs to intake"));
        }
        let (grant, native) = (object_or_null(input, "grant")?, object_or_null(input, "native")?);
        // What is hashed has to be hashed alike by every language (EX-LED-73).
        for hashed in [response.as_ref().map_or(&Value::Null, |response| &response.whole), &grant, &native] {
            keys::canonical_hash(hashed)?;
        }
        Ok(DispatchInput {
            action,
            run_id: id(input, "runId")?,
            operation_id,
            kind,
            prompt: text(input, "prompt")?.ok_or_else(|| missing("prompt"))?,
            input_head,
            policy: optional_text(input, "policy")?,
            model: optional_text(input, "model")?,
            environment: optional_text(input, "environment")?,
            reservation: input.get("reservationUsd").cloned(),
            hard_cap: HardCap::from_input(Some(&hard_cap_usd), hard_cap_required)?,
            hard_cap_required,
            hard_cap_usd,
            preparation,
            grant,
            native,
            spec: object_or_null(input, "spec")?,
            workflow: value(input, "workflow"),
            successor_of: optional_text(input, "successorOf")?,
            response,
            session_id: text(input, "sessionId")?,
            legacy_session_id: text(input, "legacySessionId")?,
        })
    }

    /// The run, derived from the operation where the caller names none (EX-BND-33).
    pub(super) fn run_id(&self, owner: &crate::execution::ledger::Owner) -> String {
        self.run_id.clone().unwrap_or_else(|| {
            keys::run_id(&owner.task_id, &owner.provider, &owner.account, &self.operation_id)
        })
    }

    /// The fingerprint of a receipt, where one is given in whole.
    pub(super) fn receipt_fingerprint(&self) -> Option<&str> {
        self.preparation.get("inputFingerprint").and_then(Value::as_str)
    }

    /// The hash of the input, with the session that a continue sends (EX-LED-12).
    ///
    /// # Errors
    /// `EXECUTION_INPUT` with the reason `number`.
    pub(super) fn fingerprint(&self, session_id: Option<&str>) -> Result<String> {
        FingerprintInput {
            action: self.action.word(),
            kind: self.kind.word(),
            prompt: Some(&self.prompt),
            input_head: self.input_head.as_deref(),
            policy: Some(&self.policy),
            model: Some(&self.model),
            environment: Some(&self.environment),
            session_id: session_id.filter(|_| self.action == Action::Continue),
            preparation: self.receipt_fingerprint(),
            successor_of: self.successor_of.as_str(),
            response: self.response.as_ref().map(|response| &response.whole),
        }
        .fingerprint()
    }
}

fn response(input: &Object) -> Result<Option<ResponseInput>> {
    let Some(given) = input.get("response").filter(|given| !given.is_null()) else { return Ok(None) };
    let signature = given.get("signature").and_then(Value::as_str).filter(|text| !text.is_empty());
    let signature = signature.ok_or_else(|| wrong("response has no signature"))?.to_owned();
    let answer = given.get("answer").ok_or_else(|| wrong("response has no answer"))?.clone();
    let members = [("signature", Value::String(signature.clone())), ("answer", answer.clone())];
    let whole = Value::Object(members.into_iter().collect());
    Ok(Some(ResponseInput { signature, answer, whole }))
}

pub(super) fn id(input: &Object, key: &'static str) -> Result<Option<String>> {
    match text(input, key)? {
        Some(id) if !keys::is_id(&id) => Err(wrong(&format!(
            "{key} is no id: a letter or digit, then at most 127 of letters, digits and ._-"
        ))),
        id => Ok(id),
    }
}

/// A text; none where it is missing or null.
pub(super) fn text(input: &Object, key: &'static str) -> Result<Option<String>> {
    match input.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong(&format!("{key} is no text"))),
    }
}

fn optional_text(input: &Object, key: &'static str) -> Result<Value> {
    Ok(text(input, key)?.map_or(Value::Null, Value::String))
}

pub(super) fn flag(input: &Object, key: &'static str) -> Result<bool> {
    match input.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(wrong(&format!("{key} is neither true nor false"))),
    }
}

pub(super) fn object_or_null(input: &Object, key: &'static str) -> Result<Value> {
    match input.get(key) {
        None | Some(Value::Null) => Ok(Value::Null),
        Some(object @ Value::Object(_)) => Ok(object.clone()),
        Some(_) => Err(wrong(&format!("{key} is no object"))),
    }
}

pub(super) fn value(input: &Object, key: &str) -> Value {
    input.get(key).cloned().unwrap_or(Value::Null)
}

pub(super) fn missing(key: &str) -> Error {
    wrong(&format!("{key} is missing"))
}

pub(super) fn wrong(message: &str) -> Error {
    Error::new(Code::ExecutionInput, message)
}

/// The texts of a value.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| texts(value, found)),
        Value::Object(object) => object.iter().for_each(|(_, value)| texts(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
