//! A record as columns of one row, and back.
//!
//! A row carries a CRC-32C over all its columns, so that one that was bent is answered as damage and never as another
//! claim. See `docs/format/idempotency.md`.

use std::borrow::Cow;
use std::fmt::Write;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};
use serde::Deserialize;

use super::super::claim::{ClaimRecord, ClaimState, ClaimToken, Owner, Stamp};
use super::super::listing::{StoredClaim, UnderstoodClaim};
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
const OPERATION: usize = 2;
const SCOPE: usize = 3;
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
    let columns = columns_of(row)?;
    Some(Found { id: columns[0].as_i64().ok()?, record: record_of(&columns, true)? })
}

/// Understands a row with its name and without its answer.
pub(super) fn read_stored(row: &Row<'_>) -> StoredClaim {
    let understood = columns_of(row).and_then(|columns| {
        Some(UnderstoodClaim {
            operation: columns[OPERATION].as_str().ok()?.to_owned(),
            scope: serde_json::from_str(columns[SCOPE].as_str().ok()?).ok()?,
            record: record_of(&columns, false)?,
        })
    });
    let name = row.get_ref(NAME).ok().and_then(|name| name.as_blob().ok()?.try_into().ok());
    StoredClaim { digest: name, understood }
}

/// The columns of a row; none where they are not those that were written.
fn columns_of<'a>(row: &'a Row<'_>) -> Option<[ValueRef<'a>; CHECK + 1]> {
    let mut columns = [ValueRef::Null; CHECK + 1];
    let mut check = Check::new();
    for (place, column) in columns.iter_mut().enumerate() {
        *column = row.get_ref(place).ok()?;
        if (NAME..CHECK).contains(&place) {
            check.add(*column);
        }
    }
    (columns[CHECK].as_i64().ok()? == check.value()).then_some(columns)
}

fn record_of(columns: &[ValueRef<'_>; CHECK + 1], with_answer: bool) -> Option<ClaimRecord> {
    let number = |place: usize| columns[place].as_i64_or_null().ok().flatten().map(unbits);
    let state = match columns[4].as_i64().ok()? {
        FINISHED => {
            let answer = columns[ANSWER].as_blob_or_null().ok()?;
            ClaimState::Finished {
                resource: columns[8].as_str().ok()?.to_owned(),
                answer: answer.filter(|_| with_answer).map(<[u8]>::to_vec),
                completed_ms: number(10)?,
                window_ms: number(11)?,
            }
        }
        state @ (RESERVED | MARKED) => {
            let owner = match columns[7].as_str_or_null().ok()? {
                None => None,
                Some(owner) => Some(serde_json::from_str::<OwnerColumn<'_>>(owner).ok()?.into_owner()),
            };
            ClaimState::Reserved { is_marked: state == MARKED, owner }
        }
        _ => return None,
    };
    Some(ClaimRecord {
        token: ClaimToken::from_bytes(columns[5].as_blob().ok()?.try_into().ok()?),
        fingerprint: Fingerprint::from_bytes(columns[6].as_blob().ok()?.try_into().ok()?),
        state,
    })
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
    write(connection, INSERT, None, name, record).map(drop)
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
    write(connection, UPDATE, Some(id), name, record).map(drop)
}

/// Writes a record in the place of a reservation with the same token and fingerprint, if every column of the row is as
/// that was written; answers whether it was.
pub(super) fn replace(
    connection: &Connection,
    name: &ClaimName,
    held: &ClaimRecord,
    record: &ClaimRecord,
) -> rusqlite::Result<bool> {
    const REPLACE: &str = "UPDATE claims SET state = ?4, owner = ?7, resource = ?8, answer = ?9, completed_ms = ?10, \
        window_ms = ?11, expires_ms = ?12, check_value = ?13 WHERE name = ?1 AND operation = ?2 AND scope = ?3 \
        AND token = ?5 AND fingerprint = ?6 AND state = ?14 AND owner IS ?15 AND check_value = ?16 \
        AND resource IS NULL AND answer IS NULL AND completed_ms IS NULL AND window_ms IS NULL AND expires_ms IS NULL";
    let (held, next) = (Columns::of(name, held), Columns::of(name, record));
    connection
        .prepare_cached(REPLACE)?
        .execute(params![
            name.digest().as_slice(),
            name.operation(),
            next.scope,
            next.state,
            record.token.as_bytes().as_slice(),
            record.fingerprint.as_bytes().as_slice(),
            next.owner,
            next.resource,
            next.answer,
            next.completed,
            next.window,
            next.expires,
            next.check,
            held.state,
            held.owner,
            held.check,
        ])
        .map(|rows| rows == 1)
}

/// Removes a row.
pub(super) fn delete(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM claims WHERE id = ?1")?.execute([id]).map(drop)
}

/// Dirties the pages of a finished claim, and leaves no row.
pub(super) fn insert_and_delete(connection: &Connection) -> rusqlite::Result<()> {
    const INSERT: &str = "INSERT INTO claims (name, operation, scope, state, token, fingerprint, expires_ms, check_value) \
        VALUES (zeroblob(32), '', '', 0, x'', x'', 0, 0) RETURNING id";
    let id = connection.prepare_cached(INSERT)?.query_row([], |row| row.get(0))?;
    delete(connection, id)
}

/// Writes a row whole and answers how many that were.
fn write(
    connection: &Connection,
    statement: &str,
    id: Option<i64>,
    name: &ClaimName,
    record: &ClaimRecord,
) -> rusqlite::Result<usize> {
    let columns = Columns::of(name, record);
    connection.prepare_cached(statement)?.execute(params![
        id,
        name.digest().as_slice(),
        name.operation(),
        columns.scope,
        columns.state,
        record.token.as_bytes().as_slice(),
        record.fingerprint.as_bytes().as_slice(),
        columns.owner,
        columns.resource,
        columns.answer,
        columns.completed,
        columns.window,
        columns.expires,
        columns.check,
    ])
}

/// The columns of a row that are made of more than one value of its record.
struct Columns<'a> {
    scope: String,
    state: i64,
    owner: Option<String>,
    resource: Option<&'a str>,
    answer: Option<&'a [u8]>,
    completed: Option<i64>,
    window: Option<i64>,
    expires: Option<i64>,
    check: i64,
}

impl<'a> Columns<'a> {
    fn of(name: &ClaimName, record: &'a ClaimRecord) -> Self {
        let mut columns = Columns {
            scope: scope_text(name.scope()),
            state: RESERVED,
            owner: None,
            resource: None,
            answer: None,
            completed: None,
            window: None,
            expires: None,
            check: 0,
        };
        match &record.state {
            ClaimState::Reserved { is_marked, owner } => {
                columns.owner = owner.as_ref().map(owner_text);
                columns.state = if *is_marked { MARKED } else { RESERVED };
            }
            ClaimState::Finished { resource, answer, completed_ms, window_ms } => {
                columns.resource = Some(resource.as_str());
                columns.answer = answer.as_deref();
                columns.completed = Some(bits(*completed_ms));
                columns.window = Some(bits(*window_ms));
                columns.expires = Some(clamped(completed_ms.saturating_add(*window_ms)));
                columns.state = FINISHED;
            }
        }
        let mut check = Check::new();
        check.blob(Some(name.digest()));
        check.text(Some(name.operation()));
        check.text(Some(&columns.scope));
        check.number(Some(columns.state));
        check.blob(Some(record.token.as_bytes()));
        check.blob(Some(record.fingerprint.as_bytes()));
        check.text(columns.owner.as_deref());
        check.text(columns.resource);
        check.blob(columns.answer);
        [columns.completed, columns.window, columns.expires]
            .into_iter()
            .for_each(|number| check.number(number));
        columns.check = check.value();
        columns
    }
}

/// A list of texts as JSON.
fn scope_text(scope: &[String]) -> String {
    let mut out = String::with_capacity(scope.iter().map(|part| part.len() + 3).sum::<usize>() + 1);
    out.push('[');
    for (at, part) in scope.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_string(part, &mut out);
    }
    out.push(']');
    out
}

/// What [`OwnerColumn`] reads.
fn owner_text(owner: &Owner) -> String {
    let (process, refreshed) = (&owner.process, &owner.refreshed);
    let mut out = String::with_capacity(320);
    // Writing into a string never fails.
    let _ = write!(out, "{{\"pid\":{},\"start\":{}", process.pid, process.start);
    for (name, text) in
        [("boot", &process.boot), ("pidNamespace", &process.pid_namespace), ("host", &process.host)]
    {
        let _ = write!(out, ",\"{name}\":");
        push_string(text, &mut out);
    }
    let Stamp { wall_ms, awake_ms, slept_ms } = refreshed;
    let _ = write!(
        out,
        ",\"refreshedMs\":{wall_ms},\"refreshedAwakeMs\":{awake_ms},\"refreshedSleptMs\":{slept_ms}}}"
    );
    out
}

/// A text as JSON. All of its bytes are looked at in one go, which a processor does many at a time.
fn push_string(text: &str, out: &mut String) {
    if text.bytes().fold(false, |found, byte| found | (byte < 0x20) | (byte == b'\\') | (byte == b'"')) {
        // Never fails: a text has a JSON form.
        out.push_str(&serde_json::to_string(text).unwrap_or_default());
    } else {
        out.push('"');
        out.push_str(text);
        out.push('"');
    }
}

/// The owner as its column says it: JSON, so that an operator reads it too.
#[derive(Deserialize)]
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

impl OwnerColumn<'_> {
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

/// What is gathered before it is summed up, in bytes: a whole row whose answer is that of a small service.
const GATHERED: usize = 768;

/// A column's type and its length.
const BEFORE_COLUMN: usize = 1 + 8;

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
        let mut before = [kind; BEFORE_COLUMN];
        before[1..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        if self.length + BEFORE_COLUMN + bytes.len() > GATHERED {
            self.sum_up();
        }
        self.gathered[self.length..self.length + BEFORE_COLUMN].copy_from_slice(&before);
        self.length += BEFORE_COLUMN;
        match self.gathered[self.length..].get_mut(..bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.length += bytes.len();
            }
            None => {
                self.sum_up();
                self.crc = crc32c::crc32c_append(self.crc, bytes);
            }
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
