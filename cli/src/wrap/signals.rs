//! Signals, held and taken one at a time, and given back to the program as they were.
//!
//! They are blocked here and never handled, so that none interrupts anything: [`Signals::wait`] takes the next one. What the
//! terminal sends goes to the whole process group, the program among it, and is not passed on a second time; what another
//! process sends to this one is.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use rustix::process::Pid;

use super::arrival::{Arrivals, Arrived};

/// What would end or tell this process, and is the program's to be told. Stops are not among them: they stop both.
const PASSED_ON: [libc::c_int; 7] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2, libc::SIGWINCH];

/// The signals that are held, and how everything was before.
#[derive(Debug)]
pub(super) struct Signals {
    arrivals: Arrivals,
    held: libc::sigset_t,
    before: libc::sigset_t,
    /// Whoever ignores the ends of its children is never told how they ended.
    of_children: libc::sighandler_t,
    /// A closed standard error is no reason to leave the program alone.
    of_pipes: libc::sighandler_t,
}

impl Signals {
    /// Holds them from now on.
    pub(super) fn hold() -> io::Result<Self> {
        let all: Vec<libc::c_int> = PASSED_ON.into_iter().chain([libc::SIGCHLD]).collect();
        let arrivals = Arrivals::of(&all)?;
        let mut held = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: both sets live through the calls; the first is initialised before it is read, and the second is written
        // by the last call, whose success is looked at.
        unsafe {
            libc::sigemptyset(held.as_mut_ptr());
            for signal in all {
                libc::sigaddset(held.as_mut_ptr(), signal);
            }
            let blocked = libc::pthread_sigmask(libc::SIG_BLOCK, held.as_ptr(), before.as_mut_ptr());
            if blocked != 0 {
                return Err(io::Error::from_raw_os_error(blocked));
            }
            let of_children = libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            let of_pipes = libc::signal(libc::SIGPIPE, libc::SIG_IGN);
            Ok(Signals {
                arrivals,
                held: held.assume_init(),
                before: before.assume_init(),
                of_children,
                of_pipes,
            })
        }
    }

    /// Takes the next one, or waits for so long.
    pub(super) fn wait(&self, timeout: Duration) -> io::Result<Arrived> {
        self.arrivals.next(&self.held, timeout)
    }

    /// Gives the program the mask and the dispositions with which this process was started: what that was to ignore, the
    /// program ignores too.
    pub(super) fn restore_in(&self, command: &mut Command) {
        let (before, of_children, of_pipes) = (self.before, self.of_children, self.of_pipes);
        // SAFETY: between fork and exec only calls that are safe in a signal handler are made, on a set that the closure
        // owns.
        unsafe {
            command.pre_exec(move || {
                libc::signal(libc::SIGCHLD, of_children);
                libc::signal(libc::SIGPIPE, of_pipes);
                match libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) {
                    0 => Ok(()),
                    error => Err(io::Error::from_raw_os_error(error)),
                }
            });
        }
    }

    /// Stops this process until it is continued, as a shell expects it of a job that has stopped.
    pub(super) fn stop_too(&self) {
        send(rustix::process::getpid(), libc::SIGSTOP);
    }

    /// Ends this process by the signal that has ended the program, so that whoever waits for it sees the same. Where the
    /// signal does not end it, answers the status that shells show for it.
    pub(super) fn die_of(&self, signal: i32) -> u8 {
        let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
        // The program has left its own core where it did.
        let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
        // SAFETY: the default disposition runs no code of this process; the set lives through the calls.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            let mut this = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(this.as_mut_ptr());
            libc::sigaddset(this.as_mut_ptr(), signal);
            libc::raise(signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, this.as_ptr(), std::ptr::null_mut());
        }
        u8::try_from(signal).map_or(u8::MAX, |signal| signal.saturating_add(128))
    }
}

/// Sends a signal. That nobody is there any more is no error of whoever passes it on.
pub(super) fn send(pid: Pid, signal: i32) {
    // SAFETY: takes two numbers.
    unsafe { libc::kill(pid.as_raw_nonzero().get(), signal) };
}

/// Whether this process's group has the terminal: only then has a person at it stopped the program.
pub(super) fn is_in_foreground() -> bool {
    let Ok(terminal) = rustix::fs::open(
        "/dev/tty",
        rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC | rustix::fs::OFlags::NOCTTY,
        rustix::fs::Mode::empty(),
    ) else {
        return false;
    };
    rustix::termios::tcgetpgrp(terminal).is_ok_and(|foreground| foreground == rustix::process::getpgrp())
}
