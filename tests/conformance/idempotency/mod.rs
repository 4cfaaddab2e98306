//! Idempotent creates, clause by clause.
//!
//! `suite` is the one that proves an engine (IK-20), with `owners` and `listing`: they run over every engine. `file`,
//! `file_refusals` and `reading` are about the SQLite file, `limits` about names, options and sizes; `cases` holds the field cases.

mod cases;
mod file;
mod file_refusals;
mod limits;
mod listing;
mod owners;
mod reading;
mod suite;
mod world;
