//! Receipts of intake turns, and what a dispatch may do with one: EX-PRE-02 to EX-PRE-20, EX-PRE-32.

use gallivant_core::Code;
use gallivant_core::execution::{FaultAnswer, TransportError, dispatch_not_sent_error, keys};
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::task::{
    Answer, Points, TaskRoot, accepts, acknowledgement, control, from_core, io_error, with,
};

const GRANT: &str = "private-grant-of-the-turn";
const REFUSED: (Code, Option<&str>) = (Code::ExecutionPreparation, None);

fn grant() -> Json {
    json!({"token": GRANT, "n": 0.5})
}

fn reply() -> Json {
    json!({"boundary": "text-only", "authority": "provider", "grant": grant()})
}

fn question(phase: &str) -> Json {
    json!({"operationId": "p-1", "phase": phase, "prompt": "draft it", "model": "m-1", "environment": "env-1"})
}

#[track_caller]
pub(crate) fn receipt(task: &TaskRoot, phase: &str) -> Json {
    task.prepare(question(phase), [Answer::Says(reply())]).ok()["receipt"].clone()
}

pub(crate) fn intake(n: u32, receipt: &Json) -> Json {
    json!({"operationId": format!("op-{n}"), "runId": format!("run-{n}"), "kind": "intake", "prompt": "draft it",
        "policy": "safe", "model": "m-1", "environment": "env-1", "preparation": receipt, "grant": grant()})
}

/// Prepares and submits `op-n`, and has it collected.
fn whole_turn(task: &TaskRoot, n: u32, phase: &str) {
    let receipt = receipt(task, phase);
    task.submit(intake(n, &receipt), accepts(n)).ok();
    task.settle(n);
}

fn hash(value: &Json) -> String {
    keys::canonical_hash(&gallivant_core::json::Value::parse(&value.to_string()).expect("JSON"))
        .expect("hashed")
}

fn fingerprint(phase: &str, native: &Json, grant: &Json) -> String {
    let environment = if grant.is_null() { Json::Null } else { json!(hash(grant)) };
    hash(&json!({"version": 1, "phase": phase, "prompt": "draft it", "boundary": "text-only",
        "authority": "provider", "cmd": native["cmd"], "args": native["args"], "model": "m-1",
        "environmentFingerprint": environment}))
}

#[test]
fn a_remote_prepare_gives_receipt_and_grant() {
    let task = TaskRoot::new();
    let ended = task.prepare(question("draft"), [Answer::Says(reply())]);
    let asked = json!({"taskId": "t-1", "provider": "prov", "account": "acct", "phase": "draft",
        "prompt": "draft it", "environment": "env-1", "allowanceUsd": 0.5});
    assert_eq!(ended.input("prepare"), asked);
    let value = ended.ok();
    assert_eq!(value["environment"], grant());
    assert_eq!(value["receipt"]["phase"], "draft");
    for wrong in [
        with(question("draft"), json!({"operationId": null})),
        with(question("draft"), json!({"phase": "final"})),
        with(question("draft"), json!({"prompt": null})),
        with(question("draft"), json!({"model": 7})),
    ] {
        assert_eq!(task.refused(|task| task.prepare(wrong, [])).0, Code::ExecutionInput);
    }
}

#[test]
fn ex_pre_02_a_receipt_has_exactly_these_members() {
    let task = TaskRoot::new();
    let expected = json!({"version": 1, "provider": "prov", "account": "acct", "authority": "provider",
        "boundary": "text-only", "taskId": "t-1", "inputFingerprint": fingerprint("draft", &json!({}), &grant()),
        "issuedAt": NOW, "phase": "draft"});
    assert_eq!(receipt(&task, "draft"), expected);
    for (key, value) in expected.as_object().expect("an object") {
        let wrong = if value.is_number() { json!("1") } else { json!(7) };
        let refused =
            task.refused(|task| task.submit(intake(1, &with(expected.clone(), json!({key: wrong}))), []));
        assert_eq!(refused, REFUSED, "{key}");
    }
}

#[test]
fn ex_pre_03_the_fingerprint_is_the_hash_of_these_members() {
    let task = TaskRoot::new();
    for phase in ["draft", "clarify", "repair"] {
        assert_eq!(receipt(&task, phase)["inputFingerprint"], fingerprint(phase, &json!({}), &grant()));
    }
    let without = json!({"boundary": "text-only", "authority": "provider"});
    let receipt = task.prepare(question("draft"), [Answer::Says(without)]).ok()["receipt"].clone();
    assert_eq!(
        receipt["inputFingerprint"],
        fingerprint("draft", &json!({}), &json!(null)),
        "absent parts are null"
    );
}

#[test]
fn ex_pre_04_the_grant_is_written_nowhere() {
    let mut task = TaskRoot::new();
    let points = Points::new("", || FaultAnswer::Go);
    task.faults = points;
    let receipt = receipt(&task, "draft");
    let ended = task.submit(intake(1, &receipt), [Answer::Fails(io_error())]);
    assert_eq!(ended.input("submit")["preparation"]["grant"], grant(), "it is in the call");
    let error = ended.error();
    assert!(!format!("{error:?} {error} {}", error.remedy()).contains(GRANT));
    let refused = task.submit(intake(2, &receipt), []).error();
    assert!(!format!("{refused:?}").contains(GRANT));
    for (path, bytes) in task.tree() {
        assert!(!String::from_utf8_lossy(&bytes).contains(GRANT), "{path}");
    }
    // The same grant with its members in another order is the same grant.
    let other = TaskRoot::new();
    let reordered = format!(
        r#"{{"boundary":"text-only","authority":"provider","grant":{{"n":0.50,"token":"{GRANT}"}}}}"#
    );
    let receipt = other.prepare(question("draft"), [Answer::Text(reordered)]).ok()["receipt"].clone();
    assert_eq!(receipt["inputFingerprint"], fingerprint("draft", &json!({}), &grant()));
}

#[test]
fn ex_pre_05_a_receipt_that_the_ledger_does_not_have_is_not_issued() {
    let task = TaskRoot::new();
    let issued = receipt(&task, "draft");
    let name = issued["inputFingerprint"].as_str().expect("a text");
    assert_eq!(task.ledger()["preparations"], json!({name: issued}));
    task.edit(|ledger| ledger["preparations"] = json!({}));
    assert_eq!(task.refused(|task| task.submit(intake(1, &issued), [])), REFUSED);
    // One that was issued in another root is not issued in this one.
    let other = TaskRoot::new();
    receipt(&other, "clarify");
    assert_eq!(other.refused(|task| task.submit(intake(1, &issued), [])), REFUSED);
}

#[test]
fn ex_pre_06_an_intake_needs_an_issued_receipt_that_is_equal_in_every_field() {
    let task = TaskRoot::new();
    let issued = receipt(&task, "draft");
    for changes in [
        json!({"issuedAt": NOW + 1}),
        json!({"phase": "repair"}),
        json!({"account": "other"}),
        json!({"inputFingerprint": "0".repeat(64)}),
        json!({"more": 1}),
    ] {
        let changed = with(issued.clone(), changes.clone());
        assert_eq!(task.refused(|task| task.submit(intake(1, &changed), [])), REFUSED, "{changes}");
    }
    for none in [json!(null), json!(7), json!({}), json!([issued.clone()])] {
        assert_eq!(task.refused(|task| task.submit(intake(1, &none), [])), REFUSED, "{none}");
    }
    let ended = task.submit(intake(1, &issued), accepts(1));
    let sent = ended.input("submit");
    assert_eq!(sent["preparation"], with(issued.clone(), json!({"grant": grant()})));
    assert_eq!((&sent["kind"], &sent["inputHead"]), (&json!("intake"), &json!(null)));
    ended.ok();
    let (operation, run) = (task.operation(1), task.run(1));
    assert_eq!(
        (&operation["phase"], &operation["preparation"]),
        (&json!("draft"), &issued["inputFingerprint"])
    );
    assert_eq!((&run["kind"], &run["receipt"]), (&json!("intake"), &issued["inputFingerprint"]));
}

#[test]
fn ex_pre_07_another_argument_prompt_or_grant_makes_the_receipt_unusable() {
    let native = json!({"cmd": "harness", "args": ["-p", "--strict"], "options": {"cwd": "/"}});
    let task = TaskRoot::new();
    let issued = receipt(&task, "draft");
    // As a local preparation issues it: with the command line in its fingerprint.
    let name = fingerprint("draft", &native, &grant());
    let issued = with(issued, json!({"inputFingerprint": name}));
    task.edit(|ledger| ledger["preparations"] = json!({name: issued}));
    let exact = with(intake(1, &issued), json!({"native": native}));
    for changes in [
        json!({"native": {"cmd": "harness", "args": ["-p", "--Strict"]}}),
        json!({"native": {"cmd": "harness", "args": ["-p", "--strict", ""]}}),
        json!({"native": {"cmd": "harness", "args": ["--strict", "-p"]}}),
        json!({"native": {"cmd": "Harness", "args": ["-p", "--strict"]}}),
        json!({"native": null}),
        json!({"prompt": "draft it "}),
        json!({"grant": {"token": GRANT}}),
        json!({"grant": null}),
        json!({"model": "m-2"}),
    ] {
        assert_eq!(
            task.refused(|task| task.submit(with(exact.clone(), changes.clone()), [])),
            REFUSED,
            "{changes}"
        );
    }
    task.submit(exact, accepts(1)).ok();
}

#[test]
fn ex_pre_08_a_receipt_of_somebody_else_is_refused() {
    for (key, value) in [
        ("provider", "other"),
        ("account", "other"),
        ("taskId", "t-2"),
        ("authority", "somebody"),
        ("boundary", "anything"),
    ] {
        let task = TaskRoot::new();
        let issued = with(receipt(&task, "draft"), json!({key: value}));
        let name = issued["inputFingerprint"].as_str().expect("a text");
        // Even where the ledger says that it was issued.
        task.edit(|ledger| ledger["preparations"] = json!({name: issued}));
        assert_eq!(task.refused(|task| task.submit(intake(1, &issued), [])), REFUSED, "{key}");
    }
}

#[test]
fn ex_pre_09_the_plain_word_of_an_older_receipt_is_the_declared_boundary() {
    let task = TaskRoot::new();
    for word in ["", "text", "text-only ", "Text-only", "provider"] {
        assert_eq!(task.refused(|task| task.submit(intake(1, &json!(word)), [])), REFUSED, "{word}");
    }
    task.submit(intake(1, &json!("text-only")), accepts(1)).ok();
    assert_eq!(
        (&task.operation(1)["preparation"], &task.operation(1)["phase"]),
        (&json!(null), &json!(null))
    );
}

#[test]
fn a_stop_or_a_deadline_while_the_provider_is_asked_issues_nothing() {
    let mut task = TaskRoot::new();
    let root = task.path();
    task.faults = Points::new("prepare.reply", move || {
        std::fs::create_dir_all(root.join("controls")).expect("a directory");
        std::fs::write(root.join("controls/stop-1.json"), control()).expect("a stop");
        FaultAnswer::Go
    });
    let error = task.prepare(question("draft"), [Answer::Says(reply())]).error();
    assert_eq!(error.code(), Code::ExecutionFenced);
    assert!(!task.exists("execution.json"));
    let task = TaskRoot::new();
    let error = task.prepare(question("draft"), [Answer::Deadline]).error();
    assert_eq!((error.code(), error.reason()), (Code::ExecutionDeadline, Some("deadline")));
    let error = task.prepare(question("draft"), [Answer::Fails(io_error())]).error();
    assert_eq!((error.code(), error.reason()), (Code::ExecutionIo, Some("io")));
    assert!(!task.exists("execution.json"));
    task.plant_control();
    assert_eq!(task.refused(|task| task.prepare(question("draft"), [])).0, Code::ExecutionFenced);
}

#[test]
fn ex_pre_12_a_reply_with_another_boundary_or_authority_or_too_large_a_grant_issues_nothing() {
    let task = TaskRoot::new();
    for changes in [
        json!({"boundary": "text-and-tools"}),
        json!({"authority": null}),
        json!({"grant": {"g": "x".repeat(16_384)}}),
        json!({"grant": "a token"}),
    ] {
        let ended = task.prepare(question("draft"), [Answer::Says(with(reply(), changes.clone()))]);
        assert_eq!(ended.error().code(), Code::ExecutionProtocol, "{changes}");
        assert!(!task.exists("execution.json"), "{changes}");
    }
    let largest = json!({"g": "x".repeat(16_384 - 8)});
    assert_eq!(largest.to_string().len(), 16_384);
    task.prepare(question("draft"), [Answer::Says(with(reply(), json!({"grant": largest})))]).ok();
}

#[test]
fn ex_pre_14_a_receipt_authorises_one_operation_until_it_is_issued_again() {
    // The clock stands still all the while, and goes back once.
    for back in [0, 5000] {
        let task = TaskRoot::new();
        let first = receipt(&task, "draft");
        let refusal: TransportError = dispatch_not_sent_error("no-seat", "");
        task.submit(intake(1, &first), [Answer::Fails(refusal)]).error();
        task.submit(intake(2, &first), accepts(2)).ok();
        task.settle(2);
        assert_eq!(task.refused(|task| task.submit(intake(3, &first), [])), REFUSED, "used");
        task.machine.set_wall_ms(NOW - back);
        let second = receipt(&task, "draft");
        assert_eq!(second["inputFingerprint"], first["inputFingerprint"]);
        let refusal: TransportError = dispatch_not_sent_error("no-seat", "");
        task.submit(intake(3, &second), [Answer::Fails(refusal)]).error();
        task.submit(intake(3, &second), accepts(3)).ok();
        task.settle(3);
        for used in [&first, &second] {
            assert_eq!(task.refused(|task| task.submit(intake(4, used), [])), REFUSED, "{used}");
        }
        // A use counts for an operation whose acceptance is unknown, and for one that is absent.
        let third = receipt(&task, "draft");
        task.submit(intake(4, &third), [Answer::Deadline]).error();
        task.settle_absent(json!({"operationId": "op-4", "evidence": "seen"})).ok();
        assert_eq!(task.refused(|task| task.submit(intake(5, &third), [])), REFUSED);
    }
}

#[test]
fn ex_pre_17_an_intake_turn_reserves_a_sixteenth_or_what_is_left() {
    let mut task = TaskRoot::new();
    task.options["budgetUsd"] = json!(1);
    let first = receipt(&task, "draft");
    let sent =
        task.submit(with(intake(1, &first), json!({"reservationUsd": 0.9})), accepts(1)).input("submit");
    assert_eq!(sent["reservationUsd"], 0.0625, "whatever the caller reserves");
    assert_eq!(task.ledger()["allowance"]["chargedUsd"], 0.0625);
    task.settle(1);
    task.edit(|ledger| ledger["allowance"]["chargedUsd"] = json!(0.99));
    let second = receipt(&task, "clarify");
    task.submit(intake(2, &second), accepts(2)).ok();
    assert_eq!(task.operation(2)["reservationUsd"], 0.01);
    task.settle(2);
    task.edit(|ledger| ledger["allowance"]["chargedUsd"] = json!(1));
    let exhausted = (Code::ExecutionAllowance, Some("budget"));
    assert_eq!(task.refused(|task| task.prepare(question("repair"), [])), exhausted);
    let word = json!("text-only");
    assert_eq!(task.refused(|task| task.submit(intake(3, &word), [])), exhausted);
}

#[test]
fn ex_pre_18_the_seventeenth_intake_is_refused() {
    let task = TaskRoot::new();
    for n in 1..=15 {
        task.submit(intake(n, &json!("text-only")), accepts(n)).ok();
        task.settle(n);
    }
    let refusal = dispatch_not_sent_error("no-seat", "");
    task.submit(intake(16, &json!("text-only")), [Answer::Fails(refusal)]).error();
    task.submit(intake(17, &json!("text-only")), [Answer::Deadline]).error();
    task.settle_absent(json!({"operationId": "op-17", "evidence": "seen"})).ok();
    // An unknown one counts, a proven refusal does not: these were sixteen.
    let limit = (Code::ExecutionAllowance, Some("turn-limit"));
    assert_eq!(task.refused(|task| task.submit(intake(18, &json!("text-only")), [])), limit);
}

#[test]
fn ex_pre_19_the_fourth_repair_is_refused() {
    let task = TaskRoot::new();
    for n in 1..=3 {
        whole_turn(&task, n, "repair");
    }
    let fourth = receipt(&task, "repair");
    let limit = (Code::ExecutionAllowance, Some("repair-limit"));
    assert_eq!(task.refused(|task| task.submit(intake(4, &fourth), [])), limit);
    whole_turn(&task, 4, "clarify");
}

#[test]
fn ex_pre_32_receipts_reservations_and_observations_come_back_as_values() {
    let task = TaskRoot::new();
    let prepared = task.prepare(question("draft"), [Answer::Says(reply())]).ok();
    let name = prepared["receipt"]["inputFingerprint"].as_str().expect("a text");
    assert_eq!(prepared["receipt"], task.ledger()["preparations"][name]);
    let submitted = task.submit(intake(1, &prepared["receipt"]), accepts(1)).ok();
    assert_eq!(submitted["execution"]["receipt"], name);
    assert_eq!(submitted["acknowledgement"]["turnId"], acknowledgement(1)["turnId"]);
    let shown = from_core(&task.boundary().inspect().expect("inspected"));
    assert_eq!((&shown["kind"], &shown["state"]), (&json!("intake"), &json!("queued")));
    assert_eq!(shown["execution"], submitted["execution"]);
}
