//! Which file is judged how.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::staging;
use super::{Judged, Verdict};
use crate::error::{Code, Error, Result};
use crate::execution::health::HealthRecord;
use crate::execution::health_store::HEALTH_LOCK;
use crate::execution::ledger::file::{JOB, LEDGER};
use crate::execution::ledger::lock::{EXECUTION_LOCK, PUBLICATION_LOCK};
use crate::execution::{Ledger, controls, job, keys};
use crate::harness_state::{self, Options};
use crate::host::Host;
use crate::idempotency::check_store;
use crate::journal::{self, CHECKPOINT, GapReason, LOCAL_OUTPUT, LOG_META, LogReader, OUTPUT_QUEUE, RESULT};
use crate::json::Value;
use crate::storage::{Directory, FileType};

/// The first bytes of every SQLite file.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// No file that is read whole is longer.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
const APPLICATION: &str = "result-application.json";

/// A directory, and what stands in it.
pub(super) struct Place<'a> {
    pub(super) directory: &'a Arc<dyn Directory>,
    /// From the root of the file system.
    pub(super) path: PathBuf,
    pub(super) names: &'a [String],
    pub(super) host: &'a Host,
}

impl Place<'_> {
    fn has(&self, name: &str) -> bool {
        self.names.binary_search_by(|known| known.as_str().cmp(name)).is_ok()
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.directory.read_and_close(name, MAX_BYTES, &mut bytes) {
            Ok(file) if file.oversized => Err(unreadable(name, io::ErrorKind::FileTooLarge.into())),
            Ok(_) => Ok(bytes),
            Err(error) => Err(unreadable(name, error)),
        }
    }
}

/// A file's name in its directory, its kind, and what it is worth.
type Found = (String, &'static str, Result<Judged>);

/// Judges one name; nothing where no domain knows it. The files of one journal are judged together.
pub(super) fn judge(place: &Place<'_>, name: &str) -> Vec<Found> {
    if staging::is_staged(name) {
        let metadata = place.directory.metadata(name).map_err(|error| unreadable(name, error));
        return vec![(
            name.to_owned(),
            "staging",
            metadata.map(|metadata| staging::judge(&metadata, place.host)),
        )];
    }
    let one = |kind, judged| vec![(name.to_owned(), kind, judged)];
    match name {
        harness_state::RECORD => one("record", record(place, name)),
        harness_state::FLOOR => one("floor", floor(place)),
        harness_state::LOCK | EXECUTION_LOCK | PUBLICATION_LOCK | HEALTH_LOCK => {
            one("lock", regular(place, name))
        }
        harness_state::LEASE => one("lease", regular(place, name)),
        harness_state::LOG => one("log", regular(place, name)),
        LEDGER => one("ledger", ledger(place, name)),
        JOB => one("job", job::read(&**place.directory).map(|_| Judged::whole())),
        job::LATEST_RUN => one("latest-run", latest_run(place, name)),
        journal::LOG => one("journal", journal(place)),
        CHECKPOINT if !place.has(journal::LOG) => one("journal", journal(place)),
        LOG_META => one("projection", projection(place)),
        RESULT => one("result", versioned(place, name, "result")),
        APPLICATION => one("application", versioned(place, name, "application")),
        LOCAL_OUTPUT => one("local-output", versioned(place, name, "local-output")),
        OUTPUT_QUEUE => one("queue", queue(place)),
        _ => other(place, name),
    }
}

/// What is known by where it stands, or by its first bytes.
fn other(place: &Place<'_>, name: &str) -> Vec<Found> {
    let one = |kind, judged| vec![(name.to_owned(), kind, judged)];
    let stem = name.strip_suffix(".json");
    if place.path.file_name().is_some_and(|parent| parent == controls::CONTROLS) && stem.is_some() {
        return one("control", versioned(place, name, "control"));
    }
    let is_a_scope = |stem: &str| stem.len() == 64 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
    if place.has(HEALTH_LOCK) && stem.is_some_and(is_a_scope) {
        return one(
            "health",
            place.bytes(name).and_then(|bytes| HealthRecord::parse(&bytes)).map(|_| Judged::whole()),
        );
    }
    if is_sqlite(place, name) {
        return match check_store(place.path.join(name), place.host) {
            // Another program's.
            Ok(None) => Vec::new(),
            Ok(Some(found)) => one("claims", Ok(claims(&found))),
            Err(error) => one("claims", Err(error)),
        };
    }
    Vec::new()
}

fn record(place: &Place<'_>, name: &str) -> Result<Judged> {
    let bytes = place.bytes(name)?;
    let remedy = "claim the seat again; readers take it for unknown until then";
    match harness_state::decode(&bytes) {
        Err(malformed) => Ok(Judged::new(Verdict::Corrupt, malformed.to_string(), remedy)),
        Ok(record) if !Options::default().accepts(&record.schema) => {
            let detail = format!(
                "its schema is another, schema=`{}`",
                record.schema.replace(char::is_control, "\u{FFFD}")
            );
            let remedy = "let writer and reader be of the same version, or claim the seat again";
            Ok(Judged::new(Verdict::ForeignVersion, detail, remedy))
        }
        Ok(_) => Ok(Judged::whole()),
    }
}

fn floor(place: &Place<'_>) -> Result<Judged> {
    let floor = harness_state::floor_damage(&**place.directory)
        .map_err(|error| unreadable(harness_state::FLOOR, error))?;
    let remedy = "claim the seat again: the claim counts on from the record";
    Ok(floor.map_or_else(Judged::whole, |damage| Judged::new(Verdict::Corrupt, damage, remedy)))
}

/// A file whose content decides nothing, and which has to be a file.
fn regular(place: &Place<'_>, name: &str) -> Result<Judged> {
    let metadata = place.directory.metadata(name).map_err(|error| unreadable(name, error))?;
    let remedy = "stop every writer, remove what stands there, and start again";
    Ok(match metadata.file_type {
        FileType::Regular => Judged::whole(),
        _ => Judged::new(Verdict::Corrupt, "it is no regular file", remedy),
    })
}

fn ledger(place: &Place<'_>, name: &str) -> Result<Judged> {
    let ledger = Ledger::parse(&place.bytes(name)?)?;
    ledger.check_cursors()?;
    let Some(unresolved) = ledger.unresolved() else { return Ok(Judged::whole()) };
    let detail =
        format!("whole; an operation's acceptance is unknown, operation=`{}`", unresolved.operation_id);
    Ok(Judged { detail: Some(detail), ..Judged::whole() })
}

fn latest_run(place: &Place<'_>, name: &str) -> Result<Judged> {
    let bytes = place.bytes(name)?;
    let is_id = std::str::from_utf8(&bytes).is_ok_and(keys::is_id);
    let remedy = "restore the file from the matching backup; the next local run writes it anew";
    Ok(if is_id { Judged::whole() } else { Judged::new(Verdict::Corrupt, "it names no run", remedy) })
}

fn journal(place: &Place<'_>) -> Result<Judged> {
    let (mut gaps, mut corrupt, mut first) = (0_u64, 0_u64, None);
    let checked = journal::check_with(&place.path, place.host, &mut |gap| {
        let is_corrupt = gap.reason == GapReason::CorruptRecord;
        *(if is_corrupt { &mut corrupt } else { &mut gaps }) += 1;
        if is_corrupt || first.is_none() {
            first = first.take().filter(|(was_corrupt, _)| *was_corrupt).or(Some((is_corrupt, gap)));
        }
    })?;
    let detail = format!("records=`{}` gaps=`{gaps}` corrupt=`{corrupt}`", checked.records);
    let at = first.map(|(_, gap)| format!(" first=`{}-{}` reason=`{}`", gap.from, gap.to, gap.reason.word()));
    let detail = detail + &at.unwrap_or_default();
    if corrupt > 0 {
        let remedy =
            "keep the file and restore the matching backup of the run; the records around it can be read";
        return Ok(Judged::new(Verdict::Corrupt, detail, remedy));
    }
    if gaps > 0 {
        return Ok(Judged::new(
            Verdict::Gap,
            detail,
            "nothing brings back what is missing; show it as missing",
        ));
    }
    if let Some(pending) = checked.pending {
        let detail =
            format!("{detail}; a batch was announced, records=`{}` kept=`{}`", pending.records, pending.kept);
        return Ok(Judged::new(Verdict::Pending, detail, "nothing: the next append recovers it"));
    }
    Ok(Judged { detail: Some(detail), ..Judged::whole() })
}

fn projection(place: &Place<'_>) -> Result<Judged> {
    let window = LogReader::open(&place.path, place.host)?.tail()?;
    let is_index_missing = window.rows.iter().any(|row| row.id.is_none());
    if !is_index_missing {
        return Ok(Judged::whole());
    }
    let detail = "the index of the lines is missing, or does not fit them";
    Ok(Judged::new(Verdict::Gap, detail, "let the projection catch up: it is made of the journal"))
}

/// One JSON object with the version of its kind.
fn versioned(place: &Place<'_>, name: &str, kind: &'static str) -> Result<Judged> {
    let value = std::str::from_utf8(&place.bytes(name)?).ok().and_then(|text| Value::parse(text).ok());
    let Some(Value::Object(object)) = value else {
        let remedy = "keep the file and restore the matching backup";
        return Ok(Judged::new(Verdict::Corrupt, "it is no JSON object", remedy));
    };
    let none = Value::Null;
    journal::check_version(kind, object.get("version").unwrap_or(&none)).map(|()| Judged::whole())
}

fn queue(place: &Place<'_>) -> Result<Judged> {
    journal::OutputQueue::open(&place.path, place.host)?.runs().map(|_| Judged::whole())
}

fn is_sqlite(place: &Place<'_>, name: &str) -> bool {
    let is_file = place.directory.metadata(name).is_ok_and(|found| found.file_type == FileType::Regular);
    let mut first = [0_u8; SQLITE.len()];
    is_file
        && place
            .directory
            .open_data(name, crate::storage::DataAccess::Read)
            .and_then(|file| file.read_at(0, &mut first))
            .is_ok_and(|read| read == first.len() && first == SQLITE)
}

fn claims(found: &crate::idempotency::CheckedStore) -> Judged {
    let counts =
        format!("reserved=`{}` marked=`{}` finished=`{}`", found.reserved, found.marked, found.finished);
    if found.damaged > 0 || found.damage.is_some() {
        let damage = found.damage.as_ref().map(|damage| format!("; {damage}")).unwrap_or_default();
        let detail = format!("{counts} damaged=`{}`{damage}", found.damaged);
        let remedy =
            "keep the file and restore the store from a backup, or make a new one once no create is running";
        return Judged::new(Verdict::Corrupt, detail, remedy);
    }
    Judged { detail: Some(counts), ..Judged::whole() }
}

fn unreadable(name: &str, error: io::Error) -> Error {
    let message = format!("the file cannot be read, file=`{name}`");
    Error::new(Code::ExecutionIo, message)
        .with_source(error)
        .with_remedy("look at the disk and at the file's rights")
}
