//! JSON values: strings at any depth and keys (EX-RED-09); everything else stays (EX-RED-10).

use std::borrow::Cow;
use std::collections::HashSet;

use super::{MARK, Patterns, Redactor, Secrets};
use crate::error::{Code, Error, Result};
use crate::json::{Object, Value};

/// One step of the way from the top of a value to a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'v> {
    /// Into the member with this key, as it is spelled before redaction.
    Key(&'v str),
    /// Into the element at this place, from 0.
    Index(usize),
}

impl Redactor {
    /// A redacted copy of a value. Where two keys of an object become equal the later one gets `#2`, `#3` and so on
    /// behind it.
    #[must_use]
    pub fn value(&self, value: &Value) -> Value {
        self.value_but(value, |_| false)
    }

    /// As [`Redactor::value`], but for the parts that `is_exempt` names by the way to them: the key and everything below
    /// it stay exactly as they are. For the private files of EX-RED-16; nothing is exempt in a public view (EX-RED-17).
    #[must_use]
    pub fn value_but<'v>(&self, value: &'v Value, is_exempt: impl Fn(&[Step<'v>]) -> bool) -> Value {
        Walk { redactor: self, is_exempt, way: Vec::new() }.value(value)
    }

    /// As [`Redactor::value`], from JSON text to JSON text: members keep their order and numbers their digits. A lone
    /// surrogate escape becomes U+FFFD.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` with the reason `shape` for what is not one JSON value, has a key twice in one object, or is nested
    /// deeper than [`MAX_DEPTH`](crate::json::value::MAX_DEPTH). The message quotes nothing of the text.
    pub fn json(&self, text: &str) -> Result<String> {
        Ok(self.value(&parsed(text)?).to_json())
    }

    /// The redacted strings and keys of a JSON text, in the order in which they stand there, each key before what it leads
    /// to. For hosts whose own values JSON text cannot carry: they put the strings back in the same order.
    ///
    /// # Errors
    /// As [`Redactor::json`].
    pub fn strings(&self, text: &str) -> Result<Vec<String>> {
        let mut strings = Vec::new();
        collect(self.value(&parsed(text)?), &mut strings);
        Ok(strings)
    }

    /// The first number from 2 that makes a key another than all before it.
    fn told_apart(&self, key: &str, taken: &HashSet<String>) -> String {
        // One more number than there are keys is free, unless the number itself is covered.
        let numbers = (2..=taken.len() + 2).map(|number| format!("{key}#{number}"));
        let mut free = numbers.filter(|candidate| !taken.contains(candidate) && is_kept(self, candidate));
        free.next().unwrap_or_else(|| {
            let mut marked = format!("{key}{MARK}");
            while taken.contains(&marked) {
                marked.push_str(MARK);
            }
            marked
        })
    }
}

fn parsed(text: &str) -> Result<Value> {
    let refusal =
        |error| Error::new(Code::ExecutionInput, format!("no JSON value: {error}")).with_reason("shape");
    Value::parse_replacing(text).map(|(value, _)| value).map_err(refusal)
}

fn collect(value: Value, strings: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => strings.push(text),
        Value::Array(elements) => elements.into_iter().for_each(|element| collect(element, strings)),
        Value::Object(object) => {
            for (key, value) in object {
                strings.push(key);
                collect(value, strings);
            }
        }
    }
}

fn is_kept(redactor: &Redactor, text: &str) -> bool {
    matches!(redactor.text(text), Cow::Borrowed(_))
}

/// A redacted copy of a value, by recognised credentials and these secrets; empty ones are ignored (EX-RED-01).
///
/// It builds an automaton. Whoever redacts more than once keeps a [`Redactor`].
///
/// # Errors
/// As [`Redactor::new`].
pub fn sanitize<S: AsRef<[u8]>>(value: &Value, secrets: impl IntoIterator<Item = S>) -> Result<Value> {
    Ok(Redactor::new(&Secrets::lenient(secrets), Patterns::Recognised)?.value(value))
}

struct Walk<'r, 'v, F> {
    redactor: &'r Redactor,
    is_exempt: F,
    way: Vec<Step<'v>>,
}

impl<'v, F: Fn(&[Step<'v>]) -> bool> Walk<'_, 'v, F> {
    fn value(&mut self, value: &'v Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => Value::String(self.redactor.text(text).into_owned()),
            Value::Array(elements) => {
                let step = |(at, element): (usize, &'v Value)| self.within(Step::Index(at), element).1;
                Value::Array(elements.iter().enumerate().map(step).collect())
            }
            Value::Object(object) => self.object(object),
        }
    }

    /// Whether a part is exempt, and what becomes of it.
    fn within(&mut self, step: Step<'v>, value: &'v Value) -> (bool, Value) {
        self.way.push(step);
        let is_exempt = (self.is_exempt)(&self.way);
        let value = if is_exempt { value.clone() } else { self.value(value) };
        self.way.pop();
        (is_exempt, value)
    }

    fn object(&mut self, object: &'v Object) -> Value {
        let mut changed = false;
        let mut members = Vec::with_capacity(object.len());
        for (key, value) in object.iter() {
            let (is_exempt, value) = self.within(Step::Key(key), value);
            let redacted = if is_exempt { Cow::Borrowed(key) } else { self.redactor.text(key) };
            changed |= matches!(redacted, Cow::Owned(_));
            members.push((redacted.into_owned(), value));
        }
        // Keys that nobody changed are distinct already.
        if changed {
            let mut taken = HashSet::with_capacity(members.len());
            for (key, _) in &mut members {
                if taken.contains(key.as_str()) {
                    *key = self.redactor.told_apart(key, &taken);
                }
                taken.insert(key.clone());
            }
        }
        Value::Object(Object::from_distinct(members))
    }
}
