//! Publication with real programs: Git, a remote, and a sandbox. They are apart from the other tests because a process that is being
//! started holds every lock of its parent for a moment.
#![allow(missing_docs, reason = "a test's name says what it shows")]
#![allow(clippy::disallowed_methods, reason = "a test looks at the disk and starts processes itself")]

#[path = "../support/mod.rs"]
mod support;

mod git;
mod whole;
