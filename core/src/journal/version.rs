//! Whether a file of a task has the version that this package supports (EX-UPG-06 to EX-UPG-11): one rule for all kinds, asked
//! before anything else of a file's content is looked at.

use crate::error::{Code, Error, Result};
use crate::json::Value;

/// The kinds of files that have a version (EX-UPG-06). The kind is the reason of the refusal.
pub const FILE_KINDS: [&str; 9] =
    ["ledger", "health", "queue", "journal", "log-meta", "local-output", "control", "result", "application"];

/// A coordinator's own registry, whose version is judged by the same rule (EX-UPG-11).
pub const REGISTRY: &str = "registry";

/// The version of `log-meta.json`; every other kind is at [`VERSION`].
pub(super) const LOG_META_VERSION: u64 = 2;
/// The supported version of every other kind.
pub(super) const VERSION: u64 = 1;

/// Judges the version that a file of this kind has, as the library judges its own files: `kind` is one of [`FILE_KINDS`], or
/// [`REGISTRY`] for a coordinator's own registry, and `found` the value of its member `version`, null where there is none.
///
/// # Errors
/// `EXECUTION_VERSION` with the kind as its reason and a remedy that names both versions: for every value but the number that
/// is supported, so for a text, a fraction and null too. `EXECUTION_INPUT` for a kind that is none.
pub fn check_version(kind: &str, found: &Value) -> Result<()> {
    let known = FILE_KINDS.into_iter().chain([REGISTRY]).find(|known| *known == kind);
    let kind = known.ok_or_else(|| {
        let kinds = FILE_KINDS.join(" ");
        let message = format!("no such kind of file, argument=`kind` known=`{kinds} {REGISTRY}`");
        Error::new(Code::ExecutionInput, message)
    })?;
    let supported = if kind == "log-meta" { LOG_META_VERSION } else { VERSION };
    check(kind, &format!("a file of kind {kind}"), Some(found).filter(|found| !found.is_null()), supported)
}

/// Judges a file's member `version`; `file` is its name as a message shows it.
///
/// # Errors
/// `EXECUTION_VERSION`, as [`check_version`].
pub(crate) fn check(kind: &'static str, file: &str, found: Option<&Value>, supported: u64) -> Result<()> {
    match found {
        // Other spellings of the number, such as 1.0, are written by no package of ours.
        Some(Value::Number(number)) if number.as_str() == supported.to_string() => Ok(()),
        found => Err(unsupported(kind, file, found.map(shown).as_deref(), supported)),
    }
}

/// A file whose version is not supported; `found` as a message may show it.
pub(super) fn unsupported(kind: &'static str, file: &str, found: Option<&str>, supported: u64) -> Error {
    let found = found.unwrap_or("none");
    let message = format!("{file} has an unsupported version, found=`{found}` supported=`{supported}`");
    let remedy = format!(
        "install the package that reads {kind} version {found} (this one reads {supported}), or restore the matching \
         backup; a new dispatch is not a migration"
    );
    Error::new(Code::ExecutionVersion, message).with_reason(kind).with_remedy(remedy)
}

/// A version as a message may show it.
pub(super) fn shown(version: &Value) -> String {
    match version {
        Value::Number(number) => number.as_str().chars().take(32).collect(),
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) | Value::Object(_) => "a structure".to_owned(),
    }
}
