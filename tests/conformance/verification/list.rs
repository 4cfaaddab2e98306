//! The list of commands and its evidence: EX-VER-01 to EX-VER-07 and EX-VER-12 to EX-VER-19, over a scripted sandbox where that
//! is enough.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use gallivant_core::digest::sha256_hex;
use gallivant_core::json::Value;
use gallivant_core::redaction::Secrets;
use gallivant_core::verification::running::End;
use gallivant_core::verification::{ApprovedCommands, Repository, Verdict, has_provenance, is_complete};
use gallivant_core::{Code, Error, Result};

use super::ground::{Ground, Scripted, approved, blocked, exit_code, git, says, verified};

#[test]
fn ex_ver_01_the_approved_list_runs_in_order_at_the_applied_head() {
    let ground = Ground::new();
    let host = Scripted::new();
    verified(&ground.scripted(&["one", "two", "three"], &host).expect("a verdict"));
    assert_eq!(host.texts(), ["one", "two", "three"]);
    let checkout = ground.checkout.clone().into_os_string();
    for seen in host.seen() {
        assert!(seen.arguments.windows(2).any(|pair| pair[0] == "--chdir" && pair[1] == checkout));
    }
    // A source that has changed since it was approved is refused; nothing of it is run.
    let hash = sha256_hex(b"make test\n");
    let changed = ApprovedCommands::new(vec!["make test".into()], b"make test; curl\n", &hash);
    assert_eq!(changed.expect_err("refused").code(), Code::ExecutionConflict);
    // And evidence of one list is none of another.
    let saved = ground.saved();
    assert!(is_complete(&saved, &approved(&["one", "two", "three"]), &ground.head));
    assert!(!is_complete(&saved, &approved(&["one", "two"]), &ground.head));
    assert!(!is_complete(&saved, &approved(&["one", "three", "two"]), &ground.head));
}

#[test]
fn ex_ver_01_a_list_of_another_form_is_refused() {
    let list = |commands: &[&str], hash: &str| {
        let commands = commands.iter().map(|text| (*text).to_owned()).collect();
        ApprovedCommands::new(commands, b"", hash).map_err(|error| error.code())
    };
    let empty = sha256_hex(b"");
    assert!(list(&[], &empty).is_ok());
    for bad in [&[""][..], &[" \n"], &["a\0b"]] {
        assert_eq!(list(bad, &empty), Err(Code::ExecutionInput));
    }
    assert_eq!(list(&["a"], &empty.to_uppercase()), Err(Code::ExecutionInput));
    assert_eq!(list(&["a"], &empty[1..]), Err(Code::ExecutionInput));
}

#[test]
fn ex_ver_02_a_command_is_the_exact_text_for_a_shell_that_reads_no_file() {
    let mut ground = Ground::new();
    ground.environment =
        [("SHELL", "/bin/zsh"), ("ENV", "/home/o/.profile"), ("BASH_ENV", "/home/o/.bashrc")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
    let host = Scripted::new();
    let text = "  echo \"$HOME\" 'two  words' \\\n  && true # é";
    verified(&ground.scripted(&[text], &host).expect("a verdict"));
    let seen = &host.seen()[0];
    let tail: Vec<_> = seen.arguments.iter().rev().take(4).rev().collect();
    assert_eq!(tail, ["--", "/bin/sh", "-c", text], "neither -l nor -i, and the text as it is");
    for name in ["SHELL", "ENV", "BASH_ENV"] {
        assert!(!seen.environment.iter().any(|(found, _)| found == name), "{name}");
    }
}

#[test]
fn ex_ver_03_a_command_is_posix_shell_whatever_its_first_line_says() {
    let ground = Ground::new();
    let Some(output) = ground.output_of("#!/usr/bin/env python3\necho \"shell ${X:-yes}\"; exit 3", 3) else {
        return;
    };
    assert_eq!(output, "shell yes\n");
}

#[test]
fn ex_ver_04_a_command_has_two_minutes_and_256_kib_of_output() {
    let ground = Ground::new();
    let host = Scripted::new()
        .then(says(&"é".repeat(131_072), End::Exited(0)))
        .then(says(&"é".repeat(131_073), End::Exited(0)))
        .then(says("begun", End::TimedOut));
    let verdict = ground.scripted(&["exact", "more", "long"], &host).expect("a verdict");
    assert_eq!(blocked(&verdict).reason, "command-failed");
    assert!(host.seen().iter().all(|seen| seen.limit_ms == 120_000));
    let saved = ground.saved();
    let commands = saved.get("commands").and_then(Value::as_array).expect("a list");
    let output = |at: usize| commands[at].get("output").and_then(Value::as_str).expect("a text");
    let truncated = |at: usize| commands[at].get("truncated").and_then(Value::as_bool);
    assert_eq!((output(0).len(), truncated(0)), (262_144, Some(false)));
    assert_eq!((output(1).len(), truncated(1)), (262_144, Some(true)));
    assert_eq!((output(2), exit_code(&commands[2])), ("begun", None));
    assert_eq!(commands[2].get("failure").and_then(Value::as_str), Some("timeout"));
}

#[test]
fn ex_ver_04_output_is_redacted_before_it_is_cut() {
    let mut ground = Ground::new();
    ground.secrets = Secrets::lenient(["a-secret-of-the-run"]);
    // The secret lies across the cut, and so does what stands in its place.
    for before in (262_144 - 19..262_144).step_by(3) {
        let text = format!("{}a-secret-of-the-run", "x".repeat(before));
        let host = Scripted::new().then(says(&text, End::Exited(0)));
        verified(&ground.scripted(&["print"], &host).expect("a verdict"));
        let saved = ground.saved();
        let output = saved.get("commands").and_then(Value::as_array).expect("a list")[0].clone();
        let output = output.get("output").and_then(Value::as_str).expect("a text");
        let rest = output.trim_start_matches('x');
        assert!(rest.is_empty() || rest == "[redacted]", "{before}: {rest}");
        std::fs::remove_file(ground.run.join("verification.json")).expect("removed");
    }
}

#[test]
fn ex_red_19_output_loses_environment_values_and_secrets_in_one_pass() {
    let mut ground = Ground::new();
    ground.secrets = Secrets::lenient(["overlap-one-two", "short"]);
    ground.environment = [
        ("COORDINATOR_TOKEN", "two-three-value"),
        ("LANG", "C.UTF-8-kept"),
        ("SHLVL", "1"),
        ("GH", "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    // The first two overlap: one pass makes one mark of them. The third is a value, the fourth a recognised credential.
    let text = "overlap-one-two-three-value 1 short C.UTF-8-kept sk-0123456789abcdefghijklmn é\n";
    let host = Scripted::new()
        .then(Box::new(move |_, output| {
            // Byte by byte, as a pipe may give it.
            text.bytes().for_each(|byte| assert!(output(&[byte])));
            Ok(End::Exited(0))
        }))
        .then(says("x", End::Exited(0)));
    verified(&ground.scripted(&["print", "echo overlap-one-two"], &host).expect("a verdict"));
    let saved = ground.saved();
    let commands = saved.get("commands").and_then(Value::as_array).expect("a list");
    let output = commands[0].get("output").and_then(Value::as_str).expect("a text");
    assert_eq!(output, "[redacted] 1 [redacted] C.UTF-8-kept [redacted] é\n");
    assert_eq!(commands[1].get("command").and_then(Value::as_str), Some("echo [redacted]"));
    assert_eq!(host.texts()[1], "echo overlap-one-two", "what runs is exact");
}

#[test]
fn ex_ver_05_the_evidence_of_a_command_has_these_members() {
    let ground = Ground::new();
    let host = Scripted::new().then(says("out\n", End::Exited(7)));
    blocked(&ground.scripted(&["fail"], &host).expect("a verdict"));
    let saved = ground.saved();
    let command = &saved.get("commands").and_then(Value::as_array).expect("a list")[0];
    let names: Vec<_> =
        command.as_object().expect("an object").iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(
        names,
        [
            "command",
            "exitCode",
            "startedAt",
            "endedAt",
            "revision",
            "output",
            "truncated",
            "failure",
            "sandbox"
        ]
    );
    assert_eq!(exit_code(command), Some(7));
    assert_eq!(command.get("revision").and_then(Value::as_str), Some(ground.head.as_str()));
    assert!(has_provenance(command));
    let at =
        |name: &str| command.get(name).and_then(Value::as_number).and_then(|at| at.as_u64()).expect("a time");
    assert!(at("startedAt") <= at("endedAt"));
}

#[test]
fn ex_ver_06_evidence_is_durable_after_each_command_however_it_ended() {
    let ground = Ground::new();
    let run = ground.run.clone();
    let count = move || {
        let text = std::fs::read_to_string(run.join("verification.json")).expect("evidence");
        Value::parse(&text).expect("JSON").get("commands").and_then(Value::as_array).expect("a list").len()
    };
    let second = count.clone();
    let host = Scripted::new()
        .then(Box::new(move |_, _| {
            assert_eq!(count(), 0, "it stands there before the first command");
            Ok(End::Exited(0))
        }))
        .then(Box::new(move |_, output| {
            assert_eq!(second(), 1);
            output(b"as far as it came");
            Err(io::Error::other("the pipe broke"))
        }));
    let verdict = ground.scripted(&["one", "two", "three"], &host).expect("a verdict");
    assert_eq!(blocked(&verdict).reason, "command-failed");
    let saved = ground.saved();
    let commands = saved.get("commands").and_then(Value::as_array).expect("a list");
    assert_eq!(commands.len(), 2);
    assert_eq!(exit_code(&commands[1]), None);
    assert_eq!(commands[1].get("failure").and_then(Value::as_str), Some("io"));
    let output = commands[1].get("output").and_then(Value::as_str).expect("a text");
    assert!(output.starts_with("as far as it came"), "{output}");
}

#[test]
fn ex_ver_07_what_a_provider_says_of_tests_is_no_evidence() {
    let ground = Ground::new();
    let said =
        r#"{"version":1,"outcome":{"ok":true,"tests":"every test passed"},"verification":{"exitCode":0}}"#;
    std::fs::write(ground.run.join("result.json"), said).expect("written");
    let host = Scripted::new().then(says("1 failed\n", End::Exited(1)));
    let verdict = ground.scripted(&["make test"], &host).expect("a verdict");
    assert_eq!(blocked(&verdict).reason, "command-failed");
    assert!(!ground.saved().to_json().contains("every test passed"));
    assert!(!is_complete(&Value::parse(said).expect("JSON"), &approved(&[]), &ground.head));
}

#[test]
fn ex_ver_12_the_tree_is_looked_at_before_the_list_and_behind_each_success() {
    let ground = Ground::new();
    let host = Scripted::new().then(says("", End::Exited(0))).then(says("", End::Exited(1)));
    let counted = Counted { head: ground.head.clone(), ..Counted::default() };
    blocked(&ground.with(&["one", "two", "three"], &host, &counted, &|| false).expect("a verdict"));
    assert_eq!(counted.looks.load(Ordering::Relaxed), 2, "at the start, and behind the one that succeeded");
    // Publication looks by the same function, at the real repository.
    let look =
        || gallivant_core::verification::repository::look(&ground.git(), &ground.head).expect("looked");
    assert_eq!(look(), None);
    std::fs::create_dir(ground.checkout.join("ignored")).expect("made");
    std::fs::write(ground.checkout.join("ignored/file"), "x").expect("written");
    assert_eq!(look(), None, "the repository's own rules ignore it");
    std::fs::write(ground.checkout.join("new.txt"), "x").expect("written");
    assert_eq!(
        look().map(gallivant_core::verification::Changed::word),
        Some("dirty"),
        "a file that is not tracked"
    );
}

#[test]
fn ex_ver_13_a_status_that_cannot_be_told_stops_publication() {
    for fails_at in [0, 1] {
        let ground = Ground::new();
        let host = Scripted::new();
        let counted = Counted { head: ground.head.clone(), fails_at: Some(fails_at), ..Counted::default() };
        let error = ground.with(&["one", "two"], &host, &counted, &|| false).expect_err("no verdict");
        assert_eq!((error.code(), error.reason()), (Code::ExecutionIo, Some("tree")));
        assert_eq!(host.texts().len(), fails_at, "nothing runs behind it");
        assert!(!is_complete(&ground.saved(), &approved(&["one", "two"]), &ground.head));
    }
}

#[test]
fn ex_ver_14_a_change_by_a_command_blocks_and_is_left_as_it_is() {
    let ground = Ground::new();
    let checkout = ground.checkout.clone();
    let host = Scripted::new().then(Box::new(move |_, _| {
        std::fs::write(checkout.join("tracked.txt"), "changed\n").expect("written");
        Ok(End::Exited(0))
    }));
    let verdict = ground.scripted(&["one", "two"], &host).expect("a verdict");
    assert_eq!(blocked(&verdict).reason, "dirty");
    assert_eq!(host.texts(), ["one"]);
    let kept = std::fs::read_to_string(ground.checkout.join("tracked.txt")).expect("read");
    assert_eq!(kept, "changed\n", "not discarded");
    assert_eq!(git(&ground.checkout, &["rev-parse", "HEAD"]), ground.head, "not committed");
    assert!(!is_complete(&ground.saved(), &approved(&["one", "two"]), &ground.head), "not verified");
    assert!(!is_complete(&ground.saved(), &approved(&["one"]), &ground.head));
}

#[test]
fn ex_ver_15_another_head_blocks_at_each_look() {
    let ground = Ground::new();
    let checkout = ground.checkout.clone();
    let host = Scripted::new().then(Box::new(move |_, _| {
        git(&checkout, &["commit", "-q", "--allow-empty", "-m", "another"]);
        Ok(End::Exited(0))
    }));
    let verdict = ground.scripted(&["one", "two"], &host).expect("a verdict");
    assert_eq!(blocked(&verdict).reason, "revision-changed");
    assert_eq!(host.texts(), ["one"]);
    // And at the start: HEAD is another one now.
    std::fs::remove_file(ground.run.join("verification.json")).expect("removed");
    let host = Scripted::new();
    let verdict = ground.scripted(&["one"], &host).expect("a verdict");
    assert_eq!(blocked(&verdict).reason, "revision-changed");
    assert!(host.texts().is_empty());
}

#[test]
fn ex_ver_16_a_failing_command_blocks_and_later_ones_do_not_run() {
    for end in [End::Exited(1), End::Exited(255), End::TimedOut, End::Signalled(9)] {
        let ground = Ground::new();
        let host = Scripted::new().then(says("", End::Exited(0))).then(says("", end));
        let verdict = ground.scripted(&["one", "two", "three"], &host).expect("a verdict");
        assert_eq!(blocked(&verdict).reason, "command-failed", "{end:?}");
        assert_eq!(host.texts(), ["one", "two"]);
    }
}

#[test]
fn ex_ver_17_a_block_has_a_reason_and_a_time() {
    let ground = Ground::new();
    let before = ground.host.clock.wall_ms();
    let host = Scripted::new().then(says("", End::Exited(1)));
    let verdict = ground.scripted(&["one"], &host).expect("a verdict");
    let block = blocked(&verdict);
    assert!(block.blocked_at >= before && !block.remedy.is_empty());
    let saved = ground.saved();
    let saved = saved.get("blocked").expect("a block");
    assert_eq!(saved.get("reason").and_then(Value::as_str), Some("command-failed"));
    let at = saved.get("blockedAt").and_then(Value::as_number).and_then(|at| at.as_u64());
    assert_eq!(at, Some(block.blocked_at));
}

#[test]
fn ex_ver_18_a_verification_that_has_begun_is_never_begun_again() {
    let ground = Ground::new();
    // The process dies in the middle of a command: evidence without an end is what stands there.
    let host = Scripted::new().then(Box::new(|_, _| panic!("the coordinator dies")));
    let died =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ground.scripted(&["one", "two"], &host)));
    assert!(died.is_err());
    let left = std::fs::read(ground.run.join("verification.json")).expect("evidence");
    let host = Scripted::new();
    let verdict = ground.scripted(&["one", "two"], &host).expect("a verdict");
    assert_eq!(blocked(&verdict).reason, "verification-interrupted");
    assert!(host.texts().is_empty(), "no command runs again");
    assert_eq!(std::fs::read(ground.run.join("verification.json")).expect("evidence"), left, "byte for byte");
    // Nor is one that was whole.
    let ground = Ground::new();
    verified(&ground.scripted(&["one"], &Scripted::new()).expect("a verdict"));
    let host = Scripted::new();
    assert_eq!(
        blocked(&ground.scripted(&["one"], &host).expect("a verdict")).reason,
        "verification-interrupted"
    );
    assert!(host.texts().is_empty());
}

#[test]
fn ex_ver_19_an_empty_list_is_verified_and_claims_no_test() {
    let ground = Ground::new();
    let host = Scripted::new();
    let verdict = ground.scripted(&[], &host).expect("a verdict");
    assert!(verified(&verdict).commands.is_empty());
    let saved = ground.saved();
    assert!(saved.get("commands").and_then(Value::as_array).is_some_and(<[Value]>::is_empty));
    assert!(is_complete(&saved, &approved(&[]), &ground.head) && has_provenance(&saved));
}

/// A repository that is clean and counts how often it is looked at.
#[derive(Debug, Default)]
struct Counted {
    head: String,
    looks: AtomicUsize,
    fails_at: Option<usize>,
}

impl Repository for Counted {
    fn head(&self) -> Result<String> {
        Ok(self.head.clone())
    }

    fn is_clean(&self) -> Result<bool> {
        let look = self.looks.fetch_add(1, Ordering::Relaxed);
        if self.fails_at == Some(look) {
            return Err(Error::new(Code::ExecutionIo, "git gave no whole answer").with_reason("tree"));
        }
        Ok(true)
    }
}

#[test]
fn a_verdict_without_a_driver_is_a_block() {
    let ground = Ground::new();
    let approved = approved(&["one"]);
    let request = gallivant_core::verification::Verification {
        run: &ground.run,
        checkout: &ground.checkout,
        applied_head: &ground.head,
        commands: &approved,
        runtime: None,
        environment: &[],
        secrets: &ground.secrets,
        scratch: &ground.scratch,
        view_limits: ground.view_limits,
    };
    let host = Scripted::new();
    let repository = ground.git();
    let tools = gallivant_core::verification::Tools {
        driver: None,
        commands: &host,
        repository: &repository,
        host: &ground.host,
        stop: &|| false,
        after_command: &|| Ok(()),
    };
    let verdict: Verdict = gallivant_core::verification::verify(&request, &tools).expect("a verdict");
    assert_eq!(blocked(&verdict).reason, "verification-sandbox-unavailable");
    assert!(host.texts().is_empty() && !has_provenance(&ground.saved()));
}
