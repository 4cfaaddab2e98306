//! One record of `events.jsonl`: its bytes, its check value, and what makes a line one.
//!
//! A line proves itself: `crc` is its last member and covers every byte before it. So a line that a crash tore, joined
//! with another or filled with zeros is told from a whole one by its bytes alone.

use std::borrow::Cow;
use std::ops::Deref;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::event::{GapReason, Key, Owner, Provenance};
use crate::json::canonical::write_string;

/// The most bytes of a record without its newline (EX-JRN-08).
pub const MAX_RECORD_BYTES: usize = 65_536;

/// What stands between a record's content and its check value.
const BEFORE_CRC: &[u8] = b",\"crc\":\"";
/// `,"crc":"`, eight digits, `"}` (EX-JRN-88).
pub(super) const CRC_BYTES: usize = BEFORE_CRC.len() + 8 + 2;

/// What a record is made of, redacted where it has to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<'a> {
    pub(super) owner: &'a Owner,
    pub(super) event_id: &'a str,
    pub(super) key: &'a Key,
    pub(super) sequence: u64,
    /// The text of a number.
    pub(super) provider_sequence: Option<&'a str>,
    pub(super) provenance: Provenance,
    /// The text of a number.
    pub(super) timestamp: &'a str,
    pub(super) kind: &'a str,
    /// JSON without white space, with the escapes of EX-CUR-03.
    pub(super) data: &'a str,
}

/// Appends a record with its newline to a batch and answers its check value.
pub(super) fn encode(parts: &Parts<'_>, out: &mut String) -> u32 {
    let start = out.len();
    out.push_str("{\"version\":1");
    for (name, text) in [
        (",\"taskId\":", parts.owner.task_id.as_str()),
        (",\"runId\":", &parts.owner.run_id),
        (",\"provider\":", &parts.owner.provider),
        (",\"eventId\":", parts.event_id),
    ] {
        out.push_str(name);
        write_string(text, out);
    }
    out.push_str(",\"key\":\"");
    push_hex(parts.key, out);
    out.push_str("\",\"sequence\":");
    push_number(parts.sequence, out);
    out.push_str(",\"providerSequence\":");
    out.push_str(parts.provider_sequence.unwrap_or("null"));
    out.push_str(",\"provenance\":\"");
    out.push_str(parts.provenance.word());
    out.push_str("\",\"timestamp\":");
    out.push_str(parts.timestamp);
    out.push_str(",\"type\":");
    write_string(parts.kind, out);
    out.push_str(",\"data\":");
    out.push_str(parts.data);
    let crc = crc32c::crc32c(&out.as_bytes()[start..]);
    out.push_str(",\"crc\":\"");
    push_hex(&crc.to_be_bytes(), out);
    out.push_str("\"}\n");
    crc
}

fn push_hex(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

fn push_number(number: u64, out: &mut String) {
    use std::fmt::Write;
    // Writing into a string cannot fail.
    let _ = write!(out, "{number}");
}

/// What a line that proves itself says. Members of other names are skipped.
#[derive(Debug, Deserialize)]
pub(crate) struct Line<'a> {
    /// The redacted event id.
    #[serde(default, borrow, rename = "eventId")]
    pub(crate) event_id: Option<Text<'a>>,
    /// The replay key as it is spelled.
    #[serde(default, borrow)]
    key: Option<Text<'a>>,
    /// The ingestion number.
    pub(crate) sequence: u64,
    #[serde(default, borrow, rename = "type")]
    pub(crate) kind: Option<Text<'a>>,
    /// The data as its own text.
    #[serde(default, borrow)]
    pub(crate) data: Option<&'a RawValue>,
}

/// A string of a line: its own bytes where nothing in it is escaped, so that most lines are read without an allocation.
#[derive(Debug, Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'a> Line<'a> {
    /// Reads a line without its newline. None for what is too long, no JSON object, without a number of its own, or
    /// without the right check value in the right place.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        proven_crc(line)?;
        serde_json::from_slice(line).ok()
    }

    /// The replay key, if the line has one of the right form.
    pub(crate) fn key(&self) -> Option<Key> {
        parse_key(self.key.as_deref()?)
    }

    /// Why it is a gap, if it is one.
    pub(crate) fn gap(&self) -> Option<GapReason> {
        #[derive(Deserialize)]
        struct Data<'a> {
            #[serde(borrow)]
            reason: Cow<'a, str>,
        }
        if self.kind.as_deref() != Some("gap") {
            return None;
        }
        let data: Data<'_> = serde_json::from_str(self.data?.get()).ok()?;
        GapReason::from_word(&data.reason)
    }
}

/// The check value of a line that ends as a record does and has the right one.
pub(crate) fn proven_crc(line: &[u8]) -> Option<u32> {
    if line.len() > MAX_RECORD_BYTES {
        return None;
    }
    let (covered, tail) = line.split_at_checked(line.len().checked_sub(CRC_BYTES)?)?;
    let digits = tail.strip_prefix(BEFORE_CRC)?.strip_suffix(b"\"}")?;
    let crc = digits.iter().try_fold(0_u32, |value, digit| Some(value << 4 | u32::from(nibble(*digit)?)))?;
    (crc32c::crc32c(covered) == crc).then_some(crc)
}

/// A replay key from its 64 lower-case hexadecimal digits.
pub(crate) fn parse_key(digits: &str) -> Option<Key> {
    let digits = digits.as_bytes();
    let mut key = Key::default();
    if digits.len() != 2 * key.len() {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Some(key)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}
