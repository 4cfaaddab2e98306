//! Cursors: where a provider's pages go on, and the names of gaps (EX-CUR).
//!
//! A cursor is a provider's own token. It is judged before anything of its reply is used, kept with its exact digits,
//! and sent back as it came. The functions here are pure; what a refused cursor leads to is the caller's.

use crate::digest::sha256_hex;
use crate::error::{Code, Error};
use crate::json::{Number, Value};

/// The most bytes that a cursor's serialised form may have (EX-CUR-02). Fixed, and not to be configured (EX-CUR-06).
pub const EXECUTION_CURSOR_BYTES: usize = 4096;

/// What the name of a gap begins with that shows its cursor's text (EX-CUR-18).
const SHOWN: &str = "gap-";

/// The most UTF-16 units of a text behind [`SHOWN`]: the whole name has 512 at most (EX-CUR-18, by the vector in EX-LED-15).
const SHOWN_UNITS: usize = 512 - SHOWN.len();

/// The text for a gap before any cursor (EX-CUR-17).
const START: &str = "start";

/// A cursor that was judged and found valid.
///
/// Two are equal when their serialised forms are: the string `"7"` and the number `7` are two cursors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    token: Token,
    /// EX-CUR-03.
    serialised: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Token {
    Text(String),
    Number,
    Flag(bool),
}

/// Why a token is no cursor. It says nothing of the token itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCursor {
    /// An object, an array, or null where a token has to be.
    #[error("a cursor is a string, a number or a boolean")]
    Type,
    /// A number beyond every double.
    #[error("a cursor's number is not finite")]
    NotFinite,
    /// A lone surrogate, or a text that is not one JSON value.
    #[error("a cursor has no serialised form")]
    Unserialisable,
    /// More than [`EXECUTION_CURSOR_BYTES`].
    #[error("a cursor is too long, bytes=`{0}` limit=`4096`")]
    TooLong(usize),
}

impl InvalidCursor {
    /// The remedy of a saved cursor that is invalid (EX-CUR-14).
    const CHECKPOINT_REMEDY: &'static str = "keep the run files, put back the bounded cursor exactly as the owned provider \
        checkpoint has it, and restart; do not delete the intent, do not clear the cursor and do not dispatch again";

    /// The refusal of a reply whose cursor is invalid (EX-CUR-08): `EXECUTION_PROTOCOL`, reason `cursor`.
    #[must_use]
    pub fn in_reply(self) -> Error {
        Error::new(Code::ExecutionProtocol, self.to_string()).with_reason("cursor")
    }

    /// The refusal of a ledger that holds an invalid cursor (EX-CUR-13): `EXECUTION_PROTOCOL`, reason `checkpoint-cursor`,
    /// with its own remedy.
    #[must_use]
    pub fn in_checkpoint(self) -> Error {
        let error = Error::new(Code::ExecutionProtocol, format!("a saved cursor is invalid: {self}"));
        error.with_reason("checkpoint-cursor").with_remedy(Self::CHECKPOINT_REMEDY)
    }
}

/// What [`check`] answers: the value of `fn:checkCursor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Whether it may be used.
    pub valid: bool,
    /// How many bytes its serialised form has, with quotes and escapes; 0 where it has none.
    pub bytes: usize,
}

impl Cursor {
    /// Judges a token. `false`, `0` and the empty string are tokens like any other (EX-CUR-04).
    ///
    /// # Errors
    /// [`InvalidCursor`], by EX-CUR-01 and EX-CUR-02.
    pub fn from_value(value: &Value) -> Result<Cursor, InvalidCursor> {
        let token = match value {
            Value::String(text) => Token::Text(text.clone()),
            Value::Number(number) if number.is_finite() => Token::Number,
            Value::Number(_) => return Err(InvalidCursor::NotFinite),
            Value::Bool(flag) => Token::Flag(*flag),
            Value::Null | Value::Array(_) | Value::Object(_) => return Err(InvalidCursor::Type),
        };
        let serialised = value.to_canonical();
        if serialised.len() > EXECUTION_CURSOR_BYTES {
            return Err(InvalidCursor::TooLong(serialised.len()));
        }
        Ok(Cursor { token, serialised })
    }

    /// Judges a token by its JSON text, in which an escape may be half a character (EX-CUR-24).
    ///
    /// # Errors
    /// As [`Cursor::from_value`], and [`InvalidCursor::Unserialisable`].
    pub fn from_json(text: &str) -> Result<Cursor, InvalidCursor> {
        let value = Value::parse(text).map_err(|_| InvalidCursor::Unserialisable)?;
        Cursor::from_value(&value)
    }

    /// The cursor that stands after a reply: the reply's own, or the recorded one where the reply has none or null
    /// (EX-CUR-05).
    ///
    /// # Errors
    /// As [`Cursor::from_value`]. The whole reply is refused then, and the recorded cursor stays.
    pub fn after(reply: Option<&Value>, recorded: Option<&Cursor>) -> Result<Option<Cursor>, InvalidCursor> {
        match reply {
            None | Some(Value::Null) => Ok(recorded.cloned()),
            Some(value) => Cursor::from_value(value).map(Some),
        }
    }

    /// The serialised form: shortest JSON, exact digits (EX-CUR-03, EX-CUR-25).
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.serialised
    }

    /// The token as a JSON value, to be saved and sent.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match &self.token {
            Token::Text(text) => Value::String(text.clone()),
            Token::Number => Number::parse(&self.serialised).map_or(Value::Null, Value::Number),
            Token::Flag(flag) => Value::Bool(*flag),
        }
    }

    /// The text that a gap is named by: a string as it is, anything else in its serialised form (EX-CUR-16).
    fn text(&self) -> &str {
        match &self.token {
            Token::Text(text) => text,
            Token::Number | Token::Flag(_) => &self.serialised,
        }
    }
}

/// Judges a token without keeping it.
#[must_use]
pub fn check(value: &Value) -> Checked {
    Checked { valid: Cursor::from_value(value).is_ok(), bytes: value.to_canonical().len() }
}

/// As [`check`], by the token's JSON text: what has no serialised form is invalid and has no bytes.
#[must_use]
pub fn check_json(text: &str) -> Checked {
    Value::parse(text).map_or(Checked { valid: false, bytes: 0 }, |value| check(&value))
}

/// The name of a gap (EX-CUR-16 to EX-CUR-21). `next` is the validated cursor of the reply that told of it, `recorded`
/// the one that stood before.
///
/// A string and a number with the same text give the same name while it is short. A name that begins with `gap:` is
/// a hash's, and no other begins so.
#[must_use]
pub fn gap_id(next: Option<&Cursor>, recorded: Option<&Cursor>) -> String {
    let Some(cursor) = next.or(recorded) else { return format!("{SHOWN}{START}") };
    let text = cursor.text();
    // No text has more units than bytes, so most need no counting.
    if text.len() <= SHOWN_UNITS || text.encode_utf16().count() <= SHOWN_UNITS {
        return format!("{SHOWN}{text}");
    }
    format!("gap:{}", sha256_hex(cursor.serialised.as_bytes()))
}
