//! Starts: what is on disk when, what a harness is given, and what it is not (EX-LOC-01 to 04, 14, 15, 29; EX-BND-24, 28, 31).

use gallivant_core::Code;
use gallivant_core::execution::AbortToken;
use serde_json::json;

use crate::ground::{Ground, eventually, from_core, is_alive, object, pid};

#[test]
fn ex_bnd_24_a_start_gives_the_job_record_with_its_process() {
    let ground = Ground::new();
    let job = ground.start(1, "echo $$ > pid; echo hello; exit 0");
    let process = &job["process"];
    assert_eq!(pid(process), ground.marked_pid("pid"));
    assert_eq!(process["group"], process["pid"], "it leads its own group");
    let identity = process["identity"].as_str().expect("a text");
    assert_eq!(identity.split(':').count(), 4, "{identity}");
    assert!(identity.starts_with("linux:"), "{identity}");
    assert_ne!(process["supervisor"]["pid"], process["pid"]);
    assert_eq!(ground.text("latest-run"), "run-1");
    // EX-BND-25, EX-BND-26 and EX-BND-31.
    let runs = ground.runs();
    assert_eq!(runs.current().expect("read"), runs.read("run-1").expect("read"));
    assert_eq!(runs.dir_of("run-1").expect("an id"), ground.task().join("run-1"));
    assert_eq!(runs.dir_of("../x").expect_err("no id").code(), Code::ExecutionInput);
    let outcome = ground.settled(1);
    assert_eq!((&outcome["ok"], &outcome["exit"]), (&json!(true), &json!(0)));
}

#[test]
fn ex_sea_06_the_built_in_host_answers_inside_the_core() {
    let ground = Ground::new();
    let runs = ground.runs();
    let boundary = runs.boundary();
    let done = |mut machine: gallivant_core::execution::Machine| match machine.start() {
        gallivant_core::execution::Step::Done(outcome) => from_core(&outcome.expect("it is well")),
        gallivant_core::execution::Step::Call(call) => panic!("it asks the host program for {}", call.method),
    };
    let abort = AbortToken::new;
    let started = done(boundary.submit(object(&ground.script(1, "exit 3")), abort()));
    assert_eq!(started["acceptance"], "accepted");
    assert!(ground.wait_for_kill(1, crate::ground::PATIENCE));
    let report = done(boundary.reconcile(true, abort()));
    assert_eq!(report["terminalState"], "failed");
    assert_eq!(ground.job(1)["exit"], 3);
}

#[test]
fn ex_loc_01_a_dispatch_without_the_supervisor_is_refused_with_the_remedy() {
    let mut ground = Ground::new();
    ground.options["runner"]["supervisor"] = json!(ground.place().join("nowhere"));
    let refused = ground.start_with(ground.script(1, "true")).expect_err("nothing could carry it out");
    assert_eq!((refused.code(), refused.reason()), (Code::ExecutionCapability, Some("unavailable")));
    assert!(refused.remedy().contains("GALLIVANT_SUPERVISE"), "{}", refused.remedy());
    assert!(!ground.task().join("execution.json").exists(), "nothing was saved");
}

#[test]
fn ex_loc_04_the_harness_leads_its_own_session_and_outlives_its_launcher() {
    let ground = Ground::new();
    let job = ground.start(1, "echo $$ > pid; while test ! -e go; do sleep 0.01; done; exit 0");
    let harness = ground.marked_pid("pid");
    let stat = std::fs::read_to_string(format!("/proc/{harness}/stat")).expect("it runs");
    let fields: Vec<_> = stat.rsplit_once(')').expect("a line").1.split_whitespace().collect();
    assert_eq!(fields[2], harness.to_string(), "its group");
    assert_eq!(fields[3], harness.to_string(), "its session");
    // Nothing of this process is its ancestor but the supervisor, whose parent is not this process.
    assert_eq!(fields[1], job["process"]["supervisor"]["pid"].to_string());
    let supervisor = pid(&job["process"]["supervisor"]);
    let stat = std::fs::read_to_string(format!("/proc/{supervisor}/stat")).expect("it runs");
    let parent =
        stat.rsplit_once(')').expect("a line").1.split_whitespace().nth(1).expect("a parent").to_owned();
    assert_ne!(parent, std::process::id().to_string());
    std::fs::write(ground.place().join("go"), "").expect("written");
    assert_eq!(ground.settled(1)["ok"], true);
    eventually("the supervisor's end", || !is_alive(supervisor));
}

#[test]
fn ex_loc_14_the_output_is_private_and_its_redactions_stand_before_the_process_writes() {
    use std::os::unix::fs::PermissionsExt;
    let mut ground = Ground::new();
    ground.options["secrets"] = json!(["hunter2-hunter2"]);
    let mut input =
        ground.script(1, "ls run; cat run/sensitive-redactions.json; echo token hunter2-hunter2 >&2");
    input["spec"]["secrets"] = json!(["second-secret"]);
    std::os::unix::fs::symlink(ground.task().join("run-1"), ground.place().join("run")).expect("a link");
    ground.start_with(input).expect("it starts");
    assert_eq!(ground.settled(1)["ok"], true);
    let raw = ground.text("run-1/provider.log");
    assert!(raw.contains("sensitive-redactions.json\n"), "it stood there before: {raw}");
    assert!(raw.contains("second-secret") && raw.contains("token hunter2-hunter2"), "raw output is raw");
    for name in ["run-1/provider.log", "run-1/sensitive-redactions.json", "run-1/exit.json"] {
        let mode = std::fs::metadata(ground.task().join(name)).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{name}");
    }
    ground.pass();
    let lines = ground.runs().lines("run-1", None, 400).expect("lines").to_json();
    assert!(lines.contains("token ") && !lines.contains("hunter2"), "{lines}");
    assert!(!lines.contains("second-secret"), "{lines}");
}

#[test]
fn ex_loc_15_the_environment_comes_from_the_coordinator_alone_and_is_saved_nowhere() {
    let ground = Ground::new();
    let mut input =
        ground.script(1, "env | grep -v '^PWD=\\|^SHLVL=\\|^_=\\|^OLDPWD=' | sort > env; echo ok >> env");
    input["spec"]["env"]["API_KEY"] = json!("value-that-is-nowhere");
    input["spec"]["env"]["GALLIVANT_SESSION_TOKEN"] = json!("another session's");
    ground.start_with(input).expect("it starts");
    assert_eq!(ground.settled(1)["ok"], true);
    let env = std::fs::read_to_string(ground.place().join("env")).expect("it was written");
    let names: Vec<_> = env.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert_eq!(names, ["API_KEY", "GALLIVANT_RUN_PROCESS", "PATH"]);
    ground.pass();
    for name in
        ["execution.json", "run-1/job.json", "run-1/exit.json", "run-1/result.json", "run-1/provider.log"]
    {
        assert!(!ground.text(name).contains("value-that-is-nowhere"), "{name}");
    }
}

#[test]
fn ex_loc_29_the_child_has_its_three_streams_and_no_other_descriptor_or_lock() {
    use std::os::fd::AsRawFd;
    let ground = Ground::new();
    // A descriptor that anybody inherits.
    let open = std::fs::File::open("/dev/null").expect("opened");
    let flags = rustix::io::fcntl_getfd(&open).expect("flags") - rustix::io::FdFlags::CLOEXEC;
    rustix::io::fcntl_setfd(&open, flags).expect("it is inherited from here on");
    assert!(open.as_raw_fd() > 2);
    let script = "grep SigIgn /proc/$$/status > signals; read line; echo \"got <$line>\" >> signals; \
                  echo $$ > pid; while test ! -e go; do sleep 0.01; done";
    ground.start(1, script);
    let harness = ground.marked_pid("pid");
    let target = |fd: &str| std::fs::read_link(format!("/proc/{harness}/fd/{fd}")).expect("it is open");
    let open = || {
        let entries = std::fs::read_dir(format!("/proc/{harness}/fd")).expect("it runs").flatten();
        let mut open: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        open.sort();
        open
    };
    // Between two commands the shell has nothing of its own open.
    eventually("the three streams alone", || open() == ["0", "1", "2"]);
    assert_eq!(target("0"), std::path::Path::new("/dev/null"));
    assert!(target("1").ends_with("run-1/provider.log") && target("1") == target("2"));
    eventually("the signals", || {
        std::fs::read_to_string(ground.place().join("signals")).is_ok_and(|text| text.contains("got <>"))
    });
    let signals = std::fs::read_to_string(ground.place().join("signals")).expect("it was written");
    let ignored = signals.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a line");
    let ignored = u64::from_str_radix(ignored.trim(), 16).expect("a number");
    // The C library keeps the signals 32 and 33 to itself, and nobody can set them back.
    assert_eq!(ignored & !0x1_8000_0000, 0, "no signal is ignored");
    // The locks are free while it lives: another boundary works.
    assert_eq!(ground.pass()["error"], json!(null));
    std::fs::write(ground.place().join("go"), "").expect("written");
    ground.settled(1);
}

#[test]
fn ex_loc_25_what_cannot_be_started_is_refused_and_leaves_nothing() {
    let ground = Ground::new();
    for (change, code) in [
        (json!({"argv": ["/nowhere/at/all"]}), "program"),
        (json!({"argv": ["no-such-program-anywhere"]}), "program"),
        (json!({"cwd": "/nowhere/at/all"}), "cwd"),
        (json!({"cwd": "relative"}), "spec"),
        (json!({"argv": [], "harness": null}), "spec"),
        (json!({"env": {"A=B": "x"}}), "spec"),
        (json!({"argv": null, "harness": "unknown"}), "harness"),
        (json!({"argv": ["/bin/sh", "a\u{0}b"]}), "spec"),
        // Whoever writes them so believes them hidden.
        (json!({"secrets": "hunter2-hunter2"}), "spec"),
        (json!({"secrets": [{"value": "hunter2-hunter2"}]}), "spec"),
    ] {
        let mut input = ground.script(1, "true");
        for (key, value) in change.as_object().expect("an object") {
            input["spec"][key] = value.clone();
        }
        let refused = ground.start_with(input).expect_err("it cannot be started");
        assert_eq!(refused.code(), Code::ExecutionDispatchRefused, "{change}: {refused}");
        let refusals = ground.file("execution.json")["dispatchRefusals"].clone();
        let last = refusals.as_array().and_then(|refusals| refusals.last()).cloned().expect("it is noted");
        assert_eq!(last["code"], code, "{change}");
        assert!(!ground.task().join("run-1").exists(), "{change}");
    }
    // The task goes on.
    ground.start(1, "exit 0");
    assert_eq!(ground.settled(1)["ok"], true);
}

#[test]
fn a_prompt_on_standard_input_arrives_whole_however_long_it_is() {
    let ground = Ground::new();
    let mut input = ground.script(1, "wc -c; exit 0");
    input["spec"]["stdin"] = json!("x".repeat(300_000));
    ground.start_with(input).expect("it starts");
    assert_eq!(ground.settled(1)["ok"], true);
    assert_eq!(ground.text("run-1/provider.log").trim(), "300000");
}
