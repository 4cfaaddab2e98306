//! A process that is run to its end for what it prints: its input, its bounds, its end.
//!
//! It is the leader of a group of its own, and nothing of the group outlives the call: what it has left behind, and at a bound all
//! of it, is killed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::SendFlags;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::clock::Clock;

/// Writing to a process that has ended raises no signal. macOS has no flag for it, and the socket is told once instead.
#[cfg(target_os = "linux")]
const QUIETLY: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const QUIETLY: SendFlags = SendFlags::empty();

/// How long and how much a process may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Milliseconds until its process group is killed.
    pub ms: u64,
    /// Bytes of output.
    pub bytes: usize,
}

/// How many bytes of what a process says about itself are kept. It is never part of an error's message.
const KEPT_OF_STDERR: usize = 4096;
/// The longest sleep between two looks at clock and signal, in nanoseconds.
const SLICE_NS: i64 = 20_000_000;

/// What a process has printed.
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

/// Runs a command to its end. Its arguments, environment and directory are the caller's to set; its three streams are set here.
///
/// # Errors
/// See [`Failure`]; the process and all of its group are gone then. An exit status other than 0 is an [`Output`].
pub(crate) fn run(
    mut command: Command,
    stdin: &[u8],
    bounds: Bounds,
    clock: &dyn Clock,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Output, Failure> {
    let until = Until { deadline: clock.awake() + Duration::from_millis(bounds.ms), clock, is_cancelled };
    // A socket and no pipe: writing to a process that has ended then raises no signal in the host's process.
    let (ours, theirs) = UnixStream::pair().map_err(Failure::Start)?;
    #[cfg(target_os = "macos")]
    rustix::net::sockopt::set_socket_nosigpipe(&ours, true).map_err(|error| Failure::Start(error.into()))?;
    let theirs = Stdio::from(OwnedFd::from(theirs));
    command.stdin(theirs).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn().map_err(Failure::Start)?;
    // What is left of the command holds the child's end of the socket.
    drop(command);
    let mut running = Running { child, is_over: false };
    running.talk(ours, stdin, bounds.bytes, &until)
}

/// Until when a process may run.
struct Until<'a> {
    deadline: Duration,
    clock: &'a dyn Clock,
    is_cancelled: &'a dyn Fn() -> bool,
}

impl Until<'_> {
    fn look(&self) -> Result<(), Failure> {
        if (self.is_cancelled)() {
            return Err(Failure::Cancelled);
        }
        if self.clock.awake() >= self.deadline { Err(Failure::Deadline) } else { Ok(()) }
    }
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
        until: &Until<'_>,
    ) -> Result<Output, Failure> {
        stdin.set_nonblocking(true).map_err(Failure::Pipe)?;
        let mut stdin = Some(stdin).filter(|_| !rest.is_empty());
        let mut outputs = [
            Reading::new(self.child.stdout.take().map(OwnedFd::from)),
            Reading::new(self.child.stderr.take().map(OwnedFd::from)),
        ];
        while outputs.iter().any(|output| output.fd.is_some()) {
            wait_for(stdin.as_ref(), &outputs, until)?;
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
        let status = self.end(until)?;
        let [stdout, stderr] = outputs.map(|output| output.bytes);
        Ok(Output { stdout, stderr, status })
    }

    /// Waits for the process, which has closed its outputs. It is not reaped before what it has left of its group is killed:
    /// until then the group's id belongs to nobody else.
    fn end(&mut self, until: &Until<'_>) -> Result<ExitStatus, Failure> {
        let mut pause_ns = 100_000;
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            let look = || waitid(WaitId::Pid(Pid::from_child(&self.child)), ended);
            if retry_on_intr(look).map_err(|error| Failure::Pipe(error.into()))?.is_some() {
                self.kill_group();
                self.is_over = true;
                return self.child.wait().map_err(Failure::Pipe);
            }
            until.look()?;
            pause(&mut [], pause_ns).map_err(Failure::Pipe)?;
            pause_ns = SLICE_NS.min(2 * pause_ns);
        }
    }
}

impl Running {
    fn kill_group(&self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }
}

/// At a bound nothing of the process group stays.
impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_over {
            // The child has not been waited for, so that its id, and its group's, belong to nobody else.
            self.kill_group();
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

fn wait_for(stdin: Option<&UnixStream>, outputs: &[Reading; 2], until: &Until<'_>) -> Result<(), Failure> {
    loop {
        until.look()?;
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

/// Waits for descriptors, for so many nanoseconds at most.
pub(crate) fn pause(events: &mut [PollFd<'_>], ns: i64) -> io::Result<usize> {
    match poll(events, Some(&Timespec { tv_sec: 0, tv_nsec: ns })) {
        Err(Errno::INTR) => Ok(0),
        polled => Ok(polled?),
    }
}
