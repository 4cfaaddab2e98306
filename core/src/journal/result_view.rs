//! `result.json`, the private collected result of a run: how it is made of a provider's reply, and what of it is shown
//! (EX-JRN-53 to EX-JRN-59).
//!
//! The private result is exact where publication reads it: identity keys, paths, hashes and text. A view is redacted
//! without an exemption, shows neither text nor diagnostics, and writes nothing.

use std::io;
use std::path::Path;

use super::error::io_error;
use super::output_state::check_member;
use super::retention::Redactions;
use super::writer::opening;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::json::{Number, Object, Value};
use crate::redaction::{Patterns, Redactor, Secrets};
use crate::storage::Directory;

/// The private result's name in a run's directory.
pub const RESULT: &str = "result.json";
const APPLICATION: &str = "result-application.json";
const VERIFICATION: &str = "verification.json";
/// The most that `resultBytes` can be set to, and as much again for what the library adds.
const MAX_BYTES: u64 = 2 * 67_108_864;

/// Members of a reply that stand in the private result as they came. All that publication compares or writes is here.
const EXACT: [&str; 11] = [
    "providerJobId",
    "turnId",
    "sessionId",
    "inputHead",
    "completedAt",
    "repo",
    "branch",
    "files",
    "pushedHead",
    "pr",
    "text",
];

/// Whose result it is, and when it was collected: what comes from the library and never from a reply (EX-OBS-26).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collected<'a> {
    /// The task.
    pub task_id: &'a str,
    /// The run.
    pub run_id: &'a str,
    /// The provider, by its public name.
    pub provider: &'a str,
    /// Milliseconds since 1970.
    pub collected_at_ms: u64,
}

/// The private result that a judged reply becomes. Diagnostics and denials are redacted, and a summary of the artifacts without
/// their text is added; everything that publication reads stays byte for byte (EX-JRN-53, EX-JRN-59). Members that no result
/// has are left out, and what the reply says in the library's own members is ignored.
#[must_use]
pub fn private_result(collected: &Collected<'_>, reply: &Object, redactor: &Redactor) -> Value {
    let mut result = Object::new();
    result.insert("version", Value::from(1_u64));
    for (name, text) in
        [("taskId", collected.task_id), ("runId", collected.run_id), ("provider", collected.provider)]
    {
        result.insert(name, Value::from(text));
    }
    for name in EXACT {
        if let Some(value) = reply.get(name) {
            result.insert(name, value.clone());
        }
    }
    if let Some(outcome) = reply.get("outcome") {
        let redacted = outcome.as_object().map_or_else(
            || redactor.value(outcome),
            |outcome| {
                let member = |(name, value): (&str, &Value)| (name.to_owned(), redactor.value(value));
                Value::from(outcome.iter().map(member).collect::<Object>())
            },
        );
        result.insert("outcome", redacted);
    }
    result.insert("artifacts", summary(reply.get("files"), redactor));
    result.insert("collectedAt", Value::from(collected.collected_at_ms));
    Value::from(result)
}

/// What happened to each path, redacted and without text; null where the reply has no manifest.
fn summary(files: Option<&Value>, redactor: &Redactor) -> Value {
    let Some(files) = files.and_then(Value::as_array) else { return Value::Null };
    let entry = |file: &Value| {
        let member = |name: &str| file.get(name).cloned().unwrap_or(Value::Null);
        let (before, after) = (member("beforeHash"), member("afterHash"));
        let change = match (before.is_null(), after.is_null()) {
            (true, _) => "create",
            (false, true) => "delete",
            (false, false) => "edit",
        };
        let shown = |value: Value| redactor.value(&value);
        let members = [
            ("path", shown(member("path"))),
            ("beforeHash", shown(before)),
            ("afterHash", shown(after)),
            ("change", Value::from(change)),
        ];
        Value::from(members.into_iter().collect::<Object>())
    };
    versioned(files.iter().map(entry).collect())
}

fn versioned(files: Vec<Value>) -> Value {
    let members = [("version", Value::from(1_u64)), ("files", Value::from(files))];
    Value::from(members.into_iter().collect::<Object>())
}

/// What the ledger says of a run, where there is a boundary.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// The settled outcome. Where there is none, the view shows what the result says.
    pub outcome: Option<Value>,
    /// The cost of the run's operation in US dollars, where it is known.
    pub cost_usd: Option<Number>,
}

/// The view of a run's result: `{outcome, cost, artifacts, application, verification}`, or none before there is a result.
/// It is redacted as a whole with these secrets, the retained ones of the run and recognised credentials (EX-JRN-54).
/// `cost` is the greater of the result's and the operation's, null where neither is known (EX-COST-12). A result of
/// before `artifacts` has null there, and its own `summary` besides, where it holds one (EX-JRN-55).
///
/// Writes nothing (EX-JRN-57), and needs no log (EX-JRN-58).
///
/// # Errors
/// `EXECUTION_UNKNOWN_RUN` where there is no such directory; `EXECUTION_VERSION` for a result or a checkpoint of another
/// package; `EXECUTION_IO` for whatever is not a missing file, and for one that is no JSON object.
pub fn result_view(
    directory: impl AsRef<Path>,
    host: &Host,
    secrets: &Secrets,
    standing: &Standing,
) -> Result<Option<Value>> {
    let run = open(directory.as_ref(), host)?;
    let redactions = Redactions::read(&*run)?;
    let secrets = redactions.with(secrets).unwrap_or_else(|| secrets.clone());
    view(&*run, &Redactor::new(&secrets, Patterns::Recognised)?, standing)
}

/// As [`result_view`], for a reader without a boundary: it knows no secrets and hides recognised credentials only
/// (EX-JRN-56).
///
/// # Errors
/// As [`result_view`].
pub fn read_run_result(directory: impl AsRef<Path>, host: &Host) -> Result<Option<Value>> {
    let run = open(directory.as_ref(), host)?;
    view(&*run, &Redactor::new(&Secrets::none(), Patterns::Recognised)?, &Standing::default())
}

fn open(directory: &Path, host: &Host) -> Result<std::sync::Arc<dyn Directory>> {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    host.files.open_to_read(directory).map_err(|error| opening(&name, directory, error))
}

fn view(run: &dyn Directory, redactor: &Redactor, standing: &Standing) -> Result<Option<Value>> {
    let Some(result) = read(run, RESULT)? else { return Ok(None) };
    check_member(&result, "result", RESULT)?;
    let application = read(run, APPLICATION)?;
    if let Some(application) = &application {
        check_member(application, "application", APPLICATION)?;
    }
    let said = result.get("outcome");
    let cost = said.and_then(|outcome| outcome.get("cost")).and_then(Value::as_number);
    let outcome = standing.outcome.as_ref().or(said);
    let mut members = vec![
        ("outcome", outcome.map_or(Value::Null, without_raw)),
        ("cost", Value::from(greater(cost, standing.cost_usd.as_ref()).map(Value::Number))),
        ("artifacts", result.get("artifacts").map_or(Value::Null, without_text)),
        ("application", Value::from(application)),
        ("verification", Value::from(read(run, VERIFICATION)?)),
    ];
    if result.get("artifacts").is_none()
        && let Some(older) = result.get("summary")
    {
        members.push(("summary", without_raw(older)));
    }
    Ok(Some(redactor.value(&Value::from(members.into_iter().collect::<Object>()))))
}

/// EX-COST-12: the maximum of what is known.
fn greater(one: Option<&Number>, other: Option<&Number>) -> Option<Number> {
    match (one, other) {
        (Some(one), Some(other)) if one.as_f64() < other.as_f64() => Some(other.clone()),
        (one, other) => one.or(other).cloned(),
    }
}

/// A value without the members that hold text of files or raw diagnostics, at any depth.
fn without_raw(value: &Value) -> Value {
    match value {
        Value::Array(elements) => Value::from(elements.iter().map(without_raw).collect::<Vec<_>>()),
        Value::Object(object) => {
            let is_shown = |(name, _): &(&str, &Value)| !["text", "diagnostics", "content"].contains(name);
            let shown = object.iter().filter(is_shown);
            Value::from(shown.map(|(name, value)| (name.to_owned(), without_raw(value))).collect::<Object>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// A summary of artifacts with the members that one has, whatever else a file holds.
fn without_text(artifacts: &Value) -> Value {
    let Some(files) = artifacts.get("files").and_then(Value::as_array) else { return Value::Null };
    let names = ["path", "beforeHash", "afterHash", "change"];
    let entry = |file: &Value| {
        let member = |name: &'static str| (name, file.get(name).cloned().unwrap_or(Value::Null));
        Value::from(names.into_iter().map(member).collect::<Object>())
    };
    versioned(files.iter().map(entry).collect())
}

/// Reads a private file that is one JSON object; none where it is missing.
fn read(run: &dyn Directory, name: &str) -> Result<Option<Object>> {
    let mut bytes = Vec::new();
    match run.read(name, MAX_BYTES, &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error(&format!("{name} cannot be read"), error)),
        Ok(_) => {
            let value = std::str::from_utf8(&bytes).ok().and_then(|text| Value::parse(text).ok());
            let object = value.and_then(|value| value.as_object().cloned());
            let refusal = || Error::new(Code::ExecutionIo, format!("{name} is no JSON object"));
            object.map(Some).ok_or_else(refusal)
        }
    }
}
