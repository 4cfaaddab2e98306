//! Running a command: one trait that a test scripts, and the machine's own processes.
//!
//! A process is the leader of a group of its own, with its two outputs in one pipe, no standard input, and no variable but
//! those that it is given. Whatever ends the call, nothing of it is left: the group is killed, and where a sandbox says who
//! its first process is, the call returns after that one is gone, with which the system ends everything else in there
//! (EX-VER-32).

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::{Errno, FdFlags};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::host::Host;
use crate::json::Value;
use crate::process::bounded::pause;

/// The longest sleep between two looks at clock and stop, in nanoseconds.
const SLICE_NS: i64 = 20_000_000;
/// How long everything in a sandbox may take to be gone once its first process was killed. The system does it at once.
const GONE_WITHIN: Duration = Duration::from_secs(10);
/// How long it is waited for that a sandbox which is to be ended names its first process. It does so before that one runs.
const REPORTED_WITHIN: Duration = Duration::from_millis(200);
/// What a sandbox reports of itself is two short lines.
const MAX_REPORT_BYTES: usize = 65_536;
/// Where descriptors can only be looked at one by one, so many are: the usual highest limit of a process.
const HIGHEST_DESCRIPTOR: i32 = 65_536;
/// Bytes that are read at once.
const PIECE: usize = 65_536;

/// One process to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The program, by its absolute path or by a name that is looked up in the `PATH` below.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// All of its variables; nothing is inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it begins.
    pub directory: PathBuf,
    /// A file that is its standard input. Without one there is none.
    pub input: Option<PathBuf>,
    /// After how many milliseconds it is ended.
    pub limit_ms: u64,
    /// The option before the number of a descriptor on which a sandbox reports its first process and the exit of its command,
    /// in the form of bubblewrap. It is put in front of the arguments.
    pub report_option: Option<&'static str>,
    /// Whether standard error is a part of the output.
    pub merges_errors: bool,
}

/// How a process has ended. Nothing of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this status; 128 and the signal where a sandbox reports one.
    Exited(i32),
    /// By a signal that this library has not sent.
    Signalled(i32),
    /// The sandbox has ended before its command has begun, or did not say how it has ended.
    Unreported,
    /// Its time was over.
    TimedOut,
    /// The caller's stop fired, or whoever takes the output wanted no more of it.
    Stopped,
}

/// What takes the output, piece by piece as it comes. `false` ends the process.
pub type Sink<'a> = &'a mut dyn FnMut(&[u8]) -> bool;

/// Whether the caller wants no more of it. Asked at least each 20 ms.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// What runs commands.
pub trait CommandHost: Send + Sync + fmt::Debug {
    /// Runs one process to its end. Once this has returned nothing of it is left, whatever it answers.
    ///
    /// # Errors
    /// The program is missing or cannot be started; a pipe fails; it is not proved that everything in a sandbox is gone.
    fn run(&self, invocation: &Invocation, output: Sink<'_>, stop: Stop<'_>) -> io::Result<End>;
}

/// The machine's processes, on the machine's clock.
#[derive(Clone, Debug)]
pub struct SystemCommands {
    host: Host,
}

impl SystemCommands {
    /// Those of this host.
    #[must_use]
    pub fn new(host: &Host) -> Self {
        SystemCommands { host: host.clone() }
    }
}

impl CommandHost for SystemCommands {
    fn run(&self, invocation: &Invocation, output: Sink<'_>, stop: Stop<'_>) -> io::Result<End> {
        let deadline = self.host.clock.awake() + Duration::from_millis(invocation.limit_ms);
        let mut running = Running::start(invocation)?;
        let why = running.attend(&self.host, deadline, output, stop);
        // Also where a pipe has failed: the process does not outlive the call.
        running.end(&self.host)?;
        let why = why?;
        if !matches!(why, Over::Stopped) {
            running.drain(output)?;
        }
        Ok(match why {
            Over::Exited => running.ending(invocation.report_option.is_some()),
            Over::TimedOut => End::TimedOut,
            Over::Stopped => End::Stopped,
        })
    }
}

/// Why the process is not attended any longer.
enum Over {
    Exited,
    TimedOut,
    Stopped,
}

struct Running {
    child: Child,
    status: Option<std::process::ExitStatus>,
    output: Option<PipeReader>,
    report: Report,
}

impl Running {
    fn start(invocation: &Invocation) -> io::Result<Running> {
        let (ours, theirs) = io::pipe()?;
        let report = invocation.report_option.map(|_| io::pipe()).transpose()?;
        #[expect(clippy::disallowed_methods, reason = "the one place that starts what is verified")]
        let mut command = Command::new(&invocation.program);
        let (read, write) = report.map_or((None, None), |(read, write)| (Some(read), Some(write)));
        if let (Some(option), Some(write)) = (invocation.report_option, &write) {
            command.arg(option).arg(write.as_raw_fd().to_string());
        }
        inherit_only(&mut command, write.as_ref());
        let input = match &invocation.input {
            #[expect(
                clippy::disallowed_methods,
                reason = "a private list of object names that was just written"
            )]
            Some(path) => Stdio::from(File::open(path)?),
            None => Stdio::null(),
        };
        let errors = if invocation.merges_errors { Stdio::from(theirs.try_clone()?) } else { Stdio::null() };
        command
            .args(&invocation.arguments)
            .env_clear()
            .envs(invocation.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&invocation.directory)
            .stdin(input)
            .stdout(theirs)
            .stderr(errors)
            .process_group(0);
        let child = command.spawn()?;
        // What is left of the command holds the child's ends.
        drop((command, write));
        nonblocking(ours.as_fd())?;
        if let Some(read) = &read {
            nonblocking(read.as_fd())?;
        }
        let report = Report { pipe: read, bytes: Vec::new(), first: None };
        Ok(Running { child, status: None, output: Some(ours), report })
    }

    /// Hands the output on until the process has exited, its time is over, or nobody wants more of it.
    fn attend(
        &mut self,
        host: &Host,
        deadline: Duration,
        output: Sink<'_>,
        stop: Stop<'_>,
    ) -> io::Result<Over> {
        let exit = exit_descriptor(self.child.id())?;
        let mut buffer = vec![0; PIECE];
        loop {
            if stop() || host.clock.is_cancelled() {
                return Ok(Over::Stopped);
            }
            if host.clock.awake() >= deadline {
                return Ok(Over::TimedOut);
            }
            let pipes = [self.output.as_ref().map(AsFd::as_fd), self.report.pipe.as_ref().map(AsFd::as_fd)];
            wait_for(pipes.into_iter().flatten().chain(exit.as_ref().map(AsFd::as_fd)))?;
            self.report.read()?;
            if let Some(pipe) = &mut self.output {
                match pipe.read(&mut buffer) {
                    Ok(0) => self.output = None,
                    Ok(read) if !output(&buffer[..read]) => return Ok(Over::Stopped),
                    Ok(_) => {}
                    Err(error) if is_for_later(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            if has_exited(&self.child)? {
                return Ok(Over::Exited);
            }
        }
    }

    /// Ends whatever is left: the group, and what the sandbox has said to be its first process. The system ends everything in
    /// there before that one counts as gone.
    fn end(&mut self, host: &Host) -> io::Result<()> {
        // Before it is killed: it is then known whose end is waited for.
        let until = host.clock.awake() + REPORTED_WITHIN;
        while self.report.is_awaited() && host.clock.awake() < until {
            wait_for(self.report.pipe.as_ref().map(AsFd::as_fd).into_iter())?;
            self.report.read()?;
        }
        self.kill();
        self.status = Some(self.child.wait()?);
        self.report.read()?;
        let Some(first) = &self.report.first else { return Ok(()) };
        let until = host.clock.awake() + GONE_WITHIN;
        loop {
            let mut events = [PollFd::new(first, PollFlags::IN)];
            if pause(&mut events, SLICE_NS)? > 0 {
                return Ok(());
            }
            if host.clock.awake() >= until {
                return Err(io::Error::other("it is not proved that everything in the sandbox is gone"));
            }
        }
    }

    /// What was still in the pipe. What holds it open besides is no part of the process.
    fn drain(&mut self, output: Sink<'_>) -> io::Result<()> {
        let mut buffer = vec![0; PIECE];
        while let Some(pipe) = &mut self.output {
            match pipe.read(&mut buffer) {
                Ok(0) => self.output = None,
                Ok(read) if output(&buffer[..read]) => {}
                Ok(_) => self.output = None,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_for_later(&error) => self.output = None,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The leader has not been waited for, so that its number, which is its group's, belongs to nobody else.
    fn kill(&mut self) {
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
    }

    fn ending(&self, is_reported: bool) -> End {
        if is_reported {
            return self.report.exit().map_or(End::Unreported, End::Exited);
        }
        let status = self.status.unwrap_or_default();
        let signal = status.signal().map_or(End::Unreported, End::Signalled);
        status.code().map_or(signal, End::Exited)
    }
}

/// A process that was started is never left behind, whatever failed after that.
impl Drop for Running {
    fn drop(&mut self) {
        if self.status.is_none() {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

/// Whether a child has exited. It is not waited for, so that it keeps its number.
fn has_exited(child: &Child) -> io::Result<bool> {
    let Some(pid) = Pid::from_raw(child.id().cast_signed()) else { return Ok(true) };
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    match waitid(WaitId::Pid(pid), look) {
        Err(Errno::INTR) => Ok(false),
        looked => Ok(looked?.is_some()),
    }
}

/// What a sandbox says of itself: a JSON object a line, `child-pid` in the first, `exit-code` in the last.
struct Report {
    pipe: Option<PipeReader>,
    bytes: Vec<u8>,
    /// The sandbox's first process, open, so that its number cannot mean another one.
    first: Option<OwnedFd>,
}

impl Report {
    /// Whether the first process may still be named.
    fn is_awaited(&self) -> bool {
        self.pipe.is_some() && self.first.is_none() && self.number("child-pid").is_none()
    }

    fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0; 1024];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(read) if self.bytes.len() + read <= MAX_REPORT_BYTES => {
                    self.bytes.extend_from_slice(&buffer[..read]);
                }
                Ok(_) => return Err(io::Error::other("the sandbox reports too much of itself")),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_for_later(&error) => break,
                Err(error) => return Err(error),
            }
        }
        if self.first.is_none()
            && let Some(pid) = self.number("child-pid").and_then(|pid| i32::try_from(pid).ok())
        {
            self.first = open_process(pid)?;
        }
        Ok(())
    }

    fn exit(&self) -> Option<i32> {
        self.number("exit-code").and_then(|code| i32::try_from(code).ok())
    }

    fn number(&self, name: &str) -> Option<i64> {
        let text = std::str::from_utf8(&self.bytes).ok()?;
        let whole = text.rsplit_once('\n')?.0;
        let values = whole.lines().filter_map(|line| Value::parse(line).ok());
        values.filter_map(|value| value.get(name)?.as_number()?.as_i64()).next_back()
    }
}

/// A descriptor of a process of ours that is readable once it has exited; none where the system has no such thing, and it is
/// looked at by and by.
#[cfg(target_os = "linux")]
fn exit_descriptor(pid: u32) -> io::Result<Option<OwnedFd>> {
    match open_process(pid.cast_signed()) {
        // An old kernel, or a filter of system calls.
        Err(error) if error.raw_os_error() == Some(Errno::NOSYS.raw_os_error()) => Ok(None),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn exit_descriptor(_: u32) -> io::Result<Option<OwnedFd>> {
    Ok(None)
}

/// A process by its number; none where it is gone already.
#[cfg(target_os = "linux")]
fn open_process(pid: i32) -> io::Result<Option<OwnedFd>> {
    let Some(pid) = Pid::from_raw(pid) else { return Ok(None) };
    match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        Err(Errno::SRCH) => Ok(None),
        opened => Ok(Some(opened?)),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_process(_: i32) -> io::Result<Option<OwnedFd>> {
    Ok(None)
}

/// Lets the child have its three standard descriptors and, if there is one, this one, and nothing that the host's program has
/// open: an open directory would be a way out of every sandbox.
fn inherit_only(command: &mut Command, pipe: Option<&PipeWriter>) {
    let kept = pipe.map(AsRawFd::as_raw_fd);
    // SAFETY: the closure runs in the child between fork and exec. It makes system calls, which allocate nothing and take no
    // lock; the descriptor that it borrows is one that the caller keeps open until the child has been started.
    unsafe {
        command.pre_exec(move || {
            close_at_exec();
            let Some(kept) = kept else { return Ok(()) };
            Ok(rustix::io::fcntl_setfd(BorrowedFd::borrow_raw(kept), FdFlags::empty())?)
        });
    }
}

/// Has every descriptor but the first three closed by the next exec.
fn close_at_exec() {
    /// `CLOSE_RANGE_CLOEXEC` of close_range(2), in Linux since 5.11.
    #[cfg(target_os = "linux")]
    const AT_EXEC: libc::c_uint = 4;
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the call takes three numbers and touches no memory.
        let done = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, AT_EXEC) };
        if done == 0 {
            return;
        }
    }
    for number in 3..HIGHEST_DESCRIPTOR {
        // SAFETY: the call takes three numbers; of one that is not open it says so.
        unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

fn nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | rustix::fs::OFlags::NONBLOCK)?)
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn wait_for<'a>(fds: impl Iterator<Item = BorrowedFd<'a>>) -> io::Result<()> {
    let mut events: Vec<PollFd<'a>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    pause(&mut events, SLICE_NS).map(drop)
}
