//! Any bytes as the files of a journal, and any edits of good ones.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gallivant_fuzz::journal::journal(bytes));
