//! The boundary of one task: the object whose calls are the only ones that write its files.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use gallivant_core::execution::{AbortToken, Boundary, Called, ExecutionOptions, execution_runner};
use gallivant_core::{Host, Result, publication};

use super::abort_token::{gallivant_execution_abort_token, token_or_none};
use super::health::gallivant_execution_health_store;
use super::machine::gallivant_execution_machine;
use super::points::{faults_of, gallivant_execution_point, jitter_of};
use super::registry::gallivant_execution_registry;
use super::{not_outstanding, object};
use crate::barrier::{answer, call};
use crate::buffer::gallivant_text;
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, borrow, give};
use crate::host::{gallivant_host, host_or_system};
use crate::options::{self, sized};
use crate::view::gallivant_str;

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

impl gallivant_execution_boundary {
    pub(super) fn host(&self) -> &Host {
        &self.host
    }
}

/// What a boundary takes from its host program besides its options. But for `health` all of it is for tests.
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
    /// The health store that vouches for the account before a dispatch, in the place of the options' `health`; NULL for what
    /// these say. The boundary keeps what it needs of it, so that it may be freed meanwhile.
    pub health: *const gallivant_execution_health_store,
}
sized!(gallivant_execution_ports);

// C: #define GALLIVANT_EXECUTION_PORTS_INIT { sizeof(gallivant_execution_ports), NULL, NULL, NULL, NULL }

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
/// `judgePreparation`, `capabilities`, `dirOf`, `read`, `current`, `check`, `resultView`, `isDue`, `healthStatus`, and of local runs
/// `isGone` and `lookForKill`. Their input is `{"runId": …}` where they take one; `lookForKill` takes how many `looks` there were
/// before, and gives `{"gone", "killDue", "pauseMs"}`. It takes no lock, writes nothing and calls nobody.
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
    let faults = faults_of(
        ports.and_then(|ports| ports.at_point),
        ports.map_or(std::ptr::null_mut(), |ports| ports.user_data),
    );
    let mut options = ExecutionOptions::from_object(root, &object(json, "options_json")?, faults)?;
    if let Some(ports) = ports {
        // SAFETY: the conventions for what a struct points to.
        let health = unsafe {
            options.jitter = jitter_of(ports.jitter);
            ports.health.as_ref()
        };
        if let Some(health) = health {
            options.health = Some(Arc::new(health.store().clone()));
        }
    }
    Ok(options)
}
