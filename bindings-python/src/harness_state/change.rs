//! What a watch tells: `gallivant.Change` and `SeatChange`.

use gallivant_core::harness_state as core;
use pyo3::prelude::*;

use super::fleet::LeftOut;
use super::state::State;
use crate::value::{Listed, value};

value! {
    /// One seat of a change.
    SeatChange {
        /// The agent's directory by its path below the fleet's root; `.` for the root itself and for a watched record.
        path: String,
        /// What may be concluded now; None where nothing stands there.
        state: Option<Py<State>> = None,
    }
}

value! {
    /// What changed.
    Change {
        /// Each seat of which something else is to be concluded than was told last, in the order of the paths. Empty
        /// where only the two below are others.
        seats: Listed<Py<SeatChange>>,
        /// What a fleet's walk did not look at, as it is now.
        left_out: Py<LeftOut>,
        /// How changes are noticed now: `notified`; by looking at an interval, because the platform or a file system does
        /// not notify (`polled-unsupported`), or because a limit of the system is reached (`polled-limit`).
        noticing: String,
    }
}

impl Change {
    pub(super) fn of(py: Python<'_>, change: core::Change) -> PyResult<Self> {
        let seat = |seat: core::SeatChange| {
            let state = seat.derived.map(|derived| Py::new(py, State::from(derived))).transpose()?;
            Py::new(py, SeatChange { path: seat.path, state })
        };
        Ok(Change {
            seats: Listed(change.seats.into_iter().map(seat).collect::<PyResult<Vec<_>>>()?),
            left_out: Py::new(py, LeftOut::from(change.left_out))?,
            noticing: change.noticing.word().to_owned(),
        })
    }
}
