//! The next signal by a kernel queue, for systems without `sigtimedwait`. It sees signals that are blocked, and those of
//! which the default is that nothing happens, and does not tell who has sent them.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::kqueue::{Event, EventFilter, EventFlags, kevent, kqueue};
use rustix::process::Signal;

use super::Arrived;
use crate::wrap::signals::is_in_foreground;

/// What a terminal sends to everybody who runs in it.
const BY_TERMINALS: [libc::c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGWINCH];

/// The queue, which knows the signals.
#[derive(Debug)]
pub(in crate::wrap) struct Arrivals(OwnedFd);

impl Arrivals {
    pub(in crate::wrap) fn of(signals: &[libc::c_int]) -> io::Result<Self> {
        let queue = kqueue()?;
        let known = |signal: &libc::c_int| {
            let signal = Signal::from_named_raw(*signal)?;
            let filter = EventFilter::Signal { signal, times: 0 };
            Some(Event::new(filter, EventFlags::ADD | EventFlags::CLEAR, std::ptr::null_mut()))
        };
        let changes: Vec<Event> = signals.iter().filter_map(known).collect();
        // SAFETY: no event is about a descriptor.
        unsafe { kevent(&queue, &changes, &mut [] as &mut [Event], Some(Duration::ZERO)) }?;
        Ok(Arrivals(queue))
    }

    /// Takes the next of the signals, or waits for so long. One that may be the terminal's counts as the terminal's while this
    /// process's group has it.
    pub(in crate::wrap) fn next(&self, _: &libc::sigset_t, timeout: Duration) -> io::Result<Arrived> {
        let mut events = Vec::with_capacity(1);
        // SAFETY: no event is about a descriptor.
        match unsafe { kevent(&self.0, &[], rustix::buffer::spare_capacity(&mut events), Some(timeout)) } {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let Some(EventFilter::Signal { signal, .. }) = events.first().map(Event::filter) else {
            return Ok(Arrived::Nothing);
        };
        Ok(match signal.as_raw() {
            libc::SIGCHLD => Arrived::Child,
            signal if BY_TERMINALS.contains(&signal) && is_in_foreground() => Arrived::ByTerminal,
            signal => Arrived::Sent(signal),
        })
    }
}
