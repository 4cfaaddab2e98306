//! What a reader may conclude from a record: the table of section F, row by row, the first match wins.
//!
//! A pure function of the snapshot, the clock and a probe's answer. Every unknown result comes from one constructor.

use std::borrow::Cow;

use super::explain::{Explanation, TriedRow};
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

impl Derived {
    /// Whether another read concluded the same from the same evidence. Until when it holds is left out: it is counted on
    /// two clocks, whose milliseconds do not begin together, and may be told 1 ms apart.
    #[must_use]
    pub fn concludes_the_same(&self, other: &Derived) -> bool {
        Derived { valid_until_ms: other.valid_until_ms, ..self.clone() } == *other
    }
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
        derive(&self.stored, options, at, probe).map(|derived| derived.to_derived())
    }

    /// As [`Snapshot::derive`], and which row of the table decided (HS-91).
    #[must_use]
    pub fn explain(
        &self,
        options: &Options,
        at: &Moment,
        probe: Option<&mut dyn FnMut() -> Liveness>,
    ) -> Explanation {
        let mut rows = Vec::new();
        let derived = derive_tracing(&self.stored, options, at, probe, |row| rows.push(row));
        let derived = derived.map(|derived| derived.to_derived());
        Explanation::new(derived, rows, self, at)
    }
}

/// The table, for whatever holds what was found.
pub(crate) fn derive<'a>(
    stored: &'a Stored,
    options: &Options,
    at: &Moment,
    probe: Option<&mut dyn FnMut() -> Liveness>,
) -> Option<DerivedRef<'a>> {
    derive_tracing(stored, options, at, probe, |_| {})
}

/// The table; `tried` hears of each row in its order, and of its verdict.
fn derive_tracing<'a>(
    stored: &'a Stored,
    options: &Options,
    at: &Moment,
    probe: Option<&mut dyn FnMut() -> Liveness>,
    mut tried: impl FnMut(TriedRow),
) -> Option<DerivedRef<'a>> {
    let mut row = |clause: &'static str, question: &'static str, matched: bool| {
        tried(TriedRow { clause, question, matched });
        matched
    };
    if row("HS-70", "nothing stands there", matches!(stored, Stored::Absent)) {
        return None;
    }
    let unreadable = matches!(stored, Stored::Unreadable(Unreadable::Io(_)));
    if row("HS-71", "what stands there cannot be read", unreadable) {
        return Some(unknown(UnknownReason::UnreadableRecord, None));
    }
    let record = stored.record();
    row("HS-72", "it does not decode", record.is_none());
    let Some(record) = record else { return Some(unknown(UnknownReason::MalformedRecord, None)) };
    if row("HS-73", "its schema is not accepted", !options.accepts(&record.schema)) {
        let harness = Some(&*record.harness);
        return Some(DerivedRef { harness, ..unknown(UnknownReason::UnsupportedSchema, None) });
    }
    let until = |for_ms: u64| at.wall_ms.checked_add(for_ms);
    let freshness = Freshness::of(record, at, options);
    let cannot = |reason, until| Some(evidence(record, unknown(reason, until)));
    if row("HS-96", "the machine has booted since", freshness == Freshness::Rebooted) {
        return cannot(UnknownReason::Rebooted, None);
    }
    let future = matches!(freshness, Freshness::Future { .. });
    row("HS-74", "its stamp is ahead of the clock by more than the skew", future);
    let suspended = matches!(freshness, Freshness::Suspended { .. });
    if !future {
        row("HS-96", "the machine slept, and the session may be about to confirm it", suspended);
    }
    if !future && !suspended {
        row("HS-75", "nobody has confirmed it for too long", freshness == Freshness::Stale);
    }
    let stale_from = match freshness {
        Freshness::Future { for_ms } => return cannot(UnknownReason::FutureSkew, until(for_ms)),
        Freshness::Suspended { for_ms } => return cannot(UnknownReason::HostSuspended, until(for_ms)),
        Freshness::Stale => return cannot(UnknownReason::Stale, None),
        Freshness::Rebooted => return cannot(UnknownReason::Rebooted, None),
        Freshness::Fresh { for_ms } => until(for_ms),
    };
    let literal = record.state.value == State::Unknown;
    if row("HS-77", "its state is a word that this build does not know", literal) {
        return cannot(UnknownReason::LiteralUnknown, stale_from);
    }
    if row("HS-78", "it is a claim's placeholder", record.is_placeholder()) {
        return cannot(UnknownReason::Claimed, stale_from);
    }
    let revived = options.extension && runs_after_its_end(record, at);
    if row("HS-114", "events came after the end, and the harness runs", revived) {
        return cannot(UnknownReason::ActivityAfterEnd, stale_from);
    }
    if let Some(probe) = probe.filter(|_| record.is_live()) {
        if row("HS-80", "it names no pty session that a probe could ask for", record.pty_session.is_none()) {
            return cannot(UnknownReason::UnfencedRecord, stale_from);
        }
        if row("HS-80", "the probe says that the session is dead", probe() == Liveness::Dead) {
            return cannot(UnknownReason::SessionDead, stale_from);
        }
    }
    let children = options.extension && record.waits_for_children();
    if row("HS-99", "the turn is over and children run", children) {
        let seen = recorded(record, stale_from);
        return Some(evidence(record, DerivedRef { state: State::Active, reason: Some(CHILDREN), ..seen }));
    }
    row("HS-84", "what was observed holds", true);
    Some(evidence(record, recorded(record, stale_from)))
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
