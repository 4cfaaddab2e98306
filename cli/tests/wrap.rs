//! `gallivant wrap`: what it writes, and that it is not to be noticed otherwise. At a terminal: `terminal.rs`.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use gallivant_core::Host;
use gallivant_core::harness_state::{LeaseProbe, Options, Reader, State};

use crate::{Called, program, session, with_usual_signals};

/// A program, wrapped as the agent `a`.
fn wrap(root: &Path, command: &[&str]) -> Command {
    let mut wrap = program();
    wrap.args(["wrap", "--agent", "a", "--dir"]).arg(root).arg("--").args(command);
    with_usual_signals(&mut wrap);
    wrap
}

fn shell(root: &Path, script: &str) -> Called {
    Called::of(wrap(root, &["sh", "-c", script]).output().expect("the program runs"))
}

/// State, exit and the harness's name, as a reader with a probe concludes them.
fn seen(root: &Path) -> (State, Option<String>, Option<String>) {
    let options = Options { probe_budget: std::time::Duration::from_secs(60), ..Options::default() };
    let reader = Reader::open(root.join("a"), &options, &Host::system());
    let derived = reader.read(Some(&LeaseProbe::new(&reader))).expect("a record");
    (derived.state, derived.exit, derived.harness)
}

/// Waits until a program has said this line.
fn until_it_says(child: &mut Child, line: &str) {
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut said = String::new();
    out.read_line(&mut said).expect("a line");
    assert_eq!(said.trim(), line);
    child.stdout = Some(out.into_inner());
}

fn eventually(what: impl Fn() -> bool) {
    for _ in 0..6_000 {
        if what() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it never came");
}

#[test]
fn the_record_has_the_real_end_and_the_status_is_the_programs() {
    let root = tempfile::tempdir().expect("a directory");
    for (script, status, exit) in [("exit 0", 0, "exit 0"), ("exit 7", 7, "exit 7")] {
        let called = shell(root.path(), script).with_status(status);
        assert_eq!((&*called.out, &*called.err), ("", ""));
        assert_eq!(seen(root.path()), (State::Ended, Some(exit.into()), Some("sh".into())));
    }
}

#[test]
fn a_program_that_dies_of_a_signal_is_seen_to_by_whoever_waits() {
    let root = tempfile::tempdir().expect("a directory");
    for signal in [9, 15, 6] {
        let status =
            wrap(root.path(), &["sh", "-c", &format!("kill -{signal} $$")]).status().expect("it runs");
        assert_eq!(status.signal(), Some(signal));
        assert_eq!(seen(root.path()).1.as_deref(), Some(&*format!("signal {signal}")));
    }
}

#[test]
fn a_program_that_cannot_be_started_is_told_as_a_shell_does() {
    let root = tempfile::tempdir().expect("a directory");
    let called =
        Called::of(wrap(root.path(), &["/nowhere/claude"]).output().expect("it runs")).with_status(127);
    assert!(called.err.starts_with("gallivant: ") && called.err.lines().count() == 1, "{called:?}");
    assert_eq!(seen(root.path()).1.as_deref(), Some("exit 127"));
    Called::of(wrap(root.path(), &["/etc/passwd"]).output().expect("it runs")).with_status(126);
    let called =
        Called::of(wrap(root.path(), &["no\n\x1b[2Jprogram"]).output().expect("it runs")).with_status(127);
    let said = called.err.strip_suffix('\n').expect("a line");
    assert!(!said.contains(char::is_control), "{called:?}");
}

#[test]
fn it_has_the_variables_and_its_streams_are_its_own() {
    let root = tempfile::tempdir().expect("a directory");
    let mut child = wrap(root.path(), &["sh", "-c", "env | grep ^GALLIVANT_; cat; echo bad >&2"])
        .args(["x"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    child.stdin.take().expect("a pipe").write_all(b"through\n").expect("taken");
    let called = Called::of(child.wait_with_output().expect("it ends")).with_status(0);
    let directory = root.path().join("a");
    assert!(called.out.contains(&format!("GALLIVANT_AGENT_DIR={}\n", directory.display())), "{called:?}");
    assert_eq!(called.out.matches("GALLIVANT_").count(), 6, "{called:?}");
    assert!(called.out.ends_with("through\n") && called.err == "bad\n", "{called:?}");
}

#[test]
fn while_it_runs_the_seat_is_live_and_a_wrapper_that_dies_takes_nothing_with_it() {
    let root = tempfile::tempdir().expect("a directory");
    let mut child = wrap(root.path(), &["sh", "-c", "echo up; read line; echo $line"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    until_it_says(&mut child, "up");
    eventually(|| seen(root.path()).0 == State::Ready);
    let mut keys = child.stdin.take().expect("a pipe");
    child.kill().expect("it runs");
    assert_eq!(child.wait().expect("it ends").signal(), Some(9));
    assert_eq!(seen(root.path()).0, State::Unknown, "the lease is free");
    keys.write_all(b"on\n").expect("the program reads on");
    let mut rest = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut rest).expect("the rest");
    assert_eq!(rest, "on\n");
}

#[test]
fn a_signal_to_the_wrapper_alone_is_the_programs() {
    let root = tempfile::tempdir().expect("a directory");
    for (signal, name) in [(1, "HUP"), (2, "INT"), (15, "TERM"), (10, "USR1"), (12, "USR2"), (3, "QUIT")] {
        let script = format!("trap 'echo got; exit 5' {name}; echo up; while :; do sleep 0.01; done");
        let mut child =
            wrap(root.path(), &["sh", "-c", &script]).stdout(Stdio::piped()).spawn().expect("it runs");
        until_it_says(&mut child, "up");
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
        let signal = rustix::process::Signal::from_named_raw(signal).expect("a signal");
        rustix::process::kill_process(pid, signal).expect("sent");
        let called = Called::of(child.wait_with_output().expect("it ends")).with_status(5);
        assert_eq!(called.out, "got\n", "{name}");
        assert_eq!(seen(root.path()).1.as_deref(), Some("exit 5"));
    }
}

#[test]
fn signals_are_the_programs_as_they_were_the_wrappers() {
    let root = tempfile::tempdir().expect("a directory");
    let masks = |command: &mut Command| {
        let output = with_usual_signals(command).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let look = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"];
    let mut plain = Command::new("grep");
    plain.args(&look[1..]);
    assert_eq!(masks(&mut wrap(root.path(), &look)), masks(&mut plain));
    let ignoring = "trap '' HUP PIPE CHLD; exec \"$@\"";
    let mut plain = Command::new("sh");
    plain.args(["-c", ignoring, "sh"]).args(look);
    let mut wrapped = Command::new("sh");
    let inner = wrap(root.path(), &look);
    wrapped.args(["-c", ignoring, "sh"]).arg(inner.get_program()).args(inner.get_args());
    assert_eq!(masks(&mut wrapped), masks(&mut plain));
}

#[test]
fn streams_that_are_closed_are_never_the_sessions_own_files() {
    let root = tempfile::tempdir().expect("a directory");
    let out = root.path().join("out");
    let script = "for fd in 0 1 2; do readlink /proc/$$/fd/$fd; done > \"$0\"";
    let mut wrapped = Command::new("sh");
    wrapped.args(["-c", "exec \"$@\" <&- >&- 2>&-", "sh"]);
    let inner = wrap(root.path(), &["sh", "-c", script]);
    wrapped.arg(inner.get_program()).args(inner.get_args()).arg(&out);
    assert!(wrapped.status().expect("it runs").success());
    let streams = std::fs::read_to_string(out).expect("written");
    assert_eq!(streams.lines().filter(|stream| *stream == "/dev/null").count(), 2, "{streams}");
    assert!(!streams.contains("harness-state"), "{streams}");
}

#[test]
fn a_program_whose_seat_is_claimed_by_another_is_asked_to_end() {
    let root = tempfile::tempdir().expect("a directory");
    let mut child =
        wrap(root.path(), &["sh", "-c", "trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
    until_it_says(&mut child, "up");
    let newer = session(root.path(), "a");
    let called = Called::of(child.wait_with_output().expect("it ends")).with_status(3);
    assert!(called.err.contains("another session has claimed the seat"), "{called:?}");
    let stands = newer.claim().sequence;
    let reader = Reader::open(root.path().join("a"), &Options::default(), &Host::system());
    assert_eq!(
        reader.snapshot().record().expect("a record").seq,
        stands,
        "the newer session's record stands"
    );
}

#[test]
fn whoever_takes_a_seat_that_is_in_use_is_told() {
    let root = tempfile::tempdir().expect("a directory");
    let mut first =
        wrap(root.path(), &["sh", "-c", "trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs");
    until_it_says(&mut first, "up");
    // The program may be up before its wrapper has noted that it runs.
    eventually(|| seen(root.path()).0 == State::Ready);
    let second = shell(root.path(), "exit 0").with_status(0);
    let told = "gallivant: took the seat over from a session that still lives, harness=`sh`\n";
    assert_eq!(second.err, told);
    assert_eq!(first.wait().expect("it ends").code(), Some(3));
    assert_eq!(
        shell(root.path(), "exit 0").with_status(0).err,
        "",
        "a seat that is free is taken in silence"
    );
}

#[test]
fn an_agents_name_is_a_directorys() {
    let root = tempfile::tempdir().expect("a directory");
    for name in ["", ".", "..", "a/b", "/a"] {
        let mut wrap = program();
        wrap.args(["wrap", "--agent", name, "--dir"]).arg(root.path()).args(["--", "true"]);
        let called = Called::of(wrap.output().expect("it runs")).with_status(2);
        assert_eq!(called.err.contains("name is empty"), name.is_empty(), "{called:?}");
    }
    assert_eq!(std::fs::read_dir(root.path()).expect("a directory").count(), 0);
}
