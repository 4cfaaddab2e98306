//! EX-BND-34: every call by its name, crashed and made again by a process that has made no other.

use std::collections::BTreeSet;
use std::sync::Arc;

use gallivant_core::execution::NoFaults;
use gallivant_core::testing::Fault;

use super::scenarios::{SCENARIOS, Scenario};
use super::world::{Seen, World};
use super::{crashed, every, undisturbed};

/// The methods that give a machine, and a scenario of each.
const BY_NAME: [(&str, &str); 13] = [
    ("submit", "a submit after a settled run"),
    ("continue", "a continue"),
    ("prepare", "a prepare"),
    ("recoverResponse", "a recovered answer"),
    ("startup", "a look-up"),
    ("reconcile", "a pass that is asked for"),
    ("collect", "a collection alone"),
    ("cancel", "a stop"),
    ("requestCancel", "a stop that is queued"),
    ("preparationStop", "a stop of a preparation"),
    ("timeoutStop", "a stop by time"),
    ("adopt", "an adoption"),
    ("settleAbsent", "an absence"),
];

/// The calls of process runs: their crashes are in `execution_local_runs.rs` and `execution_local_stops.rs` of
/// `tests/conformance/` and, with processes that are killed, in `tests/local_runs/`.
const OF_PROCESS_RUNS: [&str; 4] = ["interrupt", "kill", "settle", "start"];

/// The names in the boundary's own table of machines.
fn names() -> BTreeSet<&'static str> {
    let table = include_str!("../../../core/src/execution/boundary/by_name.rs");
    let arms = table.split("let machine = match method {").nth(1).expect("the table");
    let arms = arms.split("_ => return").next().expect("its end");
    arms.lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.split_once("\" =>"))
        .map(|arm| arm.0)
        .collect()
}

fn scenario(name: &str) -> &'static Scenario {
    SCENARIOS.iter().find(|scenario| scenario.name == name).expect("it is there")
}

/// What the call comes to when it is made once, as a word.
fn word(world: &mut World, scenario: &Scenario) -> String {
    let boundary = world.boundary(Arc::new(NoFaults));
    let machine = (scenario.call)(&boundary);
    let outcome = world.drive(machine, super::world::honest).expect("nothing crashes");
    outcome.map_or_else(|error| error.code().name().to_owned(), |_| "ok".to_owned())
}

#[test]
fn ex_bnd_34_every_call_by_its_name_is_made_again_after_a_crash_at_any_point() {
    let tested: BTreeSet<&str> = BY_NAME.iter().map(|(method, _)| *method).chain(OF_PROCESS_RUNS).collect();
    assert_eq!(tested, names());
    let mut crashes = 0;
    for (method, name) in BY_NAME {
        let scenario = scenario(name);
        // The quick run takes a few points of each call, the long one each.
        let step = if every() > 1 { 11 } else { 1 };
        for (number, kind) in (1..).zip(undisturbed(scenario)).step_by(step) {
            let at = if kind.is_mutating() { Fault::crash_after(number) } else { Fault::crash_at(number) };
            let (world, before) = crashed(scenario, at);
            let at = format!("{method}, operation {number} ({kind:?})");
            let mut survivor = world.survived();
            let found = survivor.check(&before, &at);
            survivor.later(600_000);
            let again = word(&mut survivor, scenario);
            let allowed: &[&str] = match method {
                // A reply that was lost with the process: the provider may own it, and only a pass finds out.
                "submit" | "continue" => &["ok", "EXECUTION_ACCEPTANCE_UNKNOWN"],
                _ => &["ok"],
            };
            assert!(allowed.contains(&again.as_str()), "{at}: {again}");
            let seen = survivor.check(&found, &at);
            assert_eq!(word(&mut survivor, scenario), again, "{at}: once more it comes to the same");
            let seen: Seen = survivor.check(&seen, &at);
            survivor.recovers(scenario, &seen, &at);
            crashes += 1;
        }
    }
    println!("execution: {crashes} crashes of calls by their names");
    assert!(crashes > 40, "only {crashes} crashes");
}
