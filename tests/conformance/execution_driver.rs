//! EX-SEA-05 to EX-SEA-20: the test driver as its runner sees it.

use gallivant_core::Code;
use gallivant_core::json::Value;
use gallivant_core::testing::MEMORY_CAPABILITY;

use crate::support::driver::Driver;
use crate::support::memory_task::{START, Task, at, word};

const OWNED: &str = r#"{"providerJobId":"job-1","turnId":"turn-1","sessionId":"session-1"}"#;

fn start() -> Driver {
    Driver::start(env!("CARGO_BIN_EXE_gallivant-driver"))
}

/// A driver that has opened a task's root.
fn opened(task: &Task, faults: &str) -> Driver {
    let driver = start();
    assert_eq!(driver.open(&task.root(), faults).to_json(), r#"{"done":1,"ok":true}"#);
    driver
}

fn names(value: &Value) -> Vec<String> {
    value.as_object().expect("an object").iter().map(|(name, _)| name.to_owned()).collect()
}

fn number(value: &Value, path: &str) -> u64 {
    at(value, path).as_number().and_then(|number| number.as_u64()).expect("it is a number")
}

#[test]
fn ex_sea_05_a_crash_leaves_everything_and_a_pause_waits_for_its_answer() {
    let task = Task::new();
    let driver = opened(&task, r#"[{"point":"dispatch.intent","nth":1,"action":"crash"}]"#);
    driver.submit(2, "op-1");
    assert_eq!(driver.ends(), Some(86));
    assert_eq!(word(&task.ledger(), "operations/op-1/acceptance"), "unknown");
    assert!(!task.root().join("run-op-1/job.json").exists(), "nothing was written after the point");
    assert!(task.root().join("execution.lock").exists() && task.comes_free(), "the kernel lets go of it");

    let task = Task::new();
    let driver = opened(&task, r#"[{"point":"dispatch.intent","nth":1,"action":"pause"}]"#);
    driver.submit(2, "op-1");
    let (question, line) = driver.asked();
    assert_eq!((word(&line, "port"), word(&line, "method")), ("fault", "dispatch.intent"));
    assert_eq!(at(&line, "input").to_json(), "{}");
    assert!(task.is_locked() && driver.hears_nothing());
    driver.call(3, "inspect", "{}");
    let seen = driver.hear();
    assert_eq!((number(&seen, "done"), word(&seen, "ok/acceptance")), (3, "unknown"), "a read goes on");
    driver.answer(question, "null");
    assert_eq!(word(&driver.asked().1, "method"), "submit");
}

#[test]
fn ex_sea_09_the_driver_is_a_program_of_the_tests_and_of_no_package() {
    assert!(std::path::Path::new(env!("CARGO_BIN_EXE_gallivant-driver")).is_file());
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let manifest = |package: &str| {
        std::fs::read_to_string(root.join(package).join("Cargo.toml")).expect("it has a manifest")
    };
    let own = manifest("tests");
    assert!(own.contains("publish = false") && own.contains(r#"name = "gallivant-driver""#));
    for package in ["core", "ffi", "bindings-python", "bindings-node"] {
        assert!(!manifest(package).contains("gallivant-driver"), "{package}");
    }
}

#[test]
fn ex_sea_10_it_reads_and_writes_objects_one_a_line() {
    let driver = start();
    driver.say("no JSON at all");
    driver.call(7, "fn:gapId", r#"{"cursor":9007199254740993}"#);
    assert_eq!(driver.hear().to_json(), r#"{"done":7,"ok":"gap-9007199254740993"}"#);
    driver.call(8, "fn:sanitize", r#"{"value":[1.10,1e3,123456789012345678901234567890],"secrets":[]}"#);
    assert_eq!(driver.hear().to_json(), r#"{"done":8,"ok":[1.10,1e3,123456789012345678901234567890]}"#);
    driver.call(9, "fn:nothing", "{}");
    let refused = driver.hear();
    assert_eq!(word(&refused, "error/code"), Code::ExecutionInput.name());
    assert_eq!(driver.status(), Some(0), "it ends with its input");
}

#[test]
fn ex_sea_11_its_messages_open_call_move_the_clock_answer_tell_of_sending_and_drop() {
    let task = Task::new();
    let driver = start();
    driver.submit(1, "op-1");
    assert_eq!(word(&driver.hear(), "error/code"), Code::ExecutionInput.name(), "nothing is open");
    driver.say(r#"{"cmd":"open","id":1,"root":"/nowhere","now":1,"options":{}}"#);
    let refused = driver.hear();
    assert!(!word(&refused, "error/remedy").is_empty() && !word(&refused, "error/message").is_empty());
    // The second hit of a point, and no other.
    driver.open(&task.root(), r#"[{"point":"persist:execution.json","nth":2,"action":"fail"}]"#);

    driver.submit(2, "op-1");
    let (question, line) = driver.asked();
    assert_eq!(number(&line, "input/deadlineAt"), START + 20_000);
    driver.say(&format!(r#"{{"cmd":"sending","ask":{question}}}"#));
    let not_sent = r#"{"kind":"not-sent","message":"no","code":"prereq"}"#;
    driver.say(&format!(r#"{{"cmd":"answer","ask":{question},"error":{not_sent}}}"#));
    let failed = driver.hear();
    assert_eq!((number(&failed, "done"), word(&failed, "error/code")), (2, Code::ExecutionIo.name()));
    drop(driver);

    // The clock ends a call, and a wait is counted from where it stands.
    let task = Task::new();
    let driver = opened(&task, "[]");
    driver.submit(2, "op-1");
    let (question, _) = driver.asked();
    driver.say(&format!(r#"{{"cmd":"clock","now":{}}}"#, START + 19_999));
    assert!(driver.hears_nothing());
    driver.say(&format!(r#"{{"cmd":"clock","now":{}}}"#, START + 20_000));
    assert_eq!(number(&driver.hear(), "aborted"), question);
    let lost = driver.hear();
    assert_eq!(word(&lost, "error/code"), Code::ExecutionAcceptanceUnknown.name());
    assert_eq!((word(&lost, "error/reason"), word(&lost, "error/operationId")), ("deadline", "op-1"));
    assert_eq!(number(&task.ledger(), "executions/run-op-1/nextAttemptAt"), START + 30_000);

    // A drop lets go of the lock and writes nothing.
    let task = Task::new();
    let driver = opened(&task, "[]");
    driver.submit(2, "op-1");
    let (question, _) = driver.asked();
    let files = task.files();
    driver.say(r#"{"cmd":"drop","id":3}"#);
    assert_eq!(number(&driver.hear(), "aborted"), question);
    assert_eq!(driver.hear().to_json(), r#"{"done":3,"ok":true}"#);
    assert!(task.comes_free());
    assert_eq!(task.files(), files);
}

#[test]
fn ex_sea_12_its_lines_tell_ends_questions_of_three_ports_aborts_and_refusals() {
    // A transport's question, with its deadline and without signal and limits; its abort; a refused answer.
    let task = Task::new();
    let driver = opened(&task, "[]");
    driver.submit(2, "op-1");
    let (question, line) = driver.asked();
    assert_eq!(names(&line), ["ask", "port", "method", "input"]);
    assert_eq!((word(&line, "port"), word(&line, "method")), ("transport", "submit"));
    let input = names(at(&line, "input"));
    assert!(input.iter().all(|name| name != "signal" && name != "limits"), "{input:?}");
    driver.answer(question + 1, OWNED);
    assert_eq!(driver.hear().to_json(), format!(r#"{{"refused":{}}}"#, question + 1));
    driver.say(&format!(r#"{{"cmd":"clock","now":{}}}"#, START + 20_000));
    assert_eq!(driver.hear().to_json(), format!(r#"{{"aborted":{question}}}"#));
    let error = names(at(&driver.hear(), "error"));
    assert_eq!(error, ["code", "reason", "remedy", "message", "runId", "operationId"]);
    driver.answer(question, OWNED);
    assert_eq!(number(&driver.hear(), "refused"), question, "it has ended");
    drop(driver);

    // A pause, and a process host's question.
    let task = Task::new();
    let driver = start();
    let capability = MEMORY_CAPABILITY
        .replace(r#""location":"remote""#, r#""location":"local""#)
        .replace(r#""models":"refused""#, r#""models":"native""#)
        .replace(r#""preparation":{"version":1,"boundary":"memory:none","authority":"text-only","environment":"none"}"#,
            r#""preparation":null"#);
    driver.say(&format!(
        r#"{{"cmd":"open","id":1,"root":"{}","now":{START},"jitter":1,
            "faults":[{{"point":"dispatch.intent","nth":1,"action":"pause"}}],"options":
            {{"taskId":"t-1","provider":"memory","account":"a-1","health":"external","runner":true,
              "capabilities":{capability}}}}}"#,
        task.root().display()
    ));
    assert_eq!(driver.hear().to_json(), r#"{"done":1,"ok":true}"#);
    let spec = r#"{"operationId":"op-1","runId":"run-op-1","prompt":"do it","spec":{"argv":["tool"]}}"#;
    driver.call(2, "submit", spec);
    let (pause, line) = driver.asked();
    assert_eq!((word(&line, "port"), word(&line, "method")), ("fault", "dispatch.intent"));
    driver.answer(pause, "null");
    let (question, line) = driver.asked();
    assert_eq!((word(&line, "port"), word(&line, "method")), ("process", "spawn"));
    assert_eq!(word(&line, "input/runId"), "run-op-1");
    driver.answer(question, r#"{"pid":4242,"identity":"linux:boot:77"}"#);
    assert_eq!(word(&driver.hear(), "ok/acceptance"), "accepted");
}

#[test]
fn ex_sea_13_a_crash_has_a_status_of_its_own() {
    let task = Task::new();
    let driver = opened(&task, r#"[{"point":"persist:execution.json","nth":1,"action":"crash"}]"#);
    driver.submit(2, "op-1");
    assert_eq!(driver.ends(), Some(86));
    assert!(!task.root().join("execution.json").exists(), "the point lies before the fact");
    assert_eq!(opened(&task, "[]").status(), Some(0));
}

#[test]
fn ex_sea_14_calls_run_side_by_side_and_a_foreign_answer_is_refused_by_the_machine() {
    let task = Task::new();
    let driver = opened(&task, "[]");
    driver.submit(2, "op-1");
    let (question, _) = driver.asked();
    driver.submit(3, "op-2");
    let busy = driver.hear();
    assert_eq!((number(&busy, "done"), word(&busy, "error/code")), (3, Code::ExecutionBusy.name()));
    driver.call(4, "inspect", "{}");
    assert_eq!(number(&driver.hear(), "done"), 4);

    let foreign = OWNED.replace("job-1", "job-9");
    driver.answer(question + 1_000, &foreign);
    assert_eq!(number(&driver.hear(), "refused"), question + 1_000);
    driver.answer(question, OWNED);
    let done = driver.hear();
    assert_eq!((number(&done, "done"), word(&done, "ok/acknowledgement/providerJobId")), (2, "job-1"));
    let files = task.files();
    driver.answer(question, &foreign);
    assert_eq!(number(&driver.hear(), "refused"), question);
    assert_eq!(task.files(), files);
}

#[test]
fn ex_sea_18_it_uses_the_core_and_brings_no_rule_of_its_own() {
    let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters/rust/driver");
    let mut files = 0;
    for entry in std::fs::read_dir(sources).expect("it has sources") {
        let path = entry.expect("it can be listed").path();
        let source = std::fs::read_to_string(&path).expect("it is text");
        files += 1;
        let used = source.lines().filter_map(|line| line.strip_prefix("use "));
        for used in used.map(|used| used.split([':', ';', ' ']).next().unwrap_or_default()) {
            let known = ["std", "gallivant_core", "serde_json", "crate", "call", "desk", "faults", "wire"];
            assert!(known.contains(&used), "{}: {used}", path.display());
        }
        // What the layer decides by is in its files, which the driver neither reads nor writes.
        for word in ["execution.json", "std::fs", "acceptance", "allowance"] {
            assert!(!source.contains(word), "{}: {word}", path.display());
        }
    }
    assert!(files >= 5);
}

#[test]
fn ex_sea_20_the_code_of_a_scripted_error_is_that_of_the_refusal() {
    let task = Task::new();
    let driver = opened(&task, "[]");
    for (id, error, code) in [
        (2, r#"{"kind":"not-sent","message":"no key","code":"prereq"}"#, "prereq"),
        (3, r#"{"kind":"not-sent","message":"no key"}"#, "not-sent"),
    ] {
        driver.submit(id, "op-1");
        let (question, _) = driver.asked();
        driver.say(&format!(r#"{{"cmd":"answer","ask":{question},"error":{error}}}"#));
        assert_eq!(word(&driver.hear(), "error/code"), Code::ExecutionDispatchRefused.name());
        let ledger = task.ledger();
        let refusals = at(&ledger, "dispatchRefusals").as_array().expect("a list").to_vec();
        assert_eq!(word(refusals.last().expect("it is noted"), "code"), code);
    }
}

#[test]
fn ex_sea_17_an_entry_is_its_start_its_session_and_its_marker() {
    let driver = start();
    let mut number = 0;
    let mut says = |entry: &str, ledger: &str| {
        number += 1;
        let args = format!(r#"{{"entry":{entry},"ledger":{ledger}}}"#);
        driver.call(number, "fn:unsubmittedInitialDispatch", &args);
        driver.hear()
    };
    let marker = |operation: &str, status: &str| {
        format!(r#"{{"version":1,"operationId":"{operation}","status":"{status}"}}"#)
    };
    let entry = |start: &str, session: &str, marker: &str| {
        format!(r#"{{"startOperationId":{start},"sessionId":{session},"initial_dispatch":{marker}}}"#)
    };
    let fresh = marker("op-1", "unsubmitted");
    let is = |heard: &Value| at(heard, "ok").as_bool();
    assert_eq!(is(&says(&entry("\"op-1\"", "null", &fresh), "null")), Some(true));
    // Each of the three members counts.
    assert_eq!(is(&says(&entry("\"op-2\"", "null", &fresh), "null")), Some(false));
    assert_eq!(is(&says(&entry("\"op-1\"", "\"s\"", &fresh), "null")), Some(false));
    let dispatching = marker("op-1", "dispatching");
    assert_eq!(is(&says(&entry("\"op-1\"", "null", &dispatching), "null")), Some(false));
    assert_eq!(
        is(&says(&entry("\"op-1\"", "null", "null"), "null")),
        Some(false),
        "no marker, and no refusal"
    );
    // In another spelling there is no marker.
    let renamed = format!(r#"{{"startOperationId":"op-1","sessionId":null,"initialDispatch":{fresh}}}"#);
    assert_eq!(is(&says(&renamed, "null")), Some(false));
    assert_eq!(is(&says("null", "null")), Some(false));
}

#[test]
fn ex_sea_15_every_pure_function_goes_by_its_name() {
    let driver = start();
    let cases = [
        ("checkCursor", r#"{"cursor":"c"}"#, r#"{"valid":true,"bytes":3}"#),
        ("gapId", r#"{"cursor":7}"#, r#""gap-7""#),
        ("backoff", r#"{"failures":1,"jitter":1}"#, "10000"),
        ("intakeReservation", r#"{"budgetUsd":8,"remaining":8}"#, "0.5"),
        ("money", r#"{"amount":"0.1","round":"up"}"#, r#"{"nano":"100000000","usd":"0.1"}"#),
        ("crc32c", r#"{"text":"123456789"}"#, r#""e3069283""#),
        ("sanitize", r#"{"value":{"a":"xyz"},"secrets":["xyz"]}"#, r#"{"a":"[redacted]"}"#),
        ("executionLive", r#"{"value":{"state":"cancelled"}}"#, "false"),
        ("healthAuthorize", r#"{"record":null,"now":1}"#, "false"),
        (
            "unsubmittedInitialDispatch",
            r#"{"entry":{"startOperationId":"o","sessionId":null,"initial_dispatch":{"version":1,"operationId":"o","status":"unsubmitted"}},"ledger":null}"#,
            "true",
        ),
        (
            "validateManifest",
            r#"{"files":[{"path":"./a","beforeHash":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","afterHash":null,"text":null}],"tree":{"input":[{"path":"a","mode":"100644"}],"head":[{"path":"a","mode":"100644"}],"index":[{"path":"a","mode":"100644"}]}}"#,
            r#"{"files":[{"path":"a","beforeHash":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","afterHash":null,"text":null}]}"#,
        ),
        (
            "publicationNext",
            r#"{"checkpoint":{"status":"verifying"},"facts":{"ownerMatches":true,"fingerprintMatches":true,"head":"h","inputHead":"i","appliedMatches":true,"clean":true,"evidenceComplete":true,"provenance":true}}"#,
            r#"{"action":"block","reason":"verification-interrupted"}"#,
        ),
    ];
    for (number, (name, args, wanted)) in (1..).zip(&cases) {
        driver.call(number, &format!("fn:{name}"), args);
        assert_eq!(at(&driver.hear(), "ok").to_json(), *wanted, "{name}");
    }
    let scope = r#""taskId":"t","provider":"p","account":"a""#;
    let keys = [
        ("idempotencyKey", format!(r#"{{{scope},"runId":"r","operationId":"o"}}"#), 67, "gx-"),
        ("cancellationKey", format!(r#"{{{scope},"runId":"r"}}"#), 67, "gx-"),
        ("runId", format!(r#"{{{scope},"operationId":"o"}}"#), 34, "r-"),
        (
            "replayKey",
            r#"{"provider":"p","providerJobId":"j","turnId":"t","eventId":"e"}"#.to_owned(),
            64,
            "",
        ),
    ];
    for (number, (name, args, length, prefix)) in (21..).zip(&keys) {
        driver.call(number, &format!("fn:{name}"), args);
        let heard = driver.hear();
        let key = word(&heard, "ok");
        assert!(key.len() == *length && key.starts_with(prefix), "{name}: {key}");
    }
    // The table of the specification has no function besides.
    let specification = include_str!("../../docs/spec/execution.md");
    let table: Vec<&str> =
        specification.split("| `fn:").skip(1).filter_map(|row| row.split('`').next()).collect();
    let mut called: Vec<&str> = cases.iter().map(|case| case.0).chain(keys.iter().map(|key| key.0)).collect();
    assert_eq!(table.len(), 16);
    called.sort_unstable();
    let mut table = table;
    table.sort_unstable();
    assert_eq!(called, table);
    // No other name is one.
    driver.call(40, "fn:nothing", "{}");
    assert_eq!(word(&driver.hear(), "error/code"), Code::ExecutionInput.name());
}

#[test]
fn ex_sea_19_the_arguments_of_methods_are_their_inputs() {
    let task = Task::new();
    let driver = opened(&task, "[]");
    driver.submit(2, "op-1");
    let (question, _) = driver.asked();
    driver.answer(question, OWNED);
    assert_eq!(word(&driver.hear(), "ok/acceptance"), "accepted");
    // Those that read one run take `runId`, and refuse without it.
    for (number, method) in (10..).zip(["outcome", "check", "judgePreparation", "preparationStatus"]) {
        driver.call(number, method, r#"{"runId":"run-op-1"}"#);
        let heard = driver.hear();
        let refused = heard.get("error").map(|_| word(&heard, "error/message").to_owned());
        assert!(refused.as_ref().is_none_or(|message| !message.contains("`runId`")), "{method}: {refused:?}");
        driver.call(number + 20, method, "{}");
        let heard = driver.hear();
        assert_eq!(word(&heard, "error/code"), Code::ExecutionInput.name(), "{method}");
    }
    // `recoverResponse` takes the operation and the whole input of the lost `continue`.
    driver.call(50, "recoverResponse", r#"{"operationId":"op-1"}"#);
    assert!(word(&driver.hear(), "error/message").contains("input"));
    driver.call(51, "recoverResponse", r#"{"input":{}}"#);
    assert!(word(&driver.hear(), "error/message").contains("operationId"));
}

#[test]
fn ex_sea_07_every_fault_point_of_the_table_is_one_of_the_core() {
    let specification = include_str!("../../docs/spec/execution.md");
    let table = specification.split("- **EX-SEA-07** ").nth(1).expect("the clause");
    let table = table.split("- **EX-SEA-08** ").next().expect("its end");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let points: Vec<String> = rows
        .flat_map(|cell| cell.split(',').map(|point| point.trim().trim_matches('`').to_owned()))
        .collect();
    assert!(points.len() > 30, "{points:?}");
    let core = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src");
    let mut folders: Vec<_> =
        ["execution", "journal", "publication", "testing"].map(|folder| core.join(folder)).into();
    let mut source = String::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path())
        {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                source += &std::fs::read_to_string(entry).expect("a source");
            }
        }
    }
    for point in &points {
        let literal = match point.split_once('<') {
            Some((prefix, _)) => format!("\"{prefix}{{"),
            None => format!("\"{point}\""),
        };
        assert!(source.contains(&literal), "{point}");
    }
}
