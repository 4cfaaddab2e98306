//! What is asked of the checkout between commands: its HEAD, and whether anything was changed (EX-VER-12 to EX-VER-15).

use std::fmt;

use crate::artifacts::Git;
use crate::error::{Code, Error, Result};

/// The checkout's repository, as far as verification asks it.
pub trait Repository: Send + Sync + fmt::Debug {
    /// The commit that is checked out.
    ///
    /// # Errors
    /// `EXECUTION_IO`, reason `tree`.
    fn head(&self) -> Result<String>;

    /// Whether index and work tree are as HEAD says, files that are not tracked included. What the repository's rules ignore
    /// does not count.
    ///
    /// # Errors
    /// `EXECUTION_IO`, reason `tree`: a query that failed is never read as clean.
    fn is_clean(&self) -> Result<bool>;
}

impl Repository for Git {
    fn head(&self) -> Result<String> {
        Git::head(self)
    }

    fn is_clean(&self) -> Result<bool> {
        Ok(self.status()?.is_empty())
    }
}

/// What is wrong with a checkout, as the reason of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// HEAD is another commit: `revision-changed`.
    Revision,
    /// Something differs from HEAD: `dirty`.
    Tree,
}

impl Changed {
    /// The reason's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Changed::Revision => "revision-changed",
            Changed::Tree => "dirty",
        }
    }
}

/// Whether the checkout still is what was applied: at the start of the list, behind each command that succeeded, and at
/// publication.
///
/// # Errors
/// `EXECUTION_IO`, reason `tree`, for a query that gave no whole answer. Publication does not go on then (EX-VER-13), and may be
/// asked again.
pub fn look(repository: &dyn Repository, applied_head: &str) -> Result<Option<Changed>> {
    let blocks = |error: Error| {
        Error::new(Code::ExecutionIo, format!("the checkout cannot be judged: {}", error.message()))
            .with_reason("tree")
    };
    if repository.head().map_err(blocks)? != applied_head {
        return Ok(Some(Changed::Revision));
    }
    Ok(if repository.is_clean().map_err(blocks)? { None } else { Some(Changed::Tree) })
}
