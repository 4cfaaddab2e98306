//! Queued stops, as far as a dispatch looks at them: a queued control counts as a fence (EX-CAN-04).

use std::io;

use super::version;
use crate::error::{Code, Error, Result};
use crate::json::Value;
use crate::storage::Directory;

/// The directory of the controls in a task's root.
pub const CONTROLS: &str = "controls";
const VERSION: u64 = 1;
/// A control is a line with a reason in it.
const MAX_BYTES: u64 = 1024 * 1024;

/// The id of a control that is queued and not applied yet; none where there is none. A control that makes no sense counts as
/// queued: somebody wanted a stop.
///
/// # Errors
/// `EXECUTION_VERSION` for a control of another package, `EXECUTION_IO`.
pub fn queued(root: &dyn Directory) -> Result<Option<String>> {
    let failed = |error| Error::new(Code::ExecutionIo, "the controls cannot be read").with_source(error);
    let controls = match root.open_directory(CONTROLS) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    let mut names = controls.names().map_err(failed)?;
    names.sort();
    let mut found = None;
    for name in &names {
        let Some(id) = name.strip_suffix(".json").filter(|id| !id.starts_with('.')) else { continue };
        let mut bytes = Vec::new();
        match controls.read_and_close(name, MAX_BYTES, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            read => read.map_err(failed)?,
        };
        let value = std::str::from_utf8(&bytes).ok().and_then(|text| Value::parse(text).ok());
        if let Some(control) = value.as_ref().and_then(Value::as_object) {
            version::check("control", name, control.get("version"), VERSION)?;
        }
        let status = value.as_ref().and_then(|value| value.get("status")?.as_str());
        if status.is_none_or(|status| status == "queued") && found.is_none() {
            found = Some(id.to_owned());
        }
    }
    Ok(found)
}
