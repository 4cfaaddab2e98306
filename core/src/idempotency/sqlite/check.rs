//! Looking at a store without changing it: whether every page and every row makes sense.
//!
//! Where a log is left without the memory that leads into it, only a writer could recover, and that is answered and not done.

use std::path::Path;

use rusqlite::Connection;

use super::super::claim::ClaimState;
use super::failure::Failure;
use super::reader::SqliteReader;
use super::row;
use crate::error::Result;
use crate::host::Host;

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
/// others because a writer that died has left a log that only a writer can recover; `IDEMPOTENCY_BUSY` where others came and went
/// all the time, so that no reading of it could be believed.
pub fn check_store(path: impl AsRef<Path>, host: &Host) -> Result<Option<CheckedStore>> {
    let reader = SqliteReader::of(path.as_ref(), host)?;
    reader.retry(&mut reader.patience(), |connection| connection.map(look).transpose())
}

fn look(connection: &Connection) -> std::result::Result<CheckedStore, Failure> {
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
    Ok(found)
}
