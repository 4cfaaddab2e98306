//! What the fuzz targets of redaction, JSON and providers' replies hold every input to, for their seeds with random bytes changed. It needs no
//! nightly compiler. A failing seed is in the panic's message.

use std::path::{Path, PathBuf};

use gallivant_core::testing::SeededRandom;

#[path = "../../fuzz/src/ground.rs"]
#[allow(unreachable_pub, reason = "the fuzz targets are a crate of their own")]
mod ground;

#[path = "../../fuzz/src/replies.rs"]
#[allow(unreachable_pub, reason = "the fuzz targets are a crate of their own")]
mod replies;

fn check(target: &str, holds: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(target);
    let entries = std::fs::read_dir(folder).expect("the seeds are there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    for file in files {
        let bytes = std::fs::read(&file).expect("a seed");
        holds(&bytes);
        for seed in 1..=60 {
            let dice = SeededRandom::new(seed);
            let mut changed = bytes.clone();
            for _ in 0..=dice.below(4) {
                let at = dice.below(changed.len() as u64) as usize;
                match dice.below(3) {
                    0 => changed[at] = dice.below(256) as u8,
                    1 => changed.insert(at, b"[]{}\"\\:@ -\xfe"[dice.below(11) as usize]),
                    _ => changed.truncate(at + 1),
                }
            }
            let run = std::panic::catch_unwind(|| holds(&changed));
            assert!(run.is_ok(), "seed={seed} {}: {:?}", file.display(), String::from_utf8_lossy(&changed));
        }
    }
}

#[test]
fn redaction_holds_for_the_seeds_of_its_fuzz_target() {
    check("redaction", ground::redaction);
}

#[test]
fn json_holds_for_the_seeds_of_its_fuzz_target() {
    check("json", ground::json);
}

#[test]
fn judging_holds_for_the_seeds_of_the_fuzz_target_of_replies() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/replies");
    for seed in std::fs::read_dir(folder).expect("the seeds are there") {
        let path = seed.expect("an entry").path();
        assert!(replies::replies(&std::fs::read(&path).expect("a seed")), "{} is taken", path.display());
    }
    check("replies", |bytes| {
        replies::replies(bytes);
    });
}
