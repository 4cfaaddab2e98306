//! JSON, read in two tempers.
//!
//! - [`strict`]: our own files, where anything unexpected is damage;
//! - [`lenient`]: payloads of foreign programs, where as much as possible is understood.

pub mod lenient;
pub mod strict;
