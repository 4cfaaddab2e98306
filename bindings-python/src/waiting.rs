//! What `gallivant.Watch` and `gallivant.journal.Replay` have in common: something is waited for by one thread at a time,
//! nothing of it is lost when the wait is ended, and closing from another thread ends the wait.
//!
//! A wait runs without the interpreter, in slices on the main thread so that signal handlers run, and in one piece on any
//! other: there nothing but what is waited for, a cancellation and closing end it, and all three wake it.

use std::fmt;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use gallivant_core::{Code, Error, Host, Result};
use pyo3::prelude::*;

use crate::call::{self, Bell};
use crate::error;

/// How long the main thread waits without asking for signals. One that arrives while it sleeps ends the sleep; this is
/// for one that arrives just before, or in another thread.
const SLICE: Duration = Duration::from_millis(50);

/// What is waited with.
pub(crate) trait Waits: Send {
    /// What is waited for.
    type Told: Send + fmt::Debug;
    /// What messages call it.
    const NAME: &'static str;
    /// The code of misuse.
    const MISUSED: Code;

    /// Waits for at most so long, without end where that is none.
    ///
    /// # Errors
    /// `GALLIVANT_CANCELLED` when its bell was rung; nothing is lost by an error.
    fn next(&mut self, longest: Option<Duration>) -> Result<Option<Self::Told>>;
}

/// Something that waits, as a Python object holds it.
#[derive(Debug)]
pub(crate) struct Waiting<W: Waits> {
    host: Host,
    pid: u32,
    slot: Mutex<Slot<W>>,
    /// Whether a call uses it. The mutex alone would not do: between two slices nobody holds it.
    in_use: AtomicBool,
    is_closed: AtomicBool,
    bell: Bell,
    descriptor: Option<RawFd>,
}

#[derive(Debug)]
struct Slot<W: Waits> {
    /// None once it is closed.
    source: Option<W>,
    /// What could not be handed out, because something was raised meanwhile.
    kept: Option<W::Told>,
}

/// How a wait ended.
pub(crate) enum Ended<T> {
    Told(T),
    TimedOut,
    Closed,
}

impl<W: Waits> Waiting<W> {
    pub(crate) fn new(source: W, bell: Bell, descriptor: Option<RawFd>, host: Host) -> Self {
        Waiting {
            pid: host.processes.own_pid(),
            host,
            slot: Mutex::new(Slot { source: Some(source), kept: None }),
            in_use: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            bell,
            descriptor,
        }
    }

    /// Waits for at most so long, without end where that is none.
    ///
    /// # Errors
    /// What a signal handler raises; `GALLIVANT_CANCELLED`, `GALLIVANT_HANDLE_BUSY`, reason `forked`, and the core's own.
    pub(crate) fn wait(&self, py: Python<'_>, longest: Option<Duration>) -> PyResult<Ended<W::Told>> {
        self.refuse_forked(py)?;
        call::refuse_cancelled(py)?;
        let Some(_using) = Using::begin(self) else {
            if self.is_closed() {
                return Ok(Ended::Closed);
            }
            return Err(self.busy(py));
        };
        let waits = longest != Some(Duration::ZERO);
        let slice = if waits && is_main_thread(py)? { SLICE } else { Duration::MAX };
        let clock = &self.host.clock;
        let deadline = longest.map(|longest| clock.awake().saturating_add(longest));
        let _ringing = call::ringing(&self.bell);
        loop {
            if self.is_closed() {
                return Ok(Ended::Closed);
            }
            let left = deadline.map(|deadline| deadline.saturating_sub(clock.awake()));
            let turn = left.unwrap_or(Duration::MAX).min(slice);
            let turn = (turn < Duration::MAX).then_some(turn);
            match call::infallible(py, || self.turn(turn))? {
                Ok(true) => {
                    let kept = self.slot().kept.take();
                    return Ok(kept.map_or(Ended::TimedOut, Ended::Told));
                }
                Ok(false) if left.is_some_and(|left| left <= slice) => return Ok(Ended::TimedOut),
                Ok(false) => {}
                // Rung to close, by a cancel, or by one that had been set when the wait before this one was over.
                Err(woken) if woken.code() == Code::Cancelled => {
                    if call::is_set() && !self.is_closed() {
                        return Err(error::raise(py, &woken));
                    }
                }
                Err(failed) => return Err(error::raise(py, &failed)),
            }
            py.check_signals()?;
        }
    }

    /// The descriptor that becomes readable when there may be something.
    ///
    /// # Errors
    /// Reason `closed` or `forked`.
    pub(crate) fn descriptor(&self, py: Python<'_>) -> PyResult<Option<RawFd>> {
        self.refuse_closed(py)?;
        self.refuse_forked(py)?;
        Ok(self.descriptor)
    }

    /// The descriptor, where there is one.
    ///
    /// # Errors
    /// As [`Waiting::descriptor`]; reason `no-descriptor`.
    pub(crate) fn fileno(&self, py: Python<'_>) -> PyResult<RawFd> {
        let message = "the platform has no descriptor to poll for changes";
        self.descriptor(py)?.ok_or_else(|| misused::<W>(py, message.to_owned(), "no-descriptor"))
    }

    /// Asks it something without waiting.
    ///
    /// # Errors
    /// Reason `closed` or `forked`; `GALLIVANT_HANDLE_BUSY` while a call uses it.
    pub(crate) fn ask<R: Send>(&self, py: Python<'_>, question: impl FnOnce(&W) -> R + Send) -> PyResult<R> {
        self.refuse_closed(py)?;
        self.refuse_forked(py)?;
        let using = Using::begin(self);
        let asked = call::infallible(py, || {
            let _using = using?;
            self.slot().source.as_ref().map(question)
        })?;
        asked.ok_or_else(|| self.busy(py))
    }

    /// Closes it. A wait in another thread ends, and closes it when it has.
    ///
    /// # Errors
    /// What a signal handler raises.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.is_closed.store(true, Ordering::SeqCst);
        self.bell.ring();
        call::infallible(py, || self.let_go())
    }

    /// Whether it was closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// # Errors
    /// Reason `closed`.
    pub(crate) fn refuse_closed(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_closed() {
            return Err(misused::<W>(py, format!("the {} is closed", W::NAME), "closed"));
        }
        Ok(())
    }

    /// What a wait is raised with that closing has ended.
    pub(crate) fn closed_meanwhile(py: Python<'_>) -> PyErr {
        error::raise(py, &Error::new(Code::Cancelled, format!("the {} was closed", W::NAME)))
    }

    fn busy(&self, py: Python<'_>) -> PyErr {
        let message = format!("another call waits with this {}, or closes it", W::NAME);
        error::raise(py, &Error::new(Code::HandleBusy, message))
    }

    /// One slice of a wait. Whether there is something, which is kept until it can be handed out.
    fn turn(&self, longest: Option<Duration>) -> Result<bool> {
        let mut slot = self.slot();
        if slot.kept.is_none() {
            let Some(source) = &mut slot.source else { return Ok(false) };
            slot.kept = source.next(longest)?;
        }
        Ok(slot.kept.is_some())
    }

    /// Only whoever uses it, and whoever closes one that nobody uses, takes it: nobody waits here.
    fn slot(&self) -> MutexGuard<'_, Slot<W>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes what is to be closed, where no call uses it. Whichever comes last of closing and the end of a call does.
    fn let_go(&self) {
        if self.is_closed() && !self.is_forked() && !self.in_use.swap(true, Ordering::SeqCst) {
            self.slot().source = None;
            self.in_use.store(false, Ordering::SeqCst);
        }
    }

    fn is_forked(&self) -> bool {
        self.host.processes.own_pid() != self.pid
    }

    fn refuse_forked(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_forked() {
            let message = format!("the {} was opened before a fork and belongs to the parent", W::NAME);
            return Err(misused::<W>(py, message, "forked"));
        }
        Ok(())
    }
}

impl<W: Waits> Drop for Waiting<W> {
    fn drop(&mut self) {
        // Nobody uses what is dropped, but for a thread of the parent's that did at the moment of a fork: what that was
        // changing can neither be used nor be dropped.
        if matches!(self.slot.try_lock(), Err(TryLockError::WouldBlock)) {
            let slot = self.slot.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(slot.source.take());
            std::mem::forget(slot.kept.take());
        }
    }
}

/// A call that uses it.
struct Using<'a, W: Waits>(&'a Waiting<W>);

impl<'a, W: Waits> Using<'a, W> {
    fn begin(waiting: &'a Waiting<W>) -> Option<Self> {
        // Made only where it is begun: its end lets others in.
        (!waiting.in_use.swap(true, Ordering::SeqCst)).then(|| Using(waiting))
    }
}

impl<W: Waits> Drop for Using<'_, W> {
    fn drop(&mut self) {
        self.0.in_use.store(false, Ordering::SeqCst);
        self.0.let_go();
    }
}

/// Whether this is the thread in which signal handlers run.
fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    main.eq(threading.call_method0("get_ident")?)
}

fn misused<W: Waits>(py: Python<'_>, message: String, reason: &'static str) -> PyErr {
    error::raise(py, &Error::new(W::MISUSED, message).with_reason(reason))
}
