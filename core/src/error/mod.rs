//! Errors: a coarse [`Kind`] says what a caller does, a stable [`Code`] says what happened, a reason refines it.
//!
//! The message is for people and may change; it is one line, lower case, without a secret and without what its
//! source already says. A refusal by the rules of a domain is an answer and not an error.

mod code;
mod kind;

use std::borrow::Cow;
use std::fmt;
use std::io;

pub use code::Code;
pub use kind::Kind;

/// The result of every fallible call.
pub type Result<T> = std::result::Result<T, Error>;

/// One failed call. Nothing was written unless the call's documentation says otherwise.
#[derive(Debug)]
pub struct Error {
    code: Code,
    reason: Option<&'static str>,
    message: String,
    remedy: Option<Cow<'static, str>>,
    source: Option<io::Error>,
}

impl Error {
    /// An error of this code. `message` is one line, lower case, without a full stop.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error { code, reason: None, message: message.into(), remedy: None, source: None }
    }

    /// Refines the code by a stable word, such as `forked`.
    #[must_use]
    pub fn with_reason(mut self, reason: &'static str) -> Self {
        self.reason = Some(reason);
        self
    }

    /// Says what to do about this one error, where its code alone says too little: a reason's own remedy, or one that
    /// names versions. One sentence, without a secret.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<Cow<'static, str>>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Adds the failed system call.
    #[must_use]
    pub fn with_source(mut self, source: io::Error) -> Self {
        self.source = Some(source);
        self
    }

    /// What happened, as a stable name.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }

    /// What a caller does about it.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.code.kind()
    }

    /// A stable word that refines the code, where there is one.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        self.reason
    }

    /// One line for people, with the failed system call's own words at the end.
    #[must_use]
    pub fn message(&self) -> String {
        match &self.source {
            Some(source) => format!("{}: {source}", self.message),
            None => self.message.clone(),
        }
    }

    /// One sentence that an operator can act on.
    #[must_use]
    pub fn remedy(&self) -> &str {
        self.remedy.as_deref().unwrap_or(self.code.remedy())
    }

    /// The operating system's error number, where a system call failed.
    #[must_use]
    pub fn os_error(&self) -> Option<i32> {
        self.source.as_ref().and_then(io::Error::raw_os_error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Some(reason) => write!(out, "{} ({reason}): {}", self.code.name(), self.message()),
            None => write!(out, "{}: {}", self.code.name(), self.message()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
