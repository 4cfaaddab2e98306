//! A frame as the bytes of a server-sent event. Routes and connections are the program's.

use std::ffi::c_char;

use gallivant_core::journal::server_sent_event;

use super::replay::gallivant_frame;
use super::words::FRAMES;
use crate::barrier::call;
use crate::error::gallivant_error;
use crate::handle::Out;
use crate::options;
use crate::view::Room;

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
