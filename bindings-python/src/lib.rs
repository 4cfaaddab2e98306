//! The private native module `gallivant._native`: converts, calls the core, and speaks Python's idiom.
//!
//! Nothing is decided here. What the package offers publicly is in `python/gallivant/`, which re-exports these
//! classes. In reading order: [`call`] (leaving and entering the interpreter), [`error`], [`argument`] (what
//! Python hands over), [`host`], [`value`] (what all result objects have in common), [`waiting`] (what all that waits has),
//! [`harness_state`], [`idempotency`], [`journal`] and [`execution`] (one file for each of the core's), [`redaction`], [`testing`],
//! [`tables`] (what the tests compare).

mod argument;
mod call;
mod error;
mod execution;
mod harness_state;
mod host;
mod idempotency;
mod journal;
mod redaction;
mod tables;
mod testing;
mod value;
mod waiting;

use pyo3::prelude::*;

/// The native half of the package `gallivant`. Private: import from `gallivant`.
// The interpreter's lock is kept: an abi3 module does not load into a free-threaded interpreter, so that the claim
// to be safe without the lock could not be tested.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use crate::call::{Cancel, cancel_state};
    #[pymodule_export]
    use crate::execution::{
        AbortToken, Boundary, Call, DispatchLane, Done, ExecutionRegistry, HealthStore, Lane, Machine,
        PublicationPorts, Refresh, UnresolvedOperation, assert_execution_dependency, execution_constants,
        execution_function, sandbox_readiness_json, unresolved,
    };
    #[pymodule_export]
    use crate::harness_state::{
        Change, Claim, CurrentOwnership, Explanation, Extension, Fleet, FleetEntry, FleetView, Heartbeat,
        HookReport, LeftOut, Observation, Options, OwnershipGuard, ProcessIdentity, Reader, Record, Report,
        SeatChange, Session, SessionEnvironment, Snapshot, State, Tick, TriedRow, Watch, Writer,
        arm_hook_deadline, check_hook, claim, claim_wrapperless, mint_token, observe_hook, read_fleet,
        serve_hook,
    };
    #[pymodule_export]
    use crate::idempotency::{
        Capability, ClaimNotices, ClaimView, Fingerprint, FingerprintBuilder, FinishedClaim,
        IdempotencyStore, Reservation, Swept, Ticket, UnknownClaim,
    };
    #[pymodule_export]
    use crate::journal::{
        Appended, Checked, Event, Frame, Gap, Journal, LogReader, Owner, PendingBatch, Placed, Position,
        Projected, Projection, Recovered, Replay, Row, Window, check, read_run_result_json,
        retention_candidates,
    };
    #[pymodule_export]
    use crate::redaction::{Redactor, Stream};
    #[pymodule_export]
    use crate::tables::{codes, version, words};
    #[pymodule_export]
    use crate::testing::{TestHost, panic};

    // Without the module as its argument, so that the generated stub counts as complete.
    #[pymodule_init]
    fn init() -> pyo3::PyResult<()> {
        crate::call::keep_panics_silent();
        Ok(())
    }
}
