//! What is secret, and every form in which it is looked for.

use std::collections::BTreeSet;
use std::fmt;

use super::MARK;
use crate::error::{Code, Error, Result};
use crate::json::canonical::write_escaped;

/// A line of a secret with fewer bytes, white space around it left out, is no secret of its own (EX-RED-22).
const SHORTEST_LINE: usize = 8;

/// A set of secrets. It copies what it is given and changes nothing of it (EX-RED-06), and shows none of it: its
/// `Debug` form is a count.
///
/// Each secret is looked for
///
/// - as it is, byte for byte;
/// - if it has line breaks, with LF and with CRLF, and by each of its lines that has at least eight bytes without the
///   white space around it; where only one of its lines is not blank, by that one, whatever its length, since a value
///   that was read from a file often has a line break at its end;
/// - in each of the ways in which it may be written inside a JSON string: the shortest (EX-CUR-03), with everything
///   beyond ASCII as `\u` escapes in either case, with `\/`, with `<`, `>`, `&` and the two line separators of Unicode as
///   `\u` escapes, and escaped twice, as JSON that is a string of JSON;
/// - if it holds [`MARK`], by its parts around it, each a secret of its own: text that was redacted before is left alone.
///   A secret that is nothing but marks shows nothing and needs no protection.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    /// Every form, each once and none empty. Ordered, so that equal sets give equal automata.
    forms: BTreeSet<Vec<u8>>,
    count: usize,
}

impl Secrets {
    /// No secrets.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// These secrets; empty ones are left out (EX-RED-07). All others count, whatever their length.
    #[must_use]
    pub fn lenient<S: AsRef<[u8]>>(secrets: impl IntoIterator<Item = S>) -> Self {
        let mut set = Self::none();
        set.extend(secrets);
        set
    }

    /// These secrets, of which none may be empty (EX-RED-23).
    ///
    /// # Errors
    /// `EXECUTION_INPUT` with the reason `secret`; the message tells the position, from 0, and no value.
    pub fn strict<S: AsRef<[u8]>>(secrets: impl IntoIterator<Item = S>) -> Result<Self> {
        let mut set = Self::none();
        for (position, secret) in secrets.into_iter().enumerate() {
            if secret.as_ref().is_empty() {
                return Err(Self::refusal("a secret is empty", position));
            }
            set.add(secret.as_ref());
        }
        Ok(set)
    }

    /// The refusal of a secret that is no string, for the bindings of languages in which it may be one.
    #[must_use]
    pub fn not_a_string(position: usize) -> Error {
        Self::refusal("a secret is no string", position)
    }

    fn refusal(what: &str, position: usize) -> Error {
        Error::new(Code::ExecutionInput, format!("{what}, position=`{position}`")).with_reason("secret")
    }

    /// This set and these secrets besides; empty ones are left out.
    #[must_use]
    pub fn and<S: AsRef<[u8]>>(&self, secrets: impl IntoIterator<Item = S>) -> Self {
        let mut set = self.clone();
        set.extend(secrets);
        set
    }

    /// Adds the secrets of another set.
    pub fn absorb(&mut self, other: &Secrets) {
        self.forms.extend(other.forms.iter().cloned());
        self.count += other.count;
    }

    /// How many secrets were given, empty ones left out and repeated ones counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Every form in which a secret is looked for, as far as it is a text: what whoever has to redact later is to be told.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.forms.iter().filter_map(|form| std::str::from_utf8(form).ok())
    }

    /// Whether there is no secret.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Every form that is looked for.
    pub(super) fn forms(&self) -> impl Iterator<Item = &[u8]> {
        self.forms.iter().map(Vec::as_slice)
    }

    fn add(&mut self, secret: &[u8]) {
        if secret.is_empty() {
            return;
        }
        self.count += 1;
        for part in around_marks(secret) {
            for form in with_line_breaks(part) {
                self.forms.extend(escaped(&form));
                self.forms.insert(form);
            }
        }
    }
}

impl<S: AsRef<[u8]>> Extend<S> for Secrets {
    fn extend<I: IntoIterator<Item = S>>(&mut self, secrets: I) {
        secrets.into_iter().for_each(|secret| self.add(secret.as_ref()));
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Secrets({})", self.count)
    }
}

/// The parts of a secret around the marks that it holds; the secret itself where it holds none.
fn around_marks(secret: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = secret;
    while let Some(at) = memchr::memmem::find(rest, MARK.as_bytes()) {
        parts.push(&rest[..at]);
        rest = &rest[at + MARK.len()..];
    }
    parts.push(rest);
    parts.retain(|part| !part.is_empty());
    parts
}

/// A secret, with its line breaks in both ways, and its lines (EX-RED-22).
fn with_line_breaks(secret: &[u8]) -> Vec<Vec<u8>> {
    let lines = lines(secret);
    let mut forms = vec![secret.to_vec()];
    if lines.len() == 1 {
        return forms;
    }
    forms.push(lines.join(&b"\n"[..]));
    forms.push(lines.join(&b"\r\n"[..]));
    let bare: Vec<_> = lines.iter().map(|line| line.trim_ascii()).filter(|line| !line.is_empty()).collect();
    let is_only = bare.len() == 1;
    forms.extend(bare.into_iter().filter(|line| is_only || line.len() >= SHORTEST_LINE).map(<[u8]>::to_vec));
    forms
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        lines.push(&rest[..at]);
        let width = if rest[at..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = &rest[at + width..];
    }
    lines.push(rest);
    lines
}

/// The ways in which JSON may write a text inside a string. A text that is no Unicode has none.
fn escaped(form: &[u8]) -> Vec<Vec<u8>> {
    let Ok(text) = std::str::from_utf8(form) else { return Vec::new() };
    let mut shortest = String::new();
    write_escaped(text, &mut shortest);
    let mut twice = String::new();
    write_escaped(&shortest, &mut twice);
    let beyond = |character: char| !character.is_ascii();
    let html = |character: char| matches!(character, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
    let forms = [
        by_units(&shortest, beyond, false),
        by_units(&shortest, beyond, true),
        by_units(&shortest, html, false),
        by_units(&shortest, html, true),
        shortest.replace('/', "\\/"),
        twice,
        shortest,
    ];
    forms.into_iter().map(String::into_bytes).collect()
}

/// A text with some of its characters as `\u` escapes of their UTF-16 units.
fn by_units(text: &str, these: impl Fn(char) -> bool, upper: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if !these(character) {
            out.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            out.push_str(&if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") });
        }
    }
    out
}
