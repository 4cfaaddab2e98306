//! How a call ends: honestly, lost, late, twice, foreign, malformed, too long, or not sent.

use gallivant_core::Code;
use gallivant_core::execution::{Call, Ledger, Reply, Step};
use serde_json::{Value, json};

use crate::boundary::Fed;
use crate::provider::input_of;
use crate::world::World;

impl World {
    /// Ends the outstanding call in one of all ways.
    pub(crate) fn reply(&mut self) {
        let Some(running) = &self.running else { return };
        let call = running.call.clone();
        let before = self.ledger();
        let now = self.now();
        let is_dispatch = matches!(call.method, "submit" | "continue");
        let (how, fed, is_rejected) = match self.below(20) {
            0 => {
                self.provider.answer(&call, now);
                ("lost", Fed::error("io"), true)
            }
            1 => {
                self.sent_or_not(&call);
                ("deadline", Fed::Deadline, true)
            }
            2 => {
                self.sent_or_not(&call);
                ("aborted", Fed::Abort, true)
            }
            3 => {
                let said = self.provider.answer(&call, now);
                self.advance(call.deadline_at.saturating_sub(now));
                ("late", Fed::value(&said), true)
            }
            4 => {
                self.sent_or_not(&call);
                ("malformed", Fed::Reply(Reply::Value(self.malformed())), call.method != "collect")
            }
            5 => {
                self.sent_or_not(&call);
                let said = json!({"text": "x".repeat(9_000_000)});
                ("oversized", Fed::value(&said), true)
            }
            6 => match self.foreign(&call) {
                Some(said) => {
                    self.sent_or_not(&call);
                    ("foreign", Fed::value(&said), true)
                }
                None => ("honest", Fed::value(&self.provider.answer(&call, now)), false),
            },
            7 | 8 if is_dispatch => ("not sent", Fed::error("not-sent"), false),
            9 if is_dispatch => {
                self.sent_or_not(&call);
                let running = self.running.as_mut().expect("it runs");
                running.machine.sending(call.id).expect("outstanding");
                ("not sent, it says", Fed::error("not-sent"), true)
            }
            10 if call.method == "collect" => ("rejecting", Fed::error("collection-validation"), false),
            _ => ("honest", Fed::value(&self.provider.answer(&call, now)), false),
        };
        self.tell(format!("reply:{how}"));
        self.told_of(&call);
        let running = self.running.as_mut().expect("it runs");
        let step = match fed.clone() {
            Fed::Reply(reply) => running.machine.reply(call.id, reply),
            Fed::Deadline => running.machine.deadline(call.id),
            Fed::Abort => running.machine.abort(call.id),
            Fed::Gone => return,
        };
        let step = step.unwrap_or_else(|error| self.fail(&format!("a reply was refused: {error}")));
        if is_rejected
            && !self.processes[self.running.as_ref().expect("it runs").process].machine.files.is_dead()
        {
            self.changes_only_retry_data(before.as_ref());
        }
        let is_twice = self.below(6) == 0;
        let running = self.running.take().expect("it runs");
        self.goes_on(running.process, running.name, running.machine, step, is_twice.then_some(call.id));
    }

    /// Takes what a machine has come to, and feeds it the last reply again where that is wanted.
    pub(crate) fn goes_on(
        &mut self,
        process: usize,
        name: &'static str,
        mut machine: gallivant_core::execution::Machine,
        step: Step,
        again: Option<u64>,
    ) {
        if let Some(id) = again {
            let refused = machine.reply(id, Reply::Value("{}".to_owned()));
            let is_refused = refused
                .is_err_and(|error| error.code() == Code::ExecutionInput && error.reason() == Some("reply"));
            if !is_refused {
                self.fail("a second reply was read");
            }
            self.tell("reply:twice");
        }
        if self.processes[process].machine.files.is_dead() {
            self.tell("process crashed");
            if let Step::Call(call) = step {
                drop(call);
            }
            drop(machine);
            self.restart(process);
            return;
        }
        match step {
            Step::Call(call) => {
                self.handed_out(&call);
                self.running = Some(crate::world::Running { process, name, machine, call });
            }
            Step::Done(outcome) => {
                if outcome.is_ok() && matches!(name, "cancel" | "requestCancel") {
                    self.is_stopped = true;
                }
                let word = outcome.as_ref().map_or_else(|error| error.code().name(), |_| "ok");
                self.tell(format!("{name}:{word}"));
            }
        }
    }

    fn told_of(&mut self, call: &Call) {
        let said = format!("  to {}", call.method);
        self.tell(said);
    }

    /// A dispatch whose end nobody tells may have arrived, may arrive later, or never.
    fn sent_or_not(&mut self, call: &Call) {
        if !matches!(call.method, "submit" | "continue") {
            return;
        }
        match self.below(3) {
            0 => {
                let now = self.now();
                self.provider.answer(call, now);
            }
            1 => self.on_the_way.push(call.clone()),
            _ => {}
        }
    }

    fn malformed(&self) -> String {
        let texts =
            ["", "{", "[]", "true", "{\"providerJobId\":7,\"turnId\":null}", "{\"a\":1,\"a\":2}", "\"{}\""];
        texts[usize::try_from(self.below(texts.len() as u64)).expect("small")].to_owned()
    }

    /// What another job would be told of; none where there is none.
    fn foreign(&self, call: &Call) -> Option<Value> {
        let input = input_of(call);
        let key = input["idempotencyKey"].as_str();
        let is_own = |(name, job): &(&String, &crate::provider::Job)| {
            Some(name.as_str()) == key
                || (input["providerJobId"] == job.job_id && input["turnId"] == job.turn_id)
        };
        let known = self.ledger()?;
        let is_known = |(name, _): &(&String, &crate::provider::Job)| {
            known
                .operations
                .records()
                .any(|other| other.idempotency_key == **name && other.acknowledgement.is_some())
        };
        let (_, job) = self.provider.jobs.iter().find(|entry| !is_own(entry) && is_known(entry))?;
        match call.method {
            "submit" | "continue" | "recoverResponse" => Some(crate::provider::acknowledgement(job)),
            "inspect" | "lookup" => Some(crate::provider::observation(job, &Value::Null, self.now())),
            "collect" => Some(crate::provider::result(job)),
            _ => None,
        }
    }

    /// I7.
    fn changes_only_retry_data(&self, before: Option<&Ledger>) {
        let (before, after) = (before.map(masked), self.ledger().as_ref().map(masked));
        if before != after {
            self.fail(&format!("a rejected reply has changed {before:?} to {after:?}"));
        }
    }
}

/// A ledger without what tells when to come again.
fn masked(ledger: &Ledger) -> Value {
    let mut value: Value = serde_json::from_str(&ledger.encode()).expect("JSON");
    for run in value["executions"].as_object_mut().expect("an object").values_mut() {
        for name in ["failures", "lastError", "nextAttemptAt", "reconciledAt"] {
            run[name] = Value::Null;
        }
        if run["cancellation"].is_object() {
            for name in ["failures", "nextAttemptAt", "attempts", "lastAttemptAt"] {
                run["cancellation"][name] = Value::Null;
            }
        }
    }
    value
}
