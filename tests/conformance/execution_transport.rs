//! EX-TRA: calls of a transport, as its drivers make them.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use gallivant_core::Code;
use gallivant_core::clock::{Clock, SystemClock};
use gallivant_core::execution::capability::Capability;
use gallivant_core::execution::contract::Methods;
use gallivant_core::execution::transport::{Finding, PROMPT, Subject, check_transport};
use gallivant_core::execution::{
    AbortToken, AsyncTransport, FaultAnswer, Faults, Limits, Method, NoFaults, Reply, ReplyFuture, Step,
    Transport, TransportCall, TransportError, drive, drive_async,
};
use gallivant_core::json::Value;
use gallivant_core::redaction::Secrets;
use gallivant_core::testing::{MEMORY_CAPABILITY, MemoryTransport, Mishap};

use crate::support::memory_task::{START, Task, at, is_locked, object, submit, word};

fn wait_until(is_so: impl Fn() -> bool) {
    for _ in 0..20_000 {
        if is_so() {
            return;
        }
        SystemClock.sleep(Duration::from_millis(1));
    }
    panic!("it did not come to it");
}

fn subject(host: &gallivant_core::Host) -> Subject {
    let record = Value::parse(MEMORY_CAPABILITY).expect("it is JSON");
    let record = Capability::from_value(record).expect("it is a record");
    let continuation = record.promised().continuation;
    Subject {
        task_id: "t-1".into(),
        provider: "memory".into(),
        account: "a-1".into(),
        input_head: None,
        policy: Value::Null,
        model: Value::Null,
        environment: Value::Null,
        preparation: record.preparation,
        continuation,
        cancel: record.cancel,
        prompt: PROMPT.into(),
        ending_prompt: None,
        secrets: Secrets::none(),
        nonce: format!("{:x}", host.random.next_u64()),
        limits: Limits { deadline_ms: 5_000, ..Limits::default() },
    }
}

/// What the check finds of a transport whose calls of one method go wrong so.
fn found(method: Method, mishap: Mishap) -> Vec<Finding> {
    let task = Task::new();
    task.transport.always(method, mishap);
    let found = check_transport(&task.transport, &*task.transport, &subject(&task.host), &task.host);
    task.transport.release();
    found
}

/// Awaits on this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        thread::park_timeout(Duration::from_millis(1));
    }
}

/// The provider in memory behind methods that are awaited. Some never end, some panic.
pub(crate) struct Awaited {
    provider: Arc<MemoryTransport>,
    how: How,
    seen: Mutex<Option<AbortToken>>,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum How {
    AtOnce,
    Never,
    EndsWithItsSignal,
    PanicsBeforeItBegins,
    PanicsOnItsWay,
}

impl Awaited {
    pub(crate) fn new(task: &Task, how: How) -> Self {
        Awaited { provider: Arc::clone(&task.transport), how, seen: Mutex::default() }
    }
}

impl AsyncTransport for Awaited {
    fn methods(&self) -> Methods {
        Transport::methods(&*self.provider)
    }

    fn call<'a>(&'a self, call: &'a TransportCall) -> ReplyFuture<'a> {
        *self.seen.lock().expect("nobody panics with it") = Some(call.signal.clone());
        assert!(self.how != How::PanicsBeforeItBegins, "a scripted panic");
        let reply = Transport::call(&*self.provider, call);
        let mut is_first = true;
        Box::pin(std::future::poll_fn(move |context| match self.how {
            How::Never => Poll::Pending,
            How::EndsWithItsSignal if !call.signal.is_aborted() => Poll::Pending,
            _ if is_first => {
                // Once round the executor.
                is_first = false;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            How::PanicsOnItsWay => panic!("a scripted panic"),
            _ => Poll::Ready(reply.clone()),
        }))
    }
}

/// A timer on the test's clock.
pub(crate) fn timer(task: &Task) -> impl Fn(Duration) -> Pin<Box<dyn Future<Output = ()>>> + '_ {
    |length| {
        let clock = Arc::clone(&task.clock);
        let end = clock.awake() + length;
        Box::pin(std::future::poll_fn(
            move |_| {
                if clock.awake() >= end { Poll::Ready(()) } else { Poll::Pending }
            },
        ))
    }
}

#[test]
fn ex_tra_01_what_a_transport_has_is_declared_and_not_found_by_calling() {
    let task = Task::new();
    let few = r#"{"transport":{"methods":["submit","inspect","collect","cancel"]}}"#;
    let boundary = task.boundary_with(few, Arc::new(NoFaults));
    let abort = AbortToken::new();
    let asked = object(r#"{"operationId":"op-1","phase":"draft","prompt":"plan"}"#);
    let refused = drive(boundary.prepare(asked, abort.clone()), &task.transport, &abort).unwrap_err();
    assert_eq!((refused.code(), refused.reason()), (Code::ExecutionCapability, Some("unavailable")));
    assert_eq!(task.transport.calls(), [], "the transport that has it was not asked either");
    drive(submit(&boundary, "op-1"), &task.transport, &abort).expect("what is declared is called");

    let optional: Vec<_> = Method::ALL.iter().filter(|method| method.is_optional()).collect();
    assert_eq!(optional, [&Method::Lookup, &Method::RecoverResponse]);
    assert!(Methods::from_words(["submit", "poll"]).is_err());

    let only = |methods: &[Method]| Arc::new(task.transport.with_methods(methods.iter().copied().collect()));
    let missing = |transport: &Arc<MemoryTransport>| {
        let found = check_transport(transport, &*task.transport, &subject(&task.host), &task.host);
        found.into_iter().map(|found| (found.clause, found.method)).collect::<Vec<_>>()
    };
    let mandatory: Vec<_> = Method::ALL.iter().copied().filter(|method| !method.is_optional()).collect();
    assert_eq!(missing(&only(&mandatory)), []);
    assert_eq!(missing(&only(&mandatory[1..])), [("EX-TRA-01", mandatory[0])]);
}

#[test]
fn ex_tra_02_the_library_hands_a_call_out_and_never_makes_it() {
    let task = Task::new();
    let boundary = task.boundary();
    let mut machine = submit(&boundary, "op-1");
    let Step::Call(call) = machine.start() else { panic!("it asks") };
    assert_eq!((call.method, word(&Value::from(call.input.clone()), "prompt")), ("submit", "do it"));
    assert_eq!(task.transport.calls(), [], "nobody has called it");
    let reply = Reply::Value(r#"{"providerJobId":"j","turnId":"t"}"#.into());
    let Ok(Step::Done(Ok(done))) = machine.reply(call.id, reply) else { panic!("it is done") };
    assert_eq!(word(&done, "acknowledgement/providerJobId"), "j");
    assert_eq!(task.transport.calls(), []);

    // A host whose methods block, and one that awaits them.
    let abort = AbortToken::new();
    for is_awaited in [false, true] {
        let task = Task::new();
        let boundary = task.boundary();
        let done = if is_awaited {
            let transport = Awaited::new(&task, How::AtOnce);
            block_on(drive_async(submit(&boundary, "op-1"), &transport, timer(&task), std::future::pending()))
        } else {
            drive(submit(&boundary, "op-1"), &task.transport, &abort)
        };
        assert_eq!(word(&done.expect("it is accepted"), "acceptance"), "accepted");
        assert_eq!(task.transport.calls(), [Method::Submit]);
    }
}

#[test]
fn ex_tra_03_each_call_has_its_own_deadline_and_what_replies_later_is_not_read() {
    let task = Task::new();
    let boundary =
        task.boundary_with(r#"{"limits":{"deadlineMs":7000,"lockWaitMs":2000}}"#, Arc::new(NoFaults));
    let prepare = || {
        let asked = object(r#"{"operationId":"op-1","phase":"draft","prompt":"plan"}"#);
        boundary.prepare(asked, AbortToken::new())
    };
    let mut machine = prepare();
    let Step::Call(call) = machine.start() else { panic!("it asks") };
    assert_eq!(call.deadline_at, START + 7_000);
    task.clock.set_wall_ms(START + 3_000);
    drop(machine);
    let mut machine = prepare();
    let Step::Call(call) = machine.start() else { panic!("it asks") };
    assert_eq!(call.deadline_at, START + 10_000, "the deadline of a call begins with the call");
    let Ok(Step::Done(Err(failed))) = machine.deadline(call.id) else { panic!("it has failed") };
    assert_eq!((failed.code(), failed.reason()), (Code::ExecutionDeadline, Some("deadline")));
    assert!(call.signal.is_aborted());

    // A driver keeps it: the method ends with its signal, and its good reply is dropped.
    let task = Task::new();
    let boundary = task.boundary();
    task.transport.next(Method::Submit, Mishap::Delay(Duration::from_secs(3_600)));
    thread::scope(|scope| {
        let driven = scope.spawn(|| drive(submit(&boundary, "op-1"), &task.transport, &AbortToken::new()));
        wait_until(|| task.transport.creates() == 1);
        assert!(!driven.is_finished());
        task.clock.set_wall_ms(START + 20_000);
        let lost = driven.join().expect("it does not panic").unwrap_err();
        assert_eq!((lost.code(), lost.reason()), (Code::ExecutionAcceptanceUnknown, Some("deadline")));
    });
    let ledger = task.ledger();
    assert_eq!(word(&ledger, "operations/op-1/acceptance"), "unknown");
    assert_eq!(word(&ledger, "executions/run-op-1/lastError/reason"), "deadline");
    assert!(at(&ledger, "executions/run-op-1/providerJobId").is_null(), "nothing of the reply was read");
}

#[test]
fn ex_tra_04_the_callers_own_signal_ends_a_call_before_its_deadline() {
    let task = Task::new();
    let boundary = task.boundary();
    let abort = AbortToken::new();
    task.transport.next(Method::Submit, Mishap::Delay(Duration::from_secs(3_600)));
    thread::scope(|scope| {
        let driven = scope.spawn(|| drive(submit(&boundary, "op-1"), &task.transport, &abort));
        wait_until(|| task.transport.creates() == 1);
        abort.abort();
        let lost = driven.join().expect("it does not panic").unwrap_err();
        assert_eq!((lost.code(), lost.reason()), (Code::ExecutionAcceptanceUnknown, Some("aborted")));
    });
    assert_eq!(word(&task.ledger(), "executions/run-op-1/lastError/reason"), "aborted");

    // The same, awaited; and the deadline where that is earlier.
    for (is_aborted, reason) in [(true, "aborted"), (false, "deadline")] {
        let task = Task::new();
        let boundary = task.boundary();
        let transport = Awaited::new(&task, How::EndsWithItsSignal);
        let abort = std::future::poll_fn(|_| {
            if !is_aborted && transport.seen.lock().expect("nobody panics with it").is_some() {
                task.clock.advance(Duration::from_millis(20_000));
            }
            if is_aborted { Poll::Ready(()) } else { Poll::Pending }
        });
        let lost = block_on(drive_async(submit(&boundary, "op-1"), &transport, timer(&task), abort));
        assert_eq!(lost.unwrap_err().reason(), Some(reason));
        let signal = transport.seen.lock().expect("nobody panics with it").clone();
        assert!(signal.expect("it was called").is_aborted(), "{reason}");
    }
}

#[test]
fn ex_tra_05_a_method_that_does_not_end_is_left_alone_a_second_after_its_signal() {
    let task = Task::new();
    let boundary = task.boundary();
    task.transport.next(Method::Submit, Mishap::NeverReturn);
    thread::scope(|scope| {
        let driven = scope.spawn(|| drive(submit(&boundary, "op-1"), &task.transport, &AbortToken::new()));
        wait_until(|| task.transport.creates() == 1);
        // The awake clock stands before the end of its second, whatever the real one does meanwhile.
        let before = SystemClock.awake();
        task.clock.set_wall_ms(START + 20_000);
        let lost = driven.join().expect("it does not panic").unwrap_err();
        let waited = SystemClock.awake() - before;
        assert_eq!((lost.code(), lost.reason()), (Code::ExecutionAcceptanceUnknown, Some("deadline")));
        assert!(waited >= Duration::from_millis(1_000), "it had {waited:?} to end");
        assert!(task.comes_free(), "whoever is left alone holds nothing");
    });
    task.transport.release();

    // Awaited: its future is dropped, by the clock of the timer.
    let task = Task::new();
    let boundary = task.boundary();
    let transport = Awaited::new(&task, How::Never);
    let steps = AtomicU64::new(0);
    let sleep = |length: Duration| {
        let (steps, clock) = (&steps, Arc::clone(&task.clock));
        steps.fetch_add(u64::try_from(length.as_millis()).expect("it fits"), Ordering::Relaxed);
        std::future::poll_fn(move |_| {
            clock.advance(length);
            Poll::Ready(())
        })
    };
    let lost = block_on(drive_async(submit(&boundary, "op-1"), &transport, sleep, std::future::pending()));
    assert_eq!(lost.unwrap_err().reason(), Some("deadline"));
    assert_eq!(steps.load(Ordering::Relaxed), 20_000 + 1_000);
    assert_eq!(task.clock.wall_ms(), START + 21_000);
}

#[test]
fn ex_tra_07_an_action_calls_one_method_once_and_nothing_goes_on_by_itself() {
    let task = Task::new();
    let boundary = task.boundary();
    let abort = AbortToken::new();
    drive(submit(&boundary, "op-1"), &task.transport, &abort).expect("it is accepted");
    assert_eq!(task.transport.calls(), [Method::Submit]);
    drive(submit(&boundary, "op-1"), &task.transport, &abort).expect("it is known");
    assert_eq!(task.transport.calls(), [Method::Submit]);

    let task = Task::new();
    assert_eq!(check_transport(&task.transport, &*task.transport, &subject(&task.host), &task.host), []);
    let expected =
        "prepare submit inspect collect cancel cancel inspect lookup lookup continue inspect cancel";
    let calls: Vec<_> = task.transport.calls().iter().map(|method| method.word()).collect();
    assert_eq!(
        calls.join(" "),
        expected,
        "the stop has one key, and the second look-up a key that nobody has sent"
    );

    for (mishap, method, seen) in [
        (Mishap::KeepAsking, Method::Inspect, "it goes on asking by itself"),
        (Mishap::LeaveHandle, Method::Submit, "it leaves handles open"),
        (Mishap::MakeJob, Method::Submit, "one call makes not one job"),
    ] {
        let found = found(method, mishap);
        let first = found.first().unwrap_or_else(|| panic!("{seen} is not found"));
        assert_eq!((first.clause, first.method), ("EX-TRA-07", method));
        assert!(first.seen.starts_with(seen), "{first}");
    }
}

/// Looks, at each write, whether the task is locked.
#[derive(Debug)]
struct Watch {
    root: std::path::PathBuf,
    seen: Mutex<Vec<(String, bool)>>,
}

impl Faults for Watch {
    fn at(&self, point: &str) -> FaultAnswer {
        let is_locked = is_locked(&self.root);
        self.seen.lock().expect("nobody panics with it").push((point.to_owned(), is_locked));
        FaultAnswer::Go
    }
}

#[test]
fn ex_tra_08_one_call_of_a_task_is_out_and_its_lock_is_held_until_the_end_is_saved() {
    let task = Task::new();
    let watch = Arc::new(Watch { root: task.root(), seen: Mutex::default() });
    let boundary = task.boundary_with("{}", Arc::clone(&watch) as _);
    let mut machine = submit(&boundary, "op-1");
    let Step::Call(call) = machine.start() else { panic!("it asks") };
    assert!(task.is_locked());
    for other in [&boundary, &task.boundary()] {
        let Step::Done(Err(busy)) = submit(other, "op-2").start() else { panic!("it is refused") };
        assert_eq!(busy.code(), Code::ExecutionBusy);
    }
    let reply = Reply::Value(r#"{"providerJobId":"j","turnId":"t"}"#.into());
    assert!(matches!(machine.reply(call.id, reply), Ok(Step::Done(Ok(_)))));
    assert!(task.comes_free());
    let seen = watch.seen.lock().expect("nobody panics with it");
    let saved = seen.iter().filter(|(point, _)| point == "persist:execution.json").count();
    assert_eq!(saved, 2, "the intent and what came of it: {seen:?}");
    assert!(seen.iter().all(|(_, is_locked)| *is_locked), "{seen:?}");
}

#[test]
fn what_only_reads_calls_no_transport_and_holds_no_lock() {
    let task = Task::new();
    let boundary = task.boundary();
    drive(submit(&boundary, "op-1"), &task.transport, &AbortToken::new()).expect("it is accepted");
    let files = task.files();
    let mut busy = submit(&task.boundary(), "op-2");
    assert!(matches!(busy.start(), Step::Done(Err(_))));
    assert_eq!(word(&boundary.inspect().expect("it is read"), "runId"), "run-op-1");
    assert!(boundary.capabilities().get("provider").is_some());
    assert!(task.comes_free());
    assert_eq!((task.files(), task.transport.calls()), (files, vec![Method::Submit]));
}

#[test]
fn ex_tra_13_a_prepare_that_makes_a_job_does_not_pass_the_check() {
    let found = found(Method::Prepare, Mishap::MakeJob);
    let found: Vec<_> = found.iter().map(|found| (found.clause, found.method)).collect();
    assert_eq!(found, [("EX-TRA-13", Method::Prepare)]);
}

#[test]
fn ex_tra_21_a_cancel_that_has_its_effect_twice_does_not_pass_the_check() {
    let twice = found(Method::Cancel, Mishap::CancelAgain);
    let twice: Vec<_> = twice.iter().map(|found| (found.clause, found.method)).collect();
    assert_eq!(twice, [("EX-TRA-21", Method::Cancel)]);

    let task = Task::new();
    assert_eq!(check_transport(&task.transport, &*task.transport, &subject(&task.host), &task.host), []);
    let cancels = task.transport.calls().iter().filter(|method| **method == Method::Cancel).count();
    assert_eq!(cancels, 3, "it was asked twice with one key, and once for the turn that went on");
    let states: Vec<_> = task.transport.jobs().iter().map(|job| job.state.word()).collect();
    assert_eq!(states, ["cancelled", "cancelled"], "nothing is left running");
}

#[test]
fn a_boundary_that_is_dropped_ends_what_a_driver_does_for_it() {
    let task = Task::new();
    let boundary = task.boundary();
    task.transport.next(Method::Submit, Mishap::Delay(Duration::from_secs(3_600)));
    let machine = submit(&boundary, "op-1");
    thread::scope(|scope| {
        let driven = scope.spawn(|| drive(machine, &task.transport, &AbortToken::new()));
        wait_until(|| task.transport.creates() == 1);
        drop(boundary);
        assert!(task.comes_free());
        let gone = driven.join().expect("it does not panic").unwrap_err();
        assert_eq!((gone.code(), gone.reason()), (Code::ExecutionInput, Some("reply")));
    });
    assert!(at(&task.ledger(), "executions/run-op-1/lastError").is_null(), "as after a crash");
}

#[test]
fn a_transport_that_keeps_deadlines_is_called_on_the_drivers_own_thread() {
    struct Own(thread::ThreadId, Arc<MemoryTransport>);
    impl Transport for Own {
        fn methods(&self) -> Methods {
            Transport::methods(&*self.1)
        }
        fn call(&self, call: &TransportCall) -> Result<String, TransportError> {
            assert_eq!(thread::current().id(), self.0);
            self.1.call(call)
        }
        fn keeps_deadlines(&self) -> bool {
            true
        }
    }
    let task = Task::new();
    let transport = Arc::new(Own(thread::current().id(), Arc::clone(&task.transport)));
    let boundary = task.boundary();
    drive(submit(&boundary, "op-1"), &transport, &AbortToken::new()).expect("it is accepted");
    assert_eq!(task.transport.creates(), 1);
}
