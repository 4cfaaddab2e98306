//! What redaction costs beside bare aho-corasick: `cargo bench -p gallivant-tests --bench redaction [-- MEBIBYTES ROUNDS]`.
//!
//! 100 secrets of 40 bytes over lines as agents write them, in chunks of 64 KiB. Bare: the automaton over the same secrets,
//! chunk by chunk, all occurrences, nothing kept and nothing written. Ours: the stream, patterns off, and with patterns.
//! Medians of interleaved rounds; the ratios count, the throughput says more of the machine.
#![allow(missing_docs, reason = "a program")]
#![allow(clippy::disallowed_methods, reason = "a measurement times by itself")]

use std::time::{Duration, Instant};

use aho_corasick::{AhoCorasick, MatchKind};
use gallivant_core::redaction::{Patterns, Redactor, Secrets};
use gallivant_core::testing::SeededRandom;

#[path = "redaction_text.rs"]
mod redaction_text;

use redaction_text::{CHUNK, lines, secrets};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let number =
        |at: usize, default: usize| words.get(at).map_or(default, |word| word.parse().expect("a number"));
    let (mebibytes, rounds) = (number(0, 32), number(1, 15));
    let dice = SeededRandom::new(1);
    let secrets = secrets(&dice);
    let bare = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&secrets).expect("builds");
    let set = Secrets::lenient(&secrets);
    let off = Redactor::new(&set, Patterns::Off).expect("builds");
    let on = Redactor::new(&set, Patterns::Recognised).expect("builds");

    for (what, leaks) in [("no secret in it", 0), ("a secret a kibibyte", 1)] {
        let text = lines(&dice, mebibytes << 20, if leaks == 0 { &[] } else { &secrets });
        let [mut bare_times, mut off_times, mut on_times] = [const { Vec::new() }; 3];
        let mut out = Vec::with_capacity(2 * CHUNK);
        for _ in 0..rounds {
            bare_times.push(timed(|| {
                let found: usize =
                    text.chunks(CHUNK).map(|chunk| bare.find_overlapping_iter(chunk).count()).sum();
                assert!(found > 0 || leaks == 0);
            }));
            off_times.push(timed(|| stream(&off, &text, &mut out)));
            on_times.push(timed(|| stream(&on, &text, &mut out)));
        }
        let bare = median(&mut bare_times);
        println!("{what}, {mebibytes} MiB, {rounds} rounds");
        println!("  aho-corasick alone  {:>6.0} MB/s", throughput(&text, bare));
        for (name, times) in [("patterns off", &mut off_times), ("patterns on", &mut on_times)] {
            let took = median(times);
            let ratio = took.as_secs_f64() / bare.as_secs_f64();
            println!("  {name:<18}  {:>6.0} MB/s  {ratio:.2} x", throughput(&text, took));
        }
    }
    println!("bars: patterns off at most 1.2 x, patterns on at least 60 MB/s");
}

fn stream(redactor: &Redactor, text: &[u8], out: &mut Vec<u8>) {
    let mut stream = redactor.stream();
    for chunk in text.chunks(CHUNK) {
        out.clear();
        stream.push(chunk, out);
    }
    stream.finish(out);
}

fn timed(action: impl FnOnce()) -> Duration {
    let started = Instant::now();
    action();
    started.elapsed()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn throughput(text: &[u8], took: Duration) -> f64 {
    text.len() as f64 / 1e6 / took.as_secs_f64()
}
