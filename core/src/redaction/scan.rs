//! The one pass: which stretches of a text are covered.
//!
//! The automaton takes each byte once, whatever the number of secrets. Where it is at its start, bytes with which no needle
//! begins are passed over first. It reports every needle that ends at a byte. A secret's occurrence is covered if no mark
//! overlaps it; an anchor starts one of the small `machines`, which then take each byte too, until none of them is
//! at work.
//!
//! Positions are absolute: the number of bytes since the text began. The bytes themselves are the caller's, who hands
//! in a piece and, before it, what it has kept of those before.

use aho_corasick::Anchored;
use aho_corasick::automaton::StateID;

use super::MARK;
use super::automaton::{Automaton, Engine, Needle, What};
use super::machines::Machines;

/// A stretch of the text: from its first byte to behind its last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// The end of a text as far as it is known: a piece, and what was kept of the bytes before it.
#[derive(Clone, Copy)]
pub(super) struct Seen<'t> {
    /// At least everything from [`Scan::horizon`] on and two bytes more, where there were any.
    pub(super) before: &'t [u8],
    pub(super) piece: &'t [u8],
    /// The position of the piece's first byte.
    pub(super) base: u64,
}

impl<'t> Seen<'t> {
    /// Without the bytes of the piece from here on.
    fn until(self, at: usize) -> Seen<'t> {
        Seen { piece: &self.piece[..at], ..self }
    }

    /// The bytes before a position, the last one first.
    fn back_from(self, position: u64) -> impl Iterator<Item = u8> {
        let behind = (self.base + self.piece.len() as u64).saturating_sub(position);
        self.before
            .iter()
            .chain(self.piece)
            .rev()
            .skip(usize::try_from(behind).unwrap_or(usize::MAX))
            .copied()
    }

    /// How many bytes at the end are the beginning of a mark, all of it included. The mark has its bracket at its
    /// beginning only, so the last bracket decides.
    fn mark_progress(self) -> usize {
        let mark = MARK.as_bytes();
        let mut tail = [0; MARK.len()];
        for (length, byte) in self.before.iter().chain(self.piece).rev().take(mark.len()).enumerate() {
            let from = mark.len() - 1 - length;
            tail[from] = *byte;
            if *byte == mark[0] {
                return if mark.starts_with(&tail[from..]) { length + 1 } else { 0 };
            }
        }
        0
    }
}

/// How far the pass has come, and what it has found that is not yet taken.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    state: StateID,
    /// How many bytes were scanned.
    at: u64,
    /// What is covered for certain: by their starts, no two sharing a byte.
    spans: Vec<Span>,
    /// Occurrences that end within what may become a mark.
    tentative: Vec<Span>,
    last_mark: Option<Span>,
    /// Where the last few covered stretches ended, each once: more than can have ended since the beginning of the one
    /// anchor that asks, which is three bytes long.
    ends: [u64; 8],
    machines: Machines,
}

impl Scan {
    pub(super) fn new(automaton: &Automaton) -> Self {
        Scan {
            state: automaton.start,
            at: 0,
            spans: Vec::new(),
            tentative: Vec::new(),
            last_mark: None,
            ends: [u64::MAX; 8],
            machines: Machines::default(),
        }
    }

    /// Forgets the text and keeps the memory.
    pub(super) fn restart(&mut self, automaton: &Automaton) {
        self.spans.clear();
        self.tentative.clear();
        *self = Scan {
            spans: std::mem::take(&mut self.spans),
            tentative: std::mem::take(&mut self.tentative),
            ..Scan::new(automaton)
        };
    }

    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// What is covered for certain and not yet taken, in order.
    pub(super) fn spans(&mut self) -> &mut Vec<Span> {
        &mut self.spans
    }

    /// Scans a piece.
    pub(super) fn advance(&mut self, automaton: &Automaton, seen: Seen<'_>) {
        self.advance_from(0, automaton, seen);
    }

    /// Scans a piece from a place on, before which nothing begins that is looked for or goes on from the pieces before.
    pub(super) fn advance_from(&mut self, at: usize, automaton: &Automaton, seen: Seen<'_>) {
        match &automaton.engine {
            Engine::Table(table) => self.run(table, at, automaton, seen),
            Engine::Compact(compact) => self.run(compact, at, automaton, seen),
        }
    }

    fn run<A: aho_corasick::automaton::Automaton>(
        &mut self,
        engine: &A,
        mut at: usize,
        automaton: &Automaton,
        seen: Seen<'_>,
    ) {
        let Seen { piece, base, .. } = seen;
        let mut state = self.state;
        while at < piece.len() {
            if self.machines.are_idle() {
                if state == automaton.start {
                    at += automaton.beginnings.passed_over(&piece[at..]);
                }
                let mut rest = piece[at..].iter();
                for byte in rest.by_ref() {
                    state = engine.next_state(Anchored::No, state, *byte);
                    if engine.is_special(state) || state == automaton.start {
                        break;
                    }
                }
                at = piece.len() - rest.len();
            } else {
                self.machines.take(piece[at], base + at as u64, || seen.until(at).mark_progress() > 0);
                self.cover_finished();
                state = engine.next_state(Anchored::No, state, piece[at]);
                at += 1;
            }
            if engine.is_match(state) {
                self.at = base + at as u64;
                for index in 0..engine.match_len(state) {
                    let needle = automaton.needles[engine.match_pattern(state, index).as_usize()];
                    self.meet(needle, seen.until(at));
                }
            }
        }
        self.state = state;
        self.at = base + at as u64;
    }

    /// A needle that ends where the scan is.
    fn meet(&mut self, needle: Needle, seen: Seen<'_>) {
        let span = Span { start: self.at - u64::from(needle.length), end: self.at };
        match needle.what {
            What::Mark => {
                // The machines have walked into it; what they cover ends before it.
                self.machines.stop_at(span.start);
                self.cover_finished();
                self.last_mark = Some(span);
                self.settle(span.start);
                self.tentative.clear();
            }
            What::Secret => {
                let progress = seen.mark_progress();
                // A mark that ends here may be met after this.
                if self.last_mark.is_some_and(|mark| mark.end > span.start) || progress == MARK.len() {
                    return;
                }
                // If this turns out to lie in a mark, no key begins behind it: no anchor begins with what goes on a mark.
                self.note_end(span.end);
                match progress {
                    0 => self.cover(span),
                    _ => self.tentative.push(span),
                }
            }
            What::Anchor(anchor) => {
                let is_bordered = !anchor.needs_border() || self.is_border(span.start, seen);
                self.machines.start(anchor, span, is_bordered);
                self.cover_finished();
            }
        }
    }

    /// Whether a key may begin here: not in the middle of a word. What a mark, or what becomes one, covers is none; a
    /// letter that ends an escape of JSON or a colour of a terminal is none either.
    fn is_border(&self, start: u64, seen: Seen<'_>) -> bool {
        if start == 0 || self.ends.contains(&start) || self.last_mark.is_some_and(|mark| mark.end == start) {
            return true;
        }
        let mut before = seen.back_from(start);
        match (before.next(), before.next()) {
            (Some(b'n' | b'r' | b't' | b'b' | b'f'), Some(b'\\')) => true,
            (Some(b'm'), Some(b'0'..=b'9' | b';' | b'[')) => true,
            (Some(last), _) => !last.is_ascii_alphanumeric(),
            (None, _) => true,
        }
    }

    /// Takes over the occurrences that are certain now that every mark that begins before `position` is known.
    fn settle(&mut self, position: u64) {
        let mut at = 0;
        while at < self.tentative.len() {
            if self.tentative[at].end <= position {
                let span = self.tentative.swap_remove(at);
                self.cover(span);
            } else {
                at += 1;
            }
        }
    }

    fn cover_finished(&mut self) {
        while let Some(span) = self.machines.finished() {
            self.note_end(span.end);
            self.cover(span);
        }
    }

    /// Notes the end of an occurrence when it is met, and never when it is taken over: that depends on the cutting.
    fn note_end(&mut self, end: u64) {
        if !self.ends.contains(&end) {
            self.ends.rotate_right(1);
            self.ends[0] = end;
        }
    }

    /// Covers a stretch: it becomes one with all that it shares a byte with.
    fn cover(&mut self, span: Span) {
        let from = self.spans.partition_point(|known| known.end <= span.start);
        let to = self.spans.partition_point(|known| known.start < span.end);
        match self.spans.get(from..to) {
            Some([first, ..]) => {
                let start = first.start.min(span.start);
                let end = self.spans[to - 1].end.max(span.end);
                self.spans[from] = Span { start, end };
                self.spans.drain(from + 1..to);
            }
            _ => self.spans.insert(from, span),
        }
    }

    /// The position before which everything is decided: no byte before it will be covered that is not covered now. What
    /// machines have covered so far is among the spans.
    pub(super) fn horizon(&mut self, automaton: &Automaton, seen: Seen<'_>) -> u64 {
        // A whole mark has been settled already.
        let mark = self.at - (seen.mark_progress() % MARK.len()) as u64;
        self.settle(mark);
        if !self.machines.are_idle() {
            self.machines.covered(mark).into_iter().flatten().for_each(|span| self.cover(span));
        }
        let held = self.at - automaton.depth(self.state);
        let undecided = self.machines.first_undecided().unwrap_or(held);
        let tentative = self.tentative.iter().map(|span| span.start).min().unwrap_or(held);
        held.min(undecided).min(tentative)
    }

    /// The text ends here: everything is decided.
    pub(super) fn end(&mut self) {
        self.settle(u64::MAX);
        self.machines.end(self.at);
        self.cover_finished();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redaction::{Patterns, Secrets};
    use crate::storage::faulty_directory::split_mix;

    /// What a scan of a text in pieces has come to behind each of them.
    fn scanned(automaton: &Automaton, text: &[u8], cuts: &[usize]) -> Vec<(StateID, u64, Vec<Span>, u64)> {
        let mut scan = Scan::new(automaton);
        let mut from = 0;
        let mut behind = Vec::new();
        for to in cuts.iter().copied().chain([text.len()]) {
            let seen = Seen { before: &text[..from], piece: &text[from..to], base: from as u64 };
            scan.advance(automaton, seen);
            let horizon = scan.horizon(automaton, seen);
            behind.push((scan.state, scan.at(), scan.spans().clone(), horizon));
            from = to;
        }
        scan.end();
        behind.push((scan.state, scan.at(), scan.spans().clone(), text.len() as u64));
        behind
    }

    #[test]
    fn what_is_passed_over_changes_nothing() {
        const PARTS: [&str; 12] =
            ["a", "b", "k", "s", " ", "\u{e9}", "sk-", "eyJ", "Bearer ", "AKIA0123456789ABCDEF", "xyz", MARK];
        let mut state = 7;
        let mut dice = |sides: usize| (split_mix(&mut state) % sides as u64) as usize;
        let (mut covered, mut searched, mut absent) = (0, 0, 0);
        for _ in 0..800 {
            let mut made = |parts: usize| (0..parts).map(|_| PARTS[dice(PARTS.len())]).collect::<String>();
            // Of one part a secret may be a single byte, of four it is searched for.
            let secrets = Secrets::lenient([made(1), made(2), made(3)]);
            let secrets = if made(1).len() > 1 { Secrets::lenient([made(4), made(5)]) } else { secrets };
            let text = made(200).into_bytes();
            let mut cuts: Vec<usize> = (0..4).map(|_| dice(text.len())).collect();
            cuts.sort_unstable();
            for patterns in [Patterns::Off, Patterns::Recognised] {
                let automaton = Automaton::new(&secrets, patterns).expect("small enough");
                let mut stepping = Automaton::new(&secrets, patterns).expect("small enough");
                stepping.beginnings.pairs = [[u64::MAX; 4]; 256];
                stepping.beginnings.searcher = None;
                searched += u32::from(automaton.beginnings.searcher.is_some());
                let found = scanned(&automaton, &text, &cuts);
                assert_eq!(found, scanned(&stepping, &text, &cuts), "{:?}", String::from_utf8_lossy(&text));
                for part in cuts.windows(2).map(|cuts| &text[cuts[0]..cuts[1]]) {
                    let wanted = scanned(&stepping, part, &[]);
                    let mut scan = Scan::new(&automaton);
                    match automaton.first_in(part) {
                        None => absent += 1,
                        Some(first) => {
                            scan.advance_from(first, &automaton, Seen { before: &[], piece: part, base: 0 });
                        }
                    }
                    scan.end();
                    let spans = &wanted.last().expect("the end").2;
                    assert_eq!(scan.spans(), spans, "{:?}", String::from_utf8_lossy(part));
                }
                covered += found.last().map_or(0, |(_, _, spans, _)| spans.len());
            }
        }
        assert!(covered > 1000 && searched > 200 && absent > 200, "{covered} {searched} {absent}");
    }
}
