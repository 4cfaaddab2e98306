//! Every C snippet of docs/c-api.md is a part of a file that is compiled and run, and every name in it and on the man page is in
//! the header.
#![allow(clippy::disallowed_methods, reason = "the test reads the documentation")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_snippet_is_a_part_of_its_file() {
    let page = read("docs/c-api.md");
    let mut snippets = 0;
    for (before, block) in page.split("```c\n").zip(page.split("```c\n").skip(1)) {
        let named = before.lines().last().and_then(|line| line.strip_prefix("<!-- ")?.strip_suffix(" -->"));
        let file = named.unwrap_or_else(|| panic!("a snippet names no file: {block}"));
        assert!(
            file.starts_with("tests/c/snippets/") || file.starts_with("examples/"),
            "{file} is not compiled"
        );
        let snippet = block.split("```").next().expect("never empty");
        assert!(read(file).contains(snippet), "{file} does not hold this snippet:\n{snippet}");
        snippets += 1;
    }
    assert!(snippets > 5, "the snippets were found");
}

/// The words of a text that begin with the prefix of the library, in either case.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("gallivant_") || word.starts_with("GALLIVANT_")).collect()
}

#[test]
fn every_name_on_the_page_is_in_the_header() {
    let (page, header) = (read("docs/c-api.md"), read("include/gallivant.h"));
    let known = names(&header);
    for name in names(&page) {
        assert!(known.contains(name) || name == "gallivant_", "{name} is not in the header");
    }
}

#[test]
fn every_name_on_the_man_page_is_in_the_header() {
    let (page, header) = (read("ffi/gallivant.3"), read("include/gallivant.h"));
    let known = names(&header);
    let all = names(&page);
    for name in &all {
        // The families of functions are named by what they begin with.
        let is_family = name.ends_with('_') || *name == "gallivant_redact";
        let fits = |full: &&str| if is_family { full.starts_with(name) } else { full == name };
        assert!(known.iter().any(fits), "{name} is not in the header");
    }
    assert!(all.len() > 10, "the names were found");
}

#[test]
fn every_handle_of_the_header_is_in_the_table() {
    let (page, header) = (read("docs/c-api.md"), read("include/gallivant.h"));
    let handles = header.lines().filter_map(|line| {
        let name = line.strip_prefix("typedef struct ")?.strip_suffix(';')?.split(' ').next()?;
        Some(name.strip_prefix("gallivant_harness_state").unwrap_or(name))
    });
    let table: String = page.lines().filter(|line| line.starts_with("| `gallivant_")).collect();
    let mut count = 0;
    for handle in handles {
        assert!(table.contains(&format!("{handle}`")), "{handle} has no row");
        count += 1;
    }
    assert!(count > 8, "the handles were found");
}
