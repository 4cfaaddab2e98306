//! `gallivant hooks`, on settings files as people have them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::{arguments, call, program};

/// A harness, its file, and what stands there.
const FILES: [(&str, &str); 5] = [
    ("claude", include_str!("settings/claude-two-spaces.json")),
    ("claude", include_str!("settings/claude-one-line.json")),
    ("codex", include_str!("settings/codex-crlf-tabs.json")),
    ("gemini", include_str!("settings/gemini-comments.json")),
    ("gemini", include_str!("settings/gemini-allowed.json")),
];

fn planted(root: &Path, text: &str) -> PathBuf {
    let file = root.join("settings.json");
    std::fs::write(&file, text).expect("planted");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).expect("rights");
    file
}

#[test]
fn what_was_installed_is_undone_to_the_byte() {
    for (harness, text) in FILES {
        let root = tempfile::tempdir().expect("a directory");
        let file = planted(root.path(), text);
        let done = |act: &str, yes: bool| {
            let mut asked: Vec<std::ffi::OsString> = arguments!["hooks", act, harness, "--file", file].into();
            asked.extend(yes.then(|| "--yes".into()));
            call(asked)
        };
        done("show", false).with_status(1);
        let shown = done("install", false).with_status(1);
        assert!(shown.out.contains("\n+") && shown.out.contains("gallivant hook"), "{shown:?}");
        let is_taken_out = |line: &str| line.starts_with('-') && line.contains("beep");
        assert!(text.lines().count() == 1 || !shown.out.lines().any(is_taken_out), "{shown:?}");
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), text, "nothing is written without --yes");
        done("install", true).with_status(0);
        done("show", false).with_status(0);
        assert_ne!(std::fs::read_to_string(&file).expect("a file"), text);
        assert!(done("install", true).with_status(0).out.starts_with("nothing to do"));
        assert_eq!(file.metadata().expect("a file").permissions().mode() & 0o777, 0o640);
        done("remove", true).with_status(0);
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), text, "{harness}");
        assert_eq!(
            std::fs::read_dir(root.path()).expect("a directory").count(),
            1,
            "nothing is left beside it"
        );
    }
}

#[test]
fn a_file_and_its_directory_are_made_and_the_file_is_gone_again() {
    for (harness, name) in [
        ("claude", ".claude/settings.json"),
        ("codex", ".codex/hooks.json"),
        ("gemini", ".gemini/settings.json"),
        ("opencode", ".opencode/plugins/gallivant.js"),
    ] {
        let root = tempfile::tempdir().expect("a directory");
        let place = ["--project".into(), root.path().as_os_str().to_owned(), "--yes".into()];
        let act = |act: &str| {
            let mut asked: Vec<std::ffi::OsString> = arguments!["hooks", act, harness].into();
            asked.extend(place.iter().cloned());
            call(asked)
        };
        act("install").with_status(0);
        assert!(root.path().join(name).is_file(), "{harness}");
        act("show").with_status(0);
        act("remove").with_status(0);
        assert!(!root.path().join(name).exists(), "{harness}");
    }
}

#[test]
fn the_users_own_settings_are_found_and_a_link_stays_one() {
    let home = tempfile::tempdir().expect("a directory");
    let kept = planted(home.path(), "{}\n");
    std::fs::create_dir(home.path().join(".claude")).expect("a directory");
    let link = home.path().join(".claude/settings.json");
    std::os::unix::fs::symlink(&kept, &link).expect("a link");
    let output = program().args(["hooks", "install", "claude", "--yes"]).env("HOME", home.path()).output();
    assert!(output.expect("it runs").status.success());
    assert!(link.symlink_metadata().expect("a link").is_symlink());
    assert!(std::fs::read_to_string(&kept).expect("a file").contains("SessionStart"));
}

#[test]
fn what_is_no_settings_file_is_left_alone() {
    for text in ["", "[]", "{\"hooks\": []}", "{\"hooks\": {"] {
        let root = tempfile::tempdir().expect("a directory");
        let file = planted(root.path(), text);
        let called = call(arguments!["hooks", "install", "claude", "--yes", "--file", file]).with_status(2);
        assert_eq!(called.err.lines().count(), 1, "{called:?}");
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), text);
    }
}
