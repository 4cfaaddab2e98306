//! The private raw diagnostics of a local run, `provider.log` and `sensitive-redactions.json`: how long they live, and how
//! they go (EX-JRN-46 to EX-JRN-49, EX-JRN-52).
//!
//! They go only behind a durable `result.json`, and only once a gap stands for what of them was not taken in. Nothing else
//! of a run is removed, and no reader comes here.

use std::io;
use std::path::Path;

use super::error::io_error;
use super::output_state::number;
use super::result_view::RESULT;
use super::writer::opening;
use crate::error::Result;
use crate::host::Host;
use crate::json::Value;
use crate::redaction::Secrets;
use crate::storage::{Directory, FileType};

/// The raw output of a local run.
pub const PROVIDER_LOG: &str = "provider.log";
/// What has to be redacted of it.
pub const REDACTIONS: &str = "sensitive-redactions.json";
/// How long both live, in milliseconds from the start of the run (EX-JRN-46).
pub const DIAGNOSTICS_LIFE_MS: u64 = 86_400_000;

/// The job record's name; its `startedAt` tells when a run began.
const JOB: &str = "job.json";
/// Redaction data longer than this is not believed: the secrets of a run are a few texts.
const MAX_REDACTIONS_BYTES: u64 = 16 * 1024 * 1024;
/// A job record longer than this is none.
const MAX_JOB_BYTES: u64 = 1024 * 1024;

/// The private redaction data of a run, as it was found.
#[derive(Debug)]
pub(super) enum Redactions {
    /// There is none.
    Missing,
    /// It is there and cannot be used: cut off, or of another package.
    Unusable,
    /// What it says: the expiry in milliseconds since 1970, and the retained secrets.
    Known { expires_at_ms: u64, secrets: Vec<String> },
}

impl Redactions {
    /// Reads them.
    ///
    /// # Errors
    /// `EXECUTION_IO` for whatever is not a missing file.
    pub(super) fn read(run: &dyn Directory) -> Result<Self> {
        let mut bytes = Vec::new();
        match run.read(REDACTIONS, MAX_REDACTIONS_BYTES, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Redactions::Missing),
            Err(error) => Err(io_error("sensitive-redactions.json cannot be read", error)),
            Ok(file) if file.oversized => Ok(Redactions::Unusable),
            Ok(_) => Ok(Redactions::parse(&bytes).unwrap_or(Redactions::Unusable)),
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let value = Value::parse(std::str::from_utf8(bytes).ok()?).ok()?;
        let members = value.as_object()?;
        if number(members, "version") != Some(1) {
            return None;
        }
        let secrets = match members.get("secrets") {
            None => Vec::new(),
            Some(secrets) => {
                let texts = secrets.as_array()?.iter().map(|secret| secret.as_str().map(str::to_owned));
                texts.collect::<Option<_>>()?
            }
        };
        Some(Redactions::Known { expires_at_ms: number(members, "expiresAt")?, secrets })
    }

    /// Whether the two files have expired. Without usable data the start of the run tells (EX-JRN-46).
    pub(super) fn have_expired(&self, started_at_ms: u64, now_ms: u64) -> bool {
        let by_start = started_at_ms.saturating_add(DIAGNOSTICS_LIFE_MS);
        let expires_at_ms = match self {
            Redactions::Known { expires_at_ms, .. } => *expires_at_ms,
            Redactions::Missing | Redactions::Unusable => by_start,
        };
        now_ms >= expires_at_ms
    }

    /// What has to be redacted: these secrets and the retained ones. None where the retained ones are not known.
    pub(super) fn with(&self, secrets: &Secrets) -> Option<Secrets> {
        match self {
            Redactions::Known { secrets: retained, .. } => Some(secrets.and(retained)),
            Redactions::Missing | Redactions::Unusable => None,
        }
    }
}

/// Whether one of the two private files is there.
///
/// # Errors
/// `EXECUTION_IO`.
pub(super) fn has_private_files(run: &dyn Directory) -> Result<bool> {
    Ok(exists(run, PROVIDER_LOG)? || exists(run, REDACTIONS)?)
}

/// Removes the two private files of a run whose output is taken in, where they have expired and the result is durable
/// (EX-JRN-47). Answers whether one of them is still there. A removal that fails is left for a later call.
///
/// # Errors
/// `EXECUTION_IO` where the files cannot be looked at.
pub(super) fn clean_up(run: &dyn Directory, started_at_ms: u64, now_ms: u64) -> Result<bool> {
    if !has_private_files(run)? {
        return Ok(false);
    }
    let have_expired = Redactions::read(run)?.have_expired(started_at_ms, now_ms);
    // A result whose name a crash may yet take back is not durable. The sync makes it so before anything goes.
    if !have_expired || !has_result(run)? || run.sync().is_err() {
        return Ok(true);
    }
    // The redaction data goes last: while raw bytes are there, so is what they hide.
    for name in [PROVIDER_LOG, REDACTIONS] {
        match run.remove(name) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return Ok(true),
        }
    }
    // Where this fails a crash may bring the files back, and the run has to be looked at again.
    Ok(run.sync().is_err())
}

/// The runs below a root whose private files are there and have expired and whose result is durable, in the order of their
/// names (EX-JRN-52). For the clean-up by hand of what an older package dropped from the queue: nothing is removed.
///
/// # Errors
/// `EXECUTION_IO`. A run that cannot be judged, as one without a job record and without redaction data, is left out.
pub fn retention_candidates(root: impl AsRef<Path>, host: &Host) -> Result<Vec<String>> {
    let root = root.as_ref();
    let root = host.files.open_to_read(root).map_err(|error| opening("", root, error))?;
    let mut names = root.names().map_err(|error| io_error("the root cannot be listed", error))?;
    names.sort_unstable();
    let now_ms = host.clock.wall_ms();
    names.retain(|name| {
        let Ok(run) = root.open_directory(name) else { return false };
        is_candidate(&*run, now_ms).unwrap_or(false)
    });
    Ok(names)
}

fn is_candidate(run: &dyn Directory, now_ms: u64) -> Result<bool> {
    if !has_private_files(run)? || !has_result(run)? {
        return Ok(false);
    }
    let redactions = Redactions::read(run)?;
    let started_at_ms = match &redactions {
        Redactions::Known { .. } => Some(0),
        Redactions::Missing | Redactions::Unusable => started_at(run)?,
    };
    Ok(started_at_ms.is_some_and(|started_at_ms| redactions.have_expired(started_at_ms, now_ms)))
}

fn started_at(run: &dyn Directory) -> Result<Option<u64>> {
    let mut bytes = Vec::new();
    match run.read(JOB, MAX_JOB_BYTES, &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("job.json cannot be read", error)),
        Ok(_) => {
            let value = std::str::from_utf8(&bytes).ok().and_then(|text| Value::parse(text).ok());
            Ok(value.as_ref().and_then(Value::as_object).and_then(|job| number(job, "startedAt")))
        }
    }
}

fn has_result(run: &dyn Directory) -> Result<bool> {
    match run.metadata(RESULT) {
        Ok(found) => Ok(found.file_type == FileType::Regular && found.size > 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_error("result.json cannot be looked at", error)),
    }
}

fn exists(run: &dyn Directory, name: &str) -> Result<bool> {
    match run.metadata(name) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_error("the private diagnostics cannot be looked at", error)),
    }
}
