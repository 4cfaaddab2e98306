//! What packagers make of the program.

use crate::{arguments, call};

#[test]
fn completions_and_manual_pages_are_made_of_the_same_texts() {
    for shell in ["bash", "zsh", "fish"] {
        let called = call(["pages", "completions", shell]).with_status(0);
        assert!(called.out.contains("gallivant") && called.out.contains("unresolved"), "{shell}");
    }
    let root = tempfile::tempdir().expect("a directory");
    call(arguments!["pages", "man", root.path()]).with_status(0);
    let page = std::fs::read_to_string(root.path().join("gallivant-wrap.1")).expect("a page");
    assert!(page.contains("Run a program as an agent"), "{page}");
}

#[test]
fn help_names_every_status_and_goes_to_standard_output() {
    let called = call(["--help"]).with_status(0);
    assert!(called.out.contains("Exit status") && called.err.is_empty());
    let called = call(["--version"]).with_status(0);
    assert_eq!(called.out.trim(), format!("gallivant {}", gallivant_core::VERSION));
    let called = call(["nonsense"]).with_status(2);
    assert!(called.out.is_empty() && !called.err.is_empty());
}
