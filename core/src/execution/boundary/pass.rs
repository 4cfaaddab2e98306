//! The pass: the one path on which a provider is observed (EX-REC-01 to EX-REC-32).
//!
//! Its steps come in the specification's order, each at most once: the checks, which throw; the repair of older records; what
//! is queued; then, where the pass is due, the journal's recovery, a rejection that was cut short, look-up, inspection, and
//! collection. What fails on the way is saved as a reason to come again, and told in the report.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use super::task::Task;
use super::{Inner, collect, projection, reading};
use crate::clock::Clock;
use crate::error::{Code, Error, Result};
use crate::execution::contract::Method;
use crate::execution::ledger::lock::AbortToken;
use crate::execution::ledger::record::{Execution, Operation};
use crate::execution::machine::{Ended, Line};
use crate::execution::states::ProviderState;
use crate::execution::transition::{observe, repair};
use crate::execution::version;
use crate::journal::{Journal, Owner};
use crate::json::{Object, Value};
use crate::storage::{Directory, Seen};

/// A pass that is under way.
pub(super) struct Pass {
    pub(super) task: Task,
    line: Line,
    called: Vec<&'static str>,
    /// After how long the transport wants to be asked again.
    retry_after_ms: Option<f64>,
    /// How long after its first signal a stop kills what is left, where the stop says so itself, in milliseconds.
    pub(super) kill_after_ms: Option<u64>,
    /// Why the reply to a stop was lost. The stop's own record says when it is sent again.
    pub(super) stop_failure: Option<Error>,
}

/// What a caller wants of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wish {
    /// One pass, if it is due.
    IfDue,
    /// One pass, due or not.
    Forced,
}

pub(super) async fn reconcile(inner: Arc<Inner>, line: Line, abort: AbortToken, wish: Wish) -> Result<Value> {
    let mut pass = begin(&inner, line, &abort)?;
    super::cancel::apply_queued(&mut pass.task)?;
    pass.align();
    let is_forced = matches!(wish, Wish::Forced);
    let now = pass.task.now();
    let reading::Due { pass: is_pass_due, stop: is_stop_due } =
        reading::due(pass.task.ledger.current(), is_forced, now);
    let failure = if is_pass_due {
        pass.steps(is_forced).await.err()
    } else if is_stop_due && pass.task.inner.options.is_local() {
        pass.local().await.err()
    } else if is_stop_due {
        pass.stop(is_forced).await.err()
    } else {
        None
    };
    let failure = pass.finish(failure)?;
    pass.task.align_receipts();
    // Behind everything else, so that no settlement waits for output (EX-JRN-50).
    let failure = super::output::serve(&pass.task).err().filter(|_| failure.is_none()).or(failure);
    Ok(pass.report(failure))
}

/// `collect(runId)`: the collection step alone (EX-BND-14).
pub(super) async fn collect_run(
    inner: Arc<Inner>,
    line: Line,
    abort: AbortToken,
    run_id: String,
) -> Result<Value> {
    if !crate::execution::keys::is_id(&run_id) {
        return Err(super::input::wrong("runId is no id"));
    }
    let mut pass = begin(&inner, line, &abort)?;
    if !pass.task.ledger.executions.contains(&run_id) {
        return Err(unknown_run(&run_id));
    }
    pass.align();
    let is_current = pass.task.ledger.current_run_id.as_ref() == Some(&run_id);
    let retrieves = pass
        .task
        .ledger
        .current()
        .is_some_and(|run| run.state == ProviderState::RetrievingResults && !run.is_settled());
    if !is_current || !retrieves {
        return Ok(projection::project(&pass.task.ledger, pass.task.ledger.executions.get(&run_id), &inner));
    }
    let failure = pass.collection().await.err();
    let failure = pass.finish(failure)?;
    Ok(pass.report(failure))
}

/// The checks that throw, and the repair of what they have let pass; nothing is written (EX-REC-02, EX-REC-03).
pub(super) fn begin(inner: &Arc<Inner>, line: Line, abort: &AbortToken) -> Result<Pass> {
    let mut task = Task::open(inner, abort)?;
    check_times(&task)?;
    check_versions(&task)?;
    repair_current(&mut task)?;
    Ok(Pass::over(task, line))
}

/// EX-OBS-11.
fn check_times(task: &Task) -> Result<()> {
    let now = task.now();
    for run in task.ledger.executions.records() {
        let times = [run.observed_at, run.terminal_observed_at, run.completed_at];
        if times.into_iter().flatten().any(|time| time > now) {
            let message = format!("a saved time lies in the future, run=`{}`", run.run_id);
            return Err(Error::new(Code::ExecutionProtocol, message)
                .with_reason("checkpoint-future")
                .with_run_id(&run.run_id)
                .with_remedy(
                    "restore the last authoritative observation evidence, or correct this machine's clock; keep \
                     ownership, intents and allowance",
                ));
        }
    }
    Ok(())
}

/// The versions of all files that the pass would use (EX-REC-02, EX-UPG-06). What is no JSON is judged by whoever reads it.
fn check_versions(task: &Task) -> Result<()> {
    crate::execution::controls::queued(&*task.root)?;
    let mut files = task.files();
    let seen = &mut files.seen.versions;
    let clock = &*task.inner.host.clock;
    let queue = crate::journal::OUTPUT_QUEUE;
    check_version((&*task.root, queue), queue, "queue", 1, seen, clock)?;
    let Some(run) = task.ledger.current() else { return Ok(()) };
    let directory = match task.root.open_directory(&run.run_id) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(unreadable)?,
    };
    for (kind, name, supported) in [
        ("journal", crate::journal::CHECKPOINT, 1),
        ("log-meta", crate::journal::LOG_META, 2),
        ("local-output", crate::journal::LOCAL_OUTPUT, 1),
        ("result", crate::journal::RESULT, 1),
        ("application", crate::execution::application::APPLICATION, 1),
    ] {
        let path = format!("{}/{name}", run.run_id);
        check_version((&*directory, name), &path, kind, supported, seen, clock)?;
    }
    Ok(())
}

fn check_version(
    (directory, name): (&dyn Directory, &str),
    path: &str,
    kind: &'static str,
    supported: u64,
    seen: &mut Seen<()>,
    clock: &dyn Clock,
) -> Result<()> {
    let judge = |bytes: &[u8]| match std::str::from_utf8(bytes).ok().and_then(|text| Value::parse(text).ok())
    {
        Some(Value::Object(object)) => version::check(kind, name, object.get("version"), supported),
        _ => Ok(()),
    };
    seen.read((directory, name), path, u64::from(u32::MAX), clock, unreadable, judge).map(drop)
}

fn repair_current(task: &mut Task) -> Result<()> {
    let Some((run, operation)) = task.current_remote() else { return Ok(()) };
    let cache = match task.root.open_directory(&run.run_id) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        opened => {
            // By the end that the record claims, which may be what is repaired.
            let claimed = Execution { terminal_state: repair::claimed(&run), ..run.clone() };
            collect::cached(&*opened.map_err(unreadable)?, &claimed, &operation, task.now())?
        }
    };
    let cache =
        repair::Cache { exists: cache.is_some(), is_valid: cache.is_some_and(|cache| cache.judged.is_ok()) };
    if let Some(repaired) = repair::repair(&task.ledger, &run.run_id, false, cache) {
        task.ledger = repaired;
    }
    Ok(())
}

impl Task {
    /// The current run of a provider and the operation that made it.
    pub(super) fn current_remote(&self) -> Option<(Execution, Operation)> {
        let run = self.ledger.current().filter(|_| !self.inner.options.is_local())?;
        Some((run.clone(), self.ledger.operation_of(run)?.clone()))
    }
}

impl Pass {
    pub(super) fn over(task: Task, line: Line) -> Self {
        Pass { task, line, called: Vec::new(), retry_after_ms: None, kill_after_ms: None, stop_failure: None }
    }

    pub(super) fn line(&self) -> &Line {
        &self.line
    }

    /// The job record of the current run, which a crash may have left behind the ledger (EX-LED-11).
    fn align(&self) {
        if let Some(run_id) = &self.task.ledger.current_run_id {
            self.task.align(run_id);
        }
    }

    /// After how long the transport wanted to be asked again.
    pub(super) fn take_retry_after(&mut self) -> Option<f64> {
        self.retry_after_ms.take()
    }

    /// The steps of a due pass.
    async fn steps(&mut self, is_forced: bool) -> Result<()> {
        if self.task.inner.options.is_local() {
            return self.local().await;
        }
        let Some((run, _)) = self.task.current_remote() else { return Ok(()) };
        if run.is_settled() {
            return Ok(());
        }
        let journal = self.recover_journal();
        let done = self.steps_behind(&journal, is_forced).await;
        match journal {
            // Whatever else failed, the journal is what has to be put right first.
            Err(error) if !self.is_settled() => Err(error),
            _ => done,
        }
    }

    /// A rejection that was cut short is finished before the provider is asked for the result again (EX-ART-64).
    async fn collection(&mut self) -> Result<()> {
        let directory = self.run_directory()?;
        collect::recover_rejected(&mut self.task, &*directory)?;
        collect::collect(self).await
    }

    async fn steps_behind(&mut self, journal: &Result<()>, is_forced: bool) -> Result<()> {
        let directory = self.run_directory()?;
        collect::recover_rejected(&mut self.task, &*directory)?;
        match journal {
            Ok(()) => self.observe(is_forced).await?,
            // Its reply could not be saved (EX-JRN-13); a stop is sent all the same (EX-JRN-22).
            Err(_) => drop(self.stop(is_forced).await?),
        }
        collect::collect(self).await
    }

    fn is_settled(&self) -> bool {
        self.task.ledger.current().is_none_or(Execution::is_settled)
    }

    fn recover_journal(&mut self) -> Result<()> {
        let Some((run, _)) = self.task.current_remote() else { return Ok(()) };
        let owner =
            journal_owner(&self.task.inner, &run, run.provider_job_id.as_deref(), run.turn_id.as_deref());
        let path = self.task.run_path(&run.run_id);
        self.task.inner.with_journal(owner, &path, |journal| journal.recover().map(drop))
    }

    /// The directory of the current run, which the pass has made where it was missing.
    pub(super) fn run_directory(&self) -> Result<Arc<dyn Directory>> {
        let run_id = self.task.ledger.current_run_id.clone().unwrap_or_default();
        self.task.root.open_directory(&run_id).map_err(unreadable)
    }

    /// Makes a call of the transport and notes it.
    pub(super) async fn call(&mut self, method: Method, input: Value) -> Ended {
        let Value::Object(input) = input else { return Ended::Aborted };
        self.called.push(method.word());
        let limit = method.reply_limit(self.task.inner.options.limits.result_bytes);
        let end = self.line.transport(method, input, limit).await;
        match end.ended {
            Ended::Error(error) => {
                let error = error.for_method(method, end.sending);
                self.retry_after_ms = error.retry_after_ms.map(|ms| ms as f64);
                Ended::Error(error)
            }
            ended => ended,
        }
    }

    /// The failure of a call that ended without a reply that could be read.
    pub(super) fn lost(&self, method: Method, ended: Ended) -> Error {
        let cause = |code, reason, what: &str| {
            Error::new(code, format!("{what}, method=`{}`", method.word())).with_reason(reason)
        };
        match ended {
            Ended::Deadline => cause(Code::ExecutionDeadline, "deadline", "a call did not end in its time"),
            Ended::Aborted => cause(Code::ExecutionIo, "aborted", "a call was aborted"),
            Ended::Oversized => cause(Code::ExecutionProtocol, "shape", "a reply is too long"),
            Ended::Value(_) => cause(Code::ExecutionProtocol, "shape", "a reply makes no sense"),
            Ended::Error(error) => {
                let (code, reason) = error.cause();
                let told = error.told(&self.task.inner.redactor);
                let message = format!("the transport failed, method=`{}` {told}", method.word());
                Error::new(code, message.trim_end()).with_reason(reason)
            }
        }
    }

    /// Saves a failure as a reason to come again, and tells it (EX-BND-13).
    ///
    /// # Errors
    /// What could not be saved, and the refusals that leave all files as they were.
    pub(super) fn finish(&mut self, failure: Option<Error>) -> Result<Option<Error>> {
        let Some(failure) = failure else { return Ok(self.stop_failure.take()) };
        let Some(run) = self.task.ledger.current() else { return Err(failure) };
        if run.is_settled() {
            // What it failed at came after the end was saved, and there is nothing to come again for (EX-REC-26).
            self.align();
            return Ok(Some(failure));
        }
        let run_id = run.run_id.clone();
        let delay = self.task.inner.delay_ms(run.failures.saturating_add(1), self.retry_after_ms);
        let next = observe::failed(&self.task.ledger, &run_id, &failure, self.task.now(), delay);
        self.task.persist(next)?;
        self.task.align(&run_id);
        Ok(Some(failure))
    }

    /// EX-BND-12.
    fn report(&self, failure: Option<Error>) -> Value {
        let ledger = &self.task.ledger;
        let run = ledger.current();
        let operation = run.and_then(|run| ledger.operation_of(run));
        let has_lookup = self.task.inner.options.has(Method::Lookup);
        let recovery = run.and_then(|run| projection::recovery(run, operation, has_lookup));
        let members = [
            ("runId", Value::from(run.map(|run| run.run_id.as_str()))),
            ("acceptance", Value::from(operation.map(|operation| operation.acceptance.word()))),
            ("state", Value::from(run.map(|run| run.state.word()))),
            ("terminalState", Value::from(run.and_then(|run| run.terminal_state).map(|end| end.word()))),
            (
                "called",
                Value::from(self.called.iter().map(|called| Value::from(*called)).collect::<Vec<_>>()),
            ),
            ("error", failure.map_or(Value::Null, |failure| shown(&failure))),
            ("nextAttemptAt", Value::from(run.and_then(|run| run.next_attempt_at))),
            ("recovery", Value::from(recovery)),
            ("execution", run.map_or(Value::Null, Execution::to_value)),
        ];
        Value::Object(members.into_iter().collect::<Object>())
    }
}

fn shown(error: &Error) -> Value {
    let members = [
        ("code", Value::from(error.code().name())),
        ("reason", Value::from(error.reason())),
        ("remedy", Value::from(error.remedy())),
    ];
    Value::Object(members.into_iter().collect::<Object>())
}

pub(super) fn journal_owner(inner: &Inner, run: &Execution, job: Option<&str>, turn: Option<&str>) -> Owner {
    Owner {
        task_id: inner.owner.task_id.clone(),
        run_id: run.run_id.clone(),
        provider: inner.owner.provider.clone(),
        job_id: job.map(str::to_owned),
        turn_id: turn.map(str::to_owned),
    }
}

impl Inner {
    /// Works with the journal of a run, which is kept open from one pass to the next.
    pub(super) fn with_journal<T>(
        &self,
        owner: Owner,
        path: &PathBuf,
        work: impl FnOnce(&mut Journal) -> Result<T>,
    ) -> Result<T> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let mut journal = match files.journal.take().filter(|journal| *journal.owner() == owner) {
            Some(journal) => journal,
            None => Journal::open(path, owner, &self.host, &self.redactor)?,
        };
        let done = work(&mut journal);
        files.journal = Some(journal);
        done
    }
}

fn unreadable(error: io::Error) -> Error {
    Error::new(Code::ExecutionIo, "the run's directory cannot be read").with_source(error)
}

pub(super) fn unknown_run(run_id: &str) -> Error {
    Error::new(Code::ExecutionUnknownRun, format!("there is no such run, run=`{run_id}`")).with_run_id(run_id)
}
