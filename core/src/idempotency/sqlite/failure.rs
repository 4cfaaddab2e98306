//! What SQLite's results mean here.

use std::path::Path;

use rusqlite::ErrorCode;
use rusqlite::ffi::{
    SQLITE_CONSTRAINT_UNIQUE, SQLITE_IOERR_SHMLOCK, SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMOPEN,
    SQLITE_IOERR_SHMSIZE,
};

use crate::error::{Code, Error, Result};
use crate::storage::{FileType, Metadata};

/// Why one try did not do.
#[derive(Debug)]
pub(super) enum Failure {
    /// Somebody else's turn.
    Busy,
    /// SQLite failed.
    Sqlite(rusqlite::Error),
    /// Something is the matter that has its error already.
    Own(Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            // A protocol failure is a race for the lock of the shared index that was lost too often.
            Some(
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed,
            ) => Failure::Busy,
            _ => Failure::Sqlite(error),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Own(error)
    }
}

/// The error for a failure of SQLite.
pub(super) fn explain(path: &Path, error: rusqlite::Error) -> Error {
    let extended = error.sqlite_error().map_or(0, |error| error.extended_code);
    let text = match &error {
        rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
        other => other.to_string(),
    };
    if [SQLITE_IOERR_SHMLOCK, SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE]
        .contains(&extended)
    {
        return unsupported(path, &format!("memory cannot be shared through this file system: {text}"));
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => corrupt(path, &text),
        // No such table or column, or a value where none can be: the schema is not ours.
        Some(ErrorCode::Unknown | ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch) => {
            corrupt(path, &text)
        }
        Some(_) => unavailable(path, &text),
        None => corrupt(path, &text),
    }
}

/// Whether a row with the same name stands there already.
pub(super) fn is_taken(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == SQLITE_CONSTRAINT_UNIQUE)
}

/// Whether what stands there could not be read.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Refuses what is no regular file: SQLite would wait for somebody who writes into a pipe.
pub(super) fn refuse_no_file(path: &Path, found: &Metadata) -> Result<()> {
    match found.file_type {
        FileType::Regular => Ok(()),
        FileType::Link | FileType::Directory | FileType::Other => {
            Err(unavailable(path, "what stands there is not a regular file"))
        }
    }
}

/// The error for a failure of the commit itself: the change may or may not have happened.
pub(super) fn in_commit(path: &Path, error: rusqlite::Error) -> Error {
    explain(path, error).with_reason("commit")
}

pub(super) fn unavailable(path: &Path, what: &str) -> Error {
    about(Code::IdempotencyStoreUnavailable, path, what)
}

pub(super) fn unsupported(path: &Path, what: &str) -> Error {
    about(Code::IdempotencyStoreUnsupported, path, what)
}

pub(super) fn corrupt(path: &Path, what: &str) -> Error {
    about(Code::IdempotencyStoreCorrupt, path, what)
}

pub(super) fn about(code: Code, path: &Path, what: &str) -> Error {
    Error::new(code, format!("{what}, file=`{}`", path.display())).with_file(path)
}
