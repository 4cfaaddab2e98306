//! What the tests share: a seat in a temporary directory under a clock that the test sets.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) mod driver;
pub(crate) mod ground;
pub(crate) mod locks;
pub(crate) mod memory_task;
pub(crate) mod output;
pub(crate) mod pass;
pub(crate) mod programs;
pub(crate) mod publication;
pub(crate) mod repository;
pub(crate) mod run;
pub(crate) mod task;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gallivant_core::harness_state::{
    Claim, Claimant, Derived, NewSession, Observation, Options, Outcome, Reader, Record, State, Writer,
    WriterIdentity, claim, decode,
};
use gallivant_core::testing::{TestHost, TestHostOptions};

/// The wall clock at the start of each test.
pub(crate) const NOW: u64 = 2_000_000_000_000;

/// An agent's directory that is removed at the end of the test.
pub(crate) struct Seat {
    root: tempfile::TempDir,
    pub(crate) dir: PathBuf,
    pub(crate) machine: TestHost,
    pub(crate) options: Options,
}

impl Seat {
    pub(crate) fn new() -> Self {
        Seat::with_faults(None)
    }

    /// A seat whose records are those that every program writes: without the extension.
    pub(crate) fn plain() -> Self {
        let mut seat = Seat::new();
        seat.options.extension = false;
        seat
    }

    /// A seat on a real disk whose operations fail as the list says.
    pub(crate) fn with_faults(faults_json: Option<&str>) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let dir = root.path().join("agent");
        std::fs::create_dir(&dir).expect("the agent's directory");
        let machine =
            TestHost::new(TestHostOptions { wall_ms: Some(NOW), faults_json, ..TestHostOptions::default() })
                .expect("the list of faults is well formed");
        // On a busy machine a thread may wait long for its turn among others, forks of other tests hold it up, and a probe is
        // slow.
        let (lock_wait, probe_budget) = (Duration::from_secs(120), Duration::from_secs(60));
        let options = Options { lock_wait, probe_budget, ..Options::default() };
        Seat { root, dir, machine, options }
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(crate) fn plant(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).expect("planting a file");
    }

    pub(crate) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.path(name)).ok()
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.bytes(name).map(|bytes| String::from_utf8(bytes).expect("our files are UTF-8"))
    }

    pub(crate) fn mode(&self, name: &str) -> u32 {
        std::fs::symlink_metadata(self.path(name)).expect("it exists").permissions().mode() & 0o7777
    }

    pub(crate) fn inode(&self, name: &str) -> u64 {
        std::os::unix::fs::MetadataExt::ino(&std::fs::symlink_metadata(self.path(name)).expect("it exists"))
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.dir).expect("the directory can be listed");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }

    pub(crate) fn record(&self) -> Record {
        decode(&self.bytes("harness-state").expect("a record stands")).expect("it decodes")
    }

    pub(crate) fn floor(&self) -> Option<String> {
        self.text(".harness-state.seq")
    }

    pub(crate) fn advance(&self, ms: i64) {
        self.machine.advance_ms(ms);
    }

    pub(crate) fn writer(&self, token: &str, sequence: Option<u64>) -> Writer {
        self.writer_as(identity(token), sequence)
    }

    pub(crate) fn writer_as(&self, identity: WriterIdentity, sequence: Option<u64>) -> Writer {
        Writer::open(&self.dir, identity, sequence, &self.options, self.machine.host()).expect("a writer")
    }

    pub(crate) fn claim(&self, token: &str) -> Claim {
        claim(&self.dir, &claimant(token), &self.options, self.machine.host()).expect("the claim lands")
    }

    /// A writer that has claimed.
    pub(crate) fn owner(&self, token: &str) -> Writer {
        let claimed = self.claim(token);
        self.writer(token, Some(claimed.sequence))
    }

    pub(crate) fn reader(&self) -> Reader {
        Reader::open(&self.dir, &self.options, self.machine.host())
    }

    pub(crate) fn read(&self) -> Option<Derived> {
        self.reader().read(None)
    }

    /// What a session of this seat is started with.
    pub(crate) fn new_session(&self) -> NewSession {
        NewSession {
            directory: self.dir.clone(),
            agent: "host.worker".to_owned(),
            harness: "codex".to_owned(),
            pty_session: Some("worker".to_owned()),
            token: None,
        }
    }

    /// The state and reason that a reader derives without a probe.
    pub(crate) fn reads(&self) -> (State, Option<String>) {
        let derived = self.read().expect("something was observed");
        (derived.state, derived.reason.map(Into::into))
    }
}

pub(crate) fn identity(token: &str) -> WriterIdentity {
    WriterIdentity {
        agent: "host.worker".to_owned(),
        harness: "codex".to_owned(),
        pty_session: Some("worker".to_owned()),
        token: token.to_owned(),
    }
}

pub(crate) fn claimant(token: &str) -> Claimant {
    Claimant { agent: "host.worker".to_owned(), harness: "codex".to_owned(), token: token.to_owned() }
}

pub(crate) fn active() -> Observation {
    Observation::new(State::Active)
}

pub(crate) fn idle() -> Observation {
    Observation::new(State::Idle)
}

/// The answer of an observation that must not fail.
pub(crate) fn observe(writer: &Writer, observation: &Observation) -> Outcome {
    writer.observe(observation).expect("no error").outcome
}

/// A record's line with some members replaced, added (value) or left out (`null` is written as null; leave out by an
/// empty text).
pub(crate) fn line(changes: &[(&str, &str)]) -> String {
    let mut members: Vec<(&str, &str)> = vec![
        ("schema", "\"st2.harness-state.v1\""),
        ("agent", "\"host.worker\""),
        ("harness", "\"codex\""),
        ("state", "\"active\""),
        ("blockedOn", "\"none\""),
        ("inputBuffer", "\"unknown\""),
        ("ask", "\"none\""),
        ("ptySession", "\"worker\""),
        ("incarnation", "\"tok-a\""),
        ("seq", "1"),
        ("sinceMs", "1999999999000"),
        ("writtenAtMs", "1999999999000"),
        ("transitions", "1"),
    ];
    for (key, value) in changes {
        match members.iter_mut().find(|(known, _)| known == key) {
            Some(member) => member.1 = value,
            None => members.push((key, value)),
        }
    }
    let members: Vec<String> = members
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| format!("\"{key}\":{value}"))
        .collect();
    format!("{{{}}}\n", members.join(","))
}

/// Runs `action` in a forked child and answers what it returned, 0 to 255.
pub(crate) fn in_forked_child(action: impl FnOnce() -> u8) -> u8 {
    // SAFETY: the child runs `action` and leaves by `_exit`; what it allocates uses the allocator that glibc keeps
    // usable across a fork.
    unsafe {
        match libc::fork() {
            0 => {
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(action)).unwrap_or(255);
                libc::_exit(i32::from(outcome));
            }
            child if child > 0 => {
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &raw mut status, 0), child, "the child is reaped");
                assert!(libc::WIFEXITED(status), "the child died of a signal");
                u8::try_from(libc::WEXITSTATUS(status)).expect("an exit status is a byte")
            }
            _ => panic!("fork failed"),
        }
    }
}
