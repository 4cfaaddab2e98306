//! What a record becomes: pure functions of what stood, what happened, and the clock (sections D and E).
//!
//! Live running, the simulation and the tests call the same functions. Nothing here touches a disk.

use super::adapters::{Child, ChildStep};
use super::codec::Salvage;
use super::extension::{Evidence, Extension, HarnessProcess, MAX_CHILDREN};
use super::line::owned;
use super::moment::{Freshness, Moment};
use super::observation::{Ask, BlockedOn, InputBuffer, Observation, SUPERSEDED, State};
use super::options::Options;
use super::outcome::{Refusal, Skip};
use super::record::{Record, Word};
use super::seat::{Stored, Unreadable};
use super::writer::WriterIdentity;
use crate::json::strict::Spare;

/// What stood at the record's name when the call was decided.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Prior<'a> {
    Absent,
    Unreadable(Salvage),
    Record(&'a Record),
}

impl<'a> Prior<'a> {
    pub(crate) fn of(stored: &'a Stored) -> Self {
        match stored {
            Stored::Absent => Prior::Absent,
            Stored::Unreadable(Unreadable::Io(_)) => Prior::Unreadable(Salvage::default()),
            Stored::Unreadable(Unreadable::Malformed(_, salvage)) => Prior::Unreadable(*salvage),
            Stored::Parsed(parsed) => Prior::Record(&parsed.record),
        }
    }
}

/// What surrounds a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances<'a> {
    pub(crate) prior: Prior<'a>,
    pub(crate) floor: u64,
    pub(crate) now: &'a Moment,
    pub(crate) options: &'a Options,
}

impl Circumstances<'_> {
    fn now_ms(&self) -> u64 {
        self.now.wall_ms
    }
}

/// What one writer brings to a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing<'a> {
    pub(crate) identity: &'a WriterIdentity,
    /// Adopted or remembered; none for a token-only writer that has resolved none yet.
    pub(crate) sequence: Option<u64>,
    pub(crate) interrupted: bool,
    pub(crate) evidence: Evidence,
    /// When the event happened that a hook tells of, on the boot clock; none for whoever tells of the present.
    pub(crate) event_ms: Option<u64>,
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
    /// It may not be written. The record is what stands, with one more late event counted.
    Refuse(Refusal, Option<Box<Record>>),
    /// Nothing changed and the stamp is fresh (HS-43).
    Coalesce,
    /// This is the new record.
    Land(Box<Record>),
}

/// Decides an observation that has been validated. `keep_ending` is `observe_unless_ended`. A new record has its texts in the
/// memory of `spare`.
pub(crate) fn observe(
    at: Circumstances<'_>,
    who: Standing<'_>,
    observation: &Observation,
    keep_ending: bool,
    spare: &mut Spare,
) -> Decision {
    let sequence = match resolve_sequence(at, who) {
        Ok(sequence) => sequence,
        Err(refusal) => return Decision::Refused(refusal),
    };
    let then = match at.prior {
        Prior::Record(record) => observe_over(at, who, record, sequence, observation, keep_ending, spare),
        Prior::Absent | Prior::Unreadable(_) => {
            let fresh = written(who.identity, &at.options.schema, sequence, observation, spare);
            let now_ms = at.now_ms();
            let extension = extension_of(at, who, None, observation, spare);
            Then::Land(Box::new(Record { since_ms: now_ms, written_at_ms: now_ms, extension, ..fresh }))
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
    spare: &mut Spare,
) -> Then {
    // The schema was accepted above, so the token alone decides whose record it is (HS-41).
    let own = record.incarnation == who.identity.token;
    if keep_ending && own && record.is_terminal() {
        // An ending that is told twice is no activity after the end.
        let counted = one_more_late(at, who, record).filter(|_| observation.state.is_live());
        return Then::Refuse(Refusal::Terminal, counted);
    }
    let unchanged = own && !who.interrupted && record.says(observation);
    if unchanged && is_freshly_stamped(at, record) {
        return Then::Coalesce;
    }
    if own && let Some(refused) = gives_way(at, who, record) {
        return refused;
    }
    let stamp = stamp(at, Some(record.written_at_ms));
    // An adopted session keeps the spelling it found until a new claim (HS-05).
    let schema = if own { &record.schema } else { &at.options.schema };
    let next = written(who.identity, schema, sequence, observation, spare);
    let (since_ms, transitions) = if unchanged {
        (record.since_ms, record.transitions)
    } else {
        (stamp, record.transitions.saturating_add(1))
    };
    let extension = extension_of(at, who, Some(record).filter(|_| own), observation, spare);
    Then::Land(Box::new(Record { since_ms, written_at_ms: stamp, transitions, extension, ..next }))
}

/// HS-97 and HS-98: what stands is of a later event, or known by stronger evidence.
fn gives_way(at: Circumstances<'_>, who: Standing<'_>, record: &Record) -> Option<Then> {
    let extension = record.extension.as_ref().filter(|_| at.options.extension)?;
    let comparable = at.now.machine.as_ref().is_some_and(|machine| extension.is_of(machine));
    if comparable && who.event_ms.is_some_and(|event_ms| Some(event_ms) < extension.event_ms) {
        return Some(Then::Refuse(Refusal::Late, one_more_late(at, who, record)));
    }
    let standing = extension.evidence.as_ref()?.value;
    let weaker = record.state.value != State::Ended && who.evidence.is_weaker_than(standing);
    let gives_way = weaker && matches!(Freshness::of(record, at.now, at.options), Freshness::Fresh { .. });
    gives_way.then_some(Then::Refuse(Refusal::WeakerEvidence, None))
}

/// What stands with one more late event counted, for a hook's event over a record that counts them.
fn one_more_late(at: Circumstances<'_>, who: Standing<'_>, record: &Record) -> Option<Box<Record>> {
    let counted = record.extension.as_ref().filter(|_| at.options.extension && who.event_ms.is_some())?;
    let mut counted = counted.clone();
    counted.late = counted.late.saturating_add(1);
    Some(Box::new(Record { extension: Some(counted), ..record.clone() }))
}

/// The extension beside an observation that lands. An observation of the present is the newest event there is; one of
/// an event that is older than another's, which was not refused, does not set the order back.
fn extension_of(
    at: Circumstances<'_>,
    who: Standing<'_>,
    own: Option<&Record>,
    observation: &Observation,
    spare: &mut Spare,
) -> Option<Extension> {
    let mut extension = stamped_extension(at, own, spare)?;
    let happened = who.event_ms.or_else(|| at.now.event_ms()).unwrap_or_default();
    extension.event_ms = Some(extension.event_ms.map_or(happened, |stored| stored.max(happened)));
    extension.evidence = Some(Word::known(who.evidence));
    if observation.state == State::Ended {
        extension.children.clear();
    }
    Some(extension)
}

/// What the own record's extension says, stamped now; none where none is to be written.
fn stamped_extension(at: Circumstances<'_>, own: Option<&Record>, spare: &mut Spare) -> Option<Extension> {
    let machine = at.now.machine.as_ref().filter(|_| at.options.extension)?;
    let stood = own.and_then(|record| record.extension.as_ref()).map(|stood| stood.copied(spare));
    let stood = stood.unwrap_or_default();
    Some(stood.stamped(machine))
}

/// Decides an event about a child (HS-99): the turn stays as it is.
pub(crate) fn child(at: Circumstances<'_>, who: Standing<'_>, child: &Child) -> Decision {
    beside_the_turn(at, who, |record, _| {
        if record.state.value == State::Ended && !record.is_placeholder() {
            let refused = Then::Refuse(Refusal::Terminal, one_more_late(at, who, record));
            return if record.is_terminal() { refused } else { Then::Coalesce };
        }
        let spare = &mut Spare::default();
        let Some(mut extension) = stamped_extension(at, Some(record), spare) else { return Then::Coalesce };
        let known = extension.children.iter().position(|id| *id == child.id);
        let changed = match (child.step, known) {
            (ChildStep::Started | ChildStep::Working, None) => {
                let room = extension.children.len() < MAX_CHILDREN;
                if room {
                    extension.children.push(child.id.clone());
                }
                room
            }
            (ChildStep::Stopped, Some(position)) => {
                extension.children.remove(position);
                true
            }
            (ChildStep::Started | ChildStep::Working, Some(_)) | (ChildStep::Stopped, None) => false,
        };
        if !changed && is_freshly_stamped(at, record) {
            return Then::Coalesce;
        }
        let written_at_ms = stamp(at, Some(record.written_at_ms));
        Then::Land(Box::new(Record { written_at_ms, extension: Some(extension), ..record.clone() }))
    })
}

/// Decides the naming of the harness's process: the first live evidence where nothing has been observed yet.
pub(crate) fn attach(at: Circumstances<'_>, who: Standing<'_>, process: &HarnessProcess) -> Decision {
    beside_the_turn(at, who, |record, sequence| {
        let begins = record.is_placeholder() && who.identity.pty_session.is_some();
        if record.state.value == State::Ended && !record.is_placeholder() {
            return Then::Coalesce;
        }
        let named = record.extension.as_ref().and_then(|extension| extension.process.as_ref());
        let spare = &mut Spare::default();
        let mut next = match begins {
            true => {
                match observe_over(at, who, record, sequence, &Observation::new(State::Ready), true, spare) {
                    Then::Land(next) => *next,
                    other => return other,
                }
            }
            false if named == Some(process) => return Then::Coalesce,
            false => {
                let Some(extension) = stamped_extension(at, Some(record), spare) else {
                    return Then::Coalesce;
                };
                let written_at_ms = stamp(at, Some(record.written_at_ms));
                Record { written_at_ms, extension: Some(extension), ..record.clone() }
            }
        };
        if let Some(extension) = &mut next.extension {
            extension.process = Some(process.clone());
        }
        Then::Land(Box::new(next))
    })
}

/// Decides what changes nothing but the own record's extension; over anything else there is nothing to do.
fn beside_the_turn(
    at: Circumstances<'_>,
    who: Standing<'_>,
    decide: impl FnOnce(&Record, u64) -> Then,
) -> Decision {
    let sequence = match resolve_sequence(at, who) {
        Ok(sequence) => sequence,
        Err(refusal) => return Decision::Refused(refusal),
    };
    let then = match at.prior {
        Prior::Record(record) if record.incarnation == who.identity.token => decide(record, sequence),
        Prior::Record(_) | Prior::Absent | Prior::Unreadable(_) => Then::Coalesce,
    };
    Decision::Resolved { sequence, then }
}

/// Decides a heartbeat (HS-51 to HS-53). The floor fences it too: HSI-1 holds for every write. The record has its texts in the
/// memory of `spare`.
pub(crate) fn heartbeat(
    at: Circumstances<'_>,
    token: &str,
    sequence: Option<u64>,
    spare: &mut Spare,
) -> Result<Record, Skip> {
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
    let written_at_ms = stamp(at, Some(record.written_at_ms));
    let next = record.copied_without_extension(spare);
    Ok(Record { written_at_ms, extension: stamped_extension(at, Some(record), spare), ..next })
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
        extension: stamped_extension(at, None, &mut Spare::default()),
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
                || matches!(Freshness::of(record, at.now, at.options), Freshness::Stale | Freshness::Rebooted)
        }
    }
}

/// Trusted and younger than a refresh, as every program judges it (HS-43).
fn is_freshly_stamped(at: Circumstances<'_>, record: &Record) -> bool {
    let trusted = record.written_at_ms <= at.now_ms().saturating_add(at.options.future_skew_ms);
    trusted && record.age_ms(at.now_ms()) < at.options.refresh_ms
}

/// HS-47: one past a trusted stamp, and never behind the clock.
fn stamp(at: Circumstances<'_>, previous: Option<u64>) -> u64 {
    match previous {
        Some(previous) if previous <= at.now_ms().saturating_add(at.options.future_skew_ms) => {
            at.now_ms().max(previous.saturating_add(1))
        }
        _ => at.now_ms(),
    }
}

/// A landed record says who wrote it (HS-50). Times and counters are the caller's to set.
fn written(
    identity: &WriterIdentity,
    schema: &str,
    sequence: u64,
    observation: &Observation,
    spare: &mut Spare,
) -> Record {
    Record {
        schema: spare.copy(schema),
        agent: spare.copy(&identity.agent),
        harness: spare.copy(&identity.harness),
        state: Word::known(observation.state),
        blocked_on: Word::known(observation.blocked_on),
        input_buffer: Word::known(observation.input_buffer),
        ask: Word::known(observation.ask),
        reason: owned(observation.reason.as_deref(), spare),
        exit: owned(observation.exit.as_deref(), spare),
        pty_session: owned(identity.pty_session.as_deref(), spare),
        incarnation: spare.copy(&identity.token),
        seq: sequence,
        since_ms: 0,
        written_at_ms: 0,
        transitions: 0,
        extension: None,
    }
}
