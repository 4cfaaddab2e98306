//! What a reader may conclude from a record: the table of section F, row by row, the first match wins.
//!
//! A pure function of the snapshot, the clock and a probe's answer. Every unknown result comes from one constructor.

use std::borrow::Cow;

use super::observation::{Ask, BlockedOn, InputBuffer, State};
use super::options::Options;
use super::record::Record;
use super::seat::{Stored, Unreadable};
use crate::process::Liveness;

/// Why a state is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnknownReason {
    /// The file could not be read.
    UnreadableRecord,
    /// The bytes are no record.
    MalformedRecord,
    /// The schema is not accepted.
    UnsupportedSchema,
    /// The stamp is too far ahead of the clock.
    FutureSkew,
    /// Nobody has confirmed the record for too long.
    Stale,
    /// The record's state is a word that this build does not know.
    LiteralUnknown,
    /// A session has claimed the seat and not been observed yet.
    Claimed,
    /// A live record names no pty session although a probe was asked for.
    UnfencedRecord,
    /// The probe says that the session is dead.
    SessionDead,
}

impl UnknownReason {
    /// Every reason, in the order of the table.
    pub const ALL: &'static [UnknownReason] = &[
        UnknownReason::UnreadableRecord,
        UnknownReason::MalformedRecord,
        UnknownReason::UnsupportedSchema,
        UnknownReason::FutureSkew,
        UnknownReason::Stale,
        UnknownReason::LiteralUnknown,
        UnknownReason::Claimed,
        UnknownReason::UnfencedRecord,
        UnknownReason::SessionDead,
    ];

    /// The stable lower-case word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            UnknownReason::UnreadableRecord => "unreadable-record",
            UnknownReason::MalformedRecord => "malformed-record",
            UnknownReason::UnsupportedSchema => "unsupported-schema",
            UnknownReason::FutureSkew => "future-skew",
            UnknownReason::Stale => "stale",
            UnknownReason::LiteralUnknown => "literal-unknown",
            UnknownReason::Claimed => "claimed",
            UnknownReason::UnfencedRecord => "unfenced-record",
            UnknownReason::SessionDead => "session-dead",
        }
    }
}

/// What a reader concludes. For an unknown state all four axes are unknown, and `since_ms` and `exit` are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// What the harness is doing.
    pub state: State,
    /// Whom it waits for.
    pub blocked_on: BlockedOn,
    /// Whether text waits in its input line.
    pub input_buffer: InputBuffer,
    /// What a person is asked for.
    pub ask: Ask,
    /// Since when the observation holds, wall clock in ms since 1970.
    pub since_ms: Option<u64>,
    /// How it ended.
    pub exit: Option<String>,
    /// The writer's reason for a known state, the word of an [`UnknownReason`] for an unknown one.
    pub reason: Option<Cow<'static, str>>,
    /// Evidence: the harness's name.
    pub harness: Option<String>,
    /// Evidence: the record's stamp.
    pub observed_at_ms: Option<u64>,
    /// Evidence: the record's ownership sequence.
    pub ownership_sequence: Option<u64>,
    /// Evidence: how often the observation has changed.
    pub transition_sequence: Option<u64>,
    /// Evidence: the token of the session that wrote it.
    pub evidence_incarnation: Option<String>,
    /// The instant at which this answer next changes by time alone, wall clock in ms since 1970; none where time
    /// alone changes nothing (HS-90).
    pub valid_until_ms: Option<u64>,
    /// Why the state is not known, where it is not.
    pub unknown: Option<UnknownReason>,
}

/// The same as [`Derived`], with its strings lent by the record: what a fleet hands out record by record without
/// copying any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DerivedRef<'a> {
    /// What the harness is doing.
    pub state: State,
    /// Whom it waits for.
    pub blocked_on: BlockedOn,
    /// Whether text waits in its input line.
    pub input_buffer: InputBuffer,
    /// What a person is asked for.
    pub ask: Ask,
    /// Since when the observation holds, wall clock in ms since 1970.
    pub since_ms: Option<u64>,
    /// How it ended.
    pub exit: Option<&'a str>,
    /// The writer's reason for a known state, the word of an [`UnknownReason`] for an unknown one.
    pub reason: Option<&'a str>,
    /// Evidence: the harness's name.
    pub harness: Option<&'a str>,
    /// Evidence: the record's stamp.
    pub observed_at_ms: Option<u64>,
    /// Evidence: the record's ownership sequence.
    pub ownership_sequence: Option<u64>,
    /// Evidence: how often the observation has changed.
    pub transition_sequence: Option<u64>,
    /// Evidence: the token of the session that wrote it.
    pub evidence_incarnation: Option<&'a str>,
    /// As [`Derived::valid_until_ms`].
    pub valid_until_ms: Option<u64>,
    /// Why the state is not known, where it is not.
    pub unknown: Option<UnknownReason>,
}

impl DerivedRef<'_> {
    /// A copy that owns its strings.
    #[must_use]
    pub fn to_derived(&self) -> Derived {
        Derived {
            state: self.state,
            blocked_on: self.blocked_on,
            input_buffer: self.input_buffer,
            ask: self.ask,
            since_ms: self.since_ms,
            exit: self.exit.map(str::to_owned),
            reason: match self.unknown {
                Some(reason) => Some(Cow::Borrowed(reason.word())),
                None => self.reason.map(|reason| Cow::Owned(reason.to_owned())),
            },
            harness: self.harness.map(str::to_owned),
            observed_at_ms: self.observed_at_ms,
            ownership_sequence: self.ownership_sequence,
            transition_sequence: self.transition_sequence,
            evidence_incarnation: self.evidence_incarnation.map(str::to_owned),
            valid_until_ms: self.valid_until_ms,
            unknown: self.unknown,
        }
    }
}

/// What was found at one moment. Deriving from it again with another clock or another probe's answer reads nothing.
#[derive(Debug)]
pub struct Snapshot {
    stored: Stored,
}

impl Snapshot {
    pub(crate) fn new(stored: Stored) -> Self {
        Snapshot { stored }
    }

    /// A record could not even be looked for.
    pub(crate) fn unreadable(error: std::io::Error) -> Self {
        Snapshot { stored: Stored::Unreadable(Unreadable::Io(error)) }
    }

    /// Whether it could not be read for a reason that may be over soon.
    pub(crate) fn is_passing(&self) -> bool {
        self.stored.is_passing()
    }

    /// The record, where one was read and decoded.
    #[must_use]
    pub fn record(&self) -> Option<&Record> {
        self.stored.record()
    }

    /// Why there is no record although something stands there: one line for people.
    #[must_use]
    pub fn damage(&self) -> Option<String> {
        match &self.stored {
            Stored::Unreadable(Unreadable::Io(error)) => Some(error.to_string()),
            Stored::Unreadable(Unreadable::Malformed(message, _)) => Some(message.clone()),
            Stored::Absent | Stored::Parsed(_) => None,
        }
    }

    /// Whether a probe's answer can make a difference at `now_ms`: the table reaches HS-80 and a session is named.
    #[must_use]
    pub fn wants_probe(&self, options: &Options, now_ms: u64) -> bool {
        let asked = std::cell::Cell::new(false);
        self.derive(
            options,
            now_ms,
            Some(&mut || {
                asked.set(true);
                Liveness::Indeterminate
            }),
        );
        asked.get()
    }

    /// What may be concluded; none when nothing was ever observed, which is not unknown. `probe` is asked at most
    /// once, and only where its answer decides.
    pub fn derive(
        &self,
        options: &Options,
        now_ms: u64,
        probe: Option<&mut dyn FnMut() -> Liveness>,
    ) -> Option<Derived> {
        derive(&self.stored, options, now_ms, probe).map(|derived| derived.to_derived())
    }
}

/// The table, for whatever holds what was found.
pub(crate) fn derive<'a>(
    stored: &'a Stored,
    options: &Options,
    now_ms: u64,
    probe: Option<&mut dyn FnMut() -> Liveness>,
) -> Option<DerivedRef<'a>> {
    let record = match stored {
        Stored::Absent => return None,
        Stored::Unreadable(Unreadable::Io(_)) => {
            return Some(unknown(UnknownReason::UnreadableRecord, None));
        }
        Stored::Unreadable(Unreadable::Malformed(..)) => {
            return Some(unknown(UnknownReason::MalformedRecord, None));
        }
        Stored::Parsed(parsed) => &parsed.record,
    };
    if !options.accepts(&record.schema) {
        let harness = Some(&*record.harness);
        return Some(DerivedRef { harness, ..unknown(UnknownReason::UnsupportedSchema, None) });
    }
    let skew = options.future_skew_ms;
    if record.written_at_ms > now_ms.saturating_add(skew) {
        let believed_from = record.written_at_ms - skew;
        return Some(evidence(record, unknown(UnknownReason::FutureSkew, Some(believed_from))));
    }
    if record.age_ms(now_ms) >= options.stale_ms {
        return Some(evidence(record, unknown(UnknownReason::Stale, None)));
    }
    let stale_from = record.written_at_ms.checked_add(options.stale_ms);
    let derived = match unknown_reason(record, probe) {
        Some(reason) => unknown(reason, stale_from),
        None => recorded(record, stale_from),
    };
    Some(evidence(record, derived))
}

/// HS-77, HS-78 and HS-80, in this order.
fn unknown_reason(record: &Record, probe: Option<&mut dyn FnMut() -> Liveness>) -> Option<UnknownReason> {
    if record.state.value == State::Unknown {
        return Some(UnknownReason::LiteralUnknown);
    }
    if record.is_placeholder() {
        return Some(UnknownReason::Claimed);
    }
    let probe = probe.filter(|_| record.is_live())?;
    if record.pty_session.is_none() {
        return Some(UnknownReason::UnfencedRecord);
    }
    match probe() {
        Liveness::Dead => Some(UnknownReason::SessionDead),
        Liveness::Alive | Liveness::Indeterminate => None,
    }
}

fn unknown<'a>(reason: UnknownReason, valid_until_ms: Option<u64>) -> DerivedRef<'a> {
    DerivedRef {
        state: State::Unknown,
        blocked_on: BlockedOn::Unknown,
        input_buffer: InputBuffer::Unknown,
        ask: Ask::Unknown,
        since_ms: None,
        exit: None,
        reason: Some(reason.word()),
        harness: None,
        observed_at_ms: None,
        ownership_sequence: None,
        transition_sequence: None,
        evidence_incarnation: None,
        valid_until_ms,
        unknown: Some(reason),
    }
}

fn recorded(record: &Record, valid_until_ms: Option<u64>) -> DerivedRef<'_> {
    DerivedRef {
        state: record.state.value,
        blocked_on: record.blocked_on.value,
        input_buffer: record.input_buffer.value,
        ask: record.ask.value,
        since_ms: Some(record.since_ms),
        exit: record.exit.as_deref(),
        reason: record.reason.as_deref(),
        unknown: None,
        ..unknown(UnknownReason::Stale, valid_until_ms)
    }
}

fn evidence<'a>(record: &'a Record, derived: DerivedRef<'a>) -> DerivedRef<'a> {
    DerivedRef {
        harness: Some(&record.harness),
        observed_at_ms: Some(record.written_at_ms),
        ownership_sequence: Some(record.seq),
        transition_sequence: Some(record.transitions),
        evidence_incarnation: Some(&record.incarnation),
        ..derived
    }
}
