//! A seeded simulation of the execution layer over the real code: calls, replies of every kind, clock steps, crashes, drops and
//! two processes on one root, with the provider's own books as the judge.
//!
//! After each step the invariants are compared. A failure prints its seed and the steps of its world; `GALLIVANT_SEED` runs
//! from that seed on, and `GALLIVANT_STEPS` says how many steps there are in all.
#![allow(missing_docs, reason = "a test's name says what it shows")]
#![allow(clippy::disallowed_methods, reason = "a test looks at its environment itself")]

#[path = "../support/boundary.rs"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod boundary;
#[path = "../support/ledgers.rs"]
mod ledgers;
#[path = "../support/provider.rs"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod provider;

mod replies;
mod steps;
mod stops;
mod world;

use std::collections::BTreeMap;

use world::World;

/// Without another number: a few seconds.
const STEPS: u64 = 10_000;
/// Races of a stop, without another number.
const RACES: u64 = 1_000;
/// A world's life. Short, because a stop ends what a task may do.
const LIFE: u64 = 100;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

#[test]
fn i1_to_i12_and_i17_to_i20_hold_in_every_world() {
    let first = number("GALLIVANT_SEED").unwrap_or(1);
    let steps = number("GALLIVANT_STEPS").unwrap_or(STEPS);
    let worlds = steps.div_ceil(LIFE);
    let mut reached: BTreeMap<String, u64> = BTreeMap::new();
    for seed in first..first + worlds {
        let mut world = World::new(seed);
        for _ in 0..LIFE {
            world.step();
        }
        world.ends();
        for (what, count) in world.reached() {
            *reached.entry(what).or_default() += count;
        }
    }
    println!("simulation: seeds {first} to {}, {steps} steps, no violation: {reached:?}", first + worlds - 1);
    if steps >= STEPS {
        let wanted = [
            "submit:ok",
            "submit:EXECUTION_ACCEPTANCE_UNKNOWN",
            "submit:EXECUTION_DISPATCH_REFUSED",
            "submit:EXECUTION_UNRESOLVED",
            "submit:EXECUTION_ACTIVE",
            "submit:EXECUTION_FENCED",
            "submit:EXECUTION_BUSY",
            "continue:ok",
            "startup:ok",
            "reconcile:ok",
            "collect:ok",
            "cancel:ok",
            "requestCancel:ok",
            "adopt:ok",
            "settleAbsent:ok",
            "recoverResponse:ok",
            "prepare:ok",
            "reply:honest",
            "reply:late",
            "reply:foreign",
            "reply:malformed",
            "reply:oversized",
            "reply:twice",
            "machine dropped",
            "process killed",
            "process crashed",
            "machine crashed",
        ];
        let missing: Vec<_> = wanted.into_iter().filter(|what| !reached.contains_key(*what)).collect();
        assert!(missing.is_empty(), "not reached: {missing:?}");
    }
}

#[test]
fn i11_and_i12_hold_however_a_stop_races_with_a_dispatch_a_pass_a_collection_or_a_stop() {
    let first = number("GALLIVANT_SEED").unwrap_or(1);
    let races = number("GALLIVANT_RACES").unwrap_or(RACES);
    let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(8) as u64);
    let share =
        |worker: u64| (first + worker..first + races).step_by(usize::try_from(workers).expect("small"));
    let mut reached: BTreeMap<String, u64> = BTreeMap::new();
    std::thread::scope(|scope| {
        let raced = |worker| scope.spawn(move || share(worker).flat_map(stops::race).collect::<Vec<_>>());
        let running: Vec<_> = (0..workers).map(raced).collect();
        for (what, count) in running.into_iter().flat_map(|worker| worker.join().expect("no violation")) {
            *reached.entry(what).or_default() += count;
        }
    });
    println!("stops: seeds {first} to {}, no violation: {reached:?}", first + races - 1);
    if races >= RACES {
        let points = reached.keys().filter(|what| what.starts_with("at ")).count();
        assert!(points >= 18, "only {points} places: {reached:?}");
        let wanted = [
            "submit and a stop",
            "pass and a stop",
            "collect and a stop",
            "stop and a stop",
            "both stop it",
            "a process died",
            "a stop's reply is lost",
            "clock back",
            "cancel:EXECUTION_BUSY",
            "submit:EXECUTION_FENCED",
            "at dispatch.intent",
            "at dispatch.reply",
            "at a question",
        ];
        let missing: Vec<_> = wanted.into_iter().filter(|what| !reached.contains_key(*what)).collect();
        assert!(missing.is_empty(), "not reached: {missing:?}");
    }
}

#[test]
fn a_seed_replays_its_world() {
    let run = |seed| {
        let mut world = World::new(seed);
        for _ in 0..LIFE {
            world.step();
        }
        world.told().to_vec()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}
