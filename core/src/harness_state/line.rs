//! A record's line in exactly the form in which it is written (HS-02, HS-06): put together, and taken apart from left to right.
//!
//! Nearly every record that is read has this form, and a fleet of thousands of them is read several times as fast. Nothing
//! is judged here: a line that departs from the form by one byte, damaged or merely spelled differently, is for the
//! decoder, which takes any JSON. What has to be true is that both say the same of a line that has the form.

use crate::json::canonical::write_escaped;
use crate::json::strict::Spare;

use super::record::Word;

/// Numbers of so many digits fit in 64 bits, whichever they are.
const MOST_SURE_DIGITS: usize = 19;

/// What is left of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a>(&'a str);

impl<'a> Line<'a> {
    /// The line of a file; none where its bytes are not UTF-8.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok().map(Line)
    }

    /// Goes past this text, where it is next. Inlined, as whatever calls it with a text of known length: what compares that
    /// is a few instructions then, and a call of thirty for each record otherwise.
    #[inline(always)]
    pub(super) fn passes(&mut self, text: &str) -> bool {
        match self.0.split_at_checked(text.len()) {
            Some((begin, rest)) if begin == text => {
                self.0 = rest;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Goes past this text, which has to be next.
    #[inline(always)]
    pub(super) fn pass(&mut self, text: &str) -> Option<()> {
        self.passes(text).then_some(())
    }

    /// Goes past `before`, which ends with a quote, and past a string without escapes. Answers its content.
    #[inline(always)]
    pub(super) fn text(&mut self, before: &str) -> Option<&'a str> {
        self.pass(before)?;
        self.rest_of_text()
    }

    fn rest_of_text(&mut self) -> Option<&'a str> {
        let length = self.0.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        self.pass("\"")?;
        Some(text)
    }

    /// As [`Line::text`], for a member that may be left out: none within where it is.
    #[expect(clippy::option_option, reason = "the outer one says whether the line has the form")]
    #[inline(always)]
    pub(super) fn optional_text(&mut self, before: &str) -> Option<Option<&'a str>> {
        if self.passes(before) { self.rest_of_text().map(Some) } else { Some(None) }
    }

    /// As [`Line::text`], for a word that this build knows.
    #[inline(always)]
    pub(super) fn word<T: PartialEq>(
        &mut self,
        before: &str,
        parse: fn(&str) -> T,
        unknown: &T,
    ) -> Option<Word<T>> {
        let spelled = self.text(before)?;
        let value = parse(spelled);
        (value != *unknown || spelled == "unknown").then_some(Word::known(value))
    }

    /// Goes past `before` and past an unsigned whole number of 64 bits.
    #[inline(always)]
    pub(super) fn number(&mut self, before: &str) -> Option<u64> {
        self.pass(before)?;
        self.digits()
    }

    fn digits(&mut self) -> Option<u64> {
        let (mut number, mut length) = (0_u64, 0);
        for digit in self.0.bytes().map(|byte| byte.wrapping_sub(b'0')).take_while(|digit| *digit < 10) {
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
            length += 1;
        }
        let digits = self.0.get(..length)?;
        // JSON has no number without a digit, and none with zeros before it.
        if length == 0 || (length > 1 && digits.starts_with('0')) {
            return None;
        }
        // Any number of so many digits fits.
        if length > MOST_SURE_DIGITS {
            number = digits.parse().ok()?;
        }
        self.0 = &self.0[length..];
        Some(number)
    }

    /// As [`Line::number`], for a member that may be left out.
    #[expect(clippy::option_option, reason = "the outer one says whether the line has the form")]
    #[inline(always)]
    pub(super) fn optional_number(&mut self, before: &str) -> Option<Option<u64>> {
        if self.passes(before) { self.digits().map(Some) } else { Some(None) }
    }

    /// Whether nothing is left.
    pub(super) fn has_ended(&self) -> bool {
        self.0.is_empty()
    }
}

/// A line that is being written in that form.
#[derive(Debug)]
pub(super) struct Writing(pub(super) String);

impl Writing {
    /// Adds text as it is.
    #[inline]
    pub(super) fn plain(&mut self, text: &str) {
        self.0.push_str(text);
    }

    /// Adds `before`, which ends with a quote, and the rest of a text as a JSON string.
    #[inline]
    pub(super) fn text(&mut self, before: &str, text: &str) {
        self.plain(before);
        write_escaped(text, &mut self.0);
        self.plain("\"");
    }

    /// As [`Writing::text`], for a word: as it was spelled, or one of ours, in which nothing is escaped.
    #[inline]
    pub(super) fn word(&mut self, before: &str, spelled: Option<&str>, known: &'static str) {
        if let Some(spelled) = spelled {
            return self.text(before, spelled);
        }
        self.plain(before);
        self.plain(known);
        self.plain("\"");
    }

    /// As [`Writing::text`], for a member that is left out where there is none.
    pub(super) fn optional_text(&mut self, before: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(before, text);
        }
    }

    /// Adds `before`, and a whole number.
    #[inline]
    pub(super) fn number(&mut self, before: &str, number: u64) {
        self.plain(before);
        self.plain(itoa::Buffer::new().format(number));
    }

    /// Adds a member whose value is JSON already.
    pub(super) fn member(&mut self, key: &str, json: &str) {
        self.text(",\"", key);
        self.plain(":");
        self.plain(json);
    }
}

/// Copies texts into memory that nobody needs any more, in their order.
pub(super) fn owned(text: Option<&str>, spare: &mut Spare) -> Option<String> {
    text.map(|text| spare.copy(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hs_06_every_character_is_written_as_json_has_it_wherever_it_stands() {
        let characters = (0..=0x7f).map(char::from).chain(['ä', '\u{80}', '\u{2028}', '😀']);
        for character in characters {
            for (before, behind) in (0..20).flat_map(|before| [0, 1, 8].map(|behind| (before, behind))) {
                let text = format!("{}{character}{}", "a!".repeat(before), "\u{7f}".repeat(behind));
                let mut line = Writing(String::new());
                line.text("\"", &text);
                let json = serde_json::to_string(&text).expect("a string");
                assert_eq!(line.0, json, "{text:?}");
            }
        }
    }
}
