//! `gallivant.State`, what may be concluded from a record.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use gallivant_core::harness_state::{self as core, DerivedRef, FleetSheet};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::argument::{Given, taken};
use crate::value;

/// What a reader concludes.
///
/// Where nothing definite can be concluded `state` is `unknown` and `reason` says why in one of the words of
/// `UNKNOWN_*`; `blocked_on`, `input_buffer` and `ask` are then unknown too, `since_ms` and `exit` None.
#[pyclass(frozen, module = "gallivant")]
pub(crate) struct State(Kept);

/// Where it is kept.
enum Kept {
    Own(Box<Own>),
    /// An entry of a sheet, so that ten thousand states are no copies.
    Lent(Arc<FleetSheet>, usize),
}

/// The members of a state. Python makes states too, with whatever words it likes.
struct Own {
    words: [Cow<'static, str>; 4],
    since_ms: Option<u64>,
    exit: Option<String>,
    reason: Option<Cow<'static, str>>,
    harness: Option<String>,
    observed_at_ms: Option<u64>,
    ownership_sequence: Option<u64>,
    transition_sequence: Option<u64>,
    evidence_incarnation: Option<String>,
    valid_until_ms: Option<u64>,
}

impl State {
    const FIELDS: &'static [&'static str] = &[
        "state",
        "blocked_on",
        "input_buffer",
        "ask",
        "since_ms",
        "exit",
        "reason",
        "harness",
        "observed_at_ms",
        "ownership_sequence",
        "transition_sequence",
        "evidence_incarnation",
        "valid_until_ms",
    ];

    /// That of an entry of a sheet, which must be there.
    pub(super) fn lent(sheet: &Arc<FleetSheet>, position: usize) -> Self {
        State(Kept::Lent(Arc::clone(sheet), position))
    }

    /// A member, from wherever it is kept.
    fn of<'a, T>(&'a self, own: impl FnOnce(&'a Own) -> T, lent: impl FnOnce(DerivedRef<'a>) -> T) -> T {
        match &self.0 {
            Kept::Own(kept) => own(kept),
            Kept::Lent(sheet, position) => lent(sheet.get(*position).expect("an entry of the sheet").1),
        }
    }
}

#[pymethods]
impl State {
    #[new]
    #[pyo3(signature = (
        *, state, blocked_on, input_buffer, ask, since_ms=None, exit=None, reason=None, harness=None, observed_at_ms=None,
        ownership_sequence=None, transition_sequence=None, evidence_incarnation=None, valid_until_ms=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        state: Given<String>,
        blocked_on: Given<String>,
        input_buffer: Given<String>,
        ask: Given<String>,
        since_ms: Option<Given<u64>>,
        exit: Option<Given<String>>,
        reason: Option<Given<String>>,
        harness: Option<Given<String>>,
        observed_at_ms: Option<Given<u64>>,
        ownership_sequence: Option<Given<u64>>,
        transition_sequence: Option<Given<u64>>,
        evidence_incarnation: Option<Given<String>>,
        valid_until_ms: Option<Given<u64>>,
    ) -> Self {
        State(Kept::Own(Box::new(Own {
            words: [state, blocked_on, input_buffer, ask].map(|Given(word)| word.into()),
            since_ms: taken(since_ms),
            exit: taken(exit),
            reason: taken(reason).map(Cow::Owned),
            harness: taken(harness),
            observed_at_ms: taken(observed_at_ms),
            ownership_sequence: taken(ownership_sequence),
            transition_sequence: taken(transition_sequence),
            evidence_incarnation: taken(evidence_incarnation),
            valid_until_ms: taken(valid_until_ms),
        })))
    }

    /// What the harness is doing.
    #[getter]
    fn state(&self) -> &str {
        self.of(|own| &*own.words[0], |lent| lent.state.word())
    }

    /// Whom it waits for.
    #[getter]
    fn blocked_on(&self) -> &str {
        self.of(|own| &*own.words[1], |lent| lent.blocked_on.word())
    }

    /// Whether text waits in its input line.
    #[getter]
    fn input_buffer(&self) -> &str {
        self.of(|own| &*own.words[2], |lent| lent.input_buffer.word())
    }

    /// What a person is asked for.
    #[getter]
    fn ask(&self) -> &str {
        self.of(|own| &*own.words[3], |lent| lent.ask.word())
    }

    /// When this began, wall clock in ms since 1970.
    #[getter]
    fn since_ms(&self) -> Option<u64> {
        self.of(|own| own.since_ms, |lent| lent.since_ms)
    }

    /// How it ended.
    #[getter]
    fn exit(&self) -> Option<&str> {
        self.of(|own| own.exit.as_deref(), |lent| lent.exit)
    }

    /// The writer's reason, or why the state is unknown.
    #[getter]
    fn reason(&self) -> Option<&str> {
        self.of(|own| own.reason.as_deref(), |lent| lent.reason)
    }

    /// Evidence: the harness's name.
    #[getter]
    fn harness(&self) -> Option<&str> {
        self.of(|own| own.harness.as_deref(), |lent| lent.harness)
    }

    /// Evidence: when the record was written or last confirmed, wall clock in ms since 1970.
    #[getter]
    fn observed_at_ms(&self) -> Option<u64> {
        self.of(|own| own.observed_at_ms, |lent| lent.observed_at_ms)
    }

    /// Evidence: the record's ownership sequence.
    #[getter]
    fn ownership_sequence(&self) -> Option<u64> {
        self.of(|own| own.ownership_sequence, |lent| lent.ownership_sequence)
    }

    /// Evidence: how often the observation has changed.
    #[getter]
    fn transition_sequence(&self) -> Option<u64> {
        self.of(|own| own.transition_sequence, |lent| lent.transition_sequence)
    }

    /// Evidence: the token of the session that wrote the record.
    #[getter]
    fn evidence_incarnation(&self) -> Option<&str> {
        self.of(|own| own.evidence_incarnation.as_deref(), |lent| lent.evidence_incarnation)
    }

    /// The instant at which this answer next changes by time alone, wall clock in ms since 1970; None where
    /// time alone changes nothing.
    #[getter]
    fn valid_until_ms(&self) -> Option<u64> {
        self.of(|own| own.valid_until_ms, |lent| lent.valid_until_ms)
    }

    /// Whether nothing definite can be concluded.
    #[getter]
    fn is_unknown(&self) -> bool {
        self.state() == core::State::Unknown.word()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        value::repr(slf.as_any(), Self::FIELDS)
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        value::equal(slf.as_any(), other, Self::FIELDS)
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        value::hash(slf.as_any(), Self::FIELDS)
    }

    #[pyo3(signature = () -> "tuple[tuple[()], dict[str, object]]")]
    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        value::arguments(slf.as_any(), Self::FIELDS)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("State").field("state", &self.state()).finish_non_exhaustive()
    }
}

impl From<core::Derived> for State {
    fn from(derived: core::Derived) -> Self {
        let words = [
            derived.state.word(),
            derived.blocked_on.word(),
            derived.input_buffer.word(),
            derived.ask.word(),
        ];
        State(Kept::Own(Box::new(Own {
            words: words.map(Cow::Borrowed),
            since_ms: derived.since_ms,
            exit: derived.exit,
            reason: derived.reason,
            harness: derived.harness,
            observed_at_ms: derived.observed_at_ms,
            ownership_sequence: derived.ownership_sequence,
            transition_sequence: derived.transition_sequence,
            evidence_incarnation: derived.evidence_incarnation,
            valid_until_ms: derived.valid_until_ms,
        })))
    }
}
