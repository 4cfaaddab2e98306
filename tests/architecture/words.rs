//! The page of words has every word of the code, in its table, and no other.

use std::path::Path;

use gallivant_core::execution::{PROVIDER_STATES, ProviderState};
use gallivant_core::harness_state::adapters::{ChildStep, Ignored};
use gallivant_core::harness_state::{Evidence, Noticing, Refusal, Skip, State, UnknownReason};
use gallivant_core::journal::{GapReason, How, Provenance};

use crate::text;

const PAGE: &str = "docs/guides/words.md";

/// The rows of a section's table: word, meaning, what to do.
fn rows(page: &str, section: &str) -> Vec<[String; 3]> {
    let body = page.split(&format!("\n## {section}\n")).nth(1).unwrap_or_else(|| panic!("no `{section}`"));
    let body = body.split("\n## ").next().unwrap_or_default();
    body.lines()
        .filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"))
        .map(|row| {
            let cells: Vec<_> = row.split(" | ").map(|cell| cell.trim_end_matches('`').to_owned()).collect();
            cells.try_into().unwrap_or_else(|cells| panic!("{section}: {cells:?}"))
        })
        .collect()
}

fn assert_table<T: Copy>(section: &str, all: &[T], word: impl Fn(T) -> &'static str) {
    let rows = rows(&text(Path::new(PAGE)), section);
    let listed: Vec<_> = rows.iter().map(|[word, ..]| word.as_str()).collect();
    let mut wanted: Vec<_> = all.iter().map(|value| word(*value)).collect();
    let mut sorted = listed.clone();
    sorted.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(sorted, wanted, "{PAGE}, {section}");
    for [word, means, helps] in &rows {
        assert!(means.len() > 10 && helps.len() > 3, "{PAGE}, {section}: `{word}` says nothing");
    }
}

#[test]
fn every_word_of_the_code_has_its_row() {
    assert_table("States", State::ALL, State::word);
    assert_table("Unknown reasons", UnknownReason::ALL, UnknownReason::word);
    assert_table("Refusals", Refusal::ALL, Refusal::word);
    assert_table("Skips", Skip::ALL, Skip::word);
    assert_table("Ignored events", Ignored::ALL, Ignored::word);
    let evidence: Vec<_> = Evidence::ALL.iter().copied().filter(|word| *word != Evidence::Unknown).collect();
    assert_table("Evidence", &evidence, Evidence::word);
    assert_table("Child steps", ChildStep::ALL, ChildStep::word);
    assert_table("Noticing", Noticing::ALL, Noticing::word);
    assert_table("Gap reasons", GapReason::ALL, GapReason::word);
    assert_table("Provenance", Provenance::ALL, Provenance::word);
    assert_table("Placed", How::ALL, How::word);
    assert_table("Provider states", PROVIDER_STATES, ProviderState::word);
}

#[test]
fn every_guide_and_the_readme_lead_to_the_page() {
    for (page, link) in [
        ("README.md", "(docs/guides/words.md)"),
        ("docs/c-api.md", "(guides/words.md)"),
        ("docs/guides/python.md", "(words.md)"),
        ("docs/guides/node.md", "(words.md)"),
        ("docs/guides/claude-code.md", "(words.md)"),
        ("docs/guides/codex.md", "(words.md)"),
    ] {
        assert!(text(Path::new(page)).contains(link), "{page} has no link {link}");
    }
}
