//! One `git` process: its environment, its bounds, its end. The one place of the library that starts `git`.
//!
//! Nothing that stands around the repository takes part: no system or global configuration, no prompt, no credential
//! helper, no hook, no file system monitor, no replaced object, no graft. The process is the leader of a group of its
//! own and does not outlive the call: at a bound the whole group is killed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::{Code, Error};
use crate::host::Host;

/// Writing to a process that has ended raises no signal. macOS has no flag for it, and the socket is told once instead.
#[cfg(target_os = "linux")]
const QUIETLY: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const QUIETLY: SendFlags = SendFlags::empty();

/// How long and how much one query may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Milliseconds until its process group is killed.
    pub ms: u64,
    /// Bytes of output.
    pub bytes: usize,
}

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

/// How many bytes of what a process says about itself are kept. It is never part of an error's message.
const KEPT_OF_STDERR: usize = 4096;
/// The longest sleep between two looks at clock and signal, in nanoseconds.
const SLICE_NS: i64 = 20_000_000;

/// What a query has printed.
#[derive(Debug)]
pub struct Output {
    /// Standard output, whole.
    pub stdout: Vec<u8>,
    /// The first 4,096 bytes of standard error. It may hold names and URLs.
    pub stderr: Vec<u8>,
    /// The exit status.
    pub status: ExitStatus,
}

/// Why there is no whole answer.
#[derive(Debug)]
pub enum Failure {
    /// The program could not be started.
    Start(io::Error),
    /// A pipe failed.
    Pipe(io::Error),
    /// The time was over.
    Deadline,
    /// There was more output than may be.
    Oversized,
    /// The caller's own signal fired.
    Cancelled,
}

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
    // A socket and no pipe: writing to a process that has ended then raises no signal in the host's process.
    let (ours, theirs) = UnixStream::pair().map_err(Failure::Start)?;
    #[cfg(target_os = "macos")]
    rustix::net::sockopt::set_socket_nosigpipe(&ours, true).map_err(|error| Failure::Start(error.into()))?;
    let theirs = Stdio::from(OwnedFd::from(theirs));
    command.args(args).stdin(theirs).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let deadline = host.clock.awake() + Duration::from_millis(bounds.ms);
    let child = command.spawn().map_err(Failure::Start)?;
    // What is left of the command holds the child's end of the socket.
    drop(command);
    let mut running = Running { child, is_over: false };
    running.talk(ours, stdin, bounds.bytes, deadline, host)
}

struct Running {
    child: Child,
    is_over: bool,
}

impl Running {
    fn talk(
        &mut self,
        stdin: UnixStream,
        mut rest: &[u8],
        limit: usize,
        deadline: Duration,
        host: &Host,
    ) -> Result<Output, Failure> {
        stdin.set_nonblocking(true).map_err(Failure::Pipe)?;
        let mut stdin = Some(stdin).filter(|_| !rest.is_empty());
        let mut outputs = [
            Reading::new(self.child.stdout.take().map(OwnedFd::from)),
            Reading::new(self.child.stderr.take().map(OwnedFd::from)),
        ];
        while outputs.iter().any(|output| output.fd.is_some()) {
            wait_for(stdin.as_ref(), &outputs, deadline, host)?;
            if let Some(socket) = &stdin {
                match rustix::net::send(socket, rest, QUIETLY) {
                    Ok(sent) => rest = &rest[sent..],
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    // It has stopped reading; what it says of that is its answer.
                    Err(Errno::PIPE | Errno::CONNRESET) => rest = &[],
                    Err(error) => return Err(Failure::Pipe(error.into())),
                }
            }
            if rest.is_empty() {
                stdin = None;
            }
            outputs[0].read(limit)?.then_some(()).ok_or(Failure::Oversized)?;
            outputs[1].read(KEPT_OF_STDERR)?;
        }
        let status = self.end(deadline, host)?;
        let [stdout, stderr] = outputs.map(|output| output.bytes);
        Ok(Output { stdout, stderr, status })
    }

    /// Waits for the process, which has closed its outputs.
    fn end(&mut self, deadline: Duration, host: &Host) -> Result<ExitStatus, Failure> {
        let mut pause_ns = 100_000;
        loop {
            if let Some(status) = self.child.try_wait().map_err(Failure::Pipe)? {
                self.is_over = true;
                return Ok(status);
            }
            look(deadline, host)?;
            pause(&mut [], pause_ns).map_err(Failure::Pipe)?;
            pause_ns = SLICE_NS.min(2 * pause_ns);
        }
    }
}

/// At a bound nothing of the process group stays.
impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_over {
            // The child has not been waited for, so that its id, and its group's, belong to nobody else.
            if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// One output of the process, until its end.
struct Reading {
    fd: Option<OwnedFd>,
    bytes: Vec<u8>,
}

impl Reading {
    fn new(fd: Option<OwnedFd>) -> Self {
        Reading { fd, bytes: Vec::new() }
    }

    /// Reads what is there; `false` when there is more than `limit`, of which the surplus is thrown away.
    fn read(&mut self, limit: usize) -> Result<bool, Failure> {
        let Some(fd) = &self.fd else { return Ok(true) };
        let mut events = [PollFd::new(fd, PollFlags::IN)];
        pause(&mut events, 0).map_err(Failure::Pipe)?;
        if events[0].revents().is_empty() {
            return Ok(true);
        }
        let mut buffer = [0; 65_536];
        match rustix::io::read(fd, &mut buffer) {
            Ok(0) => self.fd = None,
            Ok(read) => {
                let room = limit - self.bytes.len();
                self.bytes.extend_from_slice(&buffer[..read.min(room)]);
                return Ok(read <= room);
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(Failure::Pipe(error.into())),
        }
        Ok(true)
    }
}

fn wait_for(
    stdin: Option<&UnixStream>,
    outputs: &[Reading; 2],
    deadline: Duration,
    host: &Host,
) -> Result<(), Failure> {
    loop {
        look(deadline, host)?;
        let mut events: Vec<PollFd<'_>> = outputs
            .iter()
            .filter_map(|output| output.fd.as_ref())
            .map(|fd| PollFd::new(fd, PollFlags::IN))
            .collect();
        if let Some(stdin) = stdin {
            events.push(PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::OUT));
        }
        if pause(&mut events, SLICE_NS).map_err(Failure::Pipe)? > 0 {
            return Ok(());
        }
    }
}

fn look(deadline: Duration, host: &Host) -> Result<(), Failure> {
    if host.clock.is_cancelled() {
        return Err(Failure::Cancelled);
    }
    if host.clock.awake() >= deadline { Err(Failure::Deadline) } else { Ok(()) }
}

/// Waits for descriptors, for so many nanoseconds at most.
fn pause(events: &mut [PollFd<'_>], ns: i64) -> io::Result<usize> {
    match poll(events, Some(&Timespec { tv_sec: 0, tv_nsec: ns })) {
        Err(Errno::INTR) => Ok(0),
        polled => Ok(polled?),
    }
}
