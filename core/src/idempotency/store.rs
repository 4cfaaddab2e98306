//! The handle of a store: asking what a key means, and reserving it.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::claim::{ClaimRecord, ClaimState, ClaimToken, Owner, Stamp, whole_ms};
use super::sqlite::SqliteClaims;
use super::takeover::{Facts, SHORTEST_SLEEP_MS, TAKEOVER_MS};
use super::{
    Begin, Change, ClaimName, ClaimStore, ClaimView, Fingerprint, FinishedClaim, How, Meaning, Patience,
    Reservation, StoreOptions, Swept, Ticket, UnknownClaim, ViewState, judge,
};
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::process::ProcessIdentity;
use crate::storage::Notifier;

/// The claims of all processes that open the same file. Cloning is cheap and shares the connection; a store may be used
/// from any number of threads. One that came through a fork is refused; open a fresh one.
#[derive(Clone, Debug)]
pub struct IdempotencyStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    engine: Arc<dyn ClaimStore>,
    options: StoreOptions,
    host: Host,
    opened: Stamp,
    /// This process, which no store outlives: it is refused after a fork.
    own_process: OnceLock<ProcessIdentity>,
    sleep: Mutex<SleepWatch>,
    /// What the last wait was told by, for the next one: closing one costs as long as a disk's sync, and every user may
    /// have a limited number of them.
    idle_notifier: Mutex<Option<Box<dyn Notifier>>>,
}

/// When the machine was last seen to have slept.
#[derive(Debug)]
struct SleepWatch {
    slept_ms: u64,
    /// Until then on the awake clock no age counts (IK-09).
    grace_until_ms: u64,
}

/// One create that asks what its key means.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    /// The namespace of the key, such as `harnesses.create`.
    pub operation: &'a str,
    /// Whom the key belongs to, outermost first: whatever decides what is made besides the body.
    pub scope: &'a [&'a str],
    /// The caller's key.
    pub key: &'a str,
    /// Of the body exactly as it was sent.
    pub fingerprint: Fingerprint,
    /// How long to wait for another process's transaction; none for the store's option.
    pub deadline: Option<Duration>,
}

impl IdempotencyStore {
    /// Opens the store in this file, or makes it where nothing is; its directory has to be there. Once this has returned,
    /// the file is private to its owner and durable.
    ///
    /// # Errors
    /// `IDEMPOTENCY_INPUT` for options out of range; `IDEMPOTENCY_STORE_UNAVAILABLE` when it cannot be opened or written;
    /// `IDEMPOTENCY_STORE_UNSUPPORTED` on a file system whose locks do not exclude or that cannot share memory;
    /// `IDEMPOTENCY_STORE_CORRUPT` and `IDEMPOTENCY_STORE_VERSION`, which leave the file as it is; `IDEMPOTENCY_BUSY`.
    pub fn open(path: impl AsRef<Path>, options: &StoreOptions, host: &Host) -> Result<Self> {
        options.check()?;
        let path = path.as_ref();
        let absolute = host.files.absolute(path).map_err(|error| {
            let message = "the path of the store cannot be used";
            Error::new(Code::IdempotencyStoreUnavailable, message).with_file(path).with_source(error)
        })?;
        let mut patience = Patience::lasting(&host.clock, options.busy);
        let engine = SqliteClaims::open(&absolute, host, &mut patience)?;
        Self::with_engine(engine, options, host)
    }

    /// A store over another engine. The suite in `tests/conformance` proves one.
    ///
    /// # Errors
    /// `IDEMPOTENCY_INPUT` for options out of range.
    pub fn with_engine(engine: Arc<dyn ClaimStore>, options: &StoreOptions, host: &Host) -> Result<Self> {
        options.check()?;
        let opened = Stamp::now(&*host.clock);
        let sleep = SleepWatch { slept_ms: opened.slept_ms, grace_until_ms: 0 };
        let shared = Shared {
            engine,
            options: *options,
            host: host.clone(),
            opened,
            own_process: OnceLock::new(),
            sleep: Mutex::new(sleep),
            idle_notifier: Mutex::default(),
        };
        Ok(IdempotencyStore { shared: Arc::new(shared) })
    }

    /// Asks what the key means to a create with this body, and reserves it where it is free. Once [`Begin::Create`] has
    /// come back, the reservation is durable. Every other answer writes nothing.
    ///
    /// # Errors
    /// `IDEMPOTENCY_KEY_REUSED` when the key belongs to another body; `IDEMPOTENCY_KEY_INVALID` and
    /// `IDEMPOTENCY_SCOPE_INVALID`; `IDEMPOTENCY_BUSY`; those of the store. Nothing may be made after any of them.
    pub fn begin(&self, operation: &str, scope: &[&str], key: &str, body: &[u8]) -> Result<Begin> {
        self.ask(&Ask { operation, scope, key, fingerprint: Fingerprint::of(body), deadline: None })
    }

    /// As [`IdempotencyStore::begin`], with a fingerprint that was taken before and a deadline.
    ///
    /// # Errors
    /// As [`IdempotencyStore::begin`].
    pub fn ask(&self, ask: &Ask<'_>) -> Result<Begin> {
        let name = ClaimName::new(ask.operation, ask.scope, ask.key)?;
        self.decide(&name, &ask.fingerprint, None, &mut self.patience(ask.deadline))
    }

    /// What stands on disk for a name; none where nothing does, or what does has expired. Read-only, and it waits for
    /// nobody.
    ///
    /// # Errors
    /// Those of the name and of the store.
    pub fn inspect(&self, operation: &str, scope: &[&str], key: &str) -> Result<Option<ClaimView>> {
        let name = ClaimName::new(operation, scope, key)?;
        let found = self.shared.engine.read(&name, &mut self.patience(None))?;
        let wall_ms = whole_ms(self.shared.host.clock.now().wall);
        Ok(found.filter(|claim| !claim.is_expired(wall_ms)).map(|claim| match claim.state {
            ClaimState::Reserved { is_marked, .. } => {
                let state = if is_marked { ViewState::Marked } else { ViewState::Reserved };
                ClaimView { state, resource: None, answer: None }
            }
            ClaimState::Finished { resource, answer, .. } => {
                ClaimView { state: ViewState::Finished, resource: Some(resource), answer }
            }
        }))
    }

    /// Removes finished claims that have expired: a bounded number a call, so that no create waits long behind it. Call it
    /// again while [`Swept::has_more`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn sweep(&self) -> Result<Swept> {
        let wall_ms = whole_ms(self.shared.host.clock.now().wall);
        self.shared.engine.sweep(wall_ms, &mut self.patience(None))
    }

    /// Whether keyed creates are available now, for a server that advertises them: takes the store's write lock for a
    /// moment and writes nothing, unless the last commit failed. A store that is only busy is available.
    ///
    /// # Errors
    /// What a create would be refused with.
    pub fn capability(&self) -> Result<()> {
        match self.shared.engine.check(&mut self.patience(None)) {
            Err(error) if error.code() == Code::IdempotencyBusy => Ok(()),
            other => other,
        }
    }

    /// What tells of creates that end, in any process, from now on; none where the system does not tell. It wakes for
    /// every key: whoever waits asks [`Ticket::look`] then, and from time to time anyway.
    #[must_use]
    pub fn notifier(&self) -> Option<Box<dyn Notifier>> {
        self.shared.engine.notifier(&self.shared.host.clock)
    }

    /// Looks whether the machine has slept since the last look, which every judgement of a running create does too: for
    /// two minutes from now no owner is taken over for its age (IK-09). Worth calling by whoever is told of a wake-up.
    /// Touches no disk.
    pub fn notice_sleep(&self) {
        self.facts();
    }

    /// As [`IdempotencyStore::notifier`], one that was used before where there is one: making and closing them costs more
    /// than most waits. It may tell of what happened since, and whoever is done gives it back by
    /// [`IdempotencyStore::return_notifier`].
    #[must_use]
    pub fn borrow_notifier(&self) -> Option<Box<dyn Notifier>> {
        let idle = self.shared.idle_notifier.lock().unwrap_or_else(PoisonError::into_inner).take();
        idle.filter(|notifier| !notifier.is_forked()).or_else(|| self.notifier())
    }

    /// The options with which it was opened.
    #[must_use]
    pub fn options(&self) -> &StoreOptions {
        &self.shared.options
    }

    /// Keeps a notifier for the next wait. One that has failed is dropped instead.
    pub fn return_notifier(&self, notifier: Box<dyn Notifier>) {
        *self.shared.idle_notifier.lock().unwrap_or_else(PoisonError::into_inner) = Some(notifier);
    }

    pub(super) fn host(&self) -> &Host {
        &self.shared.host
    }

    pub(super) fn engine(&self) -> &dyn ClaimStore {
        &*self.shared.engine
    }

    pub(super) fn patience(&self, deadline: Option<Duration>) -> Patience {
        Patience::lasting(&self.shared.host.clock, deadline.unwrap_or(self.shared.options.busy))
    }

    /// What is known at this moment.
    pub(super) fn facts(&self) -> Facts<'_> {
        let host = &self.shared.host;
        let reading = host.clock.now();
        let (now, awake_ms) = (Stamp::at(&reading, &*host.clock), whole_ms(reading.awake));
        let mut sleep = self.shared.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        if now.slept_ms >= sleep.slept_ms.saturating_add(SHORTEST_SLEEP_MS) {
            let grace_until_ms = awake_ms.saturating_add(TAKEOVER_MS);
            *sleep = SleepWatch { slept_ms: now.slept_ms, grace_until_ms };
        }
        Facts {
            now,
            processes: &*host.processes,
            opened: self.shared.opened,
            is_grace: awake_ms < sleep.grace_until_ms,
            max_reservation_ms: whole_ms(self.shared.options.max_reservation),
        }
    }

    /// What a claim, or its absence, means now to whoever asks with this body.
    pub(super) fn judge(&self, found: Option<&ClaimRecord>, body: &Fingerprint) -> Meaning {
        judge(found, body, self.shared.host.clock.wall_ms(), &|| self.facts())
    }

    /// A reservation of this process that begins now.
    pub(super) fn reserve(&self, fingerprint: &Fingerprint) -> ClaimRecord {
        let process = self.shared.own_process.get_or_init(|| {
            let processes = &self.shared.host.processes;
            ProcessIdentity {
                pid: processes.own_pid(),
                start: processes.own_start(),
                boot: processes.boot().to_string(),
                pid_namespace: processes.pid_namespace(),
                host: processes.host().to_string(),
            }
        });
        ClaimRecord {
            token: ClaimToken::mint(&*self.shared.host.random),
            fingerprint: *fingerprint,
            state: ClaimState::Reserved {
                is_marked: false,
                owner: Some(Owner {
                    process: process.clone(),
                    refreshed: Stamp::now(&*self.shared.host.clock),
                }),
            },
        }
    }

    /// Judges what stands there, and reserves the name where it is free: first by reading alone, so that whoever gets no
    /// reservation writes nothing, then again inside the transaction that writes it. `after` is how an answer came about
    /// that would else be a plain repeat.
    pub(super) fn decide(
        &self,
        name: &ClaimName,
        body: &Fingerprint,
        after: Option<How>,
        patience: &mut Patience,
    ) -> Result<Begin> {
        let mut found = self.shared.engine.read(name, patience)?;
        if found.is_none() {
            let mut made = None;
            let mut make = || made.insert(self.reserve(body)).clone();
            if self.shared.engine.insert(name, patience, &mut make)? {
                let record = made.ok_or_else(nothing_decided)?;
                let asked = (self.clone(), name.clone());
                return Ok(Begin::Create(Reservation::new(asked, record, after.unwrap_or(How::Fresh))));
            }
            // Somebody was faster. Whoever only has to know what stands there now does not queue for the write lock.
            found = self.shared.engine.read(name, patience)?;
        }
        let meaning = self.judge(found.as_ref(), body);
        if !matches!(meaning, Meaning::Free(_)) {
            return self.answer(name, body, found, meaning, after);
        }
        let mut decided = None;
        self.shared.engine.change(name, patience, &mut |found| {
            let meaning = self.judge(found.as_ref(), body);
            let Meaning::Free(how) = meaning else {
                decided = Some((found, meaning));
                return Change::Keep;
            };
            let record = self.reserve(body);
            decided = Some((Some(record.clone()), Meaning::Free(how)));
            Change::Put(record)
        })?;
        let (found, meaning) = decided.ok_or_else(nothing_decided)?;
        self.answer(name, body, found, meaning, after)
    }

    /// What a meaning is to whoever asked. `record` is what stands there now.
    pub(super) fn answer(
        &self,
        name: &ClaimName,
        body: &Fingerprint,
        record: Option<ClaimRecord>,
        meaning: Meaning,
        after: Option<How>,
    ) -> Result<Begin> {
        let record = record.ok_or_else(nothing_decided)?;
        if let Meaning::Free(how) = meaning {
            let how = if how == How::Fresh { after.unwrap_or(how) } else { how };
            return Ok(Begin::Create(Reservation::new((self.clone(), name.clone()), record, how)));
        }
        let asked = || (self.clone(), name.clone(), *body);
        Ok(match (meaning, record.state) {
            (Meaning::OtherBody, _) => {
                let (first, now) = (record.fingerprint, body);
                let message =
                    format!("the key was used with another body, first_sha256=`{first:?}` sha256=`{now:?}`");
                return Err(Error::new(Code::IdempotencyKeyReused, message));
            }
            (Meaning::Finished, ClaimState::Finished { resource, answer, completed_ms, .. }) => {
                let how = after.unwrap_or(How::Replayed);
                Begin::Replay(FinishedClaim::new(asked(), record.token, resource, answer, completed_ms, how))
            }
            (Meaning::Running, ClaimState::Reserved { owner, .. }) => {
                Begin::InProgress(Ticket::new(asked(), owner, after.unwrap_or(How::Fresh)))
            }
            (_, _) => Begin::Unknown(UnknownClaim::new(asked(), record.token, after.unwrap_or(How::Fresh))),
        })
    }
}

fn nothing_decided() -> Error {
    Error::new(Code::Internal, "an engine committed without a decision")
}
