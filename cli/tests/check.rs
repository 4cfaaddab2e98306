//! `gallivant check` over a directory with one of every damage, and `gallivant doctor`.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use gallivant_core::Host;
use gallivant_core::harness_state::{Observation, State};
use gallivant_core::idempotency::{Begin, IdempotencyStore, StoreOptions};
use gallivant_core::journal::{Content, Event, GapReason, Journal, Owner, Projection, Provenance};
use gallivant_core::redaction::{Patterns, Redactor, Secrets};
use serde_json::json;

use crate::support::task::TaskRoot;
use crate::{Called, arguments, call, program, session, tree};

/// Verdict by path, as JSON tells it.
fn verdicts(root: &Path) -> (BTreeMap<String, String>, Option<i32>) {
    let called = call(arguments!["check", "--json", "--all", root]);
    let lines = called.json();
    let (summary, files) = lines.split_last().expect("a summary");
    assert_eq!(summary["files"], files.len(), "{called:?}");
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let found = files.iter().map(|file| (text(&file["path"]), text(&file["verdict"]))).collect();
    (found, called.status)
}

fn plant(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    std::fs::write(path, text).expect("planted");
}

fn journal(run: &Path, events: &[Event]) {
    std::fs::create_dir_all(run).expect("a directory");
    let owner = owner();
    let redactor = Redactor::new(&Secrets::none(), Patterns::Recognised).expect("a redactor");
    let host = Host::system();
    let mut journal = Journal::open(run, owner, &host, &redactor).expect("a journal");
    journal.append(events).expect("appended");
    Projection::open(run, &host).and_then(|mut projection| projection.catch_up()).expect("projected");
}

fn owner() -> Owner {
    Owner {
        task_id: "t-1".into(),
        run_id: "run-1".into(),
        provider: "prov".into(),
        job_id: Some("j-1".into()),
        turn_id: Some("t-1".into()),
    }
}

fn said(id: &str) -> Event {
    let data = json_core(&json!({"text": id}));
    Event {
        id: id.into(),
        provider_sequence: None,
        provenance: Provenance::Provider,
        timestamp: None,
        content: Content::Said { kind: "message".into(), data },
    }
}

fn json_core(value: &serde_json::Value) -> gallivant_core::json::Value {
    gallivant_core::json::Value::parse(&value.to_string()).expect("JSON")
}

#[test]
fn what_is_whole_is_whole() {
    let root = tempfile::tempdir().expect("a directory");
    let agent = session(root.path(), "agents/a");
    agent.writer().observe(&Observation::new(State::Idle)).expect("observed");
    let task = TaskRoot::new();
    task.accepted(1);
    copy(&task.path(), &root.path().join("task"));
    let exit =
        r#"{"version":1,"pid":1,"identity":"linux","started":true,"exit":0,"signal":null,"endedAt":1}"#;
    plant(root.path(), "task/run-1/exit.json", exit);
    let session = r#"{"version":1,"agentDir":"/d","agent":"a","harness":"h","ptySession":"a","token":"t","sequence":1}"#;
    plant(root.path(), "task/run-1/session.json", session);
    // Another program's files of these names are none of ours.
    plant(root.path(), "theirs/exit.json", "[]");
    plant(root.path(), "theirs/session.json", "");
    journal(&root.path().join("task/run-1"), &[said("one"), said("two")]);
    drop(IdempotencyStore::open(root.path().join("claims.db"), &StoreOptions::default(), &Host::system()));
    let before = tree(root.path());
    let (found, status) = verdicts(root.path());
    assert_eq!(status, Some(0), "{found:?}");
    for file in [
        "agents/a/harness-state",
        "task/execution.json",
        "task/run-1/events.jsonl",
        "task/run-1/log-meta.json",
        "task/run-1/exit.json",
        "claims.db",
    ] {
        assert_eq!(found.get(file).map(String::as_str), Some("whole"), "{file}: {found:?}");
    }
    assert_eq!(before, tree(root.path()), "nothing is changed");
    let called = call(arguments!["check", root.path()]).with_status(0);
    assert!(called.out.contains("whole") && called.out.lines().count() == 1, "{called:?}");
}

#[test]
fn one_of_every_damage_is_told_from_the_others() {
    let root = tempfile::tempdir().expect("a directory");
    let root = root.path();
    let mut expected = BTreeMap::new();
    let mut expect = |path: &str, verdict: &str| expected.insert(path.to_owned(), verdict.to_owned());
    plant(root, "a-cut/harness-state", "{\"schema\":\"st2.harness-state.v1\",\"agent\":\"x\"");
    expect("a-cut/harness-state", "corrupt");
    plant(root, "a-empty/harness-state", "");
    expect("a-empty/harness-state", "corrupt");
    drop(session(root, "a-future"));
    let record = std::fs::read_to_string(root.join("a-future/harness-state")).expect("a record");
    plant(root, "a-future/harness-state", record.replace("st2.harness-state.v1", "st2.harness-state.v9"));
    expect("a-future/harness-state", "foreign-version");
    plant(root, "a-floor/.harness-state.seq", "many\n");
    expect("a-floor/.harness-state.seq", "corrupt");
    std::fs::create_dir(root.join("a-lock")).expect("a directory");
    std::os::unix::fs::symlink("/dev/null", root.join("a-lock/.harness-state.lock")).expect("a link");
    expect("a-lock/.harness-state.lock", "corrupt");
    std::fs::create_dir(root.join("a-link")).expect("a directory");
    std::os::unix::fs::symlink("nowhere", root.join("a-link/harness-state")).expect("a link");
    expect("a-link/harness-state", "unreadable");
    std::fs::create_dir(root.join("a-pipe")).expect("a directory");
    let (pipe, mode) = (root.join("a-pipe/harness-state"), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
    expect("a-pipe/harness-state", "unreadable");
    plant(root, "a-staged/.harness-state.tmp-1-2-00000000000000aa", "{");
    expect("a-staged/.harness-state.tmp-1-2-00000000000000aa", "staged");
    plant(root, "a-left/.harness-state.tmp-1-2-00000000000000aa", "{");
    let left = std::fs::File::options()
        .write(true)
        .open(root.join("a-left/.harness-state.tmp-1-2-00000000000000aa"));
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    left.and_then(|left| left.set_modified(long_ago)).expect("an old file");
    expect("a-left/.harness-state.tmp-1-2-00000000000000aa", "abandoned");
    plant(root, "t-cut/execution.json", "{\"version\":1,");
    expect("t-cut/execution.json", "corrupt");
    plant(root, "t-future/execution.json", "{\"version\":2}");
    expect("t-future/execution.json", "foreign-version");
    plant(root, "t-job/run-1/job.json", "[]");
    expect("t-job/run-1/job.json", "corrupt");
    plant(root, "t-latest/latest-run", "../up");
    expect("t-latest/latest-run", "corrupt");
    plant(root, "t-controls/controls/stop-1.json", "{\"version\":7}");
    expect("t-controls/controls/stop-1.json", "foreign-version");
    plant(root, "t-queue/local-output-queue.json", "{");
    expect("t-queue/local-output-queue.json", "corrupt");
    plant(root, "t-result/run-1/result.json", "{\"version\":1}");
    expect("t-result/run-1/result.json", "whole");
    plant(root, "t-application/run-1/result-application.json", "{\"version\":2}");
    expect("t-application/run-1/result-application.json", "foreign-version");
    plant(root, "t-output/run-1/local-output.json", "{\"version\":1,");
    expect("t-output/run-1/local-output.json", "corrupt");
    plant(root, "health/health.lock", "");
    expect("health/health.lock", "whole");
    let scope = format!("health/{}.json", "ab".repeat(32));
    plant(root, &scope, "{}");
    expect(&scope, "foreign-version");
    damaged_journals(root, &mut expect);
    plant(root, "c-other.db", "no database at all");
    broken_store(root, &mut expect);
    damaged_seats(root, &mut expect);
    damaged_projections(root, &mut expect);
    damaged_runs(root, &mut expect);
    let before = tree(root);
    let (found, status) = verdicts(root);
    let wrong: Vec<_> = expected.iter().filter(|(path, verdict)| found.get(*path) != Some(verdict)).collect();
    assert!(wrong.is_empty(), "{wrong:#?} {found:#?}");
    assert!(!found.contains_key("c-other.db"), "what is none of ours is passed over");
    assert_eq!(status, Some(1));
    assert_eq!(before, tree(root), "nothing is changed");
    let shown = call(arguments!["check", root]).with_status(1);
    for word in
        ["corrupt", "foreign-version", "gap", "abandoned", "staged", "pending", "unreadable", "missing"]
    {
        assert!(shown.out.contains(word), "{word}: {}", shown.out);
    }
}

fn damaged_journals(root: &Path, expect: &mut impl FnMut(&str, &str) -> Option<String>) {
    let gap = Event::gap("lost", GapReason::Retained, Provenance::Provider);
    journal(&root.join("j-gap/run-1"), &[said("one"), gap]);
    expect("j-gap/run-1/events.jsonl", "gap");
    let bent = root.join("j-bent/run-1");
    journal(&bent, &[said("one"), said("two")]);
    let log = std::fs::read_to_string(bent.join("events.jsonl")).expect("a log");
    plant(&bent, "events.jsonl", log.replacen("one", "eno", 1));
    expect("j-bent/run-1/events.jsonl", "corrupt");
    let alone = root.join("j-alone/run-1");
    journal(&alone, &[said("one")]);
    std::fs::remove_file(alone.join("journal.json")).expect("removed");
    expect("j-alone/run-1/events.jsonl", "corrupt");
    let future = root.join("j-future/run-1");
    journal(&future, &[said("one")]);
    plant(&future, "journal.json", "{\"version\":2}");
    expect("j-future/run-1/events.jsonl", "foreign-version");
    // Announced and acknowledged: what a crash between the two leaves.
    let pending = root.join("j-pending/run-1");
    journal(&pending, &[said("one")]);
    crash_in_append(&pending);
    expect("j-pending/run-1/events.jsonl", "pending");
    let unindexed = root.join("j-index/run-1");
    journal(&unindexed, &[said("one")]);
    std::fs::remove_file(unindexed.join("job.idx")).expect("removed");
    expect("j-index/run-1/log-meta.json", "gap");
}

fn damaged_seats(root: &Path, expect: &mut impl FnMut(&str, &str) -> Option<String>) {
    for record in ["d-record/harness-state", "d-floor/.harness-state.seq"] {
        std::fs::create_dir_all(root.join(record)).expect("a directory");
        expect(record, "corrupt");
    }
    // The sessions end with their objects; what has to be live stays until the check is over.
    let live = |agent: &str| {
        let session = session(root, agent);
        session.writer().observe(&Observation::new(State::Idle)).expect("observed");
        std::mem::forget(session);
    };
    for (agent, gone) in [("s-record", "harness-state"), ("s-floor", ".harness-state.seq")] {
        live(agent);
        std::fs::remove_file(root.join(agent).join(gone)).expect("removed");
        expect(&format!("{agent}/{gone}"), "missing");
    }
    for (agent, content) in [("s-lease", "another"), ("s-lease-empty", "")] {
        live(agent);
        plant(root, &format!("{agent}/.harness-state.lease"), content);
        expect(&format!("{agent}/.harness-state.lease"), "gap");
    }
}

fn damaged_projections(root: &Path, expect: &mut impl FnMut(&str, &str) -> Option<String>) {
    type Damage = fn(Vec<u8>) -> Vec<u8>;
    let cases: [(&str, &str, Damage, &str); 6] = [
        ("p-log-empty", "job.log", |_| Vec::new(), "gap"),
        ("p-log-short", "job.log", |bytes| bytes[..bytes.len() - 1].to_vec(), "gap"),
        ("p-index-empty", "job.idx", |_| Vec::new(), "gap"),
        ("p-log-garbage", "job.log", |bytes| vec![b'x'; bytes.len()], "corrupt"),
        ("p-index-garbage", "job.idx", |bytes| vec![b'x'; bytes.len()], "corrupt"),
        ("p-index-zero", "job.idx", |bytes| [&[0; 8], &bytes[8..]].concat(), "corrupt"),
    ];
    for (folder, file, damage, verdict) in cases {
        let run = root.join(folder).join("run-1");
        journal(&run, &[said("one"), said("two")]);
        let bytes = std::fs::read(run.join(file)).expect("a file");
        plant(&run, file, damage(bytes));
        expect(&format!("{folder}/run-1/log-meta.json"), verdict);
    }
}

fn damaged_runs(root: &Path, expect: &mut impl FnMut(&str, &str) -> Option<String>) {
    let task = TaskRoot::new();
    task.accepted(1);
    copy(&task.path(), &root.join("r-gone"));
    std::fs::remove_dir_all(root.join("r-gone/run-1")).expect("removed");
    expect("r-gone/run-1", "missing");
    copy(&task.path(), &root.join("r-files"));
    plant(root, "r-files/run-1/exit.json", "no JSON");
    plant(root, "r-files/run-1/session.json", "{\"version\":1}");
    expect("r-files/run-1/exit.json", "corrupt");
    expect("r-files/run-1/session.json", "corrupt");
    copy(&task.path(), &root.join("r-future"));
    plant(root, "r-future/run-1/exit.json", "{\"version\":2}");
    expect("r-future/run-1/exit.json", "foreign-version");
}

/// Stops in the middle of an append, as the death of the process does.
fn crash_in_append(run: &Path) {
    let owner = owner();
    let redactor = Redactor::new(&Secrets::none(), Patterns::Recognised).expect("a redactor");
    let mut journal = Journal::open(run, owner, &Host::system(), &redactor).expect("a journal");
    let mut append = journal.begin(&[said("two")]).expect("begun");
    journal.advance(&mut append).expect("announced");
    drop(append);
}

fn broken_store(root: &Path, expect: &mut impl FnMut(&str, &str) -> Option<String>) {
    let host = Host::system();
    let store = |name: &str| {
        let path = root.join(name);
        let store = IdempotencyStore::open(&path, &StoreOptions::default(), &host).expect("a store");
        match store.begin("op", &["me"], "key", b"{}").expect("begun") {
            Begin::Create(mut reservation) => reservation.complete("agent-1", b"done").expect("completed"),
            other => panic!("{}", other.word()),
        }
        drop(store);
        path
    };
    let bent = store("c-bent.db");
    sql(&bent, "UPDATE claims SET operation = 'other'");
    expect("c-bent.db", "corrupt");
    let future = store("c-future.db");
    sql(&future, "PRAGMA user_version = 9");
    expect("c-future.db", "foreign-version");
}

fn sql(path: &Path, text: &str) {
    let connection = rusqlite::Connection::open(path).expect("a database");
    connection.execute_batch(text).expect("done");
    connection.close().expect("closed");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("a directory") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(&path, &to).expect("copied");
        }
    }
}

#[test]
fn a_directory_that_is_none_is_an_argument() {
    let called = call(["check", "/nowhere/at/all"]).with_status(2);
    assert!(called.err.starts_with("gallivant: GALLIVANT_INPUT: "), "{called:?}");
    assert_eq!(called.err.lines().count(), 1);
}

#[test]
fn the_doctor_tries_a_directory_and_leaves_nothing() {
    let root = tempfile::tempdir().expect("a directory");
    let called = call(arguments!["doctor", "--json", root.path().join("not/yet")]).with_status(0);
    let tried: Vec<_> =
        called.json().iter().map(|tried| tried["what"].as_str().expect("a word").to_owned()).collect();
    for what in [
        "version",
        "file-system",
        "write",
        "locks",
        "exchange",
        "notification",
        "boot",
        "processes",
        "claude",
    ] {
        assert!(tried.iter().any(|tried| tried == what), "{what}: {tried:?}");
    }
    assert_eq!(std::fs::read_dir(root.path()).expect("a directory").count(), 0);
    let called = call(["doctor", "/proc"]).with_status(1);
    assert!(called.out.contains("nothing can be made here"), "{called:?}");
}

#[test]
fn the_doctor_is_given_a_directory() {
    let root = tempfile::tempdir().expect("a directory");
    plant(root.path(), "a-file", "");
    let called = call(arguments!["doctor", root.path().join("a-file")]).with_status(2);
    assert!(called.err.contains("is no directory"), "{called:?}");
}

/// What the doctor says of one thing, whatever the machine is like.
fn said_of(what: &str, supervisor: &Path) -> serde_json::Value {
    let asked = program().args(["doctor", "--json"]).env("GALLIVANT_SUPERVISE", supervisor).output();
    let called = Called::of(asked.expect("the program runs"));
    called
        .json()
        .into_iter()
        .find(|tried| tried["what"] == what)
        .unwrap_or_else(|| panic!("{what}: {called:?}"))
}

#[test]
fn the_doctor_says_where_the_supervisor_is_and_what_to_do_without_it() {
    let root = tempfile::tempdir().expect("a directory");
    let supervisor = root.path().join("a-supervisor");
    let said = said_of("gallivant-supervise", &supervisor);
    assert_eq!((&said["found"], &said["isProblem"]), (&json!("not found"), &json!(false)), "{said}");
    assert!(said["remedy"].as_str().is_some_and(|remedy| remedy.contains("GALLIVANT_SUPERVISE")), "{said}");
    std::fs::write(&supervisor, "#!/bin/sh\n").expect("written");
    std::fs::set_permissions(&supervisor, std::fs::Permissions::from_mode(0o755)).expect("rights");
    let said = said_of("gallivant-supervise", &supervisor);
    assert_eq!(said["remedy"], serde_json::Value::Null, "{said}");
    assert!(said["found"].as_str().is_some_and(|found| found.contains("a-supervisor")), "{said}");
}

#[test]
fn ex_ver_37_the_doctor_says_whether_the_sandbox_is_proved_or_why_not_with_the_remedy() {
    let said = said_of("sandbox", Path::new("none"));
    assert_eq!(said["isProblem"], json!(false), "{said}");
    let found = said["found"].as_str().expect("a text");
    match said["remedy"].as_str() {
        None => assert_eq!(found, "bubblewrap is proved to keep commands in"),
        Some(remedy) => {
            assert!(found.starts_with("the sandbox is not proved to work: "), "{said}");
            assert!(remedy.contains("bubblewrap") || remedy.contains("macOS"), "{said}");
        }
    }
}
