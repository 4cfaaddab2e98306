//! What a run has made, as files: whether they may be applied to a checkout, and applying them.
//!
//! - [`path`], [`fold`](mod@fold), `names`: one path, and when two are the same to some file system;
//! - `detail`: why something is refused;
//! - [`tree`]: what Git tracks;
//! - [`manifest`]: the files of a result, checked as a whole: a pure function;
//! - `checkout`, `apply`: the files of a work tree, reached without following a link, and how they change;
//! - `texts`: public texts, unfinished files;
//! - [`git`]: what is asked of the program `git`.

mod apply;
mod checkout;
mod detail;
pub mod fold;
pub mod git;
pub mod manifest;
mod names;
pub mod path;
mod texts;
pub mod tree;

pub use apply::{Applied, Start, apply, check, is_applied};
pub use checkout::Checkout;
pub use detail::Detail;
pub use fold::fold;
pub use git::{Git, GitOptions, NewCommit};
pub use manifest::{Change, Entry, Manifest, validate_manifest, validate_pushed_tree};
pub use texts::{Overlay, public_text_check, unfinished_files};
pub use tree::{Mode, Tracked, Tree};
