//! What calls that write answer: `gallivant.Claim`, `Report`, `Heartbeat` and `Tick`.

use gallivant_core::harness_state as core;
use pyo3::prelude::*;

use crate::error::Exception;
use crate::value::value;

value! {
    /// A claim that has landed: record and floor are on disk and durable, except where it says otherwise.
    Claim {
        /// The session's ownership sequence. Writers of the session adopt it.
        sequence: u64,
        /// The floor could not be raised: the claim stands, and the record alone carries its sequence.
        floor_failure: Option<Exception> = None,
        /// Something stood in the floor's place that was no number, and what was wrong with it.
        floor_damage: Option<String> = None,
        /// The sibling record could not be removed: the new session may be shown the old one's context.
        context_failure: Option<Exception> = None,
        /// How many abandoned staged files were removed.
        swept: u32,
    }
}

impl Claim {
    pub(crate) fn of(py: Python<'_>, claim: &core::Claim) -> PyResult<Self> {
        Ok(Claim {
            sequence: claim.sequence,
            floor_failure: Exception::of_optional(py, claim.floor_failure.as_ref())?,
            floor_damage: claim.floor_damage.clone(),
            context_failure: Exception::of_optional(py, claim.context_failure.as_ref())?,
            swept: claim.swept,
        })
    }
}

value! {
    /// What an observation did. True unless it was refused.
    Report {
        /// `landed`: a new record stands. `coalesced`: nothing changed and the stamp is fresh. `refused`: the rules
        /// forbid it, and nothing was written.
        outcome: String,
        /// Why it was refused: a word of `REFUSED_*`.
        refusal: Option<String> = None,
        /// The floor should have been raised after the record and could not be. The record stands.
        floor_failure: Option<Exception> = None,
    }

    fn __bool__(&self) -> bool {
        self.refusal.is_none()
    }
}

impl Report {
    pub(crate) fn of(py: Python<'_>, report: &core::Report) -> PyResult<Self> {
        Ok(Report {
            outcome: report.outcome.word().to_owned(),
            refusal: report.outcome.refusal().map(|refusal| refusal.word().to_owned()),
            floor_failure: Exception::of_optional(py, report.floor_failure.as_ref())?,
        })
    }
}

value! {
    /// What a heartbeat did. True where it landed.
    Heartbeat {
        /// `landed`: the stamp was renewed. `skipped`: there was nothing of this session's to renew.
        outcome: String,
        /// Why it was skipped: a word of `SKIPPED_*`.
        skip: Option<String> = None,
        /// The floor should have been raised after the record and could not be. The record stands.
        floor_failure: Option<Exception> = None,
    }

    fn __bool__(&self) -> bool {
        self.skip.is_none()
    }
}

impl Heartbeat {
    pub(crate) fn of(py: Python<'_>, heartbeat: &core::Heartbeat) -> PyResult<Self> {
        let (skip, floor_failure) = match heartbeat {
            core::Heartbeat::Landed { floor_failure } => (None, floor_failure.as_ref()),
            core::Heartbeat::Skipped(skip) => (Some(skip.word().to_owned()), None),
        };
        let floor_failure = Exception::of_optional(py, floor_failure)?;
        Ok(Heartbeat { outcome: heartbeat.word().to_owned(), skip, floor_failure })
    }
}

value! {
    /// What `Session.heartbeat_if_due` did.
    Tick {
        /// `not-due`; `renewed`: the stamp was; `skipped`: there was nothing of this session's to renew;
        /// `harness-gone`: the attached harness process is provably gone, so nothing was renewed.
        outcome: String,
        /// When the next heartbeat is due, wall clock in ms since 1970, where none is due now.
        due_at_ms: Option<u64> = None,
        /// Why it was skipped: a word of `SKIPPED_*`.
        skip: Option<String> = None,
    }
}

impl From<core::Tick> for Tick {
    fn from(tick: core::Tick) -> Self {
        let (due_at_ms, skip) = match tick {
            core::Tick::NotDue(due_at_ms) => (Some(due_at_ms), None),
            core::Tick::Skipped(skip) => (None, Some(skip.word().to_owned())),
            core::Tick::Renewed | core::Tick::HarnessGone => (None, None),
        };
        Tick { outcome: tick.word().to_owned(), due_at_ms, skip }
    }
}
