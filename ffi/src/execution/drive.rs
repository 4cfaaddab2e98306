//! A machine to its end, over a table of callbacks.

use std::sync::Arc;

use gallivant_core::execution::{Called, drive};

use super::abort_token::{gallivant_execution_abort_token, token_or_none};
use super::machine::gallivant_execution_machine;
use super::transport::{Table, gallivant_execution_transport};
use crate::barrier::call;
use crate::buffer::gallivant_text;
use crate::error::gallivant_error;
use crate::handle::{Out, borrow, give};
use crate::options;

/// Drives a machine that has not begun to its end, and gives what the call of the boundary gives, as JSON text. The machine is
/// done then. `token` ends the call that is outstanding and may be NULL; the wait for the task's lock has the token with which
/// the machine was made, which may be the same.
///
/// A method that has not ended 1,000 ms after its deadline, or after the abort, is left alone. Freeing the boundary meanwhile, on
/// another thread, ends the call as a crash does.
///
/// Errors: those of the boundary's call. `GALLIVANT_EXECUTION_INPUT` with reason `reply` where the machine has begun, and where the
/// boundary was freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_drive(
    machine: *mut gallivant_execution_machine,
    transport: *const gallivant_execution_transport,
    token: *const gallivant_execution_abort_token,
    outcome_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let mut state = borrow(machine, "machine")?.take()?;
            let table = options::input(transport, "transport")?;
            let out = Out::new(outcome_json, "outcome_json")?;
            let abort = token_or_none(token);
            let outcome = match state.begin()? {
                Called::Machine(machine) => {
                    let clock = Arc::clone(&state.clock);
                    let transport = Arc::new(Table { table, clock, abort: abort.clone() });
                    drive(*machine, &transport, &abort)?
                }
                Called::Answer(answer) => answer,
            };
            out.set(give(gallivant_text::new(&outcome.to_json())));
            Ok(())
        })
    }
}
