//! The next signal by `sigtimedwait`, which also tells who has sent it.

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

use super::Arrived;

/// What waiting needs: nothing.
#[derive(Debug)]
pub(in crate::wrap) struct Arrivals;

impl Arrivals {
    pub(in crate::wrap) fn of(_: &[libc::c_int]) -> io::Result<Self> {
        Ok(Arrivals)
    }

    /// Takes the next of the signals that are held, or waits for so long.
    pub(in crate::wrap) fn next(&self, held: &libc::sigset_t, timeout: Duration) -> io::Result<Arrived> {
        let timeout = libc::timespec {
            tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(timeout.subsec_nanos()),
        };
        let mut about = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: set, place and time live through the call; zero is a valid `siginfo_t`, so that it may be read whatever
        // the call did.
        let (taken, about) = unsafe {
            let taken = libc::sigtimedwait(held, about.as_mut_ptr(), &raw const timeout);
            (taken, about.assume_init())
        };
        match taken {
            -1 => match io::Error::last_os_error() {
                error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => {
                    Ok(Arrived::Nothing)
                }
                error => Err(error),
            },
            libc::SIGCHLD => Ok(Arrived::Child),
            // Sent by the kernel, and so by the terminal: positive for it, zero and below for processes.
            _ if about.si_code > 0 => Ok(Arrived::ByTerminal),
            signal => Ok(Arrived::Sent(signal)),
        }
    }
}
