//! What is kept of a command's output: redacted as it comes, and cut after that (EX-RED-13, EX-VER-04).

use super::command::OUTPUT_BYTES;
use crate::redaction::{MARK, Redactor, Stream};

/// Redacted bytes that are held: what is kept, and enough behind it that neither a mark nor a character is cut there.
const HELD: usize = OUTPUT_BYTES + MARK.len() + 4;

/// Output under way. It takes any amount and holds a bounded one.
pub(super) struct Kept<'a> {
    redactor: &'a Redactor,
    stream: Stream,
    bytes: Vec<u8>,
    is_cut: bool,
}

impl<'a> Kept<'a> {
    pub(super) fn new(redactor: &'a Redactor) -> Kept<'a> {
        Kept { redactor, stream: redactor.stream(), bytes: Vec::new(), is_cut: false }
    }

    /// Takes a piece. It always wants more: a command that prints without end is ended by its time.
    pub(super) fn push(&mut self, piece: &[u8]) -> bool {
        if !self.is_cut {
            self.stream.push(piece, &mut self.bytes);
            self.cut();
        }
        true
    }

    /// What is kept, as text, and whether there was more. Bytes that are no UTF-8 become U+FFFD.
    pub(super) fn finish(mut self) -> (String, bool) {
        if !self.is_cut {
            self.stream.finish(&mut self.bytes);
            self.cut();
        }
        let text = String::from_utf8_lossy(&self.bytes);
        let truncated = self.is_cut || text.len() > OUTPUT_BYTES;
        (self.redactor.beginning(&text, OUTPUT_BYTES), truncated)
    }

    fn cut(&mut self) {
        if self.bytes.len() > HELD {
            self.bytes.truncate(HELD);
            self.is_cut = true;
        }
    }
}
