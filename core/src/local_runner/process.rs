//! What a job record says of a run's processes (EX-LOC-03): the harness, its group, and the supervisor above it.

use super::PROCESS_MARK;
use crate::json::{Number, Object, Value};
use crate::process::RecordedProcess;

/// The processes of a run as they are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunProcess {
    /// The harness.
    pub leader: RecordedProcess,
    /// The process group that it leads.
    pub group: u32,
    /// The process above it that records its end; none in a record of another host.
    pub supervisor: Option<RecordedProcess>,
    /// By which profile it was started; none where it was started by its arguments alone.
    pub harness: Option<String>,
    /// Descendants that were seen when a stop began (EX-LOC-08).
    pub saved: Vec<RecordedProcess>,
}

impl RunProcess {
    /// What the members `process` and `killAfter` of a job record say; none where they name no process that a run could have.
    #[must_use]
    pub fn of(process: &Value, kill_after: &Value) -> Option<Self> {
        let leader = recorded(process)?;
        let group = match process.get("group") {
            None | Some(Value::Null) => leader.pid,
            Some(group) => pid(group)?,
        };
        let supervisor = match process.get("supervisor") {
            None | Some(Value::Null) => None,
            Some(supervisor) => Some(recorded(supervisor)?),
        };
        let saved = match kill_after.get("pids").and_then(Value::as_array) {
            None => Vec::new(),
            Some(saved) => saved.iter().map(recorded).collect::<Option<_>>()?,
        };
        let harness = process.get("harness").and_then(Value::as_str).map(str::to_owned);
        Some(RunProcess { leader, group, supervisor, harness, saved })
    }

    /// The variable with which each process of this run was started, as the supervisor has set it.
    #[must_use]
    pub fn mark(&self) -> String {
        format!("{PROCESS_MARK}={}@{}", self.leader.pid, self.leader.identity)
    }
}

/// `{pid, identity}`. A pid that no process of a run has is none: 0, 1, and what is no number of a process.
fn recorded(value: &Value) -> Option<RecordedProcess> {
    let identity = value.get("identity")?.as_str().filter(|identity| !identity.is_empty())?;
    Some(RecordedProcess { pid: pid(value.get("pid")?)?, identity: identity.to_owned() })
}

fn pid(value: &Value) -> Option<u32> {
    let pid = u32::try_from(value.as_number()?.as_u64()?).ok()?;
    (pid > 1 && i32::try_from(pid).is_ok()).then_some(pid)
}

/// `{pid, identity}`.
pub(super) fn to_value(process: &RecordedProcess) -> Value {
    Value::Object(to_object(process))
}

/// As [`to_value`].
pub(super) fn to_object(process: &RecordedProcess) -> Object {
    let pid = Number::parse(&process.pid.to_string()).map_or(Value::Null, Value::Number);
    [("pid", pid), ("identity", Value::from(process.identity.as_str()))].into_iter().collect()
}
