//! The rows of the journal over the core, the same work by SQLite, and what prepares their directories.
//!
//! `journal ROW DIRECTORY` is a row: it says `ready`, then makes as many operations as each line of standard input says
//! and answers how many nanoseconds they took. `journal prepare-N DIRECTORY` makes a journal of N records and says, in
//! the file `sizes`, how many bytes the parts of a page have. `prepare-projected-N` projects it too, and `prepare-lines-N`
//! makes public lines of N bytes in all, without a journal behind them.

mod followers;
mod reading;
mod rows;
#[path = "../serving.rs"]
mod serving;

use std::process::ExitCode;

use serving::Failure;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [row, directory] = arguments.as_slice() else {
        eprintln!("usage: journal ROW DIRECTORY");
        return ExitCode::FAILURE;
    };
    let done = match row.strip_prefix("prepare-") {
        Some(what) => prepare(what, directory),
        None => rows::run(row, directory),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn prepare(what: &str, directory: &str) -> Result<(), Failure> {
    if let Some(bytes) = what.strip_prefix("lines-") {
        return reading::prepare_lines(directory, bytes.parse()?);
    }
    match what.strip_prefix("projected-") {
        Some(records) => reading::prepare_projected(directory, records.parse()?),
        None => rows::prepare(directory, what.parse()?),
    }
}
