//! What a method that makes or recovers something is asked: the `input` of its call, with exactly the members of the
//! contract, each byte for byte as it was given (EX-TRA-12, EX-TRA-14, EX-TRA-16, EX-TRA-32).
//!
//! The inputs hold prompts, answers and grants. They are made for a call and are kept nowhere, so none of these types has
//! a `Debug` form.

use super::super::capability::RunKind;
use super::preparation::Phase;
use crate::json::{Number, Object, Value};

/// Whose work it is.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The task.
    pub task_id: &'a str,
    /// The provider, by its public name.
    pub provider: &'a str,
    /// The account.
    pub account: &'a str,
}

/// What a prepare is asked.
pub struct PrepareRequest<'a> {
    /// Whose work it is.
    pub scope: Scope<'a>,
    /// What the turn is for.
    pub phase: Phase,
    /// The prompt.
    pub prompt: &'a str,
    /// The environment that is authorised; null where there is none.
    pub environment: &'a Value,
    /// The most that the turn may cost, in US dollars.
    pub allowance_usd: &'a Number,
}

/// What a submit is asked.
pub struct SubmitRequest<'a> {
    /// Whose work it is.
    pub scope: Scope<'a>,
    /// The run.
    pub run_id: &'a str,
    /// The operation.
    pub operation_id: &'a str,
    /// The operation's key, by which the provider knows a repetition.
    pub idempotency_key: &'a str,
    /// What it is for.
    pub kind: RunKind,
    /// The prompt.
    pub prompt: &'a str,
    /// The revision that the work begins at; none for intake.
    pub input_head: Option<&'a str>,
    /// The permission policy, or null.
    pub policy: &'a Value,
    /// The model, or null.
    pub model: &'a Value,
    /// The environment, or null.
    pub environment: &'a Value,
    /// What is reserved for it, in US dollars.
    pub reservation_usd: Option<&'a Number>,
    /// The cap that the provider enforces, in US dollars (EX-CAP-22).
    pub hard_cap_usd: Option<&'a Number>,
    /// What was prepared, for intake.
    pub preparation: Option<PreparedTurn<'a>>,
}

/// A receipt and the private grant that was issued with it.
#[derive(Clone, Copy)]
pub struct PreparedTurn<'a> {
    /// The receipt: an object (EX-PRE-02), or the plain string of an older one, which is its boundary (EX-PRE-09).
    pub receipt: &'a Value,
    /// The private grant, or null.
    pub grant: &'a Value,
}

/// What a continue is asked.
pub struct ContinueRequest<'a> {
    /// What a submit is asked too.
    pub submit: SubmitRequest<'a>,
    /// The session that goes on.
    pub session_id: &'a str,
    /// The job of the run that is continued.
    pub previous_job_id: &'a str,
    /// The root turn of the run that is continued; none for a local one.
    pub previous_turn_id: Option<&'a str>,
    /// The answer to a waiting run.
    pub response: Option<Response<'a>>,
}

/// An answer to a waiting run (EX-LED-50).
#[derive(Clone, Copy)]
pub struct Response<'a> {
    /// What names the request that is answered.
    pub signature: &'a str,
    /// The answer.
    pub answer: &'a Value,
}

impl PrepareRequest<'_> {
    /// The `input` of `prepare`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut input = self.scope.members();
        input.insert("phase", Value::from(self.phase.word()));
        input.insert("prompt", Value::from(self.prompt));
        input.insert("environment", self.environment.clone());
        input.insert("allowanceUsd", Value::Number(self.allowance_usd.clone()));
        Value::from(input)
    }
}

impl SubmitRequest<'_> {
    /// The `input` of `submit`. What there is none of is null.
    #[must_use]
    pub fn to_value(&self) -> Value {
        Value::from(self.members())
    }

    fn members(&self) -> Object {
        let amount =
            |amount: Option<&Number>| amount.map_or(Value::Null, |amount| Value::Number(amount.clone()));
        let mut input = self.scope.members();
        input.insert("runId", Value::from(self.run_id));
        input.insert("operationId", Value::from(self.operation_id));
        input.insert("idempotencyKey", Value::from(self.idempotency_key));
        input.insert("kind", Value::from(self.kind.word()));
        input.insert("prompt", Value::from(self.prompt));
        input.insert("inputHead", Value::from(self.input_head));
        input.insert("policy", self.policy.clone());
        input.insert("model", self.model.clone());
        input.insert("environment", self.environment.clone());
        input.insert("reservationUsd", amount(self.reservation_usd));
        input.insert("hardCapUsd", amount(self.hard_cap_usd));
        input.insert("preparation", Value::from(self.preparation.map(PreparedTurn::to_value)));
        input
    }
}

impl PreparedTurn<'_> {
    /// The members of the receipt, and `grant` behind them.
    fn to_value(self) -> Value {
        let mut members = match self.receipt {
            Value::Object(receipt) => receipt.clone(),
            boundary => [("boundary", boundary.clone())].into_iter().collect(),
        };
        members.insert("grant", self.grant.clone());
        Value::from(members)
    }
}

impl ContinueRequest<'_> {
    /// The `input` of `continue`. `response` is there only for an answer.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut input = self.submit.members();
        input.insert("sessionId", Value::from(self.session_id));
        let previous = [
            ("providerJobId", Value::from(self.previous_job_id)),
            ("turnId", Value::from(self.previous_turn_id)),
        ];
        input.insert("previous", Value::from(previous.into_iter().collect::<Object>()));
        if let Some(Response { signature, answer }) = self.response {
            let response = [("signature", Value::from(signature)), ("answer", answer.clone())];
            input.insert("response", Value::from(response.into_iter().collect::<Object>()));
        }
        Value::from(input)
    }

    /// The `input` of `recoverResponse`: that of the continue whose reply was lost, with the same signature and key
    /// (EX-TRA-24). None where the continue was no answer, for which there is nothing to recover so.
    #[must_use]
    pub fn to_recovery(&self) -> Option<Value> {
        self.response.is_some().then(|| self.to_value())
    }
}

impl Scope<'_> {
    pub(super) fn members(&self) -> Object {
        let members = [("taskId", self.task_id), ("provider", self.provider), ("account", self.account)];
        members.into_iter().map(|(name, text)| (name, Value::from(text))).collect()
    }
}
