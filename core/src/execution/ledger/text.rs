//! The text of a ledger in pieces: those of its groups of records, and what stands between them.
//!
//! A ledger of a thousand operations has more than a megabyte. In pieces it is written and compared without being put together.

use std::borrow::Cow;

/// Pieces of one text, in order.
#[derive(Debug, Default)]
pub(crate) struct Text<'a> {
    pieces: Vec<Cow<'a, [u8]>>,
}

impl<'a> Text<'a> {
    pub(super) fn push_own(&mut self, piece: String) {
        self.pieces.push(Cow::Owned(piece.into_bytes()));
    }

    pub(super) fn extend(&mut self, pieces: impl IntoIterator<Item = &'a [u8]>) {
        self.pieces.extend(pieces.into_iter().map(Cow::Borrowed));
    }

    /// The pieces.
    pub(crate) fn pieces(&self) -> Vec<&[u8]> {
        self.pieces.iter().map(|piece| &**piece).collect()
    }

    /// How many bytes it has.
    pub(crate) fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// The whole of it.
    pub(super) fn join(&self) -> String {
        String::from_utf8(self.pieces().concat()).unwrap_or_default()
    }

    /// Whether it is these bytes.
    pub(crate) fn is(&self, mut bytes: &[u8]) -> bool {
        self.len() == bytes.len()
            && self.pieces.iter().all(|piece| {
                let (here, rest) = bytes.split_at(piece.len());
                bytes = rest;
                here == &**piece
            })
    }
}

/// Pieces that both texts share are not looked into.
impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.pieces(), other.pieces());
        let is_shared = |ours: &[u8], theirs: &[u8]| std::ptr::eq(ours, theirs) || ours == theirs;
        let in_step = ours.len() == theirs.len() && ours.iter().zip(&theirs).all(|(a, b)| is_shared(a, b));
        in_step || (self.len() == other.len() && self.is(&theirs.concat()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&str]) -> Text<'static> {
        let mut text = Text::default();
        for piece in pieces {
            text.push_own((*piece).to_owned());
        }
        text
    }

    #[test]
    fn texts_are_equal_however_they_are_cut() {
        let whole = cut(&["one two three"]);
        assert_eq!(whole, cut(&["one ", "", "two", " three"]));
        assert!(cut(&["one ", "two three"]).is(b"one two three"));
        for other in ["one two thre", "one two three ", "one two threE", ""] {
            assert_ne!(whole, cut(&["one two ", &other[other.len().min(8)..]]), "{other}");
            assert!(!cut(&["one ", "two three"]).is(other.as_bytes()), "{other}");
        }
        assert_eq!(cut(&["a", "b"]).join(), "ab");
    }
}
