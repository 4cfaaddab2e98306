//! IK-12 and IK-15: what is no store, or none any longer, is refused and never made over; a row that makes no sense refuses its key
//! alone.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gallivant_core::idempotency::{IdempotencyStore, StoreOptions};
use gallivant_core::{Code, Host};
use rusqlite::Connection;

use super::file::{bytes_below, closed_store, sqlite};
use super::world::{BODY, OPERATION, SCOPE, created, replayed};

#[test]
fn ik_12_what_cannot_be_opened_or_written_refuses_and_makes_nothing() {
    let world = sqlite();
    let host = Host::system();
    let open = |path: &Path| IdempotencyStore::open(path, &StoreOptions::default(), &host);
    let missing = world.path().with_file_name("missing").join("idempotency.db");
    let error = open(&missing).expect_err("there is no directory");
    assert_eq!(error.code(), Code::IdempotencyStoreUnavailable);
    assert_eq!(error.file(), Some(&*missing));
    assert!(!missing.parent().expect("a parent").exists());
    std::fs::create_dir(world.path()).expect("a directory in its place");
    let code = open(&world.path()).expect_err("a directory is no store").code();
    assert_eq!(code, Code::IdempotencyStoreUnavailable);
    std::fs::remove_dir(world.path()).expect("it is empty");

    let process = world.process(10);
    process.store.capability().expect("creates are available");
    let aside = world.path().with_file_name("aside");
    std::fs::rename(world.path(), &aside).expect("it can be moved");
    assert_eq!(process.refused_with(BODY), Code::IdempotencyStoreUnavailable);
    let code = process.store.capability().expect_err("creates are refused").code();
    assert_eq!(code, Code::IdempotencyStoreUnavailable);
    // Another store under its name is not this one's.
    let second = world.process(11);
    created(second.begin()).complete("r-2", b"").expect("it completes");
    assert_eq!(process.refused_with(BODY), Code::IdempotencyStoreUnavailable);
    assert_eq!(Code::IdempotencyStoreUnavailable.word(), "idempotency_store_unavailable");
}

#[test]
fn ik_12_a_store_that_is_being_made_is_never_seen_half_made() {
    let world = sqlite();
    let path = world.path();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (path, is_over) = (&path, &is_over);
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                if let Ok(bytes) = std::fs::read(path) {
                    assert!(
                        bytes.len() >= 4096 && bytes.starts_with(b"SQLite format 3\0"),
                        "{} bytes",
                        bytes.len()
                    );
                }
            }
        });
        for _ in 0..20 {
            let openers: Vec<_> = (20..24).map(|pid| scope.spawn(move || pid)).collect();
            let processes: Vec<_> =
                openers.into_iter().map(|thread| world.process(thread.join().expect("no panic"))).collect();
            drop(processes);
            for name in ["idempotency.db", "idempotency.db-wal", "idempotency.db-shm", "idempotency.db-ended"]
            {
                let _ = std::fs::remove_file(path.with_file_name(name));
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(bytes_below(path.parent().expect("a parent")), [], "nothing is left of the making");
}

#[test]
fn ik_15_what_is_no_store_is_answered_and_never_made_over() {
    let foreign = |path: &Path, statement: &str| {
        let database = Connection::open(path).expect("SQLite makes it");
        database.execute_batch(statement).expect("SQLite does it");
    };
    type Bend<'a> = &'a dyn Fn(&Path);
    let damage: &[(&str, Code, Bend<'_>)] = &[
        ("empty", Code::IdempotencyStoreCorrupt, &|path| std::fs::write(path, b"").expect("written")),
        ("one byte", Code::IdempotencyStoreCorrupt, &|path| std::fs::write(path, b"S").expect("written")),
        ("garbage", Code::IdempotencyStoreCorrupt, &|path| {
            std::fs::write(path, vec![0x5a; 40_000]).expect("written")
        }),
        ("zeros", Code::IdempotencyStoreCorrupt, &|path| {
            std::fs::write(path, vec![0; 8192]).expect("written")
        }),
        ("cut short", Code::IdempotencyStoreCorrupt, &|path| {
            let bytes = std::fs::read(path).expect("it can be read");
            std::fs::write(path, &bytes[..bytes.len() / 2]).expect("written");
        }),
        ("of another program", Code::IdempotencyStoreCorrupt, &|path| {
            std::fs::remove_file(path).expect("removed");
            foreign(path, "CREATE TABLE notes (text); INSERT INTO notes VALUES ('keep me')");
        }),
        ("without its table", Code::IdempotencyStoreCorrupt, &|path| foreign(path, "DROP TABLE claims")),
        ("of a later version", Code::IdempotencyStoreVersion, &|path| {
            foreign(path, "PRAGMA user_version = 2")
        }),
        ("of no version", Code::IdempotencyStoreVersion, &|path| foreign(path, "PRAGMA user_version = 0")),
        ("without its log", Code::IdempotencyStoreUnsupported, &|path| {
            foreign(path, "PRAGMA journal_mode = DELETE")
        }),
    ];
    for (what, code, bend) in damage {
        let world = sqlite();
        closed_store(&world);
        bend(&world.path());
        let before = bytes_below(world.path().parent().expect("a parent"));
        for _ in 0..2 {
            let host = Host::system();
            let error = world.open(&host).map(drop).expect_err(what);
            assert_eq!(error.code(), *code, "{what}: {error}");
            assert_eq!(error.file(), Some(&*world.path()), "{what}");
            assert!(error.message().contains("idempotency.db") && !error.remedy().is_empty(), "{what}");
        }
        assert_eq!(bytes_below(world.path().parent().expect("a parent")), before, "{what}");
    }
}

#[test]
fn ik_15_a_log_without_its_file_is_not_played_into_a_new_store() {
    let world = sqlite();
    let process = world.process(10);
    std::mem::forget(created(process.begin()));
    // As after a crash: the log was never moved into the file, and then the file was lost.
    let log = world.path().with_file_name("idempotency.db-wal");
    let bytes = std::fs::read(&log).expect("the log is there");
    drop(process);
    std::fs::write(&log, &bytes).expect("it can be put back");
    std::fs::remove_file(world.path()).expect("it can be removed");
    let error = world.open(&Host::system()).map(drop).expect_err("claims were lost");
    assert_eq!(error.code(), Code::IdempotencyStoreCorrupt);
    assert!(!world.path().exists());
}

#[test]
fn ik_15_a_row_that_makes_no_sense_refuses_its_key_alone() {
    for column in [
        "state = 4",
        "state = 1",
        "token = x'00'",
        "fingerprint = zeroblob(32)",
        "resource = 'another'",
        "resource = NULL",
        "answer = x'00'",
        "completed_ms = completed_ms + 1",
        "window_ms = -9223372036854775808",
        "expires_ms = 0",
        "operation = 'another'",
        "scope = '[]'",
        "owner = '{}'",
        "check_value = check_value + 1",
    ] {
        let world = sqlite();
        let process = world.process(10);
        created(process.begin()).complete("r-1", b"ok").expect("it completes");
        let other = || process.store.begin(OPERATION, SCOPE, "k-2", BODY).expect("other keys go on working");
        drop(created(other()));
        let database = Connection::open(world.path()).expect("SQLite opens it");
        assert_eq!(database.execute(&format!("UPDATE claims SET {column}"), []).expect(column), 1);
        let error = process.begin_with(BODY).expect_err(column);
        assert_eq!(
            (error.code(), error.reason()),
            (Code::IdempotencyStoreCorrupt, Some("claim")),
            "{column}"
        );
        assert_eq!(error.file(), Some(&*world.path()));
        drop(created(other()));
        world.pass(Duration::from_secs(40 * 86_400));
        assert_eq!(
            process.store.sweep().expect("it sweeps").removed,
            0,
            "{column}: unreadable is not expired"
        );
        assert_eq!(process.refused_with(BODY), Code::IdempotencyStoreCorrupt, "{column}");
    }
}

#[test]
fn ik_15_a_reservation_that_makes_no_sense_is_not_completed() {
    for column in
        ["owner = '{}'", "operation = 'another'", "fingerprint = zeroblob(32)", "state = 4", "window_ms = 1"]
    {
        let world = sqlite();
        let process = world.process(10);
        let mut held = created(process.begin());
        let database = Connection::open(world.path()).expect("SQLite opens it");
        assert_eq!(database.execute(&format!("UPDATE claims SET {column}"), []).expect(column), 1);
        let error = held.complete("r-1", b"ok").expect_err(column);
        assert_eq!(
            (error.code(), error.reason()),
            (Code::IdempotencyStoreCorrupt, Some("claim")),
            "{column}"
        );
        let count = "SELECT count(*) FROM claims WHERE resource IS NULL";
        let unchanged: i64 = database.query_row(count, [], |row| row.get(0)).expect("a count");
        assert_eq!(unchanged, 1, "{column}");
    }
}

#[test]
fn ik_12_a_store_that_is_moved_away_under_a_replay_is_noticed() {
    let world = sqlite();
    let process = world.process(10);
    created(process.begin()).complete("r-1", b"ok").expect("it completes");
    // So that the move has a time of its own.
    std::thread::sleep(Duration::from_millis(20));
    replayed(process.begin());
    let aside = world.path().with_file_name("aside");
    std::fs::rename(world.path(), &aside).expect("it can be moved");
    assert_eq!(process.refused_with(BODY), Code::IdempotencyStoreUnavailable);
    std::fs::rename(&aside, world.path()).expect("it can be moved back");
    replayed(process.begin());

    let directory = world.path().parent().expect("a directory").to_path_buf();
    let elsewhere = directory.with_extension("moved");
    std::fs::rename(&directory, &elsewhere).expect("it can be moved");
    // What the file itself does not show is looked at again after 10 ms.
    std::thread::sleep(Duration::from_millis(20));
    let refused = process.refused_with(BODY);
    std::fs::rename(&elsewhere, &directory).expect("it can be moved back");
    assert_eq!(refused, Code::IdempotencyStoreUnavailable);
    std::fs::remove_file(world.path()).expect("it can be removed");
    assert_eq!(process.refused_with(BODY), Code::IdempotencyStoreUnavailable);
}
