//! Section C: lock and publication.

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gallivant_core::harness_state::{Heartbeat, Options, Outcome, Refusal, State, claim, decode};
use gallivant_core::storage::{Durability, FileSystem, Replacement, StagedNames, publish};
use gallivant_core::testing::{TestHost, TestHostOptions, simulated_host};
use gallivant_core::{Code, Host};

use crate::support::locks::{BRIEF_WAIT_MS, HeldLock};
use crate::support::{Seat, active, claimant, idle, in_forked_child, line, observe};

/// Holds the seat's lock as another program does.
fn hold_lock(seat: &Seat) -> HeldLock {
    HeldLock::take(&seat.path(".harness-state.lock"))
}

#[test]
fn hs_20_a_write_waits_for_the_lock_and_a_restatement_does_not_touch_it() {
    let mut seat = Seat::new();
    seat.options.lock_wait = Duration::from_millis(BRIEF_WAIT_MS);
    let writer = seat.owner("tok-a");
    observe(&writer, &active());
    assert_eq!(observe(&writer, &active()), Outcome::Coalesced, "judged under the lock, and remembered");
    let held = hold_lock(&seat);
    assert_eq!(writer.observe(&idle()).expect_err("it waits").code(), Code::HarnessStateBusy);
    assert_eq!(writer.heartbeat().expect_err("it waits").code(), Code::HarnessStateBusy);
    assert_eq!(observe(&writer, &active()), Outcome::Coalesced, "decided by a look at the files");
    drop(held);
    let before = seat.machine.operations().len();
    observe(&writer, &active());
    let operations = seat.machine.operations().split_off(before);
    assert!(!operations.iter().any(|operation| operation.contains(".lock")), "{operations:?}");
    // The same answers whichever way was taken: a claim by somebody else is seen without the lock too.
    seat.claim("tok-b");
    assert_eq!(observe(&writer, &active()), Outcome::Refused(Refusal::Superseded));
}

#[test]
fn hs_21_the_lock_is_flock_bounded_in_time_close_on_exec_and_proved() {
    let mut seat = Seat::new();
    seat.options.lock_wait = Duration::from_millis(80);
    let held = hold_lock(&seat);
    let started = Instant::now();
    let error = claim(&seat.dir, &claimant("tok-a"), &seat.options, seat.machine.host()).expect_err("busy");
    assert_eq!(error.code(), Code::HarnessStateBusy);
    assert!(started.elapsed() >= Duration::from_millis(80), "it waited");
    assert_eq!(seat.names(), [".harness-state.lock"], "nothing was written");
    drop(held);
    seat.claim("tok-a");

    // An fcntl lock on the file is another kind of lock and keeps nobody out.
    let file = std::fs::OpenOptions::new().write(true).open(seat.path(".harness-state.lock")).expect("open");
    // SAFETY: all fields of the struct are integers, for which zero is a value.
    let mut region: libc::flock = unsafe { std::mem::zeroed() };
    region.l_type = i16::try_from(libc::F_WRLCK).expect("in range");
    // SAFETY: the descriptor is open and the struct lives across the call.
    assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw const region) }, 0);
    seat.claim("tok-b");

    // Close-on-exec: a child that is started while the lock is held does not see the descriptor.
    let writer = seat.owner("tok-c");
    let listed = writer
        .with_current_ownership(|| {
            let listing = "for fd in /proc/self/fd/*; do readlink $fd; done";
            std::process::Command::new("sh").args(["-c", listing]).output().expect("sh runs").stdout
        })
        .expect("no error")
        .expect("the seat is owned");
    let listed = String::from_utf8_lossy(&listed).into_owned();
    assert!(!listed.contains(".harness-state"), "{listed}");

    // The first lock proves that locks exclude; where they do not, or where there are none, nothing is written.
    let seat = Seat::with_faults(Some(r#"[{"on":"try_lock","do":"error","errno":"EOPNOTSUPP"}]"#));
    let error =
        claim(&seat.dir, &claimant("tok-a"), &seat.options, seat.machine.host()).expect_err("no locks");
    assert_eq!(error.code(), Code::HarnessStateLocking);
    assert_eq!(seat.names(), [".harness-state.lock"]);
    let (host, simulation) = simulated_host(1);
    simulation.files.set_locks_exclude(false);
    let error = claim("/agent", &claimant("tok-a"), &seat.options, &host).expect_err("they do not exclude");
    assert_eq!(error.code(), Code::HarnessStateLocking);
    assert_eq!(simulation.files.names("/agent").expect("listed"), [".harness-state.lock"]);
}

#[test]
fn hs_22_the_lock_file_is_permanent_and_a_replaced_one_is_noticed() {
    let seat = Seat::new();
    seat.plant(".harness-state.lock", "somebody's notes");
    std::fs::set_permissions(
        seat.path(".harness-state.lock"),
        std::os::unix::fs::PermissionsExt::from_mode(0o640),
    )
    .expect("chmod");
    let inode = seat.inode(".harness-state.lock");
    seat.owner("tok-a");
    assert_eq!(seat.inode(".harness-state.lock"), inode);
    assert_eq!(seat.text(".harness-state.lock").as_deref(), Some("somebody's notes"));
    assert_eq!(seat.mode(".harness-state.lock"), 0o640);

    // The file is replaced while a writer waits on the old one: it must end up on the new one.
    let old = hold_lock(&seat);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| seat.claim("tok-b").sequence);
        std::thread::sleep(Duration::from_millis(60));
        std::fs::remove_file(seat.path(".harness-state.lock")).expect("an operator's rm");
        let new = hold_lock(&seat);
        drop(old);
        std::thread::sleep(Duration::from_millis(150));
        assert!(!waiting.is_finished(), "the orphan's lock is not enough");
        drop(new);
        assert_eq!(waiting.join().expect("no panic"), 2);
    });
}

#[test]
fn hs_23_a_link_or_a_failure_at_the_lock_path_is_an_error_and_nothing_is_written() {
    let seat = Seat::new();
    std::os::unix::fs::symlink("elsewhere", seat.path(".harness-state.lock")).expect("a link");
    let error = seat.writer("tok-a", None).observe(&active()).expect_err("refused");
    assert_eq!(error.code(), Code::HarnessStateIo);
    assert_eq!(seat.names(), [".harness-state.lock"], "neither followed nor written");
    for plant in ["directory", "fifo"] {
        let seat = Seat::new();
        let path = seat.path(".harness-state.lock");
        match plant {
            "directory" => std::fs::create_dir(path).expect("a directory"),
            _ => rustix::fs::mknodat(
                rustix::fs::CWD,
                &path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::from_raw_mode(0o600),
                0,
            )
            .expect("a pipe"),
        }
        let error = seat.writer("tok-a", None).observe(&active()).expect_err(plant);
        assert_eq!(error.code(), Code::HarnessStateIo, "{plant}");
        assert_eq!(seat.names(), [".harness-state.lock"], "{plant}");
    }
}

#[test]
fn hs_24_threads_exclude_each_other_and_a_guard_is_dead_in_a_forked_child() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    let inside = AtomicU64::new(0);
    let greatest = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let ran = writer.with_current_ownership(|| {
                        greatest.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                    });
                    assert_eq!(ran.expect("no error"), Some(()));
                }
            });
        }
    });
    assert_eq!(greatest.load(Ordering::SeqCst), 1);

    let guard = writer.lock_current_ownership().expect("no error").expect("owned");
    let lock_path = seat.path(".harness-state.lock");
    let status = in_forked_child(|| {
        let refused = guard.sequence().expect_err("dead here");
        let descriptors = std::fs::read_dir("/proc/self/fd").expect("proc").filter(|entry| {
            let path = entry.as_ref().expect("an entry").path();
            std::fs::read_link(path).is_ok_and(|target| target == lock_path)
        });
        let still_open = descriptors.count();
        drop(guard);
        u8::from(refused.code() != Code::HarnessStateInput)
            | u8::from(refused.reason() != Some("forked")) << 1
            | u8::from(still_open != 0) << 2
    });
    assert_eq!(status, 0);
    let mut quick = Seat::new();
    quick.options.lock_wait = Duration::from_millis(BRIEF_WAIT_MS);
    let writer = quick.owner("tok-a");
    let guard = writer.lock_current_ownership().expect("no error").expect("owned");
    assert_eq!(
        in_forked_child(|| u8::from(writer.observe(&idle()).is_ok())),
        0,
        "a child does not get its parent's lock"
    );
    assert_eq!(writer.observe(&idle()).expect_err("held by the guard").code(), Code::HarnessStateBusy);
    drop(guard);
    assert_eq!(observe(&writer, &idle()), Outcome::Landed);
}

#[test]
fn a_lock_is_free_at_once_although_a_child_that_inherited_the_descriptor_runs() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    let guard = writer.lock_current_ownership().expect("no error").expect("owned");
    // SAFETY: the child only sleeps and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: both are async-signal-safe.
        unsafe {
            libc::sleep(120);
            libc::_exit(0);
        }
    }
    drop(guard);
    let started = Instant::now();
    assert_eq!(observe(&writer, &active()), Outcome::Landed);
    assert!(started.elapsed() < Duration::from_secs(60));
    // SAFETY: the child is this test's own.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
}

#[test]
fn hs_26_readers_see_old_bytes_or_new_bytes_and_never_none() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut reads = 0_u32;
                    let mut last = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let bytes = std::fs::read(seat.path("harness-state")).expect("never missing");
                        let stamp = decode(&bytes).expect("never a mixture").written_at_ms;
                        assert!(stamp >= last, "never older than before");
                        last = stamp;
                        reads += 1;
                    }
                    reads
                })
            })
            .collect();
        for round in 0..2_000_u32 {
            let long = "y".repeat(usize::try_from(round % 700).expect("small"));
            assert_eq!(observe(&writer, &active().with_reason(format!("{round}{long}"))), Outcome::Landed);
        }
        stop.store(true, Ordering::Relaxed);
        for reader in readers {
            assert!(reader.join().expect("no panic") > 0);
        }
    });
}

#[test]
fn hs_27_what_stands_at_a_staged_name_is_neither_followed_nor_removed() {
    let fixed = |random: u64| {
        TestHost::new(TestHostOptions { random: vec![random], ..TestHostOptions::default() }).expect("a host")
    };
    let seat = Seat::new();
    let directory = gallivant_core::storage::OsFileSystem.open(&seat.dir).expect("opens");
    let host = fixed(7);
    let publish_once = |host: &Host| {
        let replacement = Replacement {
            name: "harness-state",
            staged: &StagedNames::new(host).next(".harness-state.tmp-"),
            bytes: b"new",
            durability: Durability::Observed,
            keep: false,
            judged: None,
        };
        publish(&*directory, &replacement).map(drop)
    };
    publish_once(host.host()).expect("the first lands");
    // What the random number decides, and nothing else.
    let staged = StagedNames::new(fixed(7).host()).next(".harness-state.tmp-");
    assert_ne!(staged, StagedNames::new(fixed(8).host()).next(".harness-state.tmp-"));
    for plant in ["file", "link"] {
        let path = seat.path(&staged);
        match plant {
            "file" => std::fs::write(&path, "mine").expect("planted"),
            _ => std::os::unix::fs::symlink(seat.path("target"), &path).expect("planted"),
        }
        let error = publish_once(fixed(7).host()).expect_err("it is in the way");
        assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
        assert!(std::fs::symlink_metadata(&path).is_ok(), "it was not removed");
        assert!(!seat.path("target").exists(), "it was not followed");
        assert_eq!(seat.text("harness-state").as_deref(), Some("new"));
        std::fs::remove_file(path).expect("removed");
    }
}

#[test]
fn hs_28_links_are_read_through_and_replaced_and_nothing_in_the_records_place_blocks() {
    let seat = Seat::new();
    seat.plant("elsewhere", line(&[]));
    std::os::unix::fs::symlink("elsewhere", seat.path("harness-state")).expect("a link");
    assert_eq!(seat.reads().0, State::Active);
    let writer = seat.writer("tok-a", None);
    assert_eq!(observe(&writer, &idle()), Outcome::Landed);
    assert!(std::fs::symlink_metadata(seat.path("harness-state")).expect("it stands").is_file());
    assert_eq!(seat.text("elsewhere"), Some(line(&[])), "the target is left alone");

    let seat = Seat::new();
    std::fs::create_dir(seat.path("harness-state")).expect("a directory");
    let error =
        claim(&seat.dir, &claimant("tok-a"), &seat.options, seat.machine.host()).expect_err("it cannot");
    assert_eq!(error.code(), Code::HarnessStateIo);
    assert_eq!(seat.names(), [".harness-state.lock", "harness-state"], "no residue");

    for plant in ["fifo", "dangling", "socket"] {
        let seat = Seat::new();
        let path = seat.path("harness-state");
        let _socket = match plant {
            "fifo" => {
                let mode = rustix::fs::Mode::from_raw_mode(0o600);
                rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0)
                    .expect("a pipe");
                None
            }
            "dangling" => {
                std::os::unix::fs::symlink("nowhere", &path).expect("a link");
                None
            }
            _ => Some(std::os::unix::net::UnixListener::bind(&path).expect("a socket")),
        };
        assert_eq!(seat.reads().1.as_deref(), Some("unreadable-record"), "{plant}");
        assert_eq!(
            observe(&seat.writer("tok-a", None), &idle()),
            Outcome::Refused(Refusal::Unreadable),
            "{plant}"
        );
        let heartbeat = seat.writer("tok-a", None).heartbeat().expect("quiet");
        assert!(matches!(heartbeat, Heartbeat::Skipped(_)), "{plant}");
        assert_eq!(seat.claim("tok-a").sequence, 1, "{plant}");
        assert!(std::fs::symlink_metadata(&path).expect("it stands").is_file(), "{plant} was replaced");
    }
    let dangling_directory = Seat::new();
    std::os::unix::fs::symlink("nowhere", dangling_directory.path("agent2")).expect("a link");
    let reader = gallivant_core::harness_state::Reader::open(
        dangling_directory.path("agent2"),
        &dangling_directory.options,
        dangling_directory.machine.host(),
    );
    assert_eq!(reader.read(None).and_then(|derived| derived.reason).as_deref(), Some("unreadable-record"));
}

#[test]
fn hs_29_claims_floors_and_endings_with_an_exit_are_synced_and_nothing_else_is() {
    let seat = Seat::new();
    let synced = |from: usize| {
        let operations = seat.machine.operations().split_off(from);
        let count = |kind: &str| operations.iter().filter(|operation| operation.contains(kind)).count();
        (count(": sync"), count(": syncdir"))
    };
    seat.owner("tok-a");
    let (files, directories) = synced(0);
    assert_eq!((files - directories, directories), (2, 3), "the first settles the directory's own name too");
    let from = seat.machine.operations().len();
    let writer = seat.owner("tok-b");
    let (files, directories) = synced(from);
    assert_eq!((files - directories, directories), (2, 2), "record and floor, each with its directory");
    let from = seat.machine.operations().len();
    observe(&writer, &active());
    writer.heartbeat().expect("no error");
    observe(&writer, &gallivant_core::harness_state::Observation::new(State::Ended));
    assert_eq!(synced(from), (0, 0));
    let from = seat.machine.operations().len();
    writer.ended(Some("exit 0")).expect("no error");
    let (files, directories) = synced(from);
    assert_eq!((files - directories, directories), (1, 1));
}

#[test]
fn a_vanished_directory_is_created_again_and_a_read_only_one_is_an_error() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    observe(&writer, &active());
    std::fs::remove_dir_all(&seat.dir).expect("it vanishes");
    assert_eq!(seat.read(), None);
    assert!(matches!(writer.heartbeat().expect("quiet"), Heartbeat::Skipped(_)));
    assert!(!seat.dir.exists(), "a heartbeat creates nothing");
    assert_eq!(observe(&writer, &idle()), Outcome::Landed);
    assert_eq!(seat.record().seq, 1);

    let faults = r#"[{"on":"mutating","repeat":true,"do":"error","errno":"EROFS"}]"#;
    let seat = Seat::with_faults(Some(faults));
    seat.plant("harness-state", line(&[]));
    let error = seat.writer("tok-a", None).observe(&idle()).expect_err("read-only");
    assert_eq!((error.code(), error.os_error()), (Code::HarnessStateIo, Some(libc::EROFS)));
    assert_eq!(seat.reads().0, State::Active, "reading needs no write");
    let shared = Arc::new(seat);
    assert_eq!(shared.names(), ["harness-state"]);
}

#[test]
fn hs_24_a_forked_child_is_not_stopped_by_a_thread_that_it_does_not_have() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    observe(&writer, &active());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    writer.interrupt();
                    let _ = writer.sequence();
                }
            });
        }
        for _ in 0..100 {
            // An alarm ends a child that waits for ever, which the parent sees as a signal.
            let adopted = in_forked_child(|| {
                // SAFETY: the alarm of the forked child only.
                unsafe { libc::alarm(60) };
                u8::from(writer.sequence() != Some(1))
            });
            assert_eq!(adopted, 0);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn hs_24_a_guard_that_another_thread_uses_at_the_fork_is_dead_in_the_child_and_holds_on_in_the_parent() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    let guard = writer.lock_current_ownership().expect("no error").expect("own");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    assert_eq!(guard.sequence().expect("held"), 1);
                }
            });
        }
        // The threads are to end also where a child dies of its alarm and the test fails.
        let forked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..100 {
                let status = in_forked_child(|| {
                    // SAFETY: the alarm of the forked child only.
                    unsafe { libc::alarm(60) };
                    guard.release();
                    let refused = guard.sequence().expect_err("forked");
                    u8::from(refused.reason() != Some("forked"))
                });
                assert_eq!(status, 0);
            }
        }));
        stop.store(true, Ordering::Relaxed);
        assert!(forked.is_ok(), "a child waited for a thread that it does not have");
    });
    let brief = Options { lock_wait: Duration::from_millis(BRIEF_WAIT_MS), ..Options::default() };
    let take = || claim(&seat.dir, &claimant("tok-b"), &brief, seat.machine.host());
    assert_eq!(take().expect_err("the parent holds it").code(), Code::HarnessStateBusy);
    guard.release();
    guard.release();
    assert_eq!(guard.sequence().expect_err("released").reason(), Some("released"));
    assert_eq!(take().expect("free again").sequence, 2);
}
