//! A frame for a client, as the bytes of a server-sent event, and for the program itself, as a row. Routes and connections are
//! the program's.

use std::ffi::c_char;

use gallivant_core::journal::{Row, server_sent_event};
use gallivant_core::{Code, Error};

use super::log_reader::{gallivant_log_row, texts};
use super::replay::gallivant_frame;
use super::words::FRAMES;
use crate::barrier::call;
use crate::error::gallivant_error;
use crate::handle::Out;
use crate::options::{self, OutSized};
use crate::view::{Room, gallivant_str};

/// Writes a frame as one server-sent event, with the empty line that ends it, for a response of `text/event-stream`. A line break
/// of any kind in the data begins a field of its own, a heartbeat is a comment, and a frame without an id leaves the client's
/// last event id alone.
///
/// `length` says how many bytes that are, without the zero byte that is written behind them. Where it is less than `capacity` they
/// are in `buffer`; elsewhere nothing was written: as `snprintf`, but that nothing is cut off. `buffer` may be NULL where
/// `capacity` is 0. The frame's strings must not lie in `buffer`.
///
/// Errors: `GALLIVANT_INPUT` with reason `constant` for a frame that is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_frame_to_sse(
    frame: *const gallivant_frame,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let given = options::input(frame, "frame")?;
            let event = FRAMES.input(given.event)?;
            let (id, data) = (given.id.optional("id")?, given.data.optional("data")?);
            let mut room = Room::given(buffer, "buffer", capacity, "capacity")?;
            let length = Out::new(length, "length")?;
            let text = server_sent_event(id, event, data.unwrap_or_default());
            room.hold([Some(&text)]);
            length.set(text.len());
            Ok(())
        })
    }
}

/// The row that a frame carries, for programs that show it and read no JSON. Its strings are written into `buffer`, each with a
/// zero byte behind it, and `needed` says how many bytes they take; where that is more than `capacity`, nothing is written and
/// the row's `kind` is 0. `buffer` may be NULL where `capacity` is 0. The frame's strings must not lie in `buffer`.
///
/// Errors: `GALLIVANT_INPUT` with reason `constant` for a frame that is none; `GALLIVANT_EXECUTION_INPUT` with reason `shape` for
/// one without a row, as a heartbeat is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_frame_row(
    frame: *const gallivant_frame,
    row: *mut gallivant_log_row,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let given = options::input(frame, "frame")?;
            FRAMES.input(given.event)?;
            let data = given.data.text("data")?;
            let out = OutSized::new(row, "row")?;
            let mut room = Room::given(buffer, "buffer", capacity, "capacity")?;
            let needed = Out::new(needed, "needed")?;
            let carried = Row::from_json(data).ok_or_else(|| {
                Error::new(Code::ExecutionInput, "the frame carries no row").with_reason("shape")
            })?;
            let held = room.hold(texts(&carried));
            needed.set(room.needed());
            let none = gallivant_log_row {
                struct_size: 0,
                kind: 0,
                reason: 0,
                id: gallivant_str::NONE,
                text: gallivant_str::NONE,
            };
            out.set(held.map_or(none, |views| gallivant_log_row::new(&carried, views)));
            Ok(())
        })
    }
}
