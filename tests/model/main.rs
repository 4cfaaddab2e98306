//! Random sequences of all operations over the real code, against a plain model of the specification.
//!
//! After each step the answer, the record's and the floor's bytes, and what every kind of reader derives are compared.
//! A failure prints its seed and the shortest sequence that still fails; `GALLIVANT_SEED` runs that seed alone,
//! or as many from there on as `GALLIVANT_SEQUENCES` says.
#![allow(missing_docs, reason = "a test's name says what it shows")]
#![allow(clippy::disallowed_methods, reason = "a test looks at its environment itself")]

mod extension;
mod idempotency;
mod machine;
mod meaning;
mod operation;
mod reading;
mod record;
mod run;
mod specification;

use std::collections::BTreeSet;

use operation::Dice;

/// Without another number: a few seconds, and enough for every answer and every reading.
const SEQUENCES: u64 = 60;
const STEPS: usize = 120;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

/// Everything that the sequences of these seeds answered and derived.
fn run_all(seeds: impl Iterator<Item = u64>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    for seed in seeds {
        let operations = Dice::new(seed).sequence(STEPS);
        match run::run(seed, &operations) {
            Ok(reached) => seen.extend(reached),
            Err(first) => {
                let shortest = run::shortest(seed, &operations);
                let difference = run::run(seed, &shortest).expect_err("the shortest sequence differs");
                let listed: Vec<String> =
                    shortest.iter().map(|operation| format!("  {operation:?}")).collect();
                panic!(
                    "GALLIVANT_SEED={seed}\n{first}\nshortest, {} of {STEPS} steps:\n{}\n{difference}",
                    shortest.len(),
                    listed.join("\n")
                );
            }
        }
    }
    seen
}

#[test]
fn every_answer_every_byte_and_every_reading_is_what_the_model_says() {
    let sequences = number("GALLIVANT_SEQUENCES").unwrap_or(SEQUENCES);
    let first = number("GALLIVANT_SEED");
    let last = match first {
        Some(seed) => seed + number("GALLIVANT_SEQUENCES").unwrap_or(1) - 1,
        None => sequences,
    };
    let first = first.unwrap_or(1);
    let seen = run_all(first..=last);
    if last - first + 1 >= SEQUENCES {
        assert_everything_was_reached(&seen);
    }
    println!("model: seeds {first} to {last}, {STEPS} steps each, no difference");
}

#[test]
fn iki_1_iki_2_iki_3_every_answer_about_a_key_is_what_the_model_says() {
    let first = number("GALLIVANT_SEED").unwrap_or(1);
    let sequences = number("GALLIVANT_SEQUENCES").unwrap_or(300);
    let mut seen = idempotency::run_all(first..first + sequences, 300, false);
    // On disk a step costs a sync.
    seen.extend(idempotency::run_all(first..first + sequences.div_ceil(100), 150, true));
    println!("idempotency: seeds {first} to {}, no difference, answers {seen:?}", first + sequences - 1);
    if sequences >= 100 {
        let answers = [
            "create:fresh",
            "create:waited",
            "create:taken-over",
            "create:expired",
            "create:recreated",
            "create:settled",
            "replay:replayed",
            "replay:waited",
            "replay:settled",
            "in_progress:fresh",
            "in_progress:waited",
            "unknown:fresh",
            "unknown:waited",
            "IDEMPOTENCY_KEY_REUSED",
            "complete",
            "release",
            "mark",
            "refresh",
            "dropped",
            "killed",
            "swept",
        ];
        let missing: Vec<_> = answers.into_iter().filter(|answer| !seen.contains(*answer)).collect();
        assert!(missing.is_empty(), "not reached: {missing:?}");
    }
}

/// A sequence that never gets anywhere shows nothing.
fn assert_everything_was_reached(seen: &BTreeSet<String>) {
    let answers = [
        "landed",
        "coalesced",
        "refused:unreadable",
        "refused:unclaimed",
        "refused:superseded",
        "refused:schema",
        "refused:terminal",
        "refused:weaker-evidence",
        "skipped:absent",
        "skipped:unreadable",
        "skipped:schema",
        "skipped:foreign-token",
        "skipped:unknown-state",
        "skipped:ended",
        "skipped:superseded",
        "unknown-state",
        "unfenced",
        "unknown-ask",
        "ask-without-human",
        "reserved-reason",
        "taken",
        "bad-token",
        "child-event",
        "late",
        "terminal",
        "owns true",
        "owns false",
        "read never",
    ];
    let reasons = [
        "malformed-record",
        "unsupported-schema",
        "rebooted",
        "future-skew",
        "host-suspended",
        "stale",
        "literal-unknown",
        "claimed",
        "activity-after-end",
        "unfenced-record",
        "session-dead",
    ];
    let derived = reasons.map(|reason| format!("read Some({reason:?})"));
    let missing: Vec<_> = answers
        .into_iter()
        .map(str::to_owned)
        .chain(derived)
        .filter(|answer| !seen.contains(answer))
        .collect();
    assert!(missing.is_empty(), "not reached: {missing:?}");
}
