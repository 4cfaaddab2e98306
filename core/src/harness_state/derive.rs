//! What a reader may conclude from a record: the table of section F, row by row, the first match wins.
//!
//! A pure function of the snapshot, the clock and a probe's answer. Every unknown result comes from one constructor.

use std::borrow::Cow;

use super::moment::{Freshness, Moment};
use super::observation::{Ask, BlockedOn, InputBuffer, State};
use super::options::Options;
use super::record::Record;
use super::seat::{Stored, Unreadable};
use crate::process::Liveness;

/// The reason of a turn that is over while children of the session run (HS-99).
const CHILDREN: &str = "children";

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
    /// The machine slept for longer than a record is believed, and the session may be about to confirm it.
    HostSuspended,
    /// The machine has booted since.
    Rebooted,
    /// The session told of its end, then more events came, and its harness provably runs.
    ActivityAfterEnd,
}

impl UnknownReason {
    /// Every reason.
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
        UnknownReason::HostSuspended,
        UnknownReason::Rebooted,
        UnknownReason::ActivityAfterEnd,
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
            UnknownReason::HostSuspended => "host-suspended",
            UnknownReason::Rebooted => "rebooted",
            UnknownReason::ActivityAfterEnd => "activity-after-end",
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

/// What was found at one moment. Deriving from it again with another clock or another probe's answer reads nothing.
#[derive(Debug)]
pub struct Snapshot {
    stored: Stored,
    taken_at: Moment,
}

impl Snapshot {
    pub(crate) fn new(stored: Stored, taken_at: Moment) -> Self {
        Snapshot { stored, taken_at }
    }

    /// A record could not even be looked for.
    pub(crate) fn unreadable(error: std::io::Error, taken_at: Moment) -> Self {
        Snapshot { stored: Stored::Unreadable(Unreadable::Io(error)), taken_at }
    }

    /// When it was taken.
    #[must_use]
    pub fn taken_at(&self) -> &Moment {
        &self.taken_at
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

    /// Whether a probe's answer can make a difference at that moment: the table reaches HS-80 and a session is named.
    #[must_use]
    pub fn wants_probe(&self, options: &Options, at: &Moment) -> bool {
        let asked = std::cell::Cell::new(false);
        self.derive(
            options,
            at,
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
        at: &Moment,
        probe: Option<&mut dyn FnMut() -> Liveness>,
    ) -> Option<Derived> {
        let record = match &self.stored {
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
            let harness = Some(record.harness.clone());
            return Some(Derived { harness, ..unknown(UnknownReason::UnsupportedSchema, None) });
        }
        let until = |for_ms: u64| at.wall_ms.checked_add(for_ms);
        let judged = match Freshness::of(record, at, options) {
            Freshness::Future { for_ms } => Err((UnknownReason::FutureSkew, until(for_ms))),
            Freshness::Stale => Err((UnknownReason::Stale, None)),
            Freshness::Suspended { for_ms } => Err((UnknownReason::HostSuspended, until(for_ms))),
            Freshness::Rebooted => Err((UnknownReason::Rebooted, None)),
            Freshness::Fresh { for_ms } => match unknown_reason(record, at, options, probe) {
                Some(reason) => Err((reason, until(for_ms))),
                None => Ok(until(for_ms)),
            },
        };
        let derived = match judged {
            Ok(until) => recorded(record, options, until),
            Err((reason, until)) => unknown(reason, until),
        };
        Some(evidence(record, derived))
    }
}

/// HS-77, HS-78, HS-114 and HS-80, in this order.
fn unknown_reason(
    record: &Record,
    at: &Moment,
    options: &Options,
    probe: Option<&mut dyn FnMut() -> Liveness>,
) -> Option<UnknownReason> {
    if record.state.value == State::Unknown {
        return Some(UnknownReason::LiteralUnknown);
    }
    if record.is_placeholder() {
        return Some(UnknownReason::Claimed);
    }
    if options.extension && runs_after_its_end(record, at) {
        return Some(UnknownReason::ActivityAfterEnd);
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

fn runs_after_its_end(record: &Record, at: &Moment) -> bool {
    let (true, Some(extension), Some(machine)) = (record.is_terminal(), &record.extension, &at.machine)
    else {
        return false;
    };
    extension.late > 0
        && extension
            .process_identity()
            .is_some_and(|process| process.liveness(&*machine.processes) == Liveness::Alive)
}

fn unknown(reason: UnknownReason, valid_until_ms: Option<u64>) -> Derived {
    Derived {
        state: State::Unknown,
        blocked_on: BlockedOn::Unknown,
        input_buffer: InputBuffer::Unknown,
        ask: Ask::Unknown,
        since_ms: None,
        exit: None,
        reason: Some(Cow::Borrowed(reason.word())),
        harness: None,
        observed_at_ms: None,
        ownership_sequence: None,
        transition_sequence: None,
        evidence_incarnation: None,
        valid_until_ms,
        unknown: Some(reason),
    }
}

fn recorded(record: &Record, options: &Options, valid_until_ms: Option<u64>) -> Derived {
    let children = options.extension && record.waits_for_children();
    let reason = match children {
        true => Some(Cow::Borrowed(CHILDREN)),
        false => record.reason.clone().map(Cow::Owned),
    };
    Derived {
        state: if children { State::Active } else { record.state.value },
        blocked_on: record.blocked_on.value,
        input_buffer: record.input_buffer.value,
        ask: record.ask.value,
        since_ms: Some(record.since_ms),
        exit: record.exit.clone(),
        reason,
        unknown: None,
        ..unknown(UnknownReason::Stale, valid_until_ms)
    }
}

fn evidence(record: &Record, derived: Derived) -> Derived {
    Derived {
        harness: Some(record.harness.clone()),
        observed_at_ms: Some(record.written_at_ms),
        ownership_sequence: Some(record.seq),
        transition_sequence: Some(record.transitions),
        evidence_incarnation: Some(record.incarnation.clone()),
        ..derived
    }
}
