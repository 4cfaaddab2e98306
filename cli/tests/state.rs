//! `gallivant state`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use gallivant_core::harness_state::{Ask, BlockedOn, Observation, State};

use crate::{arguments, call, program, session};

#[test]
fn agents_are_shown_with_what_they_do_and_why_that_is_not_known() {
    let root = tempfile::tempdir().expect("a directory");
    let (idle, asking) = (session(root.path(), "idle"), session(root.path(), "teams/asking"));
    idle.writer().observe(&Observation::new(State::Idle)).expect("observed");
    let ask =
        Observation { blocked_on: BlockedOn::Human, ask: Ask::Permission, ..Observation::new(State::Active) };
    asking.writer().observe(&ask).expect("observed");
    drop(session(root.path(), "gone").writer().observe(&Observation::new(State::Active)));
    assert!(crate::support::locks::comes_free(&root.path().join("gone/.harness-state.lease")));
    let called = call(arguments!["state", root.path()]).with_status(0);
    let lines: Vec<&str> = called.out.lines().collect();
    assert!(lines[0].starts_with("AGENT"), "{called:?}");
    assert!(
        lines[1].starts_with("gone") && lines[1].contains("unknown") && lines[1].contains("session-dead")
    );
    assert!(lines[2].starts_with("idle") && lines[2].contains(" idle ") && lines[2].contains("claude"));
    assert!(lines[3].starts_with("teams/asking") && lines[3].contains("active, asks for a permission"));
    assert!(!called.out.contains('\u{1b}'), "no colour into a pipe");
    assert_eq!(lines.len(), 4);
}

#[test]
fn one_json_object_a_line_and_no_token_in_it() {
    let root = tempfile::tempdir().expect("a directory");
    let idle = session(root.path(), "a");
    idle.writer().observe(&Observation::new(State::Idle)).expect("observed");
    let called = call(arguments!["state", "--json", root.path()]).with_status(0);
    let shown = &called.json()[0];
    assert_eq!(shown["state"], "idle");
    assert_eq!(shown["path"], root.path().join("a").to_str().expect("UTF-8"));
    assert_eq!(shown["isUnknown"], false);
    assert_eq!(shown["ownershipSequence"], 1);
    assert!(!called.out.contains(&idle.environment().identity.token));
}

#[test]
fn a_script_asks_and_is_answered_by_the_status_alone() {
    let root = tempfile::tempdir().expect("a directory");
    call(arguments!["state", "--is", "idle", root.path()]).with_status(1);
    let one = session(root.path(), "one");
    one.writer().observe(&Observation::new(State::Idle)).expect("observed");
    let called = call(arguments!["state", "--is", "idle", root.path()]).with_status(0);
    assert_eq!((&*called.out, &*called.err), ("", ""));
    let two = session(root.path(), "two");
    two.writer().observe(&Observation::new(State::Active)).expect("observed");
    call(arguments!["state", "--is", "idle", root.path()]).with_status(1);
    call(arguments!["state", "--is", "idle,active", root.path()]).with_status(0);
    call(arguments!["state", "--is", "idle, active", root.path()]).with_status(0);
    let called = call(arguments!["state", "--is", "asleep", root.path()]).with_status(2);
    assert!(called.err.contains("ready, idle, active"), "the words are named: {called:?}");
}

#[test]
fn a_script_waits_until_it_is_so() {
    let root = tempfile::tempdir().expect("a directory");
    let one = session(root.path(), "one");
    one.writer().observe(&Observation::new(State::Active)).expect("observed");
    let mut waiting = program()
        .args(arguments!["state", "--watch", "--is", "idle", root.path()])
        .spawn()
        .expect("the program runs");
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(waiting.try_wait().expect("it can be looked at"), None, "it waits");
    one.writer().observe(&Observation::new(State::Idle)).expect("observed");
    assert_eq!(waiting.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_watch_into_a_pipe_tells_each_change_as_a_line() {
    let root = tempfile::tempdir().expect("a directory");
    let one = session(root.path(), "one");
    one.writer().observe(&Observation::new(State::Active)).expect("observed");
    let mut watching = program()
        .args(arguments!["state", "--watch", "--json", root.path()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut lines = BufReader::new(watching.stdout.take().expect("a pipe")).lines();
    let mut next = || -> serde_json::Value {
        serde_json::from_str(&lines.next().expect("a line").expect("UTF-8")).expect("JSON")
    };
    assert_eq!(next()["state"], "active");
    one.writer().observe(&Observation::new(State::Idle)).expect("observed");
    assert_eq!(next()["state"], "idle");
    drop(one);
    assert_eq!(next()["reason"], "session-dead");
    watching.kill().expect("it runs");
    watching.wait().expect("it ends");
}

#[test]
fn a_watch_into_a_pipe_says_once_what_it_does_not_look_at() {
    let root = tempfile::tempdir().expect("a directory");
    let (one, _deep) = (session(root.path(), "one"), session(root.path(), "far/away/two"));
    let mut watching = program()
        .args(arguments!["state", "--watch", "--depth", "1", root.path()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut lines = BufReader::new(watching.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().expect("a line").expect("UTF-8");
    assert!(next().contains("one"));
    for (state, word) in [(State::Active, "active"), (State::Idle, "idle")] {
        one.writer().observe(&Observation::new(state)).expect("observed");
        while !next().contains(word) {}
    }
    watching.kill().expect("it runs");
    let said = watching.wait_with_output().expect("it ends").stderr;
    let said = String::from_utf8_lossy(&said);
    assert_eq!((said.lines().count(), said.contains("too deep")), (1, true), "{said}");
}

#[test]
fn an_explanation_names_the_row_that_decided() {
    let root = tempfile::tempdir().expect("a directory");
    let one = session(root.path(), "one");
    one.writer().observe(&Observation::new(State::Idle)).expect("observed");
    let called = call(arguments!["state", "--explain", "one", root.path()]).with_status(0);
    assert!(called.out.starts_with("idle, by HS-84\n"), "{called:?}");
    let called = call(arguments!["state", "--json", "--explain", root.path().join("one")]).with_status(0);
    assert_eq!(called.json()[0]["clause"], "HS-84");
    call(arguments!["state", "--explain", "nobody", root.path()]).with_status(2);
    std::fs::create_dir(root.path().join("empty")).expect("a directory");
    call(arguments!["state", "--explain", "empty", root.path()]).with_status(1);
    assert!(called_ages(root.path()).contains(" ago, seq "), "an age in words");
}

fn called_ages(root: &std::path::Path) -> String {
    let called = call(arguments!["state", "--explain", "one", root]).with_status(0);
    let said = called.out.lines().find(|line| line.contains("stamped")).expect("an age").to_owned();
    assert!(!said.contains(" ms "), "{said}");
    said
}

#[test]
fn a_directory_that_is_not_there_is_refused_and_waited_for_by_a_watch() {
    let root = tempfile::tempdir().expect("a directory");
    let typo = root.path().join("typo");
    for asked in [arguments!["state", typo].to_vec(), arguments!["state", "--is", "idle", typo].to_vec()] {
        let called = call(asked).with_status(2);
        assert!(called.err.contains("there is no such directory") && called.out.is_empty(), "{called:?}");
    }
    call(arguments!["state", root.path()]).with_status(0);
    let mut waiting = program()
        .args(arguments!["state", "--watch", "--is", "idle", typo])
        .spawn()
        .expect("the program runs");
    std::thread::sleep(std::time::Duration::from_millis(200));
    let one = session(&typo, "one");
    one.writer().observe(&Observation::new(State::Idle)).expect("observed");
    assert_eq!(waiting.wait().expect("it ends").code(), Some(0));
    // The default directory is made with the first agent.
    let output = program().arg("state").current_dir(root.path()).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_line_of_a_watch_says_what_a_row_of_the_table_says() {
    let root = tempfile::tempdir().expect("a directory");
    let one = session(root.path(), "one");
    let ask =
        Observation { blocked_on: BlockedOn::Human, ask: Ask::Permission, ..Observation::new(State::Active) };
    one.writer().observe(&ask).expect("observed");
    let mut watching = program()
        .args(arguments!["state", "--watch", root.path()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut lines = BufReader::new(watching.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().expect("a line").expect("UTF-8");
    let line = next();
    assert!(line.ends_with("one  active, asks for a permission"), "{line}");
    let end = Observation { exit: Some("exit 3".into()), ..Observation::new(State::Ended) };
    one.writer().observe(&end).expect("observed");
    let line = next();
    assert!(line.ends_with("one  ended  exit 3"), "{line}");
    watching.kill().expect("it runs");
    watching.wait().expect("it ends");
}

#[test]
fn an_explanation_says_that_the_lease_names_another_session() {
    let root = tempfile::tempdir().expect("a directory");
    let one = session(root.path(), "one");
    one.writer().observe(&Observation::new(State::Idle)).expect("observed");
    let explained = |json: bool| {
        let mut asked: Vec<std::ffi::OsString> = arguments!["state", "--explain", "one", root.path()].into();
        asked.extend(json.then(|| "--json".into()));
        call(asked).with_status(0)
    };
    assert!(!explained(false).out.contains("lease:"));
    assert_eq!(explained(true).json()[0]["lease"], serde_json::Value::Null);
    std::fs::write(root.path().join("one/.harness-state.lease"), "damaged").expect("written");
    assert!(
        explained(false).out.ends_with("lease: indeterminate: it names another session than the record\n")
    );
    assert_eq!(explained(true).json()[0]["lease"], "names-another-session");
}

#[test]
fn the_directory_may_come_from_the_environment() {
    let root = tempfile::tempdir().expect("a directory");
    let one = session(root.path(), "one");
    one.writer().observe(&Observation::new(State::Idle)).expect("observed");
    let output = program().arg("state").env("GALLIVANT_DIR", root.path()).output().expect("it runs");
    assert!(String::from_utf8_lossy(&output.stdout).contains("one"), "{output:?}");
}

#[test]
fn agents_in_numbers_stand_in_the_order_of_their_paths() {
    let root = tempfile::tempdir().expect("a directory");
    let mut paths: Vec<String> = (0..700).map(|number| format!("g{}/a{number}", number % 7)).collect();
    let one = session(root.path(), "one");
    one.writer().observe(&Observation::new(State::Idle)).expect("observed");
    let record = std::fs::read(root.path().join("one/harness-state")).expect("a record");
    for path in &paths {
        std::fs::create_dir_all(root.path().join(path)).expect("a directory");
        std::fs::write(root.path().join(path).join("harness-state"), &record).expect("written");
    }
    paths.push("one".to_owned());
    paths.sort_by(|a, b| a.split('/').cmp(b.split('/')));
    let called = call(arguments!["state", root.path()]).with_status(0);
    let shown: Vec<&str> =
        called.out.lines().skip(1).map(|line| line.split(' ').next().expect("a path")).collect();
    assert_eq!(shown, paths);
    let called = call(arguments!["state", "--json", root.path()]).with_status(0);
    let expected = paths.iter().map(|path| root.path().join(path).to_str().expect("UTF-8").to_owned());
    assert!(called.json().iter().map(|row| row["path"].as_str().expect("a path").to_owned()).eq(expected));
    call(arguments!["state", "--is", "idle", root.path()]).with_status(0);
    call(arguments!["state", "--is", "active", root.path()]).with_status(1);
}
