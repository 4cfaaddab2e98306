//! The reader behind [`super::Value`]: one pass over a text, refusing whatever RFC 8259 does not list.
//!
//! serde_json's reader hands numbers on as doubles or as integers of 64 bits, or else needs the feature of which
//! `value.rs` tells. Messages name offsets and quote nothing, since the text may hold secrets.

use std::collections::HashSet;

use super::strict::Malformed;
use super::value::{MAX_DEPTH, Number, Object, Value};

/// What becomes of an escape that is half a character.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LoneSurrogate {
    Refused,
    Replaced,
}

/// The one value of a text, and whether a lone surrogate was replaced.
pub(super) fn value(text: &str, lone: LoneSurrogate) -> Result<(Value, bool), Malformed> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, lone, replaced: false };
    let value = reader.value(0)?;
    reader.white_space();
    if reader.at < text.len() {
        Err(reader.malformed("something follows the value"))
    } else {
        Ok((value, reader.replaced))
    }
}

/// How many bytes at the beginning of `bytes` are the longest JSON number there; none where no number begins.
pub(super) fn number_length(bytes: &[u8]) -> Option<usize> {
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(at);
    // A zero stands alone.
    if whole == 0 || (whole > 1 && bytes[at] == b'0') {
        return None;
    }
    at += whole;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + sign);
        if exponent == 0 {
            return None;
        }
        at += 1 + sign + exponent;
    }
    Some(at)
}

/// Up to here every key is compared with every other; beyond, a set is cheaper.
const FEW_MEMBERS: usize = 8;

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    lone: LoneSurrogate,
    replaced: bool,
}

impl Reader<'_> {
    fn malformed(&self, what: &str) -> Malformed {
        Malformed(format!("{what}, offset=`{}`", self.at))
    }

    fn white_space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.white_space();
        let is_there = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn value(&mut self, depth: usize) -> Result<Value, Malformed> {
        self.white_space();
        match self.bytes.get(self.at) {
            None => Err(self.malformed("the text ends too soon")),
            Some(b'{' | b'[') if depth == MAX_DEPTH => Err(self.malformed("the value is nested too deep")),
            Some(b'{') => self.object(depth + 1).map(Value::Object),
            Some(b'[') => self.array(depth + 1).map(Value::Array),
            Some(b'"') => self.string().map(Value::String),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => match number_length(&self.bytes[self.at..]) {
                Some(length) => {
                    let number = Number::from_walked(&self.text[self.at..self.at + length]);
                    self.at += length;
                    Ok(Value::Number(number))
                }
                None => Err(self.malformed("no value stands here")),
            },
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Malformed> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.malformed("no value stands here"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Value>, Malformed> {
        self.at += 1;
        let mut elements = Vec::new();
        if self.takes(b']') {
            return Ok(elements);
        }
        loop {
            elements.push(self.value(depth)?);
            if self.takes(b']') {
                return Ok(elements);
            }
            if !self.takes(b',') {
                return Err(self.malformed("an array goes on neither with a comma nor with its end"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Object, Malformed> {
        self.at += 1;
        let mut members: Vec<(String, Value)> = Vec::new();
        if self.takes(b'}') {
            return Ok(Object::new());
        }
        loop {
            self.white_space();
            if self.bytes.get(self.at) != Some(&b'"') {
                return Err(self.malformed("a member has no key"));
            }
            let key = self.string()?;
            if !self.takes(b':') {
                return Err(self.malformed("a key has no colon"));
            }
            let value = self.value(depth)?;
            members.push((key, value));
            if self.takes(b'}') {
                break;
            }
            if !self.takes(b',') {
                return Err(self.malformed("an object goes on neither with a comma nor with its end"));
            }
        }
        if has_a_key_twice(&members) {
            return Err(self.malformed("an object has a key twice, and it ends here"));
        }
        Ok(Object::from_distinct(members))
    }

    fn string(&mut self) -> Result<String, Malformed> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.bytes[self.at..];
            let Some(plain) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)) else {
                return Err(self.malformed("a string does not end"));
            };
            // The three of them are ASCII, so both ends of the stretch lie between characters.
            out.push_str(&self.text[self.at..self.at + plain]);
            self.at += plain;
            match self.bytes[self.at] {
                b'"' => {
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => out.push(self.escape()?),
                _ => return Err(self.malformed("a control character stands in a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Malformed> {
        let character = match self.bytes.get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.code_point(),
            _ => return Err(self.malformed("an escape is none of JSON's")),
        };
        self.at += 2;
        Ok(character)
    }

    /// `\uXXXX`, or two of them where the first is the first half of a pair.
    fn code_point(&mut self) -> Result<char, Malformed> {
        let first = self.unit(self.at).ok_or_else(|| self.malformed("an escape has no four digits"))?;
        if let Some(character) = char::from_u32(u32::from(first)) {
            self.at += 6;
            return Ok(character);
        }
        let second = if first < 0xdc00 { self.unit(self.at + 6) } else { None };
        if let Some(pair) = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok()) {
            self.at += 12;
            return Ok(pair);
        }
        if self.lone == LoneSurrogate::Refused {
            return Err(self.malformed("an escape is half a character"));
        }
        self.replaced = true;
        self.at += 6;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn unit(&self, at: usize) -> Option<u16> {
        let digits = self.bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0_u16, |unit, digit| {
            let digit = char::from(*digit).to_digit(16)?;
            Some(unit << 4 | u16::try_from(digit).ok()?)
        })
    }
}

fn has_a_key_twice(members: &[(String, Value)]) -> bool {
    if members.len() <= FEW_MEMBERS {
        return members
            .iter()
            .enumerate()
            .any(|(at, (key, _))| members[..at].iter().any(|(other, _)| other == key));
    }
    let mut keys = HashSet::with_capacity(members.len());
    !members.iter().all(|(key, _)| keys.insert(key.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Value, Malformed> {
        value(text, LoneSurrogate::Refused).map(|(value, _)| value)
    }

    #[test]
    fn whatever_one_byte_does_to_a_text_a_second_reader_judges_it_alike() {
        let sample = r#" {"a" : [1, -2.5e+3 ,true,false,null,"x\u00e4\n\"\\"],"b":{"":0.10,"c":[[]]}, "d":"\ud83d\ude00"} "#;
        let bytes: Vec<u8> = (0x08..0x7f).collect();
        let mut taken = 0;
        for at in 0..sample.len() {
            for byte in &bytes {
                let mut changed = sample.as_bytes().to_vec();
                changed[at] = *byte;
                let text = String::from_utf8(changed).expect("ASCII");
                let second = serde_json::from_str::<serde_json::Value>(&text);
                match parsed(&text) {
                    Ok(value) => {
                        taken += 1;
                        let again = serde_json::from_str::<serde_json::Value>(&value.to_json());
                        assert_eq!(again.ok(), second.ok(), "{text}");
                    }
                    // The second reader takes the last of two equal keys, and says no to a double that overflows.
                    Err(error) if error.0.contains("twice") => {}
                    Err(error) => assert!(second.is_err(), "{text}: {error}"),
                }
            }
            let cut = &sample[..at];
            assert!(parsed(cut).is_err() || at == sample.trim_end().len(), "{cut}");
        }
        assert!(taken > 1000, "some changes leave JSON");
    }

    #[test]
    fn a_key_twice_is_refused_in_small_objects_and_large_ones() {
        for members in [2, FEW_MEMBERS, FEW_MEMBERS + 1, 100] {
            let distinct: Vec<String> = (0..members).map(|at| format!("\"k{at}\":0")).collect();
            assert!(parsed(&format!("{{{}}}", distinct.join(","))).is_ok());
            let again = format!("{{{},\"\\u006b0\":1}}", distinct.join(","));
            assert!(parsed(&again).is_err(), "{members}");
        }
    }

    #[test]
    fn nesting_reaches_the_limit_and_no_level_more() {
        let nested = |depth: usize| parsed(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
        assert!(nested(MAX_DEPTH).is_ok());
        assert!(nested(MAX_DEPTH + 1).is_err());
        assert!(parsed(&"[".repeat(1_000_000)).is_err());
    }

    #[test]
    fn half_a_character_is_refused_or_replaced_and_told() {
        for (text, replaced) in [
            (r#""a\ud800b""#, "a\u{fffd}b"),
            (r#""\udc00\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ud800\ud800\udc00""#, "\u{fffd}\u{10000}"),
        ] {
            assert!(parsed(text).is_err(), "{text}");
            assert_eq!(Value::parse_replacing(text), Ok((replaced.into(), true)), "{text}");
        }
        assert_eq!(Value::parse_replacing(r#""\ud83d\ude00""#), Ok(("\u{1f600}".into(), false)));
        assert!(Value::parse_replacing(r#""\ud8""#).is_err());
    }

    #[test]
    fn messages_quote_nothing() {
        for text in [
            "[hunter2]",
            "{\"hunter2\":1,\"hunter2\":2}",
            "\"hunter2",
            "\"hunter2\\x\"",
            "\"hunter2\" \"hunter2\"",
        ] {
            let error = parsed(text).expect_err("no JSON");
            assert!(!error.0.contains("hunter"), "{error}");
        }
    }

    #[test]
    fn numbers_have_the_grammar_of_json() {
        for text in ["0", "-0", "10", "0.0", "1e5", "1E-5", "1.5e+300", "123456789012345678901234567890"] {
            assert_eq!(Number::parse(text).map(|number| number.as_str().to_owned()).as_deref(), Some(text));
        }
        for text in ["", "-", "01", "+1", ".5", "1.", "1e", "1e+", "0x1", "1 ", "NaN", "--1", "1.e5"] {
            assert!(Number::parse(text).is_none(), "{text}");
        }
        let unsigned = |text| Number::parse(text).and_then(|number| number.as_u64());
        assert_eq!(unsigned("1.0"), Some(1));
        assert_eq!(unsigned("1e3"), Some(1000));
        assert_eq!(unsigned("18446744073709551615"), Some(u64::MAX));
        for text in ["-1", "1.5", "1e300", "1.8446744073709552e19", "18446744073709551616"] {
            assert_eq!(unsigned(text), None, "{text}");
        }
    }
}
