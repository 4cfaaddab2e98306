//! Harness state: probes, which say whether the session behind a live record still lives.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use gallivant_core::harness_state::{FleetProbe, LeaseProbe, Probe, ProcessProbe, Record, WatchProbe};
use gallivant_core::process::Liveness;
use gallivant_core::{Code, Error, Host, Result};

use super::record::{self, gallivant_harness_state_record};
use crate::barrier::outside;
use crate::handle::borrow;
use crate::options::{self, sized};
use crate::process::{LIVENESS, gallivant_process};
use crate::view::Texts;

/// The session lease: a session holds a lock on `.harness-state.lease` for its life, and death releases it. There is no
/// pid that could be reused.
pub const GALLIVANT_PROBE_LEASE: i32 = 1;
/// The process in `process`, by pid, start time, boot, pid namespace and host.
pub const GALLIVANT_PROBE_PROCESS: i32 = 2;
/// The answer in `liveness`, whatever session it is.
pub const GALLIVANT_PROBE_FIXED: i32 = 3;
/// What `callback` says.
pub const GALLIVANT_PROBE_CALLBACK: i32 = 4;

/// Says whether the session that wrote this record lives: one of the GALLIVANT_LIVENESS constants; any other number is
/// indeterminate. `record` and its strings are valid during the call. The reader from which the call comes is in use.
pub type gallivant_harness_state_probe_callback = Option<
    unsafe extern "C" fn(user_data: *mut c_void, record: *const gallivant_harness_state_record) -> i32,
>;

/// How to find out whether a session lives.
///
/// A probe is asked at most once in a read, and only where its answer decides: about a live record that names a pty
/// session. Only "dead" makes the state unknown; "alive", "indeterminate" and an answer that takes longer than the budget
/// of the options change nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_harness_state_probe {
    /// Set by `GALLIVANT_HARNESS_STATE_PROBE_INIT`.
    pub struct_size: usize,
    /// One of the GALLIVANT_PROBE constants.
    pub kind: i32,
    /// For `GALLIVANT_PROBE_FIXED`: one of the GALLIVANT_LIVENESS constants.
    pub liveness: i32,
    /// For `GALLIVANT_PROBE_PROCESS`.
    pub process: *const gallivant_process,
    /// For `GALLIVANT_PROBE_CALLBACK`.
    pub callback: gallivant_harness_state_probe_callback,
    /// Handed to the callback; may be NULL.
    pub user_data: *mut c_void,
}
sized!(gallivant_harness_state_probe);

// C: #define GALLIVANT_HARNESS_STATE_PROBE_INIT \
// C:     { sizeof(gallivant_harness_state_probe), 0, 0, NULL, NULL, NULL }

/// A probe as it was asked for.
#[derive(Debug)]
pub(crate) enum Given {
    Lease,
    Process(ProcessProbe),
    Fixed(Liveness),
    Callback(CallbackProbe),
}

/// The probe behind an argument that may be null.
///
/// # Safety
/// `pointer` is null or points to a probe whose members point to what they say.
pub(crate) unsafe fn given(
    pointer: *const gallivant_harness_state_probe,
    host: &Host,
) -> Result<Option<Given>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the same contract.
    unsafe {
        let given = options::input(pointer, "probe")?;
        Ok(Some(match given.kind {
            GALLIVANT_PROBE_LEASE => Given::Lease,
            GALLIVANT_PROBE_PROCESS => {
                let process = borrow(given.process, "process")?;
                Given::Process(ProcessProbe::new(process.identity.clone(), host))
            }
            GALLIVANT_PROBE_FIXED => Given::Fixed(LIVENESS.input(given.liveness)?),
            GALLIVANT_PROBE_CALLBACK => match given.callback {
                Some(callback) => Given::Callback(CallbackProbe { callback, user_data: given.user_data }),
                None => return Err(crate::handle::null_pointer("callback")),
            },
            kind => return Err(no_such_kind(kind)),
        }))
    }
}

/// The probe of a fleet, whose records are of many sessions.
///
/// # Safety
/// As [`given`].
pub(crate) unsafe fn of_fleet(
    pointer: *const gallivant_harness_state_probe,
    host: &Host,
) -> Result<FleetProbe> {
    // SAFETY: the same contract.
    match unsafe { given(pointer, host) }? {
        None => Ok(FleetProbe::None),
        Some(Given::Lease) => Ok(FleetProbe::Lease),
        Some(Given::Process(_)) => Err(no_such_kind(GALLIVANT_PROBE_PROCESS)),
        Some(Given::Fixed(_)) => Err(no_such_kind(GALLIVANT_PROBE_FIXED)),
        Some(Given::Callback(_)) => Err(no_such_kind(GALLIVANT_PROBE_CALLBACK)),
    }
}

fn no_such_kind(kind: i32) -> Error {
    let message = format!("no such constant, member=`kind` value=`{kind}`");
    Error::new(Code::Input, message).with_reason("constant")
}

impl Given {
    /// The probe, with the lease's where that is asked for.
    pub(crate) fn probe<'a>(&'a self, lease: &'a LeaseProbe) -> &'a dyn Probe {
        match self {
            Given::Lease => lease,
            Given::Process(probe) => probe,
            Given::Fixed(liveness) => liveness,
            Given::Callback(probe) => probe,
        }
    }

    /// The probe of a watch, which keeps it.
    pub(crate) fn into_watch(self) -> WatchProbe {
        match self {
            Given::Lease => WatchProbe::Lease,
            Given::Process(probe) => WatchProbe::Own(Arc::new(probe)),
            Given::Fixed(liveness) => WatchProbe::Own(Arc::new(liveness)),
            Given::Callback(probe) => WatchProbe::Own(Arc::new(probe)),
        }
    }
}

pub(crate) struct CallbackProbe {
    callback: unsafe extern "C" fn(*mut c_void, *const gallivant_harness_state_record) -> i32,
    user_data: *mut c_void,
}

// SAFETY: callback and data are the host's, which is told that a watch asks on the thread that calls it, whichever that
// is, and in one call at a time.
unsafe impl Send for CallbackProbe {}
// SAFETY: as above.
unsafe impl Sync for CallbackProbe {}

impl fmt::Debug for CallbackProbe {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("CallbackProbe")
    }
}

impl Probe for CallbackProbe {
    fn liveness(&self, record: &Record) -> Liveness {
        let mut texts = Texts::default();
        let shown = record::record(Some(record), &mut texts);
        // SAFETY: the record and its texts live until the callback has returned, and the rest is the conventions.
        let answer = outside(|| unsafe { (self.callback)(self.user_data, &raw const shown) });
        LIVENESS.value(answer).unwrap_or(Liveness::Indeterminate)
    }
}
