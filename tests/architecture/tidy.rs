//! File length, module comments, nothing left open, nothing that does not belong.

use std::path::Path;

use crate::{files_below, text};

/// The hard limit; 150 to 500 is the aim.
const MOST_LINES: usize = 600;
const SOURCES: &[&str] = &[".rs", ".py", ".js", ".cjs", ".mjs", ".ts", ".c", ".h", ".sh"];

fn is_generated(path: &Path) -> bool {
    path == Path::new("include/gallivant.h") || path.to_string_lossy().ends_with("_native.pyi")
}

#[test]
fn no_file_is_longer_than_the_limit() {
    let long: Vec<String> = files_below("", SOURCES)
        .iter()
        .filter(|path| !is_generated(path))
        .map(|path| (text(path).lines().count(), path))
        .filter(|(lines, _)| *lines > MOST_LINES)
        .map(|(lines, path)| format!("{} has {lines} lines", path.display()))
        .collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn every_module_says_what_it_is_for() {
    for path in files_below("", &[".rs"]) {
        assert!(text(&path).starts_with("//! "), "{} does not begin with a module comment", path.display());
    }
    for path in files_below("", &[".py"]) {
        let source = text(&path);
        let first = source.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
        assert!(first.starts_with("\"\"\""), "{} does not begin with a docstring", path.display());
    }
}

#[test]
fn nothing_is_left_open_and_nothing_of_the_workshop_is_left_behind() {
    let open = ["todo!(", "unimplemented!(", "FIXME", "XXX:", "TODO"];
    let foreign = ["/work/", "/root/", "/home/runner"];
    let mut found = Vec::new();
    for path in
        files_below("", &[".rs", ".py", ".js", ".cjs", ".mjs", ".ts", ".c", ".h", ".sh", ".md", ".toml"])
    {
        // This file spells what it looks for; the specification is copied whole.
        if path.ends_with("architecture/tidy.rs") || path.starts_with("docs/spec") {
            continue;
        }
        for (number, line) in text(&path).lines().enumerate() {
            if open.iter().chain(&foreign).any(|word| line.contains(word)) {
                found.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
