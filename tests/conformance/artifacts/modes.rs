//! Modes (EX-ART-25 to EX-ART-30): in the tree, and on the disk.

use std::os::unix::fs::PermissionsExt;

use gallivant_core::artifacts::{Mode, Start, Tracked, Tree, apply, check, is_applied};

use super::{Repository, assert_refused, create, delete, edit, new_commit, validate};

fn set_mode(repository: &Repository, path: &str, mode: u32) {
    std::fs::set_permissions(repository.path(path), std::fs::Permissions::from_mode(mode)).expect("set");
}

fn mode(repository: &Repository, path: &str) -> u32 {
    std::fs::metadata(repository.path(path)).expect("there").permissions().mode() & 0o777
}

fn with_script() -> Repository {
    let repository = Repository::new(&[("plain", "1"), ("script", "1")]);
    set_mode(&repository, "script", 0o755);
    repository.commit();
    repository
}

#[test]
fn ex_art_25_a_target_keeps_its_mode_and_a_new_file_is_no_program() {
    let repository = with_script();
    let files = [edit("plain", "1", "2"), edit("script", "1", "2"), create("d/new")];
    let manifest = repository.validate(&files).expect("valid");
    let modes: Vec<Mode> = manifest.entries().iter().map(|entry| entry.mode()).collect();
    assert_eq!(modes, [Mode::Regular, Mode::Executable, Mode::Regular]);
    // The rest of the permissions stays as it is, too.
    set_mode(&repository, "plain", 0o600);
    set_mode(&repository, "script", 0o711);
    let parent = repository.head();
    apply(&repository.checkout(), &manifest, Start::Fresh).expect("applied");
    assert_eq!((mode(&repository, "plain"), mode(&repository, "script")), (0o600, 0o711));
    assert_eq!(mode(&repository, "d/new") & 0o700, 0o600);
    repository.asked().commit(&manifest, &new_commit(&parent)).expect("committed");
    let listed = repository.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", "HEAD"]);
    assert_eq!(listed, "100644 d/new\n100644 plain\n100755 script");
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

#[test]
fn ex_art_26_input_head_index_and_file_agree_or_nothing_is_read_or_changed() {
    let list = |mode| -> Option<std::sync::Arc<[Tracked]>> { Some(vec![Tracked::new("a", mode)].into()) };
    let (regular, program) = (Mode::Regular, Mode::Executable);
    for (input, head, index) in
        [(program, regular, regular), (regular, program, regular), (regular, regular, program)]
    {
        let tree = Tree { input: list(input), head: list(head), index: list(index) };
        assert_refused(validate(&[edit("a", "1", "2")], &tree), "mode");
        assert_refused(validate(&[delete("a", "1")], &tree), "mode");
        // A payload that is cut is not looked at before that.
        let mut cut = edit("a", "1", "2");
        cut["text"] = "3".into();
        assert_refused(validate(&[cut], &tree), "mode");
    }
    let repository = with_script();
    let manifest = repository.validate(&[edit("plain", "1", "2"), edit("script", "1", "2")]).expect("valid");
    set_mode(&repository, "script", 0o655);
    assert_refused(check(&repository.checkout(), &manifest, Start::Fresh), "mode");
    assert_refused(apply(&repository.checkout(), &manifest, Start::Fresh), "mode");
    assert_eq!(repository.read("plain").as_deref(), Some("1"));
}

#[test]
fn ex_art_27_a_changed_mode_refuses_however_far_it_has_come() {
    for step in 0..3 {
        let repository = with_script();
        let input = repository.head();
        set_mode(&repository, "plain", 0o755);
        if step >= 1 {
            repository.git(&["add", "plain"]);
        }
        if step == 2 {
            repository.git(&["commit", "-q", "-m", "a mode"]);
        }
        let validated =
            validate(&[edit("plain", "1", "2")], &repository.asked().tree(&input).expect("a tree"));
        if step == 0 {
            let manifest = validated.expect("the tree is in order");
            assert_refused(check(&repository.checkout(), &manifest, Start::Fresh), "mode");
        } else {
            assert_refused(validated, "mode");
        }
    }
}

#[test]
fn ex_art_28_other_modes_than_those_of_text_are_refused() {
    for mode in [Mode::Link, Mode::Submodule, Mode::Other] {
        let tree = Tree::of([Tracked::new("a", mode)]);
        assert_refused(validate(&[edit("a", "1", "2")], &tree), "mode");
        assert_refused(validate(&[delete("a", "1")], &tree), "mode");
    }
    for (digits, mode) in [("120000", Mode::Link), ("160000", Mode::Submodule), ("100664", Mode::Other)] {
        assert_eq!(Mode::parse(digits), Some(mode));
    }
}

#[test]
fn ex_art_29_missing_or_malformed_modes_refuse() {
    for digits in ["", "644", "1006440", "10064x", "100648", "-00644"] {
        assert_eq!(Mode::parse(digits), None, "{digits}");
    }
    let twice = [Tracked::new("a", Mode::Regular), Tracked::new("a", Mode::Regular)];
    assert_refused(validate(&[edit("a", "1", "2")], &Tree::of(twice)), "mode");
    assert_refused(validate(&[edit("a", "1", "2")], &Tree::of([])), "untracked");
}

#[test]
fn ex_art_30_the_guard_runs_again_once_the_manifest_is_committed() {
    let repository = with_script();
    let (input, checkout, git) = (repository.head(), repository.checkout(), repository.asked());
    let files = [edit("plain", "1", "2"), delete("script", "1"), create("new")];
    let manifest = repository.validate(&files).expect("valid");
    assert!(!is_applied(&checkout, &manifest).expect("looked at"));
    apply(&checkout, &manifest, Start::Fresh).expect("applied");
    let commit = git.commit(&manifest, &new_commit(&input)).expect("committed");
    assert!(is_applied(&checkout, &manifest).expect("looked at"));
    manifest.check_committed(&git.tree(&input).expect("a tree")).expect("exact modes");
    assert!(git.is_applied(&manifest, &input, &commit).expect("looked at"));

    // On the disk, in the index, in HEAD.
    set_mode(&repository, "new", 0o755);
    assert_refused(is_applied(&checkout, &manifest), "mode");
    repository.git(&["add", "new"]);
    assert_refused(manifest.check_committed(&git.tree(&input).expect("a tree")), "mode");
    repository.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_refused(manifest.check_committed(&git.tree(&input).expect("a tree")), "mode");
    assert!(!git.is_applied(&manifest, &input, &repository.head()).expect("looked at"));
}
