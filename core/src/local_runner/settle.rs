//! What a harness's own output says of a run (EX-LOC-20), read in pieces of bounded size.

use std::io;

use super::profiles::{Output, Reading};
use crate::json::{Number, Value};
use crate::storage::{DataAccess, Directory};

/// The output is read in pieces of this size.
const PIECE: usize = 65_536;
/// A line that is longer is passed over: no event of a harness that tells an outcome is so long.
const MAX_LINE: usize = 4 * 1024 * 1024;

/// What the output says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// Whether the run is well.
    pub ok: bool,
    /// The costs that are told, in dollars: one for the whole, or one for each step.
    pub costs: Vec<Number>,
    /// What the harness was not permitted to do.
    pub denials: Vec<Value>,
    /// The session, as it is told.
    pub session_id: Option<Value>,
}

/// Reads what the raw output in a run's directory says, with the exit status where it is known. A run is well if its harness
/// says so, as far as it says anything, and it has exited with 0. An output that is missing says nothing.
///
/// # Errors
/// As the system says it.
pub fn read_outcome(run: &dyn Directory, log: &str, output: Output, exit: Option<i64>) -> io::Result<Told> {
    let mut reading = Reading::new(output);
    match run.open_data(log, DataAccess::Read) {
        // Its exit says all, however much it has printed.
        Ok(_) if output == Output::Exit => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
        Ok(log) => {
            let mut lines = Lines::default();
            let mut piece = vec![0; PIECE];
            let mut offset = 0;
            loop {
                let read = log.read_at(offset, &mut piece)?;
                if read == 0 {
                    break;
                }
                offset += read as u64;
                lines.take(&piece[..read], &mut |line| reading.take(line));
            }
            lines.end(&mut |line| reading.take(line));
        }
    }
    let (mut told, says_well) = reading.finish();
    told.ok = says_well && exit == Some(0);
    Ok(told)
}

/// Cuts pieces into lines.
#[derive(Default)]
struct Lines {
    line: Vec<u8>,
    is_too_long: bool,
}

impl Lines {
    fn take(&mut self, mut piece: &[u8], visit: &mut dyn FnMut(&[u8])) {
        while let Some(end) = memchr::memchr(b'\n', piece) {
            self.push(&piece[..end]);
            self.end(visit);
            piece = &piece[end + 1..];
        }
        self.push(piece);
    }

    fn push(&mut self, bytes: &[u8]) {
        self.is_too_long |= self.line.len() + bytes.len() > MAX_LINE;
        if self.is_too_long {
            self.line.clear();
        } else {
            self.line.extend(bytes);
        }
    }

    fn end(&mut self, visit: &mut dyn FnMut(&[u8])) {
        if !self.is_too_long && !self.line.is_empty() {
            visit(&self.line);
        }
        self.line.clear();
        self.is_too_long = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_however_they_are_cut_and_long_ones_are_passed_over() {
        let mut text = b"a\n\nbc\n".to_vec();
        text.extend(vec![b'x'; MAX_LINE + 1]);
        text.extend(b"\nlast");
        for size in [1, 2, 3, 1000, PIECE] {
            let mut seen: Vec<Vec<u8>> = Vec::new();
            let mut lines = Lines::default();
            text.chunks(size).for_each(|piece| lines.take(piece, &mut |line| seen.push(line.to_vec())));
            lines.end(&mut |line| seen.push(line.to_vec()));
            assert_eq!(seen, [b"a".to_vec(), b"bc".to_vec(), b"last".to_vec()], "pieces of {size}");
        }
    }
}
