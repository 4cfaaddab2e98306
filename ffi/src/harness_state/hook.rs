//! Harness state: one hook call, from a harness's payload to the record.

use std::ffi::{CString, c_char};
use std::path::Path;

use gallivant_core::harness_state::adapters::Harness;
use gallivant_core::harness_state::{self, HookOutcome, HookReport};

use super::environment::gallivant_harness_state_environment;
use super::options::{self, gallivant_harness_state_options};
use super::report::gallivant_harness_state_report;
use crate::barrier::{answer, call};
use crate::buffer::c_string;
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, borrow, give};
use crate::options::OutSized;
use crate::view::gallivant_str;

/// The event was an observation; the report is the writer's answer.
pub const GALLIVANT_HOOK_OBSERVED: i32 = 1;
/// The event is no observation.
pub const GALLIVANT_HOOK_IGNORED: i32 = 2;
/// The event could not be understood or not be written.
pub const GALLIVANT_HOOK_FAILED: i32 = 3;

/// How long a hook process lives at most, in ms.
pub const GALLIVANT_HARNESS_STATE_HOOK_DEADLINE_MS: u64 = 1000;

/// What one hook call did. Never changes.
///
/// Threads: any number at once. Free it with `gallivant_harness_state_hook_report_free`.
#[derive(Debug)]
pub struct gallivant_harness_state_hook_report {
    kind: i32,
    word: CString,
    event: Option<CString>,
    lossy: bool,
    report: Option<gallivant_harness_state_report>,
    error: Option<gallivant_error>,
}

impl Handle for gallivant_harness_state_hook_report {}

impl From<HookReport> for gallivant_harness_state_hook_report {
    fn from(report: HookReport) -> Self {
        let (kind, written, error) = match &report.outcome {
            HookOutcome::Observed(written) => (GALLIVANT_HOOK_OBSERVED, Some(written.into()), None),
            HookOutcome::Ignored(_) => (GALLIVANT_HOOK_IGNORED, None, None),
            HookOutcome::Failed(error) => (GALLIVANT_HOOK_FAILED, None, Some(gallivant_error::new(error))),
        };
        gallivant_harness_state_hook_report {
            kind,
            word: c_string(report.outcome.word()),
            event: report.event.as_deref().map(c_string),
            lossy: report.lossy,
            report: written,
            error,
        }
    }
}

/// Observes one event of a harness. `harness` is its name (`claude`, `codex`, `opencode`, `gemini`), `payload` what it
/// handed over, byte for byte: standard input of a hook, the last argument of Codex's notify program, what a plugin of
/// OpenCode made of an event (`docs/guides/opencode.md`). `environment` is the session to speak for; without one (NULL)
/// nothing changes and the observation is refused as `GALLIVANT_REFUSAL_IDENTITY_MISSING`. `options` may be NULL.
///
/// Waits for the lock for at most 250 ms, or the options' wait where that is shorter. What could not be done is in
/// `report`, and in `.harness-state.log` beside the record. A hook exits 0 and prints nothing in any case.
///
/// Errors: `GALLIVANT_HARNESS_STATE_INPUT` with reason `unknown-harness` when the name is no harness's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_observe_hook(
    harness: *const c_char,
    harness_length: usize,
    payload: *const c_char,
    payload_length: usize,
    environment: *const gallivant_harness_state_environment,
    options: *const gallivant_harness_state_options,
    report: *mut *mut gallivant_harness_state_hook_report,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let name = gallivant_str::new(harness, harness_length).text("harness")?;
            let harness = Harness::parse(name)?;
            let payload = gallivant_str::new(payload, payload_length).bytes("payload")?;
            let session = environment.as_ref().map(|environment| &environment.session);
            let (options, host) = options::options(options)?;
            let out = Out::new(report, "report")?;
            out.set(give(harness_state::observe_hook(harness, payload, session, &options, &host).into()));
            Ok(())
        })
    }
}

/// Writes a line into the log of an agent's directory, if there is one: for what went wrong around a hook, before or after
/// `gallivant_harness_state_observe_hook`. A log that cannot be written is given up in silence. `options` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_note(
    directory: *const c_char,
    directory_length: usize,
    entry: *const c_char,
    entry_length: usize,
    options: *const gallivant_harness_state_options,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let directory = gallivant_str::new(directory, directory_length).text("directory")?;
            let entry = gallivant_str::new(entry, entry_length).text("entry")?;
            let (_, host) = options::options(options)?;
            harness_state::note(Path::new(directory), &host, entry);
            Ok(())
        })
    }
}

/// What came of the event: one of the GALLIVANT_HOOK constants; 0 where `report` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_hook_report_kind(
    report: *const gallivant_harness_state_hook_report,
) -> i32 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { report.as_ref() }.map_or(0, |report| report.kind))
}

/// The same in one stable word: an outcome's, a refusal's, an ignored event's, or an error's name. Empty where `report` is
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_hook_report_word(
    report: *const gallivant_harness_state_hook_report,
) -> *const c_char {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { report.as_ref() }.map_or(c"".as_ptr(), |report| report.word.as_ptr()))
}

/// The event's name, as far as the payload could be read; NULL where it could not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_hook_report_event(
    report: *const gallivant_harness_state_hook_report,
) -> *const c_char {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        let event = unsafe { report.as_ref() }.and_then(|report| report.event.as_ref());
        event.map_or(std::ptr::null(), |event| event.as_ptr())
    })
}

/// Whether something in the payload was no Unicode and was replaced: 1 if so, 0 if not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_hook_report_lossy(
    report: *const gallivant_harness_state_hook_report,
) -> i32 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { report.as_ref() }.map_or(0, |report| i32::from(report.lossy)))
}

/// What the write did, where the event was an observation; all 0 where it was not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_hook_report_written(
    report: *const gallivant_harness_state_hook_report,
    written: *mut gallivant_harness_state_report,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let report = borrow(report, "report")?;
            let out = OutSized::new(written, "written")?;
            out.set(report.report.unwrap_or(gallivant_harness_state_report::NOTHING));
            Ok(())
        })
    }
}

/// What failed, lent until the report is freed; NULL where nothing did.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_hook_report_error(
    report: *const gallivant_harness_state_hook_report,
) -> *const gallivant_error {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        let error = unsafe { report.as_ref() }.and_then(|report| report.error.as_ref());
        error.map_or(std::ptr::null(), std::ptr::from_ref)
    })
}

/// Frees the report and ends its strings. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_hook_report_free(
    report: *mut gallivant_harness_state_hook_report,
) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(report) });
}
