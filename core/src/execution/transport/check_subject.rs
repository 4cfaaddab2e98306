//! For whom the check of a transport asks, what is seen of a method, and what is found.

use std::fmt;

use crate::error::{Code, Error, Result};
use crate::execution::capability::record::{Capability, Preparation};
use crate::execution::contract::request::Scope;
use crate::execution::contract::{Method, Promised, TransportError};
use crate::execution::limits::Limits;
use crate::json::{Object, Value};
use crate::redaction::Secrets;

/// For so long nobody asks the transport for anything, in milliseconds: long enough for a loop of its own to show.
pub const QUIET_MS: u64 = 250;

/// What is asked of a job where nothing else is given.
pub const PROMPT: &str = "nothing is to be done";

/// What the provider's end of a transport has seen up to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many requests of the transport have come, without those by which this is counted, and without those of a `submit` or a
    /// `continue` that only set something up.
    pub requests: u64,
    /// How many jobs were made.
    pub jobs: u64,
    /// How many jobs were cancelled.
    pub cancellations: u64,
    /// What the transport holds open now: connections, files, threads.
    pub open_handles: u64,
}

/// How a method has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It returned this JSON text.
    Reply(String),
    /// It failed.
    Failed(TransportError),
    /// It did not end in its time.
    Late,
}

/// What was seen of one method: before it was called, when it had ended, and after [`QUIET_MS`] in which nobody asked.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Before the call.
    pub before: Counts,
    /// When it was called, in milliseconds since 1970 on this machine.
    pub asked_at_ms: u64,
    /// How it ended.
    pub ending: Ending,
    /// When it had ended.
    pub ended_at_ms: u64,
    /// Whether it said `sending()` meanwhile.
    pub is_sending: bool,
    /// Right after that.
    pub after: Counts,
    /// Once it had been quiet.
    pub quiet: Counts,
}

/// A part of the contract that is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The clause.
    pub clause: &'static str,
    /// The method.
    pub method: Method,
    /// What was seen. Of the transport's own words there is what it failed with, redacted.
    pub seen: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}: {}", self.clause, self.method.word(), self.seen)
    }
}

/// For whom the check asks, and what.
#[derive(Clone)]
pub struct Subject {
    /// The task.
    pub task_id: String,
    /// The provider, by its public name.
    pub provider: String,
    /// The account.
    pub account: String,
    /// The revision that the job begins at.
    pub input_head: Option<String>,
    /// The permission policy, or null.
    pub policy: Value,
    /// The model, or null.
    pub model: Value,
    /// The environment, or null.
    pub environment: Value,
    /// What the record declares of preparation; without it `prepare` is not called.
    pub preparation: Option<Preparation>,
    /// Whether the provider goes on in sessions; without it `continue` may be missing.
    pub continuation: bool,
    /// Whether the provider supports a cancel; without it `cancel` is not called.
    pub cancel: bool,
    /// The prompt of the job that is to be stopped. Its job has to live until it is: a second, and what three calls take.
    pub prompt: String,
    /// A prompt whose job ends by itself within ten seconds. With it a second job is made, which is followed to its end, collected,
    /// and gone on with.
    pub ending_prompt: Option<String>,
    /// What no finding shows.
    pub secrets: Secrets,
    /// Makes the keys of this check those of no other one.
    pub nonce: String,
    /// The limits in force.
    pub limits: Limits,
}

impl Subject {
    /// Reads one from JSON: `taskId`, `provider`, `account`, `nonce`, `capabilities` (the record), and if wanted `inputHead`,
    /// `policy`, `model`, `environment`, `limits`, `prompt`, `endingPrompt` and `secrets`, a list of texts.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` that names the member; `EXECUTION_CAPABILITY` and so on for a record that is none.
    pub fn from_object(object: &Object) -> Result<Subject> {
        let missing = |name: &str| {
            Error::new(Code::ExecutionInput, format!("a member is missing or malformed, member=`{name}`"))
        };
        let text = |name: &str| {
            let text = object.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            text.map(str::to_owned).ok_or_else(|| missing(name))
        };
        let any = |name: &str| object.get(name).cloned().unwrap_or(Value::Null);
        let optional = |name: &str| match object.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => text(name).map(Some),
        };
        let secrets = match object.get("secrets") {
            None | Some(Value::Null) => Secrets::none(),
            Some(listed) => {
                let texts = listed.as_array().and_then(|listed| listed.iter().map(Value::as_str).collect());
                let texts: Vec<&str> = texts.ok_or_else(|| missing("secrets"))?;
                Secrets::lenient(texts)
            }
        };
        let record = object.get("capabilities").cloned().ok_or_else(|| missing("capabilities"))?;
        let record = Capability::from_value(record)?;
        let continuation = record.promised().continuation;
        Ok(Subject {
            task_id: text("taskId")?,
            provider: text("provider")?,
            account: text("account")?,
            input_head: optional("inputHead")?,
            policy: any("policy"),
            model: any("model"),
            environment: any("environment"),
            preparation: record.preparation,
            continuation,
            cancel: record.cancel,
            prompt: optional("prompt")?.unwrap_or_else(|| PROMPT.to_owned()),
            ending_prompt: optional("endingPrompt")?,
            secrets,
            nonce: text("nonce")?,
            limits: Limits::with_overrides(object.get("limits").and_then(Value::as_object))?,
        })
    }

    pub(super) fn promised(&self) -> Promised {
        let Subject { continuation, cancel, .. } = *self;
        Promised { preparation: self.preparation.is_some(), continuation, cancel }
    }

    pub(super) fn scope(&self) -> Scope<'_> {
        Scope { task_id: &self.task_id, provider: &self.provider, account: &self.account }
    }

    pub(super) fn id(&self, word: &str) -> String {
        format!("check-{word}-{}", self.nonce)
    }
}

/// The `Debug` form leaves prompts and secrets out.
impl fmt::Debug for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("Subject");
        shown.field("provider", &self.provider).field("account", &self.account).finish_non_exhaustive()
    }
}
