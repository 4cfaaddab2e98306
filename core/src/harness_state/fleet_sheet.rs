//! What a read of a fleet found, in little memory: for bindings, which make their own values of it when they are asked for.

use super::derive::DerivedRef;
use super::fleet::EntryRef;

/// How many entries there is room for at first, and for how many bytes of texts of each: a path and a token.
const ROOM: usize = 128;
const TEXTS_A_ROW: usize = 64;

/// Entries of a fleet in the order of their paths. All their texts are in one, so that ten thousand take a few allocations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetSheet {
    texts: String,
    rows: Vec<Row>,
}

/// One entry. Its texts stand among those of the sheet, from its begin on and in this order; the conclusion has none.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    begin: usize,
    path: usize,
    exit: Option<usize>,
    reason: Option<usize>,
    harness: Option<usize>,
    evidence_incarnation: Option<usize>,
    derived: DerivedRef<'static>,
}

impl FleetSheet {
    /// Adds an entry, of which the record is not kept.
    pub fn push(&mut self, entry: &EntryRef<'_>) {
        if self.rows.is_empty() {
            self.rows.reserve(ROOM);
            self.texts.reserve(ROOM * TEXTS_A_ROW);
        }
        let begin = self.texts.len();
        let mut keep = |text: &str| {
            self.texts.push_str(text);
            text.len()
        };
        let derived = &entry.derived;
        self.rows.push(Row {
            begin,
            path: keep(entry.path),
            exit: derived.exit.map(&mut keep),
            reason: derived.reason.map(&mut keep),
            harness: derived.harness.map(&mut keep),
            evidence_incarnation: derived.evidence_incarnation.map(&mut keep),
            derived: without_texts(derived),
        });
    }

    /// Adds the entries of another sheet.
    pub fn append(&mut self, other: &FleetSheet) {
        let before = self.texts.len();
        self.texts.push_str(&other.texts);
        self.rows.extend(other.rows.iter().map(|row| Row { begin: before + row.begin, ..row.clone() }));
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The path of an entry, and what may be concluded of it; none past the last one.
    #[must_use]
    pub fn get(&self, position: usize) -> Option<(&str, DerivedRef<'_>)> {
        let row = self.rows.get(position)?;
        let mut rest = &self.texts[row.begin..];
        let mut next = |length: usize| {
            let (text, others) = rest.split_at(length);
            rest = others;
            text
        };
        let path = next(row.path);
        let (exit, reason) = (row.exit.map(&mut next), row.reason.map(&mut next));
        let (harness, evidence_incarnation) =
            (row.harness.map(&mut next), row.evidence_incarnation.map(&mut next));
        Some((path, DerivedRef { exit, reason, harness, evidence_incarnation, ..row.derived }))
    }

    /// The entries, as [`FleetSheet::get`] answers them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, DerivedRef<'_>)> {
        (0..self.len()).filter_map(|position| self.get(position))
    }

    /// The first entries, by their number.
    #[must_use]
    pub fn first(&self, entries: usize) -> FleetSheet {
        let rows = &self.rows[..entries.min(self.rows.len())];
        let end = self.rows.get(rows.len()).map_or(self.texts.len(), |next| next.begin);
        FleetSheet { texts: self.texts[..end].to_owned(), rows: rows.to_vec() }
    }
}

/// The same without what has to be lent.
fn without_texts(derived: &DerivedRef<'_>) -> DerivedRef<'static> {
    DerivedRef {
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
    }
}

/// What a read found, beside what the read before it found.
#[derive(Debug)]
pub struct FleetComparison<'a> {
    before: &'a FleetSheet,
    same: usize,
    anew: Option<FleetSheet>,
}

impl<'a> FleetComparison<'a> {
    /// Begins a read after one that found this.
    #[must_use]
    pub fn with(before: &'a FleetSheet) -> Self {
        FleetComparison { before, same: 0, anew: None }
    }

    /// Adds an entry. As long as each is the one that was there before, nothing is copied.
    pub fn push(&mut self, entry: &EntryRef<'_>) {
        if let Some(anew) = &mut self.anew {
            return anew.push(entry);
        }
        if self.before.get(self.same) == Some((entry.path, entry.derived)) {
            self.same += 1;
        } else {
            self.anew.insert(self.before.first(self.same)).push(entry);
        }
    }

    /// What this read found; none where that is exactly what was found before.
    #[must_use]
    pub fn into_changed(self) -> Option<FleetSheet> {
        let fewer = self.same < self.before.len();
        self.anew.or_else(|| fewer.then(|| self.before.first(self.same)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness_state::{Ask, BlockedOn, InputBuffer, State};

    fn derived<'a>(exit: Option<&'a str>, harness: Option<&'a str>) -> DerivedRef<'a> {
        DerivedRef {
            state: State::Idle,
            blocked_on: BlockedOn::None,
            input_buffer: InputBuffer::Empty,
            ask: Ask::None,
            since_ms: Some(1),
            exit,
            reason: None,
            harness,
            observed_at_ms: Some(2),
            ownership_sequence: None,
            transition_sequence: Some(3),
            evidence_incarnation: Some("token"),
            valid_until_ms: None,
            unknown: None,
        }
    }

    fn entries() -> [EntryRef<'static>; 3] {
        [("a", None, Some("codex")), ("a/ä", Some(""), None), ("b", Some("exit 0"), Some(""))]
            .map(|(path, exit, harness)| EntryRef { path, derived: derived(exit, harness), record: None })
    }

    fn sheet(entries: &[EntryRef<'_>]) -> FleetSheet {
        let mut sheet = FleetSheet::default();
        entries.iter().for_each(|entry| sheet.push(entry));
        sheet
    }

    fn read_after(before: &FleetSheet, entries: &[EntryRef<'_>]) -> Option<FleetSheet> {
        let mut comparison = FleetComparison::with(before);
        entries.iter().for_each(|entry| comparison.push(entry));
        comparison.into_changed()
    }

    #[test]
    fn a_sheet_answers_what_was_added_and_appended() {
        let all = entries();
        let mut joined = sheet(&all[..1]);
        joined.append(&sheet(&all[1..]));
        assert_eq!(joined, sheet(&all));
        assert_eq!(joined.first(2), sheet(&all[..2]));
        assert!(joined.iter().eq(all.iter().map(|entry| (entry.path, entry.derived))));
        assert_eq!((joined.len(), joined.get(3)), (3, None));
    }

    #[test]
    fn a_read_is_another_where_any_entry_is_another_more_or_fewer() {
        let all = entries();
        let before = sheet(&all);
        assert_eq!(read_after(&before, &all), None);
        for less in 0..all.len() {
            assert_eq!(read_after(&before, &all[..less]), Some(sheet(&all[..less])), "{less}");
            assert_eq!(read_after(&sheet(&all[..less]), &all), Some(before.clone()), "{less}");
        }
        for changed in 0..all.len() {
            let mut others = all;
            others[changed].derived.transition_sequence = Some(4);
            assert_eq!(read_after(&before, &others), Some(sheet(&others)), "{changed}");
        }
    }
}
