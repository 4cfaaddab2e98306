//! What of a log a user interface shows: bounded rows, and what has to be read again (EX-JRN-73 to EX-JRN-76).
//!
//! A pure data structure: it reads nothing and waits for nothing. Rows that came while nobody painted wait; what does not
//! fit is let go of and remembered as a stretch to read again. What history gives is merged by event and position, so
//! that a part that is shown already is never shown twice.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use super::window::{Row, RowContent};

/// The most rows that were painted as they came.
pub const MAX_LIVE_ROWS: usize = 2_000;
/// The most rows that came from history.
pub const MAX_HISTORY_ROWS: usize = 2_000;
/// The most rows that wait for being painted.
pub const MAX_PENDING_ROWS: usize = 400;
/// The most stretches that are to be read again.
pub const MAX_RECOVERIES: usize = 2;

/// One line of a row, as it is displayed (EX-JRN-73).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The row's id.
    pub id: String,
    /// Which part of the row it is, from 0.
    pub position: u32,
    /// What it shows.
    pub text: String,
    /// Whether it stands for something that is missing.
    pub is_gap: bool,
}

/// A part's place among all parts of a log: the number in the row's id, and the position.
type Place = (u64, u32);

/// Splits a row at its line ends. A gap is one part. A row without an id has no place and no parts.
#[must_use]
pub fn split(row: &Row) -> Vec<Part> {
    let Some(id) = &row.id else { return Vec::new() };
    let part =
        |position, text: &str, is_gap| Part { id: id.clone(), position, text: text.to_owned(), is_gap };
    match &row.content {
        RowContent::Gap(reason) => vec![part(0, reason.map_or("", |reason| reason.word()), true)],
        RowContent::Line(text) => {
            (0..).zip(text.split('\n')).map(|(position, line)| part(position, line, false)).collect()
        }
    }
}

/// The rows that a user interface shows.
#[derive(Clone, Debug, Default)]
pub struct DisplayWindow {
    history: BTreeMap<Place, Part>,
    live: BTreeMap<Place, Part>,
    pending: BTreeMap<Place, Part>,
    lost: Vec<(Place, Place)>,
    oldest: Option<String>,
    is_closed: bool,
}

impl DisplayWindow {
    /// An empty window.
    #[must_use]
    pub fn new() -> Self {
        DisplayWindow::default()
    }

    /// Takes in a part that has just come. It waits until [`DisplayWindow::paint`]. Where too many wait, the oldest of them
    /// is let go of and is to be read again.
    pub fn push(&mut self, part: Part) {
        let Some(place) = place_of(&part).filter(|place| !self.is_closed && !self.shows(*place)) else {
            return;
        };
        self.pending.entry(place).or_insert(part);
        while self.pending.len() > MAX_PENDING_ROWS {
            if let Some((place, _)) = self.pending.pop_first() {
                self.lose(place);
            }
        }
    }

    /// Paints what waits, and answers how many parts that were.
    pub fn paint(&mut self) -> usize {
        let painted = self.pending.len();
        self.live.append(&mut self.pending);
        self.bound_live();
        painted
    }

    /// Merges a window of history: `parts` as [`LogReader::history`](super::LogReader::history) gave them for the cursor
    /// `asked`, and the cursor that came with them. Parts that are missing are added, also of an event of which another
    /// part is there; none is doubled (EX-JRN-75). After a read of history that failed there is nothing to merge, and its
    /// cursor stays (EX-JRN-76).
    pub fn merge(&mut self, parts: Vec<Part>, asked: Option<&str>, before: Option<&str>) {
        if self.is_closed {
            return;
        }
        let asked_for_older = asked.is_some() && asked == self.oldest.as_deref();
        if asked_for_older || self.oldest.is_none() {
            self.oldest = before.map(str::to_owned);
        }
        let places: Vec<Place> = parts.iter().filter_map(place_of).collect();
        if let Some(from) = places.iter().min() {
            let until = asked.and_then(number_of).map_or((u64::MAX, u32::MAX), |number| (number, 0));
            self.found_again((from.0, 0), until);
        }
        let first_live = self.live.first_key_value().map(|(place, _)| *place);
        for (place, part) in parts.into_iter().filter_map(|part| Some((place_of(&part)?, part))) {
            if self.shows(place) {
                continue;
            }
            let rows = if first_live.is_some_and(|first| place > first) {
                &mut self.live
            } else {
                &mut self.history
            };
            rows.insert(place, part);
        }
        self.bound_live();
        while self.history.len() > MAX_HISTORY_ROWS {
            // Who scrolls up goes away from the newer end of history, who fills a stretch again from the older one.
            let evicted = if asked_for_older { self.history.pop_last() } else { self.history.pop_first() };
            let Some((place, _)) = evicted else { break };
            if asked_for_older {
                self.lose(place);
            } else {
                let next = self.history.range((Excluded((place.0, u32::MAX)), Unbounded)).next();
                self.oldest = next.map(|(_, part)| part.id.clone());
            }
        }
    }

    /// Forgets what waits, and takes in nothing any more (EX-JRN-76). What is painted stays.
    pub fn close(&mut self) {
        self.is_closed = true;
        self.pending.clear();
    }

    /// The parts that are painted, in the log's order.
    pub fn painted(&self) -> impl Iterator<Item = &Part> {
        self.history.values().chain(self.live.values())
    }

    /// How many parts are painted as they came, came from history, and wait.
    #[must_use]
    pub fn counts(&self) -> (usize, usize, usize) {
        (self.live.len(), self.history.len(), self.pending.len())
    }

    /// The cursor for what is older than the oldest part of history; none where nothing is.
    #[must_use]
    pub fn oldest_cursor(&self) -> Option<&str> {
        self.oldest.as_deref()
    }

    /// For each stretch that is to be read again, the oldest first, the cursor to ask history with; none inside stands for
    /// the log's end.
    #[must_use]
    pub fn recovery_cursors(&self) -> Vec<Option<&str>> {
        self.lost
            .iter()
            .map(|(_, to)| {
                let behind = (Excluded((to.0, u32::MAX)), Unbounded);
                [&self.history, &self.live, &self.pending]
                    .iter()
                    .filter_map(|rows| rows.range(behind).next())
                    .min_by_key(|(place, _)| **place)
                    .map(|(_, part)| part.id.as_str())
            })
            .collect()
    }

    fn shows(&self, place: Place) -> bool {
        [&self.history, &self.live, &self.pending].iter().any(|rows| rows.contains_key(&place))
    }

    fn bound_live(&mut self) {
        while self.live.len() > MAX_LIVE_ROWS {
            if let Some((place, _)) = self.live.pop_first() {
                self.lose(place);
            }
        }
    }

    /// Remembers a part that is not shown any more. Stretches with nothing shown between them are one; of more than two,
    /// the two that lie closest become one.
    fn lose(&mut self, place: Place) {
        self.lost.push((place, place));
        self.lost.sort_unstable();
        let mut at = 1;
        while at < self.lost.len() {
            let (one, other) = (self.lost[at - 1], self.lost[at]);
            if self.shown_between(one.1, other.0) == 0 {
                self.join(at);
            } else {
                at += 1;
            }
        }
        while self.lost.len() > MAX_RECOVERIES {
            let closest = (1..self.lost.len())
                .min_by_key(|at| self.shown_between(self.lost[at - 1].1, self.lost[*at].0));
            self.join(closest.unwrap_or(1));
        }
    }

    fn join(&mut self, at: usize) {
        let (_, to) = self.lost.remove(at);
        self.lost[at - 1].1 = self.lost[at - 1].1.max(to);
    }

    fn shown_between(&self, from: Place, to: Place) -> usize {
        if from >= to {
            return 0;
        }
        let between = (Excluded(from), Excluded(to));
        [&self.history, &self.live, &self.pending].iter().map(|rows| rows.range(between).count()).sum()
    }

    /// What lies from one place to before another was read again.
    fn found_again(&mut self, from: Place, until: Place) {
        let lost = std::mem::take(&mut self.lost);
        self.lost = lost
            .into_iter()
            .filter_map(|(first, last)| {
                if last >= until || last < from {
                    return Some((first, last));
                }
                // What is left of it lies before the first event that was found.
                let last = (from.0.checked_sub(1)?, u32::MAX);
                (first <= last).then_some((first, last))
            })
            .collect();
    }
}

fn place_of(part: &Part) -> Option<Place> {
    Some((number_of(&part.id)?, part.position))
}

/// The number in a row's id: decimal, or behind `byte:`.
fn number_of(id: &str) -> Option<u64> {
    id.strip_prefix("byte:").unwrap_or(id).parse().ok()
}
