//! What a script is told: one exit status for each thing that it does next, and errors as code, sentence and remedy.

use std::io::{self, Write};

use gallivant_core::{Code, Error, Kind};

use crate::terminal::printable;

/// The answer is no, or something was found that is not in order.
pub(crate) const NO: u8 = 1;
/// The arguments are wrong; the same call fails again.
const ARGUMENTS: u8 = 2;
/// The rules forbid it as things stand.
const REFUSED: u8 = 3;
/// Somebody else is at work; the same call may pass later.
const BUSY: u8 = 4;
/// Bytes on disk make no sense, or belong to another version.
const DAMAGED: u8 = 5;
/// The machine cannot do it now.
pub(crate) const UNAVAILABLE: u8 = 6;
/// What the shell shows of a process that nobody reads any more.
const PIPE_CLOSED: u8 = 141;

/// How a command ended that could be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is so, it is in order, it is done.
    Yes,
    /// It is not so, or not in order.
    No,
    /// With the status of a program that was started.
    Status(u8),
}

impl Outcome {
    pub(crate) fn of(is_so: bool) -> Self {
        if is_so { Outcome::Yes } else { Outcome::No }
    }
}

/// Why a command could not be carried out.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What the core says.
    Core(Error),
    /// What is wrong with the arguments, in one line, and what to do about it.
    Arguments(String, &'static str),
    /// What makes no sense on disk and is no file of the core's, in one line, and what to do about it.
    Damaged(String, &'static str),
    /// The output cannot be written.
    Output(io::Error),
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Core(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

impl Failure {
    /// Says it on standard error, and answers the status.
    pub(crate) fn report(&self) -> u8 {
        let (said, status) = match self {
            Failure::Core(error) => (format!("{error}; {}", error.remedy()), status(error)),
            Failure::Arguments(what, remedy) => (format!("{what}; {remedy}"), ARGUMENTS),
            Failure::Damaged(what, remedy) => (format!("{what}; {remedy}"), DAMAGED),
            // Whoever read has seen enough.
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return PIPE_CLOSED;
            }
            Failure::Output(error) => (format!("the output cannot be written: {error}"), UNAVAILABLE),
        };
        // Where standard error is closed too there is nobody left to tell.
        let _ = writeln!(io::stderr(), "gallivant: {}", printable(&said));
        status
    }
}

/// No provider is called from here: a ledger or a cursor that breaks the contract, and a result that is missing, are files.
fn status(error: &Error) -> u8 {
    match (error.code(), error.reason()) {
        (Code::ExecutionProtocol, Some("ledger" | "checkpoint-cursor")) | (Code::ExecutionResult, _) => {
            return DAMAGED;
        }
        _ => {}
    }
    match error.kind() {
        Kind::Input => ARGUMENTS,
        Kind::Refused | Kind::Unresolved => REFUSED,
        Kind::Busy => BUSY,
        Kind::Corrupt | Kind::Incompatible => DAMAGED,
        _ => UNAVAILABLE,
    }
}

/// Help and version on standard output, everything else on standard error.
pub(crate) fn of_arguments(said: &clap::Error) -> u8 {
    match said.print() {
        // Whether or not standard error takes it.
        _ if said.use_stderr() => ARGUMENTS,
        Ok(()) => 0,
        Err(error) => Failure::from(error).report(),
    }
}
