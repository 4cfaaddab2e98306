//! Local runs with real processes: shell scripts in the place of harnesses, killed at every step of their lives.
#![allow(missing_docs, reason = "a test's name says what it shows")]
#![allow(clippy::disallowed_methods, reason = "a test looks at disk, time and processes itself")]

mod adoption;
mod ground;
mod launchers;
mod output;
mod preparation;
#[path = "../support/programs.rs"]
mod programs;
mod reads;
mod reuse;
mod sessions;
mod starting;
mod stopping;
mod supervisors;
mod trees;
