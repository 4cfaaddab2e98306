//! The check of a transport as steps without I/O: which method is asked next, and what is wrong with what was seen of it
//! (EX-TRA-07, EX-TRA-13, EX-TRA-21). Whoever drives it calls the method, waits and counts.

use std::fmt;

use crate::error::{Code, Error, Result};
use crate::execution::capability::RunKind;
use crate::execution::capability::record::{Capability, Preparation};
use crate::execution::contract::question::Job;
use crate::execution::contract::request::{PrepareRequest, Scope, SubmitRequest};
use crate::execution::contract::{
    Acknowledgement, ErrorKind, Method, Methods, Phase, Prepared, Promised, Reply as Judged,
};
use crate::execution::keys;
use crate::execution::limits::Limits;
use crate::execution::money::Nanos;
use crate::json::{Object, Value};

/// For so long nobody asks the transport for anything, in milliseconds: long enough for a loop of its own to show.
pub const QUIET_MS: u64 = 250;

/// What the provider's end of a transport has seen up to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many requests of the transport have come.
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
    Failed(ErrorKind),
    /// It did not end in its time.
    Late,
}

/// What was seen of one method: before it was called, when it had ended, and after [`QUIET_MS`] in which nobody asked.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Before the call.
    pub before: Counts,
    /// How it ended.
    pub ending: Ending,
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
    /// What was seen, without any of the transport's or provider's own words.
    pub seen: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}: {}", self.clause, self.method.word(), self.seen)
    }
}

/// For whom the check asks. It makes one job, and cancels it.
#[derive(Clone, Debug)]
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
    /// Makes the keys of this check those of no other one.
    pub nonce: String,
    /// The limits in force.
    pub limits: Limits,
}

impl Subject {
    /// Reads one from JSON: `taskId`, `provider`, `account`, `nonce`, `capabilities` (the record), and if wanted `inputHead`,
    /// `policy`, `model`, `environment` and `limits`.
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
        let record = object.get("capabilities").cloned().ok_or_else(|| missing("capabilities"))?;
        let record = Capability::from_value(record)?;
        let continuation = record.promised().continuation;
        let input_head = match object.get("inputHead") {
            None | Some(Value::Null) => None,
            Some(_) => Some(text("inputHead")?),
        };
        Ok(Subject {
            task_id: text("taskId")?,
            provider: text("provider")?,
            account: text("account")?,
            input_head,
            policy: any("policy"),
            model: any("model"),
            environment: any("environment"),
            preparation: record.preparation,
            continuation,
            cancel: record.cancel,
            nonce: text("nonce")?,
            limits: Limits::with_overrides(object.get("limits").and_then(Value::as_object))?,
        })
    }

    fn promised(&self) -> Promised {
        let Subject { continuation, cancel, .. } = *self;
        Promised { preparation: self.preparation.is_some(), continuation, cancel }
    }

    fn scope(&self) -> Scope<'_> {
        Scope { task_id: &self.task_id, provider: &self.provider, account: &self.account }
    }

    fn id(&self, word: &str) -> String {
        format!("check-{word}-{}", self.nonce)
    }
}

/// A method that is to be called with this input.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Which.
    pub method: Method,
    /// Its input.
    pub input: Object,
}

/// The check. [`CheckSteps::next`] and [`CheckSteps::saw`] take turns until there is nothing to ask any more.
#[derive(Debug)]
pub struct CheckSteps<'a> {
    subject: &'a Subject,
    methods: Methods,
    stage: Stage,
    owned: Option<Acknowledgement>,
    /// How many jobs were cancelled before the first stop.
    cancelled_before: u64,
    findings: Vec<Finding>,
}

/// What is to be asked next, where the transport has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Prepare,
    Submit,
    Inspect,
    Cancel,
    CancelAgain,
    Over,
}

impl<'a> CheckSteps<'a> {
    /// Of a transport that has these methods. One that the record needs and that is not there is found at once.
    #[must_use]
    pub fn new(methods: Methods, subject: &'a Subject) -> Self {
        let missing = Method::ALL
            .iter()
            .filter(|method| method.is_needed(subject.promised()) && !methods.has(**method));
        let findings = missing
            .map(|method| Finding {
                clause: "EX-TRA-01",
                method: *method,
                seen: "the method is missing".to_owned(),
            })
            .collect();
        CheckSteps { subject, methods, stage: Stage::Prepare, owned: None, cancelled_before: 0, findings }
    }

    /// What is to be asked now, at this time in milliseconds since 1970. None at the end.
    pub fn next(&mut self, now_ms: u64) -> Option<Asked> {
        loop {
            let asked = match self.stage {
                Stage::Prepare => self.prepare(),
                Stage::Submit => self.methods.has(Method::Submit).then(|| self.submit()),
                Stage::Inspect => self.inspect(now_ms),
                Stage::Cancel | Stage::CancelAgain => self.cancel(),
                Stage::Over => return None,
            };
            let Some(asked) = asked else {
                self.stage = self.stage.next();
                continue;
            };
            let input = match asked.1 {
                Value::Object(input) => input,
                _ => Object::new(),
            };
            return Some(Asked { method: asked.0, input });
        }
    }

    /// Judges what was seen of the method that was asked last.
    pub fn saw(&mut self, seen: &Seen) {
        let stage = self.stage;
        self.stage = stage.next();
        let method = match stage {
            Stage::Prepare => Method::Prepare,
            Stage::Submit => Method::Submit,
            Stage::Inspect => Method::Inspect,
            Stage::Cancel | Stage::CancelAgain => Method::Cancel,
            Stage::Over => return,
        };
        self.left_behind(method, seen);
        let text = match &seen.ending {
            Ending::Reply(text) => Some(text.as_str()),
            Ending::Failed(kind) => {
                self.found("EX-TRA-26", method, format!("it fails, kind=`{}`", kind.word()));
                None
            }
            Ending::Late => {
                self.found("EX-TRA-03", method, "it does not end in its time".to_owned());
                None
            }
        };
        let made = seen.quiet.jobs.saturating_sub(seen.before.jobs);
        match stage {
            Stage::Prepare => self.judge_prepared(made, text),
            Stage::Submit => self.judge_submitted(made, text),
            Stage::Inspect => self.judge_inspected(text),
            Stage::Cancel => {
                self.cancelled_before = seen.before.cancellations;
                if text.is_none() {
                    self.stage = Stage::Over;
                }
                self.judge_cancelled(text);
            }
            Stage::CancelAgain => {
                self.judge_cancelled(text);
                let effects = seen.quiet.cancellations.saturating_sub(self.cancelled_before);
                if text.is_some() && effects != 1 {
                    let seen = format!("two calls with one key have not one effect, effects=`{effects}`");
                    self.found("EX-TRA-21", method, seen);
                }
            }
            Stage::Over => {}
        }
    }

    /// What was found. Without findings the transport has kept what was looked at.
    #[must_use]
    pub fn into_findings(self) -> Vec<Finding> {
        self.findings
    }

    fn found(&mut self, clause: &'static str, method: Method, seen: String) {
        self.findings.push(Finding { clause, method, seen });
    }

    fn prepare(&self) -> Option<(Method, Value)> {
        self.subject.preparation.as_ref().filter(|_| self.methods.has(Method::Prepare))?;
        let input = PrepareRequest {
            scope: self.subject.scope(),
            phase: Phase::Draft,
            prompt: "nothing is to be done",
            environment: &self.subject.environment,
            allowance_usd: &Nanos::ZERO.to_number(),
        };
        Some((Method::Prepare, input.to_value()))
    }

    fn submit(&self) -> (Method, Value) {
        let (run_id, operation_id) = (self.subject.id("run"), self.subject.id("op"));
        let scope = self.subject.scope();
        let key = keys::dispatch_key(scope.task_id, scope.provider, scope.account, &run_id, &operation_id);
        let input = SubmitRequest {
            scope,
            run_id: &run_id,
            operation_id: &operation_id,
            idempotency_key: &key,
            kind: RunKind::Implementation,
            prompt: "nothing is to be done",
            input_head: self.subject.input_head.as_deref(),
            policy: &self.subject.policy,
            model: &self.subject.model,
            environment: &self.subject.environment,
            reservation_usd: None,
            hard_cap_usd: None,
            preparation: None,
        };
        (Method::Submit, input.to_value())
    }

    fn inspect(&self, now_ms: u64) -> Option<(Method, Value)> {
        let owned = self.owned.as_ref().filter(|_| self.methods.has(Method::Inspect))?;
        let run_id = self.subject.id("run");
        Some((
            Method::Inspect,
            job(&run_id, owned).inspect(&self.subject.scope(), owned.cursor.as_ref(), now_ms),
        ))
    }

    fn cancel(&self) -> Option<(Method, Value)> {
        let owned =
            self.owned.as_ref().filter(|_| self.subject.cancel && self.methods.has(Method::Cancel))?;
        let run_id = self.subject.id("run");
        let scope = self.subject.scope();
        let key = keys::cancellation_key(scope.task_id, scope.provider, scope.account, &run_id);
        Some((Method::Cancel, job(&run_id, owned).cancel(&scope, &key)))
    }

    fn left_behind(&mut self, method: Method, seen: &Seen) {
        let further = seen.quiet.requests.saturating_sub(seen.after.requests);
        if further > 0 {
            self.found("EX-TRA-07", method, format!("it goes on asking by itself, requests=`{further}`"));
        }
        let left = seen.quiet.open_handles.saturating_sub(seen.before.open_handles);
        if left > 0 {
            self.found("EX-TRA-07", method, format!("it leaves handles open, handles=`{left}`"));
        }
    }

    fn judge_prepared(&mut self, made: u64, text: Option<&str>) {
        if made > 0 {
            self.found("EX-TRA-13", Method::Prepare, format!("it makes a job, jobs=`{made}`"));
        }
        let Some((text, declared)) = text.zip(self.subject.preparation.as_ref()) else { return };
        if let Err(error) = Prepared::judge(text, declared) {
            self.found("EX-TRA-12", Method::Prepare, error.to_string());
        }
    }

    fn judge_submitted(&mut self, made: u64, text: Option<&str>) {
        let Some(text) = text else { return };
        if made != 1 {
            self.found("EX-TRA-07", Method::Submit, format!("one call makes not one job, jobs=`{made}`"));
        }
        match Acknowledgement::judge(text, None) {
            Ok(acknowledgement) => self.owned = Some(acknowledgement),
            Err(error) => self.found("EX-TRA-14", Method::Submit, error.to_string()),
        }
    }

    fn judge_inspected(&mut self, text: Option<&str>) {
        let Some((text, owned)) = text.zip(self.owned.as_ref()) else { return };
        let reply = Judged::receive(Method::Inspect, text, self.subject.limits.result_bytes);
        let judged = reply.and_then(|reply| match reply {
            Some(reply) => reply.identities().map(Some),
            None => Ok(None),
        });
        match judged {
            Ok(Some(identities)) if identities == owned.identities() => {}
            Ok(_) => self.found("EX-TRA-15", Method::Inspect, "it tells of another job".to_owned()),
            Err(error) => self.found("EX-TRA-15", Method::Inspect, error.to_string()),
        }
    }

    fn judge_cancelled(&mut self, text: Option<&str>) {
        let Some(text) = text else { return };
        let reply = Judged::receive(Method::Cancel, text, self.subject.limits.result_bytes);
        let confirmed = reply.ok().flatten().and_then(|reply| reply.get("confirmed")?.as_bool());
        if confirmed.is_none() {
            self.found("EX-TRA-20", Method::Cancel, "confirmed is no boolean".to_owned());
        }
    }
}

impl Stage {
    fn next(self) -> Stage {
        match self {
            Stage::Prepare => Stage::Submit,
            Stage::Submit => Stage::Inspect,
            Stage::Inspect => Stage::Cancel,
            Stage::Cancel => Stage::CancelAgain,
            Stage::CancelAgain | Stage::Over => Stage::Over,
        }
    }
}

fn job<'a>(run_id: &'a str, owned: &'a Acknowledgement) -> Job<'a> {
    Job {
        run_id,
        provider_job_id: &owned.provider_job_id,
        session_id: owned.session_id.as_deref(),
        turn_id: &owned.turn_id,
    }
}
