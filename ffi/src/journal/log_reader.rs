//! Windows of a run's public lines, into memory of the caller: the last ones, the ones before, the ones after.
//!
//! A reader takes no lock and writes nothing. What is read is the window, however long the log is.

use std::ffi::c_char;

use gallivant_core::Result;
use gallivant_core::journal::{LogReader, Row, RowContent, Window};

use super::words::{GALLIVANT_ROW_GAP, GALLIVANT_ROW_LINE, reason_number};
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Exclusive, Handle, Out, borrow, give};
use crate::host::{gallivant_host, host_or_system};
use crate::options::{self, Elements, OutSized, sized};
use crate::view::{Room, gallivant_str};

/// The most rows of one window.
pub const GALLIVANT_LOG_ROWS_CAPACITY: usize = 400;
/// The most bytes that the texts of one window take.
pub const GALLIVANT_LOG_TEXTS_CAPACITY: usize = 262_208;

/// Reads one run's lines.
///
/// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise. Free it with `gallivant_log_reader_free`.
#[derive(Debug)]
pub struct gallivant_log_reader {
    state: Exclusive<Reading>,
}

impl Handle for gallivant_log_reader {}

const NAME: &str = "gallivant_log_reader";

#[derive(Debug)]
struct Reading {
    reader: LogReader,
    /// A window that did not fit, and what was asked.
    kept: Option<(Ask, Window)>,
}

/// What is asked of a reader.
#[derive(Debug, PartialEq, Eq)]
enum Ask {
    Tail,
    History(String),
    Lines(Option<String>, usize),
}

/// One row of a window.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_log_row {
    /// Set by `GALLIVANT_LOG_ROW_INIT`, and by the library in an array that it fills.
    pub struct_size: usize,
    /// What it shows: GALLIVANT_ROW.
    pub kind: i32,
    /// Why something is missing: GALLIVANT_GAP_REASON; 0 for a line, and for a gap of the journal itself, which needs none.
    pub reason: i32,
    /// What stands for it as a cursor, for ever; no string for a gap without a number.
    pub id: gallivant_str,
    /// The line's text, which may hold zero bytes; no string for a gap.
    pub text: gallivant_str,
}
sized!(gallivant_log_row);

// C: #define GALLIVANT_LOG_ROW_INIT { sizeof(gallivant_log_row), 0, 0, { NULL, 0 }, { NULL, 0 } }

/// Memory of the caller into which a window is read. It may be used again for the next one, and is the caller's to free.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_log_buffer {
    /// Set by `GALLIVANT_LOG_BUFFER_INIT`.
    pub struct_size: usize,
    /// How large one row is for this program. Set by the macro.
    pub row_size: usize,
    /// An array of so many rows, whatever they hold; NULL for none.
    pub rows: *mut gallivant_log_row,
    /// How many rows there is room for; `GALLIVANT_LOG_ROWS_CAPACITY` is always enough.
    pub capacity: usize,
    /// Room for the texts of the rows; NULL for none.
    pub texts: *mut c_char,
    /// How many bytes; `GALLIVANT_LOG_TEXTS_CAPACITY` is always enough.
    pub texts_capacity: usize,
}
sized!(gallivant_log_buffer);

// C: #define GALLIVANT_LOG_BUFFER_INIT \
// C:     { sizeof(gallivant_log_buffer), sizeof(gallivant_log_row), NULL, 0, NULL, 0 }

/// Some rows that stand side by side, the oldest first.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_log_window {
    /// Set by `GALLIVANT_LOG_WINDOW_INIT`.
    pub struct_size: usize,
    /// How many rows it has.
    pub count: usize,
    /// How many of them are in the buffer: all, or none where something of the window did not fit.
    pub filled: usize,
    /// How many bytes its texts take.
    pub texts_needed: usize,
    /// The cursor for the next older window; no string where there is nothing older, and where the window did not fit.
    pub before: gallivant_str,
    /// The cursor for what follows; no string where the window holds no row with a number, and where it did not fit.
    pub after: gallivant_str,
}
sized!(gallivant_log_window);

// C: #define GALLIVANT_LOG_WINDOW_INIT { sizeof(gallivant_log_window), 0, 0, 0, { NULL, 0 }, { NULL, 0 } }

/// Reads in a run's directory, which exists. `host` may be NULL.
///
/// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN` where there is no such directory; `GALLIVANT_EXECUTION_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_log_reader_open(
    directory: *const c_char,
    directory_length: usize,
    host: *const gallivant_host,
    reader: *mut *mut gallivant_log_reader,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let directory = gallivant_str::new(directory, directory_length).text("directory")?;
            let host = host_or_system(host);
            let out = Out::new(reader, "reader")?;
            let reader = LogReader::open(directory, &host)?;
            out.set(give(gallivant_log_reader { state: Exclusive::new(Reading { reader, kept: None }) }));
            Ok(())
        })
    }
}

/// The last rows.
///
/// `buffer` may hold any number of rows or none, and may be NULL. Where `count` is more than its capacity, or `texts_needed` more
/// than the capacity of its texts, nothing is written into it, and the window is kept: the next call of this function with
/// this reader delivers that same window, whatever has been written meanwhile. Any other question drops it. Strings point
/// into the buffer's texts and end in a zero byte.
///
/// Errors: `GALLIVANT_EXECUTION_IO` for whatever is not a missing file; `GALLIVANT_EXECUTION_JOURNAL` and `_VERSION` for
/// `log-meta.json`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_log_reader_tail(
    reader: *mut gallivant_log_reader,
    buffer: *const gallivant_log_buffer,
    window: *mut gallivant_log_window,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe { call(error, || ask(reader, Ask::Tail, buffer, window)) }
}

/// The rows just before the one with the id `before`, as a window's `before` says it. Otherwise as `gallivant_log_reader_tail`; a
/// window that did not fit is delivered by the next call with the same id.
///
/// Errors: as `gallivant_log_reader_tail`; `GALLIVANT_EXECUTION_INPUT` for an id that no row ever had.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_log_reader_history(
    reader: *mut gallivant_log_reader,
    before: *const c_char,
    before_length: usize,
    buffer: *const gallivant_log_buffer,
    window: *mut gallivant_log_window,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let before = gallivant_str::new(before, before_length).text("before")?;
            ask(reader, Ask::History(before.to_owned()), buffer, window)
        })
    }
}

/// At most `limit` rows just after the one with the id `after`, as a window's `after` says it, and from the oldest row on where it
/// is NULL. Otherwise as `gallivant_log_reader_tail`; a window that did not fit is delivered by the next call with the same id
/// and limit.
///
/// Errors: as `gallivant_log_reader_history`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_log_reader_lines(
    reader: *mut gallivant_log_reader,
    after: *const c_char,
    after_length: usize,
    limit: usize,
    buffer: *const gallivant_log_buffer,
    window: *mut gallivant_log_window,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let after = gallivant_str::new(after, after_length).optional("after")?;
            ask(reader, Ask::Lines(after.map(str::to_owned), limit), buffer, window)
        })
    }
}

/// Frees the reader. What was read into buffers stays. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_log_reader_free(reader: *mut gallivant_log_reader) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(reader) });
}

/// # Safety
/// The pointers are as the conventions say.
unsafe fn ask(
    reader: *mut gallivant_log_reader,
    ask: Ask,
    buffer: *const gallivant_log_buffer,
    window: *mut gallivant_log_window,
) -> Result<()> {
    // SAFETY: the same contract.
    let (mut reading, mut filling, out) = unsafe {
        let reading = borrow(reader, "reader")?.state.take(NAME)?;
        (reading, Filling::of(buffer)?, OutSized::new(window, "window")?)
    };
    let found = match reading.kept.take() {
        Some((asked, window)) if asked == ask => window,
        _ => match &ask {
            Ask::Tail => reading.reader.tail(),
            Ask::History(before) => reading.reader.history(before),
            Ask::Lines(after, limit) => reading.reader.lines(after.as_deref(), *limit),
        }?,
    };
    let (count, texts_needed) = (found.rows.len(), needed(&found));
    let fits = count <= filling.rows.capacity() && texts_needed <= filling.texts.capacity();
    let told =
        gallivant_log_window { struct_size: 0, count, filled: 0, texts_needed, before: NONE, after: NONE };
    if !fits {
        reading.kept = Some((ask, found));
        out.set(told);
        return Ok(());
    }
    let filled = found.rows.iter().enumerate().filter(|(at, row)| filling.add(*at, row)).count();
    let [before, after] = filling.hold([found.before.as_deref(), found.after.as_deref()]);
    out.set(gallivant_log_window { filled, before, after, ..told });
    Ok(())
}

const NONE: gallivant_str = gallivant_str::NONE;

impl gallivant_log_row {
    /// A row with these views of its [`texts`].
    pub(super) fn new(row: &Row, [id, text]: [gallivant_str; 2]) -> Self {
        let (kind, reason) = match row.content {
            RowContent::Line(_) => (GALLIVANT_ROW_LINE, 0),
            RowContent::Gap(reason) => (GALLIVANT_ROW_GAP, reason_number(reason)),
        };
        gallivant_log_row { struct_size: 0, kind, reason, id, text }
    }
}

/// The texts of a row: its id and its line.
pub(super) fn texts(row: &Row) -> [Option<&str>; 2] {
    let text = match &row.content {
        RowContent::Line(text) => Some(text.as_str()),
        RowContent::Gap(_) => None,
    };
    [row.id.as_deref(), text]
}

/// How many bytes the texts of a window take, each with its zero byte.
fn needed(window: &Window) -> usize {
    let cursors = [window.before.as_deref(), window.after.as_deref()];
    let texts = window.rows.iter().flat_map(texts).chain(cursors);
    texts.flatten().map(|text| text.len() + 1).sum()
}

/// A buffer of the caller that is being filled.
struct Filling {
    rows: Elements<gallivant_log_row>,
    texts: Room,
}

impl Filling {
    /// Checks a buffer that may be null.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT` with reason `null-pointer`, `struct-size` or `length`.
    ///
    /// # Safety
    /// `pointer` is null or points to a buffer whose members point to what they say until the call returns.
    unsafe fn of(pointer: *const gallivant_log_buffer) -> Result<Self> {
        if pointer.is_null() {
            // SAFETY: no byte of it may be written.
            let texts = unsafe { Room::new(std::ptr::null_mut(), 0) };
            return Ok(Filling { rows: Elements::none(), texts });
        }
        // SAFETY: by this function's contract.
        unsafe {
            let given = options::input(pointer, "buffer")?;
            let names = ["rows", "row_size", "capacity"];
            Ok(Filling {
                rows: Elements::new(given.rows, given.row_size, given.capacity, names)?,
                texts: Room::given(given.texts, "texts", given.texts_capacity, "texts_capacity")?,
            })
        }
    }

    fn hold(&mut self, held: [Option<&str>; 2]) -> [gallivant_str; 2] {
        self.texts.hold(held).unwrap_or([NONE; 2])
    }

    /// Writes a row in its place; whether it has one.
    fn add(&mut self, at: usize, row: &Row) -> bool {
        let views = self.hold(texts(row));
        self.rows.set(at, gallivant_log_row::new(row, views))
    }
}
