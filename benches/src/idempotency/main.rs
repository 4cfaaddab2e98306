//! What idempotent creates cost beside the bare engine: `idempotency [--claims N] [--rounds N] [FOLDER…]`.
//!
//! The floor is the same SQLite with the same settings, prepared statements and a row of the same size: two bare commits
//! for a claim and its completion, one prepared SELECT for a replay. Floor, row and floor again take turns, and the
//! median of the ratios is told. With `--claims` (1,000,000 by default) the store is filled first, and the same is
//! measured once more, with the sweep of all that expired, the creates that run beside it, and what the disk takes for the
//! pages of as many calls.
#![allow(clippy::disallowed_methods, reason = "a measurement prepares and times by itself")]

mod disk;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gallivant_core::Host;
use gallivant_core::clock::{Clock, SystemClock};
use gallivant_core::idempotency::{Begin, IdempotencyStore, StoreOptions};
use gallivant_core::testing::ManualClock;
use rusqlite::Connection;

const OPERATION: &str = "harnesses.create";
const SCOPE: &[&str] = &["organisation", "workspace"];
const BODY: &[u8] = br#"{"name":"worker","model":"large"}"#;
/// What a small service answers.
const ANSWER: &[u8] = &[b'a'; 300];

fn main() {
    let mut words = std::env::args().skip(1);
    let (mut claims, mut rounds, mut folders) = (1_000_000_u64, 60_usize, Vec::new());
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|word| word.parse::<u32>().ok()).expect("a number");
        match word.as_str() {
            "--claims" => claims = number().into(),
            "--rounds" => rounds = number() as usize,
            folder => folders.push(PathBuf::from(folder)),
        }
    }
    if folders.is_empty() {
        folders = vec![PathBuf::from("target"), PathBuf::from("/dev/shm")];
    }
    for folder in folders {
        let root =
            tempfile::Builder::new().prefix("gallivant-claims-").tempdir_in(&folder).expect("a directory");
        println!("{}", folder.display());
        measure(root.path(), claims, rounds);
    }
}

fn measure(root: &Path, claims: u64, rounds: usize) {
    let open = |path: &Path, host: &Host| {
        IdempotencyStore::open(path, &StoreOptions::default(), host).expect("the store opens")
    };
    let small = open(&root.join("small.db"), &Host::system());
    let (floor, small_floor) =
        (Floor::open(&root.join("floor.db")), Floor::open(&root.join("small-floor.db")));
    take("100 claims", &small, &small_floor, rounds);
    if claims == 0 {
        return;
    }
    let path = root.join("idempotency.db");
    let filled = Instant::now();
    fill(&path, claims);
    floor.fill(claims);
    println!("  filled with {claims} claims in {:.0} s", filled.elapsed().as_secs_f64());
    let store = open(&path, &Host::system());
    take(&format!("{claims} claims"), &store, &floor, rounds);
    // In turns, so that what else the machine does meanwhile falls on both.
    let serial = std::cell::Cell::new(0);
    let next = || format!("cost-{}", serial.replace(serial.get() + 1));
    let claim = |store: &IdempotencyStore| (0..20).for_each(|_| complete(store, &next()));
    let known: Vec<String> = (0..50).map(|_| next()).collect();
    known.iter().for_each(|key| [&small, &store].into_iter().for_each(|store| complete(store, key)));
    let replays = |store: &IdempotencyStore| known.iter().for_each(|key| replay(store, key));
    known.iter().for_each(|key| [&small_floor, &floor].into_iter().for_each(|floor| floor.two_commits(key)));
    let selects = |floor: &Floor| known.iter().for_each(|key| floor.select(key));
    let mut ratios = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..rounds {
        ratios[0].push(turns(|| claim(&small), || claim(&store)));
        ratios[1].push(turns(|| replays(&small), || replays(&store)));
        ratios[2].push(turns(|| selects(&small_floor), || selects(&floor)));
    }
    let [claims_ratio, replays_ratio, selects_ratio] = ratios.map(|mut ratios| median(&mut ratios).0);
    println!(
        "  cost at {claims} claims by that at 100: claim {claims_ratio:.2} (1.2), replay {replays_ratio:.2} (1.2), \
         one SELECT {selects_ratio:.2}"
    );

    let later = ManualClock::new(SystemClock.wall_ms() + 2 * 86_400_000);
    let later = Host { clock: Arc::new(later), ..Host::system() };
    let (is_over, store, second) = (AtomicBool::new(false), open(&path, &later), open(&path, &later));
    let mut calls = Vec::new();
    let mut removed = 0;
    let begins = std::thread::scope(|scope| {
        let beside = scope.spawn(|| {
            let mut waits = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let key = format!("beside-{}", waits.len());
                let began = Instant::now();
                let mut reservation = created(second.begin(OPERATION, SCOPE, &key, BODY).expect("an answer"));
                waits.push(began.elapsed());
                reservation.release().expect("it is released");
                std::thread::sleep(Duration::from_millis(2));
            }
            waits
        });
        loop {
            let began = Instant::now();
            let swept = store.sweep().expect("it sweeps");
            calls.push(began.elapsed());
            removed += swept.removed;
            if !swept.has_more {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        beside.join().expect("no panic")
    });
    println!(
        "  sweep: {removed} removed in {} calls, longest {:.1} ms, 99.9 % {:.1} ms (20); begins beside: {}, longest {:.1} ms, 99.9 % {:.1} ms (25)",
        calls.len(),
        longest(&calls),
        most(&calls),
        begins.len(),
        longest(&begins),
        most(&begins)
    );
    let bare = disk::calls(&path, root, calls.len());
    println!(
        "  the disk alone, {} times the syncs and pages of a call: longest {:.1} ms, 99.9 % {:.1} ms",
        bare.len(),
        longest(&bare),
        most(&bare)
    );
}

/// Milliseconds.
fn longest(times: &[Duration]) -> f64 {
    times.iter().max().map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

fn most(times: &[Duration]) -> f64 {
    let mut times = times.to_vec();
    times.sort();
    times.get(times.len() * 999 / 1000).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

/// Tells the library's cost by the floor's, with its microseconds.
fn take(what: &str, store: &IdempotencyStore, floor: &Floor, rounds: usize) {
    let mut serial = 0;
    let mut next = || {
        serial += 1;
        format!("{}-{serial}", what.replace(' ', "-"))
    };
    let known: Vec<String> = (0..50).map(|_| next()).collect();
    for key in &known {
        complete(store, key);
        floor.two_commits(key);
    }
    let (mut claims, mut replays) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let keys: Vec<String> = (0..20).map(|_| next()).collect();
        let floors: [Vec<String>; 2] = [(0..20).map(|_| next()).collect(), (0..20).map(|_| next()).collect()];
        let turn = std::cell::Cell::new(0);
        let claim = turns(
            || floors[turn.replace(1)].iter().for_each(|key| floor.two_commits(key)),
            || keys.iter().for_each(|key| complete(store, key)),
        );
        claims.push((claim.0, claim.1 / 20.0));
        let replay = turns(
            || known.iter().for_each(|key| floor.select(key)),
            || known.iter().for_each(|key| replay(store, key)),
        );
        replays.push((replay.0, replay.1 / 50.0));
    }
    let (claim, replay) = (median(&mut claims), median(&mut replays));
    println!(
        "  {what}: claim and complete {:.2} x two bare commits (1.2), {:.0} us; replay {:.2} x one SELECT (2), {:.1} us",
        claim.0, claim.1, replay.0, replay.1
    );
}

/// The floor, the row, the floor: the ratio, and the row's microseconds.
fn turns(floor: impl Fn(), row: impl Fn()) -> (f64, f64) {
    let time = |act: &dyn Fn()| {
        let began = Instant::now();
        act();
        began.elapsed().as_secs_f64() * 1e6
    };
    let before = time(&floor);
    let took = time(&row);
    let after = time(&floor);
    (took / ((before + after) / 2.0), took)
}

fn median(figures: &mut [(f64, f64)]) -> (f64, f64) {
    let middle = |pick: &dyn Fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = figures.iter().map(pick).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    (middle(&|figure| figure.0), middle(&|figure| figure.1))
}

fn created(begin: Begin) -> gallivant_core::idempotency::Reservation {
    match begin {
        Begin::Create(reservation) => reservation,
        other => panic!("{other:?}"),
    }
}

fn complete(store: &IdempotencyStore, key: &str) {
    let mut reservation = created(store.begin(OPERATION, SCOPE, key, BODY).expect("an answer"));
    reservation.complete("resource-1", ANSWER).expect("it completes");
}

fn replay(store: &IdempotencyStore, key: &str) {
    match store.begin(OPERATION, SCOPE, key, BODY).expect("an answer") {
        Begin::Replay(claim) => assert_eq!(claim.answer().map(<[u8]>::len), Some(ANSWER.len())),
        other => panic!("{other:?}"),
    }
}

/// Lives so many claims, so that every row makes sense: a sweep passes over what does not. In memory where that can be,
/// because two syncs a claim take long.
fn fill(path: &Path, claims: u64) {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory } else { path.parent().expect("a folder") };
    let folder =
        tempfile::Builder::new().prefix("gallivant-claims-").tempdir_in(folder).expect("a directory");
    let filled = folder.path().join("idempotency.db");
    let store = IdempotencyStore::open(&filled, &StoreOptions::default(), &Host::system());
    let store = store.expect("the store opens");
    for number in 0..claims {
        complete(&store, &format!("filled-{number}"));
    }
    drop(store);
    std::fs::copy(&filled, path).expect("it is copied");
    // So that its writing back falls into no measurement.
    std::fs::File::open(path).and_then(|file| file.sync_all()).expect("it is synced");
}

/// The bare engine.
struct Floor {
    connection: Connection,
}

impl Floor {
    fn open(path: &Path) -> Floor {
        let connection = Connection::open(path).expect("SQLite opens it");
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 250;
                 CREATE TABLE claims (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, state INTEGER NOT NULL,
                 owner TEXT, answer BLOB, expires_ms INTEGER);
                 CREATE INDEX by_expiry ON claims (expires_ms) WHERE expires_ms IS NOT NULL;",
            )
            .expect("a table");
        Floor { connection }
    }

    fn name(key: &str) -> [u8; 32] {
        *gallivant_core::idempotency::Fingerprint::of(key.as_bytes()).as_bytes()
    }

    /// What stands in a row besides the answer, in bytes.
    const OWNER: &str = "harnesses.create organisation workspace 16 bytes token 32 bytes of a fingerprint 00000000-0000-4000-8000-000000000000 pid:[4026531836] 00000000000000000000000000000000 times";

    fn two_commits(&self, key: &str) {
        let name = Floor::name(key);
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO claims (name, state, owner) VALUES (?1, 1, ?2)")
            .expect("it parses");
        insert.execute((name.as_slice(), Floor::OWNER)).expect("it commits");
        let mut update = self
            .connection
            .prepare_cached(
                "UPDATE claims SET state = 3, owner = NULL, answer = ?2, expires_ms = ?3 WHERE name = ?1",
            )
            .expect("it parses");
        update.execute((name.as_slice(), ANSWER, 1_800_086_400_000_i64)).expect("it commits");
    }

    fn select(&self, key: &str) {
        let mut select = self
            .connection
            .prepare_cached("SELECT state, answer FROM claims WHERE name = ?1")
            .expect("it parses");
        let (state, answer): (i64, Vec<u8>) = select
            .query_row([Floor::name(key).as_slice()], |row| Ok((row.get(0)?, row.get(1)?)))
            .expect("a row");
        assert_eq!((state, answer.len()), (3, ANSWER.len()));
    }

    fn fill(&self, claims: u64) {
        self.connection.execute_batch("BEGIN").expect("it begins");
        for number in 0..claims {
            let mut insert = self
                .connection
                .prepare_cached("INSERT INTO claims (name, state, answer, expires_ms) VALUES (?1, 3, ?2, ?3)")
                .expect("it parses");
            let name = Floor::name(&format!("filled-{number}"));
            insert.execute((name.as_slice(), ANSWER, 1_800_086_400_000_i64)).expect("it is inserted");
        }
        self.connection.execute_batch("COMMIT").expect("it commits");
    }
}
