//! What a run has made, as files: whether they may be applied to a checkout, and applying them.
//!
//! - [`path`], [`fold`](mod@fold), `names`: one path, and when two are the same to some file system;
//! - `detail`: why something is refused;
//! - [`tree`]: what Git tracks;
//! - [`manifest`]: the files of a result, checked as a whole: a pure function;
//! - [`git`]: what is asked of the program `git`.

mod detail;
pub mod fold;
pub mod git;
pub mod manifest;
mod names;
pub mod path;
pub mod tree;

pub use detail::Detail;
pub use fold::fold;
pub use git::{Git, GitOptions, NewCommit};
pub use manifest::{Change, Entry, Manifest, validate_manifest, validate_pushed_tree};
pub use tree::{Mode, Tracked, Tree};
