//! What `begin` and whatever leads back to it answer.

use std::time::Duration;

use gallivant_core::idempotency::{Begin, IdempotencyStore};
use gallivant_core::{Code, Error, Host, Result};
use pyo3::prelude::*;

use super::{FinishedClaim, Reservation, Ticket, UnknownClaim};
use crate::argument::{Given, length_of};
use crate::{call, error};

/// What every handle keeps of the store that it came from.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) store: IdempotencyStore,
    pub(super) host: Host,
    /// The process that opened the store.
    pub(super) pid: u32,
}

impl Origin {
    /// # Errors
    /// `IDEMPOTENCY_FORKED` with reason `forked` in a child of the process that opened the store.
    pub(super) fn refuse_forked(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_forked() {
            let message = "what came of a store was carried through a fork and is the parent's";
            let forked = Error::new(Code::IdempotencyForked, message).with_reason("forked");
            return Err(error::raise(py, &forked));
        }
        Ok(())
    }

    pub(super) fn is_forked(&self) -> bool {
        self.host.processes.own_pid() != self.pid
    }

    /// Calls the core, and makes Python's of what it answers.
    pub(super) fn begun(
        &self,
        py: Python<'_>,
        ask: impl FnOnce() -> Result<Begin> + Send,
    ) -> PyResult<Begun> {
        self.refuse_forked(py)?;
        let begin = call::fallible(py, ask)?;
        Ok(match begin {
            Begin::Create(reservation) => Begun::Create(Py::new(py, Reservation::of(self, reservation))?),
            Begin::Replay(claim) => Begun::Replay(Py::new(py, FinishedClaim::of(self, claim))?),
            Begin::InProgress(ticket) => Begun::InProgress(Py::new(py, Ticket::of(self, ticket))?),
            Begin::Unknown(claim) => Begun::Unknown(Py::new(py, UnknownClaim::of(self, claim))?),
        })
    }
}

/// One of the four.
#[derive(IntoPyObject)]
pub(crate) enum Begun {
    Create(Py<Reservation>),
    Replay(Py<FinishedClaim>),
    InProgress(Py<Ticket>),
    Unknown(Py<UnknownClaim>),
}

/// A `timeout` argument: none for the store's own patience.
///
/// # Errors
/// `GALLIVANT_INPUT` with reason `out-of-range` for what is no number.
pub(super) fn patience_of(py: Python<'_>, timeout: Option<Given<f64>>) -> PyResult<Option<Duration>> {
    timeout.map(|Given(seconds)| Ok(length_of(py, seconds)?.unwrap_or(Duration::MAX))).transpose()
}
