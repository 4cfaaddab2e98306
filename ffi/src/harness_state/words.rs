//! Harness state: the constants and their words.
//!
//! On each axis 0 is "unknown": in an answer nothing is known, and in a record the word is one that this release does not
//! know.

use std::ffi::c_char;

use gallivant_core::harness_state::{
    Ask, BlockedOn, Evidence, InputBuffer, Refusal, Skip, State, UnknownReason,
};

use crate::barrier::answer;
use crate::names::{Names, Numbered};
use crate::view::gallivant_str;

/// What the harness is doing is not known.
pub const GALLIVANT_STATE_UNKNOWN: i32 = 0;
/// Spawned; nothing has been observed yet. Positive evidence of life.
pub const GALLIVANT_STATE_READY: i32 = 1;
/// Waiting for a prompt.
pub const GALLIVANT_STATE_IDLE: i32 = 2;
/// Working on a turn.
pub const GALLIVANT_STATE_ACTIVE: i32 = 3;
/// Reserved: read, not produced.
pub const GALLIVANT_STATE_CHILD: i32 = 4;
/// The session is over.
pub const GALLIVANT_STATE_ENDED: i32 = 5;

/// Whom the harness waits for is not known.
pub const GALLIVANT_BLOCKED_ON_UNKNOWN: i32 = 0;
/// It waits for nobody.
pub const GALLIVANT_BLOCKED_ON_NONE: i32 = 1;
/// It waits for a person.
pub const GALLIVANT_BLOCKED_ON_HUMAN: i32 = 2;

/// Whether text waits in the input line is not known.
pub const GALLIVANT_INPUT_BUFFER_UNKNOWN: i32 = 0;
/// Nothing is typed.
pub const GALLIVANT_INPUT_BUFFER_EMPTY: i32 = 1;
/// Something is typed and not sent.
pub const GALLIVANT_INPUT_BUFFER_NONEMPTY: i32 = 2;

/// What the person is asked for is not known.
pub const GALLIVANT_ASK_UNKNOWN: i32 = 0;
/// The person is asked for nothing.
pub const GALLIVANT_ASK_NONE: i32 = 1;
/// To permit a tool.
pub const GALLIVANT_ASK_PERMISSION: i32 = 2;
/// To answer a question.
pub const GALLIVANT_ASK_QUESTION: i32 = 3;
/// To review a result or plan.
pub const GALLIVANT_ASK_REVIEW: i32 = 4;

/// By what it is known is not known. In options: by what a wrapper knows.
pub const GALLIVANT_EVIDENCE_UNKNOWN: i32 = 0;
/// A hook of the harness told it.
pub const GALLIVANT_EVIDENCE_HOOK: i32 = 1;
/// A channel that the harness offers told it: a protocol, a stream of events.
pub const GALLIVANT_EVIDENCE_CHANNEL: i32 = 2;
/// The wrapper that drives the harness knows it from what it does itself.
pub const GALLIVANT_EVIDENCE_WRAPPER: i32 = 3;
/// It was read off the harness's screen. While it is fresh, what a hook or a channel told is not replaced by it.
pub const GALLIVANT_EVIDENCE_SCREEN: i32 = 4;

/// The file could not be read.
pub const GALLIVANT_UNKNOWN_REASON_UNREADABLE_RECORD: i32 = 1;
/// The bytes are no record.
pub const GALLIVANT_UNKNOWN_REASON_MALFORMED_RECORD: i32 = 2;
/// The schema is not accepted.
pub const GALLIVANT_UNKNOWN_REASON_UNSUPPORTED_SCHEMA: i32 = 3;
/// The stamp is too far ahead of the clock.
pub const GALLIVANT_UNKNOWN_REASON_FUTURE_SKEW: i32 = 4;
/// Nobody has confirmed the record for too long.
pub const GALLIVANT_UNKNOWN_REASON_STALE: i32 = 5;
/// The record's state is a word that this release does not know.
pub const GALLIVANT_UNKNOWN_REASON_LITERAL_UNKNOWN: i32 = 6;
/// A session has claimed the seat and not been observed yet.
pub const GALLIVANT_UNKNOWN_REASON_CLAIMED: i32 = 7;
/// A live record names no pty session although a probe was asked for.
pub const GALLIVANT_UNKNOWN_REASON_UNFENCED_RECORD: i32 = 8;
/// The probe says that the session is dead.
pub const GALLIVANT_UNKNOWN_REASON_SESSION_DEAD: i32 = 9;
/// The machine slept for longer than a record is believed, and the session may be about to confirm it.
pub const GALLIVANT_UNKNOWN_REASON_HOST_SUSPENDED: i32 = 10;
/// The machine has booted since.
pub const GALLIVANT_UNKNOWN_REASON_REBOOTED: i32 = 11;
/// The session told of its end, then more events came, and its harness provably runs.
pub const GALLIVANT_UNKNOWN_REASON_ACTIVITY_AFTER_END: i32 = 12;

/// A new record stands, or a stamp was renewed.
pub const GALLIVANT_OUTCOME_LANDED: i32 = 1;
/// Nothing changed and the stamp is fresh; nothing was written.
pub const GALLIVANT_OUTCOME_COALESCED: i32 = 2;
/// The rules forbid it; nothing was written.
pub const GALLIVANT_OUTCOME_REFUSED: i32 = 3;
/// A heartbeat found nothing of this session's to renew; nothing was written.
pub const GALLIVANT_OUTCOME_SKIPPED: i32 = 4;

/// Something stands at the record's name that cannot be read; only a claim goes over it.
pub const GALLIVANT_REFUSAL_UNREADABLE: i32 = 1;
/// A token-only writer found somebody else's record.
pub const GALLIVANT_REFUSAL_UNCLAIMED: i32 = 2;
/// Record or floor carries a higher sequence: another session has claimed.
pub const GALLIVANT_REFUSAL_SUPERSEDED: i32 = 3;
/// The record is of a schema that is not accepted.
pub const GALLIVANT_REFUSAL_SCHEMA: i32 = 4;
/// The session's own ending with an exit stands.
pub const GALLIVANT_REFUSAL_TERMINAL: i32 = 5;
/// A hook had no identity in its environment.
pub const GALLIVANT_REFUSAL_IDENTITY_MISSING: i32 = 6;
/// A later event of the same session stands.
pub const GALLIVANT_REFUSAL_LATE: i32 = 7;
/// What stands is fresh and known by stronger evidence.
pub const GALLIVANT_REFUSAL_WEAKER_EVIDENCE: i32 = 8;
/// The hook belongs to another harness, which inherited the session's variables.
pub const GALLIVANT_REFUSAL_FOREIGN_DESCENDANT: i32 = 9;

/// There is no record.
pub const GALLIVANT_SKIP_ABSENT: i32 = 1;
/// The record cannot be read.
pub const GALLIVANT_SKIP_UNREADABLE: i32 = 2;
/// The record is of a schema that is not accepted.
pub const GALLIVANT_SKIP_SCHEMA: i32 = 3;
/// The record carries another session's token.
pub const GALLIVANT_SKIP_FOREIGN_TOKEN: i32 = 4;
/// The record's state is a word that this release does not know.
pub const GALLIVANT_SKIP_UNKNOWN_STATE: i32 = 5;
/// The session has ended.
pub const GALLIVANT_SKIP_ENDED: i32 = 6;
/// Record or floor carries a higher sequence.
pub const GALLIVANT_SKIP_SUPERSEDED: i32 = 7;

pub(crate) const STATES: Numbered<State> = Numbered {
    what: "state",
    rows: &[
        (GALLIVANT_STATE_UNKNOWN, State::Unknown),
        (GALLIVANT_STATE_READY, State::Ready),
        (GALLIVANT_STATE_IDLE, State::Idle),
        (GALLIVANT_STATE_ACTIVE, State::Active),
        (GALLIVANT_STATE_CHILD, State::Child),
        (GALLIVANT_STATE_ENDED, State::Ended),
    ],
};

pub(crate) const BLOCKED_ONS: Numbered<BlockedOn> = Numbered {
    what: "blocked_on",
    rows: &[
        (GALLIVANT_BLOCKED_ON_UNKNOWN, BlockedOn::Unknown),
        (GALLIVANT_BLOCKED_ON_NONE, BlockedOn::None),
        (GALLIVANT_BLOCKED_ON_HUMAN, BlockedOn::Human),
    ],
};

pub(crate) const INPUT_BUFFERS: Numbered<InputBuffer> = Numbered {
    what: "input_buffer",
    rows: &[
        (GALLIVANT_INPUT_BUFFER_UNKNOWN, InputBuffer::Unknown),
        (GALLIVANT_INPUT_BUFFER_EMPTY, InputBuffer::Empty),
        (GALLIVANT_INPUT_BUFFER_NONEMPTY, InputBuffer::Nonempty),
    ],
};

pub(crate) const ASKS: Numbered<Ask> = Numbered {
    what: "ask",
    rows: &[
        (GALLIVANT_ASK_UNKNOWN, Ask::Unknown),
        (GALLIVANT_ASK_NONE, Ask::None),
        (GALLIVANT_ASK_PERMISSION, Ask::Permission),
        (GALLIVANT_ASK_QUESTION, Ask::Question),
        (GALLIVANT_ASK_REVIEW, Ask::Review),
    ],
};

pub(crate) const EVIDENCES: Numbered<Evidence> = Numbered {
    what: "evidence",
    rows: &[
        (GALLIVANT_EVIDENCE_UNKNOWN, Evidence::Unknown),
        (GALLIVANT_EVIDENCE_HOOK, Evidence::Hook),
        (GALLIVANT_EVIDENCE_CHANNEL, Evidence::Channel),
        (GALLIVANT_EVIDENCE_WRAPPER, Evidence::Wrapper),
        (GALLIVANT_EVIDENCE_SCREEN, Evidence::Screen),
    ],
};

pub(crate) const UNKNOWN_REASONS: Numbered<UnknownReason> = Numbered {
    what: "unknown_reason",
    rows: &[
        (GALLIVANT_UNKNOWN_REASON_UNREADABLE_RECORD, UnknownReason::UnreadableRecord),
        (GALLIVANT_UNKNOWN_REASON_MALFORMED_RECORD, UnknownReason::MalformedRecord),
        (GALLIVANT_UNKNOWN_REASON_UNSUPPORTED_SCHEMA, UnknownReason::UnsupportedSchema),
        (GALLIVANT_UNKNOWN_REASON_FUTURE_SKEW, UnknownReason::FutureSkew),
        (GALLIVANT_UNKNOWN_REASON_STALE, UnknownReason::Stale),
        (GALLIVANT_UNKNOWN_REASON_LITERAL_UNKNOWN, UnknownReason::LiteralUnknown),
        (GALLIVANT_UNKNOWN_REASON_CLAIMED, UnknownReason::Claimed),
        (GALLIVANT_UNKNOWN_REASON_UNFENCED_RECORD, UnknownReason::UnfencedRecord),
        (GALLIVANT_UNKNOWN_REASON_SESSION_DEAD, UnknownReason::SessionDead),
        (GALLIVANT_UNKNOWN_REASON_HOST_SUSPENDED, UnknownReason::HostSuspended),
        (GALLIVANT_UNKNOWN_REASON_REBOOTED, UnknownReason::Rebooted),
        (GALLIVANT_UNKNOWN_REASON_ACTIVITY_AFTER_END, UnknownReason::ActivityAfterEnd),
    ],
};

pub(crate) const REFUSALS: Numbered<Refusal> = Numbered {
    what: "refusal",
    rows: &[
        (GALLIVANT_REFUSAL_UNREADABLE, Refusal::Unreadable),
        (GALLIVANT_REFUSAL_UNCLAIMED, Refusal::Unclaimed),
        (GALLIVANT_REFUSAL_SUPERSEDED, Refusal::Superseded),
        (GALLIVANT_REFUSAL_SCHEMA, Refusal::Schema),
        (GALLIVANT_REFUSAL_TERMINAL, Refusal::Terminal),
        (GALLIVANT_REFUSAL_IDENTITY_MISSING, Refusal::IdentityMissing),
        (GALLIVANT_REFUSAL_LATE, Refusal::Late),
        (GALLIVANT_REFUSAL_WEAKER_EVIDENCE, Refusal::WeakerEvidence),
        (GALLIVANT_REFUSAL_FOREIGN_DESCENDANT, Refusal::ForeignDescendant),
    ],
};

pub(crate) const SKIPS: Numbered<Skip> = Numbered {
    what: "skip",
    rows: &[
        (GALLIVANT_SKIP_ABSENT, Skip::Absent),
        (GALLIVANT_SKIP_UNREADABLE, Skip::Unreadable),
        (GALLIVANT_SKIP_SCHEMA, Skip::Schema),
        (GALLIVANT_SKIP_FOREIGN_TOKEN, Skip::ForeignToken),
        (GALLIVANT_SKIP_UNKNOWN_STATE, Skip::UnknownState),
        (GALLIVANT_SKIP_ENDED, Skip::Ended),
        (GALLIVANT_SKIP_SUPERSEDED, Skip::Superseded),
    ],
};

/// The words of outcomes; the core names an observation's and a heartbeat's apart.
const OUTCOMES: [(i32, &str); 4] = [
    (GALLIVANT_OUTCOME_LANDED, "landed"),
    (GALLIVANT_OUTCOME_COALESCED, "coalesced"),
    (GALLIVANT_OUTCOME_REFUSED, "refused"),
    (GALLIVANT_OUTCOME_SKIPPED, "skipped"),
];

/// The word for a GALLIVANT_STATE constant, such as `active`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_state_name(state: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(state, words(&STATES, State::word)))
}

/// The constant for a word; `GALLIVANT_STATE_UNKNOWN` for any other. Case matters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_state_from_name(name: *const c_char, name_length: usize) -> i32 {
    // SAFETY: by the conventions.
    answer(|| unsafe { known(name, name_length, |word| STATES.number(State::from_word(word))) })
}

/// The word for a GALLIVANT_BLOCKED_ON constant, such as `human`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_blocked_on_name(blocked_on: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(blocked_on, words(&BLOCKED_ONS, BlockedOn::word)))
}

/// The constant for a word; `GALLIVANT_BLOCKED_ON_UNKNOWN` for any other. Case matters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_blocked_on_from_name(name: *const c_char, name_length: usize) -> i32 {
    // SAFETY: by the conventions.
    answer(|| unsafe { known(name, name_length, |word| BLOCKED_ONS.number(BlockedOn::from_word(word))) })
}

/// The word for a GALLIVANT_INPUT_BUFFER constant, such as `nonempty`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_input_buffer_name(input_buffer: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(input_buffer, words(&INPUT_BUFFERS, InputBuffer::word)))
}

/// The constant for a word; `GALLIVANT_INPUT_BUFFER_UNKNOWN` for any other. Case matters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_input_buffer_from_name(name: *const c_char, name_length: usize) -> i32 {
    // SAFETY: by the conventions.
    answer(|| unsafe { known(name, name_length, |word| INPUT_BUFFERS.number(InputBuffer::from_word(word))) })
}

/// The word for a GALLIVANT_ASK constant, such as `permission`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_ask_name(ask: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(ask, words(&ASKS, Ask::word)))
}

/// The constant for a word; `GALLIVANT_ASK_UNKNOWN` for any other. Case matters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_ask_from_name(name: *const c_char, name_length: usize) -> i32 {
    // SAFETY: by the conventions.
    answer(|| unsafe { known(name, name_length, |word| ASKS.number(Ask::from_word(word))) })
}

/// The word for a GALLIVANT_EVIDENCE constant, such as `hook`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_evidence_name(evidence: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(evidence, words(&EVIDENCES, Evidence::word)))
}

/// The constant for a word; `GALLIVANT_EVIDENCE_UNKNOWN` for any other. Case matters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_evidence_from_name(name: *const c_char, name_length: usize) -> i32 {
    // SAFETY: by the conventions.
    answer(|| unsafe { known(name, name_length, |word| EVIDENCES.number(Evidence::from_word(word))) })
}

/// The word for a GALLIVANT_UNKNOWN_REASON constant, such as `stale`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_unknown_reason_name(unknown_reason: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(unknown_reason, words(&UNKNOWN_REASONS, UnknownReason::word)))
}

/// The word for a GALLIVANT_OUTCOME constant, such as `landed`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_outcome_name(outcome: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(outcome, OUTCOMES.into_iter()))
}

/// The word for a GALLIVANT_REFUSAL constant, such as `superseded`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_refusal_name(refusal: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(refusal, words(&REFUSALS, Refusal::word)))
}

/// The word for a GALLIVANT_SKIP constant, such as `ended`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_skip_name(skip: i32) -> *const c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(skip, words(&SKIPS, Skip::word)))
}

fn words<T: Copy>(
    table: &Numbered<T>,
    word: fn(T) -> &'static str,
) -> impl Iterator<Item = (i32, &'static str)> {
    table.rows.iter().map(move |(number, value)| (*number, word(*value)))
}

/// What `number` makes of a word; 0 where it is no text at all, which no word is.
///
/// # Safety
/// `name` is null or points to `length` bytes.
unsafe fn known(name: *const c_char, length: usize, number: fn(&str) -> i32) -> i32 {
    // SAFETY: the same contract.
    unsafe { gallivant_str::new(name, length).text("name") }.map_or(0, number)
}
