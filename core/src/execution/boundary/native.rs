//! Preparation on this machine: the harness's version, its own configuration, the enforced command line (EX-PRE-11, EX-PRE-13,
//! EX-PRE-33, EX-CAP-27).
//!
//! What only the harness's profile knows is asked of the process host, each as a call of the machine: `version {provider,
//! environment}` gives `{version}`, `configure {provider, phase, environment}` gives an object or null, and `render {provider,
//! phase, prompt, model, environment}` gives `{cmd, args, options?}`. The built-in process host answers inside the core.

use super::Inner;
use crate::error::{Code, Error, Result};
use crate::execution::capability::record::Preparation;
use crate::execution::contract::{ErrorKind, Phase, TransportError};
use crate::execution::ledger::lock::AbortToken;
use crate::execution::limits::native_probe_ms;
use crate::execution::machine::{Ended, Line, Port, Request};
use crate::json::{Object, Value};
use crate::local_runner::profiles::version::{dotted, is_at_least, numbers};
use crate::local_runner::{ProcessHost, Unprepared};
use crate::process::bounded::Failure;

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
    abort: &AbortToken,
    declared: &Preparation,
    wanted: &Wanted<'_>,
) -> Result<Value> {
    let ask = |method, input| ask(inner, line, abort, method, input);
    let Some(minimum) = declared.minimum_version.as_deref().filter(|_| declared.render) else {
        let message = "a native preparation needs render and minimumVersion, field=`preparation`";
        let remedy =
            match inner.options.process_host.as_ref().map(|host| host.preparation(&inner.owner.provider)) {
                None => "give render and minimumVersion in the record's preparation",
                Some(None) => "give the provider's harness a profile with a preparation, in runner.harnesses",
                Some(Some(_)) => {
                    "name the boundary that the harness's profile enforces in the record's preparation"
                }
            };
        return Err(Error::new(Code::ExecutionPreparation, message).with_remedy(remedy));
    };
    let mut common = Object::new();
    common.insert("provider", Value::from(inner.owner.provider.as_str()));
    common.insert("environment", allowed(wanted.environment, &inner.capability.authentication.secret_names));
    let told = ask("version", common.clone()).await?;
    let version = told.get("version").and_then(Value::as_str).unwrap_or_default();
    if !is_at_least(version, minimum) {
        let (what, remedy) = match told.get("why").and_then(Value::as_str) {
            Some(why) => (
                why.to_owned(),
                "make the harness tell its version in the environment that is given, then prepare again",
            ),
            // Of what it has printed its numbers alone: the rest may be anything.
            None => (
                match numbers(version) {
                    Some(numbers) => format!("the harness is too old, version=`{}`", dotted(&numbers)),
                    None => "the version of the harness is not known".to_owned(),
                },
                "install a version of the harness that enforces the preparation, then prepare again",
            ),
        };
        let message = format!("{what}, minimum=`{minimum}`");
        return Err(Error::new(Code::ExecutionPreparation, message)
            .with_reason("version")
            .with_remedy(remedy));
    }
    common.insert("phase", Value::from(wanted.phase.word()));
    if declared.configure {
        ask("configure", common.clone()).await?;
    }
    common.insert("prompt", Value::from(wanted.prompt));
    common.insert("model", wanted.model.clone());
    let rendered = ask("render", common).await?;
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

async fn ask(
    inner: &Inner,
    line: &Line,
    abort: &AbortToken,
    method: &'static str,
    input: Object,
) -> Result<Value> {
    let failed = |code, reason, what: &str| {
        Err(Error::new(code, format!("{what}, method=`{method}`")).with_reason(reason))
    };
    let ended = match &inner.options.process_host {
        Some(host) => answered(inner, host, abort, method, &input),
        None => {
            let port = Port::Process;
            line.call(Request { port, method, input, limit: REPLY_BYTES, patience_ms: None }).await.ended
        }
    };
    match ended {
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

/// What the built-in process host says to a step.
fn answered(
    inner: &Inner,
    host: &ProcessHost,
    abort: &AbortToken,
    method: &'static str,
    input: &Object,
) -> Ended {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let provider = inner.owner.provider.as_str();
    let environment = input.get("environment").unwrap_or(&Value::Null);
    let reply = if method == "version" {
        let ms = native_probe_ms(Some(&inner.options.limits));
        let clock = &*inner.host.clock;
        let is_given_up = || abort.is_aborted() || clock.is_cancelled();
        let version = host.version(provider, environment, ms, clock, &is_given_up);
        match version {
            Err(Unprepared::Silent(Failure::Cancelled)) => return Ended::Aborted,
            Err(Unprepared::Silent(Failure::Deadline)) => return Ended::Deadline,
            // Its version is not known then, and whoever has to mend it is told why.
            Err(why) => Ok([("why", Value::from(why.to_string()))].into_iter().collect::<Object>()),
            Ok(version) => Ok([("version", Value::from(version))].into_iter().collect::<Object>()),
        }
    } else if method == "render" {
        host.render(provider, text("prompt").unwrap_or_default(), text("model"), environment)
    } else {
        // A record that promises it with this process host has promised too much, and is not taken for configured.
        Err(Unprepared::Missing("the built-in process host configures no harness".to_owned()))
    };
    match reply {
        Ok(reply) => Ended::Value(Value::Object(reply).to_json()),
        Err(why) => Ended::Error(TransportError::of(ErrorKind::Io, why.to_string())),
    }
}

/// The variables that a prepared turn gets.
pub(super) fn allowed(given: &Value, secret_names: &[String]) -> Value {
    let is_allowed = |name: &str| {
        NATIVE_ENVIRONMENT.contains(&name)
            || name.starts_with(LOCALE)
            || secret_names.iter().any(|secret| secret == name)
    };
    let variables = given.as_object().cloned().unwrap_or_default();
    let kept = variables.iter().filter(|(name, value)| is_allowed(name) && value.as_str().is_some());
    Value::Object(kept.map(|(name, value)| (name.to_owned(), value.clone())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

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
