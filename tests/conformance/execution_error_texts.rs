//! EX-ERR-05 and EX-ERR-06: an error with a saved consequence is its run's last error, and none tells what is private.

use gallivant_core::Code;
use serde_json::{Value as Json, json};

use crate::execution_ledger_refusals::pass;
use crate::support::NOW;
use crate::support::task::{
    Answer, Ended, TaskRoot, acknowledgement, dispatch, dispatch_with, io_error, with,
};

/// Everything that is refused, with this secret wherever a caller or a transport can put it.
fn errors_with(secret: &str) -> Vec<gallivant_core::Error> {
    let mut task = TaskRoot::new();
    task.options["secrets"] = json!([secret]);
    let submit = |changes: Json| task.submit(dispatch_with(1, changes), []).error();
    let mut errors = vec![
        submit(json!({"policy": secret})),
        submit(json!({"model": 7, "prompt": secret})),
        submit(json!({"environment": secret, "hardCapRequired": true})),
        submit(json!({"inputHead": secret})),
    ];
    let failing = |answer| task.submit(dispatch_with(1, json!({"prompt": secret})), [answer]).error();
    let refusal = gallivant_core::execution::dispatch_not_sent_error(secret, secret);
    errors.push(failing(Answer::Fails(refusal)));
    errors.push(failing(Answer::Text(format!("{{\"providerJobId\":\"{secret}\""))));
    errors.push(task.submit(dispatch_with(1, json!({"prompt": secret})), []).error());
    errors.push(task.submit(dispatch(2), []).error());
    assert!(!task.text("execution.json").contains(secret), "{}", task.text("execution.json"));
    // An id and an owner are the coordinator's own words, and may be a secret all the same.
    let mut other = TaskRoot::new();
    other.options = task.options.clone();
    other.options["capabilities"]["newDispatch"] = json!({"available": false, "reason": secret});
    errors.push(other.submit(dispatch(1), []).error());
    let named = with(dispatch(3), json!({"operationId": secret, "runId": null}));
    errors.push(task.submit(named, []).error());
    errors
}

#[test]
fn ex_err_05_every_error_with_a_saved_consequence_is_the_last_error_of_its_run() {
    let last = |task: &TaskRoot| {
        let error = &task.run(1)["lastError"];
        (error["code"].clone(), error["reason"].clone())
    };
    for answer in [Answer::Fails(io_error()), Answer::Deadline, Answer::Says(json!({"providerJobId": "j"}))] {
        let task = TaskRoot::new();
        let error = task.submit(dispatch(1), [answer]).error();
        assert_eq!(last(&task), (json!(error.code().name()), json!(error.reason())));
    }
    let task = TaskRoot::new();
    task.accepted(1);
    for answer in [
        Answer::Fails(io_error()),
        Answer::Deadline,
        Answer::Text("[".to_owned()),
        Answer::Says(with(
            acknowledgement(1),
            json!({"state": "running", "observedAt": NOW + 1_000_000_000}),
        )),
        Answer::Says(with(acknowledgement(1), json!({"state": "asleep", "observedAt": NOW}))),
    ] {
        let report = pass(&task, [answer]).ok();
        assert!(report["error"]["code"].is_string(), "{report}");
        assert_eq!(last(&task), (report["error"]["code"].clone(), report["error"]["reason"].clone()));
    }
    // What has no consequence leaves none.
    let before = task.run(1);
    task.submit(dispatch(2), []).error();
    assert_eq!(task.run(1), before);
}

#[test]
fn ex_err_06_no_error_text_holds_a_secret_a_prompt_or_what_was_rejected() {
    for error in errors_with("hunter2-hunter2") {
        let text = format!("{error} {error:?} {}", error.remedy());
        assert!(!text.contains("hunter2"), "{text}");
    }
    let task = TaskRoot::new();
    let ended: Ended = task.submit(
        dispatch_with(1, json!({"prompt": "my own prompt"})),
        [Answer::Says(json!({
        "providerJobId": "rejected-job", "turnId": 7}))],
    );
    let error = ended.error();
    assert_eq!(error.reason(), Some("identity"));
    let text = format!("{error} {error:?}");
    assert!(!text.contains("my own prompt") && !text.contains("rejected-job"), "{text}");
}

#[test]
fn refusals_and_what_is_noted_of_them_are_redacted() {
    let secret = "correct-horse-battery";
    let mut task = TaskRoot::new();
    task.options["secrets"] = json!([secret]);
    let refusal = gallivant_core::execution::dispatch_not_sent_error(format!("code {secret}"), "m");
    let error = task.submit(dispatch(1), [Answer::Fails(refusal)]).error();
    assert!(!format!("{error:?}").contains(secret));
    let entry = task.ledger()["dispatchRefusals"][0]["code"].clone();
    assert!(entry.as_str().expect("a text").starts_with("code "), "{entry}");
    assert!(!entry.to_string().contains(secret), "{entry}");
    // The remedy of a health record is a text of somebody else's.
    task.options["health"] = json!({"version": 1, "provider": "prov", "account": "acct", "ok": false,
        "checkedAt": NOW, "nextAttemptAt": NOW + 1, "failures": 1, "code": "auth",
        "remedy": format!("use {secret}"), "evidence": null});
    let error = task.submit(dispatch(1), []).error();
    assert_eq!(error.code(), Code::ExecutionHealth);
    assert!(error.remedy().starts_with("use ") && !error.remedy().contains(secret), "{}", error.remedy());
    // What an operator saw is redacted before it is saved.
    task.options["health"] = json!("external");
    task.submit(dispatch(1), [Answer::Fails(io_error())]).error();
    let evidence = format!("the console said {secret}");
    task.settle_absent(json!({"operationId": "op-1", "evidence": evidence})).ok();
    let saved = task.operation(1)["operatorAct"]["evidence"].clone();
    assert!(saved.as_str().expect("a text").starts_with("the console said "), "{saved}");
    assert!(!task.text("execution.json").contains(secret));
}
