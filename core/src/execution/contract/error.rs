//! How a method of a transport fails, and what its failure is for the method that failed.

use std::fmt;

use super::method::Method;
use crate::error::Code;
use crate::json::Value;
use crate::redaction::Redactor;
use crate::words::words;

words! {
    /// The kind of a failure (EX-TRA-26).
    ErrorKind {
        /// The provider was not reached, or anything else.
        Io = "io",
        /// The provider does not accept who asks.
        Auth = "auth",
        /// The provider asks for patience.
        Rate = "rate",
        /// The provider's answer breaks its own contract.
        Protocol = "protocol",
        /// Nothing was sent, which is proved (EX-TRA-28).
        NotSent = "not-sent",
        /// A downloaded artifact of a completed turn is faulty, and will be so each time.
        CollectionValidation = "collection-validation",
        /// The deadline of the call passed.
        Deadline = "deadline",
        /// The caller's own signal ended the call.
        Aborted = "aborted",
    }
}

/// What a method of a transport failed with.
///
/// The message is the transport's own: it has to be redacted before it is saved, logged or returned (EX-TRA-33), and
/// the `Debug` form leaves it out.
#[derive(Clone, PartialEq, Eq)]
pub struct TransportError {
    /// The kind.
    pub kind: ErrorKind,
    /// The transport's words, unredacted.
    pub message: String,
    /// After how many milliseconds the provider wants to be asked again (EX-TRA-31).
    pub retry_after_ms: Option<u64>,
    /// The transport's own code, or the reason of a faulty artifact: not empty.
    pub code: Option<String>,
}

/// The most bytes that are told of a transport's own words, which may hold a whole page of a provider's.
const WORDS_BYTES: usize = 200;

/// A refusal before anything was sent, for a submit or a continue (EX-TRA-27, EX-TRA-28).
#[must_use]
pub fn dispatch_not_sent_error(code: impl Into<String>, message: impl Into<String>) -> TransportError {
    TransportError::of(ErrorKind::NotSent, message).with_code(code)
}

/// A deterministic fault of a downloaded artifact of a completed turn, for a collect (EX-TRA-30).
#[must_use]
pub fn collection_validation_error(reason: impl Into<String>, message: impl Into<String>) -> TransportError {
    TransportError::of(ErrorKind::CollectionValidation, message).with_code(reason)
}

impl TransportError {
    /// A failure of this kind, with nothing besides.
    #[must_use]
    pub fn of(kind: ErrorKind, message: impl Into<String>) -> Self {
        TransportError { kind, message: message.into(), retry_after_ms: None, code: None }
    }

    /// With the transport's own code; an empty one is none.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into()).filter(|code| !code.is_empty());
        self
    }

    /// The failure that a value tells, as whatever a host's method may throw or reject with: an object with `kind`,
    /// `message`, `retryAfterMs` and `code`, or anything else. What is no kind is `io` (EX-TRA-34), and a member of the
    /// wrong type, or a negative or infinite `retryAfterMs`, is as if it were not there (EX-TRA-31). A string is a message.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let kind = text("kind").and_then(ErrorKind::from_word).unwrap_or(ErrorKind::Io);
        let message = value.as_str().or_else(|| text("message")).unwrap_or_default();
        TransportError {
            retry_after_ms: value.get("retryAfterMs").and_then(retry_after_ms),
            ..TransportError::of(kind, message).with_code(text("code").unwrap_or_default())
        }
    }

    /// What this failure is when `method` failed with it. `sending` says whether the transport had told that it begins to
    /// send (EX-TRA-29).
    ///
    /// `not-sent` is believed of a submit or a continue that had not begun to send, and `collection-validation` of a
    /// collect. Of anything else they are `io`, without a code (EX-TRA-27, EX-TRA-30).
    #[must_use]
    pub fn for_method(mut self, method: Method, sending: bool) -> Self {
        let is_believed = match self.kind {
            ErrorKind::NotSent => method.is_dispatch() && !sending,
            ErrorKind::CollectionValidation => method == Method::Collect,
            _ => true,
        };
        if !is_believed {
            self.kind = ErrorKind::Io;
            self.code = None;
        }
        self
    }

    /// The transport's own code and words as a message may end in them: redacted, cut, and on one line (EX-TRA-33). Empty where it
    /// has neither.
    #[must_use]
    pub fn told(&self, redactor: &Redactor) -> String {
        let code = self.code.as_deref().map(|code| ("code", code));
        let said = Some(("said", self.message.as_str())).filter(|(_, message)| !message.is_empty());
        let shown = |(name, text): (&str, &str)| {
            let text = redactor.beginning(text, WORDS_BYTES);
            let line: String =
                text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
            format!("{name}=`{line}`")
        };
        code.into_iter().chain(said).map(shown).collect::<Vec<_>>().join(" ")
    }

    /// With what this makes of its words and its code.
    #[must_use]
    pub(in crate::execution) fn redacted(mut self, redact: impl Fn(&str) -> String) -> Self {
        self.message = redact(&self.message);
        self.code = self.code.map(|code| redact(&code));
        self
    }

    /// Code and reason of a call that ended so (EX-TRA-36). The reason is the kind's word.
    #[must_use]
    pub const fn cause(&self) -> (Code, &'static str) {
        let code = match self.kind {
            ErrorKind::Protocol => Code::ExecutionProtocol,
            ErrorKind::Deadline => Code::ExecutionDeadline,
            ErrorKind::Io
            | ErrorKind::Auth
            | ErrorKind::Rate
            | ErrorKind::NotSent
            | ErrorKind::CollectionValidation
            | ErrorKind::Aborted => Code::ExecutionIo,
        };
        (code, self.kind.word())
    }
}

impl fmt::Debug for TransportError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("TransportError");
        shown.field("kind", &self.kind).field("retry_after_ms", &self.retry_after_ms).finish_non_exhaustive()
    }
}

/// A part of a millisecond counts as a whole one, so that nobody asks too early.
fn retry_after_ms(value: &Value) -> Option<u64> {
    let number = value.as_number()?;
    if let Some(whole) = number.as_u64() {
        return Some(whole);
    }
    let double = number.as_f64();
    // The conversion saturates: what is beyond 2^64 milliseconds is as good as never.
    (number.is_finite() && double >= 0.0).then_some(double.ceil() as u64)
}
