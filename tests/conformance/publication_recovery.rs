//! EX-ART-40, EX-ART-42 and the crashes of a publication: whatever comes in between, there is one commit, one push and one pull
//! request, or a block with a name; no command runs twice, and nothing unproved is pushed.

use std::sync::Arc;

use gallivant_core::Code;
use gallivant_core::execution::NoFaults;
use serde_json::{Value as Json, json};

use crate::support::pass::CrashAt;
use crate::support::publication::{
    APPLICATION, APPLIED, Fate, Field, OTHER, VERIFICATION, plan, plan_with, verification,
};
use crate::support::task::{TaskRoot, with};

/// What must hold whatever has happened.
#[track_caller]
fn check(task: &TaskRoot, field: &Field, at: &str) {
    assert!(field.commits <= 1, "{at}: {} commits", field.commits);
    assert!(field.pushes <= 1, "{at}: {} pushes", field.pushes);
    assert!(field.pull_requests.len() <= 1, "{at}: {} pull requests", field.pull_requests.len());
    assert!(field.ran.values().all(|count| *count <= 1), "{at}: a command ran twice: {:?}", field.ran);
    if field.pushes > 0 {
        assert_eq!(field.remote.as_deref(), Some(APPLIED), "{at}");
        assert_eq!(field.ran.len(), 2, "{at}: pushed without every command");
        let ran = task.evidence()["commands"].as_array().expect("a list").len();
        assert_eq!(ran, 2, "{at}: pushed without evidence");
        let status = task.checkpoint()["status"].clone();
        assert!(status == "verified" || status == "published", "{at}: pushed at {status}");
    }
}

/// Goes on until there is an answer, which takes a call or two.
#[track_caller]
fn resume(task: &mut TaskRoot, field: &mut Field, at: &str) -> Json {
    task.faults = Arc::new(NoFaults);
    field.fate = None;
    let boundary = task.boundary();
    let answer = field.publish(&boundary, &plan()).expect("nobody is gone");
    check(task, field, at);
    let answer = answer.unwrap_or_else(|error| panic!("{at}: {error}"));
    match answer["status"].as_str() {
        Some("published") => {
            let has_all = (field.commits, field.pushes, field.pull_requests.len()) == (1, 1, 1);
            assert!(has_all, "{at}: published with {field:?}");
        }
        Some("blocked") => {
            let reason = answer["reason"].as_str().expect("a name");
            assert_eq!(reason, "verification-interrupted", "{at}");
            assert_eq!(field.pushes, 0, "{at}");
        }
        status => panic!("{at}: {status:?}"),
    }
    let count = field.calls.len();
    let again = field.publish(&boundary, &plan()).expect("nobody is gone").expect("an answer");
    assert_eq!((again, field.calls.len()), (answer.clone(), count), "{at}: it has ended");
    answer
}

#[test]
fn ex_sea_08_a_crash_at_every_point_of_a_publication_is_recovered() {
    let (mut crashes, mut published) = (0, 0);
    for nth in 1.. {
        let (mut task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
        let crash = CrashAt::new(nth);
        task.faults = crash.clone();
        let boundary = task.boundary();
        let outcome = field.publish(&boundary, &plan()).expect("nobody is gone");
        let seen = crash.seen();
        if seen.len() < nth {
            outcome.expect("published");
            assert_eq!(nth, seen.len() + 1);
            break;
        }
        let error = outcome.expect_err("it crashed");
        assert_eq!(error.reason(), Some("internal"));
        let at = format!("a crash at {}", seen[nth - 1]);
        check(&task, &field, &at);
        crashes += 1;
        published += u32::from(resume(&mut task, &mut field, &at)["status"] == "published");
    }
    println!("publication: {crashes} crashes at points, {published} published, the others blocked");
    assert!(crashes >= 11 && published >= 9, "{crashes} {published}");
}

#[test]
fn ex_art_40_ex_art_42_every_lost_reply_and_every_crash_at_a_call_is_recovered() {
    let (mut ends, mut published) = (0, 0);
    for fate in Fate::ALL {
        for nth in 1.. {
            let (mut task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
            field.fate = Some((nth, fate));
            let boundary = task.boundary();
            let outcome = field.publish(&boundary, &plan());
            if field.calls.len() < nth {
                break;
            }
            let at = format!("{fate:?} at {}", field.calls[nth - 1]);
            check(&task, &field, &at);
            if let Some(Err(error)) = &outcome {
                assert!(matches!(error.code(), Code::ExecutionIo | Code::ExecutionDeadline), "{at}: {error}");
            }
            ends += 1;
            published += u32::from(resume(&mut task, &mut field, &at)["status"] == "published");
        }
    }
    println!("publication: {ends} ends of calls, {published} published, the others blocked");
    assert!(ends >= 50 && published > 40, "{ends} {published}");
}

#[test]
fn i15_a_crash_between_commands_runs_none_of_them_again() {
    for before in [0, 1] {
        let (mut task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
        field.gone_in = Some(before);
        let boundary = task.boundary();
        assert!(field.publish(&boundary, &plan()).is_none());
        field.gone_in = None;
        let answer = resume(&mut task, &mut field, &format!("gone before command {before}"));
        assert_eq!((&answer["reason"], field.ran.len()), (&json!("verification-interrupted"), before));
        assert_eq!(answer["appliedHead"], APPLIED);
    }
}

#[test]
fn a_second_crash_on_the_way_is_recovered_too() {
    let mut crashes = 0;
    for first in [2, 3, 4, 6, 8, 9] {
        for second in 1.. {
            let (mut task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
            field.fate = Some((first, Fate::GoneAfter));
            assert!(
                {
                    let boundary = task.boundary();
                    field.publish(&boundary, &plan())
                }
                .is_none()
            );
            field.fate = Some((first + second, Fate::GoneAfter));
            let boundary = task.boundary();
            let outcome = field.publish(&boundary, &plan());
            let at = format!("gone at call {first} and {second} calls later");
            check(&task, &field, &at);
            crashes += 1;
            resume(&mut task, &mut field, &at);
            if outcome.is_some() {
                break;
            }
        }
    }
    assert!(crashes > 15, "{crashes}");
}

#[test]
fn ex_art_40_a_lost_commit_reply_is_resolved_by_content_and_makes_no_second_commit() {
    let (mut task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    field.fate = Some((4, Fate::Lost));
    let boundary = task.boundary();
    field.publish(&boundary, &plan()).expect("here").expect_err("the reply is lost");
    assert_eq!((task.checkpoint()["status"].as_str(), field.commits), (Some("applying"), 1));
    assert_eq!(resume(&mut task, &mut field, "a lost commit reply")["appliedHead"], APPLIED);
    assert_eq!((field.called("git.commit"), field.called("git.matches")), (1, 1));

    // A head that is anything else is not taken.
    let (mut task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    field.fate = Some((4, Fate::Fails));
    let boundary = task.boundary();
    field.publish(&boundary, &plan()).expect("here").expect_err("the commit fails");
    (field.head, field.is_written, field.fate) = (OTHER.to_owned(), false, None);
    task.faults = Arc::new(NoFaults);
    let answer = field.publish(&boundary, &plan()).expect("here").expect("an answer");
    assert_eq!(answer["reason"], "result-validation");
}

#[test]
fn ex_art_42_a_lost_push_or_pull_request_reply_repeats_publication_only() {
    for call in [8, 9, 10] {
        for fate in [Fate::Fails, Fate::Lost, Fate::Late] {
            let (mut task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
            field.fate = Some((call, fate));
            let boundary = task.boundary();
            field.publish(&boundary, &plan()).expect("here").expect_err("the reply is lost");
            assert_eq!(task.checkpoint()["status"], "verified");
            let before = field.calls.len();
            resume(&mut task, &mut field, "a lost reply");
            let again: Vec<_> = field.calls[before..].iter().map(String::as_str).collect();
            assert!(again.iter().all(|call| !call.starts_with("verification.")), "{again:?}");
            assert!(!again.contains(&"git.apply") && !again.contains(&"git.commit"), "{again:?}");
        }
    }
}

/// A publication whose push failed, with its evidence changed by whoever then tries again.
fn after_verification(change: impl FnOnce(&TaskRoot, &mut Field)) -> (Json, Field) {
    let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    field.fate = Some((8, Fate::Fails));
    let boundary = task.boundary();
    field.publish(&boundary, &plan()).expect("here").expect_err("the push fails");
    field.fate = None;
    change(&task, &mut field);
    let answer = field.publish(&boundary, &plan()).expect("here").expect("an answer");
    (answer, field)
}

fn changed(task: &TaskRoot, change: impl FnOnce(&mut Json)) {
    let mut evidence = task.evidence();
    change(&mut evidence);
    task.plant(VERIFICATION, evidence.to_string());
}

#[test]
fn ex_art_42_publishing_later_needs_the_clean_revision_and_evidence_of_every_approved_command() {
    type Case = (&'static str, fn(&TaskRoot, &mut Field));
    let cases: [Case; 15] = [
        ("published", |_, _| {}),
        ("revision-changed", |_, field| field.head = OTHER.to_owned()),
        ("dirty", |_, field| field.is_dirty = true),
        ("result-validation", |_, field| drop(field.says.insert("matches", json!({"matches": false})))),
        ("result-verification", |task, _| {
            changed(task, |evidence| drop(evidence["commands"].as_array_mut().expect("a list").pop()));
        }),
        ("result-verification", |task, _| {
            changed(task, |evidence| evidence["commands"][1]["exitCode"] = json!(1));
        }),
        ("result-verification", |task, _| {
            changed(task, |evidence| evidence["commands"][0]["exitCode"] = Json::Null);
        }),
        ("result-verification", |task, _| {
            changed(task, |evidence| evidence["listHash"] = json!("another"));
        }),
        ("result-verification", |task, _| {
            changed(task, |evidence| evidence["endedAt"] = Json::Null);
        }),
        ("result-verification", |task, _| {
            changed(task, |evidence| evidence["blocked"] = json!({"reason": "dirty"}));
        }),
        ("result-verification", |task, _| {
            changed(task, |evidence| evidence["revision"] = json!(OTHER));
        }),
        ("result-verification", |task, _| {
            changed(task, |evidence| evidence["sourceHash"] = json!("another"));
        }),
        ("result-verification", |task, _| {
            changed(task, |evidence| evidence["commands"][1]["sandbox"] = Json::Null);
        }),
        ("verification-sandbox-unavailable", |task, _| {
            changed(task, |evidence| evidence["sandbox"] = json!({"driver": "bwrap"}));
        }),
        ("verification-sandbox-unavailable", |task, _| {
            std::fs::remove_file(task.path().join(VERIFICATION)).expect("removed");
        }),
    ];
    for (number, (expected, change)) in cases.into_iter().enumerate() {
        let (answer, field) = after_verification(change);
        let got = if answer["status"] == "published" {
            "published"
        } else {
            answer["reason"].as_str().expect("why")
        };
        assert_eq!(got, expected, "case {number}");
        assert_eq!(field.pushes, u32::from(expected == "published"), "case {number}");
    }
}

#[test]
fn ex_ver_01_another_list_of_commands_is_not_what_was_verified() {
    let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    field.fate = Some((8, Fate::Fails));
    let boundary = task.boundary();
    field.publish(&boundary, &plan()).expect("here").expect_err("the push fails");
    field.fate = None;
    let other = plan_with(json!({"verification": verification(json!(["make check", "make lint"]))}));
    let answer = field.publish(&boundary, &other).expect("here").expect("an answer");
    assert_eq!((&answer["reason"], field.pushes), (&json!("result-verification"), 0));
}

#[test]
fn ex_upg_03_ex_ver_18_a_verifying_checkpoint_is_interrupted_whoever_wrote_it() {
    let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    field.gone_in = Some(1);
    assert!(
        {
            let boundary = task.boundary();
            field.publish(&boundary, &plan())
        }
        .is_none()
    );
    assert_eq!(task.checkpoint()["status"], "verifying");
    // As an older package of version 1 may have left it: with members of its own, and without some of ours.
    let older = with(task.checkpoint(), json!({"tool": "older", "evidence": null}));
    task.plant(APPLICATION, older.to_string());
    (field.gone_in, field.ran) = (None, Default::default());
    let answer = task.publishes(&mut field).expect("an answer");
    assert_eq!(
        (&answer["status"], &answer["reason"]),
        (&json!("blocked"), &json!("verification-interrupted"))
    );
    assert_eq!((field.calls.len(), field.ran.len()), (5, 0), "nobody is asked, nothing is run");
    let checkpoint = task.checkpoint();
    assert_eq!((&checkpoint["tool"], &checkpoint["appliedHead"]), (&json!("older"), &json!(APPLIED)));
}
