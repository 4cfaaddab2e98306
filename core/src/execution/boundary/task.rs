//! A task under its lock: the ledger as it stands, the checks before anything is done, and what is written.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::inner::{Files, Inner};
use crate::error::{Code, Error, Result};
use crate::execution::faults::{self, FaultAnswer};
use crate::execution::ledger::lock::{self, AbortToken, EXECUTION_LOCK};
use crate::execution::ledger::{Ledger, file};
use crate::execution::transition::local::{self, LegacyRun};
use crate::execution::{controls, job};
use crate::json::{Object, Value};
use crate::storage::{Directory, LockGuard};

/// What a machine holds while it works. Dropping it lets go of the lock.
pub(super) struct Task {
    pub(super) inner: Arc<Inner>,
    pub(super) root: Arc<dyn Directory>,
    /// As it is now. A repair makes it differ from what is saved until something else is saved (EX-REC-03).
    pub(super) ledger: Ledger,
    saved: Ledger,
    _lock: LockGuard,
}

impl Task {
    /// Takes the task's lock and reads its ledger, which is judged before anything else: version, schema, owner, cursors.
    ///
    /// # Errors
    /// Those of the lock and of the ledger. Nothing was written but the lock file.
    pub(super) fn open(inner: &Arc<Inner>, abort: &AbortToken) -> Result<Self> {
        inner.check_fork()?;
        let root = inner.open_root(abort)?;
        let guard = Self::lock(inner, &root, abort)?;
        Self::locked(inner, root, guard)
    }

    /// As [`Task::open`], for whoever holds `publication.lock`: it is then no sign of a publication step.
    ///
    /// # Errors
    /// As [`Task::open`].
    pub(super) fn open_beside_publication(
        inner: &Arc<Inner>,
        root: Arc<dyn Directory>,
        abort: &AbortToken,
    ) -> Result<Self> {
        let guard = Self::lock(inner, &root, abort).map_err(|error| match error.code() {
            Code::ExecutionPublicationBusy => {
                Error::new(Code::ExecutionBusy, "another holder has execution.lock")
            }
            _ => error,
        })?;
        Self::locked(inner, root, guard)
    }

    fn lock(inner: &Inner, root: &Arc<dyn Directory>, abort: &AbortToken) -> Result<LockGuard> {
        let wait = std::time::Duration::from_millis(inner.options.limits.lock_wait_ms);
        lock::acquire(root, EXECUTION_LOCK, wait, &inner.host, abort)
    }

    fn locked(inner: &Arc<Inner>, root: Arc<dyn Directory>, guard: LockGuard) -> Result<Self> {
        let mut files = inner.files.lock().unwrap_or_else(PoisonError::into_inner);
        let ledger = files.ledger.read(&*root, &inner.owner)?;
        ledger.check_owner(&inner.owner)?;
        files.ledger.check_cursors(&ledger)?;
        files.ledger.make_durable(&*root)?;
        drop(files);
        Ok(Task { inner: Arc::clone(inner), root, saved: ledger.clone(), ledger, _lock: guard })
    }

    /// As [`Task::persist`], where the ledger says anything new.
    pub(super) fn persist_if_changed(&mut self, ledger: Ledger) -> Result<()> {
        if ledger.text() == self.ledger.text() { Ok(()) } else { self.persist(ledger) }
    }

    /// Brings the receipts of controls up to the ledger. A failure is not told: the ledger stands, and the next pass comes here
    /// again.
    pub(super) fn align_receipts(&self) {
        let mut files = self.files();
        let _ = controls::align_receipts(&*self.root, &self.ledger, &mut files.writer);
    }

    /// The time, in milliseconds since 1970.
    pub(super) fn now(&self) -> u64 {
        self.inner.host.clock.wall_ms()
    }

    /// Makes a ledger the task's, durably.
    ///
    /// # Errors
    /// `EXECUTION_IO`. The task goes on with the old one.
    pub(super) fn persist(&mut self, ledger: Ledger) -> Result<()> {
        if self.ledger.created_at.is_none() {
            // Whoever made the root may have died before its name was durable, and every later write relies on it.
            self.inner.sync_root_name()?;
            controls::make(&*self.root)?;
        }
        {
            let mut files = self.files();
            let files = &mut *files;
            files.ledger.persist(&*self.root, &ledger, &mut files.writer)?;
        }
        self.saved = ledger.clone();
        self.ledger = ledger;
        Ok(())
    }

    /// As [`Task::align`], with the exit that a collected result tells.
    pub(super) fn align_with_exit(&self, run_id: &str, exit: &Value) {
        self.write_job(run_id, Some(exit));
    }

    /// The files of the task, which whoever has the task's lock works with.
    pub(super) fn files(&self) -> MutexGuard<'_, Files> {
        self.inner.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The directory of a run.
    pub(super) fn run_path(&self, run_id: &str) -> PathBuf {
        self.inner.options.root.join(run_id)
    }

    /// Whether a test wants the step that ends at this point to fail.
    pub(super) fn fails_at(&self, point: &str) -> bool {
        self.inner.options.faults.at(point) == FaultAnswer::Fail
    }

    /// Writes the job record of a run as the saved ledger has it.
    ///
    /// A failure is not told: the ledger stands and is right, and the next pass writes the record again (EX-LED-11).
    pub(super) fn align(&self, run_id: &str) {
        self.write_job(run_id, None);
    }

    fn write_job(&self, run_id: &str, exit: Option<&Value>) {
        let mut files = self.files();
        if let Some(run) = self.saved.executions.get(run_id) {
            let files = &mut *files;
            let with = (&mut files.writer, &mut files.seen.jobs, &*self.inner.host.clock);
            let _ = job::align(&*self.root, &self.saved, run, exit, with);
        }
    }

    /// The job record of a run; none where there is none.
    ///
    /// # Errors
    /// `EXECUTION_IO`; `EXECUTION_PROTOCOL` with the reason `shape` where it is no JSON object.
    pub(super) fn read_job(&self, run_id: &str) -> Result<Option<Object>> {
        match self.root.open_directory(run_id) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => {
                let failed = |error| {
                    Error::new(Code::ExecutionIo, "the run's directory cannot be opened").with_source(error)
                };
                let run = opened.map_err(failed)?;
                let mut files = self.files();
                job::read_again(&*run, run_id, &mut files.seen.jobs, &*self.inner.host.clock)
            }
        }
    }

    /// Writes what only a process run has into its job record, durably.
    ///
    /// # Errors
    /// `EXECUTION_IO`, and as [`Task::read_job`].
    pub(super) fn change_job(&self, run_id: &str, change: impl FnOnce(&mut Object)) -> Result<()> {
        let mut job = self.read_job(run_id)?.unwrap_or_default();
        change(&mut job);
        let mut files = self.files();
        job::write(&*self.root, run_id, job, &mut files.writer)
    }

    /// Removes the directory of a run that never was, if it holds nothing but its job record (EX-LED-37).
    pub(super) fn remove_run(&self, run_id: &str) {
        let mut files = self.files();
        let Ok(run) = self.root.open_directory(run_id) else { return };
        let holds_only_its_record = run.names().is_ok_and(|names| names.iter().all(|name| name == file::JOB));
        if holds_only_its_record {
            // What stays is a directory that no ledger names.
            let _ = files.writer.remove(&*run, &format!("{run_id}/"), file::JOB);
            let _ = self.root.remove_directory(run_id).and_then(|()| self.root.sync());
        }
    }

    /// Removes what crashed writers left staged: in the root, beside the controls and in the directory of the current run, which
    /// is written no more once the next one is dispatched.
    pub(super) fn sweep(&self) {
        file::sweep(&*self.root, &self.inner.host);
        let below = [Some(controls::CONTROLS), self.ledger.current_run_id.as_deref()];
        for directory in below.into_iter().flatten().filter_map(|name| self.root.open_directory(name).ok()) {
            file::sweep(&*directory, &self.inner.host);
        }
    }

    /// Tells a test where this is.
    ///
    /// # Errors
    /// `EXECUTION_IO` where the test says so.
    pub(super) fn point(&self, point: &str) -> Result<()> {
        faults::pass(&*self.inner.options.faults, point)
            .map_err(|error| Error::new(Code::ExecutionIo, "the task's files failed").with_source(error))
    }

    /// Refuses while a stop stands: a fence, or a control that is queued (EX-CAN-01, EX-CAN-04).
    ///
    /// # Errors
    /// `EXECUTION_FENCED`, `EXECUTION_VERSION` for a control of another package, `EXECUTION_IO`.
    pub(super) fn check_fence(&self) -> Result<()> {
        if let Some(fence) = &self.ledger.stop_fence {
            let message = format!(
                "a stop fences the task, kind=`{}` scope=`{}`",
                fence.kind.word(),
                fence.scope.word()
            );
            let error = Error::new(Code::ExecutionFenced, message);
            return Err(match &fence.run_id {
                Some(run_id) => error.with_run_id(run_id),
                None => error,
            });
        }
        match controls::queued(&*self.root)? {
            Some(control) => {
                Err(Error::new(Code::ExecutionFenced, format!("a stop is queued, control=`{control}`"))
                    .with_remedy("let reconcile apply the stop; it fences the task"))
            }
            None => Ok(()),
        }
    }

    /// The current run from before the ledger: its id, its job record and whether it lives. Only where the ledger has no current
    /// run and the work is local (EX-IDN-16, EX-IDN-17).
    ///
    /// # Errors
    /// `EXECUTION_IO`, and `EXECUTION_PROTOCOL` for a job record that is none.
    pub(super) fn run_from_before(&self) -> Result<Option<(String, crate::json::Object)>> {
        if self.ledger.current_run_id.is_some() || !self.inner.options.is_local() {
            return Ok(None);
        }
        let failed = |error| Error::new(Code::ExecutionIo, "latest-run cannot be read").with_source(error);
        let mut bytes = Vec::new();
        match self.root.read_and_close(job::LATEST_RUN, 1024, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(failed)?,
        };
        let run_id = String::from_utf8(bytes).ok().filter(|run_id| crate::execution::keys::is_id(run_id));
        let Some(run_id) = run_id else { return Ok(None) };
        let run = match self.root.open_directory(&run_id) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        Ok(job::read(&*run)?.map(|job| (run_id, job)))
    }

    /// Takes a process run from before the ledger over before its stop, in memory: the next Persist saves it (EX-CAN-37). One that
    /// has ended, or that its job record does not name exactly, is left alone (EX-CAN-38, EX-LOC-24).
    ///
    /// # Errors
    /// As [`Task::run_from_before`].
    pub(super) fn adopt_from_before(&mut self, known_session: Option<&str>) -> Result<()> {
        let Some((run_id, job)) = self.run_from_before()? else { return Ok(()) };
        if let Some(legacy) = LegacyRun::of(&run_id, &job, known_session) {
            let transport = &self.inner.capability.transport;
            self.ledger = local::adopted(&self.ledger, &legacy, transport, self.now());
        }
        Ok(())
    }

    /// Points `latest-run` at the current process run, where it points elsewhere (EX-LOC-18).
    ///
    /// # Errors
    /// `EXECUTION_IO`.
    pub(super) fn point_at(&self, run_id: &str) -> Result<()> {
        let mut files = self.files();
        let latest = (&*self.root, job::LATEST_RUN);
        let judge = |bytes: &[u8]| Ok::<_, io::Error>(bytes.to_vec());
        let stands = files.seen.latest.read(latest, "", 1024, &*self.inner.host.clock, |error| error, judge);
        if stands.is_ok_and(|stands| stands.is_some_and(|stands| stands == run_id.as_bytes())) {
            return Ok(());
        }
        files.writer.persist(&*self.root, "", job::LATEST_RUN, run_id)
    }
}
