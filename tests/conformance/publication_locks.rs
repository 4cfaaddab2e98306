//! EX-CAN-46 to EX-CAN-53, EX-ART-41, I13: the locks of a publication, and stops that race it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gallivant_core::execution::{AbortToken, FaultAnswer, Step};
use gallivant_core::publication::reconcile_execution_result;
use gallivant_core::random::Random;
use gallivant_core::testing::SeededRandom;
use gallivant_core::{Code, Error};
use serde_json::{Value as Json, json};

use crate::support::locks::{BRIEF_WAIT_MS, is_held};
use crate::support::pass::says;
use crate::support::publication::{APPLICATION, Fate, Field, plan};
use crate::support::task::{Points, TaskRoot, dispatch_with, drive, object};

const LOCKS: [&str; 2] = ["publication.lock", "execution.lock"];
const OWN: &str = "run-1/application.lock";

fn impatient() -> TaskRoot {
    let mut task = TaskRoot::publishable(json!({}));
    task.options["limits"] = json!({"lockWaitMs": BRIEF_WAIT_MS});
    task
}

/// Publishes, and does something whenever a call is handed out.
fn watched(
    task: &TaskRoot,
    field: &mut Field,
    watch: &mut dyn FnMut(&str, &mut Field),
) -> Result<Json, Error> {
    let boundary = task.boundary();
    field.publish_watched(&boundary, &plan(), watch).expect("nobody is gone")
}

fn request_cancel(task: &TaskRoot, id: &str) -> Result<Json, Error> {
    let input = object(&json!({"reason": "enough", "controlId": id}));
    let boundary = task.boundary();
    let ended = drive(boundary.request_cancel(input, AbortToken::new()), task, []);
    if ended.result_is_ok() { Ok(ended.ok()) } else { Err(ended.error()) }
}

fn cancel(task: &TaskRoot) -> Result<Json, Error> {
    let input = object(&json!({"reason": "enough"}));
    let boundary = task.boundary();
    let ended = drive(boundary.cancel(input, AbortToken::new()), task, []);
    if ended.result_is_ok() { Ok(ended.ok()) } else { Err(ended.error()) }
}

#[track_caller]
fn all_free(task: &TaskRoot) {
    for name in LOCKS.into_iter().chain([OWN]).filter(|name| task.exists(name)) {
        assert!(task.comes_free(name), "{name} is held");
    }
}

#[test]
fn ex_can_48_both_locks_are_held_from_the_last_look_until_published_is_saved() {
    let mut task = impatient();
    let held = std::sync::Arc::new(Mutex::new(Vec::new()));
    let (seen, path) = (held.clone(), task.path());
    task.faults = Points::new("publish.published", move || {
        let saved = std::fs::read_to_string(path.join(APPLICATION)).expect("a checkpoint");
        let both = LOCKS.into_iter().all(|name| is_held(&path.join(name)));
        seen.lock().expect("no panic").push((both, saved.contains(r#""status":"published""#)));
        FaultAnswer::Go
    });
    let mut field = Field::new();
    let mut last = Vec::new();
    watched(&task, &mut field, &mut |call, field| {
        let is_last = field.called("verification.verify") == 1;
        for name in LOCKS {
            assert!(if is_last { task.is_held(name) } else { task.comes_free(name) }, "{call}: {name}");
        }
        assert!(!task.exists(OWN) || task.is_held(OWN), "{call}");
        if is_last {
            last.push(call.to_owned());
        }
    })
    .expect("published");
    let steps = [
        "coordinator.entryStopped",
        "git.state",
        "publisher.push",
        "publisher.findPullRequest",
        "publisher.createPullRequest",
    ];
    assert_eq!(last, steps, "registry stop and checkout are looked at again under both");
    assert_eq!(*held.lock().expect("no panic"), [(true, true)], "until it is saved");
    all_free(&task);
}

#[test]
fn ex_can_47_publication_comes_before_execution_and_behind_its_own() {
    // Whoever has the task's lock is waited for with the publication's in hand; whoever has the publication's, without the task's.
    for (index, expected) in [(0, Code::ExecutionPublicationBusy), (1, Code::ExecutionBusy)] {
        let (mut field, mut other) = (Field::new(), None);
        let task = impatient();
        let error = watched(&task, &mut field, &mut |call, _| {
            if call == "verification.verify" {
                other = Some(task.hold(LOCKS[index]));
            }
        })
        .expect_err("it is held");
        assert_eq!(error.code(), expected);
        assert_eq!((task.checkpoint()["status"].as_str(), field.pushes), (Some("verified"), 0));
        drop(other);
        all_free(&task);
        assert_eq!(task.publishes(&mut field).expect("later")["status"], "published");
    }
}

#[test]
fn ex_can_49_ex_art_41_a_stop_that_is_accepted_before_refuses_before_any_push() {
    type Stop = fn(&TaskRoot) -> Result<Json, Error>;
    let stops: [(&str, Stop); 3] = [
        ("cancel", cancel),
        ("requestCancel", |task| request_cancel(task, "stop-1")),
        ("a fence", |task| {
            let boundary = task.boundary();
            let machine = boundary.timeout_stop(object(&json!({})), AbortToken::new());
            Ok(drive(machine, task, []).ok())
        }),
    ];
    for (name, stop) in stops {
        for call in ["git.apply", "git.commit", "verification.verify"] {
            let (task, mut field) = (impatient(), Field::new());
            let mut answers = Vec::new();
            let error = watched(&task, &mut field, &mut |now, _| {
                if now == call && answers.is_empty() {
                    answers.push(stop(&task));
                }
            })
            .expect_err("it is stopped");
            answers.pop().expect("asked").unwrap_or_else(|error| panic!("{name} at {call}: {error}"));
            assert_eq!(error.code(), Code::ExecutionFenced, "{name} at {call}");
            assert_eq!(field.called("publisher.push") + field.pull_requests.len(), 0, "{name} at {call}");
            assert_eq!(task.checkpoint()["status"], "verified");
            all_free(&task);
            // Also later, and after a restart.
            let count = field.calls.len();
            let error = task.publishes(&mut field).expect_err("it is stopped");
            assert_eq!((error.code(), field.calls.len()), (Code::ExecutionFenced, count));
        }
    }
}

#[test]
fn ex_art_41_the_registry_and_the_roots_owner_are_looked_at_again_under_both_locks() {
    let (task, mut field) = (impatient(), Field::new());
    let error = watched(&task, &mut field, &mut |call, field| field.stopped |= call == "verification.verify");
    assert_eq!(error.expect_err("its entry is stopped").code(), Code::ExecutionFenced);
    assert_eq!(field.pushes, 0);

    // The task has gone on to another run meanwhile.
    let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    let error = watched(&task, &mut field, &mut |call, _| {
        if call == "verification.verify" {
            let answer = says(json!({"providerJobId": "j-2", "turnId": "t-2", "sessionId": "s-1"}));
            task.continue_run(dispatch_with(2, json!({})), [answer]).ok();
        }
    })
    .expect_err("another run is current");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionResult, Some("not-publishable")));

    // And what the ledger says of the run is another thing by now.
    for change in [json!({"quarantined": true}), json!({"sessionId": "s-9"}), json!({"turnId": "t-9"})] {
        let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
        let error = watched(&task, &mut field, &mut |call, _| {
            if call == "verification.verify" {
                task.edit(|ledger| {
                    let run = &mut ledger["executions"]["run-1"];
                    *run = crate::support::task::with(run.clone(), change.clone());
                });
            }
        })
        .expect_err("it is not the run any more");
        assert_eq!((error.code(), error.reason()), (Code::ExecutionResult, Some("not-publishable")));
        assert_eq!(field.pushes, 0, "{change}");
    }
}

#[test]
fn ex_can_50_no_stop_is_accepted_while_a_push_or_a_pull_request_is_written() {
    let (task, mut field) = (impatient(), Field::new());
    let mut refused = 0;
    watched(&task, &mut field, &mut |call, _| {
        if !call.starts_with("publisher.") {
            return;
        }
        let before = task.tree();
        for answer in [cancel(&task), request_cancel(&task, "stop-1")] {
            let error = answer.expect_err("a publication is under way");
            assert_eq!(error.code(), Code::ExecutionPublicationBusy, "{call}");
            assert!(error.remedy().contains("retry"), "{}", error.remedy());
            refused += 1;
        }
        // EX-CAN-51: nor is anything dispatched.
        let error = task.continue_run(dispatch_with(2, json!({})), []).error();
        assert_eq!(error.code(), Code::ExecutionPublicationBusy);
        assert!(task.tree() == before, "nothing is written");
    })
    .expect("published");
    assert_eq!(refused, 6);
    request_cancel(&task, "stop-1").expect("afterwards it is accepted");
}

#[test]
fn ex_can_53_the_locks_are_let_go_of_after_every_end() {
    for nth in 1..=10 {
        for fate in [Fate::Lost, Fate::GoneAfter] {
            let (task, mut field) = (impatient(), Field::new());
            field.fate = Some((nth, fate));
            let boundary = task.boundary();
            let _ = field.publish(&boundary, &plan());
            all_free(&task);
        }
    }
    for (point, answer) in [("publish.push", FaultAnswer::Fail), ("publish.pr", FaultAnswer::Fail)] {
        let (mut task, mut field) = (impatient(), Field::new());
        task.faults = Points::new(point, move || answer);
        task.publishes(&mut field).expect_err("the point fails");
        all_free(&task);
        task.faults = Points::new(point, || panic!("in the middle of it"));
        let error = task.publishes(&mut field).expect_err("it panics");
        assert_eq!(error.reason(), Some("internal"));
        all_free(&task);
    }
}

#[test]
fn one_publication_of_a_run_at_a_time() {
    let (task, mut field) = (impatient(), Field::new());
    let mut refused = 0;
    watched(&task, &mut field, &mut |call, _| {
        if call == "git.apply" || call == "verification.verify" {
            let boundary = task.boundary();
            let mut second = reconcile_execution_result(&boundary, "run-1", plan(), AbortToken::new());
            let Step::Done(Err(error)) = second.start() else { panic!("it does not begin") };
            assert_eq!(error.code(), Code::ExecutionPublicationBusy, "{call}");
            refused += 1;
        }
    })
    .expect("published");
    assert_eq!((refused, field.commits, field.ran.len()), (2, 1, 2));
}

/// One race: somebody stops the task while it is published.
fn race(seed: u64) -> bool {
    let random = SeededRandom::new(seed);
    let mut task = TaskRoot::publishable(json!({}));
    // Longer than a loaded machine leaves a holder waiting for its turn.
    task.options["limits"] = json!({"lockWaitMs": 20_000});
    let (mut field, task) = (Field::new(), &task);
    if !random.next_u64().is_multiple_of(4) {
        // From where only the last step is left, the stop meets it more often.
        field.fate = Some((8, Fate::Fails));
        task.publishes(&mut field).expect_err("the push fails");
        (field.fate, field.calls) = (None, Vec::new());
    }
    let clock = AtomicU64::new(1);
    let tick = || clock.fetch_add(1, Ordering::SeqCst);
    let pause = |micros: u64| std::thread::sleep(Duration::from_micros(random.next_u64() % micros));
    let (published, began, accepted) = std::thread::scope(|threads| {
        let publisher = threads.spawn(|| {
            let mut began = Vec::new();
            let outcome = watched(task, &mut field, &mut |call, _| {
                if call.starts_with("publisher.") {
                    began.push(tick());
                    pause(400);
                }
            });
            (outcome.map(|answer| (answer, tick())), began)
        });
        pause(20_000);
        let queued = random.next_u64().is_multiple_of(2);
        let mut accepted = None;
        for attempt in 0..200 {
            let answer = if queued { request_cancel(task, "stop-1") } else { cancel(task) };
            match answer {
                Ok(_) => {
                    accepted = Some(tick());
                    break;
                }
                Err(error) => {
                    let is_known =
                        matches!(error.code(), Code::ExecutionPublicationBusy | Code::ExecutionBusy);
                    assert!(is_known, "seed {seed}, attempt {attempt}: {error}");
                }
            }
        }
        let (outcome, began) = publisher.join().expect("no panic");
        (outcome, began, accepted.expect("it is accepted in the end"))
    });
    match published {
        Ok((answer, _)) => {
            assert_eq!(answer["status"], "published", "seed {seed}");
            assert!(began.iter().all(|began| *began < accepted), "seed {seed}: {began:?} {accepted}");
            assert_eq!((field.pushes, field.pull_requests.len()), (1, 1), "seed {seed}");
        }
        Err(error) => {
            assert_eq!(error.code(), Code::ExecutionFenced, "seed {seed}: {error}");
            assert!(began.is_empty(), "seed {seed}: {began:?} and an accepted stop");
            assert_eq!((field.pushes, field.pull_requests.len()), (0, 0), "seed {seed}");
        }
    }
    field.pushes == 1
}

#[test]
fn i13_no_push_begins_after_an_accepted_stop_and_none_is_accepted_during_one() {
    let seeds = std::env::var("GALLIVANT_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let races: u64 = std::env::var("GALLIVANT_RACES").map_or(100, |races| races.parse().expect("a number"));
    let published = (seeds..seeds + races).filter(|seed| race(*seed)).count();
    println!("publication: {races} races with a stop from seed {seeds}, {published} published first");
    assert!(published > 0 && (published as u64) < races, "{published} of {races}: nothing raced");
}
