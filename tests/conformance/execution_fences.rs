//! Fences and the two locks, as far as stops and dispatches take them (EX-CAN-39, 40, 44, 46, 47, 50 to 53).

use gallivant_core::Code;
use gallivant_core::execution::{AbortToken, Machine, Step};
use serde_json::{Value as Json, json};

use crate::support::locks::BRIEF_WAIT_MS;
use crate::support::pass::{observation, says};
use crate::support::task::{Answer, Ended, TaskRoot, dispatch, drive, object};

#[derive(Clone, Copy)]
enum Kind {
    Operator,
    Preparation,
    Timeout,
}

fn machine(task: &TaskRoot, kind: Kind) -> (gallivant_core::execution::Boundary, Machine) {
    let boundary = task.boundary();
    let input = object(&json!({"reason": "enough"}));
    let abort = AbortToken::new();
    let machine = match kind {
        Kind::Operator => boundary.cancel(input, abort),
        Kind::Preparation => boundary.preparation_stop(input, abort),
        Kind::Timeout => boundary.timeout_stop(object(&json!({})), abort),
    };
    (boundary, machine)
}

fn stop(task: &TaskRoot, kind: Kind, answers: impl IntoIterator<Item = Answer>) -> Ended {
    let (_boundary, machine) = machine(task, kind);
    drive(machine, task, answers)
}

fn fence(task: &TaskRoot) -> Json {
    task.ledger()["stopFence"].clone()
}

fn impatient() -> TaskRoot {
    let mut task = TaskRoot::new();
    task.options["limits"] = json!({"lockWaitMs": BRIEF_WAIT_MS});
    task
}

#[test]
fn ex_can_39_a_fence_is_replaced_by_a_higher_rank_alone() {
    let ranks =
        [(Kind::Timeout, "timeout"), (Kind::Preparation, "preparation"), (Kind::Operator, "operator")];
    for (first, (kind, word)) in ranks.into_iter().enumerate() {
        for (second, (next, next_word)) in ranks.into_iter().enumerate() {
            let task = TaskRoot::new();
            stop(&task, kind, []).ok();
            let stands = fence(&task);
            assert_eq!(stands["kind"], word);
            task.machine.advance_ms(1);
            stop(&task, next, []).ok();
            if second > first {
                assert_eq!(fence(&task)["kind"], next_word);
            } else {
                assert_eq!(fence(&task), stands, "{next_word} behind {word}");
            }
        }
    }
}

#[test]
fn ex_can_40_a_timeout_fences_before_anything_is_sent() {
    let task = TaskRoot::new();
    task.accepted(1);
    let (_boundary, mut machine) = machine(&task, Kind::Timeout);
    let Step::Call(call) = machine.start() else { panic!("it stops the run") };
    assert_eq!(call.method, "cancel");
    let fence = fence(&task);
    assert_eq!(
        (&fence["kind"], &fence["scope"], &fence["runId"], &fence["reason"]),
        (&json!("timeout"), &json!("remote"), &json!("run-1"), &json!("timeout"))
    );
    assert_eq!(task.run(1)["cancellation"]["reason"], "timeout");
}

#[test]
fn ex_can_44_the_library_releases_no_such_fence() {
    for kind in [Kind::Operator, Kind::Preparation, Kind::Timeout] {
        let task = TaskRoot::new();
        task.accepted(1);
        stop(&task, kind, [says(json!({"confirmed": true}))]).ok();
        let stands = fence(&task);
        task.forced_pass([]).ok();
        task.first_pass([]).ok();
        stop(&task, kind, []).ok();
        assert_eq!(fence(&task), stands);
        assert_eq!(task.refused(|task| task.submit(dispatch(2), [])).0, Code::ExecutionFenced);
    }
}

#[test]
fn ex_can_46_locks_of_other_tasks_are_independent() {
    let (one, other) = (impatient(), impatient());
    let _held = one.hold("publication.lock");
    let _also = one.hold("execution.lock");
    other.accepted(1);
    stop(&other, Kind::Operator, [says(json!({"confirmed": false}))]).ok();
}

#[test]
fn ex_can_47_the_publication_lock_comes_first() {
    let task = impatient();
    task.accepted(1);
    // While a stop waits for the task's lock, it has the publication's.
    let held = task.hold("execution.lock");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| stop(&task, Kind::Operator, []).error());
        while !task.is_held("publication.lock") {
            assert!(!waiting.is_finished(), "it is held while the other one is waited for");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(waiting.join().expect("no panic").code(), Code::ExecutionBusy);
    });
    drop(held);
    // And it does not wait for the task's lock where it lacks the publication's.
    let _held = task.hold("publication.lock");
    assert_eq!(stop(&task, Kind::Operator, []).error().code(), Code::ExecutionPublicationBusy);
    assert!(task.comes_free("execution.lock"));
}

#[test]
fn ex_can_50_a_live_publisher_refuses_stops_and_nothing_is_written() {
    let task = TaskRoot::new();
    task.accepted(1);
    let _held = task.hold("publication.lock");
    let before = task.tree();
    let started = std::time::Instant::now();
    for kind in [Kind::Operator, Kind::Preparation, Kind::Timeout] {
        let error = stop(&task, kind, []).error();
        assert_eq!(error.code(), Code::ExecutionPublicationBusy);
        assert!(error.remedy().contains("retry"), "{}", error.remedy());
    }
    let queue = json!({"reason": "enough", "controlId": "k1"});
    let queued = drive(task.boundary().request_cancel(object(&queue), AbortToken::new()), &task, []);
    assert_eq!(queued.error().code(), Code::ExecutionPublicationBusy);
    // Four waits of at most 100 ms, although the task's own wait is 5 s.
    assert!(started.elapsed() < std::time::Duration::from_secs(15), "{:?}", started.elapsed());
    assert!(before == task.tree());
}

#[test]
fn ex_can_51_no_dispatch_enters_a_publication() {
    let task = impatient();
    let _publication = task.hold("publication.lock");
    let _execution = task.hold("execution.lock");
    assert_eq!(task.submit(dispatch(1), []).error().code(), Code::ExecutionPublicationBusy);
    let input = crate::support::task::dispatch_with(1, json!({}));
    assert_eq!(task.continue_run(input, []).error().code(), Code::ExecutionPublicationBusy);
}

#[test]
fn ex_can_52_the_io_of_a_pass_holds_the_tasks_lock_alone() {
    let task = impatient();
    task.accepted(1);
    let boundary = task.boundary();
    let mut pass = boundary.reconcile(true, AbortToken::new());
    let Step::Call(_) = pass.start() else { panic!("it inspects") };
    assert!(task.is_held("execution.lock"));
    let queue = json!({"reason": "enough", "controlId": "k1"});
    drive(boundary.request_cancel(object(&queue), AbortToken::new()), &task, []).ok();
    assert!(task.comes_free("publication.lock"));
}

#[test]
fn ex_can_53_both_locks_are_released_however_a_stop_ends() {
    let ends: [fn() -> Answer; 4] = [
        || says(json!({"confirmed": true})),
        || Answer::Fails(crate::support::task::io_error()),
        || Answer::Deadline,
        || Answer::Dropped,
    ];
    for end in ends {
        let task = impatient();
        task.accepted(1);
        stop(&task, Kind::Operator, [end()]);
        assert!(task.comes_free("publication.lock") && task.comes_free("execution.lock"));
        // A refusal releases them too.
        let pass = task.first_pass(
            (task.run(1)["cancellation"]["status"] == "pending")
                .then(|| [says(json!({"confirmed": false}))])
                .into_iter()
                .flatten(),
        );
        pass.ok();
        assert!(task.comes_free("execution.lock"));
    }
    let task = impatient();
    task.accepted(1);
    let held = task.hold("execution.lock");
    assert_eq!(stop(&task, Kind::Operator, []).error().code(), Code::ExecutionBusy);
    drop(held);
    assert!(task.comes_free("publication.lock") && task.comes_free("execution.lock"));
    task.first_pass([says(observation(1, "running"))]).ok();
}
