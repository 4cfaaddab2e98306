//! Preparation on this machine, by a scripted process host (EX-PRE-01, EX-PRE-11, EX-PRE-13, EX-PRE-33).

use gallivant_core::Code;
use serde_json::{Value as Json, json};

use crate::support::pass::says;
use crate::support::task::{Answer, Ended, TaskRoot, dispatch_with, io_error, with};

fn task() -> TaskRoot {
    let mut task = TaskRoot::local();
    task.options["capabilities"]["authentication"]["secretNames"] = json!(["PROV_KEY"]);
    task.options["capabilities"]["preparation"] = json!({
        "version": 1, "boundary": "tools-off", "authority": "harness", "environment": null, "render": true,
        "configure": true, "minimumVersion": "2.1.0"
    });
    task
}

fn input() -> Json {
    json!({
        "operationId": "op-1", "phase": "draft", "prompt": "plan",
        "environment": {"PATH": "/bin", "LC_ALL": "C", "AWS_SECRET": "hunter2", "PROV_KEY": "k"}
    })
}

fn version(text: &str) -> Answer {
    says(json!({"version": text}))
}

fn rendered() -> Json {
    json!({"cmd": "tool", "args": ["-p", "--tools", ""], "options": {"cwd": null}})
}

fn prepare(task: &TaskRoot, answers: impl IntoIterator<Item = Answer>) -> Ended {
    task.prepare(input(), answers)
}

fn names(ended: &Ended) -> Vec<&'static str> {
    ended.calls.iter().map(|call| call.0).collect()
}

#[test]
fn ex_pre_01_a_native_preparation_gives_a_receipt_and_a_command_line() {
    let task = task();
    let ended = prepare(&task, [version("2.1.3 (tool)"), says(Json::Null), says(rendered())]);
    assert_eq!(names(&ended), ["version", "configure", "render"]);
    let given = ended.ok();
    assert_eq!(given["native"], rendered());
    assert!(given.get("environment").is_none());
    let receipt = given["receipt"].clone();
    let fingerprint = receipt["inputFingerprint"].as_str().expect("a hash").to_owned();
    assert_eq!(task.ledger()["preparations"][&fingerprint], receipt);
    // The exact command line is what the receipt is for.
    let intake = |native: Json| {
        dispatch_with(
            1,
            json!({
                "kind": "intake", "inputHead": null, "model": null, "prompt": "plan", "reservationUsd": null,
                "preparation": receipt.clone(), "native": native, "spec": {"argv": ["tool"]}
            }),
        )
    };
    for native in [with(rendered(), json!({"cmd": "other"})), with(rendered(), json!({"args": ["-p"]}))] {
        assert_eq!(task.refused(|task| task.submit(intake(native), [])).0, Code::ExecutionPreparation);
    }
    let spawned = says(json!({"pid": 4242, "identity": "linux:boot:ns:77"}));
    assert_eq!(task.submit(intake(rendered()), [spawned]).ok()["acceptance"], "accepted");
    assert_eq!(
        (&task.operation(1)["phase"], &task.operation(1)["preparation"]),
        (&json!("draft"), &json!(fingerprint))
    );
}

#[test]
fn ex_pre_11_a_late_configure_issues_nothing() {
    for (answer, code) in [
        (Answer::Deadline, Code::ExecutionDeadline),
        (Answer::Abort, Code::ExecutionIo),
        (Answer::Fails(io_error()), Code::ExecutionIo),
    ] {
        let task = task();
        let ended = prepare(&task, [version("2.1.0"), answer]);
        assert_eq!(names(&ended), ["version", "configure"]);
        assert_eq!(ended.error().code(), code);
        assert!(!task.exists("execution.json"));
    }
    // It is optional.
    let mut task = task();
    task.options["capabilities"]["preparation"]["configure"] = json!(false);
    assert_eq!(names(&prepare(&task, [version("2.1.0"), says(rendered())])), ["version", "render"]);
}

#[test]
fn ex_pre_13_the_environment_is_small() {
    let task = task();
    let ended = prepare(&task, [version("2.1.0"), says(Json::Null), says(rendered())]);
    for (method, input) in &ended.calls[1..] {
        assert_eq!(input["environment"], json!({"PATH": "/bin", "LC_ALL": "C", "PROV_KEY": "k"}), "{method}");
    }
    ended.ok();
    for (path, bytes) in task.tree() {
        assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"), "{path}");
    }
}

#[test]
fn ex_pre_33_an_older_or_unknown_version_is_refused() {
    for answer in [version("2.0.9"), version("nightly"), says(json!({})), says(Json::Null)] {
        let task = task();
        let ended = prepare(&task, [answer]);
        assert_eq!(names(&ended), ["version"]);
        let error = ended.error();
        assert_eq!((error.code(), error.reason()), (Code::ExecutionPreparation, Some("version")));
        assert!(!task.exists("execution.json"));
    }
    // A record without its mandatory parts, and a command line that is none.
    let mut lacking = task();
    lacking.options["capabilities"]["preparation"]["minimumVersion"] = Json::Null;
    assert_eq!(lacking.refused(|task| prepare(task, [])).0, Code::ExecutionPreparation);
    for wrong in
        [json!({"args": []}), json!({"cmd": "tool"}), json!({"cmd": "tool", "args": [1]}), Json::Null]
    {
        let task = task();
        let ended = prepare(&task, [version("3"), says(Json::Null), says(wrong)]);
        let error = ended.error();
        assert_eq!((error.code(), error.reason()), (Code::ExecutionProtocol, Some("shape")));
    }
}
