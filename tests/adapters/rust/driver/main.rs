//! `gallivant-driver`: the core's machine driven by a script, one JSON object a line (EX-SEA-09 to EX-SEA-20).
//!
//! The protocol is described in `tests/vectors/execution/README.md`. Nothing here judges anything: whoever runs the program
//! plays the transport, the process host and the clock, and the core does the rest.
//!
//! - `wire`: the lines; `desk`: who waits for which answer; `call`: a machine on its thread;
//! - `faults`: scripted crashes, failures and pauses; `functions`: the pure functions.

mod call;
mod desk;
mod faults;
mod functions;
mod wire;

use std::io::{self, BufRead};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use gallivant_core::execution::{
    AbortToken, Boundary, ExecutionOptions, FixedJitter, Machine, Reply, TransportError, keys,
};
use gallivant_core::json::{Object, Value};
use gallivant_core::testing::ManualClock;
use gallivant_core::{Code, Error, Host, Result, journal};

use call::Running;
use desk::{Desk, Dropping, Said};
use faults::Script;
use wire::{Members, members, number, object, raw, say_done, text, value};

fn main() -> io::Result<()> {
    let mut driver = Driver::default();
    for line in io::stdin().lock().lines() {
        let line = line?;
        match members(&line) {
            Some(message) => driver.hear(&message),
            None => eprintln!("a line is no object"),
        }
    }
    // What still runs is left as by a crash.
    Ok(())
}

/// The boundary that is open, and the calls that run.
#[derive(Default)]
struct Driver {
    open: Option<Open>,
    desk: Arc<Desk>,
}

struct Open {
    boundary: Boundary,
    root: PathBuf,
    host: Host,
    clock: Arc<ManualClock>,
}

impl Driver {
    fn hear(&mut self, message: &Members) {
        let id = value(message, "id").unwrap_or(Value::Null);
        let question = number(message, "ask").unwrap_or_default();
        match text(message, "cmd").unwrap_or_default().as_str() {
            "open" => {
                let opened = open(message, &self.desk).map(|open| {
                    self.desk.drop_all(None);
                    self.open = Some(open);
                    Value::Bool(true)
                });
                say_done(&id, opened);
            }
            "call" => self.call(id, message),
            "clock" => {
                if let (Some(open), Some(now)) = (&self.open, number(message, "now")) {
                    open.clock.set_wall_ms(now);
                    self.desk.clock_moved();
                }
            }
            "answer" => self.desk.hear(question, Said::Answer(question, reply(message))),
            "sending" => self.desk.hear(question, Said::Sending(question)),
            "drop" => {
                self.open = None;
                self.desk.drop_all(Some(&Arc::new(Dropping(id))));
            }
            _ => say_done(&id, Err(wrong("no such command"))),
        }
    }

    fn call(&self, id: Value, message: &Members) {
        let method = text(message, "method").unwrap_or_default();
        let args = members(raw(message, "args")).unwrap_or_default();
        if let Some(function) = method.strip_prefix("fn:") {
            return say_done(&id, functions::call(function, &args));
        }
        let Some(open) = &self.open else { return say_done(&id, Err(wrong("no boundary is open"))) };
        let abort = AbortToken::new();
        match machine(&open.boundary, &method, message, &args, &abort) {
            Ok(Some(machine)) => {
                let (number, said) = self.desk.open(abort);
                let desk = Arc::clone(&self.desk);
                let clock = Arc::clone(&open.host.clock);
                thread::spawn(move || Running { id, number, said, desk, clock }.run(machine));
            }
            Ok(None) => {
                // A paused call may hold what a read waits for, and its answer has to be heard.
                let (boundary, root, host) = (open.boundary.clone(), open.root.clone(), open.host.clone());
                thread::spawn(move || say_done(&id, read(&boundary, &root, &host, &method, &args)));
            }
            Err(error) => say_done(&id, Err(error)),
        }
    }
}

fn open(message: &Members, desk: &Arc<Desk>) -> Result<Open> {
    let root = PathBuf::from(text(message, "root").ok_or_else(|| wrong("root is no text"))?);
    let now = number(message, "now").ok_or_else(|| wrong("now is no time in milliseconds"))?;
    let options = object(message, "options").ok_or_else(|| wrong("options is no object"))?;
    let faults = value(message, "faults");
    let faults = Script::read(faults.as_ref(), desk).ok_or_else(|| wrong("faults is no list of faults"))?;
    let mut options = ExecutionOptions::from_object(&root, &options, Arc::new(faults))?;
    let jitter = value(message, "jitter").and_then(|jitter| jitter.as_number().map(|number| number.as_f64()));
    options.jitter = Some(Arc::new(FixedJitter(jitter.unwrap_or(1.0))));
    let clock = Arc::new(ManualClock::new(now));
    let host = Host { clock: Arc::clone(&clock) as _, ..Host::system() };
    Ok(Open { boundary: Boundary::new(options, &host)?, root, host, clock })
}

/// The machine of a method that has one.
fn machine(
    boundary: &Boundary,
    method: &str,
    message: &Members,
    args: &Members,
    abort: &AbortToken,
) -> Result<Option<Machine>> {
    let input = || match raw(message, "args") {
        "null" => Ok(Object::new()),
        _ => object(message, "args").ok_or_else(|| wrong("args is no object")),
    };
    let abort = abort.clone();
    Ok(Some(match method {
        "submit" => boundary.submit(input()?, abort),
        "continue" => boundary.continue_run(input()?, abort),
        "prepare" => boundary.prepare(input()?, abort),
        "recoverResponse" => {
            let operation_id = text(args, "operationId").unwrap_or_default();
            let input = object(args, "input").ok_or_else(|| wrong("input is no object"))?;
            boundary.recover_response(operation_id, input, abort)
        }
        "startup" => boundary.startup(abort),
        "reconcile" => boundary.reconcile(flag(args, "force"), abort),
        "collect" => boundary.collect(text(args, "runId").unwrap_or_default(), abort),
        "cancel" => boundary.cancel(input()?, abort),
        "requestCancel" => boundary.request_cancel(input()?, abort),
        "preparationStop" => boundary.preparation_stop(input()?, abort),
        "timeoutStop" => boundary.timeout_stop(input()?, abort),
        "adopt" => boundary.adopt(input()?, abort),
        "settleAbsent" => boundary.settle_absent(input()?, abort),
        _ => return Ok(None),
    }))
}

fn flag(args: &Members, name: &str) -> bool {
    matches!(value(args, name), Some(Value::Bool(true)))
}

/// What a method gives that reads only.
fn read(
    boundary: &Boundary,
    root: &std::path::Path,
    host: &Host,
    method: &str,
    args: &Members,
) -> Result<Value> {
    match method {
        "inspect" => boundary.inspect(),
        "preparationStatus" => {
            Ok(boundary.preparation_status(&text(args, "runId").unwrap_or_default())?.to_value())
        }
        "judgePreparation" => {
            let judged = boundary.judge_preparation(&text(args, "runId").unwrap_or_default())?;
            Ok(judged.word().into())
        }
        "outcome" => boundary.outcome(&text(args, "runId").unwrap_or_default()),
        "capabilities" => Ok(boundary.capabilities()),
        "check" => {
            let run_id = text(args, "runId").unwrap_or_default();
            keys::check_id("runId", &run_id)?;
            Ok(journal::check(root.join(run_id), host)?.to_value())
        }
        _ => Err(wrong(&format!("no such method, method=`{method}`"))),
    }
}

/// A host that has an object makes the text of it that is judged; what is no value of the library's goes on as it came.
fn reply(message: &Members) -> Reply {
    if message.contains_key("error") {
        return Reply::Error(TransportError::from_value(&value(message, "error").unwrap_or(Value::Null)));
    }
    let raw = raw(message, "value");
    Reply::Value(Value::parse(raw).map_or_else(|_| raw.to_owned(), |value| value.to_json()))
}

fn wrong(message: &str) -> Error {
    Error::new(Code::ExecutionInput, message)
}
