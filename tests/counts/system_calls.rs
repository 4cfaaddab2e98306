//! System calls of an operation, by `strace`, where it is there and may trace; else these tests say so and show nothing.
//!
//! An operation is what a hundred more of them make more: what a process does to start is in both runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use gallivant_core::Host;
use gallivant_core::harness_state::{Options, Outcome, Writer, claim};

use crate::support::{active, claimant, identity, observe};

/// A look at the record and one at the floor.
const MOST_RESTATED: i64 = 2;
/// On a file system that gains by exchanging names; elsewhere two less.
const MOST_WRITING: i64 = 14;
/// The first write of a process: the directory (1), the lock and the proof that it excludes (6: HS-21, HS-22), record and floor
/// (6: HS-20, HS-38), who and where the process is (11: HS-04, HS-95), a file that is created, looked at, filled and exchanged
/// (8: HS-03, HS-26, HS-28), and closing what was opened (6). On a file system that does not gain by exchanging names two less.
/// All but one (which file system it is) are the specification's or pin what is looked at later (HS-30).
const MOST_OF_A_PROCESS: i64 = 38;
/// The first write of a writer in a process that has written here before: the directory (1), the lock (4), record and floor
/// (6), random bits of the staged names (1), the file that is created, filled, exchanged and looked at (6), and closing lock
/// and record (2).
const MOST_OF_A_WRITER: i64 = 20;
/// Open, stat, read, close.
const MOST_READING: i64 = 4;

/// A new file, its mode, a write, a sync, closing it, a rename, a sync of the directory, and some air.
const MOST_PERSISTING: i64 = 10;
const MORE: u32 = 100;
const SYNCS: [&str; 5] = ["fsync", "fdatasync", "sync", "syncfs", "sync_file_range"];
const RENAMES: [&str; 3] = ["rename", "renameat", "renameat2"];

type Calls = BTreeMap<String, i64>;

#[test]
fn hs_43_a_restated_observation_takes_no_lock_and_writes_nothing() {
    if !may_trace() {
        return;
    }
    let calls = hundred("restated");
    assert_at_most("restated", &calls, MOST_RESTATED);
    assert_touches_nothing(&calls);
}

#[test]
fn hs_29_a_transition_and_a_heartbeat_create_one_file_and_sync_none() {
    if !may_trace() {
        return;
    }
    for row in ["transition", "heartbeat"] {
        let calls = hundred(row);
        assert_at_most(row, &calls, MOST_WRITING);
        assert_eq!(count(&calls, &["create"]), i64::from(MORE), "{row}: {calls:?}");
        assert_eq!(count(&calls, &RENAMES), i64::from(MORE), "{row}: {calls:?}");
        assert_eq!(count(&calls, &["flock"]), i64::from(MORE), "{row}: nobody else wants the lock");
        assert_eq!(count(&calls, &SYNCS), 0, "{row}: {calls:?}");
    }
}

#[test]
fn hs_21_the_first_write_of_a_process_learns_what_the_others_need_no_more() {
    if !may_trace() {
        return;
    }
    for row in ["transition", "heartbeat"] {
        let directory = seat();
        let calls = more(&calls_of(row, directory.path(), 0), &calls_of(row, directory.path(), 1));
        assert!(total(&calls) <= MOST_OF_A_PROCESS, "{row}: {} calls, {calls:?}", total(&calls));
        assert_eq!(count(&calls, &["flock"]), 2, "{row}: the lock, and the proof that it excludes");
    }
}

#[test]
fn hs_30_the_first_write_of_a_writer_reads_what_later_ones_look_at() {
    if !may_trace() {
        return;
    }
    for row in ["first-transition", "first-heartbeat"] {
        let calls = hundred(row);
        assert_at_most(row, &calls, MOST_OF_A_WRITER);
        assert_eq!(count(&calls, &["create"]), i64::from(MORE), "{row}: {calls:?}");
        assert_eq!(count(&calls, &SYNCS), 0, "{row}: {calls:?}");
    }
}

#[test]
fn hs_69_a_read_touches_nothing() {
    if !may_trace() {
        return;
    }
    let calls = hundred("read");
    assert_at_most("read", &calls, MOST_READING);
    assert_touches_nothing(&calls);
}

#[test]
fn hs_29_a_claim_syncs_two_files_and_twice_their_directory() {
    if !may_trace() {
        return;
    }
    let calls = hundred("claim");
    assert_eq!(count(&calls, &SYNCS), 4 * i64::from(MORE), "{calls:?}");
    assert_eq!(count(&calls, &["create"]), 2 * i64::from(MORE), "{calls:?}");
    assert_eq!(count(&calls, &RENAMES), 2 * i64::from(MORE), "{calls:?}");
}

#[test]
fn ex_led_06_a_persist_is_ten_calls_at_most_with_one_sync_of_the_file_and_one_of_the_directory() {
    if !may_trace() {
        return;
    }
    let calls = hundred("persist");
    assert_at_most("persist", &calls, MOST_PERSISTING);
    let file = if cfg!(target_os = "linux") { "fdatasync" } else { "fsync" };
    assert_eq!(count(&calls, &SYNCS), 2 * i64::from(MORE), "{calls:?}");
    assert!(count(&calls, &[file]) >= i64::from(MORE), "{calls:?}");
    assert!(count(&calls, &["fsync"]) >= i64::from(MORE), "of the directory: {calls:?}");
    assert_eq!(count(&calls, &["create"]), i64::from(MORE), "{calls:?}");
    assert_eq!(count(&calls, &RENAMES), i64::from(MORE), "{calls:?}");
    assert_eq!(count(&calls, &["write", "writev"]), i64::from(MORE), "{calls:?}");
}

/// `most` is for one operation; the heap may grow by a few calls in a hundred of them.
fn assert_at_most(row: &str, calls: &Calls, most: i64) {
    let (found, most) = (total(calls), most * i64::from(MORE) + 5);
    assert!(found <= most, "{row}: {found} calls in {MORE} operations, {calls:?}");
}

fn assert_touches_nothing(calls: &Calls) {
    let others =
        ["flock", "write", "pwrite64", "create", "unlink", "unlinkat", "mkdir", "mkdirat", "ftruncate"];
    let touching = count(calls, &others) + count(calls, &RENAMES) + count(calls, &SYNCS);
    assert_eq!(touching, 0, "{calls:?}");
}

/// A seat as `counted` wants it, where temporary files are: on a file system that gains by exchanging names or on
/// another.
fn seat() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (options, host) = (Options::default(), Host::system());
    let sequence = claim(directory.path(), &claimant("counted"), &options, &host).expect("it lands").sequence;
    let writer = Writer::open(directory.path(), identity("counted"), Some(sequence), &options, &host);
    assert_eq!(observe(&writer.expect("opens"), &active()), Outcome::Landed);
    // Until every look at it is believed, so that each run makes the same calls.
    host.clock.sleep(Duration::from_millis(50));
    directory
}

fn may_trace() -> bool {
    let tried = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    let may = tried.is_ok_and(|tried| tried.status.success());
    if !may {
        eprintln!("strace is not there or may not trace: no system calls were counted");
    }
    may
}

/// The calls of a hundred operations.
fn hundred(row: &str) -> Calls {
    let directory = seat();
    more(&calls_of(row, directory.path(), MORE), &calls_of(row, directory.path(), 2 * MORE))
}

/// The calls of a whole process by name. `create` counts exclusive creations besides.
fn calls_of(row: &str, directory: &Path, count: u32) -> Calls {
    let trace = tempfile::NamedTempFile::new().expect("a temporary file");
    let ran = Command::new("strace")
        .args(["-f", "-qq", "-s", "0", "-o"])
        .arg(trace.path())
        .arg(env!("CARGO_BIN_EXE_counted"))
        .arg(row)
        .arg(directory)
        .arg(count.to_string())
        .output()
        .expect("strace runs");
    assert!(ran.status.success(), "{row}: {}", String::from_utf8_lossy(&ran.stderr));
    let mut calls = Calls::new();
    for line in std::fs::read_to_string(trace.path()).expect("a trace").lines() {
        let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        let Some((name, _)) = call.split_once('(') else { continue };
        // A debug build asks of each descriptor that it closes whether it is open.
        if line.contains("F_GETFD") {
            continue;
        }
        if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            *calls.entry(name.to_owned()).or_default() += 1;
            *calls.entry("create".to_owned()).or_default() += i64::from(line.contains("O_CREAT|O_EXCL"));
        }
    }
    calls
}

/// What the second makes more than the first, without what did not change.
fn more(first: &Calls, second: &Calls) -> Calls {
    let difference = |name: &String| second.get(name).unwrap_or(&0) - first.get(name).unwrap_or(&0);
    let names = first.keys().chain(second.keys());
    names.map(|name| (name.clone(), difference(name))).filter(|(_, more)| *more != 0).collect()
}

fn total(calls: &Calls) -> i64 {
    calls.iter().filter(|(name, _)| *name != "create").map(|(_, count)| count).sum()
}

fn count(calls: &Calls, names: &[&str]) -> i64 {
    names.iter().filter_map(|name| calls.get(*name)).sum()
}
