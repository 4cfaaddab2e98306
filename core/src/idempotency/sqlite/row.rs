//! A record as columns of one row, and back.
//!
//! A row carries a CRC-32C over all its columns, so that one that was bent is answered as damage and never as another
//! claim. See `docs/format/idempotency.md`.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

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
    owner_pid INTEGER,
    owner_start INTEGER,
    owner_boot TEXT,
    owner_pid_namespace TEXT,
    owner_host TEXT,
    refreshed_ms INTEGER,
    refreshed_awake_ms INTEGER,
    refreshed_slept_ms INTEGER,
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
        "id, name, operation, scope, state, token, fingerprint, owner_pid, owner_start, owner_boot, \
         owner_pid_namespace, owner_host, refreshed_ms, refreshed_awake_ms, refreshed_slept_ms, resource, answer, \
         completed_ms, window_ms, expires_ms, check_value"
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
const ANSWER: usize = 16;
const EXPIRES: usize = 19;
const CHECK: usize = 20;

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
    let mut check = Check::default();
    for column in NAME..CHECK {
        check.add(row.get_ref(column).ok()?);
    }
    if row.get_ref(CHECK).ok()?.as_i64().ok()? != check.value() {
        return None;
    }
    let number = |column| row.get_ref(column).ok()?.as_i64_or_null().ok().flatten().map(unbits);
    let text = |column| row.get_ref(column).ok()?.as_str_or_null().ok().flatten().map(str::to_owned);
    let token = row.get_ref(5).ok()?.as_blob().ok()?;
    let fingerprint = row.get_ref(6).ok()?.as_blob().ok()?;
    let state = match row.get_ref(4).ok()?.as_i64().ok()? {
        FINISHED => ClaimState::Finished {
            resource: text(15)?,
            answer: row.get_ref(ANSWER).ok()?.as_blob_or_null().ok()?.map(<[u8]>::to_vec),
            completed_ms: number(17)?,
            window_ms: number(18)?,
        },
        state @ (RESERVED | MARKED) => {
            let owner = match number(7) {
                None => None,
                Some(pid) => Some(Owner {
                    process: ProcessIdentity {
                        pid: u32::try_from(pid).ok()?,
                        start: number(8)?,
                        boot: text(9)?,
                        pid_namespace: text(10)?,
                        host: text(11)?,
                    },
                    refreshed: Stamp { wall_ms: number(12)?, awake_ms: number(13)?, slept_ms: number(14)? },
                }),
            };
            ClaimState::Reserved { is_marked: state == MARKED, owner }
        }
        _ => return None,
    };
    let record = ClaimRecord {
        token: ClaimToken::from_bytes(token.try_into().ok()?),
        fingerprint: Fingerprint::from_bytes(fingerprint.try_into().ok()?),
        state,
    };
    Some(Found { id: row.get(0).ok()?, record })
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
        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)"
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
        owner_pid = ?8, owner_start = ?9, owner_boot = ?10, owner_pid_namespace = ?11, owner_host = ?12, \
        refreshed_ms = ?13, refreshed_awake_ms = ?14, refreshed_slept_ms = ?15, resource = ?16, answer = ?17, \
        completed_ms = ?18, window_ms = ?19, expires_ms = ?20, check_value = ?21 WHERE id = ?1 AND name = ?2";
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
            owner = held_by.as_ref();
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
    let process = owner.map(|owner| &owner.process);
    let pid = process.map(|process| i64::from(process.pid));
    let start = process.map(|process| bits(process.start));
    let boot = process.map(|process| process.boot.as_str());
    let pid_namespace = process.map(|process| process.pid_namespace.as_str());
    let host = process.map(|process| process.host.as_str());
    let refreshed = owner.map(|owner| owner.refreshed);
    let wall = refreshed.map(|stamp| bits(stamp.wall_ms));
    let awake = refreshed.map(|stamp| bits(stamp.awake_ms));
    let slept = refreshed.map(|stamp| bits(stamp.slept_ms));
    let completed = times.map(|(completed, _, _)| completed);
    let window = times.map(|(_, window, _)| window);
    let expires = times.map(|(_, _, expires)| expires);

    let mut check = Check::default();
    check.blob(Some(name.digest()));
    check.text(Some(name.operation()));
    check.text(Some(&scope));
    check.number(Some(state));
    check.blob(Some(record.token.as_bytes()));
    check.blob(Some(record.fingerprint.as_bytes()));
    check.number(pid);
    check.number(start);
    check.text(boot);
    check.text(pid_namespace);
    check.text(host);
    [wall, awake, slept].into_iter().for_each(|number| check.number(number));
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
            pid,
            start,
            boot,
            pid_namespace,
            host,
            wall,
            awake,
            slept,
            resource,
            answer,
            completed,
            window,
            expires,
            check.value(),
        ])
        .map(drop)
}

/// CRC-32C over the columns, each after its type and its length.
#[derive(Default)]
struct Check(u32);

impl Check {
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
        let mut head = [0; 9];
        head[0] = kind;
        head[1..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0 = crc32c::crc32c_append(crc32c::crc32c_append(self.0, &head), bytes);
    }

    fn value(&self) -> i64 {
        i64::from(self.0)
    }
}
