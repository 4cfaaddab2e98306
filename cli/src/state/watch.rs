//! Every agent, drawn anew whenever something changes.
//!
//! One thread waits for each root, in the core's own watch, and hands on what changed; this one draws. On a terminal the
//! table takes the place of the one before; elsewhere each change is a line of JSON, or a line of text.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use gallivant_core::harness_state::{Change, Derived, Options, Watch, WatchOptions};
use gallivant_core::{Code, Error, Host, Result as CoreResult};

use super::{list, shown};
use crate::arguments::State;
use crate::exit::{Outcome, Result};
use crate::moments::utc;
use crate::table::Table;
use crate::terminal::{Screen, printable};

/// On a terminal the lengths of time go on without a change, and so does its own width.
const REDRAW: Duration = Duration::from_secs(1);
/// The cursor into the corner; and what is below it away.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";
const CLEAR: &str = "\x1b[2J\x1b[H";

type Told = (usize, CoreResult<Change>);

pub(super) fn watch(roots: &[PathBuf], asked: &State, screen: &Screen) -> Result<Outcome> {
    let host = Host::system();
    let (sender, receiver) = mpsc::channel::<Told>();
    for (number, root) in roots.iter().enumerate() {
        let options = (WatchOptions::default(), Options::default());
        let mut watch =
            Watch::fleet(root, &list::bounds(asked), list::probe(asked), &options.0, &options.1, &host)?;
        let sender = sender.clone();
        let waits = thread::Builder::new().spawn(move || {
            loop {
                let told = watch.next(None).map(|change| change.unwrap_or_else(nothing));
                let is_over = told.is_err();
                if sender.send((number, told)).is_err() || is_over {
                    return;
                }
            }
        });
        waits.map_err(|error| {
            Error::new(Code::HarnessStateIo, "there is no thread to wait for changes with").with_source(error)
        })?;
    }
    let mut seen: BTreeMap<(usize, String), Derived> = BTreeMap::new();
    let mut first = vec![true; roots.len()];
    let mut notes: Vec<Option<String>> = vec![None; roots.len()];
    let draws = screen.is_terminal && !asked.json && asked.is.is_empty();
    if draws {
        write!(io::stdout(), "{CLEAR}")?;
    }
    loop {
        let (number, told) = match receiver.recv_timeout(if draws { REDRAW } else { Duration::MAX }) {
            Ok(told) => told,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                draw(roots, &seen, &notes, host.clock.wall_ms(), screen)?;
                continue;
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(Outcome::Yes),
        };
        let change = told?;
        first[number] = false;
        let note = list::left_out_of(&roots[number], &change.left_out);
        let before = std::mem::replace(&mut notes[number], note);
        if !draws && asked.is.is_empty() {
            if let Some(said) = notes[number].as_ref().filter(|said| before.as_ref() != Some(said)) {
                let _ = writeln!(io::stderr(), "gallivant: {said}");
            }
            print(roots, number, &change, asked.json, host.clock.wall_ms())?;
        }
        for seat in change.seats {
            match seat.derived {
                Some(derived) => seen.insert((number, seat.path), derived),
                None => seen.remove(&(number, seat.path)),
            };
        }
        let is_known = !first.contains(&true);
        if is_known && !asked.is.is_empty() {
            let is_so = seen.values().all(|derived| shown::is_one_of(&derived.lend(), &asked.is));
            if is_so && !seen.is_empty() {
                return Ok(Outcome::Yes);
            }
        }
        if draws && is_known {
            draw(roots, &seen, &notes, host.clock.wall_ms(), screen)?;
        }
    }
}

fn nothing() -> Change {
    use gallivant_core::harness_state::{LeftOut, Noticing};
    Change { seats: Vec::new(), left_out: LeftOut::default(), noticing: Noticing::Notified }
}

/// A line for each agent of a change.
fn print(roots: &[PathBuf], number: usize, change: &Change, json: bool, now_ms: u64) -> io::Result<()> {
    let mut lines = String::new();
    for seat in &change.seats {
        let path = shown::path_below(&roots[number], &seat.path);
        let derived = seat.derived.as_ref().map(Derived::lend);
        if json {
            shown::write_json(&path, derived.as_ref(), &mut lines);
        } else {
            let doing = derived.as_ref().map_or("none".into(), shown::doing);
            let why = derived.as_ref().map_or("".into(), shown::why);
            let (path, why) = (printable(&path), printable(&why));
            lines.push_str(format!("{}  {path}  {doing}  {why}", utc(now_ms)).trim_end());
            lines.push('\n');
        }
    }
    let mut out = io::stdout().lock();
    out.write_all(lines.as_bytes()).and_then(|()| out.flush())
}

/// The whole table over the one before, in one piece, so that nothing flickers. Rows for which there is no room are counted.
fn draw(
    roots: &[PathBuf],
    seen: &BTreeMap<(usize, String), Derived>,
    notes: &[Option<String>],
    now_ms: u64,
    screen: &Screen,
) -> io::Result<()> {
    let mut table = Table::new(shown::HEADINGS);
    for ((number, path), derived) in seen {
        let root = &roots[*number];
        let path = if roots.len() == 1 { shown::path_in(root, path) } else { shown::path_below(root, path) };
        shown::add(&mut table, &path, &derived.lend(), now_ms);
    }
    let (columns, rows) = screen.size().unwrap_or((80, 24));
    let notes: Vec<&String> = notes.iter().flatten().collect();
    // The headings, the line below, and the last row, in which a newline would scroll.
    let room = rows.saturating_sub(3 + notes.len());
    let mut frame = Vec::new();
    table.write(&mut frame, screen, room)?;
    for note in notes {
        let note: String = note.chars().take(columns).collect();
        writeln!(frame, "{}", screen.paint(&note, list::NOTICE))?;
    }
    let more = seen.len().saturating_sub(room);
    if more > 0 {
        writeln!(frame, "and {more} more")?;
    }
    let text = String::from_utf8_lossy(&frame).replace('\n', &format!("{CLEAR_LINE}\n"));
    let mut out = io::stdout().lock();
    write!(out, "{HOME}{text}{CLEAR_BELOW}")?;
    out.flush()
}
