//! Queued stops: one file each in `controls/`, written by whoever wants a stop while somebody else has the task's lock, and
//! applied by the next pass (EX-CAN-03, EX-CAN-04, EX-CAN-22). A queued control counts as a fence.

use std::io;
use std::sync::Arc;

use super::job::number;
use super::ledger::Ledger;
use super::ledger::file::Writer;
use super::ledger::record::CancellationStatus;
use super::version;
use crate::error::{Code, Error, Result};
use crate::json::{Number, Object, Value};
use crate::storage::Directory;

/// The directory of the controls in a task's root. It is made before the ledger is first written, whose Persist then makes
/// its name durable too, so that a stop has nothing to add to it.
pub const CONTROLS: &str = "controls";
/// Stands in a task's root from before a stop makes `controls/` until that name is durable: what it stands beside may be lost
/// with the power.
pub const CONTROLS_UNSYNCED: &str = ".controls-unsynced";
const VERSION: u64 = 1;
/// A control is a line with a reason in it.
const MAX_BYTES: u64 = 1024 * 1024;
const QUEUED: &str = "queued";

/// One control, as it stands.
#[derive(Clone, Debug)]
pub struct Control {
    /// Its id, which is its file's name.
    pub id: String,
    /// What it holds; none where it makes no sense. Somebody wanted a stop all the same.
    pub content: Option<Object>,
}

impl Control {
    fn text(&self, key: &str) -> Option<&str> {
        self.content.as_ref()?.get(key)?.as_str()
    }

    /// Whether it is queued, and so fences dispatch. What makes no sense counts as queued.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        self.text("status").is_none_or(|status| status == QUEUED)
    }

    /// The run that it names.
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        self.text("runId")
    }

    /// Why the stop is wanted.
    #[must_use]
    pub fn reason(&self) -> &str {
        self.text("reason").unwrap_or_default()
    }

    /// When it was asked for, in milliseconds since 1970.
    #[must_use]
    pub fn requested_at(&self) -> u64 {
        let at = self.content.as_ref().and_then(|content| content.get("requestedAt")?.as_number());
        at.and_then(Number::as_u64).unwrap_or(0)
    }
}

/// Every control of a task, in the order in which they are applied: by time and id.
///
/// # Errors
/// `EXECUTION_VERSION` for a control of another package, `EXECUTION_IO`.
pub fn list(root: &dyn Directory) -> Result<Vec<Control>> {
    let controls = match root.open_directory(CONTROLS) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened.map_err(unreadable)?,
    };
    let mut found = Vec::new();
    for name in controls.names().map_err(unreadable)? {
        let Some(id) = name.strip_suffix(".json").filter(|id| !id.starts_with('.')) else { continue };
        let mut bytes = Vec::new();
        match controls.read_and_close(&name, MAX_BYTES, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            read => read.map_err(unreadable)?,
        };
        let value = std::str::from_utf8(&bytes).ok().and_then(|text| Value::parse(text).ok());
        let content = match value {
            Some(Value::Object(content)) => Some(content),
            _ => None,
        };
        if let Some(content) = &content {
            version::check("control", &name, content.get("version"), VERSION)?;
        }
        found.push(Control { id: id.to_owned(), content });
    }
    found.sort_by(|a, b| (a.requested_at(), &a.id).cmp(&(b.requested_at(), &b.id)));
    Ok(found)
}

/// The id of a control that is queued and not applied yet; none where there is none.
///
/// # Errors
/// As [`list`].
pub fn queued(root: &dyn Directory) -> Result<Option<String>> {
    Ok(list(root)?.into_iter().find(Control::is_queued).map(|control| control.id))
}

/// Makes the directory of the controls, where there is none. Its name is durable once the root has been synced.
///
/// # Errors
/// `EXECUTION_IO`.
pub fn make(root: &dyn Directory) -> Result<()> {
    match root.make_directory(CONTROLS) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map_err(unreadable),
    }
}

/// Queues a stop; one with the same id that is there already stays as it is. Whoever calls this holds `publication.lock`, which
/// keeps other requests out. The control is durable once this has returned: two syncs where the ledger was written more than
/// once or a control stands already, one more for the name of the directory otherwise.
///
/// # Errors
/// `EXECUTION_IO`.
pub fn queue(
    root: &dyn Directory,
    ledger: &Ledger,
    id: &str,
    run_id: Option<&str>,
    reason: &str,
    requested_at: u64,
    writer: &mut Writer,
) -> Result<()> {
    let controls = open_durably(root, ledger)?;
    let name = format!("{id}.json");
    match controls.metadata(&name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        // Whoever queued it may have died before that was durable.
        Ok(_) => return controls.sync().and_then(|()| root.sync()).map_err(unreadable),
        Err(error) => return Err(unreadable(error)),
    }
    let members = [
        ("version", number(VERSION)),
        ("controlId", Value::from(id)),
        ("runId", Value::from(run_id)),
        ("reason", Value::from(reason)),
        ("requestedAt", number(requested_at)),
        ("status", Value::from(QUEUED)),
    ];
    save(&*controls, &name, members.into_iter().collect(), writer)
}

/// The directory of the controls, whose name is durable.
///
/// Two things prove that without a sync: a control stands in it, which nobody writes before; or a Persist that came after its
/// making has ended, because the ledger tells of a later one. Only the first Persist of a ledger makes the directory, or a stop
/// that finds none, and the mark of that is taken away after its sync.
fn open_durably(root: &dyn Directory, ledger: &Ledger) -> Result<Arc<dyn Directory>> {
    let controls = match root.open_directory(CONTROLS) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            root.append(CONTROLS_UNSYNCED, b"").map_err(unreadable)?;
            make(root)?;
            root.open_directory(CONTROLS).map_err(unreadable)?
        }
        opened => opened.map_err(unreadable)?,
    };
    let is_marked = match root.metadata(CONTROLS_UNSYNCED) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        looked => looked.map(|_| true).map_err(unreadable)?,
    };
    let is_durable = !is_marked
        && (ledger.was_written_again()
            || controls.names().map_err(unreadable)?.iter().any(|name| name.ends_with(".json")));
    if !is_durable {
        root.sync().map_err(unreadable)?;
    }
    if is_marked {
        root.remove(CONTROLS_UNSYNCED).map_err(unreadable)?;
    }
    Ok(controls)
}

/// Brings the receipts of applied controls up to what the ledger says of their runs (EX-CAN-22).
///
/// # Errors
/// `EXECUTION_VERSION`, `EXECUTION_IO`. The ledger stands, and the next pass comes here again.
pub fn align_receipts(root: &dyn Directory, ledger: &Ledger, writer: &mut Writer) -> Result<()> {
    let mut directory = None;
    for control in list(root)? {
        let applied = ledger.executions.records().find(|run| run.controls.contains(&control.id));
        let named = control.run_id();
        // One that names no run of the ledger has set the fence and nothing else.
        let stands_alone = applied.is_none() && ledger.stop_fence.is_some() && {
            let is_known = named.is_some_and(|run_id| ledger.executions.contains(run_id));
            !is_known && (named.is_some() || ledger.current_run_id.is_none())
        };
        if applied.is_none() && !stands_alone {
            continue;
        }
        let stop = applied.and_then(|run| run.cancellation.as_ref()).map(|stop| stop.status);
        let status = match stop {
            Some(CancellationStatus::Confirmed) => "confirmed",
            Some(CancellationStatus::Terminal) => "terminal",
            Some(CancellationStatus::Unsupported) => "unsupported",
            Some(CancellationStatus::Pending | CancellationStatus::Acknowledged) | None => "applied",
        };
        let Some(mut content) = control.content.clone() else { continue };
        if content.get("status").and_then(Value::as_str) == Some(status) {
            continue;
        }
        content.insert("status", Value::from(status));
        if directory.is_none() {
            directory = Some(open_or_create(root)?);
        }
        if let Some(directory) = &directory {
            save(&**directory, &format!("{}.json", control.id), content, writer)?;
        }
    }
    Ok(())
}

fn save(controls: &dyn Directory, name: &str, content: Object, writer: &mut Writer) -> Result<()> {
    let mut text = Value::Object(content).to_json();
    text.push('\n');
    writer.persist(controls, &format!("{CONTROLS}/"), name, &text)
}

fn open_or_create(root: &dyn Directory) -> Result<Arc<dyn Directory>> {
    match root.open_directory(CONTROLS) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make(root)?;
            root.open_directory(CONTROLS).map_err(unreadable)
        }
        opened => opened.map_err(unreadable),
    }
}

fn unreadable(error: io::Error) -> Error {
    Error::new(Code::ExecutionIo, "the controls cannot be reached").with_source(error)
}
