//! Local runs in calls that block: start, watch, stop and settle a harness process of this machine.
//!
//! They are for boundaries with the built-in process host, whose machines hand out no call, and do what the methods of the same names
//! do by `gallivant_execution_boundary_call`. No lock is held between two of them, nor while one waits for a tree to go.

use std::ffi::c_char;
use std::time::Duration;

use gallivant_core::Result;
use gallivant_core::execution::LocalRuns;
use gallivant_core::json::{Object, Value};

use super::abort_token::{gallivant_execution_abort_token, token_or_none};
use super::boundary::gallivant_execution_boundary;
use super::object;
use crate::barrier::call;
use crate::buffer::gallivant_text;
use crate::error::gallivant_error;
use crate::handle::{Out, borrow, give};
use crate::options::timeout;
use crate::view::gallivant_str;

/// Starts a run, and gives its job record, which names the process: it is on disk before the process does anything. `input_json` is
/// that of a `submit`, and may leave out `operationId`. `token` ends the wait for the task's lock and may be NULL, here and below.
///
/// Errors: those of `submit`; `GALLIVANT_EXECUTION_INPUT` for a boundary without the built-in process host, here and below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_local_run_start(
    boundary: *const gallivant_execution_boundary,
    input_json: *const c_char,
    input_json_length: usize,
    token: *const gallivant_execution_abort_token,
    job_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let runs = runs_of(boundary)?;
            let input = gallivant_str::new(input_json, input_json_length).text("input_json")?;
            let out = Out::new(job_json, "job_json")?;
            let job = runs.start(object(input, "input_json")?, &token_or_none(token))?;
            out.set(text_of(&Value::Object(job)));
            Ok(())
        })
    }
}

/// Starts a further turn of the current run's session, with the input of a `continue`, and gives its outcome.
///
/// Errors: those of `continue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_local_run_resume(
    boundary: *const gallivant_execution_boundary,
    input_json: *const c_char,
    input_json_length: usize,
    token: *const gallivant_execution_abort_token,
    outcome_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let runs = runs_of(boundary)?;
            let input = gallivant_str::new(input_json, input_json_length).text("input_json")?;
            let out = Out::new(outcome_json, "outcome_json")?;
            out.set(text_of(&runs.resume(object(input, "input_json")?, &token_or_none(token))?));
            Ok(())
        })
    }
}

/// The job record that `latest-run` names; `job_json` becomes NULL where there is none. Reads.
///
/// Errors: `GALLIVANT_EXECUTION_IO`; `GALLIVANT_EXECUTION_VERSION`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_local_run_current(
    boundary: *const gallivant_execution_boundary,
    job_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let runs = runs_of(boundary)?;
            let out = Out::new(job_json, "job_json")?;
            out.set(job_of(runs.current()?));
            Ok(())
        })
    }
}

/// The job record of a run; `job_json` becomes NULL where there is none. Reads.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` for what is no run id; `GALLIVANT_EXECUTION_IO`; `GALLIVANT_EXECUTION_VERSION`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_local_run_read(
    boundary: *const gallivant_execution_boundary,
    run_id: *const c_char,
    run_id_length: usize,
    job_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let runs = runs_of(boundary)?;
            let run_id = gallivant_str::new(run_id, run_id_length).text("run_id")?;
            let out = Out::new(job_json, "job_json")?;
            out.set(job_of(runs.read(run_id)?));
            Ok(())
        })
    }
}

/// The public lines of a run behind the row with the id `after`, which may be NULL for the oldest that is kept: at most `limit`, and at
/// most 400, as a JSON object `{"rows", "before", "after"}`. To follow a run without JSON open a `gallivant_log_reader` in its directory.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` for what is no run id; those of `gallivant_log_reader_lines`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_local_run_lines(
    boundary: *const gallivant_execution_boundary,
    run_id: *const c_char,
    run_id_length: usize,
    after: *const c_char,
    after_length: usize,
    limit: usize,
    window_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let runs = runs_of(boundary)?;
            let run_id = gallivant_str::new(run_id, run_id_length).text("run_id")?;
            let after = gallivant_str::new(after, after_length).optional("after")?;
            let out = Out::new(window_json, "window_json")?;
            out.set(give(gallivant_text::new(&runs.lines(run_id, after, limit)?.to_json())));
            Ok(())
        })
    }
}

/// The directory in which the files of a run are, whether they are there or not.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` for what is no run id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_local_run_dir_of(
    boundary: *const gallivant_execution_boundary,
    run_id: *const c_char,
    run_id_length: usize,
    path: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let runs = runs_of(boundary)?;
            let run_id = gallivant_str::new(run_id, run_id_length).text("run_id")?;
            let out = Out::new(path, "path")?;
            out.set(give(gallivant_text::new(&runs.dir_of(run_id)?.to_string_lossy())));
            Ok(())
        })
    }
}

/// One pass, due or not, and its report: looks at the tree, kills what is due, settles what has ended, takes output in.
///
/// Errors: those of `reconcile`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_local_run_pass(
    boundary: *const gallivant_execution_boundary,
    token: *const gallivant_execution_abort_token,
    report_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let runs = runs_of(boundary)?;
            let out = Out::new(report_json, "report_json")?;
            out.set(text_of(&runs.pass(&token_or_none(token))?));
            Ok(())
        })
    }
}

/// The outcome of a run that has ended, settled by this call if it was not; `outcome_json` becomes NULL while something of its tree lives.
///
/// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN`, and those of `reconcile`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_local_run_settle(
    boundary: *const gallivant_execution_boundary,
    run_id: *const c_char,
    run_id_length: usize,
    token: *const gallivant_execution_abort_token,
    outcome_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let runs = runs_of(boundary)?;
            let run_id = gallivant_str::new(run_id, run_id_length).text("run_id")?;
            let out = Out::new(outcome_json, "outcome_json")?;
            let outcome = runs.settle(run_id, &token_or_none(token))?;
            out.set(if outcome.is_null() { std::ptr::null_mut() } else { text_of(&outcome) });
            Ok(())
        })
    }
}

/// Stops the whole tree of a run, and gives `{"confirmed", "terminal"?}`. Once it has returned the stop is on disk and the first signal is
/// sent; what is left `killAfterMs` later a pass kills, or `gallivant_execution_local_run_wait_for_kill`. `input_json` has `runId`,
/// `reason`, and if wanted `killAfterMs`, which else is the limit of that name.
///
/// Errors: those of `cancel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_local_run_kill(
    boundary: *const gallivant_execution_boundary,
    input_json: *const c_char,
    input_json_length: usize,
    token: *const gallivant_execution_abort_token,
    outcome_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let runs = runs_of(boundary)?;
            let input = gallivant_str::new(input_json, input_json_length).text("input_json")?;
            let out = Out::new(outcome_json, "outcome_json")?;
            out.set(text_of(&runs.kill(object(input, "input_json")?, &token_or_none(token))?));
            Ok(())
        })
    }
}

/// Waits until the whole tree of a run is gone: `is_gone` becomes 1 then, and 0 once so many ms have passed (`GALLIVANT_FOREVER` for without
/// end) or the token has fired. What a stop has left is killed when its time comes, and never because this wait is over; without a
/// stop nobody is signalled. The wait holds no lock, and other calls of the boundary go on meanwhile.
///
/// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN`, `GALLIVANT_EXECUTION_IO`, and those of `reconcile` but `GALLIVANT_EXECUTION_BUSY`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_local_run_wait_for_kill(
    boundary: *const gallivant_execution_boundary,
    run_id: *const c_char,
    run_id_length: usize,
    timeout_ms: u64,
    token: *const gallivant_execution_abort_token,
    is_gone: *mut i32,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let runs = runs_of(boundary)?;
            let run_id = gallivant_str::new(run_id, run_id_length).text("run_id")?;
            let out = Out::new(is_gone, "is_gone")?;
            let wait = timeout(timeout_ms).unwrap_or(Duration::MAX);
            out.set(i32::from(runs.wait_for_kill(run_id, wait, &token_or_none(token))?));
            Ok(())
        })
    }
}

/// # Safety
/// `boundary` is null or a handle of this library.
unsafe fn runs_of(boundary: *const gallivant_execution_boundary) -> Result<LocalRuns> {
    // SAFETY: the same contract.
    LocalRuns::of(&unsafe { borrow(boundary, "boundary") }?.boundary)
}

fn text_of(value: &Value) -> *mut gallivant_text {
    give(gallivant_text::new(&value.to_json()))
}

fn job_of(job: Option<Object>) -> *mut gallivant_text {
    job.map_or(std::ptr::null_mut(), |job| text_of(&Value::Object(job)))
}
