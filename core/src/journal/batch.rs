//! A page of events, made into batches: what is new, what it looks like on disk, where it is cut. No disk.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;

use super::checkpoint::{MAX_NUMBER, Pending};
use super::error::input;
use super::event::{Content, Event, GapReason, Key, Owner, ReplayKeyMaker};
use super::record::{self, MAX_RECORD_BYTES, Parts};
use super::scan::Position;
use crate::error::Result;
use crate::json::canonical::write_string;
use crate::json::{Number, Value};
use crate::redaction::Redactor;

/// The most bytes of a batch, newlines included (EX-JRN-11): a single record always fits.
pub const MAX_BATCH_BYTES: usize = MAX_RECORD_BYTES + 1;

/// Where an event of a page stands in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its ingestion number.
    pub sequence: u64,
    /// What that number holds.
    pub how: How,
}

/// How an event came to its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// A new record holds it.
    Recorded,
    /// A new gap stands for it, because its record would have been too long (EX-JRN-08).
    Oversized,
    /// It was there already, in the journal or earlier in the page (EX-JRN-06).
    Known,
}

impl How {
    /// Every one.
    pub const ALL: &'static [How] = &[How::Recorded, How::Oversized, How::Known];

    /// The word that every language has for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            How::Recorded => "recorded",
            How::Oversized => "oversized",
            How::Known => "known",
        }
    }
}

/// What a batch first has room for a record. It grows where that is too little.
const USUAL_RECORD_BYTES: usize = 640;

/// Records that are written and made durable together.
#[derive(Debug)]
pub(super) struct Batch {
    /// Where it begins.
    pub(super) start: Position,
    /// The records with their newlines.
    pub(super) bytes: String,
    /// What is announced of each; taken away by the step that announces it.
    pub(super) pending: Vec<Pending>,
    /// The keys with their numbers.
    pub(super) keys: Vec<(Key, u64)>,
    /// The check value of the last record.
    pub(super) crc: u32,
}

impl Batch {
    fn at(start: Position) -> Self {
        Batch { start, bytes: String::new(), pending: Vec::new(), keys: Vec::new(), crc: 0 }
    }

    /// One with room for so many records at least, and for their bytes where these fill a batch.
    fn with_room(start: Position, records: usize) -> Self {
        let bytes = MAX_BATCH_BYTES.min(records.saturating_mul(USUAL_RECORD_BYTES));
        Batch {
            bytes: String::with_capacity(bytes),
            pending: Vec::with_capacity(records),
            keys: Vec::with_capacity(records),
            ..Batch::at(start)
        }
    }

    /// Where it ends.
    pub(super) fn end(&self) -> Position {
        Position {
            offset: self.start.offset + self.bytes.len() as u64,
            sequence: self.start.sequence + self.keys.len() as u64,
        }
    }
}

/// The keys of a page, in its order.
///
/// # Errors
/// `EXECUTION_INPUT` for an event that no record can hold.
pub(super) fn keys(page: &[Event], owner: &Owner) -> Result<Vec<Key>> {
    let mut maker = ReplayKeyMaker::of(owner);
    let mut keys = Vec::with_capacity(page.len());
    for event in page {
        check(event)?;
        keys.push(maker.key(Some(&event.id)));
    }
    Ok(keys)
}

fn check(event: &Event) -> Result<()> {
    if event.id.is_empty() {
        return Err(input("an event has an empty id"));
    }
    if matches!(&event.content, Content::Said { kind, .. } if kind.is_empty()) {
        return Err(input("an event has an empty type"));
    }
    if event.provider_sequence.as_ref().is_some_and(|number| !is_counting(number)) {
        return Err(input("an event's provider sequence is no integer from 0"));
    }
    if event.timestamp.as_ref().is_some_and(|number| !number.is_finite()) {
        return Err(input("an event's timestamp is not finite"));
    }
    Ok(())
}

/// Whether a number is an integer from 0, however it is spelled.
pub(super) fn is_counting(number: &Number) -> bool {
    let is_whole = |double: f64| double.is_finite() && double.fract() == 0.0;
    (number.is_integer() || is_whole(number.as_f64())) && !number.canonical_text().starts_with('-')
}

/// Cuts the events that are not known yet into batches, from the front, each with as many records as fit (EX-JRN-87).
///
/// `known` has for each event its number where the journal holds its key.
///
/// # Errors
/// `EXECUTION_INPUT` where not even a gap in the place of an event fits a record, because of its id or its owner.
pub(super) fn cut(
    page: &[Event],
    keys: &[Key],
    known: &[Option<u64>],
    ground: &Ground<'_>,
) -> Result<(Vec<Placed>, Vec<Batch>)> {
    let mut placed = Vec::with_capacity(page.len());
    let mut batches = Vec::new();
    let mut batch = Batch::with_room(ground.end, known.iter().filter(|known| known.is_none()).count());
    // A key is a hash, but whoever chooses event ids must not choose where it falls.
    let mut in_page: HashMap<Key, u64, RandomState> =
        HashMap::with_capacity_and_hasher(page.len(), RandomState::default());
    let mut data = String::new();
    let mut next = ground.end.sequence;
    for ((event, key), known) in page.iter().zip(keys).zip(known) {
        if let Some(sequence) = *known {
            placed.push(Placed { sequence, how: How::Known });
            continue;
        }
        match in_page.entry(*key) {
            Entry::Occupied(earlier) => {
                placed.push(Placed { sequence: *earlier.get(), how: How::Known });
                continue;
            }
            Entry::Vacant(place) => {
                if next >= MAX_NUMBER {
                    return Err(input("the journal has no number left"));
                }
                next += 1;
                place.insert(next);
            }
        }
        let before = batch.bytes.len();
        let written = write(event, key, next, ground, &mut data, &mut batch.bytes)?;
        if before > 0 && batch.bytes.len() > MAX_BATCH_BYTES {
            let line = batch.bytes.split_off(before);
            let following = Batch { bytes: line, ..Batch::at(batch.end()) };
            batches.push(std::mem::replace(&mut batch, following));
        }
        batch.pending.push(written.pending);
        batch.keys.push((*key, next));
        batch.crc = written.crc;
        placed.push(Placed { sequence: next, how: written.how });
    }
    if !batch.keys.is_empty() {
        batches.push(batch);
    }
    Ok((placed, batches))
}

/// What every record of a page has in common.
pub(super) struct Ground<'a> {
    /// What their records begin with.
    pub(super) beginning: String,
    pub(super) redactor: &'a Redactor,
    /// The end of the journal.
    pub(super) end: Position,
    /// Milliseconds since 1970: the time of an event that tells none.
    pub(super) now_ms: u64,
}

struct Written {
    pending: Pending,
    crc: u32,
    how: How,
}

/// Appends an event's line. Everything is redacted before it is written anywhere (EX-JRN-09), and measured after that.
/// `data_text` is room for the text of its data.
fn write(
    event: &Event,
    key: &Key,
    sequence: u64,
    ground: &Ground<'_>,
    data_text: &mut String,
    out: &mut String,
) -> Result<Written> {
    let event_id = ground.redactor.text(&event.id);
    let provider_sequence = event.provider_sequence.as_ref().map(Number::canonical_text);
    let told = event.timestamp.as_ref().map(Number::canonical_text);
    let timestamp = told.unwrap_or_else(|| Cow::Owned(ground.now_ms.to_string()));
    let parts = Parts {
        beginning: &ground.beginning,
        event_id: &event_id,
        key,
        sequence,
        provider_sequence: provider_sequence.as_deref(),
        provenance: event.provenance,
        timestamp: &timestamp,
        kind: "gap",
        data: "",
    };
    let start = out.len();
    let gap = |reason: GapReason, out: &mut String| {
        record::encode(&Parts { data: &reason.data().to_json(), ..parts }, out)
    };
    let mut how = How::Recorded;
    let mut crc = match &event.content {
        Content::Gap(reason) => gap(*reason, out),
        Content::Said { kind, data } => {
            let kind = ground.redactor.text(kind);
            data_text.clear();
            match data {
                Value::String(text) => write_string(&ground.redactor.text(text), data_text),
                data => ground.redactor.value(data).write_json(data_text),
            }
            record::encode(&Parts { kind: &kind, data: data_text, ..parts }, out)
        }
    };
    if out.len() - start > MAX_BATCH_BYTES {
        out.truncate(start);
        how = How::Oversized;
        crc = gap(GapReason::OversizedRecord, out);
        if out.len() - start > MAX_BATCH_BYTES {
            out.truncate(start);
            let message = format!("not even a gap for an event fits a record, limit=`{MAX_RECORD_BYTES}`");
            return Err(input(message));
        }
    }
    let provider_sequence = provider_sequence.map(|number| Number::from_json(number.into_owned()));
    let event_id = event_id.into_owned();
    let pending = Pending { event_id, key: *key, provider_sequence, provenance: event.provenance };
    Ok(Written { pending, crc, how })
}
