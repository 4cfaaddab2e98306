//! Idempotent creates: a create that is retried after a lost answer makes no second thing. The words.
//!
//! The caller sends a key with a create, and a store remembers on disk what that key stands for. The rules are in
//! docs/spec/idempotency.md, the file is described in docs/format/idempotency.md.

use std::ffi::c_char;

use gallivant_core::idempotency::{How, ViewState};

use crate::barrier::answer;
use crate::names::{Names, Numbered};

/// Make the thing, then end the reservation by exactly one of complete and release.
pub const GALLIVANT_BEGIN_CREATE: i32 = 1;
/// The thing was made: answer as the first create did.
pub const GALLIVANT_BEGIN_REPLAY: i32 = 2;
/// The thing is being made: wait with the ticket.
pub const GALLIVANT_BEGIN_IN_PROGRESS: i32 = 3;
/// Nobody knows whether the thing was made: find out, then settle.
pub const GALLIVANT_BEGIN_UNKNOWN: i32 = 4;

/// Nothing was known of the key.
pub const GALLIVANT_HOW_FRESH: i32 = 1;
/// The create had finished before.
pub const GALLIVANT_HOW_REPLAYED: i32 = 2;
/// After waiting for a create that ran.
pub const GALLIVANT_HOW_WAITED: i32 = 3;
/// The owner of the reservation was gone.
pub const GALLIVANT_HOW_TAKEN_OVER: i32 = 4;
/// The claim had lived its window.
pub const GALLIVANT_HOW_EXPIRED: i32 = 5;
/// The resource was reported to be gone.
pub const GALLIVANT_HOW_RECREATED: i32 = 6;
/// An unknown outcome was settled.
pub const GALLIVANT_HOW_SETTLED: i32 = 7;

/// Reserved, and nothing outside may exist.
pub const GALLIVANT_CLAIM_STATE_RESERVED: i32 = 1;
/// Reserved, and an effect may have happened.
pub const GALLIVANT_CLAIM_STATE_MARKED: i32 = 2;
/// Finished.
pub const GALLIVANT_CLAIM_STATE_FINISHED: i32 = 3;

const BEGINS: [(i32, &str); 4] = [
    (GALLIVANT_BEGIN_CREATE, "create"),
    (GALLIVANT_BEGIN_REPLAY, "replay"),
    (GALLIVANT_BEGIN_IN_PROGRESS, "in_progress"),
    (GALLIVANT_BEGIN_UNKNOWN, "unknown"),
];

pub(super) const HOWS: Numbered<How> = Numbered {
    what: "how",
    rows: &[
        (GALLIVANT_HOW_FRESH, How::Fresh),
        (GALLIVANT_HOW_REPLAYED, How::Replayed),
        (GALLIVANT_HOW_WAITED, How::Waited),
        (GALLIVANT_HOW_TAKEN_OVER, How::TakenOver),
        (GALLIVANT_HOW_EXPIRED, How::Expired),
        (GALLIVANT_HOW_RECREATED, How::Recreated),
        (GALLIVANT_HOW_SETTLED, How::Settled),
    ],
};

pub(super) const CLAIM_STATES: Numbered<ViewState> = Numbered {
    what: "state",
    rows: &[
        (GALLIVANT_CLAIM_STATE_RESERVED, ViewState::Reserved),
        (GALLIVANT_CLAIM_STATE_MARKED, ViewState::Marked),
        (GALLIVANT_CLAIM_STATE_FINISHED, ViewState::Finished),
    ],
};

/// The number of a begin's word.
pub(super) fn begin_number(word: &str) -> i32 {
    BEGINS.iter().find(|(_, row)| *row == word).map_or(0, |(number, _)| *number)
}

/// The word for a GALLIVANT_BEGIN constant, such as `in_progress`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_begin_name(begin: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(begin, BEGINS.into_iter()))
}

/// The word for a GALLIVANT_HOW constant, such as `taken-over`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_how_name(how: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(how, HOWS.rows.iter().map(|(number, row)| (*number, row.word()))))
}

/// The word for a GALLIVANT_CLAIM_STATE constant, such as `marked`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_claim_state_name(state: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(state, CLAIM_STATES.rows.iter().map(|(number, row)| (*number, row.word()))))
}
