//! Any bytes as the sequence floor.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gallivant_fuzz::floor(bytes));
