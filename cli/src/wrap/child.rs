//! The program that is wrapped: started, looked at, and signalled.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::Command;

use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};

use super::signals::{Signals, send};

/// A program that was started and has not been seen to end.
#[derive(Debug)]
pub(super) struct Child {
    pid: Pid,
    /// It has been waited for, and its pid may be another process's.
    is_over: bool,
}

/// What is to be seen of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looked {
    Runs,
    Stopped,
    Ended(Ended),
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Exit(u8),
    Signal(i32),
}

impl Ended {
    /// As the record has it (HS-42).
    pub(super) fn text(self) -> String {
        match self {
            Ended::Exit(status) => format!("exit {status}"),
            Ended::Signal(signal) => format!("signal {signal}"),
        }
    }
}

impl Child {
    /// Starts the program with these variables, and else with everything as this process was given it.
    #[expect(clippy::disallowed_methods, reason = "the one place where a wrapped program is started")]
    pub(super) fn start(
        program: &OsStr,
        arguments: &[OsString],
        variables: &[(&'static str, String)],
        signals: &Signals,
    ) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
        signals.restore_in(&mut command);
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Ok(Child { pid: pid.ok_or(io::ErrorKind::InvalidData)?, is_over: false })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// What has become of it, without waiting.
    pub(super) fn look(&mut self) -> io::Result<Looked> {
        loop {
            match waitpid(Some(self.pid), WaitOptions::NOHANG | WaitOptions::UNTRACED) {
                Ok(None) => return Ok(Looked::Runs),
                Ok(Some((_, status))) => return Ok(self.judge(status)),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn judge(&mut self, status: WaitStatus) -> Looked {
        if status.stopped() {
            return Looked::Stopped;
        }
        self.is_over = true;
        let exit = status.exit_status().and_then(|status| u8::try_from(status).ok());
        match (exit, status.terminating_signal()) {
            (Some(exit), _) => Looked::Ended(Ended::Exit(exit)),
            (None, Some(signal)) => Looked::Ended(Ended::Signal(signal)),
            (None, None) => Looked::Ended(Ended::Exit(u8::MAX)),
        }
    }

    /// Passes a signal on. A program that is over already has nothing to be told.
    pub(super) fn signal(&self, signal: i32) {
        if !self.is_over {
            send(self.pid, signal);
        }
    }
}
