//! EX-ART-33 to EX-ART-53: what is published, what is refused, what is blocked, and what stands on disk meanwhile.

use gallivant_core::Code;
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{observation_with, result_with, says};
use crate::support::publication::{
    APPLICATION, APPLIED, Fate, Field, OTHER, VERIFICATION, plan, published_result,
};
use crate::support::task::{HEAD, Points, TaskRoot, dispatch_with, with};

/// Every call of a publication that meets nothing, in its order.
const CALLS: [&str; 10] = [
    "coordinator.entryStopped",
    "git.state",
    "git.apply",
    "git.commit",
    "verification.verify",
    "coordinator.entryStopped",
    "git.state",
    "publisher.push",
    "publisher.findPullRequest",
    "publisher.createPullRequest",
];

/// The block that a publication ends with, which a repetition gives again without a call.
#[track_caller]
pub(crate) fn blocked(task: &TaskRoot, field: &mut Field, reason: &str) -> Json {
    let answer = task.publishes(field).expect("a block is an answer");
    assert_eq!((&answer["status"], &answer["reason"]), (&json!("blocked"), &json!(reason)), "{answer}");
    let checkpoint = task.checkpoint();
    assert_eq!(checkpoint["status"], "blocked");
    assert!(checkpoint["blockedAt"].is_u64() && checkpoint["blockedAt"] == answer["blockedAt"]);
    assert_eq!((field.pushes, field.pull_requests.len()), (0, 0), "nothing blocked is published");
    let (tree, count) = (task.tree(), field.calls.len());
    assert_eq!(task.publishes(field).expect("an answer"), answer, "it is never tried again");
    assert!(task.tree() == tree && field.calls.len() == count, "and nobody is asked");
    answer
}

#[test]
fn ex_art_33_a_collected_successful_implementation_is_published() {
    let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    let answer = task.publishes(&mut field).expect("published");
    assert_eq!(field.calls, CALLS);
    assert_eq!((field.commits, field.pushes, field.pull_requests.len()), (1, 1, 1));
    assert_eq!(field.remote.as_deref(), Some(APPLIED));
    assert_eq!(answer, json!({"status": "published", "appliedHead": APPLIED, "pr": field.pull_requests[0]}));
    assert_eq!(field.ran.values().collect::<Vec<_>>(), [&1, &1]);
    let before = (task.tree(), field.calls.len());
    assert_eq!(task.publishes(&mut field).expect("again"), answer);
    assert!((task.tree(), field.calls.len()) == before, "a published result is only given back");
}

#[test]
fn ex_art_36_the_checkpoint_has_its_members_and_keeps_what_it_does_not_know() {
    let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    field.fate = Some((3, Fate::Fails));
    task.publishes(&mut field).expect_err("the checkout fails");
    let checkpoint = task.checkpoint();
    let names: Vec<_> = checkpoint.as_object().expect("an object").keys().map(String::as_str).collect();
    let mut expected = vec![
        "version",
        "taskId",
        "runId",
        "providerJobId",
        "sessionId",
        "turnId",
        "inputHead",
        "status",
        "fingerprint",
        "appliedHead",
        "reason",
        "blockedAt",
        "evidence",
        "pr",
        "updatedAt",
    ];
    expected.sort_unstable();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!(checkpoint["version"], 1);
    for (key, value) in [
        ("taskId", "t-1"),
        ("runId", "run-1"),
        ("providerJobId", "j-1"),
        ("sessionId", "s-1"),
        ("turnId", "t-1"),
    ] {
        assert_eq!(checkpoint[key], value);
    }
    assert_eq!((&checkpoint["inputHead"], &checkpoint["status"]), (&json!(HEAD), &json!("applying")));
    // The hash is that of what is published, and of nothing else.
    let fingerprint = |changes: Json| {
        let task = TaskRoot::publishable(changes);
        let mut field = Field { fate: Some((3, Fate::Fails)), ..Field::new() };
        task.publishes(&mut field).expect_err("the checkout fails");
        task.checkpoint()["fingerprint"].as_str().expect("a hash").to_owned()
    };
    let whole = checkpoint["fingerprint"].as_str().expect("a hash").to_owned();
    assert_eq!(whole.len(), 64);
    assert_eq!(fingerprint(json!({"text": "said"})), whole);
    assert_ne!(fingerprint(json!({"pr": {"title": "A title", "body": "Another"}})), whole);
    assert_ne!(fingerprint(json!({"files": null, "pushedHead": APPLIED})), whole);
    task.plant(APPLICATION, with(checkpoint, json!({"later": [1, 2]})).to_string());
    field.fate = None;
    field.is_written = false;
    task.publishes(&mut field).expect("published");
    let checkpoint = task.checkpoint();
    assert_eq!((&checkpoint["later"], &checkpoint["status"]), (&json!([1, 2]), &json!("published")));
    assert_eq!(checkpoint["evidence"], "verification.json");
    assert_eq!(checkpoint["appliedHead"], APPLIED);
    assert_eq!(checkpoint["pr"]["number"], 1);
}

#[test]
fn ex_art_38_each_status_is_saved_before_its_work_and_the_last_two_behind_it() {
    // What stands on disk when each call is handed out.
    let task = TaskRoot::publishable(json!({}));
    let mut seen = Vec::new();
    for nth in 1..=CALLS.len() {
        let task = TaskRoot::publishable(json!({}));
        let mut field = Field { fate: Some((nth, Fate::GoneBefore)), ..Field::new() };
        let boundary = task.boundary();
        assert!(field.publish(&boundary, &plan()).is_none());
        let status = if task.exists(APPLICATION) { task.checkpoint()["status"].clone() } else { Json::Null };
        seen.push((field.calls.last().expect("a call").clone(), status));
    }
    let expected = ["", "", "applying", "applying"]
        .into_iter()
        .chain(["verifying"; 1])
        .chain(["verified"; 5])
        .map(|status| if status.is_empty() { Json::Null } else { json!(status) });
    assert_eq!(seen, CALLS.into_iter().map(str::to_owned).zip(expected).collect::<Vec<_>>());
    task.publishes(&mut Field::new()).expect("published");
    assert_eq!(task.checkpoint()["status"], "published");
}

#[test]
fn the_points_of_a_publication_come_in_the_order_of_their_facts() {
    let mut task = TaskRoot::publishable(json!({}));
    let points = Points::new("", || gallivant_core::execution::FaultAnswer::Go);
    task.faults = points.clone();
    task.publishes(&mut Field::new()).expect("published");
    let seen = points.seen();
    let own: Vec<_> = seen.iter().filter(|point| point.starts_with("publish.")).map(String::as_str).collect();
    let expected = [
        "publish.applying",
        "publish.commit",
        "publish.verifying",
        "publish.verified",
        "publish.push",
        "publish.pr",
        "publish.published",
    ];
    assert_eq!(own, expected);
    assert!(seen.iter().any(|point| point == &format!("persist:{APPLICATION}")), "{seen:?}");
}

#[test]
fn ex_art_22_a_result_with_nothing_to_publish_writes_nothing() {
    for change in [json!({"files": []}), json!({"files": null})] {
        let (task, mut field) = (TaskRoot::publishable(change), Field::new());
        let before = task.tree();
        assert_eq!(task.publishes(&mut field).expect("an answer"), json!({"status": "nothing"}));
        assert!(field.calls.is_empty() && task.tree() == before);
    }
}

#[test]
fn ex_art_43_an_existing_pull_request_is_taken_and_a_result_without_text_asks_for_none() {
    let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    field.pull_requests.push(json!({"number": 7}));
    assert_eq!(task.publishes(&mut field).expect("published")["pr"], json!({"number": 7}));
    assert_eq!((field.called("publisher.createPullRequest"), field.pull_requests.len()), (0, 1));

    let (task, mut field) = (TaskRoot::publishable(json!({"pr": null})), Field::new());
    assert_eq!(task.publishes(&mut field).expect("published")["pr"], Json::Null);
    assert_eq!((field.pushes, field.called("publisher.findPullRequest")), (1, 0));
}

#[test]
fn ex_art_44_a_nul_byte_in_public_text_is_refused_before_anything_is_applied() {
    let pushed = json!({"files": null, "pushedHead": APPLIED});
    for text in [json!({"title": "A \u{0}title", "body": "B"}), json!({"title": "A", "body": "\u{0}"})] {
        for form in [json!({}), pushed.clone()] {
            let task = TaskRoot::publishable(with(form, json!({"pr": text})));
            let mut field = Field::new();
            let answer = blocked(&task, &mut field, "result-validation");
            assert_eq!(answer["detail"], "public-text");
            assert_eq!(field.calls, ["coordinator.entryStopped"]);
            // EX-ART-45: the payload is not rewritten.
            let result: Json = serde_json::from_str(&task.text("run-1/result.json")).expect("JSON");
            assert_eq!(result["pr"], text);
        }
    }
}

#[test]
fn ex_art_45_no_message_holds_rejected_text() {
    const MARK: &str = "rejected-text-4711";
    for change in [
        json!({"repo": MARK}),
        json!({"branch": MARK}),
        json!({"pr": {"title": format!("{MARK}\u{0}"), "body": ""}}),
        json!({"pr": MARK}),
        json!({"files": MARK}),
    ] {
        let task = TaskRoot::publishable(change.clone());
        let answer = task.publishes(&mut Field::new());
        let text = match &answer {
            Ok(answer) => answer.to_string(),
            Err(error) => format!("{error:?} {error} {}", error.remedy()),
        };
        assert!(!text.contains(MARK), "{text}");
        assert!(!task.text(APPLICATION).contains(MARK), "{change}");
    }
}

#[test]
fn ex_art_46_a_fault_that_stays_blocks_and_keeps_what_was_reached() {
    for (method, stage) in [("apply", "applying"), ("commit", "applying")] {
        let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
        field.says.insert(method, json!({"invalid": "path"}));
        let answer = blocked(&task, &mut field, "result-validation");
        assert_eq!((&answer["detail"], stage), (&json!("path"), "applying"));
        assert!(task.checkpoint()["fingerprint"].is_string());
    }
    // A remote that has gone elsewhere, once the result was verified.
    let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    field.says.insert("push", json!({"invalid": "remote-branch"}));
    let answer = blocked(&task, &mut field, "result-validation");
    let checkpoint = task.checkpoint();
    assert_eq!((&answer["detail"], &answer["appliedHead"]), (&json!("remote-branch"), &json!(APPLIED)));
    assert_eq!(
        (&checkpoint["evidence"], &checkpoint["appliedHead"]),
        (&json!("verification.json"), &json!(APPLIED))
    );
    assert_eq!(task.evidence()["commands"].as_array().expect("a list").len(), 2);
}

#[test]
fn ex_art_47_what_fails_for_now_stays_unresolved_and_is_retried() {
    let count = CALLS.len();
    for nth in 1..=count {
        let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
        field.fate = Some((nth, Fate::Fails));
        let call = CALLS[nth - 1];
        let answer = task.publishes(&mut field);
        let error = answer.expect_err("the call fails");
        assert_eq!(error.code(), Code::ExecutionIo, "{call}: {error}");
        assert!(!task.exists(APPLICATION) || task.checkpoint()["status"] != "blocked", "{call}");
        let is_git = call.starts_with("git.");
        assert_eq!(error.reason(), Some(if is_git { "tree" } else { "io" }), "{call}");
        let again = task.publishes(&mut field).expect("an answer");
        // EX-VER-18: only while the commands ran it cannot go on.
        let is_verifying = call == "verification.verify";
        assert_eq!(again["status"], if is_verifying { "blocked" } else { "published" }, "{call}");
    }
    let task = TaskRoot::publishable(json!({}));
    std::fs::remove_file(task.path().join("run-1/result.json")).expect("removed");
    let error = task.publishes(&mut Field::new()).expect_err("there is no result");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionResult, Some("missing")));
    assert!(!task.exists(APPLICATION));
}

#[test]
fn ex_art_48_a_checkpoint_that_cannot_be_saved_is_an_error_and_no_block() {
    use gallivant_core::execution::FaultAnswer;
    let saves = |task: &mut TaskRoot, field: &mut Field, failing: usize| {
        let mut seen = 0;
        task.faults = Points::new("persist:run-1/result-application.json", move || {
            seen += 1;
            if seen == failing { FaultAnswer::Fail } else { FaultAnswer::Go }
        });
        task.publishes(field)
    };
    for failing in 1..=4 {
        let (mut task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
        let error = saves(&mut task, &mut field, failing).expect_err("it is not saved");
        assert_eq!(error.code(), Code::ExecutionIo);
        let status = if failing == 1 { Json::Null } else { task.checkpoint()["status"].clone() };
        assert_eq!(
            status,
            [Json::Null, json!("applying"), json!("verifying"), json!("verified")][failing - 1]
        );
    }
    let (mut task, mut field) = (TaskRoot::publishable(json!({"repo": "org/other"})), Field::new());
    let error = saves(&mut task, &mut field, 1).expect_err("the block is not saved");
    assert_eq!(error.code(), Code::ExecutionIo);
    assert!(!task.exists(APPLICATION), "and not claimed");
}

#[test]
fn ex_art_49_no_pass_and_no_view_tries_a_blocked_publication_again() {
    let (task, mut field) = (TaskRoot::publishable(json!({"repo": "org/other"})), Field::new());
    blocked(&task, &mut field, "result-validation");
    let checkpoint = task.text(APPLICATION);
    task.first_pass([]).ok();
    task.forced_pass([]).ok();
    task.collect_only("run-1", []).ok();
    let boundary = task.boundary();
    boundary.result_view("run-1").expect("a view");
    boundary.inspect().expect("a projection");
    assert_eq!(task.text(APPLICATION), checkpoint);
    assert_eq!(field.calls.len(), 2);
}

#[test]
fn ex_art_50_a_block_does_not_change_the_run() {
    let (task, mut field) = (TaskRoot::publishable(json!({"repo": "org/other"})), Field::new());
    let (run, operation, job, ledger) =
        (task.run(1), task.operation(1), task.job(1), task.text("execution.json"));
    blocked(&task, &mut field, "result-validation");
    assert_eq!((task.run(1), task.operation(1), task.job(1)), (run, operation, job));
    assert_eq!(task.text("execution.json"), ledger);
    let boundary = task.boundary();
    let outcome = crate::support::task::from_core(&boundary.outcome("run-1").expect("an outcome"));
    assert_eq!((&outcome["ok"], &outcome["exit"], &outcome["cost"]), (&json!(true), &json!(0), &json!(0.25)));
}

#[test]
fn ex_art_52_a_continue_after_a_block_is_a_new_run_and_leaves_the_old_one_alone() {
    let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    field.exits.insert("make test".to_owned(), 2);
    blocked(&task, &mut field, "command-failed");
    let (checkpoint, evidence) = (task.text(APPLICATION), task.text(VERIFICATION));
    let answer = says(json!({"providerJobId": "j-2", "turnId": "t-2", "sessionId": "s-1"}));
    task.continue_run(dispatch_with(2, json!({"inputHead": APPLIED})), [answer]).ok();
    let seen = observation_with(2, "succeeded", json!({"observedAt": NOW + 600_000}));
    let result = with(result_with(2, published_result()), json!({"inputHead": APPLIED}));
    assert_eq!(task.due_pass([says(seen), says(result)]).ok()["error"], Json::Null);
    assert_eq!((task.text(APPLICATION), task.text(VERIFICATION)), (checkpoint, evidence));
    assert!(!task.exists("run-2/result-application.json"));
}

#[test]
fn ex_art_55_a_pushed_revision_is_published_as_it_stands() {
    let change = json!({"files": null, "pushedHead": APPLIED});
    let (task, mut field) = (TaskRoot::publishable(change.clone()), Field::new());
    // It is not fetched yet: nothing is known of it.
    let error = task.publishes(&mut field).expect_err("it is not there");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionIo, Some("tree")));
    (field.head, field.remote) = (APPLIED.to_owned(), Some(APPLIED.to_owned()));
    assert_eq!(task.publishes(&mut field).expect("published")["appliedHead"], APPLIED);
    assert_eq!((field.commits, field.called("git.apply"), field.pushes), (0, 0, 0));
    // Another head of the task branch, or a revision that the checkout does not allow.
    let (task, mut field) =
        (TaskRoot::publishable(change.clone()), Field { head: OTHER.to_owned(), ..Field::new() });
    blocked(&task, &mut field, "result-validation");
    let (task, mut field) =
        (TaskRoot::publishable(change), Field { head: APPLIED.to_owned(), ..Field::new() });
    field.says.insert("matches", json!({"matches": false}));
    blocked(&task, &mut field, "result-validation");
}

#[test]
fn ex_ver_15_another_head_or_a_tree_that_is_not_clean_at_publication_blocks() {
    let found = |change: fn(&mut Field)| {
        let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
        let boundary = task.boundary();
        let answer = field.publish_watched(&boundary, &plan(), &mut |call, field| {
            if call == "git.state" && field.called("verification.verify") == 1 {
                change(field);
            }
        });
        let answer = answer.expect("nobody is gone").expect("a block");
        assert_eq!((field.pushes, field.ran.len()), (0, 2));
        answer["reason"].as_str().expect("why").to_owned()
    };
    assert_eq!(found(|field| field.is_dirty = true), "dirty");
    assert_eq!(found(|field| field.head = OTHER.to_owned()), "revision-changed");
}

#[test]
fn ex_ver_17_a_verification_that_blocks_blocks_the_publication_with_its_reason() {
    let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    field.dirties = Some("make check".to_owned());
    blocked(&task, &mut field, "dirty");
    assert_eq!(task.evidence()["commands"].as_array().expect("a list").len(), 1);

    let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    field.exits.insert("make check".to_owned(), 1);
    blocked(&task, &mut field, "command-failed");

    // EX-VER-29: the applied revision stays, and waits.
    let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    field.has_sandbox = false;
    let answer = blocked(&task, &mut field, "verification-sandbox-unavailable");
    assert_eq!(
        (&answer["detail"], &answer["appliedHead"]),
        (&json!("bwrap is not installed"), &json!(APPLIED))
    );
    assert!(field.ran.is_empty(), "nothing runs without a sandbox");
}

#[test]
fn ex_ver_07_what_a_host_says_of_a_verification_is_no_evidence() {
    // It says that all is well, and has left nothing, or something else.
    for (evidence, reason) in [
        (None, "verification-sandbox-unavailable"),
        (Some(json!({"version": 1})), "verification-sandbox-unavailable"),
        (
            Some(
                json!({"version": 1, "sandbox": {"driver": "bubblewrap", "probe": {"status": "passed"}}, "commands": []}),
            ),
            "result-verification",
        ),
    ] {
        let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
        field.says.insert("verify", json!({}));
        if let Some(evidence) = evidence {
            task.plant(VERIFICATION, evidence.to_string());
        }
        blocked(&task, &mut field, reason);
    }
}

#[test]
fn ex_art_39_a_stop_that_comes_behind_a_publication_takes_nothing_back() {
    let (task, mut field) = (TaskRoot::publishable(json!({})), Field::new());
    let answer = task.publishes(&mut field).expect("published");
    task.stop_run([]).ok();
    let (before, count) = (task.text(APPLICATION), field.calls.len());
    assert_eq!(task.publishes(&mut field).expect("it is given back"), answer);
    assert_eq!((task.text(APPLICATION), field.calls.len()), (before, count));
}
