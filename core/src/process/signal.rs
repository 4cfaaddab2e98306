//! Signals, sent to a process that is proved to be the one that is meant, and to no other.

use rustix::io::Errno;

use super::ProcessFact;

/// A signal of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Asks it to end.
    Term,
    /// Ends it.
    Kill,
    /// Has it stand still, so that it forks no more.
    Stop,
    /// Lets it go on.
    Continue,
}

impl Signal {
    /// As this system numbers it.
    pub(super) const fn number(self) -> rustix::process::Signal {
        match self {
            Signal::Term => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
            Signal::Stop => rustix::process::Signal::STOP,
            Signal::Continue => rustix::process::Signal::CONT,
        }
    }
}

/// What has become of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signalled {
    /// It was sent to the process that is meant.
    Sent,
    /// That process is gone, and nobody was signalled.
    Gone,
    /// It was not sent: it may not be, or it cannot be proved whom it would reach.
    Refused,
}

/// Sends a signal to the process that has this pid and began at this time, and to no other: through a handle that was opened
/// before its start was read, so that the pid cannot come to name another process in between. On a kernel without handles
/// the start is read just before the signal.
#[cfg(target_os = "linux")]
pub(super) fn send(pid: u32, start: u64, signal: Signal, fact: impl Fn(u32) -> ProcessFact) -> Signalled {
    use rustix::process::{self, Pid, PidfdFlags};

    let Some(meant) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Signalled::Refused };
    let handle = match process::pidfd_open(meant, PidfdFlags::empty()) {
        Ok(handle) => Some(handle),
        Err(Errno::NOSYS) => None,
        Err(Errno::SRCH) => return Signalled::Gone,
        Err(_) => return Signalled::Refused,
    };
    if let Some(refused) = not_meant(fact(pid), start) {
        return refused;
    }
    outcome(match &handle {
        Some(handle) => process::pidfd_send_signal(handle, signal.number()),
        None => process::kill_process(meant, signal.number()),
    })
}

/// What becomes of a signal to the process that began at this time, where another fact is known of its pid.
pub(super) fn not_meant(fact: ProcessFact, start: u64) -> Option<Signalled> {
    match fact {
        ProcessFact::Running { start: found } if found == start => None,
        ProcessFact::Running { .. } | ProcessFact::Absent | ProcessFact::Zombie => Some(Signalled::Gone),
        ProcessFact::Unreadable => Some(Signalled::Refused),
    }
}

/// What the system's answer to a signal means.
pub(super) fn outcome(sent: Result<(), Errno>) -> Signalled {
    match sent {
        Ok(()) => Signalled::Sent,
        Err(Errno::SRCH) => Signalled::Gone,
        Err(_) => Signalled::Refused,
    }
}
