//! The lines of a run's log: the last ones, and those to come.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use gallivant_core::journal::{LocalOutput, LogReader, Replay, Row, RowContent};
use gallivant_core::redaction::Secrets;
use gallivant_core::{Code, Host};

use crate::exit::{Failure, Outcome, Result};
use crate::terminal::printable;

/// Where the lines begin.
#[derive(Clone, Copy, Debug)]
pub(super) enum From<'a> {
    /// With so many of the last.
    Last(usize),
    /// After the line with this id.
    After(&'a str),
}

/// How long nothing comes before it is looked whether the run is over, and how long after that until nothing is waited for any
/// more: the pass that takes in the last of the output shows it right after.
const QUIET: Duration = Duration::from_millis(500);

pub(super) fn tail(root: &Path, run_id: &str, from: From<'_>, follow: bool, json: bool) -> Result<Outcome> {
    let host = Host::system();
    let run = &root.join(run_id);
    let reader = match LogReader::open(run, &host) {
        Err(error) if error.code() == Code::ExecutionUnknownRun => {
            let is_known = super::is_settled(root, run_id)?.is_some();
            return Err(if is_known { super::nothing_on_disk(run_id) } else { error.into() });
        }
        opened => opened?,
    };
    let begin = match from {
        From::After(id) => {
            // Refuses an id that no row ever had, of which a replay makes a gap.
            reader.lines(Some(id), 0)?;
            Some(id.to_owned())
        }
        From::Last(lines) => {
            let rows = last(&reader, lines)?;
            print(&rows, json)?;
            if !follow {
                return Ok(Outcome::Yes);
            }
            rows.iter().rev().find_map(|row| row.id.clone())
        }
    };
    // Without a line that has an id there was none: then everything that comes is new.
    let mut replay = Replay::open(run, begin.as_deref(), &host)?;
    let mut is_over = false;
    loop {
        let frame = if follow { replay.next(Some(QUIET))? } else { replay.poll()? };
        let Some(frame) = frame else {
            if !follow || is_over {
                return Ok(Outcome::Yes);
            }
            // The output of a local run is taken in after it has settled, in as many passes as it needs.
            is_over = super::is_settled(root, run_id)? == Some(true)
                && !LocalOutput::open(run, &host, &Secrets::none())?.is_left()?;
            continue;
        };
        if frame.is_heartbeat() {
            if follow {
                continue;
            }
            return Ok(Outcome::Yes);
        }
        let row = Row::from_json(&frame.data)
            .ok_or_else(|| Failure::Output(io::Error::other("a frame of the log cannot be read")))?;
        print(&[row], json)?;
    }
}

/// The last rows, the oldest first, window by window.
fn last(reader: &LogReader, lines: usize) -> Result<Vec<Row>> {
    let mut window = reader.tail()?;
    // Each is put before those that are there: a log of any length is put together in one pass.
    let mut windows = Vec::new();
    let mut count = window.rows.len();
    while count < lines
        && let Some(before) = window.before.take()
    {
        let older = reader.history(&before)?;
        if older.rows.is_empty() {
            break;
        }
        count += older.rows.len();
        windows.push(std::mem::replace(&mut window, older).rows);
    }
    windows.push(window.rows);
    Ok(windows.into_iter().rev().flatten().skip(count.saturating_sub(lines)).collect())
}

fn print(rows: &[Row], json: bool) -> io::Result<()> {
    let mut text = String::new();
    for row in rows {
        if json {
            text.push_str(&row.to_json());
        } else {
            match &row.content {
                RowContent::Line(line) => text.push_str(&printable(line)),
                RowContent::Gap(reason) => {
                    let reason = reason.map_or("missing", |reason| reason.word());
                    text.push_str(&format!("[gap: {reason}]"));
                }
            }
        }
        text.push('\n');
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}
