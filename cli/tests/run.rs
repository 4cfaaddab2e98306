//! `gallivant run`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use gallivant_core::Host;
use gallivant_core::journal::{Content, Event, Journal, Owner, Projection, Provenance};
use gallivant_core::redaction::{Patterns, Redactor, Secrets};
use serde_json::json;

use crate::support::task::{TaskRoot, acknowledgement};
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
