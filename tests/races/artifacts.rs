//! A directory that another thread exchanges for a link, as fast as it can, while it is judged and written: nothing outside
//! the root is read or written, ever (EX-ART-67).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gallivant_core::artifacts::{Checkout, Mode, Start, Tracked, Tree, apply, validate_manifest};
use gallivant_core::digest::{sha256, sha256_hex};
use gallivant_core::json::Value;
use gallivant_core::{Code, Host};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

/// How long a swap goes on; the soak gives more.
fn length() -> Duration {
    let seconds = std::env::var("GALLIVANT_SWAP_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(3))
}

/// For how long it may take until both states have been met, on a machine that does much else.
const LONGEST: Duration = Duration::from_secs(120);
const DIRECTORY_AND_LINK: [&str; 2] = ["root/out", "root/door"];

struct Ground {
    above: tempfile::TempDir,
}

impl Ground {
    /// `root/out` is a directory, `root/door` a link to `outside`, which holds the same names with other content.
    fn new() -> Self {
        let ground = Ground { above: tempfile::tempdir().expect("a directory") };
        for directory in ["root", "root/out", "root/out/deep", "outside", "outside/deep"] {
            std::fs::create_dir(ground.path(directory)).expect("made");
        }
        for (path, text) in
            [("root/out/a", "in"), ("root/out/deep/b", "in"), ("outside/a", "top"), ("outside/deep/b", "top")]
        {
            std::fs::write(ground.path(path), text).expect("written");
        }
        std::os::unix::fs::symlink("../outside", ground.path("root/door")).expect("linked");
        ground
    }

    fn path(&self, name: &str) -> PathBuf {
        self.above.path().join(name)
    }

    fn outside(&self) -> BTreeMap<PathBuf, (Vec<u8>, i64, i64)> {
        use std::os::unix::fs::MetadataExt;
        let mut found = BTreeMap::new();
        for directory in ["outside", "outside/deep"] {
            for entry in std::fs::read_dir(self.path(directory)).expect("listed") {
                let path = entry.expect("an entry").path();
                let about = std::fs::symlink_metadata(&path).expect("there");
                let content = if about.is_file() { std::fs::read(&path).expect("read") } else { Vec::new() };
                found.insert(path, (content, about.mtime_nsec(), about.ctime_nsec()));
            }
        }
        found
    }

    /// Exchanges two names, which is one step to whoever looks.
    fn swap(a: &Path, b: &Path) {
        renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).expect("exchanged");
    }

    /// Runs `turn` for a while, and until it has met both, beside a thread that exchanges these two. Answers how often both
    /// ran. At the end everything is in its own place again.
    fn beside_a_swap(&self, swapped: [&str; 2], mut turn: impl FnMut() -> bool) -> (u64, u64) {
        let (is_over, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
        let [out, door] = swapped.map(|name| self.path(name));
        std::thread::scope(|scope| {
            let (is_over, counted) = (&is_over, &swaps);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    Ground::swap(&out, &door);
                    counted.fetch_add(1, Ordering::Relaxed);
                    // Both threads may share one processor, and each state has to be met.
                    std::thread::yield_now();
                }
                if counted.load(Ordering::Relaxed) % 2 == 1 {
                    Ground::swap(&out, &door);
                }
            });
            let _over = Over(is_over);
            let (begun, mut turns) = (Instant::now(), 0);
            let mut is_enough = false;
            while begun.elapsed() < length() || (!is_enough && begun.elapsed() < LONGEST) {
                is_enough = turn() && counted.load(Ordering::Relaxed) > 1_000;
                turns += 1;
                std::thread::yield_now();
            }
            (turns, counted.load(Ordering::Relaxed))
        })
    }
}

/// Ends the other thread, also when this one fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn ex_art_67_c_058_what_is_hashed_beside_a_swap_is_never_outside() {
    let ground = Ground::new();
    let checkout = Checkout::open(&ground.path("root"), &Host::system()).expect("a checkout");
    let (mut inside, mut refused) = (0_u64, 0_u64);
    let (turns, swaps) = ground.beside_a_swap(DIRECTORY_AND_LINK, || {
        for path in ["out/a", "out/deep/b"] {
            match checkout.hash(path) {
                Ok(hash) => {
                    assert_eq!(hash, Some(sha256(b"in")), "a file outside was read");
                    inside += 1;
                }
                Err(error) => {
                    assert_eq!(error.code(), Code::ExecutionResult, "{error}");
                    refused += 1;
                }
            }
        }
        inside > 0 && refused > 0
    });
    println!("{turns} turns, {swaps} swaps: {inside} read, {refused} refused");
    assert!(inside > 0 && refused > 0 && swaps > 1_000, "{inside} read, {refused} refused, {swaps} swaps");
}

/// The target itself. What the other thread makes of the names in the directory is its own affair; what it leads to is not.
#[test]
fn ex_art_67_a_target_that_is_exchanged_for_a_link_leads_nowhere() {
    let ground = Ground::new();
    std::os::unix::fs::symlink("../../outside/a", ground.path("root/out/l")).expect("linked");
    let before = ground.outside();
    let checkout = Checkout::open(&ground.path("root"), &Host::system()).expect("a checkout");
    let tree = Tree::of([Tracked::new("out/a", Mode::Regular)]);
    // What stands outside is named as what is expected: following the link once would be enough.
    let hash = |text: &str| sha256_hex(text.as_bytes());
    let files =
        json!([{ "path": "out/a", "beforeHash": hash("top"), "afterHash": hash("gone"), "text": "gone" }]);
    let files = Value::parse(&files.to_string()).expect("it is JSON");
    let manifest = validate_manifest(&files, &tree).expect("valid");
    let (mut inside, mut refused) = (0_u64, 0_u64);
    let (turns, swaps) = ground.beside_a_swap(["root/out/a", "root/out/l"], || {
        match checkout.hash("out/a") {
            Ok(hash) => {
                assert_eq!(hash, Some(sha256(b"in")), "a file outside was read");
                inside += 1;
            }
            Err(error) => {
                assert_eq!(error.code(), Code::ExecutionResult, "{error}");
                refused += 1;
            }
        }
        let error = apply(&checkout, &manifest, Start::Resumed).expect_err("it is not there");
        assert_eq!(error.code(), Code::ExecutionResult, "{error}");
        inside > 0 && refused > 0
    });
    println!("{turns} turns, {swaps} swaps: {inside} read, {refused} refused");
    assert!(inside > 0 && refused > 0 && swaps > 1_000, "{inside} read, {refused} refused, {swaps} swaps");
    assert_eq!(ground.outside(), before, "something outside was written");
}

#[test]
fn ex_art_67_what_is_applied_beside_a_swap_is_never_outside() {
    let ground = Ground::new();
    let before = ground.outside();
    let hash = |text: &str| sha256_hex(text.as_bytes());
    let change = |path: &str, before: &str, after: &str| json!({ "path": path, "beforeHash": hash(before), "afterHash": hash(after), "text": after });
    let tree = Tree::of(["out/a", "out/deep/b"].map(|path| Tracked::new(path, Mode::Regular)));
    let manifest = |from: &str, to: &str| {
        let files = json!([change("out/a", from, to), change("out/deep/b", from, to)]);
        validate_manifest(&Value::parse(&files.to_string()).expect("it is JSON"), &tree).expect("valid")
    };
    let there = manifest("in", "changed");
    let back = manifest("changed", "in");
    let checkout = Checkout::open(&ground.path("root"), &Host::system()).expect("a checkout");
    let (mut applied, mut refused, mut forward) = (0_u64, 0_u64, true);
    let (turns, swaps) = ground.beside_a_swap(DIRECTORY_AND_LINK, || {
        match apply(&checkout, if forward { &there } else { &back }, Start::Resumed) {
            Ok(_) => {
                applied += 1;
                forward = !forward;
            }
            Err(error) => {
                assert_eq!(error.code(), Code::ExecutionResult, "{error}");
                refused += 1;
            }
        }
        applied > 0 && refused > 0
    });
    println!("{turns} turns, {swaps} swaps: {applied} applied, {refused} refused");
    assert!(
        applied > 0 && refused > 0 && swaps > 1_000,
        "{applied} applied, {refused} refused, {swaps} swaps"
    );
    assert_eq!(ground.outside(), before, "something outside was written");

    // What was refused can be finished once nobody swaps, and nothing is left.
    let last = if forward { &there } else { &back };
    apply(&checkout, last, Start::Resumed).expect("applied");
    let wanted = if forward { "changed" } else { "in" };
    for path in ["root/out/a", "root/out/deep/b"] {
        assert_eq!(std::fs::read_to_string(ground.path(path)).expect("read"), wanted);
    }
    let names = |directory: &str| std::fs::read_dir(ground.path(directory)).expect("listed").count();
    assert_eq!((names("root"), names("root/out"), names("root/out/deep")), (2, 2, 1));
}
