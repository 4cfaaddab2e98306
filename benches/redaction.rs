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

const CHUNK: usize = 64 * 1024;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let number =
        |at: usize, default: usize| words.get(at).map_or(default, |word| word.parse().expect("a number"));
    let (mebibytes, rounds) = (number(0, 32), number(1, 15));
    let dice = SeededRandom::new(1);
    let secrets: Vec<String> = (0..100).map(|_| token(&dice, 40)).collect();
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

fn token(dice: &SeededRandom, length: usize) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    (0..length).map(|_| char::from(LETTERS[dice.below(LETTERS.len() as u64) as usize])).collect()
}

/// Lines of output and of JSON events, with addresses in them.
fn lines(dice: &SeededRandom, length: usize, secrets: &[String]) -> Vec<u8> {
    const LINES: [&str; 7] = [
        "   Compiling task-runner v0.4.1 (/home/user/project/crates/task-runner)\n",
        "test transition::a_heartbeat_that_lands_is_durable ... ok\n",
        "{\"type\":\"tool_use\",\"name\":\"Bash\",\"input\":{\"command\":\"cargo test -p core 2>&1 | tail -40\"},\"seq\":1842}\n",
        "GET https://api.example.com/v1/responses?limit=100 200 in 41 ms, id req_",
        "warning: unused variable: `index`, in src/redaction/scan.rs:211:17, help: prefix it with an underscore\n",
        "diff --git a/core/src/lib.rs b/core/src/lib.rs\n@@ -14,7 +14,9 @@ pub mod clock;\n-    let x = 1;\n+    let x = 2;\n",
        "The writer holds the lock for well under a millisecond, so a reader that waits for it is a bug.\n",
    ];
    let mut text = Vec::with_capacity(length + 256);
    let mut next_secret = 1024;
    while text.len() < length {
        let line = LINES[dice.below(LINES.len() as u64) as usize];
        text.extend_from_slice(line.as_bytes());
        if !line.ends_with('\n') {
            text.extend_from_slice(token(dice, 24).as_bytes());
            text.push(b'\n');
        }
        if !secrets.is_empty() && text.len() > next_secret {
            next_secret += 1024;
            text.extend_from_slice(secrets[dice.below(secrets.len() as u64) as usize].as_bytes());
        }
    }
    text
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
