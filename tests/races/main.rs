//! Real processes at once, some of which die at the wrong moment.
//!
//! The processes are this test program itself, started again with a role in its environment.
#![allow(missing_docs, reason = "a test's name says what it shows")]
#![allow(clippy::disallowed_methods, reason = "a test looks at disk, time and processes itself")]

mod artifacts;
#[path = "../support/boundary.rs"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod boundary;
mod dispatch;
mod execution;
mod namespaces;
#[path = "../support/provider.rs"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod provider;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Lines as InLines, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gallivant_core::harness_state::{
    Claimant, LeaseProbe, NewSession, Observation, Options, Outcome, Probe, Reader, Session, State,
    UnknownReason, Writer, claim, decode,
};
use gallivant_core::process::Liveness;
use gallivant_core::random::Random;
use gallivant_core::testing::SeededRandom;
use gallivant_core::{Code, Host};

const ROLE: &str = "GALLIVANT_TEST_ROLE";
const DIRECTORY: &str = "GALLIVANT_TEST_DIRECTORY";
const SEQUENCE: &str = "GALLIVANT_TEST_SEQUENCE";
/// How much later than the write a reader may look: what it says of how far a stamp was ahead is as inexact.
const READ_WITHIN_MS: u64 = 5_000;

fn claimant(token: &str) -> Claimant {
    Claimant { agent: "a".to_owned(), harness: "codex".to_owned(), token: token.to_owned() }
}

fn writer(directory: &Path, sequence: u64) -> Writer {
    let identity = claimant("tok-a").writer_identity(Some("p".to_owned()));
    Writer::open(directory, identity, Some(sequence), &Options::default(), &Host::system()).expect("a writer")
}

/// Starts this program in a role.
fn start(role: &str, directory: &Path, sequence: u64) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "a_process_in_its_role", "--nocapture", "--ignored"])
        .env(ROLE, role)
        .env(DIRECTORY, directory)
        .env(SEQUENCE, sequence.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program starts")
}

/// What a child says, line by line.
struct Lines(InLines<BufReader<ChildStdout>>);

impl Lines {
    fn of(child: &mut Child) -> Self {
        Lines(BufReader::new(child.stdout.take().expect("its output is piped")).lines())
    }

    /// Waits for a line that begins with this word.
    fn wait_for(&mut self, word: &str) -> String {
        let line = self.0.by_ref().map(|line| line.expect("UTF-8")).find(|line| line.starts_with(word));
        line.unwrap_or_else(|| panic!("the child ended without saying {word}"))
    }

    /// Reads whatever else it says, so that it can say it.
    fn wait_for_the_end(self) {
        self.0.for_each(drop);
    }
}

/// Waits for a line with this word on the child's output, and for no other after it.
fn wait_for(child: &mut Child, word: &str) -> String {
    Lines::of(child).wait_for(word)
}

#[test]
#[ignore = "the body of the other tests' child processes"]
fn a_process_in_its_role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let directory = std::env::var_os(DIRECTORY).expect("a directory");
    let directory = Path::new(&directory);
    let sequence = std::env::var(SEQUENCE).expect("a sequence").parse().expect("a number");
    match role.as_str() {
        "writer" => {
            let writer = writer(directory, sequence);
            for round in 0_u64.. {
                let state = if round.is_multiple_of(2) { State::Active } else { State::Idle };
                writer
                    .observe(&Observation::new(state).with_reason("r".repeat((round % 400) as usize)))
                    .expect("no error");
                if round.is_multiple_of(5) {
                    writer.heartbeat().expect("no error");
                }
            }
        }
        "claimer" => {
            let out = std::io::stdout();
            for round in 0..25 {
                let token = format!("tok-{}-{round}", std::process::id());
                let claimed = claim(directory, &claimant(&token), &Options::default(), &Host::system())
                    .expect("claimed");
                writeln!(out.lock(), "\nclaimed {}", claimed.sequence).expect("piped");
            }
        }
        "updater" => {
            let writer = writer(directory, sequence);
            for round in 0..500 {
                let reason = format!("{}-{round}", std::process::id());
                let observation = Observation::new(State::Active).with_reason(reason);
                assert_eq!(writer.observe(&observation).expect("no error").outcome, Outcome::Landed);
            }
        }
        "session" => {
            let new = NewSession {
                directory: directory.to_path_buf(),
                agent: "a".to_owned(),
                harness: "codex".to_owned(),
                pty_session: Some("p".to_owned()),
                token: None,
            };
            let session = Session::start(new, &Options::default(), &Host::system()).expect("a session");
            session.writer().observe(&Observation::new(State::Active)).expect("no error");
            println!("\nready {}", session.holds_lease());
            std::thread::sleep(Duration::from_secs(600));
        }
        "holder" => {
            let writer = writer(directory, sequence);
            let guard = writer.lock_current_ownership().expect("no error").expect("owned");
            println!("\nready");
            std::thread::sleep(Duration::from_secs(600));
            drop(guard);
        }
        "dispatcher" => execution::dispatcher(directory),
        "killed-dispatcher" => dispatch::dispatcher(directory, sequence),
        "session-inside" => namespaces::session_inside(directory),
        "reader-inside" => namespaces::reader_inside(directory),
        other => panic!("no such role: {other}"),
    }
}

#[test]
fn writers_that_are_killed_at_random_moments_leave_a_whole_record_and_a_free_lock() {
    let seed = std::env::var("GALLIVANT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_26);
    let kills: u32 = std::env::var("GALLIVANT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(60);
    let dice = SeededRandom::new(seed);
    let root = tempfile::tempdir().expect("a temporary directory");
    let directory = root.path();
    let sequence =
        claim(directory, &claimant("tok-a"), &Options::default(), &Host::system()).expect("claimed").sequence;
    let (stop, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut set_back, mut last_stamp, mut last_count) = (0_u64, 0, 0);
            while !stop.load(Ordering::Relaxed) {
                let bytes = std::fs::read(directory.join("harness-state")).expect("never missing");
                let record = decode(&bytes).unwrap_or_else(|error| panic!("seed {seed}: torn: {error}"));
                assert!(
                    record.transitions >= last_count,
                    "seed {seed}: the count fell from {last_count} at {last_stamp}, {record:?}"
                );
                // More than a write a millisecond drives the stamps ahead of the clock, and from the skew on HS-47 sets
                // them back to it.
                let now = Host::system().clock.wall_ms();
                let was_ahead = last_stamp + READ_WITHIN_MS > now + Options::default().future_skew_ms;
                let was_set_back = was_ahead && record.written_at_ms <= now + READ_WITHIN_MS;
                assert!(
                    record.written_at_ms >= last_stamp || was_set_back,
                    "seed {seed}: the stamp fell from {last_stamp} at {now}, {record:?}"
                );
                set_back += u64::from(record.written_at_ms < last_stamp);
                (last_stamp, last_count) = (record.written_at_ms, record.transitions);
                reads.fetch_add(1, Ordering::Relaxed);
            }
            (set_back, last_count)
        });
        let mut writers: Vec<Child> = (0..3).map(|_| start("writer", directory, sequence)).collect();
        for _ in 0..kills {
            std::thread::sleep(Duration::from_millis(5 + dice.next_u64() % 25));
            let victim = (dice.next_u64() % 3) as usize;
            writers[victim].kill().expect("SIGKILL");
            writers[victim].wait().expect("reaped");
            writers[victim] = start("writer", directory, sequence);
        }
        while reads.load(Ordering::Relaxed) <= u64::from(kills) && !reader.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        for mut writer in writers {
            writer.kill().expect("SIGKILL");
            writer.wait().expect("reaped");
        }
        stop.store(true, Ordering::Relaxed);
        let (set_back, count) = reader.join().expect("no panic");
        let reads = reads.load(Ordering::Relaxed);
        println!(
            "kill storm: {kills} kills, {reads} whole reads of {count} records, {set_back} stamps set back by HS-47, seed {seed}"
        );
    });
    let before = Instant::now();
    let outcome =
        writer(directory, sequence).observe(&Observation::new(State::Idle)).expect("no error").outcome;
    assert_eq!(outcome, Outcome::Landed, "seed {seed}");
    assert!(before.elapsed() < Duration::from_secs(9), "the dead hold nothing");
}

#[test]
fn c_001_two_processes_lose_none_of_a_thousand_updates() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let claimed = claim(root.path(), &claimant("tok-a"), &Options::default(), &Host::system());
    let mut updaters: Vec<Child> =
        (0..2).map(|_| start("updater", root.path(), claimed.as_ref().expect("claimed").sequence)).collect();
    let mut reads = 0_u32;
    while updaters.iter_mut().any(|updater| updater.try_wait().expect("ours").is_none()) {
        let bytes = std::fs::read(root.path().join("harness-state")).expect("never missing");
        decode(&bytes).expect("never torn");
        reads += 1;
    }
    for updater in &mut updaters {
        assert!(updater.wait().expect("reaped").success());
    }
    let record =
        decode(&std::fs::read(root.path().join("harness-state")).expect("a record")).expect("it decodes");
    assert_eq!((record.transitions, record.seq), (1_000, 1));
    assert!(reads > 100, "{reads} reads");
}

#[test]
fn hsi_2_claims_of_several_processes_are_distinct() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let mut claimers: Vec<Child> = (0..4).map(|_| start("claimer", root.path(), 0)).collect();
    let mut sequences = BTreeSet::new();
    for claimer in &mut claimers {
        let out = BufReader::new(claimer.stdout.take().expect("piped"));
        for line in out.lines().map(|line| line.expect("UTF-8")) {
            if let Some(sequence) = line.strip_prefix("claimed ") {
                assert!(sequences.insert(sequence.parse::<u64>().expect("a number")), "{sequence} twice");
            }
        }
        assert!(claimer.wait().expect("reaped").success());
    }
    assert_eq!(sequences, (1..=100).collect());
}

#[test]
fn a_session_that_is_killed_reads_as_dead_through_its_lease() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let mut child = start("session", root.path(), 0);
    assert!(wait_for(&mut child, "ready").contains("true"));
    let options = Options { probe_budget: Duration::from_secs(60), ..Options::default() };
    let reader = Reader::open(root.path(), &options, &Host::system());
    let probe = LeaseProbe::new(&reader);
    assert_eq!(reader.read(Some(&probe)).expect("a record").state, State::Active);
    child.kill().expect("SIGKILL");
    child.wait().expect("reaped");
    let derived = reader.read(Some(&probe)).expect("a record");
    assert_eq!(derived.unknown, Some(UnknownReason::SessionDead));
    let record =
        decode(&std::fs::read(root.path().join("harness-state")).expect("a record")).expect("it decodes");
    assert_eq!(probe.liveness(&record), Liveness::Dead);
    assert_eq!(reader.read(None).expect("a record").state, State::Active, "without a probe it is not known");
}

#[test]
fn a_stopped_holder_makes_others_busy_and_a_killed_one_lets_them_in() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let sequence = claim(root.path(), &claimant("tok-a"), &Options::default(), &Host::system())
        .expect("claimed")
        .sequence;
    let mut holder = start("holder", root.path(), sequence);
    wait_for(&mut holder, "ready");
    // SAFETY: the child is this test's own.
    assert_eq!(unsafe { libc::kill(i32::try_from(holder.id()).expect("a pid"), libc::SIGSTOP) }, 0);
    let options = Options { lock_wait: Duration::from_secs(2), ..Options::default() };
    let error = claim(root.path(), &claimant("tok-b"), &options, &Host::system()).expect_err("held");
    assert_eq!(error.code(), Code::HarnessStateBusy);
    holder.kill().expect("SIGKILL");
    holder.wait().expect("reaped");
    assert_eq!(
        claim(root.path(), &claimant("tok-b"), &options, &Host::system()).expect("free").sequence,
        sequence + 1
    );
}
