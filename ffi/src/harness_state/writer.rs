//! Harness state: writing what is seen.
//!
//! Every call that writes takes the lock, reads again, decides by the rules, and publishes in one step for every reader.

use std::ffi::c_char;
use std::sync::Arc;

use gallivant_core::Result;
use gallivant_core::harness_state::adapters::{Child, ChildStep};
use gallivant_core::harness_state::{Observation, Report, Session, Writer};

use super::identity::{
    gallivant_harness_state_identity, gallivant_harness_state_observation, observation as observation_of,
    writer_identity,
};
use super::options::{self, gallivant_harness_state_options};
use super::report::gallivant_harness_state_report;
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, borrow, give};
use crate::names::Numbered;
use crate::options::OutSized;
use crate::view::{gallivant_optional_u64, gallivant_str};

/// The child starts.
pub const GALLIVANT_CHILD_STARTED: i32 = 1;
/// The child does something.
pub const GALLIVANT_CHILD_WORKING: i32 = 2;
/// The child is done.
pub const GALLIVANT_CHILD_STOPPED: i32 = 3;

const CHILD_STEPS: Numbered<ChildStep> = Numbered {
    what: "step",
    rows: &[
        (GALLIVANT_CHILD_STARTED, ChildStep::Started),
        (GALLIVANT_CHILD_WORKING, ChildStep::Working),
        (GALLIVANT_CHILD_STOPPED, ChildStep::Stopped),
    ],
};

/// One session's voice in one agent's directory.
///
/// Threads: any number at once. Free it with `gallivant_harness_state_writer_free`.
#[derive(Debug)]
pub struct gallivant_harness_state_writer {
    source: Source,
}

#[derive(Debug)]
enum Source {
    Own(Box<Writer>),
    /// The session's own writer, which lives on in its handles when the session's handle is freed.
    OfSession(Arc<Session>),
}

impl Handle for gallivant_harness_state_writer {}

impl gallivant_harness_state_writer {
    pub(crate) fn own(writer: Writer) -> Self {
        gallivant_harness_state_writer { source: Source::Own(Box::new(writer)) }
    }

    pub(crate) fn of_session(session: &Arc<Session>) -> Self {
        gallivant_harness_state_writer { source: Source::OfSession(Arc::clone(session)) }
    }

    pub(crate) fn writer(&self) -> &Writer {
        match &self.source {
            Source::Own(writer) => writer,
            Source::OfSession(session) => session.writer(),
        }
    }
}

/// Opens a writer on an agent's directory, which need not exist yet. Touches no file. `options` may be NULL.
///
/// `sequence` is the one that a claim answered, for a writer that adopts the claim. NULL makes a token-only writer, which
/// writes where nobody has claimed, or where its own token stands.
///
/// Errors: `GALLIVANT_HARNESS_STATE_EMPTY_TOKEN`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_writer_open(
    directory: *const c_char,
    directory_length: usize,
    identity: *const gallivant_harness_state_identity,
    sequence: *const u64,
    options: *const gallivant_harness_state_options,
    writer: *mut *mut gallivant_harness_state_writer,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let directory = gallivant_str::new(directory, directory_length).text("directory")?;
            let identity = writer_identity(identity)?;
            let (read, host) = options::options(options)?;
            let out = Out::new(writer, "writer")?;
            let writer = Writer::open(directory, identity, sequence.as_ref().copied(), &read, &host)?;
            let writer = options::with_evidence(writer, options)?;
            out.set(give(gallivant_harness_state_writer::own(writer)));
            Ok(())
        })
    }
}

/// Records what is seen. When the outcome is landed, every reader sees it; an ending with an exit is then also durable,
/// anything else may be lost with the machine's power. `report` may be NULL.
///
/// Errors: `GALLIVANT_HARNESS_STATE_UNKNOWN_STATE`, `_UNFENCED`, `_UNKNOWN_ASK`, `_ASK_WITHOUT_HUMAN`, `_RESERVED_REASON`
/// before anything is touched; `_BUSY`, `_LOCKING`, `_IO` with nothing written, except that after a failed sync the
/// record may stand.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_writer_observe(
    writer: *mut gallivant_harness_state_writer,
    observation: *const gallivant_harness_state_observation,
    report: *mut gallivant_harness_state_report,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || observe(writer, observation, report, Writer::observe)) }
}

/// As `gallivant_harness_state_writer_observe`, unless the session's own ending with an exit stands: then nothing is
/// written and the observation is refused as `GALLIVANT_REFUSAL_TERMINAL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_writer_observe_unless_ended(
    writer: *mut gallivant_harness_state_writer,
    observation: *const gallivant_harness_state_observation,
    report: *mut gallivant_harness_state_report,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || observe(writer, observation, report, Writer::observe_unless_ended)) }
}

/// Records the end, with this exit, e.g. `exit 0` or `signal 9`; NULL for none. A repeat coalesces, another exit
/// replaces. Durable when it lands with an exit. A plain `gallivant_harness_state_writer_observe` may follow and lands.
/// `report` may be NULL.
///
/// Errors: as `gallivant_harness_state_writer_observe`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_writer_ended(
    writer: *mut gallivant_harness_state_writer,
    exit: *const c_char,
    exit_length: usize,
    report: *mut gallivant_harness_state_report,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let writer = borrow(writer, "writer")?;
            let exit = gallivant_str::new(exit, exit_length).optional("exit")?;
            let out = OutSized::optional(report, "report")?;
            fill(out, &writer.writer().ended(exit)?);
            Ok(())
        })
    }
}

/// Notes what became of a child of the session's, a subagent: one of the GALLIVANT_CHILD constants. The turn stays as it is;
/// a reader that finds it over while children run answers `active` with reason `children`. Not synced. Where the session
/// has observed nothing or has ended, and with the extension switched off, there is nothing to note. `report` may be NULL.
///
/// Errors: as `gallivant_harness_state_writer_observe`; `GALLIVANT_HARNESS_STATE_INPUT` with reason `child` for an id that
/// is empty or longer than 128 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_writer_note_child(
    writer: *mut gallivant_harness_state_writer,
    id: *const c_char,
    id_length: usize,
    step: i32,
    report: *mut gallivant_harness_state_report,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let writer = borrow(writer, "writer")?;
            let id = gallivant_str::new(id, id_length).text("id")?.to_owned();
            let child = Child { id, step: CHILD_STEPS.input(step)? };
            let out = OutSized::optional(report, "report")?;
            fill(out, &writer.writer().note_child(&child)?);
            Ok(())
        })
    }
}

/// Makes the next landed observation a transition even if it says what stands, because what stands was interrupted. Touches
/// no file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_writer_interrupt(
    writer: *mut gallivant_harness_state_writer,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            borrow(writer, "writer")?.writer().interrupt();
            Ok(())
        })
    }
}

/// Renews the stamp of the session's live record, whoever of the session wrote it, and keeps everything else as it
/// stood. Where there is nothing to renew, it is skipped. Not synced. `report` may be NULL.
///
/// Errors: `GALLIVANT_HARNESS_STATE_BUSY`, `_LOCKING`, `_IO` with nothing written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_writer_heartbeat(
    writer: *mut gallivant_harness_state_writer,
    report: *mut gallivant_harness_state_report,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let writer = borrow(writer, "writer")?;
            let out = OutSized::optional(report, "report")?;
            let heartbeat = writer.writer().heartbeat()?;
            if let Some(out) = out {
                out.set((&heartbeat).into());
            }
            Ok(())
        })
    }
}

/// The sequence that was adopted or resolved; absent before a token-only writer's first accepted call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_writer_sequence(
    writer: *const gallivant_harness_state_writer,
    sequence: *mut gallivant_optional_u64,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let writer = borrow(writer, "writer")?;
            Out::new(sequence, "sequence")?.set(writer.writer().sequence().into());
            Ok(())
        })
    }
}

/// Frees the writer, which writes nothing. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_writer_free(writer: *mut gallivant_harness_state_writer) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(writer) });
}

/// Writes a report where one is wanted.
pub(crate) fn fill(out: Option<OutSized<gallivant_harness_state_report>>, report: &Report) {
    if let Some(out) = out {
        out.set(report.into());
    }
}

/// # Safety
/// The pointers are as the conventions say.
unsafe fn observe(
    writer: *const gallivant_harness_state_writer,
    observation: *const gallivant_harness_state_observation,
    report: *mut gallivant_harness_state_report,
    observe: fn(&Writer, &Observation) -> Result<Report>,
) -> Result<()> {
    // SAFETY: the same contract.
    unsafe {
        let writer = borrow(writer, "writer")?;
        let observation = observation_of(observation)?;
        let out = OutSized::optional(report, "report")?;
        fill(out, &observe(writer.writer(), &observation)?);
    }
    Ok(())
}
