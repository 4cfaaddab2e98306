//! The steps of a world: calls, what the provider does by itself, time, and everything that ends a process.

use gallivant_core::execution::ledger::record::Acceptance;
use gallivant_core::execution::{Boundary, Machine, ProviderState};
use gallivant_core::testing::Fault;
use serde_json::{Value, json};

use crate::boundary::{dispatch_input, no_abort, object};
use crate::provider::acknowledgement;
use crate::world::World;

const STATES: [&str; 10] = [
    "queued",
    "running",
    "waiting-for-input",
    "waiting-for-input",
    "waiting-for-input",
    "waiting-for-input",
    "status-unknown",
    "succeeded",
    "failed",
    "cancelled",
];

impl World {
    /// One step, and the comparison after it.
    pub(crate) fn step(&mut self) {
        match self.below(100) {
            0..40 if self.running.is_some() => self.reply(),
            0..62 => self.call(),
            62..80 => self.provider_goes_on(),
            80..86 => {
                let ms = [1, 500, 10_000, 60_000, 700_000][usize::try_from(self.below(5)).expect("small")];
                self.tell(format!("clock +{ms}"));
                self.advance(ms);
            }
            86 => {
                let back = self.now() - 1 - self.below(30_000);
                self.tell("clock back");
                self.processes[0].machine.clock.set_wall_ms(back);
            }
            87..90 => {
                if !self.on_the_way.is_empty() {
                    let call = self.on_the_way.remove(0);
                    let now = self.now();
                    self.tell("a dispatch arrives late");
                    self.provider.answer(&call, now);
                }
            }
            90..92 => {
                self.tell("machine dropped");
                self.let_go();
            }
            92..94 => {
                let process = usize::try_from(self.below(2)).expect("small");
                self.tell("process killed");
                self.restart(process);
            }
            94..98 => {
                let process = usize::try_from(self.below(2)).expect("small");
                let files = &self.processes[process].machine.files;
                let number = files.last_number() + 1 + self.below(40);
                let fault =
                    if self.below(2) == 0 { Fault::crash_at(number) } else { Fault::crash_after(number) };
                files.set_faults([fault]);
            }
            _ => {
                self.tell("machine crashed");
                self.power_loss();
            }
        }
        self.check();
    }

    fn provider_goes_on(&mut self) {
        let Some((key, _)) =
            self.provider.jobs.iter().max_by_key(|(_, job)| job.turn_id.len() * 1_000 + number(&job.turn_id))
        else {
            return;
        };
        let key = key.clone();
        let state = STATES[usize::try_from(self.below(STATES.len() as u64)).expect("small")];
        let (events, now) = (usize::try_from(self.below(5)).expect("small"), self.now());
        self.tell(format!("provider: {state}"));
        self.provider.goes_on(&key, events, state, now);
    }

    fn call(&mut self) {
        let process = usize::try_from(self.below(2)).expect("small");
        let boundary = self.processes[process].boundary.clone();
        let Some((name, mut machine)) = self.choose(&boundary) else { return };
        let step = machine.start();
        self.goes_on(process, name, machine, step, None);
    }

    fn choose(&mut self, boundary: &Boundary) -> Option<(&'static str, Machine)> {
        let abort = no_abort();
        let stop = |reason: &str, control: u64| {
            object(&json!({"reason": reason, "controlId": format!("c-{control}")}))
        };
        let waits = self.ledger().is_some_and(|ledger| {
            ledger.current().is_some_and(|run| run.state == ProviderState::WaitingForInput)
        });
        let dice = match self.below(60) {
            0..24 if waits => 24,
            // A stop ends what a task may do, so most worlds have none for long.
            47 | 48 if self.below(3) > 0 => 28,
            dice => dice,
        };
        Some(match dice {
            0..16 => {
                let input = self.dispatch();
                ("submit", boundary.submit(object(&input), abort))
            }
            16..24 => {
                let input = self.dispatch();
                ("continue", boundary.continue_run(object(&input), abort))
            }
            24..28 => {
                let mut input = self.dispatch();
                input["response"] = json!({"signature": "ask-1", "answer": "yes"});
                ("continue", boundary.continue_run(object(&input), abort))
            }
            28..36 => ("startup", boundary.startup(abort)),
            36..44 => ("reconcile", boundary.reconcile(self.below(2) == 0, abort)),
            44..47 => {
                let run = self.ledger()?.current_run_id?;
                ("collect", boundary.collect(run, abort))
            }
            47 => ("cancel", boundary.cancel(stop("enough", self.below(3)), abort)),
            48 => ("requestCancel", boundary.request_cancel(stop("enough", self.below(3)), abort)),
            49..52 => {
                let (operation, key) = self.unknown()?;
                let job = self.provider.jobs.get(&key)?;
                let input = json!({"operationId": operation, "acknowledgement": acknowledgement(job), "evidence": "seen"});
                ("adopt", boundary.adopt(object(&input), abort))
            }
            52..55 => {
                let (operation, key) = self.unknown()?;
                let is_out = |call: &gallivant_core::execution::Call| {
                    crate::provider::input_of(call)["idempotencyKey"] == key
                };
                let may_arrive = self.on_the_way.iter().any(is_out)
                    || self.running.as_ref().is_some_and(|running| is_out(&running.call));
                // An operator tells the truth.
                if self.provider.jobs.contains_key(&key) || may_arrive {
                    return None;
                }
                let input = json!({"operationId": operation, "evidence": "the provider says so"});
                ("settleAbsent", boundary.settle_absent(object(&input), abort))
            }
            55..58 => {
                let (operation, _) = self.unknown()?;
                let mut input = dispatch_input(&operation);
                input["response"] = json!({"signature": "ask-1", "answer": "yes"});
                ("recoverResponse", boundary.recover_response(operation, object(&input), abort))
            }
            _ => {
                let input = json!({"operationId": "op-p", "phase": "draft", "prompt": "plan"});
                ("prepare", boundary.prepare(object(&input), abort))
            }
        })
    }

    /// A new operation, or one of the last ones again.
    fn dispatch(&mut self) -> Value {
        let back = self.below(3);
        if self.operations == 0 || back == 0 || self.operations <= back {
            self.operations += 1;
        }
        let number =
            if back == 0 { self.operations } else { self.operations.saturating_sub(back - 1).max(1) };
        let operation = format!("op-{number}");
        self.before_dispatch(&operation);
        dispatch_input(&operation)
    }

    /// Everything arrives, nothing fails any more: what the provider has is known, and each event of it is one record.
    pub(crate) fn ends(&mut self) {
        self.let_go();
        for call in std::mem::take(&mut self.on_the_way) {
            let now = self.now();
            self.provider.answer(&call, now);
        }
        self.restart(0);
        self.restart(1);
        self.advance(3_600_000);
        for _ in 0..12 {
            let mut machine = self.processes[0].boundary.startup(no_abort());
            let mut step = machine.start();
            while let gallivant_core::execution::Step::Call(call) = step {
                let now = self.now();
                let said = self.provider.answer(&call, now);
                step = machine
                    .reply(call.id, gallivant_core::execution::Reply::Value(said.to_string()))
                    .unwrap_or_else(|error| self.fail(&error.to_string()));
            }
            drop(machine);
            self.check();
            self.advance(600_000);
        }
        let Some(ledger) = self.ledger() else { return };
        for (key, job) in &self.provider.jobs {
            let operation = ledger.operations.records().find(|operation| operation.idempotency_key == *key);
            let Some(operation) = operation else { self.fail(&format!("{job:?} is lost")) };
            // A later operation may have come after an operator's act only, and this one is then no longer looked at.
            if operation.acceptance != Acceptance::Accepted {
                self.fail(&format!("{job:?} is not known"));
            }
            let events = self.events(&operation.run_id);
            let said: Vec<_> = events.iter().filter(|id| id.starts_with("turn-")).cloned().collect();
            if said.len() > job.events.len() || said != job.events[..said.len()] {
                self.fail(&format!("{said:?} is recorded of {job:?}"));
            }
            let run = ledger.executions.get(&operation.run_id).expect("its run");
            if run.collected && said != job.events {
                self.fail(&format!("{said:?} is all that was read of {job:?}"));
            }
        }
    }
}

fn number(turn_id: &str) -> usize {
    turn_id.trim_start_matches("turn-").parse().unwrap_or(0)
}
