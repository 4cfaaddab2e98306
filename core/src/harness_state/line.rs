//! A record's line in exactly the form in which it is written (HS-02, HS-06), taken apart from left to right.
//!
//! Nearly every record that is read has this form, and a fleet of thousands of them is read several times as fast. Nothing
//! is judged here: a line that departs from the form by one byte, damaged or merely spelled differently, is for the
//! decoder, which takes any JSON. What has to be true is that both say the same of a line that has the form.

use crate::json::strict::Spare;

use super::record::Word;

/// What is left of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a>(&'a str);

impl<'a> Line<'a> {
    /// The line of a file; none where its bytes are not UTF-8.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok().map(Line)
    }

    /// Goes past this text, where it is next.
    pub(super) fn passes(&mut self, text: &str) -> bool {
        let rest = self.0.strip_prefix(text);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Goes past this text, which has to be next.
    pub(super) fn pass(&mut self, text: &str) -> Option<()> {
        self.passes(text).then_some(())
    }

    /// Goes past `before`, which ends with a quote, and past a string without escapes. Answers its content.
    pub(super) fn text(&mut self, before: &str) -> Option<&'a str> {
        self.pass(before)?;
        let length = self.0.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest.strip_prefix('"')?;
        Some(text)
    }

    /// As [`Line::text`], for a member that may be left out: none within where it is.
    #[expect(clippy::option_option, reason = "the outer one says whether the line has the form")]
    pub(super) fn optional_text(&mut self, before: &str) -> Option<Option<&'a str>> {
        if self.0.starts_with(before) { self.text(before).map(Some) } else { Some(None) }
    }

    /// As [`Line::text`], for a word that this build knows.
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
    pub(super) fn number(&mut self, before: &str) -> Option<u64> {
        self.pass(before)?;
        let (mut number, mut length) = (0_u64, 0);
        for digit in self.0.bytes().map(|byte| byte.wrapping_sub(b'0')).take_while(|digit| *digit < 10) {
            number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
            length += 1;
        }
        // JSON has no number without a digit, and none with zeros before it.
        if length == 0 || (length > 1 && self.0.starts_with('0')) {
            return None;
        }
        self.0 = self.0.get(length..)?;
        Some(number)
    }

    /// As [`Line::number`], for a member that may be left out.
    #[expect(clippy::option_option, reason = "the outer one says whether the line has the form")]
    pub(super) fn optional_number(&mut self, before: &str) -> Option<Option<u64>> {
        if self.0.starts_with(before) { self.number(before).map(Some) } else { Some(None) }
    }

    /// Whether nothing is left.
    pub(super) fn has_ended(&self) -> bool {
        self.0.is_empty()
    }
}

/// Copies texts into memory that nobody needs any more, in their order.
pub(super) fn owned(text: Option<&str>, spare: &mut Spare) -> Option<String> {
    text.map(|text| spare.copy(text))
}
