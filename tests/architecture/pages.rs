//! The table of error codes, and what is made from it.

use std::collections::BTreeSet;

use gallivant_core::{Code, Kind};

use crate::{root, text};

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let mut pages = BTreeSet::new();
    for entry in std::fs::read_dir(root().join("docs/errors")).expect("docs/errors") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        pages.insert(name.trim_end_matches(".md").to_owned());
    }
    let codes: BTreeSet<String> = Code::ALL.iter().map(|code| code.name().to_owned()).collect();
    assert_eq!(pages, codes);
    for code in Code::ALL {
        let page = code.page();
        assert!(page.starts_with(&format!("# {}\n", code.name())), "{}", code.name());
        for part in ["## What it means", "## What is true on disk now", "## What to do"] {
            let body = page.split(part).nth(1).unwrap_or_else(|| panic!("{} lacks `{part}`", code.name()));
            let body = body.split("\n## ").next().unwrap_or_default();
            assert!(body.trim().len() > 20, "{}: `{part}` says nothing", code.name());
        }
        assert!(page.contains(code.kind().name()), "{} does not say its kind", code.name());
        assert!(page.contains(&code.number().to_string()), "{} does not say its number", code.name());
    }
}

#[test]
fn codes_are_named_numbered_and_worded_by_the_rules() {
    let mut numbers = BTreeSet::new();
    let mut last = 0;
    for code in Code::ALL {
        let name = code.name();
        let (prefix, range) = if name.starts_with("HARNESS_STATE_") {
            ("HARNESS_STATE_", 100..200)
        } else if name.starts_with("EXECUTION_") {
            ("EXECUTION_", 200..300)
        } else {
            ("GALLIVANT_", 1..100)
        };
        assert!(
            name.starts_with(prefix) && name.chars().all(|c| c.is_ascii_uppercase() || c == '_'),
            "{name}"
        );
        assert!(range.contains(&code.number()), "{name}");
        assert!(
            numbers.insert(code.number()) && code.number() > last,
            "{name}: numbers ascend and are never reused"
        );
        last = code.number();
        assert!(Kind::ALL.contains(&code.kind()));
        assert_eq!(Code::from_name(name), Some(*code));
        let remedy = code.remedy();
        assert!(!remedy.is_empty() && !remedy.ends_with('.') && !remedy.contains('\n'), "{name}: {remedy}");
    }
    for word in [
        "unknown-state",
        "unfenced",
        "unknown-ask",
        "ask-without-human",
        "reserved-reason",
        "empty-token",
        "bad-token",
        "sequence-exhausted",
        "busy",
        "locking",
        "io",
        "input",
    ] {
        assert!(Code::ALL.iter().any(|code| code.word() == word), "{word}");
    }
}

#[test]
fn every_language_names_every_code() {
    let header = text("include/gallivant.h".as_ref());
    let python = text("bindings-python/python/gallivant/_native.pyi".as_ref())
        + &text("bindings-python/python/gallivant/__init__.py".as_ref());
    let node = text("bindings-node/lib/index.d.ts".as_ref());
    for code in Code::ALL {
        let name = code.name();
        assert!(header.contains(name.trim_start_matches("GALLIVANT_")), "the header lacks {name}");
        assert!(node.contains(&format!("'{name}'")), "the Node types lack {name}");
        let class: String = name
            .trim_start_matches("GALLIVANT_")
            .split('_')
            .map(|part| part[..1].to_owned() + &part[1..].to_ascii_lowercase())
            .collect();
        assert!(python.contains(&class) || python.contains(name), "Python lacks {class} for {name}");
    }
}
