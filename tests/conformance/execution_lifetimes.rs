//! What outlives a call: identities and sessions through restarts and upgrades, stops of what has ended, panics (EX-REC-34,
//! EX-BND-15, EX-IDN-14 to 16 and 24, EX-ERR-08, EX-UPG).

use gallivant_core::Code;
use gallivant_core::execution::{AbortToken, Reply, Step};
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{observation_with, says};
use crate::support::task::{Answer, TaskRoot, acknowledgement, dispatch, dispatch_with, drive, object, with};

fn local(n: u32, changes: Json) -> Json {
    let local =
        json!({"model": null, "reservationUsd": null, "sessionId": "s-1", "spec": {"argv": ["tool"]}});
    with(dispatch_with(n, local), changes)
}

fn spawned() -> Answer {
    says(json!({"pid": 4242, "identity": "linux:boot:ns:77"}))
}

#[test]
fn ex_rec_34_a_stop_of_an_ended_root_is_never_sent() {
    for end in ["succeeded", "failed"] {
        for is_collected in [false, true] {
            let task = TaskRoot::new();
            task.accepted(1);
            task.ended(1, end);
            if is_collected {
                let result = if end == "failed" {
                    crate::support::pass::failure(1)
                } else {
                    crate::support::pass::result(1)
                };
                task.due_pass([says(result)]).ok();
            }
            let before = task.run(1);
            assert_eq!(task.stop_run([]).ok(), json!({"confirmed": false, "terminal": true}));
            let after = task.run(1);
            assert_eq!(
                (&after["cancellation"]["status"], &after["quarantined"]),
                (&json!("terminal"), &json!(true))
            );
            for kept in
                ["state", "terminalState", "terminalObservedAt", "completedAt", "costUsd", "collected"]
            {
                assert_eq!(after[kept], before[kept], "{kept}");
            }
        }
    }
}

#[test]
fn ex_bnd_15_what_stops_give() {
    let task = TaskRoot::new();
    task.accepted(1);
    let queue = json!({"reason": "enough", "controlId": "k1"});
    let queued = drive(task.boundary().request_cancel(object(&queue), AbortToken::new()), &task, []);
    assert_eq!(queued.ok(), json!({"queued": true}));
    assert_eq!(task.stop_run([says(json!({"confirmed": false}))]).ok(), json!({"confirmed": false}));
    let confirmed = TaskRoot::new();
    confirmed.accepted(1);
    assert_eq!(confirmed.stop_run([says(json!({"confirmed": true}))]).ok(), json!({"confirmed": true}));
    let ended = TaskRoot::new();
    ended.accepted(1);
    ended.ended(1, "failed");
    assert_eq!(ended.stop_run([]).ok(), json!({"confirmed": false, "terminal": true}));
    let mut unsupported = TaskRoot::new();
    unsupported.options["capabilities"]["cancel"] = json!(false);
    unsupported.accepted(1);
    assert_eq!(unsupported.stop_run([]).ok(), json!({"confirmed": false, "unsupported": true}));
}

#[test]
fn ex_idn_14_a_launch_keeps_the_session_that_it_minted() {
    let task = TaskRoot::local();
    task.submit(local(1, json!({})), [spawned()]).ok();
    assert_eq!(task.run(1)["sessionId"], "s-1");
    assert_eq!(task.operation(1)["acknowledgement"]["sessionId"], "s-1");
    // Also where the acknowledgement is found only after a restart.
    task.edit(|ledger| {
        ledger["operations"]["op-1"]["acceptance"] = json!("unknown");
        ledger["executions"]["run-1"]["providerJobId"] = Json::Null;
    });
    task.forced_pass([says(json!({"tree": "alive"}))]).ok();
    assert_eq!(task.run(1)["sessionId"], "s-1");
}

#[test]
fn ex_idn_15_an_anonymous_first_turn_establishes_one_session() {
    let gone = || says(json!({"tree": "gone", "exit": 0, "endedAt": NOW + 1}));
    let told = |session: Json| says(json!({"ok": true, "cost": null, "denials": [], "sessionId": session}));
    let anonymous = || {
        let task = TaskRoot::local();
        task.submit(local(1, json!({"sessionId": null})), [spawned()]).ok();
        task.machine.advance_ms(2);
        task
    };
    let task = anonymous();
    assert_eq!(task.run(1)["sessionId"], Json::Null);
    task.due_pass([gone(), told(json!("s-7"))]).ok();
    assert_eq!(task.run(1)["sessionId"], "s-7");
    let task = anonymous();
    task.due_pass([gone(), told(Json::Null)]).ok();
    assert_eq!(task.run(1)["sessionId"], Json::Null);
}

#[test]
fn ex_idn_16_a_run_from_before_is_continued_in_its_registered_session() {
    let task = TaskRoot::local();
    task.plant("latest-run", "old");
    let job = json!({"version": 1, "runId": "old", "endedAt": NOW - 1, "sessionId": "s-output"});
    task.plant("old/job.json", job.to_string());
    let input = local(1, json!({"sessionId": null, "legacySessionId": "s-registry"}));
    task.continue_run(input, [spawned()]).ok();
    assert_eq!(task.operation(1)["sessionId"], "s-registry");
}

#[test]
fn ex_idn_24_exact_names_stand_in_private_files_alone() {
    let mut task = TaskRoot::new();
    task.options["secrets"] = json!(["j-1", "s-1"]);
    task.accepted(1);
    let page = observation_with(1, "running", json!({"events": [crate::support::pass::event("about j-1")]}));
    task.forced_pass([says(page)]).ok();
    task.collected(1);
    let result: Json = serde_json::from_str(&task.text("run-1/result.json")).expect("JSON");
    assert_eq!((&result["providerJobId"], &result["turnId"]), (&json!("j-1"), &json!("t-1")));
    assert_eq!(
        (&task.run(1)["sessionId"], &task.job(1)["execution"]["turnId"]),
        (&json!("s-1"), &json!("t-1"))
    );
    let view = task.boundary().result_view("run-1").expect("shown").to_json();
    for hidden in ["j-1", "s-1"] {
        assert!(!view.contains(hidden), "{view}");
        for public in ["run-1/events.jsonl", "run-1/job.log"] {
            assert!(!task.text(public).contains(hidden), "{public}");
        }
    }
}

#[test]
fn ex_err_08_a_panic_becomes_an_error_and_leaves_the_last_durable_state() {
    for point in ["dispatch.intent", "dispatch.reply", "persist:execution.json"] {
        let mut task = TaskRoot::new();
        let mut left = if point == "persist:execution.json" { 2 } else { 1 };
        task.faults = crate::support::task::Points::new(point, move || {
            left -= 1;
            assert!(left != 0, "a fault of the library");
            gallivant_core::execution::FaultAnswer::Go
        });
        let boundary = task.boundary();
        let mut machine = boundary.submit(object(&dispatch(1)), AbortToken::new());
        let step = match machine.start() {
            Step::Call(call) => {
                let reply = Reply::Value(acknowledgement(1).to_string());
                machine.reply(call.id, reply).expect("outstanding")
            }
            done => done,
        };
        let Step::Done(Err(error)) = step else { panic!("{point}: it fails") };
        assert_eq!((error.code(), error.reason()), (Code::ExecutionIo, Some("internal")), "{point}");
        assert_eq!(task.operation(1)["acceptance"], "unknown", "{point}");
        // Its locks are free.
        task.faults = std::sync::Arc::new(gallivant_core::execution::NoFaults);
        let refusal = task.submit(dispatch(1), []).error();
        assert_eq!(refusal.code(), Code::ExecutionAcceptanceUnknown, "{point}");
    }
}

#[test]
fn ex_upg_01_an_older_ledger_keeps_every_identity() {
    let task = TaskRoot::new();
    task.accepted(1);
    task.collected(1);
    let identities = |task: &TaskRoot| {
        let (run, operation) = (task.run(1), task.operation(1));
        json!([
            task.ledger()["taskId"],
            run["providerJobId"],
            run["sessionId"],
            run["turnId"],
            operation["acknowledgement"],
            operation["idempotencyKey"],
            operation["inputFingerprint"]
        ])
    };
    let before = identities(&task);
    // As an older package of version 1 wrote it.
    task.edit(|ledger| {
        for newer in ["createdAt", "intakeDeadlineAt", "dispatchRefusals", "preparations"] {
            ledger.as_object_mut().expect("an object").remove(newer);
        }
        for newer in ["operatorAct", "response", "phase"] {
            ledger["operations"]["op-1"].as_object_mut().expect("an object").remove(newer);
        }
        for newer in ["absent", "lastError", "exitSnapshot", "workflow"] {
            ledger["executions"]["run-1"].as_object_mut().expect("an object").remove(newer);
        }
    });
    task.first_pass([]).ok();
    task.continue_run(dispatch(2), [says(acknowledgement(2))]).ok();
    assert_eq!(identities(&task), before);
}

#[test]
fn ex_upg_02_a_running_child_is_observed_by_its_recorded_identity() {
    let task = TaskRoot::local();
    task.submit(local(1, json!({})), [spawned()]).ok();
    let recorded = task.job(1)["process"].clone();
    // Members that an older package did not write.
    let mut job = task.job(1);
    for newer in ["killAfter", "kind", "completionInferred"] {
        job.as_object_mut().expect("an object").remove(newer);
    }
    task.plant("run-1/job.json", job.to_string());
    let pass = task.due_pass([says(json!({"tree": "alive"}))]);
    assert_eq!(pass.input("observe")["process"], recorded);
    assert_eq!(task.job(1)["process"], recorded);
}

#[test]
fn ex_upg_12_new_files_carry_versions() {
    let task = TaskRoot::new();
    task.accepted(1);
    let page = observation_with(1, "running", json!({"events": [crate::support::pass::event("e")]}));
    task.forced_pass([says(page)]).ok();
    task.collected(1);
    task.plant_control();
    task.forced_pass([]).ok();
    let mut seen = Vec::new();
    for (path, bytes) in task.tree().into_iter().filter(|(path, _)| path.ends_with(".json")) {
        let file: Json = serde_json::from_slice(&bytes).expect("JSON");
        assert!(file["version"].is_u64(), "{path}");
        seen.push(path);
    }
    for expected in [
        "execution.json",
        "controls/stop-1.json",
        "run-1/job.json",
        "run-1/journal.json",
        "run-1/log-meta.json",
        "run-1/result.json",
    ] {
        assert!(seen.iter().any(|path| path == expected), "{expected} among {seen:?}");
    }
}

#[test]
fn ex_upg_13_files_from_before_the_ledger_are_readable() {
    let task = TaskRoot::local();
    task.plant("old/job.json", json!({"version": 1, "runId": "old", "endedAt": NOW}).to_string());
    task.plant("old/job.log", "{\"sequence\":1,\"type\":\"output\",\"text\":\"hello\"}\n");
    task.plant("old/job.idx", 1_u64.to_le_bytes());
    let boundary = task.boundary();
    assert!(boundary.read("old").expect("read").is_some());
    let directory = boundary.dir_of("old").expect("named");
    let reader = gallivant_core::journal::LogReader::open(directory, task.machine.host()).expect("opened");
    let tail = reader.tail().expect("read");
    let first = tail.rows.first().expect("one line");
    if let Some(id) = &first.id {
        reader.history(id).expect("read");
    }
    reader.lines(None, 10).expect("read");
    assert!(!task.exists("execution.json"));
}
