//! The boundary of one task: the object whose calls are the only ones that write its files (EX-BND).
//!
//! - [`Boundary`]: how it is made, and the machines that it gives;
//! - `input`: what a dispatch is given; `task`: a task under its lock;
//! - `dispatch`: submit and continue; `answers`: a lost answer, looked for again; `prepare`: receipts;
//! - `operator`: adopt and settle as absent;
//! - `projection`: what may be read without a lock.

mod answers;
mod dispatch;
mod input;
mod operator;
mod prepare;
mod projection;
mod task;

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, TryLockError};

pub use projection::{UnresolvedOperation, execution_live, unresolved};

use super::backoff::{self, Jitter, RandomJitter};
use super::capability::Capability;
use super::ledger::file::{LedgerFile, Writer};
use super::ledger::lock::AbortToken;
use super::ledger::record::Action;
use super::ledger::{Ledger, Owner};
use super::limits::Limits;
use super::machine::{Line, Machine, Machines, forked};
use super::options::ExecutionOptions;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::json::{Object, Value};
use crate::redaction::{Patterns, Redactor};
use crate::storage::Directory;

/// The version of the contract between a boundary and its host (EX-BND-01).
pub const EXECUTION_VERSION: u64 = 1;

/// The boundary of one task. Cloning it is cheap and gives the same boundary.
///
/// Two boundaries for one root, in one process or in two, exclude each other by the task's lock: their calls give the same
/// results as calls that are made one after another. The lock serialises on one machine's local file system; it is no lease
/// between hosts.
///
/// Dropping the last clone drops the machines that are not done, wherever they stand (EX-BND-36): a machine is kept together
/// with its boundary.
#[derive(Clone)]
pub struct Boundary {
    inner: Arc<Inner>,
    machines: Arc<Machines>,
}

impl fmt::Debug for Boundary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Boundary").field("root", &self.inner.options.root).finish_non_exhaustive()
    }
}

pub(super) struct Inner {
    pub(super) options: ExecutionOptions,
    pub(super) capability: Capability,
    pub(super) owner: Owner,
    pub(super) host: Host,
    pub(super) jitter: Arc<dyn Jitter>,
    pub(super) redactor: Redactor,
    files: Mutex<Files>,
    generation: u64,
}

struct Files {
    ledger: LedgerFile,
    writer: Writer,
}

impl Inner {
    /// # Errors
    /// `EXECUTION_INPUT` with the reason `forked`.
    fn check_fork(&self) -> Result<()> {
        if self.generation == crate::storage::fork_generation() { Ok(()) } else { Err(forked()) }
    }

    /// The ledger as it stands. Takes no lock, and waits for nobody who writes.
    fn read(&self, root: &dyn Directory) -> Result<Ledger> {
        match self.files.try_lock() {
            Ok(mut files) => files.ledger.read(root, &self.owner),
            Err(TryLockError::Poisoned(files)) => files.into_inner().ledger.read(root, &self.owner),
            Err(TryLockError::WouldBlock) => LedgerFile::default().read(root, &self.owner),
        }
    }

    /// The delay before the next try, in milliseconds (EX-SCH-20).
    fn delay_ms(&self, failures: u64, retry_after_ms: Option<f64>) -> u64 {
        backoff::delay_ms(failures, self.jitter.next(), retry_after_ms, &self.options.limits)
    }
}

impl Boundary {
    /// Makes the boundary of a task. Creates no file, proves nothing of the file system and calls nobody (EX-BND-06).
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for an empty name or an adapter of the other location, `EXECUTION_DEPENDENCY` for a record of another
    /// registry, and `EXECUTION_INPUT` for secrets that cannot be searched for.
    pub fn new(options: ExecutionOptions, host: &Host) -> Result<Self> {
        let capability = options.checked_capability()?;
        let owner = Owner {
            task_id: options.task_id.clone(),
            provider: options.provider.clone(),
            account: options.account.clone(),
        };
        let jitter = options.jitter.clone();
        let files =
            Files { ledger: LedgerFile::default(), writer: Writer::new(host, Arc::clone(&options.faults)) };
        Ok(Boundary {
            inner: Arc::new(Inner {
                capability,
                owner,
                host: host.clone(),
                jitter: jitter.unwrap_or_else(|| Arc::new(RandomJitter::new(Arc::clone(&host.random)))),
                redactor: Redactor::new(&options.secrets, Patterns::Recognised)?,
                files: Mutex::new(files),
                generation: crate::storage::counted_generation(),
                options,
            }),
            machines: Arc::new(Machines::new()),
        })
    }

    /// The effective limits, a part of every call's common input.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.inner.options.limits
    }

    /// What the provider can do: a copy, without any secret's value (EX-CAP-24).
    #[must_use]
    pub fn capabilities(&self) -> Value {
        self.inner.capability.to_value()
    }

    /// Dispatches new work (EX-LED-20 to EX-LED-40). The input has the members of EX-LED-20; done, it gives
    /// `{operationId, runId, acceptance, acknowledgement, reused, execution}`.
    ///
    /// Once it is done and well, the operation, its acknowledgement and its reservation are on disk. `EXECUTION_ACCEPTANCE_UNKNOWN`
    /// leaves the intent there, and nothing of the task is dispatched until that is resolved. Every other refusal has left all
    /// files as they were, but for a noted `EXECUTION_DISPATCH_REFUSED`.
    #[must_use]
    pub fn submit(&self, input: Object, abort: AbortToken) -> Machine {
        self.machine(|inner, line| dispatch::dispatch(inner, line, abort, Action::Submit, input))
    }

    /// Dispatches work in the session of the current run, as [`Boundary::submit`] does new work.
    #[must_use]
    pub fn continue_run(&self, input: Object, abort: AbortToken) -> Machine {
        self.machine(|inner, line| dispatch::dispatch(inner, line, abort, Action::Continue, input))
    }

    /// Asks for a receipt for an intake turn (EX-PRE-01): `{receipt, environment}`. The receipt is on disk once it is done; the
    /// grant never is.
    #[must_use]
    pub fn prepare(&self, input: Object, abort: AbortToken) -> Machine {
        self.machine(|inner, line| prepare::prepare(inner, line, abort, input))
    }

    /// Looks for the lost reply of an answer, by the transport's own method for it (EX-LED-52).
    #[must_use]
    pub fn recover_response(&self, operation_id: String, input: Object, abort: AbortToken) -> Machine {
        self.machine(|inner, line| answers::recover_response(inner, line, abort, operation_id, input))
    }

    /// Restores the exact ownership of an operation whose acceptance is unknown, by what an operator has seen at the provider
    /// (EX-LED-59). Calls nobody.
    #[must_use]
    pub fn adopt(&self, input: Object, abort: AbortToken) -> Machine {
        self.machine(|inner, _| async move { operator::adopt(&inner, &abort, &input) })
    }

    /// Records that the provider proved never to have accepted an operation (EX-LED-63). Calls nobody.
    #[must_use]
    pub fn settle_absent(&self, input: Object, abort: AbortToken) -> Machine {
        self.machine(|inner, _| async move { operator::settle_absent(&inner, &abort, &input) })
    }

    /// What is recorded of the current run (EX-BND-21). Reads one file, takes no lock, calls nobody.
    ///
    /// # Errors
    /// `EXECUTION_VERSION`, `EXECUTION_PROTOCOL` with the reason `ledger`, `EXECUTION_IO`.
    pub fn inspect(&self) -> Result<Value> {
        projection::inspect(&self.inner)
    }

    fn machine<F>(&self, code: impl FnOnce(Arc<Inner>, Line) -> F) -> Machine
    where
        F: Future<Output = Result<Value>> + Send + 'static,
    {
        let inner = Arc::clone(&self.inner);
        let (clock, limits) = (Arc::clone(&inner.host.clock), inner.options.limits);
        let machine = Machine::new(clock, limits, |line| Box::pin(code(inner, line)));
        self.machines.add(&machine);
        machine
    }
}

/// The word of a method that this transport does not have.
pub(super) fn no_method(method: &str) -> Error {
    Error::new(Code::ExecutionCapability, format!("the transport has no such method, method=`{method}`"))
        .with_reason("unavailable")
}
