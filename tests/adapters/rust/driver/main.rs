//! `gallivant-driver`: the core's machine driven by a script, one JSON object a line (EX-SEA-09 to EX-SEA-20).
//!
//! The protocol is described in `tests/vectors/execution/README.md`. Nothing here judges anything: whoever runs the program
//! plays the transport, the process host and the clock, and the core does the rest.
//!
//! - `wire`: the lines; `desk`: who waits for which answer; `call`: a machine on its thread;
//! - `faults`: scripted crashes, failures and pauses.

mod call;
mod desk;
mod faults;
mod wire;

use std::io::{self, BufRead};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use gallivant_core::execution::{
    AbortToken, Boundary, Called, ExecutionOptions, FixedJitter, Reply, TransportError,
};
use gallivant_core::json::{Object, Value};
use gallivant_core::publication::functions;
use gallivant_core::testing::ManualClock;
use gallivant_core::{Code, Error, Host, Result};

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
    clock: Arc<ManualClock>,
}

impl Driver {
    fn hear(&mut self, message: &Members) {
        let id = value(message, "id").unwrap_or(Value::Null);
        let question = number(message, "ask").unwrap_or_default();
        match text(message, "cmd").unwrap_or_default().as_str() {
            "open" => {
                let opened = open(message, &self.desk).map(|open| {
                    self.close(None);
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
                self.close(Some(&Arc::new(Dropping(id))));
            }
            _ => say_done(&id, Err(wrong("no such command"))),
        }
    }

    /// Drops the boundary, and with it the calls that run.
    fn close(&mut self, dropping: Option<&Arc<Dropping>>) {
        self.desk.drop_all(dropping);
        // Waits for the step of a paused call, whose answer has to be heard.
        let (open, dropping) = (self.open.take(), dropping.cloned());
        thread::spawn(move || drop((open, dropping)));
    }

    fn call(&self, id: Value, message: &Members) {
        let method = text(message, "method").unwrap_or_default();
        if let Some(function) = method.strip_prefix("fn:") {
            return say_done(&id, functions::call(function, raw(message, "args")));
        }
        let Some(open) = &self.open else { return say_done(&id, Err(wrong("no boundary is open"))) };
        let input = match raw(message, "args") {
            "null" => Ok(Object::new()),
            _ => object(message, "args").ok_or_else(|| wrong("args is no object")),
        };
        let input = match input {
            Ok(input) => input,
            Err(error) => return say_done(&id, Err(error)),
        };
        let (desk, clock) = (Arc::clone(&self.desk), Arc::clone(&open.clock) as _);
        let (boundary, abort) = (open.boundary.clone(), AbortToken::new());
        // On a thread of its own from the beginning: a paused call may hold what a read waits for, and its answer has to be heard.
        thread::spawn(move || {
            let called = boundary.call(&method, input, abort.clone());
            // What is open of it is the driver's own clone.
            drop(boundary);
            match called {
                Ok(Called::Machine(machine)) => {
                    let (number, said) = desk.open(abort);
                    Running { id, number, said, desk, clock }.run(*machine);
                }
                Ok(Called::Answer(answer)) => say_done(&id, Ok(answer)),
                Err(error) => say_done(&id, Err(error)),
            }
        });
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
    Ok(Open { boundary: Boundary::new(options, &host)?, clock })
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
