//! EX-ART-30, EX-ART-31, EX-ART-35, EX-ART-40, EX-ART-43, EX-ART-55 with real Git: a checkout, and remotes over a path and over
//! the network.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use gallivant_core::Code;
use gallivant_core::artifacts::Detail;
use serde_json::{Value as Json, json};

use crate::support::publication::Fate;
use crate::support::repository::{Repository, entry, files, git, mode};
use crate::support::task::TaskRoot;

#[track_caller]
fn is_published(repository: &Repository, task: &TaskRoot, answer: &Json, at: &str) {
    let head = repository.head();
    assert_eq!((&answer["status"], &answer["appliedHead"]), (&json!("published"), &json!(head)), "{at}");
    assert_eq!(repository.commits(), 1, "{at}: one commit");
    assert_eq!(repository.remote_head("task/1").as_deref(), Some(head.as_str()), "{at}");
    assert_eq!(repository.service.0.lock().expect("no panic").len(), 1, "{at}: one pull request");
    assert_eq!(git(&repository.checkout(), &["status", "--porcelain"]), "", "{at}: the checkout is clean");
    assert_eq!(task.checkpoint()["status"], "published", "{at}");
}

#[track_caller]
fn blocked(repository: &Repository, task: &TaskRoot, reason: &str) -> Json {
    let answer = repository.publishes(task).expect("a block is an answer");
    assert_eq!((&answer["status"], &answer["reason"]), (&json!("blocked"), &json!(reason)), "{answer}");
    assert_eq!(repository.remote_head("task/1"), None, "nothing is pushed");
    assert!(repository.service.0.lock().expect("no panic").is_empty());
    answer
}

#[test]
fn ex_art_35_a_result_is_committed_pushed_over_a_path_and_asked_to_be_merged() {
    let repository = Repository::new();
    let task = repository.task(json!({}));
    let answer = repository.publishes(&task).expect("published");
    is_published(&repository, &task, &answer, "a path");
    let checkout = repository.checkout();
    let at = |format: &str| git(&checkout, &["log", "-1", &format!("--format={format}")]);
    assert_eq!(at("%P"), repository.input_head);
    assert_eq!(at("%an <%ae>"), "A Coordinator <coordinator@example.org>");
    assert_eq!(at("%s"), "Apply the result of run-1");
    let changes =
        git(&checkout, &["diff", "--raw", "--no-abbrev", "--no-renames", &repository.input_head, "HEAD"]);
    let changes: Vec<_> = changes
        .lines()
        .map(|line| {
            let (modes, path) = line.split_once('\t').expect("a path");
            (modes[1..14].to_owned(), path.to_owned())
        })
        .collect();
    let expected = [
        ("100644 100644", "README"),
        ("000000 100644", "new/deep/file.txt"),
        ("100644 000000", "src/old"),
        ("100755 100755", "src/run.sh"),
    ];
    assert_eq!(changes, expected.map(|(modes, path)| (modes.to_owned(), path.to_owned())));
    assert_eq!(std::fs::read_to_string(checkout.join("README")).expect("read"), "two\n");
    // The base is as it was: nothing is merged.
    assert_eq!(repository.remote_head("main"), Some(repository.input_head.clone()));
    let refs = git(&repository.remote(), &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs.lines().collect::<Vec<_>>(), ["refs/heads/main", "refs/heads/task/1"]);
    let calls = repository.calls.lock().expect("no panic").len();
    assert_eq!(repository.publishes(&task).expect("again"), answer);
    assert_eq!(repository.calls.lock().expect("no panic").len(), calls);
}

/// `git daemon` on a port of this machine that is free, with leave to push.
struct Daemon {
    child: Child,
    port: u16,
}

impl Daemon {
    fn over(base: &Path) -> Daemon {
        // Its port may be taken between the look and its start.
        for _ in 0..20 {
            let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
            let port = free.local_addr().expect("an address").port();
            drop(free);
            let mut child = Command::new("git")
                .args(["daemon", "--export-all", "--reuseaddr", "--verbose", "--enable=receive-pack"])
                .arg("--listen=127.0.0.1")
                .arg(format!("--port={port}"))
                .arg(format!("--base-path={}", base.display()))
                .arg(base)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .expect("git daemon starts");
            let mut lines = BufReader::new(child.stderr.take().expect("it is a pipe")).lines();
            let is_ready = lines.any(|line| line.is_ok_and(|line| line.contains("Ready to rumble")));
            // Whatever it says afterwards is read, so that it never waits for this test.
            std::thread::spawn(move || lines.for_each(drop));
            if is_ready {
                return Daemon { child, port };
            }
            let _ = child.wait();
        }
        panic!("git daemon finds no port");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn ex_art_35_a_result_is_pushed_over_the_network() {
    let mut repository = Repository::new();
    let task = repository.task(json!({}));
    let daemon = Daemon::over(repository.remote().parent().expect("a parent"));
    let origin = format!("git://127.0.0.1:{}/origin.git", daemon.port);
    git(&repository.checkout(), &["remote", "set-url", "origin", &origin]);
    repository.origin = Some(origin);
    // Nobody answers at first, which is no block.
    let mut other = Repository::new();
    let unreached = other.task(json!({}));
    let nowhere = "git://127.0.0.1:1/origin.git".to_owned();
    git(&other.checkout(), &["remote", "set-url", "origin", &nowhere]);
    other.origin = Some(nowhere);
    let error = other.publishes(&unreached).expect_err("nobody answers");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionIo, Some("io")));
    assert_eq!(unreached.checkpoint()["status"], "verified");

    let answer = repository.publishes(&task).expect("published");
    is_published(&repository, &task, &answer, "git daemon");
}

#[test]
fn ex_art_40_ex_art_43_a_crash_at_every_call_leaves_one_commit_one_push_and_one_pull_request_or_a_block() {
    let (mut ends, mut published) = (0, 0);
    for fate in [Fate::GoneAfter, Fate::Lost] {
        for nth in 1.. {
            let repository = Repository::new();
            let task = repository.task(json!({}));
            repository.publish(&task, Some((nth, fate)));
            if repository.calls.lock().expect("no panic").len() < nth {
                break;
            }
            let at = format!("{fate:?} at {:?}", repository.calls.lock().expect("no panic").last());
            ends += 1;
            let answer = repository.publishes(&task).unwrap_or_else(|error| panic!("{at}: {error}"));
            if answer["status"] == "published" {
                published += 1;
                is_published(&repository, &task, &answer, &at);
            } else {
                assert_eq!(answer["reason"], "verification-interrupted", "{at}: {answer}");
                assert_eq!((repository.commits(), repository.remote_head("task/1")), (1, None), "{at}");
            }
        }
    }
    println!("publication with git: {ends} ends of calls, {published} published, the others blocked");
    assert!(ends >= 20 && published >= 16, "{ends} {published}");
}

/// A publication that had begun to apply when it crashed.
fn begun() -> (Repository, TaskRoot) {
    let repository = Repository::new();
    let task = repository.task(json!({}));
    assert!(repository.publish(&task, Some((3, Fate::GoneBefore))).is_none());
    assert_eq!(task.checkpoint()["status"], "applying");
    (repository, task)
}

#[test]
fn ex_art_31_an_application_that_was_cut_short_is_taken_up_again() {
    type Leave = fn(&Path);
    let cases: [(&str, Leave); 5] = [
        ("one file written", |at| std::fs::write(at.join("README"), "two\n").expect("written")),
        ("one removed", |at| std::fs::remove_file(at.join("src/old")).expect("removed")),
        ("a new one", |at| {
            std::fs::create_dir_all(at.join("new/deep")).expect("directories");
            std::fs::write(at.join("new/deep/file.txt"), "new").expect("written");
        }),
        ("all of them", |at| {
            std::fs::write(at.join("README"), "two\n").expect("written");
            std::fs::write(at.join("src/run.sh"), "#!/bin/sh\nexit 0\n").expect("written");
            std::fs::create_dir_all(at.join("new/deep")).expect("directories");
            std::fs::write(at.join("new/deep/file.txt"), "new").expect("written");
            std::fs::remove_file(at.join("src/old")).expect("removed");
        }),
        ("all of them, in the index too", |at| {
            std::fs::write(at.join("README"), "two\n").expect("written");
            std::fs::remove_file(at.join("src/old")).expect("removed");
            git(at, &["add", "-A"]);
        }),
    ];
    for (name, leave) in cases {
        let (repository, task) = begun();
        leave(&repository.checkout());
        let answer = repository.publishes(&task).unwrap_or_else(|error| panic!("{name}: {error}"));
        is_published(&repository, &task, &answer, name);
    }
}

#[test]
fn ex_art_39_anything_else_that_stands_in_the_checkout_blocks_and_stays() {
    type Leave = fn(&Path);
    let cases: [(&str, Leave); 5] = [
        ("another content", |at| std::fs::write(at.join("README"), "three\n").expect("written")),
        ("an untracked file", |at| std::fs::write(at.join("note"), "mine").expect("written")),
        ("another file staged", |at| {
            std::fs::write(at.join("note"), "mine").expect("written");
            git(at, &["add", "note"]);
        }),
        ("another mode", |at| mode(&at.join("README"), 0o755)),
        ("another commit", |at| drop(git(at, &["commit", "-q", "--allow-empty", "-m", "mine"]))),
    ];
    for (name, leave) in cases {
        let (repository, task) = begun();
        leave(&repository.checkout());
        let before = git(&repository.checkout(), &["status", "--porcelain"]);
        blocked(&repository, &task, "result-validation");
        assert_eq!(git(&repository.checkout(), &["status", "--porcelain"]), before, "{name}");
    }
    // What is ignored follows the repository's rules (EX-VER-12).
    let (repository, task) = begun();
    std::fs::create_dir(repository.checkout().join("target")).expect("a directory");
    std::fs::write(repository.checkout().join("target/built"), "").expect("written");
    let answer = repository.publishes(&task).expect("published");
    is_published(&repository, &task, &answer, "an ignored file");
}

#[test]
fn ex_art_30_the_mode_guard_runs_again_when_a_verified_result_is_published_later() {
    // A commit with the same content and another mode is not the result.
    let (repository, task) = begun();
    let at = repository.checkout();
    std::fs::write(at.join("README"), "two\n").expect("written");
    std::fs::write(at.join("src/run.sh"), "#!/bin/sh\nexit 0\n").expect("written");
    std::fs::create_dir_all(at.join("new/deep")).expect("directories");
    std::fs::write(at.join("new/deep/file.txt"), "new").expect("written");
    std::fs::remove_file(at.join("src/old")).expect("removed");
    mode(&at.join("README"), 0o755);
    git(&at, &["add", "-A"]);
    git(&at, &["commit", "-q", "-m", "by hand"]);
    blocked(&repository, &task, "result-validation");

    // And an execute bit that comes behind the verification is a change, also where the repository overlooks them.
    let repository = Repository::new();
    let task = repository.task(json!({}));
    assert!(repository.publish(&task, Some((8, Fate::GoneBefore))).is_none());
    assert_eq!(task.checkpoint()["status"], "verified");
    git(&repository.checkout(), &["config", "core.fileMode", "false"]);
    mode(&repository.checkout().join("README"), 0o755);
    blocked(&repository, &task, "dirty");
}

#[test]
fn ex_jrn_60_a_cached_artifact_that_was_changed_stays_invalid() {
    let repository = Repository::new();
    let task = repository.task(json!({}));
    // An older package redacted what it kept.
    let mut kept: Json = serde_json::from_str(&task.text("run-1/result.json")).expect("JSON");
    kept["files"][0]["text"] = json!("[redacted]");
    task.plant("run-1/result.json", kept.to_string());
    let answer = blocked(&repository, &task, "result-validation");
    assert!(answer["detail"].as_str().is_some_and(|detail| detail.ends_with("detail=`text`")), "{answer}");
    let error = Detail::Text.refuse(Some(0));
    assert_eq!(
        error.remedy(),
        "restore the exact artifact of the recorded job and root turn; do not dispatch"
    );
}

#[test]
fn ex_art_46_a_result_that_cannot_be_applied_blocks_and_changes_nothing() {
    for (name, files) in [
        ("another content before", json!([entry("README", Some("zero\n"), Some("two\n"))])),
        ("a path outside", json!([entry("../README", None, Some("x"))])),
        ("git's own directory", json!([entry(".git/config", None, Some("x"))])),
        ("an alias of a tracked name", json!([entry("readme", None, Some("x"))])),
        ("a file and a directory", json!([entry("README/x", None, Some("x"))])),
        ("a text of another hash", {
            let mut file = entry("README", Some("one\n"), Some("two\n"));
            file["text"] = json!("cut");
            json!([file])
        }),
    ] {
        let repository = Repository::new();
        let task = repository.task(json!({"files": files}));
        let answer = blocked(&repository, &task, "result-validation");
        assert!(
            answer["detail"].as_str().is_some_and(|detail| detail.contains("detail=")),
            "{name}: {answer}"
        );
        assert_eq!((repository.commits(), repository.head()), (0, repository.input_head.clone()), "{name}");
        assert_eq!(git(&repository.checkout(), &["status", "--porcelain"]), "", "{name}");
    }
    // A link, which only the disk shows.
    let repository = Repository::new();
    let task = repository.task(json!({"files": [entry("target/x", None, Some("x"))]}));
    std::os::unix::fs::symlink("/tmp", repository.checkout().join("target")).expect("a link");
    blocked(&repository, &task, "result-validation");
}

#[test]
fn ex_art_34_another_origin_branch_or_base_of_the_checkout_blocks() {
    type Change = fn(&Path);
    let cases: [(&str, Change); 4] = [
        ("origin", |at| drop(git(at, &["remote", "set-url", "origin", "https://example.org/other.git"]))),
        ("checkout-branch", |at| drop(git(at, &["checkout", "-q", "main"]))),
        ("checkout-branch", |at| drop(git(at, &["checkout", "-q", "--detach"]))),
        ("base", |at| {
            git(at, &["branch", "-q", "-D", "main"]);
            git(at, &["update-ref", "-d", "refs/remotes/origin/main"]);
        }),
    ];
    for (detail, change) in cases {
        let repository = Repository::new();
        let task = repository.task(json!({}));
        change(&repository.checkout());
        assert_eq!(blocked(&repository, &task, "result-validation")["detail"], detail);
    }
}

#[test]
fn a_remote_that_has_gone_elsewhere_is_not_overwritten() {
    let repository = Repository::new();
    let task = repository.task(json!({}));
    let at = repository.checkout();
    git(&at, &["commit", "-q", "--allow-empty", "-m", "somebody else's"]);
    git(&at, &["push", "-q", "origin", "HEAD:refs/heads/task/1"]);
    let theirs = repository.head();
    git(&at, &["reset", "-q", "--hard", &repository.input_head]);
    let answer = repository.publishes(&task).expect("an answer");
    assert_eq!(
        (&answer["reason"], &answer["detail"]),
        (&json!("result-validation"), &json!("remote-branch"))
    );
    assert_eq!(repository.remote_head("task/1"), Some(theirs));
    assert!(repository.service.0.lock().expect("no panic").is_empty());
}

#[test]
fn no_hook_of_the_repository_runs() {
    let repository = Repository::new();
    let task = repository.task(json!({}));
    let at = repository.checkout();
    for hook in
        ["pre-commit", "commit-msg", "post-commit", "pre-push", "reference-transaction", "post-checkout"]
    {
        let path = at.join(".git/hooks").join(hook);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(&path, "#!/bin/sh\ntouch ../hooked hooked\nexit 1\n").expect("written");
        mode(&path, 0o755);
    }
    let answer = repository.publishes(&task).expect("published");
    is_published(&repository, &task, &answer, "hooks");
    assert!(!at.join("hooked").exists() && !at.join("../hooked").exists());
}

#[test]
fn ex_art_55_a_pushed_revision_descends_from_the_input_and_has_an_allowed_tree() {
    let pushed = |prepare: &dyn Fn(&Path)| {
        let repository = Repository::new();
        prepare(&repository.checkout());
        let head = repository.head();
        let task = repository.task(json!({"files": null, "pushedHead": head}));
        (repository, task, head)
    };
    let commit = |at: &Path| {
        git(at, &["add", "-A"]);
        git(at, &["commit", "-q", "--allow-empty", "-m", "pushed"]);
    };
    let (repository, task, head) = pushed(&|at| {
        std::fs::write(at.join("more"), "more").expect("written");
        mode(&at.join("README"), 0o755);
        commit(at);
        commit(at);
    });
    let answer = repository.publishes(&task).expect("published");
    assert_eq!((&answer["status"], &answer["appliedHead"]), (&json!("published"), &json!(head)));
    assert_eq!((repository.remote_head("task/1"), repository.commits()), (Some(head), 2));

    // Two names that are one to some file system.
    let (repository, task, _) = pushed(&|at| {
        std::fs::write(at.join("readme"), "x").expect("written");
        commit(at);
    });
    blocked(&repository, &task, "result-validation");
    // No descendant.
    let (repository, task, _) = pushed(&|at| {
        git(at, &["checkout", "-q", "--orphan", "elsewhere"]);
        commit(at);
        git(at, &["branch", "-q", "-M", "task/1"]);
    });
    blocked(&repository, &task, "result-validation");
    // Not the head of the task branch.
    let (repository, task, _) = pushed(&|at| commit(at));
    commit(&repository.checkout());
    blocked(&repository, &task, "result-validation");
    // Not fetched yet.
    let (repository, task, head) = pushed(&|at| commit(at));
    git(&repository.checkout(), &["reset", "-q", "--hard", &repository.input_head]);
    let error = repository.publishes(&task).expect_err("it is not there");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionIo, Some("tree")));
    git(&repository.checkout(), &["reset", "-q", "--hard", &head]);
    assert_eq!(repository.publishes(&task).expect("published")["status"], "published");
}

#[test]
fn ex_art_47_a_checkout_without_git_stays_unresolved() {
    let repository = Repository::new();
    let task = repository.task(json!({"files": files()}));
    std::fs::rename(repository.checkout().join(".git"), repository.checkout().join("git")).expect("renamed");
    let error = repository.publishes(&task).expect_err("there is no repository");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionIo, Some("tree")));
    std::fs::rename(repository.checkout().join("git"), repository.checkout().join(".git")).expect("renamed");
    let answer = repository.publishes(&task).expect("published");
    is_published(&repository, &task, &answer, "git is back");
}
