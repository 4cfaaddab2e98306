//! Bytes to record and back (sections A and B of the specification).

use std::collections::BTreeMap;
use std::mem::take;

use serde_json::value::RawValue;

use super::extension::{EXTENSION, Extension, WrittenExtension};
use super::line::{Line, Writing, owned};
use super::observation::{Ask, BlockedOn, InputBuffer, State};
use super::record::{Record, Word};
use crate::json::strict::{self, Malformed, Spare};

/// A larger file is not decoded (HS-18).
pub const MAX_RECORD_BYTES: u64 = 4 * 1024 * 1024;

/// Room for nearly every record, most of which take half of it, so that its line does not grow by steps.
const USUAL_RECORD_BYTES: usize = 1024;

/// The keys in their written order, in which a repeated one is refused.
const KEYS: [&str; 15] = [
    "schema",
    "agent",
    "harness",
    "state",
    "blockedOn",
    "inputBuffer",
    "ask",
    "reason",
    "exit",
    "ptySession",
    "incarnation",
    "seq",
    "sinceMs",
    "writtenAtMs",
    "transitions",
];

/// Decodes a record.
///
/// # Errors
/// [`Malformed`] when the bytes are not exactly one object with the required keys, of the right types, none of
/// ours repeated, in UTF-8 without a byte order mark.
pub fn decode(bytes: &[u8]) -> Result<Record, Malformed> {
    decode_with(bytes, &mut Spare::default())
}

/// As [`decode`], with strings of records that nobody needs any more.
pub(super) fn decode_with(bytes: &[u8], spare: &mut Spare) -> Result<Record, Malformed> {
    match decode_written(bytes, spare) {
        Some(record) => Ok(record),
        None => decode_any(bytes, spare),
    }
}

/// Decodes a line that is spelled as [`encode`] spells it; none where it is spelled otherwise, or is no record.
fn decode_written(bytes: &[u8], spare: &mut Spare) -> Option<Record> {
    let mut line = Line::of(bytes)?;
    let schema = line.text("{\"schema\":\"")?;
    let agent = line.text(",\"agent\":\"")?;
    let harness = line.text(",\"harness\":\"")?;
    let state = line.word(",\"state\":\"", State::from_word, &State::Unknown)?;
    let blocked_on = line.word(",\"blockedOn\":\"", BlockedOn::from_word, &BlockedOn::Unknown)?;
    let input_buffer = line.word(",\"inputBuffer\":\"", InputBuffer::from_word, &InputBuffer::Unknown)?;
    let ask = line.word(",\"ask\":\"", Ask::from_word, &Ask::Unknown)?;
    let reason = line.optional_text(",\"reason\":\"")?;
    let exit = line.optional_text(",\"exit\":\"")?;
    let pty_session = line.optional_text(",\"ptySession\":\"")?;
    let incarnation = line.text(",\"incarnation\":\"")?;
    let seq = line.number(",\"seq\":")?;
    let since_ms = line.number(",\"sinceMs\":")?;
    let written_at_ms = line.number(",\"writtenAtMs\":")?;
    let transitions = line.number(",\"transitions\":")?;
    // Everything is known to fit before a text is copied, so that a line of another form leaves what is spare alone.
    let extension = WrittenExtension::of(&mut line)?;
    line.pass("}\n")?;
    line.has_ended().then(|| Record {
        schema: spare.copy(schema),
        agent: spare.copy(agent),
        harness: spare.copy(harness),
        state,
        blocked_on,
        input_buffer,
        ask,
        reason: owned(reason, spare),
        exit: owned(exit, spare),
        pty_session: owned(pty_session, spare),
        incarnation: spare.copy(incarnation),
        seq,
        since_ms,
        written_at_ms,
        transitions,
        extension: extension.map(|extension| extension.to_extension(spare)),
    })
}

/// Decodes a record however it is spelled.
fn decode_any(bytes: &[u8], spare: &mut Spare) -> Result<Record, Malformed> {
    let text = utf8(bytes)?;
    let mut found: [Option<&RawValue>; KEYS.len()] = [None; KEYS.len()];
    let mut extensions: (Option<&RawValue>, u32) = (None, 0);
    strict::members(text, |key, value| {
        if key == EXTENSION {
            extensions = (Some(value), extensions.1 + 1);
            return Ok(());
        }
        let Some(position) = KEYS.iter().position(|known| *known == key) else { return Ok(()) };
        match found[position].replace(value) {
            None => Ok(()),
            Some(_) => Err(Malformed(format!("a key is repeated, key=`{key}`"))),
        }
    })?;
    let mut fields = Fields { found, spare };
    Ok(Record {
        schema: fields.string("schema")?,
        agent: fields.string("agent")?,
        harness: fields.string("harness")?,
        state: fields.word("state", State::from_word, State::Unknown, None)?,
        blocked_on: fields.word("blockedOn", BlockedOn::from_word, BlockedOn::Unknown, None)?,
        input_buffer: fields.word("inputBuffer", InputBuffer::from_word, InputBuffer::Unknown, None)?,
        ask: fields.word("ask", Ask::from_word, Ask::Unknown, Some(Ask::None))?,
        reason: fields.optional("reason")?,
        exit: fields.optional("exit")?,
        pty_session: fields.optional("ptySession")?,
        incarnation: fields.defaulted("incarnation")?,
        seq: fields.get("seq").map_or(Ok(0), |raw| strict::unsigned("seq", raw))?,
        since_ms: fields.unsigned("sinceMs")?,
        written_at_ms: fields.unsigned("writtenAtMs")?,
        transitions: fields.unsigned("transitions")?,
        // A program that does not know the key takes the record with two of them too.
        extension: extensions
            .0
            .filter(|_| extensions.1 == 1)
            .and_then(|value| Extension::parse(value, fields.spare)),
    })
}

/// Encodes a record as one line.
#[must_use]
pub fn encode(record: &Record) -> Vec<u8> {
    encode_with(record, Vec::new(), Vec::new())
}

/// Encodes a record together with the members of `previous` that this build does not know, as they stood there. The
/// extension is the record's own.
#[must_use]
pub fn encode_keeping_unknown(record: &Record, previous: &[u8]) -> Vec<u8> {
    encode_with(record, unknown_members(previous), Vec::new())
}

/// A record's line, and whether this build knows all of its members.
#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    pub(super) all_known: bool,
}

impl Encoded {
    /// As [`encode`], in the memory of bytes that nobody needs any more.
    pub(super) fn plain(record: &Record, bytes: Vec<u8>) -> Self {
        Encoded { bytes: encode_with(record, Vec::new(), bytes), all_known: true }
    }

    /// As [`encode_keeping_unknown`], likewise.
    pub(super) fn keeping_unknown(record: &Record, previous: &[u8], bytes: Vec<u8>) -> Self {
        let unknown = unknown_members(previous);
        Encoded { all_known: unknown.is_empty(), bytes: encode_with(record, unknown, bytes) }
    }
}

fn unknown_members(previous: &[u8]) -> Vec<(String, String)> {
    let mut unknown = Vec::new();
    // `previous` was decoded before, so it is UTF-8 and one object.
    if let Ok(text) = utf8(previous) {
        let _ = strict::members(text, |key, value| {
            if key != EXTENSION && !KEYS.contains(&key) {
                unknown.push((key.to_owned(), strict::compact(value)));
            }
            Ok(())
        });
    }
    unknown
}

/// The three numbers that a claim goes on from, taken from bytes that do not decode (HS-57).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Salvage {
    /// The greatest `seq`.
    pub seq: Option<u64>,
    /// The greatest `transitions`.
    pub transitions: Option<u64>,
    /// The greatest `writtenAtMs`.
    pub written_at_ms: Option<u64>,
}

/// Takes what can be read as JSON; nothing from bytes that are not UTF-8 or not one object.
#[must_use]
pub fn salvage(bytes: &[u8]) -> Salvage {
    let mut numbers: BTreeMap<&[u8], u64> = BTreeMap::new();
    const WANTED: [&[u8]; 3] = [b"seq", b"transitions", b"writtenAtMs"];
    let walked = utf8(bytes).and_then(|text| {
        strict::members_by_raw_key(text, |key, value| {
            let wanted = WANTED.into_iter().find(|wanted| *wanted == key);
            if let (Some(key), Ok(number)) = (wanted, strict::unsigned("", value)) {
                let greatest = numbers.entry(key).or_default();
                *greatest = number.max(*greatest);
            }
            Ok(())
        })
    });
    if walked.is_err() {
        return Salvage::default();
    }
    let number = |position: usize| numbers.get(WANTED[position]).copied();
    Salvage { seq: number(0), transitions: number(1), written_at_ms: number(2) }
}

fn utf8(bytes: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(bytes).map_err(|_| Malformed("the bytes are not UTF-8".to_owned()))
}

/// Gives the strings of a record back, the last one first, and leaves it without any.
pub(super) fn take_apart(record: &mut Record, spare: &mut Spare) {
    if let Some(extension) = record.extension.take() {
        extension.take_apart(spare);
    }
    spare.give(take(&mut record.incarnation));
    let optional = [&mut record.pty_session, &mut record.exit, &mut record.reason];
    optional.into_iter().filter_map(Option::take).for_each(|text| spare.give(text));
    let required = [&mut record.harness, &mut record.agent, &mut record.schema];
    required.into_iter().for_each(|text| spare.give(take(text)));
}

struct Fields<'a, 's> {
    found: [Option<&'a RawValue>; KEYS.len()],
    spare: &'s mut Spare,
}

impl<'a> Fields<'a, '_> {
    fn get(&self, key: &str) -> Option<&'a RawValue> {
        KEYS.iter().position(|known| *known == key).and_then(|position| self.found[position])
    }

    fn required(&self, key: &str) -> Result<&'a RawValue, Malformed> {
        self.get(key).ok_or_else(|| Malformed(format!("a key is missing, key=`{key}`")))
    }

    fn string(&mut self, key: &str) -> Result<String, Malformed> {
        strict::string(key, self.required(key)?, self.spare)
    }

    fn optional(&mut self, key: &str) -> Result<Option<String>, Malformed> {
        self.get(key).map_or(Ok(None), |raw| strict::optional_string(key, raw, self.spare))
    }

    fn defaulted(&mut self, key: &str) -> Result<String, Malformed> {
        self.get(key).map_or(Ok(String::new()), |raw| strict::string(key, raw, self.spare))
    }

    fn unsigned(&self, key: &str) -> Result<u64, Malformed> {
        strict::unsigned(key, self.required(key)?)
    }

    fn word<T: PartialEq>(
        &mut self,
        key: &str,
        parse: fn(&str) -> T,
        unknown: T,
        absent: Option<T>,
    ) -> Result<Word<T>, Malformed> {
        if let (None, Some(absent)) = (self.get(key), absent) {
            return Ok(Word::known(absent));
        }
        let spelled = self.string(key)?;
        let value = parse(&spelled);
        // The word `unknown` is said by the value.
        if value == unknown && spelled != "unknown" {
            return Ok(Word { value, spelled: Some(spelled.into_boxed_str()) });
        }
        self.spare.give(spelled);
        Ok(Word::known(value))
    }
}

/// In the written order (HS-06), which `decode_written` goes by. Null is never written.
fn encode_with(record: &Record, unknown: Vec<(String, String)>, mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.clear();
    bytes.reserve(USUAL_RECORD_BYTES);
    let mut line = Writing(String::from_utf8(bytes).unwrap_or_default());
    line.text("{\"schema\":\"", &record.schema);
    line.text(",\"agent\":\"", &record.agent);
    line.text(",\"harness\":\"", &record.harness);
    line.word(",\"state\":\"", record.state.spelled.as_deref(), record.state.value.word());
    let blocked_on = &record.blocked_on;
    line.word(",\"blockedOn\":\"", blocked_on.spelled.as_deref(), blocked_on.value.word());
    let input_buffer = &record.input_buffer;
    line.word(",\"inputBuffer\":\"", input_buffer.spelled.as_deref(), input_buffer.value.word());
    line.word(",\"ask\":\"", record.ask.spelled.as_deref(), record.ask.value.word());
    line.optional_text(",\"reason\":\"", record.reason.as_deref());
    line.optional_text(",\"exit\":\"", record.exit.as_deref());
    line.optional_text(",\"ptySession\":\"", record.pty_session.as_deref());
    line.text(",\"incarnation\":\"", &record.incarnation);
    line.number(",\"seq\":", record.seq);
    line.number(",\"sinceMs\":", record.since_ms);
    line.number(",\"writtenAtMs\":", record.written_at_ms);
    line.number(",\"transitions\":", record.transitions);
    if let Some(extension) = &record.extension {
        extension.write_member(&mut line);
    }
    for (key, value) in unknown {
        line.member(&key, &value);
    }
    line.plain("}\n");
    line.0.into_bytes()
}

#[cfg(test)]
mod tests;
