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
        let act = |act: &str| {
            let mut asked: Vec<std::ffi::OsString> =
                arguments!["hooks", act, harness, "--project", root.path()].into();
            asked.extend((act != "show").then(|| "--yes".into()));
            call(asked)
        };
        act("install").with_status(0);
        assert!(root.path().join(name).is_file(), "{harness}");
        act("show").with_status(0);
        act("remove").with_status(0);
        assert_eq!(std::fs::read_dir(root.path()).expect("a directory").count(), 0, "{harness}");
        std::fs::create_dir(root.path().join(".claude")).expect("a directory");
        std::fs::write(root.path().join(".claude/notes.md"), "mine").expect("written");
        act("install").with_status(0);
        act("remove").with_status(0);
        assert!(root.path().join(".claude/notes.md").exists(), "{harness}: what is a person's stays");
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
    for text in ["[]", "{\"hooks\": []}", "{\"hooks\": {", "\u{1}"] {
        let root = tempfile::tempdir().expect("a directory");
        let file = planted(root.path(), text);
        for arguments in [&["install", "claude", "--yes"][..], &["show", "claude"]] {
            let mut asked: Vec<std::ffi::OsString> = vec!["hooks".into()];
            asked.extend(arguments.iter().map(Into::into));
            asked.extend(["--file".into(), file.clone().into()]);
            let called = call(asked).with_status(5);
            assert_eq!(called.err.lines().count(), 1, "{called:?}");
        }
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), text);
    }
}

#[test]
fn an_empty_settings_file_counts_as_an_empty_object() {
    let root = tempfile::tempdir().expect("a directory");
    let file = planted(root.path(), "\n");
    let act = |act: &str| call(arguments!["hooks", act, "claude", "--yes", "--file", file]);
    call(arguments!["hooks", "show", "claude", "--file", file]).with_status(1);
    assert!(act("remove").with_status(0).out.starts_with("nothing to do"));
    act("install").with_status(0);
    call(arguments!["hooks", "show", "claude", "--file", file]).with_status(0);
    act("remove").with_status(0);
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "{}\n");
}

#[test]
fn a_handler_of_ones_own_beside_ours_stays_and_ours_is_known_there() {
    let root = tempfile::tempdir().expect("a directory");
    let file = planted(root.path(), "{}\n");
    let act = |act: &str| call(arguments!["hooks", act, "claude", "--yes", "--file", file]).with_status(0);
    act("install");
    let text = std::fs::read_to_string(&file).expect("a file");
    let mut settings: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let groups = settings["hooks"]["Stop"].as_array_mut().expect("a list");
    let mine = serde_json::json!({"type": "command", "command": "mine"});
    groups[0]["hooks"].as_array_mut().expect("a list").push(mine.clone());
    settings["hooks"]["PreToolUse"][0]["matcher"] = "Bash".into();
    std::fs::write(&file, serde_json::to_string_pretty(&settings).expect("JSON")).expect("written");
    call(arguments!["hooks", "show", "claude", "--file", file]).with_status(0);
    assert!(act("install").out.starts_with("nothing to do"));
    act("remove");
    let text = std::fs::read_to_string(&file).expect("a file");
    let settings: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(settings, serde_json::json!({"hooks": {"Stop": [{"hooks": [mine]}]}}), "{text}");
}

#[test]
fn a_command_whose_program_is_gone_is_told_and_put_right() {
    let root = tempfile::tempdir().expect("a directory");
    let file = planted(root.path(), "{}\n");
    let act = |act: &str| call(arguments!["hooks", act, "claude", "--yes", "--file", file]).with_status(0);
    act("install");
    let text = std::fs::read_to_string(&file).expect("a file");
    let dead = text.replace(env!("CARGO_BIN_EXE_gallivant"), "/no/such/gallivant");
    assert_ne!(dead, text);
    std::fs::write(&file, dead).expect("written");
    let shown = call(arguments!["hooks", "show", "claude", "--file", file]).with_status(1);
    assert!(shown.out.contains("no-program  hooks.Stop"), "{shown:?}");
    act("install");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), text);
}

#[test]
fn the_command_keeps_the_link_by_which_the_program_was_called() {
    let root = tempfile::tempdir().expect("a directory");
    let link = root.path().join("gallivant");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_gallivant"), &link).expect("a link");
    let file = planted(root.path(), "{}\n");
    let output = std::process::Command::new("./gallivant")
        .args(["hooks", "install", "claude", "--yes", "--file", "settings.json"])
        .current_dir(root.path())
        .env("PATH", "/usr/bin:/bin")
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(&file).expect("a file");
    let expected = format!("{} hook claude", link.display());
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn a_project_that_does_not_exist_and_a_show_that_writes_are_refused() {
    let root = tempfile::tempdir().expect("a directory");
    let typo = root.path().join("typo");
    let called = call(arguments!["hooks", "install", "claude", "--yes", "--project", typo]).with_status(2);
    assert!(called.err.contains("does not exist"), "{called:?}");
    assert!(!typo.exists());
    call(arguments!["hooks", "show", "claude", "--yes", "--project", root.path()]).with_status(2);
}

#[test]
fn whoever_installs_for_codex_is_told_of_the_review() {
    let root = tempfile::tempdir().expect("a directory");
    let called = call(arguments!["hooks", "install", "codex", "--yes", "--project", root.path()]);
    assert!(called.with_status(0).out.contains("not reviewed"));
}
