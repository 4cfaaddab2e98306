//! The process host that answers inside the core (EX-SEA-06): what it is asked, and the private files of a run that stand before
//! its process can write (EX-LOC-14).

use std::borrow::Cow;
use std::sync::PoisonError;

use super::input::DispatchInput;
use super::local::Start;
use super::task::Task;
use super::{Inner, native};
use crate::error::{Code, Error, Result};
use crate::execution::contract::{ErrorKind, TransportError, dispatch_not_sent_error};
use crate::execution::job::number;
use crate::execution::ledger::record::RunKind;
use crate::execution::machine::{CallEnd, Ended};
use crate::execution::money::{Nanos, Round};
use crate::journal::{DIAGNOSTICS_LIFE_MS, PROVIDER_LOG, REDACTIONS};
use crate::json::{Number, Object, Value};
use crate::local_runner::profiles::Turn;
use crate::local_runner::{
    EXIT, Gate, ProcessHost, RunProcess, RunSession, SESSION, Spawn, Told, is_led as is_tree_led,
};
use crate::process::Signal;
use crate::storage::Directory;

/// Refuses a dispatch that no process host could carry out here, before anything is saved (EX-LOC-01).
///
/// # Errors
/// `EXECUTION_CAPABILITY` with the reason `platform` or `unavailable`; as [`spec`].
pub(super) fn check(inner: &Inner, input: &DispatchInput) -> Result<()> {
    let Some(host) = &inner.options.process_host else { return Ok(()) };
    if !ProcessHost::is_supported() {
        return Err(Error::new(Code::ExecutionCapability, "harnesses cannot be run on this system")
            .with_reason("platform"));
    }
    if host.supervisor().is_none() {
        return Err(Error::new(Code::ExecutionCapability, "the program gallivant-supervise is not there")
            .with_reason("unavailable")
            .with_remedy(
                "install gallivant-supervise beside the library, or name its path in the option runner.supervisor or \
                 in the variable GALLIVANT_SUPERVISE",
            ));
    }
    spec(inner, input).map(drop)
}

/// What is to be started. Of a prepared turn that is the command line that was rendered, with the few variables that one may have
/// (EX-PRE-06, EX-PRE-13), in the directory that the caller names.
///
/// # Errors
/// `EXECUTION_INPUT` for a prepared turn whose spec has a command line of its own; `EXECUTION_PREPARATION` for one that is not
/// prepared by a receipt (EX-PRE-06).
pub(super) fn spec<'a>(inner: &Inner, input: &'a DispatchInput) -> Result<Cow<'a, Value>> {
    let (Some(host), Some(given)) = (&inner.options.process_host, input.spec.as_object()) else {
        return Ok(Cow::Borrowed(&input.spec));
    };
    if input.kind != RunKind::Intake {
        return Ok(Cow::Borrowed(&input.spec));
    }
    // The word of an older package vouches for no command line.
    if input.preparation.as_object().is_none() || input.native.is_null() {
        let message = "a prepared turn needs the receipt that prepare has issued, and its native";
        return Err(Error::new(Code::ExecutionPreparation, message));
    }
    let variables = given.get("env").unwrap_or(&Value::Null);
    let variables = native::allowed(variables, &inner.capability.authentication.secret_names);
    let enforced = host.enforced(&inner.owner.provider, given, &input.native, &input.prompt, variables);
    enforced.map(|spec| Cow::Owned(Value::Object(spec))).map_err(|message| super::input::wrong(&message))
}

/// Has the harness forked behind its gate. Whatever fails here, nothing was started and nothing will be (EX-LOC-25): the gate
/// was not opened, and no job record names the harness.
pub(super) fn spawn(task: &Task, host: &ProcessHost, start: &Start<'_>) -> (CallEnd, Option<Gate>) {
    let end = |ended| CallEnd { ended, sending: false };
    let refused = |code: &str, message: String| {
        remove_private_files(task, start.run_id);
        end(Ended::Error(dispatch_not_sent_error(code, message)))
    };
    if let Err(error) = make_private_files(task, start) {
        return (refused("output", error.to_string()), None);
    }
    let operation = task.ledger.operations.get(start.operation_id);
    let session = operation.and_then(|operation| operation.session_id.as_deref());
    let run_session = match claim(task, start) {
        Ok(session) => session,
        Err((code, message)) => return (refused(&code, message), None),
    };
    let path = match task.inner.host.files.absolute(&task.run_path(start.run_id)) {
        Ok(path) => path,
        Err(error) => return (refused("output", error.to_string()), None),
    };
    let spawn = Spawn {
        directory: &path,
        run_id: start.run_id,
        operation_id: start.operation_id,
        spec: start.spec,
        turn: Turn { prompt: start.prompt, model: start.model, session, is_resumed: start.is_resumed },
        session: run_session.as_ref(),
        log: PROVIDER_LOG,
    };
    match host.spawn(&spawn, &task.inner.host) {
        Ok(spawned) => (end(Ended::Value(Value::Object(spawned.reply).to_json())), Some(spawned.gate)),
        Err((code, message)) => {
            if let Some(session) = run_session {
                session.has_ended(None, &task.inner.host);
            }
            (refused(&code, message), None)
        }
    }
}

/// Claims the session's seat, where the spec names one, and keeps what is needed to speak for it later.
fn claim(task: &Task, start: &Start<'_>) -> std::result::Result<Option<RunSession>, (String, String)> {
    let host = &task.inner.host;
    let Some(session) = RunSession::claim(start.spec, host)? else { return Ok(None) };
    let kept = task.root.open_directory(start.run_id).map_err(|error| error.to_string()).and_then(|run| {
        let mut text = session.to_value().to_json();
        text.push('\n');
        let mut files = task.files();
        let below = format!("{}/", start.run_id);
        files.writer.persist(&*run, &below, SESSION, &text).map_err(|error| error.to_string())
    });
    match kept {
        Ok(()) => Ok(Some(session)),
        Err(message) => {
            session.has_ended(None, host);
            Err(("session".to_owned(), message))
        }
    }
}

/// Whether the harness of a run that nobody stops is proved to run: then nothing else of its tree is asked for, and its session
/// is told. False proves nothing.
pub(super) fn is_led(task: &Task, run_id: &str) -> bool {
    let led = || {
        let job = task.read_job(run_id).ok()??;
        let process = job.get("process")?;
        let known = RunProcess::of(process, job.get("killAfter").unwrap_or(&Value::Null))?;
        Some((is_tree_led(&known, &*task.inner.host.processes), process.clone()))
    };
    let (Some(host), Some((true, process))) = (&task.inner.options.process_host, led()) else { return false };
    let Ok(run) = task.root.open_directory(run_id) else { return false };
    tell_session(task, host, (run_id, &*run), &process, "alive");
    true
}

/// Tells the session of a run, where it has one, what was seen of its tree.
fn tell_session(
    task: &Task,
    host: &ProcessHost,
    (run_id, run): (&str, &dyn Directory),
    process: &Value,
    tree: &str,
) {
    let session = {
        let mut files = task.files();
        RunSession::read_again(run, run_id, &mut files.seen.sessions, &*task.inner.host.clock)
    };
    if let Ok(Some(session)) = session {
        host.tell_session(&session, run, process, tree, &task.inner.host);
    }
}

/// Answers what is asked of the process of a run.
pub(super) fn answer(task: &Task, host: &ProcessHost, method: &str, input: &Object) -> Ended {
    match answered(task, host, method, input) {
        Ok(reply) => Ended::Value(Value::Object(reply).to_json()),
        Err(error) => Ended::Error(TransportError::of(ErrorKind::Io, error.to_string())),
    }
}

fn answered(task: &Task, host: &ProcessHost, method: &str, input: &Object) -> std::io::Result<Object> {
    let run_id = input.get("runId").and_then(Value::as_str).unwrap_or_default();
    let run = task.root.open_directory(run_id)?;
    let job = task.read_job(run_id).map_err(|error| std::io::Error::other(error.to_string()))?;
    let job = job.unwrap_or_default();
    let null = Value::Null;
    let process = job.get("process").unwrap_or(&null);
    let kill_after = job.get("killAfter").unwrap_or(&null);
    match method {
        "observe" => {
            let reply = host.observe(&*run, process, kill_after, &task.inner.host)?;
            let tree = reply.get("tree").and_then(Value::as_str).unwrap_or_default();
            tell_session(task, host, (run_id, &*run), process, tree);
            Ok(reply)
        }
        "signal" => {
            let signal = match input.get("signal").and_then(Value::as_str) {
                Some("TERM") => Signal::Term,
                Some("KILL") => Signal::Kill,
                _ => return Err(std::io::Error::other("no such signal")),
            };
            host.signal(&*run, process, kill_after, signal, &task.inner.host)
        }
        "outcome" => {
            let exit = input.get("exit").and_then(Value::as_number).and_then(Number::as_i64);
            Ok(told(host.outcome(&*run, PROVIDER_LOG, process, exit)?))
        }
        _ => Err(std::io::Error::other("no such method of the process host")),
    }
}

/// `{ok, cost, denials, sessionId?}`. The cost is the sum of what is told, each amount rounded up to a nano-dollar; one that is no
/// amount leaves the cost unknown.
fn told(told: Told) -> Object {
    let amount = |cost: &Number| Nanos::from_value(&Value::Number(cost.clone()), Round::Up);
    let add = |sum: Option<Nanos>, cost: &Number| sum?.checked_add(amount(cost)?);
    let cost = match told.costs.as_slice() {
        [] => Value::Null,
        [cost] => Value::Number(cost.clone()),
        costs => {
            let sum = costs.iter().fold(Some(Nanos::ZERO), add);
            sum.map_or(Value::Null, |sum| Value::Number(sum.to_number()))
        }
    };
    let mut reply = Object::new();
    reply.insert("ok", Value::Bool(told.ok));
    reply.insert("cost", cost);
    reply.insert("denials", Value::Array(told.denials));
    if let Some(session) = told.session_id {
        reply.insert("sessionId", session);
    }
    reply
}

/// `sensitive-redactions.json`, durable before the process can write anything (EX-LOC-14, EX-JRN-46).
fn make_private_files(task: &Task, start: &Start<'_>) -> Result<()> {
    let inner = &task.inner;
    let unmade =
        |error| Error::new(Code::ExecutionIo, "the run's directory cannot be opened").with_source(error);
    let run = task.root.open_directory(start.run_id).map_err(unmade)?;
    let given = start.spec.get("secrets").and_then(Value::as_array).into_iter().flatten();
    let own = given.filter_map(Value::as_str).filter(|secret| !secret.is_empty());
    let secrets = inner.options.secrets.texts().chain(own).map(Value::from).collect();
    let members = [
        ("version", number(1)),
        ("expiresAt", number(task.now().saturating_add(DIAGNOSTICS_LIFE_MS))),
        ("secrets", Value::Array(secrets)),
    ];
    let mut text = Value::Object(members.into_iter().collect()).to_json();
    text.push('\n');
    let mut files = inner.files.lock().unwrap_or_else(PoisonError::into_inner);
    files.writer.persist(&*run, &format!("{}/", start.run_id), REDACTIONS, &text)
}

/// Of a run that never was.
fn remove_private_files(task: &Task, run_id: &str) {
    let Ok(run) = task.root.open_directory(run_id) else { return };
    let mut files = task.files();
    for name in [REDACTIONS, PROVIDER_LOG, EXIT, SESSION] {
        // What stays keeps the directory, which no ledger names.
        let _ = files.writer.remove(&*run, &format!("{run_id}/"), name);
    }
}
