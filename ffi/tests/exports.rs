//! What the library exports, and that each export stands behind the barrier.
#![allow(clippy::disallowed_methods, reason = "the test reads the sources and the list of symbols")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

/// The names in ffi/symbols.txt, which is the promise of the binary interface: a line may be added, none be removed
/// or changed within one soname.
fn listed() -> BTreeSet<String> {
    let list = read(package().join("symbols.txt"));
    assert!(list.lines().is_sorted(), "the list is in order");
    list.lines().map(str::to_owned).collect()
}

/// Every exported function of the sources: its file, its name, and its text up to the closing brace.
fn exports() -> Vec<(PathBuf, String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![package().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = read(&path);
            for part in source.split("#[unsafe(no_mangle)]\n").skip(1) {
                let text = part.split("\n}\n").next().expect("never empty").to_owned();
                let name = text.split("extern \"C\" fn ").nth(1).expect("a function of C").split('(');
                let name = name.clone().next().expect("never empty").to_owned();
                found.push((path.clone(), name, text));
            }
            assert_eq!(
                source.matches("pub extern \"C\" fn").count()
                    + source.matches("pub unsafe extern \"C\" fn").count(),
                source.matches("#[unsafe(no_mangle)]").count(),
                "{}: exported and unmangled are the same functions",
                path.display()
            );
        }
    }
    found
}

#[test]
fn every_export_runs_its_whole_body_inside_the_barrier() {
    let all = exports();
    assert!(all.len() > 50, "the sources were found");
    for (path, name, text) in all {
        let (_, body) = text.split_once(" {\n").expect("a body");
        let code: Vec<&str> = body
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with("//") && !line.starts_with("static ") && *line != "unsafe {")
            .collect();
        let first = code.first().copied().unwrap_or_default();
        let outer = first.strip_prefix("unsafe { ").unwrap_or(first);
        let barrier =
            if text.contains("error: *mut *mut gallivant_error") { "call(error, " } else { "answer(|| " };
        assert!(outer.starts_with(barrier), "{}: {name} begins with `{first}`", path.display());
        // The barrier is the body's only statement.
        let statements = body.lines().filter(|line| line.starts_with("    ") && !line.starts_with("     "));
        let statements = statements.filter(|line| {
            let line = line.trim();
            !line.starts_with("//") && !line.starts_with("static ") && !line.starts_with('}')
        });
        assert_eq!(statements.count(), 1, "{}: {name} does something outside the barrier", path.display());
    }
}

#[test]
fn the_sources_export_what_is_listed() {
    let names: BTreeSet<String> = exports().into_iter().map(|(_, name, _)| name).collect();
    assert_eq!(names, listed());
    assert!(names.iter().all(|name| name.starts_with("gallivant_")));
}

/// The shared library that cargo has built for this very test run.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let folder = test.parent().expect("the folder of tests");
    let beside = folder.join("libgallivant.so");
    if beside.exists() { beside } else { folder.with_file_name("libgallivant.so") }
}

#[cfg(target_os = "linux")]
#[test]
fn the_shared_library_exports_what_is_listed_and_nothing_else() {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library()).output().expect("nm runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).expect("UTF-8");
    let names = table.lines().filter_map(|line| line.split_whitespace().nth(2));
    assert_eq!(names.map(str::to_owned).collect::<BTreeSet<_>>(), listed());
}

#[cfg(target_os = "linux")]
#[test]
fn the_soname_carries_the_major_version() {
    let output = Command::new("readelf").arg("-d").arg(library()).output().expect("readelf runs");
    let table = String::from_utf8(output.stdout).expect("UTF-8");
    let soname = format!("[libgallivant.so.{}]", env!("CARGO_PKG_VERSION_MAJOR"));
    assert!(table.lines().any(|line| line.contains("SONAME") && line.contains(&soname)), "{table}");
}
