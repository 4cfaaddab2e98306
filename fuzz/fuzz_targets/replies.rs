//! Any text as what a provider says of a job and of its result.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    gallivant_fuzz::replies::replies(bytes);
});
