//! Opening a store, and making one.
//!
//! A store is made whole under another name and then linked to its own: whoever finds the name finds a store. What is
//! there already is only ever opened, never repaired and never replaced.

#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::super::Patience;
use super::failure::{self, Failure, about, corrupt, unavailable, unsupported};
use super::row;
use crate::error::{Code, Result};
use crate::host::Host;
use crate::storage::{FileIdentity, quiet};

/// Says that a SQLite file is a store of ours: `GvIK`.
pub(super) const APPLICATION_ID: i32 = 0x4776_494b;

/// The schema that this version reads and writes.
pub(super) const SCHEMA_VERSION: i32 = 1;

/// No SQLite file is shorter than its smallest page.
const SHORTEST_BYTES: u64 = 512;

/// Pages in the log after which a commit moves them into the file: a quarter of SQLite's own choice, so that the commit
/// that has to do it is not felt.
pub(super) const CHECKPOINT_PAGES: i32 = 250;

/// The same for a commit of a sweep, whose pages are all different ones: with its own they are about a hundred.
pub(super) const SWEEP_CHECKPOINT_PAGES: i32 = 64;

pub(super) fn open(path: &Path, host: &Host, patience: &mut Patience) -> Result<(Connection, FileIdentity)> {
    loop {
        let found = match host.files.metadata(path) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(unavailable(path, "the store cannot be looked at").with_source(error)),
        };
        let Some(found) = found else {
            make(path, host)?;
            continue;
        };
        failure::refuse_no_file(path, &found)?;
        if found.size < SHORTEST_BYTES {
            return Err(corrupt(path, "the file is too short to be a store"));
        }
        prove_file_system(path, host)?;
        let connection = match connect(path) {
            Ok(connection) => connection,
            Err(Failure::Busy) => {
                patience.pause()?;
                continue;
            }
            Err(Failure::Sqlite(error)) => return Err(failure::explain(path, error)),
            Err(Failure::Own(error)) => return Err(error),
        };
        // The name may have come to stand for another file between the two looks; then the connection is to nobody knows
        // which.
        let metadata = |_| unavailable(path, "the store's file went away while it was opened");
        let stands = host.files.metadata(path).map_err(metadata)?;
        if stands.identity == found.identity {
            return Ok((connection, found.identity));
        }
    }
}

/// Connects, and refuses what is no store of this version. Writes nothing.
fn connect(path: &Path) -> std::result::Result<Connection, Failure> {
    let _quiet = quiet();
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE,
    )?;
    // Waiting is ours: from microseconds up, and within the caller's deadline.
    connection.busy_timeout(Duration::ZERO)?;
    // Until it is known to be ours, closing it leaves the log of a foreign database alone.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    if connection.is_readonly("main")? {
        return Err(unavailable(path, "the store's file cannot be written").into());
    }
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let application = number("application_id")?;
    if application != APPLICATION_ID {
        return Err(corrupt(path, "the file is a database of another program").into());
    }
    let version = number("user_version")?;
    if version != SCHEMA_VERSION {
        let what =
            format!("the store has schema version {version}, this library reads version {SCHEMA_VERSION}");
        return Err(about(Code::IdempotencyStoreVersion, path, &what).into());
    }
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode != "wal" {
        return Err(unsupported(path, "the store is not in WAL mode, or cannot be here").into());
    }
    configure(&connection)?;
    // A damaged or foreign schema fails here, and a file without shared memory at the first read.
    connection.prepare_cached(row::SELECT)?.exists([[0_u8; 32].as_slice()])?;
    connection.prepare_cached(row::SELECT_EXPIRED)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok(connection)
}

/// Each commit is durable. `fullfsync` means something on macOS alone, where a plain sync leaves bytes in the drive.
fn sync_fully(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    if cfg!(target_os = "macos") {
        connection.pragma_update(None, "fullfsync", true)?;
        connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    }
    Ok(())
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    sync_fully(connection)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.set_prepared_statement_cache_capacity(16);
    Ok(())
}

/// Makes an empty store and gives it its name, unless somebody else was faster.
fn make(path: &Path, host: &Host) -> Result<()> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(unavailable(path, "the store's path has no name"));
    };
    // A log without its file is what is left of a store whose file was lost; SQLite would play it into a new one.
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if host.files.metadata(Path::new(&log)).is_ok_and(|log| log.size > 0) {
        return Err(corrupt(path, "the store's file is missing and its log is there"));
    }
    prove_file_system(path, host)?;
    let staged = above.join(format!(".{}.tmp-{:016x}", name.to_string_lossy(), host.random.next_u64()));
    let made = stage(&staged, path);
    let linked = made.and_then(|()| match rustix::fs::linkat(CWD, &staged, CWD, path, AtFlags::empty()) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(unavailable(path, "the store cannot be given its name").with_source(error.into())),
    });
    let _ = rustix::fs::unlink(&staged);
    for side in ["-wal", "-shm"] {
        let mut side_file = staged.clone().into_os_string();
        side_file.push(side);
        let _ = rustix::fs::unlink(std::path::PathBuf::from(side_file));
    }
    linked?;
    let directory = host.files.open(above).and_then(|above| above.sync());
    directory.map_err(|error| unavailable(path, "the store's directory cannot be synced").with_source(error))
}

/// Writes an empty store, complete and synced, under a name that nobody looks for.
fn stage(staged: &Path, path: &Path) -> Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    let file = retry_on_intr(|| rustix::fs::open(staged, flags, Mode::RUSR | Mode::WUSR));
    drop(file.map_err(|error| unavailable(path, "the store cannot be made").with_source(error.into()))?);
    let _quiet = quiet();
    let write = || -> rusqlite::Result<()> {
        let connection = Connection::open_with_flags(
            staged,
            OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX
                | OpenFlags::SQLITE_OPEN_EXRESCODE,
        )?;
        sync_fully(&connection)?;
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        connection.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        connection.execute_batch(row::SCHEMA)?;
        connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        connection.close().map_err(|(_, error)| error)
    };
    write().map_err(|error| match failure::explain(path, error) {
        // It was ours alone and new, so nothing of it can be damaged: the disk is at fault.
        error if error.code() == Code::IdempotencyStoreCorrupt => unavailable(path, &error.message()),
        error => error,
    })
}

/// Refuses a file system on which SQLite's locks do not exclude, or that other machines change too.
fn prove_file_system(path: &Path, host: &Host) -> Result<()> {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    #[cfg(target_os = "linux")]
    {
        let system = retry_on_intr(|| rustix::fs::statfs(above));
        let system = system.map_err(|error| {
            unavailable(path, "the store's directory cannot be looked at").with_source(error.into())
        })?;
        // Their locks may exclude, and their memory is not shared.
        if crate::storage::NETWORK_FILE_SYSTEMS.contains(&system.f_type) {
            return Err(unsupported(path, "the store lies on a network file system"));
        }
    }
    #[cfg(target_os = "linux")]
    prove_locks(path, above, host)?;
    #[cfg(not(target_os = "linux"))]
    let _ = (above, host);
    Ok(())
}

/// The probe takes one lock twice, through two descriptions of a file of its own: locks of open file descriptions
/// conflict with those that SQLite takes, and unlike them with each other in one process. The store itself is not
/// opened, because closing it would drop the locks that this process holds on it.
#[cfg(target_os = "linux")]
fn prove_locks(path: &Path, above: &Path, host: &Host) -> Result<()> {
    let probe = above.join(format!(".idempotency-locking.tmp-{:016x}", host.random.next_u64()));
    let failed =
        |error: Errno| unavailable(path, "the store's directory cannot be written").with_source(error.into());
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    let first = retry_on_intr(|| rustix::fs::open(&probe, flags, Mode::RUSR | Mode::WUSR)).map_err(failed)?;
    let second = retry_on_intr(|| rustix::fs::open(&probe, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()));
    let _ = rustix::fs::unlink(&probe);
    let second = second.map_err(failed)?;
    if lock_of_description(first.as_fd()).is_err() || lock_of_description(second.as_fd()).is_ok() {
        return Err(unsupported(path, "locks do not exclude on this file system"));
    }
    Ok(())
}

/// Takes an exclusive lock on the whole file for this open file description, without waiting.
#[cfg(target_os = "linux")]
fn lock_of_description(file: std::os::fd::BorrowedFd<'_>) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: an all-zero `flock` is a valid value: from the beginning, of any length, pid 0 as this command wants it.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::c_short::try_from(libc::F_WRLCK).unwrap_or_default();
    lock.l_whence = libc::c_short::try_from(libc::SEEK_SET).unwrap_or_default();
    // SAFETY: the descriptor is open for as long as its borrow, and the structure lives through the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
