//! A page of a local run's raw output: which bytes it takes, and the events that they are. No disk.
//!
//! A raw record is a line. It is redacted as a whole before anything of it is kept, and named after its first byte, so that
//! the same bytes give the same events however often and from wherever they are cut.

use std::borrow::Cow;

use memchr::memchr;

use super::event::{Content, Event, GapReason, Provenance};
use super::output_state::{said, write_event};
use super::record::MAX_RECORD_BYTES;
use crate::redaction::{MARK, Redactor};

/// The most raw bytes of a page (EX-JRN-36).
pub const MAX_PAGE_BYTES: u64 = 262_144;
/// The most records of a page (EX-JRN-36).
pub const MAX_PAGE_RECORDS: usize = 100;
/// The type of an event that is a raw record.
pub(super) const OUTPUT: &str = "output";
/// The most bytes of a page's events as `local-output.json` has them, so that the whole file stays within
/// [`MAX_PAGE_BYTES`] too.
const MAX_EVENTS_BYTES: usize = MAX_PAGE_BYTES as usize - 1024;

/// A page on its way into the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPage {
    /// Its first raw byte.
    pub start: u64,
    /// The byte behind its last one. The same as `start` where a gap stands for bytes that cannot be taken in.
    pub end: u64,
    /// Whether it ends within a record of which nothing is shown.
    pub discarding: bool,
    /// The redacted events, in order.
    pub events: Vec<Event>,
}

impl OutputPage {
    /// A gap for whatever follows the cursor (EX-JRN-48).
    pub(super) fn losing(cursor: u64, reason: GapReason) -> Self {
        let events = vec![Event::gap(byte_id(cursor), reason, Provenance::Local)];
        OutputPage { start: cursor, end: cursor, discarding: false, events }
    }

    /// Why its bytes cannot be taken in, if that is what it says.
    pub(super) fn lost(&self) -> Option<GapReason> {
        match self.events.as_slice() {
            [Event { content: Content::Gap(reason), .. }] if self.start == self.end => Some(*reason),
            _ => None,
        }
    }
}

/// What a page is cut from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'a> {
    /// The place of the first byte.
    pub(super) cursor: u64,
    /// Whether that is within a record of which nothing is shown.
    pub(super) discarding: bool,
    /// The bytes from there on, as many as a page may have.
    pub(super) bytes: &'a [u8],
    /// Nothing follows them, and nothing will: the run has ended.
    pub(super) is_last: bool,
    /// They are as many as a page may have.
    pub(super) is_full: bool,
}

/// The name of the raw record that begins there (EX-JRN-41).
pub(super) fn byte_id(offset: u64) -> String {
    format!("byte:{offset}")
}

/// Cuts the next page; none while no record is whole (EX-JRN-42 to EX-JRN-44).
pub(super) fn cut(window: &Window<'_>, redactor: &Redactor) -> Option<OutputPage> {
    let Window { cursor, bytes, is_last, is_full, .. } = *window;
    let (mut at, mut discarding) = (0, window.discarding);
    if discarding {
        let newline = memchr(b'\n', bytes);
        at = newline.map_or(bytes.len(), |newline| newline + 1);
        discarding = newline.is_none() && !is_last;
    }
    let mut events: Vec<Event> = Vec::new();
    let mut encoded = 0;
    while at < bytes.len() && events.len() < MAX_PAGE_RECORDS {
        let id = byte_id(cursor + at as u64);
        let (record, next) = match memchr(b'\n', &bytes[at..]) {
            Some(length) => (&bytes[at..at + length], at + length + 1),
            None if is_last => (&bytes[at..], bytes.len()),
            None if is_full && at == 0 => {
                events.push(Event::gap(id, GapReason::OversizedRecord, Provenance::Local));
                (at, discarding) = (bytes.len(), true);
                break;
            }
            None => break,
        };
        let event = event_of(id, record, redactor);
        // With the comma behind it.
        let bytes = encoded_bytes(&event) + 1;
        if !events.is_empty() && encoded + bytes > MAX_EVENTS_BYTES {
            break;
        }
        encoded += bytes;
        events.push(event);
        at = next;
    }
    (at > 0).then(|| OutputPage { start: cursor, end: cursor + at as u64, discarding, events })
}

fn encoded_bytes(event: &Event) -> usize {
    let mut text = String::new();
    write_event(event, &mut text);
    text.len()
}

/// A raw record as an event. One that no journal record can hold is a gap here already: its text would only make the saved
/// page longer.
fn event_of(id: String, record: &[u8], redactor: &Redactor) -> Event {
    let text = redacted(record, redactor).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let event = text.filter(|text| text.len() <= MAX_RECORD_BYTES).map(|text| said(id.clone(), text));
    let fits = |event: &Event| match &event.content {
        Content::Said { data, .. } => data.to_json().len() <= MAX_RECORD_BYTES,
        Content::Gap(_) => true,
    };
    event.filter(fits).unwrap_or_else(|| Event::gap(id, GapReason::OversizedRecord, Provenance::Local))
}

/// The record without secrets; none where that is longer than a record may be. What is covered may be shorter than its mark,
/// so a long record is redacted in pieces, and given up as soon as it is too long.
fn redacted<'r>(record: &'r [u8], redactor: &Redactor) -> Option<Cow<'r, [u8]>> {
    if record.len() <= MAX_RECORD_BYTES / MARK.len() {
        return Some(redactor.bytes(record));
    }
    let (mut stream, mut out) = (redactor.stream(), Vec::new());
    for piece in record.chunks(4096) {
        stream.push(piece, &mut out);
        if out.len() > MAX_RECORD_BYTES {
            return None;
        }
    }
    stream.finish(&mut out);
    Some(Cow::Owned(out))
}
