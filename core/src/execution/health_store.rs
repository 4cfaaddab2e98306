//! The health of providers' accounts on disk, one file a scope: who is authorised, whose check is due, and who may wait for
//! one (EX-SCH-09 to EX-SCH-19).
//!
//! Nothing here probes: whoever uses the store runs the checks, and says what they have shown. What authorises is the files
//! alone, so that it holds for every process and after a restart. That a refresh is under way is known in the process that
//! began it, and nowhere else: a mark on disk would outlive a process that dies in its probe. Another process learns of a
//! refresh by the authority that has ended.
//!
//! Two processes on one root exclude each other by `health.lock` while they write, because a failure adds to the count that
//! stands there; of two checks that ended, the later one is what stands. Reading takes no lock: a record is replaced whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::backoff::{Jitter, RandomJitter};
use super::faults::{Faults, NoFaults};
use super::health::{self, Health, HealthRecord, HealthScope, ProbeResult};
pub use super::health_files::MAX_RECORD_BYTES;
use super::health_files::{is_to_be_written, not_opened, read, read_by_path, recorded, sensible};
use super::ledger::file::{Writer, sweep};
use super::ledger::lock::{self, AbortToken};
use super::limits::Limits;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::redaction::{Patterns, Redactor, Secrets};

/// Excludes whoever else would write a record below the root.
pub const HEALTH_LOCK: &str = "health.lock";

/// Between two looks at a refresh that is waited for. A probe takes seconds.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// What a health store is made of.
#[derive(Clone, Debug)]
pub struct HealthOptions {
    /// The directory of the records, created with the first of them. It is no task's root.
    pub root: PathBuf,
    /// `healthRefreshMs`, `progressMs`, `backoffMaxMs` and `lockWaitMs` count here.
    pub limits: Limits,
    /// Whose health is wanted, besides those of whom there is a record: without one they are due.
    pub scopes: Vec<HealthScope>,
    /// Values that appear in no record.
    pub secrets: Secrets,
    /// The chance in the delays after failures; the host's own where there is none.
    pub jitter: Option<Arc<dyn Jitter>>,
    /// The points at which a test fails: `persist:<name>` before each record.
    pub faults: Arc<dyn Faults>,
}

impl HealthOptions {
    /// The store below this directory with the default limits, no secrets, and nobody's health wanted yet.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        HealthOptions {
            root: root.into(),
            limits: Limits::default(),
            scopes: Vec::new(),
            secrets: Secrets::none(),
            jitter: None,
            faults: Arc::new(NoFaults),
        }
    }
}

/// How a wait for a scheduled refresh has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// None was scheduled, so nothing was waited for.
    NotScheduled,
    /// It is over: its result is saved, or it was given up. [`HealthStore::authorize`] tells which.
    Over,
    /// It is still under way at the end of the wait.
    UnderWay,
}

impl Joined {
    /// Every way.
    pub const ALL: [Joined; 3] = [Joined::NotScheduled, Joined::Over, Joined::UnderWay];

    /// The word for it, in every language.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Joined::NotScheduled => "not-scheduled",
            Joined::Over => "over",
            Joined::UnderWay => "under-way",
        }
    }
}

/// Health records below one directory. Cloning it is cheap and gives the same store, whose scheduled refreshes are shared; any
/// number of threads may use it. It belongs to the process that opened it.
#[derive(Clone)]
pub struct HealthStore {
    inner: Arc<Inner>,
}

struct Inner {
    root: PathBuf,
    limits: Limits,
    jitter: Arc<dyn Jitter>,
    redactor: Redactor,
    host: Host,
    generation: u64,
    schedule: Mutex<Schedule>,
    files: Mutex<Files>,
}

struct Files {
    writer: Writer,
    is_swept: bool,
}

/// What is known in this process alone.
#[derive(Default)]
struct Schedule {
    wanted: BTreeSet<HealthScope>,
    /// By its number a refresh is told from a later one of the same scope.
    under_way: BTreeMap<HealthScope, u64>,
    last: u64,
}

impl fmt::Debug for HealthStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("HealthStore").field("root", &self.inner.root).finish_non_exhaustive()
    }
}

impl HealthStore {
    /// Makes a store. Creates no file, and reads none. Its root stays the same directory when the process changes its own.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for a scope with an empty name, for a root that has no path, and for secrets that cannot be searched for.
    pub fn new(options: HealthOptions, host: &Host) -> Result<Self> {
        options.scopes.iter().try_for_each(check_scope)?;
        let jitter = options.jitter.unwrap_or_else(|| Arc::new(RandomJitter::new(Arc::clone(&host.random))));
        let schedule = Schedule { wanted: options.scopes.into_iter().collect(), ..Schedule::default() };
        Ok(HealthStore {
            inner: Arc::new(Inner {
                root: super::options::rooted(&options.root, host)?,
                limits: options.limits,
                jitter,
                redactor: Redactor::new(&options.secrets, Patterns::Recognised)?,
                host: host.clone(),
                generation: crate::storage::counted_generation(),
                schedule: Mutex::new(schedule),
                files: Mutex::new(Files { writer: Writer::new(host, options.faults), is_swept: false }),
            }),
        })
    }

    /// Wants the health of one more account: without a record it is due from now on.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for an empty name, and with the reason `forked` in a forked child.
    pub fn want(&self, scope: HealthScope) -> Result<()> {
        self.check_fork()?;
        check_scope(&scope)?;
        self.schedule().wanted.insert(scope);
        Ok(())
    }

    /// Whether a dispatch to this account is authorised now: by a saved success that still counts, and by no refresh that is
    /// under way (EX-SCH-11, EX-SCH-13). Never probes, never writes, takes no lock.
    ///
    /// # Errors
    /// `EXECUTION_VERSION` with the reason `health` for the record of another package, `EXECUTION_HEALTH` with the reason
    /// `shape` for what is none, `EXECUTION_IO`; `EXECUTION_INPUT` for an empty name, and with the reason `forked` in a forked
    /// child.
    pub fn authorize(&self, scope: &HealthScope) -> Result<bool> {
        // The schedule first: a refresh that begins behind this look ends the authority that is read.
        let is_scheduled = self.scheduled(scope);
        let record = self.health_status(scope)?;
        Ok(!is_scheduled && health::authorize(record.as_ref(), self.now()))
    }

    /// What is recorded of this account; none where nothing is. Never probes, never writes, takes no lock (EX-SCH-14).
    ///
    /// # Errors
    /// As [`HealthStore::authorize`].
    pub fn health_status(&self, scope: &HealthScope) -> Result<Option<HealthRecord>> {
        self.check_fork()?;
        check_scope(scope)?;
        read_by_path(&*self.inner.host.files, &self.inner.root, scope)
    }

    /// The accounts whose check is due: those that have a record whose `nextAttemptAt` is reached, and those that are wanted
    /// and have none, or one that makes no sense. Without those of which a refresh is under way. A record of another
    /// package's version is nobody's to refresh, and an account that has one is left out, as is every file that is no record.
    ///
    /// `now_ms` is in milliseconds since 1970. Reads every record, takes no lock.
    ///
    /// # Errors
    /// `EXECUTION_IO` where the directory or a record cannot be read, and `EXECUTION_INPUT` with the reason `forked`.
    pub fn due(&self, now_ms: u64) -> Result<Vec<HealthScope>> {
        self.check_fork()?;
        let (mut due, under_way) = {
            let schedule = self.schedule();
            (schedule.wanted.clone(), schedule.under_way.keys().cloned().collect::<Vec<_>>())
        };
        match self.inner.host.files.open(&self.inner.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => {
                let root = opened.map_err(not_opened)?;
                let recorded = recorded(&*root)?;
                for scope in std::mem::take(&mut due) {
                    if !recorded.contains_key(&scope) && is_to_be_written(read(&*root, &scope))? {
                        due.insert(scope);
                    }
                }
                let is_due = |record: &HealthRecord| now_ms >= record.next_attempt_at_ms;
                due.extend(recorded.into_iter().filter(|(_, record)| is_due(record)).map(|(scope, _)| scope));
            }
        }
        for scope in &under_way {
            due.remove(scope);
        }
        Ok(due.into_iter().collect())
    }

    /// Schedules the refresh of an account, due or not; none where one is under way already. The account's authority has ended
    /// once this has returned, on disk and in this process, and comes back with a recorded success only: so a caller begins
    /// first, and starts what dispatches after that (EX-SCH-13, EX-SCH-28).
    ///
    /// A success that still counts is written anew, so that it counts no longer; otherwise nothing is written.
    ///
    /// # Errors
    /// As [`HealthStore::authorize`] but for a record that makes no sense, and `EXECUTION_BUSY`, `EXECUTION_CAPABILITY` with
    /// the reason `locking`. Nothing is scheduled then.
    pub fn begin(&self, scope: &HealthScope) -> Result<Option<Refresh>> {
        self.check_fork()?;
        check_scope(scope)?;
        let refresh = {
            let mut schedule = self.schedule();
            if schedule.under_way.contains_key(scope) {
                return Ok(None);
            }
            schedule.last += 1;
            let number = schedule.last;
            schedule.under_way.insert(scope.clone(), number);
            Refresh { store: self.clone(), scope: scope.clone(), number }
        };
        if health::authorize(sensible(self.health_status(scope))?.as_ref(), self.now()) {
            self.change(scope, |record| {
                let record = record.filter(|record| health::authorize(Some(record), self.now()))?;
                Some(record.without_authority(self.now()))
            })?;
        }
        Ok(Some(refresh))
    }

    /// Saves what a check has shown, and ends the account's refresh if one is under way (EX-SCH-15). The record is on disk, file
    /// and directory, once this has returned; it is what this gives. Of code, remedy and evidence no secret is kept.
    ///
    /// # Errors
    /// As [`HealthStore::begin`]; `EXECUTION_INPUT` too for a record that would be longer than [`MAX_RECORD_BYTES`]. The record
    /// is as it was then, or, with `EXECUTION_IO`, the new one; a refresh has ended without a result.
    pub fn record(&self, scope: &HealthScope, result: ProbeResult) -> Result<HealthRecord> {
        let number = self.number(scope);
        let saved = self.save(scope, result);
        if let Some(number) = number {
            self.end(scope, number);
        }
        saved
    }

    /// Whether a refresh of this account is under way in this process: for hosts that wait in their own idiom. In a forked child
    /// none is.
    #[must_use]
    pub fn scheduled(&self, scope: &HealthScope) -> bool {
        self.number(scope).is_some()
    }

    /// Waits until the refresh that is scheduled for this account is over, for at most `wait` on the awake clock, or until the
    /// token fires. Starts none, and waits for none that begins later (EX-SCH-29).
    #[must_use]
    pub fn join_scheduled(&self, scope: &HealthScope, wait: Duration, abort: &AbortToken) -> Joined {
        let Some(number) = self.number(scope) else { return Joined::NotScheduled };
        let clock = &*self.inner.host.clock;
        let end = clock.awake().saturating_add(wait);
        let mut pause = FIRST_PAUSE;
        while self.is_under_way(scope, number) {
            let left = end.saturating_sub(clock.awake());
            if left.is_zero() || abort.is_aborted() || clock.is_cancelled() {
                return Joined::UnderWay;
            }
            clock.sleep(pause.min(left));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Joined::Over
    }

    /// The number of the refresh that is under way.
    pub(super) fn number(&self, scope: &HealthScope) -> Option<u64> {
        self.check_fork().ok()?;
        self.schedule().under_way.get(scope).copied()
    }

    /// Whether the refresh with this number is still under way.
    pub(super) fn is_under_way(&self, scope: &HealthScope, number: u64) -> bool {
        self.number(scope) == Some(number)
    }

    pub(super) fn host(&self) -> &Host {
        &self.inner.host
    }

    /// Ends the refresh with this number, and no later one. A copy that a fork has made ends none.
    fn end(&self, scope: &HealthScope, number: u64) {
        if self.check_fork().is_err() {
            return;
        }
        let mut schedule = self.schedule();
        if schedule.under_way.get(scope) == Some(&number) {
            schedule.under_way.remove(scope);
        }
    }

    fn save(&self, scope: &HealthScope, result: ProbeResult) -> Result<HealthRecord> {
        self.check_fork()?;
        check_scope(scope)?;
        let result = self.redacted(result);
        let (limits, jitter) = (&self.inner.limits, self.inner.jitter.next());
        let record = self.change(scope, |record| {
            Some(HealthRecord::after(record.as_ref(), scope, result, self.now(), jitter, limits))
        })?;
        record.ok_or_else(|| Error::new(Code::Internal, "a check leaves a record"))
    }

    /// Replaces the record of an account by what is made of it, under the lock; nothing is written where nothing is made.
    fn change(
        &self,
        scope: &HealthScope,
        next: impl FnOnce(Option<HealthRecord>) -> Option<HealthRecord>,
    ) -> Result<Option<HealthRecord>> {
        let inner = &*self.inner;
        let root = inner.host.files.open_or_create(&inner.root).map_err(not_opened)?;
        let wait = Duration::from_millis(inner.limits.lock_wait_ms);
        let _guard = lock::acquire(&root, HEALTH_LOCK, wait, &inner.host, &AbortToken::new())?;
        let Some(record) = next(sensible(read(&*root, scope))?) else { return Ok(None) };
        let mut text = record.to_value().to_json();
        text.push('\n');
        if text.len() as u64 > MAX_RECORD_BYTES {
            let message = format!("the evidence of a health check is too long, limit=`{MAX_RECORD_BYTES}`");
            return Err(Error::new(Code::ExecutionInput, message));
        }
        let name = HealthRecord::file_name(&scope.provider, &scope.account);
        let mut files = inner.files.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut files.is_swept, true) {
            sweep(&*root, &inner.host);
        }
        files.writer.persist(&*root, "", &name, &text)?;
        Ok(Some(record))
    }

    fn redacted(&self, result: ProbeResult) -> ProbeResult {
        let redactor = &self.inner.redactor;
        match result {
            ProbeResult::Success { evidence } => ProbeResult::Success { evidence: redactor.value(&evidence) },
            ProbeResult::Failure { code, remedy, evidence, retry_after_ms } => ProbeResult::Failure {
                code: redactor.text(&code).into_owned(),
                remedy: redactor.text(&remedy).into_owned(),
                evidence: redactor.value(&evidence),
                retry_after_ms,
            },
        }
    }

    /// What a forked child does not touch: a thread that it does not have may hold it.
    fn schedule(&self) -> MutexGuard<'_, Schedule> {
        self.inner.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.inner.host.clock.wall_ms()
    }

    fn check_fork(&self) -> Result<()> {
        if self.inner.generation == crate::storage::fork_generation() {
            return Ok(());
        }
        Err(Error::new(Code::ExecutionInput, "the health store belongs to the parent process")
            .with_reason("forked")
            .with_remedy("open a health store of its own in the child"))
    }
}

impl Health for HealthStore {
    fn check(&self, provider: &str, account: &str, now_ms: u64) -> Result<()> {
        let scope = HealthScope::new(provider, account);
        let is_scheduled = self.scheduled(&scope);
        let record = self.health_status(&scope)?;
        if is_scheduled {
            return Err(Error::new(Code::ExecutionHealth, "a health check of the account is under way")
                .with_remedy("wait for the result of the health check; the work is unchanged"));
        }
        health::check(record.as_ref(), now_ms)
    }

    fn status(&self, provider: &str, account: &str) -> Result<Option<HealthRecord>> {
        self.health_status(&HealthScope::new(provider, account))
    }
}

/// A scheduled refresh: whoever has it runs the probe. Dropping it gives the refresh up, so that a probe that fails to answer at
/// all schedules nothing for ever: the account stays without authority, and its check is due again.
#[derive(Debug)]
#[must_use = "dropping it gives the refresh up"]
pub struct Refresh {
    store: HealthStore,
    scope: HealthScope,
    number: u64,
}

impl Refresh {
    /// Whose health is to be checked.
    #[must_use]
    pub fn scope(&self) -> &HealthScope {
        &self.scope
    }

    /// Saves what the check has shown and ends the refresh, as [`HealthStore::record`]. Those who wait for the refresh go on
    /// after the result is on disk.
    ///
    /// # Errors
    /// As [`HealthStore::record`].
    pub fn record(self, result: ProbeResult) -> Result<HealthRecord> {
        self.store.save(&self.scope, result)
    }
}

impl Drop for Refresh {
    fn drop(&mut self) {
        self.store.end(&self.scope, self.number);
    }
}

fn check_scope(scope: &HealthScope) -> Result<()> {
    let names = [("provider", &scope.provider), ("account", &scope.account)];
    let wrong = |name| Error::new(Code::ExecutionInput, format!("{name} of a health scope is empty"));
    names.into_iter().find(|(_, text)| text.is_empty()).map_or(Ok(()), |(name, _)| Err(wrong(name)))
}
