//! Invariant I7 over seeds: a rejected reply changes nothing but retry data. Foreign, stale, future, contradictory, oversized
//! and malformed replies, one fault or several, against ledgers of every kind. `GALLIVANT_SEED=n` runs that seed alone.

use gallivant_core::testing::SeededRandom;
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{event, failure, observation, observation_with, result, says};
use crate::support::task::{Answer, TaskRoot, acknowledgement, dispatch, io_error, with};

/// A ledger that a pass finds, and which method it asks.
fn ground(dice: &SeededRandom) -> (TaskRoot, &'static str) {
    let mut task = TaskRoot::new();
    task.options["limits"] = json!({"resultBytes": 65_536});
    match dice.below(3) {
        0 => {
            task.lost(1);
            if dice.below(2) == 0 {
                task.due_pass([Answer::Fails(io_error())]).ok();
            }
            (task, "lookup")
        }
        kind => {
            let session = if dice.below(3) == 0 { Json::Null } else { json!("s-1") };
            task.submit(dispatch(1), [says(with(acknowledgement(1), json!({"sessionId": session})))]).ok();
            if dice.below(2) == 0 {
                let seen =
                    json!({"sessionId": session, "events": [event("e-1")], "cursor": "c-1", "costUsd": 1});
                task.due_pass([says(observation_with(1, "running", seen))]).ok();
            }
            if kind == 1 {
                return (task, "inspect");
            }
            let end = if dice.below(2) == 0 { "succeeded" } else { "failed" };
            let exact = if dice.below(2) == 0 { json!(NOW) } else { Json::Null };
            let seen = observation_with(1, end, json!({"sessionId": session, "completedAt": exact}));
            task.due_pass([says(seen), says(Json::Null)]).ok();
            if dice.below(3) == 0 {
                task.plant(
                    "run-1/result.json",
                    json!({"version": 1, "runId": "run-1", "turnId": "t-2"}).to_string(),
                );
            }
            if dice.below(3) == 0 {
                task.plant(
                    "run-1/result-application.json",
                    json!({"version": 1, "status": "blocked"}).to_string(),
                );
            }
            (task, "collect")
        }
    }
}

/// One of these.
fn one_of<T: Clone>(dice: &SeededRandom, of: &[T]) -> T {
    of[usize::try_from(dice.below(of.len() as u64)).expect("small")].clone()
}

fn no_text(dice: &SeededRandom) -> Json {
    one_of(dice, &[json!(""), json!(7), json!(true), json!([]), json!({})])
}

/// A fault of an observation. Each alone rejects it.
fn spoil_observation(dice: &SeededRandom, seen: Json, is_owned: bool, now: u64) -> Json {
    let changes = match dice.below(13) {
        12 if is_owned => one_of(dice, &[json!({"turnId": "t-2"}), json!({"providerJobId": "J-1"})]),
        0 => json!({"providerJobId": no_text(dice)}),
        1 => json!({"turnId": no_text(dice)}),
        2 => json!({"sessionId": no_text(dice)}),
        3 => json!({"cursor": one_of(dice, &[json!([]), json!({}), json!("x".repeat(4095))])}),
        4 => json!({"state": one_of(dice, &[json!("done"), json!(""), json!(7), Json::Null])}),
        5 => json!({"observedAt": one_of(dice, &[json!("x"), Json::Null, json!(1.5), json!([])])}),
        6 => json!({"observedAt": one_of(dice, &[json!(0), json!(NOW - 1), json!(-5)])}),
        7 => json!({"observedAt": one_of(dice, &[json!(now + 1), json!(u64::MAX), json!(1e300)])}),
        8 => json!({"state": "running", "completedAt": NOW}),
        9 => {
            json!({"completedAt": one_of(dice, &[json!(NOW - 1), json!(now + 1), json!("x"), json!(false)])})
        }
        10 => {
            let bad = json!({"eventId": no_text(dice)});
            json!({"events": [event("good"), with(event("bad"), bad)]})
        }
        _ => {
            let many = (0..101).map(|n| event(&format!("many-{n}"))).collect::<Vec<_>>();
            let long = vec![with(event("long"), json!({"data": "x".repeat(70_000)}))];
            json!({"events": one_of(dice, &[many, long])})
        }
    };
    with(seen, changes)
}

/// A fault of a result, likewise.
fn spoil_result(dice: &SeededRandom, told: Json, other: &Json, now: u64) -> Json {
    let changes = match dice.below(9) {
        0 => json!({"providerJobId": one_of(dice, &[json!("j-2"), Json::Null, json!(7)])}),
        1 => json!({"turnId": one_of(dice, &[json!("t-2"), Json::Null, json!("")])}),
        2 => json!({"inputHead": one_of(dice, &[json!("b".repeat(40)), Json::Null])}),
        3 => json!({"sessionId": no_text(dice)}),
        4 => json!({"outcome": other["outcome"]}),
        5 => {
            json!({"outcome": one_of(dice, &[Json::Null, json!([]), json!({"finished": true}), json!({"ok": true})])})
        }
        6 => json!({"completedAt": one_of(dice, &[json!(NOW - 1), json!(now + 1), json!("x"), json!(true)])}),
        7 => json!({"files": [], "pushedHead": "b".repeat(40)}),
        _ => json!({"text": "x".repeat(65_536)}),
    };
    with(told, changes)
}

/// A text that is no reply.
fn malformed(dice: &SeededRandom, whole: &str) -> String {
    match dice.below(6) {
        0 => whole[..whole.len() - 1 - usize::try_from(dice.below(whole.len() as u64 - 1)).expect("small")]
            .to_owned(),
        1 => format!("[{whole}]"),
        2 => format!("{whole}{whole}"),
        3 => whole.replacen('{', "{\"turnId\":\"t-1\",", 1),
        4 => whole.replacen('{', &format!("{{\"deep\":{}{},", "[".repeat(500), "]".repeat(500)), 1),
        _ => format!("{whole}{}", " ".repeat(131_073)),
    }
}

fn rejected(seed: u64) {
    let dice = SeededRandom::new(seed);
    let (task, method) = ground(&dice);
    let (before, run) = (task.tree_but_retry_data(), task.run(1));
    // A pass comes this much later.
    task.machine.advance_ms(400_000);
    let now = NOW + 10_000_000;
    let everything =
        json!({"events": [event("e-2")], "gap": true, "cursor": "c-2", "costUsd": 9, "sessionId": "s-1"});
    let mut reply = match method {
        "collect" => {
            let (own, other) = if run["terminalState"] == "failed" {
                (failure(1), result(1))
            } else {
                (result(1), failure(1))
            };
            let mut told = own;
            for _ in 0..=dice.below(3) {
                told = spoil_result(&dice, told, &other, now);
            }
            told
        }
        _ => {
            let state = one_of(&dice, &["running", "succeeded", "failed", "cancelled", "waiting-for-input"]);
            let mut seen = with(observation(1, state), everything);
            for _ in 0..=dice.below(3) {
                seen = spoil_observation(&dice, seen, method != "lookup", now);
            }
            seen
        }
    };
    if dice.below(4) == 0 {
        reply = Json::Null;
    }
    let text = if dice.below(4) == 0 { malformed(&dice, &result(1).to_string()) } else { reply.to_string() };
    let ended = task.pass([Answer::Text(text.clone())]);
    assert_eq!(ended.calls[0].0, method, "{text}");
    let report = ended.ok();
    assert!(report["error"].is_object(), "{text}");
    assert!(before == task.tree_but_retry_data(), "nothing but retry data changes: {text}");
    let after = task.run(1);
    assert_eq!(after["failures"].as_u64(), run["failures"].as_u64().map(|failures| failures + 1));
    assert_eq!(after["lastError"]["reason"], report["error"]["reason"]);
    let (at, next) = (after["reconciledAt"].as_u64(), after["nextAttemptAt"].as_u64());
    assert!(at < next && next <= at.map(|at| at + 300_000), "{at:?} {next:?}");
}

#[test]
fn a_rejected_reply_changes_nothing_but_retry_data_whatever_it_says_to_whatever_ledger() {
    if let Ok(seed) = std::env::var("GALLIVANT_SEED") {
        return rejected(seed.parse().expect("a number"));
    }
    // Most of it is waiting for a disk.
    std::thread::scope(|scope| {
        for part in 0..8_u64 {
            scope.spawn(move || {
                for seed in (part..200).step_by(8) {
                    let held = std::panic::catch_unwind(|| rejected(seed));
                    assert!(held.is_ok(), "GALLIVANT_SEED={seed}");
                }
            });
        }
    });
}
