//! All lines of a run and those to come, one frame at a time into a buffer of the caller.
//!
//! There is no thread. A replay sleeps in the caller's own wait, or in an event loop that polls its descriptor. A slow consumer
//! misses nothing and sees nothing twice: a row is read by its number, and what is read ahead is bounded.

use std::ffi::c_char;
use std::os::fd::AsRawFd;

use gallivant_core::journal::{Frame, Replay, ReplayWaker};
use gallivant_core::{Code, Error, Result};

use super::words::FRAMES;
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Exclusive, Handle, Out, borrow, give};
use crate::host::{gallivant_host, host_or_system};
use crate::options::{OutSized, sized, timeout};
use crate::view::{Room, Texts, gallivant_str};

/// The most bytes that the texts of one frame take.
pub const GALLIVANT_REPLAY_FRAME_CAPACITY: usize = 65_792;

/// The rows of one run, from just after a given one on, and those to come.
///
/// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise; only `gallivant_replay_wake` may be called by any thread at any
/// time. Free it with `gallivant_replay_free`.
#[derive(Debug)]
pub struct gallivant_replay {
    waker: ReplayWaker,
    state: Exclusive<Pulling>,
}

impl Handle for gallivant_replay {}

const NAME: &str = "gallivant_replay";

const NO_DESCRIPTOR: i32 = -1;

#[derive(Debug)]
struct Pulling {
    /// None once it is closed.
    replay: Option<Replay>,
    /// The resume point of one that is closed.
    resume: Option<String>,
    /// The memory of the resume point that was lent last.
    lent: Texts,
}

/// One frame. Written as a server-sent event it is `id`, the word of `event`, and `data`: `gallivant_frame_to_sse` does that.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_frame {
    /// Set by `GALLIVANT_FRAME_INIT`.
    pub struct_size: usize,
    /// What it is: GALLIVANT_FRAME; 0 where there is none, or it did not fit, and the strings are then none.
    pub event: i32,
    /// The row's id; no string for a heartbeat, and for a gap without a number, which move no cursor.
    pub id: gallivant_str,
    /// The row as one line of JSON, `{"id","kind","text"}` or `{"id","kind","reason"}`; empty for a heartbeat.
    pub data: gallivant_str,
}
sized!(gallivant_frame);

// C: #define GALLIVANT_FRAME_INIT { sizeof(gallivant_frame), 0, { NULL, 0 }, { NULL, 0 } }

/// Replays what stands in a run's directory, which exists, from just after the row with the id `last_event_id` on, and from the
/// oldest row on where it is NULL. Where that row or those after it are not retained, and where no row ever had the id, the
/// first frame is a gap. `host` may be NULL.
///
/// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN` where there is no such directory; `GALLIVANT_EXECUTION_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_replay_open(
    directory: *const c_char,
    directory_length: usize,
    last_event_id: *const c_char,
    last_event_id_length: usize,
    host: *const gallivant_host,
    replay: *mut *mut gallivant_replay,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let directory = gallivant_str::new(directory, directory_length).text("directory")?;
            let last = gallivant_str::new(last_event_id, last_event_id_length).optional("last_event_id")?;
            let host = host_or_system(host);
            let out = Out::new(replay, "replay")?;
            let replay = Replay::open(directory, last, &host)?;
            let waker = replay.waker();
            let state = Pulling { replay: Some(replay), resume: None, lent: Texts::default() };
            out.set(give(gallivant_replay { waker, state: Exclusive::new(state) }));
            Ok(())
        })
    }
}

/// Waits for the next frame, for at most `timeout_ms` (`GALLIVANT_FOREVER`: without end). Signals do not end the wait. After 20
/// seconds without a frame there is a heartbeat.
///
/// The frame's strings are written into `buffer`, each with a zero byte behind it, and `needed` says how many bytes they take;
/// `GALLIVANT_REPLAY_FRAME_CAPACITY` is enough. Where that is more than `capacity`, nothing is written and `event` is 0, and
/// nothing is lost: the next `gallivant_replay_next` or `gallivant_replay_poll` tells the same frame. Where the time is over
/// without a frame, `event` and `needed` are 0. `buffer` may be NULL where `capacity` is 0.
///
/// Errors: `GALLIVANT_CANCELLED` after `gallivant_replay_wake`; `GALLIVANT_EXECUTION_INPUT` with reason `forked` in a forked child;
/// `GALLIVANT_INPUT` with reason `closed`; `GALLIVANT_EXECUTION_IO`, and `_JOURNAL` and `_VERSION` for `log-meta.json`. No row is
/// lost by an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_replay_next(
    replay: *mut gallivant_replay,
    timeout_ms: u64,
    frame: *mut gallivant_frame,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let timeout = timeout(timeout_ms);
            pull(replay, frame, Room::given(buffer, "buffer", capacity, "capacity")?, needed, |replay| {
                replay.next(timeout)
            })
        })
    }
}

/// The next frame without waiting: for event loops, when the descriptor is readable. Call it until `needed` is 0 before the
/// next wait: the descriptor tells of what is new, and not of what was read ahead or did not fit. Otherwise as
/// `gallivant_replay_next`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_replay_poll(
    replay: *mut gallivant_replay,
    frame: *mut gallivant_frame,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let room = Room::given(buffer, "buffer", capacity, "capacity")?;
            pull(replay, frame, room, needed, Replay::poll)
        })
    }
}

/// The id to open with the next time: that of the last row that was told, and the one that this was opened with before the
/// first; no string where that was none. A frame that did not fit was not told. It is there after `gallivant_replay_close` too.
///
/// The string is valid until the next `gallivant_replay_resume_point` with this replay, or until it is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_replay_resume_point(
    replay: *mut gallivant_replay,
    id: *mut gallivant_str,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let mut pulling = borrow(replay, "replay")?.state.take(NAME)?;
            let out = Out::new(id, "id")?;
            let Pulling { replay, resume, lent } = &mut *pulling;
            let resume = replay.as_ref().map_or(resume.as_deref(), Replay::resume_point);
            let [view] = lent.hold([resume]);
            out.set(view);
            Ok(())
        })
    }
}

/// A descriptor for `poll`, `select`, `epoll` and event loops that becomes readable when `gallivant_replay_poll` should be called:
/// a change, a heartbeat that is due, a wake. Call it once before the first wait. The descriptor is the replay's own: only poll
/// it.
///
/// -1 where there is none: on platforms without such descriptors, where only `gallivant_replay_next` waits; in a forked child;
/// once the replay is closed; while another call uses it; and where `replay` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_replay_descriptor(replay: *const gallivant_replay) -> i32 {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        let pulling = unsafe { replay.as_ref() }.and_then(|replay| replay.state.take(NAME).ok());
        let descriptor = pulling.as_ref().and_then(|pulling| pulling.replay.as_ref()?.descriptor());
        descriptor.map_or(NO_DESCRIPTOR, |descriptor| descriptor.as_raw_fd())
    })
}

/// Ends the wait in progress, or the next one, with `GALLIVANT_CANCELLED`. From any thread. Does nothing where `replay` is NULL,
/// and once it is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_replay_wake(replay: *const gallivant_replay) {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        if let Some(replay) = unsafe { replay.as_ref() } {
            replay.waker.wake();
        }
    });
}

/// Closes every descriptor and forgets what waits, before the handle is freed. Does nothing the second time. While another call
/// uses the replay it answers `GALLIVANT_HANDLE_BUSY` and closes nothing: wake it first, and close when that call is back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_replay_close(
    replay: *mut gallivant_replay,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let mut pulling = borrow(replay, "replay")?.state.take(NAME)?;
            if let Some(replay) = pulling.replay.take() {
                pulling.resume = replay.resume_point().map(str::to_owned);
                replay.close();
            }
            Ok(())
        })
    }
}

/// Closes the replay and frees it, and ends the string of its resume point. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_replay_free(replay: *mut gallivant_replay) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(replay) });
}

/// # Safety
/// The pointers are as the conventions say.
unsafe fn pull(
    replay: *mut gallivant_replay,
    frame: *mut gallivant_frame,
    mut room: Room,
    needed: *mut usize,
    ask: impl FnOnce(&mut Replay) -> Result<Option<Frame>>,
) -> Result<()> {
    // SAFETY: the same contract.
    let (mut pulling, out, needed) = unsafe {
        let pulling = borrow(replay, "replay")?.state.take(NAME)?;
        (pulling, OutSized::new(frame, "frame")?, Out::new(needed, "needed")?)
    };
    let replay = pulling.replay.as_mut().ok_or_else(closed)?;
    let pulled = ask(replay)?;
    let mut told =
        gallivant_frame { struct_size: 0, event: 0, id: gallivant_str::NONE, data: gallivant_str::NONE };
    if let Some(frame) = pulled {
        match room.hold([frame.id.as_deref(), Some(&frame.data)]) {
            Some([id, data]) => {
                told = gallivant_frame { event: FRAMES.number(frame.event), id, data, ..told }
            }
            None => replay.give_back(frame),
        }
    }
    needed.set(room.needed());
    out.set(told);
    Ok(())
}

fn closed() -> Error {
    Error::new(Code::Input, "the replay is closed").with_reason("closed")
}
