//! Harness state: probes, which say whether the session behind a live record still lives.

use std::ffi::c_void;
use std::fmt;

use gallivant_core::harness_state::{LeaseProbe, Probe, ProcessProbe, Reader, Record};
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

/// The probe behind an argument that may be null, for this reader.
///
/// # Safety
/// `pointer` is null or points to a probe whose members point to what they say.
pub(crate) unsafe fn probe(
    pointer: *const gallivant_harness_state_probe,
    reader: &Reader,
    host: &Host,
) -> Result<Option<Box<dyn Probe>>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the same contract.
    unsafe {
        let given = options::input(pointer, "probe")?;
        Ok(Some(match given.kind {
            GALLIVANT_PROBE_LEASE => Box::new(LeaseProbe::new(reader)),
            GALLIVANT_PROBE_PROCESS => {
                let process = borrow(given.process, "process")?;
                Box::new(ProcessProbe::new(process.identity.clone(), host))
            }
            GALLIVANT_PROBE_FIXED => Box::new(LIVENESS.input(given.liveness)?),
            GALLIVANT_PROBE_CALLBACK => match given.callback {
                Some(callback) => Box::new(CallbackProbe { callback, user_data: given.user_data }),
                None => return Err(crate::handle::null_pointer("callback")),
            },
            kind => {
                let message = format!("no such constant, member=`kind` value=`{kind}`");
                return Err(Error::new(Code::Input, message).with_reason("constant"));
            }
        }))
    }
}

struct CallbackProbe {
    callback: unsafe extern "C" fn(*mut c_void, *const gallivant_harness_state_record) -> i32,
    user_data: *mut c_void,
}

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
