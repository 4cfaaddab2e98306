//! The canonical form of a value (RFC 8785): no white space, keys by their UTF-16 units, strings with the shortest
//! escapes, numbers as ECMAScript writes them. Every language gives the same bytes, so hashes are made of it.
//!
//! In one point it goes beyond the RFC, which knows doubles only: an integer keeps its digits beyond 2^53 too
//! (EX-CUR-25). Up to there both are the same. What no double can hold has no form and keeps its text.
//!
//! The escapes are those of EX-CUR-03: `"`, `\` and U+0000 to U+001F, the five short ones as such, the others as
//! `\u00xx` in lower case; everything else stands as it is.

use super::value::{Number, Value};

/// Appends the canonical form of a value.
pub fn write(value: &Value, out: &mut String) {
    write_value(value, true, out);
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
    while let Some(plain) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
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

/// Appends the canonical form of a number.
pub fn write_number(number: &Number, out: &mut String) {
    let text = number.as_str();
    if number.is_integer() {
        // The one integer that has two texts.
        return out.push_str(if text == "-0" { "0" } else { text });
    }
    let double = number.as_f64();
    if double.is_finite() {
        out.push_str(ryu_js::Buffer::new().format_finite(double));
    } else {
        out.push_str(text);
    }
}

/// Appends a value as it stands: members in their order, numbers with their text.
pub(super) fn write_kept(value: &Value, out: &mut String) {
    write_value(value, false, out);
}

fn write_value(value: &Value, canonical: bool, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) if canonical => write_number(number, out),
        Value::Number(number) => out.push_str(number.as_str()),
        Value::String(text) => write_string(text, out),
        Value::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_value(element, canonical, out);
            }
            out.push(']');
        }
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            if canonical {
                members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            }
            out.push('{');
            for (at, (key, value)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_value(value, canonical, out);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
