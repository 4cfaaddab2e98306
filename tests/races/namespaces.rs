//! Sessions and readers in different pid namespaces: a live owner is never judged gone.
//!
//! Needs `unshare` and the right to make a namespace; elsewhere each test says so and shows nothing.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use gallivant_core::Host;
use gallivant_core::harness_state::adapters::Harness;
use gallivant_core::harness_state::{
    LeaseProbe, NewSession, Observation, Options, ProcessProbe, Reader, Record, Session, State,
    UnknownReason, decode, observe_hook,
};
use gallivant_core::process::{Liveness, ProcessFact};

use crate::{DIRECTORY, Lines, ROLE};

/// Starts this program in a role, as the first process of a pid namespace, with the old `/proc` or one of its own.
fn start_inside(role: &str, directory: &Path, own_proc: bool) -> Child {
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--fork", "--kill-child"]);
    if own_proc {
        unshare.arg("--mount-proc");
    }
    unshare
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "a_process_in_its_role", "--nocapture", "--ignored"])
        .env(ROLE, role)
        .env(DIRECTORY, directory)
        .env("GALLIVANT_TEST_SEQUENCE", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was tried before")
}

fn can_make_namespaces() -> bool {
    let made = Command::new("unshare").args(["--pid", "--fork", "--mount-proc", "true"]).output();
    let can = made.is_ok_and(|made| made.status.success());
    if !can {
        println!("skipped: no pid namespace can be made here");
    }
    can
}

/// The session's process: attaches itself, tells of a turn, and waits for its input to go on to its end.
pub(crate) fn session_inside(directory: &Path) {
    let host = Host::system();
    let new = NewSession {
        directory: directory.to_path_buf(),
        agent: "a".to_owned(),
        harness: "claude".to_owned(),
        pty_session: Some("p".to_owned()),
        token: None,
    };
    let session = Session::start(new, &Options::default(), &host).expect("a session");
    session.attach(std::process::id()).expect("this process runs");
    let hook = |payload: &[u8]| {
        let environment = session.environment();
        observe_hook(Harness::Claude, payload, Some(&environment), &Options::default(), &host).outcome.word()
    };
    assert_eq!(hook(br#"{"hook_event_name":"UserPromptSubmit"}"#), "landed");
    println!("\nready {}", std::process::id());
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a line, or the end");
    assert_eq!(hook(br#"{"hook_event_name":"SessionEnd","reason":"other"}"#), "landed");
    assert_eq!(hook(br#"{"hook_event_name":"PostToolUse"}"#), "terminal");
    println!("\nended");
    std::io::stdin().read_line(&mut line).expect("a line, or the end");
}

/// A reader's process: says what it derives with each probe.
pub(crate) fn reader_inside(directory: &Path) {
    let (process, lease, state) = judge(directory);
    println!("\nfound {} {} {}", process.word(), lease.word(), state.word());
}

/// What the process probe and the lease probe prove, and what a reader with either derives.
fn judge(directory: &Path) -> (Liveness, Liveness, State) {
    use gallivant_core::harness_state::Probe;
    let host = Host::system();
    let reader = Reader::open(directory, &Options::default(), &host);
    let record = record(directory);
    let extension = record.extension.as_ref().expect("our writers add it");
    let process = ProcessProbe::new(extension.process_identity().expect("attached"), &host);
    let lease = LeaseProbe::new(&reader);
    let by_process = reader.read(Some(&process)).expect("a record");
    let by_lease = reader.read(Some(&lease)).expect("a record");
    assert_eq!(by_process.state, by_lease.state);
    (process.liveness(&record), lease.liveness(&record), by_process.state)
}

fn record(directory: &Path) -> Record {
    decode(&std::fs::read(directory.join("harness-state")).expect("a record")).expect("it decodes")
}

fn tell(child: &mut Child) {
    child.stdin.as_mut().expect("piped").write_all(b"on\n").expect("it reads");
}

#[test]
fn hs_94_a_live_session_in_another_pid_namespace_is_never_judged_gone() {
    if !can_make_namespaces() {
        return;
    }
    for own_proc in [true, false] {
        let root = tempfile::tempdir().expect("a temporary directory");
        let mut child = start_inside("session-inside", root.path(), own_proc);
        let mut said = Lines::of(&mut child);
        assert_eq!(said.wait_for("ready"), "ready 1", "the first process of its namespace");
        // The pid 1 of this namespace is another process, and the very one that the record seems to name.
        let named = record(root.path()).extension.and_then(|extension| extension.process).expect("attached");
        assert_eq!(named.pid, 1);
        let stranger = Host::system().processes.fact(1);
        assert_ne!(stranger, ProcessFact::Running { start: named.start }, "own_proc={own_proc}");
        assert_eq!(
            judge(root.path()),
            (Liveness::Indeterminate, Liveness::Alive, State::Active),
            "own_proc={own_proc}"
        );
        // It tells of its end and lives on. From here nothing proves that, and nothing is made of it.
        tell(&mut child);
        said.wait_for("ended");
        let reader = Reader::open(root.path(), &Options::default(), &Host::system());
        let derived = reader.read(Some(&LeaseProbe::new(&reader))).expect("a record");
        assert_eq!((derived.state, derived.unknown), (State::Ended, None), "own_proc={own_proc}");
        assert_eq!(record(root.path()).extension.expect("ours").late, 1);
        child.kill().expect("SIGKILL");
        child.wait().expect("reaped");
    }
}

#[test]
fn hs_94_the_death_of_a_session_in_another_pid_namespace_shows_in_its_lease() {
    if !can_make_namespaces() {
        return;
    }
    let root = tempfile::tempdir().expect("a temporary directory");
    let mut child = start_inside("session-inside", root.path(), true);
    Lines::of(&mut child).wait_for("ready");
    // Waiting for it would close its input, and it would go on to its end before it dies.
    let input = child.stdin.take();
    // The first process of the namespace dies with the one that made it.
    child.kill().expect("SIGKILL");
    child.wait().expect("reaped");
    let reader = Reader::open(root.path(), &Options::default(), &Host::system());
    let lease = LeaseProbe::new(&reader);
    let gone = || reader.read(Some(&lease)).expect("a record").unknown == Some(UnknownReason::SessionDead);
    let started = std::time::Instant::now();
    while !gone() {
        assert!(started.elapsed().as_secs() < 60, "its lease is still held");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    drop(input);
}

#[test]
fn hs_94_a_reader_in_another_pid_namespace_never_judges_a_live_session_gone() {
    if !can_make_namespaces() {
        return;
    }
    let root = tempfile::tempdir().expect("a temporary directory");
    let new = NewSession {
        directory: root.path().to_path_buf(),
        agent: "a".to_owned(),
        harness: "claude".to_owned(),
        pty_session: Some("p".to_owned()),
        token: None,
    };
    let session = Session::start(new, &Options::default(), &Host::system()).expect("a session");
    session.attach(std::process::id()).expect("this process runs");
    session.writer().observe(&Observation::new(State::Active)).expect("no error");
    assert_eq!(judge(root.path()), (Liveness::Alive, Liveness::Alive, State::Active), "in its own namespace");
    for own_proc in [true, false] {
        let mut child = start_inside("reader-inside", root.path(), own_proc);
        let mut said = Lines::of(&mut child);
        let found = said.wait_for("found");
        assert_eq!(found, "found indeterminate alive active", "own_proc={own_proc}");
        said.wait_for_the_end();
        assert!(child.wait().expect("reaped").success());
    }
}
