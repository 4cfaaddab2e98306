//! Any bytes as a payload of Codex's hooks and of its notify program.
#![no_main]

use gallivant_core::harness_state::adapters::Harness;

libfuzzer_sys::fuzz_target!(|payload: &[u8]| gallivant_fuzz::payload(Harness::Codex, payload));
