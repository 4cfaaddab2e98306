//! Stops of real trees: TERM, KILL when its time comes whoever comes, waiting without a promise (EX-LOC-08 to 13, 19; EX-BND-29, 30).

use std::time::{Duration, Instant};

use gallivant_core::process::SystemProcessTable;
use serde_json::{Value as Json, json};

use crate::ground::{Ground, PATIENCE, eventually, is_alive, object, pid};

/// Ignores TERM, and so does its child, until it is killed.
const STUBBORN: &str = "trap '' TERM; (trap '' TERM; echo ready > child; while true; do sleep 0.05; done) & \
                        echo $! > childpid; echo $$ > pid; while true; do sleep 0.05; done";

#[test]
fn ex_bnd_29_a_kill_records_the_stop_sends_term_and_claims_nothing() {
    let ground = Ground::new();
    ground.start(1, "trap 'echo term > term; exit 7' TERM; echo $$ > pid; while true; do sleep 0.02; done");
    let harness = ground.marked_pid("pid");
    let answer = ground.kill(1, 60_000);
    assert_eq!(answer["confirmed"], false);
    assert_eq!(ground.run(1)["cancellation"]["status"], "acknowledged");
    assert_eq!(ground.mark("term"), "term");
    assert!(ground.wait_for_kill(1, PATIENCE));
    assert!(!is_alive(harness));
    ground.pass();
    assert_eq!(ground.run(1)["cancellation"]["status"], "confirmed");
    assert_eq!((&ground.run(1)["state"], &ground.run(1)["quarantined"]), (&json!("cancelled"), &json!(true)));
}

#[test]
fn ex_loc_10_descendants_are_saved_before_the_first_signal() {
    let ground = Ground::new();
    // One child in the group, one that has left it for a session of its own and lost its parent.
    let script = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$ > far; while true; do sleep 0.05; done' &) ; \
                  sh -c 'trap \"\" TERM; echo $$ > near; while true; do sleep 0.05; done' & \
                  echo $$ > pid; while true; do sleep 0.05; done";
    ground.start(1, script);
    let (harness, near, far) =
        (ground.marked_pid("pid"), ground.marked_pid("near"), ground.marked_pid("far"));
    ground.kill(1, 60_000);
    let kill = ground.job(1)["killAfter"].clone();
    assert_eq!(kill["signal"], "KILL");
    let saved: Vec<u32> = kill["pids"].as_array().expect("a list").iter().map(pid).collect();
    for wanted in [harness, near, far] {
        assert!(saved.contains(&wanted), "{wanted} of {saved:?}");
        assert!(is_alive(wanted), "they ignore the first signal");
    }
    assert!(kill["pids"][0]["identity"].as_str().expect("a text").starts_with("linux:"));
    assert!(!ground.wait_for_kill(1, Duration::from_millis(300)), "nobody has killed them yet");
    ground.kill(1, 0);
    assert!(ground.wait_for_kill(1, PATIENCE));
    assert!([harness, near, far].iter().all(|pid| !is_alive(*pid)));
}

#[test]
fn ex_loc_12_what_is_left_is_killed_by_whoever_comes_when_it_is_due() {
    let ground = Ground::new();
    ground.start(1, STUBBORN);
    let (harness, child) = (ground.marked_pid("pid"), ground.marked_pid("childpid"));
    ground.mark("child");
    ground.kill(1, 60_000);
    // The boundary that has sent the first signal is gone. A pass before the time kills nobody.
    ground.pass();
    assert!(is_alive(harness) && is_alive(child));
    let now = ground.host.clock.wall_ms();
    ground.edit_job(1, |job| job["killAfter"]["at"] = json!(now));
    assert!(is_alive(harness), "no time kills by itself");
    ground.pass();
    eventually("their end", || !is_alive(harness) && !is_alive(child));
    assert!(ground.wait_for_kill(1, PATIENCE));
    ground.pass();
    assert_eq!(ground.run(1)["cancellation"]["status"], "confirmed");
}

#[test]
fn ex_loc_19_waiting_ends_true_only_when_the_tree_is_gone() {
    let ground = Ground::new();
    ground.start(1, STUBBORN);
    ground.mark("child");
    let began = Instant::now();
    assert!(!ground.wait_for_kill(1, Duration::from_millis(150)), "nothing was stopped, and nothing is");
    assert!(began.elapsed() >= Duration::from_millis(150));
    ground.kill(1, 60_000);
    assert!(!ground.wait_for_kill(1, Duration::ZERO));
    // The wait itself comes when it is due.
    ground.kill(1, 200);
    assert!(ground.wait_for_kill(1, PATIENCE));
    assert!(!is_alive(ground.marked_pid("pid")));
}

#[test]
fn ex_bnd_30_a_wait_is_true_for_a_tree_that_is_gone_and_false_at_its_time() {
    let ground = Ground::new();
    ground.start(1, "while test ! -e go; do sleep 0.01; done");
    assert!(!ground.wait_for_kill(1, Duration::from_millis(50)));
    std::fs::write(ground.place().join("go"), "").expect("written");
    assert!(ground.wait_for_kill(1, PATIENCE));
    assert!(ground.wait_for_kill(1, Duration::ZERO), "what is gone is gone");
    let abort = gallivant_core::execution::AbortToken::new();
    let unknown = ground.runs().wait_for_kill("run-9", Duration::ZERO, &abort).expect_err("no such run");
    assert_eq!(unknown.code(), gallivant_core::Code::ExecutionUnknownRun);
}

#[test]
fn ex_bnd_30_each_look_of_a_wait_tells_what_is_done_until_the_next() {
    let ground = Ground::new();
    ground.start(1, STUBBORN);
    ground.mark("child");
    let runs = ground.runs();
    let look = |looks| runs.boundary().look_for_kill("run-1", looks).expect("it can be looked at");
    let pauses: Vec<u128> =
        [0, 1, 2, 5, 6, 7, 31, 32, u32::MAX].map(|looks| look(looks).pause.as_millis()).into();
    assert_eq!(pauses, [2, 4, 8, 64, 100, 100, 100, 100, 100], "doubled up to a tenth of a second");
    assert_eq!((look(0).is_gone, look(0).is_kill_due), (false, false), "without a stop nobody is signalled");
    ground.kill(1, 60_000);
    assert!(!look(0).is_kill_due, "its time has not come");
    ground.kill(1, 0);
    assert!(look(0).is_kill_due || look(0).is_gone);
    assert!(ground.wait_for_kill(1, PATIENCE));
    assert_eq!((look(9).is_gone, look(9).is_kill_due), (true, false));
    let unknown = runs.boundary().look_for_kill("run-9", 0).expect_err("no such run");
    assert_eq!(unknown.code(), gallivant_core::Code::ExecutionUnknownRun);
}

#[test]
fn ex_bnd_30_a_wait_tells_why_a_kill_that_is_due_cannot_be_made() {
    let ground = Ground::new();
    ground.start(1, STUBBORN);
    ground.mark("child");
    ground.kill(1, 60_000);
    let now = ground.host.clock.wall_ms();
    ground.edit_job(1, |job| job["killAfter"]["at"] = json!(now));
    let ledger = ground.text("execution.json");
    std::fs::write(ground.task().join("execution.json"), "{").expect("written");
    let abort = gallivant_core::execution::AbortToken::new();
    let damaged = ground.runs().wait_for_kill("run-1", PATIENCE, &abort).expect_err("the ledger is damaged");
    assert_eq!(damaged.code(), gallivant_core::Code::ExecutionProtocol);
    std::fs::write(ground.task().join("execution.json"), ledger).expect("written");
    assert!(ground.wait_for_kill(1, PATIENCE));
}

#[test]
fn ex_bnd_24_local_runs_are_of_a_boundary_with_the_built_in_process_host() {
    let ground = Ground::new();
    let runs = gallivant_core::execution::LocalRuns::of(ground.runs().boundary()).expect("it has one");
    assert_eq!(runs.current().expect("it reads"), None);
    let mut own = Ground::new();
    own.options["runner"] = json!(true);
    let boundary = gallivant_core::execution::ExecutionOptions::from_object(
        own.task(),
        &object(&own.options),
        std::sync::Arc::clone(&own.faults),
    );
    let boundary = gallivant_core::execution::Boundary::new(boundary.expect("well formed"), &own.host);
    let refused =
        gallivant_core::execution::LocalRuns::of(&boundary.expect("a boundary")).expect_err("its own");
    assert_eq!(refused.code(), gallivant_core::Code::ExecutionInput);
}

#[test]
fn ex_loc_11_the_second_signal_goes_to_what_is_left_and_is_ours() {
    let ground = Ground::new();
    // The child takes the first signal, the harness does not.
    ground.start(
        1,
        "trap '' TERM; (trap - TERM; echo $$ > c; exec sleep 60) & echo $! > childpid; echo $$ > pid; \
                     while true; do sleep 0.05; done",
    );
    let (harness, child) = (ground.marked_pid("pid"), ground.marked_pid("childpid"));
    ground.mark("c");
    ground.kill(1, 300);
    eventually("the child's end", || !is_alive(child));
    assert!(is_alive(harness));
    // A stranger stands in the list of those that are to be killed, under an identity that is not its own.
    let mut stranger = std::process::Command::new("sleep").arg("60").spawn().expect("it starts");
    let identity = ground.job(1)["killAfter"]["pids"][0]["identity"].clone();
    ground.edit_job(1, |job| {
        let pids = job["killAfter"]["pids"].as_array_mut().expect("a list");
        pids.push(json!({"pid": stranger.id(), "identity": identity}));
    });
    assert!(ground.wait_for_kill(1, PATIENCE));
    assert!(!is_alive(harness) && is_alive(stranger.id()));
    stranger.kill().expect("it is ours");
    stranger.wait().expect("it ends");
}

#[test]
fn ex_loc_13_a_tree_that_forks_faster_than_it_is_looked_at_is_brought_down() {
    let ground = Ground::new();
    // A chain: one after the other, each in a new session and without a parent, as fast as the machine starts them.
    let link = "trap '' TERM\necho x >> count\nsetsid sh link.sh &\nexit 0\n";
    std::fs::write(ground.place().join("link.sh"), link).expect("written");
    ground.start(1, "trap '' TERM; echo $$ > pid; sh link.sh & while true; do sleep 0.05; done");
    let harness = ground.marked_pid("pid");
    let count =
        || std::fs::read_to_string(ground.place().join("count")).map_or(0, |text| text.lines().count());
    eventually("a chain", || count() > 20);
    ground.kill(1, 0);
    ground.pass();
    assert!(ground.wait_for_kill(1, PATIENCE), "the chain goes on");
    assert!(!is_alive(harness));
    let after = count();
    crate::ground::pause(200);
    assert_eq!(count(), after, "nobody is left who forks");
}

#[test]
fn a_child_that_holds_the_output_open_keeps_the_run_alive_and_loses_nothing() {
    let ground = Ground::new();
    // The harness ends at once; its child writes on.
    ground.start(1, "(while test ! -e go; do sleep 0.01; done; echo late) & echo early; exit 0");
    eventually("the end of the harness", || ground.task().join("run-1/exit.json").exists());
    assert_eq!(ground.settle(1).expect("a look"), Json::Null, "the tree lives, so it is not settled");
    assert_eq!(ground.run(1)["state"], "running");
    std::fs::write(ground.place().join("go"), "").expect("written");
    let outcome = ground.settled(1);
    assert_eq!((&outcome["ok"], &outcome["exit"]), (&json!(true), &json!(0)));
    assert_eq!(ground.text("run-1/provider.log"), "early\nlate\n");
}

#[test]
fn two_coordinators_that_stop_one_run_send_what_one_would() {
    let ground = Ground::new();
    ground.start(1, "trap 'echo term >> terms' TERM; echo $$ > pid; while true; do sleep 0.02; done");
    ground.marked_pid("pid");
    let stop = || {
        let input = json!({"runId": "run-1", "reason": "enough", "controlId": "k1", "killAfterMs": 60_000});
        let abort = gallivant_core::execution::AbortToken::new();
        loop {
            match ground.runs().kill(object(&input), &abort) {
                // A stop waits for another one no longer than 100 ms (EX-CAN-50), and is asked for again.
                Err(error) if error.code() == gallivant_core::Code::ExecutionPublicationBusy => {}
                other => return other.map(drop),
            }
        }
    };
    std::thread::scope(|scope| {
        let both = [scope.spawn(stop), scope.spawn(stop)];
        for one in both {
            one.join().expect("no panic").expect("each is well");
        }
    });
    ground.mark("terms");
    let now = ground.host.clock.wall_ms();
    ground.edit_job(1, |job| job["killAfter"]["at"] = json!(now));
    let waits =
        || ground.runs().wait_for_kill("run-1", PATIENCE, &gallivant_core::execution::AbortToken::new());
    std::thread::scope(|scope| {
        let both = [scope.spawn(waits), scope.spawn(waits)];
        for one in both {
            assert!(one.join().expect("no panic").expect("each is well"));
        }
    });
    ground.pass();
    assert_eq!(ground.run(1)["cancellation"]["status"], "confirmed");
    assert_eq!(ground.run(1)["controls"], json!(["k1"]));
    let terms = std::fs::read_to_string(ground.place().join("terms")).expect("it was sent");
    assert_eq!(terms.lines().count(), 1, "the second stop finds the first one's signal");
}

#[test]
fn a_stopped_process_takes_the_first_signal_up() {
    let ground = Ground::new();
    ground.start(
        1,
        "trap 'echo term > term; exit 0' TERM; echo $$ > pid; kill -STOP $$; while true; do sleep 0.02; done",
    );
    let harness = ground.marked_pid("pid");
    let is_stopped = || {
        use gallivant_core::process::{Activity, ProcessTable};
        let entries = SystemProcessTable.entries().expect("the table");
        entries.iter().any(|entry| entry.pid == harness && entry.activity == Activity::Stopped)
    };
    eventually("the stand", is_stopped);
    ground.kill(1, 60_000);
    assert_eq!(ground.mark("term"), "term");
    assert!(ground.wait_for_kill(1, PATIENCE));
}

#[test]
fn c_063_a_timed_out_run_stays_taken_until_its_whole_tree_is_gone() {
    use gallivant_core::Code;
    use gallivant_core::execution::AbortToken;
    let ground = Ground::new();
    // The wrapper takes the signal; its worker has left the group and does not.
    let script = "setsid sh -c 'trap \"\" TERM; echo $$ > worker; while test ! -e go; do sleep 0.02; done; echo done > commit' & \
                  echo $$ > pid; while true; do sleep 0.02; done";
    let mut input = ground.script(1, script);
    input["sessionId"] = json!("s-1");
    ground.start_with(input).expect("it starts");
    let (wrapper, worker) = (ground.marked_pid("pid"), ground.marked_pid("worker"));
    let stop = || {
        let runs = ground.runs();
        let machine =
            runs.boundary().timeout_stop(object(&json!({"killAfterMs": 60_000})), AbortToken::new());
        gallivant_core::execution::local_runs::drive(machine).expect("a stop")
    };
    stop();
    eventually("the wrapper's end", || !is_alive(wrapper));
    ground.pass();
    assert!(is_alive(worker));
    assert_ne!(ground.run(1)["terminalState"], "failed", "it is not over while the worker lives");
    let refused = ground.start_with(ground.script(2, "true")).expect_err("attempt 1 is not confirmed gone");
    assert_eq!(refused.code(), Code::ExecutionFenced);
    std::fs::write(ground.place().join("go"), "").expect("written");
    assert_eq!(ground.mark("commit"), "done");
    assert!(ground.wait_for_kill(1, PATIENCE));
    ground.pass();
    let run = ground.run(1);
    assert_eq!((&run["terminalState"], &run["quarantined"]), (&json!("failed"), &json!(true)));
    assert_eq!(ground.file("execution.json")["stopFence"], Json::Null);
    ground.start(2, "exit 0");
    assert_eq!(ground.settled(2)["ok"], true);
}
