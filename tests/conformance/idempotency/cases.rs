//! Faults that people reported of comparable software, as far as they are about idempotent creates.

use std::time::Duration;

use gallivant_core::Code;
use gallivant_core::idempotency::IdempotencyStore;
use gallivant_core::process::ProcessFact;
use gallivant_core::testing::SimulatedProcesses;
use serde_json::Value;

use super::world::{BODY, Engine, KEY, NOW, OPERATION, SCOPE, World, created, replayed, running, word};

fn input(name: &str) -> Value {
    let path = format!("{}/vectors/cases/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("the case's input")).expect("JSON")
}

#[test]
fn c_013_a_step_of_the_wall_clock_takes_no_claim_away() {
    for step_ms in [-3_600_000_i64, 3_600_000] {
        let world = World::new(Engine::Sqlite);
        let (owner, other) = (world.process(10), world.process(11));
        let mut held = created(owner.begin());
        world.clock.set_wall_ms(NOW.saturating_add_signed(step_ms));
        assert_eq!(word(&other.begin()), "in_progress:fresh", "a living owner, step {step_ms}");
        held.complete("r-1", b"").expect("it completes");
        world.clock.set_wall_ms(NOW);
        assert_eq!(word(&other.begin()), "replay:replayed", "step {step_ms}");
    }
}

#[test]
fn c_015_a_waiter_hears_of_an_end_that_leaves_file_times_and_sizes_alike() {
    let world = World::new(Engine::Sqlite);
    let (first, second) = (world.process(10), world.process(11));
    for round in 0..20 {
        let key = format!("k-{round}");
        let begin = |process: &super::world::Process| {
            process.store.begin(OPERATION, SCOPE, &key, BODY).expect("an answer")
        };
        let mut held = created(begin(&first));
        let ticket = running(begin(&second));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| ticket.wait(Duration::from_secs(120)).expect("an answer"));
            std::thread::sleep(Duration::from_millis(3));
            held.complete("r-1", b"").expect("it completes");
            assert_eq!(word(&waiting.join().expect("no panic")), "replay:waited");
        });
    }
}

#[test]
fn c_018_a_file_of_nothing_is_damage_and_others_are_unaffected() {
    for name in ["C-018.empty.state.json", "C-018.nul.state.json"] {
        let world = World::new(Engine::Sqlite);
        let bytes =
            std::fs::read(format!("{}/vectors/cases/{name}", env!("CARGO_MANIFEST_DIR"))).expect("the input");
        std::fs::write(world.path(), &bytes).expect("it can be written");
        let host = gallivant_core::Host::system();
        let error = IdempotencyStore::open(world.path(), &world.options, &host).expect_err(name);
        assert_eq!(error.code(), Code::IdempotencyStoreCorrupt, "{name}");
        assert_eq!(std::fs::read(world.path()).expect("it is there"), bytes, "{name}");
        let beside = world.path().with_file_name("other.db");
        IdempotencyStore::open(beside, &world.options, &host).expect("another store is unaffected");
    }
}

#[test]
fn c_020_no_program_that_is_started_inherits_the_store() {
    let world = World::new(Engine::Sqlite);
    let process = world.process(10);
    let held = created(process.begin());
    let listed = std::process::Command::new("ls").arg("-l").arg("/proc/self/fd").output().expect("ls runs");
    let listed = String::from_utf8_lossy(&listed.stdout);
    assert!(!listed.contains("idempotency.db"), "{listed}");
    drop(held);
}

#[test]
fn c_022_two_stores_under_one_name_are_never_both_believed() {
    let world = World::new(Engine::Sqlite);
    let first = world.process(10);
    let mut held = created(first.begin());
    for name in ["idempotency.db", "idempotency.db-wal", "idempotency.db-shm"] {
        let _ = std::fs::remove_file(world.path().with_file_name(name));
    }
    let second = world.process(11);
    created(second.begin()).complete("r-2", b"").expect("it completes");
    let error = held.complete("r-1", b"").expect_err("its store is not there any more");
    assert_eq!(error.code(), Code::IdempotencyStoreUnavailable);
    assert_eq!(replayed(second.begin()).resource(), "r-2");
}

#[test]
fn c_047_a_key_is_kept_while_the_outcome_is_unknown_and_a_replay_is_seen() {
    let world = World::new(Engine::Sqlite);
    let process = world.process(10);
    let begin = |key: &str| process.store.begin(OPERATION, SCOPE, key, BODY).expect("an answer");
    // The outcome is unknown: the same key, and no second thing.
    let mut held = created(begin("K1"));
    assert_eq!(word(&begin("K1")), "in_progress:fresh");
    // A definite refusal is not replayed for ever: it is released, and the key works again with any body.
    held.release().expect("it is released");
    created(begin("K1")).complete("r-1", b"").expect("it completes");
    // Another intent with the same text has another key, and its own thing.
    assert_eq!(word(&begin("K2")), "create:fresh");
    assert_eq!(word(&begin("K1")), "replay:replayed");
}

#[test]
fn c_049_of_many_at_once_one_creates_and_all_get_its_answer() {
    let plan = input("C-049.race.plan.json");
    let processes = plan["processes"].as_u64().expect("a number");
    let threads = plan["threads_each"].as_u64().expect("a number");
    let world = World::new(Engine::Sqlite);
    let stores: Vec<_> =
        (0..processes).map(|number| world.process(20 + u32::try_from(number).expect("few"))).collect();
    let barrier = std::sync::Barrier::new(usize::try_from(processes * threads).expect("few"));
    let mut said = std::thread::scope(|scope| {
        let racing: Vec<_> = stores
            .iter()
            .flat_map(|process| std::iter::repeat_n(process, usize::try_from(threads).expect("few")))
            .map(|process| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    match process.begin() {
                        gallivant_core::idempotency::Begin::Create(mut reservation) => {
                            std::thread::sleep(Duration::from_millis(100));
                            reservation.complete("r-1", b"the answer").expect("it completes");
                            "create".to_owned()
                        }
                        gallivant_core::idempotency::Begin::InProgress(ticket) => {
                            let claim = replayed(ticket.wait(Duration::from_secs(120)).expect("an answer"));
                            String::from_utf8(claim.answer().expect("it was saved").to_vec()).expect("UTF-8")
                        }
                        other => panic!("{other:?}"),
                    }
                })
            })
            .collect();
        racing.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
    });
    said.sort();
    assert_eq!(said.len() as u64, processes * threads);
    assert_eq!(said[0], "create");
    assert!(said[1..].iter().all(|answer| answer == "the answer"), "{said:?}");
}

#[test]
fn c_051_the_exact_bytes_decide_and_the_refusal_shows_no_body() {
    let case = input("C-051.bodies.json");
    let world = World::new(Engine::Sqlite);
    let process = world.process(10);
    let key = case["key"].as_str().expect("text");
    let begin =
        |body: &Value| process.store.begin(OPERATION, SCOPE, key, body.as_str().expect("text").as_bytes());
    created(begin(&case["first"]).expect("an answer")).complete("r-1", b"").expect("it completes");
    for again in case["again"].as_array().expect("a list") {
        match again["expect"].as_str().expect("text") {
            "Replay" => assert_eq!(replayed(begin(&again["body"]).expect("an answer")).resource(), "r-1"),
            expected => {
                let error = begin(&again["body"]).expect_err("another body");
                assert_eq!(error.code().word(), expected, "{again}");
                let named = error.message();
                assert!(named.matches("sha256=").count() == 2 && !named.contains("task"), "{named}");
            }
        }
    }
}

#[test]
fn c_061_a_reservation_is_held_by_pid_start_and_boot_and_never_by_a_pid_alone() {
    let case = input("C-061.procs.json");
    for row in case["rows"].as_array().expect("a list") {
        let world = World::new(Engine::Memory);
        world.machine.set_boot("B1");
        let recorded = &case["recorded"];
        let pid = u32::try_from(recorded["pid"].as_u64().expect("a number")).expect("a pid");
        world.machine.start(pid, recorded["start"].as_u64().expect("a number"));
        let owner = gallivant_core::Host {
            processes: std::sync::Arc::new(
                world.machine.as_process(pid, recorded["start"].as_u64().expect("a number")),
            ),
            clock: std::sync::Arc::clone(&world.clock) as _,
            ..gallivant_core::Host::system()
        };
        let store = world.open(&owner).expect("it opens");
        std::mem::forget(created(store.begin(OPERATION, SCOPE, KEY, BODY).expect("an answer")));
        let machine: &SimulatedProcesses = &world.machine;
        let start = |found: &Value| found["start"].as_u64().expect("a number");
        let found = &row["found"];
        match found.as_str() {
            Some("no such process") => machine.end(pid),
            Some("exists, start time unreadable") => machine.set(pid, ProcessFact::Unreadable),
            // Whether it may be signalled is never asked.
            Some(_) => machine.set(pid, ProcessFact::Running { start: start(row) }),
            None if found["zombie"] == true => machine.set(pid, ProcessFact::Zombie),
            None => {
                machine.set(pid, ProcessFact::Running { start: start(found) });
                machine.set_boot(found["boot"].as_str().expect("text"));
            }
        }
        let said = word(&world.process(5).begin());
        let expected = if row["alive"].as_str().expect("text").starts_with("no") {
            "create:taken-over"
        } else {
            "in_progress:fresh"
        };
        assert_eq!(said, expected, "{row}");
    }
}
