//! One task with two processes, its provider, and what must hold of them after each step.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gallivant_core::execution::ledger::record::Acceptance;
use gallivant_core::execution::{Boundary, Call, Ledger, Machine, NoFaults};
use gallivant_core::random::Random;
use gallivant_core::testing::{SeededRandom, Simulation, simulated_host};
use serde_json::Value;

use crate::boundary::{ROOT, boundary, ledger, options};
use crate::ledgers::{Charged, created_once, follows, judge};
use crate::provider::{Provider, input_of};

/// A process of the coordinator.
pub(crate) struct Process {
    pub(crate) machine: Simulation,
    pub(crate) boundary: Boundary,
}

/// A call that waits for a reply.
pub(crate) struct Running {
    pub(crate) process: usize,
    pub(crate) name: &'static str,
    pub(crate) machine: Machine,
    pub(crate) call: Call,
}

pub(crate) struct World {
    seed: u64,
    dice: SeededRandom,
    pub(crate) provider: Provider,
    pub(crate) processes: Vec<Process>,
    pub(crate) running: Option<Running>,
    /// Dispatches that the network still has: they may arrive at any time.
    pub(crate) on_the_way: Vec<Call>,
    /// What was charged before each intent.
    charged: Charged,
    committed: Option<Ledger>,
    /// Whether a stop was accepted.
    pub(crate) is_stopped: bool,
    /// Whether the replies of stops arrive from now on.
    pub(crate) hears_stops: bool,
    pub(crate) operations: u64,
    told: Vec<String>,
    reached: BTreeMap<String, u64>,
}

impl World {
    pub(crate) fn new(seed: u64) -> World {
        let (_, machine) = simulated_host(seed);
        let processes = vec![open(&machine), open(&machine.another_process())];
        World {
            seed,
            dice: SeededRandom::new(seed ^ 0x51_0e17),
            provider: Provider { confirms: !seed.is_multiple_of(3), ..Provider::new() },
            processes,
            running: None,
            on_the_way: Vec::new(),
            charged: Charged::new(),
            committed: None,
            is_stopped: false,
            hears_stops: false,
            operations: 0,
            told: Vec::new(),
            reached: BTreeMap::new(),
        }
    }

    pub(crate) fn below(&self, end: u64) -> u64 {
        self.dice.next_u64() % end
    }

    pub(crate) fn tell(&mut self, what: impl Into<String>) {
        let what = what.into();
        *self.reached.entry(what.clone()).or_default() += 1;
        self.told.push(what);
    }

    pub(crate) fn told(&self) -> &[String] {
        &self.told
    }

    pub(crate) fn reached(self) -> BTreeMap<String, u64> {
        self.reached
    }

    pub(crate) fn fail(&self, what: &str) -> ! {
        panic!("GALLIVANT_SEED={} {what}\nsteps:\n  {}", self.seed, self.told.join("\n  "));
    }

    pub(crate) fn now(&self) -> u64 {
        self.processes[0].machine.host().clock.wall_ms()
    }

    pub(crate) fn ledger(&self) -> Option<Ledger> {
        ledger(&self.processes[0].machine.files)
    }

    /// The dispatches of operations whose acceptance is unknown.
    pub(crate) fn unknown(&self) -> Option<(String, String)> {
        let ledger = self.ledger()?;
        let unknown = ledger.operations.records().find(|known| known.acceptance == Acceptance::Unknown)?;
        Some((unknown.operation_id.clone(), unknown.idempotency_key.clone()))
    }

    /// Compares what stands with what stood.
    pub(crate) fn check(&mut self) {
        let now = self.ledger();
        if let Some(before) = self.committed.take() {
            let Some(after) = &now else { self.fail("the ledger is gone") };
            if let Err(what) = follows(&before, after, &self.charged) {
                self.fail(&what);
            }
        }
        if let Some(ledger) = &now {
            if let Err(what) = judge(ledger, &self.provider) {
                self.fail(&what);
            }
            if self.is_stopped && ledger.stop_fence.is_none() && self.queued() == 0 {
                self.fail("a stop is forgotten");
            }
        }
        if let Err(what) = created_once(&self.provider) {
            self.fail(&what);
        }
        self.committed = now;
    }

    pub(crate) fn queued(&self) -> usize {
        let names = self.processes[0].machine.files.names(format!("{ROOT}/controls")).unwrap_or_default();
        names.iter().filter(|name| name.ends_with(".json")).count()
    }

    /// Notes what is charged before a dispatch is asked for.
    pub(crate) fn before_dispatch(&mut self, operation_id: &str) {
        let Some(ledger) = self.ledger() else { return };
        if !ledger.operations.contains(operation_id) {
            self.charged.insert(operation_id.to_owned(), ledger.allowance.charged_usd);
        }
    }

    /// What has to hold when a dispatch is handed out: I1, I2, I3, I11, I17.
    pub(crate) fn handed_out(&mut self, call: &Call) {
        let held = self.processes[0].machine.files.lock_on(format!("{ROOT}/execution.lock"));
        if !held.is_ok_and(|lock| lock.is_some()) {
            self.fail("a call is out and the lock is free");
        }
        if !matches!(call.method, "submit" | "continue") {
            return;
        }
        let input = input_of(call);
        let text = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
        let (operation_id, key) = (text("operationId"), text("idempotencyKey"));
        if self.is_stopped {
            self.fail("a dispatch after a stop was accepted");
        }
        let images: Vec<_> =
            self.processes[0].machine.files.images_after_crash().seeded(self.seed, 1).take(4).collect();
        for image in images {
            let Some(durable) = ledger(&image.files) else { self.fail("a dispatch without a ledger") };
            let intent = durable.operations.get(&operation_id);
            let is_whole = intent.is_some_and(|intent| {
                intent.acceptance == Acceptance::Unknown
                    && intent.idempotency_key == key
                    && durable.allowance.charged_usd >= intent.reservation_usd.unwrap_or_default()
            });
            if !is_whole {
                self.fail(&format!("a dispatch without its intent, {}", image.description));
            }
            let refusals =
                durable.dispatch_refusals.iter().filter(|refusal| refusal.operation_id == operation_id);
            if self.provider.asked.get(&key).copied().unwrap_or(0) as usize > refusals.count() {
                self.fail("an operation is dispatched twice");
            }
        }
        *self.provider.asked.entry(key).or_default() += 1;
    }

    /// Ends a process and starts it again.
    pub(crate) fn restart(&mut self, process: usize) {
        if self.running.as_ref().is_some_and(|running| running.process == process) {
            self.let_go();
        }
        self.processes[process].machine.kill();
        self.processes[process] = open(&self.processes[1 - process].machine.another_process());
    }

    /// The machine goes down, and finds its disk in one of the states in which it may be.
    pub(crate) fn power_loss(&mut self) {
        self.let_go();
        let seed = self.below(1_000);
        let images: Vec<_> =
            self.processes[0].machine.files.images_after_crash().seeded(seed, 3).take(12).collect();
        let at = usize::try_from(self.below(images.len() as u64)).expect("small");
        let booted = self.processes[0].machine.rebooted(&images[at].files);
        self.processes = vec![open(&booted), open(&booted.another_process())];
        self.told.push(format!("  {}", images[at].description));
    }

    /// Drops what is under way. What it had sent may arrive all the same.
    pub(crate) fn let_go(&mut self) {
        let Some(running) = self.running.take() else { return };
        if matches!(running.call.method, "submit" | "continue") && self.below(2) == 0 {
            self.on_the_way.push(running.call);
        }
    }

    pub(crate) fn advance(&self, ms: u64) {
        self.processes[0].machine.clock.advance(Duration::from_millis(ms));
    }

    /// The log of a run, as far as it is acknowledged: the ids in it.
    pub(crate) fn events(&self, run_id: &str) -> Vec<String> {
        let files = &self.processes[0].machine.files;
        let Ok(checkpoint) = files.contents(format!("{ROOT}/{run_id}/journal.json")) else {
            return Vec::new();
        };
        let checkpoint: Value = serde_json::from_slice(&checkpoint).expect("whole");
        let offset = usize::try_from(checkpoint["offset"].as_u64().expect("a number")).expect("small");
        let log = files.contents(format!("{ROOT}/{run_id}/events.jsonl")).unwrap_or_default();
        let text = String::from_utf8(log[..offset].to_vec()).expect("UTF-8");
        let id = |line: &str| {
            let row: Value = serde_json::from_str(line).expect("JSON");
            row["eventId"].as_str().expect("an id").to_owned()
        };
        text.lines().map(id).collect()
    }
}

fn open(machine: &Simulation) -> Process {
    let boundary = boundary(ROOT, &options(), &machine.host(), Arc::new(NoFaults));
    Process { machine: machine.clone(), boundary }
}
