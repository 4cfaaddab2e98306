//! The house rules that a machine can check.
#![allow(missing_docs, reason = "a test's name says what it shows")]
#![allow(clippy::disallowed_methods, reason = "the tests read the source tree")]

mod clauses;
mod imports;
mod manifests;
mod pages;
mod tidy;
mod words;

use std::path::{Path, PathBuf};

/// The root of the source tree.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is below the root").to_path_buf()
}

/// Every file that belongs to the project below a folder, by its path from the root. Build products are left out.
fn files_below(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    const NOT_OURS: [&str; 6] = ["target", "node_modules", ".git", "__pycache__", "dist", "vectors"];
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().expect("a type");
            if kind.is_dir() && !NOT_OURS.contains(&name.as_str()) {
                folders.push(path);
            } else if kind.is_file() && endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path.strip_prefix(root()).expect("below the root").to_path_buf());
            }
        }
    }
    found.sort();
    found
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
