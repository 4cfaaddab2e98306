//! EX-SCH-25 and EX-SCH-26: lanes, and passes in them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use gallivant_core::execution::contract::{ErrorKind, Method, TransportError};
use gallivant_core::execution::{AbortToken, Boundary, Lane, NoFaults, Progress, ProgressLane, drive};
use gallivant_core::json::Value;
use gallivant_core::testing::Mishap;
use gallivant_core::{Code, Result};

use crate::allocations::allocations;
use crate::support::memory_task::{Task, boundary_of, object, submit, word};

/// Longer than any test takes.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// How many tasks run at one time, and how many did at most.
#[derive(Default)]
pub(crate) struct Gauge {
    now: AtomicUsize,
    pub(crate) most: AtomicUsize,
    threads: Mutex<BTreeSet<String>>,
}

impl Gauge {
    pub(crate) fn within<R>(&self, action: impl FnOnce() -> R) -> R {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let thread = format!("{:?}", std::thread::current().id());
        self.threads.lock().expect("no panic").insert(thread);
        // Also where it panics.
        let _left = Left(&self.now);
        action()
    }
}

struct Left<'a>(&'a AtomicUsize);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A door that is shut until somebody opens it.
#[derive(Default)]
struct Door(Mutex<bool>, Condvar);

impl Door {
    fn open(&self) {
        *self.0.lock().expect("no panic") = true;
        self.1.notify_all();
    }

    fn wait(&self) {
        let shut = self.0.lock().expect("no panic");
        let (open, _) = self.1.wait_timeout_while(shut, LONG, |open| !*open).expect("no panic");
        assert!(*open, "nobody opened the door");
    }
}

#[test]
fn ex_sch_25_a_lane_starts_so_many_tasks_at_a_time_and_keeps_nothing_of_the_others() {
    let mut lane = Lane::new(6, 4).expect("a lane");
    let started: Vec<_> = std::iter::from_fn(|| lane.start_next()).collect();
    assert_eq!(started, [0, 1, 2, 3]);
    assert_eq!(lane.end(4).expect_err("it has not started").code(), Code::ExecutionInput);
    lane.end(2).expect("it runs");
    assert_eq!(lane.end(2).expect_err("it has ended").code(), Code::ExecutionInput);
    assert_eq!((lane.start_next(), lane.start_next()), (Some(4), None), "one slot, one task");
    lane.end(0).expect("it runs");
    assert_eq!((lane.start_next(), lane.start_next()), (Some(5), None));
    for task in [1, 3, 4, 5] {
        assert!(!lane.is_done() && lane.running().contains(&task));
        lane.end(task).expect("it runs");
    }
    assert!(lane.is_done() && lane.start_next().is_none());

    for concurrency in [0, 65, u64::MAX] {
        let error = Lane::new(1, concurrency).expect_err("out of range");
        assert_eq!((error.code(), error.reason()), (Code::ExecutionInput, Some("limits")), "{concurrency}");
        let error = Lane::run(&[()], concurrency, |()| panic!("it runs nothing")).expect_err("out of range");
        assert_eq!(error.code(), Code::ExecutionInput);
    }
    assert!(Lane::new(0, 64).expect("a lane").is_done());
    assert!(Lane::run(&[(); 0], 4, |()| ()).expect("nothing to do").is_empty());

    // Its memory is that of its slots, however many tasks there are.
    let paced = |tasks| {
        allocations(|| {
            let mut lane = Lane::new(tasks, 4).expect("a lane");
            while !lane.is_done() {
                while lane.start_next().is_some() {}
                let ended = lane.running()[0];
                lane.end(ended).expect("it runs");
            }
        })
    };
    assert_eq!(paced(1_000), paced(100_000));
    assert!(paced(1_000) <= 2, "{}", paced(1_000));
}

#[test]
fn ex_sch_25_run_gives_what_each_task_came_to_and_a_panic_is_one_tasks_own() {
    let tasks: Vec<usize> = (0..1_000).collect();
    let gauge = Gauge::default();
    let results = Lane::run(&tasks, 4, |task| {
        gauge.within(|| {
            std::thread::yield_now();
            *task * 2
        })
    });
    let results: Result<Vec<_>> = results.expect("a lane").into_iter().collect();
    assert_eq!(results.expect("all are well"), (0..2_000).step_by(2).collect::<Vec<_>>());
    assert!(gauge.most.load(Ordering::SeqCst) <= 4);
    let threads = gauge.threads.into_inner().expect("no panic");
    assert!(threads.len() <= 4, "{threads:?}");
    let here = format!("{:?}", std::thread::current().id());
    Lane::run(&tasks, 1, |_| assert_eq!(format!("{:?}", std::thread::current().id()), here))
        .expect("one slot is the caller's own thread")
        .into_iter()
        .collect::<Result<Vec<()>>>()
        .expect("all are well");

    let results =
        Lane::run(&tasks, 2, |task| assert_ne!(*task % 100, 7, "a scripted panic")).expect("a lane");
    let failed: Vec<_> = (0..1_000).filter(|task| results[*task].is_err()).collect();
    assert_eq!(failed, (7..1_000).step_by(100).collect::<Vec<_>>());
    let error = results[7].as_ref().expect_err("it has panicked");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionIo, Some("internal")));
}

#[test]
fn ex_sch_25_a_task_that_does_not_end_holds_one_slot_and_delays_nobody_else() {
    for stuck in 1..=3 {
        let tasks: Vec<usize> = (0..1_000).collect();
        let (others, door, gauge) = (AtomicUsize::new(0), Door::default(), Gauge::default());
        let results = Lane::run(&tasks, 4, |task| {
            gauge.within(|| {
                if *task < stuck {
                    door.wait();
                } else if others.fetch_add(1, Ordering::SeqCst) + 1 == tasks.len() - stuck {
                    // All the others have come to their turn while these hold their slots.
                    door.open();
                }
            });
        });
        assert!(results.expect("a lane").iter().all(Result::is_ok), "{stuck}");
        assert!(gauge.most.load(Ordering::SeqCst) <= 4);
    }
}

/// Tasks below one directory, each with a run that its provider has accepted.
pub(crate) fn accepted(task: &Task, numbers: std::ops::Range<usize>) -> Vec<Boundary> {
    let boundaries = numbers.map(|number| {
        let root = task.root().join(format!("task-{number}"));
        boundary_of(&root, &task.host, "{}", Arc::new(NoFaults))
    });
    let boundaries: Vec<_> = boundaries.collect();
    for boundary in &boundaries {
        drive(submit(boundary, "op-1"), &task.transport, &AbortToken::new()).expect("accepted");
    }
    boundaries
}

#[test]
fn ex_sch_26_the_due_passes_run_and_a_slow_or_failed_one_holds_its_slot_only() {
    let task = Task::new();
    let early = accepted(&task, 0..8);
    task.clock.set_wall_ms(task.host.clock.wall_ms() + 9_000);
    let late = accepted(&task, 8..10);
    let abort = AbortToken::new();
    let boundaries: Vec<_> = early.iter().chain(&late).cloned().collect();
    let nobody = |_, _| panic!("it is not due");
    assert!(ProgressLane::run(&boundaries, 4, &abort, nobody).expect("a lane").is_empty());

    task.clock.set_wall_ms(task.host.clock.wall_ms() + 1_000);
    std::fs::write(task.root().join("task-3/execution.json"), "{").expect("damaged");
    let before = task.transport.calls().len();
    let (gauge, door, others) = (Gauge::default(), Door::default(), AtomicUsize::new(0));
    let reports = ProgressLane::run(&boundaries, 2, &abort, |number, machine| {
        gauge.within(|| match number {
            0 => {
                door.wait();
                drive(machine, &task.transport, &abort)
            }
            5 => panic!("a scripted panic"),
            _ => {
                if number == 6 {
                    task.transport.next(Method::Inspect, Mishap::Fail(failure()));
                }
                let report = drive(machine, &task.transport, &abort);
                if others.fetch_add(1, Ordering::SeqCst) + 1 == 5 {
                    door.open();
                }
                report
            }
        })
    });
    let reports = reports.expect("a lane");
    assert_eq!(
        reports.iter().map(|progress| progress.boundary).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5, 6, 7]
    );
    assert!(gauge.most.load(Ordering::SeqCst) <= 2);
    for Progress { boundary, report } in &reports {
        match (boundary, report) {
            (3, report) => {
                let error = report.as_ref().expect_err("its ledger is damaged");
                assert_eq!((error.code(), error.reason()), (Code::ExecutionProtocol, Some("ledger")));
            }
            (5, report) => assert_eq!(report.as_ref().expect_err("a panic").reason(), Some("internal")),
            (6, report) => {
                let report = report.as_ref().expect("a failure is told in the report");
                assert_eq!(word(report, "error/code"), "EXECUTION_IO");
            }
            (_, report) => {
                let report = report.as_ref().expect("a pass");
                assert_eq!(report.get("error"), Some(&Value::Null), "{boundary}");
                assert_eq!(report.get("called").map(Value::to_json).as_deref(), Some(r#"["inspect"]"#));
            }
        }
    }
    assert_eq!(task.transport.calls().len() - before, 6, "no pass of the others");

    // The one that panicked is due again at once, the ones that went well when their time comes.
    let due: Vec<_> = boundaries.iter().map(|boundary| boundary.is_due().ok()).collect();
    let wanted = [false, false, false, true, false, true, false, false, false, false];
    assert_eq!(due[..3], wanted.map(Some)[..3]);
    assert_eq!(due[3], None, "nobody can say");
    assert_eq!(due[4..], wanted.map(Some)[4..]);
}

fn failure() -> TransportError {
    TransportError::of(ErrorKind::Io, "the line is gone")
}

#[test]
fn ex_sch_26_a_thousand_boundaries_that_are_due_run_four_at_a_time() {
    let task = Task::new();
    let boundary = accepted(&task, 0..1).remove(0);
    task.clock.advance(Duration::from_secs(10));
    let boundaries = vec![boundary; 1_000];
    let gauge = Gauge::default();
    let reports = ProgressLane::run(&boundaries, 4, &AbortToken::new(), |number, machine| {
        gauge.within(|| {
            // What a pass would take is dropped with its machine.
            drop(machine);
            Ok(Value::from(number as u64))
        })
    });
    let numbers: Vec<_> = reports
        .expect("a lane")
        .into_iter()
        .map(|Progress { boundary, report }| (boundary as u64, report.expect("well")))
        .collect();
    assert_eq!(numbers, (0..1_000).map(|number| (number, Value::from(number))).collect::<Vec<_>>());
    assert!(gauge.most.load(Ordering::SeqCst) <= 4);
}

#[test]
fn a_stop_makes_a_pass_due_and_so_does_one_that_is_queued() {
    let task = Task::new();
    let boundaries = accepted(&task, 0..2);
    let abort = AbortToken::new();
    assert_eq!(boundaries.each_due(), [false, false]);
    let queue = object(r#"{"reason":"enough","controlId":"stop-1"}"#);
    drive(boundaries[0].request_cancel(queue.clone(), abort.clone()), &task.transport, &abort)
        .expect("queued");
    assert_eq!(boundaries.each_due(), [true, false]);
    task.transport.next(Method::Cancel, Mishap::LoseReply);
    drive(boundaries[1].cancel(queue, abort.clone()), &task.transport, &abort).expect("recorded");
    assert_eq!(boundaries.each_due(), [true, false], "the lost reply has a time of its own");
    task.clock.advance(Duration::from_secs(10));
    assert_eq!(boundaries.each_due(), [true, true]);
    let empty = boundary_of(&task.root().join("none"), &task.host, "{}", Arc::new(NoFaults));
    assert!(!empty.is_due().expect("read"), "there is no run");
}

trait Boundaries {
    fn each_due(&self) -> Vec<bool>;
}

impl Boundaries for Vec<Boundary> {
    fn each_due(&self) -> Vec<bool> {
        self.iter().map(|boundary| boundary.is_due().expect("read")).collect()
    }
}
