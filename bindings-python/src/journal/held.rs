//! What one thread at a time may use: a second one waits, without the interpreter, until the first has done.
//!
//! In a forked child it is the parent's: there it is neither used nor closed.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use gallivant_core::{Code, Error, Host, Result};
use pyo3::prelude::*;

use crate::{call, error};

/// How often a thread looks whether another has done with it. One call takes a few syncs, which are milliseconds.
const PAUSE: Duration = Duration::from_millis(1);

/// A value of the core that changes, with the words for it.
pub(super) struct Held<T: Send> {
    /// None once it is closed.
    slot: Mutex<Option<T>>,
    host: Host,
    /// The process that opened it.
    pid: u32,
    /// What messages call it.
    name: &'static str,
}

impl<T: Send> Held<T> {
    pub(super) fn new(value: T, name: &'static str, host: Host) -> Self {
        Held { slot: Mutex::new(Some(value)), pid: host.processes.own_pid(), host, name }
    }

    /// Calls the core.
    ///
    /// # Errors
    /// Reason `closed` or `forked`; `GALLIVANT_CANCELLED` while it waits for another thread; the core's own.
    pub(super) fn act<R: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut T) -> Result<R> + Send,
    ) -> PyResult<R> {
        if self.is_forked() {
            let message = format!("the {} was opened before a fork and belongs to the parent", self.name);
            return Err(error::raise(py, &input(message, "forked")));
        }
        call::fallible(py, || match self.locked()?.as_mut() {
            Some(value) => act(value),
            None => Err(input(format!("the {} is closed", self.name), "closed")),
        })
    }

    /// Closes it, once a call in another thread has done. Does nothing the second time, and in a forked child.
    ///
    /// # Errors
    /// What a signal handler raises.
    pub(super) fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_forked() {
            return Ok(());
        }
        call::infallible(py, || {
            call::undisturbed(|| self.locked().map(|mut slot| drop(slot.take())).is_ok())
        })?;
        Ok(())
    }

    /// Only threads without the interpreter wait here, because whoever holds it may need the interpreter to go on.
    fn locked(&self) -> Result<MutexGuard<'_, Option<T>>> {
        loop {
            match self.slot.try_lock() {
                Ok(slot) => return Ok(slot),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => self.host.clock.sleep(PAUSE),
            }
            if self.host.clock.is_cancelled() {
                let message = "the wait for another thread's call was cancelled";
                return Err(Error::new(Code::Cancelled, message));
            }
        }
    }

    fn is_forked(&self) -> bool {
        self.host.processes.own_pid() != self.pid
    }
}

impl<T: Send> Drop for Held<T> {
    fn drop(&mut self) {
        // Nobody uses what is dropped, but for a thread of the parent's that did at the moment of a fork: what that was
        // changing can neither be used nor be dropped.
        let is_in_use = matches!(self.slot.try_lock(), Err(TryLockError::WouldBlock));
        let value = self.slot.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if is_in_use {
            std::mem::forget(value);
        } else {
            call::let_go(value);
        }
    }
}

fn input(message: String, reason: &'static str) -> Error {
    Error::new(Code::ExecutionInput, message).with_reason(reason)
}
