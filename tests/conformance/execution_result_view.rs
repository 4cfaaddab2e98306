//! EX-JRN-53 to EX-JRN-59, EX-RED-17, EX-RED-18, EX-RED-21: the private result, and what of it is shown.

use std::collections::BTreeSet;

use gallivant_core::journal::{Collected, Standing, private_result, read_run_result, result_view};
use gallivant_core::json::{Number, Value};
use gallivant_core::redaction::{Patterns, Redactor, Secrets};
use gallivant_core::testing::Simulation;
use gallivant_core::{Code, Result};

use crate::support::output::{ENDED, RAW, REDACTIONS, RESULT, drain, redactions, serve, with_output};
use crate::support::run::RUN;

const HASH: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// What publication compares or writes.
const PUBLISHED: [&str; 11] = [
    "providerJobId",
    "turnId",
    "sessionId",
    "inputHead",
    "completedAt",
    "repo",
    "branch",
    "files",
    "pushedHead",
    "pr",
    "text",
];

fn secrets() -> Secrets {
    Secrets::lenient(["supplied-word", HASH, "job-word"])
}

fn reply() -> Value {
    let text = serde_json::json!({
        "version": 9, "taskId": "foreign", "runId": "foreign", "provider": "foreign", "collectedAt": 1,
        "artifacts": {"version": 1, "files": [{"path": "claimed"}]}, "unheard": "of",
        "providerJobId": "job-word", "turnId": "turn-1", "sessionId": "s-1", "inputHead": HASH, "completedAt": 7,
        "outcome": {
            "finished": true, "ok": true, "cost": 1.25, "exit": null,
            "denials": [{"tool": "supplied-word"}], "diagnostics": {"tail": "said supplied-word"},
        },
        "files": [
            {"path": "src/supplied-word.rs", "beforeHash": null, "afterHash": HASH, "text": "let x = \"supplied-word\";\r\n"},
            {"path": "b", "beforeHash": HASH, "afterHash": "cc", "text": "retained-word"},
            {"path": "c", "beforeHash": "dd", "afterHash": null, "text": null},
        ],
        "pr": {"title": "supplied-word", "body": "exact"}, "text": "intake supplied-word",
        "repo": "r", "branch": "task/supplied-word", "pushedHead": "ee",
    });
    Value::parse(&text.to_string()).expect("JSON")
}

fn collected() -> Value {
    collected_with(&reply(), &secrets())
}

fn collected_with(reply: &Value, secrets: &Secrets) -> Value {
    let redactor = Redactor::new(secrets, Patterns::Recognised).expect("a small one");
    let collected =
        Collected { task_id: "t-1", run_id: "run-1", provider: "prov", collected_at_ms: 1_700_000_000_500 };
    private_result(&collected, reply.as_object().expect("an object"), &redactor)
}

/// Every string and every key of a value.
fn texts(value: &Value) -> BTreeSet<String> {
    match value {
        Value::String(text) => BTreeSet::from([text.clone()]),
        Value::Array(elements) => elements.iter().flat_map(texts).collect(),
        Value::Object(object) => object
            .iter()
            .flat_map(|(name, value)| texts(value).into_iter().chain([name.to_owned()]))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => BTreeSet::new(),
    }
}

/// A run with a result, a checkpoint and evidence.
fn with_result(result: &str) -> Simulation {
    let machine = with_output("raw supplied-word\n");
    plant(&machine, "result.json", result);
    plant(
        &machine,
        "result-application.json",
        "{\"version\":1,\"providerJobId\":\"job-word\",\"status\":\"verified\",\"fingerprint\":\"retained-word\"}",
    );
    plant(
        &machine,
        "verification.json",
        "{\"commands\":[{\"command\":\"true\",\"exitCode\":0,\"output\":\"supplied-word ok\"}]}",
    );
    machine
}

fn plant(machine: &Simulation, name: &str, text: &str) {
    machine.files.plant_file(format!("{RUN}/{name}"), text).expect("planted");
}

fn view(machine: &Simulation, standing: &Standing) -> Result<Option<Value>> {
    result_view(RUN, &machine.host(), &secrets(), standing)
}

fn shown(machine: &Simulation) -> serde_json::Value {
    let view = view(machine, &Standing::default()).expect("a view").expect("a result");
    serde_json::from_str(&view.to_json()).expect("JSON")
}

#[test]
fn ex_jrn_53_the_private_result_has_exact_keys_redacted_diagnostics_and_a_summary_without_text() {
    let result: serde_json::Value = serde_json::from_str(&collected().to_json()).expect("JSON");
    let own = ["version", "taskId", "runId", "provider", "collectedAt"].map(|name| result[name].to_string());
    assert_eq!(own, ["1", "\"t-1\"", "\"run-1\"", "\"prov\"", "1700000000500"]);
    assert_eq!((&result["providerJobId"], &result["inputHead"]), (&"job-word".into(), &HASH.into()));
    assert!(result.get("unheard").is_none());
    assert_eq!(result["outcome"]["diagnostics"]["tail"], "said [redacted]");
    assert_eq!(result["outcome"]["denials"][0]["tool"], "[redacted]");
    assert_eq!(result["outcome"]["cost"], 1.25);
    let expected = serde_json::json!({"version": 1, "files": [
        {"path": "src/[redacted].rs", "beforeHash": null, "afterHash": "[redacted]", "change": "create"},
        {"path": "b", "beforeHash": "[redacted]", "afterHash": "cc", "change": "edit"},
        {"path": "c", "beforeHash": "dd", "afterHash": null, "change": "delete"},
    ]});
    assert_eq!(result["artifacts"], expected);
}

#[test]
fn ex_jrn_54_a_view_has_its_five_parts_and_is_redacted_as_a_whole() {
    let machine = with_result(&collected().to_json());
    let shown = shown(&machine);
    let mut names: Vec<_> = shown.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["application", "artifacts", "cost", "outcome", "verification"]);
    assert_eq!(shown["outcome"]["ok"], true);
    assert_eq!(shown["artifacts"]["files"][0]["path"], "src/[redacted].rs");
    // The ownership keys of a checkpoint too, and by the secrets that only the run's own data retains.
    assert_eq!(shown["application"]["providerJobId"], "[redacted]");
    assert_eq!(shown["application"]["fingerprint"], "[redacted]");
    assert_eq!(shown["verification"]["commands"][0]["output"], "[redacted] ok");
    for secret in ["supplied-word", "retained-word", "job-word", HASH] {
        assert!(!shown.to_string().contains(secret), "{secret}: {shown}");
    }
    // The ledger's outcome takes precedence; the cost is the greater one, and null where neither is known.
    let number = |text: &str| Number::parse(text);
    for (operation, cost) in [(number("2.5"), "2.5"), (number("0.5"), "1.25"), (None, "1.25")] {
        let outcome = Value::parse("{\"finished\":true,\"quarantined\":true,\"note\":\"supplied-word\"}")
            .expect("JSON");
        let standing = Standing { outcome: Some(outcome), cost_usd: operation };
        let view = view(&machine, &standing).expect("a view").expect("a result");
        assert_eq!(view.get("cost").expect("a cost").to_json(), cost);
        let outcome = view.get("outcome").expect("an outcome").to_json();
        assert_eq!(outcome, "{\"finished\":true,\"quarantined\":true,\"note\":\"[redacted]\"}");
    }
    plant(
        &machine,
        "result.json",
        "{\"version\":1,\"outcome\":{\"finished\":true,\"ok\":true,\"cost\":null}}",
    );
    let shown = self::shown(&machine);
    assert!(shown["cost"].is_null() && shown["artifacts"].is_null());
    // Another version is refused by its kind, and only what is missing reads as missing.
    plant(&machine, "result-application.json", "{\"version\":2}");
    let error = view(&machine, &Standing::default()).expect_err("another version");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionVersion, Some("application")));
    plant(&machine, "result.json", "{\"version\":\"1\"}");
    let error = view(&machine, &Standing::default()).expect_err("another version");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionVersion, Some("result")));
    plant(&machine, "result.json", "{\"version\":1");
    assert_eq!(view(&machine, &Standing::default()).expect_err("torn").code(), Code::ExecutionIo);
    machine.files.unplant(RESULT).expect("removed");
    assert_eq!(view(&machine, &Standing::default()).expect("none yet"), None);
}

#[test]
fn ex_jrn_55_a_view_has_neither_text_nor_diagnostics_and_an_older_result_shows_its_summary() {
    let machine = with_result(&collected().to_json());
    let text = shown(&machine).to_string();
    for hidden in ["let x", "said", "intake", "exact", "diagnostics", "\"text\""] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    // Whatever else stands in a summary is not shown either.
    plant(
        &machine,
        "result.json",
        "{\"version\":1,\"outcome\":{\"ok\":true},\"artifacts\":{\"files\":[{\"path\":\"a\",\"text\":\"hidden\",\"diff\":\"hidden\"}]}}",
    );
    assert!(!shown(&machine).to_string().contains("hidden"));
    plant(
        &machine,
        "result.json",
        "{\"version\":1,\"outcome\":{\"ok\":true},\"files\":[{\"path\":\"a\",\"text\":\"hidden\"}],\
         \"summary\":[{\"path\":\"supplied-word\",\"change\":\"edit\",\"text\":\"hidden\"}]}",
    );
    let shown = shown(&machine);
    assert!(shown["artifacts"].is_null());
    assert_eq!(shown["summary"], serde_json::json!([{"path": "[redacted]", "change": "edit"}]));
    assert!(!shown.to_string().contains("hidden"));
}

#[test]
fn ex_jrn_56_a_reader_without_a_boundary_hides_recognised_credentials_only() {
    let machine = with_result(
        "{\"version\":1,\"outcome\":{\"ok\":true,\"denials\":[\"supplied-word ghp_abcdefghijklmnopqrstuvwxyz0123456789\"]}}",
    );
    let view = read_run_result(RUN, &machine.host()).expect("read").expect("a result");
    let denials = view.get("outcome").and_then(|outcome| outcome.get("denials")).expect("denials").to_json();
    assert_eq!(denials, "[\"supplied-word [redacted]\"]");
    assert_eq!(
        view.get("application").and_then(|shown| shown.get("providerJobId")),
        Some(&"job-word".into())
    );
}

#[test]
fn ex_jrn_57_views_write_nothing_and_the_private_identities_stay() {
    let machine = with_result(&collected().to_json());
    let files = || {
        let names = machine.files.names(RUN).expect("listed");
        names
            .into_iter()
            .map(|name| (machine.files.contents(format!("{RUN}/{name}")).ok(), name))
            .collect::<Vec<_>>()
    };
    let before = files();
    let reader = machine.another_process();
    view(&reader, &Standing::default()).expect("a view");
    read_run_result(RUN, &reader.host()).expect("read");
    assert_eq!(files(), before);
    let harmless = |text: &String| ["open", "read", "stat"].iter().any(|word| text.starts_with(word));
    assert!(reader.files.trace().iter().all(harmless), "{:?}", reader.files.trace());
    let private = String::from_utf8(machine.files.contents(RESULT).expect("a result")).expect("UTF-8");
    assert!(private.contains("\"providerJobId\":\"job-word\""), "{private}");
}

#[test]
fn ex_jrn_58_a_view_needs_no_log() {
    let machine = with_result(&collected().to_json());
    drain(&machine, ENDED);
    let before = shown(&machine);
    machine.clock.advance(std::time::Duration::from_secs(86_400));
    assert!(!serve(&machine, ENDED).expect("served").is_left);
    assert!(machine.files.contents(RAW).is_err() && machine.files.contents(REDACTIONS).is_err());
    for name in ["events.jsonl", "journal.json", "local-output.json"] {
        machine.files.unplant(format!("{RUN}/{name}")).expect("removed");
    }
    // Without the retained secrets those of the boundary still count.
    let mut after = shown(&machine);
    assert_eq!(after["application"]["fingerprint"], "retained-word");
    after["application"]["fingerprint"] = "[redacted]".into();
    assert_eq!(after, before);
    plant(&machine, "sensitive-redactions.json", &redactions(&["retained-word"]));
    assert_eq!(shown(&machine), before);
}

#[test]
fn ex_jrn_59_paths_hashes_and_text_of_artifacts_are_the_providers_byte_for_byte() {
    let (result, reply) = (collected(), reply());
    for name in PUBLISHED {
        let (kept, given) = (result.get(name).expect(name), reply.get(name).expect(name));
        assert_eq!(kept.to_json(), given.to_json(), "{name}");
    }
    assert!(result.to_json().contains("let x = \\\"supplied-word\\\";\\r\\n"));
}

#[test]
fn ex_red_17_in_a_view_nothing_is_exempt_of_what_private_files_keep_exact() {
    let machine = with_result(&collected_with(&reply(), &Secrets::none()).to_json());
    // The owner keys and the rest of EX-ART-36.
    let application = serde_json::json!({
        "version": 1, "taskId": "t-1", "runId": "run-1", "providerJobId": "job-word", "sessionId": "s-1",
        "turnId": "turn-1", "inputHead": HASH, "status": "verified", "fingerprint": "cc", "appliedHead": "ee",
        "reason": "dirty", "blockedAt": 3, "evidence": "verification.json", "pr": null, "updatedAt": 4,
    });
    plant(&machine, "result-application.json", &application.to_string());
    let seen = |supplied: &[&str], retained: &[&str]| {
        plant(&machine, "sensitive-redactions.json", &redactions(retained));
        let view = result_view(RUN, &machine.host(), &Secrets::lenient(supplied), &Standing::default());
        texts(&view.expect("a view").expect("a result"))
    };
    let plain = seen(&[], &[]);
    let exact = ["t-1", "run-1", "job-word", "s-1", "turn-1", HASH, "cc", "dd", "b", "src/supplied-word.rs"];
    // Words and keys of our own are no exception either.
    for text in exact.iter().chain(&["verified", "fingerprint", "beforeHash", "application"]) {
        assert!(plain.contains(*text), "{text}: {plain:?}");
    }
    for secret in &plain {
        for (supplied, retained) in [(&[secret.as_str()][..], &[][..]), (&[], &[secret.as_str()])] {
            let seen = seen(supplied, retained);
            let left = seen.iter().find(|text| text.replace("[redacted]", "\0").contains(secret));
            assert_eq!(left, None, "{secret} of {supplied:?} {retained:?}");
        }
    }
}

#[test]
fn ex_red_18_pull_request_and_intake_text_are_exact_in_the_private_result_and_redacted_in_views() {
    const CREDENTIAL: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let pr =
        format!("{{\"title\":\"supplied-word\",\"body\":\"retained-word\\r\\n {CREDENTIAL} job-word\"}}");
    let text = format!("\"intake supplied-word\\r\\n {CREDENTIAL}\"");
    let reply = format!("{{\"outcome\":{{\"ok\":true,\"pr\":{pr}}},\"pr\":{pr},\"text\":{text}}}");
    let private = collected_with(&Value::parse(&reply).expect("JSON"), &secrets());
    let part = |name: &str| private.get(name).expect(name).to_json();
    assert_eq!((part("pr"), part("text")), (pr.clone(), text));
    // A view shows the text of no intake, and a pull request where a checkpoint or an outcome holds one.
    let machine = with_result(&private.to_json());
    plant(&machine, "result-application.json", &format!("{{\"version\":1,\"pr\":{pr}}}"));
    let outcome = Value::parse(&format!("{{\"pr\":{pr}}}")).expect("JSON");
    for outcome in [None, Some(outcome)] {
        let view = view(&machine, &Standing { outcome, cost_usd: None }).expect("a view").expect("a result");
        let shown: serde_json::Value = serde_json::from_str(&view.to_json()).expect("JSON");
        let redacted =
            serde_json::json!({"title": "[redacted]", "body": "[redacted]\r\n [redacted] [redacted]"});
        assert_eq!((&shown["application"]["pr"], &shown["outcome"]["pr"]), (&redacted, &redacted));
        assert!(!shown.to_string().contains("intake"), "{shown}");
    }
    let shown = read_run_result(RUN, &machine.host()).expect("read").expect("a result").to_json();
    assert!(
        shown.contains("[redacted]") && !shown.contains(CREDENTIAL) && !shown.contains("intake"),
        "{shown}"
    );
    assert_eq!(machine.files.contents(RESULT).expect("a result"), private.to_json().as_bytes());
}

#[test]
fn ex_red_21_redaction_of_diagnostics_rewrites_nothing_that_publication_reads() {
    let published = |of: &Value| PUBLISHED.map(|name| of.get(name).map(Value::to_json));
    let plain = reply();
    let wanted = published(&plain);
    assert!(wanted.iter().all(Option::is_some), "{wanted:?}");
    let read: BTreeSet<_> = PUBLISHED.iter().flat_map(|name| texts(plain.get(name).expect(name))).collect();
    assert!(
        ["supplied-word", "exact", "task/supplied-word", "ee", HASH].iter().all(|text| read.contains(*text))
    );
    // Each text that publication reads is a secret once, and the diagnostics say it.
    for secret in &read {
        let mut reply = plain.as_object().expect("an object").clone();
        let said =
            serde_json::json!({"diagnostics": {"tail": [format!("said {secret}"), {secret.as_str(): 1}]}});
        reply.insert("outcome", Value::parse(&said.to_string()).expect("JSON"));
        let private = collected_with(&Value::from(reply), &Secrets::lenient([secret]));
        let diagnostics = private.get("outcome").and_then(|outcome| outcome.get("diagnostics"));
        let left = texts(diagnostics.and_then(|diagnostics| diagnostics.get("tail")).expect("diagnostics"));
        assert!(
            left.iter().all(|text| !text.replace("[redacted]", "\0").contains(secret)),
            "{secret}: {left:?}"
        );
        assert_eq!(published(&private), wanted, "{secret}");
    }
    // Nor does their end.
    let private = collected().to_json();
    let machine = with_result(&private);
    drain(&machine, ENDED);
    machine.clock.advance(std::time::Duration::from_secs(86_400));
    serve(&machine, ENDED).expect("served");
    assert!(machine.files.contents(RAW).is_err() && machine.files.contents(REDACTIONS).is_err());
    assert_eq!(machine.files.contents(RESULT).expect("a result"), private.as_bytes());
}
