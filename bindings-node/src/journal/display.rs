//! What of a log a user interface shows, for JavaScript. Nothing of it touches a disk.

use gallivant_core::journal::{DisplayWindow, Part, Row, split};
use napi_derive::napi;

use super::parts::{PartParts, RowParts};
use crate::answer::Answer;

/// Splits a row at its line ends.
#[napi(catch_unwind)]
pub fn split_row(row: RowParts) -> Answer<Vec<PartParts>> {
    Answer::of(|| Ok(split(&Row::try_from(row)?).into_iter().map(PartParts::from).collect()))
}

/// How many parts there are of each kind.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct CountParts {
    /// Painted as they came.
    pub live: u32,
    /// Come from history.
    pub history: u32,
    /// Waiting for being painted.
    pub pending: u32,
}

/// The rows that a user interface shows.
#[napi]
#[derive(Debug)]
pub struct NativeDisplayWindow {
    window: DisplayWindow,
}

#[napi]
impl NativeDisplayWindow {
    /// An empty window.
    #[napi(catch_unwind)]
    pub fn open() -> NativeDisplayWindow {
        NativeDisplayWindow { window: DisplayWindow::new() }
    }

    /// Takes in parts that have come.
    #[napi(catch_unwind)]
    pub fn push(&mut self, parts: Vec<PartParts>) -> Answer<bool> {
        Answer::of(|| {
            parts.into_iter().for_each(|part| self.window.push(part.into()));
            Ok(true)
        })
    }

    /// Paints what waits, and answers how many parts that were.
    #[napi(catch_unwind)]
    pub fn paint(&mut self) -> Answer<u32> {
        Answer::of(|| Ok(count(self.window.paint())))
    }

    /// Merges a window of history.
    #[napi(catch_unwind)]
    pub fn merge(
        &mut self,
        parts: Vec<PartParts>,
        asked: Option<String>,
        before: Option<String>,
    ) -> Answer<bool> {
        Answer::of(|| {
            let parts = parts.into_iter().map(Part::from).collect();
            self.window.merge(parts, asked.as_deref(), before.as_deref());
            Ok(true)
        })
    }

    /// Forgets what waits, and takes in nothing any more.
    #[napi(catch_unwind)]
    pub fn close(&mut self) -> Answer<bool> {
        Answer::of(|| {
            self.window.close();
            Ok(true)
        })
    }

    /// The parts that are painted, in the log's order.
    #[napi(catch_unwind)]
    pub fn painted(&self) -> Answer<Vec<PartParts>> {
        Answer::of(|| Ok(self.window.painted().cloned().map(PartParts::from).collect()))
    }

    /// How many parts there are of each kind.
    #[napi(catch_unwind)]
    pub fn counts(&self) -> Answer<CountParts> {
        Answer::of(|| {
            let (live, history, pending) = self.window.counts();
            Ok(CountParts { live: count(live), history: count(history), pending: count(pending) })
        })
    }

    /// The cursor for what is older than the oldest part of history.
    #[napi(catch_unwind)]
    pub fn oldest_cursor(&self) -> Answer<Option<String>> {
        Answer::of(|| Ok(self.window.oldest_cursor().map(str::to_owned)))
    }

    /// For each stretch that is to be read again the cursor to ask history with; null stands for the log's end.
    #[napi(catch_unwind)]
    pub fn recovery_cursors(&self) -> Answer<Vec<Option<String>>> {
        Answer::of(|| {
            let cursors = self.window.recovery_cursors();
            Ok(cursors.into_iter().map(|cursor| cursor.map(str::to_owned)).collect())
        })
    }
}

/// The core bounds each of them by some thousands.
fn count(parts: usize) -> u32 {
    u32::try_from(parts).unwrap_or(u32::MAX)
}
