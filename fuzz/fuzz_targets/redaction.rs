//! Any secrets, any text, any cutting.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gallivant_fuzz::ground::redaction(bytes));
