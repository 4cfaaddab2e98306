//! What a writer says it sees, and the words it says it with.

use crate::error::{Code, Error, Result};

macro_rules! words {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $vdoc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $vdoc])+ $variant,)+
            /// A word that this build does not know, or the word `unknown` itself.
            Unknown,
        }

        impl $name {
            /// Every value in the order of the documentation, `unknown` last.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+ $name::Unknown];

            /// The value of a word; whatever is not recognised is `Unknown`. Case matters.
            #[must_use]
            pub fn from_word(word: &str) -> Self {
                match word { $($word => $name::$variant,)+ _ => $name::Unknown }
            }

            /// The value of a word that a caller gave as `argument`. What is right for a word from the disk, to take it for
            /// `unknown`, would hide a slip here.
            ///
            /// # Errors
            /// `HARNESS_STATE_INPUT` with reason `word`; the message names the words.
            pub fn parse(argument: &str, word: &str) -> $crate::error::Result<Self> {
                let value = $name::from_word(word);
                if value.word() == word {
                    return Ok(value);
                }
                let words: Vec<&str> = $name::ALL.iter().map(|value| value.word()).collect();
                let message = format!("no such word, argument=`{argument}` word=`{word}` known=`{}`", words.join(" "));
                Err($crate::error::Error::new($crate::error::Code::HarnessStateInput, message).with_reason("word"))
            }

            /// The word as it is written.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)+ $name::Unknown => "unknown" }
            }
        }
    };
}

pub(super) use words;

words! {
    /// What the harness is doing.
    State {
        /// Spawned; nothing has been observed yet. Positive evidence of life.
        Ready = "ready",
        /// Waiting for a prompt.
        Idle = "idle",
        /// Working on a turn.
        Active = "active",
        /// Reserved: read, not produced.
        Child = "child",
        /// The session is over, or a claim has just been made.
        Ended = "ended",
    }
}

words! {
    /// Whom the harness waits for.
    BlockedOn {
        /// Nobody.
        None = "none",
        /// A person.
        Human = "human",
    }
}

words! {
    /// Whether text waits in the harness's input line.
    InputBuffer {
        /// Nothing is typed.
        Empty = "empty",
        /// Something is typed and not sent.
        Nonempty = "nonempty",
    }
}

words! {
    /// What the person is asked for.
    Ask {
        /// Nothing.
        None = "none",
        /// To permit a tool.
        Permission = "permission",
        /// To answer a question.
        Question = "question",
        /// To review a result or plan.
        Review = "review",
    }
}

impl State {
    /// Whether this state says that a session lives: everything but `ended` and `unknown`.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, State::Ready | State::Idle | State::Active | State::Child)
    }
}

/// The reason that only a claim's placeholder carries.
pub(crate) const SUPERSEDED: &str = "superseded";

/// What a writer sees: six fields, compared together when it is decided whether anything changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// What the harness is doing.
    pub state: State,
    /// Whom it waits for. `Unknown` is accepted.
    pub blocked_on: BlockedOn,
    /// Whether text waits in its input line.
    pub input_buffer: InputBuffer,
    /// What a person is asked for.
    pub ask: Ask,
    /// Why, in the writer's words. Empty differs from none.
    pub reason: Option<String>,
    /// How it ended, e.g. `exit 0` or `signal 9`. Accepted beside a live state.
    pub exit: Option<String>,
}

impl Observation {
    /// This state, blocked on nobody, input line unknown, no ask, no reason, no exit.
    #[must_use]
    pub fn new(state: State) -> Self {
        Observation {
            state,
            blocked_on: BlockedOn::None,
            input_buffer: InputBuffer::Unknown,
            ask: Ask::None,
            reason: None,
            exit: None,
        }
    }

    /// Waiting for a person who is asked for `ask`.
    #[must_use]
    pub fn blocked_on_human(mut self, ask: Ask) -> Self {
        self.blocked_on = BlockedOn::Human;
        self.ask = ask;
        self
    }

    /// With this reason.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// The observation that [`super::Writer::ended`] makes.
    #[must_use]
    pub fn ended(exit: Option<&str>) -> Self {
        Observation { exit: exit.map(str::to_owned), ..Observation::new(State::Ended) }
    }

    /// Whether this is what a claim's placeholder says.
    #[must_use]
    pub fn is_placeholder(&self) -> bool {
        self.state == State::Ended && self.exit.is_none() && self.reason.as_deref() == Some(SUPERSEDED)
    }

    /// Checks what can be checked without a disk, in the order of HS-32.
    ///
    /// # Errors
    /// `UNKNOWN_STATE`, `UNFENCED`, `UNKNOWN_ASK`, `ASK_WITHOUT_HUMAN`, `RESERVED_REASON`.
    pub fn validate(&self, has_pty_session: bool) -> Result<()> {
        if self.state == State::Unknown {
            return Err(Error::new(
                Code::HarnessStateUnknownState,
                "unknown is derived by readers, never observed",
            ));
        }
        if self.state.is_live() && !has_pty_session {
            let message = format!("a live state needs a pty session, state=`{}`", self.state.word());
            return Err(Error::new(Code::HarnessStateUnfenced, message));
        }
        if self.ask == Ask::Unknown {
            return Err(Error::new(Code::HarnessStateUnknownAsk, "unknown is no ask"));
        }
        if self.ask != Ask::None && self.blocked_on != BlockedOn::Human {
            let message = format!(
                "an ask needs blockedOn human, ask=`{}` blockedOn=`{}`",
                self.ask.word(),
                self.blocked_on.word()
            );
            return Err(Error::new(Code::HarnessStateAskWithoutHuman, message));
        }
        if self.is_placeholder() {
            let message = "an exitless ending with reason superseded is a claim's placeholder";
            return Err(Error::new(Code::HarnessStateReservedReason, message));
        }
        Ok(())
    }
}
