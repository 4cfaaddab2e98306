//! The journal of a run: what its provider or its process said, each event once, in an order that never changes. The words.
//!
//! A run has a directory. A *journal* takes in pages of events, durably and each once; a *projection* makes the public lines
//! of it; a *log reader* reads windows of them, and a *replay* follows them. The rules are in docs/spec/execution.md, section
//! EX-JRN, the files are described in docs/format/journal.md and docs/format/projection.md.

use std::ffi::c_char;

use gallivant_core::journal::{GapReason, How};

use crate::barrier::answer;
use crate::names::{Names, Numbered};

/// A new record holds the event.
pub const GALLIVANT_PLACED_RECORDED: i32 = 1;
/// A new gap stands for the event, because its record would have been too long.
pub const GALLIVANT_PLACED_OVERSIZED: i32 = 2;
/// The event was there already, in the journal or earlier in the page.
pub const GALLIVANT_PLACED_KNOWN: i32 = 3;

/// A line's text.
pub const GALLIVANT_ROW_LINE: i32 = 1;
/// Something is missing here.
pub const GALLIVANT_ROW_GAP: i32 = 2;

/// A row with a line.
pub const GALLIVANT_FRAME_LINE: i32 = 1;
/// A row that says that something is missing.
pub const GALLIVANT_FRAME_GAP: i32 = 2;
/// No row: nothing was told for 20 seconds, and the connection is kept open.
pub const GALLIVANT_FRAME_HEARTBEAT: i32 = 3;

/// The provider said so.
pub const GALLIVANT_GAP_REASON_PROVIDER_GAP: i32 = 1;
/// A crash took a record that was being written.
pub const GALLIVANT_GAP_REASON_INTERRUPTED_APPEND: i32 = 2;
/// The record, or the line, would have been too long.
pub const GALLIVANT_GAP_REASON_OVERSIZED_RECORD: i32 = 3;
/// An acknowledged record was damaged afterwards. Found by readers, never recorded.
pub const GALLIVANT_GAP_REASON_CORRUPT_RECORD: i32 = 4;
/// The raw output of a local run is gone.
pub const GALLIVANT_GAP_REASON_LOCAL_OUTPUT_MISSING: i32 = 5;
/// The raw output of a local run is shorter than what was read of it.
pub const GALLIVANT_GAP_REASON_LOCAL_OUTPUT_TRUNCATED: i32 = 6;
/// The raw output of a local run expired before it was taken in.
pub const GALLIVANT_GAP_REASON_LOCAL_OUTPUT_EXPIRED: i32 = 7;
/// What has to be redacted is not known any more.
pub const GALLIVANT_GAP_REASON_REDACTION_MISSING: i32 = 8;
/// The projection's index is missing.
pub const GALLIVANT_GAP_REASON_INDEX_MISSING: i32 = 9;
/// Retention took it.
pub const GALLIVANT_GAP_REASON_RETAINED: i32 = 10;

pub(super) const PLACES: Numbered<How> = Numbered {
    what: "how",
    rows: &[
        (GALLIVANT_PLACED_RECORDED, How::Recorded),
        (GALLIVANT_PLACED_OVERSIZED, How::Oversized),
        (GALLIVANT_PLACED_KNOWN, How::Known),
    ],
};

const ROWS: [(i32, &str); 2] = [(GALLIVANT_ROW_LINE, "line"), (GALLIVANT_ROW_GAP, "gap")];

pub(super) const FRAMES: Numbered<&str> = Numbered {
    what: "event",
    rows: &[
        (GALLIVANT_FRAME_LINE, "line"),
        (GALLIVANT_FRAME_GAP, "gap"),
        (GALLIVANT_FRAME_HEARTBEAT, "heartbeat"),
    ],
};

const GAP_REASONS: Numbered<GapReason> = Numbered {
    what: "reason",
    rows: &[
        (GALLIVANT_GAP_REASON_PROVIDER_GAP, GapReason::Provider),
        (GALLIVANT_GAP_REASON_INTERRUPTED_APPEND, GapReason::InterruptedAppend),
        (GALLIVANT_GAP_REASON_OVERSIZED_RECORD, GapReason::OversizedRecord),
        (GALLIVANT_GAP_REASON_CORRUPT_RECORD, GapReason::CorruptRecord),
        (GALLIVANT_GAP_REASON_LOCAL_OUTPUT_MISSING, GapReason::LocalOutputMissing),
        (GALLIVANT_GAP_REASON_LOCAL_OUTPUT_TRUNCATED, GapReason::LocalOutputTruncated),
        (GALLIVANT_GAP_REASON_LOCAL_OUTPUT_EXPIRED, GapReason::LocalOutputExpired),
        (GALLIVANT_GAP_REASON_REDACTION_MISSING, GapReason::RedactionMissing),
        (GALLIVANT_GAP_REASON_INDEX_MISSING, GapReason::IndexMissing),
        (GALLIVANT_GAP_REASON_RETAINED, GapReason::Retained),
    ],
};

/// The number of a gap's reason; 0 for none.
pub(super) fn reason_number(reason: Option<GapReason>) -> i32 {
    reason.map_or(0, |reason| GAP_REASONS.number(reason))
}

/// The word for a GALLIVANT_PLACED constant, such as `known`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_placed_name(placed: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(placed, PLACES.rows.iter().map(|(number, row)| (*number, row.word()))))
}

/// The word for a GALLIVANT_ROW constant, such as `gap`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_row_name(kind: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(kind, ROWS.into_iter()))
}

/// The word for a GALLIVANT_FRAME constant, such as `line`, which is the event's name on the wire; `invalid` for any other
/// number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_frame_name(event: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(event, FRAMES.rows.iter().copied()))
}

/// The word for a GALLIVANT_GAP_REASON constant, such as `retained`, as it stands in the files; `invalid` for any other
/// number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_gap_reason_name(reason: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(reason, GAP_REASONS.rows.iter().map(|(number, row)| (*number, row.word()))))
}
