//! A pid that is used again, and a process table that cannot be read, with real processes (EX-LOC-06, 07): each test runs itself
//! once more as the first process of a pid namespace, where the next pid can be said beforehand.
//!
//! Needs `unshare` and the right to make a namespace; elsewhere each test says so and shows nothing.

use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::ground::{Ground, PATIENCE, eventually, is_alive, pid, sigkill};

/// Set for a test that runs inside.
const INSIDE: &str = "GALLIVANT_TEST_INSIDE";

/// Whether this is the process inside, which is to show something; the one outside waits for it here.
#[track_caller]
fn is_inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let unshare = |program: &str| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--kill-child", "--mount-proc", program]);
        unshare
    };
    if !unshare("true").output().is_ok_and(|made| made.status.success()) {
        println!("skipped: no pid namespace can be made here");
        return false;
    }
    let own = std::env::current_exe().expect("this program");
    let status = unshare(own.to_str().expect("a path"))
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .expect("it was tried before");
    assert!(status.success(), "inside the namespace: {status}");
    false
}

/// Takes in who has lost a parent, as the first process of a namespace has to.
fn reap() {
    use rustix::process::{WaitOptions, wait};
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}

/// A stranger under this pid, which nobody has any more.
#[track_caller]
fn stranger(pid: u32) -> Child {
    for _ in 0..100 {
        // Whoever is still in its group, if only as a zombie, keeps the number.
        reap();
        std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).expect("the next pid is said");
        let mut child = Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().expect("it starts");
        if child.id() == pid {
            return child;
        }
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        crate::ground::pause(20);
    }
    panic!("nobody has got the pid {pid}");
}

const STUBBORN: &str = "trap '' TERM; echo $$ > pid; while true; do sleep 0.05; done";

#[test]
fn ex_loc_06_whoever_has_the_pid_of_a_run_again_is_never_signalled() {
    if !is_inside("reuse::ex_loc_06_whoever_has_the_pid_of_a_run_again_is_never_signalled") {
        return;
    }
    let ground = Ground::new();
    let job = ground.start(1, STUBBORN);
    let harness = ground.marked_pid("pid");
    // The stop saves who is to be killed, under this very pid.
    ground.kill(1, 60_000);
    assert_eq!(pid(&ground.job(1)["killAfter"]["pids"][0]), harness);
    sigkill(pid(&job["process"]["supervisor"]));
    sigkill(harness);
    eventually("their end", || {
        reap();
        !std::path::Path::new(&format!("/proc/{harness}")).exists()
    });
    // The shell's last command may still sleep in the group; it is of the run, and goes.
    let mut stranger = stranger(harness);
    ground.edit_job(1, |job| job["killAfter"]["at"] = json!(0));
    for _ in 0..3 {
        ground.pass();
    }
    assert!(ground.wait_for_kill(1, PATIENCE), "the run is gone, whoever has its pid");
    ground.pass();
    assert_eq!(ground.run(1)["terminalState"], "cancelled");
    assert_eq!(stranger.try_wait().expect("it can be looked at"), None, "nobody has signalled it");
    assert!(is_alive(harness), "it has the pid");
    stranger.kill().expect("it is ours");
    stranger.wait().expect("it ends");
}

#[test]
fn ex_loc_07_without_a_process_table_nothing_is_signalled_and_nothing_confirmed() {
    if !is_inside("reuse::ex_loc_07_without_a_process_table_nothing_is_signalled_and_nothing_confirmed") {
        return;
    }
    let ground = Ground::new();
    ground.start(1, "trap 'echo term > term; exit 7' TERM; echo $$ > pid; while true; do sleep 0.02; done");
    let harness = ground.marked_pid("pid");
    let mount = |program: &str, arguments: &[&str]| {
        let done = Command::new(program).args(arguments).arg("/proc").status().expect("it starts");
        assert!(done.success(), "{program}");
    };
    mount("mount", &["-t", "tmpfs", "none"]);
    let input = json!({"runId": "run-1", "reason": "enough", "killAfterMs": 0});
    let abort = gallivant_core::execution::AbortToken::new();
    for _ in 0..3 {
        let _ = ground.runs().kill(crate::ground::object(&input), &abort);
        let report = ground.pass();
        assert_eq!(report["error"]["code"], "EXECUTION_IO", "{report}");
        assert_eq!(ground.run(1)["terminalState"], json!(null));
    }
    let waited = ground.runs().wait_for_kill("run-1", std::time::Duration::from_millis(50), &abort);
    assert!(!matches!(waited, Ok(true)), "{waited:?}");
    crate::ground::pause(100);
    assert!(!ground.has_mark("term"), "nobody was signalled");
    mount("umount", &[]);
    assert!(is_alive(harness));
    ground.kill(1, 60_000);
    assert_eq!(ground.mark("term"), "term");
    eventually("its end", || {
        reap();
        !is_alive(harness)
    });
    assert!(ground.wait_for_kill(1, PATIENCE));
}
