//! Foreign payloads: one JSON object of another program, read as far as it can be understood (HS-116).
//!
//! Of the object only the members that the caller names are kept; everything else is walked over byte by byte and
//! never becomes a tree. The walk keeps its own stack of one bit a level, so that a payload can neither exhaust
//! the thread's stack nor the heap, and costs one pass over its bytes. Only into objects on the way to a nested
//! member that the caller names it descends by recursion, as deep as that name is long.
//!
//! Lenient are: one leading byte order mark, bytes that are not UTF-8 and lone surrogate escapes (both become
//! U+FFFD, and [`Object::lossy`] tells), and repeated keys that nobody asks for. A hook is no place to repair
//! anything else: what is not JSON in any other way is refused. Messages name our own keys and byte offsets and
//! never quote the payload, which may hold secrets.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::error::{Code, Error, Result};

/// The largest payload, in bytes: 8 MiB, a byte order mark included.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;

/// How many arrays and objects deep the value of a member may be. The object of the payload itself is not counted.
pub const MAX_DEPTH: usize = 128;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The members of a foreign object that its reader uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object<'p> {
    wanted: &'static [&'static str],
    members: Vec<Member<'p>>,
    /// The objects around nested members that have been met, each by its path and a dot.
    entered: Vec<&'static str>,
    lossy: bool,
}

/// What stands under one key of a foreign object.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Member<'p> {
    /// The key is not there.
    #[default]
    Absent,
    /// `null`.
    Null,
    /// A string, with its escapes resolved.
    Text(Cow<'p, str>),
    /// A number, a boolean, an array or an object.
    Other,
}

impl<'p> Object<'p> {
    /// Reads `payload`, the bytes exactly as they arrived, and keeps the members named in `wanted`. A name is a
    /// top-level key, or a path: the keys from the top, joined by dots. Paths lead through objects only; where one
    /// meets anything else its member is absent. No name may be the beginning of another one's path, and a key of
    /// the payload that has a dot in it is nobody's.
    ///
    /// # Errors
    /// `HARNESS_STATE_INPUT`, with the reason `payload-too-large` (more than [`MAX_BYTES`]), `payload-too-deep`
    /// (a value nested more than [`MAX_DEPTH`] deep), `doubled-key` (a wanted key, or one on the way to a wanted
    /// one, is there twice; the message names it) or `malformed-payload` (anything but one JSON object). The first
    /// of them in the order of the bytes is told.
    pub fn parse(payload: &'p [u8], wanted: &'static [&'static str]) -> Result<Self> {
        if payload.len() > MAX_BYTES {
            let message = format!("payload is too large, bytes=`{}` limit=`{MAX_BYTES}`", payload.len());
            return Err(refusal("payload-too-large", message));
        }
        let start = if payload.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let members = vec![Member::Absent; wanted.len()];
        let mut object = Object { wanted, members, entered: Vec::new(), lossy: false };
        let mut scanner = Scanner { bytes: payload, at: start, lone_surrogates: false };
        scanner.payload(&mut object)?;
        // Outside strings a byte that is not ASCII has ended the walk already, so what is left to find here are
        // damaged strings.
        object.lossy = scanner.lone_surrogates || std::str::from_utf8(payload).is_err();
        Ok(object)
    }

    /// What stands under `key`, which is one of the wanted ones.
    #[must_use]
    pub fn member(&self, key: &str) -> &Member<'p> {
        let index = self.wanted.iter().position(|wanted| *wanted == key);
        debug_assert!(index.is_some(), "key `{key}` is read and not wanted");
        index.and_then(|index| self.members.get(index)).unwrap_or(&Member::Absent)
    }

    /// The string under `key`, which is one of the wanted ones; none when it is absent or no string.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.member(key) {
            Member::Text(text) => Some(text),
            Member::Absent | Member::Null | Member::Other => None,
        }
    }

    /// Whether anything in the payload, wanted or not, had to be replaced by U+FFFD: bytes that are not UTF-8, or
    /// a surrogate escape without its other half.
    #[must_use]
    pub fn lossy(&self) -> bool {
        self.lossy
    }

    /// Whose this key is in the object at `path`, which is empty for the payload itself and else ends in a dot. Most
    /// keys hold no escape and are compared as they stand.
    fn place(&self, path: &'static str, key: RawText<'_>) -> Place {
        if key.escaped {
            self.place_of(path, key.resolve().as_bytes())
        } else {
            self.place_of(path, key.bytes)
        }
    }

    fn place_of(&self, path: &'static str, key: &[u8]) -> Place {
        for (index, wanted) in self.wanted.iter().copied().enumerate() {
            let Some(rest) = wanted.strip_prefix(path) else { continue };
            match rest.split_once('.') {
                None if rest.as_bytes() == key => return Place::Member(index),
                Some((first, _)) if first.as_bytes() == key => {
                    return Place::Around(&wanted[..path.len() + first.len() + 1]);
                }
                _ => {}
            }
        }
        Place::Nobodys
    }
}

/// Whose a key is.
#[derive(Clone, Copy)]
enum Place {
    /// The wanted member of this index.
    Member(usize),
    /// An object on the way to wanted members, by its path and a dot.
    Around(&'static str),
    /// Nobody's.
    Nobodys,
}

fn refusal(reason: &'static str, message: String) -> Error {
    Error::new(Code::HarnessStateInput, message).with_reason(reason)
}

/// Walks over the payload's bytes. `at` is the next byte to look at and never beyond the end.
struct Scanner<'p> {
    bytes: &'p [u8],
    at: usize,
    lone_surrogates: bool,
}

/// A string as it stands between its quotes, checked and not yet resolved.
#[derive(Clone, Copy)]
struct RawText<'p> {
    bytes: &'p [u8],
    escaped: bool,
}

impl<'p> Scanner<'p> {
    /// The whole payload: one object, nothing but white space around it.
    fn payload(&mut self, object: &mut Object<'p>) -> Result<()> {
        self.skip_space();
        self.object(object, "", 0)?;
        self.skip_space();
        if self.at == self.bytes.len() { Ok(()) } else { Err(self.malformed("the end")) }
    }

    /// The object at `path`, around which `depth` others stand that are values of members.
    fn object(&mut self, object: &mut Object<'p>, path: &'static str, depth: usize) -> Result<()> {
        self.expect(b'{', "an object")?;
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.member(object, path, depth)?;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.malformed("a comma or the object's end")),
            }
            self.skip_space();
        }
    }

    fn member(&mut self, object: &mut Object<'p>, path: &'static str, depth: usize) -> Result<()> {
        let key = self.key()?;
        let place = object.place(path, key);
        let doubled = match place {
            Place::Member(index) if object.members[index] != Member::Absent => Some(object.wanted[index]),
            Place::Around(inner) if object.entered.contains(&inner) => Some(inner.trim_end_matches('.')),
            _ => None,
        };
        if let Some(name) = doubled {
            let message = format!("payload has a key twice, key=`{name}`");
            return Err(refusal("doubled-key", message));
        }
        self.skip_space();
        match (place, self.peek()) {
            (Place::Member(index), Some(b'"')) => {
                object.members[index] = Member::Text(self.text()?.resolve())
            }
            (Place::Member(index), first) => {
                self.skip_value(depth)?;
                object.members[index] = if first == Some(b'n') { Member::Null } else { Member::Other };
            }
            (Place::Around(inner), first) => {
                object.entered.push(inner);
                match first {
                    Some(b'{') => self.object(object, inner, depth + 1)?,
                    _ => self.skip_value(depth)?,
                }
            }
            (Place::Nobodys, _) => self.skip_value(depth)?,
        }
        Ok(())
    }

    /// A key and its colon.
    fn key(&mut self) -> Result<RawText<'p>> {
        if self.peek() != Some(b'"') {
            return Err(self.malformed("a key"));
        }
        let key = self.text()?;
        self.skip_space();
        self.expect(b':', "a colon")?;
        Ok(key)
    }

    /// One value of any kind, inside `around` arrays and objects. The stack is a bit a level, set for an object,
    /// which is why `MAX_DEPTH` must not exceed the bits of a `u128`.
    fn skip_value(&mut self, around: usize) -> Result<()> {
        const { assert!(MAX_DEPTH <= u128::BITS as usize) };
        let mut objects: u128 = 0;
        let mut depth = around;
        loop {
            self.skip_space();
            match self.peek() {
                Some(open @ (b'{' | b'[')) => {
                    if depth == MAX_DEPTH {
                        let message =
                            format!("payload is nested too deep, limit=`{MAX_DEPTH}` offset=`{}`", self.at);
                        return Err(refusal("payload-too-deep", message));
                    }
                    self.at += 1;
                    self.skip_space();
                    let close = if open == b'{' { b'}' } else { b']' };
                    if self.peek() == Some(close) {
                        self.at += 1;
                    } else {
                        depth += 1;
                        objects = objects << 1 | u128::from(open == b'{');
                        if open == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => {
                    self.text()?;
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal(b"true")?,
                Some(b'f') => self.literal(b"false")?,
                Some(b'n') => self.literal(b"null")?,
                _ => return Err(self.malformed("a value")),
            }
            // A value has ended: close what it was the last of, then go on to the next one.
            loop {
                if depth == around {
                    return Ok(());
                }
                self.skip_space();
                let in_object = objects & 1 == 1;
                match (self.peek(), in_object) {
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.at += 1;
                        depth -= 1;
                        objects >>= 1;
                    }
                    (Some(b','), true) => {
                        self.at += 1;
                        self.skip_space();
                        self.key()?;
                        break;
                    }
                    (Some(b','), false) => {
                        self.at += 1;
                        break;
                    }
                    (_, true) => return Err(self.malformed("a comma or an object's end")),
                    (_, false) => return Err(self.malformed("a comma or an array's end")),
                }
            }
        }
    }

    /// The string that begins at the quote under `at`. Bytes above ASCII are taken as they come: none of them, and
    /// no part of a damaged sequence, can be mistaken for a quote or a backslash.
    fn text(&mut self) -> Result<RawText<'p>> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(0..=0x1f) | None => return Err(self.malformed("the string's end")),
                Some(_) => self.at += 1,
            }
        }
        let bytes = &self.bytes[start..self.at];
        self.at += 1;
        Ok(RawText { bytes, escaped })
    }

    fn escape(&mut self) -> Result<()> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let Some(unit) = code_unit(&self.bytes[self.at..]) else {
                    return Err(self.malformed("four hexadecimal digits"));
                };
                self.at += ESCAPED_UNIT;
                if is_surrogate(unit) {
                    match code_unit(&self.bytes[self.at..]) {
                        Some(low) if joined(unit, low).is_some() => self.at += ESCAPED_UNIT,
                        _ => self.lone_surrogates = true,
                    }
                }
            }
            _ => return Err(self.malformed("an escape")),
        }
        Ok(())
    }

    /// A number by JSON's grammar, of any size: nobody computes with it.
    fn number(&mut self) -> Result<()> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.malformed("a digit")) } else { Ok(()) }
    }

    fn literal(&mut self, word: &[u8]) -> Result<()> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(self.malformed("a value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, name: &'static str) -> Result<()> {
        if self.peek() != Some(byte) {
            return Err(self.malformed(name));
        }
        self.at += 1;
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn malformed(&self, expected: &'static str) -> Error {
        let message = format!("payload is not one json object, expected=`{expected}` offset=`{}`", self.at);
        refusal("malformed-payload", message)
    }
}

impl<'p> RawText<'p> {
    /// The string with its escapes resolved and U+FFFD for what is no Unicode. Borrowed where nothing changes.
    fn resolve(self) -> Cow<'p, str> {
        if !self.escaped {
            return String::from_utf8_lossy(self.bytes);
        }
        let mut text = String::with_capacity(self.bytes.len());
        let mut rest = self.bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
            text.push_str(&String::from_utf8_lossy(&rest[..at]));
            let (character, length) = unescape(&rest[at..]);
            text.push(character);
            rest = &rest[at + length..];
        }
        text.push_str(&String::from_utf8_lossy(rest));
        Cow::Owned(text)
    }
}

/// The length of a `\uXXXX` escape.
const ESCAPED_UNIT: usize = 6;

/// The character of the escape at the start of `bytes`, and the escape's length. The scanner has accepted it.
fn unescape(bytes: &[u8]) -> (char, usize) {
    let Some(unit) = code_unit(bytes) else {
        let character = match bytes.get(1) {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(other) => char::from(*other),
            None => char::REPLACEMENT_CHARACTER,
        };
        return (character, 2);
    };
    let pair = bytes.get(ESCAPED_UNIT..).and_then(code_unit).and_then(|low| joined(unit, low));
    match pair {
        Some(character) => (character, 2 * ESCAPED_UNIT),
        None => (char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), ESCAPED_UNIT),
    }
}

/// The UTF-16 unit of a `\uXXXX` escape at the start of `bytes`.
fn code_unit(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.get(..ESCAPED_UNIT)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}

fn is_surrogate(unit: u32) -> bool {
    (0xd800..=0xdfff).contains(&unit)
}

/// The character of a surrogate pair; none when the two are no pair.
fn joined(high: u32, low: u32) -> Option<char> {
    let is_pair = (0xd800..=0xdbff).contains(&high) && (0xdc00..=0xdfff).contains(&low);
    if is_pair { char::from_u32(0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff)) } else { None }
}
