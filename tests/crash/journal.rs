//! The journal: I8, I9 and EX-JRN-24 at every operation of an append and of a recovery, and every operation failing.

use std::collections::BTreeSet;

use gallivant_core::journal::{Event, GapReason, How, Journal, MAX_RECORD_BYTES, Provenance, check};
use gallivant_core::testing::{Action, CrashImage, Errno, Fault, OperationKind, Point, Simulation};
use gallivant_core::{Code, Error};

use crate::run::{CHECKPOINT, LOG, RUN, acknowledged, append, event, journal, log, machine, page, row, rows};

/// A page that is appended over what stood before.
struct Scenario {
    name: &'static str,
    prepare: fn(&Simulation),
    page: fn() -> Vec<Event>,
    /// The gaps that a recovery of what is prepared makes, in any case.
    gaps: usize,
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "the first page", prepare: |_| {}, page: || page(&["a", "b"]), gaps: 0 },
    Scenario { name: "a page over records", prepare: three, page: || page(&["a", "b"]), gaps: 0 },
    Scenario {
        name: "two batches of several records",
        prepare: three,
        page: || {
            let mut page = page(&["a", "b"]);
            page.extend([event("c", &"c".repeat(64_000)), event("d", &"d".repeat(4_000)), event("e", "x")]);
            page
        },
        gaps: 0,
    },
    Scenario {
        name: "a page with known events, a gap and a record that is too long",
        prepare: three,
        page: || {
            let mut page = page(&["old-2", "a", "a", "old-3"]);
            page.insert(0, Event::gap("gap-7", GapReason::Provider, Provenance::Provider));
            page.push(event("long", &"x".repeat(MAX_RECORD_BYTES)));
            page.push(event("b", "ä"));
            page
        },
        gaps: 0,
    },
    Scenario { name: "a page of known events", prepare: three, page: || page(&["old-1", "old-3"]), gaps: 0 },
    Scenario {
        name: "over a batch of which nothing was written",
        prepare: |machine| interrupted(machine, |_, _| Vec::new()),
        page: || page(&["p", "q", "r", "a"]),
        gaps: 1,
    },
    Scenario {
        name: "over a batch that is there whole",
        prepare: |machine| interrupted(machine, |bytes, _| bytes.to_vec()),
        page: || page(&["p", "q", "r", "a"]),
        gaps: 0,
    },
    Scenario {
        name: "over a batch that lacks its last newline",
        prepare: |machine| interrupted(machine, |bytes, _| bytes[..bytes.len() - 1].to_vec()),
        page: || page(&["p", "q", "r", "a"]),
        gaps: 0,
    },
    Scenario {
        name: "over a batch whose second record is torn",
        prepare: |machine| interrupted(machine, |bytes, line| bytes[..line + line / 2].to_vec()),
        page: || page(&["p", "q", "r", "a"]),
        gaps: 1,
    },
    Scenario {
        name: "over a batch whose first record lacks its newline",
        prepare: |machine| interrupted(machine, |bytes, line| bytes[..line - 1].to_vec()),
        page: || page(&["p", "q", "r", "a"]),
        gaps: 1,
    },
    Scenario {
        name: "over a batch with a hole of zeros in its first record",
        prepare: |machine| {
            interrupted(machine, |bytes, line| {
                let mut bytes = bytes.to_vec();
                bytes[10..line].fill(0);
                bytes
            });
        },
        page: || page(&["p", "q", "r", "a"]),
        gaps: 1,
    },
];

fn three(machine: &Simulation) {
    append(machine, &page(&["old-1", "old-2", "old-3"])).expect("prepared");
}

/// Three records, and the batch p, q, r pending behind them; what of its bytes stands there is made of all of them and
/// the length of its first line.
fn interrupted(machine: &Simulation, left: fn(&[u8], usize) -> Vec<u8>) {
    three(machine);
    let before = machine.files.contents(LOG).expect("a log");
    let mut journal = journal(machine);
    let mut under_way = journal.begin(&page(&["p", "q", "r"])).expect("begun");
    journal.advance(&mut under_way).expect("announced");
    journal.advance(&mut under_way).expect("written");
    let batch = machine.files.contents(LOG).expect("a log")[before.len()..].to_vec();
    let line = batch.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    machine.files.plant_file(LOG, [before, left(&batch, line)].concat()).expect("planted");
}

/// A process on a machine on which the scenario's past is durable.
fn prepared(scenario: &Scenario) -> Simulation {
    let machine = machine();
    (scenario.prepare)(&machine);
    machine.files.sync_everything();
    machine.another_process()
}

fn run(scenario: &Scenario, machine: &Simulation) -> Result<(), Error> {
    append(machine, &(scenario.page)()).map(drop)
}

/// The operations that the append makes when nothing fails, and the ids that it leaves, in order.
fn undisturbed(scenario: &Scenario) -> (Vec<OperationKind>, Vec<String>) {
    let machine = prepared(scenario);
    run(scenario, &machine).unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
    (machine.files.operations().iter().map(|operation| operation.kind).collect(), ids(&machine))
}

fn ids(machine: &Simulation) -> Vec<String> {
    rows(&machine.files).into_iter().map(|row| row.event_id).collect()
}

/// What has to hold after a crash at any moment: what was acknowledged stands there as it was, the journal is not
/// refused, and the same page again makes one record an event, with the numbers that it would have had.
fn assert_recovers(scenario: &Scenario, machine: &Simulation, before: &[u8], expected: &[String], at: &str) {
    let found = log(&machine.files);
    assert!(found.starts_with(before), "{at}: acknowledged bytes are gone");
    let seen: Vec<u64> = rows(&machine.files).iter().map(|row| row.sequence).collect();
    let checked = check(RUN, &machine.host()).unwrap_or_else(|error| panic!("{at}: {error}"));
    assert_eq!(checked.end.sequence, seen.len() as u64, "{at}");
    run(scenario, machine).unwrap_or_else(|error| panic!("{at}: {error}"));
    assert!(log(&machine.files).starts_with(&found), "{at}: what was acknowledged has changed");
    assert_eq!(
        machine.files.contents(LOG).unwrap_or_default(),
        log(&machine.files),
        "{at}: bytes are left over"
    );
    assert_eq!(ids(machine), expected, "{at}");
    let keys: BTreeSet<String> = rows(&machine.files).into_iter().map(|row| row.key).collect();
    assert_eq!(keys.len(), expected.len(), "{at}: an event is there twice");
    assert_eq!(acknowledged(&machine.files).2, 0, "{at}");
    // And a page that is all known writes nothing.
    let (bytes, checkpoint) = (machine.files.contents(LOG).ok(), machine.files.contents(CHECKPOINT).ok());
    run(scenario, machine).unwrap_or_else(|error| panic!("{at}: {error}"));
    assert_eq!(
        (machine.files.contents(LOG).ok(), machine.files.contents(CHECKPOINT).ok()),
        (bytes, checkpoint)
    );
}

fn gaps(machine: &Simulation) -> usize {
    rows(&machine.files).iter().filter(|row| row.gap.as_deref() == Some("interrupted-append")).count()
}

fn each_point(mut judge: impl FnMut(&Scenario, u64, OperationKind, &[String])) -> u32 {
    let mut points = 0;
    for scenario in SCENARIOS {
        let (operations, expected) = undisturbed(scenario);
        for (number, kind) in (1..).zip(operations) {
            judge(scenario, number, kind, &expected);
            points += 1;
        }
    }
    points
}

/// Crashes at and after an operation, and in the middle of what it writes.
fn crashes(number: u64, kind: OperationKind) -> Vec<Fault> {
    let torn = |bytes| Fault::new(Point::at(number), Action::Torn { bytes }).expect("a fault");
    let mut faults = vec![Fault::crash_at(number), Fault::crash_after(number)];
    if kind.writes_bytes() {
        faults.extend([1, 100, 450, 40_000].map(torn));
    }
    faults
}

#[test]
fn ex_jrn_24_a_crash_of_the_process_at_any_operation_and_the_page_again_make_one_record_an_event() {
    let points = each_point(|scenario, number, kind, expected| {
        for fault in crashes(number, kind) {
            let crashing = prepared(scenario);
            let before = log(&crashing.files);
            let at = format!("{}, {fault:?}", scenario.name);
            crashing.files.set_faults([fault]);
            let _ = run(scenario, &crashing);
            assert!(crashing.files.is_dead(), "{at}: not reached");
            let survivor = crashing.another_process();
            let at = format!("{at} of {:?}", crashing.files.trace());
            assert_recovers(scenario, &survivor, &before, expected, &at);
            assert!(gaps(&survivor) <= scenario.gaps + 1, "{at}: more than one gap");
        }
    });
    assert!(points > 150, "only {points} points");
}

#[test]
fn i8_and_i9_hold_in_every_image_after_a_crash_of_the_machine() {
    let mut images = 0_u64;
    each_point(|scenario, number, kind, expected| {
        // What a crash just before an operation leaves, one just after the last operation has left.
        for fault in crashes(number, kind).into_iter().skip(1) {
            let crashing = prepared(scenario);
            let before = log(&crashing.files);
            crashing.files.set_faults([fault]);
            let _ = run(scenario, &crashing);
            for CrashImage { description, files } in crashing.files.images_after_crash().seeded(number, 2) {
                images += 1;
                let at = format!("{}, operation {number}, {description}", scenario.name);
                let booted = crashing.rebooted(&files);
                assert_recovers(scenario, &booted, &before, expected, &at);
                assert!(gaps(&booted) <= scenario.gaps + 1, "{at}: more than one gap");
            }
        }
    });
    assert!(images > 1_000, "only {images} images");
}

#[test]
fn what_an_append_has_returned_survives_the_machine() {
    for scenario in SCENARIOS {
        let machine = prepared(scenario);
        run(scenario, &machine).expect(scenario.name);
        let (bytes, checkpoint) = (machine.files.contents(LOG).ok(), machine.files.contents(CHECKPOINT).ok());
        for image in machine.files.images_after_crash().seeded(1, 32) {
            let at = format!("{}, {}", scenario.name, image.description);
            assert_eq!(image.files.contents(LOG).ok(), bytes, "{at}");
            assert_eq!(image.files.contents(CHECKPOINT).ok(), checkpoint, "{at}");
        }
    }
}

/// Crashes one after the other, each on an image that the one before has left, and no page ever completed.
#[test]
fn ex_jrn_18_a_recovery_that_is_interrupted_again_and_again_makes_no_second_gap() {
    let mut depth = 0_u32;
    for seed in 0..400_u64 {
        let scenario = &SCENARIOS[usize::try_from(seed).expect("small") % SCENARIOS.len()];
        let (operations, expected) = undisturbed(scenario);
        let mut machine = prepared(scenario);
        let mut chance = seed;
        let mut draw = |below: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) % below
        };
        let before = log(&machine.files);
        for _ in 0..4 {
            let at = draw(operations.len() as u64);
            let kind = operations[usize::try_from(at).expect("small")];
            let faults = crashes(machine.files.last_number() + 1 + at, kind);
            let fault = faults[usize::try_from(draw(faults.len() as u64)).expect("small")].clone();
            machine.files.set_faults([fault]);
            let _ = run(scenario, &machine);
            if !machine.files.is_dead() {
                break;
            }
            depth += 1;
            let images: Vec<CrashImage> = machine.files.images_after_crash().seeded(seed, 4).collect();
            let image = &images[usize::try_from(draw(images.len() as u64)).expect("small")];
            machine = machine.rebooted(&image.files);
        }
        machine.files.set_faults([]);
        let at = format!("seed {seed}, {}", scenario.name);
        assert_recovers(scenario, &machine, &before, &expected, &at);
    }
    assert!(depth > 800, "only {depth} crashes");
}

#[test]
fn ex_jrn_82_an_operation_that_fails_leaves_no_gap_and_the_repeated_page_appends_the_same_events() {
    let mut failed = 0;
    each_point(|scenario, number, kind, expected| {
        for errno in [Errno::ENOSPC, Errno::EIO] {
            let short = kind.writes_bytes().then_some(Action::Short { bytes: 17, errno });
            for action in [Action::Error(errno), Action::ErrorAfter(errno)].into_iter().chain(short) {
                let Ok(fault) = Fault::new(Point::at(number), action) else { continue };
                let machine = prepared(scenario);
                let before = log(&machine.files);
                machine.files.set_faults([fault]);
                let outcome = run(scenario, &machine);
                let at =
                    format!("{}, operation {number}, {action:?}: {:?}", scenario.name, machine.files.trace());
                if let Err(error) = &outcome {
                    failed += 1;
                    assert_eq!(error.code(), Code::ExecutionIo, "{at}: {error}");
                    assert!(!error.remedy().is_empty() && !error.message().contains('\n'), "{at}: {error}");
                }
                machine.files.set_faults([]);
                // What the failed call took back itself leaves nothing for a recovery.
                assert!(gaps(&machine) <= scenario.gaps, "{at}");
                assert_recovers(scenario, &machine, &before, expected, &at);
                assert!(gaps(&machine) <= scenario.gaps, "{at}: a gap although nothing has crashed");
            }
        }
    });
    assert!(failed > 300, "only {failed} calls failed");
}

#[test]
fn c_027_a_disk_that_fills_up_at_any_byte_leaves_the_old_length_and_no_gap() {
    let mut stayed = 0;
    for scenario in SCENARIOS {
        let (_, expected) = undisturbed(scenario);
        for bytes in (0..1_600).step_by(31).chain((1_600..160_000).step_by(7_919)) {
            let machine = prepared(scenario);
            let before = log(&machine.files);
            let was_pending = acknowledged(&machine.files).2 > 0;
            machine.files.set_room(Some(bytes));
            let outcome = run(scenario, &machine);
            let at = format!("{} with room for {bytes}", scenario.name);
            if let Err(error) = outcome {
                assert_eq!((error.code(), error.os_error()), (Code::ExecutionIo, Some(28)), "{at}: {error}");
                if acknowledged(&machine.files).2 == 0 {
                    assert_eq!(machine.files.contents(LOG).unwrap_or_default(), log(&machine.files), "{at}");
                }
            }
            // Where the disk had no room to say that nothing is pending either, a recovery has work to do.
            let stays = usize::from(acknowledged(&machine.files).2 > 0);
            stayed += if was_pending { 0 } else { stays };
            machine.files.set_room(None);
            assert_recovers(scenario, &machine, &before, &expected, &at);
            assert!(gaps(&machine) <= scenario.gaps + stays, "{at}: a gap although nothing has crashed");
        }
    }
    assert!(stayed < 30, "{stayed} batches stayed pending");
}

/// One process that goes on after its calls have failed: what it remembers is what stands there.
#[test]
fn a_journal_that_is_kept_open_goes_on_after_every_failure() {
    for scenario in SCENARIOS {
        let (operations, expected) = undisturbed(scenario);
        for number in 1..=operations.len() as u64 {
            for errno in [Errno::ENOSPC, Errno::EIO] {
                let machine = prepared(scenario);
                let mut journal: Journal = journal(&machine);
                machine.files.set_faults([Fault::error_at(machine.files.last_number() + number, errno)]);
                let first = journal.append(&(scenario.page)());
                machine.files.set_faults([]);
                let second = journal.append(&(scenario.page)());
                let at = format!("{}, operation {number} fails with {}", scenario.name, errno.name());
                let second = second.unwrap_or_else(|error| panic!("{at}: {error}"));
                assert_eq!(ids(&machine), expected, "{at}");
                if let Ok(first) = first {
                    let numbers = |appended: &gallivant_core::journal::Appended| {
                        appended.placed.iter().map(|placed| placed.sequence).collect::<Vec<_>>()
                    };
                    assert_eq!(numbers(&first), numbers(&second), "{at}");
                    assert!(second.placed.iter().all(|placed| placed.how == How::Known), "{at}");
                }
            }
        }
    }
}

#[test]
fn what_a_crashed_writer_left_staged_is_removed_after_an_hour() {
    let scenario = &SCENARIOS[1];
    let (operations, _) = undisturbed(scenario);
    let mut left = 0;
    for number in 1..=operations.len() as u64 {
        let crashing = prepared(scenario);
        crashing.files.set_faults([Fault::crash_at(number)]);
        let _ = run(scenario, &crashing);
        let survivor = crashing.another_process();
        let staged = |machine: &Simulation| {
            let names = machine.files.names(RUN).expect("listed");
            names.iter().filter(|name| name.contains(".tmp-")).count()
        };
        left += staged(&survivor);
        survivor.clock.advance(std::time::Duration::from_secs(2 * 60 * 60));
        run(scenario, &survivor).expect("it recovers");
        assert_eq!(staged(&survivor), 0, "operation {number}");
    }
    assert!(left > 0, "no crash left anything staged");
}

#[test]
fn a_torn_tail_inside_a_character_is_a_torn_tail() {
    let machine = machine();
    three(&machine);
    let before = machine.files.contents(LOG).expect("a log");
    let mut under_way = journal(&machine);
    let mut page_under_way = under_way.begin(&[event("p", "äöü")]).expect("begun");
    while under_way.advance(&mut page_under_way).expect("goes on").is_some() {
        if machine.files.contents(LOG).expect("a log").len() > before.len() {
            break;
        }
    }
    let whole = machine.files.contents(LOG).expect("a log");
    let character = whole.iter().rposition(|byte| *byte == 0xc3).expect("half a character") + 1;
    machine.files.plant_file(LOG, &whole[..character]).expect("planted");
    append(&machine, &[event("p", "äöü"), event("q", "x")]).expect("recovered");
    let text = String::from_utf8(log(&machine.files)).expect("UTF-8 throughout");
    let last: Vec<_> = text.lines().skip(3).map(row).collect();
    assert_eq!(last[0].gap.as_deref(), Some("interrupted-append"));
    assert_eq!((last[0].event_id.as_str(), last[1].event_id.as_str(), last.len()), ("p", "q", 2));
}
