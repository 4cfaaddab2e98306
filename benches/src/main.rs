//! The rows of harness state over the core, and what prepares the directories of all rows.
//!
//! `harness-state ROW DIRECTORY` is a row: it says `ready`, then makes as many operations as each line of standard input
//! says and answers how many nanoseconds they took. `harness-state prepare DIRECTORY`, `prepare-fleet DIRECTORY` and
//! `watch DIRECTORY` do one thing and end.

mod prepare;
mod rows;
mod watch;

use std::error::Error;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Duration;

use gallivant_core::Host;

/// What every part of this program may fail with; it is printed and ends the program.
type Failure = Box<dyn Error>;

/// The exit status that says: this row does not exist here.
const MISSING: u8 = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [row, directory] = arguments.as_slice() else {
        eprintln!("usage: harness-state ROW DIRECTORY");
        return ExitCode::FAILURE;
    };
    let done = match row.as_str() {
        "prepare" => prepare::seat(directory),
        "prepare-fleet" => prepare::fleet(directory),
        "watch" => watch::measure(directory),
        _ => match rows::open(row, directory) {
            Ok(Some(operation)) => serve(operation),
            Ok(None) => {
                eprintln!("no such row");
                return ExitCode::from(MISSING);
            }
            Err(error) => Err(error),
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Answers each line until standard input ends.
fn serve(mut row: rows::Row) -> Result<(), Failure> {
    let clock = Host::system().clock;
    let mut out = std::io::stdout().lock();
    writeln!(out, "ready")?;
    out.flush()?;
    for line in std::io::stdin().lock().lines() {
        let count: u64 = line?.trim().parse()?;
        let started = clock.awake();
        for _ in 0..count {
            (row.operation)()?;
        }
        let took: Duration = clock.awake() - started;
        match &row.tries {
            None => writeln!(out, "{}", took.as_nanos())?,
            Some(tries) => writeln!(out, "{} {}", took.as_nanos(), tries())?,
        }
        out.flush()?;
    }
    Ok(())
}
