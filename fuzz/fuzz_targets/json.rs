//! Any bytes as a JSON value, and as a cursor.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gallivant_fuzz::ground::json(bytes));
