//! The lines of the protocol: JSON objects whose numbers keep their digits.

use std::collections::HashMap;
use std::io::{self, Write};

use gallivant_core::json::{Object, Value};
use gallivant_core::{Error, Result};
use serde_json::value::RawValue;

/// A message by its members, each as the text that it came as.
pub(crate) type Members = HashMap<String, Box<RawValue>>;

/// The members of a text that is a JSON object; none where it is not.
pub(crate) fn members(text: &str) -> Option<Members> {
    serde_json::from_str(text).ok()
}

/// A member's text; `null` where it is missing.
pub(crate) fn raw<'a>(members: &'a Members, name: &str) -> &'a str {
    members.get(name).map_or("null", |raw| raw.get())
}

/// A member's value; none where it is no JSON that the library takes.
pub(crate) fn value(members: &Members, name: &str) -> Option<Value> {
    Value::parse(raw(members, name)).ok()
}

/// A member that is a text.
pub(crate) fn text(members: &Members, name: &str) -> Option<String> {
    value(members, name)?.as_str().map(str::to_owned)
}

/// A member that is an integer from 0.
pub(crate) fn number(members: &Members, name: &str) -> Option<u64> {
    value(members, name)?.as_number()?.as_u64()
}

/// A member that is an object.
pub(crate) fn object(members: &Members, name: &str) -> Option<Object> {
    match value(members, name)? {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// An object of these members.
pub(crate) fn tell<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().collect())
}

/// Writes one line, whole and at once, whoever else writes.
pub(crate) fn say<const N: usize>(members: [(&str, Value); N]) {
    let mut out = io::stdout().lock();
    let line = tell(members).to_json();
    // A runner that has gone reads nothing any more, and closes standard input too.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The end of a command.
pub(crate) fn say_done(id: &Value, outcome: Result<Value>) {
    match outcome {
        Ok(value) => say([("done", id.clone()), ("ok", value)]),
        Err(error) => say([("done", id.clone()), ("error", refusal(&error))]),
    }
}

fn refusal(error: &Error) -> Value {
    tell([
        ("code", error.code().name().into()),
        ("reason", error.reason().into()),
        ("remedy", error.remedy().into()),
        ("message", error.message().into()),
        ("runId", error.run_id().into()),
        ("operationId", error.operation_id().into()),
    ])
}
