//! What a run has made, as files: whether they may be applied to a checkout, and applying them.
//!
//! - `path`, `fold`: one path, and when two are the same to some file system;
//! - [`tree`]: what Git tracks;
//! - [`manifest`]: the files of a result, checked as a whole: a pure function;
//! - [`git`]: what is asked of the program `git`.

pub mod git;
pub mod manifest;
pub mod tree;

pub use git::{Git, GitOptions, NewCommit};
pub use manifest::{Change, Entry, Manifest};
pub use tree::{Mode, Tracked, Tree};
