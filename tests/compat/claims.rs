//! A store of idempotent creates: one that is finished, one whose effect had begun, one that had not.

use std::path::Path;

use gallivant_core::Code;
use gallivant_core::idempotency::{Begin, IdempotencyStore, Reservation, StoreOptions};
use gallivant_core::testing::TestHost;

use crate::{Domain, every_version};

pub(crate) const DOMAIN: Domain = Domain { folder: "idempotency", write };

fn store(directory: &Path, host: &TestHost) -> IdempotencyStore {
    IdempotencyStore::open(directory.join("idempotency.db"), &StoreOptions::default(), host.host())
        .expect("it opens")
}

fn begin(store: &IdempotencyStore, key: &str) -> Begin {
    store.begin("create", &["scope"], key, b"{}").expect("an answer")
}

fn reserved(store: &IdempotencyStore, key: &str) -> Reservation {
    match begin(store, key) {
        Begin::Create(reservation) => reservation,
        other => panic!("{key}: {other:?}"),
    }
}

fn write(directory: &Path, host: &TestHost) {
    {
        let store = store(directory, host);
        reserved(&store, "finished").complete("thing-1", b"made").expect("it completes");
        let mut marked = reserved(&store, "marked");
        marked.effect_starting().expect("marked");
        let reserved = reserved(&store, "reserved");
        // Their owner dies: nothing of it is taken back.
        std::mem::forget((marked, reserved));
    }
    // What stands in SQLite's log goes into the file when another process closes it.
    let path = directory.join("idempotency.db");
    let closing = rusqlite::Connection::open(&path).expect("it opens");
    closing.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("moved");
    drop(closing);
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(directory.join(format!("idempotency.db{ending}")));
    }
}

#[test]
fn the_claims_of_another_release_are_answered_settled_and_taken_over() {
    every_version(&DOMAIN, |version, directory, host| {
        let store = store(directory, host);
        match begin(&store, "finished") {
            Begin::Replay(claim) => {
                assert_eq!((claim.resource(), claim.answer()), ("thing-1", Some(&b"made"[..])), "{version}");
            }
            other => panic!("{version}: {other:?}"),
        }
        let other_body =
            store.begin("create", &["scope"], "finished", b"{\"other\":1}").expect_err("refused");
        assert_eq!(other_body.code(), Code::IdempotencyKeyReused, "{version}");
        match begin(&store, "marked") {
            Begin::Unknown(claim) => {
                assert!(matches!(claim.settle(Some("thing-2")), Ok(Begin::Replay(_))), "{version}");
            }
            other => panic!("{version}: {other:?}"),
        }
        reserved(&store, "reserved").complete("thing-3", b"").expect("taken over and completed");
        reserved(&store, "new").release().expect("released");
    });
}
