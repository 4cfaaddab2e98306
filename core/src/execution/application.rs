//! `result-application.json`: how far the publication of a run's result has come (EX-ART-36, EX-ART-37), and that its collection
//! was rejected (EX-ART-60).
//!
//! The file is written by whoever publishes the run, and once by the pass that rejects its result. It is replaced whole, and
//! what it holds besides is kept.

use std::io;

use super::job::number;
use super::ledger::record::{Execution, Operation};
use super::version;
use crate::error::{Code, Error, Result};
use crate::json::{Object, Value};
use crate::storage::Directory;
use crate::words::words;

/// The checkpoint's name in a run's directory.
pub const APPLICATION: &str = "result-application.json";
/// Why a rejected collection is blocked (EX-ERR-02).
pub const REJECTED: &str = "result-collection-validation";
/// The supported version of the file.
const VERSION: u64 = 1;
/// It holds a few names and the coordinator's note of a pull request.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

words! {
    /// How far a publication has come.
    Status {
        /// Its files are being written, and committed.
        Applying = "applying",
        /// Its commands run.
        Verifying = "verifying",
        /// Its commands have succeeded at the applied head.
        Verified = "verified",
        /// It is pushed, and its pull request stands.
        Published = "published",
        /// It has ended for good without that.
        Blocked = "blocked",
    }
}

impl Status {
    /// Whether this status may follow another one (EX-ART-37). Writing the same one again is no step.
    #[must_use]
    pub const fn follows(self, before: Option<Status>) -> bool {
        match (before, self) {
            (None, Status::Applying | Status::Blocked)
            | (Some(Status::Applying), Status::Verifying)
            | (Some(Status::Verifying), Status::Verified)
            | (Some(Status::Verified), Status::Published) => true,
            (Some(before), Status::Blocked) => !matches!(before, Status::Published | Status::Blocked),
            _ => false,
        }
    }
}

/// Whose result it is: the six keys that all have to match before anything is concluded from a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerKeys([(&'static str, Value); 6]);

impl OwnerKeys {
    /// The keys of a run of a task.
    #[must_use]
    pub fn of(task_id: &str, run: &Execution, operation: &Operation) -> Self {
        let text = |text: Option<&String>| Value::from(text.map(String::as_str));
        OwnerKeys([
            ("taskId", Value::from(task_id)),
            ("runId", Value::from(run.run_id.as_str())),
            ("providerJobId", text(run.provider_job_id.as_ref())),
            ("sessionId", text(run.session_id.as_ref())),
            ("turnId", text(run.turn_id.as_ref())),
            ("inputHead", text(operation.input_head.as_ref())),
        ])
    }
}

/// A checkpoint as it stands, or as it is to stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    status: Status,
    members: Object,
}

impl Checkpoint {
    /// The first checkpoint of a publication. `fingerprint` is the hash of what is published, none where a collection is
    /// rejected; `now` is milliseconds since 1970.
    #[must_use]
    pub fn begun(owner: &OwnerKeys, fingerprint: Option<&str>, now: u64) -> Self {
        let mut members = Object::new();
        members.insert("version", number(VERSION));
        for (key, value) in &owner.0 {
            members.insert(*key, value.clone());
        }
        members.insert("status", Value::from(Status::Applying.word()));
        members.insert("fingerprint", Value::from(fingerprint));
        for key in ["appliedHead", "reason", "blockedAt", "evidence", "pr"] {
            members.insert(key, Value::Null);
        }
        members.insert("updatedAt", number(now));
        Checkpoint { status: Status::Applying, members }
    }

    /// Reads the checkpoint of a run; none where there is none.
    ///
    /// # Errors
    /// `EXECUTION_VERSION` with the reason `application`; `EXECUTION_RESULT` with the reason `foreign` for what is no checkpoint;
    /// `EXECUTION_IO`.
    pub fn read(run: &dyn Directory) -> Result<Option<Self>> {
        let mut bytes = Vec::new();
        match run.read_and_close(APPLICATION, MAX_BYTES, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let message = format!("{APPLICATION} cannot be read");
                return Err(Error::new(Code::ExecutionIo, message).with_source(error));
            }
            Ok(_) => {}
        }
        let value = std::str::from_utf8(&bytes).ok().and_then(|text| Value::parse(text).ok());
        let Some(Value::Object(members)) = value else { return Err(no_checkpoint()) };
        version::check("application", APPLICATION, members.get("version"), VERSION)?;
        let status = members.get("status").and_then(Value::as_str).and_then(Status::from_word);
        let status = status.ok_or_else(no_checkpoint)?;
        Ok(Some(Checkpoint { status, members }))
    }

    /// The file's text.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = Value::Object(self.members.clone()).to_json();
        text.push('\n');
        text
    }

    /// How far it has come.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// Why it is blocked.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.text("reason")
    }

    /// The revision that the result has become.
    #[must_use]
    pub fn applied_head(&self) -> Option<&str> {
        self.text("appliedHead")
    }

    /// The hash of what is published.
    #[must_use]
    pub fn fingerprint(&self) -> Option<&str> {
        self.text("fingerprint")
    }

    /// A member, null where it is missing.
    #[must_use]
    pub fn member(&self, key: &str) -> Value {
        self.members.get(key).cloned().unwrap_or(Value::Null)
    }

    /// Whether all six keys are these, byte for byte (EX-ART-63).
    #[must_use]
    pub fn is_owned_by(&self, owner: &OwnerKeys) -> bool {
        owner.0.iter().all(|(key, own)| self.members.get(key).unwrap_or(&Value::Null) == own)
    }

    /// The checkpoint with its next status, and with these members set. Everything else stays as it is.
    ///
    /// # Errors
    /// `EXECUTION_RESULT` with the reason `not-publishable` for a step backwards (EX-ART-37).
    pub fn advanced<const N: usize>(
        &self,
        status: Status,
        members: [(&'static str, Value); N],
        now: u64,
    ) -> Result<Self> {
        if !status.follows(Some(self.status)) {
            let message = format!(
                "a publication goes only forward, from=`{}` to=`{}`",
                self.status.word(),
                status.word()
            );
            return Err(Error::new(Code::ExecutionResult, message).with_reason("not-publishable"));
        }
        let mut next = self.clone();
        next.status = status;
        next.members.insert("status", Value::from(status.word()));
        for (key, value) in members {
            next.members.insert(key, value);
        }
        next.members.insert("updatedAt", number(now));
        Ok(next)
    }

    /// The checkpoint as blocked, with a word for what exactly is wrong, which holds nothing of the result. An earlier fingerprint, applied head and evidence stay (EX-ART-46).
    ///
    /// # Errors
    /// As [`Checkpoint::advanced`].
    pub fn blocked(&self, reason: &str, detail: Option<&str>, now: u64) -> Result<Self> {
        let members = [("reason", Value::from(reason)), ("blockedAt", number(now))];
        let mut blocked = self.advanced(Status::Blocked, members, now)?;
        if let Some(detail) = detail {
            blocked.members.insert("detail", Value::from(detail));
        }
        Ok(blocked)
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.members.get(key).and_then(Value::as_str)
    }
}

fn no_checkpoint() -> Error {
    Error::new(Code::ExecutionResult, format!("{APPLICATION} is no checkpoint of a publication"))
        .with_reason("foreign")
        .with_remedy("keep the file, and restore the run's own checkpoint from a backup; do not dispatch")
}
