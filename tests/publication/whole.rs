//! A publication with nothing but the real things: Git, this system's sandbox, a remote.

use gallivant_core::execution::{AbortToken, FaultAnswer};
use gallivant_core::publication::{Plan, SandboxOptions, SystemVerification};
use gallivant_core::verification::{SandboxCheck, SystemSandbox};
use gallivant_core::{Code, Host};
use serde_json::{Value as Json, json};

use crate::support::publication::{plan_with, verification};
use crate::support::repository::{Repository, git};
use crate::support::task::{Points, TaskRoot};

/// Whether this machine has a sandbox; where it has none, why not.
fn sandbox() -> Result<(), String> {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let sandbox = SystemSandbox { scratch: scratch.path().to_owned(), runtime: None };
    match sandbox.check(&Host::system(), &|| false) {
        Ok(_) => Ok(()),
        Err(error) => {
            assert_eq!(error.code(), Code::ExecutionVerificationSandbox);
            Err(error.message().to_owned())
        }
    }
}

fn plan(repository: &Repository, commands: Json) -> Plan {
    plan_with(json!({
        "origin": repository.remote().display().to_string(), "verification": verification(commands)
    }))
}

fn publish(repository: &Repository, task: &TaskRoot, plan: &Plan) -> Json {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let boundary = task.boundary();
    let options = SandboxOptions {
        checkout: repository.checkout(),
        scratch: scratch.path().to_owned(),
        runtime: None,
        environment: vec![("PUSH_TOKEN".to_owned(), "not-for-commands".to_owned())],
    };
    let verification = SystemVerification::new(&boundary, plan.commands.clone(), options, AbortToken::new());
    let verification = verification.expect("a sandbox");
    let answer = repository.publish_by(&boundary, &verification, plan, None).expect("nobody is gone");
    let left = std::fs::read_dir(scratch.path()).expect("listed").count();
    assert_eq!(left, 0, "no private profile is left");
    answer.expect("an answer")
}

#[test]
fn ex_ver_41_a_publication_proves_the_sandbox_on_its_own_checkout_and_publishes_what_was_verified() {
    let repository = Repository::new();
    let mut task = repository.task(json!({}));
    let points = Points::new("", || FaultAnswer::Go);
    task.faults = points.clone();
    let plan = plan(
        &repository,
        json!([
            "grep -q two README && test ! -e src/old",
            "sh src/run.sh && git log -1 --format=%H",
            "test -z \"$PUSH_TOKEN\""
        ]),
    );
    let answer = publish(&repository, &task, &plan);
    if let Err(why) = sandbox() {
        println!("no sandbox here ({why}): the refusal is checked instead");
        assert_eq!(answer["reason"], "verification-sandbox-unavailable");
        assert_eq!((repository.commits(), repository.remote_head("task/1")), (1, None));
        return;
    }
    let head = repository.head();
    assert_eq!((&answer["status"], &answer["appliedHead"]), (&json!("published"), &json!(head)), "{answer}");
    assert_eq!(repository.remote_head("task/1"), Some(head.clone()));
    let evidence = task.evidence();
    assert_eq!(evidence["commands"][1]["output"], format!("{head}\n"));
    let first = &evidence["commands"][0]["sandbox"];
    assert_eq!((&first["driver"], &first["probe"]["status"]), (&json!("bubblewrap"), &json!("passed")));
    // EX-SEA-07: each point behind its fact.
    let seen = points.seen();
    let own: Vec<_> = seen.iter().filter_map(|point| point.strip_prefix("publish.")).collect();
    let expected = [
        "applying",
        "commit",
        "verifying",
        "command",
        "command",
        "command",
        "verified",
        "push",
        "pr",
        "published",
    ];
    assert_eq!(own, expected);
    // The view of a result shows both, and a repetition gives the same.
    let boundary = task.boundary();
    let view = crate::support::task::from_core(&boundary.result_view("run-1").expect("a view"));
    assert_eq!(view["application"]["status"], "published");
    assert_eq!(view["verification"]["revision"], json!(head));
    assert_eq!(publish(&repository, &task, &plan), answer);
}

#[test]
fn ex_ver_16_what_a_command_says_no_to_or_changes_is_not_pushed() {
    if let Err(why) = sandbox() {
        println!("no sandbox here ({why})");
        return;
    }
    for (command, reason) in [
        ("exit 3", "command-failed"),
        ("echo more >> README", "dirty"),
        ("touch untracked", "dirty"),
        ("touch target-not-ignored; exit 0", "dirty"),
    ] {
        let repository = Repository::new();
        let task = repository.task(json!({}));
        let plan = plan(&repository, json!(["true", command, "true"]));
        let answer = publish(&repository, &task, &plan);
        assert_eq!((&answer["status"], &answer["reason"]), (&json!("blocked"), &json!(reason)), "{command}");
        assert_eq!(task.evidence()["commands"].as_array().expect("a list").len(), 2, "{command}");
        assert_eq!((repository.commits(), repository.remote_head("task/1")), (1, None), "{command}");
        let status = git(&repository.checkout(), &["status", "--porcelain"]);
        assert_eq!(status.is_empty(), reason == "command-failed", "{command}: what it left stays: {status}");
    }
}

#[test]
fn ex_ver_12_ex_ver_15_a_tree_that_somebody_changes_while_it_is_checked_is_not_pushed() {
    if let Err(why) = sandbox() {
        println!("no sandbox here ({why})");
        return;
    }
    // The command says where it is in an ignored directory, and succeeds once the tree has been changed from outside.
    let command = "mkdir target && touch target/started && while [ ! -e target/go ]; do sleep 0.01; done";
    type Change = fn(&std::path::Path);
    let changes: [(&str, Change); 4] = [
        ("dirty", |at| std::fs::write(at.join("README"), "another\n").expect("written")),
        ("dirty", |at| std::fs::write(at.join("src/beside"), "new\n").expect("written")),
        ("dirty", |at| {
            // What is staged and taken back in the work tree is a change all the same.
            std::fs::write(at.join("README"), "another\n").expect("written");
            git(at, &["add", "README"]);
            std::fs::write(at.join("README"), "two\n").expect("written");
        }),
        ("revision-changed", |at| drop(git(at, &["commit", "-q", "--allow-empty", "-m", "another"]))),
    ];
    for (number, (reason, change)) in changes.into_iter().enumerate() {
        let repository = Repository::new();
        let task = repository.task(json!({}));
        let plan = plan(&repository, json!([command, "true"]));
        let checkout = repository.checkout();
        let answer = std::thread::scope(|scope| {
            scope.spawn(|| {
                let clock = Host::system().clock;
                let until = clock.awake() + std::time::Duration::from_secs(60);
                while !checkout.join("target/started").exists() {
                    assert!(clock.awake() < until, "the command never began");
                    clock.sleep(std::time::Duration::from_millis(2));
                }
                change(&checkout);
                std::fs::write(checkout.join("target/go"), "").expect("written");
            });
            publish(&repository, &task, &plan)
        });
        assert_eq!(
            (&answer["status"], &answer["reason"]),
            (&json!("blocked"), &json!(reason)),
            "change {number}"
        );
        assert_eq!(repository.remote_head("task/1"), None, "change {number}");
        // The command has succeeded, and the one behind it did not run.
        let evidence = task.evidence();
        assert_eq!(evidence["commands"].as_array().map(Vec::len), Some(1), "change {number}");
        assert_eq!(evidence["commands"][0]["exitCode"], json!(0), "change {number}");
    }
}
