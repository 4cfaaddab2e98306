//! A text that comes in pieces: the same as the whole, wherever it is cut (EX-RED-12).

use std::fmt;
use std::io;

use super::scan::{Scan, Seen};
use super::{MARK, Redactor};

/// How much is scanned at once. It bounds how many covered stretches are kept, whatever the size of a piece.
const STEP: usize = 64 * 1024;

/// How many bytes before what is held a pattern may look at.
const LOOKBACK: usize = 2;

/// Redacts a text piece by piece. What comes out depends on the text alone and not on its pieces.
///
/// It holds back what may still become a part of something covered: no more than [`Redactor::most_held_back`], and
/// nothing once that cannot be any more. [`Stream::finish`] hands out the rest; what was pushed and not finished is
/// lost, so a host calls it on every way out, or uses a [`Writer`]. A piece allocates nothing, but for what `out` grows by.
#[derive(Clone)]
pub struct Stream {
    redactor: Redactor,
    scan: Scan,
    /// The end of what was pushed: two bytes that were handed out or covered, and what is held.
    tail: Vec<u8>,
    /// Everything before was handed out or covered.
    handed_out: u64,
    /// The end of what the last mark that was handed out covers so far.
    covered: u64,
}

impl Stream {
    pub(super) fn new(redactor: Redactor) -> Self {
        let scan = Scan::new(&redactor.automaton);
        let tail = Vec::with_capacity(LOOKBACK + 2 * redactor.most_held_back());
        Stream { redactor, scan, tail, handed_out: 0, covered: 0 }
    }

    /// Takes a piece, and appends to `out` what is certain by now.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        for piece in piece.chunks(STEP) {
            let seen = Seen { before: &self.tail, piece, base: self.scan.at() };
            self.scan.advance(&self.redactor.automaton, seen);
            let horizon = self.scan.horizon(&self.redactor.automaton, seen);
            self.hand_out(horizon, piece, out);
            self.keep_from(horizon.saturating_sub(LOOKBACK as u64), piece);
        }
    }

    /// Keeps the end of what was pushed, the last piece included.
    fn keep_from(&mut self, position: u64, piece: &[u8]) {
        let keep = (self.scan.at() - position) as usize;
        if let Some(start) = piece.len().checked_sub(keep) {
            self.tail.clear();
            self.tail.extend_from_slice(&piece[start..]);
        } else {
            let from_tail = keep - piece.len();
            self.tail.drain(..self.tail.len().saturating_sub(from_tail));
            self.tail.extend_from_slice(piece);
        }
    }

    /// The text ends here: appends the rest to `out`. The next piece begins another text.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.scan.end();
        self.hand_out(self.scan.at(), &[], out);
        self.tail.clear();
        (self.handed_out, self.covered) = (0, 0);
        self.scan.restart(&self.redactor.automaton);
    }

    /// How many bytes are held back now.
    #[must_use]
    pub fn held_back(&self) -> usize {
        (self.scan.at() - self.handed_out) as usize
    }

    /// Hands out everything before `horizon`: of what is held, and of the piece behind it.
    fn hand_out(&mut self, horizon: u64, piece: &[u8], out: &mut Vec<u8>) {
        let piece_at = self.scan.at() - piece.len() as u64;
        let tail = &self.tail;
        let keep = |from: u64, to: u64, out: &mut Vec<u8>| {
            let from_end = |position: u64| tail.len() - (piece_at - position.min(piece_at)) as usize;
            out.extend_from_slice(&tail[from_end(from)..from_end(to)]);
            let in_piece = |position: u64| (position.max(piece_at) - piece_at) as usize;
            out.extend_from_slice(&piece[in_piece(from)..in_piece(to)]);
        };
        let mut at = self.handed_out.max(self.covered);
        let spans = self.scan.spans();
        let taken = spans.partition_point(|span| span.start < horizon);
        for span in spans.drain(..taken) {
            // One that shares a byte with what a mark stands for already goes on with it.
            if span.start >= self.covered {
                keep(at, span.start, out);
                out.extend_from_slice(MARK.as_bytes());
            }
            self.covered = self.covered.max(span.end);
            at = self.covered;
        }
        if at < horizon {
            keep(at, horizon, out);
        }
        self.handed_out = horizon;
    }
}

/// Without what is held, which may be secret.
impl fmt::Debug for Stream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Stream(holds {})", self.held_back())
    }
}

/// A stream into something that is written to. What is held back is written by [`Writer::finish`], and when the writer
/// goes, on whatever way; an error is lost then.
pub struct Writer<W: io::Write> {
    stream: Stream,
    out: Vec<u8>,
    /// None once it was finished.
    inner: Option<W>,
}

impl<W: io::Write> Writer<W> {
    /// Writes to `inner` whatever is certain, with each write.
    pub fn new(redactor: &Redactor, inner: W) -> Self {
        Writer { stream: redactor.stream(), out: Vec::new(), inner: Some(inner) }
    }

    /// Writes what is held back, flushes, and gives back what is written to.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(mut self) -> io::Result<W> {
        let mut inner = self.inner.take().ok_or(io::ErrorKind::BrokenPipe)?;
        self.stream.finish(&mut self.out);
        inner.write_all(&self.out)?;
        inner.flush()?;
        Ok(inner)
    }
}

impl<W: io::Write> fmt::Debug for Writer<W> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Writer({:?})", self.stream)
    }
}

impl<W: io::Write> io::Write for Writer<W> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let inner = self.inner.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        self.stream.push(piece, &mut self.out);
        // After an error in the middle nobody knows what was written, so it is not tried again.
        let written = inner.write_all(&self.out);
        self.out.clear();
        written.map(|()| piece.len())
    }

    /// Flushes what was written. What is held back stays so: it may yet be a part of a secret.
    fn flush(&mut self) -> io::Result<()> {
        self.inner.as_mut().map_or(Ok(()), io::Write::flush)
    }
}

impl<W: io::Write> Drop for Writer<W> {
    fn drop(&mut self) {
        if let Some(inner) = &mut self.inner {
            self.stream.finish(&mut self.out);
            let _ = inner.write_all(&self.out).and_then(|()| inner.flush());
        }
    }
}
