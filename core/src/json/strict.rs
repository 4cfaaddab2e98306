//! Our own files: one JSON object, read without forgiveness and without a limit on what is skipped.
//!
//! The parser is serde_json's; this module adds what it leaves open: the members are visited one by one, so that a
//! repeated key can be refused, and a value is handed out as its own text, so that it can be kept as it stood.
//! Skipped values are never recursed into, whatever their depth.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Why a text is not what it should be: one line, without the text's content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub String);

impl Malformed {
    fn at(error: &serde_json::Error) -> Self {
        let kind = match error.classify() {
            serde_json::error::Category::Eof => "the text ends too soon",
            _ => "the text is not one strict JSON object",
        };
        Malformed(format!("{kind}, line=`{}` column=`{}`", error.line(), error.column()))
    }
}

/// Calls `visit` for each member of the one object that the text consists of, in its order, repeated keys
/// included.
///
/// # Errors
/// [`Malformed`] when the text is anything else, or when `visit` says so.
pub fn members<'a>(
    text: &'a str,
    mut visit: impl FnMut(&str, &'a RawValue) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    walk(text, TextKey, |key: Cow<'a, str>, value| visit(&key, value))
}

/// As [`members`], with keys that need not be Unicode: escaped lone surrogates in a key are no error.
///
/// # Errors
/// As [`members`].
pub fn members_by_raw_key<'a>(
    text: &'a str,
    mut visit: impl FnMut(&[u8], &'a RawValue) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    walk(text, RawKey, |key: Vec<u8>, value| visit(&key, value))
}

/// Strings that nobody needs any more. Who takes what was given back in the same order gets memory of the right size,
/// and allocates nothing.
#[derive(Debug, Default)]
pub struct Spare {
    texts: Vec<String>,
    lists: Vec<Vec<String>>,
}

impl Spare {
    /// Gives a string back. The last one that was given is the first to be taken.
    pub fn give(&mut self, text: String) {
        if text.capacity() > 0 {
            self.texts.push(text);
        }
    }

    /// Gives a list back, and the strings in it.
    pub fn give_list(&mut self, mut list: Vec<String>) {
        list.drain(..).rev().for_each(|text| self.give(text));
        if list.capacity() > 0 {
            self.lists.push(list);
        }
    }

    /// A copy of a list in memory that was given, and of the strings in it.
    pub fn copy_list(&mut self, list: &[String]) -> Vec<String> {
        if list.is_empty() {
            return Vec::new();
        }
        let mut own = self.lists.pop().unwrap_or_default();
        own.extend(list.iter().map(|text| self.copy(text)));
        own
    }

    /// Forgets what was given.
    pub fn clear(&mut self) {
        self.texts.clear();
        self.lists.clear();
    }

    /// A copy of a text in the memory that was given last.
    pub fn copy(&mut self, text: &str) -> String {
        let mut own = self.texts.pop().unwrap_or_default();
        own.clear();
        own.push_str(text);
        own
    }
}

/// A member's value as a string, in memory of `spare`. A string without escapes then allocates nothing.
///
/// # Errors
/// [`Malformed`] when it is another type or holds a lone surrogate.
pub fn string(key: &str, value: &RawValue, spare: &mut Spare) -> Result<String, Malformed> {
    let mut deserializer = serde_json::Deserializer::from_str(value.get());
    Text(spare).deserialize(&mut deserializer).map_err(|_| Malformed(format!("not a string, key=`{key}`")))
}

/// A member's value as a string, or none for null.
///
/// # Errors
/// As [`string`].
pub fn optional_string(key: &str, value: &RawValue, spare: &mut Spare) -> Result<Option<String>, Malformed> {
    if value.get() == "null" { Ok(None) } else { string(key, value, spare).map(Some) }
}

/// A member's value as a list of strings, likewise.
///
/// # Errors
/// [`Malformed`] when it is another type or holds anything but strings.
pub fn strings(key: &str, value: &RawValue, spare: &mut Spare) -> Result<Vec<String>, Malformed> {
    let mut deserializer = serde_json::Deserializer::from_str(value.get());
    let list = deserializer.deserialize_seq(Texts(spare));
    list.map_err(|_| Malformed(format!("not a list of strings, key=`{key}`")))
}

/// A member's value as an exact unsigned integer of 64 bits.
///
/// # Errors
/// [`Malformed`] for fractions, exponents, signs, quotes, and numbers from 2^64 on.
pub fn unsigned(key: &str, value: &RawValue) -> Result<u64, Malformed> {
    serde_json::from_str(value.get())
        .map_err(|_| Malformed(format!("not an unsigned integer of 64 bits, key=`{key}`")))
}

/// The text of a value without the white space around its parts.
#[must_use]
pub fn compact(value: &RawValue) -> String {
    let mut out = String::with_capacity(value.get().len());
    let mut in_string = false;
    let mut escaped = false;
    for character in value.get().chars() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else if matches!(character, ' ' | '\t' | '\n' | '\r') {
            continue;
        } else {
            in_string = character == '"';
        }
        out.push(character);
    }
    out
}

fn walk<'a, K, F>(text: &'a str, key: K, visit: F) -> Result<(), Malformed>
where
    K: DeserializeSeed<'a> + Copy,
    F: FnMut(K::Value, &'a RawValue) -> Result<(), Malformed>,
{
    let mut refused = None;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let outcome = deserializer
        .deserialize_map(Members { key, visit, refused: &mut refused })
        .and_then(|()| deserializer.end());
    refused.map_or(Ok(()), Err)?;
    outcome.map_err(|error| Malformed::at(&error))
}

struct Members<'r, K, F> {
    key: K,
    visit: F,
    /// What `visit` refused: a parser's error cannot carry it.
    refused: &'r mut Option<Malformed>,
}

impl<'de, K, F> Visitor<'de> for Members<'_, K, F>
where
    K: DeserializeSeed<'de> + Copy,
    F: FnMut(K::Value, &'de RawValue) -> Result<(), Malformed>,
{
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(self.key)? {
            let value: &'de RawValue = map.next_value()?;
            if let Err(malformed) = (self.visit)(key, value) {
                *self.refused = Some(malformed);
                return Err(serde::de::Error::custom("refused"));
            }
        }
        Ok(())
    }
}

struct Text<'s>(&'s mut Spare);

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = String;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Text<'_> {
    type Value = String;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(self.0.copy(text))
    }
}

struct Texts<'s>(&'s mut Spare);

impl<'de> Visitor<'de> for Texts<'_> {
    type Value = Vec<String>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<String>, A::Error> {
        let mut list = self.0.lists.pop().unwrap_or_default();
        while let Some(text) = elements.next_element_seed(Text(self.0))? {
            list.push(text);
        }
        Ok(list)
    }
}

#[derive(Clone, Copy)]
struct TextKey;

impl<'de> DeserializeSeed<'de> for TextKey {
    type Value = Cow<'de, str>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for TextKey {
    type Value = Cow<'de, str>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}

#[derive(Clone, Copy)]
struct RawKey;

impl<'de> DeserializeSeed<'de> for RawKey {
    type Value = Vec<u8>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl Visitor<'_> for RawKey {
    type Value = Vec<u8>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key")
    }

    fn visit_bytes<E>(self, key: &[u8]) -> Result<Self::Value, E> {
        Ok(key.to_vec())
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(key.as_bytes().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Result<Vec<String>, Malformed> {
        let mut keys = Vec::new();
        members(text, |key, value| {
            keys.push(format!("{key}={}", compact(value)));
            Ok(())
        })?;
        Ok(keys)
    }

    #[test]
    fn members_come_in_order_with_repeats_and_their_own_text() {
        let found = keys(r#" {"b": [1 , "a \\" ] ,"a":1e400,"b":{"x" : null}} "#).expect("one object");
        assert_eq!(found, [r#"b=[1,"a \\"]"#, "a=1e400", r#"b={"x":null}"#]);
    }

    #[test]
    fn everything_but_one_object_is_malformed() {
        for text in
            ["", "[]", "{}{}", "{} x", "{\"a\":}", "\u{feff}{}", "{\"\\ud800\":1}", "\0\0", "{\"a\":01}"]
        {
            assert!(keys(text).is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn depth_is_skipped_without_recursion() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(500_000), "]".repeat(500_000));
        assert_eq!(keys(&deep).map(|keys| keys.len()), Ok(1));
    }

    #[test]
    fn a_key_with_a_lone_surrogate_hides_no_other_key() {
        let mut seen = 0;
        members_by_raw_key(r#"{"\ud800":1,"seq":2}"#, |key, _| {
            seen += usize::from(key == b"seq");
            Ok(())
        })
        .expect("one object");
        assert_eq!(seen, 1);
    }

    #[test]
    fn integers_are_exact() {
        let number = |text: &str| {
            let raw: &RawValue = serde_json::from_str(text).expect("a value");
            unsigned("n", raw)
        };
        assert_eq!(number("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(number("9007199254740993"), Ok(9_007_199_254_740_993));
        for text in ["18446744073709551616", "-1", "-0", "1.0", "1e3", "\"1\"", "null", "true"] {
            assert!(number(text).is_err(), "{text} was accepted");
        }
    }
}
