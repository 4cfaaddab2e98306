//! What the canonical hash of a value costs beside its SHA-256: `cargo bench -p gallivant-tests --bench canonical [-- ROUNDS]`.
//!
//! Documents of a kibibyte in canonical form, as dispatches and grants have them. Floor: SHA-256 of those bytes, bare.
//! Ours: judging the numbers of the tree, writing the form, hashing that, and the digits of the hash. A round is
//! floor, ours, floor; its ratio is ours by the mean of the two, and the median over the rounds is shown.
#![allow(missing_docs, reason = "a program")]
#![allow(clippy::disallowed_methods, reason = "a measurement times by itself")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use gallivant_core::digest::{sha256, sha256_hex};
use gallivant_core::execution::keys::canonical_hash;
use gallivant_core::json::Value;

/// Hashes in one round.
const BATCH: u32 = 2_000;

/// Bytes of a document's canonical form, at the least.
const BYTES: usize = 1024;

fn main() {
    let rounds = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let rounds: usize = rounds.map_or(51, |word| word.parse().expect("a number"));
    for (name, document) in [("a prompt", prompt()), ("many members", members()), ("numbers", numbers())] {
        let value = Value::parse(&document).expect("JSON");
        let canonical = value.to_canonical();
        let floor = || timed(|| sha256(black_box(canonical.as_bytes())));
        let round = |_| {
            let (before, ours, after) = (floor(), timed(|| canonical_hash(black_box(&value))), floor());
            2.0 * ours.as_secs_f64() / (before + after).as_secs_f64()
        };
        let mut ratios: Vec<f64> = (0..rounds).map(round).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        assert_eq!(canonical_hash(&value).expect("hashed"), sha256_hex(canonical.as_bytes()));
        println!("{name:<12}  {} bytes  {:.2} x", canonical.len(), ratios[ratios.len() / 2]);
    }
    println!("bar: at most 5 x, {rounds} rounds of {BATCH}");
}

/// One long text with line ends and quotes, as a dispatch has it.
fn prompt() -> String {
    let line = "Fix the parser's \\\"lookahead\\\" in src/parse.rs; keep its tests as they are.\\n";
    filled(|prompt| {
        let prompt = line.repeat(prompt);
        format!(
            r#"{{"kind":"implementation","action":"submit","prompt":"{prompt}","inputHead":"{}","policy":"safe","model":"m-1","environment":"env-1","sessionId":null,"preparation":null,"successorOf":null,"response":null}}"#,
            "a".repeat(40)
        )
    })
}

/// Short members in an order that is not the canonical one, nested, as a grant has them.
fn members() -> String {
    filled(|count| {
        let member = |at: usize| {
            format!(
                r#""name-{:02}":{{"path":"/srv/data-{at}","mode":"ro","ttl":{}}}"#,
                at * 37 % 100,
                at * 60
            )
        };
        format!("{{{}}}", (0..count).map(member).collect::<Vec<_>>().join(","))
    })
}

/// Integers and fractions, as a table of settings has them.
fn numbers() -> String {
    filled(|count| {
        let row =
            |at: usize| format!(r#"{{"at":{at},"weight":{}.{},"limit":{}}}"#, at, at * 7 + 1, at * 1_000);
        format!("[{}]", (0..count).map(row).collect::<Vec<_>>().join(","))
    })
}

/// The first document of a series whose canonical form is long enough.
fn filled(document: impl Fn(usize) -> String) -> String {
    let long = |text: &String| Value::parse(text).expect("JSON").to_canonical().len() >= BYTES;
    (1..).map(document).find(long).expect("it grows")
}

/// What one of a batch takes.
fn timed<T>(action: impl Fn() -> T) -> Duration {
    let started = Instant::now();
    for _ in 0..BATCH {
        black_box(action());
    }
    started.elapsed() / BATCH
}
