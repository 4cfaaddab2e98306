//! Idempotent creates, clause by clause.
//!
//! `suite` is the one that proves an engine (IK-20): it runs over every engine. `file` is about the SQLite file, `limits`
//! about names, options and sizes, `fields` holds the field cases.

mod cases;
mod file;
mod limits;
mod owners;
mod suite;
mod world;
