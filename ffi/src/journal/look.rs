//! What is asked of a run's files: what its journal is worth, its collected result, and which runs keep raw output for too long.
//!
//! Nothing is opened for longer than the call, and nothing is written.

use std::ffi::{c_char, c_void};

use gallivant_core::journal::{
    Checked, Gap, PendingBatch, check_with, read_run_result, retention_candidates,
};

use super::words::reason_number;
use super::writer::gallivant_journal_position;
use crate::barrier::{call, outside};
use crate::buffer::gallivant_text;
use crate::error::gallivant_error;
use crate::handle::{Out, give, null_pointer};
use crate::host::{gallivant_host, host_or_system};
use crate::options::{OutSized, sized};
use crate::view::{Texts, gallivant_str};

/// Something that is missing of a journal.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_journal_gap {
    /// Set by the library.
    pub struct_size: usize,
    /// The first number that it stands for.
    pub from: u64,
    /// The last one; one less than `from` where damaged bytes stand for no number.
    pub to: u64,
    /// Where it begins in `events.jsonl`, in bytes.
    pub bytes_from: u64,
    /// Where it ends, its newline included; equal to `bytes_from` where records are missing without a trace.
    pub bytes_to: u64,
    /// Why: GALLIVANT_GAP_REASON. `GALLIVANT_GAP_REASON_CORRUPT_RECORD` where it was found, any other where it was recorded.
    pub reason: i32,
}

/// Is called for each gap, in the file's order. `gap` is valid during the call.
pub type gallivant_journal_gap_visitor =
    Option<unsafe extern "C" fn(user_data: *mut c_void, gap: *const gallivant_journal_gap)>;

/// Is called for each run, by its name below the root. `run` is valid during the call.
pub type gallivant_journal_run_visitor =
    Option<unsafe extern "C" fn(user_data: *mut c_void, run: gallivant_str)>;

/// What a check has found.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_journal_checked {
    /// Set by `GALLIVANT_JOURNAL_CHECKED_INIT`.
    pub struct_size: usize,
    /// What is acknowledged.
    pub end: gallivant_journal_position,
    /// How many good records there are that are no gaps.
    pub records: u64,
    /// How many gaps are recorded or were found.
    pub gaps: u64,
    /// How many records the batch has that waits behind the acknowledged bytes, which the next append recovers; 0 where none
    /// does.
    pub pending_records: u64,
    /// How many of them are there whole, from the first on.
    pub pending_kept: u64,
}
sized!(gallivant_journal_checked);

// C: #define GALLIVANT_JOURNAL_CHECKED_INIT { sizeof(gallivant_journal_checked), { 0, 0 }, 0, 0, 0, 0 }

/// Checks the journal in a run's directory. The acknowledged bytes are read once, in memory that does not depend on their
/// number. A run that never recorded anything has an empty one. `visit` is called for every gap; it may be NULL where their
/// number is enough. `host` may be NULL.
///
/// Errors: `GALLIVANT_EXECUTION_JOURNAL` and `_VERSION` as the journal refuses; `GALLIVANT_EXECUTION_UNKNOWN_RUN` where there is no
/// such directory; `GALLIVANT_EXECUTION_IO`. Gaps may have been visited before an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_journal_check(
    directory: *const c_char,
    directory_length: usize,
    host: *const gallivant_host,
    visit: gallivant_journal_gap_visitor,
    user_data: *mut c_void,
    checked: *mut gallivant_journal_checked,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let directory = gallivant_str::new(directory, directory_length).text("directory")?;
            let host = host_or_system(host);
            let out = OutSized::new(checked, "checked")?;
            let mut gaps = 0;
            let Checked { end, records, pending, .. } = check_with(directory, &host, &mut |gap| {
                gaps += 1;
                if let Some(visit) = visit {
                    let gap = gallivant_journal_gap::from(&gap);
                    outside(|| visit(user_data, &raw const gap));
                }
            })?;
            let pending = pending.unwrap_or(PendingBatch { records: 0, kept: 0 });
            out.set(gallivant_journal_checked {
                struct_size: 0,
                end: end.into(),
                records,
                gaps,
                pending_records: pending.records,
                pending_kept: pending.kept,
            });
            Ok(())
        })
    }
}

/// The view of a run's result as JSON, `{outcome, cost, artifacts, application, verification}`, without recognised credentials,
/// text of files and raw diagnostics; NULL, with success, before there is a result. It needs no log. `host` may be NULL.
///
/// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN` where there is no such directory; `GALLIVANT_EXECUTION_VERSION` for a result of
/// another package; `GALLIVANT_EXECUTION_IO` for whatever is not a missing file, and for one that is no JSON object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_journal_read_run_result(
    directory: *const c_char,
    directory_length: usize,
    host: *const gallivant_host,
    result: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let directory = gallivant_str::new(directory, directory_length).text("directory")?;
            let host = host_or_system(host);
            let out = Out::new(result, "result")?;
            let view = read_run_result(directory, &host)?;
            out.set(view.map_or(std::ptr::null_mut(), |view| give(gallivant_text::new(&view.to_json()))));
            Ok(())
        })
    }
}

/// Visits the runs below a root whose private raw output has expired and whose result is durable, in the order of their names,
/// for the clean-up by hand of what an older package left: nothing is removed. `host` may be NULL.
///
/// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN` where there is no such root; `GALLIVANT_EXECUTION_IO`. No run was visited then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_journal_retention_candidates(
    root: *const c_char,
    root_length: usize,
    host: *const gallivant_host,
    visit: gallivant_journal_run_visitor,
    user_data: *mut c_void,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let root = gallivant_str::new(root, root_length).text("root")?;
            let host = host_or_system(host);
            let visit = visit.ok_or_else(|| null_pointer("visit"))?;
            let mut texts = Texts::default();
            for run in retention_candidates(root, &host)? {
                let [run] = texts.hold([Some(&run)]);
                outside(|| visit(user_data, run));
            }
            Ok(())
        })
    }
}

impl From<&Gap> for gallivant_journal_gap {
    fn from(gap: &Gap) -> Self {
        gallivant_journal_gap {
            struct_size: size_of::<gallivant_journal_gap>(),
            from: gap.from,
            to: gap.to,
            bytes_from: gap.bytes.start,
            bytes_to: gap.bytes.end,
            reason: reason_number(Some(gap.reason)),
        }
    }
}
