//! The marker of a start that may not have been dispatched yet (EX-LED-42 to EX-LED-46). Pure functions over values.
//!
//! A coordinator keeps the marker in its registry entry under [`INITIAL_DISPATCH`]. It says whether the entry's start may
//! still be made, which the ledger alone cannot: an empty ledger is also that of a task whose files are gone.

use super::keys::{check_id, is_id};
use crate::error::{Code, Error, Result};
use crate::json::{Object, Value};

/// The name of the marker in a registry entry.
pub const INITIAL_DISPATCH: &str = "initial_dispatch";

/// How far a start has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// No submit was begun.
    Unsubmitted,
    /// A submit was begun, and it is not known to have been accepted.
    Dispatching,
}

impl Status {
    /// The word that the marker has.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Status::Unsubmitted => "unsubmitted",
            Status::Dispatching => "dispatching",
        }
    }

    /// The status with this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Status> {
        [Status::Unsubmitted, Status::Dispatching].into_iter().find(|status| status.word() == word)
    }
}

/// The marker: which operation starts the task, and how far that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialDispatch {
    operation_id: String,
    status: Status,
}

/// What has happened to the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// It is about to be submitted, in this session where it has one. The marker is to be saved before.
    Submit {
        /// The session that the submit would go on in. A start has none.
        session_id: Option<&'a str>,
    },
    /// It was accepted, or `startup` has found the exact acceptance.
    Accepted,
    /// It was refused before anything was sent, which is proved.
    Refused,
    /// Whether it was accepted is not known.
    Unknown,
    /// An operator has recorded that it was never accepted.
    SettledAbsent,
}

impl InitialDispatch {
    /// The marker of a new entry: `unsubmitted`.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for what is no operation ID.
    pub fn new(operation_id: &str) -> Result<Self> {
        check_id("operationId", operation_id)?;
        Ok(InitialDispatch { operation_id: operation_id.to_owned(), status: Status::Unsubmitted })
    }

    /// Reads a marker.
    ///
    /// # Errors
    /// `EXECUTION_INPUT`: reason `version` for another version than 1, whatever else stands there, reason `shape` for
    /// anything else that is no marker.
    pub fn from_value(value: &Value) -> Result<Self> {
        let refuse = |reason, message: &str| {
            Err(Error::new(Code::ExecutionInput, format!("{INITIAL_DISPATCH} {message}")).with_reason(reason))
        };
        let Value::Object(members) = value else { return refuse("shape", "is no object") };
        if !is_version_1(members) {
            return refuse("version", "has an unsupported version");
        }
        let word = |name| members.get(name).and_then(Value::as_str);
        let Some(operation_id) = word("operationId").filter(|id| is_id(id)) else {
            return refuse("shape", "has no operationId");
        };
        let Some(status) = word("status").and_then(Status::from_word) else {
            return refuse("shape", "has no status");
        };
        Ok(InitialDispatch { operation_id: operation_id.to_owned(), status })
    }

    /// The value that the registry entry keeps.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let members = [
            ("version", Value::from(1_u64)),
            ("operationId", self.operation_id.as_str().into()),
            ("status", self.status.word().into()),
        ];
        Value::Object(members.into_iter().collect())
    }

    /// The operation that starts the task.
    #[must_use]
    pub fn operation_id(&self) -> &str {
        &self.operation_id
    }

    /// How far it has come.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// The marker after a step of this operation; none where it is removed (EX-LED-45).
    ///
    /// A submit that is repeated leaves `dispatching`: the library itself sees to it that one operation is sent once.
    ///
    /// # Errors
    /// `EXECUTION_CONFLICT`, and the marker stays: for another operation, for a submit in a session (EX-LED-46), and for the
    /// end of a submit that was not begun.
    pub fn after(&self, operation_id: &str, step: Step<'_>) -> Result<Option<InitialDispatch>> {
        let refuse = |message: &str| {
            let message =
                format!("{message}, operation=`{}` status=`{}`", self.operation_id, self.status.word());
            Err(Error::new(Code::ExecutionConflict, message).with_operation_id(self.operation_id.clone()))
        };
        if operation_id != self.operation_id {
            return refuse("the marker of the start names another operation");
        }
        let with = |status| Ok(Some(InitialDispatch { status, ..self.clone() }));
        match (self.status, step) {
            (_, Step::Submit { session_id: Some(_) }) => refuse("a start has no session to go on in"),
            (_, Step::Submit { session_id: None }) => with(Status::Dispatching),
            (Status::Dispatching, Step::Accepted | Step::SettledAbsent) => Ok(None),
            (Status::Dispatching, Step::Refused) => with(Status::Unsubmitted),
            (Status::Dispatching, Step::Unknown) => with(Status::Dispatching),
            (Status::Unsubmitted, Step::Accepted | Step::Refused | Step::Unknown | Step::SettledAbsent) => {
                refuse("a submit ends that was not begun")
            }
        }
    }
}

/// Whether the start of a registry entry was certainly not submitted, and may be (EX-LED-43, EX-LED-44).
///
/// `entry` is `{startOperationId, sessionId, initial_dispatch}`, `ledger` what `execution.json` holds, null where there is
/// none. What cannot be believed of either is no proof, so it answers `false`.
#[must_use]
pub fn unsubmitted_initial_dispatch(entry: &Value, ledger: &Value) -> bool {
    let Some(start) = entry.get("startOperationId").and_then(Value::as_str).filter(|id| is_id(id)) else {
        return false;
    };
    if member(entry, "sessionId").is_some() || !is_empty_and_unfenced(ledger) {
        return false;
    }
    match member(entry, INITIAL_DISPATCH) {
        Some(marker) => InitialDispatch::from_value(marker)
            .is_ok_and(|marker| marker.status == Status::Unsubmitted && marker.operation_id == start),
        None => {
            let refusals = ledger.get("dispatchRefusals").and_then(Value::as_array).unwrap_or_default();
            refusals.iter().any(|entry| entry.get("operationId").and_then(Value::as_str) == Some(start))
        }
    }
}

/// A ledger without an operation, an execution and a fence. One that is absent is empty (EX-LED-07).
fn is_empty_and_unfenced(ledger: &Value) -> bool {
    let Value::Object(members) = ledger else { return ledger.is_null() };
    let is_empty =
        |name| member(ledger, name).is_none_or(|value| value.as_object().is_some_and(Object::is_empty));
    is_version_1(members)
        && is_empty("operations")
        && is_empty("executions")
        && member(ledger, "stopFence").is_none()
}

/// A member that is there and not null.
fn member<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    value.get(name).filter(|value| !value.is_null())
}

fn is_version_1(members: &Object) -> bool {
    matches!(members.get("version"), Some(Value::Number(number)) if number.as_str() == "1")
}
