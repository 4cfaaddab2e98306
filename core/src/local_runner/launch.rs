//! Starting a harness through the supervisor (EX-LOC-02 to EX-LOC-04, EX-LOC-29).
//!
//! The supervisor forks the harness, which waits behind a gate. Who they are is known before the gate is opened, so that it is
//! on disk before the harness does anything. Whoever drops the gate unopened, or dies, leaves a harness that never starts,
//! unless its identity was on disk already.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::spec::Launch;
use crate::process::RecordedProcess;

/// How long the supervisor may take to say who it is. It makes a few system calls and reads four short files.
const PATIENCE: Duration = Duration::from_secs(20);
/// A longer line is none of the supervisor's.
const MAX_LINE: usize = 1024;

/// Before a harness that waits to be started. Dropping it unopened leaves the harness where it is, which then never starts.
#[derive(Debug)]
pub struct Gate(UnixStream);

impl Gate {
    /// Lets the harness start. To be called once its identity is on disk.
    ///
    /// # Errors
    /// As the system says it, where the supervisor is gone: then nothing was started, and nothing will be.
    pub fn open(mut self) -> io::Result<()> {
        self.0.write_all(b"g")
    }
}

/// Who was forked.
#[derive(Debug)]
pub(super) struct Forked {
    pub(super) harness: RecordedProcess,
    pub(super) supervisor: RecordedProcess,
    pub(super) gate: Gate,
}

/// Why nothing was started: a word and a message.
pub(super) type Refusal = (String, String);

/// For which run.
pub(super) struct Run<'a> {
    pub(super) directory: &'a Path,
    pub(super) run_id: &'a str,
    pub(super) operation_id: &'a str,
    /// The path of the session's lease, and the token that stands in it.
    pub(super) lease: Option<(std::path::PathBuf, &'a str)>,
}

/// Starts the supervisor, whose output and its harness's go to `output`, and has it fork the harness.
///
/// # Errors
/// Why not. It is then certain that the harness has not started and never will.
pub(super) fn fork(
    supervisor: &Path,
    launch: &Launch,
    run: &Run<'_>,
    output: File,
) -> Result<Forked, Refusal> {
    let failed = |what: &str, error: &io::Error| ("supervisor".to_owned(), format!("{what}: {error}"));
    // Both ends are close-on-exec; the supervisor's becomes its standard input.
    let (mut ours, theirs) =
        UnixStream::pair().map_err(|error| failed("no socket for the supervisor", &error))?;
    // Its end would otherwise be a signal to this process, on a system where the standard library cannot ask for none.
    #[cfg(target_os = "macos")]
    rustix::net::sockopt::set_socket_nosigpipe(&ours, true)
        .map_err(|error| failed("no socket for the supervisor", &error.into()))?;
    let errors = output.try_clone().map_err(|error| failed("the output cannot be handed over", &error))?;
    #[expect(clippy::disallowed_methods, reason = "the one place that starts a supervisor")]
    let mut command = Command::new(supervisor);
    command.arg(run.directory).env_clear();
    command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(output).stderr(errors);
    let mut child = command.spawn().map_err(|error| failed("the supervisor cannot be started", &error))?;
    // It keeps the other end of the socket, which would hide the supervisor's end from us.
    drop(command);
    let said = ours.write_all(&plan(launch, run)).and_then(|()| line(&mut ours));
    // The process that was started is over at once; another one has taken over from it. A host that reaps all of its children
    // may have been quicker.
    let _ = child.wait();
    let said = said.map_err(|error| failed("the supervisor has said nothing", &error))?;
    if let Some(told) = said.strip_prefix("failed ") {
        let (stage, error) = told.trim_end().split_once(' ').unwrap_or((told, "0"));
        let error = io::Error::from_raw_os_error(error.parse().unwrap_or(0));
        return Err((stage.to_owned(), format!("the harness cannot be started, stage=`{stage}`: {error}")));
    }
    let (harness, supervisor) = told(&said)
        .ok_or_else(|| ("supervisor".to_owned(), "the supervisor has not said who was started".to_owned()))?;
    Ok(Forked { harness, supervisor, gate: Gate(ours) })
}

/// The two processes of the supervisor's line.
fn told(line: &str) -> Option<(RecordedProcess, RecordedProcess)> {
    let mut words = line.strip_prefix("started ")?.split_ascii_whitespace();
    let mut process = || {
        let pid = words.next()?.parse().ok()?;
        Some(RecordedProcess { pid, identity: words.next()?.to_owned() })
    };
    Some((process()?, process()?))
}

/// What is said to the supervisor: the length of the rest, and fields of bytes, each behind its length; lengths in four bytes, the
/// lowest first.
fn plan(launch: &Launch, run: &Run<'_>) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;

    fn length(out: &mut Vec<u8>, length: usize) {
        out.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    }
    fn field(out: &mut Vec<u8>, bytes: &[u8]) {
        length(out, bytes.len());
        out.extend(bytes);
    }
    let mut out = Vec::with_capacity(4096);
    // The place of the whole length.
    length(&mut out, 0);
    field(&mut out, b"gallivant-supervise 1");
    field(&mut out, run.directory.as_os_str().as_bytes());
    field(&mut out, run.run_id.as_bytes());
    field(&mut out, run.operation_id.as_bytes());
    let (lease, token) =
        run.lease.as_ref().map_or_else(Default::default, |(path, token)| (path.clone(), *token));
    field(&mut out, lease.as_os_str().as_bytes());
    field(&mut out, token.as_bytes());
    field(&mut out, launch.cwd.as_os_str().as_bytes());
    field(&mut out, launch.program.as_os_str().as_bytes());
    length(&mut out, launch.argv.len());
    launch.argv.iter().for_each(|argument| field(&mut out, argument.as_bytes()));
    length(&mut out, launch.env.len());
    launch.env.iter().for_each(|(name, value)| field(&mut out, format!("{name}={value}").as_bytes()));
    field(&mut out, if launch.stdin.is_some() { b"1" } else { b"0" });
    field(&mut out, launch.stdin.as_deref().unwrap_or_default().as_bytes());
    let whole = u32::try_from(out.len() - 4).unwrap_or(u32::MAX).to_le_bytes();
    out[..4].copy_from_slice(&whole);
    out
}

/// One line is all that is said.
fn line(socket: &mut UnixStream) -> io::Result<String> {
    socket.set_read_timeout(Some(PATIENCE))?;
    let (mut said, mut length) = ([0; MAX_LINE], 0);
    while length < MAX_LINE {
        match socket.read(&mut said[length..]) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if let Some(end) = said[..length].iter().position(|byte| *byte == b'\n') {
            let line =
                std::str::from_utf8(&said[..end]).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
            return Ok(line.to_owned());
        }
    }
    Err(io::Error::from(io::ErrorKind::InvalidData))
}
