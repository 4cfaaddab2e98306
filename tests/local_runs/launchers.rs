//! A launcher that is killed at each step of a start: a harness runs only if it is on disk, and then it is found (EX-LOC-02, 03, 16).

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::ground::{Ground, eventually, pause};

/// A coordinator in a process of its own that stands still at a point.
struct Launcher(Child);

impl Launcher {
    #[track_caller]
    fn stands_at(ground: &Ground, script: &str, point: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_launcher"))
            .arg(ground.task())
            .args([ground.options.to_string(), ground.script(1, script).to_string(), point.to_owned()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("it says something");
        assert_eq!(line.trim(), "here", "at {point}");
        Launcher(child)
    }

    fn killed(mut self) {
        self.0.kill().expect("it is ours");
        self.0.wait().expect("it ends");
    }
}

const SCRIPT: &str = "echo $$ > pid; while test ! -e go; do sleep 0.01; done; exit 5";

/// The points of a start behind which no harness may run.
const BEFORE: [&str; 7] = [
    "persist:execution.json",
    "dispatch.intent",
    "persist:run-1/job.json",
    "persist:run-1/sensitive-redactions.json",
    "dispatch.reply",
    "local.spawned",
    "remove:nothing",
];

#[test]
fn ex_loc_03_a_launcher_that_dies_before_the_process_is_on_disk_leaves_no_process() {
    for point in &BEFORE[..6] {
        let ground = Ground::new();
        Launcher::stands_at(&ground, SCRIPT, point).killed();
        // The supervisor sees the end of its launcher, and the harness behind its gate goes with it.
        pause(300);
        assert!(!ground.has_mark("pid"), "{point}: nothing was started");
        let has_intent = ground.task().join("execution.json").exists();
        if has_intent {
            ground.pass();
            assert_eq!(
                ground.file("execution.json")["operations"]["op-1"]["acceptance"],
                "unknown",
                "{point}: an operator settles it"
            );
        }
        if point.starts_with("dispatch.reply") || point.starts_with("local") {
            eventually("what the supervisor records", || ground.task().join("run-1/exit.json").exists());
            let exit = ground.file("run-1/exit.json");
            assert_eq!((&exit["started"], &exit["runId"]), (&json!(false), &json!("run-1")), "{point}");
        }
    }
}

#[test]
fn ex_loc_16_a_launcher_that_dies_behind_that_leaves_a_run_that_is_found_and_settled() {
    for point in ["dispatch.accepted", "persist:latest-run"] {
        let ground = Ground::new();
        Launcher::stands_at(&ground, SCRIPT, point).killed();
        ground.marked_pid("pid");
        ground.pass();
        assert_eq!(ground.run(1)["state"], "running", "{point}");
        assert_eq!(ground.text("latest-run"), "run-1");
        std::fs::write(ground.place().join("go"), "").expect("written");
        let outcome = ground.settled(1);
        assert_eq!((&outcome["ok"], &outcome["exit"]), (&json!(false), &json!(5)), "{point}");
        let job = ground.job(1);
        let exit = ground.file("run-1/exit.json");
        assert_eq!((&job["exit"], &job["endedAt"]), (&exit["exit"], &exit["endedAt"]), "{point}");
        assert_eq!(ground.run(1)["completionInferred"], false);
    }
}

#[test]
fn ex_loc_03_a_launcher_that_dies_with_the_record_written_and_the_gate_shut_has_started_the_run() {
    // The record of the process is on disk, and the launcher dies before it opens the gate: the supervisor reads the record.
    let ground = Ground::new();
    let launcher = Launcher::stands_at(&ground, SCRIPT, "local.spawned");
    assert!(!ground.has_mark("pid"), "the gate is shut");
    let said = supervised(&ground);
    let table = gallivant_core::process::SystemProcessTable;
    let above = gallivant_core::process::ProcessTable::lineage(&table, said.0).expect("it waits").parent;
    let above = gallivant_core::process::RecordedProcess::of(above, &table).expect("it waits too");
    ground.edit_job(1, |job| {
        job["process"] = json!({
            "pid": said.0, "identity": said.1, "group": said.0, "startedAt": 1,
            "supervisor": {"pid": above.pid, "identity": above.identity}
        });
    });
    launcher.killed();
    assert_eq!(ground.marked_pid("pid"), said.0);
    ground.pass();
    assert_eq!(ground.run(1)["state"], "running");
    std::fs::write(ground.place().join("go"), "").expect("written");
    assert_eq!(ground.settled(1)["exit"], 5);
}

/// The harness that waits behind its gate: the child of the supervisor that serves this root.
fn supervised(ground: &Ground) -> (u32, String) {
    use gallivant_core::process::{ProcessTable, RecordedProcess, SystemProcessTable};
    let directory = ground.task().join("run-1");
    let table = SystemProcessTable;
    let mut found = None;
    eventually("the supervisor", || {
        let entries = table.entries().expect("the table");
        let serves = |pid: u32| {
            let arguments = table.lineage(pid).map(|lineage| lineage.arguments).unwrap_or_default();
            arguments.get(1).is_some_and(|argument| std::path::Path::new(argument) == directory)
        };
        let harness = entries.iter().find(|entry| serves(entry.pid) && serves(entry.parent));
        found = harness.and_then(|entry| RecordedProcess::of(entry.pid, &table));
        found.is_some()
    });
    let process = found.expect("it was found");
    (process.pid, process.identity)
}

#[test]
fn a_launcher_that_is_killed_afterwards_changes_nothing() {
    let ground = Ground::new();
    // No point of this name comes, so it runs to its end.
    let status = Command::new(env!("CARGO_BIN_EXE_launcher"))
        .arg(ground.task())
        .args([ground.options.to_string(), ground.script(1, SCRIPT).to_string(), "none".to_owned()])
        .stdout(Stdio::null())
        .status()
        .expect("it starts");
    assert!(status.success());
    let harness = ground.marked_pid("pid");
    assert!(crate::ground::is_alive(harness), "it outlives its launcher");
    std::fs::write(ground.place().join("go"), "").expect("written");
    assert_eq!(ground.settled(1)["exit"], 5);
}

/// Sends SIGKILL to somebody of a start when it comes to a point, once.
#[derive(Debug)]
struct KillAt {
    point: &'static str,
    whom: Whom,
    ground: std::path::PathBuf,
    is_done: std::sync::atomic::AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whom {
    Supervisor,
    Harness,
}

impl gallivant_core::execution::Faults for KillAt {
    fn at(&self, point: &str) -> gallivant_core::execution::FaultAnswer {
        if point == self.point && !self.is_done.swap(true, std::sync::atomic::Ordering::Relaxed) {
            let (harness, supervisor) = started_below(&self.ground);
            crate::ground::sigkill(if self.whom == Whom::Harness { harness } else { supervisor });
            // The other one has seen it by then, or sees it later: both are right.
            if self.whom == Whom::Supervisor {
                eventually("its end", || !crate::ground::is_alive(supervisor));
            }
        }
        gallivant_core::execution::FaultAnswer::Go
    }
}

/// The harness of the run in this directory and its supervisor, before or behind the gate.
fn started_below(task: &std::path::Path) -> (u32, u32) {
    use gallivant_core::process::{ProcessTable, SystemProcessTable};
    let directory = task.join("run-1");
    let table = SystemProcessTable;
    let mut found = None;
    eventually("the supervisor", || {
        let entries = table.entries().expect("the table");
        let serves = |pid: u32| {
            let arguments = table.lineage(pid).map(|lineage| lineage.arguments).unwrap_or_default();
            arguments.get(1).is_some_and(|argument| std::path::Path::new(argument) == directory)
        };
        let supervisor = entries.iter().find(|entry| serves(entry.pid) && !serves(entry.parent));
        let harness = supervisor.and_then(|above| entries.iter().find(|entry| entry.parent == above.pid));
        found = harness.map(|harness| (harness.pid, harness.parent));
        found.is_some()
    });
    found.expect("it was found")
}

#[test]
fn ex_loc_16_a_supervisor_or_a_harness_that_dies_at_a_step_of_a_start_is_no_run_that_is_well() {
    // Behind the first two the gate is shut, and behind the others it is open.
    for point in ["dispatch.reply", "local.spawned", "dispatch.accepted", "persist:latest-run"] {
        for whom in [Whom::Supervisor, Whom::Harness] {
            let mut ground = Ground::new();
            let is_done = std::sync::atomic::AtomicBool::new(false);
            ground.faults = std::sync::Arc::new(KillAt { point, whom, ground: ground.task(), is_done });
            ground.start(1, SCRIPT);
            let is_shut = point == "dispatch.reply" || point == "local.spawned";
            if is_shut {
                pause(100);
                assert!(!ground.has_mark("pid"), "{point} {whom:?}: it never starts");
            } else if whom == Whom::Supervisor {
                assert!(crate::ground::is_alive(ground.marked_pid("pid")), "{point}: the harness works on");
                ground.pass();
                assert_eq!(ground.run(1)["state"], "running", "{point}");
                std::fs::write(ground.place().join("go"), "").expect("written");
            }
            let outcome = ground.settled(1);
            assert_eq!((&outcome["ok"], &outcome["exit"]), (&json!(false), &json!(null)), "{point} {whom:?}");
            let is_recorded = ground.task().join("run-1/exit.json").exists();
            assert_eq!(is_recorded, whom == Whom::Harness, "{point} {whom:?}");
            assert_eq!(ground.run(1)["completionInferred"], !is_recorded, "{point} {whom:?}");
            // The task goes on.
            ground.start(2, "exit 0");
            assert_eq!(ground.settled(2)["ok"], true, "{point} {whom:?}");
        }
    }
}
