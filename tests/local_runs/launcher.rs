//! A coordinator that can be killed: starts a local run and stops itself at a fault point, for the tests of `local_runs`.
//!
//! Arguments: the task's root, the options, the input of the start, and the point at which it says so and waits for its end.

use std::io::Write;
use std::sync::Arc;

use gallivant_core::Host;
use gallivant_core::execution::{AbortToken, ExecutionOptions, FaultAnswer, Faults, LocalRuns};
use gallivant_core::json::{Object, Value};

#[derive(Debug)]
struct WaitAt(String);

impl Faults for WaitAt {
    fn at(&self, point: &str) -> FaultAnswer {
        if point == self.0 {
            let mut out = std::io::stdout();
            let _ = writeln!(out, "here").and_then(|()| out.flush());
            loop {
                std::thread::park();
            }
        }
        FaultAnswer::Go
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("an argument");
    let (root, options, input, point) = (next(), object(&next()), object(&next()), next());
    let options = ExecutionOptions::from_object(root, &options, Arc::new(WaitAt(point))).expect("options");
    let runs = LocalRuns::open(options, &Host::system()).expect("a boundary");
    let started = runs.start(input, &AbortToken::new());
    println!("{}", if started.is_ok() { "started" } else { "failed" });
}

fn object(text: &str) -> Object {
    match Value::parse(text) {
        Ok(Value::Object(object)) => object,
        _ => panic!("no object"),
    }
}
