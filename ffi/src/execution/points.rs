//! The points of the execution layer at which a test may fail it.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use gallivant_core::execution::{FaultAnswer, Faults, FixedJitter, Jitter, NoFaults};

use crate::barrier::outside;
use crate::view::{Texts, gallivant_str};

/// A point at which a test may fail the library, such as `intent-saved` or `persist:execution.json`: 0 goes on, anything else
/// makes the write report an I/O error. A pause is an answer that takes its time, a crash is one that does not return. It is
/// called by whichever thread makes a call of the boundary or the health store that has it; the boundary's machine is in use then,
/// and it must not free the boundary, which waits for that very step. `point` is valid during the call.
pub type gallivant_execution_point =
    Option<unsafe extern "C" fn(user_data: *mut c_void, point: gallivant_str) -> i32>;

/// The points of a test, where there is a callback.
pub(super) fn faults_of(at_point: gallivant_execution_point, user_data: *mut c_void) -> Arc<dyn Faults> {
    match at_point {
        Some(at_point) => Arc::new(Points { at_point, user_data }),
        None => Arc::new(NoFaults),
    }
}

/// The number that stands for chance, where one is given.
///
/// # Safety
/// `jitter` is null or points to a number.
pub(super) unsafe fn jitter_of(jitter: *const f64) -> Option<Arc<dyn Jitter>> {
    // SAFETY: the same contract.
    unsafe { jitter.as_ref() }.map(|jitter| Arc::new(FixedJitter(*jitter)) as Arc<dyn Jitter>)
}

/// A callback at each point.
struct Points {
    at_point: unsafe extern "C" fn(*mut c_void, gallivant_str) -> i32,
    user_data: *mut c_void,
}

// SAFETY: callback and data are the host's, which is told that whichever thread makes a call comes here.
unsafe impl Send for Points {}
// SAFETY: as above.
unsafe impl Sync for Points {}

impl fmt::Debug for Points {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Points")
    }
}

impl Faults for Points {
    fn at(&self, point: &str) -> FaultAnswer {
        let mut texts = Texts::default();
        let [view] = texts.hold([Some(point)]);
        // SAFETY: the text lives until the callback has returned, and the rest is the conventions.
        let told = outside(|| unsafe { (self.at_point)(self.user_data, view) });
        if told == 0 { FaultAnswer::Go } else { FaultAnswer::Fail }
    }
}
