//! What the calls of a journal answer.

use gallivant_core::journal as core;
use pyo3::prelude::*;

use crate::value::{Listed, value};

value! {
    in "gallivant.journal";
    /// A place in the log.
    Position {
        /// How many bytes of `events.jsonl` lie before it.
        offset: u64,
        /// The number of the last record before it; 0 where there is none.
        sequence: u64,
    }
}

value! {
    in "gallivant.journal";
    /// Where an event of a page stands in the journal.
    Placed {
        /// Its ingestion number.
        sequence: u64,
        /// How it came to its number: `recorded` (a new record holds it), `oversized` (a new gap stands for it, because its
        /// record would have been too long), `known` (it was there already, in the journal or earlier in the page).
        how: String,
    }
}

value! {
    in "gallivant.journal";
    /// What an append has come to.
    Appended {
        /// Where each event of the page stands, in the page's order.
        placed: Listed<Py<Placed>>,
        /// The end of the journal, all of it acknowledged.
        end: Py<Position>,
    }
}

value! {
    in "gallivant.journal";
    /// What a recovery found and did.
    Recovered {
        /// How many records of a pending batch were there and are acknowledged now.
        kept: u64,
        /// Whether a gap took the place of the first one that was not.
        gap: bool,
        /// The end of the journal.
        end: Py<Position>,
    }
}

value! {
    in "gallivant.journal";
    /// What a projection holds.
    Projected {
        /// The oldest number that it has an entry for. Above 1 where older ones were trimmed.
        first: u64,
        /// The number of the entry that comes next.
        next: u64,
        /// Bytes of `job.log`.
        bytes: u64,
    }
}

value! {
    in "gallivant.journal";
    /// One row of a window.
    Row {
        /// What stands for it as a cursor, for ever. None for a gap without a number.
        id: Option<String> = None,
        /// `line` or `gap`.
        kind: String,
        /// What a line shows; None for a gap.
        text: Option<String> = None,
        /// Why something is missing, where that is known; None for a line.
        reason: Option<String> = None,
    }
}

value! {
    in "gallivant.journal";
    /// Some rows that stand side by side, the oldest first.
    Window {
        /// The rows.
        rows: Listed<Py<Row>>,
        /// The cursor for the next older window; None where there is nothing older.
        before: Option<String> = None,
        /// The cursor for what follows; None where the window holds no row with a number.
        after: Option<String> = None,
    }
}

value! {
    in "gallivant.journal";
    /// Something that is missing from a journal.
    Gap {
        /// The first number that it stands for.
        first: u64,
        /// The last one. One less than `first` where damaged bytes stand for no number, as a line that is there twice.
        last: u64,
        /// Why: `corrupt-record` where it was found, any other word where it was recorded.
        reason: String,
        /// Where its bytes in `events.jsonl` begin.
        start: u64,
        /// Where they end, newline included. The same as `start` where records are missing without a trace.
        end: u64,
    }
}

value! {
    in "gallivant.journal";
    /// A batch that was announced and not acknowledged.
    PendingBatch {
        /// How many records it has.
        records: u64,
        /// How many of them are there whole, from the first on.
        kept: u64,
    }
}

value! {
    in "gallivant.journal";
    /// What a check has found.
    Checked {
        /// What is acknowledged.
        end: Py<Position>,
        /// How many good records there are that are no gaps.
        records: u64,
        /// Every gap that is recorded, and every damage that was found, in the file's order. Empty where each was handed to a
        /// function as it was found.
        gaps: Listed<Py<Gap>>,
        /// The batch that waits behind the acknowledged bytes; None where none does. The next append recovers it.
        pending: Option<Py<PendingBatch>> = None,
    }
}

impl From<core::Position> for Position {
    fn from(position: core::Position) -> Self {
        Position { offset: position.offset, sequence: position.sequence }
    }
}

impl From<core::Projected> for Projected {
    fn from(projected: core::Projected) -> Self {
        Projected { first: projected.first, next: projected.next, bytes: projected.bytes }
    }
}

impl From<core::Gap> for Gap {
    fn from(gap: core::Gap) -> Self {
        Gap {
            first: gap.from,
            last: gap.to,
            reason: gap.reason.word().to_owned(),
            start: gap.bytes.start,
            end: gap.bytes.end,
        }
    }
}

impl From<core::Row> for Row {
    fn from(row: core::Row) -> Self {
        let kind = row.content.kind().to_owned();
        let (text, reason) = match row.content {
            core::RowContent::Line(text) => (Some(text), None),
            core::RowContent::Gap(reason) => (None, reason.map(|reason| reason.word().to_owned())),
        };
        Row { id: row.id, kind, text, reason }
    }
}

impl Appended {
    pub(super) fn of(py: Python<'_>, appended: core::Appended) -> PyResult<Self> {
        let placed = |placed: core::Placed| {
            Py::new(py, Placed { sequence: placed.sequence, how: placed.how.word().to_owned() })
        };
        Ok(Appended {
            placed: Listed(appended.placed.into_iter().map(placed).collect::<PyResult<_>>()?),
            end: Py::new(py, Position::from(appended.end))?,
        })
    }
}

impl Recovered {
    pub(super) fn of(py: Python<'_>, recovered: core::Recovered) -> PyResult<Self> {
        let end = Py::new(py, Position::from(recovered.end))?;
        Ok(Recovered { kept: recovered.kept, gap: recovered.gap, end })
    }
}

impl Window {
    pub(super) fn of(py: Python<'_>, window: core::Window) -> PyResult<Self> {
        let rows = window.rows.into_iter().map(|row| Py::new(py, Row::from(row))).collect::<PyResult<_>>()?;
        Ok(Window { rows: Listed(rows), before: window.before, after: window.after })
    }
}

impl Checked {
    pub(super) fn of(py: Python<'_>, checked: core::Checked) -> PyResult<Self> {
        let gaps =
            checked.gaps.into_iter().map(|gap| Py::new(py, Gap::from(gap))).collect::<PyResult<_>>()?;
        let pending = checked.pending.map(|batch| PendingBatch { records: batch.records, kept: batch.kept });
        Ok(Checked {
            end: Py::new(py, Position::from(checked.end))?,
            records: checked.records,
            gaps: Listed(gaps),
            pending: pending.map(|batch| Py::new(py, batch)).transpose()?,
        })
    }
}
