//! The rows of the journal over the core, the same work by SQLite, and what prepares their directories.
//!
//! `journal ROW DIRECTORY` is a row: it says `ready`, then makes as many operations as each line of standard input says
//! and answers how many nanoseconds they took. `journal prepare-N DIRECTORY` makes a journal of N records and says, in
//! the file `sizes`, how many bytes the parts of a page have.

mod rows;

use std::error::Error;
use std::io::{BufRead, Write};
use std::process::ExitCode;

use gallivant_core::Host;

/// What every part of this program may fail with; it is printed and ends the program.
type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [row, directory] = arguments.as_slice() else {
        eprintln!("usage: journal ROW DIRECTORY");
        return ExitCode::FAILURE;
    };
    let prepared = row.strip_prefix("prepare-").map(|records| records.parse::<u64>());
    let done = match prepared {
        Some(records) => records.map_err(Into::into).and_then(|records| rows::prepare(directory, records)),
        None => rows::open(row, directory).and_then(serve),
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
fn serve(mut operation: rows::Operation) -> Result<(), Failure> {
    let clock = Host::system().clock;
    let mut out = std::io::stdout().lock();
    writeln!(out, "ready")?;
    out.flush()?;
    for line in std::io::stdin().lock().lines() {
        let count: u64 = line?.trim().parse()?;
        let started = clock.awake();
        for _ in 0..count {
            operation()?;
        }
        let took = clock.awake() - started;
        writeln!(out, "{}", took.as_nanos())?;
        out.flush()?;
    }
    Ok(())
}
