//! Any bytes as a payload of Claude Code's hooks.
#![no_main]

use gallivant_core::harness_state::adapters::Harness;

libfuzzer_sys::fuzz_target!(|payload: &[u8]| gallivant_fuzz::payload(Harness::Claude, payload));
