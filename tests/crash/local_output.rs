//! Local output: a crash, and a failure, at every operation of a page, of the clean-up and of the queue.

use std::time::Duration;

use gallivant_core::journal::{LocalRun, OutputQueue, Source};
use gallivant_core::redaction::Secrets;
use gallivant_core::testing::{Action, CrashImage, Errno, Fault, OperationKind, Point, Simulation};
use gallivant_core::{Code, Error};

use crate::output::{
    DAY, ENDED, LIVE, RAW, REDACTIONS, RESULT, STATE, drain, local_owner, output, said, say, serve, state,
    with_output,
};
use crate::run::log;

const QUEUE: &str = "/task/local-output-queue.json";

/// One turn of a run, or one call of the queue.
struct Scenario {
    name: &'static str,
    run: LocalRun,
    prepare: fn() -> Simulation,
    call: fn(&Simulation, LocalRun) -> Result<(), Error>,
    /// Whether its bytes make it slow. Its operations are those of a smaller one, so the process's crash is enough.
    is_large: bool,
}

fn turn(machine: &Simulation, run: LocalRun) -> Result<(), Error> {
    serve(machine, run).map(drop)
}

fn queue(machine: &Simulation) -> Result<OutputQueue, Error> {
    OutputQueue::open("/task", &machine.host())
}

fn hold(machine: &Simulation, run: LocalRun) -> Result<(), Error> {
    queue(machine)?.hold("run-1", run).map(drop)
}

fn pass(machine: &Simulation, run: LocalRun) -> Result<(), Error> {
    let mut source = |run_id: &str| {
        Ok(Source { run, owner: local_owner(run_id), secrets: Secrets::lenient(["supplied-word"]) })
    };
    queue(machine)?.pass(None, &mut source).map(drop)
}

fn begun() -> Simulation {
    let machine = with_output("one\n");
    drain(&machine, LIVE);
    say(&machine, "one\ntwo retained-word\nthree\n");
    machine
}

fn expired() -> Simulation {
    let machine = begun();
    machine.files.plant_file(RESULT, "{\"version\":1}").expect("planted");
    machine.clock.advance(Duration::from_millis(DAY));
    machine
}

fn queued() -> Simulation {
    let machine = begun();
    machine.files.plant_file(QUEUE, "{\"version\":1,\"runs\":[\"run-1\",\"run-2\"]}").expect("planted");
    machine.files.plant_directory("/task/run-2").expect("planted");
    machine.files.plant_file("/task/run-2/provider.log", "").expect("planted");
    machine
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "the first page",
        run: LIVE,
        prepare: || with_output("one\ntwo\nth"),
        call: turn,
        is_large: false,
    },
    Scenario { name: "a page behind another", run: LIVE, prepare: begun, call: turn, is_large: false },
    Scenario {
        name: "a page of several batches",
        run: ENDED,
        prepare: || with_output(format!("{}\n", "y".repeat(33_000)).repeat(2)),
        call: turn,
        is_large: true,
    },
    Scenario {
        name: "a record that is too long",
        run: LIVE,
        prepare: || with_output("z".repeat(300_000)),
        call: turn,
        is_large: true,
    },
    Scenario {
        name: "a page without events",
        run: LIVE,
        prepare: || {
            let machine = with_output("z".repeat(300_000));
            serve(&machine, LIVE).expect("served");
            machine
        },
        call: turn,
        is_large: false,
    },
    Scenario {
        name: "a gap for what is missing",
        run: ENDED,
        prepare: || {
            let machine = begun();
            output(&machine).note_pending().expect("noted");
            machine.files.unplant(RAW).expect("removed");
            machine
        },
        call: turn,
        is_large: false,
    },
    Scenario {
        name: "a gap for what has expired, and the clean-up",
        run: ENDED,
        prepare: expired,
        call: turn,
        is_large: false,
    },
    Scenario {
        name: "bytes that wait",
        run: LIVE,
        prepare: || with_output("half"),
        call: turn,
        is_large: false,
    },
    Scenario { name: "holding a run", run: ENDED, prepare: begun, call: hold, is_large: false },
    Scenario {
        name: "a pass that turns the queue",
        run: ENDED,
        prepare: queued,
        call: pass,
        is_large: false,
    },
];

/// A process on a machine on which the scenario's past is durable.
fn prepared(scenario: &Scenario) -> Simulation {
    let machine = (scenario.prepare)();
    machine.files.sync_everything();
    machine.another_process()
}

/// What stands there once the run has said all it has: records, state, which private files, and the queue as a set.
type End = (Vec<String>, Option<(u64, bool, bool, bool)>, [bool; 2], Vec<String>);

fn end(scenario: &Scenario, machine: &Simulation) -> End {
    drain(machine, scenario.run);
    let there = |path: &str| machine.files.contents(path).is_ok();
    let mut runs = queue(machine).and_then(|queue| queue.runs()).expect("the queue is whole");
    runs.sort_unstable();
    (said(machine), there(STATE).then(|| state(machine)), [there(RAW), there(REDACTIONS)], runs)
}

/// The operations of the call when nothing fails, and what it comes to with what follows it.
fn undisturbed(scenario: &Scenario) -> (Vec<OperationKind>, End) {
    let machine = prepared(scenario);
    (scenario.call)(&machine, scenario.run).unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
    let operations = machine.files.operations().iter().map(|operation| operation.kind).collect();
    (operations, end(scenario, &machine))
}

/// After a crash at any moment: what was acknowledged stands there as it was, the call again and what follows it come to
/// the same end, and the state is never one that is refused.
fn assert_goes_on(
    scenario: &Scenario,
    machine: &Simulation,
    before: &[u8],
    expected: &End,
    gaps: u32,
    at: &str,
) {
    let found = log(&machine.files);
    assert!(found.starts_with(before), "{at}: acknowledged bytes are gone");
    (scenario.call)(machine, scenario.run).unwrap_or_else(|error| panic!("{at}: {error}"));
    assert!(log(&machine.files).starts_with(&found), "{at}: what was acknowledged has changed");
    let (mut records, state, files, runs) = end(scenario, machine);
    // A crash within an append may have taken one record, whose gap has its name and its number.
    let mut taken = 0;
    for (record, expected) in records.iter_mut().zip(&expected.0) {
        let id = expected.split([':', '!']).next().expect("an id");
        if *record != *expected && *record == format!("{id}!interrupted-append") {
            record.clone_from(expected);
            taken += 1;
        }
    }
    assert!(taken <= gaps, "{at}: {taken} records were taken");
    assert_eq!(&(records, state, files, runs), expected, "{at}");
}

fn each_point(with_large: bool, mut judge: impl FnMut(&Scenario, u64, OperationKind, &End)) -> u32 {
    let mut points = 0;
    for scenario in SCENARIOS.iter().filter(|scenario| with_large || !scenario.is_large) {
        let (operations, expected) = undisturbed(scenario);
        for (number, kind) in (1..).zip(operations) {
            judge(scenario, number, kind, &expected);
            points += 1;
        }
    }
    points
}

/// Whether an operation leaves another disk than the one before it has left.
fn changes(kind: OperationKind) -> bool {
    use OperationKind::{Create, Cut, MakeDirectory, OpenData, Remove, Rename, Sync, SyncDirectory};
    kind.writes_bytes()
        || matches!(kind, Create | Cut | MakeDirectory | OpenData | Remove | Rename | Sync | SyncDirectory)
}

/// Crashes after an operation that changes the disk, which is before the next one, and in the middle of what it writes.
fn crashes(number: u64, kind: OperationKind) -> Vec<Fault> {
    let torn = Fault::new(Point::at(number), Action::Torn { bytes: 90 }).expect("a fault");
    let mut faults = Vec::new();
    if number == 1 {
        faults.push(Fault::crash_at(number));
    }
    if changes(kind) {
        faults.push(Fault::crash_after(number));
    }
    if kind.writes_bytes() {
        faults.push(torn);
    }
    faults
}

#[test]
fn ex_jrn_40_a_crash_of_the_process_at_any_operation_of_a_page_and_of_the_queue() {
    let points = each_point(true, |scenario, number, kind, expected| {
        for fault in crashes(number, kind) {
            let crashing = prepared(scenario);
            let before = log(&crashing.files);
            let at = format!("{}, {fault:?}", scenario.name);
            crashing.files.set_faults([fault]);
            let _ = (scenario.call)(&crashing, scenario.run);
            assert!(crashing.files.is_dead(), "{at}: not reached");
            let at = format!("{at} of {:?}", crashing.files.trace());
            assert_goes_on(scenario, &crashing.another_process(), &before, expected, 1, &at);
        }
    });
    assert!(points > 200, "only {points} points");
}

#[test]
fn ex_jrn_40_every_image_after_a_crash_of_the_machine_goes_on_to_the_same_end() {
    let mut images = 0_u64;
    each_point(false, |scenario, number, kind, expected| {
        if !changes(kind) {
            return;
        }
        let crashing = prepared(scenario);
        let before = log(&crashing.files);
        crashing.files.set_faults([Fault::crash_after(number)]);
        let _ = (scenario.call)(&crashing, scenario.run);
        for CrashImage { description, files } in crashing.files.images_after_crash().seeded(number, 2) {
            images += 1;
            let at = format!("{}, operation {number}, {description}", scenario.name);
            assert_goes_on(scenario, &crashing.rebooted(&files), &before, expected, 1, &at);
        }
    });
    assert!(images > 300, "only {images} images");
}

#[test]
fn ex_jrn_47_no_image_has_lost_the_output_without_a_gap_or_a_result() {
    let scenario = &SCENARIOS[6];
    let (operations, _) = undisturbed(scenario);
    let mut without = 0;
    for number in 1..=operations.len() as u64 {
        let crashing = prepared(scenario);
        crashing.files.set_faults([Fault::crash_after(number)]);
        let _ = turn(&crashing, scenario.run);
        for image in crashing.files.images_after_crash().seeded(number, 2) {
            let at = format!("operation {number}, {}", image.description);
            if image.files.contents(RAW).is_err() {
                without += 1;
                let booted = crashing.rebooted(&image.files);
                assert_eq!(said(&booted), ["0:one", "4!local-output-expired"], "{at}");
                assert!(booted.files.contents(RESULT).is_ok(), "{at}");
            } else {
                // While raw bytes are there, so is what they hide.
                assert!(
                    image.files.contents(REDACTIONS).is_ok() || number + 4 > operations.len() as u64,
                    "{at}"
                );
            }
        }
    }
    assert!(without > 3, "only {without} images are without the output");
}

#[test]
fn ex_jrn_82_an_operation_that_fails_leaves_a_page_that_the_next_turn_takes_in() {
    let mut failed = 0;
    each_point(false, |scenario, number, kind, expected| {
        let after = changes(kind).then_some(Action::ErrorAfter(Errno::EIO));
        let short = kind.writes_bytes().then_some(Action::Short { bytes: 17, errno: Errno::ENOSPC });
        for action in [Action::Error(Errno::EIO)].into_iter().chain(after).chain(short) {
            let Ok(fault) = Fault::new(Point::at(number), action) else { continue };
            let machine = prepared(scenario);
            let before = log(&machine.files);
            machine.files.set_faults([fault]);
            let outcome = (scenario.call)(&machine, scenario.run);
            let at = format!("{}, operation {number}, {action:?}", scenario.name);
            if let Err(error) = outcome {
                failed += 1;
                let is_queue = error.code() == Code::ExecutionQueue && error.reason() == Some("io");
                assert!(error.code() == Code::ExecutionIo || is_queue, "{at}: {error}");
                assert!(!error.remedy().is_empty() && !error.message().contains('\n'), "{at}: {error}");
            }
            machine.files.set_faults([]);
            assert_goes_on(scenario, &machine, &before, expected, 0, &at);
        }
    });
    assert!(failed > 300, "only {failed} calls failed");
}

/// What a call has returned is there after a crash of the machine.
#[test]
fn ex_jrn_33_what_has_returned_survives_the_machine() {
    for scenario in SCENARIOS {
        let machine = prepared(scenario);
        (scenario.call)(&machine, scenario.run).expect(scenario.name);
        let kept = |files: &gallivant_core::testing::FaultyFileSystem| {
            [STATE, QUEUE, RAW, REDACTIONS].map(|path| files.contents(path).ok())
        };
        let (expected, records) = (kept(&machine.files), log(&machine.files));
        for image in machine.files.images_after_crash().seeded(1, 16) {
            let at = format!("{}, {}", scenario.name, image.description);
            assert_eq!(kept(&image.files), expected, "{at}");
            assert_eq!(log(&image.files), records, "{at}");
        }
    }
}
