//! The pure functions under their public names (EX-SEA-15): those of publication, and below them those of the execution layer.
//! One table for every language.

use super::next::{Facts, Found, publication_next};
use crate::error::{Code, Error, Result};
use crate::execution::application::Status;
use crate::execution::functions;
use crate::json::{Object, Value};

/// Calls the function of this name with the members of a JSON object, as its text: `publicationNext {checkpoint, facts}`, which
/// gives `{action, reason?}` (EX-SEA-16), and every function of [`functions::call`].
///
/// # Errors
/// `EXECUTION_INPUT` that names the argument, or the function where there is none of this name, and those of the function.
pub fn call(name: &str, args: &str) -> Result<Value> {
    if name != "publicationNext" {
        return functions::call(name, args);
    }
    let args = Value::parse(args).map_err(|_| wrong("args"))?;
    let found = match args.get("checkpoint") {
        None | Some(Value::Null) => None,
        Some(checkpoint) => {
            let status = checkpoint.get("status").and_then(Value::as_str).and_then(Status::from_word);
            Some(Found {
                status: status.ok_or_else(|| wrong("checkpoint"))?,
                applied_head: text(checkpoint, "appliedHead"),
            })
        }
    };
    let facts = args.get("facts").ok_or_else(|| wrong("facts"))?;
    let flag = |name: &str| facts.get(name).and_then(Value::as_bool).ok_or_else(|| wrong(name));
    let facts = Facts {
        owner_matches: flag("ownerMatches")?,
        fingerprint_matches: flag("fingerprintMatches")?,
        head: text(facts, "head"),
        input_head: text(facts, "inputHead"),
        applied_matches: flag("appliedMatches")?,
        clean: flag("clean")?,
        evidence_complete: flag("evidenceComplete")?,
        provenance: flag("provenance")?,
    };
    let next = publication_next(found.as_ref(), &facts);
    let mut answer = Object::new();
    answer.insert("action", Value::from(next.word()));
    if let Some(reason) = next.reason() {
        answer.insert("reason", Value::from(reason));
    }
    Ok(answer.into())
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn wrong(argument: &str) -> Error {
    Error::new(Code::ExecutionInput, format!("an argument is missing or malformed, argument=`{argument}`"))
}
