//! `verification.json`: what was run, what came of it, and in which sandbox (EX-VER-05, EX-VER-06, EX-VER-30).
//!
//! It is replaced whole and durably: before the first command, after each command, and at the end. All of it is redacted.
//! Whether a command succeeded is said by its exit alone; nothing of what a provider says is in here (EX-VER-07).

use std::io;
use std::sync::Arc;

use super::command::ApprovedCommands;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::json::{Object, Value};
use crate::storage::{self, Directory, Durability, Replacement, StagedNames};

/// The evidence's name in a run's directory.
pub const EVIDENCE: &str = "verification.json";
/// The version that this library writes and reads.
pub const VERSION: u64 = 1;
/// A thousand commands with all their output, in JSON's longest form, are shorter.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Why publication does not go on (EX-VER-17). The coordinator's lane begins here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// `dirty`, `revision-changed`, `command-failed`, `verification-sandbox-unavailable` or `verification-interrupted`.
    pub reason: &'static str,
    /// Milliseconds since 1970.
    pub blocked_at: u64,
    /// What it is about, in one line, redacted.
    pub detail: String,
    /// What to do about it.
    pub remedy: &'static str,
}

/// One command that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandEvidence {
    /// Its text, redacted.
    pub command: String,
    /// Its exit status; none where it is not known (EX-VER-05).
    pub exit_code: Option<i32>,
    /// Milliseconds since 1970.
    pub started_at: u64,
    /// Milliseconds since 1970.
    pub ended_at: u64,
    /// What it has printed, redacted and then cut.
    pub output: String,
    /// Whether it printed more than is kept.
    pub truncated: bool,
    /// Why there is no exit status: `timeout`, `aborted`, or `io` for a failure of what runs commands.
    pub failure: Option<&'static str>,
}

/// Evidence of one verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The commit that is verified.
    pub revision: String,
    /// The hash of the approved source of the commands.
    pub source_hash: String,
    /// The hash of the list of commands.
    pub list_hash: String,
    /// `{driver, probe}`.
    pub sandbox: Value,
    /// Milliseconds since 1970.
    pub started_at: u64,
    /// When all of it was over and the private profile gone; none before.
    pub ended_at: Option<u64>,
    /// The commands that have run, in their order.
    pub commands: Vec<CommandEvidence>,
    /// Why it is no success.
    pub blocked: Option<Block>,
}

impl Evidence {
    /// The evidence as it stands on disk.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let commands = self.commands.iter().map(|command| self.command(command)).collect::<Vec<_>>();
        let blocked = self.blocked.as_ref().map_or(Value::Null, |block| {
            object([
                ("reason", Value::from(block.reason)),
                ("blockedAt", Value::from(block.blocked_at)),
                ("detail", Value::from(block.detail.as_str())),
                ("remedy", Value::from(block.remedy)),
            ])
        });
        object([
            ("version", Value::from(VERSION)),
            ("revision", Value::from(self.revision.as_str())),
            ("sourceHash", Value::from(self.source_hash.as_str())),
            ("listHash", Value::from(self.list_hash.as_str())),
            ("sandbox", self.sandbox.clone()),
            ("startedAt", Value::from(self.started_at)),
            ("endedAt", self.ended_at.map_or(Value::Null, Value::from)),
            ("commands", Value::from(commands)),
            ("blocked", blocked),
        ])
    }

    fn command(&self, command: &CommandEvidence) -> Value {
        object([
            ("command", Value::from(command.command.as_str())),
            ("exitCode", command.exit_code.map_or(Value::Null, |code| Value::from(i64::from(code)))),
            ("startedAt", Value::from(command.started_at)),
            ("endedAt", Value::from(command.ended_at)),
            ("revision", Value::from(self.revision.as_str())),
            ("output", Value::from(command.output.as_str())),
            ("truncated", Value::from(command.truncated)),
            ("failure", command.failure.map_or(Value::Null, Value::from)),
            ("sandbox", self.sandbox.clone()),
        ])
    }
}

/// Whether saved evidence is the whole success of these commands at this commit: every command of the approved list, in its
/// order, with exit status 0, and nothing that blocks (EX-ART-42). An empty list is complete without a command, and claims no
/// test (EX-VER-19).
#[must_use]
pub fn is_complete(evidence: &Value, commands: &ApprovedCommands, applied_head: &str) -> bool {
    let says = |name: &str, wanted: &str| evidence.get(name).and_then(Value::as_str) == Some(wanted);
    let succeeded = |command: &Value| {
        command.get("exitCode").and_then(Value::as_number).and_then(crate::json::Number::as_i64) == Some(0)
            && command.get("revision").and_then(Value::as_str) == Some(applied_head)
            && has_provenance(command)
    };
    let run = evidence.get("commands").and_then(Value::as_array);
    is_supported(evidence)
        && says("revision", applied_head)
        && says("sourceHash", commands.source_hash())
        && says("listHash", &commands.list_hash())
        && evidence.get("endedAt").is_some_and(|at| at.as_number().is_some())
        && evidence.get("blocked").is_some_and(Value::is_null)
        && run.is_some_and(|run| run.len() == commands.commands().len() && run.iter().all(succeeded))
}

/// Whether evidence, or one command of it, names the driver of a sandbox and a probe of it that passed (EX-VER-30).
#[must_use]
pub fn has_provenance(evidence: &Value) -> bool {
    let sandbox = evidence.get("sandbox");
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    !text(sandbox.and_then(|sandbox| sandbox.get("driver"))).is_empty()
        && text(sandbox.and_then(|sandbox| sandbox.get("probe")?.get("status"))) == "passed"
}

fn is_supported(evidence: &Value) -> bool {
    evidence.get("version").and_then(Value::as_number).and_then(crate::json::Number::as_u64) == Some(VERSION)
}

/// Reads a run's evidence; none where there is none.
///
/// # Errors
/// `EXECUTION_IO` for whatever is not a missing file, and for one that is no JSON object.
pub fn read(run: &dyn Directory) -> Result<Option<Value>> {
    let mut bytes = Vec::new();
    let failed = || Error::new(Code::ExecutionIo, "verification.json cannot be read");
    match run.read_and_close(EVIDENCE, MAX_BYTES, &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed().with_source(error)),
        Ok(file) if file.oversized => Err(failed()),
        Ok(_) => {
            let value = std::str::from_utf8(&bytes).ok().and_then(|text| Value::parse(text).ok());
            value.filter(|value| value.as_object().is_some()).map(Some).ok_or_else(failed)
        }
    }
}

/// Saves evidence in a run's directory.
#[derive(Debug)]
pub(super) struct EvidenceFile {
    run: Arc<dyn Directory>,
    names: StagedNames,
}

impl EvidenceFile {
    pub(super) fn new(run: Arc<dyn Directory>, host: &Host) -> EvidenceFile {
        EvidenceFile { run, names: StagedNames::new(host) }
    }

    pub(super) fn read(&self) -> Result<Option<Value>> {
        read(&*self.run)
    }

    /// Once this has returned the evidence is on disk, whatever fails after it.
    pub(super) fn save(&mut self, evidence: &Evidence) -> Result<()> {
        let mut text = evidence.to_value().to_json();
        text.push('\n');
        let staged = self.names.next(".staged-");
        let replacement = Replacement {
            name: EVIDENCE,
            staged: &staged,
            bytes: text.as_bytes(),
            durability: Durability::Durable,
            keep: false,
            judged: None,
        };
        let saved = storage::publish(&*self.run, &replacement).map(drop);
        saved.map_err(|error| {
            Error::new(Code::ExecutionIo, "verification.json cannot be saved").with_source(error)
        })
    }
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::from(members.into_iter().collect::<Object>())
}
