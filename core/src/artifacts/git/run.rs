//! One `git` process: its environment, its bounds, its end. The one place of the library that starts `git`.
//!
//! Nothing that stands around the repository takes part: no system or global configuration, no prompt, no credential
//! helper, no hook, no file system monitor, no replaced object, no graft. The process is the leader of a group of its
//! own and does not outlive the call: at a bound the whole group is killed.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;

use crate::error::{Code, Error};
use crate::host::Host;
use crate::process::bounded;
pub use crate::process::bounded::{Bounds, Failure, Output};

impl Bounds {
    /// A query of paths and modes: 2,000 ms and 1,048,576 bytes (EX-ART-23).
    pub const QUERY: Bounds = Bounds { ms: 2_000, bytes: 1_048_576 };
}

/// Which program is run, and what its environment holds besides what the library sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitOptions {
    /// The program: a path, or a name that is looked up in the `PATH` below.
    pub program: PathBuf,
    /// Variables of the child, which override those of the library. The caller's own environment is never inherited.
    pub variables: Vec<(OsString, OsString)>,
    /// Settings as `name=value`, which override the repository's and those of the library.
    pub settings: Vec<String>,
}

impl Default for GitOptions {
    /// `git`, found in the usual directories of a system.
    fn default() -> Self {
        GitOptions { program: "git".into(), variables: Vec::new(), settings: Vec::new() }
    }
}

/// What the library sets in the child. Set and empty, `GIT_ASKPASS` asks nobody, and `GIT_PROXY_COMMAND` runs nothing.
pub(crate) const VARIABLES: [(&str, &str); 18] = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"),
    ("LC_ALL", "C"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("GIT_PROXY_COMMAND", ""),
    ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
    ("GIT_EDITOR", ":"),
    ("GIT_PAGER", "cat"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh"),
];

/// What a repository's own configuration may not decide: whatever would run a program, rewrite a name,
/// go elsewhere, or acknowledge what is not durable.
pub(crate) const SETTINGS: [&str; 14] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.quotePath=false",
    "core.precomposeUnicode=false",
    "credential.helper=",
    "commit.gpgSign=false",
    "push.gpgSign=false",
    "core.fsync=all",
    "core.fsyncMethod=fsync",
    "gc.auto=0",
    "maintenance.auto=false",
];

impl Failure {
    /// The failure as it is reported: retryable, and never read as an empty answer (EX-ART-20).
    #[must_use]
    pub fn into_error(self, query: &str) -> Error {
        let io = |why: &str| {
            let message = format!("git gave no whole answer, query=`{query}` why=`{why}`");
            Error::new(Code::ExecutionIo, message).with_reason("tree")
        };
        match self {
            Failure::Start(error) => io("start").with_source(error),
            Failure::Pipe(error) => io("pipe").with_source(error),
            Failure::Deadline => io("deadline"),
            Failure::Oversized => io("bytes"),
            Failure::Cancelled => {
                Error::new(Code::ExecutionIo, format!("a query of git was cancelled, query=`{query}`"))
                    .with_reason("aborted")
            }
        }
    }
}

/// Runs one command to its end. `place` sets `GIT_DIR` and `GIT_WORK_TREE`, so that nothing is discovered.
///
/// # Errors
/// See [`Failure`]; the process and all of its group are gone then. An exit status other than 0 is an [`Output`].
pub(super) fn run(
    options: &GitOptions,
    place: &[(&str, &OsStr)],
    args: &[&OsStr],
    stdin: &[u8],
    bounds: Bounds,
    host: &Host,
) -> Result<Output, Failure> {
    #[expect(clippy::disallowed_methods, reason = "the one place that starts git")]
    let mut command = Command::new(&options.program);
    command.env_clear().envs(VARIABLES).envs(place.iter().copied());
    command.envs(options.variables.iter().map(|(name, value)| (name, value)));
    for setting in SETTINGS.into_iter().chain(options.settings.iter().map(String::as_str)) {
        command.arg("-c").arg(setting);
    }
    command.args(args);
    bounded::run(command, stdin, bounds, &*host.clock, &|| host.clock.is_cancelled())
}
