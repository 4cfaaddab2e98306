//! Redaction: secrets and recognised credentials out of texts, JSON values and streams.

use std::ffi::c_char;
use std::fmt;

use gallivant_core::redaction::{Patterns, Redactor, Secrets, Stream};
use gallivant_core::{Error, Result};

use crate::barrier::{answer, call};
use crate::buffer::gallivant_text;
use crate::error::gallivant_error;
use crate::handle::{self, Exclusive, Handle, Out, array, borrow, give};
use crate::view::gallivant_str;

/// Redacts by one set of secrets, which it copies. Never changes.
///
/// Threads: any number at once. Free it with `gallivant_redactor_free`.
#[derive(Debug)]
pub struct gallivant_redactor {
    pub(crate) redactor: Redactor,
}

impl Handle for gallivant_redactor {}

/// A text that comes in pieces. What comes out does not depend on how it was cut.
///
/// Threads: one at a time. Free it with `gallivant_redaction_stream_free`.
#[derive(Debug)]
pub struct gallivant_redaction_stream {
    state: Exclusive<Pieces>,
}

impl Handle for gallivant_redaction_stream {}

struct Pieces {
    stream: Stream,
    /// What is certain and not yet read, and how much of it was read.
    out: Vec<u8>,
    read: usize,
}

impl fmt::Debug for Pieces {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stream.fmt(out)
    }
}

/// Builds a redactor for these secrets and for recognised credentials (keys and tokens by their form, the values of
/// `Authorization` and `Bearer`, the user-info of URLs, PEM private keys). The bytes of a secret need not be UTF-8;
/// `secrets` may be NULL where `count` is 0. Every secret counts, whatever its length.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `secret` when one is empty or no string, by its position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_redactor_new(
    secrets: *const gallivant_str,
    count: usize,
    redactor: *mut *mut gallivant_redactor,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || build(secrets, count, Patterns::Recognised, redactor)) }
}

/// As `gallivant_redactor_new`, for the secrets alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_redactor_new_without_patterns(
    secrets: *const gallivant_str,
    count: usize,
    redactor: *mut *mut gallivant_redactor,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || build(secrets, count, Patterns::Off, redactor)) }
}

/// # Safety
/// As the exports that call it.
unsafe fn build(
    secrets: *const gallivant_str,
    count: usize,
    patterns: Patterns,
    redactor: *mut *mut gallivant_redactor,
) -> Result<()> {
    // SAFETY: by this function's contract, here and for each view.
    let views = unsafe { array(secrets, count, "secrets") }?;
    let bytes = |(position, view): (usize, &gallivant_str)| {
        if view.data.is_null() {
            return Err(Secrets::not_a_string(position));
        }
        // SAFETY: as above.
        unsafe { view.bytes("secrets") }
    };
    let secrets = views.iter().enumerate().map(bytes).collect::<Result<Vec<_>>>()?;
    // SAFETY: as above.
    let out = unsafe { Out::new(redactor, "redactor") }?;
    let redactor = Redactor::new(&Secrets::strict(secrets)?, patterns)?;
    out.set(give(gallivant_redactor { redactor }));
    Ok(())
}

/// Redacts a text. The text as a whole is looked at: a secret that begins in one call and ends in the next is found by
/// a stream only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_redactor_text(
    redactor: *const gallivant_redactor,
    text: *const c_char,
    text_length: usize,
    redacted: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(redactor, "redactor")?;
            let text = gallivant_str::new(text, text_length).text("text")?;
            let out = Out::new(redacted, "redacted")?;
            out.set(give(gallivant_text::new(&handle.redactor.text(text))));
            Ok(())
        })
    }
}

/// Redacts the strings and keys of a JSON value, at any depth. Members keep their order and numbers their digits. Where two
/// keys of an object become equal, the later one gets `#2`, `#3` and so on behind it.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `shape` for what is not one JSON value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_redactor_json(
    redactor: *const gallivant_redactor,
    json: *const c_char,
    json_length: usize,
    redacted: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(redactor, "redactor")?;
            let json = gallivant_str::new(json, json_length).text("json")?;
            let out = Out::new(redacted, "redacted")?;
            out.set(give(gallivant_text::new(&handle.redactor.json(json)?)));
            Ok(())
        })
    }
}

/// The most bytes that a stream of this redactor holds back; 0 where `redactor` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_redactor_most_held_back(redactor: *const gallivant_redactor) -> u64 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { redactor.as_ref() }.map_or(0, |handle| handle.redactor.most_held_back() as u64))
}

/// Frees the redactor; its streams go on. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_redactor_free(redactor: *mut gallivant_redactor) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(redactor) });
}

/// Begins a text that comes in pieces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_redaction_stream_open(
    redactor: *const gallivant_redactor,
    stream: *mut *mut gallivant_redaction_stream,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(redactor, "redactor")?;
            let out = Out::new(stream, "stream")?;
            let pieces = Pieces { stream: handle.redactor.stream(), out: Vec::new(), read: 0 };
            out.set(give(gallivant_redaction_stream { state: Exclusive::new(pieces) }));
            Ok(())
        })
    }
}

/// Takes a piece, of any bytes. What is certain by now waits to be read: read until nothing is left before the next piece,
/// or it adds up in memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_redaction_stream_push(
    stream: *const gallivant_redaction_stream,
    piece: *const c_char,
    piece_length: usize,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let mut pieces = borrow(stream, "stream")?.state.take("stream")?;
            let piece: &[u8] = array(piece.cast(), piece_length, "piece")?;
            let Pieces { stream, out, read } = &mut *pieces;
            if *read == out.len() {
                out.clear();
                *read = 0;
            }
            stream.push(piece, out);
            Ok(())
        })
    }
}

/// The text ends here: the rest waits to be read. Call it on every way out, since what was pushed and not finished is
/// lost with the stream. The next piece begins another text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_redaction_stream_finish(
    stream: *const gallivant_redaction_stream,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let mut pieces = borrow(stream, "stream")?.state.take("stream")?;
            let Pieces { stream, out, .. } = &mut *pieces;
            stream.finish(out);
            Ok(())
        })
    }
}

/// Moves what waits into `buffer`, at most `capacity` bytes and without a zero byte behind them; `length` says how many,
/// 0 when nothing waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_redaction_stream_read(
    stream: *const gallivant_redaction_stream,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let mut pieces = borrow(stream, "stream")?.state.take("stream")?;
            let place = Out::new(buffer, "buffer")?;
            let length = Out::new(length, "length")?;
            let waiting = &pieces.out[pieces.read..];
            let count = waiting.len().min(capacity);
            place.copy(&waiting[..count]);
            pieces.read += count;
            length.set(count);
            Ok::<(), Error>(())
        })
    }
}

/// Frees the stream, and with it what was not finished or not read. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_redaction_stream_free(stream: *mut gallivant_redaction_stream) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(stream) });
}
