//! One record of `events.jsonl`: its bytes, its check value, and what makes a line one.
//!
//! A line proves itself: `crc` is its last member and covers every byte before it. So a line that a crash tore, joined
//! with another or filled with zeros is told from a whole one by its bytes alone.

use std::borrow::Cow;
use std::ops::Deref;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::event::{GapReason, Key, Owner, Provenance};
use crate::digest::push_hex;
use crate::json::canonical::{is_plain, write_string};

/// The most bytes of a record without its newline (EX-JRN-08).
pub const MAX_RECORD_BYTES: usize = 65_536;

/// What stands between a record's content and its check value.
const BEFORE_CRC: &[u8] = b",\"crc\":\"";
/// `,"crc":"`, eight digits, `"}` (EX-JRN-88).
pub(super) const CRC_BYTES: usize = BEFORE_CRC.len() + 8 + 2;

/// What a record is made of, redacted where it has to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<'a> {
    /// What [`beginning`] has made.
    pub(super) beginning: &'a str,
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

/// What all records of an owner begin with.
pub(super) fn beginning(owner: &Owner) -> String {
    let mut out = String::from("{\"version\":1");
    for (name, text) in [
        (",\"taskId\":", &owner.task_id),
        (",\"runId\":", &owner.run_id),
        (",\"provider\":", &owner.provider),
    ] {
        out.push_str(name);
        write_string(text, &mut out);
    }
    out.push_str(",\"eventId\":");
    out
}

/// Appends a record with its newline to a batch and answers its check value.
pub(super) fn encode(parts: &Parts<'_>, out: &mut String) -> u32 {
    let start = out.len();
    out.push_str(parts.beginning);
    write_string(parts.event_id, out);
    out.push_str(",\"key\":\"");
    push_hex(parts.key, out);
    out.push_str("\",\"sequence\":");
    out.push_str(itoa::Buffer::new().format(parts.sequence));
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
    #[serde(default, borrow, deserialize_with = "own_text")]
    pub(crate) data: Option<&'a str>,
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
        Line::as_written(line).or_else(|| serde_json::from_slice(line).ok())
    }

    /// Reads a proven line that has exactly the members that this library writes, in their order, and no escapes outside
    /// its data: nearly all lines, at a fraction of what a parser costs that takes members as they come.
    fn as_written(line: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(line.get(..line.len().checked_sub(CRC_BYTES)?)?).ok()?;
        let mut rest = text.strip_prefix("{\"version\":1,\"taskId\":\"")?;
        plain_string(&mut rest)?;
        rest = rest.strip_prefix(",\"runId\":\"")?;
        plain_string(&mut rest)?;
        rest = rest.strip_prefix(",\"provider\":\"")?;
        plain_string(&mut rest)?;
        rest = rest.strip_prefix(",\"eventId\":\"")?;
        let event_id = plain_string(&mut rest)?;
        rest = rest.strip_prefix(",\"key\":\"")?;
        let key = plain_string(&mut rest)?;
        rest = rest.strip_prefix(",\"sequence\":")?;
        let sequence = plain_integer(&mut rest)?.parse().ok()?;
        rest = rest.strip_prefix(",\"providerSequence\":")?;
        match rest.strip_prefix("null") {
            Some(after) => rest = after,
            None => plain_integer(&mut rest).map(drop)?,
        }
        rest = rest.strip_prefix(",\"provenance\":\"")?;
        plain_string(&mut rest)?;
        rest = rest.strip_prefix(",\"timestamp\":")?;
        plain_integer(&mut rest)?;
        rest = rest.strip_prefix(",\"type\":\"")?;
        let kind = plain_string(&mut rest)?;
        let data = rest.strip_prefix(",\"data\":")?;
        let is_plain = data.strip_prefix('"').and_then(|data| data.strip_suffix('"')).is_some_and(is_plain);
        let data = if is_plain { data } else { serde_json::from_str::<&RawValue>(data).ok()?.get() };
        Some(Line {
            event_id: Some(Text(Cow::Borrowed(event_id))),
            key: Some(Text(Cow::Borrowed(key))),
            sequence,
            kind: Some(Text(Cow::Borrowed(kind))),
            data: Some(data),
        })
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
        let data: Data<'_> = serde_json::from_str(self.data?).ok()?;
        GapReason::from_word(&data.reason)
    }
}

/// What stands before the next quotation mark, as the content of a string without escapes, and goes on behind it.
fn plain_string<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let (string, after) = rest.split_at_checked(memchr::memchr(b'"', rest.as_bytes())?)?;
    *rest = &after[1..];
    is_plain(string).then_some(string)
}

/// A value as its own text.
fn own_text<'de, D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Option<&'de str>, D::Error> {
    <&RawValue>::deserialize(from).map(|value| Some(value.get()))
}

/// The digits of an integer from 0, spelled as JSON spells it, and goes on behind them.
fn plain_integer<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let length = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, after) = rest.split_at_checked(length)?;
    let goes_on = after.starts_with(',') && (digits == "0" || !digits.starts_with('0'));
    *rest = after;
    (length > 0 && goes_on).then_some(digits)
}

/// The check value that a line states, if it ends as a record does. Nothing is said of whether it is right.
pub(crate) fn stated_crc(line: &[u8]) -> Option<u32> {
    let tail = &line[line.len().checked_sub(CRC_BYTES)?..];
    let digits = tail.strip_prefix(BEFORE_CRC)?.strip_suffix(b"\"}")?;
    digits.iter().try_fold(0_u32, |value, digit| Some(value << 4 | u32::from(nibble(*digit)?)))
}

/// The check value of a line that ends as a record does and has the right one.
pub(crate) fn proven_crc(line: &[u8]) -> Option<u32> {
    if line.len() > MAX_RECORD_BYTES {
        return None;
    }
    let crc = stated_crc(line)?;
    (crc32c::crc32c(&line[..line.len() - CRC_BYTES]) == crc).then_some(crc)
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

/// The value of a lower-case hexadecimal digit. By a table, because the digits of a hash lead a branch astray.
fn nibble(digit: u8) -> Option<u8> {
    const NONE: u8 = 0xff;
    const VALUES: [u8; 256] = {
        let mut values = [NONE; 256];
        let mut value = 0;
        while value < 16 {
            values[b"0123456789abcdef"[value] as usize] = value as u8;
            value += 1;
        }
        values
    };
    Some(VALUES[usize::from(digit)]).filter(|value| *value != NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(content: &str) -> String {
        format!("{content},\"crc\":\"{:08x}\"}}", crc32c::crc32c(content.as_bytes()))
    }

    /// What a line says, by the parser that takes members as they come.
    fn by_members(line: &str) -> Option<String> {
        serde_json::from_str::<Line<'_>>(line).ok().map(|line| format!("{line:?}"))
    }

    #[test]
    fn a_line_as_it_is_written_says_the_same_to_both_parsers() {
        let good = r#"{"version":1,"taskId":"t","runId":"r","provider":"p","eventId":"e","key":"00","sequence":12,"providerSequence":null,"provenance":"local","timestamp":7,"type":"output","data":{"a":[1,"\"x"]}"#;
        let written = sealed(good);
        assert!(Line::as_written(written.as_bytes()).is_some());
        // Every change of a byte, and every lost one: what the quick parser takes, the other one takes alike.
        let mut taken = 0;
        for at in 0..good.len() {
            for byte in [b'0', b'1', b'"', b'\\', b',', b' ', b'e', b'.', b'-', 0x1f, b'}'] {
                let mut changed = good.as_bytes().to_vec();
                changed[at] = byte;
                let mut lost = good.as_bytes().to_vec();
                lost.remove(at);
                lost.insert(at / 2, byte);
                for bytes in [changed, lost] {
                    let line = sealed(std::str::from_utf8(&bytes).expect("ASCII"));
                    if let Some(found) = Line::as_written(line.as_bytes()) {
                        taken += 1;
                        assert_eq!(Some(format!("{found:?}")), by_members(&line), "{line}");
                    }
                }
            }
        }
        assert!(taken > 100, "{taken}");
        for number in ["01", "-1", "1.0", "1e3", "18446744073709551616", ""] {
            let line = sealed(&good.replace(":12,", &format!(":{number},")));
            assert!(Line::as_written(line.as_bytes()).is_none(), "{number}");
        }
    }
}
