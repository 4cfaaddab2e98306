//! A record as columns of one row, and back.
//!
//! A row carries a CRC-32C over all its columns, so that one that was bent is answered as damage and never as another
//! claim. See `docs/format/idempotency.md`.

use std::borrow::Cow;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};

use super::super::claim::{ClaimRecord, ClaimState, ClaimToken, Owner, Stamp};
use super::super::{ClaimName, Fingerprint};
use crate::process::ProcessIdentity;

/// The schema of version 1.
pub(super) const SCHEMA: &str = "
CREATE TABLE claims (
    id INTEGER PRIMARY KEY,
    name BLOB NOT NULL UNIQUE,
    operation TEXT NOT NULL,
    scope TEXT NOT NULL,
    state INTEGER NOT NULL,
    token BLOB NOT NULL,
    fingerprint BLOB NOT NULL,
    owner TEXT,
    resource TEXT,
    answer BLOB,
    completed_ms INTEGER,
    window_ms INTEGER,
    expires_ms INTEGER,
    check_value INTEGER NOT NULL
) STRICT;
CREATE INDEX claims_by_expiry ON claims (expires_ms) WHERE expires_ms IS NOT NULL;
";

macro_rules! columns {
    () => {
        "id, name, operation, scope, state, token, fingerprint, owner, resource, answer, completed_ms, window_ms, \
         expires_ms, check_value"
    };
}

/// The row of a name. Its columns are taken by their places in the schema, and what is out of place has another check
/// value; a short statement is found faster among those that are prepared.
pub(super) const SELECT: &str = "SELECT * FROM claims WHERE name = ?1";

/// The rows behind a position that have expired by their own word, in the order of their expiry.
pub(super) const SELECT_EXPIRED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM claims WHERE expires_ms IS NOT NULL AND (expires_ms, id) > (?1, ?2) AND expires_ms <= ?3 \
     ORDER BY expires_ms, id"
);

const RESERVED: i64 = 1;
const MARKED: i64 = 2;
const FINISHED: i64 = 3;

const NAME: usize = 1;
const ANSWER: usize = 9;
const EXPIRES: usize = 12;
const CHECK: usize = 13;

/// A row that made sense.
pub(super) struct Found {
    pub(super) id: i64,
    pub(super) record: ClaimRecord,
}

/// A whole number as SQLite counts, stopped at its end.
pub(super) fn clamped(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// All 64 bits of a number, which SQLite keeps as a signed one.
fn bits(number: u64) -> i64 {
    i64::from_ne_bytes(number.to_ne_bytes())
}

fn unbits(number: i64) -> u64 {
    u64::from_ne_bytes(number.to_ne_bytes())
}

/// Where a sweep goes on behind this row.
pub(super) fn position(row: &Row<'_>) -> rusqlite::Result<(i64, i64)> {
    Ok((row.get(EXPIRES)?, row.get(0)?))
}

/// How large the row's answer is.
pub(super) fn answer_bytes(row: &Row<'_>) -> usize {
    row.get_ref(ANSWER).ok().and_then(|answer| answer.as_bytes().ok()).map_or(0, <[u8]>::len)
}

/// Understands a row; none where it makes no sense.
pub(super) fn read(row: &Row<'_>) -> Option<Found> {
    let mut columns = [ValueRef::Null; CHECK + 1];
    for (place, column) in columns.iter_mut().enumerate() {
        *column = row.get_ref(place).ok()?;
    }
    let mut check = Check::new();
    columns[NAME..CHECK].iter().for_each(|column| check.add(*column));
    if columns[CHECK].as_i64().ok()? != check.value() {
        return None;
    }
    let number = |place: usize| columns[place].as_i64_or_null().ok().flatten().map(unbits);
    let state = match columns[4].as_i64().ok()? {
        FINISHED => ClaimState::Finished {
            resource: columns[8].as_str().ok()?.to_owned(),
            answer: columns[ANSWER].as_blob_or_null().ok()?.map(<[u8]>::to_vec),
            completed_ms: number(10)?,
            window_ms: number(11)?,
        },
        state @ (RESERVED | MARKED) => {
            let owner = match columns[7].as_str_or_null().ok()? {
                None => None,
                Some(owner) => Some(serde_json::from_str::<OwnerColumn<'_>>(owner).ok()?.into_owner()),
            };
            ClaimState::Reserved { is_marked: state == MARKED, owner }
        }
        _ => return None,
    };
    let record = ClaimRecord {
        token: ClaimToken::from_bytes(columns[5].as_blob().ok()?.try_into().ok()?),
        fingerprint: Fingerprint::from_bytes(columns[6].as_blob().ok()?.try_into().ok()?),
        state,
    };
    Some(Found { id: columns[0].as_i64().ok()?, record })
}

/// Writes a record under a name that has none.
pub(super) fn insert(
    connection: &Connection,
    name: &ClaimName,
    record: &ClaimRecord,
) -> rusqlite::Result<()> {
    const INSERT: &str = concat!(
        "INSERT INTO claims (",
        columns!(),
        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
    );
    write(connection, INSERT, None, name, record)
}

/// Writes a record in the place of another.
pub(super) fn update(
    connection: &Connection,
    id: i64,
    name: &ClaimName,
    record: &ClaimRecord,
) -> rusqlite::Result<()> {
    const UPDATE: &str = "UPDATE claims SET operation = ?3, scope = ?4, state = ?5, token = ?6, fingerprint = ?7, \
        owner = ?8, resource = ?9, answer = ?10, completed_ms = ?11, window_ms = ?12, expires_ms = ?13, \
        check_value = ?14 WHERE id = ?1 AND name = ?2";
    write(connection, UPDATE, Some(id), name, record)
}

/// Removes a row.
pub(super) fn delete(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM claims WHERE id = ?1")?.execute([id]).map(drop)
}

fn write(
    connection: &Connection,
    statement: &str,
    id: Option<i64>,
    name: &ClaimName,
    record: &ClaimRecord,
) -> rusqlite::Result<()> {
    // Never fails: a list of texts has a JSON form.
    let scope = serde_json::to_string(name.scope()).unwrap_or_default();
    let (mut owner, mut resource, mut answer, mut times) = (None, None, None, None);
    let state = match &record.state {
        ClaimState::Reserved { is_marked, owner: held_by } => {
            // Never fails: texts and whole numbers have a JSON form.
            owner = held_by
                .as_ref()
                .map(|owner| serde_json::to_string(&OwnerColumn::of(owner)).unwrap_or_default());
            if *is_marked { MARKED } else { RESERVED }
        }
        ClaimState::Finished { resource: made, answer: saved, completed_ms, window_ms } => {
            resource = Some(made.as_str());
            answer = saved.as_deref();
            let expires = clamped(completed_ms.saturating_add(*window_ms));
            times = Some((bits(*completed_ms), bits(*window_ms), expires));
            FINISHED
        }
    };
    let completed = times.map(|(completed, _, _)| completed);
    let window = times.map(|(_, window, _)| window);
    let expires = times.map(|(_, _, expires)| expires);

    let mut check = Check::new();
    check.blob(Some(name.digest()));
    check.text(Some(name.operation()));
    check.text(Some(&scope));
    check.number(Some(state));
    check.blob(Some(record.token.as_bytes()));
    check.blob(Some(record.fingerprint.as_bytes()));
    check.text(owner.as_deref());
    check.text(resource);
    check.blob(answer);
    [completed, window, expires].into_iter().for_each(|number| check.number(number));

    let name_digest = name.digest().as_slice();
    let (token, fingerprint) = (record.token.as_bytes().as_slice(), record.fingerprint.as_bytes().as_slice());
    connection
        .prepare_cached(statement)?
        .execute(params![
            id,
            name_digest,
            name.operation(),
            scope,
            state,
            token,
            fingerprint,
            owner,
            resource,
            answer,
            completed,
            window,
            expires,
            check.value(),
        ])
        .map(drop)
}

/// The owner as its column says it: JSON, so that an operator reads it too.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct OwnerColumn<'a> {
    pid: u32,
    start: u64,
    #[serde(borrow)]
    boot: Cow<'a, str>,
    #[serde(borrow)]
    pid_namespace: Cow<'a, str>,
    #[serde(borrow)]
    host: Cow<'a, str>,
    refreshed_ms: u64,
    refreshed_awake_ms: u64,
    refreshed_slept_ms: u64,
}

impl<'a> OwnerColumn<'a> {
    fn of(owner: &'a Owner) -> Self {
        let (process, refreshed) = (&owner.process, &owner.refreshed);
        OwnerColumn {
            pid: process.pid,
            start: process.start,
            boot: Cow::from(&process.boot),
            pid_namespace: Cow::from(&process.pid_namespace),
            host: Cow::from(&process.host),
            refreshed_ms: refreshed.wall_ms,
            refreshed_awake_ms: refreshed.awake_ms,
            refreshed_slept_ms: refreshed.slept_ms,
        }
    }

    fn into_owner(self) -> Owner {
        Owner {
            process: ProcessIdentity {
                pid: self.pid,
                start: self.start,
                boot: self.boot.into_owned(),
                pid_namespace: self.pid_namespace.into_owned(),
                host: self.host.into_owned(),
            },
            refreshed: Stamp {
                wall_ms: self.refreshed_ms,
                awake_ms: self.refreshed_awake_ms,
                slept_ms: self.refreshed_slept_ms,
            },
        }
    }
}

/// CRC-32C over the columns, each after its type and its length.
struct Check {
    crc: u32,
    /// What is not in `crc` yet: the checksum takes a longer piece at once faster than many short ones.
    gathered: [u8; GATHERED],
    length: usize,
}

/// What is gathered before it is summed up, in bytes.
const GATHERED: usize = 256;

impl Check {
    fn new() -> Self {
        Check { crc: 0, gathered: [0; GATHERED], length: 0 }
    }

    fn add(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Null => self.feed(b'n', &[]),
            ValueRef::Integer(number) => self.feed(b'i', &number.to_le_bytes()),
            ValueRef::Real(number) => self.feed(b'r', &number.to_le_bytes()),
            ValueRef::Text(text) => self.feed(b't', text),
            ValueRef::Blob(bytes) => self.feed(b'b', bytes),
        }
    }

    fn text(&mut self, text: Option<&str>) {
        self.add(text.map_or(ValueRef::Null, |text| ValueRef::Text(text.as_bytes())));
    }

    fn blob(&mut self, bytes: Option<&[u8]>) {
        self.add(bytes.map_or(ValueRef::Null, ValueRef::Blob));
    }

    fn number(&mut self, number: Option<i64>) {
        self.add(number.map_or(ValueRef::Null, ValueRef::Integer));
    }

    fn feed(&mut self, kind: u8, bytes: &[u8]) {
        self.gather(&[kind]);
        self.gather(&(bytes.len() as u64).to_le_bytes());
        self.gather(bytes);
    }

    fn gather(&mut self, bytes: &[u8]) {
        if let Some(room) = self.gathered[self.length..].get_mut(..bytes.len()) {
            room.copy_from_slice(bytes);
            self.length += bytes.len();
            return;
        }
        self.sum_up();
        match self.gathered.get_mut(..bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.length = bytes.len();
            }
            None => self.crc = crc32c::crc32c_append(self.crc, bytes),
        }
    }

    fn sum_up(&mut self) {
        self.crc = crc32c::crc32c_append(self.crc, &self.gathered[..self.length]);
        self.length = 0;
    }

    fn value(mut self) -> i64 {
        self.sum_up();
        i64::from(self.crc)
    }
}
