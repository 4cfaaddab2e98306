//! Looking at a store without changing it: whether every page and every row makes sense.
//!
//! SQLite is told that it may write nothing, not even its shared memory. Where a log is left without the memory that leads
//! into it, only a writer could recover, and that is answered and not done.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::super::claim::ClaimState;
use super::failure;
use super::open::{APPLICATION_ID, SCHEMA_VERSION};
use super::row;
use crate::error::{Code, Result};
use crate::host::Host;
use crate::storage::quiet;

const EVERY_ROW: &str = "SELECT * FROM claims ORDER BY id";
/// How much SQLite tells at most of what is wrong with the pages.
const SOUNDNESS: &str = "PRAGMA integrity_check(1)";

/// What stands in a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedStore {
    /// Creates that run, or ran until their owner was lost, and nothing outside may exist of them.
    pub reserved: u64,
    /// As those, with an effect that may have happened.
    pub marked: u64,
    /// Creates that have finished, expired ones among them.
    pub finished: u64,
    /// Rows that make no sense.
    pub damaged: u64,
    /// What SQLite finds wrong with the file itself, in one line.
    pub damage: Option<String>,
}

/// Reads a whole store, every row by its check value, and answers none for a database of another program. Changes nothing and
/// makes no file.
///
/// # Errors
/// `IDEMPOTENCY_STORE_VERSION`; `IDEMPOTENCY_STORE_CORRUPT`; `IDEMPOTENCY_STORE_UNAVAILABLE` where it cannot be read, among
/// others because a writer that died has left a log that only a writer can recover.
pub fn check_store(path: impl AsRef<Path>, host: &Host) -> Result<Option<CheckedStore>> {
    let path = path.as_ref();
    let path = &host.files.absolute(path).unwrap_or_else(|_| path.to_owned());
    look(path, host).map_err(|error| match error {
        failure::Failure::Own(error) => error,
        failure::Failure::Busy => failure::unavailable(path, "the store is being recovered by somebody else"),
        failure::Failure::Sqlite(error) => failure::explain(path, error),
    })
}

fn look(path: &Path, host: &Host) -> std::result::Result<Option<CheckedStore>, failure::Failure> {
    let _quiet = quiet();
    let side = |ending: &str| {
        let mut side = path.as_os_str().to_owned();
        side.push(ending);
        host.files.metadata(Path::new(&side)).map_or(0, |side| side.size)
    };
    // Without a log the file is all there is, and nobody has to be agreed with.
    let mode = if side("-wal") > 0 { "readonly_shm=1" } else { "immutable=1" };
    if mode == "readonly_shm=1" && side("-shm") == 0 {
        let what = "a writer that died has left a log without its index; the next one that opens the store recovers it";
        return Err(failure::unavailable(path, what).into());
    }
    let connection = Connection::open_with_flags(
        uri(path, mode),
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
    let soundness: String = connection.query_row(SOUNDNESS, [], |row| row.get(0))?;
    let damage = Some(soundness).filter(|said| said != "ok").map(|said| said.replace('\n', " "));
    let mut found = CheckedStore { damage, ..CheckedStore::default() };
    let mut rows = connection.prepare(EVERY_ROW)?;
    let mut rows = rows.query([])?;
    while let Some(next) = rows.next()? {
        *match row::read(next).map(|row| row.record.state) {
            None => &mut found.damaged,
            Some(ClaimState::Reserved { is_marked: true, .. }) => &mut found.marked,
            Some(ClaimState::Reserved { .. }) => &mut found.reserved,
            Some(ClaimState::Finished { .. }) => &mut found.finished,
        } += 1;
    }
    Ok(Some(found))
}

/// The path as SQLite's own kind of address, in which three signs have a meaning.
fn uri(path: &Path, mode: &str) -> std::path::PathBuf {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut uri = b"file:".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.extend_from_slice(format!("%{byte:02x}").as_bytes()),
            byte => uri.push(*byte),
        }
    }
    uri.extend_from_slice(b"?");
    uri.extend_from_slice(mode.as_bytes());
    std::ffi::OsString::from_vec(uri).into()
}
