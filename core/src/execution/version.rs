//! Whether a file has the version that this package supports (EX-UPG-06 to EX-UPG-11).

use crate::error::{Code, Error, Result};
use crate::json::Value;

/// The kinds of files that have a version (EX-UPG-06).
pub const FILE_KINDS: [&str; 9] =
    ["ledger", "health", "queue", "journal", "log-meta", "local-output", "control", "result", "application"];

/// Refuses a file whose `version` is not the supported one. A missing version, a string and a fraction are none. To be asked
/// before anything else of the content is looked at.
///
/// # Errors
/// `EXECUTION_VERSION` with the kind as its reason and a remedy that names both versions.
pub fn check(kind: &'static str, file: &str, found: Option<&Value>, supported: u64) -> Result<()> {
    match found {
        Some(Value::Number(number)) if number.as_str() == supported.to_string() => Ok(()),
        found => Err(unsupported(kind, file, &found.map_or_else(|| "none".to_owned(), shown), supported)),
    }
}

fn unsupported(kind: &'static str, file: &str, found: &str, supported: u64) -> Error {
    let message = format!("{file} has an unsupported version, found=`{found}` supported=`{supported}`");
    let remedy = format!(
        "install the package that reads {kind} version {found} (this one reads {supported}), or restore the matching \
         backup; a new dispatch is not a migration"
    );
    Error::new(Code::ExecutionVersion, message).with_reason(kind).with_remedy(remedy)
}

/// A version as a message may show it.
fn shown(version: &Value) -> String {
    match version {
        Value::Number(number) => number.as_str().chars().take(32).collect(),
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) | Value::Object(_) => "a structure".to_owned(),
    }
}
