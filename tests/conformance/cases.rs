//! Field cases: faults that were reported against comparable software, as small inputs with the right answer. Each test
//! is named after its case; the inputs are in `tests/vectors/cases`.
//!
//! Where a case asks for what the specification does not, the specification decides and the test's comment says so. More
//! of C-003, C-004, C-006 and C-016 is in `harness_adapters.rs`, of C-001 in `tests/races`, of C-008 in `tests/interop`, of
//! C-020, C-064 and C-066 in the tests of the Python and Node packages.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use gallivant_core::clock::{Clock, ClockReading};
use gallivant_core::harness_state::adapters::Harness;
use gallivant_core::harness_state::{
    FleetOptions, FleetProbe, Options, Outcome, ProcessProbe, Reader, Refusal, SessionEnvironment, State,
    UnknownReason, claim, decode, observe_hook, read_fleet,
};
use gallivant_core::process::ProcessFact;
use gallivant_core::testing::{OperationKind, Simulation, simulated_host};
use gallivant_core::{Code, Host};

use crate::support::ground::Ground;
use crate::support::locks::BRIEF_WAIT_MS;
use crate::support::{Seat, active, claimant, identity, idle, line, observe};

/// An input of a case, under our own schema.
fn input(file: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors/cases").join(file);
    let bytes = std::fs::read(path).expect("the case is there");
    match String::from_utf8(bytes) {
        Ok(text) => text.replace("PLACEHOLDER", "st2").into_bytes(),
        Err(other) => other.into_bytes(),
    }
}

fn json(file: &str) -> serde_json::Value {
    serde_json::from_slice(&input(file)).expect("it is JSON")
}

/// The events of a case: when each comes, in ms from the first, and its payload.
fn events(file: &str) -> Vec<(u64, Vec<u8>)> {
    let text = String::from_utf8(input(file)).expect("UTF-8");
    let event = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).expect("an event a line");
        (line["at_ms"].as_u64().expect("a time"), line["payload"].to_string().into_bytes())
    };
    text.lines().map(event).collect()
}

fn session(seat: &Seat) -> SessionEnvironment {
    let sequence = Some(seat.claim("tok-A").sequence);
    let agent_dir = seat.dir.to_str().expect("UTF-8").to_owned();
    SessionEnvironment { agent_dir, identity: identity("tok-A"), sequence }
}

fn hook(seat: &Seat, session: &SessionEnvironment, payload: &[u8]) -> &'static str {
    observe_hook(Harness::Claude, payload, Some(session), &seat.options, seat.machine.host()).outcome.word()
}

/// Replays a case's events at their times and tells the outcome of each.
fn replay(seat: &Seat, session: &SessionEnvironment, file: &str) -> Vec<&'static str> {
    let mut at = 0;
    let mut outcomes = Vec::new();
    for (at_ms, payload) in events(file) {
        seat.advance(i64::try_from(at_ms - at).expect("in order"));
        at = at_ms;
        outcomes.push(hook(seat, session, &payload));
    }
    outcomes
}

#[test]
fn c_001_a_record_that_was_cut_is_malformed_and_nothing_older_is_put_back() {
    let seat = Seat::new();
    let owner = seat.owner("tok-a");
    observe(&owner, &active());
    let cut = input("C-001.truncated.state.json");
    assert_eq!(cut.trim_ascii_end().len(), 77 - "PLACEHOLDER".len() + "st2".len());
    seat.plant("harness-state", &cut);
    for _ in 0..3 {
        let derived = seat.read().expect("something stands there");
        assert_eq!(derived.unknown, Some(UnknownReason::MalformedRecord));
    }
    assert_eq!(observe(&owner, &idle()), Outcome::Refused(Refusal::Unreadable));
    assert_eq!(seat.bytes("harness-state"), Some(cut), "neither readers nor writers repair it by themselves");
    assert_eq!(seat.claim("tok-b").sequence, 2);
}

#[test]
fn c_003_a_turn_that_falls_silent_is_stale_after_its_time_and_never_idle() {
    for file in ["C-003.interrupt.hooks.jsonl", "C-003.toolend.hooks.jsonl"] {
        let seat = Seat::new();
        let session = session(&seat);
        replay(&seat, &session, file);
        assert_eq!(seat.reads(), (State::Active, None), "{file}");
        let stands = seat.bytes("harness-state");
        // Its time runs from the last stamp; what repeated it since was no news.
        let until = seat.read().expect("a record").valid_until_ms.expect("it has a bound");
        let now = seat.machine.host().clock.wall_ms();
        assert!(until - now <= seat.options.stale_ms, "{file}");
        seat.advance(i64::try_from(until - now).expect("small") - 1);
        assert_eq!(seat.reads().0, State::Active, "{file}");
        seat.advance(1);
        assert_eq!(seat.reads(), (State::Unknown, Some("stale".to_owned())), "{file}");
        assert_eq!(seat.bytes("harness-state"), stands, "a reader writes nothing");
        assert_eq!(hook(&seat, &session, br#"{"hook_event_name":"UserPromptSubmit"}"#), "landed");
        assert_eq!(seat.reads().0, State::Active, "{file}");
    }
}

#[test]
fn c_004_only_the_typed_field_of_a_notification_decides() {
    let seat = Seat::new();
    let session = session(&seat);
    let mut told = Vec::new();
    for (_, payload) in events("C-004.notifications.hooks.jsonl") {
        hook(&seat, &session, &payload);
        let derived = seat.read().expect("observed");
        told.push(format!("{} {}", derived.state.word(), derived.blocked_on.word()));
    }
    // The case's `blocked` is our `active`, blocked on a human.
    let expected = ["active none", "idle none", "idle none", "active none", "active human", "active none"];
    assert_eq!(told[..6], expected);
    assert!(told[6..].iter().all(|told| told == "active none"), "{told:?}");
    let log = seat.text(".harness-state.log").expect("two were counted");
    assert_eq!(log.lines().count(), 2, "{log}");
    assert!(log.contains("unknown-notification") && log.contains("untyped-notification"), "{log}");
}

/// The ids of payloads are no part of our record (HS-112): the case would have them kept as an attribute.
#[test]
fn c_006_ids_that_wander_make_no_second_agent_and_no_transition() {
    let seat = Seat::new();
    let session = session(&seat);
    assert_eq!(replay(&seat, &session, "C-006.alternating.hooks.jsonl")[0], "landed");
    let record = seat.record();
    assert_eq!((record.state.value, record.transitions), (State::Active, 1), "one since the claim");
    let seat = Seat::new();
    let session = self::session(&seat);
    replay(&seat, &session, "C-006.resume.hooks.jsonl");
    assert_eq!(seat.reads().0, State::Idle);
    let records = seat.names().into_iter().filter(|name| !name.starts_with('.')).collect::<Vec<_>>();
    assert_eq!(records, ["harness-state"]);
}

/// A machine with a record of a process of this boot, host and pid namespace.
fn left_over() -> (Host, Simulation) {
    let (host, simulation) = simulated_host(1);
    simulation.clock.advance(Duration::from_secs(900));
    simulation.processes.set_boot("B1");
    simulation.processes.set_host("h1");
    let mut record = decode(&input("C-011.leftover.state.json")).expect("unknown members are skipped");
    record.written_at_ms = simulation.clock.wall_ms();
    let mut text = String::from_utf8(gallivant_core::harness_state::encode(&record)).expect("UTF-8");
    text.truncate(text.len() - 2);
    text += concat!(
        r#","gallivant":{"bootId":"B1","bootMs":900000,"awakeMs":900000,"host":"h1","#,
        r#""process":{"pid":4242,"start":900,"pidns":"pid:[4026531836]"}}}"#,
    );
    simulation.files.plant_file("/agent/harness-state", text + "\n").expect("planted");
    (host, simulation)
}

/// The case's `owner_gone` is our `session-dead` where a probe proves it and `rebooted` where the boot does. A new claim
/// stores our placeholder, which reads `claimed`, and journals nothing: the case would have it store idle.
#[test]
fn c_011_an_owner_that_is_provably_gone_is_not_running_for_ever() {
    let read = |change: &dyn Fn(&Simulation)| {
        let (host, simulation) = left_over();
        simulation.processes.start(4242, 900);
        change(&simulation);
        let reader = Reader::open("/agent", &Options::default(), &host);
        let snapshot = reader.snapshot();
        let known = snapshot.record().and_then(|record| record.extension.as_ref()).expect("it is there");
        let probe = ProcessProbe::new(known.process_identity().expect("named"), &host);
        let derived = reader.read(Some(&probe)).expect("a record");
        derived.unknown.map_or(derived.state.word(), UnknownReason::word)
    };
    assert_eq!(read(&|machine| machine.processes.end(4242)), "session-dead");
    assert_eq!(
        read(&|machine| machine.processes.start(4242, 15_000)),
        "session-dead",
        "the pid is another's"
    );
    assert_eq!(read(&|machine| machine.processes.set_boot("B2")), "rebooted");
    assert_eq!(read(&|machine| machine.clock.advance(Duration::from_secs(3))), "active");
    // What cannot be proved is judged by age alone.
    for unproved in [
        &(|machine: &Simulation| machine.processes.set_host("h2")) as &dyn Fn(&Simulation),
        &|machine: &Simulation| machine.processes.set_readable(false),
        &|machine: &Simulation| machine.processes.set(4242, ProcessFact::Unreadable),
    ] {
        assert_eq!(read(unproved), "active");
        let late = |machine: &Simulation| {
            unproved(machine);
            machine.clock.advance(Duration::from_secs(900));
        };
        assert_eq!(read(&late), "stale");
    }
    let (host, _simulation) = left_over();
    let claimed = claim("/agent", &claimant("tok-b"), &Options::default(), &host).expect("claimed");
    assert_eq!(claimed.sequence, 4);
    let derived = Reader::open("/agent", &Options::default(), &host).read(None).expect("a record");
    assert_eq!(derived.unknown, Some(UnknownReason::Claimed));
}

/// Clocks that stand where a row of the table says.
#[derive(Debug)]
struct RowClock(ClockReading);

impl Clock for RowClock {
    fn wall_ms(&self) -> u64 {
        u64::try_from(self.0.wall.as_millis()).expect("64 bits")
    }

    fn boot(&self) -> Duration {
        self.0.boot
    }

    fn awake(&self) -> Duration {
        self.0.awake
    }

    fn sleep(&self, _length: Duration) {}
}

/// The case's `clock_skew` of another host is our `future-skew`.
#[test]
fn c_013_no_step_of_the_wall_clock_makes_a_record_younger_or_older() {
    let table = json("C-013.clock.table.json");
    let window = table["window_ms"].as_u64().expect("a window");
    let options = Options { stale_ms: window, refresh_ms: window / 3, ..Options::default() };
    let stamp = table["record"]["writtenAtMs"].to_string();
    let boot = table["record"]["bootMs"].as_u64().expect("a boot clock");
    let extension = format!(r#"{{"bootId":"B1","bootMs":{boot},"awakeMs":{boot},"host":"h1"}}"#);
    let line = line(&[("sinceMs", &stamp), ("writtenAtMs", &stamp), ("gallivant", &extension)]);
    let rows = table["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 6);
    for row in rows {
        let (base, simulation) = simulated_host(1);
        simulation.files.plant_file("/agent/harness-state", line.clone()).expect("planted");
        let elsewhere = row["boot"] == "none";
        simulation.processes.set_boot(row["boot"].as_str().expect("a boot"));
        simulation.processes.set_host(if elsewhere { "h2" } else { "h1" });
        let since_boot = Duration::from_millis(row["bootMs"].as_u64().unwrap_or(0));
        let wall_ms = row["wall"].as_u64().expect("a wall clock");
        let clock = RowClock(ClockReading {
            wall: Duration::from_millis(wall_ms),
            boot: since_boot,
            awake: since_boot,
        });
        let host = Host { clock: Arc::new(clock), ..base };
        let derived = Reader::open("/agent", &options, &host).read(None).expect("a record");
        let found = derived.unknown.map_or("fresh", UnknownReason::word);
        let expected = match row["derived"].as_str().expect("an answer") {
            "unknown/stale" => "stale",
            "unknown/owner_gone" => "rebooted",
            "unknown/clock_skew" => "future-skew",
            other => other,
        };
        assert_eq!(found, expected, "{row}");
        // Nothing reads as fresh for longer than the window in real time.
        let left = derived.valid_until_ms.map(|until| until - wall_ms);
        assert!(found != "fresh" || left.is_some_and(|left| left <= window), "{row}");
        assert_eq!(simulation.files.contents("/agent/harness-state").expect("it stays"), line.as_bytes());
    }
}

#[test]
fn c_015_a_rewrite_of_equal_size_in_the_same_tick_is_seen() {
    let ground = Ground::new();
    let fleet = ground.fleet();
    let (mut alike, mut last): (u32, Option<(i64, i64, u64)>) = (0, None);
    for number in 0..2_000 {
        // Two words of five letters: every file has the same size.
        let state = if number % 2 == 0 { "ready" } else { "child" };
        ground.publish("a", state);
        let stands = std::fs::metadata(ground.path("a/harness-state")).expect("it stands");
        let look = (stands.mtime(), stands.mtime_nsec(), stands.size());
        alike += u32::from(last == Some(look));
        last = Some(look);
        let view = fleet.read(FleetProbe::None);
        assert_eq!(view.entries[0].derived.state.word(), state, "after {number} replacements, {alike} alike");
    }
}

#[test]
fn c_016_an_own_record_with_a_byte_order_mark_is_malformed() {
    let bytes = input("C-016.bom.state.json");
    assert!(bytes.starts_with(b"\xef\xbb\xbf") && decode(&bytes[3..]).is_ok());
    let seat = Seat::new();
    seat.plant("harness-state", &bytes);
    assert_eq!(seat.read().expect("it stands").unknown, Some(UnknownReason::MalformedRecord));
}

/// The bad file is not kept aside, as the case would have it: a claim goes over it (HS-56).
#[test]
fn c_018_zeros_and_an_empty_file_are_malformed_and_a_claim_goes_on_from_the_floor() {
    for file in ["C-018.nul.state.json", "C-018.empty.state.json"] {
        let seat = Seat::new();
        for token in ["tok-a", "tok-b", "tok-c"] {
            seat.claim(token);
        }
        seat.plant("harness-state", input(file));
        let other = seat.root().join("other");
        std::fs::create_dir(&other).expect("another agent");
        std::fs::write(other.join("harness-state"), line(&[])).expect("its record");
        assert_eq!(seat.read().expect("it stands").unknown, Some(UnknownReason::MalformedRecord), "{file}");
        let (bounds, host) = (FleetOptions::default(), seat.machine.host());
        let view = read_fleet(seat.root(), &bounds, FleetProbe::None, &seat.options, host).expect("it lists");
        let found: Vec<_> = view.entries.iter().map(|entry| entry.derived.state).collect();
        assert_eq!(found, [State::Unknown, State::Active], "{file}");
        assert_eq!(seat.claim("tok-d").sequence, 4, "{file}");
    }
}

#[test]
fn c_018_a_claim_syncs_the_staged_file_before_the_rename_and_the_directory_after_it() {
    let (host, simulation) = simulated_host(1);
    simulation.files.plant_directory("/agent").expect("planted");
    claim("/agent", &claimant("tok-a"), &Options::default(), &host).expect("claimed");
    let kinds: Vec<_> = simulation.files.operations().iter().map(|operation| operation.kind).collect();
    let record: Vec<_> = kinds
        .into_iter()
        .skip_while(|kind| *kind != OperationKind::Create)
        .filter(|kind| *kind != OperationKind::Metadata)
        .take(5)
        .collect();
    let expected = [
        OperationKind::Create,
        OperationKind::Write,
        OperationKind::Sync,
        OperationKind::Rename,
        OperationKind::SyncDirectory,
    ];
    assert_eq!(record, expected);
}

#[test]
fn c_020_a_lock_ends_with_its_holder_and_not_with_the_programs_that_it_started() {
    let mut seat = Seat::new();
    seat.options.lock_wait = Duration::from_millis(BRIEF_WAIT_MS);
    let owner = seat.owner("tok-a");
    let guard = owner.lock_current_ownership().expect("no error").expect("owned");
    // Started by fork and exec, and nobody closes a descriptor for it.
    let mut child = std::process::Command::new("sleep").arg("30").spawn().expect("sleep starts");
    let busy = claim(&seat.dir, &claimant("tok-b"), &seat.options, seat.machine.host()).expect_err("held");
    assert_eq!(busy.code(), Code::HarnessStateBusy);
    drop(guard);
    assert_eq!(seat.claim("tok-b").sequence, 2, "free at once");
    child.kill().expect("killed");
    child.wait().expect("reaped");
}

/// An operator's `rm` under a holder's hands cannot be noticed by that holder; here the file is removed as often, each
/// time while nobody holds it, and whoever waits on the removed one has to find the new one.
#[test]
fn c_022_at_most_one_holder_although_the_lock_file_is_removed_again_and_again() {
    let seat = Seat::new();
    let owner = seat.owner("tok-a");
    let (inside, most, removed, stop) =
        (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let writer = seat.writer("tok-a", owner.sequence());
                while !stop.load(Ordering::Relaxed) {
                    let guard = writer.lock_current_ownership().expect("no error").expect("owned");
                    most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_micros(300));
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(guard);
                }
            });
        }
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let path = seat.path(".harness-state.lock");
                if let Ok(file) = std::fs::OpenOptions::new().read(true).write(true).open(&path) {
                    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).expect("locked");
                    let (held, stands) = (file.metadata().expect("open"), std::fs::metadata(&path));
                    if stands.is_ok_and(|stands| stands.ino() == held.ino()) {
                        std::fs::remove_file(&path).expect("removed");
                        removed.fetch_add(1, Ordering::Relaxed);
                    }
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        scope.spawn(|| {
            let started = Instant::now();
            while removed.load(Ordering::Relaxed) < 12 && started.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
    assert_eq!(most.load(Ordering::SeqCst), 1);
    assert!(removed.load(Ordering::Relaxed) >= 12, "{removed:?} removals");
}

#[test]
fn c_025_a_hook_gives_up_on_a_held_lock_and_refuses_at_once_where_locks_do_not_exclude() {
    let seat = Seat::new();
    let session = session(&seat);
    let owner = seat.writer("tok-A", Some(1));
    let guard = owner.lock_current_ownership().expect("no error").expect("owned");
    let takes = || {
        let started = Instant::now();
        assert_eq!(hook(&seat, &session, br#"{"hook_event_name":"Stop"}"#), "HARNESS_STATE_BUSY");
        started.elapsed()
    };
    // A busy machine may delay any single one.
    assert!((0..20).any(|_| takes() < Duration::from_millis(900)), "its deadline is a second");
    drop(guard);
    assert!(seat.text(".harness-state.log").is_some_and(|log| log.contains("HARNESS_STATE_BUSY")));

    let (host, simulation) = simulated_host(1);
    simulation.files.plant_directory("/elsewhere").expect("planted");
    simulation.files.set_locks_exclude(false);
    let before = simulation.clock.awake();
    let refused = claim("/elsewhere", &claimant("tok-a"), &Options::default(), &host).expect_err("no locks");
    assert_eq!(refused.code(), Code::HarnessStateLocking);
    assert!(
        simulation.clock.awake() - before < Duration::from_millis(50),
        "nobody waits for what never comes"
    );
    assert_eq!(observe(&owner, &idle()), Outcome::Landed);
}
