//! `gallivant run`.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use gallivant_core::Host;
use gallivant_core::execution::TransportError;
use gallivant_core::execution::contract::ErrorKind;
use gallivant_core::journal::{Content, Event, Journal, Owner, Projection, Provenance};
use gallivant_core::redaction::{Patterns, Redactor, Secrets};
use serde_json::json;

use crate::support::task::{Answer, TaskRoot, acknowledgement, dispatch};
use crate::{arguments, call, program};

const EVIDENCE: &str = "seen in the provider's console by an operator";

fn append(task: &TaskRoot, texts: &[&str]) {
    let run = task.path().join("run-1");
    let owner = Owner {
        task_id: "t-1".into(),
        run_id: "run-1".into(),
        provider: "prov".into(),
        job_id: Some("j-1".into()),
        turn_id: Some("t-1".into()),
    };
    let redactor = Redactor::new(&Secrets::none(), Patterns::Recognised).expect("a redactor");
    let host = Host::system();
    let events: Vec<Event> = texts.iter().map(|text| said(text)).collect();
    Journal::open(&run, owner, &host, &redactor)
        .and_then(|mut journal| journal.append(&events))
        .expect("appended");
    Projection::open(&run, &host).and_then(|mut projection| projection.catch_up()).expect("projected");
}

fn said(text: &str) -> Event {
    let data = gallivant_core::json::Value::parse(&json!({"text": text}).to_string()).expect("JSON");
    Event {
        id: text.into(),
        provider_sequence: None,
        provenance: Provenance::Provider,
        timestamp: None,
        content: Content::Said { kind: "message".into(), data },
    }
}

#[test]
fn a_run_is_shown_as_its_files_have_it_whatever_provider_that_is() {
    let task = TaskRoot::new();
    task.accepted(1);
    let called = call(arguments!["run", "show", "--json", task.path()]).with_status(0);
    let shown = &called.json()[0];
    assert_eq!((&shown["runId"], &shown["provider"]), (&json!("run-1"), &json!("prov")));
    assert_eq!(shown["providerJobId"], "j-1");
    let called = call(arguments!["run", "show", task.path()]).with_status(0);
    assert!(
        called.out.lines().any(|line| line.starts_with("runId") && line.ends_with("run-1")),
        "{called:?}"
    );
    call(arguments!["run", "show", task.path(), "run-9"]).with_status(2);
    call(arguments!["run", "outcome", task.path()]).with_status(1);
    let called = call(arguments!["run", "show", task.path().join("run-1")]).with_status(2);
    assert!(
        called.err.contains("EXECUTION_UNKNOWN_RUN") && called.err.contains("execution.json"),
        "{called:?}"
    );
}

#[test]
fn ex_bnd_44_an_operators_acts_are_offered_on_the_command_line() {
    let task = TaskRoot::new();
    task.lost(1);
    let called = call(arguments!["run", "unresolved", "--json", task.path()]).with_status(1);
    assert_eq!(called.json()[0]["operationId"], "op-1");
    let shown = call(arguments!["run", "unresolved", task.path()]).with_status(1);
    assert!(shown.out.contains("op-1") && shown.out.contains("gx-"), "{shown:?}");
    let adopt = |acknowledgement: &str| {
        let evidence = ["--acknowledgement", acknowledgement, "--evidence", EVIDENCE];
        let mut asked: Vec<std::ffi::OsString> = arguments!["run", "adopt", task.path(), "op-1"].into();
        asked.extend(evidence.iter().map(Into::into));
        call(asked)
    };
    let before = task.tree();
    adopt("[]").with_status(2);
    adopt("{\"providerJobId\":\"\"}").with_status(3);
    assert!(before == task.tree(), "a refusal changes nothing");
    let adopted = adopt(&acknowledgement(1).to_string()).with_status(0);
    assert_eq!(adopted.json()[0]["acceptance"], "accepted");
    assert_eq!(task.operation(1)["operatorAct"]["evidence"], EVIDENCE);
    call(arguments!["run", "unresolved", task.path()]).with_status(0);
    // It is the very record that a boundary of the task's own has.
    assert_eq!(task.inspect()["providerJobId"], "j-1");
}

#[test]
fn ex_bnd_44_an_absence_is_settled_on_the_command_line() {
    let task = TaskRoot::new();
    task.lost(1);
    let settle = |evidence: &str| {
        call(arguments![
            "run",
            "settle-absent",
            task.path(),
            "op-1",
            "--evidence",
            std::ffi::OsString::from(evidence)
        ])
    };
    settle("").with_status(2);
    let settled = settle("the provider's log has no such key").with_status(0);
    assert_eq!(settled.json()[0]["acceptance"], "absent");
    let called = call(arguments!["run", "outcome", task.path(), "run-1"]).with_status(0);
    assert_eq!(called.json()[0]["absent"], true);
}

#[test]
fn the_last_lines_of_a_log_are_shown_and_those_to_come() {
    let task = TaskRoot::new();
    task.accepted(1);
    append(&task, &["one", "two", "three"]);
    let called = call(arguments!["run", "tail", "-n", "2", task.path()]).with_status(0);
    let lines: Vec<&str> = called.out.lines().collect();
    assert!(lines.len() == 2 && lines[0].contains("two") && lines[1].contains("three"), "{called:?}");
    let mut following = program()
        .args(arguments!["run", "tail", "-f", "-n", "1", "--json", task.path()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut lines = BufReader::new(following.stdout.take().expect("a pipe")).lines();
    let mut next = || -> serde_json::Value {
        serde_json::from_str(&lines.next().expect("a line").expect("UTF-8")).expect("JSON")
    };
    let third = next();
    assert!(third["text"].as_str().expect("a line").contains("three"));
    append(&task, &["four"]);
    assert!(next()["text"].as_str().expect("a line").contains("four"));
    following.kill().expect("it runs");
    following.wait().expect("it ends");
    let id = third["id"].as_str().expect("an id");
    let called = call(arguments!["run", "tail", "--after", id, task.path()]).with_status(0);
    assert!(called.out.lines().count() == 1 && called.out.contains("four"), "{called:?}");
}

#[test]
fn a_root_without_a_task_has_no_unresolved_operations_to_be_told_of() {
    let task = TaskRoot::new();
    let root = tempfile::tempdir().expect("a directory");
    for missing in [root.path().join("typo"), root.path().to_owned()] {
        for asked in ["show", "tail", "outcome", "unresolved"] {
            let called = call(arguments!["run", asked, missing]).with_status(2);
            assert!(called.err.contains("no task is recorded here") && called.out.is_empty(), "{called:?}");
        }
    }
    task.accepted(1);
    let file = task.path().join("execution.json");
    for asked in ["show", "unresolved"] {
        let called = call(arguments!["run", asked, file]).with_status(2);
        assert!(called.err.contains("root is a directory"), "{called:?}");
    }
    let called = call(arguments!["run", "unresolved", task.path()]).with_status(0);
    assert_eq!(called.out, "no operation is unresolved\n");
}

#[test]
fn what_is_damaged_on_disk_has_the_status_of_damage() {
    let task = TaskRoot::new();
    task.accepted(1);
    call(arguments!["run", "outcome", task.path()]).with_status(1);
    task.settle(1);
    for junk in [None, Some("junk"), Some("[]")] {
        if let Some(junk) = junk {
            task.plant("run-1/result.json", junk);
        }
        let called = call(arguments!["run", "outcome", task.path()]).with_status(5);
        assert!(called.err.contains("result.json") && called.out.is_empty(), "{called:?}");
    }
    let ledger = task.text("execution.json");
    task.plant("execution.json", &ledger[..ledger.len() / 2]);
    for asked in ["show", "tail", "outcome", "unresolved"] {
        let called = call(arguments!["run", asked, task.path()]).with_status(5);
        assert!(called.err.contains("EXECUTION_PROTOCOL"), "{called:?}");
    }
}

#[test]
fn a_known_run_of_which_nothing_is_on_disk_is_told_as_that() {
    let task = TaskRoot::new();
    task.accepted(1);
    std::fs::remove_dir_all(task.path().join("run-1")).expect("removed");
    call(arguments!["run", "show", task.path()]).with_status(0);
    let called = call(arguments!["run", "tail", task.path()]).with_status(2);
    assert!(
        called.err.contains("nothing else of it is on disk") && !called.err.contains("UNKNOWN"),
        "{called:?}"
    );
    let called = call(arguments!["run", "tail", task.path(), "run-9"]).with_status(2);
    assert!(called.err.contains("EXECUTION_UNKNOWN_RUN"), "{called:?}");
    task.settle(1);
    task.accepted(2);
    let called = call(arguments!["run", "show", task.path(), "run-1"]).with_status(2);
    assert!(called.err.contains("nothing else of it is on disk"), "{called:?}");
}

#[test]
fn an_id_that_no_line_ever_had_is_refused() {
    let task = TaskRoot::new();
    task.accepted(1);
    append(&task, &["one"]);
    for id in ["bogus", "99"] {
        let called = call(arguments!["run", "tail", "--after", id, task.path()]).with_status(2);
        assert!(called.err.contains("EXECUTION_INPUT") && called.out.is_empty(), "{called:?}");
    }
}

#[test]
fn instants_are_told_as_what_they_are_and_what_is_to_come_as_that() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.edit(|ledger| {
        // The year 2286, which no clock of a test has reached.
        ledger["executions"]["run-1"]["nextAttemptAt"] = json!(9_999_999_999_000_u64);
        ledger["stopFence"] = json!({"kind": "operator", "scope": "remote", "runId": "run-1", "at": 1000,
            "reason": "enough"});
    });
    let called = call(arguments!["run", "show", task.path()]).with_status(0);
    let line = |name: &str| {
        let line = called.out.lines().find(|line| line.starts_with(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("no {name}: {called:?}")).to_owned()
    };
    let next = line("nextAttemptAt");
    assert!(next.contains("2286-11-20 17:46:39Z, in ") && !next.contains("ago"), "{next}");
    let fence = line("stopFence.at");
    assert!(fence.contains("1970-01-01 00:00:01Z") && fence.ends_with("ago"), "{fence}");
}

#[test]
fn refused_dispatches_and_the_runs_of_a_task_are_shown() {
    let task = TaskRoot::new();
    let refused = TransportError::of(ErrorKind::NotSent, "nothing was sent");
    task.submit(dispatch(1), [Answer::Fails(refused)]).error();
    let called = call(arguments!["run", "show", "--json", task.path()]).with_status(0);
    let shown = called.json().remove(0);
    assert_eq!((&shown["runs"], &shown["runId"]), (&json!([]), &json!(null)));
    assert_eq!(shown["dispatchRefusals"][0]["operationId"], "op-1");
    let called = call(arguments!["run", "show", task.path()]).with_status(0);
    assert!(called.out.contains("REFUSED") && called.out.contains("op-1"), "{called:?}");
    task.accepted(2);
    task.settle(2);
    task.accepted(3);
    let called = call(arguments!["run", "show", "--json", task.path()]).with_status(0);
    let shown = called.json().remove(0);
    let runs: Vec<_> =
        shown["runs"].as_array().expect("runs").iter().map(|run| (&run["runId"], &run["settled"])).collect();
    assert_eq!(runs, [(&json!("run-2"), &json!(true)), (&json!("run-3"), &json!(false))]);
    let called = call(arguments!["run", "show", task.path()]).with_status(0);
    assert!(called.out.lines().any(|line| line.starts_with("run-2  succeeded  accepted")), "{called:?}");
}

#[test]
fn an_end_that_no_pass_has_taken_in_is_told() {
    let task = TaskRoot::new();
    task.accepted(1);
    let hint = "no pass of a coordinator has taken that in";
    let show = || call(arguments!["run", "show", task.path()]).with_status(0);
    assert!(!show().out.contains(hint));
    task.plant("run-1/exit.json", "{}");
    assert!(show().out.contains(hint), "{:?}", show());
    let called = call(arguments!["run", "show", "--json", task.path()]).with_status(0);
    assert_eq!(called.json()[0]["endNotTakenIn"], true);
    task.settle(1);
    assert!(!show().out.contains(hint));
}

#[test]
fn an_end_whose_descendants_go_on_is_told_as_that() {
    let task = TaskRoot::new();
    task.accepted(1);
    let show = || call(arguments!["run", "show", task.path()]).with_status(0);
    let hint = "the run goes on while anything lives that it has started";
    task.plant("run-1/exit.json", r#"{"exit":0,"treeEndedAt":null}"#);
    assert!(show().out.contains(hint) && !show().out.contains("no pass"), "{:?}", show());
    task.plant("run-1/exit.json", r#"{"exit":0,"treeEndedAt":1}"#);
    assert!(!show().out.contains(hint) && show().out.contains("no pass"), "{:?}", show());
}

#[test]
fn following_ends_once_the_run_has_settled() {
    let task = TaskRoot::new();
    task.accepted(1);
    append(&task, &["one"]);
    let mut following = program()
        .args(arguments!["run", "tail", "-f", task.path()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!(following.try_wait().expect("it can be looked at"), None, "the run is live");
    task.plant("run-1/provider.log", "two\n");
    task.settle(1);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!(following.try_wait().expect("it can be looked at"), None, "its output is not taken in yet");
    append(&task, &["two"]);
    let taken = json!({"version": 1, "cursor": 4, "pending": false, "discarding": false, "page": null});
    task.replace("run-1/local-output.json", taken.to_string());
    assert_eq!(following.wait().expect("it ends").code(), Some(0));
    let mut shown = String::new();
    following.stdout.take().expect("a pipe").read_to_string(&mut shown).expect("read");
    assert!(shown.contains("one") && shown.contains("two"), "{shown}");
}
