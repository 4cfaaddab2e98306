//! The methods of a transport, how long a reply may be, and which methods a transport has.

use crate::error::{Code, Error, Result};
use crate::words::words;

words! {
    /// A method of a transport.
    Method {
        /// A boundary and a grant for intake, without a paid submit.
        Prepare = "prepare",
        /// A new job.
        Submit = "submit",
        /// What a job does.
        Inspect = "inspect",
        /// Another turn of a session.
        Continue = "continue",
        /// A job's result.
        Collect = "collect",
        /// The end of a job.
        Cancel = "cancel",
        /// The job of a saved intent, if it is there.
        Lookup = "lookup",
        /// The acknowledgement of an answer whose reply was lost.
        RecoverResponse = "recoverResponse",
    }
}

/// What a record promises that a transport needs a method for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promised {
    /// Intake turns.
    pub preparation: bool,
    /// Further turns of a session.
    pub continuation: bool,
    /// Stops.
    pub cancel: bool,
}

impl Method {
    /// The most bytes that a reply may have as UTF-8 JSON (EX-TRA-06); `result_bytes` is the limit `resultBytes` in force.
    #[must_use]
    pub const fn reply_limit(self, result_bytes: u64) -> u64 {
        match self {
            Method::Prepare
            | Method::Submit
            | Method::Continue
            | Method::Cancel
            | Method::RecoverResponse => 65_536,
            Method::Inspect | Method::Lookup => 131_072,
            Method::Collect => result_bytes,
        }
    }

    /// Whether a transport may be without it (EX-TRA-01).
    #[must_use]
    pub const fn is_optional(self) -> bool {
        matches!(self, Method::Lookup | Method::RecoverResponse)
    }

    /// Whether a transport has to have it whose record promises these: what a record does not promise is never asked for.
    #[must_use]
    pub const fn is_needed(self, promised: Promised) -> bool {
        match self {
            Method::Submit | Method::Inspect | Method::Collect => true,
            Method::Prepare => promised.preparation,
            Method::Continue => promised.continuation,
            Method::Cancel => promised.cancel,
            Method::Lookup | Method::RecoverResponse => false,
        }
    }

    /// Whether its reply may be null: nothing found, nothing there yet, nothing resolved.
    #[must_use]
    pub const fn may_answer_null(self) -> bool {
        matches!(self, Method::Collect | Method::Lookup | Method::RecoverResponse)
    }

    /// Whether it may make paid work.
    #[must_use]
    pub const fn is_dispatch(self) -> bool {
        matches!(self, Method::Submit | Method::Continue)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The methods that a transport says it has. Presence is declared, and not found by calling (EX-TRA-01).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Methods(u8);

impl Methods {
    /// Every method.
    #[must_use]
    pub fn all() -> Self {
        Method::ALL.iter().copied().collect()
    }

    /// The methods of these words; one that is there twice counts once.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for a word that is no method; the message tells its position, from 0, and the words.
    pub fn from_words<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> Result<Self> {
        let method = |(position, word): (usize, S)| {
            Method::from_word(word.as_ref()).ok_or_else(|| {
                let known: Vec<_> = Method::ALL.iter().map(|method| method.word()).collect();
                let known = known.join(" ");
                let message =
                    format!("no such method, argument=`methods` position=`{position}` known=`{known}`");
                Error::new(Code::ExecutionInput, message)
            })
        };
        words.into_iter().enumerate().map(method).collect()
    }

    /// Whether this one is there.
    #[must_use]
    pub const fn has(self, method: Method) -> bool {
        self.0 & method.bit() != 0
    }

    /// Those that are there, in the order of [`Method::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Method> {
        Method::ALL.iter().copied().filter(move |method| self.has(*method))
    }
}

impl FromIterator<Method> for Methods {
    fn from_iter<I: IntoIterator<Item = Method>>(methods: I) -> Self {
        Methods(methods.into_iter().fold(0, |bits, method| bits | method.bit()))
    }
}
