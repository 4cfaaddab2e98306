//! A JSON value that loses nothing: members keep their order and numbers their digits.
//!
//! A tree of our own and not serde_json's: that one keeps digits only with a feature that every crate of a build then
//! gets, under which its reader makes numbers by way of maps and strings, and the codec of the harness state pays for
//! it. Here a number is its own text, so nothing passes through a double that nobody asked for.

use std::borrow::Cow;
use std::fmt;

use super::canonical;
use super::parse;
use super::strict::Malformed;

/// The deepest nesting of arrays and objects that [`Value::parse`] takes. The number is ours: deep enough for what
/// providers send, and shallow enough that walking a value by recursion is safe on any thread.
pub const MAX_DEPTH: usize = 128;

/// One JSON value.
///
/// Two values are equal when they say the same in the same order with the same digits; `1` and `1.0` are two. Compare
/// [`Value::to_canonical`] where the form does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, by its text.
    Number(Number),
    /// A string, with its escapes resolved.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

impl Value {
    /// Reads one JSON text, white space around it included.
    ///
    /// # Errors
    /// [`Malformed`], without anything of the text, for what is no JSON, a key that an object has twice, a lone
    /// surrogate escape, and nesting beyond [`MAX_DEPTH`].
    pub fn parse(text: &str) -> Result<Value, Malformed> {
        parse::value(text, parse::LoneSurrogate::Refused).map(|(value, _)| value)
    }

    /// As [`Value::parse`], but a lone surrogate escape becomes U+FFFD, and the flag tells that one did. For values
    /// that are kept and shown: a program that cut a text in the middle of a character must not make a whole page
    /// unreadable. Never for identities.
    ///
    /// # Errors
    /// As [`Value::parse`], lone surrogates left out.
    pub fn parse_replacing(text: &str) -> Result<(Value, bool), Malformed> {
        parse::value(text, parse::LoneSurrogate::Replaced)
    }

    /// The member with this key, if this is an object and has one.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object().and_then(|object| object.get(key))
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The boolean, if this is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The number, if this is one.
    #[must_use]
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The string, if this is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The elements, if this is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The members, if this is an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The text without white space, members in their order, numbers with their digits as they came, strings with the
    /// escapes of EX-CUR-03. Reading it gives an equal value.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    /// Appends [`Value::to_json`] to `out`.
    pub fn write_json(&self, out: &mut String) {
        canonical::write_kept(self, out);
    }

    /// The canonical text: see [`canonical`].
    #[must_use]
    pub fn to_canonical(&self) -> String {
        let mut out = String::new();
        canonical::write(self, &mut out);
        out
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.to_json())
    }
}

/// A JSON number: its text, exactly as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Number(String);

impl Number {
    /// The largest integer below which every one is a double: 2^53.
    const EXACT: u64 = 1 << 53;

    /// A number by its JSON text; none for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Number> {
        (parse::number_length(text.as_bytes()) == Some(text.len())).then(|| Number(text.to_owned()))
    }

    /// A text of which the caller knows that it is a JSON number.
    pub(crate) fn from_json(text: String) -> Number {
        Number(text)
    }

    /// The text of a number that the parser has walked over.
    pub(super) fn from_walked(text: &str) -> Number {
        Number(text.to_owned())
    }

    /// A double in its RFC 8785 form; none for what is not finite.
    #[must_use]
    pub fn from_f64(number: f64) -> Option<Number> {
        number.is_finite().then(|| Number(ryu_js::Buffer::new().format_finite(number).to_owned()))
    }

    /// The text as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is written without fraction and exponent.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        !self.0.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
    }

    /// Whether it is a finite number: an integer always is, and anything else if a double can hold it.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.is_integer() || self.as_f64().is_finite()
    }

    /// The nearest double; an infinity beyond the largest one.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }

    /// The exact unsigned integer. `1.0` and `1e3` are integers too, up to 2^53: programs of other languages write
    /// whole numbers so.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        let whole: u64 = self.canonical().parse().ok()?;
        (self.is_integer() || whole <= Self::EXACT).then_some(whole)
    }

    /// The exact signed integer, as [`Number::as_u64`].
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        let whole: i64 = self.canonical().parse().ok()?;
        (self.is_integer() || whole.unsigned_abs() <= Self::EXACT).then_some(whole)
    }

    /// The RFC 8785 form. An integer keeps its digits, also beyond 2^53 (EX-CUR-25), and so does what no double can
    /// hold, since there is no form for it.
    #[must_use]
    pub fn canonical(&self) -> String {
        self.canonical_text().into_owned()
    }

    /// [`Number::canonical`], the number's own text where that is it already.
    pub(crate) fn canonical_text(&self) -> Cow<'_, str> {
        if self.is_integer() && self.0 != "-0" {
            return Cow::Borrowed(&self.0);
        }
        let mut out = String::new();
        canonical::write_number(self, &mut out);
        Cow::Owned(out)
    }
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Number(number.to_string())
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Number(number.to_string())
    }
}

/// The members of a JSON object in their order, each key once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    members: Vec<(String, Value)>,
}

impl Object {
    /// An object without members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Members of which the caller knows that no key is there twice.
    pub(crate) fn from_distinct(members: Vec<(String, Value)>) -> Self {
        Object { members }
    }

    /// The value under a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.members.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// The value under a key, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.members.iter_mut().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// Puts a value under a key: in its place if the key is there, and at the end otherwise. Gives what stood there.
    pub fn insert(&mut self, key: impl Into<String>, value: Value) -> Option<Value> {
        let key = key.into();
        if let Some(stands) = self.get_mut(&key) {
            return Some(std::mem::replace(stands, value));
        }
        self.members.push((key, value));
        None
    }

    /// Takes a member out; those behind it move up.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.members.iter().position(|(known, _)| known == key)?;
        Some(self.members.remove(at).1)
    }

    /// The members in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.members.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// How many members there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

impl IntoIterator for Object {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

impl<K: Into<String>> FromIterator<(K, Value)> for Object {
    /// As inserting one after the other: the last value of a key stands in the place of its first.
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(members: I) -> Self {
        let mut object = Object::new();
        members.into_iter().for_each(|(key, value)| {
            object.insert(key, value);
        });
        object
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Value::Bool(flag)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Number(number.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Number(number.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text)
    }
}

impl From<Vec<Value>> for Value {
    fn from(elements: Vec<Value>) -> Self {
        Value::Array(elements)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Value::Object(object)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}
