//! Any edits of the files of a key index.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gallivant_fuzz::keys::keys(bytes));
