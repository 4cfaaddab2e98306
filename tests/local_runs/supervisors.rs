//! A supervisor or a harness that is killed: who is known then, and what is not claimed (EX-LOC-08, 16, 17).

use std::time::Duration;

use serde_json::json;

use crate::ground::{Ground, PATIENCE, eventually, is_alive, pid, sigkill};

const WAITS: &str = "echo $$ > pid; while test ! -e go; do sleep 0.01; done; exit 0";

#[test]
fn ex_loc_16_an_exit_that_nobody_recorded_is_uncertain() {
    let ground = Ground::new();
    let job = ground.start(1, WAITS);
    let harness = ground.marked_pid("pid");
    sigkill(pid(&job["process"]["supervisor"]));
    ground.pass();
    assert_eq!(ground.run(1)["state"], "running", "the harness works on");
    assert!(is_alive(harness));
    std::fs::write(ground.place().join("go"), "").expect("written");
    eventually("its end", || !is_alive(harness));
    let outcome = ground.settled(1);
    assert_eq!(
        (&outcome["ok"], &outcome["exit"]),
        (&json!(false), &json!(null)),
        "0 was not seen by anybody"
    );
    assert_eq!(ground.file("run-1/result.json")["outcome"]["reason"], "exit-unknown");
    assert!(!ground.task().join("run-1/exit.json").exists());
    assert_eq!(ground.run(1)["completionInferred"], true);
}

#[test]
fn ex_loc_16_a_harness_that_is_killed_is_recorded_with_its_signal() {
    let ground = Ground::new();
    ground.start(1, WAITS);
    sigkill(ground.marked_pid("pid"));
    let outcome = ground.settled(1);
    assert_eq!((&outcome["ok"], &outcome["exit"]), (&json!(false), &json!(null)));
    let exit = ground.file("run-1/exit.json");
    assert_eq!((&exit["exit"], &exit["signal"]), (&json!(null), &json!("KILL")));
    assert_eq!(ground.run(1)["exitSnapshot"]["signal"], "KILL");
    assert_eq!(ground.run(1)["completedAt"], exit["endedAt"], "the end is exact (EX-LOC-26)");
    assert_eq!(ground.run(1)["completionInferred"], false);
}

#[test]
fn ex_loc_08_without_the_supervisor_a_descendant_is_known_by_the_mark_of_its_run() {
    let ground = Ground::new();
    // The far one has left group and session, and its parents are gone.
    let script = "(setsid sh -c 'trap \"\" TERM; echo $$ > far; while true; do sleep 0.05; done' &); \
                  echo $$ > pid; while true; do sleep 0.05; done";
    let job = ground.start(1, script);
    let (harness, far) = (ground.marked_pid("pid"), ground.marked_pid("far"));
    sigkill(pid(&job["process"]["supervisor"]));
    sigkill(harness);
    eventually("the harness's end", || !is_alive(harness));
    ground.pass();
    assert_eq!(ground.run(1)["state"], "running", "something of it lives");
    assert!(!ground.wait_for_kill(1, Duration::from_millis(100)));
    ground.kill(1, 0);
    assert!(is_alive(far), "it does not take the first signal");
    assert!(ground.wait_for_kill(1, PATIENCE));
    assert!(!is_alive(far));
}

#[test]
fn ex_loc_05_a_run_of_before_a_reboot_is_over_and_whoever_has_its_pid_is_left_alone() {
    let ground = Ground::new();
    ground.start(1, WAITS);
    let harness = ground.marked_pid("pid");
    // As the records of another boot of this machine: the pids are those of processes that run now.
    ground.edit_job(1, |job| {
        for place in ["/process", "/process/supervisor"] {
            let process = job.pointer_mut(place).expect("it is recorded");
            let identity = process["identity"].as_str().expect("a text").to_owned();
            let boot = identity.split(':').nth(1).expect("a boot").to_owned();
            process["identity"] = json!(identity.replace(&boot, "00000000-0000-4000-8000-000000000001"));
        }
    });
    ground.pass();
    assert_eq!(ground.run(1)["terminalState"], "failed", "no process outlives its boot");
    assert_eq!(ground.file("run-1/result.json")["outcome"]["reason"], "exit-unknown");
    ground.kill(1, 0);
    ground.pass();
    assert!(is_alive(harness), "nobody who has the pid now was signalled");
    std::fs::write(ground.place().join("go"), "").expect("written");
    eventually("its end", || !is_alive(harness));
}

#[test]
fn a_supervisor_that_is_asked_to_end_ignores_it_and_the_tree_is_still_recorded() {
    let ground = Ground::new();
    let job = ground.start(1, WAITS);
    ground.marked_pid("pid");
    let supervisor = i32::try_from(pid(&job["process"]["supervisor"])).expect("a pid");
    let supervisor = rustix::process::Pid::from_raw(supervisor).expect("a pid");
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::HUP, rustix::process::Signal::INT]
    {
        rustix::process::kill_process(supervisor, signal).expect("it is ours");
    }
    std::fs::write(ground.place().join("go"), "").expect("written");
    assert_eq!(ground.settled(1)["ok"], true);
    let exit = ground.file("run-1/exit.json");
    assert!(exit["treeEndedAt"].as_u64() >= exit["endedAt"].as_u64(), "{exit}");
}

#[test]
fn a_supervisor_whose_run_was_removed_ends_with_its_tree() {
    let ground = Ground::new();
    let job = ground.start(1, "echo $$ > pid; while test ! -e go; do sleep 0.01; done");
    let (harness, supervisor) = (ground.marked_pid("pid"), pid(&job["process"]["supervisor"]));
    std::fs::remove_dir_all(ground.task().join("run-1")).expect("removed");
    assert!(is_alive(harness) && is_alive(supervisor));
    std::fs::write(ground.place().join("go"), "").expect("written");
    eventually("its end", || !is_alive(supervisor));
    assert!(!is_alive(harness) && !ground.task().join("run-1").exists());
}

#[test]
fn a_storm_of_kills_leaves_no_process_and_no_claim_that_is_not_so() {
    let seed: u64 = std::env::var("GALLIVANT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let rounds: u64 =
        std::env::var("GALLIVANT_STORM").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(12);
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut chance = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let (mut recorded, mut uncertain, mut cancelled) = (0, 0, 0);
    for round in 0..rounds {
        let ground = Ground::new();
        let script = "trap '' TERM; (setsid sh -c 'echo $$ > far; while true; do sleep 0.03; done' &); \
                      sh -c 'echo $$ > near; while true; do sleep 0.03; done' & echo $$ > pid; \
                      while true; do sleep 0.03; done";
        let job = ground.start(1, script);
        let pids = [ground.marked_pid("pid"), ground.marked_pid("near"), ground.marked_pid("far")];
        let supervisor = pid(&job["process"]["supervisor"]);
        let what = chance(6);
        match what {
            0 => sigkill(supervisor),
            1 => sigkill(pids[0]),
            2 => {
                sigkill(supervisor);
                sigkill(pids[0]);
            }
            3 => drop(ground.kill(1, 30)),
            4 => {
                ground.kill(1, 30);
                sigkill(supervisor);
            }
            _ => {
                sigkill(pids[2]);
                sigkill(pids[1]);
            }
        }
        crate::ground::pause(chance(40));
        let report = ground.pass();
        let is_over = ground.run(1)["terminalState"] != json!(null);
        let lives = pids.iter().any(|pid| is_alive(*pid));
        assert!(!(is_over && lives), "seed {seed} round {round} what {what}: {report}");
        ground.kill(1, 0);
        assert!(ground.wait_for_kill(1, PATIENCE), "seed {seed} round {round} what {what}");
        assert!(
            pids.iter().all(|pid| !is_alive(*pid)),
            "seed {seed} round {round} what {what}: somebody is left"
        );
        ground.pass();
        let run = ground.run(1);
        assert_eq!(run["terminalState"], "cancelled", "seed {seed} round {round} what {what}");
        cancelled += 1;
        if ground.task().join("run-1/exit.json").exists() {
            recorded += 1;
        } else {
            uncertain += 1;
        }
    }
    println!(
        "rounds {rounds} cancelled {cancelled} exits recorded {recorded} uncertain {uncertain} left alive 0"
    );
}
