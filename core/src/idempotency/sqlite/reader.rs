//! Reading a store's claims page by page without changing anything.
//!
//! SQLite is told that it may write nothing, not even its shared memory. While others have the store open, each page is a
//! transaction of its own beside theirs, for which no writer waits. Where nobody has, there is no log, and the file is read
//! as it stands without agreeing with anybody: then a page counts only if nobody has opened or changed the store meanwhile.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use rustix::io::Errno;

use super::super::listing::{ClaimPage, ClaimReader};
use super::super::{Patience, StoreOptions};
use super::failure::{self, Failure};
use super::open::{APPLICATION_ID, SCHEMA_VERSION};
use super::place;
use super::row;
use crate::error::{Code, Result};
use crate::host::Host;
use crate::storage::{FileIdentity, Metadata, quiet};

const SELECT_BEHIND: &str = "SELECT * FROM claims WHERE id > ?1 ORDER BY id";
const SELECT_FIRST: &str = "SELECT * FROM claims WHERE id >= ?1 ORDER BY id";

/// Claims in a page at most.
const PAGE_CLAIMS: usize = 1024;
/// Bytes of answers that a page passes over at most, beyond those of its first claim.
const PAGE_BYTES: usize = 4 << 20;

/// The claims of the store in this file, for reading. Looks whether they can be read; makes no file and changes none, now or
/// at any page. Nothing is open between two pages.
///
/// # Errors
/// `IDEMPOTENCY_STORE_VERSION`; `IDEMPOTENCY_STORE_CORRUPT`, also for a database of another program;
/// `IDEMPOTENCY_STORE_UNAVAILABLE` where it cannot be read, among others because a writer that died has left a log that only
/// a writer can recover.
pub fn read_claims(path: impl AsRef<Path>, host: &Host) -> Result<Box<dyn ClaimReader>> {
    let reader = SqliteReader::of(path.as_ref(), host)?;
    reader.retry(&mut reader.patience(), |connection| reader.ours(connection).map(drop))?;
    Ok(Box::new(reader))
}

/// A store of which nothing is written.
#[derive(Debug)]
pub(super) struct SqliteReader {
    path: PathBuf,
    host: Host,
    identity: FileIdentity,
}

impl ClaimReader for SqliteReader {
    fn page(&self, behind: Option<i64>, patience: &mut Patience) -> Result<ClaimPage> {
        self.retry(patience, |connection| {
            let connection = self.ours(connection)?;
            let mut page = ClaimPage::default();
            let (mut last, mut bytes) = (None, 0);
            let mut select =
                connection.prepare(if behind.is_some() { SELECT_BEHIND } else { SELECT_FIRST })?;
            let mut rows = select.query([behind.unwrap_or(i64::MIN)])?;
            while let Some(found) = rows.next()? {
                if page.claims.len() == PAGE_CLAIMS || bytes > PAGE_BYTES {
                    page.next = last;
                    break;
                }
                last = Some(found.get(0)?);
                bytes += row::answer_bytes(found);
                page.claims.push(row::read_stored(found));
            }
            Ok(page)
        })
    }
}

impl SqliteReader {
    /// # Errors
    /// `IDEMPOTENCY_STORE_UNAVAILABLE` where no file stands there.
    pub(super) fn of(path: &Path, host: &Host) -> Result<Self> {
        let path = host.files.absolute(path).unwrap_or_else(|_| path.to_owned());
        let (_, file) = look(&path, host)?;
        Ok(SqliteReader { path, host: host.clone(), identity: file.identity })
    }

    /// How long somebody else is waited for.
    pub(super) fn patience(&self) -> Patience {
        Patience::lasting(&self.host.clock, StoreOptions::default().busy)
    }

    fn ours<'a>(&self, found: Option<&'a Connection>) -> std::result::Result<&'a Connection, Failure> {
        found.ok_or_else(|| failure::corrupt(&self.path, "the file is a database of another program").into())
    }

    /// Does something with a connection, which is none to a database of another program; again where what was read may not be
    /// believed.
    pub(super) fn retry<T>(
        &self,
        patience: &mut Patience,
        mut act: impl FnMut(Option<&Connection>) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        loop {
            match self.try_once(&mut act) {
                Ok(Some(done)) => return Ok(done),
                Ok(None) | Err(Failure::Busy) => patience.pause()?,
                Err(Failure::Sqlite(error)) => return Err(failure::explain(&self.path, error)),
                Err(Failure::Own(error)) => return Err(error),
            }
        }
    }

    /// None where somebody came or went meanwhile, so that it was not read as it should have been.
    fn try_once<T>(
        &self,
        act: &mut impl FnMut(Option<&Connection>) -> std::result::Result<T, Failure>,
    ) -> std::result::Result<Option<T>, Failure> {
        let _quiet = quiet();
        let (path, before) = look(&self.path, &self.host)?;
        let was_shared = is_shared(&path, &self.host);
        let done = connect(&path, &self.host).and_then(|connection| act(connection.as_ref()));
        let (_, after) = look(&self.path, &self.host)?;
        if after.identity != self.identity {
            let what = "the store's file was replaced while it was read";
            return Err(failure::unavailable(&self.path, what).into());
        }
        let is_shared = is_shared(&path, &self.host);
        let is_undisturbed = is_shared == was_shared && (is_shared || after == before);
        is_undisturbed.then_some(done).transpose()
    }
}

/// Opens a store so that nothing is written; none for a database of another program. A file of which nobody shares the log is
/// read as it stands, without asking whether it changes.
///
/// # Errors
/// `IDEMPOTENCY_STORE_VERSION`; `IDEMPOTENCY_STORE_UNAVAILABLE` for a log that only a writer can recover; those of SQLite.
fn connect(path: &Path, host: &Host) -> std::result::Result<Option<Connection>, Failure> {
    let is_shared = is_shared(path, host);
    if !is_shared && beside(path, "-wal", host).is_some_and(|log| log.size > 0) {
        let what = "a writer that died has left a log without its index; the next one that opens the store recovers it";
        return Err(failure::unavailable(path, what).into());
    }
    let connection = Connection::open_with_flags(
        uri(path, if is_shared { "readonly_shm=1" } else { "immutable=1" }),
        OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE,
    )?;
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    if number("application_id")? != APPLICATION_ID {
        return Ok(None);
    }
    let version = number("user_version")?;
    if version != SCHEMA_VERSION {
        let what =
            format!("the store has schema version {version}, this library reads version {SCHEMA_VERSION}");
        return Err(failure::about(Code::IdempotencyStoreVersion, path, &what).into());
    }
    Ok(Some(connection))
}

/// What stands there, and its own path.
fn look(path: &Path, host: &Host) -> Result<(PathBuf, Metadata)> {
    let (own, found) = place::followed(path, host)?;
    match found {
        Some(found) => Ok((own, found)),
        None => {
            Err(failure::unavailable(path, "the store cannot be looked at").with_source(Errno::NOENT.into()))
        }
    }
}

/// Whether somebody has the store open, or had when the last one died: whoever has shares an index of the log, which is there
/// after the log and goes before it. SQLite would make a log that is missing.
fn is_shared(path: &Path, host: &Host) -> bool {
    beside(path, "-shm", host).is_some_and(|index| index.size > 0) && beside(path, "-wal", host).is_some()
}

fn beside(path: &Path, ending: &str, host: &Host) -> Option<Metadata> {
    let mut side = path.as_os_str().to_owned();
    side.push(ending);
    host.files.metadata(Path::new(&side)).ok()
}

/// The path as SQLite's own kind of address, in which three signs have a meaning.
fn uri(path: &Path, mode: &str) -> PathBuf {
    let mut uri = b"file:".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.extend_from_slice(format!("%{byte:02x}").as_bytes()),
            byte => uri.push(*byte),
        }
    }
    uri.extend_from_slice(b"?");
    uri.extend_from_slice(mode.as_bytes());
    OsString::from_vec(uri).into()
}
