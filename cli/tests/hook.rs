//! `gallivant hook`.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use gallivant_core::harness_state::{Observation, Session, State};

use crate::{program, session, tree};

fn hook(session: Option<&Session>, arguments: &[&str], payload: &str) -> std::process::Output {
    let mut command: Command = program();
    command.arg("hook").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.envs(session.map(Session::to_env).unwrap_or_default());
    let mut child = command.spawn().expect("the program runs");
    child.stdin.take().expect("a pipe").write_all(payload.as_bytes()).expect("taken");
    child.wait_with_output().expect("it ends")
}

fn state(session: &Session) -> State {
    let options = gallivant_core::harness_state::Options::default();
    let reader = gallivant_core::harness_state::Reader::open(
        session.writer().directory(),
        &options,
        &gallivant_core::Host::system(),
    );
    reader.read(None).expect("a record").state
}

#[test]
fn hs_115_a_hook_writes_the_record_and_says_nothing() {
    let root = tempfile::tempdir().expect("a directory");
    let session = session(root.path(), "a");
    for (payload, expected) in [
        (r#"{"hook_event_name":"UserPromptSubmit","prompt":"hi"}"#, State::Active),
        (r#"{"hook_event_name":"Stop"}"#, State::Idle),
    ] {
        let output = hook(Some(&session), &["claude"], payload);
        assert!(
            output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(),
            "{output:?}"
        );
        assert_eq!(state(&session), expected);
    }
}

#[test]
fn hs_112_a_hook_that_changes_nothing_writes_no_byte() {
    let root = tempfile::tempdir().expect("a directory");
    let session = session(root.path(), "a");
    let stop = r#"{"hook_event_name":"Stop"}"#;
    hook(Some(&session), &["claude"], stop);
    let before = tree(root.path());
    hook(None, &["claude"], stop);
    hook(Some(&session), &["claude"], r#"{"hook_event_name":"WorktreeCreate"}"#);
    hook(Some(&session), &["claude"], stop);
    assert_eq!(before, tree(root.path()));
}

#[test]
fn hs_115_whatever_is_wrong_the_status_is_0_and_the_log_has_it() {
    let root = tempfile::tempdir().expect("a directory");
    let session = session(root.path(), "a");
    for arguments in [&["claud"][..], &[], &["claude", "more"]] {
        let output = hook(Some(&session), arguments, "{}");
        assert!(
            output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(),
            "{output:?}"
        );
    }
    let log = std::fs::read_to_string(root.path().join("a/.harness-state.log")).expect("a log");
    assert_eq!(log.lines().filter(|line| line.contains("reason=arguments")).count(), 3, "{log}");
}

#[test]
fn hs_112_a_relative_directory_names_no_session_where_the_harness_works() {
    let root = tempfile::tempdir().expect("a directory");
    let session = session(root.path(), "a");
    let work = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(work.path().join("there")).expect("made");
    for named in ["a", "there"] {
        let mut command = program();
        command.args(["hook", "claude"]).current_dir(work.path()).stdin(Stdio::null());
        let output =
            command.envs(session.to_env()).env("GALLIVANT_AGENT_DIR", named).output().expect("it runs");
        assert!(
            output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(),
            "{output:?}"
        );
    }
    let found = tree(work.path());
    assert!(found.is_empty(), "nothing was made and nothing logged: {found:?}");
}

#[test]
fn hs_115_above_the_limit_of_a_files_size_it_exits_0() {
    let root = tempfile::tempdir().expect("a directory");
    let session = session(root.path(), "a");
    let record = std::fs::read(root.path().join("a/harness-state")).expect("a record");
    let mut command = program();
    command.args(["hook", "claude"]).envs(session.to_env()).stdin(Stdio::piped());
    // SAFETY: the structure outlives the call, which is safe after a fork and changes this child only.
    unsafe {
        command.pre_exec(|| {
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_FSIZE, &raw const none);
            Ok(())
        });
    }
    let mut child = command.spawn().expect("the program runs");
    let payload = br#"{"hook_event_name":"UserPromptSubmit"}"#;
    child.stdin.take().expect("a pipe").write_all(payload).expect("taken");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(std::fs::read(root.path().join("a/harness-state")).expect("a record"), record);
}

#[test]
fn the_notify_program_of_codex_takes_its_payload_as_an_argument() {
    let root = tempfile::tempdir().expect("a directory");
    let session = session(root.path(), "a");
    session.writer().observe(&Observation::new(State::Ready)).expect("observed");
    let output = hook(Some(&session), &["codex", r#"{"type":"agent-turn-complete"}"#], "");
    assert!(output.status.success());
    assert_eq!(state(&session), State::Idle);
}

#[test]
fn a_hook_of_another_harness_than_the_sessions_is_a_problem_for_the_check() {
    let root = tempfile::tempdir().expect("a directory");
    let session = session(root.path(), "a");
    hook(Some(&session), &["codex"], r#"{"hook_event_name":"Stop"}"#);
    assert_eq!(state(&session), State::Idle, "whoever has the session's identity speaks for it");
    let found = hook(Some(&session), &["--check", "codex"], "");
    assert_eq!(found.status.code(), Some(1));
    let found = hook(None, &["--check", "claude"], "");
    assert!(String::from_utf8_lossy(&found.stdout).contains("gallivant wrap"), "{found:?}");
}

#[test]
fn what_a_hook_would_find_is_told_by_hand() {
    let root = tempfile::tempdir().expect("a directory");
    let session = session(root.path(), "a");
    session.writer().observe(&Observation::new(State::Idle)).expect("observed");
    let found = hook(Some(&session), &["--check", "claude"], "");
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(found.status.success() && text.ends_with("ok\n"), "{text}");
    assert!(!text.contains(&session.environment().identity.token));
    let found = hook(None, &["--check"], "");
    assert_eq!(found.status.code(), Some(1));
}

/// What a program does before its first line that is linked with the C library in it, as the release is: `execve`, the heap and
/// the thread's own memory, its stack's limit, its own name, a number by chance, and what is only read from then on.
const BEFORE_MAIN: usize = 14;
const MOST: usize = 90;

/// Whether `strace` is there, knows these arguments and may trace; else the tests that need it show nothing.
fn may_trace(arguments: &[&str]) -> bool {
    let tried = Command::new("strace").args(["-o", "/dev/null"]).args(arguments).arg("true").output();
    let may = tried.is_ok_and(|tried| tried.status.success());
    if !may {
        eprintln!("strace is not there or may not trace: nothing was shown");
    }
    may
}

/// Runs a script as the agent `a` below `root`; `G` is the program.
fn wrapped(root: &std::path::Path, script: &str) {
    let status = program()
        .args(["wrap", "--agent", "a", "--dir"])
        .arg(root)
        .args(["--", "sh", "-c", script])
        .env("G", env!("CARGO_BIN_EXE_gallivant"))
        .env("TRACE", root.join("trace"))
        .status();
    assert!(status.expect("the program runs").success());
}

/// The system calls from the first line of the program on; none where nothing may be traced.
fn traced(root: &std::path::Path) -> Option<Vec<String>> {
    if !may_trace(&[]) {
        return None;
    }
    // As a harness calls it: a process of the session, by way of a shell, with the payload in a pipe that is closed. The record
    // has rested by then, and the strace between the two is one process more than in life.
    let script = r#"
        printf '{"hook_event_name":"UserPromptSubmit"}' | "$G" hook claude
        sleep 0.1
        printf '{"hook_event_name":"Stop"}' | (sleep 0.1; exec strace -f -qq -o "$TRACE" "$G" hook claude)
    "#;
    wrapped(root, script);
    let text = std::fs::read_to_string(root.join("trace")).expect("a trace");
    let calls = text.lines().map(|line| line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' '));
    let begun = calls.skip_while(|call| !call.starts_with("rt_sigprocmask(SIG_SETMASK, [HUP INT TERM XFSZ]"));
    // The second half of a call that another thread's came between, and ends of processes, are none; a debug build asks of each
    // descriptor that it closes whether it is open.
    let is_call = |call: &&str| !call.starts_with(['<', '+']) && !call.contains("F_GETFD");
    Some(begun.filter(is_call).map(str::to_owned).collect())
}

#[test]
fn hs_115_a_hook_with_a_transition_makes_at_most_ninety_system_calls() {
    let root = tempfile::tempdir().expect("a directory");
    let Some(calls) = traced(root.path()) else { return };
    let record = std::fs::read_to_string(root.path().join("a/harness-state")).expect("a record");
    assert!(record.contains(r#""process":{"pid":"#), "the harness was attached: {record}");
    assert!(calls.iter().any(|call| call.starts_with("rename")), "{calls:#?}");
    assert_eq!(calls.iter().filter(|call| call.contains("/proc/self/status")).count(), 1, "{calls:#?}");
    assert!(calls.len() + BEFORE_MAIN <= MOST, "{} calls\n{}", calls.len() + BEFORE_MAIN, calls.join("\n"));
}

#[test]
fn hs_115_a_hook_that_hangs_in_the_disk_ends_with_0_and_the_log_says_where() {
    // Longer than a hook lives.
    let hanging = ["-f", "-e", "trace=flock", "-e", "inject=flock:delay_enter=2000000"];
    if !may_trace(&hanging) {
        return;
    }
    let root = tempfile::tempdir().expect("a directory");
    let script = r#"
        printf '{"hook_event_name":"Stop"}' | strace -o /dev/null HANGING "$G" hook claude 2>/dev/null
        test $? = 0
    "#;
    wrapped(root.path(), &script.replace("HANGING", &hanging.join(" ")));
    let log = std::fs::read_to_string(root.path().join("a/.harness-state.log")).expect("a log");
    assert!(log.contains("reason=deadline") && log.contains("during=`record`"), "{log}");
}
