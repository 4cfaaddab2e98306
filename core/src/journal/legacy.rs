//! Lines of an older package: a plain file without index and metadata (EX-JRN-64).
//!
//! A short file is read whole, and its ids are line numbers from 1. Of a longer one only a suffix is read, and an id says
//! where its line begins, so that it means the same wherever reading began. A line without its newline is not there yet.

use super::error::io_error;
use super::event::GapReason;
use super::tail::never_issued;
use super::window::{MAX_DATA_BYTES, MAX_LINE_BYTES, MAX_ROWS, ROW_BYTES, Row, RowContent, Window};
use crate::error::Result;
use crate::json::canonical::write_string;
use crate::storage::DataFile;

/// A file up to this length has line numbers; of a longer one so many bytes at its end are read.
const SUFFIX_BYTES: u64 = 262_144;

/// The rows before the one with this id, the last ones without one.
///
/// # Errors
/// `EXECUTION_IO`; `EXECUTION_INPUT` for an id that no row has.
pub(super) fn before(file: &dyn DataFile, id: Option<&str>) -> Result<Window> {
    let (mut rows, is_suffix) = rows(file)?;
    if let Some(id) = id {
        rows.truncate(position(&rows, id)?);
    }
    let mut bytes = 0;
    let taken = rows.iter().rev().take(MAX_ROWS).take_while(|row| {
        bytes += cost(row);
        bytes <= MAX_DATA_BYTES
    });
    let kept = rows.split_off(rows.len() - taken.count());
    let before = (!rows.is_empty()).then(|| first_id(&kept)).flatten();
    let mut window = Window { before, after: kept.last().and_then(|row| row.id.clone()), rows: kept };
    if is_suffix && window.before.is_none() && window.rows.len() < MAX_ROWS {
        window.rows.insert(0, Row::gap(None, Some(GapReason::Retained)));
    }
    Ok(window)
}

/// At most so many rows after the one with this id, from the oldest on without one.
///
/// # Errors
/// As [`before`].
pub(super) fn after(file: &dyn DataFile, id: Option<&str>, limit: usize) -> Result<Window> {
    let (mut rows, _) = rows(file)?;
    let start = match id {
        Some(id) => position(&rows, id)? + 1,
        None => 0,
    };
    let mut bytes = 0;
    let mut rows = rows.split_off(start);
    let taken = rows.iter().take(limit).take_while(|row| {
        bytes += cost(row);
        bytes <= MAX_DATA_BYTES
    });
    rows.truncate(taken.count());
    let before = first_id(&rows).filter(|_| start > 0);
    Ok(Window { before, after: rows.last().and_then(|row| row.id.clone()), rows })
}

fn first_id(rows: &[Row]) -> Option<String> {
    rows.first().and_then(|row| row.id.clone())
}

fn position(rows: &[Row], id: &str) -> Result<usize> {
    rows.iter().position(|row| row.id.as_deref() == Some(id)).ok_or_else(|| never_issued(id))
}

fn cost(row: &Row) -> u64 {
    let text = match &row.content {
        RowContent::Line(text) => text.len() as u64,
        RowContent::Gap(_) => 0,
    };
    text + ROW_BYTES
}

/// Every row that can be read, and whether older ones cannot.
fn rows(file: &dyn DataFile) -> Result<(Vec<Row>, bool)> {
    let failed = |error| io_error("job.log cannot be read", error);
    let size = file.size().map_err(failed)?;
    let start = size.saturating_sub(SUFFIX_BYTES);
    let mut bytes = vec![0; usize::try_from(size - start).unwrap_or(usize::MAX)];
    let read = file.read_at(start, &mut bytes).map_err(failed)?;
    let mut rest = &bytes[..read];
    let mut offset = start;
    if start > 0 {
        // What the suffix begins with is the end of some line.
        let cut = memchr::memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
        (offset, rest) = (offset + cut as u64, &rest[cut..]);
    }
    let mut rows = Vec::new();
    while let Some(length) = memchr::memchr(b'\n', rest) {
        let id = if start > 0 { format!("byte:{offset}") } else { (rows.len() + 1).to_string() };
        rows.push(row(id, &rest[..length]));
        (offset, rest) = (offset + length as u64 + 1, &rest[length + 1..]);
    }
    Ok((rows, start > 0))
}

fn row(id: String, line: &[u8]) -> Row {
    let text = String::from_utf8_lossy(line);
    let mut encoded = String::new();
    if line.len() as u64 <= MAX_LINE_BYTES {
        write_string(&text, &mut encoded);
    }
    if encoded.is_empty() || encoded.len() as u64 > MAX_LINE_BYTES {
        return Row::gap(Some(id), Some(GapReason::OversizedRecord));
    }
    Row { id: Some(id), content: RowContent::Line(text.into_owned()) }
}
