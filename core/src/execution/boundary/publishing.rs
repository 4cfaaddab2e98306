//! What a publication needs of the boundary: its run, judged before any change; its files; and the two locks of its last step
//! (EX-ART-33, EX-ART-34, EX-CAN-46 to EX-CAN-53).

use std::future::Future;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::task::Task;
use super::{Boundary, Inner, cancel, collect};
use crate::error::{Code, Error, Result};
use crate::execution::application::OwnerKeys;
use crate::execution::faults;
use crate::execution::ledger::lock::{self, AbortToken};
use crate::execution::ledger::record::{Execution, RunKind};
use crate::execution::machine::{Line, Machine};
use crate::execution::outcome::is_own;
use crate::execution::result::refused;
use crate::execution::states::{ProviderState, TerminalState};
use crate::execution::{job, keys};
use crate::journal::RESULT;
use crate::json::{Object, Value};
use crate::storage::{Directory, LockGuard};

/// Excludes a second publication of the same run from its checkout, its evidence and its checkpoint. It is taken before the two
/// locks of the task, and held from the first look to the last write; stops and passes do not meet it.
pub(crate) const APPLICATION_LOCK: &str = "application.lock";

/// The boundary as a publication sees it.
pub(crate) struct Publishing {
    inner: Arc<Inner>,
    abort: AbortToken,
}

/// The run whose result is published, as the ledger and the private result have it.
pub(crate) struct Subject {
    pub(crate) run_id: String,
    pub(crate) owner: OwnerKeys,
    pub(crate) input_head: Option<String>,
    pub(crate) result: Object,
    /// When the result was collected, in milliseconds since 1970.
    pub(crate) collected_at: u64,
    pub(crate) directory: Arc<dyn Directory>,
    /// Why nothing may be begun for it now: a fence, a queued stop, a quarantine, or a later run.
    pub(crate) hindrance: Option<Error>,
}

/// Both locks of the task, the publication's and below it the execution's. Dropping this lets go of both, in the other order.
pub(crate) struct LastStep {
    _task: Task,
    _publication: LockGuard,
}

impl Boundary {
    /// A machine of the publication that this code is.
    pub(crate) fn publishing<F>(
        &self,
        abort: AbortToken,
        code: impl FnOnce(Publishing, Line) -> F + Send + 'static,
    ) -> Machine
    where
        F: Future<Output = Result<Value>> + Send + 'static,
    {
        self.machine(|inner, line| code(Publishing { inner, abort }, line))
    }
}

/// What whoever verifies for a boundary has of it.
#[derive(Clone, Debug)]
pub(crate) struct Verifying {
    pub(crate) root: std::path::PathBuf,
    pub(crate) secrets: crate::redaction::Secrets,
    pub(crate) host: crate::host::Host,
    pub(crate) faults: Arc<dyn faults::Faults>,
}

impl Boundary {
    /// What a verification of its runs needs.
    pub(crate) fn verifying(&self) -> Verifying {
        let options = &self.inner.options;
        Verifying {
            root: options.root.clone(),
            secrets: options.secrets.clone(),
            host: self.inner.host.clone(),
            faults: Arc::clone(&options.faults),
        }
    }
}

impl Publishing {
    /// The run, its result and its owner, judged under the task's lock, which is let go of again: nothing but the lock file was
    /// written.
    ///
    /// # Errors
    /// `EXECUTION_UNKNOWN_RUN`; `EXECUTION_RESULT` with the reason `not-publishable` for a run that is not collected, failed,
    /// rejected or no implementation, with `missing` where its result is not there, and those of its judgement
    /// (EX-ART-34, EX-IDN-12); those of the lock and the ledger.
    pub(crate) fn subject(&self, run_id: &str) -> Result<Subject> {
        keys::check_id("runId", run_id)?;
        let task = Task::open(&self.inner, &self.abort)?;
        let run = publishable(&task, run_id)?;
        let failed =
            |error| Error::new(Code::ExecutionIo, "the run's directory cannot be opened").with_source(error);
        let directory = task.root.open_directory(run_id).map_err(failed)?;
        let operation = task.ledger.operation_of(&run);
        let operation = operation.ok_or_else(|| not_publishable("the run is from before the ledger", run_id));
        let operation = operation?.clone();
        let missing = || refused("missing", "the result of a collected run is not there");
        let result = if self.inner.options.is_local() {
            let result = job::read_object(&*directory, RESULT)?.ok_or_else(missing)?;
            if !is_own(&result, &task.ledger.owner, &run) {
                return Err(refused("foreign", "result.json belongs to another run"));
            }
            result
        } else {
            let cached = collect::cached(&*directory, &run, &operation, task.now())?.ok_or_else(missing)?;
            cached.judged?;
            // What was judged may lack the library's own keys, which are those of the path by which it was found.
            if !is_own(&cached.object, &task.ledger.owner, &run) {
                return Err(refused("foreign", "result.json belongs to another run"));
            }
            cached.object
        };
        let ok = result.get("outcome").and_then(|outcome| outcome.get("ok")).and_then(Value::as_bool);
        if ok != Some(true) {
            return Err(not_publishable("the run's result is no success", run_id));
        }
        Ok(Subject {
            run_id: run_id.to_owned(),
            owner: OwnerKeys::of(&self.inner.owner.task_id, &run, &operation),
            input_head: operation.input_head.clone(),
            result,
            collected_at: run.collected_at.unwrap_or(run.started_at),
            directory,
            hindrance: unhindered(&task, run_id).err(),
        })
    }

    /// Keeps other publications of the same run out.
    ///
    /// # Errors
    /// `EXECUTION_PUBLICATION_BUSY` where one is under way, and those of the lock.
    pub(crate) fn exclude(&self, subject: &Subject) -> Result<LockGuard> {
        self.lock(&subject.directory, APPLICATION_LOCK)
    }

    /// Takes `publication.lock` and then `execution.lock`, and judges the run again as it stands now (EX-CAN-48): whoever holds
    /// what this gives excludes stops and dispatches.
    ///
    /// # Errors
    /// `EXECUTION_FENCED` for a stop that was accepted before; `EXECUTION_PUBLICATION_BUSY`, `EXECUTION_BUSY`; `EXECUTION_RESULT`
    /// with the reason `not-publishable`, also where another run is current by now, or the run's identities are others.
    pub(crate) fn last_step(&self, subject: &Subject) -> Result<LastStep> {
        self.inner.check_fork()?;
        let root = self.inner.open_root(&self.abort)?;
        let publication = self.lock(&root, lock::PUBLICATION_LOCK)?;
        let task = Task::open_beside_publication(&self.inner, root, &self.abort)?;
        unhindered(&task, &subject.run_id)?;
        let run = publishable(&task, &subject.run_id)?;
        let operation = task.ledger.operation_of(&run);
        let owner = operation.map(|operation| OwnerKeys::of(&self.inner.owner.task_id, &run, operation));
        if owner.as_ref() != Some(&subject.owner) {
            return Err(not_publishable("the run's identities have changed", &subject.run_id));
        }
        Ok(LastStep { _task: task, _publication: publication })
    }

    fn lock(&self, directory: &Arc<dyn Directory>, name: &'static str) -> Result<LockGuard> {
        let wait = Duration::from_millis(self.inner.options.limits.lock_wait_ms);
        lock::acquire(directory, name, wait, &self.inner.host, &self.abort).map_err(cancel::publication_busy)
    }

    /// Replaces a file of the run, durably.
    ///
    /// # Errors
    /// `EXECUTION_IO`.
    pub(crate) fn save(&self, subject: &Subject, name: &str, text: &str) -> Result<()> {
        let mut files = self.inner.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.writer.persist(&*subject.directory, &format!("{}/", subject.run_id), name, text)
    }

    /// Where the run's files are.
    pub(crate) fn run_path(&self, subject: &Subject) -> std::path::PathBuf {
        self.inner.options.root.join(&subject.run_id)
    }

    /// Tells a test where this is.
    ///
    /// # Errors
    /// `EXECUTION_IO` where the test says so.
    pub(crate) fn point(&self, point: &str) -> Result<()> {
        faults::pass(&*self.inner.options.faults, point)
            .map_err(|error| Error::new(Code::ExecutionIo, "the publication failed").with_source(error))
    }

    /// The time, in milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.inner.host.clock.wall_ms()
    }

    /// The text without secrets and recognised credentials.
    pub(crate) fn redacted(&self, text: &str) -> String {
        self.inner.redactor.text(text).into_owned()
    }
}

/// EX-ART-33, as far as nothing changes it any more.
fn publishable(task: &Task, run_id: &str) -> Result<Execution> {
    let run = task.ledger.executions.get(run_id).ok_or_else(|| {
        Error::new(Code::ExecutionUnknownRun, format!("there is no such run, run=`{run_id}`"))
            .with_run_id(run_id)
    })?;
    let why = if run.kind != RunKind::Implementation {
        Some("the run is no implementation")
    } else if run.result_rejected {
        Some("the run's result was rejected")
    } else if !run.collected || run.absent || run.state == ProviderState::Cancelled {
        Some("the run's result is not collected")
    } else if run.terminal_state != Some(TerminalState::Succeeded) {
        Some("the run did not succeed")
    } else {
        None
    };
    match why {
        Some(why) => Err(not_publishable(why, run_id)),
        None => Ok(run.clone()),
    }
}

/// The rest of EX-ART-33, which may come at any time: a stop, with the quarantine that it leaves, and a later run. A publication
/// that has ended before stays so.
fn unhindered(task: &Task, run_id: &str) -> Result<()> {
    task.check_fence()?;
    if task.ledger.executions.get(run_id).is_some_and(|run| run.quarantined) {
        return Err(not_publishable("the run's output is quarantined", run_id));
    }
    if task.ledger.current_run_id.as_deref() == Some(run_id) {
        return Ok(());
    }
    Err(not_publishable("the task has gone on to another run", run_id))
}

fn not_publishable(why: &str, run_id: &str) -> Error {
    refused("not-publishable", &format!("{why}, run=`{run_id}`")).with_run_id(run_id).with_remedy(
        "publish the current run of the task once it is collected, successful and not stopped; nothing was changed",
    )
}
