//! Listing the claims of a SQLite file: nothing is written, nobody waits, and what is damaged is said.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gallivant_core::idempotency::{
    IdempotencyStore, ListOptions, ListedClaim, ListedState, StoreOptions, check_store, list_claims,
    read_claims,
};
use gallivant_core::storage::{Directory, FileSystem, Metadata};
use gallivant_core::{Code, Host};
use rusqlite::Connection;

use super::world::{BODY, Engine, OPERATION, Process, SCOPE, World, created, word};

/// More than a page has.
const MANY: usize = 1500;

fn sqlite() -> World {
    World::new(Engine::Sqlite)
}

/// Every file of a store with its bytes, but for the shared memory: a process that has the store open itself shares that with
/// its own reader. That another one leaves it alone too is tested with the command (`cli/tests/claims.rs`).
fn bytes_below(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(directory).expect("it can be listed");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| !entry.file_name().to_string_lossy().ends_with("-shm"))
        .map(|entry| {
            let bytes = std::fs::read(entry.path()).expect("it can be read");
            (entry.file_name().into_string().expect("UTF-8"), bytes)
        })
        .collect();
    files.sort();
    files
}

fn finish(process: &Process, keys: std::ops::Range<usize>) {
    for key in keys {
        let begin = process.store.begin(OPERATION, SCOPE, &format!("k-{key}"), BODY).expect("an answer");
        created(begin).complete(&format!("r-{key}"), b"ok").expect("it completes");
    }
}

/// The resources of all claims, with something that is done at the first.
fn resources(world: &World, process: &Process, mut at_first: impl FnMut()) -> Vec<String> {
    let reader = read_claims(world.path(), &process.host).expect("it can be read");
    let mut found = Vec::new();
    list_claims(&*reader, &ListOptions::default(), &process.host, |claim: &ListedClaim<'_>| {
        if found.is_empty() {
            at_first();
        }
        found.push(claim.resource.unwrap_or("none").to_owned());
        ControlFlow::Continue(())
    })
    .expect("it can be listed");
    found
}

fn expected(keys: std::ops::Range<usize>) -> Vec<String> {
    keys.map(|key| format!("r-{key}")).collect()
}

#[test]
fn ik_20_a_listing_writes_nothing_whether_the_store_is_open_or_closed() {
    let world = sqlite();
    let process = world.process(10);
    finish(&process, 0..3);
    let directory = world.path().parent().expect("a directory").to_owned();
    let open = bytes_below(&directory);
    assert!(open.iter().any(|(name, _)| name.ends_with("-wal")), "it is open: {open:?}");
    assert_eq!(resources(&world, &process, || ()), expected(0..3));
    assert!(bytes_below(&directory) == open, "an open store");
    let Process { store, host, pid } = process;
    drop(store);
    let closed = bytes_below(&directory);
    assert!(!closed.iter().any(|(name, _)| name.ends_with("-wal")), "it is closed: {closed:?}");
    let process = Process { store: world.open(&host).expect("it opens"), host, pid };
    let Process { store, host, .. } = process;
    drop(store);
    let reader = read_claims(world.path(), &host).expect("it can be read");
    let listed = list_claims(&*reader, &ListOptions::default(), &host, |_| ControlFlow::Continue(()));
    assert_eq!(listed.expect("it can be listed").claims, 3);
    assert!(bytes_below(&directory) == closed, "a closed store");
}

#[test]
fn ik_17_creates_go_on_while_claims_are_listed() {
    let world = sqlite();
    let process = world.process(10);
    finish(&process, 0..MANY);
    let writer = world.process(11);
    let found = resources(&world, &process, || finish(&writer, MANY..MANY + 3));
    assert_eq!(found, expected(0..MANY + 3), "in the pages that were read later");
    // Somebody else's transaction is not waited for.
    let other = Connection::open(world.path()).expect("it opens");
    other.execute_batch("BEGIN IMMEDIATE; DELETE FROM claims").expect("it can be begun");
    assert_eq!(resources(&world, &process, || ()).len(), MANY + 3);
    other.execute_batch("ROLLBACK").expect("it can be undone");
}

#[test]
fn ik_15_a_store_that_is_opened_and_closed_while_it_is_listed_is_read_as_it_stands() {
    let world = sqlite();
    let Process { store, host, pid } = world.process(10);
    drop(store);
    let process = || Process { store: world.open(&host).expect("it opens"), host: host.clone(), pid };
    finish(&process(), 0..MANY);
    let reader = read_claims(world.path(), &host).expect("it can be read");
    for round in 0..3 {
        let (from, to) = (MANY + round * 40, MANY + (round + 1) * 40);
        let mut found = Vec::new();
        let listed = list_claims(&*reader, &ListOptions::default(), &host, |claim| {
            if found.is_empty() {
                // Its last close moves the log into the file, which is read without asking by then.
                finish(&process(), from..to);
            }
            found.push(claim.resource.unwrap_or("none").to_owned());
            ControlFlow::Continue(())
        });
        listed.expect("it can be listed");
        assert_eq!(found, expected(0..to), "round {round}");
    }
}

#[test]
fn ik_15_a_claim_that_makes_no_sense_is_listed_as_damaged_and_hides_no_other() {
    let world = sqlite();
    let process = world.process(10);
    finish(&process, 0..3);
    let other = Connection::open(world.path()).expect("it opens");
    other.execute("UPDATE claims SET operation = 'bent' WHERE resource = 'r-1'", []).expect("bent");
    let reader = read_claims(world.path(), &process.host).expect("it can be read");
    let mut found = Vec::new();
    let mut visit = |claim: &ListedClaim<'_>| {
        found.push((claim.state, claim.operation.map(str::to_owned), claim.digest.is_some()));
        ControlFlow::Continue(())
    };
    list_claims(&*reader, &ListOptions::default(), &process.host, &mut visit).expect("it can be listed");
    let whole = (ListedState::Finished, Some(OPERATION.to_owned()), true);
    assert_eq!(found, [whole.clone(), (ListedState::Damaged, None, true), whole]);
}

#[test]
fn ik_15_what_is_no_store_is_not_listed() {
    let world = sqlite();
    let process = world.process(10);
    let refused = |path: &Path| read_claims(path, &process.host).expect_err("it is refused").code();
    let beside = |name: &str| world.path().with_file_name(name);
    assert_eq!(refused(&beside("missing.db")), Code::IdempotencyStoreUnavailable);
    std::fs::write(beside("text.db"), "x".repeat(5000)).expect("written");
    assert_eq!(refused(&beside("text.db")), Code::IdempotencyStoreCorrupt);
    let foreign = Connection::open(beside("foreign.db")).expect("it opens");
    foreign.execute_batch("CREATE TABLE claims (id INTEGER PRIMARY KEY)").expect("made");
    assert_eq!(refused(&beside("foreign.db")), Code::IdempotencyStoreCorrupt);
    let newer = beside("newer.db");
    drop(IdempotencyStore::open(&newer, &world.options, &process.host).expect("it opens"));
    let other = Connection::open(&newer).expect("it opens");
    other.pragma_update(None, "user_version", 2).expect("set");
    drop(other);
    assert_eq!(refused(&newer), Code::IdempotencyStoreVersion);
    finish(&process, 0..1);
    for name in ["idempotency.db", "idempotency.db-wal"] {
        std::fs::copy(beside(name), beside(&name.replace("idempotency", "copy"))).expect("copied");
    }
    assert_eq!(refused(&beside("copy.db")), Code::IdempotencyStoreUnavailable, "a log without its index");
    assert!(!beside("copy.db-shm").exists(), "and none was made");
}

#[test]
fn ik_15_by_a_link_to_a_store_the_same_claims_are_read() {
    let world = sqlite();
    let process = world.process(10);
    finish(&process, 0..3);
    let link = world.path().with_file_name("link.db");
    std::os::unix::fs::symlink(world.path().file_name().expect("a name"), &link).expect("linked");
    // What was committed lies in the log, which is beside the file.
    assert_eq!(check_store(&link, &process.host).expect("read").expect("a store").finished, 3);
    let reader = read_claims(&link, &process.host).expect("it can be read");
    let listed = list_claims(&*reader, &ListOptions::default(), &process.host, |_| ControlFlow::Continue(()));
    assert_eq!(listed.expect("it can be listed").claims, 3);
    std::os::unix::fs::symlink("round.db", world.path().with_file_name("round.db")).expect("linked");
    let refused = read_claims(world.path().with_file_name("round.db"), &process.host).expect_err("a circle");
    assert_eq!(refused.code(), Code::IdempotencyStoreUnavailable);
}

#[test]
fn ik_12_ik_15_a_link_is_followed_when_the_store_is_opened_and_its_file_is_looked_after() {
    let world = sqlite();
    let process = world.process(10);
    finish(&process, 0..1);
    let beside = |name: &str| world.path().with_file_name(name);
    let link = |to: &Path, name: &str| {
        std::os::unix::fs::symlink(to, beside(name)).expect("linked");
        IdempotencyStore::open(beside(name), &StoreOptions::default(), &process.host)
    };
    let path = world.path();
    let name = Path::new(path.file_name().expect("a name"));
    let relative = link(name, "l").expect("it opens");
    let absolute = link(&path, "absolute").expect("it opens");
    let twice = link(Path::new("l"), "m").expect("it opens");
    let begin = |store: &IdempotencyStore, key| store.begin(OPERATION, SCOPE, key, BODY);
    let mut held = created(begin(&relative, "through").expect("an answer"));
    for store in [&absolute, &twice, &process.store] {
        assert_eq!(word(&begin(store, "through").expect("an answer")), "in_progress:fresh");
    }
    held.complete("r", b"").expect("it completes");
    // The link stays as it is, and leads to another store.
    drop(
        IdempotencyStore::open(beside("second"), &StoreOptions::default(), &process.host).expect("it opens"),
    );
    std::fs::rename(beside("second"), world.path()).expect("it can be moved");
    for store in [&relative, &absolute, &twice] {
        let refused = begin(store, "another").expect_err("another store stands there");
        assert_eq!(refused.code(), Code::IdempotencyStoreUnavailable);
    }
    let nothing = link(Path::new("nowhere"), "dangling").expect_err("it leads to nothing");
    assert_eq!(nothing.code(), Code::IdempotencyStoreUnavailable);
    assert!(!beside("nowhere").exists(), "nothing is made there");
}

/// SQLite would wait for somebody who writes into the pipe.
#[test]
fn ik_15_what_is_no_file_is_refused_at_once() {
    let world = sqlite();
    let process = world.process(10);
    let pipe = world.path().with_file_name("pipe.db");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("it runs");
    assert!(made.success());
    for path in [&*pipe, world.path().parent().expect("a directory"), Path::new("/dev/null")] {
        let refused = [
            read_claims(path, &process.host).map(drop),
            check_store(path, &process.host).map(drop),
            IdempotencyStore::open(path, &world.options, &process.host).map(drop),
        ];
        for refused in refused {
            let refused = refused.expect_err("it is refused");
            assert_eq!(refused.code(), Code::IdempotencyStoreUnavailable, "{refused}");
            assert!(refused.message().starts_with("what stands there is not a regular file"), "{refused}");
        }
    }
}

type Once = Mutex<Option<Box<dyn FnOnce() + Send>>>;

/// A disk on which something happens just after somebody has looked for the index of a log.
struct Disturbed(Arc<dyn FileSystem>, Once);

impl std::fmt::Debug for Disturbed {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(out)
    }
}

impl FileSystem for Disturbed {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Directory>> {
        self.0.open(path)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let found = self.0.metadata(path);
        if path.to_string_lossy().ends_with("-shm")
            && let Some(happens) = self.1.lock().expect("not poisoned").take()
        {
            happens();
        }
        found
    }

    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        self.0.absolute(path)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.0.make_directory(path)
    }
}

#[test]
fn ik_15_a_store_that_is_opened_while_it_is_counted_is_counted_with_what_was_written() {
    let world = sqlite();
    let Process { store, host, pid } = world.process(10);
    drop(store);
    let (path, options, writing) = (world.path().to_owned(), world.options, host.clone());
    let open = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&open);
    let write = move || {
        let store = IdempotencyStore::open(&path, &options, &writing).expect("it opens");
        let process = Process { store, host: writing, pid };
        finish(&process, 0..2);
        *kept.lock().expect("not poisoned") = Some(process);
    };
    let disturbed = Disturbed(Arc::clone(&host.files), Mutex::new(Some(Box::new(write))));
    let host = Host { files: Arc::new(disturbed), ..host };
    assert_eq!(check_store(world.path(), &host).expect("read").expect("a store").finished, 2);
    assert!(open.lock().expect("not poisoned").is_some(), "the writer has it open");
}
