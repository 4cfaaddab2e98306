//! What is looked for in a text, compiled: an automaton over all needles (forms of secrets, anchors of patterns, the mark),
//! and a search for the places where one of them may begin.

use std::collections::BTreeSet;

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::nfa::{contiguous, noncontiguous};
use aho_corasick::{Anchored, MatchKind, StartKind, dfa, packed};

use super::machines::Machines;
use super::patterns::{ANCHORS, Anchor, Patterns};
use super::{MARK, Secrets};
use crate::error::{Code, Error, Result};

/// The most bytes of needles for which the automaton is a table with a row for every state; beyond, it is one of a
/// sixth of the size that takes two to three times as long a byte. At 256 columns of four bytes this bounds the table
/// at 16 MiB.
const MOST_BYTES_OF_A_TABLE: usize = 16 * 1024;

/// What is looked for, compiled.
pub(super) struct Automaton {
    pub(super) engine: Engine,
    pub(super) start: StateID,
    pub(super) beginnings: Box<Beginnings>,
    pub(super) needles: Vec<Needle>,
    /// How long the needle's beginning is that a state stands for, by the state.
    depths: Vec<(StateID, u32)>,
    longest: usize,
    patterns: Patterns,
}

pub(super) enum Engine {
    Table(dfa::DFA),
    Compact(contiguous::NFA),
}

#[derive(Clone, Copy)]
pub(super) struct Needle {
    pub(super) length: u32,
    pub(super) what: What,
}

#[derive(Clone, Copy)]
pub(super) enum What {
    Secret,
    Mark,
    Anchor(Anchor),
}

impl Automaton {
    pub(super) fn new(secrets: &Secrets, patterns: Patterns) -> Result<Self> {
        let mut texts: Vec<&[u8]> = vec![MARK.as_bytes()];
        let mut whats = vec![What::Mark];
        for form in secrets.forms() {
            texts.push(form);
            whats.push(What::Secret);
        }
        if patterns == Patterns::Recognised {
            for (text, anchor) in ANCHORS {
                texts.push(text.as_bytes());
                whats.push(What::Anchor(*anchor));
            }
        }
        let engine = Engine::build(&texts).map_err(|_| too_much())?;
        // Both engines are built with an unanchored start.
        let start = match &engine {
            Engine::Table(table) => table.start_state(Anchored::No),
            Engine::Compact(compact) => compact.start_state(Anchored::No),
        };
        let start = start.unwrap_or_default();
        let depths = match &engine {
            Engine::Table(table) => depths(table, &texts),
            Engine::Compact(compact) => depths(compact, &texts),
        };
        let needle = |(text, what): (&&[u8], &What)| {
            Ok(Needle { length: u32::try_from(text.len()).map_err(|_| too_much())?, what: *what })
        };
        let needles = texts.iter().zip(&whats).map(needle).collect::<Result<Vec<_>>>()?;
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        let beginnings = Beginnings::of(&texts);
        Ok(Automaton { engine, start, beginnings, needles, depths, longest, patterns })
    }

    /// Where in a whole text something that is looked for may begin; in most texts nowhere.
    pub(super) fn first_in(&self, text: &[u8]) -> Option<usize> {
        self.beginnings.first_in(text)
    }

    /// The most bytes behind which the pass may have to wait before it knows what becomes of them.
    pub(super) fn most_held_back(&self) -> usize {
        // A secret whose end may be the beginning of a mark waits for the rest of that mark.
        let secrets = self.longest - 1 + MARK.len() - 1;
        if self.patterns == Patterns::Recognised { secrets.max(Machines::MOST_HELD_BACK) } else { secrets }
    }

    pub(super) fn depth(&self, state: StateID) -> u64 {
        self.depths.binary_search_by_key(&state, |(known, _)| *known).map_or(0, |at| self.depths[at].1.into())
    }
}

/// With what a needle begins. Most places of most texts are passed over by it, and unlike the automaton's steps these looks
/// do not wait for each other.
pub(super) struct Beginnings {
    /// With which two bytes.
    pub(super) pairs: [[u64; 4]; 256],
    /// Looks for the first [`SEARCHED`] bytes, sixteen places and more at once. None where they are too many or the
    /// processor has no such instructions.
    pub(super) searcher: Option<packed::Searcher>,
}

/// How many bytes of a needle are searched for. By two, ordinary words would be met too often.
const SEARCHED: usize = 3;
/// What is shorter is not worth a search.
const WORTH_A_SEARCH: usize = 64;

impl Beginnings {
    fn of(texts: &[&[u8]]) -> Box<Self> {
        let mut pairs = [[0; 4]; 256];
        for text in texts {
            match *text {
                [first, second, ..] => {
                    pairs[usize::from(*first)][usize::from(second >> 6)] |= 1 << (second & 63)
                }
                [only] => pairs[usize::from(*only)] = [u64::MAX; 4],
                [] => {}
            }
        }
        let searched: Option<BTreeSet<&[u8]>> = texts.iter().map(|text| text.get(..SEARCHED)).collect();
        Box::new(Beginnings { pairs, searcher: searched.and_then(packed::Searcher::new) })
    }

    /// How many bytes to pass over from the automaton's start: no needle begins with them. The last ones are never passed
    /// over, since what comes behind them is not known; and the automaton comes to the same state by the next bytes as if it
    /// had taken those.
    pub(super) fn passed_over(&self, bytes: &[u8]) -> usize {
        match &self.searcher {
            Some(searcher) if bytes.len() >= WORTH_A_SEARCH => {
                searcher.find(bytes).map_or(bytes.len() - (SEARCHED - 1), |found| found.start())
            }
            _ => self.first_pair(bytes).unwrap_or(bytes.len().saturating_sub(1)),
        }
    }

    /// Where in a whole text the first needle may begin.
    fn first_in(&self, text: &[u8]) -> Option<usize> {
        match &self.searcher {
            Some(searcher) if text.len() >= WORTH_A_SEARCH => searcher.find(text).map(|found| found.start()),
            _ => self.first_pair(text).or_else(|| {
                // Of the last byte only a needle of one byte can be made, with which every pair begins one.
                let last = text.len().checked_sub(1)?;
                (self.pairs[usize::from(text[last])] == [u64::MAX; 4]).then_some(last)
            }),
        }
    }

    fn first_pair(&self, bytes: &[u8]) -> Option<usize> {
        let begins = |pair: &[u8]| {
            self.pairs[usize::from(pair[0])][usize::from(pair[1] >> 6)] >> (pair[1] & 63) & 1 == 1
        };
        bytes.windows(2).position(begins)
    }
}

fn too_much() -> Error {
    Error::new(Code::ExecutionInput, "the secrets are too many or too long together").with_reason("secret")
}

impl Engine {
    fn build(texts: &[&[u8]]) -> std::result::Result<Engine, aho_corasick::BuildError> {
        // Without a prefilter: one that looks for the rare bytes of a needle would skip the beginning of an occurrence
        // whose rare byte comes with the next piece of a stream.
        let tree =
            noncontiguous::Builder::new().match_kind(MatchKind::Standard).prefilter(false).build(texts)?;
        if texts.iter().map(|text| text.len()).sum::<usize>() <= MOST_BYTES_OF_A_TABLE {
            let table = dfa::Builder::new()
                .start_kind(StartKind::Unanchored)
                .prefilter(false)
                .build_from_noncontiguous(&tree)?;
            return Ok(Engine::Table(table));
        }
        Ok(Engine::Compact(contiguous::Builder::new().prefilter(false).build_from_noncontiguous(&tree)?))
    }
}

/// For each state how many bytes before it may still become a part of an occurrence.
///
/// Behind the first n bytes of a needle that is n, since no needle's beginning is longer than what was read. Behind a
/// whole needle that is no other's beginning it is what counts behind its longest end that is a beginning again.
fn depths<A: aho_corasick::automaton::Automaton>(automaton: &A, texts: &[&[u8]]) -> Vec<(StateID, u32)> {
    let start = automaton.start_state(Anchored::No).unwrap_or_default();
    let walk =
        |text: &[u8]| text.iter().fold(start, |state, byte| automaton.next_state(Anchored::No, state, *byte));
    let mut depths = Vec::new();
    for text in texts {
        let mut state = start;
        for (byte, depth) in text.iter().zip(1..) {
            state = automaton.next_state(Anchored::No, state, *byte);
            let goes_on = depth as usize != text.len();
            depths.push((state, !goes_on, depth));
        }
    }
    // Those that go on come first and stay.
    depths.sort_unstable();
    depths.dedup_by_key(|(state, ..)| *state);
    let find =
        |depths: &[(StateID, bool, u32)], state| depths.binary_search_by_key(&state, |(known, ..)| *known);
    let mut by_length = texts.to_vec();
    by_length.sort_unstable_by_key(|text| text.len());
    for text in by_length {
        let Ok(whole) = find(&depths, walk(text)) else { continue };
        if depths[whole].1 {
            let behind = find(&depths, walk(&text[1..])).map_or(0, |at| depths[at].2);
            depths[whole].2 = behind;
        }
    }
    depths.into_iter().map(|(state, _, depth)| (state, depth)).collect()
}
