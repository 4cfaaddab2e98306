//! Claims in one SQLite file: WAL, `synchronous=FULL`, one row a claim.
//!
//! - `open`: making a store that is never seen half made, and refusing what is none of ours;
//! - `row`: a record as columns, with a check value over all of them;
//! - `inherited`: what happens to connections in a forked child;
//! - `check`: looking at a store without changing it;
//! - `reader`: its claims page by page, for whoever changes nothing;
//! - `place`: whether the file still stands under its name;
//! - `failure`: what SQLite's results mean here.
//!
//! SQLite reaches the disk by itself and not through `storage`: its own locks, its own recovery. What it is asked to do
//! is at most one row and one commit a call. Two copies of SQLite in one process must not open one file, because POSIX
//! locks belong to the process and closing one descriptor drops them all; so nothing here opens the file itself.

mod check;
mod failure;
mod inherited;
mod open;
mod place;
mod reader;
mod row;

pub use check::{CheckedStore, check_store};
pub use reader::read_claims;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use self::failure::{Failure, corrupt};
use self::place::Place;
use super::engine::{Change, ClaimStore, Swept};
use super::{ClaimName, ClaimRecord, Patience};
use crate::clock::Clock;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::storage::{FileSystem, Interest, Notifier, fork_generation, quiet};

/// Expired claims that one call of a sweep removes at most. Each lies on a page of its own in the index of names, and a
/// disk writes up to a hundred scattered pages in some milliseconds, but many more not in some milliseconds more.
const SWEEP_ROWS: usize = 32;

/// Bytes of rows that one call of a sweep reads at most, beyond the first row.
const SWEEP_BYTES: usize = 1 << 20;

/// What the name of the file ends in by which waiters are told.
const SIGNAL: &str = "-ended";

/// The embedded default engine.
#[derive(Debug)]
pub(super) struct SqliteClaims {
    path: PathBuf,
    /// The empty file that is opened and closed when somebody's wait has ended.
    signal: PathBuf,
    files: Arc<dyn FileSystem>,
    /// The file that was opened. Another one under its name is another store.
    place: Place,
    generation: u64,
    connection: Mutex<Option<Connection>>,
    sweep_from: Mutex<(i64, i64)>,
    /// Whether the last commit failed: then only one that succeeds shows that the store can be written.
    is_failing: AtomicBool,
}

impl SqliteClaims {
    /// Opens the store at this path, or makes it where nothing is. Once this has returned, the file and its name are
    /// durable.
    ///
    /// # Errors
    /// `IDEMPOTENCY_STORE_UNAVAILABLE`, `…_UNSUPPORTED`, `…_CORRUPT`, `…_VERSION`, `IDEMPOTENCY_BUSY`.
    pub(super) fn open(path: &Path, host: &Host, patience: &mut Patience) -> Result<Arc<Self>> {
        inherited::close_all();
        let path = &*place::followed(path, host)?.0;
        let (connection, identity) = open::open(path, host, patience)?;
        let mut signal = path.to_owned().into_os_string();
        signal.push(SIGNAL);
        let engine = Arc::new(SqliteClaims {
            path: path.to_owned(),
            signal: signal.into(),
            files: Arc::clone(&host.files),
            place: Place::of(path, identity, host),
            generation: fork_generation(),
            connection: Mutex::new(Some(connection)),
            sweep_from: Mutex::new(inherited::BEGINNING),
            is_failing: AtomicBool::new(false),
        });
        inherited::remember(&engine);
        // So that its file is there before the disk can be full.
        engine.announce();
        Ok(engine)
    }

    /// Does something with the connection. Nobody forks in the meantime.
    fn with<T>(
        &self,
        act: impl FnOnce(&Connection) -> std::result::Result<T, Failure>,
    ) -> std::result::Result<T, Failure> {
        let _quiet = quiet();
        self.refuse_after_fork()?;
        let connection = self.connection();
        let Some(connection) = connection.as_ref() else {
            return Err(Error::new(Code::IdempotencyStoreUnavailable, "the store is closed").into());
        };
        act(connection)
    }

    fn refuse_after_fork(&self) -> Result<()> {
        if self.generation == fork_generation() {
            return Ok(());
        }
        let message = "a store came through a fork and is the parent's";
        Err(Error::new(Code::IdempotencyForked, message).with_reason("forked"))
    }

    fn connection(&self) -> MutexGuard<'_, Option<Connection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries until it is not somebody else's turn.
    fn retry<T>(
        &self,
        patience: &mut Patience,
        mut act: impl FnMut(&Connection) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        loop {
            match self.with(&mut act) {
                Ok(done) => return Ok(done),
                Err(Failure::Busy) => patience.pause()?,
                Err(Failure::Sqlite(error)) => return Err(failure::explain(&self.path, error)),
                Err(Failure::Own(error)) => return Err(error),
            }
        }
    }

    /// One immediate transaction, committed if `act` says so.
    fn transaction<T>(
        &self,
        patience: &mut Patience,
        mut act: impl FnMut(&Connection) -> std::result::Result<(bool, T), Failure>,
    ) -> Result<T> {
        self.retry(patience, |connection| {
            self.place.look()?;
            connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            let acted = act(connection);
            let ended = match &acted {
                Ok((true, _)) => {
                    connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([])).map(drop)
                }
                _ => Ok(()),
            };
            if !connection.is_autocommit() {
                // SQLite rolls back in memory, which fails only where it has done so by itself already.
                let _ = connection.prepare_cached("ROLLBACK").and_then(|mut rollback| rollback.execute([]));
            }
            let (writes, done) = acted?;
            match ended.map_err(Failure::from) {
                Ok(()) => {
                    if writes {
                        self.is_failing.store(false, Ordering::Relaxed);
                    }
                    Ok(done)
                }
                Err(Failure::Sqlite(error)) => {
                    self.is_failing.store(true, Ordering::Relaxed);
                    Err(failure::in_commit(&self.path, error).into())
                }
                Err(failure) => Err(failure),
            }
        })
    }

    /// After how many pages in the log this connection's commits move them into the file. Setting it touches no file; where
    /// it cannot be set, the old number goes on to hold.
    fn move_log_after(&self, pages: i32) {
        let _ = self.with(|connection| Ok(connection.pragma_update(None, "wal_autocheckpoint", pages)?));
    }

    fn find(
        &self,
        connection: &Connection,
        name: &ClaimName,
    ) -> std::result::Result<Option<(i64, ClaimRecord)>, Failure> {
        let mut select = connection.prepare_cached(row::SELECT)?;
        let found = select.query_row([name.digest().as_slice()], |found| Ok(row::read(found))).optional()?;
        match found {
            None => Ok(None),
            Some(Some(row)) => Ok(Some((row.id, row.record))),
            Some(None) => {
                Err(corrupt(&self.path, "a claim in the store makes no sense").with_reason("claim").into())
            }
        }
    }
}

impl ClaimStore for SqliteClaims {
    fn read(&self, name: &ClaimName, patience: &mut Patience) -> Result<Option<ClaimRecord>> {
        self.retry(patience, |connection| {
            self.place.look_again()?;
            Ok(self.find(connection, name)?.map(|(_, record)| record))
        })
    }

    fn change(
        &self,
        name: &ClaimName,
        patience: &mut Patience,
        decide: &mut dyn FnMut(Option<ClaimRecord>) -> Change,
    ) -> Result<()> {
        self.transaction(patience, |connection| {
            let found = self.find(connection, name)?;
            let (id, record) = found.map_or((None, None), |(id, record)| (Some(id), Some(record)));
            match (decide(record), id) {
                (Change::Keep, _) | (Change::Remove, None) => return Ok((false, ())),
                (Change::Put(record), None) => row::insert(connection, name, &record)?,
                (Change::Put(record), Some(id)) => row::update(connection, id, name, &record)?,
                (Change::Remove, Some(id)) => row::delete(connection, id)?,
            }
            Ok((true, ()))
        })
    }

    /// One statement that is its own transaction: the name's uniqueness is what excludes.
    fn insert(
        &self,
        name: &ClaimName,
        patience: &mut Patience,
        make: &mut dyn FnMut() -> ClaimRecord,
    ) -> Result<bool> {
        loop {
            let inserted = self.with(|connection| {
                self.place.look()?;
                Ok(row::insert(connection, name, &make())?)
            });
            match inserted {
                Ok(()) => {
                    self.is_failing.store(false, Ordering::Relaxed);
                    return Ok(true);
                }
                Err(Failure::Busy) => patience.pause()?,
                Err(Failure::Sqlite(error)) if failure::is_taken(&error) => return Ok(false),
                Err(Failure::Sqlite(error)) => {
                    self.is_failing.store(true, Ordering::Relaxed);
                    return Err(failure::in_commit(&self.path, error));
                }
                Err(Failure::Own(error)) => return Err(error),
            }
            // Whoever wrote may have taken the name; then there is nothing to wait for.
            if self.read(name, patience)?.is_some() {
                return Ok(false);
            }
        }
    }

    /// One statement that is its own transaction: it finds the row by every column as it was written.
    fn replace(
        &self,
        name: &ClaimName,
        patience: &mut Patience,
        held: &ClaimRecord,
        make: &mut dyn FnMut() -> ClaimRecord,
    ) -> Result<bool> {
        loop {
            let replaced = self.with(|connection| {
                self.place.look()?;
                Ok(row::replace(connection, name, held, &make())?)
            });
            match replaced {
                Ok(is_replaced) => {
                    if is_replaced {
                        self.is_failing.store(false, Ordering::Relaxed);
                    }
                    return Ok(is_replaced);
                }
                Err(Failure::Busy) => patience.pause()?,
                // Nothing is written of what cannot be read.
                Err(Failure::Sqlite(error)) if failure::is_damage(&error) => {
                    return Err(failure::explain(&self.path, error));
                }
                Err(Failure::Sqlite(error)) => {
                    self.is_failing.store(true, Ordering::Relaxed);
                    return Err(failure::in_commit(&self.path, error));
                }
                Err(Failure::Own(error)) => return Err(error),
            }
        }
    }

    fn sweep(&self, wall_ms: u64, patience: &mut Patience) -> Result<Swept> {
        // A child may have inherited the position locked by a thread that it does not have.
        self.refuse_after_fork()?;
        let mut from = self.sweep_from.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = *from;
        self.move_log_after(open::SWEEP_CHECKPOINT_PAGES);
        let swept = self.transaction(patience, |connection| {
            let mut next = begins;
            let mut expired = Vec::new();
            let (mut bytes, mut seen) = (0, 0);
            let mut has_more = false;
            let mut select = connection.prepare_cached(row::SELECT_EXPIRED)?;
            let mut rows = select.query([begins.0, begins.1, row::clamped(wall_ms)])?;
            while let Some(found) = rows.next()? {
                if seen == SWEEP_ROWS || bytes > SWEEP_BYTES {
                    has_more = true;
                    break;
                }
                seen += 1;
                next = row::position(found)?;
                bytes += row::answer_bytes(found);
                if let Some(row) = row::read(found).filter(|row| row.record.is_expired(wall_ms)) {
                    expired.push(row.id);
                }
            }
            drop(rows);
            for id in &expired {
                row::delete(connection, *id)?;
            }
            let swept = Swept { removed: expired.len() as u64, has_more };
            Ok((!expired.is_empty(), (swept, if has_more { next } else { inherited::BEGINNING })))
        });
        self.move_log_after(open::CHECKPOINT_PAGES);
        let (swept, next) = swept?;
        *from = next;
        Ok(swept)
    }

    fn check(&self, patience: &mut Patience) -> Result<()> {
        self.transaction(patience, |connection| {
            let has_failed = self.is_failing.load(Ordering::Relaxed);
            if has_failed {
                // Writes every page that a reservation does, and leaves them as they were: one page may still find a place
                // in a log where those of a create do not.
                row::insert_and_delete(connection)?;
            }
            Ok((has_failed, ()))
        })
    }

    /// Opens a file beside the store for writing and closes it, which its directory's watchers are told of. Nothing is
    /// written, so that no disk has anything to do; and it is none of SQLite's files, because closing one of those drops
    /// the locks of the whole process.
    fn announce(&self) {
        let _quiet = quiet();
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        if let Err(Errno::NOENT) = rustix::fs::open(&self.signal, flags, Mode::empty()) {
            let _ = rustix::fs::open(&self.signal, flags | OFlags::CREATE, Mode::RUSR | Mode::WUSR);
        }
    }

    fn notifier(&self, clock: &Arc<dyn Clock>) -> Option<Box<dyn Notifier>> {
        let mut notifier = self.files.notifier(clock).ok()?;
        notifier.watch(self.path.parent()?, Interest::NamesThroughLink).ok()?;
        Some(notifier)
    }
}

impl Drop for SqliteClaims {
    fn drop(&mut self) {
        let _quiet = quiet();
        let connection = self.connection.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if self.generation != fork_generation() {
            // The parent's: closing it here would run SQLite's clean-up on files that the parent uses.
            std::mem::forget(connection);
        }
    }
}
