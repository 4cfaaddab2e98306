//! The harnesses that are understood, and one of their events as it was understood.

use super::effect::Effect;
use super::table::Adapter;
use super::{claude, codex, gemini, opencode};
use crate::error::{Code, Error, Result};

/// A harness whose events are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Harness {
    /// Claude Code, by its hooks.
    Claude,
    /// Codex, by its hooks and by its notify program.
    Codex,
    /// OpenCode, by its plugin events.
    OpenCode,
    /// Gemini CLI, by its hooks.
    Gemini,
}

/// An event that a harness documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Documented {
    /// Its name, as the payload gives it.
    pub name: &'static str,
    /// The payload's member that gives the name; a nested one by the keys from the top, joined by dots.
    pub named_by: &'static str,
    /// Whether it is known to say nothing, whatever else its payload holds. A hook need not be installed for it, and
    /// a plugin need not hand it over.
    pub silent: bool,
}

/// One event of a harness, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The event's name as its harness documents it; of an unknown event what it calls itself, at most
    /// [`Event::MAX_NAME`] characters with control characters replaced; empty when it has no name.
    pub name: String,
    /// What it says about the turn.
    pub effect: Effect,
    /// The subagent whose own event it is, where it says so by an id of usable size, and where it says what became
    /// of it.
    pub child: Option<Child>,
    /// Whether something in the payload was no Unicode and has been replaced.
    pub lossy: bool,
}

/// The subagent that an event is about. Its events never write the turn (HS-99).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// The harness's id of the subagent: 1 to [`Child::MAX_ID`] bytes.
    pub id: String,
    /// What became of it.
    pub step: ChildStep,
}

/// What an event says of a subagent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildStep {
    /// It starts.
    Started,
    /// It does something.
    Working,
    /// It is done.
    Stopped,
}

impl ChildStep {
    /// Every step.
    pub const ALL: &'static [ChildStep] = &[ChildStep::Started, ChildStep::Working, ChildStep::Stopped];

    /// The stable lower-case word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            ChildStep::Started => "started",
            ChildStep::Working => "working",
            ChildStep::Stopped => "stopped",
        }
    }

    /// The step of a word that a caller gave.
    ///
    /// # Errors
    /// `HARNESS_STATE_INPUT` with reason `word`; the message names the words.
    pub fn parse(word: &str) -> Result<Self> {
        ChildStep::ALL.iter().copied().find(|step| step.word() == word).ok_or_else(|| {
            let words: Vec<&str> = ChildStep::ALL.iter().map(|step| step.word()).collect();
            let message = format!("no such word, argument=`step` word=`{word}` known=`{}`", words.join(" "));
            Error::new(Code::HarnessStateInput, message).with_reason("word")
        })
    }
}

impl Event {
    /// The most characters of an unknown event's name that are kept.
    pub const MAX_NAME: usize = 64;
}

impl Child {
    /// The longest id that is kept, in bytes. A longer one is not cut, because two could become one: the event is
    /// still a child's and has no effect, only the id is not told.
    pub const MAX_ID: usize = 128;
}

impl Harness {
    /// Every harness.
    pub const ALL: &'static [Harness] =
        &[Harness::Claude, Harness::Codex, Harness::OpenCode, Harness::Gemini];

    /// The harness of this name or of one of its other names (`claude`, `claude-code`, `codex`, `opencode`, `gemini`,
    /// `gemini-cli`). Case matters.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Harness::ALL.iter().copied().find(|harness| harness.adapter().names.contains(&name))
    }

    /// As [`Harness::from_name`], for a name that somebody typed.
    ///
    /// # Errors
    /// `HARNESS_STATE_INPUT` with reason `unknown-harness`.
    pub fn parse(name: &str) -> Result<Self> {
        Harness::from_name(name).ok_or_else(|| {
            let known: Vec<&str> = Harness::ALL.iter().map(|harness| harness.name()).collect();
            let message = format!("not a harness whose events are understood, known=`{}`", known.join(" "));
            Error::new(Code::HarnessStateInput, message).with_reason("unknown-harness")
        })
    }

    /// The harness's name, which [`Harness::from_name`] reads back.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.adapter().names[0]
    }

    /// What the harness's program may be called: the last part of the executable's path, as a process's name or first
    /// argument shows it; or, where an interpreter runs a script, the last part of the script's path, which is the
    /// first argument behind the interpreter's own options. None of these names is an interpreter's.
    #[must_use]
    pub fn executables(self) -> &'static [&'static str] {
        self.adapter().executables
    }

    /// Every event that the harness documents, in the order of a session's life.
    pub fn events(self) -> impl Iterator<Item = Documented> {
        let kinds = self.adapter().kinds.iter();
        kinds.flat_map(|kind| {
            kind.rows.iter().map(|row| Documented {
                name: row.event,
                named_by: kind.named_by,
                silent: row.is_silent(),
            })
        })
    }

    /// Whether the harness documents an event of this name: then the name is not the payload's own words.
    #[must_use]
    pub fn documents(self, event: &str) -> bool {
        self.events().any(|documented| documented.name == event)
    }

    pub(super) fn adapter(self) -> &'static Adapter {
        match self {
            Harness::Claude => &claude::ADAPTER,
            Harness::Codex => &codex::ADAPTER,
            Harness::OpenCode => &opencode::ADAPTER,
            Harness::Gemini => &gemini::ADAPTER,
        }
    }
}

/// Understands one event. `payload` is what the harness handed over, byte for byte: standard input for a hook, the
/// last argument for Codex's notify program. OpenCode hands objects to a plugin, which makes the payload of them:
/// `{"event": …}` as the plugin got it, and beside it `"session": {"id": …, "parentID": …}` where the session that
/// the event is about is known to have a parent.
///
/// An event that is unknown, has no name or says nothing is an [`Event`] whose effect is nothing, never an error.
///
/// # Errors
/// `HARNESS_STATE_INPUT` when the payload cannot be read, with the reasons of
/// [`crate::json::lenient::Object::parse`].
pub fn interpret(harness: Harness, payload: &[u8]) -> Result<Event> {
    harness.adapter().interpret(payload)
}
