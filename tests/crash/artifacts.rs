//! Applying a manifest: a crash, and a failure, at every operation, and again at every operation of what resumes it.

use std::collections::BTreeMap;
use std::path::Path;

use gallivant_core::Code;
use gallivant_core::artifacts::{
    Checkout, Manifest, Mode, Start, Tracked, Tree, apply, is_applied, validate_manifest,
};
use gallivant_core::digest::sha256_hex;
use gallivant_core::json::Value;
use gallivant_core::storage::FileType;
use gallivant_core::testing::{
    Action, Errno, Fault, FaultyFileSystem, OperationKind, Point, SeededRandom, Simulation, simulated_host,
};
use serde_json::json;

const ROOT: &str = "/home/checkout";
const STAGED: &str = ".gallivant-";

/// What stands in the checkout before and afterwards.
const BEFORE: [(&str, &str); 6] = [
    ("a", "old a"),
    ("d/b", "old b"),
    ("d/c", "old c"),
    ("gone/x/y", "old y"),
    ("run", "old run"),
    ("same", "same"),
];
const AFTER: [(&str, &str); 6] =
    [("a", "the new a"), ("d/b", ""), ("d/new", "n"), ("new/z/n", "n"), ("run", "new run"), ("same", "same")];

fn mode(path: &str) -> Mode {
    if path == "run" { Mode::Executable } else { Mode::Regular }
}

fn manifest() -> Manifest {
    let hash = |text: Option<&&str>| text.map(|text| sha256_hex(text.as_bytes()));
    let (before, after) = (BTreeMap::from(BEFORE), BTreeMap::from(AFTER));
    let paths: std::collections::BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let files: Vec<serde_json::Value> = paths
        .iter()
        .map(|path| {
            let (before, after) = (before.get(path), after.get(path));
            json!({ "path": path, "beforeHash": hash(before), "afterHash": hash(after), "text": after })
        })
        .collect();
    let files = Value::parse(&serde_json::Value::from(files).to_string()).expect("it is JSON");
    let tree: Vec<Tracked> = BEFORE.iter().map(|(path, _)| Tracked::new(path, mode(path))).collect();
    validate_manifest(&files, &Tree::of(tree)).expect("valid")
}

/// A process on a machine on which the checkout is durable.
fn prepared(exchanges: bool) -> Simulation {
    let (_, machine) = simulated_host(7);
    let files = &machine.files;
    for directory in ["/home", ROOT] {
        files.plant_directory(directory).expect("planted");
    }
    for directory in ["d", "gone", "gone/x"] {
        files.plant_directory(format!("{ROOT}/{directory}")).expect("planted");
    }
    for (path, text) in BEFORE {
        let full = format!("{ROOT}/{path}");
        files.plant_file(&full, text).expect("planted");
        let bits = if mode(path) == Mode::Executable { 0o755 } else { 0o644 };
        files.set_mode(&full, bits).expect("set");
    }
    files.set_exchange_supported(exchanges);
    files.sync_everything();
    machine.another_process()
}

fn applied(machine: &Simulation, start: Start) -> gallivant_core::Result<()> {
    let checkout = Checkout::open(Path::new(ROOT), &machine.host())?;
    apply(&checkout, &manifest(), start).map(drop)
}

/// All files of the checkout.
fn found(files: &FaultyFileSystem) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![String::new()];
    while let Some(directory) = pending.pop() {
        for name in files.names(format!("{ROOT}/{directory}")).expect("listed") {
            let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            let full = format!("{ROOT}/{path}");
            if files.metadata(&full).expect("there").file_type == FileType::Directory {
                pending.push(path);
            } else {
                let text = files.contents(&full).expect("read");
                found.insert(path, String::from_utf8_lossy(&text).into_owned());
            }
        }
    }
    found
}

fn wanted() -> BTreeMap<String, String> {
    AFTER.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// Every file is as it was or as it is to be, and what is not of the manifest is staged.
fn assert_whole(files: &FaultyFileSystem, at: &str) {
    let (before, after) = (BTreeMap::from(BEFORE), BTreeMap::from(AFTER));
    let found = found(files);
    for path in before.keys().chain(after.keys()) {
        let text = found.get(*path).map(String::as_str);
        let is_whole = text == before.get(path).copied() || text == after.get(path).copied();
        assert!(is_whole, "{at}: {path} holds {text:?}");
    }
    for path in found.keys() {
        let is_known = before.contains_key(path.as_str()) || after.contains_key(path.as_str());
        let name = path.rsplit('/').next().expect("a name");
        assert!(is_known || name.starts_with(STAGED), "{at}: {path}");
    }
}

fn assert_resumes(machine: &Simulation, at: &str) {
    assert_whole(&machine.files, at);
    applied(machine, Start::Resumed)
        .unwrap_or_else(|error| panic!("{at}: {error}: {:?}", found(&machine.files)));
    assert_eq!(found(&machine.files), wanted(), "{at}");
    let run = machine.files.metadata(format!("{ROOT}/run")).expect("there");
    assert_eq!(run.mode & 0o777, 0o755, "{at}");
    let checkout = Checkout::open(Path::new(ROOT), &machine.host()).expect("opened");
    assert!(is_applied(&checkout, &manifest()).expect("looked at"), "{at}");
}

fn operations(exchanges: bool) -> Vec<OperationKind> {
    let machine = prepared(exchanges);
    applied(&machine, Start::Fresh).expect("nothing fails");
    assert_eq!(found(&machine.files), wanted());
    machine.files.operations().iter().map(|operation| operation.kind).collect()
}

#[test]
fn ex_art_31_a_crash_at_any_operation_leaves_what_resumes() {
    let (mut points, mut images) = (0, 0);
    for exchanges in [true, false] {
        let kinds = operations(exchanges);
        for (number, kind) in (1..=kinds.len() as u64).zip(&kinds) {
            let at = format!("exchanges={exchanges}, operation {number} ({})", kind.word());
            let mut faults = vec![Fault::crash_after(number)];
            if kind.writes_bytes() {
                faults.push(Fault::new(Point::at(number), Action::Torn { bytes: 2 }).expect("a fault"));
            }
            for fault in faults {
                let crashing = prepared(exchanges);
                crashing.files.set_faults([fault]);
                // Removing directories that are empty afterwards is no part of what may fail.
                let _ = applied(&crashing, Start::Fresh);
                assert!(crashing.files.is_dead(), "{at}");
                points += 1;
                if kind.is_mutating() {
                    for image in crashing.files.images_after_crash().seeded(number, 4) {
                        images += 1;
                        let at = format!("{at}, {}", image.description);
                        let rebooted = crashing.rebooted(&image.files);
                        rebooted.files.set_exchange_supported(exchanges);
                        assert_resumes(&rebooted, &at);
                    }
                }
                assert_resumes(&crashing.another_process(), &at);
            }
        }
        // What has returned is there after a crash of the machine.
        let machine = prepared(exchanges);
        applied(&machine, Start::Fresh).expect("applied");
        for image in machine.files.images_after_crash().seeded(1, 16) {
            let mut files = found(&image.files);
            files.retain(|path, _| !path.starts_with("gone"));
            assert_eq!(files, wanted(), "{}", image.description);
        }
    }
    println!("{points} points, {images} images");
    assert!(points > 300 && images > 600, "only {points} points and {images} images");
}

#[test]
fn ex_art_31_what_resumes_may_crash_as_well() {
    let (mut points, random) = (0, SeededRandom::from_machine());
    println!("GALLIVANT_SEED={}", random.seed());
    for (number, kind) in (1..).zip(operations(true)) {
        if !kind.is_mutating() {
            continue;
        }
        let crashed = || {
            let machine = prepared(true);
            machine.files.set_faults([Fault::crash_after(number)]);
            let _ = applied(&machine, Start::Fresh);
            machine.another_process()
        };
        let whole = crashed();
        applied(&whole, Start::Resumed).expect("resumed");
        let last = whole.files.operations().len() as u64;
        // All pairs take minutes (`GALLIVANT_EVERY=1`); those of one seed are others than those of the next.
        let seconds: Vec<u64> = match std::env::var_os("GALLIVANT_EVERY") {
            Some(_) => (1..=last).collect(),
            None => (0..8).map(|_| 1 + random.below(last)).collect(),
        };
        for second in seconds {
            let machine = crashed();
            machine.files.set_faults([Fault::crash_after(second)]);
            let _ = applied(&machine, Start::Resumed);
            points += 1;
            assert_resumes(&machine.another_process(), &format!("operation {number}, then {second}"));
        }
    }
    assert!(points > 300, "only {points} points");
}

#[test]
fn ex_art_31_an_operation_that_fails_leaves_what_resumes() {
    let mut failed = 0;
    for exchanges in [true, false] {
        for (number, kind) in (1..).zip(operations(exchanges)) {
            let short = kind.writes_bytes().then_some(Action::Short { bytes: 1, errno: Errno::ENOSPC });
            for action in [Action::Error(Errno::EIO)].into_iter().chain(short) {
                let at = format!("exchanges={exchanges}, operation {number} ({}), {action:?}", kind.word());
                let machine = prepared(exchanges);
                machine.files.set_faults([Fault::new(Point::at(number), action).expect("a fault")]);
                if let Err(error) = applied(&machine, Start::Fresh) {
                    failed += 1;
                    assert_eq!(
                        (error.code(), error.reason()),
                        (Code::ExecutionIo, Some("tree")),
                        "{at}: {error}"
                    );
                }
                machine.files.set_faults([]);
                assert_resumes(&machine, &at);
            }
        }
    }
    assert!(failed > 100, "only {failed} calls failed");
}
