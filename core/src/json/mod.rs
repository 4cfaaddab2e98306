//! JSON: read in two tempers, kept without loss, and written in forms that every language gives alike.
//!
//! - [`strict`]: our own files, where anything unexpected is damage;
//! - [`lenient`]: payloads of foreign programs, of which only some members are wanted;
//! - [`value`]: foreign values that are kept or handed on whole, with the exact digits of their numbers;
//! - [`canonical`]: the one form of a value that hashes and fingerprints are made of (RFC 8785).

pub mod canonical;
pub mod lenient;
mod parse;
pub mod strict;
pub mod value;

pub use value::{Number, Object, Value};
