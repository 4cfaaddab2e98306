//! How an intake turn stands, and whether it came in time (EX-PRE-16, EX-PRE-22 to EX-PRE-29): pure functions of what is
//! recorded.

use super::ledger::record::{CancellationStatus, Execution, StopFence};
use crate::json::{Object, Value};
use crate::words::words;

words! {
    /// How a preparation stands.
    Standing {
        /// Its acceptance, its result or its stop is not known yet.
        Preparing = "preparing",
        /// It has ended, and nothing stopped it.
        Retrieved = "retrieved",
        /// It was stopped. Its output is quarantined.
        Blocked = "blocked",
    }
    /// What a coordinator does next.
    NextAction {
        /// A pass.
        Reconcile = "reconcile",
        /// The stop again, which a pass sends when it is due.
        Cancel = "cancel",
    }
    /// Whether the output of an intake turn came in time.
    Judgement {
        /// Not after the deadline, which is inclusive.
        Timely = "timely",
        /// After it, or bounded by a time after it.
        Late = "late",
        /// There is no valid result yet.
        Pending = "pending",
    }
}

/// How a preparation stands, and what is next; none where nothing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// How it stands.
    pub status: Standing,
    /// What is next.
    pub next_action: Option<NextAction>,
}

impl Status {
    /// `{status, nextAction}`.
    #[must_use]
    pub fn to_value(self) -> Value {
        let next = self.next_action.map_or(Value::Null, |next| Value::from(next.word()));
        let members = [("status", Value::from(self.status.word())), ("nextAction", next)];
        Value::Object(members.into_iter().collect::<Object>())
    }
}

/// How the intake turn of this run stands, given the task's fence. Nothing waits.
#[must_use]
pub fn status(run: &Execution, fence: Option<&StopFence>) -> Status {
    let is_fenced = fence.is_some_and(|fence| fence.run_id.as_ref().is_none_or(|id| *id == run.run_id));
    let stop = run.cancellation.as_ref().map(|stop| stop.status);
    let has_ended = run.is_settled() || run.terminal_state.is_some();
    let is_open = matches!(
        stop,
        Some(
            CancellationStatus::Pending | CancellationStatus::Acknowledged | CancellationStatus::Unsupported
        )
    );
    let pass = Some(NextAction::Reconcile).filter(|_| !run.is_settled());
    let (status, next_action) = match (is_open && !has_ended, has_ended, is_fenced || stop.is_some()) {
        (true, ..) => (Standing::Preparing, Some(NextAction::Cancel)),
        (false, true, true) => (Standing::Blocked, pass),
        (false, true, false) if run.is_settled() => (Standing::Retrieved, None),
        (false, ..) => (Standing::Preparing, pass),
    };
    Status { status, next_action }
}

/// Whether the output of a run that has a valid result came in time: its exact completion, else the bound that is known of
/// it. A bound after the deadline is late, even if the work may have ended earlier (EX-PRE-24). Without a deadline nothing is
/// late. Times are milliseconds since 1970.
#[must_use]
pub fn judge(run: &Execution, deadline_at: Option<u64>) -> Judgement {
    let ended = run.completed_at.or(run.terminal_observed_at).or(run.collected_at);
    match (ended, deadline_at) {
        (None, _) => Judgement::Pending,
        (Some(ended), Some(deadline)) if ended > deadline => Judgement::Late,
        (Some(_), _) => Judgement::Timely,
    }
}
