//! Verification: an approved list of commands, run over what a run has made, in a sandbox of the operating system (EX-VER).
//!
//! - [`command`]: the list, bound to the source that was approved;
//! - [`environment`]: what a command finds in its environment, and what is kept out of its output;
//! - [`sandbox`]: what is granted, as the arguments of bubblewrap and as a profile of macOS;
//! - [`running`]: one process to its end, behind a trait;
//! - [`profile`], `removal`: the one private directory, and how it goes whatever stands in it;
//! - [`git_view`]: what Git sees in the sandbox;
//! - [`mod@probe`]: the proof that the sandbox works, before any code of the repository runs;
//! - [`repository`]: HEAD and cleanliness, between commands;
//! - [`evidence`], `output`: `verification.json`;
//! - [`mod@verify`]: one verification; [`readiness`]: whether one could run here.
//!
//! Two things are never done: a command without a sandbox (EX-VER-29), and a command again (EX-VER-18). What is protected from
//! whom is written in `docs/guides/verification.md`, the bytes in `docs/format/verification.md`.

pub mod command;
pub mod environment;
pub mod evidence;
pub mod git_view;
mod output;
pub mod probe;
pub mod profile;
pub mod readiness;
mod removal;
pub mod repository;
pub mod running;
pub mod sandbox;
pub mod verify;

pub use command::ApprovedCommands;
pub use evidence::{Block, CommandEvidence, EVIDENCE, Evidence, has_provenance, is_complete};
pub use git_view::ViewLimits;
pub use readiness::{Readiness, SandboxCheck, SystemSandbox, sandbox_readiness};
pub use repository::{Changed, Repository};
pub use running::{CommandHost, SystemCommands};
pub use sandbox::{Driver, Runtime};
pub use verify::{Tools, Verdict, Verification, verify};
