//! Every clause of a specification that is built has a test with its number in its name.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{files_below, text};

/// The specifications that this version builds, each of them whole.
const BUILT: [&str; 3] = ["docs/spec/harness-state.md", "docs/spec/idempotency.md", "docs/spec/execution.md"];

/// A clause's number as the names of tests spell it.
fn spelled(clause: &str) -> String {
    clause.to_ascii_lowercase().replace('-', "_")
}

/// The numbers at the beginnings of table rows and of list items, as tests spell them.
fn clauses(specification: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in specification.lines() {
        let Some(rest) = line.strip_prefix("| ").or_else(|| line.strip_prefix("- **")) else { continue };
        let number: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let is_clause = number.split_once('-').is_some_and(|(domain, rest)| {
            !domain.is_empty()
                && domain.chars().all(|c| c.is_ascii_uppercase())
                && rest
                    .trim_start_matches(|c: char| c.is_ascii_uppercase() || c == '-')
                    .starts_with(|c: char| c.is_ascii_digit())
        });
        if is_clause {
            found.insert(spelled(&number));
        }
    }
    found
}

/// The clause numbers in the names of tests, in every language.
fn tested() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let of_the_command_line = files_below("cli/tests", &[".rs"]);
    for path in files_below("tests", &[".rs", ".py", ".c"]).into_iter().chain(of_the_command_line) {
        for line in text(&path).lines() {
            let Some(name) =
                line.trim_start().strip_prefix("fn ").or_else(|| line.trim_start().strip_prefix("def test_"))
            else {
                continue;
            };
            // `hs_38_…` and `ex_cur_18_…`: the number is the first part with a digit.
            let parts: Vec<_> = name.split(['_', '(']).take(3).collect();
            let number = parts.iter().position(|part| part.starts_with(|c: char| c.is_ascii_digit()));
            if let Some(at @ 1..) = number {
                found.insert(parts[..=at].join("_"));
            }
        }
    }
    found
}

/// The clauses of a specification that say themselves that they are not the library's.
fn duties_of_others(specification: &str) -> BTreeSet<String> {
    let marked = |line: &&str| line.contains("** [C]") || line.contains("** outside: ");
    specification.lines().filter(marked).flat_map(clauses).collect()
}

#[test]
fn every_built_clause_has_a_test_with_its_number() {
    let tested = tested();
    let exempt = clauses(&text(Path::new("tests/conformance/exempt.md")));
    let mut duties = BTreeSet::new();
    for specification in BUILT {
        let specification_text = text(Path::new(specification));
        let clauses = clauses(&specification_text);
        duties.extend(duties_of_others(&specification_text));
        assert!(clauses.len() > 20, "{specification}: only {} clauses were recognised", clauses.len());
        let missing: Vec<_> =
            clauses.difference(&exempt).filter(|clause| !tested.contains(*clause)).collect();
        assert!(missing.is_empty(), "{specification}: no test for {missing:?}");
    }
    let done: Vec<_> = exempt.intersection(&tested).collect();
    assert!(done.is_empty(), "exempt and tested: {done:?}");
    let ours: Vec<_> = exempt.difference(&duties).collect();
    assert!(ours.is_empty(), "exempt, and no specification marks them as duties of others: {ours:?}");
}

#[test]
fn a_test_names_no_clause_that_does_not_exist() {
    let known = BUILT.into_iter().flat_map(|specification| clauses(&text(Path::new(specification))));
    let clauses: BTreeSet<String> = known.collect();
    let strangers: Vec<_> = tested()
        .into_iter()
        .filter(|name| ["hs_", "hsi_", "ex_"].iter().any(|domain| name.starts_with(domain)))
        .filter(|name| !clauses.contains(name))
        .collect();
    assert!(strangers.is_empty(), "{strangers:?}");
}
