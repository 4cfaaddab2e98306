//! The small machines that take a text byte by byte and decide what of it is a recognised credential.
//!
//! An anchor starts each of them. No machine ever waits for more than [`Machines::MOST_HELD_BACK`] bytes, and what it decides
//! depends on the bytes alone. What each takes and covers is the table in `patterns`.

use super::patterns::{Anchor, Run, is_base64_url};
use super::scan::Span;

/// How long a token's first part, or a user-info, may be before it counts as one without its end.
const LONGEST_UNDECIDED: u32 = 2048;
const FEWEST_OF_A_TOKENS_HEAD: u32 = 8;
const FEWEST_AFTER_A_TOKENS_DOT: u32 = 4;
const MOST_SEPARATORS: u32 = 16;
const LONGEST_LABEL: u32 = 64;
const BLOCK_WINDOW: u32 = 512;
const BLOCK_RUN: u32 = 40;
const LONGEST_BLOCK: u32 = 65_536;

impl Run {
    /// The first slots are theirs.
    fn slot(self) -> usize {
        match self {
            Run::Sk => 0,
            Run::GitHub => 1,
            Run::Slack => 2,
            Run::Aws => 3,
            Run::Google => 4,
            Run::GitLab => 5,
        }
    }
}

const TOKEN: usize = 6;
const BEARER: [usize; 2] = [7, 8];
const AUTHORIZATION: [usize; 2] = [9, 10];
const AUTHORITY: usize = 11;
const BLOCK: usize = 12;
const SLOTS: usize = 13;

/// The machines that are at work, at most one a slot.
#[derive(Clone, Debug)]
pub(super) struct Machines {
    slots: [Option<Machine>; SLOTS],
    /// The BEGIN or END line of a block, as far as it was read: at most one can be at once.
    label: Option<Label>,
    /// A bit a slot, and one for the label.
    at_work: u32,
    done: [Span; SLOTS],
    done_count: usize,
}

#[derive(Clone, Copy, Debug)]
struct Label {
    begins: bool,
    start: u64,
    length: u32,
}

#[derive(Clone, Copy, Debug)]
struct Machine {
    /// The first byte that would be covered.
    start: u64,
    /// Whether it is a credential for certain.
    is_decided: bool,
    /// How many bytes of its present part it has taken.
    count: u32,
    part: Part,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Run(Run),
    /// Before the first dot, and behind it.
    TokenHead,
    TokenTail,
    BearerSeparators,
    BearerValue,
    AuthorizationSeparators {
        assigns: bool,
    },
    AuthorizationValue {
        scheme: Scheme,
    },
    /// The position of the last `@`.
    UserInfo {
        at_sign: Option<u64>,
    },
    Block {
        run: u32,
    },
}

/// The first word of an Authorization value, in lower case, as long as it may still be one with parameters.
#[derive(Clone, Copy, Debug)]
enum Scheme {
    Word([u8; 9], usize),
    Plain,
    WithParameters,
}

enum Then {
    GoesOn,
    Ends,
    Covers(Span),
}

impl Default for Machines {
    fn default() -> Self {
        let none = Span { start: 0, end: 0 };
        Machines { slots: [None; SLOTS], label: None, at_work: 0, done: [none; SLOTS], done_count: 0 }
    }
}

impl Machines {
    /// The most bytes that a machine holds back: a token's anchor and head, its dot, and what is too few behind it.
    pub(super) const MOST_HELD_BACK: usize =
        3 + LONGEST_UNDECIDED as usize + FEWEST_AFTER_A_TOKENS_DOT as usize;

    #[inline]
    pub(super) fn are_idle(&self) -> bool {
        self.at_work == 0
    }

    /// A stretch that a machine has covered for good, and that was not handed out before.
    pub(super) fn finished(&mut self) -> Option<Span> {
        self.done_count = self.done_count.checked_sub(1)?;
        Some(self.done[self.done_count])
    }

    /// Starts what an anchor begins; `anchor_at` is where it stands, and the machine takes what follows it.
    pub(super) fn start(&mut self, anchor: Anchor, anchor_at: Span, is_bordered: bool) {
        let at_anchor = |part| Machine { start: anchor_at.start, is_decided: false, count: 0, part };
        let behind = |part| Machine { start: anchor_at.end, ..at_anchor(part) };
        match anchor {
            // An earlier run or token goes on at least as long as this one would, and has more already.
            Anchor::Run(run) if is_bordered => self.start_in(&[run.slot()], at_anchor(Part::Run(run))),
            Anchor::Run(_) => {}
            Anchor::Token => self.start_in(&[TOKEN], at_anchor(Part::TokenHead)),
            Anchor::Authority => self.start_in(&[AUTHORITY], behind(Part::UserInfo { at_sign: None })),
            // A value may be the keyword once more.
            Anchor::Bearer => self.start_in(&BEARER, behind(Part::BearerSeparators)),
            Anchor::Authorization => {
                self.start_in(&AUTHORIZATION, behind(Part::AuthorizationSeparators { assigns: false }));
            }
            Anchor::Begin => self.read_label(true, anchor_at.start),
            Anchor::End => self.read_label(false, anchor_at.start),
            Anchor::KeyLine => self.end_label(anchor_at.end),
        }
    }

    fn start_in(&mut self, slots: &[usize], machine: Machine) {
        if let Some(free) = slots.iter().find(|slot| self.slots[**slot].is_none()) {
            self.put(*free, Some(machine));
        }
    }

    fn put(&mut self, slot: usize, machine: Option<Machine>) {
        self.slots[slot] = machine;
        self.at_work = self.at_work & !(1 << slot) | u32::from(machine.is_some()) << slot;
    }

    fn put_label(&mut self, label: Option<Label>) {
        self.label = label;
        self.at_work = self.at_work & !(1 << SLOTS) | u32::from(label.is_some()) << SLOTS;
    }

    fn read_label(&mut self, begins: bool, start: u64) {
        self.put_label(Some(Label { begins, start, length: 0 }));
    }

    /// A BEGIN or END line of a private key is complete.
    fn end_label(&mut self, end: u64) {
        let Some(label) = self.label else { return };
        self.put_label(None);
        match &mut self.slots[BLOCK] {
            Some(block) if !label.begins => {
                let span = Span { start: block.start, end };
                self.put(BLOCK, None);
                self.finish(span);
            }
            // A block that has a further BEGIN line has lost its END line.
            Some(block) if block.is_decided => block.count = 0,
            _ if label.begins => {
                let part = Part::Block { run: 0 };
                self.put(BLOCK, Some(Machine { start: label.start, is_decided: false, count: 0, part }));
            }
            _ => {}
        }
    }

    fn finish(&mut self, span: Span) {
        if span.start < span.end {
            self.done[self.done_count] = span;
            self.done_count += 1;
        }
    }

    /// Takes the byte at a position. `in_mark` tells whether the bytes before it may be the beginning of a mark.
    pub(super) fn take(&mut self, byte: u8, at: u64, in_mark: impl Fn() -> bool) {
        let mut waiting = self.at_work & ((1 << SLOTS) - 1);
        while waiting != 0 {
            let slot = waiting.trailing_zeros() as usize;
            waiting &= waiting - 1;
            let Some(machine) = &mut self.slots[slot] else { continue };
            match machine.take(byte, at, &in_mark) {
                Then::GoesOn => {}
                Then::Ends => self.put(slot, None),
                Then::Covers(span) => {
                    self.put(slot, None);
                    self.finish(span);
                }
            }
        }
        if let Some(label) = &mut self.label {
            label.length += 1;
            let goes_on =
                matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b' ' | b'-') && label.length <= LONGEST_LABEL;
            if !goes_on {
                self.put_label(None);
            }
        }
    }

    /// A mark begins here, and everything is behind it.
    pub(super) fn stop_at(&mut self, mark: u64) {
        for slot in 0..SLOTS {
            if let Some(machine) = self.slots[slot] {
                self.put(slot, None);
                if machine.is_decided {
                    self.finish(Span { start: machine.start, end: mark });
                }
            }
        }
        self.put_label(None);
    }

    /// The text ends here.
    pub(super) fn end(&mut self, end: u64) {
        for slot in 0..SLOTS {
            if let Some(machine) = self.slots[slot] {
                self.put(slot, None);
                match machine.part {
                    Part::UserInfo { at_sign: Some(at_sign) } => {
                        self.finish(Span { start: machine.start, end: at_sign })
                    }
                    // A block that is cut off is one.
                    Part::Block { .. } => self.finish(Span { start: machine.start, end }),
                    _ if machine.is_decided => self.finish(Span { start: machine.start, end }),
                    _ => {}
                }
            }
        }
        self.put_label(None);
    }

    /// What the machines that go on have covered up to a position.
    pub(super) fn covered(&self, until: u64) -> [Option<Span>; SLOTS] {
        self.slots.map(|machine| {
            let machine = machine.filter(|machine| machine.is_decided && machine.start < until)?;
            Some(Span { start: machine.start, end: until })
        })
    }

    /// The first byte of which a machine does not know yet.
    pub(super) fn first_undecided(&self) -> Option<u64> {
        let undecided = self.slots.iter().flatten().filter(|machine| !machine.is_decided);
        // A BEGIN line is covered with its block; an END line is within one.
        let label = self.label.filter(|label| label.begins).map(|label| label.start);
        undecided.map(|machine| machine.start).chain(label).min()
    }
}

impl Machine {
    fn take(&mut self, byte: u8, at: u64, in_mark: &impl Fn() -> bool) -> Then {
        self.count = self.count.saturating_add(1);
        let end = |machine: &Machine| {
            if machine.is_decided { Then::Covers(Span { start: machine.start, end: at }) } else { Then::Ends }
        };
        match &mut self.part {
            Part::Run(run) => {
                if !run.takes(byte) {
                    return end(self);
                }
                self.is_decided |= self.count >= run.fewest();
            }
            Part::TokenHead => {
                if byte == b'.' && self.count > FEWEST_OF_A_TOKENS_HEAD {
                    self.part = Part::TokenTail;
                    self.count = 0;
                } else if !is_base64_url(byte) {
                    return Then::Ends;
                } else if self.count == LONGEST_UNDECIDED {
                    self.part = Part::TokenTail;
                    self.is_decided = true;
                }
            }
            Part::TokenTail => {
                if !is_base64_url(byte) && byte != b'.' {
                    return end(self);
                }
                self.is_decided |= self.count >= FEWEST_AFTER_A_TOKENS_DOT;
            }
            Part::BearerSeparators => {
                if is_separator(byte) {
                    return if self.count > MOST_SEPARATORS { Then::Ends } else { Then::GoesOn };
                }
                if self.count == 1 || !is_bearer_value(byte) {
                    return Then::Ends;
                }
                (self.start, self.is_decided, self.part) = (at, true, Part::BearerValue);
            }
            Part::BearerValue => {
                if !is_bearer_value(byte) {
                    return end(self);
                }
            }
            Part::AuthorizationSeparators { assigns } => {
                if is_separator(byte) || byte == b'>' {
                    *assigns |= matches!(byte, b':' | b'=');
                    return if self.count > MOST_SEPARATORS { Then::Ends } else { Then::GoesOn };
                }
                if !*assigns || matches!(byte, b'\r' | b'\n' | b'`') {
                    return Then::Ends;
                }
                let part = Part::AuthorizationValue { scheme: Scheme::Word([0; 9], 0).and(byte) };
                (self.start, self.is_decided, self.part) = (at, true, part);
            }
            Part::AuthorizationValue { scheme } => {
                let is_end = match scheme {
                    Scheme::WithParameters => matches!(byte, b'\r' | b'\n'),
                    _ => matches!(byte, b'\r' | b'\n' | b'"' | b'\'' | b'`' | b'\\'),
                };
                if is_end {
                    return end(self);
                }
                *scheme = scheme.and(byte);
            }
            Part::UserInfo { at_sign } => {
                if byte == b'@' {
                    if self.is_decided {
                        return end(self);
                    }
                    *at_sign = Some(at);
                } else if !is_user_info(byte) {
                    return match *at_sign {
                        Some(at_sign) => Then::Covers(Span { start: self.start, end: at_sign }),
                        None => end(self),
                    };
                }
                if self.count == LONGEST_UNDECIDED {
                    if let Some(at_sign) = *at_sign {
                        return Then::Covers(Span { start: self.start, end: at_sign });
                    }
                    self.is_decided = true;
                }
            }
            Part::Block { run } => {
                *run = if is_base64(byte) { *run + 1 } else { 0 };
                self.is_decided |= *run >= BLOCK_RUN;
                if !self.is_decided {
                    return if self.count >= BLOCK_WINDOW { Then::Ends } else { Then::GoesOn };
                }
                // Not within a character of UTF-8, and not within a mark.
                let may_end = byte & 0xc0 != 0x80 && !in_mark();
                if self.count > LONGEST_BLOCK && may_end {
                    return end(self);
                }
            }
        }
        Then::GoesOn
    }
}

impl Scheme {
    const WITH_PARAMETERS: [&'static [u8]; 4] = [b"digest", b"oauth", b"hawk", b"signature"];

    fn and(self, byte: u8) -> Scheme {
        match self {
            Scheme::Word(word, length) if byte == b' ' => {
                if Self::WITH_PARAMETERS.contains(&&word[..length]) {
                    Scheme::WithParameters
                } else {
                    Scheme::Plain
                }
            }
            Scheme::Word(mut word, length) if length < word.len() => {
                word[length] = byte.to_ascii_lowercase();
                Scheme::Word(word, length + 1)
            }
            Scheme::Word(..) => Scheme::Plain,
            decided => decided,
        }
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'\\' | b':' | b'=')
}

fn is_bearer_value(byte: u8) -> bool {
    is_base64_url(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=' | b'%' | b':' | b'|')
}

fn is_user_info(byte: u8) -> bool {
    byte > b' '
        && byte != 0x7f
        && !matches!(
            byte,
            b'"' | b'\''
                | b'`'
                | b'/'
                | b'?'
                | b'#'
                | b'['
                | b']'
                | b'<'
                | b'>'
                | b'\\'
                | b'^'
                | b'{'
                | b'|'
                | b'}'
        )
}
