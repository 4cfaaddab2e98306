//! Lanes: many tasks, at most so many at a time, and the passes of the boundaries that are due.
//!
//! A lane by its steps starts nothing: it says which task may start now, and is told when one has ended. A lane that runs calls the
//! program's function on the calling thread and on threads that end with the call.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gallivant_core::Result;
use gallivant_core::execution::{Boundary, Lane, Progress, ProgressLane, drive};

use super::abort_token::{gallivant_execution_abort_token, token_or_none};
use super::boundary::gallivant_execution_boundary;
use super::transport::{Table, gallivant_execution_transport};
use crate::barrier::{answer, call, outside};
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, array, borrow, give, null_pointer};
use crate::options::{self, too_long};
use crate::view::{Fixed, Texts, gallivant_optional_u64, gallivant_str};

/// Which of its tasks, numbered from 0, may start now.
///
/// Threads: any number at once. Free it with `gallivant_execution_lane_free`.
#[derive(Debug)]
pub struct gallivant_execution_lane {
    lane: Mutex<Lane>,
}

impl Handle for gallivant_execution_lane {}

impl gallivant_execution_lane {
    fn lane(&self) -> MutexGuard<'_, Lane> {
        self.lane.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does the task with this number, counted from 0. Several run at one time, each on a thread of its own.
pub type gallivant_execution_task = Option<unsafe extern "C" fn(user_data: *mut c_void, task: u64)>;

/// What the passes of a lane have come to. Never changes.
///
/// Threads: any number at once. Free it with `gallivant_execution_progress_free`.
#[derive(Debug)]
pub struct gallivant_execution_progress {
    passes: Vec<Pass>,
}

impl Handle for gallivant_execution_progress {}

#[derive(Debug)]
struct Pass {
    boundary: u64,
    report: Fixed<gallivant_str>,
    _texts: Texts,
    failure: Option<Box<gallivant_error>>,
}

/// A lane over so many tasks, of which at most `concurrency` run at one time: from 1 to 64.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `limits`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_lane_new(
    tasks: usize,
    concurrency: u64,
    lane: *mut *mut gallivant_execution_lane,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let out = Out::new(lane, "lane")?;
            out.set(give(gallivant_execution_lane { lane: Mutex::new(Lane::new(tasks, concurrency)?) }));
            Ok(())
        })
    }
}

/// The task that starts now, in the order of their numbers; absent while every slot is held, and once all have started. The caller
/// starts it, and says when it has ended.
///
/// Errors: none but those of NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_lane_start_next(
    lane: *const gallivant_execution_lane,
    task: *mut gallivant_optional_u64,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(lane, "lane")?;
            let out = Out::new(task, "task")?;
            out.set(handle.lane().start_next().map(|task| task as u64).into());
            Ok(())
        })
    }
}

/// A task has ended, well or not: its slot is free.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` for a task that does not run. Nothing has changed then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_lane_end(
    lane: *const gallivant_execution_lane,
    task: usize,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || borrow(lane, "lane")?.lane().end(task)) }
}

/// 1 where every task has started and ended, else 0, and where `lane` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_lane_is_done(lane: *const gallivant_execution_lane) -> i32 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| i32::from(unsafe { lane.as_ref() }.is_some_and(|lane| lane.lane().is_done())))
}

/// Frees the lane. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_lane_free(lane: *mut gallivant_execution_lane) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(lane) });
}

/// Does every task, numbered from 0, at most `concurrency` at a time (1 to 64), and returns when all have ended. `task` is called on the
/// calling thread and on others beside it, of which there may be fewer where threads are short; what a task comes to, it leaves
/// behind `user_data`, which may be NULL.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `limits`, and `GALLIVANT_INPUT` with reason `length` for more tasks than memory has
/// room for; nothing has run then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_lane_run(
    tasks: usize,
    concurrency: u64,
    task: gallivant_execution_task,
    user_data: *mut c_void,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let task = Shared(task.ok_or_else(|| null_pointer("task"))?, user_data);
            let mut numbers: Vec<u64> = Vec::new();
            numbers.try_reserve_exact(tasks).map_err(|_| too_long("tasks", tasks))?;
            numbers.extend(0..tasks as u64);
            Lane::run(&numbers, concurrency, |number| task.run(*number))?.into_iter().collect()
        })
    }
}

/// Runs one pass of each boundary that is due, at most `concurrency` at a time (1 to 64), and gives what they came to, in the order of
/// the boundaries. When a pass is due, the boundary's ledger says, and nothing else. A pass that is slow or fails holds its one slot
/// and nothing of another task's.
///
/// `transports` has a table for each boundary, by which its pass is driven; NULL where the library carries out everything, as the
/// built-in process host does. The tables are called by several threads, each for its own boundary. `token` ends the calls that are
/// outstanding and the waits for locks, and may be NULL.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `limits`; nothing has run then. That a pass has failed stands in `progress`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_progress_lane_run(
    boundaries: *const *const gallivant_execution_boundary,
    transports: *const *const gallivant_execution_transport,
    count: usize,
    concurrency: u64,
    token: *const gallivant_execution_abort_token,
    progress: *mut *mut gallivant_execution_progress,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let boundaries = array(boundaries, count, "boundaries")?.iter();
            let boundaries = boundaries.map(|boundary| borrow(*boundary, "boundaries"));
            let boundaries = boundaries.collect::<Result<Vec<_>>>()?;
            let transports = array(transports, count, "transports")?.iter();
            let transports = transports.map(|transport| match transport.is_null() {
                true => Ok(gallivant_execution_transport::NONE),
                false => options::input(*transport, "transports"),
            });
            let transports = transports.collect::<Result<Vec<_>>>()?;
            let abort = token_or_none(token);
            let out = Out::new(progress, "progress")?;
            let of = |(table, boundary): (_, &&gallivant_execution_boundary)| {
                let clock = Arc::clone(&boundary.host().clock);
                Arc::new(Table { table, clock, abort: abort.clone() })
            };
            let tables: Vec<_> = transports.into_iter().zip(&boundaries).map(of).collect();
            let boundaries: Vec<Boundary> = boundaries.iter().map(|it| it.boundary.clone()).collect();
            let passes = ProgressLane::run(&boundaries, concurrency, &abort, |number, machine| {
                drive(machine, &tables[number], &abort)
            })?;
            out.set(give(gallivant_execution_progress {
                passes: passes.into_iter().map(Pass::of).collect(),
            }));
            Ok(())
        })
    }
}

/// How many passes were run; 0 where `progress` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_progress_count(
    progress: *const gallivant_execution_progress,
) -> u64 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { progress.as_ref() }.map_or(0, |progress| progress.passes.len() as u64))
}

/// Whose pass it was: which of the boundaries, counted from 0. 0 too where there is no pass of this number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_progress_boundary(
    progress: *const gallivant_execution_progress,
    index: usize,
) -> u64 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { pass(progress, index) }.map_or(0, |pass| pass.boundary))
}

/// The report of a pass, as JSON text, valid until `progress` is freed; no string where the pass has failed, and where there is none
/// of this number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_progress_report(
    progress: *const gallivant_execution_progress,
    index: usize,
) -> gallivant_str {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { pass(progress, index) }.map_or(gallivant_str::NONE, |pass| *pass.report.get()))
}

/// Why there was no pass, lent until `progress` is freed; NULL where there was one, and where there is none of this number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_progress_failure(
    progress: *const gallivant_execution_progress,
    index: usize,
) -> *const gallivant_error {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        let failure = unsafe { pass(progress, index) }.and_then(|pass| pass.failure.as_deref());
        failure.map_or(std::ptr::null(), std::ptr::from_ref)
    })
}

/// Frees what the passes have come to. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_progress_free(progress: *mut gallivant_execution_progress) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(progress) });
}

/// # Safety
/// `progress` is null or a handle of this library.
unsafe fn pass<'a>(progress: *const gallivant_execution_progress, index: usize) -> Option<&'a Pass> {
    // SAFETY: the same contract.
    unsafe { progress.as_ref() }.and_then(|progress| progress.passes.get(index))
}

impl Pass {
    fn of(progress: Progress) -> Self {
        let mut texts = Texts::default();
        let (report, failure) = match progress.report {
            Ok(report) => (Some(report.to_json()), None),
            Err(failure) => (None, Some(Box::new(gallivant_error::new(&failure)))),
        };
        let [report] = texts.hold([report.as_deref()]);
        // SAFETY: the texts stand beside the view and are not touched again.
        let report = unsafe { Fixed::new(report) };
        Pass { boundary: progress.boundary as u64, report, _texts: texts, failure }
    }
}

/// A function of the program with what it is handed, for several threads at once.
pub(super) struct Shared(pub(super) unsafe extern "C" fn(*mut c_void, u64), pub(super) *mut c_void);

// SAFETY: function and data are the host's, which is told that several threads call it at one time.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Calls it.
    pub(super) fn run(&self, number: u64) {
        // SAFETY: by the conventions.
        outside(|| unsafe { (self.0)(self.1, number) });
    }
}
