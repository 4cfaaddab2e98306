//! The canonical form of a value (RFC 8785): no white space, keys by their UTF-16 units, strings with the shortest
//! escapes, numbers as ECMAScript writes them. Every language gives the same bytes, so hashes are made of it.
//!
//! In one point it goes beyond the RFC, which knows doubles only: an integer keeps its digits beyond 2^53 too
//! (EX-CUR-25). Up to there both are the same. What no double can hold has no form and keeps its text.
//!
//! The escapes are those of EX-CUR-03: `"`, `\` and U+0000 to U+001F, the five short ones as such, the others as
//! `\u00xx` in lower case; everything else stands as it is.

use std::cmp::Ordering;

use super::value::{Number, Value};

/// Appends the canonical form of a value.
pub fn write(value: &Value, out: &mut String) {
    write_value(value, Some(&mut Vec::new()), out);
}

/// Appends a string with its quotes and the escapes of EX-CUR-03.
pub fn write_string(text: &str, out: &mut String) {
    out.reserve(text.len() + 2);
    out.push('"');
    write_escaped(text, out);
    out.push('"');
}

/// Appends what stands between the quotes of a string.
pub fn write_escaped(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(plain) = first_escaped(rest.as_bytes()) {
        out.push_str(&rest[..plain]);
        match rest.as_bytes()[plain] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => {
                out.push_str("\\u00");
                for digit in [control >> 4, control & 15] {
                    out.extend(char::from_digit(digit.into(), 16));
                }
            }
        }
        rest = &rest[plain + 1..];
    }
    out.push_str(rest);
}

/// Which bytes of a string need an escape.
const ESCAPED: [bool; 256] = {
    let mut escaped = [false; 256];
    let mut control = 0;
    while control <= 0x1f {
        escaped[control] = true;
        control += 1;
    }
    escaped[b'"' as usize] = true;
    escaped[b'\\' as usize] = true;
    escaped
};

/// Whether a text stands for itself between the quotes of a string.
pub fn is_plain(text: &str) -> bool {
    first_escaped(text.as_bytes()).is_none()
}

/// Where the first byte stands that needs an escape. Most texts have none, so whole blocks are judged at once.
fn first_escaped(bytes: &[u8]) -> Option<usize> {
    const BLOCK: usize = 16;
    // Comparisons and not the table, so that a block is a few instructions.
    let is_escaped = |byte: &u8| (*byte == b'"') | (*byte == b'\\') | (*byte <= 0x1f);
    let blocks = bytes.chunks_exact(BLOCK);
    let plain = blocks.take_while(|block| !block.iter().fold(false, |any, byte| any | is_escaped(byte)));
    let from = plain.count() * BLOCK;
    // The rest by its first and its last eight bytes, of which some may have been judged before.
    if bytes.len() >= EIGHT && bytes.len() - from < BLOCK {
        let (first, last) = (from.min(bytes.len() - EIGHT), bytes.len() - EIGHT);
        if !any_escaped(&bytes[first..first + EIGHT]) && !any_escaped(&bytes[last..]) {
            return None;
        }
    }
    bytes[from..].iter().position(|byte| ESCAPED[usize::from(*byte)]).map(|at| from + at)
}

const EIGHT: usize = 8;

/// Whether one of eight bytes needs an escape, in a dozen instructions.
fn any_escaped(eight: &[u8]) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let bytes = u64::from_ne_bytes(eight.try_into().expect("eight bytes"));
    // Sets the highest bit of each byte below the limit. One that borrows from its neighbour may mark a wrong one too, and is
    // marked itself.
    let below = |bytes: u64, limit: u8| bytes.wrapping_sub(EACH * u64::from(limit)) & !bytes;
    let is = |byte: u8| below(bytes ^ (EACH * u64::from(byte)), 1);
    (below(bytes, 0x20) | is(b'"') | is(b'\\')) & (EACH << 7) != 0
}

/// Appends the canonical form of a number.
pub fn write_number(number: &Number, out: &mut String) {
    let text = number.as_str();
    if number.is_integer() {
        // The one integer that has two texts.
        return out.push_str(if text == "-0" { "0" } else { text });
    }
    if is_shortest(text) {
        return out.push_str(text);
    }
    let double = number.as_f64();
    if double.is_finite() {
        out.push_str(ryu_js::Buffer::new().format_finite(double));
    } else {
        out.push_str(text);
    }
}

/// Whether the text of a number that is no integer is plainly its own canonical form. Two decimals of at most 15 digits
/// are two doubles, so none of them has a shorter form; below 1e-6 the form has an exponent.
fn is_shortest(text: &str) -> bool {
    const EXACT_DIGITS: usize = 15;
    let magnitude = text.strip_prefix('-').unwrap_or(text);
    let Some((whole, fraction)) = magnitude.split_once('.') else { return false };
    let is_large_enough = whole != "0" || fraction.bytes().take(6).any(|digit| digit != b'0');
    whole.len() + fraction.len() <= EXACT_DIGITS
        && fraction.bytes().all(|digit| digit.is_ascii_digit())
        && !fraction.ends_with('0')
        && is_large_enough
}

/// Appends a value as it stands: members in their order, numbers with their text.
pub(super) fn write_kept(value: &Value, out: &mut String) {
    write_value(value, None, out);
}

type Member<'v> = (&'v str, &'v Value);

/// With an order that is empty, in canonical form; without one, as it stands. Members are ordered behind those of the
/// objects around theirs, so a value costs one allocation, whatever its depth.
fn write_value<'v>(value: &'v Value, mut order: Option<&mut Vec<Member<'v>>>, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) if order.is_some() => write_number(number, out),
        Value::Number(number) => out.push_str(number.as_str()),
        Value::String(text) => write_string(text, out),
        Value::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_value(element, order.as_deref_mut(), out);
            }
            out.push(']');
        }
        Value::Object(object) => {
            out.push('{');
            let mut is_first = true;
            let mut write_member = |(key, value): Member<'v>, order: Option<&mut Vec<Member<'v>>>| {
                if !is_first {
                    out.push(',');
                }
                is_first = false;
                write_string(key, out);
                out.push(':');
                write_value(value, order, out);
            };
            match order {
                None => object.iter().for_each(|member| write_member(member, None)),
                Some(order) => {
                    let from = order.len();
                    order.extend(object.iter());
                    // No key is there twice.
                    order[from..].sort_unstable_by(|(one, _), (other, _)| by_units(one, other));
                    for at in from..order.len() {
                        write_member(order[at], Some(order));
                    }
                    order.truncate(from);
                }
            }
            out.push('}');
        }
    }
}

/// The order of UTF-16 units, told by the first byte that differs. UTF-8 has the same order but for one thing: U+E000 to
/// U+FFFF, which begin with 0xee or 0xef, lie above the pairs, which begin with 0xf0 or more.
fn by_units(one: &str, other: &str) -> Ordering {
    let rank = |byte: u8| if matches!(byte, 0xee | 0xef) { byte + 0x10 } else { byte };
    let differing = one.bytes().zip(other.bytes()).find(|(one, other)| one != other);
    differing.map_or_else(|| one.len().cmp(&other.len()), |(one, other)| rank(one).cmp(&rank(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SeededRandom;

    fn canonical(text: &str) -> String {
        Value::parse(text).expect("JSON").to_canonical()
    }

    #[test]
    fn keys_sort_by_utf16_units_at_every_depth() {
        // U+1F600 is the pair d83d de00, below U+FB33 in UTF-16 and above it in UTF-8.
        let text = "{\"\u{20ac}\":1,\"\\r\":2,\"\u{fb33}\":3,\"1\":{\"b\":0,\"a\":0},\"\u{1f600}\":5,\"\u{80}\":6,\"\u{f6}\":7}";
        let wanted = "{\"\\r\":2,\"1\":{\"a\":0,\"b\":0},\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}";
        assert_eq!(canonical(text), wanted);
    }

    #[test]
    fn keys_sort_as_their_utf16_units_do_whatever_they_begin_with() {
        let dice = SeededRandom::new(4);
        let pieces = [
            "",
            "a",
            "b",
            "\u{7f}",
            "\u{80}",
            "\u{7ff}",
            "\u{800}",
            "\u{d7ff}",
            "\u{e000}",
            "\u{ffff}",
            "\u{10000}",
            "\u{10ffff}",
        ];
        let key = || -> String { (0..3).map(|_| pieces[dice.below(pieces.len() as u64) as usize]).collect() };
        for _ in 0..20_000 {
            let (one, other) = (key(), key());
            assert_eq!(
                by_units(&one, &other),
                one.encode_utf16().cmp(other.encode_utf16()),
                "{one:?} {other:?}"
            );
        }
    }

    #[test]
    fn escapes_are_found_wherever_they_stand() {
        for length in 0..70 {
            for at in 0..length {
                for escaped in ["\"", "\\", "\u{0}", "\u{1f}"] {
                    let text = format!("{}{escaped}{}", "a".repeat(at), "\u{20}".repeat(length - at - 1));
                    assert_eq!(first_escaped(text.as_bytes()), Some(at), "{text:?}");
                }
            }
            assert_eq!(first_escaped("\u{e4}~".repeat(length).as_bytes()), None);
        }
    }

    #[test]
    fn a_number_that_is_taken_as_it_stands_is_what_its_double_is_written_as() {
        let dice = SeededRandom::new(5);
        let digits = |count: u64| -> String {
            (0..count).map(|_| char::from(b'0' + (dice.below(10) * dice.below(2)) as u8)).collect()
        };
        let mut taken = 0;
        for _ in 0..200_000 {
            let whole = digits(1 + dice.below(8));
            let whole = whole.trim_start_matches('0');
            let sign = if dice.below(2) == 0 { "" } else { "-" };
            let text = format!(
                "{sign}{}.{}",
                if whole.is_empty() { "0" } else { whole },
                digits(1 + dice.below(12))
            );
            if is_shortest(&text) {
                taken += 1;
                let double: f64 = text.parse().expect("a number");
                assert_eq!(ryu_js::Buffer::new().format_finite(double), text);
            }
        }
        assert!(taken > 20_000, "{taken}");
        for text in
            ["1", "1.0", "1e3", "1.5e3", "0.0000001", "-0.0", "0.1234567890123456", "1234567.123456789"]
        {
            assert!(!is_shortest(text), "{text}");
        }
        assert!(is_shortest("0.000001") && is_shortest("123456.123456789"));
    }

    #[test]
    fn numbers_are_written_as_ecmascript_does_and_integers_keep_their_digits() {
        for (text, wanted) in [
            ("1.0", "1"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("1E3", "1000"),
            ("1e21", "1e+21"),
            ("1e-7", "1e-7"),
            ("0.000001", "0.000001"),
            ("123.4560", "123.456"),
            ("333333333.33333329", "333333333.3333333"),
            ("9007199254740993", "9007199254740993"),
            ("-9007199254740993", "-9007199254740993"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("5e-324", "5e-324"),
            ("1e400", "1e400"),
        ] {
            assert_eq!(canonical(text), wanted, "{text}");
        }
    }

    #[test]
    fn strings_have_the_shortest_escapes() {
        let text = "\"\u{7f}\\/\\u0041\\u20ac\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\\u{2028}\"";
        let wanted = "\"\u{7f}/A\u{20ac}\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\\u{2028}\"";
        assert_eq!(canonical(text), wanted);
    }

    #[test]
    fn what_is_kept_keeps_order_and_digits() {
        let text = r#"{"b":1.0,"a":[1e400,-0,9007199254740993],"":{}}"#;
        let value = Value::parse(text).expect("JSON");
        assert_eq!(value.to_json(), text);
        assert_eq!(Value::parse(&value.to_json()), Ok(value));
    }
}
