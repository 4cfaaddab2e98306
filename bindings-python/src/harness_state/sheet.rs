//! What a read of a fleet found, in little memory: all texts in one, and the rest in rows.
//!
//! Python's objects are made from it when they are asked for. Ten thousand owned conclusions would be made and dropped
//! around them each time.

use std::ops::Range;

use gallivant_core::harness_state::{DerivedRef, EntryRef};

/// Many places and what may be concluded of each.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    texts: String,
    rows: Vec<Row>,
}

/// Its texts are elsewhere, and the conclusion has none.
#[derive(Debug)]
struct Row {
    path: Range<usize>,
    exit: Option<Range<usize>>,
    reason: Option<Range<usize>>,
    harness: Option<Range<usize>>,
    evidence_incarnation: Option<Range<usize>>,
    derived: DerivedRef<'static>,
}

impl Sheet {
    /// Adds a place.
    pub(super) fn push(&mut self, entry: &EntryRef<'_>) {
        let mut keep = |text: &str| {
            let begin = self.texts.len();
            self.texts.push_str(text);
            begin..self.texts.len()
        };
        let derived = entry.derived;
        self.rows.push(Row {
            path: keep(entry.path),
            exit: derived.exit.map(&mut keep),
            reason: derived.reason.map(&mut keep),
            harness: derived.harness.map(&mut keep),
            evidence_incarnation: derived.evidence_incarnation.map(&mut keep),
            derived: DerivedRef {
                state: derived.state,
                blocked_on: derived.blocked_on,
                input_buffer: derived.input_buffer,
                ask: derived.ask,
                since_ms: derived.since_ms,
                exit: None,
                reason: None,
                harness: None,
                observed_at_ms: derived.observed_at_ms,
                ownership_sequence: derived.ownership_sequence,
                transition_sequence: derived.transition_sequence,
                evidence_incarnation: None,
                valid_until_ms: derived.valid_until_ms,
                unknown: derived.unknown,
            },
        });
    }

    /// How many places there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The path of a place.
    pub(super) fn path(&self, position: usize) -> &str {
        &self.texts[self.rows[position].path.clone()]
    }

    /// What may be concluded of a place.
    pub(super) fn derived(&self, position: usize) -> DerivedRef<'_> {
        let row = &self.rows[position];
        let text = |place: &Option<Range<usize>>| place.clone().map(|place| &self.texts[place]);
        DerivedRef {
            exit: text(&row.exit),
            reason: text(&row.reason),
            harness: text(&row.harness),
            evidence_incarnation: text(&row.evidence_incarnation),
            ..row.derived
        }
    }
}
