//! Preparation on this machine: the harness's version, its own configuration, the enforced command line (EX-PRE-11, EX-PRE-13,
//! EX-PRE-33, EX-CAP-27).
//!
//! What only the harness's profile knows is asked of the process host, each as a call of the machine: `version {provider}` gives
//! `{version}`, `configure {provider, phase, environment}` gives an object or null, and `render {provider, phase, prompt, model,
//! environment}` gives `{cmd, args, options?}`.

use super::Inner;
use crate::error::{Code, Error, Result};
use crate::execution::capability::record::Preparation;
use crate::execution::contract::Phase;
use crate::execution::machine::{Ended, Line, Port, Request};
use crate::json::{Object, Value};

/// The names that a prepared turn may have in its environment, but for those of its secrets (EX-PRE-13).
const NATIVE_ENVIRONMENT: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TERM", "TMPDIR"];
/// And every name that begins so.
const LOCALE: &str = "LC_";
/// As that of a transport's `prepare` (EX-TRA-06).
const REPLY_BYTES: u64 = 65_536;

/// What is to be prepared.
pub(super) struct Wanted<'a> {
    pub(super) phase: Phase,
    pub(super) prompt: &'a str,
    pub(super) model: &'a Value,
    /// Variables of the caller, of which only the allowed ones go on.
    pub(super) environment: &'a Value,
}

/// Asks for the enforced command line: `{cmd, args, options}`. Nothing is saved.
///
/// # Errors
/// `EXECUTION_PREPARATION`, with the reason `version` for a harness that is too old or whose version is not known; those of
/// calls that fail.
pub(super) async fn prepare(
    inner: &Inner,
    line: &Line,
    declared: &Preparation,
    wanted: &Wanted<'_>,
) -> Result<Value> {
    let Some(minimum) = declared.minimum_version.as_deref().filter(|_| declared.render) else {
        let message = "a native preparation needs render and minimumVersion, field=`preparation`";
        return Err(Error::new(Code::ExecutionPreparation, message));
    };
    let mut common = Object::new();
    common.insert("provider", Value::from(inner.owner.provider.as_str()));
    let version = ask(line, "version", common.clone()).await?;
    let version = version.get("version").and_then(Value::as_str).unwrap_or_default();
    if !is_at_least(version, minimum) {
        let message = format!("the harness is too old, or its version is not known, minimum=`{minimum}`");
        return Err(Error::new(Code::ExecutionPreparation, message).with_reason("version").with_remedy(
            "install a version of the harness that enforces the preparation, then prepare again",
        ));
    }
    common.insert("phase", Value::from(wanted.phase.word()));
    common.insert("environment", allowed(wanted.environment, &inner.capability.authentication.secret_names));
    if declared.configure {
        ask(line, "configure", common.clone()).await?;
    }
    common.insert("prompt", Value::from(wanted.prompt));
    common.insert("model", wanted.model.clone());
    let rendered = ask(line, "render", common).await?;
    let shape =
        || Error::new(Code::ExecutionProtocol, "a rendered command line is none").with_reason("shape");
    let cmd = rendered.get("cmd").and_then(Value::as_str).filter(|cmd| !cmd.is_empty()).ok_or_else(shape)?;
    let args = rendered.get("args").and_then(Value::as_array).ok_or_else(shape)?;
    if args.iter().any(|argument| argument.as_str().is_none()) {
        return Err(shape());
    }
    let members = [
        ("cmd", Value::from(cmd)),
        ("args", Value::Array(args.to_vec())),
        ("options", rendered.get("options").cloned().unwrap_or(Value::Null)),
    ];
    Ok(Value::Object(members.into_iter().collect()))
}

async fn ask(line: &Line, method: &'static str, input: Object) -> Result<Value> {
    let failed = |code, reason, what: &str| {
        Err(Error::new(code, format!("{what}, method=`{method}`")).with_reason(reason))
    };
    match line
        .call(Request { port: Port::Process, method, input, limit: REPLY_BYTES, patience_ms: None })
        .await
        .ended
    {
        Ended::Value(text) => match Value::parse(&text) {
            Ok(value @ (Value::Object(_) | Value::Null)) => Ok(value),
            _ => failed(Code::ExecutionProtocol, "shape", "a reply is no object"),
        },
        Ended::Oversized => failed(Code::ExecutionProtocol, "shape", "a reply is too long"),
        Ended::Deadline => {
            failed(Code::ExecutionDeadline, "deadline", "a step of the preparation did not end in its time")
        }
        Ended::Aborted => failed(Code::ExecutionIo, "aborted", "a step of the preparation was aborted"),
        Ended::Error(error) => {
            let (code, reason) = error.cause();
            failed(code, reason, "a step of the preparation failed")
        }
    }
}

/// The variables that a prepared turn gets.
fn allowed(given: &Value, secret_names: &[String]) -> Value {
    let is_allowed = |name: &str| {
        NATIVE_ENVIRONMENT.contains(&name)
            || name.starts_with(LOCALE)
            || secret_names.iter().any(|secret| secret == name)
    };
    let variables = given.as_object().cloned().unwrap_or_default();
    let kept = variables.iter().filter(|(name, value)| is_allowed(name) && value.as_str().is_some());
    Value::Object(kept.map(|(name, value)| (name.to_owned(), value.clone())).collect())
}

/// Whether a version, as a harness prints it, is this one or a later one. Numbers are compared one by one, what is missing is
/// 0, and whatever follows the numbers says nothing. What has no number at its beginning is not known.
fn is_at_least(version: &str, minimum: &str) -> bool {
    let numbers = |text: &str| -> Option<Vec<u64>> {
        let text = text.trim().trim_start_matches('v');
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let found: Option<Vec<u64>> =
            text[..end].trim_end_matches('.').split('.').map(|part| part.parse().ok()).collect();
        found.filter(|numbers| !numbers.is_empty())
    };
    let (Some(mut version), Some(mut minimum)) = (numbers(version), numbers(minimum)) else { return false };
    let length = version.len().max(minimum.len());
    version.resize(length, 0);
    minimum.resize(length, 0);
    version >= minimum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ex_pre_33_versions_are_compared_by_their_numbers() {
        for (version, minimum) in
            [("2.1.0", "2.1.0"), ("v10.0", "9.9.9"), ("2.1.0 (Claude Code)", "2.1"), ("1.0.1-rc.1", "1.0.1")]
        {
            assert!(is_at_least(version, minimum), "{version} {minimum}");
        }
        for (version, minimum) in
            [("2.0.9", "2.1.0"), ("", "1"), ("nightly", "1"), ("1", "1.0.1"), ("..", "1")]
        {
            assert!(!is_at_least(version, minimum), "{version} {minimum}");
        }
    }

    #[test]
    fn ex_pre_13_only_allowed_variables_go_on() {
        let given = Value::parse(
            r#"{"PATH":"/bin","LC_ALL":"C","AWS_SECRET":"x","PROV_KEY":"k","HOME":7,"TERM":"xterm"}"#,
        )
        .expect("JSON");
        let kept = allowed(&given, &["PROV_KEY".to_owned()]);
        assert_eq!(kept.to_json(), r#"{"PATH":"/bin","LC_ALL":"C","PROV_KEY":"k","TERM":"xterm"}"#);
        assert_eq!(allowed(&Value::Null, &[]).to_json(), "{}");
    }
}
