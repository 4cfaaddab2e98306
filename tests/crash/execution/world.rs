//! One task on a simulated machine, its provider, and what has to hold of both at any moment.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gallivant_core::execution::ledger::record::Acceptance;
use gallivant_core::execution::{Boundary, Call, Faults, Ledger, Machine, NoFaults};
use gallivant_core::json::Value as CoreValue;
use gallivant_core::testing::{FaultyFileSystem, Simulation, simulated_host};
use gallivant_core::{Result, execution};
use serde_json::Value;

use super::scenarios::Scenario;
use crate::boundary::{self, Fed, ROOT, boundary, drive, files_below, ledger, no_abort};
use crate::ledgers::{Charged, created_once, follows, judge};
use crate::provider::{Provider, SECRET, input_of};
use crate::run::row;

/// A task, its machine and its provider. What the provider knows survives every crash.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) machine: Simulation,
    pub(crate) provider: Provider,
    pub(crate) options: Value,
    /// What was charged before the call under test.
    pub(crate) charged: Charged,
    /// The boundary of the process that runs, once it has one.
    opened: Option<Boundary>,
}

/// How a host answers a call.
pub(crate) type Script = fn(&mut Provider, &Call, u64) -> Fed;

pub(crate) fn honest(provider: &mut Provider, call: &Call, now: u64) -> Fed {
    Fed::value(&provider.answer(call, now))
}

impl World {
    /// A machine on which the scenario's past is durable.
    pub(crate) fn prepared(scenario: &Scenario) -> World {
        let mut options = boundary::options();
        (scenario.options)(&mut options);
        let (_, machine) = simulated_host(7);
        let mut world =
            World { machine, provider: Provider::new(), options, charged: Charged::new(), opened: None };
        (scenario.prepare)(&mut world);
        world.later(1_000);
        world.machine.files.sync_everything();
        world.machine = world.machine.another_process();
        world.opened = None;
        if let Some(ledger) = world.ledger() {
            for operation in scenario.dispatches {
                world.charged.insert((*operation).to_owned(), ledger.allowance.charged_usd);
            }
        }
        world
    }

    pub(crate) fn ledger(&self) -> Option<Ledger> {
        ledger(&self.machine.files)
    }

    pub(crate) fn later(&self, ms: u64) {
        self.machine.clock.advance(Duration::from_millis(ms));
    }

    /// The newest job goes on at its provider.
    pub(crate) fn goes_on(&mut self, events: usize, state: &'static str) {
        let now = self.now();
        let newest = self.provider.jobs.iter().max_by_key(|(_, job)| job.turn_id.clone());
        let key = newest.map(|(key, _)| key.clone()).expect("a job");
        self.provider.goes_on(&key, events, state, now);
    }

    pub(crate) fn now(&self) -> u64 {
        self.machine.host().clock.wall_ms()
    }

    pub(crate) fn boundary(&self, faults: Arc<dyn Faults>) -> Boundary {
        boundary(ROOT, &self.options, &self.machine.host(), faults)
    }

    fn opened(&mut self) -> Boundary {
        let opened = self.opened.take().unwrap_or_else(|| self.boundary(Arc::new(NoFaults)));
        self.opened.insert(opened).clone()
    }

    /// Makes a call with these answers, as long as the process lives.
    pub(crate) fn drive(&mut self, machine: Machine, script: Script) -> Option<Result<CoreValue>> {
        let files = self.machine.files.clone();
        drive(machine, |call| {
            if files.is_dead() {
                return Fed::Gone;
            }
            self.note(call);
            let now = self.machine.host().clock.wall_ms();
            script(&mut self.provider, call, now)
        })
    }

    /// Makes a call with honest answers.
    pub(crate) fn call(&mut self, call: impl FnOnce(&Boundary) -> Machine) -> Result<CoreValue> {
        let machine = call(&self.opened());
        self.drive(machine, honest).expect("nothing crashes")
    }

    /// Makes a call with these answers, whatever comes of it.
    pub(crate) fn call_with(&mut self, call: impl FnOnce(&Boundary) -> Machine, script: Script) {
        let machine = call(&self.opened());
        let _ = self.drive(machine, script).expect("nothing crashes");
    }

    /// A call that must do well.
    pub(crate) fn done(&mut self, call: impl FnOnce(&Boundary) -> Machine) -> CoreValue {
        self.call(call).unwrap_or_else(|error| panic!("{error}"))
    }

    /// What has to hold when a call is handed out: I1, I2, I3, I11, and that the lock is held.
    fn note(&mut self, call: &Call) {
        if !matches!(call.method, "submit" | "continue") {
            return;
        }
        let input = input_of(call);
        let text = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
        let (operation_id, key) = (text("operationId"), text("idempotencyKey"));
        for image in self.machine.files.images_after_crash().seeded(1, 4) {
            let at = &image.description;
            let durable =
                ledger(&image.files).unwrap_or_else(|| panic!("{at}: no ledger before {operation_id}"));
            let intent = durable.operations.get(&operation_id).unwrap_or_else(|| panic!("{at}: no intent"));
            assert_eq!((intent.acceptance, &intent.idempotency_key), (Acceptance::Unknown, &key), "{at}");
            assert!(intent.reservation_usd.is_some() && durable.stop_fence.is_none(), "{at}");
            assert!(durable.allowance.charged_usd >= intent.reservation_usd.expect("reserved"), "{at}");
            let unknown =
                durable.operations.records().filter(|other| other.acceptance == Acceptance::Unknown).count();
            assert_eq!(unknown, 1, "{at}: another acceptance is unknown");
            let refusals =
                durable.dispatch_refusals.iter().filter(|refusal| refusal.operation_id == operation_id);
            let asked = self.provider.asked.get(&key).copied().unwrap_or(0);
            assert!(asked as usize <= refusals.count(), "{at}: {operation_id} is dispatched again");
        }
        *self.provider.asked.entry(key).or_default() += 1;
        let lock = self.machine.files.lock_on(format!("{ROOT}/execution.lock")).expect("there");
        assert!(lock.is_some(), "the lock is not held");
    }

    /// The machine after it has gone down, booted from one of the disks that it may have left.
    pub(crate) fn rebooted(&self, files: &FaultyFileSystem) -> World {
        World { machine: self.machine.rebooted(files), opened: None, ..self.clone() }
    }

    /// The same task as another process of the machine has it.
    pub(crate) fn beside(&self) -> World {
        World { machine: self.machine.another_process(), opened: None, ..self.clone() }
    }

    /// What other processes see once this one is gone.
    pub(crate) fn survived(&self) -> World {
        self.machine.kill();
        self.beside()
    }

    /// Whether what is found keeps what stood, and everything is owned by whom it names; and what a reader does changes
    /// nothing.
    pub(crate) fn check(&mut self, before: &Seen, at: &str) -> Seen {
        let seen = Seen::of(&self.machine.files);
        if let Some(was) = &before.ledger {
            let is = seen.ledger.as_ref().unwrap_or_else(|| panic!("{at}: the ledger is gone"));
            follows(was, is, &self.charged).unwrap_or_else(|what| panic!("{at}: {what}"));
        }
        if let Some(ledger) = &seen.ledger {
            judge(ledger, &self.provider).unwrap_or_else(|what| panic!("{at}: {what}"));
        }
        created_once(&self.provider).unwrap_or_else(|what| panic!("{at}: {what}"));
        for (run, log) in &before.logs {
            let found = seen.logs.iter().find(|(name, _)| name == run).map_or(&[][..], |(_, log)| &log[..]);
            assert!(found.starts_with(log), "{at}: acknowledged events of {run} are gone");
        }
        for (name, bytes) in files_below(&self.machine.files, ROOT) {
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains(SECRET), "{at}: a secret stands in {name}: {text}");
        }
        self.only_reads(at);
        seen
    }

    fn only_reads(&mut self, at: &str) {
        if self.machine.files.is_dead() {
            return;
        }
        let boundary = self.opened();
        self.machine.files.forget_operations();
        let projection = boundary.inspect().unwrap_or_else(|error| panic!("{at}: {error}"));
        if let Some(run) = projection.get("runId").and_then(CoreValue::as_str) {
            boundary.outcome(run).unwrap_or_else(|error| panic!("{at}: {error}"));
        }
        let host = self.machine.host();
        execution::unresolved(ROOT.as_ref(), &host).unwrap_or_else(|error| panic!("{at}: {error}"));
        let made = self.machine.files.operations();
        assert!(
            made.iter().all(|operation| !operation.kind.is_mutating()),
            "{at}: a reader writes: {made:?}"
        );
    }

    /// What a coordinator does that starts again: a pass for what is recorded, the call that it had under way, and passes until
    /// nothing more comes of it.
    pub(crate) fn recovers(&mut self, scenario: &Scenario, found: &Seen, at: &str) -> Seen {
        let mut seen = found.clone();
        let startup = |boundary: &Boundary| boundary.startup(no_abort());
        let mut steps: Vec<&dyn Fn(&Boundary) -> Machine> =
            vec![&startup, &scenario.call, &startup, &startup];
        // Some coordinators repeat the call first.
        steps.drain(..self.provider.jobs.len().min(1));
        for (number, step) in steps.into_iter().enumerate() {
            let is_answered = self.call(|boundary| step(boundary)).is_ok();
            let at = format!("{at}, step {number} of the recovery");
            seen = self.check(&seen, &at);
            if is_answered && !self.machine.files.unsynced().is_empty() {
                self.outlasts(&seen, &at);
            }
            self.later(600_000);
        }
        for (key, job) in &self.provider.jobs {
            let ledger = seen.ledger.as_ref().unwrap_or_else(|| panic!("{at}: no ledger of {job:?}"));
            let operation = ledger.operations.records().find(|operation| operation.idempotency_key == *key);
            let operation = operation.unwrap_or_else(|| panic!("{at}: {job:?} is lost"));
            assert_eq!(operation.acceptance, Acceptance::Accepted, "{at}: {job:?} is not known");
        }
        self.judge_events(&seen, at);
        seen
    }

    /// What a call has answered survives the machine.
    fn outlasts(&self, seen: &Seen, at: &str) {
        let Some(ledger_now) = &seen.ledger else { return };
        for image in self.machine.files.images_after_crash().seeded(1, 2) {
            let at = format!("{at}, and then {}", image.description);
            let found = ledger(&image.files).unwrap_or_else(|| panic!("{at}: no ledger"));
            follows(ledger_now, &found, &self.charged).unwrap_or_else(|what| panic!("{at}: {what}"));
        }
    }

    /// I9: each event that was read is one record, in its place.
    fn judge_events(&self, seen: &Seen, at: &str) {
        let Some(ledger) = &seen.ledger else { return };
        for operation in ledger.operations.records() {
            let Some(job) = self.provider.jobs.get(&operation.idempotency_key) else { continue };
            let run = ledger.executions.get(&operation.run_id).expect("its run");
            let log = seen.logs.iter().find(|(name, _)| *name == operation.run_id);
            let text = log.map_or(String::new(), |(_, log)| String::from_utf8(log.clone()).expect("UTF-8"));
            let rows: Vec<_> = text.lines().map(row).collect();
            let keys: BTreeSet<&String> = rows.iter().map(|row| &row.key).collect();
            assert_eq!(keys.len(), rows.len(), "{at}: an event is there twice");
            // A gap of an interrupted append bears the id of the event whose place it has (EX-JRN-17).
            let is_event = |id: &&String| id.starts_with("turn-");
            let said: Vec<&String> = rows.iter().map(|row| &row.event_id).filter(is_event).collect();
            // A stop may come between the events of a page and the cursor behind them.
            let read = run.cursor.to_json().parse().unwrap_or(0);
            assert!(said.len() >= read, "{at}: {said:?} and the cursor {:?}", run.cursor);
            assert_eq!(said, job.events.iter().take(said.len()).collect::<Vec<_>>(), "{at}");
        }
    }
}

/// What stands on a disk.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) ledger: Option<Ledger>,
    /// The acknowledged bytes of each run's journal.
    logs: Vec<(String, Vec<u8>)>,
}

impl Seen {
    pub(crate) fn of(files: &FaultyFileSystem) -> Seen {
        let ledger = ledger(files);
        let runs = ledger.iter().flat_map(|ledger| ledger.executions.iter()).map(|(run, _)| run.to_owned());
        let logs = runs.map(|run| (run.clone(), acknowledged(files, &run))).collect();
        Seen { ledger, logs }
    }
}

fn acknowledged(files: &FaultyFileSystem, run: &str) -> Vec<u8> {
    let Ok(checkpoint) = files.contents(format!("{ROOT}/{run}/journal.json")) else { return Vec::new() };
    let checkpoint: Value = serde_json::from_slice(&checkpoint).expect("the checkpoint is whole");
    let offset = usize::try_from(checkpoint["offset"].as_u64().expect("a number")).expect("small");
    let mut log = files.contents(format!("{ROOT}/{run}/events.jsonl")).unwrap_or_default();
    assert!(log.len() >= offset, "the log is shorter than acknowledged");
    log.truncate(offset);
    log
}
