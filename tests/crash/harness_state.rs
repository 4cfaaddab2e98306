//! Harness state: HSI-5 and HS-29 at every operation, and every operation failing.

use std::time::Duration;

use gallivant_core::harness_state::adapters::{Child, ChildStep, Harness};
use gallivant_core::harness_state::{
    Claimant, Heartbeat, NewSession, Observation, Options, Outcome, Reader, Session, SessionEnvironment,
    State, Writer, WriterIdentity, claim, claim_wrapperless, decode, observe_hook,
};
use gallivant_core::testing::{Action, Errno, Fault, OperationKind, Point, Simulation, simulated_host};
use gallivant_core::{Code, Error, Host};

const DIR: &str = "/agents/a";
const RECORD: &str = "/agents/a/harness-state";
const FLOOR: &str = "/agents/a/.harness-state.seq";
const STAGED: &str = "tmp-";

/// One call, over what stood before it.
struct Scenario {
    name: &'static str,
    prepare: fn(&Host),
    run: fn(&Host) -> Result<Ran, Error>,
    /// Whether the call is durable once it has returned.
    durable: bool,
}

/// What a call that returned has promised.
#[derive(Debug)]
enum Ran {
    /// It answered; whether as it should when nothing fails.
    Answered(bool),
    /// It claimed this sequence.
    Claimed(u64),
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "the first claim", prepare: |_| {}, run: |host| take(host, "tok-b"), durable: true },
    Scenario { name: "a claim over a record", prepare: live, run: |host| take(host, "tok-b"), durable: true },
    Scenario {
        name: "a claim without a wrapper",
        prepare: |host| {
            live(host);
            writer(host).ended(Some("exit 0")).expect("prepared");
        },
        run: |host| {
            let claimed = claim_wrapperless(DIR, &claimant("claude-session-b"), &Options::default(), host)?;
            // Not free is the answer where what stands there cannot be read.
            Ok(claimed.map_or(Ran::Answered(false), |claimed| Ran::Claimed(claimed.sequence)))
        },
        durable: true,
    },
    Scenario {
        name: "the first observation",
        prepare: |_| {},
        run: |host| {
            let writer = Writer::open(DIR, identity(), None, &Options::default(), host)?;
            landed(writer.observe(&Observation::new(State::Active))?.outcome)
        },
        durable: false,
    },
    Scenario {
        name: "a transition",
        prepare: live,
        run: |host| landed(writer(host).observe(&Observation::new(State::Idle))?.outcome),
        durable: false,
    },
    Scenario {
        name: "a heartbeat",
        prepare: live,
        run: |host| Ok(Ran::Answered(matches!(writer(host).heartbeat()?, Heartbeat::Landed { .. }))),
        durable: false,
    },
    Scenario {
        name: "a restatement",
        prepare: live,
        run: |host| {
            let outcome = writer(host).observe(&Observation::new(State::Active))?.outcome;
            Ok(Ran::Answered(outcome == Outcome::Coalesced))
        },
        durable: true,
    },
    Scenario {
        name: "an ending with an exit",
        prepare: live,
        run: |host| landed(writer(host).ended(Some("signal 9"))?.outcome),
        durable: true,
    },
    Scenario {
        name: "the start of a session",
        prepare: live,
        run: |host| {
            let new = NewSession {
                directory: DIR.into(),
                agent: "a".to_owned(),
                harness: "codex".to_owned(),
                pty_session: Some("p".to_owned()),
                token: None,
            };
            Ok(Ran::Claimed(Session::start(new, &Options::default(), host)?.claim().sequence))
        },
        durable: true,
    },
    Scenario {
        name: "an action under ownership",
        prepare: live,
        run: |host| Ok(Ran::Answered(writer(host).with_current_ownership(|| 7)? == Some(7))),
        durable: true,
    },
    Scenario {
        name: "a child that starts",
        prepare: live,
        run: |host| {
            let child = Child { id: "c".to_owned(), step: ChildStep::Started };
            landed(writer(host).note_child(&child)?.outcome)
        },
        durable: false,
    },
    Scenario {
        name: "a late event over an ending",
        prepare: |host| {
            live(host);
            writer(host).ended(Some("exit 0")).expect("prepared");
        },
        run: |host| hook(host, "PostToolUse"),
        durable: true,
    },
    Scenario { name: "a hook", prepare: live, run: |host| hook(host, "Stop"), durable: false },
    Scenario {
        name: "a hook that only logs, over a full log",
        prepare: |host| {
            live(host);
            for _ in 0..900 {
                hook(host, "Notification").expect("prepared");
            }
        },
        run: |host| hook(host, "Notification"),
        durable: true,
    },
];

fn claimant(token: &str) -> Claimant {
    Claimant { agent: "a".to_owned(), harness: "codex".to_owned(), token: token.to_owned() }
}

fn identity() -> WriterIdentity {
    claimant("tok-a").writer_identity(Some("p".to_owned()))
}

/// A live record of tok-a, sequence 1.
fn live(host: &Host) {
    claim(DIR, &claimant("tok-a"), &Options::default(), host).expect("prepared");
    writer(host).observe(&Observation::new(State::Active)).expect("prepared");
}

fn writer(host: &Host) -> Writer {
    Writer::open(DIR, identity(), Some(1), &Options::default(), host).expect("a writer")
}

fn take(host: &Host, token: &str) -> Result<Ran, Error> {
    Ok(Ran::Claimed(claim(DIR, &claimant(token), &Options::default(), host)?.sequence))
}

fn landed(outcome: Outcome) -> Result<Ran, Error> {
    Ok(Ran::Answered(outcome == Outcome::Landed))
}

fn hook(host: &Host, event: &str) -> Result<Ran, Error> {
    let session = SessionEnvironment { agent_dir: DIR.to_owned(), identity: identity(), sequence: Some(1) };
    let payload = format!("{{\"hook_event_name\":\"{event}\"}}");
    let report = observe_hook(Harness::Claude, payload.as_bytes(), Some(&session), &Options::default(), host);
    match report.outcome {
        gallivant_core::harness_state::HookOutcome::Failed(error) => Err(error),
        _ => Ok(Ran::Answered(true)),
    }
}

/// A machine on which the scenario's past is durable, and the record that stood.
fn prepared(scenario: &Scenario, exchanges: bool) -> (Simulation, Option<Vec<u8>>) {
    let (host, simulation) = simulated_host(7);
    simulation.files.set_gains_by_exchange(exchanges);
    (scenario.prepare)(&host);
    simulation.files.sync_everything();
    let user = simulation.another_process();
    let before = user.files.contents(RECORD).ok();
    (user, before)
}

/// How many operations the call makes when nothing fails, and the record that it leaves.
fn undisturbed(scenario: &Scenario, exchanges: bool) -> (u64, Option<Vec<u8>>) {
    let (simulation, _) = prepared(scenario, exchanges);
    let ran = (scenario.run)(&simulation.host()).unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
    assert!(!matches!(ran, Ran::Answered(false)), "{}", scenario.name);
    (simulation.files.last_number(), simulation.files.contents(RECORD).ok())
}

/// A session's token is random, and counters restart over what could not be read, so both are left out.
fn same_record(found: &[u8], expected: Option<&[u8]>) -> bool {
    let (Ok(found), Some(Ok(expected))) = (decode(found), expected.map(decode)) else { return false };
    let comparable = |record: gallivant_core::harness_state::Record| {
        let token =
            if record.incarnation.starts_with("tok-") { record.incarnation.clone() } else { String::new() };
        gallivant_core::harness_state::Record {
            incarnation: token,
            written_at_ms: 0,
            since_ms: 0,
            transitions: 0,
            ..record
        }
    };
    comparable(found) == comparable(expected)
}

fn each_point(mut judge: impl FnMut(&Scenario, bool, u64, u64)) -> u32 {
    let mut points = 0;
    for scenario in SCENARIOS {
        for exchanges in [true, false] {
            let (operations, _) = undisturbed(scenario, exchanges);
            assert!(operations > 0);
            for number in 1..=operations {
                judge(scenario, exchanges, number, operations);
                points += 1;
            }
        }
    }
    points
}

#[test]
fn hsi_5_a_crash_of_the_process_leaves_a_record_that_a_completed_write_wrote() {
    let points = each_point(|scenario, exchanges, number, _| {
        let (_, after) = undisturbed(scenario, exchanges);
        for fault in [Fault::crash_at(number), Fault::crash_after(number)] {
            let (crashing, before) = prepared(scenario, exchanges);
            crashing.files.set_faults([fault]);
            let _ = (scenario.run)(&crashing.host());
            assert!(crashing.files.is_dead(), "{}: operation {number} was not reached", scenario.name);
            crashing.processes.end(1001);

            let at = format!("{}, operation {number} of {:?}", scenario.name, crashing.files.trace());
            let survivor = crashing.another_process();
            match survivor.files.contents(RECORD) {
                Err(_) => assert_eq!(before, None, "{at}: the record is gone"),
                Ok(found) => {
                    let whole = before.as_ref() == Some(&found) || same_record(&found, after.as_deref());
                    assert!(whole, "{at}: {}", String::from_utf8_lossy(&found));
                }
            }
            // The dead process holds nothing, and the next claim goes on from what it left.
            let host = survivor.host();
            let highest = |path: &str| survivor.files.contents(path).ok();
            let seq = highest(RECORD).map_or(0, |bytes| decode(&bytes).expect("it decodes").seq);
            let claimed =
                claim(DIR, &claimant("tok-z"), &Options::default(), &host).expect("the seat is free");
            assert!(claimed.sequence > seq, "{at}");
            // What it left staged belongs to nobody after an hour.
            survivor.clock.advance(Duration::from_secs(2 * 60 * 60));
            claim(DIR, &claimant("tok-z"), &Options::default(), &host).expect("claimed");
            let names = survivor.files.names(DIR).expect("listed");
            assert!(!names.iter().any(|name| name.contains(STAGED)), "{at}: {names:?}");
        }
    });
    assert!(points > 200, "only {points} points");
}

#[test]
fn hs_29_a_crash_of_the_machine_leaves_the_old_record_the_new_one_or_what_reads_as_unknown() {
    let mut images = 0_u64;
    each_point(|scenario, exchanges, number, _| {
        let (_, after) = undisturbed(scenario, exchanges);
        let (crashing, before) = prepared(scenario, exchanges);
        crashing.files.set_faults([Fault::crash_after(number)]);
        let _ = (scenario.run)(&crashing.host());
        for image in crashing.files.images_after_crash().seeded(number, 8) {
            images += 1;
            let at = format!("{}, after operation {number}, {}", scenario.name, image.description);
            let machine = crashing.rebooted(&image.files);
            let host = machine.host();
            let derived = Reader::open(DIR, &Options::default(), &host).read(None);
            match machine.files.contents(RECORD).ok() {
                None => assert!(!scenario.durable || before.is_none(), "{at}: the record is gone"),
                Some(found) => {
                    let whole = before.as_ref() == Some(&found) || same_record(&found, after.as_deref());
                    if !whole {
                        assert!(!scenario.durable, "{at}: {}", String::from_utf8_lossy(&found));
                        let state = derived.expect("something stands there").state;
                        assert_eq!(state, State::Unknown, "{at}: {}", String::from_utf8_lossy(&found));
                    }
                }
            }
            let claimed =
                claim(DIR, &claimant("tok-z"), &Options::default(), &host).expect("the seat is free");
            let before_seq = before.as_deref().map_or(0, |bytes| decode(bytes).expect("it decodes").seq);
            assert!(claimed.sequence > before_seq, "{at}");
        }
    });
    assert!(images > 1_000, "only {images} images");
}

#[test]
fn hs_29_what_a_durable_call_has_returned_survives_the_machine() {
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.durable) {
        for exchanges in [true, false] {
            let (simulation, _) = prepared(scenario, exchanges);
            let ran = (scenario.run)(&simulation.host()).expect(scenario.name);
            let after = simulation.files.contents(RECORD).expect("a record");
            let floor = simulation.files.contents(FLOOR).expect("a floor");
            for image in simulation.files.images_after_crash().seeded(1, 32) {
                let at = format!("{}, {}", scenario.name, image.description);
                assert_eq!(image.files.contents(RECORD).expect("a record"), after, "{at}");
                assert_eq!(image.files.contents(FLOOR).expect("a floor"), floor, "{at}");
                if let Ran::Claimed(sequence) = ran {
                    let host = simulation.rebooted(&image.files).host();
                    let next = claim(DIR, &claimant("tok-z"), &Options::default(), &host).expect("claimed");
                    assert_eq!(next.sequence, sequence + 1, "{at}");
                }
            }
        }
    }
}

#[test]
fn every_operation_that_fails_gives_an_error_with_a_remedy_and_loses_nothing() {
    let mut failed = 0;
    each_point(|scenario, exchanges, number, _| {
        let (_, after) = undisturbed(scenario, exchanges);
        for errno in [Errno::ENOSPC, Errno::EIO, Errno::EROFS, Errno::EACCES, Errno::ENOLCK, Errno::EINTR] {
            let (simulation, before) = prepared(scenario, exchanges);
            simulation.files.set_faults([Fault::error_at(number, errno)]);
            let outcome = (scenario.run)(&simulation.host());
            let trace = simulation.files.trace();
            let at = format!("{}, operation {number} fails with {}: {trace:?}", scenario.name, errno.name());
            if let Err(error) = &outcome {
                failed += 1;
                let expected = [Code::HarnessStateIo, Code::HarnessStateLocking];
                assert!(expected.contains(&error.code()), "{at}: {error}");
                assert!(!error.remedy().is_empty() && !error.message().contains('\n'), "{at}: {error}");
            }
            let found = simulation.files.contents(RECORD).ok();
            let whole =
                found == before || found.as_deref().is_some_and(|found| same_record(found, after.as_deref()));
            assert!(whole, "{at}: {found:?}");
            // Residue is left only where removing it was what failed.
            let failed_operation = &trace[usize::try_from(number).expect("small") - 1];
            let names = simulation.files.names("/agents/a").unwrap_or_default();
            let residue = names.iter().any(|name| name.contains(STAGED));
            assert!(!residue || failed_operation.starts_with("remove"), "{at}: {names:?}");
            // The fault is over: the next call works, and no lock was left behind.
            simulation.files.set_faults([]);
            claim(DIR, &claimant("tok-z"), &Options::default(), &simulation.host()).expect(&at);
        }
    });
    assert!(failed > 300, "only {failed} calls failed");
}

#[test]
fn a_disk_that_fills_up_at_any_byte_keeps_the_old_record() {
    for scenario in SCENARIOS {
        let (_, after) = undisturbed(scenario, true);
        for bytes in (0..420).step_by(7) {
            let (simulation, before) = prepared(scenario, true);
            simulation.files.set_room(Some(bytes));
            let outcome = (scenario.run)(&simulation.host());
            let found = simulation.files.contents(RECORD).ok();
            match outcome {
                Ok(_) => assert!(
                    found == before
                        || found.as_deref().is_some_and(|found| same_record(found, after.as_deref()))
                ),
                Err(error) => {
                    assert_eq!((error.code(), error.os_error()), (Code::HarnessStateIo, Some(28)), "{error}");
                    assert_eq!(found, before, "{} with room for {bytes}", scenario.name);
                }
            }
            let names = simulation.files.names(DIR).unwrap_or_default();
            assert!(!names.iter().any(|name| name.contains(STAGED)), "{}: {names:?}", scenario.name);
        }
    }
}

#[test]
fn hs_29_a_directory_whose_maker_died_before_it_was_synced_is_durable_after_the_first_claim() {
    for (crash, nested) in [("/agents", DIR), (DIR, DIR)] {
        let (_, maker) = simulated_host(3);
        if crash == DIR {
            maker.files.plant_directory("/agents").expect("planted");
        }
        let point = Point::on(OperationKind::MakeDirectory).named(crash);
        maker.files.set_faults([Fault::new(point, Action::CrashAfter).expect("a fault")]);
        claim(nested, &claimant("tok-a"), &Options::default(), &maker.host()).expect_err("it crashed");
        assert!(maker.files.is_dead());
        let second = maker.another_process();
        let claimed =
            claim(nested, &claimant("tok-b"), &Options::default(), &second.host()).expect("claimed");
        for image in second.files.images_after_crash().seeded(1, 16) {
            let record =
                image.files.contents(RECORD).unwrap_or_else(|error| panic!("{}: {error}", image.description));
            assert_eq!(decode(&record).expect("whole").seq, claimed.sequence);
        }
    }
}
