//! `exit.json` in a run's directory: how the harness ended, as the supervisor has recorded it (EX-LOC-16).

use std::io;

use crate::json::{Number, Value};
use crate::process::RecordedProcess;
use crate::storage::Directory;

/// The record's name.
pub const EXIT: &str = "exit.json";

/// It has a few short members.
const MAX_BYTES: u64 = 65_536;

/// How a harness ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ExitRecord {
    /// Whether it was started at all: the launcher may have died before it could say so.
    pub was_started: bool,
    /// Its exit status; none where a signal ended it.
    pub exit: Option<i64>,
    /// The signal that ended it, by its name; null where none did.
    pub signal: Value,
    /// When it ended, in milliseconds since 1970.
    pub ended_at: u64,
    /// When the last process below the supervisor had ended; none where that was not recorded.
    pub tree_ended_at: Option<u64>,
}

impl ExitRecord {
    /// What is recorded of exactly this harness; none where nothing is, or of another one, or nothing that can be understood.
    ///
    /// # Errors
    /// As the system says it, but for a missing record.
    pub fn read(run: &dyn Directory, harness: &RecordedProcess) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        match run.read_and_close(EXIT, MAX_BYTES, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map(drop)?,
        }
        let value = std::str::from_utf8(&bytes).ok().and_then(|text| Value::parse(text).ok());
        Ok(value.and_then(|value| ExitRecord::parse(&value, harness)))
    }

    fn parse(value: &Value, harness: &RecordedProcess) -> Option<Self> {
        let number = |key: &str| value.get(key).and_then(Value::as_number);
        let is_own = number("pid").and_then(Number::as_u64) == Some(u64::from(harness.pid))
            && value.get("identity").and_then(Value::as_str) == Some(&harness.identity);
        if number("version").and_then(Number::as_u64) != Some(1) || !is_own {
            return None;
        }
        Some(ExitRecord {
            was_started: value.get("started")?.as_bool()?,
            exit: number("exit").and_then(Number::as_i64),
            signal: value.get("signal").cloned().unwrap_or(Value::Null),
            ended_at: number("endedAt")?.as_u64()?,
            tree_ended_at: number("treeEndedAt").and_then(Number::as_u64),
        })
    }
}
