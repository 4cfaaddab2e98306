//! `gallivant claims`.

use std::time::Duration;

use gallivant_core::idempotency::{Begin, IdempotencyStore, StoreOptions};
use gallivant_core::testing::{TestHost, TestHostOptions};

use crate::{arguments, call, program};

const OPERATION: &str = "harnesses.create";

#[test]
fn a_claim_is_shown_and_an_expired_one_is_swept() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("claims.db");
    // Long ago, so that what finished then has lived its window.
    let then = TestHostOptions { wall_ms: Some(1_600_000_000_000), ..TestHostOptions::default() };
    let machine = TestHost::new(then).expect("a host");
    let options = StoreOptions { window: Duration::from_secs(60), ..StoreOptions::default() };
    let store = IdempotencyStore::open(&path, &options, machine.host()).expect("a store");
    let finish = |key| match store.begin(OPERATION, &["me"], key, b"{}").expect("begun") {
        Begin::Create(mut reservation) => {
            reservation.complete("agent-1", b"done").expect("completed");
        }
        other => panic!("{}", other.word()),
    };
    finish("old");
    drop(store);
    let store = IdempotencyStore::open(&path, &StoreOptions::default(), &gallivant_core::Host::system());
    let store = store.expect("a store");
    let running = store.begin(OPERATION, &["me"], "new", b"{}").expect("begun");
    let called = call(arguments!["claims", "show", "--json", path]).with_status(0);
    assert_eq!(called.json()[0]["finished"], 1);
    assert_eq!(called.json()[0]["reserved"], 1);
    let named = ["--operation", OPERATION, "--scope", "me", "--key"];
    let show = |key: &str| {
        let mut asked: Vec<std::ffi::OsString> = arguments!["claims", "show", "--json", path].into();
        asked.extend(named.iter().map(Into::into));
        asked.push(key.into());
        call(asked)
    };
    assert_eq!(show("new").with_status(0).json()[0]["state"], "reserved");
    show("none").with_status(1);
    drop(running);
    let called = call(arguments!["claims", "sweep", "--json", path]).with_status(0);
    assert_eq!(called.json()[0]["removed"], 1);
}

#[test]
fn a_store_that_is_not_there_is_not_made() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("claims.db");
    for verb in ["sweep", "show"] {
        let called = call(arguments!["claims", verb, path]).with_status(2);
        assert!(called.err.contains("there is no store") && !called.err.contains("immutable"), "{called:?}");
        assert!(!path.exists());
        let called = call(arguments!["claims", verb, root.path()]).with_status(2);
        assert!(called.err.contains("a directory is no store"), "{called:?}");
        let empty = root.path().join("empty.db");
        std::fs::write(&empty, "").expect("written");
        let called = call(arguments!["claims", verb, empty]).with_status(2);
        assert!(called.err.contains("no store yet"), "{called:?}");
        assert_eq!(empty.metadata().expect("a file").len(), 0);
    }
}

#[test]
fn the_counts_are_explained_and_a_scope_alone_is_refused() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("claims.db");
    let store = IdempotencyStore::open(&path, &StoreOptions::default(), &gallivant_core::Host::system())
        .expect("a store");
    let running = store.begin(OPERATION, &["me"], "key", b"{}").expect("begun");
    let called = call(arguments!["claims", "show", path]).with_status(0);
    let lines: Vec<&str> = called.out.lines().collect();
    assert!(lines.len() == 3 && lines[0].starts_with("reserved  1       being made"), "{called:?}");
    drop(running);
    let called = call(arguments!["claims", "show", path, "--scope", "me"]).with_status(2);
    assert!(called.err.contains("--operation"), "{called:?}");
    call(arguments!["claims", "show", path, "--scope", "me", "--operation", OPERATION]).with_status(2);
}

/// A store with a finished claim, a marked one of this process, and one that makes no sense.
fn odd_store(path: &std::path::Path) -> gallivant_core::idempotency::Reservation {
    let store = IdempotencyStore::open(path, &StoreOptions::default(), &gallivant_core::Host::system());
    let store = store.expect("a store");
    let begin = |operation: &str, scope: &[&str], key: &str| match store.begin(operation, scope, key, b"{}") {
        Ok(Begin::Create(reservation)) => reservation,
        other => panic!("{other:?}"),
    };
    begin(OPERATION, &["org", "ws"], "done").complete("agent-1", b"ok").expect("completed");
    let mut running = begin("runs.create", &["a/b"], "running");
    running.effect_starting().expect("marked");
    begin(OPERATION, &["org", "ws"], "bent").complete("agent-\u{1b}[31m", b"ok").expect("completed");
    let bent = rusqlite::Connection::open(path).expect("it opens");
    bent.execute("UPDATE claims SET scope = '[]' WHERE resource LIKE 'agent-%' AND id = 3", [])
        .expect("bent");
    running
}

#[test]
fn claims_are_listed_with_state_owner_and_the_digest_of_the_key() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("claims.db");
    let running = odd_store(&path);
    let before = crate::tree(root.path());
    let called = call(arguments!["claims", "list", path]).with_status(1);
    let lines: Vec<&str> = called.out.lines().collect();
    assert!(lines[0].starts_with("STATE") && lines[0].contains("KEY (DIGEST)"), "{called:?}");
    let name =
        gallivant_core::idempotency::ClaimName::new(OPERATION, &["org", "ws"], "done").expect("a name");
    let digest: String = name.digest().iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(lines[1].contains(&digest[..12]) && !lines[1].contains(&digest[..13]), "{called:?}");
    assert!(lines[1].contains(OPERATION) && lines[1].contains(r#"["org","ws"]"#), "{called:?}");
    assert!(lines[1].starts_with("finished") && lines[1].ends_with("agent-1"), "{called:?}");
    assert!(lines[2].contains(&format!(" {} lives ", std::process::id())), "{called:?}");
    assert!(lines[3].starts_with("damaged") && !called.out.contains('\u{1b}'), "{called:?}");
    assert!(!called.out.contains("done") && lines.len() == 4, "no key: {called:?}");
    let rows = call(arguments!["claims", "list", "--json", path]).with_status(1).json();
    assert_eq!(rows[0]["keyDigest"], digest);
    assert_eq!((&rows[0]["owner"], &rows[0]["resource"]), (&serde_json::Value::Null, &"agent-1".into()));
    assert_eq!(rows[1]["owner"], serde_json::json!({"pid": std::process::id(), "lives": true}));
    assert_eq!(rows[1]["scope"], serde_json::json!(["a/b"]));
    assert_eq!((&rows[2]["state"], &rows[2]["scope"]), (&"damaged".into(), &serde_json::Value::Null));
    assert!(crate::tree(root.path()) == before, "nothing was written");
    drop(running);
    let rows = call(arguments!["claims", "list", "--json", "--state", "marked", path]).with_status(0).json();
    assert_eq!((rows.len(), &rows[0]["owner"]), (1, &serde_json::Value::Null), "it was given up");
}

#[test]
fn what_is_listed_of_claims_can_be_asked_for() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("idempotency.db");
    let running = odd_store(&path);
    let states = |asked: &[&str]| -> Vec<String> {
        let output = program()
            .args(["claims", "list", "--json"])
            .args(asked)
            .current_dir(root.path())
            .output()
            .expect("it runs");
        crate::Called::of(output)
            .json()
            .iter()
            .map(|row| row["state"].as_str().expect("a word").into())
            .collect()
    };
    assert_eq!(states(&[]), ["finished", "marked", "damaged"]);
    assert_eq!(states(&["--state", "marked, damaged"]), ["marked", "damaged"]);
    assert_eq!(states(&["--operation", OPERATION]), ["finished"]);
    assert_eq!(states(&["--limit", "2"]), ["finished", "marked"]);
    assert!(states(&["--older-than", "2h"]).is_empty());
    assert_eq!(states(&["--older-than", "0s"]), ["finished", "marked"]);
    let called = call(arguments!["claims", "list", "--limit", "1", path]).with_status(0);
    assert!(called.err.contains("more claims than the limit"), "{called:?}");
    let called = call(arguments!["claims", "list", "--older-than", "1d", path]).with_status(0);
    assert_eq!(called.out, "no such claims\n");
    for wrong in [["--older-than", "2"], ["--older-than", "-1s"], ["--state", "asleep"]] {
        call(arguments!["claims", "list", wrong[0], wrong[1], path]).with_status(2);
    }
    call(arguments!["claims", "list", root.path().join("none.db")]).with_status(2);
    assert!(!root.path().join("none.db").exists());
    drop(running);
}

#[test]
fn a_listing_of_many_claims_has_a_row_for_each() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("claims.db");
    let store = IdempotencyStore::open(&path, &StoreOptions::default(), &gallivant_core::Host::system());
    let store = store.expect("a store");
    for number in 0..1100 {
        std::mem::forget(store.begin(OPERATION, &["me"], &format!("k-{number}"), b"{}").expect("begun"));
    }
    let called = call(arguments!["claims", "list", path]).with_status(0);
    assert_eq!(called.out.lines().count(), 1101, "the headings once");
    assert_eq!(called.out.matches("reserved").count(), 1100);
}

#[test]
fn an_error_is_one_line_whatever_the_name_of_the_file() {
    let root = tempfile::tempdir().expect("a directory");
    let bent = root.path().join("a\nb\u{1b}[2J.db");
    for verb in ["list", "show", "sweep"] {
        let called = call(arguments!["claims", verb, bent]).with_status(2);
        assert!(called.err.lines().count() == 1 && !called.err.contains('\u{1b}'), "{called:?}");
    }
    std::fs::write(&bent, "x".repeat(5000)).expect("written");
    let called = call(arguments!["claims", "list", bent]).with_status(5);
    assert!(called.err.lines().count() == 1 && !called.err.contains('\u{1b}'), "{called:?}");
    let called = call(arguments!["check", bent]).with_status(2);
    assert!(called.err.lines().count() == 1 && !called.err.contains('\u{1b}'), "{called:?}");
}
