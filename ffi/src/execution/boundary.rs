//! The boundary of one task: the object whose calls are the only ones that write its files.

use std::ffi::{c_char, c_void};
use std::fmt;
use std::sync::Arc;

use gallivant_core::execution::{
    AbortToken, Boundary, Called, ExecutionOptions, FaultAnswer, Faults, FixedJitter, Jitter, NoFaults,
    execution_runner,
};
use gallivant_core::{Host, Result, publication};

use super::abort_token::{gallivant_execution_abort_token, token_or_none};
use super::machine::gallivant_execution_machine;
use super::registry::gallivant_execution_registry;
use super::{not_outstanding, object};
use crate::barrier::{answer, call, outside};
use crate::buffer::gallivant_text;
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, borrow, give};
use crate::host::{gallivant_host, host_or_system};
use crate::options::{self, sized};
use crate::view::{Texts, gallivant_str};

/// The boundary of one task, owned by one task, one provider and one account.
///
/// Two boundaries of one root, in one process or in several, exclude each other by the task's lock: their calls give the same
/// results as calls that are made one after another.
///
/// Threads: any number at once. Free it with `gallivant_execution_boundary_free`, which ends its machines.
#[derive(Debug)]
pub struct gallivant_execution_boundary {
    pub(super) boundary: Boundary,
    host: Host,
}

impl Handle for gallivant_execution_boundary {}

/// A point at which a test may fail the library, such as `intent-saved` or `persist:execution.json`: 0 goes on, anything else
/// makes the write report an I/O error. A pause is an answer that takes its time, a crash is one that does not return. It is
/// called by whichever thread makes a call of the boundary, whose machine is in use; it must not free the boundary, which waits
/// for that very step. `point` is valid during the call.
pub type gallivant_execution_point =
    Option<unsafe extern "C" fn(user_data: *mut c_void, point: gallivant_str) -> i32>;

/// What a boundary takes from its host program besides its options; all of it is for tests.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_execution_ports {
    /// Set by `GALLIVANT_EXECUTION_PORTS_INIT`.
    pub struct_size: usize,
    /// The number from 0 to 1 that stands for chance in every delay, read when the boundary is opened; NULL for the host's
    /// chance.
    pub jitter: *const f64,
    /// Called at each point; NULL for nobody.
    pub at_point: gallivant_execution_point,
    /// Handed to `at_point`; may be NULL. It has to live as long as the boundary and its machines.
    pub user_data: *mut c_void,
}
sized!(gallivant_execution_ports);

// C: #define GALLIVANT_EXECUTION_PORTS_INIT { sizeof(gallivant_execution_ports), NULL, NULL, NULL }

/// Makes the boundary of the task whose files are in the directory `root`. Creates no file and calls nobody. `ports` and `host`
/// may be NULL.
///
/// The options are a JSON object: `taskId`, `provider`, `account`, `capabilities`; `transport`, as `{"methods": [names]}`, or
/// `runner`, as `true` for a process host of yours or as an object with the options of the built-in one; and if wanted
/// `budgetUsd`, `limits`, `secrets`, `health` (a record, or `"external"`), `intakeDeadlineAt` and `sandboxRequired`.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` that names the member, with reasons `shape`, `limits` and `secret`;
/// `GALLIVANT_EXECUTION_CAPABILITY` for an adapter that lacks what the record promises; `GALLIVANT_EXECUTION_VERSION` for the
/// health record of another package.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_boundary_open(
    root: *const c_char,
    root_length: usize,
    options_json: *const c_char,
    options_json_length: usize,
    ports: *const gallivant_execution_ports,
    host: *const gallivant_host,
    boundary: *mut *mut gallivant_execution_boundary,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let root = gallivant_str::new(root, root_length).text("root")?;
            let json = gallivant_str::new(options_json, options_json_length).text("options_json")?;
            let host = host_or_system(host);
            let out = Out::new(boundary, "boundary")?;
            let options = options_of(root, json, ports)?;
            let boundary = Boundary::new(options, &host)?;
            out.set(give(gallivant_execution_boundary { boundary, host }));
            Ok(())
        })
    }
}

/// Makes the boundary of a task as its own files have it: for the provider, the account and the transport kind that its ledger
/// records, or else the job record of its current local run, with the record and the adapter of `registry`. What the options,
/// which are those of `gallivant_execution_boundary_open`, say of these counts only for a root in which nothing is saved. Creates
/// no file and calls nobody. `ports` and `host` may be NULL.
///
/// Errors: as `gallivant_execution_boundary_open`; `GALLIVANT_EXECUTION_CAPABILITY` with reason `unavailable` where the saved
/// provider is not registered or has no adapter; `GALLIVANT_EXECUTION_DEPENDENCY` where its record is of another transport kind;
/// those of a ledger that is damaged or of another package.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_runner(
    root: *const c_char,
    root_length: usize,
    options_json: *const c_char,
    options_json_length: usize,
    registry: *const gallivant_execution_registry,
    ports: *const gallivant_execution_ports,
    host: *const gallivant_host,
    boundary: *mut *mut gallivant_execution_boundary,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let root = gallivant_str::new(root, root_length).text("root")?;
            let json = gallivant_str::new(options_json, options_json_length).text("options_json")?;
            let registry = borrow(registry, "registry")?.registry();
            let host = host_or_system(host);
            let out = Out::new(boundary, "boundary")?;
            let options = options_of(root, json, ports)?;
            let boundary = execution_runner(options, registry, &host)?;
            out.set(give(gallivant_execution_boundary { boundary, host }));
            Ok(())
        })
    }
}

/// Calls a method by its name, and gives the machine of that call, which has still to be started or driven. `submit`,
/// `continue`, `prepare`, `recoverResponse`, `startup`, `reconcile`, `collect`, `cancel`, `requestCancel`, `preparationStop`,
/// `timeoutStop`, `adopt`, `settleAbsent` and `reconcileExecutionResult` do nothing before that. Those of `gallivant_execution_boundary_read` have read when
/// this returns, and their machine is done in its first step.
///
/// `input_json` is a JSON object, and NULL is an empty one. `token` ends the wait for the task's lock and may be NULL.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` for a name that is none and for an argument of the wrong shape, and those of a method that
/// reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_boundary_call(
    boundary: *const gallivant_execution_boundary,
    method: *const c_char,
    method_length: usize,
    input_json: *const c_char,
    input_json_length: usize,
    token: *const gallivant_execution_abort_token,
    machine: *mut *mut gallivant_execution_machine,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(boundary, "boundary")?;
            let method = gallivant_str::new(method, method_length).text("method")?;
            let input = gallivant_str::new(input_json, input_json_length).optional("input_json")?;
            let out = Out::new(machine, "machine")?;
            let input = object(input.unwrap_or("{}"), "input_json")?;
            let called = publication::call(&handle.boundary, method, input, token_or_none(token))?;
            let clock = Arc::clone(&handle.host.clock);
            out.set(give(gallivant_execution_machine::new(called, clock)));
            Ok(())
        })
    }
}

/// Calls a method that only reads, and gives its answer as JSON text: `inspect`, `outcome`, `preparationStatus`,
/// `judgePreparation`, `capabilities`, `dirOf`, `read`, `current`, `check` and `resultView`, whose input is `{"runId": …}` where
/// they take one. It takes no lock, writes nothing and calls nobody.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` for any other name, and with reason `reply` for a method that has to be started; those of
/// the method.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_boundary_read(
    boundary: *const gallivant_execution_boundary,
    method: *const c_char,
    method_length: usize,
    input_json: *const c_char,
    input_json_length: usize,
    answer: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(boundary, "boundary")?;
            let method = gallivant_str::new(method, method_length).text("method")?;
            let input = gallivant_str::new(input_json, input_json_length).optional("input_json")?;
            let out = Out::new(answer, "answer")?;
            let input = object(input.unwrap_or("{}"), "input_json")?;
            match handle.boundary.call(method, input, AbortToken::new())? {
                Called::Answer(answer) => out.set(give(gallivant_text::new(&answer.to_json()))),
                Called::Machine(_) => return Err(not_outstanding("a method does not only read")),
            }
            Ok(())
        })
    }
}

/// Frees the boundary. NULL is allowed. Its machines end as by a crash, wherever they stand: their locks are released, nothing is
/// written, and their further steps are refused. Waits for a step that another thread is taking.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_boundary_free(boundary: *mut gallivant_execution_boundary) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(boundary) });
}

/// The options of a boundary, from their JSON form and the host program's ports.
///
/// # Safety
/// As [`options::input`]; the callback of `ports` outlives the boundary.
unsafe fn options_of(
    root: &str,
    json: &str,
    ports: *const gallivant_execution_ports,
) -> Result<ExecutionOptions> {
    // SAFETY: the same contract.
    let ports = if ports.is_null() { None } else { Some(unsafe { options::input(ports, "ports") }?) };
    let faults: Arc<dyn Faults> = match ports.and_then(|ports| Some((ports.at_point?, ports.user_data))) {
        Some((at_point, user_data)) => Arc::new(Points { at_point, user_data }),
        None => Arc::new(NoFaults),
    };
    let mut options = ExecutionOptions::from_object(root, &object(json, "options_json")?, faults)?;
    // SAFETY: the conventions for what a struct points to.
    let jitter = ports.and_then(|ports| unsafe { ports.jitter.as_ref() }.copied());
    options.jitter = jitter.map(|jitter| Arc::new(FixedJitter(jitter)) as Arc<dyn Jitter>);
    Ok(options)
}

/// The points of a test, as a callback.
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
