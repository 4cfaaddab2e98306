//! One run, one session: ledger, harness state, lease and hooks agree (EX-LOC-15, EX-LOC-29 with the clauses of harness state).

use gallivant_core::harness_state::{LeaseProbe, Options, Reader, State};
use serde_json::json;

use crate::ground::{Ground, PATIENCE, eventually, sigkill};

fn reader(ground: &Ground) -> Reader {
    Reader::open(ground.place().join("agent"), &Options::default(), &ground.host)
}

/// What a reader with the lease derives.
fn state(ground: &Ground) -> (State, Option<String>) {
    let reader = reader(ground);
    let seen = reader.read(Some(&LeaseProbe::new(&reader))).expect("something was claimed");
    (seen.state, seen.reason.map(|reason| reason.to_string()))
}

fn with_session(ground: &Ground, script: &str) -> serde_json::Value {
    let mut input = ground.script(1, script);
    input["spec"]["session"] =
        json!({"agentDir": ground.place().join("agent"), "agent": "worker", "harness": "claude"});
    ground.start_with(input).expect("it starts")
}

const WAITS: &str = "env | grep ^GALLIVANT_ | sort > env; echo end >> env; echo $$ > pid; \
                     while test ! -e go; do sleep 0.01; done; exit 3";

#[test]
fn the_session_of_a_run_lives_and_ends_with_it() {
    let ground = Ground::new();
    with_session(&ground, WAITS);
    let harness = ground.marked_pid("pid");
    let env = std::fs::read_to_string(ground.place().join("env")).expect("it was written");
    for name in [
        "AGENT=worker",
        "AGENT_DIR=",
        "HARNESS=claude",
        "PTY_SESSION=worker",
        "SESSION_SEQ=",
        "SESSION_TOKEN=",
    ] {
        assert!(env.contains(&format!("GALLIVANT_{name}")), "{name}: {env}");
    }
    assert_eq!(state(&ground).0, State::Ready);
    let snapshot = reader(&ground).snapshot();
    let record = snapshot.record().expect("a record");
    let process = record.extension.as_ref().and_then(|extension| extension.process.clone());
    assert_eq!(process.map(|process| process.pid), Some(harness), "the hooks of another harness are foreign");
    assert!(env.contains(&format!("GALLIVANT_SESSION_TOKEN={}", record.incarnation)));
    ground.pass();
    std::fs::write(ground.place().join("go"), "").expect("written");
    assert_eq!(ground.settled(1)["exit"], 3);
    let snapshot = reader(&ground).snapshot();
    let record = snapshot.record().expect("a record");
    assert_eq!((record.state.value, record.exit.as_deref()), (State::Ended, Some("exit 3")));
}

#[test]
fn a_harness_that_is_killed_is_seen_dead_by_its_lease_before_anybody_settles_it() {
    let ground = Ground::new();
    with_session(&ground, WAITS);
    let harness = ground.marked_pid("pid");
    assert_eq!(state(&ground).0, State::Ready);
    sigkill(harness);
    eventually("the lease's end", || state(&ground).0 == State::Unknown);
    assert_eq!(state(&ground).1.as_deref(), Some("session-dead"));
    assert!(ground.wait_for_kill(1, PATIENCE));
    ground.pass();
    let snapshot = reader(&ground).snapshot();
    assert_eq!(snapshot.record().expect("a record").exit.as_deref(), Some("signal KILL"));
}

#[test]
fn the_lease_is_the_supervisors_and_outlives_the_launcher_but_not_the_harness() {
    let ground = Ground::new();
    // A child of the harness that lives on holds no lease.
    with_session(
        &ground,
        "(trap '' TERM; while test ! -e late; do sleep 0.01; done) & echo $$ > pid; \
                           while test ! -e go; do sleep 0.01; done; exit 0",
    );
    ground.marked_pid("pid");
    assert_eq!(state(&ground).0, State::Ready);
    std::fs::write(ground.place().join("go"), "").expect("written");
    eventually("the lease's end", || state(&ground).1.as_deref() == Some("session-dead"));
    assert_eq!(ground.settle(1).expect("a look"), json!(null), "the tree lives");
    std::fs::write(ground.place().join("late"), "").expect("written");
    assert_eq!(ground.settled(1)["ok"], true);
}

#[test]
fn a_run_that_is_refused_leaves_its_session_ended() {
    let ground = Ground::new();
    let mut input = ground.script(1, "true");
    input["spec"]["session"] =
        json!({"agentDir": ground.place().join("agent"), "agent": "worker", "harness": "claude"});
    input["spec"]["cwd"] = json!("/nowhere/at/all");
    ground.start_with(input).expect_err("it cannot be started");
    let snapshot = reader(&ground).snapshot();
    assert_eq!(snapshot.record().expect("a record").state.value, State::Ended);
    assert!(!ground.task().join("run-1").exists());
}

#[test]
fn c_020_no_lock_outlives_its_owner_in_a_child_of_the_runner() {
    let ground = Ground::new();
    with_session(&ground, WAITS);
    let harness = ground.marked_pid("pid");
    // The child lives, and every lock of the library is free for the next taker, as soon as no other test starts a process, which
    // has copies of all descriptors until it executes.
    let locks = ["task/execution.lock", "agent/.harness-state.lock"];
    for lock in locks {
        let file =
            std::fs::File::open(ground.place().join(lock)).unwrap_or_else(|error| panic!("{lock}: {error}"));
        eventually(lock, || {
            rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
        });
        rustix::fs::flock(&file, rustix::fs::FlockOperation::Unlock).expect(lock);
    }
    assert!(crate::ground::is_alive(harness));
    // The lease alone is held, by the supervisor and not by the harness.
    let lease = std::fs::File::open(ground.place().join("agent/.harness-state.lease")).expect("it is there");
    let held = rustix::fs::flock(&lease, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    assert_eq!(held, Err(rustix::io::Errno::WOULDBLOCK));
    drop(lease);
    std::fs::write(ground.place().join("go"), "").expect("written");
    ground.settled(1);
}
