//! Any bytes as the files of a projection, and any edits of good ones.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gallivant_fuzz::reading::reading(bytes));
