//! Files of other packages: what is refused by its version and stays as it is, and what an upgrade finds: EX-LED-09,
//! EX-UPG-04, EX-UPG-06 to EX-UPG-11. Ledgers of older packages are read, and what newer ones added stays.

use std::path::PathBuf;
use std::sync::Arc;

use gallivant_core::execution::{ExecutionOptions, NoFaults, check_version, unresolved};
use gallivant_core::journal::{Journal, LogReader, Owner, read_run_result};
use gallivant_core::json::Value;
use gallivant_core::{Code, Error, execution::version::FILE_KINDS};
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::run::hiding;
use crate::support::task::{TaskRoot, accepts, dispatch, object};

/// What is no supported version, as it stands in a file; nothing for a member that is missing.
const UNSUPPORTED: [&str; 9] = ["", "9", "0", "1.0", "1.5", "\"1\"", "null", "true", "[1]"];

/// An object with this version and members that make no sense, so that whatever is judged before the version shows.
fn file(version: &str) -> String {
    let member = if version.is_empty() { String::new() } else { format!("\"version\":{version},") };
    format!("{{{member}\"offset\":\"?\",\"runs\":{{}},\"status\":7,\"taskId\":[],\"provider\":7}}")
}

fn run_dir(task: &TaskRoot) -> PathBuf {
    task.path().join("run-1")
}

fn journal(task: &TaskRoot) -> Error {
    let owner = Owner {
        task_id: "t-1".to_owned(),
        run_id: "run-1".to_owned(),
        provider: "prov".to_owned(),
        job_id: Some("j-1".to_owned()),
        turn_id: Some("t-1".to_owned()),
    };
    let opened = Journal::open(run_dir(task), owner, task.machine.host(), &hiding(""));
    opened.and_then(|mut journal| journal.append(&[])).expect_err("refused")
}

/// Each kind of file: where it stands, and the refusal of whoever needs it.
type Kind = (&'static str, &'static str, fn(&TaskRoot) -> Error);

fn kinds() -> [Kind; 8] {
    let submit = |task: &TaskRoot| task.submit(dispatch(2), []).error();
    [
        ("ledger", "execution.json", submit),
        ("queue", "local-output-queue.json", submit),
        ("journal", "run-1/journal.json", journal),
        ("log-meta", "run-1/log-meta.json", |task| {
            let reader = LogReader::open(run_dir(task), task.machine.host());
            reader.and_then(|reader| reader.tail()).map(drop).expect_err("refused")
        }),
        ("local-output", "run-1/local-output.json", |task| {
            task.plant("local-output-queue.json", "{\"version\":1,\"runs\":[\"run-1\"]}");
            task.submit(dispatch(2), []).error()
        }),
        ("control", "controls/stop-1.json", submit),
        ("result", "run-1/result.json", |task| task.boundary().outcome("run-1").expect_err("refused")),
        ("application", "run-1/result-application.json", |task| {
            task.plant("run-1/result.json", "{\"version\":1}");
            read_run_result(run_dir(task), task.machine.host()).expect_err("refused")
        }),
    ]
}

fn settled() -> TaskRoot {
    let task = TaskRoot::new();
    task.accepted(1);
    task.settle(1);
    task
}

fn health(version: &str) -> Error {
    let task = TaskRoot::new();
    let mut options = object(&task.options);
    options.insert("health", Value::parse(&file(version)).expect("JSON"));
    ExecutionOptions::from_object(task.path(), &options, Arc::new(NoFaults)).expect_err("refused")
}

#[test]
fn ex_led_09_a_ledger_of_another_version_is_refused() {
    let task = TaskRoot::new();
    for version in UNSUPPORTED {
        task.plant("execution.json", file(version));
        let refused = task.refused(|task| task.submit(dispatch(1), []));
        assert_eq!(refused, (Code::ExecutionVersion, Some("ledger")), "{version}");
        assert_eq!(task.boundary().inspect().expect_err(version).code(), Code::ExecutionVersion);
        assert_eq!(task.text("execution.json"), file(version));
    }
}

#[test]
fn ex_upg_06_every_kind_of_file_is_refused_by_its_version_and_stays() {
    for (kind, path, refusal) in kinds() {
        let task = settled();
        task.plant(path, file("9"));
        let error = refusal(&task);
        assert_eq!((error.code(), error.reason()), (Code::ExecutionVersion, Some(kind)), "{error}");
        assert_eq!(task.text(path), file("9"), "{kind}: byte for byte");
    }
    assert_eq!((health("9").code(), health("9").reason()), (Code::ExecutionVersion, Some("health")));
    let mut tested: Vec<_> = kinds().iter().map(|(kind, ..)| *kind).chain(["health"]).collect();
    let mut all = FILE_KINDS.to_vec();
    tested.sort_unstable();
    all.sort_unstable();
    assert_eq!(tested, all);
}

#[test]
fn ex_upg_07_the_remedy_names_kind_and_both_versions_and_forbids_a_dispatch() {
    for (kind, path, refusal) in kinds() {
        let task = settled();
        task.plant(path, file("73"));
        let error = refusal(&task);
        let supported = if kind == "log-meta" { "reads 2" } else { "reads 1" };
        for part in [
            kind,
            "73",
            supported,
            "install the",
            "restore the matching",
            "a new dispatch is not a migration",
        ] {
            assert!(error.remedy().contains(part), "{kind}, {part}: {}", error.remedy());
        }
    }
}

#[test]
fn ex_upg_08_a_version_that_is_missing_a_string_or_a_fraction_is_unsupported() {
    for version in UNSUPPORTED {
        for (kind, path, refusal) in kinds() {
            let task = settled();
            task.plant(path, file(version));
            let error = refusal(&task);
            assert_eq!((error.code(), error.reason()), (Code::ExecutionVersion, Some(kind)), "{version}");
        }
        assert_eq!(health(version).code(), Code::ExecutionVersion, "{version}");
    }
}

#[test]
fn ex_upg_09_the_version_is_judged_before_everything_else() {
    for (kind, path, refusal) in kinds() {
        // Of another version nothing else is looked at; of the supported one the rest makes no sense.
        let supported = if kind == "log-meta" { "2" } else { "1" };
        let mut other = None;
        for version in ["9", supported] {
            let task = settled();
            task.plant(path, file(version));
            match version {
                "9" => assert_eq!(refusal(&task).code(), Code::ExecutionVersion, "{kind}"),
                // A result of the supported version that is not the run's own, and a checkpoint, refuse no reader.
                _ if kind == "result" || kind == "application" || kind == "control" => {}
                _ => other = Some(refusal(&task).code()),
            }
        }
        assert_ne!(other, Some(Code::ExecutionVersion), "{kind}");
    }
    let mut foreign = settled();
    foreign.options["taskId"] = json!("t-2");
    foreign.edit(|ledger| {
        ledger["version"] = json!(2);
        ledger["executions"]["run-1"]["cursor"] = json!({});
    });
    let refused = foreign.refused(|task| task.submit(dispatch(2), []));
    assert_eq!(refused, (Code::ExecutionVersion, Some("ledger")), "before owner and cursors");
}

#[test]
fn ex_upg_10_one_runs_unsupported_journal_blocks_no_other_task() {
    let (one, other) = (settled(), settled());
    one.plant("run-1/journal.json", file("9"));
    one.plant("run-1/log-meta.json", file("9"));
    assert_eq!(journal(&one).code(), Code::ExecutionVersion);
    other.accepted(2);
    assert_eq!(other.inspect()["providerJobId"], "j-2");
    // And what needs no journal goes on in its own task.
    assert_eq!(one.inspect()["runId"], "run-1");
    assert_eq!(one.submit(dispatch(1), []).ok()["reused"], true);
}

#[test]
fn ex_upg_11_a_coordinator_judges_its_registry_by_the_same_rule() {
    for kind in FILE_KINDS.into_iter().chain(["registry"]) {
        let supported: u64 = if kind == "log-meta" { 2 } else { 1 };
        check_version(kind, &supported.into()).expect(kind);
        for found in ["3", "1.5", "\"1\"", "null", "{}"] {
            let error = check_version(kind, &Value::parse(found).expect("JSON")).expect_err(found);
            assert_eq!((error.code(), error.reason()), (Code::ExecutionVersion, Some(kind)), "{found}");
            assert!(error.remedy().contains("a new dispatch is not a migration"));
        }
    }
    let own = settled();
    own.plant("execution.json", file("3"));
    let (ours, theirs) =
        (own.submit(dispatch(2), []).error(), check_version("ledger", &3_u64.into()).expect_err("3"));
    assert_eq!(
        (ours.code(), ours.reason(), ours.remedy()),
        (theirs.code(), theirs.reason(), theirs.remedy())
    );
    assert_eq!(check_version("diary", &1_u64.into()).expect_err("no kind").code(), Code::ExecutionInput);
}

#[test]
fn ex_upg_04_everything_unresolved_is_listed_with_what_to_do() {
    let task = TaskRoot::new();
    assert_eq!(unresolved(&task.path(), task.machine.host()).expect("no root"), []);
    task.accepted(1);
    assert_eq!(unresolved(&task.path(), task.machine.host()).expect("read"), []);
    task.settle(1);
    task.machine.advance_ms(10);
    task.lost(2);
    let before = task.tree();
    let listed = unresolved(&task.path(), task.machine.host()).expect("read");
    assert!(before == task.tree());
    let [found] = listed.as_slice() else { panic!("one: {listed:?}") };
    assert_eq!(
        (&*found.owner.task_id, &*found.owner.provider, &*found.owner.account),
        ("t-1", "prov", "acct")
    );
    assert_eq!((&*found.operation_id, &*found.run_id, found.intent_at), ("op-2", "run-2", NOW + 10));
    assert_eq!(json!(found.idempotency_key), task.operation(2)["idempotencyKey"]);
    assert!(found.remedy.contains("reconcile"), "{}", found.remedy);
    task.plant("execution.json", file("9"));
    let error = unresolved(&task.path(), task.machine.host()).expect_err("another package's");
    assert_eq!(error.code(), Code::ExecutionVersion);
}

/// A ledger as an older package of version 1 wrote it: what may be null is missing, money has more digits than are counted.
const OLDER: &str = r#"{"version":1,"taskId":"t-1","provider":"prov","account":"acct","currentRunId":"run-1",
"theirs":{"n":12345678901234567890123},"operations":{"op-1":{"operationId":"op-1","runId":"run-1","sequence":1,
"action":"submit","kind":"implementation","inputFingerprint":"f","idempotencyKey":"gx-k","intentAt":1000,
"acceptance":"accepted","acknowledgement":{"providerJobId":"j-1","turnId":"t-1","theirs":1e400},
"reservationUsd":0.1000000001,"costUsd":0.20,"theirs":[0.10]}},"executions":{"run-1":{"runId":"run-1",
"operationId":"op-1","kind":"implementation","transport":"managed-rest","providerJobId":"j-1","turnId":"t-1",
"sessionId":"s-1","state":"succeeded","terminalState":"succeeded","startedAt":1000,"failures":0,"collected":true,
"cursor":123456789012345678901234567890,"theirs":{"deep":[{"x":1.50}]},
"cancellation":{"status":"terminal","reason":"r","requestedAt":1,"idempotencyKey":"gx-c","attempts":0,"failures":0,
"theirs":true},"lastError":{"code":"EXECUTION_IO","at":5,"theirs":"e"}}},
"stopFence":null,"allowance":{"budgetUsd":0.30000000000000004,"chargedUsd":0.20,"theirs":-0.0}}"#;

#[test]
fn a_ledger_of_an_older_package_is_read_and_what_is_not_known_stays_digit_for_digit() {
    let mut task = TaskRoot::new();
    task.plant("execution.json", OLDER);
    task.options["budgetUsd"] = serde_json::from_str("0.30000000000000004").expect("a number");
    let shown = task.inspect();
    assert_eq!(
        (&shown["runId"], &shown["live"], &shown["quarantined"]),
        (&json!("run-1"), &json!(false), &json!(false))
    );
    let input = crate::support::task::dispatch_with(2, json!({"reservationUsd": 0.05}));
    task.submit(input, accepts(2)).ok();
    let text = task.text("execution.json");
    for kept in [
        r#""theirs":{"n":12345678901234567890123}"#,
        r#""theirs":1e400"#,
        r#""theirs":[0.10]"#,
        r#""theirs":{"deep":[{"x":1.50}]}"#,
        r#""theirs":true"#,
        r#""theirs":"e""#,
        r#""theirs":-0.0"#,
        r#""cursor":123456789012345678901234567890"#,
        // The reservation is rounded up, the budget down; the charge is what it was and what was added.
        r#""reservationUsd":0.100000001,"costUsd":0.2,"#,
        r#""allowance":{"budgetUsd":0.3,"chargedUsd":0.25,"#,
    ] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    let members: Json = serde_json::from_str(&text.replace("1e400", "1")).expect("JSON");
    assert_eq!(members["operations"]["op-1"]["operatorAct"], json!(null), "what was missing is null now");
    assert_eq!(members["executions"]["run-1"]["controls"], json!([]));
    assert_eq!(members["createdAt"], NOW, "the first write that was noted");
}
