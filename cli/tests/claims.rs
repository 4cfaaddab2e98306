//! `gallivant claims`.

use std::time::Duration;

use gallivant_core::idempotency::{Begin, IdempotencyStore, StoreOptions};
use gallivant_core::testing::{TestHost, TestHostOptions};

use crate::{arguments, call};

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
