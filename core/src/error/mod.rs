//! Errors: a coarse [`Kind`] says what a caller does, a stable [`Code`] says what happened, a reason refines it.
//!
//! The message is for people and may change; it is one line, lower case, without a secret and without what its
//! source already says. A refusal by the rules of a domain is an answer and not an error.

mod code;
mod kind;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

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
    about: Option<Box<About>>,
}

/// What an error is about, where a caller needs more than words.
#[derive(Debug, Default)]
struct About {
    file: Option<PathBuf>,
    resource: Option<String>,
    run_id: Option<String>,
    operation_id: Option<String>,
}

impl Error {
    /// An error of this code. `message` is lower case, without a full stop. A name in it may hold anything: it becomes one line.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let message = one_line_of(message.into());
        Error { code, reason: None, message, remedy: None, source: None, about: None }
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
        self.remedy = Some(match remedy.into() {
            Cow::Owned(remedy) => Cow::Owned(one_line_of(remedy)),
            remedy => remedy,
        });
        self
    }

    /// The same error with message and remedy as `redact` gives them back: what a domain does before it hands an error to
    /// a caller that has told it secrets.
    #[must_use]
    pub fn redacted(mut self, redact: impl Fn(&str) -> String) -> Self {
        self.message = redact(&self.message);
        self.remedy = self.remedy.map(|remedy| Cow::Owned(redact(&remedy)));
        self
    }

    /// Adds the failed system call.
    #[must_use]
    pub fn with_source(mut self, source: io::Error) -> Self {
        self.source = Some(source);
        self
    }

    /// Names the file that an operator has to look at.
    #[must_use]
    pub fn with_file(mut self, file: &Path) -> Self {
        self.about.get_or_insert_default().file = Some(file.to_owned());
        self
    }

    /// Names the thing that somebody else made, where there is one.
    #[must_use]
    pub fn with_resource(mut self, resource: Option<String>) -> Self {
        if resource.is_some() {
            self.about.get_or_insert_default().resource = resource;
        }
        self
    }

    /// Names the run of a task that this is about.
    #[must_use]
    pub fn with_run_id(mut self, run_id: impl Into<String>) -> Self {
        self.about.get_or_insert_default().run_id = Some(run_id.into());
        self
    }

    /// Names the operation of a task that this is about.
    #[must_use]
    pub fn with_operation_id(mut self, operation_id: impl Into<String>) -> Self {
        self.about.get_or_insert_default().operation_id = Some(operation_id.into());
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
            Some(source) => one_line_of(format!("{}: {source}", self.message)),
            None => self.message.clone(),
        }
    }

    /// One sentence that an operator can act on.
    #[must_use]
    pub fn remedy(&self) -> &str {
        self.remedy.as_deref().unwrap_or(self.code.remedy())
    }

    /// The file that an operator has to look at, where the error is about one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.about.as_ref()?.file.as_deref()
    }

    /// What somebody else made, where a create has lost to another one that has completed.
    #[must_use]
    pub fn resource(&self) -> Option<&str> {
        self.about.as_ref()?.resource.as_deref()
    }

    /// The run of a task that this is about.
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        self.about.as_ref()?.run_id.as_deref()
    }

    /// The operation of a task that this is about.
    #[must_use]
    pub fn operation_id(&self) -> Option<&str> {
        self.about.as_ref()?.operation_id.as_deref()
    }

    /// The operating system's error number, where a system call failed.
    #[must_use]
    pub fn os_error(&self) -> Option<i32> {
        self.source.as_ref().and_then(io::Error::raw_os_error)
    }
}

/// A text with `\u{FFFD}` in the place of each control character: what somebody else wrote may break no line of a log, and tell a
/// terminal nothing. The messages of errors are such texts.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    // Nearly every text is of visible ASCII, which a processor sees of many bytes at a time.
    let is_plain =
        text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !text.chars().any(char::is_control);
    if is_plain { text.into() } else { text.replace(char::is_control, "\u{FFFD}").into() }
}

fn one_line_of(text: String) -> String {
    match one_line(&text) {
        Cow::Owned(changed) => changed,
        Cow::Borrowed(_) => text,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_whatever_is_named_in_it() {
        let error = Error::new(Code::ExecutionIo, "it cannot be read, file=`a\nb\u{1b}[2J`")
            .with_remedy(format!("look at `{}`", "c\rd"))
            .with_source(io::Error::other("first\nsecond"));
        assert_eq!(
            error.to_string(),
            "EXECUTION_IO: it cannot be read, file=`a\u{FFFD}b\u{FFFD}[2J`: first\u{FFFD}second"
        );
        assert_eq!(error.remedy(), "look at `c\u{FFFD}d`");
        let redacted = error.redacted(|text| text.replace("read", "***"));
        assert!(redacted.message().starts_with("it cannot be ***"), "{redacted}");
    }
}
