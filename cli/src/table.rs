//! Columns side by side, cut to the terminal's width where there is one.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::terminal::{Screen, Tone};

/// Between two columns.
const GAP: usize = 2;
const SPACES: [u8; 64] = [b' '; 64];

/// One cell of a row.
#[derive(Clone, Debug)]
pub(crate) struct Cell<'a> {
    text: Cow<'a, str>,
    tone: Tone,
}

impl<'a> Cell<'a> {
    pub(crate) fn new(text: impl Into<Cow<'a, str>>, tone: Tone) -> Self {
        Cell { text: text.into(), tone }
    }

    pub(crate) fn plain(text: impl Into<Cow<'a, str>>) -> Self {
        Cell::new(text, Tone::Plain)
    }
}

/// Rows of as many cells as there are headings.
#[derive(Debug)]
pub(crate) struct Table<const COLUMNS: usize> {
    headings: [&'static str; COLUMNS],
    widths: [usize; COLUMNS],
    rows: Vec<[Place; COLUMNS]>,
    /// The texts of all cells one behind the other, so that no cell has memory of its own.
    texts: String,
}

/// Where a cell's text stands, which begins where the one before ends, and how it is shown.
#[derive(Clone, Copy, Debug)]
struct Place {
    ends: usize,
    /// In columns, as far as each character takes one.
    width: usize,
    tone: Tone,
}

/// A cell as it is written.
#[derive(Clone, Copy)]
struct Shown<'a> {
    text: &'a str,
    width: usize,
    tone: Tone,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub(crate) fn new(headings: [&'static str; COLUMNS]) -> Self {
        Table { headings, widths: headings.map(str::len), rows: Vec::new(), texts: String::new() }
    }

    pub(crate) fn push(&mut self, row: [Cell<'_>; COLUMNS]) {
        let mut places = [Place { ends: 0, width: 0, tone: Tone::Plain }; COLUMNS];
        for ((place, widest), cell) in places.iter_mut().zip(&mut self.widths).zip(&row) {
            let width = if cell.text.is_ascii() { cell.text.len() } else { cell.text.chars().count() };
            *widest = width.max(*widest);
            self.texts.push_str(&cell.text);
            *place = Place { ends: self.texts.len(), width, tone: cell.tone };
        }
        self.rows.push(places);
    }

    /// Puts the rows of another table with the same headings behind its own.
    pub(crate) fn append(&mut self, other: &Self) {
        let moved = self.texts.len();
        self.texts.push_str(&other.texts);
        for (width, of_other) in self.widths.iter_mut().zip(other.widths) {
            *width = (*width).max(of_other);
        }
        let behind = self.rows.len();
        self.rows.extend_from_slice(&other.rows);
        self.rows[behind..].iter_mut().flatten().for_each(|place| place.ends += moved);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Writes the headings and at most so many rows, each line cut where the terminal ends.
    pub(crate) fn write(&self, out: &mut impl Write, screen: &Screen, most: usize) -> io::Result<()> {
        self.write_headings(out, screen)?;
        self.write_rows(out, screen, most)
    }

    /// Writes the headings, over columns as wide as the rows so far need.
    pub(crate) fn write_headings(&self, out: &mut impl Write, screen: &Screen) -> io::Result<()> {
        let headings =
            self.headings.map(|heading| Shown { text: heading, width: heading.len(), tone: Tone::Strong });
        self.write_row(&headings, out, screen, columns(screen))
    }

    fn write_rows(&self, out: &mut impl Write, screen: &Screen, most: usize) -> io::Result<()> {
        let columns = columns(screen);
        let mut begins = 0;
        for places in self.rows.iter().take(most) {
            let mut row = [Shown { text: "", width: 0, tone: Tone::Plain }; COLUMNS];
            for (cell, place) in row.iter_mut().zip(places) {
                let text = &self.texts[begins..place.ends];
                *cell = Shown { text, width: place.width, tone: place.tone };
                begins = place.ends;
            }
            self.write_row(&row, out, screen, columns)?;
        }
        Ok(())
    }

    /// Writes the rows and forgets them. The columns stay as wide as they are, or become wider with what comes.
    pub(crate) fn write_out(&mut self, out: &mut impl Write, screen: &Screen) -> io::Result<()> {
        self.write_rows(out, screen, usize::MAX)?;
        self.rows.clear();
        self.texts.clear();
        Ok(())
    }

    fn write_row(
        &self,
        row: &[Shown<'_>; COLUMNS],
        out: &mut impl Write,
        screen: &Screen,
        columns: usize,
    ) -> io::Result<()> {
        let mut left = columns;
        let last = row.iter().rposition(|cell| !cell.text.is_empty()).unwrap_or(0);
        for (position, (cell, width)) in row.iter().zip(self.widths).enumerate() {
            let shown = if cell.width <= left { cell.text } else { cut(cell.text, left) };
            left = left.saturating_sub(cell.width);
            if screen.paints(cell.tone) {
                out.write_all(screen.paint(shown, cell.tone).as_bytes())?;
            } else {
                out.write_all(shown.as_bytes())?;
            }
            if position == last || left == 0 {
                break;
            }
            let mut fill = (width - cell.width + GAP).min(left);
            left -= fill;
            while fill > 0 {
                let now = fill.min(SPACES.len());
                out.write_all(&SPACES[..now])?;
                fill -= now;
            }
        }
        out.write_all(b"\n")
    }
}

/// How wide a line may be.
fn columns(screen: &Screen) -> usize {
    screen.size().map_or(usize::MAX, |(columns, _)| columns)
}

fn cut(text: &str, columns: usize) -> &str {
    match text.char_indices().nth(columns) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
