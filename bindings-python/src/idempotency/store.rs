//! `gallivant.idempotency.IdempotencyStore`, and what it answers about itself.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use gallivant_core::idempotency::{self as core, Ask, StoreOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::begun::{Begun, Origin, patience_of};
use super::fingerprint::fingerprint_of;
use super::ticket::ClaimNotices;
use crate::argument::{Given, taken, whole_ms};
use crate::call;
use crate::error::Exception;
use crate::host::host_of;
use crate::testing::TestHost;
use crate::value::value;

/// What the keys of creates stand for, on disk: the claims of all processes, in any language, that open the same file.
/// Opened by `IdempotencyStore.open`. Threads may share it. One that came through a fork is the parent's: using it in the
/// child raises `IdempotencyForkedError`; open a fresh one there.
#[pyclass(frozen, module = "gallivant.idempotency")]
#[derive(Debug)]
pub(crate) struct IdempotencyStore {
    path: PathBuf,
    origin: call::Detached<Origin>,
}

#[pymethods]
impl IdempotencyStore {
    /// Opens the store in this file, or makes it where nothing is; its directory has to be there. Durable when it returns.
    /// All processes that share a store open it with the same options, which are in ms and have their default where they
    /// are None:
    ///
    /// - `window_ms`: how long a finished claim is replayed, from its completion: 1 minute to 30 days. Default `86400000`,
    ///   which is 24 hours.
    /// - `max_reservation_ms`: after so long without a refresh a reservation whose owner lives answers unknown. Default
    ///   `3600000`, which is an hour; 1 minute at least.
    /// - `max_answer_bytes`: the largest answer that is saved. Default `1048576`, which is 1 MiB.
    /// - `busy_ms`: how long a call without a `timeout` waits for another process's transaction. Default `5000`.
    ///
    /// Raises `IdempotencyInputError` for an option out of range; `IdempotencyStoreUnavailableError` when it cannot be
    /// opened or written; `IdempotencyStoreUnsupportedError` on a file system that cannot keep one;
    /// `IdempotencyStoreCorruptError` and `IdempotencyStoreVersionError`, which name the `.file` and leave it as it is;
    /// `IdempotencyBusyError`.
    #[staticmethod]
    #[pyo3(signature = (
        path, *, window_ms=None, max_reservation_ms=None, max_answer_bytes=None, busy_ms=None, host=None
    ))]
    fn open(
        py: Python<'_>,
        path: Given<PathBuf>,
        window_ms: Option<Given<u64>>,
        max_reservation_ms: Option<Given<u64>>,
        max_answer_bytes: Option<Given<usize>>,
        busy_ms: Option<Given<u64>>,
        host: Option<&Bound<'_, TestHost>>,
    ) -> PyResult<Self> {
        let default = StoreOptions::default();
        let of = |given, default| taken(given).map_or(default, Duration::from_millis);
        let options = StoreOptions {
            window: of(window_ms, default.window),
            max_reservation: of(max_reservation_ms, default.max_reservation),
            max_answer_bytes: taken(max_answer_bytes).unwrap_or(default.max_answer_bytes),
            busy: of(busy_ms, default.busy),
        };
        let (Given(path), host) = (path, host_of(host));
        let store = call::fallible(py, || core::IdempotencyStore::open(&path, &options, &host))?;
        let pid = host.processes.own_pid();
        Ok(IdempotencyStore { path, origin: call::Detached::new(Origin { store, host, pid }) })
    }

    /// Asks what the key means to a create with this body, and reserves it where it is free. `scope` is whom the key belongs
    /// to, outermost first: whatever decides what is made besides the body. `body` is the bytes exactly as they were sent,
    /// or a `Fingerprint` of them. `timeout` is how many seconds to wait for another process's transaction.
    ///
    /// Answers a `Reservation` (make the thing), a `FinishedClaim` (it was made), a `Ticket` (it is being made) or an
    /// `UnknownClaim` (nobody knows whether it was made).
    ///
    /// Raises `IdempotencyKeyReusedError` when the key belongs to another body; `IdempotencyKeyInvalidError` and
    /// `IdempotencyScopeInvalidError`; `IdempotencyBusyError` at the deadline; `IdempotencyForkedError`; the store's own
    /// errors as `open` does. Nothing may be made after any of them.
    #[pyo3(signature = (
        operation, scope: "collections.abc.Sequence[str]", key, body: "bytes | Fingerprint", *, timeout=None
    ))]
    fn begin(
        &self,
        py: Python<'_>,
        operation: Given<String>,
        scope: Vec<Given<String>>,
        key: Given<String>,
        body: &Bound<'_, PyAny>,
        timeout: Option<Given<f64>>,
    ) -> PyResult<Begun> {
        let fingerprint = fingerprint_of(body)?;
        let deadline = patience_of(py, timeout)?;
        self.origin.begun(py, || {
            let scope: Vec<&str> = scope.iter().map(|Given(part)| part.as_str()).collect();
            let ask = Ask { operation: &operation.0, scope: &scope, key: &key.0, fingerprint, deadline };
            self.origin.store.ask(&ask)
        })
    }

    /// What stands on disk for a name; None where nothing does, or what does has expired. Read-only, and it waits for
    /// nobody. Raises as `begin`, but for the key's other body.
    #[pyo3(signature = (operation, scope: "collections.abc.Sequence[str]", key))]
    fn inspect(
        &self,
        py: Python<'_>,
        operation: Given<String>,
        scope: Vec<Given<String>>,
        key: Given<String>,
    ) -> PyResult<Option<ClaimView>> {
        self.origin.refuse_forked(py)?;
        let seen = call::fallible(py, || {
            let scope: Vec<&str> = scope.iter().map(|Given(part)| part.as_str()).collect();
            self.origin.store.inspect(&operation.0, &scope, &key.0)
        })?;
        Ok(seen.map(|seen| ClaimView {
            state: seen.state.word().to_owned(),
            resource: seen.resource,
            answer: seen.answer.map(|answer| PyBytes::new(py, &answer).unbind()),
        }))
    }

    /// Removes finished claims that have expired, a bounded number a call, so that no create waits long behind it. Call it
    /// again while the answer's `has_more` is true. Raises the store's own errors.
    fn sweep(&self, py: Python<'_>) -> PyResult<Swept> {
        self.origin.refuse_forked(py)?;
        let swept = call::fallible(py, || self.origin.store.sweep())?;
        Ok(Swept { removed: swept.removed, has_more: swept.has_more })
    }

    /// Whether keyed creates are available now, for a server that advertises them. Writes nothing. A store that is only busy
    /// is available.
    fn capability(&self, py: Python<'_>) -> PyResult<Capability> {
        let failed = call::infallible(py, || self.origin.store.capability())?.err();
        let error = Exception::of_optional(py, failed.as_ref())?;
        Ok(Capability { keyed_creates: error.is_none(), error })
    }

    /// What tells of creates that end, from now on, for event loops; None where the system does not tell. `Ticket.wait`
    /// needs none.
    fn notices(&self, py: Python<'_>) -> PyResult<Option<ClaimNotices>> {
        self.origin.refuse_forked(py)?;
        let notifier = call::infallible(py, || self.origin.store.notifier())?;
        Ok(notifier.and_then(|notifier| ClaimNotices::of(&self.origin, notifier)))
    }

    /// Looks whether the machine has slept since the last look, which every judgement does too: for two minutes from now no
    /// owner is taken over for its age. Worth calling by whoever is told of a wake-up. Touches no disk.
    fn notice_sleep(&self, py: Python<'_>) -> PyResult<()> {
        self.origin.refuse_forked(py)?;
        call::infallible(py, || self.origin.store.notice_sleep())
    }

    /// How long a finished claim is replayed, in ms.
    #[getter]
    fn window_ms(&self) -> u64 {
        whole_ms(self.origin.store.options().window)
    }

    /// After how many ms without a refresh a reservation whose owner lives answers unknown.
    #[getter]
    fn max_reservation_ms(&self) -> u64 {
        whole_ms(self.origin.store.options().max_reservation)
    }

    /// How many bytes the largest answer has that is saved.
    #[getter]
    fn max_answer_bytes(&self) -> usize {
        self.origin.store.options().max_answer_bytes
    }

    /// How many ms a call without a `timeout` waits for another process's transaction.
    #[getter]
    fn busy_ms(&self) -> u64 {
        whole_ms(self.origin.store.options().busy)
    }

    /// The path as it was given.
    #[getter]
    fn path(&self) -> OsString {
        self.path.as_os_str().to_owned()
    }

    fn __repr__(&self) -> String {
        format!("<gallivant.idempotency.IdempotencyStore path={:?}>", self.path)
    }
}

value! {
    in "gallivant.idempotency";
    /// What stands on disk for a name.
    ClaimView {
        /// How far the create is: `reserved`, `marked` or `finished`.
        state: String,
        /// The id of the thing that was made; None before.
        resource: Option<String> = None,
        /// The saved answer; None before, and where the resource was only found afterwards.
        answer: Option<Py<PyBytes>> = None,
    }
}

value! {
    in "gallivant.idempotency";
    /// What one call of a sweep did.
    Swept {
        /// How many expired claims are gone.
        removed: u64,
        /// Whether another call is worth while.
        has_more: bool,
    }
}

value! {
    in "gallivant.idempotency";
    /// Whether keyed creates are available; its truth is `keyed_creates`.
    Capability {
        /// Whether they are.
        keyed_creates: bool,
        /// What a create would be refused with; None where they are available.
        error: Option<Exception> = None,
    }

    fn __bool__(&self) -> bool {
        self.keyed_creates
    }
}
