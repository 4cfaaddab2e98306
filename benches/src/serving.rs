//! The loop that a row runs in: how often from standard input, how long to standard output.

use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Duration;

use gallivant_core::Host;

/// What every part of a program of rows may fail with; it is printed and ends the program.
pub(crate) type Failure = Box<dyn Error>;

/// An opened row.
pub(crate) type Operation = Box<dyn FnMut() -> Result<(), Failure>>;

/// Says `ready`, then makes as many operations as each line of standard input says and answers how many nanoseconds they
/// took, until standard input ends.
pub(crate) fn serve(mut operation: Operation) -> Result<(), Failure> {
    serve_prepared(|| (), |()| operation())
}

/// As [`serve`], of operations each of which is handed something that is made before and dropped after the time in which it is
/// measured.
pub(crate) fn serve_prepared<P>(
    mut prepare: impl FnMut() -> P,
    mut operation: impl FnMut(&P) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let clock = Host::system().clock;
    let mut out = std::io::stdout().lock();
    writeln!(out, "ready")?;
    out.flush()?;
    for line in std::io::stdin().lock().lines() {
        let count: u64 = line?.trim().parse()?;
        let mut took = Duration::ZERO;
        for _ in 0..count {
            let prepared = prepare();
            let started = clock.awake();
            operation(&prepared)?;
            took += clock.awake() - started;
        }
        writeln!(out, "{}", took.as_nanos())?;
        out.flush()?;
    }
    Ok(())
}
