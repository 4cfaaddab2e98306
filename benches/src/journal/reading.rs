//! Rows that read a journal: the last lines, the projection, all lines; and the bare work that the last lines are set
//! beside.

use std::borrow::Cow;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use gallivant_core::Host;
use gallivant_core::journal::{
    Frame, How, INDEX, LOG_META, LogReader, MAX_ROWS, PROJECTED, Projection, Replay, RowContent, check,
};
use serde::Deserialize;

use crate::followers;
use crate::rows::{DATA, expect_all, journal, pages, prepare};
use crate::serving::{Failure, Operation};

/// How much the bare scan reads at once.
const BLOCK: usize = 64 * 1024;
/// More than 400 lines of a prepared log have.
const MOST_SCANNED: usize = 1024 * 1024;

pub(crate) fn open(row: &str, directory: &str) -> Result<Operation, Failure> {
    match row {
        "tail" => tail(directory),
        "bare-tail" => bare_tail(directory),
        "catch-up" => catching_up(directory),
        "project" => projecting(directory),
        "replay" => replaying(directory),
        "follow" => followers::polled(directory),
        "live" => followers::woken(directory),
        _ => Err("no such row".into()),
    }
}

/// A journal of so many records and two pages more, and its projection.
pub(crate) fn prepare_projected(directory: &str, records: u64) -> Result<(), Failure> {
    prepare(directory, records)?;
    Projection::open(directory, &Host::system())?.catch_up()?;
    Ok(())
}

/// The three files of a projection whose lines have at least so many bytes, written in one go.
pub(crate) fn prepare_lines(directory: &str, bytes: u64) -> Result<(), Failure> {
    let run = Host::system().files.open_or_create(Path::new(directory))?;
    let (mut lines, mut index) = (run.create(PROJECTED)?, run.create(INDEX)?);
    let data: String = "all is well so far, ".chars().cycle().take(DATA).collect();
    let (mut text, mut entries) = (String::new(), Vec::new());
    let (mut written, mut next) = (0, 1_u64);
    while written < bytes {
        text.clear();
        entries.clear();
        while text.len() < 1 << 20 {
            entries.extend((written + text.len() as u64 + 1).to_le_bytes());
            text.push_str(&format!("{{\"sequence\":{next},\"type\":\"output\",\"text\":\"{data}\"}}\n"));
            next += 1;
        }
        lines.write_all(text.as_bytes())?;
        index.write_all(&entries)?;
        written += text.len() as u64;
    }
    let meta = format!(
        "{{\"version\":2,\"encoding\":\"offset-plus-one\",\"firstSequence\":1,\"nextSequence\":{next},\
         \"byteOrder\":\"le\",\"logBytes\":{written}}}\n"
    );
    run.create(LOG_META)?.write_all(meta.as_bytes())?;
    Ok(())
}

/// How many records the journal in a directory has acknowledged.
pub(crate) fn acknowledged(directory: &str) -> Result<u64, Failure> {
    Ok(check(directory, &Host::system())?.end.sequence)
}

/// Refuses a frame that is not the line with the number that comes next.
pub(crate) fn expect_line(frame: &Frame, next: &mut u64) -> Result<(), Failure> {
    let number = frame.id.as_deref().and_then(|id| id.parse().ok());
    if number != Some(*next) || frame.event != "line" {
        return Err(format!("a row is lost or comes twice: {:?} in place of {next}", frame.id).into());
    }
    *next += 1;
    Ok(())
}

fn tail(directory: &str) -> Result<Operation, Failure> {
    let reader = LogReader::open(directory, &Host::system())?;
    Ok(Box::new(move || {
        let window = reader.tail()?;
        let lines = window.rows.iter().filter(|row| matches!(row.content, RowContent::Line(_))).count();
        if lines == MAX_ROWS { Ok(()) } else { Err(format!("{lines} lines").into()) }
    }))
}

#[derive(Deserialize)]
struct Line<'a> {
    sequence: u64,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// The last lines by a program that knows of no index: it reads from the file's end until it has seen enough newlines,
/// and parses each line into what a row holds, its number and its text.
fn bare_tail(directory: &str) -> Result<Operation, Failure> {
    let path = Path::new(directory).join(PROJECTED);
    let mut buffer = vec![0; MOST_SCANNED];
    Ok(Box::new(move || {
        let lines = scan_backward(&path, &mut buffer)?;
        if lines.len() != MAX_ROWS || lines.windows(2).any(|pair| pair[0].0 + 1 != pair[1].0) {
            return Err("not the last lines".into());
        }
        Ok(())
    }))
}

#[expect(clippy::disallowed_methods, reason = "the floor reads the file itself")]
fn scan_backward(path: &PathBuf, buffer: &mut [u8]) -> Result<Vec<(u64, String)>, Failure> {
    let file = std::fs::File::open(path)?;
    let mut offset = file.metadata()?.len();
    let (mut start, mut seen) = (buffer.len(), 0);
    let first = 'found: loop {
        let block = BLOCK.min(usize::try_from(offset)?);
        if block == 0 || block > start {
            return Err("too few lines, or too long ones".into());
        }
        offset -= block as u64;
        start -= block;
        let block = &mut buffer[start..start + block];
        file.read_exact_at(block, offset)?;
        for newline in memchr::memrchr_iter(b'\n', block) {
            // The last newline ends the last line; the one before the first line comes after all of theirs.
            if seen == MAX_ROWS {
                break 'found start + newline + 1;
            }
            seen += 1;
        }
    };
    let mut lines = Vec::with_capacity(MAX_ROWS);
    let mut rest = &buffer[first..];
    while let Some(newline) = memchr::memchr(b'\n', rest) {
        let line: Line<'_> = serde_json::from_slice(&rest[..newline])?;
        lines.push((line.sequence, line.text.into_owned()));
        rest = &rest[newline + 1..];
    }
    Ok(lines)
}

/// The whole projection, as after it was lost.
fn catching_up(directory: &str) -> Result<Operation, Failure> {
    let (directory, host) = (directory.to_owned(), Host::system());
    let run = host.files.open(Path::new(&directory))?;
    let records = acknowledged(&directory)?;
    Ok(Box::new(move || {
        // What acknowledges goes first.
        for name in [LOG_META, PROJECTED, INDEX] {
            match run.remove(name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        let projected = Projection::open(&directory, &host)?.catch_up()?;
        if projected.next == records + 1 { Ok(()) } else { Err("not all is projected".into()) }
    }))
}

/// A page of new events, and its lines.
pub(crate) fn projecting(directory: &str) -> Result<Operation, Failure> {
    let mut journal = journal(directory)?;
    let mut projection = Projection::open(directory, &Host::system())?;
    let mut next = pages();
    Ok(Box::new(move || {
        expect_all(How::Recorded, &mut journal, &next())?;
        projection.catch_up()?;
        Ok(())
    }))
}

/// All rows from the first one on, by a replay that is opened for it.
fn replaying(directory: &str) -> Result<Operation, Failure> {
    let (directory, host) = (directory.to_owned(), Host::system());
    let records = acknowledged(&directory)?;
    Ok(Box::new(move || {
        let mut replay = Replay::open(&directory, None, &host)?;
        let mut next = 1;
        while let Some(frame) = replay.poll()? {
            expect_line(&frame, &mut next)?;
        }
        if next == records + 1 { Ok(()) } else { Err(format!("{} rows", next - 1).into()) }
    }))
}
