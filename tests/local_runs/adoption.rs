//! Runs from before the ledger that live: taken over before their stop, exactly as their records name them (EX-LOC-24, EX-CAN-37).

use gallivant_core::process::{ProcessTable, RecordedProcess, SystemProcessTable};
use serde_json::json;

use crate::ground::{Ground, PATIENCE, is_alive};

/// A process of this test's own, recorded as a run of an older package would be, without a supervisor.
fn older_run(ground: &Ground, session: &str) -> std::process::Child {
    use std::os::unix::process::CommandExt;
    let child = std::process::Command::new("sleep").arg("60").process_group(0).spawn().expect("it starts");
    let process = RecordedProcess::of(child.id(), &SystemProcessTable).expect("it runs");
    let directory = ground.task().join("run-0");
    std::fs::create_dir_all(&directory).expect("a directory");
    let job = json!({
        "version": 1, "runId": "run-0", "sessionId": session, "startedAt": 1, "endedAt": null,
        "process": {"pid": process.pid, "identity": process.identity, "group": process.pid, "startedAt": 1}
    });
    std::fs::write(directory.join("job.json"), job.to_string()).expect("planted");
    std::fs::write(ground.task().join("latest-run"), "run-0").expect("planted");
    child
}

#[test]
fn ex_loc_24_a_living_run_from_before_the_ledger_is_adopted_and_stopped() {
    let ground = Ground::new();
    let mut child = older_run(&ground, "s-0");
    let pid = child.id();
    let refused = ground.start_with(ground.script(1, "true")).expect_err("EX-IDN-17");
    assert_eq!(refused.code(), gallivant_core::Code::ExecutionActive);
    ground.kill(0, 60_000);
    let run = ground.run(0);
    assert_eq!(
        (&run["legacy"], &run["operationId"], &run["sessionId"]),
        (&json!(true), &json!(null), &json!("s-0"))
    );
    // It is this test's child: until it is reaped its pid is its own.
    child.wait().expect("it ends");
    assert!(!is_alive(pid));
    assert!(ground.wait_for_kill(0, PATIENCE));
    ground.pass();
    assert_eq!(ground.run(0)["cancellation"]["status"], "confirmed");
}

#[test]
fn ex_loc_24_another_session_or_an_end_adopts_nothing_and_signals_nobody() {
    let ground = Ground::new();
    let mut child = older_run(&ground, "s-0");
    let input = json!({"reason": "enough", "legacySessionId": "s-other"});
    let abort = gallivant_core::execution::AbortToken::new();
    let runs = ground.runs();
    let machine = runs.boundary().cancel(crate::ground::object(&input), abort);
    gallivant_core::execution::local_runs::drive(machine).expect("a stop");
    assert_eq!(ground.file("execution.json")["executions"], json!({}));
    assert_eq!(ground.file("execution.json")["stopFence"]["kind"], "operator");
    assert!(is_alive(child.id()));
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    assert!(SystemProcessTable.lineage(child.id()).is_none());
}
