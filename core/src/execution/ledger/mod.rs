//! The ledger of a task: `execution.json` (EX-LED).
//!
//! - [`record`]: what it holds; [`entries`]: the records under their names;
//! - [`file`](mod@file): how it is read, judged and written;
//! - `text`: its text, in pieces that are shared;
//! - [`lock`]: who may write it.

pub mod entries;
mod fields;
pub mod file;
pub mod lock;
pub mod record;
mod text;

use crate::error::{Code, Error, Result};
use crate::execution::cursor::Cursor;
use crate::execution::keys;
use crate::json::{Object, Value};
use entries::Entries;
use fields::{Members, member, others};
use record::{Acceptance, Allowance, DispatchRefusal, Execution, Operation, Receipt, StopFence};
pub(crate) use text::Text;

/// The supported version of the file.
pub const VERSION: u64 = 1;

const KEYS: [&str; 12] = [
    "version",
    "taskId",
    "provider",
    "account",
    "createdAt",
    "currentRunId",
    "operations",
    "executions",
    "stopFence",
    "allowance",
    "preparations",
    "dispatchRefusals",
];
const INTAKE_DEADLINE: &str = "intakeDeadlineAt";

/// Whose ledger it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The task.
    pub task_id: String,
    /// The provider.
    pub provider: String,
    /// The account at the provider.
    pub account: String,
}

/// Everything that is recorded of a task (EX-LED-01). Copying it is cheap: the records are shared.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Whose it is.
    pub owner: Owner,
    /// When it was first written, in milliseconds since 1970; none until then.
    pub created_at: Option<u64>,
    /// The current run.
    pub current_run_id: Option<String>,
    /// Every operation of the task.
    pub operations: Entries<Operation>,
    /// Every run of the task.
    pub executions: Entries<Execution>,
    /// What forbids dispatch.
    pub stop_fence: Option<StopFence>,
    /// The task's money.
    pub allowance: Allowance,
    /// The issued receipts under their fingerprints.
    pub preparations: Entries<Receipt>,
    /// The last proven refusals, oldest first.
    pub dispatch_refusals: Vec<DispatchRefusal>,
    /// When the intake must have ended, in milliseconds since 1970.
    pub intake_deadline_at: Option<u64>,
    /// Members that this package does not know.
    unknown: Object,
}

impl Ledger {
    /// The empty ledger of an owner (EX-LED-07).
    #[must_use]
    pub fn empty(owner: Owner) -> Self {
        Ledger {
            owner,
            created_at: None,
            current_run_id: None,
            operations: Entries::default(),
            executions: Entries::default(),
            stop_fence: None,
            allowance: Allowance {
                budget_usd: None,
                charged_usd: crate::execution::money::Nanos::ZERO,
                unknown: Object::new(),
            },
            preparations: Entries::default(),
            dispatch_refusals: Vec::new(),
            intake_deadline_at: None,
            unknown: Object::new(),
        }
    }

    /// Reads a ledger: first its version, then its schema (EX-UPG-09).
    ///
    /// # Errors
    /// `EXECUTION_VERSION` with the reason `ledger`; `EXECUTION_PROTOCOL` with the reason `ledger` for what is no ledger.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let value = std::str::from_utf8(bytes).ok().and_then(|text| Value::parse(text).ok());
        let object =
            value.as_ref().and_then(Value::as_object).ok_or_else(|| broken("it is no JSON object"))?;
        super::version::check("ledger", file::LEDGER, object.get("version"), VERSION)?;
        let ledger = Self::from_object(object).map_err(|key| broken(&format!("member=`{key}`")))?;
        ledger.check_references().map_err(|why| broken(&why))?;
        Ok(ledger)
    }

    fn from_object(object: &Object) -> std::result::Result<Self, &'static str> {
        Ok(Ledger {
            owner: Owner {
                task_id: member(object, "taskId")?,
                provider: member(object, "provider")?,
                account: member(object, "account")?,
            },
            created_at: member(object, "createdAt")?,
            current_run_id: member(object, "currentRunId")?,
            operations: member(object, "operations")?,
            executions: member(object, "executions")?,
            stop_fence: member(object, "stopFence")?,
            allowance: member(object, "allowance")?,
            preparations: member::<Option<_>>(object, "preparations")?.unwrap_or_default(),
            dispatch_refusals: member(object, "dispatchRefusals")?,
            intake_deadline_at: member(object, INTAKE_DEADLINE)?,
            unknown: others(object, &[&KEYS[..], &[INTAKE_DEADLINE]].concat()),
        })
    }

    /// That each record names what is there, and itself by the name under which it stands.
    fn check_references(&self) -> std::result::Result<(), String> {
        let wrong = |of: &str, name: &str, why: &str| Err(format!("{why}, {of}=`{name}`"));
        for (name, operation) in self.operations.iter() {
            if operation.operation_id != name || !keys::is_id(name) || !keys::is_id(&operation.run_id) {
                return wrong("operation", name, "an operation does not bear its name");
            }
            let run = self.executions.get(&operation.run_id);
            if run.is_none_or(|run| run.operation_id.as_deref() != Some(name)) {
                return wrong("operation", name, "an operation's run is not there");
            }
            if operation.sequence == 0 {
                return wrong("operation", name, "an operation has no place in the order");
            }
        }
        for (name, run) in self.executions.iter() {
            if run.run_id != name || !keys::is_id(name) {
                return wrong("run", name, "a run does not bear its name");
            }
            match &run.operation_id {
                None if run.legacy => {}
                Some(operation) if self.operations.contains(operation) => {}
                _ => return wrong("run", name, "a run's operation is not there"),
            }
        }
        match &self.current_run_id {
            Some(run) if !self.executions.contains(run) => wrong("run", run, "the current run is not there"),
            _ => Ok(()),
        }
    }

    /// The file's text.
    #[must_use]
    pub fn encode(&self) -> String {
        self.text().join()
    }

    /// The file's text in pieces, which share the records' own.
    pub(crate) fn text(&self) -> Text<'_> {
        let mut head = String::new();
        let mut members = Members::begin(&mut head);
        members.put("version", &VERSION);
        members.put("taskId", &self.owner.task_id);
        members.put("provider", &self.owner.provider);
        members.put("account", &self.owner.account);
        members.put("createdAt", &self.created_at);
        members.put("currentRunId", &self.current_run_id);
        members.key("operations").push('{');
        let mut between = String::from("}");
        let mut members = Members::go_on(&mut between);
        members.put("stopFence", &self.stop_fence);
        members.put("allowance", &self.allowance);
        members.key("preparations").push('{');
        let mut tail = String::from("}");
        let mut members = Members::go_on(&mut tail);
        members.put("dispatchRefusals", &self.dispatch_refusals);
        members.put(INTAKE_DEADLINE, &self.intake_deadline_at);
        members.end(&self.unknown);
        tail.push('\n');
        let mut text = Text::default();
        text.push_own(head);
        text.extend(self.operations.pieces());
        text.extend(["},\"executions\":{".as_bytes()]);
        text.extend(self.executions.pieces());
        text.push_own(between);
        text.extend(self.preparations.pieces());
        text.push_own(tail);
        text
    }

    /// The current run.
    #[must_use]
    pub fn current(&self) -> Option<&Execution> {
        self.executions.get(self.current_run_id.as_deref()?)
    }

    /// The operation that made a run.
    #[must_use]
    pub fn operation_of(&self, run: &Execution) -> Option<&Operation> {
        self.operations.get(run.operation_id.as_deref()?)
    }

    /// The first operation whose acceptance is unknown, in the order of intents.
    #[must_use]
    pub fn unresolved(&self) -> Option<&Operation> {
        let unknown =
            self.operations.records().filter(|operation| operation.acceptance == Acceptance::Unknown);
        unknown.min_by_key(|operation| operation.sequence)
    }

    /// Whether a Persist has ended before the one that wrote this: an operation is accepted only after its intent was saved.
    #[must_use]
    pub fn was_written_again(&self) -> bool {
        self.operations.records().any(|operation| operation.acceptance == Acceptance::Accepted)
    }

    /// Refuses a ledger with an invalid cursor, in any run and any acknowledgement (EX-CUR-13, EX-CUR-15).
    ///
    /// # Errors
    /// `EXECUTION_PROTOCOL` with the reason `checkpoint-cursor`.
    pub fn check_cursors(&self) -> Result<()> {
        let of_runs = self.executions.records().map(|run| &run.cursor);
        let acknowledged =
            self.operations.records().filter_map(|operation| operation.acknowledgement.as_ref());
        for cursor in of_runs.chain(acknowledged.map(|acknowledgement| &acknowledgement.cursor)) {
            if !cursor.is_null() {
                Cursor::from_value(cursor).map_err(crate::execution::InvalidCursor::in_checkpoint)?;
            }
        }
        Ok(())
    }

    /// Whether this is the owner's ledger (EX-BND-07).
    ///
    /// # Errors
    /// `EXECUTION_OWNERSHIP`.
    pub fn check_owner(&self, owner: &Owner) -> Result<()> {
        if self.owner == *owner {
            return Ok(());
        }
        Err(Error::new(Code::ExecutionOwnership, "the ledger belongs to another task, provider or account"))
    }
}

fn broken(why: &str) -> Error {
    let message = format!("execution.json is no ledger: {why}");
    Error::new(Code::ExecutionProtocol, message).with_reason("ledger").with_remedy(
        "keep the file and restore the last valid ledger of this task; do not delete an intent and do not dispatch again",
    )
}
