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
