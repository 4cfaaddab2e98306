//! Whether a transport keeps those parts of the contract that only its provider's side shows: `checkTransport` (EX-TRA-07,
//! EX-TRA-13, EX-TRA-21), for Rust and for whoever steps it by JSON.

use std::sync::Arc;
use std::time::Duration;

use super::blocking::Transport;
use super::call::{End, TransportCall};
use super::check_steps::{CheckSteps, QUIET_MS};
use super::check_subject::{Counts, Ending, Finding, Seen, Subject};
use super::worker::Worker;
use crate::error::{Code, Error, Result};
use crate::execution::contract::{ErrorKind, Methods, TransportError};
use crate::execution::ledger::lock::AbortToken;
use crate::execution::machine::Reply;
use crate::host::Host;
use crate::json::{Object, Value};

/// What is seen at the provider's end of the transport that is checked: a fake provider, or a test account.
pub trait Witness {
    /// How many requests of the transport have come so far, without those that this look makes.
    fn requests(&self) -> u64;
    /// How many jobs were made so far.
    fn jobs(&self) -> u64;
    /// How many jobs were cancelled so far.
    fn cancellations(&self) -> u64;
    /// What the transport holds open now: connections, files, threads.
    fn open_handles(&self) -> u64;
}

/// Calls the methods of a transport and looks at its provider. Every reply is judged as a pass judges it; and `prepare` has to make no
/// job, `submit` exactly one with one request and after `sending()`, `cancel`, called twice with one key, one effect, and a `lookup`
/// of a key that nobody has sent has to find nothing. After no method a handle stays open, and nothing reaches the provider while
/// nobody asks for anything. `recoverResponse` is not called: only a turn that waits for an answer has one.
///
/// It makes a job and stops it, with [`Subject::ending_prompt`] another one that ends, and goes on in a session where the record says
/// that turns do. Where the record has no stop, the job is left to its end. It takes a quarter of a second and the call for each
/// method, so that the job has to live for about a second until it is stopped. Without findings the transport has kept what was
/// looked at.
pub fn check_transport<T: Transport + ?Sized + 'static>(
    transport: &Arc<T>,
    witness: &dyn Witness,
    subject: &Subject,
    host: &Host,
) -> Vec<Finding> {
    let mut worker = Worker::new(transport);
    let mut steps = CheckSteps::new(transport.methods(), subject);
    let clock = &*host.clock;
    while let Some(asked) = steps.next() {
        let asked_at_ms = clock.wall_ms();
        let deadline = asked_at_ms.saturating_add(subject.limits.deadline_ms);
        let before = counts(witness);
        let call = TransportCall::new(asked.method, asked.input, deadline, subject.limits);
        let ending = match worker.run(call.clone(), clock, &AbortToken::new()) {
            End::Reply(Reply::Value(text)) => Ending::Reply(text),
            End::Reply(Reply::Error(error)) => Ending::Failed(error),
            End::Deadline | End::Aborted => Ending::Late,
        };
        let ended_at_ms = clock.wall_ms();
        let after = counts(witness);
        clock.sleep(Duration::from_millis(QUIET_MS));
        let (is_sending, quiet) = (call.is_sending(), counts(witness));
        steps.saw(&Seen { before, asked_at_ms, ending, ended_at_ms, is_sending, after, quiet });
    }
    steps.into_findings()
}

fn counts(witness: &dyn Witness) -> Counts {
    Counts {
        requests: witness.requests(),
        jobs: witness.jobs(),
        cancellations: witness.cancellations(),
        open_handles: witness.open_handles(),
    }
}

/// The same for a host that calls the methods itself, from JSON to JSON, without any state but what it hands in: `{methods,
/// subject, seen}`. `subject` is as [`Subject::from_object`] reads it, `seen` what was seen so far, in order: `{before, askedAt, end,
/// endedAt, sending, after, quiet}`. `before`, `after` and `quiet` have the counts `requests`, `jobs`, `cancellations` and
/// `openHandles`; `askedAt` and `endedAt` are milliseconds since 1970, `sending` is whether the method has called it; and `end` is
/// `{reply}` with the text, `{failed}` with the failure as `TransportError::from_value` reads it, or `{late: true}`.
///
/// Gives `{ask: {method, input, deadlineMs, quietMs}}`: what is to be called now, for how long at most, and how long nobody asks
/// after it. At the end `{findings: [{clause, method, seen}]}`.
///
/// # Errors
/// `EXECUTION_INPUT` that names the member; those of [`Subject::from_object`].
pub fn check_step(args: &Object) -> Result<Value> {
    let list = |name: &str| args.get(name).and_then(Value::as_array).ok_or_else(|| wrong(name));
    let words: Vec<&str> = list("methods")?.iter().filter_map(Value::as_str).collect();
    let subject = args.get("subject").and_then(Value::as_object).ok_or_else(|| wrong("subject"))?;
    let subject = Subject::from_object(subject)?;
    let mut steps = CheckSteps::new(Methods::from_words(words)?, &subject);
    for seen in list("seen")? {
        // What was asked is known again by what came of it.
        if steps.next().is_none() {
            return Err(wrong("seen"));
        }
        steps.saw(&seen_of(seen).ok_or_else(|| wrong("seen"))?);
    }
    let Some(asked) = steps.next() else {
        let findings = steps.into_findings().into_iter().map(|Finding { clause, method, seen }| {
            let members =
                [("clause", Value::from(clause)), ("method", method.word().into()), ("seen", seen.into())];
            Value::from(members.into_iter().collect::<Object>())
        });
        return Ok([("findings", Value::Array(findings.collect()))].into_iter().collect::<Object>().into());
    };
    let ask = [
        ("method", Value::from(asked.method.word())),
        ("input", asked.input.into()),
        ("deadlineMs", subject.limits.deadline_ms.into()),
        ("quietMs", QUIET_MS.into()),
    ];
    let ask = Value::from(ask.into_iter().collect::<Object>());
    Ok([("ask", ask)].into_iter().collect::<Object>().into())
}

fn seen_of(seen: &Value) -> Option<Seen> {
    let counts = |name: &str| {
        let counts = seen.get(name)?;
        let count = |name: &str| counts.get(name)?.as_number()?.as_u64();
        Some(Counts {
            requests: count("requests")?,
            jobs: count("jobs")?,
            cancellations: count("cancellations")?,
            open_handles: count("openHandles")?,
        })
    };
    let at = |name: &str| seen.get(name)?.as_number()?.as_u64();
    let end = seen.get("end")?;
    let ending = match (end.get("reply"), end.get("failed")) {
        (Some(text), None) => Ending::Reply(text.as_str()?.to_owned()),
        (None, Some(Value::String(kind))) => {
            Ending::Failed(TransportError::of(ErrorKind::from_word(kind).unwrap_or(ErrorKind::Io), ""))
        }
        (None, Some(failure)) => Ending::Failed(TransportError::from_value(failure)),
        _ if end.get("late").and_then(Value::as_bool) == Some(true) => Ending::Late,
        _ => return None,
    };
    Some(Seen {
        before: counts("before")?,
        asked_at_ms: at("askedAt")?,
        ending,
        ended_at_ms: at("endedAt")?,
        is_sending: seen.get("sending")?.as_bool()?,
        after: counts("after")?,
        quiet: counts("quiet")?,
    })
}

fn wrong(argument: &str) -> Error {
    Error::new(Code::ExecutionInput, format!("an argument is missing or malformed, argument=`{argument}`"))
}
