//! Many states in one crossing: a text and two arrays of numbers, from which JavaScript makes its objects.
//!
//! Ten thousand states as objects that are made from here take ten times as long: each member is a call into the engine.
//! The engine parses one text of many strings, and reads numbers out of its own arrays, within a few milliseconds.

use gallivant_core::harness_state::{Ask, BlockedOn, DerivedRef, InputBuffer, LeftOut, State};
use napi::bindgen_prelude::{BigInt, BigUint64Array, Uint32Array};
use napi_derive::napi;

/// Set in an entry's word where there is a state at all; the places of the four axes are below it, a byte's half each.
const IS_THERE: u32 = 1 << 31;
/// The first of the five bits that say which of the numbers there are.
const NUMBERS_FROM: u32 = 16;

/// A list of places and their states. `lib/states.js` reads it.
#[napi(object, object_from_js = false, use_nullable = true)]
pub struct SheetParts {
    /// A JSON array: null, and after it every text that an entry has, those that entries in a row have in common once. None
    /// where JavaScript has them already.
    pub texts: Option<String>,
    /// Six for each entry: the places of its four words in [`StateWords`] and which of the numbers there are, in one;
    /// then where its texts stand among `texts`: path, harness, token, exit, reason.
    pub words: Uint32Array,
    /// Five for each entry: since, observed at, ownership sequence, transition sequence, valid until.
    pub numbers: BigUint64Array,
}

/// The texts that were told last, by their number. In a fleet they change far less often than what is said of its agents.
#[derive(Debug, Default)]
pub(super) struct ToldTexts {
    texts: String,
    number: u32,
}

impl ToldTexts {
    /// Takes the texts out of a sheet for somebody who has those of the number `known`, if they are the same. Answers the
    /// number of the sheet's.
    pub(super) fn tell(&mut self, sheet: &mut SheetParts, known: u32) -> u32 {
        let Some(texts) = &sheet.texts else { return known };
        if *texts != self.texts {
            self.texts.clone_from(texts);
            self.number = self.number.wrapping_add(1);
        } else if known == self.number {
            sheet.texts = None;
        }
        self.number
    }
}

/// Writes a sheet, entry by entry.
#[derive(Debug)]
pub(super) struct Sheet {
    texts: Vec<u8>,
    words: Vec<u32>,
    numbers: Vec<u64>,
    /// How many texts there are, null counted.
    count: u32,
    /// What stood last at each of the places but the path's, and where that is among the texts.
    last: [(String, u32); 4],
}

impl Default for Sheet {
    fn default() -> Self {
        let (texts, words, numbers) = (b"[null".to_vec(), Vec::new(), Vec::new());
        Sheet { texts, words, numbers, count: 1, last: Default::default() }
    }
}

/// The words of the four axes, in the order in which a sheet counts them.
#[napi(object, object_from_js = false)]
pub struct StateWords {
    /// Of the state.
    pub state: Vec<&'static str>,
    /// Of whom it waits for.
    pub blocked_on: Vec<&'static str>,
    /// Of the input line.
    pub input_buffer: Vec<&'static str>,
    /// Of what a person is asked for.
    pub ask: Vec<&'static str>,
}

/// What a walk did not look at.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct LeftOutParts {
    /// Directories below the last level.
    pub too_deep: BigInt,
    /// Directories that were known when a limit was reached.
    pub too_many: BigInt,
    /// Directories that could not be listed or searched.
    pub unreadable: BigInt,
    /// Directories whose names are not UTF-8.
    pub unnameable: BigInt,
    /// The first of the unreadable ones and why.
    pub example: Option<String>,
}

impl Sheet {
    /// Adds a place and what may be concluded of it; none where nothing stands there.
    pub(super) fn push(&mut self, path: &str, derived: Option<DerivedRef<'_>>) {
        let path = self.text(path);
        let Some(derived) = derived else {
            self.words.extend([0, path, 0, 0, 0, 0]);
            self.numbers.extend([0; 5]);
            return;
        };
        let axes = [
            place(State::ALL, derived.state),
            place(BlockedOn::ALL, derived.blocked_on),
            place(InputBuffer::ALL, derived.input_buffer),
            place(Ask::ALL, derived.ask),
        ];
        let numbers = [
            derived.since_ms,
            derived.observed_at_ms,
            derived.ownership_sequence,
            derived.transition_sequence,
            derived.valid_until_ms,
        ];
        let mut word = IS_THERE;
        for (axis, shift) in axes.into_iter().zip([0, 4, 8, 12]) {
            word |= axis << shift;
        }
        for (number, bit) in numbers.into_iter().zip(NUMBERS_FROM..) {
            word |= u32::from(number.is_some()) << bit;
            self.numbers.push(number.unwrap_or(0));
        }
        self.words.extend([word, path]);
        let texts = [derived.harness, derived.evidence_incarnation, derived.exit, derived.reason];
        for (place, text) in texts.into_iter().enumerate() {
            let at = text.map_or(0, |text| self.text_again(place, text));
            self.words.push(at);
        }
    }

    fn text(&mut self, text: &str) -> u32 {
        self.texts.push(b',');
        serde_json::to_writer(&mut self.texts, text).expect("a string always serialises");
        self.count += 1;
        self.count - 1
    }

    /// Where a text stands, which is most often the one that the entry before had at its place.
    fn text_again(&mut self, place: usize, text: &str) -> u32 {
        let (last, at) = &self.last[place];
        if *at > 0 && last == text {
            return *at;
        }
        let at = self.text(text);
        let (last, last_at) = &mut self.last[place];
        last.clear();
        last.push_str(text);
        *last_at = at;
        at
    }
}

impl From<Sheet> for SheetParts {
    fn from(sheet: Sheet) -> Self {
        let mut texts = String::from_utf8(sheet.texts).expect("JSON is UTF-8");
        texts.push(']');
        SheetParts { texts: Some(texts), words: sheet.words.into(), numbers: sheet.numbers.into() }
    }
}

impl From<LeftOut> for LeftOutParts {
    fn from(left_out: LeftOut) -> Self {
        LeftOutParts {
            too_deep: left_out.too_deep.into(),
            too_many: left_out.too_many.into(),
            unreadable: left_out.unreadable.into(),
            unnameable: left_out.unnameable.into(),
            example: left_out.example,
        }
    }
}

/// The words of a sheet.
#[napi(catch_unwind)]
pub fn state_words() -> StateWords {
    StateWords {
        state: State::ALL.iter().map(|value| value.word()).collect(),
        blocked_on: BlockedOn::ALL.iter().map(|value| value.word()).collect(),
        input_buffer: InputBuffer::ALL.iter().map(|value| value.word()).collect(),
        ask: Ask::ALL.iter().map(|value| value.word()).collect(),
    }
}

/// Where a word stands among all of its kind: at most 15.
fn place<T: Copy + PartialEq>(all: &[T], value: T) -> u32 {
    let place = all.iter().position(|known| *known == value);
    u32::try_from(place.expect("every word is among all of its kind")).expect("there are a few words")
}
