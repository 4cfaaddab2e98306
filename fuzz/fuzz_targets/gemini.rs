//! Any bytes as a payload of Gemini CLI's hooks.
#![no_main]

use gallivant_core::harness_state::adapters::Harness;

libfuzzer_sys::fuzz_target!(|payload: &[u8]| gallivant_fuzz::payload(Harness::Gemini, payload));
