//! Who waits for the answer to which question.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gallivant_core::execution::{AbortToken, Machine, Reply};
use gallivant_core::json::Value;

use crate::wire::{say, say_done};

/// Pauses are numbered from here, so that their questions are none of a machine's.
const FIRST_PAUSE: u64 = 1 << 40;

/// What a call is told while it is open.
pub(crate) enum Said {
    /// An answer to this question.
    Answer(u64, Reply),
    /// The transport of this question begins to send.
    Sending(u64),
    /// The clock was moved.
    Clock,
    /// The boundary is gone.
    Drop(Option<Arc<Dropping>>),
}

/// A `drop` that ends when the last call has let go of it.
pub(crate) struct Dropping(pub(crate) Value);

impl Drop for Dropping {
    fn drop(&mut self) {
        say_done(&self.0, Ok(Value::Bool(true)));
    }
}

#[derive(Default)]
pub(crate) struct Desk {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: HashMap<u64, OpenCall>,
    /// By question: the call that asked it.
    asked: HashMap<u64, u64>,
    pauses: HashMap<u64, Sender<()>>,
    last_call: u64,
    last_pause: u64,
    /// A machine that has ended: it judges what belongs to no open one.
    ended: Option<Machine>,
}

struct OpenCall {
    inbox: Sender<Said>,
    abort: AbortToken,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Desk")
    }
}

impl Desk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins. `abort` ends its wait for a lock.
    pub(crate) fn open(&self, abort: AbortToken) -> (u64, Receiver<Said>) {
        let (inbox, said) = channel();
        let mut state = self.state();
        state.last_call += 1;
        let call = state.last_call;
        state.calls.insert(call, OpenCall { inbox, abort });
        (call, said)
    }

    /// A call asks.
    pub(crate) fn asks(&self, call: u64, question: u64) {
        self.state().asked.insert(question, call);
    }

    /// A call has ended. What it was still told is given to its machine, which refuses it.
    pub(crate) fn ended(&self, call: u64, mut machine: Machine, said: &Receiver<Said>) {
        let mut state = self.state();
        state.calls.remove(&call);
        said.try_iter().for_each(|said| judge(&mut machine, said));
        state.ended = Some(machine);
    }

    /// A call was dropped.
    pub(crate) fn forget(&self, call: u64) {
        self.state().calls.remove(&call);
    }

    /// Passes on what is said about a question: to the pause or the call that asked it, and otherwise to a machine that did not.
    pub(crate) fn hear(&self, question: u64, said: Said) {
        let mut state = self.state();
        if let Some(pause) = state.pauses.remove(&question) {
            let _ = pause.send(());
            return;
        }
        let asker = state.asked.get(&question).and_then(|call| state.calls.get(call));
        if let Some(call) = asker.or_else(|| state.calls.values().next()) {
            let _ = call.inbox.send(said);
        } else if let Some(machine) = &mut state.ended {
            judge(machine, said);
        } else {
            say([("refused", question.into())]);
        }
    }

    /// Tells every open call that the clock was moved.
    pub(crate) fn clock_moved(&self) {
        for call in self.state().calls.values() {
            let _ = call.inbox.send(Said::Clock);
        }
    }

    /// Drops every open call.
    pub(crate) fn drop_all(&self, dropping: Option<&Arc<Dropping>>) {
        for call in self.state().calls.values() {
            call.abort.abort();
            let _ = call.inbox.send(Said::Drop(dropping.cloned()));
        }
    }

    /// Asks, and waits for the answer.
    pub(crate) fn pause(&self, point: &str) {
        let (release, released) = channel();
        let question = {
            let mut state = self.state();
            state.last_pause += 1;
            let question = FIRST_PAUSE + state.last_pause;
            state.pauses.insert(question, release);
            question
        };
        let input = Value::Object(gallivant_core::json::Object::new());
        say([("ask", question.into()), ("port", "fault".into()), ("method", point.into()), ("input", input)]);
        let _ = released.recv();
    }
}

/// Lets a machine that has no such question judge what was said.
fn judge(machine: &mut Machine, said: Said) {
    let (question, is_refused) = match said {
        Said::Answer(question, reply) => (question, machine.reply(question, reply).is_err()),
        Said::Sending(question) => (question, machine.sending(question).is_err()),
        Said::Clock | Said::Drop(_) => return,
    };
    if is_refused {
        say([("refused", question.into())]);
    }
}
