//! Harness state: what a write did.

use gallivant_core::Error;
use gallivant_core::harness_state::{Heartbeat, Outcome, Report, Skip};

use super::words::{
    GALLIVANT_OUTCOME_COALESCED, GALLIVANT_OUTCOME_LANDED, GALLIVANT_OUTCOME_REFUSED,
    GALLIVANT_OUTCOME_SKIPPED, REFUSALS, SKIPS,
};
use crate::options::sized;

/// What an observation or a heartbeat did. A refusal is an answer and not an error, and it is not a success.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_harness_state_report {
    /// Set by `GALLIVANT_HARNESS_STATE_REPORT_INIT`.
    pub struct_size: usize,
    /// One of the GALLIVANT_OUTCOME constants.
    pub outcome: i32,
    /// Why an observation was refused: GALLIVANT_REFUSAL; 0 where it was not.
    pub refusal: i32,
    /// Why a heartbeat was skipped: GALLIVANT_SKIP; 0 where it was not.
    pub skip: i32,
    /// The record stands, but its sequence floor could not be raised: the status that says why; 0 otherwise.
    pub floor_failure: i32,
    /// The `errno` to it; 0 where there is none.
    pub floor_failure_os_error: i32,
}
sized!(gallivant_harness_state_report);

// C: #define GALLIVANT_HARNESS_STATE_REPORT_INIT \
// C:     { sizeof(gallivant_harness_state_report), 0, 0, 0, 0, 0 }

impl gallivant_harness_state_report {
    /// No write at all.
    pub(crate) const NOTHING: Self = gallivant_harness_state_report {
        struct_size: 0,
        outcome: 0,
        refusal: 0,
        skip: 0,
        floor_failure: 0,
        floor_failure_os_error: 0,
    };

    fn landed(outcome: i32, floor_failure: Option<&Error>) -> Self {
        gallivant_harness_state_report {
            outcome,
            floor_failure: floor_failure.map_or(0, |error| error.code().number()),
            floor_failure_os_error: floor_failure.and_then(Error::os_error).unwrap_or(0),
            ..Self::NOTHING
        }
    }

    fn skipped(skip: Skip) -> Self {
        gallivant_harness_state_report {
            outcome: GALLIVANT_OUTCOME_SKIPPED,
            skip: SKIPS.number(skip),
            ..Self::NOTHING
        }
    }
}

impl From<&Report> for gallivant_harness_state_report {
    fn from(report: &Report) -> Self {
        let (outcome, refusal) = match report.outcome {
            Outcome::Landed => (GALLIVANT_OUTCOME_LANDED, 0),
            Outcome::Coalesced => (GALLIVANT_OUTCOME_COALESCED, 0),
            Outcome::Refused(refusal) => (GALLIVANT_OUTCOME_REFUSED, REFUSALS.number(refusal)),
        };
        gallivant_harness_state_report { refusal, ..Self::landed(outcome, report.floor_failure.as_ref()) }
    }
}

impl From<&Heartbeat> for gallivant_harness_state_report {
    fn from(heartbeat: &Heartbeat) -> Self {
        match heartbeat {
            Heartbeat::Landed { floor_failure } => {
                Self::landed(GALLIVANT_OUTCOME_LANDED, floor_failure.as_ref())
            }
            Heartbeat::Skipped(skip) => Self::skipped(*skip),
        }
    }
}
