//! Columns side by side, cut to the terminal's width where there is one.

use std::io::{self, Write};

use crate::terminal::{Screen, Tone};

/// Between two columns.
const GAP: usize = 2;

/// One cell of a row.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>, tone: Tone) -> Self {
        Cell { text: text.into(), tone }
    }

    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Cell::new(text, Tone::Plain)
    }

    fn width(&self) -> usize {
        self.text.chars().count()
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
            *width = (*width).max(cell.width());
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
            let shown = cut(&cell.text, left);
            left = left.saturating_sub(shown.chars().count());
            if cell.tone == Tone::Plain {
                out.write_all(shown.as_bytes())?;
            } else {
                out.write_all(screen.paint(shown, cell.tone).as_bytes())?;
            }
            if is_last || left == 0 {
                break;
            }
            let fill = (width - cell.width() + GAP).min(left);
            write!(out, "{:fill$}", "")?;
            left -= fill;
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
