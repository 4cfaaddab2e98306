//! Raw output as bad as it gets, and what is read of it (EX-LOC-14, 20, 22, 23, 27; EX-BND-27).

use std::fmt::Write as _;

use gallivant_core::Code;
use serde_json::{Value as Json, json};

use crate::ground::{Ground, PATIENCE};

/// A script that prints what stands in a file.
fn prints(ground: &Ground, bytes: &[u8]) -> String {
    std::fs::write(ground.place().join("said"), bytes).expect("written");
    "cat said; exit 0".to_owned()
}

/// Passes until everything is taken in, and the lines then.
fn lines(ground: &Ground) -> Json {
    for _ in 0..60 {
        assert_eq!(ground.pass()["error"], Json::Null);
    }
    lines_now(ground)
}

fn lines_now(ground: &Ground) -> Json {
    serde_json::from_str(&ground.runs().lines("run-1", None, 400).expect("lines").to_json()).expect("JSON")
}

/// The outcome of a run of this harness that says this and exits so.
fn told(harness: &str, output: &[u8], exit: i32) -> Json {
    let ground = Ground::new();
    std::fs::write(ground.place().join("said"), output).expect("written");
    let mut input = ground.script(1, &format!("cat said; exit {exit}"));
    input["spec"]["harness"] = json!(harness);
    ground.start_with(input).expect("it starts");
    ground.settled(1)
}

#[test]
fn ex_loc_20_the_outcome_is_read_from_the_harness_s_own_output() {
    let claude = "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s-9\"}\n\
        {\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"session_id\":\"s-9\",\"total_cost_usd\":0.125,\
        \"permission_denials\":[{\"tool_name\":\"Bash\"}]}\n";
    let outcome = told("claude", claude.as_bytes(), 0);
    assert_eq!(outcome["ok"], true);
    assert_eq!(outcome["denials"], json!([{"tool_name": "Bash"}]));
    assert_eq!(outcome["cost"], 0.125);
    assert_eq!(told("claude", claude.as_bytes(), 1)["ok"], false, "its exit says otherwise");
    assert_eq!(told("claude", &claude.as_bytes()[..claude.len() - 10], 0)["ok"], false, "it is torn");
    let opencode = "{\"type\":\"step_finish\",\"sessionID\":\"ses_1\",\"part\":{\"reason\":\"tool-calls\",\"cost\":0.1}}\n\
        {\"type\":\"step_finish\",\"sessionID\":\"ses_1\",\"part\":{\"reason\":\"stop\",\"cost\":0.2}}\n";
    assert_eq!(told("opencode", opencode.as_bytes(), 0)["cost"], 0.3, "no binary fraction passes through");
}

#[test]
fn ex_loc_20_the_session_of_the_output_is_adopted_and_a_foreign_one_refused() {
    let ground = Ground::new();
    let says = |session: &str| {
        format!(
            "{{\"type\":\"thread.started\",\"thread_id\":\"{session}\"}}\n{{\"type\":\"turn.completed\"}}\n"
        )
    };
    std::fs::write(ground.place().join("said"), says("t-1")).expect("written");
    let mut input = ground.script(1, "cat said");
    input["spec"]["harness"] = json!("codex");
    ground.start_with(input.clone()).expect("it starts");
    assert_eq!(ground.settled(1)["ok"], true);
    assert_eq!(ground.run(1)["sessionId"], "t-1", "an anonymous first turn establishes it (EX-IDN-15)");
    // The next turn continues it, and its output names another one.
    std::fs::write(ground.place().join("said"), says("t-2")).expect("written");
    input["operationId"] = json!("op-2");
    input["runId"] = json!("run-2");
    let abort = gallivant_core::execution::AbortToken::new();
    ground.runs().resume(crate::ground::object(&input), &abort).expect("it starts");
    assert!(ground.wait_for_kill(2, PATIENCE));
    let refused = ground.settle(2).expect_err("EX-LOC-21");
    assert_eq!((refused.code(), refused.reason()), (Code::ExecutionResult, Some("session")));
    assert!(!ground.task().join("run-2/result.json").exists());
    assert_eq!(ground.run(2)["sessionId"], "t-1");
}

#[test]
fn ex_loc_23_a_settled_run_is_read_again_without_its_output() {
    let ground = Ground::new();
    ground.start(1, "echo something; exit 4");
    let outcome = ground.settled(1);
    let before = (ground.run(1), ground.job(1));
    for name in ["provider.log", "sensitive-redactions.json", "exit.json"] {
        std::fs::remove_file(ground.task().join("run-1").join(name)).expect("removed");
    }
    assert_eq!(ground.settle(1).expect("it is settled"), outcome);
    assert_eq!((ground.run(1), ground.job(1)), before, "nothing was read and nothing was written");
    assert_eq!((&before.1["exit"], &before.0["terminalState"]), (&json!(4), &json!("failed")));
}

#[test]
fn ex_loc_27_what_only_reads_signals_nobody_and_opens_no_raw_output() {
    let ground = Ground::new();
    ground.start(1, "echo $$ > pid; while test ! -e go; do sleep 0.01; done");
    let harness = ground.marked_pid("pid");
    // A raw output that cannot be read at all, not even by root.
    let log = ground.task().join("run-1/provider.log");
    std::fs::remove_file(&log).expect("removed");
    std::fs::create_dir(&log).expect("in its place");
    let runs = ground.runs();
    runs.current().expect("read");
    runs.read("run-1").expect("read");
    runs.lines("run-1", None, 10).expect("read");
    runs.dir_of("run-1").expect("an id");
    runs.boundary().inspect().expect("read");
    runs.boundary().outcome("run-1").expect("read");
    assert!(!runs.boundary().is_gone("run-1").expect("a look"));
    assert!(!runs.boundary().is_kill_due("run-1").expect("read"));
    assert!(crate::ground::is_alive(harness));
    std::fs::remove_dir(&log).expect("removed");
    std::fs::write(ground.place().join("go"), "").expect("written");
    assert!(ground.wait_for_kill(1, PATIENCE));
}

#[test]
fn ex_bnd_27_lines_are_those_behind_a_row_and_no_more_than_are_asked_for() {
    let ground = Ground::new();
    ground.start(1, "for n in 1 2 3 4 5; do echo line-$n; done");
    assert_eq!(ground.settled(1)["ok"], true);
    lines(&ground);
    let window = |after: Option<&str>, limit| {
        let window = ground.runs().lines("run-1", after, limit).expect("lines");
        let texts: Vec<_> = window.rows.iter().map(gallivant_core::journal::Row::to_json).collect();
        (texts.join("\n"), window.after)
    };
    let (first, after) = window(None, 2);
    assert!(first.contains("line-1") && first.contains("line-2") && !first.contains("line-3"), "{first}");
    let (rest, _) = window(after.as_deref(), 400);
    assert!(!rest.contains("line-2") && rest.contains("line-3") && rest.contains("line-5"), "{rest}");
    let refused = ground.runs().lines("../run-1", None, 2).expect_err("no id");
    assert_eq!(refused.code(), Code::ExecutionInput);
}

#[test]
fn ex_bnd_28_settle_gives_null_while_the_run_lives_and_one_outcome_afterwards() {
    let ground = Ground::new();
    ground.start(1, "while test ! -e go; do sleep 0.01; done; exit 0");
    assert_eq!(ground.settle(1).expect("a look"), Json::Null);
    assert_eq!(ground.run(1)["state"], "running");
    std::fs::write(ground.place().join("go"), "").expect("written");
    let outcome = ground.settled(1);
    assert_eq!(outcome["ok"], true);
    let ledger = ground.text("execution.json");
    assert_eq!(ground.settle(1).expect("again"), outcome);
    assert_eq!(ground.text("execution.json"), ledger, "the second call writes nothing");
    let unknown = ground.settle(7).expect_err("no such run");
    assert_eq!(unknown.code(), Code::ExecutionUnknownRun);
}

#[test]
fn ex_jrn_50_a_settlement_does_not_wait_for_the_queue() {
    let ground = Ground::new();
    ground.start(1, "echo said; exit 0");
    // Nobody can read this queue, and no output is taken in.
    std::fs::write(ground.task().join("local-output-queue.json"), "no queue").expect("planted");
    assert!(ground.wait_for_kill(1, PATIENCE));
    let report = ground.pass();
    assert_eq!(report["terminalState"], "succeeded", "{report}");
    assert_eq!(report["error"]["code"], "EXECUTION_QUEUE");
    assert_eq!(ground.settle(1).expect("it is settled")["ok"], true);
}

#[test]
fn one_line_without_an_end_is_one_gap_and_nothing_of_it_is_shown() {
    let ground = Ground::new();
    let script = prints(&ground, &vec![b'x'; 3_000_000]);
    ground.start(1, &script);
    assert_eq!(ground.settled(1)["ok"], true);
    let lines = lines(&ground);
    assert!(!lines.to_string().contains("xxxxxxxx"));
    assert!(lines["rows"].as_array().expect("rows").iter().any(|row| row["kind"] == "gap"), "{lines}");
}

/// Runs a test of this file that is left out otherwise, in a process of its own, with so many bytes.
fn alone(test: &str, bytes: u64) {
    let own = std::env::current_exe().expect("this program");
    let done = std::process::Command::new(own)
        .args(["--exact", &format!("output::{test}"), "--ignored", "--nocapture"])
        .env("GALLIVANT_OUTPUT_BYTES", bytes.to_string())
        .output()
        .expect("it starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}

fn bytes_of_output(usual: u64) -> u64 {
    std::env::var("GALLIVANT_OUTPUT_BYTES").ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(usual)
}

/// This process's memory, and its highest since the last time.
fn memory() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").expect("it runs");
    let kib = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
        line.trim().trim_end_matches("kB").trim().parse().expect("a number")
    };
    // By proc(5), this sets the highest back.
    std::fs::write("/proc/self/clear_refs", "5").expect("set back");
    (kib("VmRSS:") * 1024, kib("VmHWM:") * 1024)
}

/// No more than this is kept of what a run says, whatever that is.
const MOST_KEPT: u64 = 32 * 1024 * 1024;

#[test]
fn a_line_of_megabytes_is_one_gap_and_leaves_memory_flat() {
    alone("a_line_of_300_megabytes_is_one_gap_and_leaves_memory_flat", 20_000_000);
}

#[test]
#[ignore = "slow; its smaller sibling runs it, and `make soak` at its full size"]
fn a_line_of_300_megabytes_is_one_gap_and_leaves_memory_flat() {
    let bytes = bytes_of_output(300_000_000);
    let ground = Ground::new();
    ground.start(1, &format!("head -c {bytes} /dev/zero | tr '\\0' x; echo; echo behind; exit 0"));
    let (before, _) = memory();
    assert!(ground.wait_for_kill(1, PATIENCE * 10), "it is printed");
    assert_eq!(ground.settle(1).expect("it is settled")["ok"], true);
    let mut passes = 0;
    let shown = loop {
        assert_eq!(ground.pass()["error"], Json::Null);
        passes += 1;
        let shown = lines_now(&ground);
        if shown.to_string().contains("behind") {
            break shown;
        }
        assert!(passes < bytes / 65_536 + 100, "what stands behind the line never came");
    };
    let (_, highest) = memory();
    let gaps = shown["rows"].as_array().expect("rows").iter().filter(|row| row["kind"] == "gap").count();
    println!("{bytes} bytes in one line: {passes} passes, {gaps} gaps, {} bytes more", highest - before);
    assert_eq!(gaps, 1, "{shown}");
    assert!(!shown.to_string().contains("xxxxxxxx"));
    assert!(highest - before < MOST_KEPT, "{before} and then {highest}");
}

#[test]
fn a_run_that_prints_without_an_end_leaves_memory_flat_and_others_undelayed() {
    alone("a_run_that_prints_a_gigabyte_leaves_memory_flat_and_others_undelayed", 40_000_000);
}

#[test]
#[ignore = "slow; its smaller sibling runs it, and `make soak` at its full size"]
fn a_run_that_prints_a_gigabyte_leaves_memory_flat_and_others_undelayed() {
    use std::time::{Duration, Instant};
    let bytes = bytes_of_output(1_000_000_000);
    let (loud, other) = (Ground::new(), Ground::new());
    other.start(1, "while test ! -e go; do sleep 0.05; done; exit 0");
    other.pass();
    let (before, _) = memory();
    loud.start(1, &format!("yes 'a line as a harness might well say one, of a hundred bytes or so, over and over again' | head -c {bytes}; exit 0"));
    let (runs, others, abort) = (loud.runs(), other.runs(), gallivant_core::execution::AbortToken::new());
    let (mut longest, mut longest_other, mut passes) = (Duration::ZERO, Duration::ZERO, 0_u32);
    loop {
        let began = Instant::now();
        runs.pass(&abort).expect("a pass");
        longest = longest.max(began.elapsed());
        let began = Instant::now();
        others.pass(&abort).expect("a pass");
        longest_other = longest_other.max(began.elapsed());
        passes += 1;
        // A part of its pages shows what all of them would.
        if u64::from(passes) * 2_500_000 >= bytes && loud.run(1)["terminalState"] != Json::Null {
            break;
        }
    }
    let (_, highest) = memory();
    let printed = std::fs::metadata(loud.task().join("run-1/provider.log")).expect("it is there").len();
    println!(
        "{printed} bytes: {passes} passes, the longest {longest:?}, of another run {longest_other:?}, {} bytes more",
        highest - before
    );
    assert_eq!(printed, bytes);
    assert!(highest - before < MOST_KEPT, "{before} and then {highest}");
    // A page, not all of it: on a busy machine a pass of a quiet run may take as long.
    assert!(longest < PATIENCE / 12, "{longest:?}");
    std::fs::write(other.place().join("go"), "").expect("written");
    assert_eq!(other.settled(1)["ok"], true);
}

#[test]
fn binary_output_and_a_torn_character_are_shown_as_what_can_be_shown() {
    let ground = Ground::new();
    let mut bytes = b"before\n".to_vec();
    bytes.extend((0..=255_u8).filter(|byte| *byte != b'\n'));
    bytes.extend("\nlast ü".as_bytes());
    bytes.pop();
    let script = prints(&ground, &bytes);
    ground.start(1, &script);
    assert_eq!(ground.settled(1)["ok"], true);
    assert_eq!(std::fs::read(ground.task().join("run-1/provider.log")).expect("raw"), bytes);
    let lines = lines(&ground).to_string();
    assert!(lines.contains("before") && lines.contains("last "), "{lines}");
}

#[test]
fn output_that_is_full_of_secrets_shows_none_of_them() {
    let mut ground = Ground::new();
    let secret = "s3cr3t-s3cr3t-value";
    ground.options["secrets"] = json!([secret]);
    let mut text = String::new();
    for n in 0..3_000 {
        writeln!(text, "{n} {secret} {{\"key\":\"{secret}\"}}").expect("a text");
    }
    let script = prints(&ground, text.as_bytes());
    ground.start(1, &script);
    assert_eq!(ground.settled(1)["ok"], true);
    let shown = lines(&ground);
    assert_eq!(shown["rows"].as_array().expect("rows").len(), 400, "as many as a window holds (EX-BND-27)");
    for name in ["job.log", "events.jsonl", "result.json", "job.json", "local-output.json"] {
        assert!(!ground.text(&format!("run-1/{name}")).contains(secret), "{name}");
    }
    assert!(!ground.text("execution.json").contains(secret));
}

#[test]
fn every_secret_of_the_environment_that_is_printed_is_shown_nowhere() {
    let ground = Ground::new();
    let mut input =
        ground.script(1, "env; env >&2; for n in 1 2 3; do env | tr '\\n' ' '; echo; done; exit 0");
    let secrets: Vec<String> =
        (0..40).map(|n| format!("v{n}-{:x}-of-the-environment", n * 7_919 + 1_000_003)).collect();
    for (n, secret) in secrets.iter().enumerate() {
        input["spec"]["env"][format!("SECRET_{n}")] = json!(secret);
    }
    input["spec"]["secrets"] = json!(secrets);
    ground.start_with(input).expect("it starts");
    assert_eq!(ground.settled(1)["ok"], true);
    let raw = ground.text("run-1/provider.log");
    assert!(secrets.iter().all(|secret| raw.matches(secret).count() == 5), "raw output is raw");
    let shown = lines(&ground).to_string();
    assert!(shown.contains("SECRET_39"), "{shown}");
    let files =
        ["run-1/job.log", "run-1/events.jsonl", "run-1/result.json", "run-1/job.json", "execution.json"];
    let kept: Vec<String> = files.iter().map(|name| ground.text(name)).chain([shown]).collect();
    for secret in &secrets {
        assert!(kept.iter().all(|text| !text.contains(secret)), "{secret}");
    }
}

#[test]
fn a_harness_of_the_users_own_is_registered_with_its_command_line() {
    let mut ground = Ground::new();
    ground.options["runner"]["harnesses"] = json!({"mine": {
        "program": "sh", "start": ["-c", "echo \"$1|$2\"; cat", "mine", "{model}", ["--session={session}"]],
        "resume": ["-c", "echo resumed $1", "mine", "{session}"],
        "prompt": "stdin", "mintsSession": true, "output": "exit"
    }});
    let mut input = ground.script(1, "");
    input["spec"]["argv"] = Json::Null;
    input["spec"]["harness"] = json!("mine");
    let job = ground.start_with(input.clone()).expect("it starts");
    assert_eq!(ground.settled(1)["ok"], true);
    let session = job["sessionId"].as_str().expect("it was minted (EX-IDN-14)").to_owned();
    assert_eq!(session.len(), 36);
    assert_eq!(ground.text("run-1/provider.log"), format!("|--session={session}\ndo it"));
    input["operationId"] = json!("op-2");
    input["runId"] = json!("run-2");
    let abort = gallivant_core::execution::AbortToken::new();
    ground.runs().resume(crate::ground::object(&input), &abort).expect("it starts");
    assert_eq!(ground.settled(2)["ok"], true);
    assert_eq!(ground.text("run-2/provider.log"), format!("resumed {session}\n"));
    assert_eq!(ground.run(2)["sessionId"], session);
}
