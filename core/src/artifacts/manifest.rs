//! The files of a result: what is asked for, and the check of it as a whole (EX-ART-01 to EX-ART-21). Pure.

use super::tree::Mode;

/// What an entry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A file that is neither tracked nor there.
    Create,
    /// A tracked file gets another content, or the same.
    Edit,
    /// A tracked file goes.
    Delete,
}

/// One file, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    path: String,
    before: Option<[u8; 32]>,
    after: Option<[u8; 32]>,
    text: Option<String>,
    mode: Mode,
}

impl Entry {
    /// The canonical path, relative to the root of the checkout, in the spelling of the result (EX-ART-17).
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What the entry does.
    #[must_use]
    pub fn change(&self) -> Change {
        match (self.before, self.after) {
            (None, _) => Change::Create,
            (_, Some(_)) => Change::Edit,
            _ => Change::Delete,
        }
    }

    /// Whether anything differs afterwards (EX-ART-21).
    #[must_use]
    pub fn changes(&self) -> bool {
        self.before != self.after
    }

    /// The SHA-256 of the content before, where there was one.
    #[must_use]
    pub fn before(&self) -> Option<&[u8; 32]> {
        self.before.as_ref()
    }

    /// The SHA-256 of the content afterwards, where there is one.
    #[must_use]
    pub fn after(&self) -> Option<&[u8; 32]> {
        self.after.as_ref()
    }

    /// The content afterwards, where there is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// [`Mode::Regular`] or [`Mode::Executable`]: that of the input, and of a new file the former (EX-ART-25).
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }
}

/// A list of files that may be applied to the checkout whose tree it was checked against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    entries: Vec<Entry>,
}

impl Manifest {
    /// The files, in the order of the result.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}
