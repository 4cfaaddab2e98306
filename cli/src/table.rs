//! Columns side by side, cut to the terminal's width where there is one.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::terminal::{Screen, Tone};

/// Between two columns.
const GAP: usize = 2;
const SPACES: [u8; 64] = [b' '; 64];

/// One cell of a row.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: Cow<'static, str>,
    /// In columns, as far as each character takes one.
    width: usize,
    tone: Tone,
}

impl Cell {
    pub(crate) fn new(text: impl Into<Cow<'static, str>>, tone: Tone) -> Self {
        let text = text.into();
        Cell { width: text.chars().count(), text, tone }
    }

    pub(crate) fn plain(text: impl Into<Cow<'static, str>>) -> Self {
        Cell::new(text, Tone::Plain)
    }
}

/// Rows of as many cells as there are headings.
#[derive(Debug)]
pub(crate) struct Table<const COLUMNS: usize> {
    headings: [&'static str; COLUMNS],
    widths: [usize; COLUMNS],
    rows: Vec<[Cell; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub(crate) fn new(headings: [&'static str; COLUMNS]) -> Self {
        Table { headings, widths: headings.map(str::len), rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: [Cell; COLUMNS]) {
        for (width, cell) in self.widths.iter_mut().zip(&row) {
            *width = (*width).max(cell.width);
        }
        self.rows.push(row);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the headings and at most so many rows, each line cut where the terminal ends.
    pub(crate) fn write(&self, out: &mut impl Write, screen: &Screen, most: usize) -> io::Result<()> {
        let columns = screen.size().map_or(usize::MAX, |(columns, _)| columns);
        let headings = self.headings.map(|heading| Cell::new(heading, Tone::Strong));
        self.write_row(&headings, out, screen, columns)?;
        self.rows.iter().take(most).try_for_each(|row| self.write_row(row, out, screen, columns))
    }

    fn write_row(
        &self,
        row: &[Cell; COLUMNS],
        out: &mut impl Write,
        screen: &Screen,
        columns: usize,
    ) -> io::Result<()> {
        let mut left = columns;
        for (position, (cell, width)) in row.iter().zip(self.widths).enumerate() {
            let is_last =
                position + 1 == COLUMNS || row[position + 1..].iter().all(|cell| cell.text.is_empty());
            let shown = if cell.width <= left { &cell.text } else { cut(&cell.text, left) };
            left = left.saturating_sub(cell.width);
            if screen.paints(cell.tone) {
                out.write_all(screen.paint(shown, cell.tone).as_bytes())?;
            } else {
                out.write_all(shown.as_bytes())?;
            }
            if is_last || left == 0 {
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

fn cut(text: &str, columns: usize) -> &str {
    match text.char_indices().nth(columns) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
