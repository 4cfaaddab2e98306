//! The execution layer: its invariants at every storage operation of every call, at every fault point, and with every operation
//! failing.

mod by_name;
mod points;
mod scenarios;
mod world;

use std::sync::Arc;

use gallivant_core::Code;
use gallivant_core::execution::NoFaults;
use gallivant_core::testing::{Action, CrashImage, CrashImages, Errno, Fault, OperationKind, Point};

use crate::boundary::ROOT;
use scenarios::{SCENARIOS, Scenario};
use world::{Seen, World};

/// The operations that the call makes when nothing fails.
fn undisturbed(scenario: &Scenario) -> Vec<OperationKind> {
    let mut world = World::prepared(scenario);
    let before = Seen::of(&world.machine.files);
    let boundary = world.boundary(Arc::new(NoFaults));
    let machine = (scenario.call)(&boundary);
    let outcome = world.drive(machine, scenario.script).expect("nothing crashes");
    let gave = outcome.map_or_else(|error| error.code().name(), |_| "ok");
    assert_eq!(gave, scenario.gives, "{}", scenario.name);
    let kinds = world.machine.files.operations().iter().map(|operation| operation.kind).collect();
    let seen = world.check(&before, scenario.name);
    world.later(600_000);
    world.recovers(scenario, &seen, scenario.name);
    kinds
}

/// Which part of all points is looked at: one of so many. `make soak` looks at each (`GALLIVANT_EVERY=1`); without that every
/// scenario begins at another one, so that together they reach every step of a write.
fn every() -> u64 {
    std::env::var("GALLIVANT_EVERY").map_or(48, |text| text.parse().expect("GALLIVANT_EVERY is a number"))
}

/// The images that are looked at after one crash: a few of them, from nothing of what was not synced to all of it, or each.
pub(crate) fn some(images: CrashImages) -> impl Iterator<Item = CrashImage> {
    let images: Vec<CrashImage> = images.collect();
    let step = if every() > 1 { images.len().div_ceil(4) } else { 1 };
    images.into_iter().rev().step_by(step.max(1))
}

fn each_point(mut judge: impl FnMut(&Scenario, u64, OperationKind)) -> u32 {
    let mut points = 0;
    for (offset, scenario) in (0..).zip(SCENARIOS) {
        for (number, kind) in (1..).zip(undisturbed(scenario)) {
            if (number + offset) % every() == 0 {
                judge(scenario, number, kind);
                points += 1;
            }
        }
    }
    points
}

/// A crash at an operation of the call, with what stood before.
fn crashed(scenario: &Scenario, fault: Fault) -> (World, Seen) {
    let mut world = World::prepared(scenario);
    let before = Seen::of(&world.machine.files);
    world.machine.files.set_faults([fault]);
    let boundary = world.boundary(Arc::new(NoFaults));
    let machine = (scenario.call)(&boundary);
    let _ = world.drive(machine, scenario.script);
    (world, before)
}

#[test]
fn i1_to_i12_hold_after_a_crash_of_the_process_at_any_operation() {
    let mut crashes = 0;
    let points = each_point(|scenario, number, kind| {
        // What a crash before an operation leaves, one after the last change of the disk has left.
        let at = if kind.is_mutating() { Fault::crash_after(number) } else { Fault::crash_at(number) };
        let (world, before) = crashed(scenario, at);
        assert!(world.machine.files.is_dead(), "{}: operation {number} was not reached", scenario.name);
        let at = format!("{}, operation {number} of {:?}", scenario.name, world.machine.files.trace());
        let mut survivor = world.survived();
        let found = survivor.check(&before, &at);
        survivor.recovers(scenario, &found, &at);
        crashes += 1;
    });
    println!("execution: {} calls, {points} operations, {crashes} crashes of the process", SCENARIOS.len());
    assert!(points > 25, "only {points} points");
}

#[test]
fn i1_to_i12_hold_in_every_image_after_a_crash_of_the_machine() {
    let mut images = 0_u64;
    let points = each_point(|scenario, number, kind| {
        let torn = |bytes| Fault::new(Point::at(number), Action::Torn { bytes }).expect("a fault");
        let mut faults = vec![Fault::crash_after(number)];
        if kind.writes_bytes() {
            faults.push(torn(100));
        }
        // What only looks leaves nothing that is not left after the operation before it.
        for fault in faults.into_iter().filter(|_| kind.is_mutating()) {
            let (world, before) = crashed(scenario, fault);
            let trace = world.machine.files.trace();
            for CrashImage { description, files } in
                some(world.machine.files.images_after_crash().seeded(number, 1))
            {
                images += 1;
                let at = format!("{}, operation {number}, {description} of {trace:?}", scenario.name);
                let mut booted = world.rebooted(&files);
                let found = booted.check(&before, &at);
                booted.recovers(scenario, &found, &at);
            }
        }
    });
    println!("execution: {points} operations, {images} images after a crash of the machine");
    assert!(images > 50, "only {images} images");
}

#[test]
fn ex_bnd_40_what_a_call_has_returned_survives_the_machine() {
    for scenario in SCENARIOS {
        let mut world = World::prepared(scenario);
        let boundary = world.boundary(Arc::new(NoFaults));
        let machine = (scenario.call)(&boundary);
        let _ = world.drive(machine, scenario.script).expect("nothing crashes");
        let returned = Seen::of(&world.machine.files);
        for CrashImage { description, files } in world.machine.files.images_after_crash().seeded(1, 32) {
            let at = format!("{}, {description}", scenario.name);
            let mut booted = world.rebooted(&files);
            let found = booted.check(&returned, &at);
            let texts = [&returned, &found].map(|seen| seen.ledger.as_ref().map(|ledger| ledger.encode()));
            assert_eq!(texts[0], texts[1], "{at}");
        }
    }
}

#[test]
fn every_operation_that_fails_gives_an_error_with_a_remedy_and_loses_nothing() {
    let mut failed = 0;
    each_point(|scenario, number, kind| {
        for action in
            [Action::Error(Errno::EIO), Action::Error(Errno::ENOSPC), Action::ErrorAfter(Errno::EIO)]
        {
            let Ok(fault) = Fault::new(Point::at(number), action) else { continue };
            if action != Action::Error(Errno::EIO) && !kind.is_mutating() {
                continue;
            }
            let mut world = World::prepared(scenario);
            let before = Seen::of(&world.machine.files);
            world.machine.files.set_faults([fault]);
            let boundary = world.boundary(Arc::new(NoFaults));
            let machine = (scenario.call)(&boundary);
            let outcome = world.drive(machine, scenario.script).expect("nothing crashes");
            let at = format!("{}, operation {number} ({kind:?}), {action:?}", scenario.name);
            if let Err(error) = &outcome {
                failed += 1;
                let known = [
                    Code::ExecutionIo,
                    Code::ExecutionCapability,
                    Code::ExecutionAcceptanceUnknown,
                    Code::ExecutionDispatchRefused,
                    Code::ExecutionFenced,
                    Code::ExecutionQueue,
                    Code::ExecutionJournal,
                ];
                assert!(known.contains(&error.code()), "{at}: {error:?}");
                assert!(!error.remedy().is_empty() && !error.message().contains('\n'), "{at}: {error}");
            }
            world.machine.files.set_faults([]);
            let found = world.check(&before, &at);
            world.later(600_000);
            world.recovers(scenario, &found, &at);
        }
    });
    assert!(failed > 5, "only {failed} calls failed");
}

#[test]
fn what_crashed_writers_left_staged_is_swept_by_the_next_dispatch() {
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == "a submit after a settled run");
    let scenario = scenario.expect("it is there");
    let mut world = World::prepared(scenario);
    let run = scenarios::run_of("op-1");
    let places = [ROOT.to_owned(), format!("{ROOT}/{run}"), format!("{ROOT}/controls")];
    for place in &places {
        world
            .machine
            .files
            .plant_file(format!("{place}/.staged-1-1-0123456789abcdef"), "half")
            .expect("planted");
    }
    let left = |world: &World| {
        let names = places.iter().map(|place| world.machine.files.names(place).expect("listed"));
        names.filter(|names| names.iter().any(|name| name.starts_with(".staged-"))).count()
    };
    world.done(|boundary| (scenario.call)(boundary));
    assert_eq!(left(&world), 3, "they may be somebody's still");
    let mut world = World::prepared(scenario);
    for place in &places {
        world
            .machine
            .files
            .plant_file(format!("{place}/.staged-1-1-0123456789abcdef"), "half")
            .expect("planted");
    }
    world.later(2 * 60 * 60 * 1_000);
    world.done(|boundary| (scenario.call)(boundary));
    assert_eq!(left(&world), 0);
}
