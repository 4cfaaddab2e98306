//! What a provider says of a job, judged as a whole before any of it is used (EX-OBS-01 to EX-OBS-22, EX-IDN).

use super::contract::{Identities, Method, Reply};
use super::cursor::Cursor;
use super::limits::Limits;
use super::states::ProviderState;
use crate::error::{Code, Error, Result};
use crate::journal::{Content, Event, Provenance};
use crate::json::{Number, Value};

/// The longest event id, in UTF-16 units (EX-OBS-18).
const EVENT_ID_UNITS: usize = 512;
/// The longest event type, in bytes (EX-OBS-18).
const EVENT_TYPE_BYTES: usize = 64;

/// What is recorded of a run, as far as an observation is judged by it. Times are milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// Its job, where it is known: an observation of another one is foreign.
    pub provider_job_id: Option<&'a str>,
    /// Its root turn, likewise.
    pub turn_id: Option<&'a str>,
    /// Its session, likewise.
    pub session_id: Option<&'a str>,
    /// When it began at the earliest.
    pub started_at: u64,
    /// The time of the last accepted observation.
    pub observed_at: Option<u64>,
}

/// An observation that was judged and found valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Whose it is.
    pub identities: Identities,
    /// The session, where one is reported.
    pub session_id: Option<String>,
    /// What the job is seen doing.
    pub state: ProviderState,
    /// When it was seen, in milliseconds since 1970.
    pub observed_at: u64,
    /// When its root turn ended, exactly, where that is told.
    pub completed_at: Option<u64>,
    /// The next cursor, where one is given.
    pub cursor: Option<Cursor>,
    /// The page of events.
    pub events: Vec<Event>,
    /// Whether the provider says that something is missing before them.
    pub gap: bool,
    /// The cost as it was reported, unjudged: an invalid one rejects nothing (EX-OBS-22).
    pub cost: Value,
}

impl Observation {
    /// Reads the reply to a look-up or an inspection, and judges it (EX-TRA-23). None is a null, which a look-up may answer.
    ///
    /// # Errors
    /// Those of [`Reply::receive`] and [`Observation::judge`].
    pub fn receive(
        method: Method,
        text: &str,
        recorded: &Recorded<'_>,
        limits: &Limits,
        now: u64,
    ) -> Result<Option<Observation>> {
        let reply = Reply::receive(method, text, limits.result_bytes)?;
        reply.map(|reply| Observation::judge(&reply, recorded, limits, now)).transpose()
    }

    /// Judges a reply, in the order of EX-OBS-03. Nothing of a rejected reply is used.
    ///
    /// # Errors
    /// `EXECUTION_PROTOCOL` with the reason of the first rule that it breaks: `shape` for a gap that is none, `cursor`,
    /// `identity`, `foreign`, `session`, `state`, `time`, `stale`, `future`, `completion`, `page`, `event`.
    pub fn judge(reply: &Reply, recorded: &Recorded<'_>, limits: &Limits, now: u64) -> Result<Observation> {
        let gap = gap(reply)?;
        let cursor = reply.cursor()?;
        let identities = reply.identities()?;
        let is_foreign = recorded.provider_job_id.is_some_and(|job| job != identities.provider_job_id)
            || recorded.turn_id.is_some_and(|turn| turn != identities.turn_id);
        if is_foreign {
            return Err(rejected("foreign", "an observation is of another job or root turn"));
        }
        let session_id = reply.session(recorded.session_id)?;
        let state = reply.get("state").and_then(Value::as_str).and_then(ProviderState::from_word);
        let state = state.ok_or_else(|| rejected("state", "an observation has a state that is none"))?;
        let observed_at = observed_at(reply, recorded, now)?;
        let completed_at = completed_at(reply, state, recorded.started_at, observed_at)?;
        let events = events(reply, limits)?;
        let cost = reply.given("costUsd").cloned().unwrap_or(Value::Null);
        Ok(Observation {
            identities,
            session_id,
            state,
            observed_at,
            completed_at,
            cursor,
            events,
            gap,
            cost,
        })
    }
}

/// Whether a reply reports an explicit gap (EX-OBS-21).
fn gap(reply: &Reply) -> Result<bool> {
    match reply.given("gap") {
        None | Some(Value::Bool(false)) => Ok(false),
        Some(Value::Bool(true)) => Ok(true),
        Some(gap) if gap.get("reason").and_then(Value::as_str).is_some() => Ok(true),
        Some(_) => Err(rejected("shape", "a gap is neither true nor an object with a reason")),
    }
}

fn observed_at(reply: &Reply, recorded: &Recorded<'_>, now: u64) -> Result<u64> {
    let observed =
        reply.given("observedAt").and_then(Value::as_number).filter(|number| is_whole_time(number));
    let observed =
        observed.ok_or_else(|| rejected("time", "observedAt is no whole number of milliseconds"))?;
    // A whole number that no saved time can hold lies before every run or behind every clock.
    let outside = if observed.as_str().starts_with('-') { 0 } else { u64::MAX };
    let observed = observed.as_u64().unwrap_or(outside);
    if observed < recorded.started_at || recorded.observed_at.is_some_and(|last| observed < last) {
        return Err(rejected("stale", "an observation is older than the run or than the last one"));
    }
    if observed > now {
        return Err(rejected("future", "an observation lies in the future").with_remedy(
            "correct the clock or the units of the transport and reconcile the same job and key; no new dispatch is needed",
        ));
    }
    Ok(observed)
}

fn completed_at(
    reply: &Reply,
    state: ProviderState,
    started_at: u64,
    observed_at: u64,
) -> Result<Option<u64>> {
    let Some(value) = reply.given("completedAt") else { return Ok(None) };
    let completed = value.as_number().and_then(Number::as_u64);
    let completed =
        completed.filter(|completed| state.is_terminal() && (started_at..=observed_at).contains(completed));
    let message = "completedAt needs a terminal state, and lies between the start and the observation";
    completed.map(Some).ok_or_else(|| rejected("completion", message))
}

fn events(reply: &Reply, limits: &Limits) -> Result<Vec<Event>> {
    let Some(value) = reply.given("events") else { return Ok(Vec::new()) };
    let page = |message: String| rejected("page", &message);
    let listed = value.as_array().ok_or_else(|| page("events is no list".to_owned()))?;
    if listed.len() as u64 > limits.event_page_records {
        return Err(page(format!(
            "a page has too many events, events=`{}` limit=`{}`",
            listed.len(),
            limits.event_page_records
        )));
    }
    let bytes = value.to_canonical().len() as u64;
    if bytes > limits.event_page_bytes {
        return Err(page(format!("a page is too long, bytes=`{bytes}` limit=`{}`", limits.event_page_bytes)));
    }
    listed
        .iter()
        .enumerate()
        .map(|(position, event)| {
            parse_event(reply, event)
                .ok_or_else(|| rejected("event", &format!("a page has a bad event, position=`{position}`")))
        })
        .collect()
}

/// How many of these events, from the first on, a page may hold by the limits in force (EX-OBS-17). 0 says that the first one alone
/// is too long for any page: its data has to be shortened. What the events say is not judged.
#[must_use]
pub fn fitting(events: &[Value], limits: &Limits) -> usize {
    let most = usize::try_from(limits.event_page_records).unwrap_or(usize::MAX);
    // The brackets, and a comma behind every event but the last.
    let mut bytes = 1_u64;
    let fits = |event: &&Value| {
        bytes = bytes.saturating_add(event.to_canonical().len() as u64 + 1);
        bytes <= limits.event_page_bytes
    };
    events.iter().take(most).take_while(fits).count()
}

fn parse_event(reply: &Reply, event: &Value) -> Option<Event> {
    let id = event.get("eventId")?.as_str().filter(|id| !id.is_empty() && reply.is_exact(id))?;
    if id.len() > EVENT_ID_UNITS && id.encode_utf16().count() > EVENT_ID_UNITS {
        return None;
    }
    let kind = event.get("type")?.as_str()?;
    if kind.is_empty() || kind.len() > EVENT_TYPE_BYTES {
        return None;
    }
    let given = |key: &str| event.get(key).filter(|value| !value.is_null());
    let provider_sequence = match given("sequence") {
        None => None,
        Some(sequence) => Some(sequence.as_number().filter(|number| is_whole(number))?.clone()),
    };
    let timestamp = match given("timestamp") {
        None => None,
        Some(timestamp) => Some(timestamp.as_number().filter(|number| number.is_finite())?.clone()),
    };
    let content =
        Content::Said { kind: kind.to_owned(), data: event.get("data").cloned().unwrap_or(Value::Null) };
    let provenance = Provenance::Provider;
    Some(Event { id: id.to_owned(), provider_sequence, provenance, timestamp, content })
}

/// An integer from 0.
fn is_whole(number: &Number) -> bool {
    number.is_integer() && !number.as_str().starts_with('-')
}

/// Whether it is a finite number without a fraction; `1.5e3` is one too.
fn is_whole_time(number: &Number) -> bool {
    number.is_integer() || (number.is_finite() && number.as_f64().fract() == 0.0)
}

fn rejected(reason: &'static str, message: &str) -> Error {
    Error::new(Code::ExecutionProtocol, message).with_reason(reason)
}
