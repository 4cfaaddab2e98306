//! The property of the fuzz target `journal`, over a seeded number of inputs: any two files are refused untouched or put
//! right for good. `GALLIVANT_SEED=n` runs that seed alone.

#[path = "../../fuzz/src/journal.rs"]
#[allow(unreachable_pub, reason = "it is a part of another crate too")]
mod property;

/// The next of a sequence of numbers that a seed gives.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Up to four edits of a journal whose last batch is pending, with bytes that such files are made of.
fn edits(seed: u64) -> Vec<u8> {
    const BYTES: &[u8] = b"\n\0{}\",:0123456789crc\xc3\xff";
    let mut state = seed;
    let mut draw = |below: u64| usize::try_from(next(&mut state) % below).expect("small");
    let mut input = vec![1];
    for _ in 0..=draw(4) {
        let what = u8::try_from(draw(5) * 2 + usize::from(draw(4) == 0)).expect("small");
        // Positions count from the file's length again, so every place comes up.
        let [low, high] = u16::try_from(draw(1 << 16)).expect("small").to_le_bytes();
        input.extend([what, low, high, BYTES[draw(BYTES.len() as u64)]]);
    }
    input
}

#[test]
fn any_edit_of_the_two_files_is_refused_untouched_or_put_right_for_good() {
    let seeds = match std::env::var("GALLIVANT_SEED") {
        Ok(seed) => vec![seed.parse().expect("a number")],
        Err(_) => (0..1_500).collect(),
    };
    for seed in seeds {
        let input = edits(seed);
        let held = std::panic::catch_unwind(|| property::journal(&input));
        assert!(held.is_ok(), "GALLIVANT_SEED={seed} input={input:?}");
    }
}

#[test]
fn the_seeds_of_the_fuzz_target_hold() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/journal");
    let mut found = 0;
    for entry in std::fs::read_dir(folder).expect("seeds") {
        property::journal(&std::fs::read(entry.expect("a seed").path()).expect("read"));
        found += 1;
    }
    assert!(found >= 4, "only {found} seeds");
}
