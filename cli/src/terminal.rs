//! Whether a person looks, how wide the terminal is, and whether it may be coloured.

use std::io::{self, IsTerminal, StdoutLock, Write};

use crate::environment::variable;

/// A text that another process wrote, as one line without anything that would steer a terminal.
pub(crate) use gallivant_core::error::one_line as printable;

/// Where standard output goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// A terminal, and not a file or a pipe.
    pub(crate) is_terminal: bool,
    has_colour: bool,
}

/// What a word is coloured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it is.
    Plain,
    /// In order, or at work.
    Good,
    /// Somebody is waited for.
    Waiting,
    /// Not in order.
    Bad,
    /// Of less weight.
    Faint,
    /// A heading.
    Strong,
}

impl Screen {
    pub(crate) fn of_this_process() -> Self {
        let is_terminal = io::stdout().is_terminal();
        // https://no-color.org: set to anything but the empty text.
        let is_dumb = variable("TERM").is_some_and(|term| term == "dumb");
        Screen { is_terminal, has_colour: is_terminal && !is_dumb && variable("NO_COLOR").is_none() }
    }

    /// Columns and rows at this moment; none where there is no terminal.
    pub(crate) fn size(&self) -> Option<(usize, usize)> {
        if !self.is_terminal {
            return None;
        }
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        Some((usize::from(size.ws_col), usize::from(size.ws_row)))
            .filter(|(columns, rows)| *columns > 0 && *rows > 0)
    }

    /// Whether a text of this tone is shown otherwise than as it is.
    pub(crate) fn paints(&self, tone: Tone) -> bool {
        self.has_colour && tone != Tone::Plain
    }

    /// A text in its colour, where there are colours.
    pub(crate) fn paint(&self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Waiting => "33",
            Tone::Bad => "31",
            Tone::Faint => "2",
            Tone::Strong => "1",
            Tone::Plain => "",
        };
        if self.paints(tone) { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Standard output, written in pieces of some size; flushed by whoever is done.
    pub(crate) fn out(&self) -> io::BufWriter<StdoutLock<'static>> {
        io::BufWriter::with_capacity(64 * 1024, io::stdout().lock())
    }
}

/// Writes a line at once.
pub(crate) fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush())
}
