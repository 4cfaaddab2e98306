//! What Git is asked, and how (EX-ART-20, 23, 24, 40, 55, 56).

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gallivant_core::Code;
use gallivant_core::artifacts::git::Bounds;
use gallivant_core::artifacts::{GitOptions, Mode, Overlay, Start, Tracked, apply, unfinished_files};
use gallivant_core::digest::sha256;

use crate::support::programs;

use super::{Repository, assert_refused, assert_retryable, create, delete, edit, new_commit};

const STRANGE: [&str; 6] = [" lead", "trail ", "new\nline", "quo\"te\t", "ä\\u", "-option"];

/// A program that stands in the place of Git.
fn instead(repository: &Repository, script: &str) -> GitOptions {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let name = format!("git-{}", MADE.fetch_add(1, Ordering::Relaxed));
    let program = programs::script(repository.above(), &name, &format!("#!/bin/sh\n{script}\n"));
    GitOptions { program, ..GitOptions::default() }
}

fn paths(tracked: &[Tracked]) -> Vec<String> {
    tracked.iter().map(|tracked| String::from_utf8_lossy(&tracked.path).into_owned()).collect()
}

#[test]
fn ex_art_20_git_that_is_missing_or_fails_is_no_empty_tree() {
    let repository = Repository::new(&[("a", "1")]);
    let head = repository.head();
    let missing = GitOptions { program: PathBuf::from("/nowhere/git"), ..GitOptions::default() };
    let failing = [
        missing,
        instead(&repository, "exit 0"),
        instead(&repository, "exit 128"),
        instead(&repository, "kill -9 $$"),
        instead(&repository, "echo nonsense"),
    ];
    for options in failing {
        let git = repository.asked_with(options);
        assert_retryable(&git.head().expect_err("no answer"));
        assert_retryable(&git.tree(&head).expect_err("no answer"));
        assert_retryable(&git.parents(&head).expect_err("no answer"));
    }
    for script in ["exit 1", "exit 128", "printf '1 .M nonsense'"] {
        assert_retryable(
            &repository.asked_with(instead(&repository, script)).status().expect_err("no answer"),
        );
    }
    std::fs::remove_dir_all(repository.path(".git")).expect("removed");
    assert_retryable(&repository.asked().head().expect_err("no repository"));
    assert_retryable(&repository.asked().status().expect_err("no repository"));
}

#[test]
fn ex_art_23_a_query_ends_at_2000_ms_with_all_of_its_processes() {
    assert_eq!(Bounds::QUERY, Bounds { ms: 2_000, bytes: 1_048_576 });
    let repository = Repository::new(&[("a", "1")]);
    let note = repository.above().join("outlived");
    // A child of its own that holds the output open and would write after the bound.
    let script = format!("(sleep 4; echo x > {}) & sleep 60", note.display());
    let begun = Instant::now();
    let error = repository.asked_with(instead(&repository, &script)).head().expect_err("no answer");
    let took = begun.elapsed();
    assert_retryable(&error);
    assert!(error.message().contains("why=`deadline`"), "{error}");
    assert!(took >= Duration::from_millis(1_990) && took < Duration::from_secs(20), "{took:?}");
    std::thread::sleep(Duration::from_millis(2_500));
    assert!(!note.exists(), "a process has outlived its query");
}

#[test]
fn ex_art_23_a_query_ends_at_1048576_bytes() {
    let repository = Repository::new(&[("a", "1")]);
    let print = |bytes: u32| instead(&repository, &format!("head -c {bytes} /dev/zero | tr '\\0' a"));
    let run = |options| repository.asked_with(options).run(&[], &[], Bounds::QUERY);
    assert_eq!(run(print(1_048_576)).expect("whole").stdout.len(), 1_048_576);
    run(print(1_048_577)).expect_err("too much");
    let error = repository.asked_with(instead(&repository, "yes")).head().expect_err("no answer");
    assert!(error.message().contains("why=`bytes`"), "{error}");
    assert_retryable(&error);
}

#[test]
fn ex_art_23_a_tree_that_is_longer_than_a_query_is_asked_for_in_parts() {
    let repository = Repository::new(&[("top", "1")]);
    // 20,000 paths of a hundred bytes, by the index alone.
    let object = repository.git(&["rev-parse", "HEAD:top"]);
    let mut lines = String::new();
    for number in 0..20_000 {
        let (directory, name) = (number % 40, "n".repeat(90));
        lines.push_str(&format!("100644 {object}\td{directory}/s/{name}{number:05}\n"));
    }
    let list = repository.above().join("list");
    std::fs::write(&list, lines).expect("written");
    let status = std::process::Command::new("git")
        .current_dir(repository.root())
        .args(["update-index", "--index-info"])
        .stdin(std::fs::File::open(list).expect("opened"))
        .status();
    assert!(status.expect("git starts").success());
    repository.git(&["commit", "-q", "-m", "many"]);
    let tracked = repository.asked().tracked(&repository.head()).expect("a tree");
    assert_eq!(tracked.len(), 20_001);
    assert!(tracked.iter().any(|tracked| &*tracked.path == b"top"));
    assert!(tracked.iter().all(|tracked| tracked.mode == Mode::Regular));
    let distinct: std::collections::HashSet<_> = tracked.iter().map(|tracked| &tracked.path).collect();
    assert_eq!(distinct.len(), 20_001);
}

#[test]
fn ex_art_24_names_are_neither_trimmed_nor_unquoted() {
    let repository = Repository::new(&STRANGE.map(|path| (path, "1")));
    let raw = std::ffi::OsStr::from_bytes(b"not\xffutf8");
    std::fs::write(repository.root().join(raw), "1").expect("written");
    repository.commit();
    let tree = repository.tree();
    for list in tree.lists().expect("whole") {
        assert_eq!(list.len(), STRANGE.len() + 1);
        for path in STRANGE {
            assert!(list.contains(&Tracked::new(path, Mode::Regular)), "{path:?}");
        }
        assert!(list.contains(&Tracked::new(b"not\xffutf8", Mode::Regular)));
    }
    // The same names where something is changed, staged or new.
    repository.write(STRANGE[0], "2");
    repository.write(STRANGE[2], "2");
    repository.git(&["add", "--", STRANGE[2]]);
    repository.write(" new\n", "1");
    let status = repository.asked().status().expect("a status");
    let found = |path: &str| {
        let changed = status.iter().find(|changed| changed.path == path.as_bytes());
        let changed = changed.unwrap_or_else(|| panic!("{path:?} in {status:?}"));
        (changed.is_untracked, changed.is_staged)
    };
    assert_eq!(status.len(), 3);
    assert_eq!(
        [found(STRANGE[0]), found(STRANGE[2]), found(" new\n")],
        [(false, false), (false, true), (true, false)]
    );
    let staged = repository.asked().staged(&repository.head()).expect("what is staged");
    assert_eq!(staged.iter().map(|found| &found.path[..]).collect::<Vec<_>>(), [STRANGE[2].as_bytes()]);
}

#[test]
fn ex_art_24_the_index_is_head_with_what_is_staged() {
    let repository = Repository::new(&[("a", "1"), ("b", "1"), ("d/c", "1")]);
    let input = repository.head();
    repository.git(&["rm", "-q", "b"]);
    repository.write("e", "1");
    repository.git(&["add", "e"]);
    repository.git(&["update-index", "--chmod=+x", "a"]);
    let tree = repository.asked().tree(&input).expect("a tree");
    let [of_input, head, index] = tree.lists().expect("whole");
    assert_eq!(paths(of_input), ["a", "b", "d/c"]);
    assert_eq!(of_input, head);
    let wanted = [("a", Mode::Executable), ("d/c", Mode::Regular), ("e", Mode::Regular)];
    assert_eq!(**index, wanted.map(|(path, mode)| Tracked::new(path, mode)));
}

#[test]
fn ex_art_23_nothing_around_the_repository_takes_part() {
    let repository = Repository::new(&[("a", "1"), ("b", "1")]);
    let touched = repository.above().join("touched");
    let touch = format!("touch {}", touched.display());
    let hooks = repository.path(".git/hooks");
    std::fs::create_dir_all(&hooks).expect("made");
    for hook in
        ["reference-transaction", "pre-commit", "post-index-change", "post-commit", "fsmonitor-watchman"]
    {
        std::fs::write(hooks.join(hook), format!("#!/bin/sh\n{touch}\n")).expect("written");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(hooks.join(hook), executable).expect("set");
    }
    std::fs::write(repository.path(".git/info/attributes"), "* filter=bad\n").expect("written");
    let config = format!(
        "[core]\nfsmonitor = {touch}\nhooksPath = {}\n[filter \"bad\"]\nclean = {touch}; cat\nprocess = {touch}\nrequired = \
         true\n[credential]\nhelper = !{touch}\n[commit]\ngpgSign = true\n[gpg]\nprogram = {touch}\n",
        hooks.display()
    );
    let mut whole = std::fs::read_to_string(repository.path(".git/config")).expect("read");
    whole.push_str(&config);
    std::fs::write(repository.path(".git/config"), whole).expect("written");
    let (git, parent) = (repository.asked(), repository.head());
    // The same size, so that Git has to look into the file.
    repository.write("b", "2");
    assert_eq!(git.status().expect("a status").len(), 1);
    repository.write("b", "1");
    let manifest = repository.validate(&[edit("a", "1", "2")]).expect("valid");
    apply(&repository.checkout(), &manifest, Start::Fresh).expect("applied");
    git.commit(&manifest, &new_commit(&parent)).expect("committed");
    assert_eq!(git.status().expect("a status"), []);
    assert!(!touched.exists(), "a program of the repository has run");
}

#[test]
fn ex_art_40_a_lost_reply_is_resolved_by_content_and_ancestry_and_no_second_commit_is_made() {
    let repository = Repository::new(&[("a", "1"), ("b \"q\"\n", "1"), ("gone/x", "1"), ("other", "1")]);
    let (git, input) = (repository.asked(), repository.head());
    let files =
        [edit("a", "1", "2\r\n"), edit("b \"q\"\n", "1", "\\"), delete("gone/x", "1"), create("ä/new")];
    let manifest = repository.validate(&files).expect("valid");
    apply(&repository.checkout(), &manifest, Start::Fresh).expect("applied");
    let new = new_commit(&input);
    // A crash after each step: the next attempt makes the same commit.
    let first = git.write_commit(&manifest, &new).expect("written");
    assert_eq!(git.head().expect("a commit"), input);
    assert_eq!(git.write_commit(&manifest, &new).expect("written"), first);
    git.stage_commit(&manifest, &input, &first).expect("staged");
    assert_eq!(git.head().expect("a commit"), input);
    let commit = git.commit(&manifest, &new).expect("committed");
    assert_eq!((git.head().expect("a commit"), &commit), (first.clone(), &first));
    assert_eq!(repository.git(&["rev-list", "--count", "HEAD"]), "2");
    assert_eq!(repository.git(&["for-each-ref", "refs/gallivant"]), "");
    assert_eq!(git.status().expect("a status"), []);

    // The reply is lost: HEAD is a child of the input and holds exactly this.
    assert_eq!(git.parents(&commit).expect("parents"), std::slice::from_ref(&input));
    assert!(
        git.is_ancestor(&input, &commit).expect("asked") && !git.is_ancestor(&commit, &input).expect("asked")
    );
    assert!(git.is_applied(&manifest, &input, &commit).expect("asked"));
    assert!(!git.is_applied(&manifest, &input, &input).expect("asked"));
    repository.write("other", "2");
    let more = repository.commit();
    assert!(!git.is_applied(&manifest, &input, &more).expect("asked"), "one file more");
    repository.write("other", "1");
    repository.write("a", "2\n");
    let changed = repository.commit();
    assert!(!git.is_applied(&manifest, &input, &changed).expect("asked"), "another content");
    // The branch is not at the parent any more.
    assert_retryable(&git.move_branch(&new, &commit).expect_err("it has moved"));
}

#[test]
fn ex_art_55_a_pushed_revision_descends_from_the_input_heads_its_branch_and_has_an_allowed_tree() {
    let repository = Repository::new(&[("a", "1")]);
    let (git, input) = (repository.asked(), repository.head());
    repository.write("b/c", "1");
    let pushed = repository.commit();
    git.check_pushed(&input, &pushed, "refs/heads/task").expect("allowed");
    assert_refused(git.check_pushed(&pushed, &input, "refs/heads/task"), "revision");
    assert_refused(git.check_pushed(&input, &pushed, "refs/heads/other"), "revision");
    assert_refused(git.check_pushed(&input, "HEAD", "refs/heads/task"), "revision");
    repository.write("A", "1");
    let aliased = repository.commit();
    assert_refused(git.check_pushed(&input, &pushed, "refs/heads/task"), "revision");
    assert_refused(git.check_pushed(&input, &aliased, "refs/heads/task"), "alias");
    // One that is not here says nothing.
    assert_retryable(&git.check_pushed(&input, &"0".repeat(40), "refs/heads/task").expect_err("not here"));
}

#[test]
fn ex_art_55_names_of_commits_are_hashes_and_never_options() {
    let git = Repository::new(&[("a", "1")]);
    let git = git.asked();
    for name in ["--all", "HEAD", "", "main", &"A".repeat(40), &"0".repeat(41)] {
        for error in
            [git.tracked(name).map(drop), git.parents(name).map(drop), git.is_ancestor(name, name).map(drop)]
        {
            assert_eq!(error.expect_err("no hash").code(), Code::ExecutionInput, "{name}");
        }
    }
}

#[test]
fn ex_art_56_unfinished_files_are_those_that_are_no_overlay_with_its_bytes() {
    let repository = Repository::new(&[("a", "1"), ("b", "1"), (".gitignore", "ignored\n")]);
    let (git, checkout) = (repository.asked(), repository.checkout());
    let overlay = |path: &str, text: &str| Overlay { path: path.to_owned(), hash: sha256(text.as_bytes()) };
    let unfinished = |overlays: &[Overlay]| {
        let found = unfinished_files(&git, &checkout, overlays).expect("listed");
        found.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(unfinished(&[]), [""; 0]);
    repository.write("ignored", "x");
    repository.write("a", "2");
    repository.write("d/brief.md", "brief");
    repository.git(&["rm", "-q", "--cached", "b"]);
    assert_eq!(unfinished(&[]), ["a", "b", "d/brief.md"]);
    let approved = [overlay("d/brief.md", "brief"), overlay("a", "2")];
    assert_eq!(unfinished(&approved), ["b"]);
    // Other bytes, and what is no file, are not the overlay.
    assert_eq!(unfinished(&[overlay("d/brief.md", "Brief"), overlay("a", "1")]), ["a", "b", "d/brief.md"]);
    std::fs::remove_file(repository.path("d/brief.md")).expect("removed");
    std::os::unix::fs::symlink("../a", repository.path("d/brief.md")).expect("linked");
    assert_eq!(unfinished(&[overlay("d/brief.md", "2"), overlay("a", "2")]), ["b", "d/brief.md"]);
}
