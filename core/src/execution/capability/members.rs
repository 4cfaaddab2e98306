//! The members of an object of a capability record, read strictly. What is no known member is kept.

use crate::error::{Code, Error, Result};
use crate::json::{Object, Value};

/// The members of one object that nobody has taken yet.
pub(super) struct Members {
    /// The path to this object with a dot behind it; empty at the top.
    path: String,
    members: Object,
}

impl Members {
    /// The members of the record itself.
    pub(super) fn of_record(value: Value) -> Result<Members> {
        let Value::Object(members) = value else {
            return Err(Error::new(Code::ExecutionInput, "a capability record is no object"));
        };
        Ok(Members { path: String::new(), members })
    }

    /// The members of an object that has to be there.
    pub(super) fn object(&mut self, name: &str) -> Result<Members> {
        self.optional_object(name)?.ok_or_else(|| self.wrong(name, "no object"))
    }

    /// The members of an object; none where it is missing or null.
    pub(super) fn optional_object(&mut self, name: &str) -> Result<Option<Members>> {
        match self.members.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(members)) => {
                Ok(Some(Members { path: format!("{}{name}.", self.path), members }))
            }
            Some(_) => Err(self.wrong(name, "no object")),
        }
    }

    /// A string that is not empty.
    pub(super) fn text(&mut self, name: &str) -> Result<String> {
        self.optional_text(name)?.ok_or_else(|| self.wrong(name, "no string"))
    }

    /// A string that is not empty; none where it is missing or null.
    pub(super) fn optional_text(&mut self, name: &str) -> Result<Option<String>> {
        match self.members.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Err(self.wrong(name, "empty")),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(name, "no string")),
        }
    }

    /// A boolean that has to be there.
    pub(super) fn flag(&mut self, name: &str) -> Result<bool> {
        self.optional_flag(name)?.ok_or_else(|| self.wrong(name, "no boolean"))
    }

    /// A boolean; none where it is missing or null.
    pub(super) fn optional_flag(&mut self, name: &str) -> Result<Option<bool>> {
        match self.members.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(self.wrong(name, "no boolean")),
        }
    }

    /// An unsigned integer that has to be there.
    pub(super) fn unsigned(&mut self, name: &str) -> Result<u64> {
        let number =
            self.members.remove(name).as_ref().and_then(Value::as_number).and_then(|number| number.as_u64());
        number.ok_or_else(|| self.wrong(name, "no unsigned integer"))
    }

    /// A list of strings of which none is empty.
    pub(super) fn texts(&mut self, name: &str) -> Result<Vec<String>> {
        self.nullable_texts(name)?.ok_or_else(|| self.wrong(name, "no list of strings"))
    }

    /// The same, or null. It has to be there: leaving it out must not mean what null means.
    pub(super) fn nullable_texts(&mut self, name: &str) -> Result<Option<Vec<String>>> {
        let text = |value: Value| match value {
            Value::String(text) if !text.is_empty() => Some(text),
            _ => None,
        };
        match self.members.remove(name) {
            Some(Value::Null) => return Ok(None),
            Some(Value::Array(elements)) => {
                elements.into_iter().map(text).collect::<Option<Vec<_>>>().map(Some)
            }
            _ => None,
        }
        .ok_or_else(|| self.wrong(name, "no list of nonempty strings"))
    }

    /// A word out of a table.
    pub(super) fn word<T: Copy>(&mut self, name: &str, all: &[T], word: fn(T) -> &'static str) -> Result<T> {
        let text = self.text(name)?;
        all.iter().copied().find(|known| word(*known) == text).ok_or_else(|| {
            let known: Vec<_> = all.iter().map(|known| word(*known)).collect();
            self.error(
                format!(
                    "a member of a capability record is no word of its table, known=`{}`",
                    known.join(" ")
                ),
                name,
            )
        })
    }

    /// Any value; null where it is missing.
    pub(super) fn any(&mut self, name: &str) -> Value {
        self.members.remove(name).unwrap_or(Value::Null)
    }

    /// What nobody has taken, in its order.
    pub(super) fn others(self) -> Object {
        self.members
    }

    fn wrong(&self, name: &str, what: &str) -> Error {
        self.error(format!("a member of a capability record is {what},"), name)
    }

    fn error(&self, message: String, name: &str) -> Error {
        Error::new(Code::ExecutionInput, format!("{message} member=`{}{name}`", self.path))
    }
}

/// An object of known members, and behind them the others.
pub(super) fn written(known: impl IntoIterator<Item = (&'static str, Value)>, others: &Object) -> Value {
    let known = known.into_iter().map(|(name, value)| (name.to_owned(), value));
    let others = others.iter().map(|(name, value)| (name.to_owned(), value.clone()));
    Value::from(known.chain(others).collect::<Object>())
}

/// A list of strings.
pub(super) fn list(texts: &[String]) -> Value {
    Value::Array(texts.iter().map(|text| Value::from(text.as_str())).collect())
}
