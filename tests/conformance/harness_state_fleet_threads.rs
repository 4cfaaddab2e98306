//! Of section G: fleets whose first walk is shared by threads (HS-92): what one thread finds is what several find.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Condvar, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use gallivant_core::harness_state::{
    Derived, EntryRef, Fleet, FleetOptions, FleetProbe, FleetSummary, Options, gather_fleet,
};
use gallivant_core::random::Random;
use gallivant_core::testing::SeededRandom;

use crate::support::ground::Ground;
use crate::support::line;

const SEEDS: u64 = 3;
const THREADS: [usize; 2] = [2, 5];
/// The kind of an agent with a directory that cannot be listed.
const LOCKED: u64 = 5;

/// What a visit of a fleet comes to.
type Found = (Vec<(String, Derived)>, FleetSummary);

fn gather(ground: &Ground, bounds: &FleetOptions, probe: FleetProbe) -> Found {
    let add = |part: &mut Vec<(String, Derived)>, entry: EntryRef<'_>| {
        part.push((entry.path.to_owned(), entry.derived.to_derived()));
    };
    let mut entries = Vec::new();
    let take = |part: Vec<(String, Derived)>| entries.extend(part);
    let summary = gather_fleet(ground.root(), bounds, probe, &Options::default(), ground.host(), add, take)
        .expect("it can be read");
    (entries, summary)
}

fn fleet(ground: &Ground, bounds: &FleetOptions) -> Fleet {
    Fleet::open(ground.root(), bounds, &Options::default(), ground.host()).expect("it opens")
}

/// Until when answers hold is counted on two clocks, and may be told a millisecond apart.
#[track_caller]
fn assert_same(found: &Found, alone: &Found, said: &str) {
    assert_eq!(found.1.left_out, alone.1.left_out, "{said}");
    assert_eq!(found.1.entries, alone.1.entries, "{said}");
    let difference =
        found.0.iter().zip(&alone.0).find(|((path, derived), (of_alone, alone))| {
            path != of_alone || !derived.concludes_the_same(alone)
        });
    assert_eq!(difference, None, "{said}");
    assert_eq!(found.0.len(), alone.0.len(), "{said}");
}

/// Agents in groups, now and then below each other, among records and directories of every odd kind.
fn grow(ground: &Ground, random: &SeededRandom) -> Vec<String> {
    let mut locked = Vec::new();
    let below = |most: u64| random.next_u64() % most;
    for group in 0..2 + below(3) {
        // Above and below the number from which threads are worth while.
        for agent in 0..20 + below(160) {
            let path = match below(8) {
                0 => format!("g{group}/a{agent}/deep/er"),
                1 => format!("g{group}"),
                _ => format!("g{group}/a{agent}"),
            };
            let kind = below(14);
            odd_or_even(ground, &path, kind);
            if kind == LOCKED {
                locked.push(format!("{path}/locked-to-us"));
            }
        }
    }
    std::fs::create_dir_all(ground.root().join("g0").join(std::ffi::OsStr::from_bytes(b"\xff\xfe")))
        .expect("made");
    locked
}

fn odd_or_even(ground: &Ground, path: &str, kind: u64) {
    let directory = ground.path(path);
    let record = directory.join("harness-state");
    std::fs::create_dir_all(&directory).expect("made");
    let is_free = record.symlink_metadata().is_err();
    let write = |at: &Path, bytes: &str| std::fs::write(at, bytes).expect("written");
    match kind {
        0 => {}
        1 | 2 | 8 if record.is_dir() => {}
        1 => write(&record, "{"),
        2 => write(&record, &line(&[("schema", "\"x\"")])),
        3 if is_free => symlink("nowhere", &record).expect("linked"),
        4 if is_free => {
            ground.publish_in(&ground.beside("outside"), "idle");
            symlink(ground.beside("outside/harness-state"), &record).expect("linked");
        }
        LOCKED => std::fs::create_dir_all(directory.join("locked-to-us/below")).expect("made"),
        6 => {
            let _ = symlink("..", directory.join("round"));
        }
        7 if is_free => std::fs::create_dir(&record).expect("made"),
        8 => {
            ground.publish(path, "active");
            // Of nobody's token, and of no living holder.
            write(
                &directory.join(".harness-state.lease"),
                if path.len().is_multiple_of(2) { "x" } else { "token" },
            );
        }
        9 => ground.publish(&format!("{path}/1/2/3/4/5/6/7/8/9"), "idle"),
        _ if record.is_dir() => {}
        _ => ground.publish(path, ["active", "idle", "ended"][path.len() % 3]),
    }
}

#[test]
fn hs_92_several_threads_find_what_one_finds_in_any_tree_and_within_any_bounds() {
    for seed in 1..=SEEDS {
        let (ground, random) = (Ground::new(), SeededRandom::new(seed));
        let faults = |path: &String| {
            format!(r#"{{"on":"names","name":"{path}","repeat":true,"do":"error","errno":"EACCES"}}"#)
        };
        let locked: Vec<String> = grow(&ground, &random).iter().map(faults).collect();
        ground.machine.set_faults(&format!("[{}]", locked.join(","))).expect("faults");
        let everything = FleetOptions::default();
        let whole = gather(&ground, &everything, FleetProbe::None);
        assert!(whole.1.left_out.unreadable > 0 && whole.1.left_out.too_deep > 0, "{:?}", whole.1);
        let upto = |most: usize| 1 + usize::try_from(random.next_u64()).expect("64 bits") % (most + 2);
        let mut bounded = vec![everything, FleetOptions { max_depth: 2, ..everything }];
        for _ in 0..3 {
            bounded.push(FleetOptions { max_records: upto(whole.0.len()), ..everything });
            bounded.push(FleetOptions { max_directories: upto(2 * whole.0.len()), ..everything });
        }
        bounded.push(FleetOptions { max_records: whole.0.len(), ..everything });
        for bounds in bounded {
            let probe = if seed.is_multiple_of(2) { FleetProbe::Lease } else { FleetProbe::None };
            let alone = gather(&ground, &bounds, probe);
            for threads in THREADS {
                let said = format!("seed={seed} {bounds:?} threads={threads}");
                let bounds = FleetOptions { threads, ..bounds };
                assert_same(&gather(&ground, &bounds, probe), &alone, &said);
                let kept = fleet(&ground, &bounds);
                for said in [format!("{said}, a fleet's first read"), format!("{said}, and its second")] {
                    let view = kept.read(probe);
                    let entries = view.entries.into_iter().map(|entry| (entry.path, entry.derived)).collect();
                    let summary = FleetSummary { left_out: view.left_out, ..alone.1.clone() };
                    assert_same(&(entries, summary), &alone, &said);
                }
            }
        }
    }
}

/// The threads in which entries were added. Each waits in its first one until there are `expected` of them.
fn threads_of(ground: &Ground, threads: usize, expected: usize) -> HashSet<ThreadId> {
    let (seen, came) = (Mutex::new(HashSet::new()), Condvar::new());
    let add = |_: &mut (), _: EntryRef<'_>| {
        let mut seen = seen.lock().expect("no panic");
        seen.insert(std::thread::current().id());
        came.notify_all();
        let is_alone = |seen: &mut HashSet<ThreadId>| seen.len() < expected;
        drop(came.wait_timeout_while(seen, Duration::from_secs(30), is_alone).expect("no panic"));
    };
    let bounds = FleetOptions { threads, ..FleetOptions::default() };
    let options = Options::default();
    gather_fleet(ground.root(), &bounds, FleetProbe::None, &options, ground.host(), add, |()| {})
        .expect("it can be read");
    seen.into_inner().expect("no panic")
}

#[test]
fn hs_92_threads_are_started_where_they_are_asked_for_and_nowhere_else() {
    let ground = Ground::new();
    for agent in 0..200 {
        ground.publish(&format!("a{agent}"), "active");
    }
    assert_eq!(FleetOptions::default().threads, 1);
    assert_eq!(threads_of(&ground, 1, 1), HashSet::from([std::thread::current().id()]));
    assert_eq!(threads_of(&ground, 2, 2).len(), 2);
}
