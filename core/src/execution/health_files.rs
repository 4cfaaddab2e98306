//! Reading the files of a health store: which of them are records, and what becomes of those that make no sense.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::health::{HealthRecord, HealthScope, malformed};
use crate::error::{Code, Error, Result};
use crate::storage::{Directory, FileSystem};

/// The longest record in bytes: one is read before every dispatch.
pub const MAX_RECORD_BYTES: u64 = 1024 * 1024;

/// Whether a check is to write the record of a wanted account that has none among [`recorded`]. One of another version is left to
/// its own package.
pub(super) fn is_to_be_written(record: Result<Option<HealthRecord>>) -> Result<bool> {
    match record {
        Ok(record) => Ok(record.is_none()),
        Err(error) if error.code() == Code::ExecutionVersion => Ok(false),
        Err(error) if error.code() == Code::ExecutionHealth => Ok(true),
        Err(error) => Err(error),
    }
}

/// A record that makes no sense counts as none: the check that runs anew writes it anew.
pub(super) fn sensible(record: Result<Option<HealthRecord>>) -> Result<Option<HealthRecord>> {
    match record {
        Err(error) if error.code() == Code::ExecutionHealth => Ok(None),
        record => record,
    }
}

/// All records that stand under their own name.
pub(super) fn recorded(root: &dyn Directory) -> Result<BTreeMap<HealthScope, HealthRecord>> {
    let mut records = BTreeMap::new();
    for name in root.names().map_err(unreadable)? {
        if !name.ends_with(".json") {
            continue;
        }
        let Some(bytes) = bytes_of(root, &name)? else { continue };
        if let Ok(record) = HealthRecord::parse(&bytes)
            && HealthRecord::file_name(&record.provider, &record.account) == name
        {
            records.insert(HealthScope::new(&record.provider, &record.account), record);
        }
    }
    Ok(records)
}

/// The record of an account, by its path: nothing of the store's directory needs to be open.
pub(super) fn read_by_path(
    files: &dyn FileSystem,
    root: &Path,
    scope: &HealthScope,
) -> Result<Option<HealthRecord>> {
    let path = root.join(HealthRecord::file_name(&scope.provider, &scope.account));
    let mut bytes = Vec::new();
    match files.read_file(&path, MAX_RECORD_BYTES, &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(error)),
        Ok(_) => judged(&bytes, scope).map(Some),
    }
}

pub(super) fn read(root: &dyn Directory, scope: &HealthScope) -> Result<Option<HealthRecord>> {
    let name = HealthRecord::file_name(&scope.provider, &scope.account);
    bytes_of(root, &name)?.map(|bytes| judged(&bytes, scope)).transpose()
}

fn judged(bytes: &[u8], scope: &HealthScope) -> Result<HealthRecord> {
    let record = HealthRecord::parse(bytes)?;
    if record.is_of(scope) { Ok(record) } else { Err(malformed("it is of another account")) }
}

/// What a file holds; nothing of one that is too long, which is no record then.
fn bytes_of(root: &dyn Directory, name: &str) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    match root.read_and_close(name, MAX_RECORD_BYTES, &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(error)),
        Ok(_) => Ok(Some(bytes)),
    }
}

fn unreadable(error: io::Error) -> Error {
    Error::new(Code::ExecutionIo, "a health record cannot be read").with_source(error)
}

pub(super) fn not_opened(error: io::Error) -> Error {
    Error::new(Code::ExecutionIo, "the health store's directory cannot be opened").with_source(error)
}
