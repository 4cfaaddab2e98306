//! One call of the boundary: its machine, stepped on a thread of its own.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use gallivant_core::clock::Clock;
use gallivant_core::execution::{Call, Machine, Port, Step};
use gallivant_core::json::Value;

use crate::desk::{Desk, Said};
use crate::wire::{say, say_done};

/// A call that runs.
pub(crate) struct Running {
    /// The command's id.
    pub(crate) id: Value,
    /// Its number at the desk.
    pub(crate) number: u64,
    pub(crate) said: Receiver<Said>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Running {
    /// Steps the machine to its end.
    pub(crate) fn run(self, mut machine: Machine) {
        let mut step = machine.start();
        loop {
            match step {
                Step::Call(call) => {
                    self.ask(&call);
                    match self.wait(machine, &call) {
                        Some((next, stepped)) => (step, machine) = (next, stepped),
                        None => return,
                    }
                }
                Step::Done(outcome) => {
                    say_done(&self.id, outcome);
                    break;
                }
            }
        }
        self.desk.ended(self.number, machine, &self.said);
    }

    fn ask(&self, call: &Call) {
        self.desk.asks(self.number, call.id);
        let mut input = call.input.clone();
        if call.port == Port::Transport {
            input.insert("deadlineAt", call.deadline_at.into());
        }
        say([
            ("ask", call.id.into()),
            ("port", call.port.word().into()),
            ("method", call.method.into()),
            ("input", input.into()),
        ]);
    }

    /// Waits for what ends the call; none where the machine was dropped.
    fn wait(&self, mut machine: Machine, call: &Call) -> Option<(Step, Machine)> {
        for said in &self.said {
            match said {
                Said::Answer(question, reply) => match machine.reply(question, reply) {
                    Ok(step) => return Some((step, machine)),
                    Err(_) => say([("refused", question.into())]),
                },
                Said::Sending(question) => {
                    if machine.sending(question).is_err() {
                        say([("refused", question.into())]);
                    }
                }
                // A scripted method is given no time to end: the clock stands, and its answer is not read anyway.
                Said::Clock if self.clock.wall_ms() >= call.deadline_at => {
                    call.signal.abort();
                    say([("aborted", call.id.into())]);
                    if let Ok(step) = machine.deadline(call.id) {
                        return Some((step, machine));
                    }
                }
                Said::Clock => {}
                Said::Drop(dropping) => {
                    drop(machine);
                    say([("aborted", call.id.into())]);
                    self.desk.forget(self.number);
                    drop(dropping);
                    return None;
                }
            }
        }
        None
    }
}
