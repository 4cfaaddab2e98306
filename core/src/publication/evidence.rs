//! `verification.json`: what the commands of a verification have come to (EX-VER-05). Written after each of them, and judged when
//! a verified result is published by a later call.

use crate::error::{Code, Error, Result};
use crate::json::{Object, Value};
use crate::storage::Directory;

/// The evidence's name in a run's directory.
pub const VERIFICATION: &str = "verification.json";
const VERSION: u64 = 1;
/// As many commands as fit; the output of one is cut at 262,144 bytes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The evidence of one verification, as far as it has come.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    revision: String,
    commands_hash: String,
    sandbox: Value,
    commands: Vec<Value>,
}

/// What evidence proves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Proof {
    /// Success of every approved command at the revision.
    pub(super) complete: bool,
    /// Driver and probe of a sandbox, for each of them (EX-VER-30).
    pub(super) provenance: bool,
}

impl Evidence {
    /// Evidence without a command yet. `sandbox` is `{driver, probe}`.
    pub(super) fn begun(revision: &str, commands_hash: &str, sandbox: Value) -> Self {
        let (revision, commands_hash) = (revision.to_owned(), commands_hash.to_owned());
        Evidence { revision, commands_hash, sandbox, commands: Vec::new() }
    }

    /// Adds what a command has come to: `{exitCode, startedAt, endedAt, output, truncated}`, of which everything else is left
    /// out. A command that ended in no answer has an unknown exit.
    pub(super) fn add(&mut self, command: &str, said: Option<&Value>) {
        let member = |key: &str| said.and_then(|said| said.get(key)).cloned().unwrap_or(Value::Null);
        let members = [
            ("command", Value::from(command)),
            ("exitCode", member("exitCode")),
            ("startedAt", member("startedAt")),
            ("endedAt", member("endedAt")),
            ("revision", Value::from(self.revision.as_str())),
            ("output", member("output")),
            ("truncated", member("truncated")),
            ("sandbox", self.sandbox.clone()),
        ];
        self.commands.push(Value::Object(members.into_iter().collect()));
    }

    /// The file's text.
    pub(super) fn encode(&self) -> String {
        let members = [
            ("version", Value::from(VERSION)),
            ("revision", Value::from(self.revision.as_str())),
            ("commandsHash", Value::from(self.commands_hash.as_str())),
            ("sandbox", self.sandbox.clone()),
            ("commands", Value::from(self.commands.clone())),
        ];
        let mut text = Value::Object(members.into_iter().collect::<Object>()).to_json();
        text.push('\n');
        text
    }
}

/// Whether the sandbox that an answer names has a driver and a probe.
pub(super) fn is_provenance(sandbox: &Value) -> bool {
    ["driver", "probe"].iter().all(|key| match sandbox.get(key) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    })
}

/// Reads the evidence of a run and judges it against what was approved. What is missing or makes no sense proves nothing.
///
/// # Errors
/// `EXECUTION_IO` where the file cannot be read.
pub(super) fn prove(
    run: &dyn Directory,
    revision: &str,
    commands: &[String],
    commands_hash: &str,
) -> Result<Proof> {
    let mut bytes = Vec::new();
    match run.read_and_close(VERIFICATION, MAX_BYTES, &mut bytes) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Proof::default()),
        Err(error) => {
            return Err(Error::new(Code::ExecutionIo, "verification.json cannot be read").with_source(error));
        }
        Ok(_) => {}
    }
    let value = std::str::from_utf8(&bytes).ok().and_then(|text| Value::parse(text).ok());
    let Some(value) = value else { return Ok(Proof::default()) };
    let is = |value: &Value, key: &str, text: &str| value.get(key).and_then(Value::as_str) == Some(text);
    let empty = Value::Null;
    let ran = value.get("commands").and_then(Value::as_array).unwrap_or_default();
    let is_well = |(ran, command): (&Value, &String)| {
        is(ran, "command", command)
            && is(ran, "revision", revision)
            && ran.get("exitCode").and_then(Value::as_number).is_some_and(|exit| exit.as_str() == "0")
    };
    let version = value.get("version").and_then(Value::as_number);
    Ok(Proof {
        complete: version.is_some_and(|version| version.as_u64() == Some(VERSION))
            && is(&value, "revision", revision)
            && is(&value, "commandsHash", commands_hash)
            && ran.len() == commands.len()
            && ran.iter().zip(commands).all(is_well),
        provenance: is_provenance(value.get("sandbox").unwrap_or(&empty))
            && ran.iter().all(|ran| is_provenance(ran.get("sandbox").unwrap_or(&empty))),
    })
}
