//! A reply as it comes, up to the members that every judgement reads alike: length, shape, cursor, identities, session.

use std::fmt;

use super::acknowledgement::Identities;
use super::method::Method;
use crate::error::{Code, Error, Result};
use crate::execution::cursor::{Cursor, InvalidCursor};
use crate::json::{Object, Value};

/// What is to be done about another session (EX-IDN-19).
pub(in crate::execution) const SESSION_REMEDY: &str = "restore the exact owned stream or cache, then retry; do not move sessions between runs and do not dispatch again";

/// What stands in the place of half a character.
const REPLACEMENT: char = '\u{fffd}';

/// A reply that is a JSON object. Members that nobody asks for are ignored (EX-TRA-10). The `Debug` form shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Reply {
    members: Object,
    /// Whether an escape was half a character: a text that holds [`REPLACEMENT`] is then not what was said.
    is_replaced: bool,
}

impl Reply {
    /// Reads a reply to a method: its length first, and only then what it says (EX-TRA-06). None is a null where null is
    /// allowed; `result_bytes` is the limit `resultBytes` in force.
    ///
    /// # Errors
    /// `EXECUTION_PROTOCOL` with the reason `shape` for a reply that is too long, no JSON, no object, has a key twice in one
    /// object, or is nested too deep. A collected result that is too long is `EXECUTION_RESULT` with the reason
    /// `oversized` (EX-OBS-33).
    pub fn receive(method: Method, text: &str, result_bytes: u64) -> Result<Option<Reply>> {
        let (bytes, limit) = (text.len() as u64, method.reply_limit(result_bytes));
        if bytes > limit {
            let message =
                format!("a reply is too long, method=`{}` bytes=`{bytes}` limit=`{limit}`", method.word());
            return Err(match method {
                Method::Collect => Error::new(Code::ExecutionResult, message).with_reason("oversized"),
                _ => protocol("shape", message),
            });
        }
        let (value, is_replaced) = Value::parse_replacing(text).map_err(|error| {
            protocol("shape", format!("a reply is no JSON, method=`{}`: {error}", method.word()))
        })?;
        match value {
            Value::Object(members) => Ok(Some(Reply { members, is_replaced })),
            Value::Null if method.may_answer_null() => Ok(None),
            _ => Err(protocol("shape", format!("a reply is no object, method=`{}`", method.word()))),
        }
    }

    /// A reply that was read before, such as one that an operator hands over (EX-LED-59).
    #[must_use]
    pub fn from_object(members: Object) -> Reply {
        Reply { members, is_replaced: false }
    }

    /// Whether the reply to a stop confirms it: a boolean, or the reply is lost (EX-TRA-20).
    ///
    /// # Errors
    /// `EXECUTION_PROTOCOL` with the reason `shape`.
    pub fn confirmed(text: &str) -> Result<bool> {
        let reply = Reply::receive(Method::Cancel, text, 0)?;
        let confirmed = reply.as_ref().and_then(|reply| reply.get("confirmed")?.as_bool());
        confirmed.ok_or_else(|| {
            let message = "the reply to a stop has no boolean, member=`confirmed`";
            protocol("shape", message.to_owned())
        })
    }

    /// All its members.
    #[must_use]
    pub fn members(&self) -> &Object {
        &self.members
    }

    /// A member; none where it is missing.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }

    /// A member that says something; none where it is missing or null.
    #[must_use]
    pub fn given(&self, name: &str) -> Option<&Value> {
        self.get(name).filter(|value| !value.is_null())
    }

    /// The cursor; none where it is missing or null, which keeps the recorded one (EX-CUR-05).
    ///
    /// # Errors
    /// `EXECUTION_PROTOCOL` with the reason `cursor` (EX-CUR-08).
    pub fn cursor(&self) -> Result<Option<Cursor>> {
        let Some(value) = self.given("cursor") else { return Ok(None) };
        if value.as_str().is_some_and(|text| !self.is_exact(text)) {
            return Err(InvalidCursor::Unserialisable.in_reply());
        }
        Cursor::from_value(value).map(Some).map_err(InvalidCursor::in_reply)
    }

    /// Job and root turn: both have to be there as strings that are not empty (EX-IDN-01).
    ///
    /// # Errors
    /// `EXECUTION_PROTOCOL` with the reason `identity`. A reply that names one of them alone establishes nothing
    /// (EX-IDN-02).
    pub fn identities(&self) -> Result<Identities> {
        Ok(Identities { provider_job_id: self.identity("providerJobId")?, turn_id: self.identity("turnId")? })
    }

    fn identity(&self, name: &str) -> Result<String> {
        let text = self.get(name).and_then(|value| self.name(value));
        text.ok_or_else(|| protocol("identity", format!("a reply lacks an identity, member=`{name}`")))
    }

    /// The session that is reported; none where it is missing or null, which keeps the recorded one (EX-IDN-08).
    /// `recorded` is that of the run, where one is.
    ///
    /// # Errors
    /// `EXECUTION_PROTOCOL` with the reason `session` for an empty string, another type, or another session than the
    /// recorded one, byte for byte (EX-IDN-05, EX-IDN-09).
    pub fn session(&self, recorded: Option<&str>) -> Result<Option<String>> {
        let Some(value) = self.given("sessionId") else { return Ok(None) };
        let refuse = |message: &str| {
            protocol("session", format!("{message}, member=`sessionId`")).with_remedy(SESSION_REMEDY)
        };
        let session = self.name(value).ok_or_else(|| refuse("a session is no nonempty string"))?;
        if recorded.is_some_and(|recorded| recorded != session) {
            return Err(refuse("a reply names another session than the recorded one"));
        }
        Ok(Some(session))
    }

    /// A string that is not empty and came whole.
    fn name(&self, value: &Value) -> Option<String> {
        value.as_str().filter(|text| !text.is_empty() && self.is_exact(text)).map(str::to_owned)
    }

    /// Whether a text of this reply is what was said. An escape that is half a character is read as U+FFFD, so that a
    /// diagnostic which was cut there makes no whole reply unreadable; whoever compares a text, or hands it on, asks here.
    #[must_use]
    pub fn is_exact(&self, text: &str) -> bool {
        !self.is_replaced || !text.contains(REPLACEMENT)
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Reply({} members)", self.members.len())
    }
}

/// The refusal of a reply.
pub(super) fn protocol(reason: &'static str, message: String) -> Error {
    Error::new(Code::ExecutionProtocol, message).with_reason(reason)
}
