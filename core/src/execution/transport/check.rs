//! Whether a transport keeps those parts of the contract that only its provider's side shows: `checkTransport` (EX-TRA-07,
//! EX-TRA-13, EX-TRA-21), for Rust and for whoever steps it by JSON.

use std::sync::Arc;
use std::time::Duration;

use super::blocking::Transport;
use super::call::{End, TransportCall};
use super::check_steps::{CheckSteps, Counts, Ending, Finding, QUIET_MS, Seen, Subject};
use super::worker::Worker;
use crate::error::{Code, Error, Result};
use crate::execution::contract::{ErrorKind, Methods};
use crate::execution::ledger::lock::AbortToken;
use crate::execution::machine::Reply;
use crate::host::Host;
use crate::json::{Number, Object, Value};

/// What is seen at the provider's end of the transport that is checked: a fake provider, or a test account.
pub trait Witness {
    /// How many requests of the transport have come so far.
    fn requests(&self) -> u64;
    /// How many jobs were made so far.
    fn jobs(&self) -> u64;
    /// How many jobs were cancelled so far.
    fn cancellations(&self) -> u64;
    /// What the transport holds open now: connections, files, threads.
    fn open_handles(&self) -> u64;
}

/// Calls the methods of a transport and looks at its provider: that `prepare` makes no job, `submit` exactly one, and
/// `cancel`, called twice with one key, has one effect; that after no method a handle stays open, and that nothing reaches
/// the provider while nobody asks for anything.
///
/// It takes a quarter of a second for each method that is called. Without findings the transport has kept what was looked at.
pub fn check_transport<T: Transport + ?Sized + 'static>(
    transport: &Arc<T>,
    witness: &dyn Witness,
    subject: &Subject,
    host: &Host,
) -> Vec<Finding> {
    let mut worker = Worker::new(transport);
    let mut steps = CheckSteps::new(transport.methods(), subject);
    let clock = &*host.clock;
    while let Some(asked) = steps.next(clock.wall_ms()) {
        let deadline = clock.wall_ms().saturating_add(subject.limits.deadline_ms);
        let before = counts(witness);
        let call = TransportCall::new(asked.method, asked.input, deadline, subject.limits);
        let ending = match worker.run(call, clock, &AbortToken::new()) {
            End::Reply(Reply::Value(text)) => Ending::Reply(text),
            End::Reply(Reply::Error(error)) => Ending::Failed(error.kind),
            End::Deadline | End::Aborted => Ending::Late,
        };
        let after = counts(witness);
        clock.sleep(Duration::from_millis(QUIET_MS));
        steps.saw(&Seen { before, ending, after, quiet: counts(witness) });
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
/// subject, now, seen}`. `subject` is as [`Subject::from_object`] reads it, `seen` what was seen so far, in order: `{before, after,
/// quiet}` with the counts `requests`, `jobs`, `cancellations` and `openHandles`, and `end`: `{reply}` with the text, `{failed}` with
/// the kind of the failure, or `{late: true}`.
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
    let now =
        args.get("now").and_then(Value::as_number).and_then(Number::as_u64).ok_or_else(|| wrong("now"))?;
    let mut steps = CheckSteps::new(Methods::from_words(words)?, &subject);
    for seen in list("seen")? {
        // What was asked is known again by what came of it.
        if steps.next(now).is_none() {
            return Err(wrong("seen"));
        }
        steps.saw(&seen_of(seen).ok_or_else(|| wrong("seen"))?);
    }
    let Some(asked) = steps.next(now) else {
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
    let end = seen.get("end")?;
    let ending = match (end.get("reply"), end.get("failed")) {
        (Some(text), None) => Ending::Reply(text.as_str()?.to_owned()),
        (None, Some(kind)) => Ending::Failed(ErrorKind::from_word(kind.as_str()?).unwrap_or(ErrorKind::Io)),
        _ if end.get("late").and_then(Value::as_bool) == Some(true) => Ending::Late,
        _ => return None,
    };
    Some(Seen { before: counts("before")?, ending, after: counts("after")?, quiet: counts("quiet")? })
}

fn wrong(argument: &str) -> Error {
    Error::new(Code::ExecutionInput, format!("an argument is missing or malformed, argument=`{argument}`"))
}
