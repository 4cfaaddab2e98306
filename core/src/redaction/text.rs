//! Texts that are there as a whole.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::automaton::Automaton;
use super::scan::{Scan, Seen};
use super::stream::Stream;
use super::{MARK, Patterns, Secrets};
use crate::error::Result;

/// Redacts by one set of secrets. Making one builds the automaton; a copy shares it, and any number of threads may use
/// it at once. Its `Debug` form shows none of the secrets.
#[derive(Clone)]
pub struct Redactor {
    pub(super) automaton: Arc<Automaton>,
}

impl Redactor {
    /// A redactor for these secrets, with or without recognised credentials.
    ///
    /// # Errors
    /// `EXECUTION_INPUT`, reason `secret`, when all secrets together are beyond what an automaton can hold: hundreds of
    /// megabytes.
    pub fn new(secrets: &Secrets, patterns: Patterns) -> Result<Redactor> {
        Ok(Redactor { automaton: Arc::new(Automaton::new(secrets, patterns)?) })
    }

    /// The text without secrets; the text itself where it has none.
    ///
    /// A text stays one: what is covered of it are whole characters, unless a secret is no UTF-8, whose leftovers become
    /// U+FFFD.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(other) => String::from_utf8_lossy(other.as_bytes()).into_owned(),
            }),
        }
    }

    /// The bytes without secrets; the bytes themselves where they have none.
    #[must_use]
    pub fn bytes<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let Some(first) = self.automaton.first_in(text) else { return Cow::Borrowed(text) };
        let mut scan = Scan::new(&self.automaton);
        scan.advance_from(first, &self.automaton, Seen { before: &[], piece: text, base: 0 });
        scan.end();
        let spans = scan.spans();
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = Vec::with_capacity(text.len());
        let mut kept = 0;
        for span in spans.iter() {
            // The text is in memory, so its positions are places in it.
            let (start, end) = (span.start as usize, span.end as usize);
            out.extend_from_slice(&text[kept..start]);
            out.extend_from_slice(MARK.as_bytes());
            kept = end;
        }
        out.extend_from_slice(&text[kept..]);
        Cow::Owned(out)
    }

    /// The beginning of a text, redacted before it is cut (EX-RED-13): at most so many bytes, cut neither within a
    /// character nor within a mark.
    #[must_use]
    pub fn beginning(&self, text: &str, most: usize) -> String {
        let redacted = self.text(text);
        let end = (0..=most.min(redacted.len())).rev().find(|at| is_cut(&redacted, *at)).unwrap_or(0);
        redacted[..end].to_owned()
    }

    /// The end of a text, redacted before it is cut: at most so many bytes, likewise.
    #[must_use]
    pub fn ending(&self, text: &str, most: usize) -> String {
        let redacted = self.text(text);
        let from = redacted.len().saturating_sub(most);
        let start = (from..=redacted.len()).find(|at| is_cut(&redacted, *at)).unwrap_or(redacted.len());
        redacted[start..].to_owned()
    }

    /// A text that comes in pieces.
    #[must_use]
    pub fn stream(&self) -> Stream {
        Stream::new(self.clone())
    }

    /// The most bytes that a [`Stream`] holds back: those of the longest form of a secret less one, and what may become a
    /// mark; with recognised credentials as many as those need, 2,055.
    #[must_use]
    pub fn most_held_back(&self) -> usize {
        self.automaton.most_held_back()
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Redactor")
    }
}

/// Whether a text may be cut here.
fn is_cut(text: &str, at: usize) -> bool {
    let begun = at.saturating_sub(MARK.len() - 1);
    let splits = |from: usize| text.as_bytes()[from..].starts_with(MARK.as_bytes());
    text.is_char_boundary(at) && !(begun..at).any(splits)
}
