//! A [`Boundary`]: how it is made, the machines that its calls give, and what may be read of it (EX-BND).

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::facade::KillLook;
use super::inner::{Files, Inner, SeenRecords};
use super::{answers, cancel, dispatch, facade, operator, pass, prepare, projection, reading};
use crate::error::Result;
use crate::execution::backoff::RandomJitter;
use crate::execution::health::HealthRecord;
use crate::execution::ledger::Owner;
use crate::execution::ledger::file::{LedgerFile, Writer};
use crate::execution::ledger::lock::AbortToken;
use crate::execution::ledger::record::{Action, FenceKind};
use crate::execution::limits::Limits;
use crate::execution::machine::{Line, Machine, Machines};
use crate::execution::options::{ExecutionOptions, rooted};
use crate::execution::preparation::{Judgement, Status};
use crate::host::Host;
use crate::json::{Object, Value};
use crate::redaction::{Patterns, Redactor};

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
    pub(super) inner: Arc<Inner>,
    machines: Arc<Machines>,
}

impl fmt::Debug for Boundary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Boundary").field("root", &self.inner.options.root).finish_non_exhaustive()
    }
}

impl Boundary {
    /// Makes the boundary of a task. Creates no file, proves nothing of the file system and calls nobody (EX-BND-06). Its root
    /// stays the same directory when the process changes its own.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for an empty name, a root that has no path, or an adapter of the other location, `EXECUTION_DEPENDENCY`
    /// for a record of another registry, and `EXECUTION_INPUT` for secrets that cannot be searched for.
    pub fn new(mut options: ExecutionOptions, host: &Host) -> Result<Self> {
        let capability = options.checked_capability()?;
        options.root = rooted(&options.root, host)?;
        if let Some(process_host) = &mut options.process_host {
            process_host.root_paths(host);
        }
        let owner = Owner {
            task_id: options.task_id.clone(),
            provider: options.provider.clone(),
            account: options.account.clone(),
        };
        let jitter = options.jitter.clone();
        let files = Files {
            ledger: LedgerFile::default(),
            writer: Writer::new(host, Arc::clone(&options.faults)),
            journal: None,
            seen: SeenRecords::default(),
        };
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

    /// One pass over the current run, due or not, for a coordinator that has just started (EX-BND-11, EX-REC-31). Done, it gives
    /// the report of EX-BND-12. What a pass has saved as a reason to come again is in the report's `error`; a refusal that
    /// leaves all files as they were is an error of the call.
    #[must_use]
    pub fn startup(&self, abort: AbortToken) -> Machine {
        self.machine(|inner, line| pass::reconcile(inner, line, abort, pass::Wish::Forced))
    }

    /// One pass over the current run, if it is due or `force` says so (EX-BND-11, EX-REC-05), as [`Boundary::startup`].
    #[must_use]
    pub fn reconcile(&self, force: bool, abort: AbortToken) -> Machine {
        let wish = if force { pass::Wish::Forced } else { pass::Wish::IfDue };
        self.machine(|inner, line| pass::reconcile(inner, line, abort, wish))
    }

    /// Only the collection step of a pass, for a run whose root turn has ended (EX-BND-14). For any other run it makes no call
    /// and gives the projection.
    #[must_use]
    pub fn collect(&self, run_id: String, abort: AbortToken) -> Machine {
        self.machine(|inner, line| pass::collect_run(inner, line, abort, run_id))
    }

    /// Stops the current run, or the one that `runId` names (EX-CAN-05): `{confirmed, terminal?, unsupported?}`. The fence and the
    /// record are on disk before anything is sent; at most one stop is sent, and a lost reply is no error: a pass sends it again
    /// with the same key. Input: `reason`, and if wanted `runId` and `controlId`.
    #[must_use]
    pub fn cancel(&self, input: Object, abort: AbortToken) -> Machine {
        self.machine(|inner, line| cancel::cancel(inner, line, abort, FenceKind::Operator, input))
    }

    /// As [`Boundary::cancel`], with the fence of a preparation (EX-BND-37).
    #[must_use]
    pub fn preparation_stop(&self, input: Object, abort: AbortToken) -> Machine {
        self.machine(|inner, line| cancel::cancel(inner, line, abort, FenceKind::Preparation, input))
    }

    /// As [`Boundary::cancel`], with the fence of a timeout (EX-BND-37, EX-CAN-40).
    #[must_use]
    pub fn timeout_stop(&self, input: Object, abort: AbortToken) -> Machine {
        self.machine(|inner, line| cancel::cancel(inner, line, abort, FenceKind::Timeout, input))
    }

    /// Stops the turn of the current process run, keeps its session and sets no fence (EX-CAN-54); gives what a stop gives. Its
    /// output is quarantined, and nothing is continued before its whole tree is gone.
    #[must_use]
    pub fn interrupt(&self, input: Object, abort: AbortToken) -> Machine {
        self.machine(|inner, line| cancel::interrupt(inner, line, abort, input))
    }

    /// Starts a process run: a submit whose input may leave out `operationId`, which is a new operation then; gives the job record,
    /// which names the process (EX-BND-24, EX-LOC-03).
    #[must_use]
    pub fn start(&self, input: Object, abort: AbortToken) -> Machine {
        self.machine(|inner, line| facade::start(inner, line, abort, input))
    }

    /// The outcome of a process run that has ended, settled by this call if it was not (EX-BND-28); null while something of its
    /// tree lives. What keeps it from being settled is on disk as a reason to come again, and is the error of the call.
    #[must_use]
    pub fn settle(&self, run_id: String, abort: AbortToken) -> Machine {
        self.machine(|inner, line| facade::settle(inner, line, abort, run_id))
    }

    /// Stops the tree of a process run (EX-BND-29), as [`Boundary::cancel`]. Input: `runId`, `reason`, and if wanted `killAfterMs`:
    /// how long after the first signal what is left is killed, in the place of the limit.
    #[must_use]
    pub fn kill(&self, input: Object, abort: AbortToken) -> Machine {
        self.machine(|inner, line| facade::kill(inner, line, abort, input))
    }

    /// Whether the whole tree of a process run is provably gone. Reads, takes no lock, signals nobody.
    ///
    /// # Errors
    /// `EXECUTION_UNKNOWN_RUN`, `EXECUTION_INPUT` for remote work, `EXECUTION_CAPABILITY` where the process host is not the
    /// built-in one, `EXECUTION_IO`.
    pub fn is_gone(&self, run_id: &str) -> Result<bool> {
        facade::is_gone(&self.inner, run_id).map_err(|error| self.inner.redacted(error))
    }

    /// Whether the time has come at which a stop of this run has what is left of it killed: the next pass does (EX-LOC-12). Reads.
    ///
    /// # Errors
    /// As [`Boundary::read`].
    pub fn is_kill_due(&self, run_id: &str) -> Result<bool> {
        facade::is_kill_due(&self.inner, run_id).map_err(|error| self.inner.redacted(error))
    }

    /// One look of a wait for this run's tree to go, after `looks` others: what [`LocalRuns::wait_for_kill`] does, for hosts that
    /// sleep in their own way. Reads, takes no lock, signals nobody.
    ///
    /// [`LocalRuns::wait_for_kill`]: crate::execution::LocalRuns::wait_for_kill
    ///
    /// # Errors
    /// As [`Boundary::is_gone`].
    pub fn look_for_kill(&self, run_id: &str, looks: u32) -> Result<KillLook> {
        facade::look_for_kill(&self.inner, run_id, looks).map_err(|error| self.inner.redacted(error))
    }

    /// Whether process runs are carried out by the built-in process host.
    pub(crate) fn has_process_host(&self) -> bool {
        self.inner.options.process_host.is_some()
    }

    /// The public lines of a run behind the row `after`, at most `limit` of them (EX-BND-27), within the limits of EX-JRN-61.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for an id that is none, and those of [`crate::journal::LogReader`].
    pub fn lines(&self, run_id: &str, after: Option<&str>, limit: usize) -> Result<crate::journal::Window> {
        crate::journal::LogReader::open(self.dir_of(run_id)?, &self.inner.host)?.lines(after, limit)
    }

    /// The clock by which its machines are late.
    pub(crate) fn clock(&self) -> Arc<dyn crate::clock::Clock> {
        Arc::clone(&self.inner.host.clock)
    }

    /// Queues a stop, also while somebody else has the task's lock for provider I/O (EX-CAN-03): `{queued: true}`. From then on
    /// nothing is dispatched, and the next pass applies it. Input: `reason`, `controlId`, and if wanted `runId`.
    #[must_use]
    pub fn request_cancel(&self, input: Object, abort: AbortToken) -> Machine {
        self.machine(|inner, _| async move { cancel::request_cancel(&inner, &abort, &input) })
    }

    /// What is recorded of the current run (EX-BND-21). Reads one file, takes no lock, calls nobody.
    ///
    /// # Errors
    /// `EXECUTION_VERSION`, `EXECUTION_PROTOCOL` with the reason `ledger`, `EXECUTION_IO`.
    pub fn inspect(&self) -> Result<Value> {
        projection::inspect(&self.inner).map_err(|error| self.inner.redacted(error))
    }

    /// Where the files of a run are, or would be (EX-BND-31).
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for an id that is none.
    pub fn dir_of(&self, run_id: &str) -> Result<PathBuf> {
        reading::dir_of(&self.inner, run_id)
    }

    /// The job record of a run as it stands, also of one from before the ledger; none where there is none (EX-BND-26). Repairs
    /// nothing.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for an id that is none, `EXECUTION_PROTOCOL` with the reason `shape` for a record that is no JSON
    /// object, `EXECUTION_IO`.
    pub fn read(&self, run_id: &str) -> Result<Option<Object>> {
        reading::read(&self.inner, run_id).map_err(|error| self.inner.redacted(error))
    }

    /// What a settled run has come to, with the members of EX-BND-16; null while it is not settled. Reads, takes no lock.
    ///
    /// # Errors
    /// `EXECUTION_UNKNOWN_RUN`, `EXECUTION_INPUT` for an id that is none, `EXECUTION_VERSION` for a result of another package,
    /// and those of [`Boundary::inspect`].
    pub fn outcome(&self, run_id: &str) -> Result<Value> {
        reading::outcome(&self.inner, run_id).map_err(|error| self.inner.redacted(error))
    }

    /// The job record of the current local run, which `latest-run` names; none where there is none (EX-BND-25).
    ///
    /// # Errors
    /// As [`Boundary::read`].
    pub fn current(&self) -> Result<Option<Object>> {
        reading::current(&self.inner).map_err(|error| self.inner.redacted(error))
    }

    /// Walks the journal of a run and says what is whole, what is a gap and what is corrupt (EX-BND-45, EX-JRN-84). Changes nothing.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for an id that is none, and those of [`crate::journal::check()`].
    pub fn check(&self, run_id: &str) -> Result<Value> {
        Ok(crate::journal::check(self.dir_of(run_id)?, &self.inner.host)?.to_value())
    }

    /// What may be shown of a run's result, redacted as a whole; null before there is one (EX-JRN-54).
    ///
    /// # Errors
    /// Those of [`crate::journal::result_view()`] and of [`Boundary::outcome`].
    pub fn result_view(&self, run_id: &str) -> Result<Value> {
        reading::result_view(&self.inner, run_id).map_err(|error| self.inner.redacted(error))
    }

    /// How an intake turn stands, and what a coordinator does next (EX-PRE-16, EX-PRE-27, EX-PRE-28). Reads one file, takes no
    /// lock, waits for nothing.
    ///
    /// # Errors
    /// `EXECUTION_UNKNOWN_RUN`, `EXECUTION_INPUT` for a run that is no intake, and those of [`Boundary::inspect`].
    pub fn preparation_status(&self, run_id: &str) -> Result<Status> {
        reading::preparation_status(&self.inner, run_id).map_err(|error| self.inner.redacted(error))
    }

    /// Whether the output of an intake turn came in time (EX-PRE-22 to EX-PRE-25). Reads, takes no lock.
    ///
    /// # Errors
    /// As [`Boundary::preparation_status`], and `EXECUTION_VERSION` for a result of another package.
    pub fn judge_preparation(&self, run_id: &str) -> Result<Judgement> {
        reading::judge_preparation(&self.inner, run_id).map_err(|error| self.inner.redacted(error))
    }

    /// Whether a pass is due: the current run's, its pending stop's, or because a stop is queued (EX-REC-05). Reads, takes no
    /// lock. A pass that is not due calls nobody; a lane leaves it out.
    ///
    /// # Errors
    /// Those of [`Boundary::inspect`], and `EXECUTION_VERSION` for a control of another package.
    pub fn is_due(&self) -> Result<bool> {
        reading::is_pass_due(&self.inner).map_err(|error| self.inner.redacted(error))
    }

    /// What the boundary's health store has recorded of its account (EX-BND-20); none where nothing is, or nobody keeps records.
    /// Reads, takes no lock, probes nothing.
    ///
    /// # Errors
    /// Those of the store: `EXECUTION_VERSION` with the reason `health`, `EXECUTION_HEALTH` with the reason `shape`,
    /// `EXECUTION_IO`.
    pub fn health_status(&self) -> Result<Option<HealthRecord>> {
        let Some(health) = &self.inner.options.health else { return Ok(None) };
        let status = health.status(&self.inner.owner.provider, &self.inner.owner.account);
        status.map_err(|error| self.inner.redacted(error))
    }

    pub(super) fn machine<F>(&self, code: impl FnOnce(Arc<Inner>, Line) -> F) -> Machine
    where
        F: Future<Output = Result<Value>> + Send + 'static,
    {
        let inner = Arc::clone(&self.inner);
        let (clock, limits) = (Arc::clone(&inner.host.clock), inner.options.limits);
        let machine = Machine::new(clock, limits, |line| {
            let code = code(Arc::clone(&inner), line);
            Box::pin(async move { code.await.map_err(|error| inner.redacted(error)) })
        });
        self.machines.add(&machine);
        machine
    }
}
