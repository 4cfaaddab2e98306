//! Any bytes as the value of a record's extension.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gallivant_fuzz::extension(bytes));
