//! Which file is judged how.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Judged, Verdict};
use super::{seat, staging};
use crate::error::{Code, Error, Result};
use crate::execution::health::HealthRecord;
use crate::execution::health_store::HEALTH_LOCK;
use crate::execution::ledger::file::{JOB, LEDGER};
use crate::execution::ledger::lock::{EXECUTION_LOCK, PUBLICATION_LOCK};
use crate::execution::ledger::record::Execution;
use crate::execution::{Ledger, controls, job, keys};
use crate::harness_state;
use crate::host::Host;
use crate::idempotency::check_store;
use crate::journal::{
    self, CHECKPOINT, GapReason, INDEX, LOCAL_OUTPUT, LOG_META, OUTPUT_QUEUE, PROJECTED, RESULT,
};
use crate::json::Value;
use crate::local_runner::{EXIT, RunSession, SESSION};
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
    /// What is no directory, sorted.
    pub(super) names: &'a [String],
    /// The directories, sorted.
    pub(super) directories: &'a [String],
    pub(super) host: &'a Host,
}

impl Place<'_> {
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.binary_search_by(|known| known.as_str().cmp(name)).is_ok()
    }

    pub(super) fn has_directory(&self, name: &str) -> bool {
        self.directories.binary_search_by(|known| known.as_str().cmp(name)).is_ok()
    }

    pub(super) fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.directory.read_and_close(name, MAX_BYTES, &mut bytes) {
            Ok(file) if file.oversized => Err(unreadable(name, io::ErrorKind::FileTooLarge.into())),
            Ok(_) => Ok(bytes),
            Err(error) => Err(unreadable(name, error)),
        }
    }
}

/// A file's name in its directory, its kind, and what it is worth.
pub(super) type Found = (String, &'static str, Result<Judged>);

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
        harness_state::RECORD => one("record", seat::record(place, name)),
        harness_state::FLOOR => one("floor", seat::floor(place)),
        harness_state::LOCK | EXECUTION_LOCK | PUBLICATION_LOCK | HEALTH_LOCK => {
            one("lock", seat::regular(place, name))
        }
        harness_state::LEASE => one("lease", seat::lease(place)),
        harness_state::LOG => one("log", seat::regular(place, name)),
        LEDGER => {
            let read = ledger(place, name);
            let gone = read.as_ref().map(|(ledger, _)| gone_runs(place, ledger)).unwrap_or_default();
            let mut found = one("ledger", read.map(|(_, judged)| judged));
            found.extend(gone);
            found
        }
        JOB => one("job", job::read(&**place.directory).map(|_| Judged::whole())),
        job::LATEST_RUN => one("latest-run", latest_run(place, name)),
        journal::LOG => one("journal", journal(place)),
        CHECKPOINT if !place.has(journal::LOG) => one("journal", journal(place)),
        LOG_META => one("projection", projection(place)),
        RESULT => one("result", versioned(place, name, "result")),
        APPLICATION => one("application", versioned(place, name, "application")),
        LOCAL_OUTPUT => one("local-output", versioned(place, name, "local-output")),
        OUTPUT_QUEUE => one("queue", queue(place)),
        // Others use these names too; a run's directory has a job record.
        EXIT if place.has(JOB) => one("exit", exit(place)),
        SESSION if place.has(JOB) => one("session", session(place)),
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

/// Where something of ours has to stand as a file, and a directory does: its kind, and what it is worth.
pub(super) fn judge_directory(name: &str) -> Option<Found> {
    let kind = match name {
        harness_state::RECORD => "record",
        harness_state::FLOOR => "floor",
        harness_state::LEASE => "lease",
        harness_state::LOG => "log",
        harness_state::LOCK | EXECUTION_LOCK | PUBLICATION_LOCK | HEALTH_LOCK => "lock",
        LEDGER => "ledger",
        JOB => "job",
        job::LATEST_RUN => "latest-run",
        journal::LOG | CHECKPOINT => "journal",
        LOG_META | PROJECTED | INDEX => "projection",
        _ => return None,
    };
    let remedy = "stop every writer, move it away, and restore the matching backup or start again";
    Some((
        name.to_owned(),
        kind,
        Ok(Judged::new(Verdict::Corrupt, "a directory stands in the file's place", remedy)),
    ))
}

/// What has to stand in a directory by what else stands there, and does not.
pub(super) fn missing(place: &Place<'_>) -> Option<Found> {
    seat::missing(place).map(|(name, kind, judged)| (name.to_owned(), kind, Ok(judged)))
}

fn ledger(place: &Place<'_>, name: &str) -> Result<(Ledger, Judged)> {
    let ledger = Ledger::parse(&place.bytes(name)?)?;
    ledger.check_cursors()?;
    let detail = ledger.unresolved().map(|unresolved| {
        format!("whole; an operation's acceptance is unknown, operation=`{}`", unresolved.operation_id)
    });
    Ok((ledger, Judged { detail, ..Judged::whole() }))
}

/// The runs of a ledger that somebody has taken on and whose directories are not there. That of a run whose acceptance is
/// unknown or that is settled as absent need not be made yet, or any more.
fn gone_runs(place: &Place<'_>, ledger: &Ledger) -> Vec<Found> {
    let is_begun = |run: &Execution| run.provider_job_id.is_some() && !run.absent;
    let gone = ledger.executions.records().filter(|run| is_begun(run) && !place.has_directory(&run.run_id));
    gone.map(|run| {
        let detail = "the ledger names the run, and its directory is not there";
        let remedy = "restore the matching backup of the task: what the run has said and made is in it alone";
        (run.run_id.clone(), "run", Ok(Judged::new(Verdict::Missing, detail, remedy)))
    })
    .collect()
}

/// How a harness ended; whose end it is only the job record's process can say.
fn exit(place: &Place<'_>) -> Result<Judged> {
    let value = object(place, EXIT)?;
    let remedy = "keep the file: how the harness ended is not known, and the run settles as `exit-unknown`";
    let is_member = |value: &Value, key: &str| {
        value.get(key).is_some_and(|member| match key {
            "started" => member.as_bool().is_some(),
            "identity" => member.as_str().is_some(),
            _ => member.as_number().and_then(crate::json::Number::as_u64).is_some(),
        })
    };
    Ok(match value {
        None => Judged::new(Verdict::Corrupt, "it is no JSON object", remedy),
        Some(value) if !is_of_version_1(&value) => other_version(),
        Some(value) if ["pid", "identity", "started", "endedAt"].iter().all(|key| is_member(&value, key)) => {
            Judged::whole()
        }
        Some(_) => Judged::new(Verdict::Corrupt, "a member is missing or of another type", remedy),
    })
}

/// The session of a run, as whoever speaks for it later reads it.
fn session(place: &Place<'_>) -> Result<Judged> {
    let remedy = "keep the file: nobody can speak for the session any more; claim its seat again";
    Ok(match object(place, SESSION)? {
        None => Judged::new(Verdict::Corrupt, "it is no JSON object", remedy),
        Some(value) if !is_of_version_1(&value) => other_version(),
        Some(_) => match RunSession::read(&**place.directory).map_err(|error| unreadable(SESSION, error))? {
            Some(_) => Judged::whole(),
            None => Judged::new(Verdict::Corrupt, "a member is missing or of another type", remedy),
        },
    })
}

fn object(place: &Place<'_>, name: &str) -> Result<Option<Value>> {
    let value = std::str::from_utf8(&place.bytes(name)?).ok().and_then(|text| Value::parse(text).ok());
    Ok(value.filter(|value| matches!(value, Value::Object(_))))
}

fn is_of_version_1(value: &Value) -> bool {
    value.get("version").and_then(Value::as_number).and_then(crate::json::Number::as_u64) == Some(1)
}

fn other_version() -> Judged {
    Judged::new(
        Verdict::ForeignVersion,
        "its version is another",
        "let writer and reader be of the same version",
    )
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
    Ok(match journal::check_projection(&place.path, place.host)? {
        None => Judged::whole(),
        Some(damage) if damage.mends_itself => {
            let remedy = "let the projection catch up: it is made of the journal";
            Judged::new(Verdict::Gap, damage.what, remedy)
        }
        Some(damage) => {
            let remedy = "while nobody writes remove job.log, job.idx and log-meta.json: the next catch-up makes them of the journal";
            Judged::new(Verdict::Corrupt, damage.what, remedy)
        }
    })
}

/// One JSON object with the version of its kind.
fn versioned(place: &Place<'_>, name: &str, kind: &'static str) -> Result<Judged> {
    let Some(value) = object(place, name)? else {
        let remedy = "keep the file and restore the matching backup";
        return Ok(Judged::new(Verdict::Corrupt, "it is no JSON object", remedy));
    };
    let none = Value::Null;
    journal::check_version(kind, value.get("version").unwrap_or(&none)).map(|()| Judged::whole())
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

pub(super) fn unreadable(name: &str, error: io::Error) -> Error {
    let message = format!("the file cannot be read, file=`{name}`");
    Error::new(Code::ExecutionIo, message)
        .with_source(error)
        .with_remedy("look at the disk and at the file's rights")
}
