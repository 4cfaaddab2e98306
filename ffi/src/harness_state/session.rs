//! Harness state: what a wrapper needs in one object, which mints, claims, leases, hands over, beats and ends.
//!
//! A session has no thread of its own; its caller drives it.

use std::ffi::c_char;
use std::sync::Arc;

use gallivant_core::harness_state::{NewSession, Session, Tick};

use super::claim::gallivant_harness_state_claim_result;
use super::environment::gallivant_harness_state_environment;
use super::identity::{Given, gallivant_harness_state_identity, given};
use super::options::{self, gallivant_harness_state_options};
use super::report::gallivant_harness_state_report;
use super::words::SKIPS;
use super::writer::{fill, gallivant_harness_state_writer};
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, borrow, give};
use crate::names::Names;
use crate::options::{OutSized, sized};
use crate::process::gallivant_process;
use crate::view::gallivant_str;

/// Nothing was due.
pub const GALLIVANT_TICK_NOT_DUE: i32 = 1;
/// The stamp was renewed.
pub const GALLIVANT_TICK_RENEWED: i32 = 2;
/// There was nothing of this session's to renew.
pub const GALLIVANT_TICK_SKIPPED: i32 = 3;
/// The attached harness process is provably gone, so nothing was renewed: end the session.
pub const GALLIVANT_TICK_HARNESS_GONE: i32 = 4;

const TICKS: [(i32, &str); 4] = [
    (GALLIVANT_TICK_NOT_DUE, "not-due"),
    (GALLIVANT_TICK_RENEWED, "renewed"),
    (GALLIVANT_TICK_SKIPPED, "skipped"),
    (GALLIVANT_TICK_HARNESS_GONE, "harness-gone"),
];

/// A claimed session, alive for as long as its handle.
///
/// Threads: any number at once. Free it with `gallivant_harness_state_session_free`.
#[derive(Debug)]
pub struct gallivant_harness_state_session {
    session: Arc<Session>,
}

impl Handle for gallivant_harness_state_session {}

/// What `gallivant_harness_state_session_heartbeat_if_due` did.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_harness_state_tick {
    /// Set by `GALLIVANT_HARNESS_STATE_TICK_INIT`.
    pub struct_size: usize,
    /// One of the GALLIVANT_TICK constants.
    pub kind: i32,
    /// Why it was skipped: GALLIVANT_SKIP; 0 where it was not.
    pub skip: i32,
    /// For `GALLIVANT_TICK_NOT_DUE`: when the next heartbeat is due, wall clock in ms since 1970; else 0.
    pub due_ms: u64,
}
sized!(gallivant_harness_state_tick);

// C: #define GALLIVANT_HARNESS_STATE_TICK_INIT { sizeof(gallivant_harness_state_tick), 0, 0, 0 }

/// Claims the seat, with a minted token unless the identity has one, and takes the lease. Once it has returned, claim and
/// floor are durable, and the lease is held if `gallivant_harness_state_session_holds_lease` says so. `options` may be NULL.
///
/// Errors: as `gallivant_harness_state_claim`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_session_start(
    directory: *const c_char,
    directory_length: usize,
    identity: *const gallivant_harness_state_identity,
    options: *const gallivant_harness_state_options,
    session: *mut *mut gallivant_harness_state_session,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let directory = gallivant_str::new(directory, directory_length).text("directory")?.into();
            let Given { agent, harness, token, pty_session } = given(identity)?;
            let (options, host) = options::options(options)?;
            let out = Out::new(session, "session")?;
            let new = NewSession { directory, agent, harness, pty_session, token };
            let session = Arc::new(Session::start(new, &options, &host)?);
            out.set(give(gallivant_harness_state_session { session }));
            Ok(())
        })
    }
}

/// The claim with which the session started, and what it could not do.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_session_claim(
    session: *const gallivant_harness_state_session,
    claim: *mut *mut gallivant_harness_state_claim_result,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let session = &borrow(session, "session")?.session;
            Out::new(claim, "claim")?.set(give(session.claim().into()));
            Ok(())
        })
    }
}

/// The session's writer, which has adopted the claim. It lives on when the session is freed, without the lease.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_session_writer(
    session: *const gallivant_harness_state_session,
    writer: *mut *mut gallivant_harness_state_writer,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let session = &borrow(session, "session")?.session;
            Out::new(writer, "writer")?.set(give(gallivant_harness_state_writer::of_session(session)));
            Ok(())
        })
    }
}

/// What to hand to the harness and its hooks.
///
/// Errors: `GALLIVANT_INPUT` with reason `environment` when a value holds a zero byte, which no environment can.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_session_environment(
    session: *const gallivant_harness_state_session,
    environment: *mut *mut gallivant_harness_state_environment,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let session = &borrow(session, "session")?.session;
            let out = Out::new(environment, "environment")?;
            out.set(give(gallivant_harness_state_environment::new(session.environment())?));
            Ok(())
        })
    }
}

/// Names the harness process that was started for this session, and records `ready` if nothing has been observed since the
/// claim and the session names a pty session. From then on no heartbeat is made for a dead harness. `process` receives
/// what names the process and may be NULL.
///
/// Errors: `GALLIVANT_HARNESS_STATE_INPUT` with reason `no-such-process` when the pid runs no process now; as
/// `gallivant_harness_state_writer_observe`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_session_attach(
    session: *mut gallivant_harness_state_session,
    pid: u32,
    process: *mut *mut gallivant_process,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let session = &borrow(session, "session")?.session;
            let identity = session.attach(pid)?;
            if let Some(process) = process.as_mut() {
                *process = give(gallivant_process::new(identity));
            }
            Ok(())
        })
    }
}

/// The process that was attached; NULL, with success, where none was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_session_harness_process(
    session: *const gallivant_harness_state_session,
    process: *mut *mut gallivant_process,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let session = &borrow(session, "session")?.session;
            let out = Out::new(process, "process")?;
            let attached = session.harness_process();
            out.set(attached.map_or(std::ptr::null_mut(), |process| give(gallivant_process::new(process))));
            Ok(())
        })
    }
}

/// Renews the stamp when the refresh interval has passed since the session's last stamp, whoever of it wrote it. Call it as
/// often as is convenient, once a second, say: between two due times it writes nothing, and looks only whether the attached
/// harness still runs and whether another session has claimed. It also asks again for a lease that could not be had.
///
/// Once another session has claimed the seat it gives the lease up and answers `GALLIVANT_TICK_SKIPPED` for good, with
/// `GALLIVANT_SKIP_SUPERSEDED` (`GALLIVANT_SKIP_FOREIGN_TOKEN` where only the record tells): then end the harness, because
/// nothing that it does is seen any more. `tick` may be NULL.
///
/// Errors: as `gallivant_harness_state_writer_heartbeat`; `GALLIVANT_HARNESS_STATE_INPUT` with reason `forked` in a forked
/// child.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_session_heartbeat_if_due(
    session: *mut gallivant_harness_state_session,
    tick: *mut gallivant_harness_state_tick,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let session = &borrow(session, "session")?.session;
            let out = OutSized::optional(tick, "tick")?;
            let (kind, skip, due_ms) = match session.heartbeat_if_due()? {
                Tick::NotDue(due_ms) => (GALLIVANT_TICK_NOT_DUE, 0, due_ms),
                Tick::Renewed => (GALLIVANT_TICK_RENEWED, 0, 0),
                Tick::Skipped(skip) => (GALLIVANT_TICK_SKIPPED, SKIPS.number(skip), 0),
                Tick::HarnessGone => (GALLIVANT_TICK_HARNESS_GONE, 0, 0),
            };
            if let Some(out) = out {
                out.set(gallivant_harness_state_tick { struct_size: 0, kind, skip, due_ms });
            }
            Ok(())
        })
    }
}

/// Whether the session holds its lease: 1 if it does, 0 if not. Not while a superseded session that still lives holds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_session_holds_lease(
    session: *const gallivant_harness_state_session,
    holds: *mut i32,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let session = &borrow(session, "session")?.session;
            Out::new(holds, "holds")?.set(i32::from(session.holds_lease()));
            Ok(())
        })
    }
}

/// Ends the session with this exit, e.g. `exit 0` or `signal 9`, or NULL for none, and releases the lease. Durable when
/// it lands with an exit. Afterwards no heartbeat does anything. The session's writers can still observe, and a plain
/// `gallivant_harness_state_writer_observe` lands over the ending; what does not know better than the wrapper uses
/// `gallivant_harness_state_writer_observe_unless_ended`. `report` may be NULL.
///
/// Errors: as `gallivant_harness_state_writer_ended`; the lease is then still held.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_session_end(
    session: *mut gallivant_harness_state_session,
    exit: *const c_char,
    exit_length: usize,
    report: *mut gallivant_harness_state_report,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let session = &borrow(session, "session")?.session;
            let exit = gallivant_str::new(exit, exit_length).optional("exit")?;
            let out = OutSized::optional(report, "report")?;
            fill(out, &session.end(exit)?);
            Ok(())
        })
    }
}

/// Releases the lease and frees the session. NULL is allowed. Writes nothing, exactly as the death of the process does: a
/// reader with a lease probe then says that the session is dead. To say how it ended, call
/// `gallivant_harness_state_session_end` first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_session_free(session: *mut gallivant_harness_state_session) {
    // SAFETY: by the conventions.
    answer(|| unsafe {
        if let Some(session) = session.as_ref() {
            session.session.release();
        }
        handle::free(session);
    });
}

/// The word for a GALLIVANT_TICK constant, such as `renewed`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_tick_name(tick: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(tick, TICKS.into_iter()))
}
