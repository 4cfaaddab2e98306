//! What all clones and machines of a boundary share: whose work it is, what it is made of, and what is kept of its files between
//! two calls.

use std::sync::{Arc, Mutex, TryLockError};

use crate::error::{Code, Error, Result};
use crate::execution::backoff::{self, Jitter};
use crate::execution::capability::Capability;
use crate::execution::contract::request::Scope;
use crate::execution::ledger::file::{LedgerFile, Writer};
use crate::execution::ledger::lock::{AbortToken, aborted};
use crate::execution::ledger::{Ledger, Owner};
use crate::execution::machine::forked;
use crate::execution::options::ExecutionOptions;
use crate::host::Host;
use crate::journal::{Journal, SeenOutput};
use crate::json::{Object, Value};
use crate::local_runner::RunSession;
use crate::redaction::Redactor;
use crate::storage::{Directory, Seen};

pub(super) struct Inner {
    pub(super) options: ExecutionOptions,
    pub(super) capability: Capability,
    pub(super) owner: Owner,
    pub(super) host: Host,
    pub(super) jitter: Arc<dyn Jitter>,
    pub(super) redactor: Redactor,
    pub(super) files: Mutex<Files>,
    pub(super) generation: u64,
}

pub(super) struct Files {
    pub(super) ledger: LedgerFile,
    pub(super) writer: Writer,
    /// The journal of the run that was passed last.
    pub(super) journal: Option<Journal>,
    pub(super) seen: SeenRecords,
}

/// What small records of the task have said when they were last read, each by its run or by its path. They are read under the
/// task's lock, and one that stands unchanged is not read again.
#[derive(Debug, Default)]
pub(super) struct SeenRecords {
    pub(super) jobs: Seen<Object>,
    pub(super) sessions: Seen<Option<RunSession>>,
    /// The files whose version was found to be one of ours.
    pub(super) versions: Seen<()>,
    pub(super) latest: Seen<Vec<u8>>,
    pub(super) output: SeenOutput,
}

impl Inner {
    /// # Errors
    /// `EXECUTION_INPUT` with the reason `forked`.
    pub(super) fn check_fork(&self) -> Result<()> {
        if self.generation == crate::storage::fork_generation() { Ok(()) } else { Err(forked()) }
    }

    /// The ledger as it stands. Takes no lock, and waits for nobody who writes.
    pub(super) fn read(&self, root: &dyn Directory) -> Result<Ledger> {
        match self.files.try_lock() {
            Ok(mut files) => files.ledger.read(root, &self.owner),
            Err(TryLockError::Poisoned(files)) => files.into_inner().ledger.read(root, &self.owner),
            Err(TryLockError::WouldBlock) => LedgerFile::default().read(root, &self.owner),
        }
    }

    /// What the sandbox has shown, where one is required for work that may be verified here later (EX-VER-39). Asked when every
    /// other check but that of health has passed, and nothing has been written or sent. A local run needs none to be started.
    ///
    /// # Errors
    /// `EXECUTION_VERIFICATION_SANDBOX`.
    pub(super) fn check_sandbox(&self, abort: &AbortToken) -> Result<Option<Value>> {
        let Some(sandbox) = self.options.sandbox.as_ref().filter(|_| !self.options.is_local()) else {
            return Ok(None);
        };
        let unproved = |why: &str| Error::new(Code::ExecutionVerificationSandbox, why);
        let is_given_up = || abort.is_aborted() || self.host.clock.is_cancelled();
        match sandbox.check(&self.host, &is_given_up) {
            Ok(_) if is_given_up() => Err(unproved("the check of the sandbox was aborted")),
            Ok(evidence) => Ok(Some(evidence)),
            Err(refused) if refused.code() == Code::ExecutionVerificationSandbox => Err(refused),
            Err(failed) => {
                Err(unproved("the check of the sandbox has failed")
                    .with_source(std::io::Error::other(failed)))
            }
        }
    }

    /// The task's root, created where it is missing. A token that has fired already ends the call here, before anything is made.
    pub(super) fn open_root(&self, abort: &AbortToken) -> Result<Arc<dyn Directory>> {
        if abort.is_aborted() {
            return Err(aborted());
        }
        let failed =
            |error| Error::new(Code::ExecutionIo, "the task's root cannot be opened").with_source(error);
        self.host.files.open_or_create(&self.options.root).map_err(failed)
    }

    /// Makes the name of the task's root durable. Due before the first write into it.
    pub(super) fn sync_root_name(&self) -> Result<()> {
        self.host.files.sync_parent(&self.options.root).map_err(|error| {
            Error::new(Code::ExecutionIo, "the task's root cannot be made durable").with_source(error)
        })
    }

    /// Whose work it is, as calls name it.
    pub(super) fn scope(&self) -> Scope<'_> {
        Scope { task_id: &self.owner.task_id, provider: &self.owner.provider, account: &self.owner.account }
    }

    /// An error as a caller may see it: its texts may quote what the caller or a file has said (EX-RED-15).
    pub(super) fn redacted(&self, error: Error) -> Error {
        error.redacted(|text| self.redactor.text(text).into_owned())
    }

    /// The delay before the next try, in milliseconds (EX-SCH-20).
    pub(super) fn delay_ms(&self, failures: u64, retry_after_ms: Option<f64>) -> u64 {
        backoff::delay_ms(failures, self.jitter.next(), retry_after_ms, &self.options.limits)
    }
}

/// The word of a method that this transport does not have.
pub(super) fn no_method(method: &str) -> Error {
    Error::new(Code::ExecutionCapability, format!("the transport has no such method, method=`{method}`"))
        .with_reason("unavailable")
}
