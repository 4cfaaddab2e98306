//! A running call of the boundary, step by step.
//!
//! The program starts the machine, carries out the call that it hands out, and feeds what came of it, until it is done. All that
//! has to be durable before a call is on disk before it is handed out. Freeing a machine, at any step, equals a crash there.

use std::ffi::c_char;
use std::sync::{Arc, Mutex, PoisonError};

use gallivant_core::Result;
use gallivant_core::clock::Clock;
use gallivant_core::execution::{AbortToken, Call, Called, Machine, Reply, Step};
use gallivant_core::json::Value;

use super::failure::{gallivant_execution_failure, told};
use super::not_outstanding;
use super::words::{GALLIVANT_STEP_CALL, GALLIVANT_STEP_DONE, GALLIVANT_STEP_FAILED, PORTS};
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Exclusive, Handle, Taken, borrow};
use crate::options::{OutSized, sized};
use crate::view::{Texts, gallivant_str};

/// A call of a boundary.
///
/// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise; only `gallivant_execution_machine_is_cancelled` may be called by any
/// thread at any time. Free it with `gallivant_execution_machine_free`.
#[derive(Debug)]
pub struct gallivant_execution_machine {
    state: Exclusive<State>,
    /// That of the call that was handed out last.
    signal: Mutex<Option<AbortToken>>,
}

impl Handle for gallivant_execution_machine {}

const NAME: &str = "gallivant_execution_machine";

#[derive(Debug)]
pub(super) struct State {
    running: Running,
    pub(super) clock: Arc<dyn Clock>,
    /// The memory of the step that was lent last.
    texts: Texts,
    failure: Option<Box<gallivant_error>>,
}

/// Where the call stands.
#[derive(Debug)]
enum Running {
    Ready(Called),
    Begun(Box<Machine>),
    /// Answered, or given to somebody who drives it.
    Gone,
}

/// What a step of a machine has come to. Its strings and its error are valid until the next step of the machine is taken or the
/// machine is freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_execution_step {
    /// Set by `GALLIVANT_EXECUTION_STEP_INIT`.
    pub struct_size: usize,
    /// One of the GALLIVANT_STEP constants.
    pub kind: i32,
    /// Of a call, whom it is for: one of the GALLIVANT_PORT constants.
    pub port: i32,
    /// Of a call, by which its end is fed back; unique within the process.
    pub id: u64,
    /// Of a call, when it counts as failed, in ms since 1970 on the host's clock.
    pub deadline_at_ms: u64,
    /// Of a call, which method, as in `recoverResponse`.
    pub method: gallivant_str,
    /// Of a call, the method's input, a JSON object.
    pub input_json: gallivant_str,
    /// Of `GALLIVANT_STEP_DONE`, what the call of the boundary gives, as JSON text.
    pub outcome_json: gallivant_str,
    /// Of `GALLIVANT_STEP_FAILED`, the error of the call of the boundary; else NULL. It is lent.
    pub failure: *const gallivant_error,
}
sized!(gallivant_execution_step);

// C: #define GALLIVANT_EXECUTION_STEP_INIT \
// C:     { sizeof(gallivant_execution_step), 0, 0, 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, NULL }

/// Begins. The wait for the task's lock is here and nowhere else.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `reply` where it has begun. That the call of the boundary has failed is a step
/// and no error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_machine_start(
    machine: *mut gallivant_execution_machine,
    step: *mut gallivant_execution_step,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(machine, "machine")?;
            let mut state = handle.state.take(NAME)?;
            let out = OutSized::new(step, "step")?;
            let taken = match state.begin()? {
                Called::Machine(mut machine) => {
                    let taken = machine.start();
                    state.running = Running::Begun(machine);
                    taken
                }
                Called::Answer(answer) => Step::Done(Ok(answer)),
            };
            handle.lend(&mut state, taken, out);
            Ok(())
        })
    }
}

/// The method of the call with this id has returned this JSON text, whose digits are kept. A reply that comes at the deadline
/// or later is dropped unread, and the call counts as failed.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `reply` where no such call is outstanding; nothing has changed then, and the
/// outstanding call, if there is one, stays outstanding. So too in a forked child, with reason `forked`, and once the boundary was
/// freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_machine_reply(
    machine: *mut gallivant_execution_machine,
    id: u64,
    reply_json: *const c_char,
    reply_json_length: usize,
    step: *mut gallivant_execution_step,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let json = gallivant_str::new(reply_json, reply_json_length).text("reply_json")?;
            feed(machine, step, |machine| machine.reply(id, Reply::Value(json.to_owned())))
        })
    }
}

/// The method of the call with this id has failed.
///
/// Errors: as `gallivant_execution_machine_reply`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_machine_fail(
    machine: *mut gallivant_execution_machine,
    id: u64,
    failure: *const gallivant_execution_failure,
    step: *mut gallivant_execution_step,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let told = told(failure)?;
            feed(machine, step, |machine| machine.reply(id, Reply::Error(told)))
        })
    }
}

/// The call with this id has not ended at its deadline. Give its method 1,000 ms to end before this is fed, and leave it alone
/// then.
///
/// Errors: as `gallivant_execution_machine_reply`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_machine_deadline(
    machine: *mut gallivant_execution_machine,
    id: u64,
    step: *mut gallivant_execution_step,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || feed(machine, step, |machine| machine.deadline(id))) }
}

/// The caller has given the call with this id up; otherwise as `gallivant_execution_machine_deadline`.
///
/// Errors: as `gallivant_execution_machine_reply`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_machine_abort(
    machine: *mut gallivant_execution_machine,
    id: u64,
    step: *mut gallivant_execution_step,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || feed(machine, step, |machine| machine.abort(id))) }
}

/// The transport is about to send, or to save something of its own, for the call with this id: from now on
/// `GALLIVANT_FAILURE_NOT_SENT` is not believed of it. The step that was lent last stays valid.
///
/// Errors: as `gallivant_execution_machine_reply`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_machine_sending(
    machine: *mut gallivant_execution_machine,
    id: u64,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || match &mut borrow(machine, "machine")?.state.take(NAME)?.running {
            Running::Begun(machine) => machine.sending(id),
            _ => Err(not_outstanding("no such call is outstanding")),
        })
    }
}

/// 1 where the method of the call that was handed out last should end: its deadline or abort was fed, or the boundary was freed.
/// Else 0, and where `machine` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_machine_is_cancelled(
    machine: *const gallivant_execution_machine,
) -> i32 {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        let signal = unsafe { machine.as_ref() }
            .and_then(|machine| machine.signal.lock().unwrap_or_else(PoisonError::into_inner).clone());
        i32::from(signal.is_some_and(|signal| signal.is_aborted()))
    })
}

/// Frees the machine. NULL is allowed. Where it is not done this equals a crash at the step where it stands: its locks are
/// released and nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_machine_free(machine: *mut gallivant_execution_machine) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(machine) });
}

/// # Safety
/// The pointers are as the conventions say.
unsafe fn feed(
    machine: *mut gallivant_execution_machine,
    step: *mut gallivant_execution_step,
    end: impl FnOnce(&mut Machine) -> Result<Step>,
) -> Result<()> {
    // SAFETY: the same contract.
    let (handle, out) = unsafe { (borrow(machine, "machine")?, OutSized::new(step, "step")?) };
    let mut state = handle.state.take(NAME)?;
    let taken = match &mut state.running {
        Running::Begun(machine) => end(machine)?,
        _ => return Err(not_outstanding("no such call is outstanding")),
    };
    handle.lend(&mut state, taken, out);
    Ok(())
}

impl gallivant_execution_machine {
    pub(super) fn new(called: Called, clock: Arc<dyn Clock>) -> Self {
        let running = Running::Ready(called);
        let state = State { running, clock, texts: Texts::default(), failure: None };
        gallivant_execution_machine { state: Exclusive::new(state), signal: Mutex::new(None) }
    }

    /// Takes it for one call.
    pub(super) fn take(&self) -> Result<Taken<'_, State>> {
        self.state.take(NAME)
    }

    fn lend(&self, state: &mut State, taken: Step, out: OutSized<gallivant_execution_step>) {
        let mut lent = gallivant_execution_step {
            struct_size: 0,
            kind: GALLIVANT_STEP_FAILED,
            port: 0,
            id: 0,
            deadline_at_ms: 0,
            method: gallivant_str::NONE,
            input_json: gallivant_str::NONE,
            outcome_json: gallivant_str::NONE,
            failure: std::ptr::null(),
        };
        state.failure = None;
        match taken {
            Step::Call(Call { id, port, method, input, deadline_at, signal }) => {
                *self.signal.lock().unwrap_or_else(PoisonError::into_inner) = Some(signal);
                let input = Value::Object(input).to_json();
                [lent.method, lent.input_json] = state.texts.hold([Some(method), Some(&input)]);
                lent.kind = GALLIVANT_STEP_CALL;
                lent.port = PORTS.number(port);
                lent.id = id;
                lent.deadline_at_ms = deadline_at;
            }
            Step::Done(Ok(outcome)) => {
                [lent.outcome_json] = state.texts.hold([Some(&outcome.to_json())]);
                lent.kind = GALLIVANT_STEP_DONE;
            }
            Step::Done(Err(failure)) => {
                let failure = state.failure.insert(Box::new(gallivant_error::new(&failure)));
                lent.failure = std::ptr::from_ref(&**failure);
            }
        }
        out.set(lent);
    }
}

impl State {
    /// What has still to begin, which is gone from here.
    ///
    /// # Errors
    /// `GALLIVANT_EXECUTION_INPUT` with reason `reply`; nothing has changed then.
    pub(super) fn begin(&mut self) -> Result<Called> {
        match std::mem::replace(&mut self.running, Running::Gone) {
            Running::Ready(called) => Ok(called),
            begun => {
                self.running = begun;
                Err(not_outstanding("the machine has begun"))
            }
        }
    }
}
