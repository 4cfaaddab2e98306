//! The SQLite file: what makes it durable, and what happens across forks, under a lock and without room.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gallivant_core::clock::Clock;
use gallivant_core::idempotency::{
    Ask, Change, ClaimName, ClaimRecord, ClaimStore, Fingerprint, IdempotencyStore, MemoryClaims, Patience,
    StoreOptions, Swept,
};
use gallivant_core::storage::Notifier;
use gallivant_core::{Code, Error, Host, Result};
use rusqlite::Connection;

use super::world::{BODY, Engine, KEY, OPERATION, Process, SCOPE, World, created, replayed, word};

pub(crate) fn sqlite() -> World {
    World::new(Engine::Sqlite)
}

/// Every file of the store but the shared memory, which is made anew.
pub(crate) fn bytes_below(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .expect("it can be listed")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| !name.ends_with("-shm"))
        .map(|name| (name.clone(), std::fs::read(directory.join(name)).unwrap_or_default()))
        .filter(|(name, bytes)| !(name.ends_with("-wal") && bytes.is_empty()))
        .collect();
    files.sort();
    files
}

/// A store with one finished claim, closed.
pub(crate) fn closed_store(world: &World) {
    let process = world.process(10);
    created(process.begin()).complete("r-1", b"ok").expect("it completes");
}

#[test]
fn ik_04_a_reservation_is_on_disk_before_it_is_handed_out() {
    let world = sqlite();
    let process = world.process(10);
    let held = created(process.begin());
    // What a power cut would leave: the file and its log, without the shared memory.
    let copy = tempfile::tempdir().expect("a temporary directory");
    for name in ["idempotency.db", "idempotency.db-wal"] {
        std::fs::copy(world.path().with_file_name(name), copy.path().join(name)).expect("it can be copied");
    }
    let found = IdempotencyStore::open(copy.path().join("idempotency.db"), &world.options, &process.host);
    let claim = found.expect("it opens").inspect(OPERATION, SCOPE, KEY).expect("it can be looked at");
    assert_eq!(claim.expect("it stands").state.word(), "reserved");
    drop(held);

    let header = std::fs::read(world.path()).expect("it can be read");
    assert_eq!(header[18..20], [2, 2], "the file says that it is in WAL mode");
    let mode = |name: &str| {
        std::fs::metadata(world.path().with_file_name(name)).expect("it is there").permissions().mode()
            & 0o777
    };
    assert_eq!([mode("idempotency.db"), mode("idempotency.db-wal"), mode("idempotency.db-shm")], [0o600; 3]);
}

#[test]
fn ik_05_a_release_that_fails_leaves_the_claim_to_the_judgement_of_its_owner() {
    let world = sqlite();
    let (process, other) = (world.process(10), world.process(11));
    let held = created(process.begin());
    let aside = world.path().with_file_name("aside");
    std::fs::rename(world.path(), &aside).expect("it can be moved");
    drop(held);
    std::fs::rename(&aside, world.path()).expect("it can be moved back");
    assert_eq!(word(&other.begin()), "in_progress:fresh");
    world.kill(&process, None);
    assert_eq!(word(&other.begin()), "create:taken-over");
}

#[test]
fn ik_13_a_copied_store_gives_no_key_away() {
    let world = sqlite();
    let process = world.process(10);
    let begin = process.store.begin(OPERATION, SCOPE, "order-4711-of-alice", BODY).expect("an answer");
    created(begin).complete("r-1", b"").expect("it completes");
    for (name, bytes) in bytes_below(world.path().parent().expect("a parent")) {
        assert!(!bytes.windows(10).any(|window| window == b"order-4711"), "{name} holds the key");
    }
}

#[test]
fn ik_16_threads_of_one_process_share_a_store_or_have_their_own() {
    let world = sqlite();
    let shared = world.process(10);
    let own: Vec<_> = (11..15).map(|pid| world.process(pid)).collect();
    let barrier = std::sync::Barrier::new(8);
    let mut said = std::thread::scope(|scope| {
        let racing: Vec<_> = (0..8)
            .map(|number: usize| {
                let (barrier, process) = (&barrier, if number < 4 { &shared } else { &own[number - 4] });
                scope.spawn(move || {
                    barrier.wait();
                    let begin = process.begin();
                    let said = word(&begin);
                    std::mem::forget(begin);
                    said
                })
            })
            .collect();
        racing.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
    });
    said.sort();
    assert_eq!(said[0], "create:fresh");
    assert!(said[1..].iter().all(|word| word == "in_progress:fresh"), "{said:?}");
}

#[test]
fn ik_17_every_look_up_is_by_index() {
    let world = sqlite();
    closed_store(&world);
    let database = Connection::open(world.path()).expect("SQLite opens it");
    let plan = |query: &str| -> String {
        let mut explain = database.prepare(&format!("EXPLAIN QUERY PLAN {query}")).expect("it parses");
        let steps = explain.query_map([], |row| row.get::<_, String>(3)).expect("it runs");
        steps.map(|step| step.expect("a step")).collect::<Vec<_>>().join("; ")
    };
    let by_name = plan("SELECT * FROM claims WHERE name = x'00'");
    assert!(by_name.contains("USING INDEX sqlite_autoindex_claims_1"), "{by_name}");
    let by_expiry = plan(
        "SELECT * FROM claims WHERE expires_ms IS NOT NULL AND (expires_ms, id) > (0, 0) AND expires_ms <= 9 \
         ORDER BY expires_ms, id",
    );
    assert!(
        by_expiry.contains("USING INDEX claims_by_expiry") && !by_expiry.contains("TEMP B-TREE"),
        "{by_expiry}"
    );
}

#[test]
fn ik_19_a_busy_store_is_waited_for_and_then_refused() {
    let world = sqlite();
    let process = world.process(10);
    let writer = Connection::open(world.path()).expect("SQLite opens it");
    writer.execute_batch("BEGIN IMMEDIATE").expect("it locks");
    let fingerprint = Fingerprint::of(BODY);
    let ask = |deadline| Ask {
        operation: OPERATION,
        scope: SCOPE,
        key: KEY,
        fingerprint,
        deadline: Some(deadline),
    };
    let began = Instant::now();
    let error = process.store.ask(&ask(Duration::from_millis(50))).expect_err("it is busy");
    assert_eq!(error.code(), Code::IdempotencyBusy);
    assert!(began.elapsed() >= Duration::from_millis(50));
    assert_eq!(process.inspect(), None, "nothing was made, and readers wait for nobody");
    process.store.capability().expect("a busy store is available");
    std::thread::scope(|scope| {
        let waiting =
            scope.spawn(|| process.store.ask(&ask(Duration::from_secs(120))).map(|begin| word(&begin)));
        std::thread::sleep(Duration::from_millis(30));
        writer.execute_batch("ROLLBACK").expect("it unlocks");
        assert_eq!(waiting.join().expect("no panic").expect("its turn came"), "create:fresh");
    });
}

/// A limit of each file's size in this process, above which writing fails.
fn limit_files(bytes: libc::rlim_t) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure outlives the call. Without the signal a write above the limit is an error.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
    }
}

#[test]
fn ik_12_creates_are_available_only_where_a_whole_reservation_finds_room() {
    let world = sqlite();
    closed_store(&world);
    let is_so = in_child(|| {
        let process = world.process(11);
        created(process.store.begin(OPERATION, SCOPE, "other-1", BODY).expect("an answer"))
            .release()
            .expect("released");
        let log = std::fs::metadata(world.path().with_file_name("idempotency.db-wal")).expect("a log").len();
        // Room for one page with its frame in the log, where a reservation writes two.
        limit_files(log + 4096 + 24 + 100);
        let refused =
            process.store.begin(OPERATION, SCOPE, "other-2", BODY).expect_err("there is no room").code();
        let said = process.store.capability().err().map(|error| error.code());
        limit_files(libc::RLIM_INFINITY);
        let again = process.store.capability().is_ok();
        let reserved = process.store.begin(OPERATION, SCOPE, "other-2", BODY).is_ok();
        let unavailable = Code::IdempotencyStoreUnavailable;
        (refused, said, again, reserved) == (unavailable, Some(unavailable), true, true)
    });
    assert!(is_so);
}

/// What a forked child does, and the status with which it left.
fn in_child(act: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child uses what it inherited through the library, which is what is shown here, and leaves by `_exit`.
    unsafe {
        match libc::fork() {
            0 => {
                let did = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).unwrap_or(false);
                libc::_exit(i32::from(!did));
            }
            child => {
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
                libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
            }
        }
    }
}

#[test]
fn ik_19_a_store_does_not_cross_a_fork_and_a_fresh_one_works() {
    let world = sqlite();
    let process = world.process(10);
    let mut held = created(process.begin());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let busy = world.process(11);
        let is_over = &is_over;
        // Forks find another thread at work in the store.
        scope.spawn(move || {
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                number += 1;
                let key = format!("busy-{number}");
                drop(created(busy.store.begin(OPERATION, SCOPE, &key, BODY).expect("an answer")));
            }
        });
        for round in 0..20 {
            let refused = in_child(|| {
                let error = process.begin_with(BODY).expect_err("it is the parent's");
                error.code() == Code::IdempotencyForked
                    && error.reason() == Some("forked")
                    && error.kind() == gallivant_core::Kind::Input
            });
            assert!(refused, "round {round}");
            let works = in_child(|| {
                let fresh = world.process(12);
                let is_running = word(&fresh.begin()) == "in_progress:fresh";
                let key = format!("child-{round}");
                let mut own = created(fresh.store.begin(OPERATION, SCOPE, &key, BODY).expect("an answer"));
                own.complete("r-child", b"").is_ok() && is_running
            });
            assert!(works, "round {round}");
            let key = format!("child-{round}");
            let claim = replayed(process.store.begin(OPERATION, SCOPE, &key, BODY).expect("an answer"));
            assert_eq!(claim.resource(), "r-child");
        }
        is_over.store(true, Ordering::Relaxed);
    });
    held.complete("r-1", b"").expect("the children's copies released nothing");
}

/// Commits what it was asked to and says that the disk failed.
#[derive(Debug)]
struct LyingDisk {
    claims: Arc<MemoryClaims>,
    lies: AtomicBool,
}

impl ClaimStore for LyingDisk {
    fn read(&self, name: &ClaimName, patience: &mut Patience) -> Result<Option<ClaimRecord>> {
        self.claims.read(name, patience)
    }

    fn change(
        &self,
        name: &ClaimName,
        patience: &mut Patience,
        decide: &mut dyn FnMut(Option<ClaimRecord>) -> Change,
    ) -> Result<()> {
        self.claims.change(name, patience, decide)?;
        if self.lies.swap(false, Ordering::Relaxed) {
            let error = Error::new(Code::IdempotencyStoreUnavailable, "the sync failed");
            return Err(error.with_reason("commit"));
        }
        Ok(())
    }

    fn sweep(&self, wall_ms: u64, patience: &mut Patience) -> Result<Swept> {
        self.claims.sweep(wall_ms, patience)
    }

    fn check(&self, patience: &mut Patience) -> Result<()> {
        self.claims.check(patience)
    }

    fn announce(&self) {}

    fn notifier(&self, _clock: &Arc<dyn Clock>) -> Option<Box<dyn Notifier>> {
        None
    }
}

#[test]
fn ik_10_a_completion_of_unknown_fate_finds_its_own_when_it_is_repeated() {
    let engine = Arc::new(LyingDisk { claims: MemoryClaims::new(), lies: AtomicBool::new(false) });
    let host = Host::system();
    let store = IdempotencyStore::with_engine(Arc::clone(&engine) as _, &StoreOptions::default(), &host);
    let process = Process { pid: 0, host, store: store.expect("it opens") };
    let mut held = created(process.begin());
    engine.lies.store(true, Ordering::Relaxed);
    assert_eq!(held.complete("r-1", b"1").expect_err("the disk failed").reason(), Some("commit"));
    // Not a loss: undoing the thing would undo what every repeat is told of.
    held.complete("r-1", b"1").expect("it finds its own");
    assert_eq!(replayed(process.begin()).resource(), "r-1");
    let lost = held.complete("r-1", b"1").expect_err("it was told so");
    assert_eq!((lost.code(), lost.resource()), (Code::IdempotencyClaimLost, Some("r-1")));
}
