//! One on-disk discipline for coordinators of coding agents.
//!
//! State lives in files that several processes, in several languages, touch at once, and any of them may die at
//! any moment. Every rule about those files lives in this crate, once; the C library and the Python and Node
//! packages convert, call, and speak their language's idiom.
//!
//! What the crate promises:
//!
//! - a reader never sees half a write, and never waits for a writer;
//! - what a call's documentation says to be on disk is there once it has returned, and a crash at any point
//!   leaves a state that is described in `docs/format/`;
//! - nothing is ever guessed: what is not known reads as `unknown`, with the reason;
//! - it has no threads of its own that outlive a call, but for the watchdog of a process that serves a hook, and for the methods
//!   of a blocking transport, which may have to be left alone. A lane, and a fleet's first walk where that is asked for, use
//!   threads that end with the call;
//! - it has no global configuration and no output on any stream. Of the environment it reads `GALLIVANT_SUPERVISE`
//!   ([`local_runner`]) and the directory for temporary files ([`verification`]), and programs without a path are looked for in
//!   `PATH`;
//! - it starts programs only where a call says so: `git`, the sandbox with approved commands in it, a local run's supervisor with
//!   its harness, and harnesses that are asked for their version.
//!
//! A session, one of its writers, and a reader that may be any other process:
//!
//! ```
//! use gallivant_core::Host;
//! use gallivant_core::harness_state::{LeaseProbe, NewSession, Observation, Options, Reader, Session, State};
//!
//! # fn main() -> gallivant_core::Result<()> {
//! # let directory = std::env::temp_dir().join(format!("gallivant-doc-{:x}", Host::system().random.next_u64()));
//! let (options, host) = (Options::default(), Host::system());
//! let session = Session::start(
//!     NewSession {
//!         directory: directory.clone(),
//!         agent: "worker".into(),
//!         harness: "claude".into(),
//!         pty_session: Some("worker".into()),
//!         token: None,
//!     },
//!     &options,
//!     &host,
//! )?;
//! session.writer().observe(&Observation::new(State::Active))?;
//!
//! let reader = Reader::open(&directory, &options, &host);
//! let seen = reader.read(Some(&LeaseProbe::new(&reader))).expect("something was observed");
//! assert_eq!(seen.state, State::Active);
//!
//! session.end(Some("exit 0"))?;
//! # std::fs::remove_dir_all(directory).ok();
//! # Ok(())
//! # }
//! ```
//!
//! The modules, in reading order: [`error`], [`clock`], [`random`], [`process`], [`host`] (the four together with
//! the disk), [`digest`], [`json`], [`storage`] know nothing of the domains. The domains are [`harness_state`],
//! [`redaction`], [`journal`], [`artifacts`], [`verification`], [`local_runner`], [`execution`], [`publication`] and
//! [`idempotency`]; [`inspection`] judges the files of all of them.
//! [`testing`] replaces the machine by one that a test controls.

pub mod artifacts;
pub mod clock;
pub mod digest;
pub mod error;
pub mod execution;
mod forks;
pub mod harness_state;
pub mod host;
pub mod idempotency;
pub mod inspection;
pub mod journal;
pub mod json;
pub mod local_runner;
pub mod process;
pub mod publication;
pub mod random;
pub mod redaction;
pub mod storage;
pub mod testing;
pub mod verification;
mod words;

pub use error::{Code, Error, Kind, Result};
pub use host::Host;

/// The version of the library, which is that of all its packages.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Compiles the guide's blocks.
#[cfg(doctest)]
#[doc = include_str!("guide.md")]
pub struct GuideOfRust;

/// Compiles the blocks of the guide to transports.
#[cfg(doctest)]
#[doc = include_str!("guide-transport.md")]
pub struct GuideOfTransports;

/// Compiles the guide's blocks.
#[cfg(doctest)]
#[doc = include_str!("guide-verification.md")]
pub struct GuideOfVerification;

/// Compiles the guide's blocks.
#[cfg(doctest)]
#[doc = include_str!("guide-local-runs.md")]
pub struct GuideOfLocalRuns;

/// Compiles the guide's blocks.
#[cfg(doctest)]
#[doc = include_str!("guide-publish-a-result.md")]
pub struct GuideOfPublication;

/// Compiles the block of the crate's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct PageOfTheCrate;
