//! The names of runs and operations, and the keys and fingerprints that are hashed of them (EX-LED-12 to EX-LED-15).
//!
//! All of them are made of nothing but their arguments, so they are the same after any restart and in every language.

use std::fmt;

use crate::digest::sha256_hex;
use crate::error::{Code, Error, Result};
use crate::json::{Number, Value, canonical};

/// The most bytes of an id (EX-BND-32).
const MAX_ID_BYTES: usize = 128;

/// How many digits of its hash a derived run ID shows (EX-BND-33).
const RUN_ID_DIGITS: usize = 32;

/// The largest integer that every language reads alike: 2^53 - 1 (EX-LED-73).
const LARGEST_INTEGER: f64 = 9_007_199_254_740_991.0;

/// A number of at most so many bytes and without an exponent is below [`LARGEST_INTEGER`].
const SMALL_BYTES: usize = 15;

/// Whether a run or an operation may be called so: `[A-Za-z0-9][A-Za-z0-9._-]{0,127}` (EX-BND-32). An id is a safe name of
/// a directory.
#[must_use]
pub fn is_id(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= MAX_ID_BYTES
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
}

/// Refuses what is no id. `argument` is what the caller calls it, such as `runId`.
///
/// # Errors
/// `EXECUTION_INPUT`, by EX-BND-32.
pub fn check_id(argument: &str, text: &str) -> Result<()> {
    if is_id(text) {
        return Ok(());
    }
    let message = format!(
        "an id is 1 to {MAX_ID_BYTES} letters, digits, points, lines and underlines, and begins with a letter or digit, \
         argument=`{argument}`"
    );
    Err(Error::new(Code::ExecutionInput, message))
}

/// The ID of a run whose caller gave none (EX-BND-33).
#[must_use]
pub fn run_id(task: &str, provider: &str, account: &str, operation: &str) -> String {
    let hash = hash_of("run", &[task, provider, account, operation]);
    format!("r-{}", &hash[..RUN_ID_DIGITS])
}

/// The idempotency key of a dispatch (EX-LED-13).
#[must_use]
pub fn dispatch_key(task: &str, provider: &str, account: &str, run: &str, operation: &str) -> String {
    format!("gx-{}", hash_of("dispatch", &[task, provider, account, run, operation]))
}

/// The idempotency key of a stop (EX-LED-14). No identity of the provider is in it, since a stop may be asked for before
/// one is known.
#[must_use]
pub fn cancellation_key(task: &str, provider: &str, account: &str, run: &str) -> String {
    format!("gx-{}", hash_of("cancel", &[task, provider, account, run]))
}

/// The hash of the canonical array of a word, the version 1, and these parts.
fn hash_of(word: &str, parts: &[&str]) -> String {
    let mut text = String::with_capacity(256);
    text.push('[');
    canonical::write_string(word, &mut text);
    text.push_str(",1");
    for part in parts {
        text.push(',');
        canonical::write_string(part, &mut text);
    }
    text.push(']');
    sha256_hex(text.as_bytes())
}

/// Whether a text is a revision: 40 or 64 lower-case hexadecimal digits (EX-OBS-25).
#[must_use]
pub fn is_revision(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The hash of a value's canonical form (RFC 8785).
///
/// # Errors
/// `EXECUTION_INPUT` with reason `number` for an integer beyond ±(2^53 − 1) anywhere in it, in whatever spelling
/// (EX-LED-73): some languages cannot read it, and others would not hash the same.
pub fn canonical_hash(value: &Value) -> Result<String> {
    check_numbers(value, None)?;
    let mut text = String::with_capacity(1024);
    canonical::write(value, &mut text);
    Ok(sha256_hex(text.as_bytes()))
}

/// What a dispatch is known again by. What is absent is null (EX-LED-12).
#[derive(Clone, Copy)]
pub struct FingerprintInput<'a> {
    /// `submit` or `continue`.
    pub action: &'a str,
    /// `implementation` or `intake`.
    pub kind: &'a str,
    /// The prompt.
    pub prompt: Option<&'a str>,
    /// The revision that the work begins with.
    pub input_head: Option<&'a str>,
    /// The permission policy.
    pub policy: Option<&'a Value>,
    /// The model.
    pub model: Option<&'a Value>,
    /// The environment.
    pub environment: Option<&'a Value>,
    /// The session that a continue sends; for a known operation the one that was saved with it.
    pub session_id: Option<&'a str>,
    /// The fingerprint of the preparation's receipt.
    pub preparation: Option<&'a str>,
    /// The run that this one succeeds.
    pub successor_of: Option<&'a str>,
    /// The answer to a waiting run, `{signature, answer}`: with another answer it is another operation (EX-LED-54).
    pub response: Option<&'a Value>,
}

impl FingerprintInput<'_> {
    /// `inputFingerprint` (EX-LED-12).
    ///
    /// # Errors
    /// As [`canonical_hash`]; the message names the argument.
    pub fn fingerprint(&self) -> Result<String> {
        let FingerprintInput { action, kind, prompt, input_head, policy, model, environment, .. } = *self;
        let FingerprintInput { session_id, preparation, successor_of, response, .. } = *self;
        let text = |text| Member::Text(text);
        // In the order of the canonical form.
        let members = [
            ("action", Member::Text(Some(action))),
            ("environment", Member::Json(environment)),
            ("inputHead", text(input_head)),
            ("kind", text(Some(kind))),
            ("model", Member::Json(model)),
            ("policy", Member::Json(policy)),
            ("preparation", text(preparation)),
            ("prompt", text(prompt)),
            ("response", Member::Json(response)),
            ("sessionId", text(session_id)),
            ("successorOf", text(successor_of)),
        ];
        let mut out = String::with_capacity(512 + prompt.map_or(0, str::len));
        for (at, (name, member)) in members.into_iter().enumerate() {
            out.push_str(if at == 0 { "{\"" } else { ",\"" });
            out.push_str(name);
            out.push_str("\":");
            match member {
                Member::Text(Some(text)) => canonical::write_string(text, &mut out),
                Member::Json(Some(value)) => {
                    check_numbers(value, Some(name))?;
                    canonical::write(value, &mut out);
                }
                Member::Text(None) | Member::Json(None) => out.push_str("null"),
            }
        }
        out.push('}');
        Ok(sha256_hex(out.as_bytes()))
    }
}

/// Without prompt, answer and whatever else may be a secret.
impl fmt::Debug for FingerprintInput<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FingerprintInput { action, kind, .. } = self;
        out.debug_struct("FingerprintInput")
            .field("action", action)
            .field("kind", kind)
            .finish_non_exhaustive()
    }
}

enum Member<'a> {
    Text(Option<&'a str>),
    Json(Option<&'a Value>),
}

fn check_numbers(value: &Value, argument: Option<&str>) -> Result<()> {
    if !has_too_large(value) {
        return Ok(());
    }
    let message = "an integer beyond 2^53 - 1 is to be given as text";
    let message = argument.map_or_else(|| message.to_owned(), |name| format!("{message}, argument=`{name}`"));
    Err(Error::new(Code::ExecutionInput, message).with_reason("number"))
}

fn has_too_large(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => false,
        Value::Number(number) => is_too_large(number),
        Value::Array(elements) => elements.iter().any(has_too_large),
        Value::Object(object) => object.iter().any(|(_, value)| has_too_large(value)),
    }
}

/// Judged by value, since a language may write the double 1e17 with an exponent or without: from 2^53 on every double is
/// an integer, and so is what is beyond all doubles.
fn is_too_large(number: &Number) -> bool {
    let text = number.as_str();
    let is_small = text.len() <= SMALL_BYTES && !text.bytes().any(|byte| byte | 0x20 == b'e');
    !is_small && number.as_f64().abs() > LARGEST_INTEGER
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::parse(text).expect("JSON")
    }

    #[test]
    fn parts_cannot_run_into_each_other() {
        let key = dispatch_key("t\",\"p", "x", "a", "r", "o");
        assert_ne!(key, dispatch_key("t", "p\",\"x", "a", "r", "o"));
        assert_ne!(dispatch_key("ab", "c", "a", "r", "o"), dispatch_key("a", "bc", "a", "r", "o"));
        assert_eq!(run_id("t", "p", "a", "o").len(), 34);
        assert!(is_id(&run_id("t", "p", "a", "o")), "a derived id is one");
    }

    #[test]
    fn the_canonical_form_is_what_is_hashed() {
        let value = json(r#"{"b":[1.0,"ä\n",null],"a":{"é":1,"e":2}}"#);
        assert_eq!(canonical_hash(&value).expect("hashed"), sha256_hex(value.to_canonical().as_bytes()));
        assert_eq!(
            canonical_hash(&json(r#"{"a":{"e":2,"é":1},"b":[1,"\u00e4\u000a",null]}"#)).expect("hashed"),
            canonical_hash(&value).expect("hashed")
        );
    }

    #[test]
    fn what_is_printed_of_an_input_is_no_secret() {
        let answer = json(r#"{"signature":"s","answer":"hunter2"}"#);
        let input = FingerprintInput {
            action: "continue",
            kind: "implementation",
            prompt: Some("hunter2"),
            input_head: None,
            policy: None,
            model: None,
            environment: None,
            session_id: None,
            preparation: None,
            successor_of: None,
            response: Some(&answer),
        };
        let printed = format!("{input:?}");
        assert!(printed.contains("continue") && !printed.contains("hunter2"), "{printed}");
    }
}
