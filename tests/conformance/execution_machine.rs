//! EX-BND-36 to EX-BND-43: the machine of a call; EX-SEA-01 to EX-SEA-03: the seams it takes the world through.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use gallivant_core::clock::{Clock, ClockReading, SystemClock};
use gallivant_core::execution::{
    AbortToken, Boundary, Call, FaultAnswer, Faults, Machine, NoFaults, Reply, Step, drive,
};
use gallivant_core::json::Value;
use gallivant_core::testing::{RenamedMachine, simulated_host};
use gallivant_core::{Code, Host};

use crate::support::memory_task::{START, Task, at, boundary_of, object, submit, word, work};

const OWNED: &str = r#"{"providerJobId":"job-1","turnId":"turn-1","sessionId":"session-1"}"#;

fn owned() -> Reply {
    Reply::Value(OWNED.to_owned())
}

/// The machine of a submit that has handed its call out.
fn asking(boundary: &Boundary, operation: &str) -> (Machine, Call) {
    let mut machine = submit(boundary, operation);
    match machine.start() {
        Step::Call(call) => (machine, call),
        Step::Done(done) => panic!("it does not ask: {done:?}"),
    }
}

fn done(step: gallivant_core::Result<Step>) -> Value {
    match step {
        Ok(Step::Done(Ok(done))) => done,
        other => panic!("it is not done: {other:?}"),
    }
}

fn assert_refused<T: std::fmt::Debug>(step: gallivant_core::Result<T>) {
    let error = step.expect_err("it is refused");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionInput, Some("reply")));
}

#[test]
fn ex_bnd_36_dropping_a_machine_or_its_boundary_equals_a_crash_there() {
    for whole_boundary in [false, true] {
        let task = Task::new();
        let boundary = task.boundary();
        let (mut machine, call) = asking(&boundary, "op-1");
        let files = task.files();
        assert!(task.is_locked() && !call.signal.is_aborted());
        if whole_boundary {
            let clone = boundary.clone();
            drop(boundary);
            assert!(task.is_locked(), "a clone is the same boundary");
            drop(clone);
            assert_eq!(machine.outstanding_id(), None);
            assert_refused(machine.reply(call.id, owned()));
        } else {
            drop(machine);
        }
        assert!(call.signal.is_aborted(), "the method is told to end");
        assert!(task.comes_free());
        assert_eq!(task.files(), files, "nothing was written");

        // Later calls go on from what is on disk.
        let boundary = task.boundary();
        let Step::Done(Err(unknown)) = submit(&boundary, "op-1").start() else { panic!("it is refused") };
        assert_eq!(unknown.code(), Code::ExecutionAcceptanceUnknown);
        let Step::Done(Err(other)) = submit(&boundary, "op-2").start() else { panic!("it is refused") };
        assert_eq!(other.code(), Code::ExecutionUnresolved);
    }

    // Before its first step it has done nothing at all.
    let task = Task::new();
    drop(submit(&task.boundary(), "op-1"));
    assert!(!task.root().exists());
}

/// Remembers on which threads the library works.
#[derive(Debug, Default)]
struct Threads(Mutex<Vec<thread::ThreadId>>);

impl Faults for Threads {
    fn at(&self, _: &str) -> FaultAnswer {
        self.0.lock().expect("nobody panics with it").push(thread::current().id());
        FaultAnswer::Go
    }
}

#[test]
fn ex_bnd_39_a_call_is_handed_out_whole_and_by_an_id_of_its_own() {
    let task = Task::new();
    let threads = Arc::new(Threads::default());
    let boundary = task.boundary_with("{}", Arc::clone(&threads) as _);
    let (mut machine, call) = asking(&boundary, "op-1");
    assert_eq!((call.port.word(), call.method), ("transport", "submit"));
    assert_eq!(call.deadline_at, START + 20_000);
    assert!(!call.signal.is_aborted());
    let members: Vec<_> = call.input.iter().map(|(name, _)| name).collect();
    let expected = [
        "taskId",
        "provider",
        "account",
        "runId",
        "operationId",
        "idempotencyKey",
        "kind",
        "prompt",
        "inputHead",
        "policy",
        "model",
        "environment",
        "reservationUsd",
        "hardCapUsd",
        "preparation",
    ];
    assert_eq!(members, expected);
    assert_eq!(machine.outstanding_id(), Some(call.id));
    let Step::Done(Err(error)) = machine.start() else { panic!("it has one call out, and no second") };
    assert_eq!(error.reason(), Some("reply"));
    assert_eq!(machine.outstanding_id(), Some(call.id));

    let elsewhere = Task::new();
    let other = elsewhere.boundary();
    let (_held, another) = asking(&other, "op-1");
    assert_ne!(call.id, another.id, "an id is unique in the process");

    assert_eq!(word(&done(machine.reply(call.id, owned())), "acceptance"), "accepted");
    assert_eq!(machine.outstanding_id(), None);
    let here = thread::current().id();
    let threads = threads.0.lock().expect("nobody panics with it");
    assert!(threads.len() > 4 && threads.iter().all(|thread| *thread == here), "it starts no thread");
}

#[test]
fn ex_bnd_40_what_must_be_durable_before_a_call_is_so_when_it_is_handed_out() {
    let (host, simulation) = simulated_host(7);
    simulation.files.plant_directory("/ground").expect("it can be planted");
    let root = Path::new("/ground/task");
    let boundary = boundary_of(root, &host, "{}", Arc::new(NoFaults));
    let (_machine, call) = asking(&boundary, "op-1");
    let key = call.input.get("idempotencyKey").and_then(Value::as_str).expect("it has a key").to_owned();
    let mut images = 0;
    for image in simulation.files.images_after_crash() {
        images += 1;
        let ledger = image.files.contents("/ground/task/execution.json");
        let ledger = ledger.unwrap_or_else(|error| panic!("{}: {error}", image.description));
        let ledger = Value::parse(std::str::from_utf8(&ledger).expect("it is text")).expect("it is JSON");
        let operation = at(&ledger, "operations/op-1");
        assert_eq!(word(operation, "acceptance"), "unknown", "{}", image.description);
        assert_eq!(word(operation, "idempotencyKey"), key);
        assert_eq!(at(operation, "reservationUsd").to_json(), "0.5");
        assert_eq!(at(&ledger, "allowance/chargedUsd").to_json(), "0.5");
        assert_eq!(word(&ledger, "currentRunId"), "run-op-1");
    }
    assert!(images > 0, "a crash leaves something");
}

#[test]
fn ex_bnd_41_deadlines_and_aborts_are_inputs_and_a_late_reply_is_a_deadline() {
    let outcome = |how: fn(&Task, &mut Machine, &Call) -> gallivant_core::Result<Step>| {
        let task = Task::new();
        let boundary = task.boundary();
        let (mut machine, call) = asking(&boundary, "op-1");
        let Ok(Step::Done(Err(lost))) = how(&task, &mut machine, &call) else { panic!("it is lost") };
        assert_eq!(lost.code(), Code::ExecutionAcceptanceUnknown);
        assert_eq!(word(&task.ledger(), "operations/op-1/acceptance"), "unknown");
        assert!(call.signal.is_aborted());
        lost.reason().expect("it has a reason")
    };
    assert_eq!(outcome(|_, machine, call| machine.deadline(call.id)), "deadline");
    assert_eq!(outcome(|_, machine, call| machine.abort(call.id)), "aborted");
    let at_the_deadline = |task: &Task, machine: &mut Machine, call: &Call| {
        task.clock.set_wall_ms(call.deadline_at);
        machine.reply(call.id, owned())
    };
    assert_eq!(outcome(at_the_deadline), "deadline");
    let unreadable_after_it = |task: &Task, machine: &mut Machine, call: &Call| {
        task.clock.set_wall_ms(call.deadline_at + 1);
        machine.reply(call.id, Reply::Value("no JSON".into()))
    };
    assert_eq!(outcome(unreadable_after_it), "deadline");
    let task = Task::new();
    let boundary = task.boundary();
    let (mut machine, call) = asking(&boundary, "op-1");
    task.clock.set_wall_ms(call.deadline_at - 1);
    assert_eq!(word(&done(machine.reply(call.id, owned())), "acceptance"), "accepted", "it is in time");

    // The caller's token ends the wait for the lock, and nothing is written.
    let task = Task::new();
    let boundary = task.boundary_with(r#"{"limits":{"lockWaitMs":60000}}"#, Arc::new(NoFaults));
    let (_held, _) = asking(&boundary, "op-1");
    let files = task.files();
    let abort = AbortToken::new();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| boundary.submit(work("op-2"), abort.clone()).start());
        SystemClock.sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished());
        abort.abort();
        let Step::Done(Err(busy)) = waiting.join().expect("it does not panic") else { panic!("refused") };
        assert_eq!((busy.code(), busy.reason()), (Code::ExecutionBusy, Some("aborted")));
    });
    assert_eq!(task.files(), files);
}

#[test]
fn ex_bnd_42_a_reply_that_belongs_to_no_outstanding_call_is_refused_and_changes_nothing() {
    let task = Task::new();
    let boundary = task.boundary();
    let (mut machine, call) = asking(&boundary, "op-1");
    let elsewhere = Task::new();
    let other = elsewhere.boundary();
    let (mut other, foreign) = asking(&other, "op-1");
    let files = (task.files(), elsewhere.files());

    // With another id, and to another machine.
    for id in [0, call.id + 1_000, foreign.id, u64::MAX] {
        assert_refused(machine.reply(id, owned()));
        assert_refused(machine.deadline(id));
        assert_refused(machine.abort(id));
        assert_refused(machine.sending(id));
    }
    assert_refused(other.reply(call.id, owned()));
    assert_eq!((task.files(), elsewhere.files()), files);
    assert_eq!((machine.outstanding_id(), other.outstanding_id()), (Some(call.id), Some(foreign.id)));
    assert!(!call.signal.is_aborted() && !foreign.signal.is_aborted());

    // After its end: fed twice, and late after a deadline and an abort.
    done(machine.reply(call.id, owned()));
    let files = task.files();
    for _ in 0..2 {
        assert_refused(machine.reply(call.id, Reply::Value(OWNED.replace("job-1", "job-2"))));
        assert_refused(machine.deadline(call.id));
        assert_refused(machine.sending(call.id));
    }
    let Step::Done(Err(error)) = machine.start() else { panic!("it does not begin again") };
    assert_eq!(error.reason(), Some("reply"));
    assert_eq!(task.files(), files);

    for is_aborted in [false, true] {
        let task = Task::new();
        let boundary = task.boundary();
        let (mut machine, call) = asking(&boundary, "op-1");
        let ended = if is_aborted { machine.abort(call.id) } else { machine.deadline(call.id) };
        assert!(matches!(ended, Ok(Step::Done(Err(_)))));
        let files = task.files();
        assert_refused(machine.reply(call.id, owned()));
        assert_eq!(task.files(), files);
    }
}

#[test]
fn ex_bnd_43_two_machines_of_one_root_exclude_each_other_and_one_that_waits_is_in_its_start() {
    let task = Task::new();
    let patient = task.boundary_with(r#"{"limits":{"lockWaitMs":60000}}"#, Arc::new(NoFaults));
    let (mut machine, call) = asking(&patient, "op-1");
    for boundary in [&task.boundary(), &task.boundary()] {
        let Step::Done(Err(busy)) = submit(boundary, "op-2").start() else { panic!("it is refused") };
        assert_eq!((busy.code(), busy.reason()), (Code::ExecutionBusy, None));
    }
    thread::scope(|scope| {
        let waiting = scope.spawn(|| submit(&patient, "op-1").start());
        SystemClock.sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished(), "it waits");
        done(machine.reply(call.id, owned()));
        let Step::Done(Ok(known)) = waiting.join().expect("it does not panic") else { panic!("it is known") };
        assert_eq!(at(&known, "reused").as_bool(), Some(true), "it has seen what the first one saved");
    });
    // A machine may be made on one thread and stepped on another.
    let moved = submit(&patient, "op-1");
    let known = thread::scope(|scope| {
        scope.spawn(move || drive(moved, &task.transport, &AbortToken::new())).join().expect("no panic")
    });
    assert_eq!(word(&known.expect("it is known"), "acceptance"), "accepted");
}

/// The machine's clock, which counts how often it is waited on.
#[derive(Debug, Default)]
struct Counting(Mutex<u64>);

impl Counting {
    fn sleeps(&self) -> u64 {
        *self.0.lock().expect("nobody panics with it")
    }
}

impl Clock for Counting {
    fn wall_ms(&self) -> u64 {
        START
    }
    fn boot(&self) -> Duration {
        SystemClock.boot()
    }
    fn awake(&self) -> Duration {
        SystemClock.awake()
    }
    fn now(&self) -> ClockReading {
        ClockReading { wall: Duration::from_millis(START), ..SystemClock.now() }
    }
    fn sleep(&self, length: Duration) {
        *self.0.lock().expect("nobody panics with it") += 1;
        SystemClock.sleep(length);
    }
}

#[test]
fn ex_sea_01_every_time_is_the_injected_clocks_and_only_the_wait_for_a_lock_sleeps() {
    let task = Task::new();
    let clock = Arc::new(Counting::default());
    let host = Host { clock: Arc::clone(&clock) as _, ..Host::system() };
    let boundary = boundary_of(&task.root(), &host, r#"{"limits":{"lockWaitMs":2000}}"#, Arc::new(NoFaults));
    let (mut machine, call) = asking(&boundary, "op-1");
    done(machine.reply(call.id, owned()));
    boundary.inspect().expect("it is read");
    assert_eq!(clock.sleeps(), 0);
    let ledger = task.ledger();
    for time in ["createdAt", "operations/op-1/intentAt", "operations/op-1/acceptedAt"] {
        assert_eq!(at(&ledger, time).to_json(), START.to_string(), "{time}");
    }
    assert_eq!(at(&ledger, "executions/run-op-1/startedAt").to_json(), START.to_string());

    let other = Task::new();
    let held = boundary_of(&other.root(), &host, r#"{"limits":{"lockWaitMs":2000}}"#, Arc::new(NoFaults));
    let (_held, _) = asking(&held, "op-1");
    assert!(matches!(submit(&held, "op-2").start(), Step::Done(Err(_))));
    assert!(clock.sleeps() > 0, "a wait for a lock sleeps by the clock");
}

#[test]
fn ex_sea_02_jitter_stretches_a_wait_from_its_half_to_its_whole() {
    use gallivant_core::execution::{ExecutionOptions, FixedJitter};
    use gallivant_core::testing::MEMORY_CAPABILITY;
    let next = |jitter: f64| {
        let task = Task::new();
        let options = object(&format!(
            r#"{{"taskId":"t-1","provider":"memory","account":"a-1","budgetUsd":8,"health":"external",
                 "capabilities":{MEMORY_CAPABILITY},"transport":{{"methods":["submit"]}}}}"#
        ));
        let mut options = ExecutionOptions::from_object(task.root(), &options, Arc::new(NoFaults))
            .expect("the options are right");
        options.jitter = Some(Arc::new(FixedJitter(jitter)));
        let boundary = Boundary::new(options, &task.host).expect("the options fit each other");
        let (mut machine, call) = asking(&boundary, "op-1");
        assert!(matches!(machine.deadline(call.id), Ok(Step::Done(Err(_)))));
        let next =
            at(&task.ledger(), "executions/run-op-1/nextAttemptAt").as_number().and_then(|at| at.as_u64());
        next.expect("it is tried again") - START
    };
    assert_eq!((next(0.0), next(0.5), next(1.0)), (5_000, 7_500, 10_000));
}

#[test]
fn ex_sea_03_who_holds_a_lock_is_written_into_it_and_nobody_asks_whether_that_one_lives() {
    let task = Task::new();
    let mut host = task.host.clone();
    host.processes = Arc::new(RenamedMachine::new(host.processes, Some("elsewhere"), Some("boot-7")));
    let boundary = boundary_of(&task.root(), &host, "{}", Arc::new(NoFaults));
    let (machine, _) = asking(&boundary, "op-1");
    let text = std::fs::read_to_string(task.root().join("execution.lock")).expect("it is there");
    let holder = Value::parse(&text).expect("it is JSON");
    assert_eq!(at(&holder, "pid").to_json(), std::process::id().to_string());
    let identity = word(&holder, "identity");
    assert!(identity.starts_with("linux:boot-7:"), "{identity}");
    drop(machine);

    // The file names a process that lives, this very one, and holds nothing.
    let own = task.boundary();
    let Step::Done(Err(unknown)) = submit(&own, "op-1").start() else { panic!("it is refused") };
    assert_eq!(unknown.code(), Code::ExecutionAcceptanceUnknown, "by the ledger, and not by the lock");
}
