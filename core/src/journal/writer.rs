//! The journal of one run, as its one writer has it.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::batch;
use super::checkpoint::{Checkpoint, Pending, Stored};
use super::error::{Refusal, io_error};
use super::event::{Key, Owner};
use super::record;
use super::recover::{self, Ground};
use super::replay_keys::{Acknowledged, Reach, ReplayKeys};
use super::scan::Position;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::redaction::Redactor;
use crate::storage::{DataAccess, DataFile, Directory, FileIdentity};

/// The log's name.
pub const LOG: &str = "events.jsonl";

/// The journal of one run.
///
/// It takes no lock: whoever has it holds the lock that guards the run, the ledger's, for as long as a call lasts. Two
/// that write at once without it are noticed where bytes do not fit; they are not kept apart. What another process did
/// between two calls is noticed and read again.
pub struct Journal {
    run: Arc<dyn Directory>,
    owner: Owner,
    host: Host,
    redactor: Redactor,
    stored: Stored,
    /// What stands on disk, where that is known and nothing is pending.
    open: Option<Open>,
    keys: Option<ReplayKeys>,
    ticket: u64,
}

struct Open {
    checkpoint: Checkpoint,
    /// None before the first append.
    log: Option<(Arc<dyn DataFile>, FileIdentity)>,
}

/// What a recovery found and did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// How many records of a pending batch were there and are acknowledged now.
    pub kept: u64,
    /// Whether a gap took the place of the first one that was not.
    pub gap: bool,
    /// The end of the journal.
    pub end: Position,
}

impl fmt::Debug for Journal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Journal")
            .field("run", &self.run)
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

impl Journal {
    /// The journal in a run's directory, which exists. Nothing of it is read before the first call that needs it. Ids,
    /// types and data of events are redacted by `redactor` before any byte of them is written (EX-JRN-09).
    ///
    /// # Errors
    /// `EXECUTION_UNKNOWN_RUN` where there is no such directory, `EXECUTION_IO` where it cannot be opened.
    pub fn open(directory: impl AsRef<Path>, owner: Owner, host: &Host, redactor: &Redactor) -> Result<Self> {
        let directory = directory.as_ref();
        let run = host.files.open(directory).map_err(|error| opening(&owner.run_id, directory, error))?;
        Ok(Journal {
            run,
            owner,
            host: host.clone(),
            redactor: redactor.clone(),
            stored: Stored::new(host),
            open: None,
            keys: None,
            ticket: 0,
        })
    }

    /// Whose journal it is.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Judges what stands on disk and finishes a batch that was left pending (EX-JRN-13 to EX-JRN-18). Once it has
    /// returned nothing is pending. Where nothing was, it writes nothing, but for what crashed writers left staged,
    /// which it removes.
    ///
    /// # Errors
    /// `EXECUTION_JOURNAL` and `EXECUTION_VERSION` for a journal that is damaged: every file is as it was.
    /// `EXECUTION_IO`: another recovery goes on where this one stopped.
    pub fn recover(&mut self) -> Result<Recovered> {
        let (end, nothing) = (self.acknowledged(), |end| Recovered { kept: 0, gap: false, end });
        if self.still_stands()? {
            return Ok(nothing(end));
        }
        self.forget();
        let stored = self.stored.read(&*self.run)?;
        let mut log = self.open_log(DataAccess::Write)?;
        let length = match &log {
            Some((log, _)) => {
                log.size().map_err(|error| io_error("events.jsonl cannot be looked at", error))?
            }
            None => 0,
        };
        if stored.is_none() && length > 0 {
            return Err(Refusal::CheckpointMissing { length }.into());
        }
        let mut checkpoint = stored.unwrap_or_default();
        let found = recover::look_behind(&checkpoint, length, log.as_ref().map(|(log, _)| &**log))?;
        if let Some((log, _)) = &log {
            check_last_byte(checkpoint.acknowledged, &**log)?;
        }
        Stored::sweep(&*self.run, &self.host);
        let mut recovered = nothing(checkpoint.acknowledged);
        if !checkpoint.pending.is_empty() {
            if log.is_none() {
                log = self.open_log(DataAccess::Create)?;
            }
            let Some((file, _)) = &log else { return Err(missing()) };
            let mut ground = Ground {
                run: &*self.run,
                log: &**file,
                stored: &mut self.stored,
                owner: &self.owner,
                now_ms: self.host.clock.wall_ms(),
            };
            let gap = recover::finish(&mut ground, &mut checkpoint, found)?;
            recovered = Recovered { kept: found.kept as u64, gap, end: checkpoint.acknowledged };
        }
        self.open = Some(Open { checkpoint, log });
        Ok(recovered)
    }

    /// Makes sure that nothing is pending and answers the journal's end.
    pub(super) fn ready(&mut self) -> Result<Position> {
        self.recover().map(|recovered| recovered.end)
    }

    /// What is acknowledged, as far as this process knows.
    pub(super) fn acknowledged(&self) -> Position {
        self.open.as_ref().map_or_else(Position::default, |open| open.checkpoint.acknowledged)
    }

    /// Forgets what it knows of the disk: the next call reads again.
    pub(super) fn forget(&mut self) {
        (self.open, self.keys) = (None, None);
    }

    /// The index lags: the next append opens it again, which brings it up to date.
    pub(super) fn drop_keys(&mut self) {
        self.keys = None;
    }

    pub(super) fn ticket(&self) -> u64 {
        self.ticket
    }

    pub(super) fn next_ticket(&mut self) -> u64 {
        self.ticket += 1;
        self.ticket
    }

    pub(super) fn page_ground(&self, end: Position) -> batch::Ground<'_> {
        let beginning = record::beginning(&self.owner);
        batch::Ground { beginning, redactor: &self.redactor, end, now_ms: self.host.clock.wall_ms() }
    }

    /// The index of the replay keys, up to date with what is acknowledged.
    pub(super) fn keys(&mut self) -> Result<&mut ReplayKeys> {
        let keys = match self.keys.take() {
            Some(keys) => keys,
            None => {
                let Position { offset, sequence } = self.acknowledged();
                let log = self.open.as_ref().and_then(|open| open.log.as_ref());
                let log = log.map(|(log, _)| Arc::clone(log));
                ReplayKeys::open(&self.run, log, Acknowledged { offset, sequence })?
            }
        };
        Ok(self.keys.insert(keys))
    }

    /// Step 3. What fails here is made good when the index is opened again.
    pub(super) fn index(&mut self, keys: &[(Key, u64)], reach: Reach) {
        let inserted = self.keys.as_mut().is_some_and(|index| index.insert(keys, reach).is_ok());
        if !inserted {
            self.drop_keys();
        }
    }

    /// Steps 1 and 4: one Persist that acknowledges what precedes `at` and announces what begins there.
    pub(super) fn announce(&mut self, at: Position, pending: Vec<Pending>) -> io::Result<()> {
        if self.open.as_ref().is_some_and(|open| open.log.is_none()) {
            // Before the Persist, whose sync of the directory makes the log's name durable too.
            let log = self.open_data(DataAccess::Create)?;
            if let Some(open) = &mut self.open {
                open.log = Some(log);
            }
        }
        let Some(open) = &mut self.open else { return Err(io::ErrorKind::NotFound.into()) };
        open.checkpoint.acknowledged = at;
        open.checkpoint.pending = pending;
        self.stored.persist(&*self.run, &open.checkpoint)
    }

    /// Step 2.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let log = self.log()?;
        log.write_at(offset, bytes)?;
        log.sync()
    }

    /// Takes away what follows a position and says that nothing is pending.
    pub(super) fn cut_back(&mut self, to: Position) -> io::Result<()> {
        if let Ok(log) = self.log()
            && log.size()? > to.offset
        {
            log.cut(to.offset)?;
            log.sync()?;
        }
        self.announce(to, Vec::new())
    }

    fn log(&self) -> io::Result<&dyn DataFile> {
        let log = self.open.as_ref().and_then(|open| open.log.as_ref());
        log.map(|(log, _)| &**log).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Whether the disk is as this process left it, with nothing pending.
    fn still_stands(&self) -> Result<bool> {
        let Some(open) = &self.open else { return Ok(false) };
        if !open.checkpoint.pending.is_empty() || !self.stored.still_stands(&*self.run)? {
            return Ok(false);
        }
        match self.run.metadata(LOG) {
            Ok(now) => Ok(open.log.as_ref().is_some_and(|(_, identity)| *identity == now.identity)
                && now.size == open.checkpoint.acknowledged.offset),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(open.log.is_none()),
            Err(error) => Err(io_error("events.jsonl cannot be looked at", error)),
        }
    }

    /// The log; none where it is missing and not to be created.
    fn open_log(&self, access: DataAccess) -> Result<Option<(Arc<dyn DataFile>, FileIdentity)>> {
        match self.open_data(access) {
            Ok(log) => Ok(Some(log)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("events.jsonl cannot be opened", error)),
        }
    }

    fn open_data(&self, access: DataAccess) -> io::Result<(Arc<dyn DataFile>, FileIdentity)> {
        let log = self.run.open_data(LOG, access)?;
        Ok((Arc::from(log), self.run.metadata(LOG)?.identity))
    }
}

/// A batch is written right behind the acknowledged bytes. Where these do not end a line, its first record would become
/// a part of what stands there.
fn check_last_byte(acknowledged: Position, log: &dyn DataFile) -> Result<()> {
    let Some(last) = acknowledged.offset.checked_sub(1) else { return Ok(()) };
    let mut byte = [0];
    log.read_at(last, &mut byte).map_err(|error| io_error("events.jsonl cannot be read", error))?;
    if byte == *b"\n" {
        Ok(())
    } else {
        Err(Refusal::CheckpointInvalid("offset is not the end of a line").into())
    }
}

/// Why the directory of a run, or the root of runs, which has no run to name, could not be opened.
pub(super) fn opening(run_id: &str, directory: &Path, error: io::Error) -> Error {
    if error.kind() != io::ErrorKind::NotFound {
        return io_error("the run's directory cannot be opened", error).with_file(directory);
    }
    let error = Error::new(Code::ExecutionUnknownRun, format!("there is no such run, run=`{run_id}`"));
    let error = error.with_file(directory);
    if run_id.is_empty() { error } else { error.with_run_id(run_id) }
}

fn missing() -> Error {
    io_error("events.jsonl cannot be opened", io::ErrorKind::NotFound.into())
}
