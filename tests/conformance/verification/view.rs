//! What Git sees in the sandbox: EX-VER-33 to EX-VER-36.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gallivant_core::digest::sha256_hex;
use gallivant_core::verification::git_view::{NoView, View, build};
use gallivant_core::verification::{SystemCommands, ViewLimits};

use super::ground::{Ground, Scripted, blocked, git, names};

/// Builds a view of a ground's commit outside of any profile.
fn view(ground: &Ground, limits: &ViewLimits) -> (PathBuf, Result<View, NoView>) {
    let at = ground.root().join("view");
    let commands = SystemCommands::new(&ground.host);
    let built = build(&at, &ground.checkout, &ground.head, limits, &commands, &ground.host, &|| false);
    (at, built)
}

/// Runs Git on the view alone: no work tree, no real repository.
fn ask(view: &Path, args: &[&str]) -> String {
    let mut given = vec!["--git-dir", view.to_str().expect("text")];
    given.extend(args);
    git(view, &given)
}

/// A ground with a history, other branches, tags, stashes, and files of every kind.
fn grown() -> Ground {
    let mut ground = Ground::new();
    let at = &ground.checkout;
    std::fs::write(at.join("secret-of-the-past.txt"), "an ancestor's text\n").expect("written");
    git(at, &["add", "-A"]);
    git(at, &["commit", "-q", "-m", "second"]);
    git(at, &["tag", "-a", "v1", "-m", "a tag"]);
    git(at, &["rm", "-q", "secret-of-the-past.txt"]);
    std::fs::create_dir_all(at.join("deep/er")).expect("made");
    let every: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    std::fs::write(at.join("deep/er/binary \n name"), &every).expect("written");
    std::fs::write(at.join("deep/same.txt"), "tracked\n").expect("written");
    std::os::unix::fs::symlink("../../outside", at.join("deep/link")).expect("linked");
    std::fs::write(at.join("run.sh"), "#!/bin/sh\n").expect("written");
    std::fs::set_permissions(at.join("run.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("set");
    git(at, &["add", "-A"]);
    git(at, &["commit", "-q", "-m", "third"]);
    ground.head = git(at, &["rev-parse", "HEAD"]);
    git(at, &["branch", "another"]);
    git(at, &["remote", "add", "origin", "https://user:pass@localhost/x"]);
    std::fs::write(at.join(".git/hooks/post-checkout"), "#!/bin/sh\n").expect("written");
    ground
}

#[test]
fn ex_ver_33_git_in_the_sandbox_sees_exactly_the_commit_its_trees_and_blobs() {
    let ground = grown();
    let (at, built) = view(&ground, &ViewLimits::default());
    let built = built.expect("a view");
    let listed = git(&ground.checkout, &["ls-tree", "-r", "-t", "HEAD"]);
    let mut wanted: BTreeSet<String> =
        listed.lines().map(|line| line.split([' ', '\t']).nth(2).expect("a name").to_owned()).collect();
    wanted.insert(ground.head.clone());
    wanted.insert(git(&ground.checkout, &["rev-parse", "HEAD^{tree}"]));
    let found: BTreeSet<String> =
        ask(&at, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"])
            .lines()
            .map(str::to_owned)
            .collect();
    assert_eq!(found, wanted);
    assert_eq!(built.objects, wanted.len());
    // The index is that of the commit, with its modes.
    let stage = ["ls-files", "-z", "--stage"];
    assert_eq!(ask(&at, &stage), git(&ground.checkout, &stage));
    // In the sandbox it is what Git answers from, and the checkout is clean by it.
    let text = "echo \"$GIT_DIR\"; git rev-parse HEAD; git status --porcelain; git log --format=%s; git show HEAD:run.sh; \
         git fsck --connectivity-only 2>&1 | grep -v dangling; true";
    let Some(output) = ground.output_of(text, 0) else { return };
    assert_eq!(output, format!("/gallivant/git\n{}\nthird\n#!/bin/sh\n", ground.head));
}

#[test]
fn ex_ver_34_the_view_has_no_configuration_hook_remote_reflog_alternate_or_ancestor() {
    let ground = grown();
    // An alternate, so that there is something that must not be named.
    let borrowed = ground.root().join("borrowed");
    git(&ground.root(), &["clone", "-q", "--shared", "checkout", "borrowed"]);
    let mut shared = Ground::new();
    shared.checkout = borrowed;
    shared.head.clone_from(&ground.head);
    for ground in [&ground, &shared] {
        let (at, built) = view(ground, &ViewLimits::default());
        built.expect("a view");
        let mut found = names(&at);
        found.sort();
        assert_eq!(found, ["HEAD", "index", "objects", "refs", "shallow"]);
        assert!(names(&at.join("refs")).is_empty());
        let mut packs = names(&at.join("objects/pack"));
        packs.retain(|name| !name.ends_with(".rev"));
        packs.sort();
        assert_eq!(packs, ["pack-view.idx", "pack-view.pack"]);
        assert_eq!(names(&at.join("objects")), ["pack"]);
        assert_eq!(ask(&at, &["rev-list", "--all", "HEAD", "--count"]), "1");
        assert_eq!(ask(&at, &["for-each-ref"]), "");
    }
    let parent = git(&ground.checkout, &["rev-parse", "HEAD~1"]);
    let text = format!(
        "git cat-file -e {parent} || echo no ancestor; git config remote.origin.url || echo no remote; \
         git rev-parse v1 another 2>/dev/null; ls .git; find / -name post-checkout 2>/dev/null; true"
    );
    let Some(output) = ground.output_of(&text, 0) else { return };
    assert_eq!(output.replace("v1\n", ""), "no ancestor\nno remote\n", "{output}");
}

#[test]
fn ex_ver_35_object_bytes_are_the_same_and_cannot_be_written() {
    let ground = grown();
    let (at, built) = view(&ground, &ViewLimits::default());
    let built = built.expect("a view");
    let mut bytes = 0;
    for name in
        ask(&at, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"]).lines()
    {
        let (name, kind) = name.split_once(' ').expect("a name");
        let raw = |directory: &Path, prefix: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.args(prefix).args(["cat-file", kind, name]).current_dir(directory);
            command.output().expect("git starts").stdout
        };
        let copied = raw(&at, &["--git-dir", at.to_str().expect("text")]);
        assert_eq!(sha256_hex(&copied), sha256_hex(&raw(&ground.checkout, &[])), "{name}");
        bytes += copied.len() as u64;
    }
    assert_eq!(built.bytes, bytes);
    let text = "for file in HEAD index shallow objects/pack/pack-view.pack new; do \
         (echo x >\"$GIT_DIR/$file\") 2>/dev/null && echo \"$file was written\"; done; \
         chmod -R u+w \"$GIT_DIR\" 2>/dev/null && echo changed; rm -rf \"${GIT_DIR:?}\"/* 2>/dev/null; \
         git update-ref refs/heads/x HEAD 2>/dev/null && echo moved; git add tracked.txt 2>/dev/null && echo added; \
         git config user.name x 2>/dev/null && echo configured; git commit --allow-empty -m x 2>/dev/null && echo committed; \
         git rev-parse HEAD; ls \"$GIT_DIR\" | wc -l";
    let Some(output) = ground.output_of(text, 0) else { return };
    assert_eq!(output, format!("{}\n5\n", ground.head));
}

#[test]
fn ex_ver_36_a_view_above_a_bound_is_refused_and_none_is_left() {
    let limits = ViewLimits::default();
    assert_eq!((limits.objects, limits.bytes, limits.ms), (200_000, 536_870_912, 60_000));
    let ground = grown();
    let (at, built) = view(&ground, &limits);
    let built = built.expect("a view");
    std::fs::remove_dir_all(&at).expect("removed");
    std::fs::remove_file(at.with_extension("objects")).expect("removed");
    let exact = ViewLimits { objects: built.objects, bytes: built.bytes, ..limits };
    assert!(view(&ground, &exact).1.is_ok(), "at its bounds it is built");
    let bounds = [
        ViewLimits { objects: built.objects - 1, ..limits },
        ViewLimits { bytes: built.bytes - 1, ..limits },
        ViewLimits { ms: 0, ..limits },
    ];
    for bound in bounds {
        let mut ground = grown();
        ground.view_limits = bound;
        let host = Scripted::new();
        let verdict = ground.scripted(&["one"], &host).expect("a verdict");
        let block = blocked(&verdict);
        assert_eq!(block.reason, "verification-sandbox-unavailable");
        assert!(block.detail.starts_with("the commit "), "{}", block.detail);
        assert!(host.texts().is_empty());
    }
    // Failure: the data is not there. It is no refusal, and can be tried again.
    let mut ground = grown();
    ground.head = "0123456789012345678901234567890123456789".to_owned();
    let error = ground.scripted(&["one"], &Scripted::new()).expect_err("no verdict");
    assert_eq!((error.code(), error.reason()), (gallivant_core::Code::ExecutionIo, Some("tree")));
    assert!(names(&ground.run).is_empty(), "nothing is claimed");
    // A damaged object is never copied as if it were whole.
    let ground = grown();
    let blob = git(&ground.checkout, &["rev-parse", "HEAD:run.sh"]);
    let file = ground.checkout.join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).expect("set");
    let mut bytes = std::fs::read(&file).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    std::fs::write(&file, bytes).expect("written");
    let error = ground.scripted(&["one"], &Scripted::new()).expect_err("no verdict");
    assert_eq!(error.code(), gallivant_core::Code::ExecutionIo);
    // Stop, at any question.
    for after in [0, 1, 2, 5] {
        let ground = grown();
        let asked = Cell::new(0);
        let stop = || asked.replace(asked.get() + 1) >= after;
        let verdict = ground.with(&["one"], &Scripted::new(), &ground.git(), &stop).expect("a verdict");
        assert_eq!(blocked(&verdict).reason, "verification-interrupted");
    }
}

#[test]
fn ex_ver_36_a_git_that_hangs_is_ended_within_the_bound() {
    // The pipe of objects never comes: a fifo stands where the pack should be read from.
    let ground = grown();
    git(&ground.checkout, &["repack", "-q", "-a", "-d"]);
    let directory = ground.checkout.join(".git/objects/pack");
    let pack = names(&directory).into_iter().find(|name| name.ends_with(".pack")).expect("a pack");
    std::fs::remove_file(directory.join(&pack)).expect("removed");
    let made =
        std::process::Command::new("mkfifo").arg(directory.join(&pack)).status().expect("mkfifo starts");
    assert!(made.success());
    let limits = ViewLimits { ms: 1_000, ..ViewLimits::default() };
    let before = ground.host.clock.awake();
    let (_, built) = view(&ground, &limits);
    assert!(built.is_err());
    assert!(ground.host.clock.awake() - before < Duration::from_secs(30));
}
