//! What a record becomes: pure functions of what stood, what happened, and the clock (sections D and E).
//!
//! Live running, the simulation and the tests call the same functions. Nothing here touches a disk.

use super::codec::Salvage;
use super::observation::{Ask, BlockedOn, InputBuffer, Observation, SUPERSEDED, State};
use super::options::Options;
use super::outcome::{Refusal, Skip};
use super::record::{Record, Word};
use super::writer::WriterIdentity;

/// What stood at the record's name when the call was decided.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Prior<'a> {
    Absent,
    Unreadable(Salvage),
    Record(&'a Record),
}

/// What surrounds a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances<'a> {
    pub(crate) prior: Prior<'a>,
    pub(crate) floor: u64,
    pub(crate) now_ms: u64,
    pub(crate) options: &'a Options,
}

/// What one writer brings to a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing<'a> {
    pub(crate) identity: &'a WriterIdentity,
    /// Adopted or remembered; none for a token-only writer that has resolved none yet.
    pub(crate) sequence: Option<u64>,
    pub(crate) interrupted: bool,
}

/// What becomes of an observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Refused before a sequence was resolved; nothing is remembered.
    Refused(Refusal),
    /// Passed HS-36 to HS-39; `sequence` is remembered (HS-40).
    Resolved { sequence: u64, then: Then },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The own ending stands; `observe_unless_ended` leaves it (HS-42).
    KeepEnding,
    /// Nothing changed and the stamp is fresh (HS-43).
    Coalesce,
    /// This is the new record.
    Land(Box<Record>),
}

/// Decides an observation that has been validated. `keep_ending` is `observe_unless_ended`.
pub(crate) fn observe(
    at: Circumstances<'_>,
    who: Standing<'_>,
    observation: &Observation,
    keep_ending: bool,
) -> Decision {
    let sequence = match resolve_sequence(at, who) {
        Ok(sequence) => sequence,
        Err(refusal) => return Decision::Refused(refusal),
    };
    let then = match at.prior {
        Prior::Record(record) => observe_over(at, who, record, sequence, observation, keep_ending),
        Prior::Absent | Prior::Unreadable(_) => {
            let fresh = written(who.identity, &at.options.schema, sequence, observation);
            Then::Land(Box::new(Record { since_ms: at.now_ms, written_at_ms: at.now_ms, ..fresh }))
        }
    };
    Decision::Resolved { sequence, then }
}

/// HS-36 to HS-39, in this order.
fn resolve_sequence(at: Circumstances<'_>, who: Standing<'_>) -> Result<u64, Refusal> {
    let record = match at.prior {
        Prior::Unreadable(_) => return Err(Refusal::Unreadable),
        Prior::Absent => None,
        Prior::Record(record) => Some(record),
    };
    let sequence = match (who.sequence, record) {
        (Some(own), _) => own,
        // A virgin seat takes 1; a floor of 1 or more says that the seat is not virgin (HS-37).
        (None, None) if at.floor >= 1 => return Err(Refusal::Superseded),
        (None, None) => 1,
        (None, Some(record)) if record.incarnation == who.identity.token => record.seq,
        (None, Some(_)) => return Err(Refusal::Unclaimed),
    };
    let on_disk = record.map_or(0, |record| record.seq);
    if on_disk.max(at.floor) > sequence {
        return Err(Refusal::Superseded);
    }
    if record.is_some_and(|record| !at.options.accepts(&record.schema)) {
        return Err(Refusal::Schema);
    }
    Ok(sequence)
}

fn observe_over(
    at: Circumstances<'_>,
    who: Standing<'_>,
    record: &Record,
    sequence: u64,
    observation: &Observation,
    keep_ending: bool,
) -> Then {
    // The schema was accepted above, so the token alone decides whose record it is (HS-41).
    let own = record.incarnation == who.identity.token;
    if keep_ending && own && record.is_terminal() {
        return Then::KeepEnding;
    }
    let unchanged = own && !who.interrupted && record.says(observation);
    let trusted = record.written_at_ms <= at.now_ms.saturating_add(at.options.future_skew_ms);
    if unchanged && trusted && record.age_ms(at.now_ms) < at.options.refresh_ms {
        return Then::Coalesce;
    }
    let stamp = stamp(at, Some(record.written_at_ms));
    // An adopted session keeps the spelling it found until a new claim (HS-05).
    let schema = if own { &record.schema } else { &at.options.schema };
    let next = written(who.identity, schema, sequence, observation);
    let (since_ms, transitions) = if unchanged {
        (record.since_ms, record.transitions)
    } else {
        (stamp, record.transitions.saturating_add(1))
    };
    Then::Land(Box::new(Record { since_ms, written_at_ms: stamp, transitions, ..next }))
}

/// Decides a heartbeat (HS-51 to HS-53). The floor fences it too: HSI-1 holds for every write.
pub(crate) fn heartbeat(at: Circumstances<'_>, token: &str, sequence: Option<u64>) -> Result<Record, Skip> {
    let record = match at.prior {
        Prior::Absent => return Err(Skip::Absent),
        Prior::Unreadable(_) => return Err(Skip::Unreadable),
        Prior::Record(record) => record,
    };
    if !at.options.accepts(&record.schema) {
        return Err(Skip::Schema);
    }
    if record.incarnation != token {
        return Err(Skip::ForeignToken);
    }
    match record.state.value {
        State::Unknown => return Err(Skip::UnknownState),
        State::Ended => return Err(Skip::Ended),
        State::Ready | State::Idle | State::Active | State::Child => {}
    }
    if record.seq.max(at.floor) > sequence.unwrap_or(record.seq) {
        return Err(Skip::Superseded);
    }
    Ok(Record { written_at_ms: stamp(at, Some(record.written_at_ms)), ..record.clone() })
}

/// The placeholder that a claim writes (HS-57 to HS-60); none when no sequence is left.
pub(crate) fn claim(at: Circumstances<'_>, agent: &str, harness: &str, token: &str) -> Option<Record> {
    let (seq, transitions, written_at_ms) = match at.prior {
        Prior::Absent => (None, None, None),
        Prior::Unreadable(salvage) => (salvage.seq, salvage.transitions, salvage.written_at_ms),
        Prior::Record(record) => (Some(record.seq), Some(record.transitions), Some(record.written_at_ms)),
    };
    let next = seq.unwrap_or(0).max(at.floor).checked_add(1)?;
    let stamp = stamp(at, written_at_ms);
    Some(Record {
        schema: at.options.schema.clone(),
        agent: agent.to_owned(),
        harness: harness.to_owned(),
        state: Word::known(State::Ended),
        blocked_on: Word::known(BlockedOn::None),
        input_buffer: Word::known(InputBuffer::Unknown),
        ask: Word::known(Ask::None),
        reason: Some(SUPERSEDED.to_owned()),
        exit: None,
        pty_session: None,
        incarnation: token.to_owned(),
        seq: next,
        since_ms: stamp,
        written_at_ms: stamp,
        transitions: transitions.map_or(0, |count| count.saturating_add(1)),
    })
}

/// Whether a session without a wrapper may claim (HS-64 to HS-66).
pub(crate) fn may_claim_wrapperless(at: Circumstances<'_>) -> bool {
    match at.prior {
        Prior::Absent => true,
        Prior::Unreadable(_) => false,
        Prior::Record(record) => {
            record.incarnation.is_empty()
                || at.options.is_wrapperless(&record.incarnation)
                || record.is_terminal()
                || record.age_ms(at.now_ms) >= at.options.stale_ms
        }
    }
}

/// HS-47: one past a trusted stamp, and never behind the clock.
fn stamp(at: Circumstances<'_>, previous: Option<u64>) -> u64 {
    match previous {
        Some(previous) if previous <= at.now_ms.saturating_add(at.options.future_skew_ms) => {
            at.now_ms.max(previous.saturating_add(1))
        }
        _ => at.now_ms,
    }
}

/// A landed record says who wrote it (HS-50). Times and counters are the caller's to set.
fn written(identity: &WriterIdentity, schema: &str, sequence: u64, observation: &Observation) -> Record {
    Record {
        schema: schema.to_owned(),
        agent: identity.agent.clone(),
        harness: identity.harness.clone(),
        state: Word::known(observation.state),
        blocked_on: Word::known(observation.blocked_on),
        input_buffer: Word::known(observation.input_buffer),
        ask: Word::known(observation.ask),
        reason: observation.reason.clone(),
        exit: observation.exit.clone(),
        pty_session: identity.pty_session.clone(),
        incarnation: identity.token.clone(),
        seq: sequence,
        since_ms: 0,
        written_at_ms: 0,
        transitions: 0,
    }
}
