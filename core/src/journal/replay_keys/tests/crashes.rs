//! A crash of the process and of the machine at every operation, and every operation failing.

use super::*;
use crate::storage::faulty_directory::{Errno, Fault, split_mix};

/// Of the images each so many-th is looked at. It has no divisor in common with the numbers of tears that a file has.
const STEP: usize = 7;

/// One thing that is done with an index over 22 events, and how many events there are afterwards.
struct Scenario {
    name: &'static str,
    /// What stands there before.
    prepare: fn() -> Run,
    /// What is done; it may stop anywhere.
    act: fn(&mut Run) -> Result<()>,
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "the first page", prepare: || Run::new(TINY), act: |run| page(run, 5) },
    Scenario { name: "a page", prepare: prepared, act: |run| page(run, 1) },
    Scenario { name: "a page that makes a segment", prepare: prepared, act: |run| page(run, 3) },
    Scenario {
        name: "pages that merge",
        prepare: prepared,
        act: |run| {
            let mut keys = run.open()?;
            for _ in 0..4 {
                let (batch, reach) = run.append(3);
                keys.insert(&batch, reach)?;
            }
            Ok(())
        },
    },
    Scenario {
        name: "a rebuild",
        prepare: || {
            let run = prepared();
            run.files.unplant(KEYS_PATH).expect("removed");
            run
        },
        act: |run| run.open().map(drop),
    },
    Scenario {
        name: "a rebuild over damage",
        prepare: || {
            let run = prepared();
            for name in run.files.names(KEYS_PATH).expect("listed") {
                run.files.plant_file(format!("{KEYS_PATH}/{name}"), "damaged").expect("planted");
            }
            run
        },
        act: |run| run.open().map(drop),
    },
    Scenario {
        name: "catching up",
        prepare: || {
            let mut run = prepared();
            run.append(10);
            run
        },
        act: |run| run.open().map(drop),
    },
];

fn prepared() -> Run {
    let (run, keys) = Run::filled(22, TINY);
    drop(keys);
    run.files.sync_everything();
    run
}

fn page(run: &mut Run, count: u64) -> Result<()> {
    let mut keys = run.open()?;
    let (batch, reach) = run.append(count);
    keys.insert(&batch, reach)
}

fn operations(scenario: &Scenario) -> u64 {
    let mut run = (scenario.prepare)();
    let before = run.files.last_number();
    (scenario.act)(&mut run).expect("it works when nothing fails");
    run.files.last_number() - before
}

#[test]
fn ex_jrn_80_a_crash_of_the_process_at_any_operation_leaves_an_index_that_is_exact() {
    for scenario in SCENARIOS {
        for at in 1..=operations(scenario) {
            let mut run = (scenario.prepare)();
            run.files.set_faults([Fault::crash_at(run.files.last_number() + at)]);
            let _ = (scenario.act)(&mut run);
            assert!(run.files.is_dead(), "{} {at}", scenario.name);
            run.files = run.files.another_process();
            let context = format!("{}, the process gone at operation {at}", scenario.name);
            let mut keys = run.open().unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_exact(&mut keys, run.sequence, &context);
            let (batch, reach) = run.append(1);
            keys.insert(&batch, reach).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_exact(&mut keys, run.sequence, &context);
        }
    }
}

/// Nothing is ever synced, so what a crash at any earlier moment leaves is among what one at the end leaves: there is
/// every beginning of what was done.
#[test]
fn ex_jrn_80_a_crash_of_the_machine_at_any_moment_leaves_an_index_that_is_exact() {
    for (seed, scenario) in (0..).zip(SCENARIOS) {
        let mut run = (scenario.prepare)();
        (scenario.act)(&mut run).expect("it works when nothing fails");
        for image in run.files.images_after_crash().seeded(seed, 16).step_by(STEP) {
            run.files = image.files;
            let context = format!("{}, the machine gone: {}", scenario.name, image.description);
            let mut keys = run.open().unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_exact(&mut keys, run.sequence, &context);
        }
    }
}

#[test]
fn ex_jrn_82_a_step_that_fails_leaves_an_index_that_lags_and_catches_up() {
    for scenario in SCENARIOS {
        for at in 1..=operations(scenario) {
            for errno in [Errno::EIO, Errno::ENOSPC] {
                let mut run = (scenario.prepare)();
                let number = run.files.last_number() + at;
                run.files.set_faults([Fault::error_at(number, errno)]);
                let _ = (scenario.act)(&mut run);
                run.files.set_faults([]);
                let context = format!("{}, operation {at} failed with {errno:?}", scenario.name);
                let mut keys = run.open().unwrap_or_else(|error| panic!("{context}: {error}"));
                assert_exact(&mut keys, run.sequence, &context);
            }
        }
    }
}

#[test]
fn ex_jrn_82_an_open_index_goes_on_after_any_failures() {
    for seed in 0..16 {
        let mut state = seed;
        let mut run = prepared();
        let mut keys = run.open().expect("opens");
        for step in 0..30 {
            let number = run.files.last_number() + 1 + split_mix(&mut state) % 6;
            let errno = [Errno::EIO, Errno::ENOSPC][usize::from(split_mix(&mut state).is_multiple_of(2))];
            let mut faults = vec![Fault::error_at(number, errno)];
            if split_mix(&mut state).is_multiple_of(3) {
                faults.push(Fault::error_at(number + 1 + split_mix(&mut state) % 4, errno));
            }
            run.files.set_faults(faults);
            let (batch, reach) = run.append(1 + split_mix(&mut state) % 12);
            // A failed step fails no append: the index lags.
            let _ = keys.insert(&batch, reach);
            if split_mix(&mut state).is_multiple_of(2) {
                run.files.set_faults([]);
                assert_exact(&mut keys, run.sequence, &format!("seed {seed} step {step}"));
            }
        }
        run.files.set_faults([]);
        assert_exact(&mut keys, run.sequence, &format!("seed {seed} at the end"));
        drop(keys);
        let mut keys = run.open().expect("opens");
        assert_exact(&mut keys, run.sequence, &format!("seed {seed} opened again"));
    }
}

#[test]
fn a_full_disk_costs_the_index_and_never_a_wrong_answer() {
    let mut run = prepared();
    let mut keys = run.open().expect("opens");
    let mut refused = 0;
    for page in 0..40 {
        run.files.set_room(None);
        let (batch, reach) = run.append(2);
        run.files.set_room(Some(40 * (page % 10)));
        refused += u64::from(keys.insert(&batch, reach).is_err());
    }
    assert!(refused > 0, "it did become full");
    let mut into = Vec::new();
    if let Ok(()) = keys.look_up(&[key(1)], &mut into) {
        assert_eq!(into, [Some(1)]);
    }
    run.files.set_room(None);
    assert_exact(&mut keys, run.sequence, "there is room again");
}
