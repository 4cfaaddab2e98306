//! The command line as a user has it: the program itself, on directories that the core wrote.
#![allow(missing_docs, reason = "a test's name says what it shows")]
#![allow(clippy::disallowed_methods, reason = "the tests arrange files and processes")]

mod check;
mod claims;
mod hook;
mod hooks;
mod pages;
mod run;
mod state;
mod support;
mod terminal;
mod wrap;

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use gallivant_core::Host;
use gallivant_core::harness_state::{NewSession, Options, Session};
use serde_json::Value as Json;

/// The program, in an environment that says nothing.
fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gallivant"));
    command.env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    command
}

/// Signals as a shell at a terminal has them: whoever runs the tests in the background may have had some ignored, which
/// children would inherit.
fn with_usual_signals(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec only a call is made that is safe in a signal handler.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGTSTP] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        })
    }
}

/// What a call of the program came to.
#[derive(Debug)]
struct Called {
    status: Option<i32>,
    out: String,
    err: String,
}

impl Called {
    fn of(output: Output) -> Self {
        Called {
            status: output.status.code(),
            out: String::from_utf8(output.stdout).expect("UTF-8"),
            err: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// The lines of standard output, each as JSON.
    #[track_caller]
    fn json(&self) -> Vec<Json> {
        let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        self.out.lines().map(line).collect()
    }

    #[track_caller]
    fn with_status(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{self:?}");
        self
    }
}

fn call<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Called {
    Called::of(program().args(arguments).output().expect("the program runs"))
}

/// Arguments of several kinds side by side.
macro_rules! arguments {
    ($($argument:expr),* $(,)?) => { [$(std::ffi::OsString::from(&$argument)),*] };
}
use arguments;

#[test]
fn wrong_arguments_are_wrong_also_where_nobody_can_be_told() {
    for arguments in [["state", "--bogus"].as_slice(), &["bogus"], &[]] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
        let output = program().args(arguments).stderr(full).output().expect("the program runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

/// A session of an agent in a directory of its own.
fn session(root: &Path, agent: &str) -> Session {
    let new = NewSession {
        directory: root.join(agent),
        agent: agent.to_owned(),
        harness: "claude".to_owned(),
        pty_session: Some(agent.to_owned()),
        token: None,
    };
    Session::start(new, &Options::default(), &Host::system()).expect("a session")
}

/// Every file below a directory with its bytes and its time of change.
fn tree(root: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let changed = path.symlink_metadata().expect("a name").modified().expect("a time");
                // A pipe has nothing to be read, and a link may lead nowhere.
                let bytes = if path.is_file() { std::fs::read(&path).expect("a file") } else { Vec::new() };
                found.push((path, bytes, changed));
            }
        }
    }
    found.sort();
    found
}
