//! Prepared turns by the built-in process host: the harness's version, the rendered command line, and nothing else in its place
//! (EX-PRE-06, EX-PRE-13, EX-PRE-33, EX-CAP-27).

use gallivant_core::execution::AbortToken;
use gallivant_core::json::Value;
use gallivant_core::{Code, Error};
use serde_json::{Value as Json, json};

use crate::ground::{Ground, from_core, object};
use crate::programs;

/// A task whose provider is the harness `drafter`, a script that tells this version and leaves its arguments, its input and its
/// environment as marks.
fn ground(version: &str) -> Ground {
    let mut ground = Ground::new();
    let place = ground.place().display();
    let script = format!(
        "#!/bin/sh\nif test \"$1\" = --version; then {version}; exit; fi\n\
         for argument; do echo \"$argument\"; done > {place}/arguments\n\
         cat > {place}/input\nenv | sort > {place}/environment\necho drafted\n"
    );
    programs::script(ground.place(), "drafter", &script);
    ground.options["provider"] = json!("drafter");
    let record = &mut ground.options["capabilities"];
    record["provider"] = json!("drafter");
    record["authentication"] = json!({"scheme": "cli", "secretNames": ["DRAFTER_KEY"]});
    record["models"] = json!("required");
    record["preparation"] =
        json!({"version": 1, "boundary": "tools-off", "authority": "native", "environment": "native"});
    ground.options["runner"]["harnesses"] = json!({"drafter": {
        "program": "drafter", "start": ["work"], "resume": ["work"], "prompt": "stdin", "output": "exit",
        "preparation": {
            "boundary": "tools-off", "minimumVersion": "2.1.0", "version": ["--version"],
            "render": ["draft", "--tools", "", ["--model", "{model}"]]
        }
    }});
    ground
}

fn preparation_of(ground: &Ground) -> &Json {
    &ground.options["runner"]["harnesses"]["drafter"]["preparation"]
}

fn variables(ground: &Ground) -> Json {
    let path = format!("{}:/usr/bin:/bin", ground.place().display());
    json!({"PATH": path, "LC_ALL": "C", "DRAFTER_KEY": "sesame", "AWS_SECRET": "hunter2"})
}

fn prepare(ground: &Ground) -> Result<Json, Error> {
    let input = json!({
        "operationId": "op-1", "phase": "draft", "prompt": "plan it", "model": "m-1", "environment": variables(ground)
    });
    let prepared = ground.runs().prepare(object(&input), &AbortToken::new())?;
    Ok(from_core(&Value::Object(prepared)))
}

fn intake(ground: &Ground, prepared: &Json) -> Json {
    json!({
        "operationId": "op-1", "runId": "run-1", "kind": "intake", "prompt": "plan it", "policy": "safe",
        "model": "m-1", "preparation": prepared["receipt"], "native": prepared["native"],
        "spec": {"cwd": ground.place(), "env": variables(ground)}
    })
}

fn with(mut input: Json, member: &str, value: Json) -> Json {
    input["spec"][member] = value;
    input
}

#[test]
fn ex_pre_13_a_prepared_turn_runs_what_was_rendered_with_a_small_environment() {
    let ground = ground("echo '2.1.3 (drafter)'");
    let prepared = prepare(&ground).expect("a receipt");
    let program = ground.place().join("drafter");
    let arguments = json!(["draft", "--tools", "", "--model", "m-1"]);
    assert_eq!(prepared["native"], json!({"cmd": program, "args": arguments, "options": null}));
    let mut input = intake(&ground, &prepared);
    input["spec"]["env"]["SHELL_SECRET"] = json!("hunter3");
    ground.start_with(input).expect("it starts");
    assert_eq!(ground.settled(1)["ok"], true);
    assert_eq!(ground.mark("arguments"), "draft\n--tools\n\n--model\nm-1");
    assert_eq!(std::fs::read_to_string(ground.place().join("input")).expect("read"), "plan it");
    let environment = ground.mark("environment");
    assert!(environment.contains("DRAFTER_KEY=sesame") && environment.contains("LC_ALL=C"), "{environment}");
    assert!(!environment.contains("hunter"), "{environment}");
    let operation = &ground.file("execution.json")["operations"]["op-1"];
    assert_eq!(
        (&operation["phase"], &operation["preparation"]),
        (&json!("draft"), &prepared["receipt"]["inputFingerprint"])
    );
}

#[test]
fn ex_pre_06_a_prepared_turn_has_no_command_line_of_the_callers_own() {
    let ground = ground("echo 2.1.0");
    let prepared = prepare(&ground).expect("a receipt");
    for (member, value) in [
        ("argv", json!(["/bin/sh", "-c", "touch never"])),
        ("program", json!("/bin/sh")),
        ("args", json!(["--tools", "Bash"])),
        ("stdin", json!("do it")),
        ("harness", json!("codex")),
    ] {
        let refused = ground.start_with(with(intake(&ground, &prepared), member, value)).expect_err(member);
        assert_eq!(refused.code(), Code::ExecutionInput, "{member}");
        assert!(refused.message().contains(member), "{}", refused.message());
    }
    // Nor another than the one that was rendered.
    let mut other = intake(&ground, &prepared);
    other["native"]["args"] = json!(["draft"]);
    assert_eq!(ground.start_with(other).expect_err("another").code(), Code::ExecutionPreparation);
    assert!(!ground.task().join("run-1").exists(), "no intent was saved");
}

#[test]
fn ex_pre_33_a_harness_that_is_too_old_or_tells_no_version_prepares_nothing() {
    for (version, why) in [
        ("echo 'drafter 2.0.9'", "too old, version=`2.0.9`, minimum=`2.1.0`"),
        ("echo nightly", "not known"),
        ("exit 1", "ended with"),
        ("exec 2>&-", "not known"),
        ("head -c 100000 /dev/zero", "too much"),
    ] {
        let ground = ground(version);
        let refused = prepare(&ground).expect_err(version);
        assert!(refused.message().contains(why), "{version}: {}", refused.message());
        let is_to_be_installed = version.starts_with("echo") || version.starts_with("exec");
        assert_eq!(refused.remedy().starts_with("install a version"), is_to_be_installed, "{version}");
        assert_eq!(
            (refused.code(), refused.reason()),
            (Code::ExecutionPreparation, Some("version")),
            "{version}"
        );
        assert!(!ground.task().join("execution.json").exists(), "{version}");
    }
    let absent = ground("echo 2.1.0");
    std::fs::remove_file(absent.place().join("drafter")).expect("removed");
    let refused = prepare(&absent).expect_err("no program");
    assert!(refused.message().contains("program=`drafter`"), "{}", refused.message());
    assert_eq!((refused.code(), refused.reason()), (Code::ExecutionPreparation, Some("version")));
}

#[test]
fn ex_pre_33_a_harness_that_hangs_over_its_version_is_ended_at_the_deadline() {
    let mut ground = ground("sleep 60 & echo $! > \"${0%/*}/sleeper\"; wait");
    ground.options["limits"]["deadlineMs"] = json!(500);
    let refused = prepare(&ground).expect_err("it hangs");
    assert_eq!(refused.code(), Code::ExecutionDeadline);
    let sleeper = ground.marked_pid("sleeper");
    crate::ground::eventually("the end of its group", || !crate::ground::is_alive(sleeper));
}

#[test]
fn ex_pre_33_what_a_harness_leaves_behind_when_it_has_told_its_version_is_ended() {
    let ground = ground("sleep 60 </dev/null >/dev/null 2>&1 & echo $! > \"${0%/*}/sleeper\"; echo 2.1.0");
    prepare(&ground).expect("a receipt");
    let sleeper = ground.marked_pid("sleeper");
    crate::ground::eventually("its end", || !crate::ground::is_alive(sleeper));
}

/// The word of an older package is no receipt for a command line, neither for the caller's own nor for a rendered one.
#[test]
fn ex_pre_06_without_an_issued_receipt_nothing_is_started() {
    let ground = ground("echo 2.1.0");
    let prepared = prepare(&ground).expect("a receipt");
    let with = |preparation: &Json, native: Json| {
        let mut input = intake(&ground, &prepared);
        input["preparation"] = preparation.clone();
        input["native"] = native;
        input
    };
    let word = json!("tools-off");
    let own = json!({"cmd": "/bin/sh", "args": ["-c", "touch never"], "options": null});
    let mut bare = with(&word, Json::Null);
    bare["spec"]["argv"] = json!(["/bin/sh", "-c", "touch never"]);
    for input in [bare, with(&word, own), with(&prepared["receipt"], Json::Null)] {
        let refused = ground.start_with(input).expect_err("no receipt");
        assert_eq!(refused.code(), Code::ExecutionPreparation, "{refused}");
    }
    assert!(!ground.task().join("run-1").exists() && !ground.place().join("never").exists());
}

#[test]
fn ex_cap_27_the_profile_brings_what_the_record_does_not_say() {
    // A profile that enforces another boundary, or none, prepares nothing.
    for preparation in
        [json!(null), json!({"boundary": "text-only", "minimumVersion": "1", "version": [], "render": []})]
    {
        let mut ground = ground("echo 2.1.0");
        ground.options["runner"]["harnesses"]["drafter"]["preparation"] = preparation;
        let remedy = if preparation_of(&ground).is_null() {
            "give the provider's harness"
        } else {
            "name the boundary"
        };
        let refused = prepare(&ground).expect_err("none");
        assert_eq!(refused.code(), Code::ExecutionPreparation);
        assert!(refused.remedy().starts_with(remedy), "{}", refused.remedy());
    }
    // Nor does one whose record promises a step that the process host does not have.
    let mut configured = ground("echo 2.1.0");
    configured.options["capabilities"]["preparation"]["configure"] = json!(true);
    assert_eq!(prepare(&configured).expect_err("no such step").code(), Code::ExecutionIo);
    assert!(!configured.task().join("execution.json").exists());
    // Two versions cannot both be the oldest that enforces it.
    let mut ground = ground("echo 2.1.0");
    ground.options["capabilities"]["preparation"]["minimumVersion"] = json!("2.0.0");
    let options = gallivant_core::execution::ExecutionOptions::from_object(
        ground.task(),
        &object(&ground.options),
        std::sync::Arc::clone(&ground.faults),
    );
    let refused = gallivant_core::execution::LocalRuns::open(options.expect("well formed"), &ground.host);
    assert_eq!(refused.expect_err("two versions").code(), Code::ExecutionCapability);
}
