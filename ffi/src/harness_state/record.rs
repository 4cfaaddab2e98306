//! Harness state: the record as it stands on disk, and what a reader concludes from it.
//!
//! Both are plain structs of the caller; their strings belong to the handle that filled them.

use gallivant_core::harness_state::{
    Ask, BlockedOn, DerivedRef, Evidence, Extension, InputBuffer, Record, State, Word,
};

use super::words::{ASKS, BLOCKED_ONS, EVIDENCES, INPUT_BUFFERS, STATES, UNKNOWN_REASONS};
use crate::options::sized;
use crate::view::{Texts, gallivant_optional_u64, gallivant_str};

/// What a reader concludes.
///
/// For an unknown state all four axes are unknown, there is no `since_ms` and no `exit`, and `unknown_reason` says
/// why. The members from `harness` on are the evidence, as far as there is any.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_harness_state_derived {
    /// Set by `GALLIVANT_HARNESS_STATE_DERIVED_INIT`.
    pub struct_size: usize,
    /// 0 when nothing was ever observed here, which is not the same as unknown; all else is then 0 and none.
    pub observed: i32,
    /// What the harness is doing: GALLIVANT_STATE.
    pub state: i32,
    /// Whom it waits for: GALLIVANT_BLOCKED_ON.
    pub blocked_on: i32,
    /// Whether text waits in its input line: GALLIVANT_INPUT_BUFFER.
    pub input_buffer: i32,
    /// What a person is asked for: GALLIVANT_ASK.
    pub ask: i32,
    /// Why the state is not known: GALLIVANT_UNKNOWN_REASON; 0 where it is known.
    pub unknown_reason: i32,
    /// Since when the observation holds, wall clock in ms since 1970.
    pub since_ms: gallivant_optional_u64,
    /// When this answer next changes by time alone, wall clock in ms since 1970; absent where time alone changes
    /// nothing.
    pub valid_until_ms: gallivant_optional_u64,
    /// The writer's reason for a known state, the word of `unknown_reason` for an unknown one.
    pub reason: gallivant_str,
    /// How it ended.
    pub exit: gallivant_str,
    /// The harness's name, e.g. `claude` or `codex`.
    pub harness: gallivant_str,
    /// The token of the session that wrote the record.
    pub evidence_incarnation: gallivant_str,
    /// The record's stamp: when it was written or last confirmed, wall clock in ms since 1970.
    pub observed_at_ms: gallivant_optional_u64,
    /// The record's ownership sequence.
    pub ownership_sequence: gallivant_optional_u64,
    /// How often the observation has changed.
    pub transition_sequence: gallivant_optional_u64,
}
sized!(gallivant_harness_state_derived);

// C: #define GALLIVANT_HARNESS_STATE_DERIVED_INIT \
// C:     { sizeof(gallivant_harness_state_derived), 0, 0, 0, 0, 0, 0, { 0, 0 }, { 0, 0 }, { NULL, 0 }, \
// C:       { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 } }

/// One record as it stands on disk.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_harness_state_record {
    /// Set by `GALLIVANT_HARNESS_STATE_RECORD_INIT`.
    pub struct_size: usize,
    /// 0 when there is no record, or none that can be read; all else is then 0 and none.
    pub present: i32,
    /// What the harness is doing: GALLIVANT_STATE.
    pub state: i32,
    /// Whom it waits for: GALLIVANT_BLOCKED_ON.
    pub blocked_on: i32,
    /// Whether text waits in its input line: GALLIVANT_INPUT_BUFFER.
    pub input_buffer: i32,
    /// What a person is asked for: GALLIVANT_ASK.
    pub ask: i32,
    /// The word for the state as it stands, also one that this release does not know.
    pub state_word: gallivant_str,
    /// The word for whom it waits for, likewise.
    pub blocked_on_word: gallivant_str,
    /// The word for its input line, likewise.
    pub input_buffer_word: gallivant_str,
    /// The word for what is asked, likewise.
    pub ask_word: gallivant_str,
    /// Which format and version.
    pub schema: gallivant_str,
    /// The agent's name, as its writer gave it.
    pub agent: gallivant_str,
    /// The harness's name.
    pub harness: gallivant_str,
    /// Why.
    pub reason: gallivant_str,
    /// How it ended.
    pub exit: gallivant_str,
    /// The pty session in which the harness runs.
    pub pty_session: gallivant_str,
    /// The token of the session that wrote it; empty in records from before tokens.
    pub incarnation: gallivant_str,
    /// The ownership sequence; 0 in records from before sequences.
    pub seq: u64,
    /// When the present observation began, wall clock in ms since 1970.
    pub since_ms: u64,
    /// When the record was written or last confirmed, wall clock in ms since 1970.
    pub written_at_ms: u64,
    /// How often the observation has changed.
    pub transitions: u64,
    /// Whether its writer added the extension object: 1 if so, 0 if not; what follows is then 0 and none.
    pub has_extension: i32,
    /// By what it is known: GALLIVANT_EVIDENCE.
    pub evidence: i32,
    /// The process id of the harness, as its own namespace counts; 0 where no process was attached. See
    /// `gallivant_harness_state_snapshot_harness_process`.
    pub harness_pid: u32,
    /// The word for the evidence as it stands, also one that this release does not know.
    pub evidence_word: gallivant_str,
    /// When what stands here happened, in ms since boot, the machine's sleep counted.
    pub event_ms: gallivant_optional_u64,
    /// How many events came too late to be written.
    pub late: u64,
    /// How many children run.
    pub children: u64,
}
sized!(gallivant_harness_state_record);

// C: #define GALLIVANT_HARNESS_STATE_RECORD_INIT \
// C:     { sizeof(gallivant_harness_state_record), 0, 0, 0, 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, \
// C:       { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, \
// C:       { NULL, 0 }, 0, 0, 0, 0, 0, 0, 0, { NULL, 0 }, { 0, 0 }, 0, 0 }

/// The answer as a plain struct whose strings stand in `texts`.
pub(crate) fn derived(answer: Option<DerivedRef<'_>>, texts: &mut Texts) -> gallivant_harness_state_derived {
    answer.map_or(NOTHING_OBSERVED, |answer| derived_with(&answer, texts.hold(texts_of(&answer))))
}

/// The strings of an answer, in the order in which [`derived_with`] takes their views.
pub(crate) fn texts_of<'a>(answer: &DerivedRef<'a>) -> [Option<&'a str>; 4] {
    [answer.reason, answer.exit, answer.harness, answer.evidence_incarnation]
}

/// The answer as a plain struct with these views of its strings.
pub(crate) fn derived_with(
    answer: &DerivedRef<'_>,
    [reason, exit, harness, evidence_incarnation]: [gallivant_str; 4],
) -> gallivant_harness_state_derived {
    gallivant_harness_state_derived {
        struct_size: size_of::<gallivant_harness_state_derived>(),
        observed: 1,
        state: STATES.number(answer.state),
        blocked_on: BLOCKED_ONS.number(answer.blocked_on),
        input_buffer: INPUT_BUFFERS.number(answer.input_buffer),
        ask: ASKS.number(answer.ask),
        unknown_reason: answer.unknown.map_or(0, |reason| UNKNOWN_REASONS.number(reason)),
        since_ms: answer.since_ms.into(),
        valid_until_ms: answer.valid_until_ms.into(),
        reason,
        exit,
        harness,
        evidence_incarnation,
        observed_at_ms: answer.observed_at_ms.into(),
        ownership_sequence: answer.ownership_sequence.into(),
        transition_sequence: answer.transition_sequence.into(),
    }
}

/// The record as a plain struct whose strings stand in `texts`.
pub(crate) fn record(record: Option<&Record>, texts: &mut Texts) -> gallivant_harness_state_record {
    let Some(record) = record else { return NO_RECORD };
    let extension = record.extension.as_ref();
    let evidence = extension.and_then(|extension| extension.evidence.as_ref());
    let process = extension.and_then(|extension| extension.process.as_ref());
    let [
        state_word,
        blocked_on_word,
        input_buffer_word,
        ask_word,
        schema,
        agent,
        harness,
        reason,
        exit,
        pty_session,
        incarnation,
        evidence_word,
    ] = texts.hold([
        Some(spelling(&record.state, State::word)),
        Some(spelling(&record.blocked_on, BlockedOn::word)),
        Some(spelling(&record.input_buffer, InputBuffer::word)),
        Some(spelling(&record.ask, Ask::word)),
        Some(&record.schema),
        Some(&record.agent),
        Some(&record.harness),
        record.reason.as_deref(),
        record.exit.as_deref(),
        record.pty_session.as_deref(),
        Some(&record.incarnation),
        evidence.map(|evidence| spelling(evidence, Evidence::word)),
    ]);
    gallivant_harness_state_record {
        struct_size: size_of::<gallivant_harness_state_record>(),
        present: 1,
        state: STATES.number(record.state.value),
        blocked_on: BLOCKED_ONS.number(record.blocked_on.value),
        input_buffer: INPUT_BUFFERS.number(record.input_buffer.value),
        ask: ASKS.number(record.ask.value),
        state_word,
        blocked_on_word,
        input_buffer_word,
        ask_word,
        schema,
        agent,
        harness,
        reason,
        exit,
        pty_session,
        incarnation,
        seq: record.seq,
        since_ms: record.since_ms,
        written_at_ms: record.written_at_ms,
        transitions: record.transitions,
        has_extension: i32::from(extension.is_some()),
        evidence: evidence.map_or(0, |evidence| EVIDENCES.number(evidence.value)),
        harness_pid: process.map_or(0, |process| process.pid),
        evidence_word,
        event_ms: extension.and_then(|extension| extension.event_ms).into(),
        late: extension.map_or(0, |extension| extension.late),
        children: extension.map_or(0, |extension: &Extension| extension.children.len() as u64),
    }
}

fn spelling<T: Copy>(word: &Word<T>, known: fn(T) -> &'static str) -> &str {
    word.spelled.as_deref().unwrap_or_else(|| known(word.value))
}

const ABSENT: gallivant_optional_u64 = gallivant_optional_u64 { value: 0, is_set: 0 };

pub(crate) const NOTHING_OBSERVED: gallivant_harness_state_derived = gallivant_harness_state_derived {
    struct_size: size_of::<gallivant_harness_state_derived>(),
    observed: 0,
    state: 0,
    blocked_on: 0,
    input_buffer: 0,
    ask: 0,
    unknown_reason: 0,
    since_ms: ABSENT,
    valid_until_ms: ABSENT,
    reason: gallivant_str::NONE,
    exit: gallivant_str::NONE,
    harness: gallivant_str::NONE,
    evidence_incarnation: gallivant_str::NONE,
    observed_at_ms: ABSENT,
    ownership_sequence: ABSENT,
    transition_sequence: ABSENT,
};

const NO_RECORD: gallivant_harness_state_record = gallivant_harness_state_record {
    struct_size: 0,
    present: 0,
    state: 0,
    blocked_on: 0,
    input_buffer: 0,
    ask: 0,
    state_word: gallivant_str::NONE,
    blocked_on_word: gallivant_str::NONE,
    input_buffer_word: gallivant_str::NONE,
    ask_word: gallivant_str::NONE,
    schema: gallivant_str::NONE,
    agent: gallivant_str::NONE,
    harness: gallivant_str::NONE,
    reason: gallivant_str::NONE,
    exit: gallivant_str::NONE,
    pty_session: gallivant_str::NONE,
    incarnation: gallivant_str::NONE,
    seq: 0,
    since_ms: 0,
    written_at_ms: 0,
    transitions: 0,
    has_extension: 0,
    evidence: 0,
    harness_pid: 0,
    evidence_word: gallivant_str::NONE,
    event_ms: ABSENT,
    late: 0,
    children: 0,
};
