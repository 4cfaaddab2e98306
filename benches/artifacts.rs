//! What validating and applying cost: `cargo bench -p gallivant-tests --bench artifacts [-- ROUNDS DIRECTORY]`.
//!
//! A manifest of 10,000 entries (half of them edits) against 100,000 tracked paths, with the three lists apart and shared,
//! one path in twenty not ASCII; and applying 1,000 files in 20 directories, beside a program that writes the same bytes with
//! the same syncs: each file staged, synced and renamed, each directory synced. Medians of interleaved rounds.
#![allow(missing_docs, reason = "a program")]
#![allow(clippy::disallowed_methods, reason = "a measurement prepares and times by itself")]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gallivant_core::Host;
use gallivant_core::artifacts::{Checkout, Manifest, Mode, Start, Tracked, Tree, apply, validate_manifest};
use gallivant_core::digest::sha256_hex;
use gallivant_core::json::Value;
use serde_json::{Value as Json, json};

const ENTRIES: usize = 10_000;
const TRACKED: usize = 100_000;
const FILES: usize = 1_000;
const DIRECTORIES: usize = 20;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let rounds = words.first().map_or(9, |word| word.parse().expect("a number"));
    let below = words.get(1).map_or_else(std::env::temp_dir, PathBuf::from);
    validating(rounds);
    applying(rounds, &below);
}

fn path(number: usize) -> String {
    let letter = if number.is_multiple_of(20) { "é" } else { "e" };
    format!("packages/module{:03}/src/{letter}part{:02}/file{number:06}.rs", number % 400, number % 23)
}

fn validating(rounds: usize) {
    let mut paths: Vec<String> = (0..TRACKED).map(path).collect();
    paths.sort_unstable();
    let list = || -> Vec<Tracked> { paths.iter().map(|path| Tracked::new(path, Mode::Regular)).collect() };
    let files: Vec<Json> = (0..ENTRIES)
        .map(|number| {
            let text = format!("// {number} of a result, as long as a line of a program usually is\n");
            let is_edit = number.is_multiple_of(2);
            let before = is_edit.then(|| sha256_hex(b"before"));
            let path = path(if is_edit { number * 7 } else { TRACKED + number });
            json!({ "path": path, "beforeHash": before, "afterHash": sha256_hex(text.as_bytes()), "text": text })
        })
        .collect();
    let files = Value::parse(&Json::from(files).to_string()).expect("it is JSON");
    let apart = Tree {
        input: Some(list().into()),
        head: Some(list().into()),
        // One path differs, so that no list serves for another.
        index: Some([list(), vec![Tracked::new("zz", Mode::Regular)]].concat().into()),
    };
    let shared = Tree::of(list());
    println!("validating {ENTRIES} entries against {TRACKED} tracked paths");
    for (name, tree) in [("lists apart", &apart), ("one list", &shared)] {
        let mut times: Vec<Duration> = Vec::new();
        let grown = resident();
        for _ in 0..rounds {
            let started = Instant::now();
            let manifest = validate_manifest(&files, tree).expect("valid");
            times.push(started.elapsed());
            assert_eq!(manifest.entries().len(), ENTRIES);
        }
        println!(
            "  {name:<12} {:>6.1} ms; the peak grew by {:.1} MiB",
            median(&mut times).as_secs_f64() * 1e3,
            resident() - grown
        );
    }
    println!("  peak of the whole process, lists and values with it: {:.1} MiB", resident());
    println!("bars: 150 ms, 64 MiB");
}

/// The most memory that the process has had, in mebibytes.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok()).unwrap_or_default() / 1024.0
}

fn applying(rounds: usize, below: &Path) {
    let text = "x".repeat(4096);
    let [mut ours, mut floors] = [const { Vec::new() }; 2];
    for round in 0..rounds {
        // Half of them are edits of files that stand there.
        let root = below.join(format!("gallivant-bench-{}-{round}", std::process::id()));
        let [checkout, floor] = ["checkout", "floor"].map(|name| root.join(name));
        for root in [&checkout, &floor] {
            for directory in 0..DIRECTORIES {
                fs::create_dir_all(root.join(format!("d{directory}"))).expect("made");
            }
            for number in (0..FILES).step_by(2) {
                fs::write(root.join(file(number)), "before").expect("written");
            }
        }
        rustix::fs::sync();
        let manifest = manifest(&text);
        let opened = Checkout::open(&checkout, &Host::system()).expect("opened");
        let mut time_ours = || {
            ours.push(timed(|| {
                let applied = apply(&opened, &manifest, Start::Fresh).expect("applied");
                assert_eq!(applied.written, FILES);
            }));
        };
        if round % 2 == 0 {
            time_ours();
            floors.push(timed(|| write_all(&floor, text.as_bytes())));
        } else {
            floors.push(timed(|| write_all(&floor, text.as_bytes())));
            time_ours();
        }
        fs::remove_dir_all(&root).expect("removed");
    }
    let (ours, floor) = (median(&mut ours).as_secs_f64(), median(&mut floors).as_secs_f64());
    println!("applying {FILES} files of {} bytes in {DIRECTORIES} directories, {rounds} rounds", text.len());
    println!("  floor {:>7.1} ms, ours {:>7.1} ms: {:.2} x", floor * 1e3, ours * 1e3, ours / floor);
    println!("bar: 2 x");
}

fn file(number: usize) -> String {
    format!("d{}/f{number:04}", number % DIRECTORIES)
}

fn manifest(text: &str) -> Manifest {
    let entries: Vec<Json> = (0..FILES)
        .map(|number| {
            let before = number.is_multiple_of(2).then(|| sha256_hex(b"before"));
            json!({ "path": file(number), "beforeHash": before, "afterHash": sha256_hex(text.as_bytes()), "text": text })
        })
        .collect();
    let files = Value::parse(&Json::from(entries).to_string()).expect("it is JSON");
    let tracked: Vec<Tracked> =
        (0..FILES).step_by(2).map(|number| Tracked::new(file(number), Mode::Regular)).collect();
    validate_manifest(&files, &Tree::of(tracked)).expect("valid")
}

/// The same bytes with the same syncs, and nothing else.
fn write_all(root: &Path, text: &[u8]) {
    for number in 0..FILES {
        let path = root.join(file(number));
        let staged = path.with_extension("staged");
        let mut new = File::create_new(&staged).expect("created");
        new.write_all(text).expect("written");
        new.sync_all().expect("synced");
    }
    for number in 0..FILES {
        let path = root.join(file(number));
        fs::rename(path.with_extension("staged"), &path).expect("renamed");
    }
    for directory in 0..DIRECTORIES {
        File::open(root.join(format!("d{directory}"))).expect("opened").sync_all().expect("synced");
    }
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
