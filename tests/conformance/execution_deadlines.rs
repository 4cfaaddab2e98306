//! Deadlines of calls: what a shorter one ends, and what a longer one leaves alone (EX-SCH-04, EX-SCH-08).

use gallivant_core::Code;
use gallivant_core::execution::{AbortToken, Reply, Step};
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{observation, result, says};
use crate::support::task::{Answer, TaskRoot, acknowledgement, dispatch, io_error, object};

fn with_deadline(ms: u64) -> TaskRoot {
    let mut task = TaskRoot::new();
    task.options["limits"] = json!({"deadlineMs": ms});
    task
}

#[test]
fn ex_sch_04_a_shorter_deadline_always_applies_and_a_timed_out_submit_stays_unknown() {
    for ms in [1, 250, 20_000, 120_000] {
        let task = with_deadline(ms);
        let boundary = task.boundary();
        let mut machine = boundary.submit(object(&dispatch(1)), AbortToken::new());
        let Step::Call(call) = machine.start() else { panic!("it is sent") };
        assert_eq!(call.deadline_at, NOW + ms);
        // A reply that comes at the deadline comes too late.
        task.machine.set_wall_ms(call.deadline_at);
        let reply = Reply::Value(acknowledgement(1).to_string());
        let Ok(Step::Done(Err(error))) = machine.reply(call.id, reply) else { panic!("it is unknown") };
        assert_eq!((error.code(), error.reason()), (Code::ExecutionAcceptanceUnknown, Some("deadline")));
        assert_eq!(task.operation(1)["acceptance"], "unknown");
        let again = task.refused(|task| task.submit(dispatch(1), []));
        assert_eq!(again, (Code::ExecutionAcceptanceUnknown, Some("unresolved")));
        assert_eq!(task.refused(|task| task.submit(dispatch(2), [])).0, Code::ExecutionUnresolved);
    }
    // The caller's own end comes before a long deadline, and leaves the same.
    let task = with_deadline(120_000);
    let error = task.submit(dispatch(1), [Answer::Abort]).error();
    assert_eq!((error.code(), error.reason()), (Code::ExecutionAcceptanceUnknown, Some("aborted")));
    assert_eq!(task.operation(1)["acceptance"], "unknown");
}

/// A life of a task: a failure, a pass, an end, a collection, a stop, an intake's deadline. All of it as JSON.
fn lived(ms: u64) -> Json {
    let mut task = with_deadline(ms);
    task.options["intakeDeadlineAt"] = json!(NOW + 1_000_000);
    task.accepted(1);
    task.forced_pass([Answer::Fails(io_error())]).ok();
    let mut failed = task.run(1);
    // Chance spreads it from half of the wait to the whole.
    let wait = failed["nextAttemptAt"].take().as_u64().expect("a time") - NOW;
    assert!((5_000..=10_000).contains(&wait), "{wait}");
    task.due_pass([says(observation(1, "running"))]).ok();
    task.collected(1);
    let outcome = crate::support::task::from_core(&task.boundary().outcome("run-1").expect("settled"));
    task.submit(dispatch(2), [Answer::Says(acknowledgement(2))]).ok();
    task.stop_run([says(json!({"confirmed": false}))]).ok();
    let refused = task.submit(dispatch(3), []).error().code().name();
    json!({"failed": failed, "outcome": outcome, "ledger": task.ledger(), "refused": refused})
}

#[test]
fn ex_sch_08_a_longer_deadline_changes_no_runtime_no_allowance_and_no_recovery() {
    let short = lived(1_000);
    assert_eq!(short["refused"], "EXECUTION_FENCED");
    for ms in [20_000, 60_000, 120_000] {
        assert_eq!(lived(ms), short, "{ms}");
    }
    // A result that is late for a deadline is no later for its run.
    let task = with_deadline(120_000);
    task.accepted(1);
    task.machine.advance_ms(10_000_000);
    task.due_pass([says(observation(1, "succeeded")), says(result(1))]).ok();
    assert_eq!(task.run(1)["collected"], true);
}
