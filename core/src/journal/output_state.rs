//! `local-output.json`: how far a local run's raw output is taken in, and the page that is on its way. No disk.
//!
//! A page stands here, redacted, before its events are appended. So a crash in between repeats the very same page, and
//! the keys of its events remove what is there already, even where the raw bytes are gone by then.

use super::checkpoint::MAX_NUMBER;
use super::error::queue_error;
use super::event::{Content, Event, GapReason, Provenance};
use super::output_page::{MAX_PAGE_BYTES, MAX_PAGE_RECORDS, OUTPUT, OutputPage, byte_id};
use super::version::{self, VERSION};
use crate::error::Result;
use crate::json::{Object, Value, canonical};

/// The state's name in a run's directory.
pub const LOCAL_OUTPUT: &str = "local-output.json";

/// How far the raw output of a run is taken in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OutputState {
    /// The next raw byte.
    pub(super) cursor: u64,
    /// Bytes are there that no page has taken.
    pub(super) pending: bool,
    /// The cursor stands within a record of which nothing is shown.
    pub(super) discarding: bool,
    /// The page on its way. It begins at the cursor.
    pub(super) page: Option<OutputPage>,
    /// Why a gap stands for whatever follows the cursor, where one was recorded.
    pub(super) lost: Option<GapReason>,
    /// Members that this package does not know, with their values' texts (kept on rewrite).
    unknown: Vec<(String, String)>,
}

impl OutputState {
    /// Reads the bytes of `local-output.json`. Its version comes before everything else (EX-UPG-09).
    ///
    /// # Errors
    /// `EXECUTION_VERSION`; `EXECUTION_QUEUE` with the reason `output-state` (EX-JRN-51).
    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        let invalid = |why: &str| queue_error(format!("{LOCAL_OUTPUT} makes no sense: {why}"));
        let value = std::str::from_utf8(bytes).ok().and_then(|text| Value::parse(text).ok());
        let members =
            value.as_ref().and_then(Value::as_object).ok_or_else(|| invalid("it is no JSON object"))?;
        check_member(members, "local-output", LOCAL_OUTPUT)?;
        let cursor = number(members, "cursor").ok_or_else(|| invalid("cursor is no integer from 0"))?;
        let flag = |name: &'static str| members.get(name).and_then(Value::as_bool);
        let pending = flag("pending").ok_or_else(|| invalid("pending is no boolean"))?;
        let discarding = flag("discarding").ok_or_else(|| invalid("discarding is no boolean"))?;
        let page = match members.get("page") {
            None | Some(Value::Null) => None,
            Some(page) => {
                let page = parse_page(page).ok_or_else(|| invalid("page is no page"))?;
                if page.start != cursor || page.start > page.end || page.end - page.start > MAX_PAGE_BYTES {
                    return Err(invalid("the page contradicts the cursor"));
                }
                if !ids_fit(&page) {
                    return Err(invalid("the page has events of other bytes"));
                }
                Some(page)
            }
        };
        let lost = match members.get("lost") {
            None | Some(Value::Null) => None,
            Some(word) => {
                let reason = word.as_str().and_then(GapReason::from_word);
                Some(reason.ok_or_else(|| invalid("lost is no reason of a gap"))?)
            }
        };
        let known = ["version", "cursor", "pending", "discarding", "page", "lost"];
        let unknown = members.iter().filter(|(key, _)| !known.contains(key));
        let unknown = unknown.map(|(key, value)| (key.to_owned(), value.to_json())).collect();
        Ok(OutputState { cursor, pending, discarding, page, lost, unknown })
    }

    pub(super) fn encode(&self) -> String {
        let OutputState { cursor, pending, discarding, .. } = self;
        let mut out = format!(
            "{{\"version\":{VERSION},\"cursor\":{cursor},\"pending\":{pending},\"discarding\":{discarding},\"page\":"
        );
        match &self.page {
            None => out.push_str("null"),
            Some(page) => {
                let OutputPage { start, end, discarding, events } = page;
                out.push_str(&format!(
                    "{{\"start\":{start},\"end\":{end},\"discarding\":{discarding},\"events\":["
                ));
                for (at, event) in events.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    write_event(event, &mut out);
                }
                out.push_str("]}");
            }
        }
        if let Some(reason) = self.lost {
            out.push_str(&format!(",\"lost\":\"{}\"", reason.word()));
        }
        for (key, value) in &self.unknown {
            out.push(',');
            canonical::write_string(key, &mut out);
            out.push(':');
            out.push_str(value);
        }
        out.push_str("}\n");
        out
    }

    /// The state with a page on its way (EX-JRN-40).
    pub(super) fn with(&self, page: &OutputPage) -> Self {
        OutputState { page: Some(page.clone()), pending: true, ..self.clone() }
    }

    /// The state after a page whose events are all acknowledged. `size` is the raw file's, none where it is missing.
    pub(super) fn after(&self, page: &OutputPage, size: Option<u64>) -> Self {
        let lost = page.lost();
        let pending = lost.is_none() && size.is_some_and(|size| size > page.end);
        let (cursor, discarding) = (page.end, page.discarding);
        OutputState { cursor, pending, discarding, page: None, lost, unknown: self.unknown.clone() }
    }

    /// Whether nothing of an ended run's output is left to take in: all of it was, or a gap stands for the rest.
    pub(super) fn is_drained(&self, size: Option<u64>) -> bool {
        // What is gone and was known to be there is missed; what was all taken in may go.
        let taken = match size {
            Some(size) if size >= self.cursor => size == self.cursor,
            Some(_) | None => !self.pending,
        };
        self.page.is_none() && (self.lost.is_some() || taken)
    }
}

/// Refuses an object whose version is not 1, however else it looks (EX-UPG-06, EX-UPG-08).
///
/// # Errors
/// `EXECUTION_VERSION`.
pub(crate) fn check_member(members: &Object, kind: &'static str, file: &str) -> Result<()> {
    version::check(kind, file, members.get("version"), VERSION)
}

/// A member that is an integer from 0.
pub(crate) fn number(members: &Object, name: &str) -> Option<u64> {
    let number = members.get(name).and_then(Value::as_number).filter(|number| number.is_integer())?;
    number.as_u64().filter(|number| *number <= MAX_NUMBER)
}

fn parse_page(value: &Value) -> Option<OutputPage> {
    let members = value.as_object()?;
    let events = members.get("events")?.as_array()?;
    Some(OutputPage {
        start: number(members, "start")?,
        end: number(members, "end")?,
        discarding: members.get("discarding")?.as_bool()?,
        events: events.iter().map(parse_event).collect::<Option<_>>()?,
    })
}

fn parse_event(value: &Value) -> Option<Event> {
    let id = value.get("eventId")?.as_str()?;
    let data = value.get("data")?;
    match value.get("type")?.as_str()? {
        "gap" => {
            let reason = GapReason::from_word(data.get("reason")?.as_str()?)?;
            Some(Event::gap(id, reason, Provenance::Local))
        }
        OUTPUT => Some(said(id.to_owned(), data.as_str()?.to_owned())),
        _ => None,
    }
}

/// The event of one raw record.
pub(super) fn said(id: String, text: String) -> Event {
    Event {
        id,
        provider_sequence: None,
        provenance: Provenance::Local,
        timestamp: None,
        content: Content::Said { kind: OUTPUT.to_owned(), data: Value::String(text) },
    }
}

pub(super) fn write_event(event: &Event, out: &mut String) {
    out.push_str("{\"eventId\":");
    canonical::write_string(&event.id, out);
    out.push_str(",\"type\":");
    match &event.content {
        Content::Said { kind, data } => {
            canonical::write_string(kind, out);
            out.push_str(",\"data\":");
            data.write_json(out);
        }
        Content::Gap(reason) => {
            out.push_str("\"gap\",\"data\":");
            reason.data().write_json(out);
        }
    }
    out.push('}');
}

/// Whether the events are named after bytes of the page, in their order; the gap of a page without bytes after the place
/// where it stands.
fn ids_fit(page: &OutputPage) -> bool {
    if page.start == page.end {
        return page.lost().is_some() && page.events[0].id == byte_id(page.start);
    }
    let mut from = page.start;
    page.events.len() <= MAX_PAGE_RECORDS
        && page.events.iter().all(|event| {
            let at = event.id.strip_prefix("byte:").and_then(|text| text.parse::<u64>().ok());
            let fits = at.is_some_and(|at| (from..page.end).contains(&at) && event.id == byte_id(at));
            from = at.map_or(from, |at| at.saturating_add(1));
            fits
        })
}
