//! Crashes and failures at the named points.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use gallivant_core::execution::{FaultAnswer, Faults};
use gallivant_core::testing::{CrashImage, FaultyFileSystem};

use super::scenarios::{SCENARIOS, Scenario, request_cancel, run_of};
use super::world::{Seen, World};
use super::{every, some};
use crate::boundary::ROOT;

/// The points of EX-SEA-07 that remote work comes to.
const POINTS: &[&str] = &[
    "dispatch.intent",
    "dispatch.reply",
    "dispatch.accepted",
    "prepare.reply",
    "prepare.receipt",
    "pass.lookup",
    "pass.owned",
    "pass.observed",
    "journal.pending",
    "journal.record",
    "journal.key",
    "journal.checkpoint",
    "pass.events",
    "pass.state",
    "collect.reply",
    "collect.result",
    "collect.ledger",
    "collect.blocked",
    "cancel.record",
    "cancel.attempt",
    "cancel.reply",
    "control.queued",
    "control.applied",
    "persist:execution.json",
    "persist:controls/c-1.json",
];

/// Counts the points, and at one of them the process is gone or the write fails.
#[derive(Debug)]
struct At {
    files: FaultyFileSystem,
    wanted: usize,
    answer: Option<FaultAnswer>,
    passed: Mutex<Vec<String>>,
}

impl At {
    fn new(world: &World, wanted: usize, answer: Option<FaultAnswer>) -> Arc<At> {
        Arc::new(At { files: world.machine.files.clone(), wanted, answer, passed: Mutex::default() })
    }

    fn passed(&self) -> Vec<String> {
        self.passed.lock().expect("nobody panicked").clone()
    }
}

impl Faults for At {
    fn at(&self, point: &str) -> FaultAnswer {
        let mut passed = self.passed.lock().expect("nobody panicked");
        passed.push(point.to_owned());
        if passed.len() != self.wanted {
            return FaultAnswer::Go;
        }
        self.answer.unwrap_or_else(|| {
            // Nothing that a process does after its end has an effect.
            self.files.kill();
            FaultAnswer::Fail
        })
    }
}

fn run(scenario: &Scenario, wanted: usize, answer: Option<FaultAnswer>) -> (World, Seen, Vec<String>) {
    let mut world = World::prepared(scenario);
    let before = Seen::of(&world.machine.files);
    let faults = At::new(&world, wanted, answer);
    let boundary = world.boundary(Arc::clone(&faults) as _);
    let machine = (scenario.call)(&boundary);
    let _ = world.drive(machine, scenario.script);
    (world, before, faults.passed())
}

#[test]
fn i1_to_i12_hold_after_a_crash_at_every_fault_point_of_remote_work() {
    let (mut points, mut images) = (0, 0);
    let mut seen = BTreeSet::new();
    for (offset, scenario) in SCENARIOS.iter().enumerate() {
        let (_, _, passed) = run(scenario, 0, None);
        for (number, point) in (1..).zip(&passed) {
            seen.insert(point.replace(&run_of("op-1"), "run").replace(&run_of("op-2"), "run"));
            // A third of them in a quick run, and each in a long one.
            if every() > 1 && (number + offset) % 3 != 0 {
                continue;
            }
            points += 1;
            let (world, before, _) = run(scenario, number, None);
            assert!(world.machine.files.is_dead(), "{}: {point} was not reached", scenario.name);
            for CrashImage { description, files } in
                some(world.machine.files.images_after_crash().seeded(7, 2))
            {
                images += 1;
                let at = format!("{}, {point}, {description}", scenario.name);
                let mut booted = world.rebooted(&files);
                let found = booted.check(&before, &at);
                booted.recovers(scenario, &found, &at);
            }
            let at = format!("{}, {point}", scenario.name);
            let mut survivor = world.survived();
            let found = survivor.check(&before, &at);
            survivor.recovers(scenario, &found, &at);
        }
    }
    let missing: Vec<_> = POINTS.iter().filter(|point| !seen.contains(**point)).collect();
    assert!(missing.is_empty(), "not reached: {missing:?}; reached: {seen:?}");
    println!("execution: {points} fault points, {} different, {images} images", seen.len());
}

#[test]
fn ex_sea_04_a_failure_at_every_fault_point_is_an_error_that_loses_nothing() {
    let mut failed = 0;
    for (offset, scenario) in SCENARIOS.iter().enumerate() {
        let (_, _, passed) = run(scenario, 0, None);
        for (number, point) in (1..).zip(&passed) {
            if every() > 1 && (number + offset) % 3 != 0 {
                continue;
            }
            let (mut world, before, _) = run(scenario, number, Some(FaultAnswer::Fail));
            failed += 1;
            let at = format!("{}, {point} fails", scenario.name);
            let found = world.check(&before, &at);
            world.later(600_000);
            world.recovers(scenario, &found, &at);
        }
    }
    assert!(failed > 30, "only {failed} points");
}

/// I11: a stop that is accepted before the last look for it keeps the dispatch back; one that comes later is not forgotten.
#[test]
fn ex_led_29_a_stop_that_is_queued_at_any_operation_of_a_dispatch_is_seen_or_waits() {
    use gallivant_core::execution::NoFaults;
    use gallivant_core::testing::Point;

    let (mut refused, mut sent) = (0, 0);
    for scenario in SCENARIOS.iter().filter(|scenario| !scenario.dispatches.is_empty()) {
        for number in (1..).step_by(if every() > 1 { 3 } else { 1 }) {
            let mut world = World::prepared(scenario);
            let before = Seen::of(&world.machine.files);
            let asked = world.provider.asked.len();
            let stopper = world.beside();
            let files = stopper.machine.files.clone();
            let queued = move || {
                let mut stopper = stopper;
                stopper.done(request_cancel);
            };
            world.machine.files.pause_before(Point::at(number), queued);
            let boundary = world.boundary(Arc::new(NoFaults));
            let machine = (scenario.call)(&boundary);
            let outcome = world.drive(machine, scenario.script).expect("nothing crashes");
            if world.machine.files.last_number() < number {
                break;
            }
            let at = format!("{}, before operation {number}", scenario.name);
            let operations = world.machine.files.operations();
            let is_look = |at: &gallivant_core::testing::OperationRecord| at.text.contains("controls");
            let was_asked = world.provider.asked.len() > asked;
            let last_look = operations
                .iter()
                .filter(|operation| is_look(operation))
                .map(|operation| operation.number)
                .max();
            if was_asked {
                sent += 1;
                assert!(
                    last_look.is_some_and(|look| number > look),
                    "{at}: sent although a stop was accepted"
                );
            } else {
                refused += 1;
                let error = outcome.expect_err("nothing was sent");
                assert_eq!(error.code(), gallivant_core::Code::ExecutionFenced, "{at}: {error}");
            }
            files.kill();
            assert!(world.machine.files.contents(format!("{ROOT}/controls/c-1.json")).is_ok(), "{at}");
            let found = world.check(&before, &at);
            let seen = world.recovers(scenario, &found, &at);
            assert!(seen.ledger.expect("a ledger").stop_fence.is_some(), "{at}: the stop is forgotten");
        }
    }
    assert!(refused > 20 && sent > 10, "{refused} refused, {sent} sent");
}
