//! What Git tracks, as far as a manifest is judged against it: paths and modes of input, HEAD and index.

use std::fmt;
use std::sync::Arc;

use crate::error::{Code, Error, Result};
use crate::json::Value;

/// A mode as Git writes it into trees and the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// `100644`
    Regular,
    /// `100755`
    Executable,
    /// `120000`
    Link,
    /// `160000`
    Submodule,
    /// `040000`, in a list that names directories too.
    Directory,
    /// Any other, and a path of the index that is not merged. Nothing is done to such a path.
    Other,
}

impl Mode {
    /// The mode of six octal digits; `None` where it is no such text.
    #[must_use]
    pub fn parse(digits: &str) -> Option<Mode> {
        if digits.len() != 6 || !digits.bytes().all(|digit| matches!(digit, b'0'..=b'7')) {
            return None;
        }
        Some(match digits {
            "100644" => Mode::Regular,
            "100755" => Mode::Executable,
            "120000" => Mode::Link,
            "160000" => Mode::Submodule,
            "040000" => Mode::Directory,
            _ => Mode::Other,
        })
    }

    /// Six octal digits; of [`Mode::Other`] zeros.
    #[must_use]
    pub const fn digits(self) -> &'static str {
        match self {
            Mode::Regular => "100644",
            Mode::Executable => "100755",
            Mode::Link => "120000",
            Mode::Submodule => "160000",
            Mode::Directory => "040000",
            Mode::Other => "000000",
        }
    }

    /// Whether a text manifest may change a file of this mode (EX-ART-28).
    #[must_use]
    pub const fn is_text(self) -> bool {
        matches!(self, Mode::Regular | Mode::Executable)
    }
}

/// A tracked path. Names are bytes, never trimmed or unquoted (EX-ART-24).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Tracked {
    /// Relative to the root of the checkout.
    pub path: Box<[u8]>,
    /// Its mode.
    pub mode: Mode,
}

impl Tracked {
    /// A tracked path of this mode.
    #[must_use]
    pub fn new(path: impl AsRef<[u8]>, mode: Mode) -> Self {
        Tracked { path: path.as_ref().into(), mode }
    }
}

impl fmt::Debug for Tracked {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.mode.digits(), self.path.escape_ascii())
    }
}

/// The three lists. One that could not be read whole is `None`, which is never read as "no conflict" (EX-ART-20).
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The commit that the run was given.
    pub input: Option<Arc<[Tracked]>>,
    /// The commit that is checked out.
    pub head: Option<Arc<[Tracked]>>,
    /// What is staged.
    pub index: Option<Arc<[Tracked]>>,
}

impl Tree {
    /// A tree whose three lists are the same.
    #[must_use]
    pub fn of(tracked: impl Into<Arc<[Tracked]>>) -> Self {
        let tracked = Some(tracked.into());
        Tree { input: tracked.clone(), head: tracked.clone(), index: tracked }
    }

    /// The tree of `{input, head, index}`, each a list of `{path, mode}` with the mode as six octal digits, or null where it
    /// could not be read.
    ///
    /// # Errors
    /// `EXECUTION_IO`, reason `tree`, for whatever is none: a tree that is not understood counts as incomplete.
    pub fn from_value(value: &Value) -> Result<Tree> {
        let list = |name: &str| -> Result<Option<Arc<[Tracked]>>> {
            let Some(list) = value.get(name).filter(|list| !list.is_null()) else { return Ok(None) };
            let entries = list.as_array().ok_or_else(|| incomplete(name))?;
            let tracked = entries.iter().map(|entry| {
                let path = entry.get("path").and_then(Value::as_str)?;
                let mode = entry.get("mode").and_then(Value::as_str).and_then(Mode::parse)?;
                Some(Tracked::new(path, mode))
            });
            tracked.collect::<Option<Vec<_>>>().map(|list| Some(list.into())).ok_or_else(|| incomplete(name))
        };
        Ok(Tree { input: list("input")?, head: list("head")?, index: list("index")? })
    }

    /// The lists of input, HEAD and index.
    ///
    /// # Errors
    /// `EXECUTION_IO`, reason `tree`, where one is missing.
    pub fn lists(&self) -> Result<[&Arc<[Tracked]>; 3]> {
        Ok([
            self.input.as_ref().ok_or_else(|| incomplete("input"))?,
            self.head.as_ref().ok_or_else(|| incomplete("head"))?,
            self.index.as_ref().ok_or_else(|| incomplete("index"))?,
        ])
    }
}

/// What is tracked is not known whole.
pub(super) fn incomplete(list: &str) -> Error {
    Error::new(Code::ExecutionIo, format!("what git tracks is not known whole, list=`{list}`"))
        .with_reason("tree")
        .with_remedy(
            "make git and the repository of the checkout available, then publish again; nothing was changed",
        )
}
