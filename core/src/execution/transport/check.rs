//! Whether a transport keeps those parts of the contract that only its provider's side shows: `checkTransport` (EX-TRA-07,
//! EX-TRA-13, EX-TRA-21).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::blocking::Transport;
use super::call::{End, TransportCall};
use super::worker::Worker;
use crate::execution::capability::RunKind;
use crate::execution::capability::record::Preparation;
use crate::execution::contract::question::Job;
use crate::execution::contract::request::{PrepareRequest, Scope, SubmitRequest};
use crate::execution::contract::{Acknowledgement, Method, Phase, Prepared, Reply as Judged};
use crate::execution::keys;
use crate::execution::ledger::lock::AbortToken;
use crate::execution::limits::Limits;
use crate::execution::machine::Reply;
use crate::execution::money::Nanos;
use crate::host::Host;
use crate::json::{Object, Value};

/// For so long nobody asks the transport for anything, in milliseconds: long enough for a loop of its own to show.
const QUIET_MS: u64 = 250;

/// What is seen at the provider's end of the transport that is checked: a fake provider, or a test account.
pub trait Witness {
    /// How many requests of the transport have come so far.
    fn requests(&self) -> u64;
    /// How many jobs were made so far.
    fn jobs(&self) -> u64;
    /// How many jobs were cancelled so far.
    fn cancellations(&self) -> u64;
    /// What the transport holds open now: connections, files, threads.
    fn open_handles(&self) -> u64;
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
    /// Whether the provider supports a cancel; without it `cancel` is not called.
    pub cancel: bool,
    /// Makes the keys of this check those of no other one.
    pub nonce: String,
    /// The limits in force.
    pub limits: Limits,
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

/// Calls the methods of a transport and looks at its provider: that `prepare` makes no job, `submit` exactly one, and
/// `cancel`, called twice with one key, has one effect; that after no method a handle stays open, and that nothing reaches
/// the provider while nobody asks for anything.
///
/// It takes a quarter of a second for each method that is called. Without findings the transport has kept what was looked at.
pub fn check_transport<T: Transport + ?Sized + 'static>(
    transport: &Arc<T>,
    witness: &dyn Witness,
    subject: &Subject,
    host: &Host,
) -> Vec<Finding> {
    let worker = Worker::new(transport);
    let mut check = Check { worker, witness, subject, host, findings: Vec::new() };
    let methods = transport.methods();
    for method in Method::ALL.iter().filter(|method| !method.is_optional() && !methods.has(**method)) {
        check.found("EX-TRA-01", *method, "the method is missing".to_owned());
    }
    if let Some(declared) = subject.preparation.as_ref().filter(|_| methods.has(Method::Prepare)) {
        check.prepare(declared);
    }
    if methods.has(Method::Submit)
        && let Some(owned) = check.submit()
    {
        if methods.has(Method::Inspect) {
            check.inspect(&owned);
        }
        if subject.cancel && methods.has(Method::Cancel) {
            check.cancel(&owned);
        }
    }
    check.findings
}

struct Check<'a, T: ?Sized> {
    worker: Worker<T>,
    witness: &'a dyn Witness,
    subject: &'a Subject,
    host: &'a Host,
    findings: Vec<Finding>,
}

impl<T: Transport + ?Sized + 'static> Check<'_, T> {
    fn found(&mut self, clause: &'static str, method: Method, seen: String) {
        self.findings.push(Finding { clause, method, seen });
    }

    fn scope(&self) -> Scope<'_> {
        Scope {
            task_id: &self.subject.task_id,
            provider: &self.subject.provider,
            account: &self.subject.account,
        }
    }

    fn id(&self, word: &str) -> String {
        format!("check-{word}-{}", self.subject.nonce)
    }

    fn prepare(&mut self, declared: &Preparation) {
        let input = PrepareRequest {
            scope: self.scope(),
            phase: Phase::Draft,
            prompt: "nothing is to be done",
            environment: &self.subject.environment,
            allowance_usd: &Nanos::ZERO.to_number(),
        };
        let before = self.witness.jobs();
        let reply = self.call(Method::Prepare, input.to_value());
        let made = self.witness.jobs().saturating_sub(before);
        if made > 0 {
            self.found("EX-TRA-13", Method::Prepare, format!("it makes a job, jobs=`{made}`"));
        }
        if let Some(Err(error)) = reply.map(|text| Prepared::judge(&text, declared)) {
            self.found("EX-TRA-12", Method::Prepare, error.to_string());
        }
    }

    fn submit(&mut self) -> Option<Acknowledgement> {
        let (run_id, operation_id) = (self.id("run"), self.id("op"));
        let scope = self.scope();
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
        let before = self.witness.jobs();
        let text = self.call(Method::Submit, input.to_value())?;
        let made = self.witness.jobs().saturating_sub(before);
        if made != 1 {
            self.found("EX-TRA-07", Method::Submit, format!("one call makes not one job, jobs=`{made}`"));
        }
        match Acknowledgement::judge(&text, None) {
            Ok(acknowledgement) => Some(acknowledgement),
            Err(error) => {
                self.found("EX-TRA-14", Method::Submit, error.to_string());
                None
            }
        }
    }

    fn inspect(&mut self, owned: &Acknowledgement) {
        let run_id = self.id("run");
        let input =
            job(&run_id, owned).inspect(&self.scope(), owned.cursor.as_ref(), self.host.clock.wall_ms());
        let Some(text) = self.call(Method::Inspect, input) else { return };
        let reply = Judged::receive(Method::Inspect, &text, self.subject.limits.result_bytes);
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

    fn cancel(&mut self, owned: &Acknowledgement) {
        let run_id = self.id("run");
        let scope = self.scope();
        let key = keys::cancellation_key(scope.task_id, scope.provider, scope.account, &run_id);
        let input = job(&run_id, owned).cancel(&scope, &key);
        let before = self.witness.cancellations();
        for _ in 0..2 {
            let Some(text) = self.call(Method::Cancel, input.clone()) else { return };
            let reply = Judged::receive(Method::Cancel, &text, self.subject.limits.result_bytes);
            let confirmed = reply.ok().flatten().and_then(|reply| reply.get("confirmed")?.as_bool());
            if confirmed.is_none() {
                self.found("EX-TRA-20", Method::Cancel, "confirmed is no boolean".to_owned());
            }
        }
        let effects = self.witness.cancellations().saturating_sub(before);
        if effects != 1 {
            let seen = format!("two calls with one key have not one effect, effects=`{effects}`");
            self.found("EX-TRA-21", Method::Cancel, seen);
        }
    }

    /// Calls a method, and looks at what it leaves. None where it gave no reply, which is a finding.
    fn call(&mut self, method: Method, input: Value) -> Option<String> {
        let input = match input {
            Value::Object(input) => input,
            _ => Object::new(),
        };
        let clock = &*self.host.clock;
        let deadline = clock.wall_ms().saturating_add(self.subject.limits.deadline_ms);
        let handles = self.witness.open_handles();
        let call = TransportCall::new(method, input, deadline, self.subject.limits);
        let end = self.worker.run(call, clock, &AbortToken::new());
        let requests = self.witness.requests();
        clock.sleep(Duration::from_millis(QUIET_MS));
        let further = self.witness.requests().saturating_sub(requests);
        if further > 0 {
            let seen = format!("it goes on asking by itself, requests=`{further}`");
            self.found("EX-TRA-07", method, seen);
        }
        let left = self.witness.open_handles().saturating_sub(handles);
        if left > 0 {
            self.found("EX-TRA-07", method, format!("it leaves handles open, handles=`{left}`"));
        }
        match end {
            End::Reply(Reply::Value(text)) => return Some(text),
            End::Reply(Reply::Error(error)) => {
                self.found("EX-TRA-26", method, format!("it fails, kind=`{}`", error.kind.word()));
            }
            End::Deadline | End::Aborted => {
                self.found("EX-TRA-03", method, "it does not end in its time".to_owned());
            }
        }
        None
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
