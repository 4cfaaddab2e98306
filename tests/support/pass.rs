//! Passes over a task's root: what a provider says in them, and what a test compares afterwards.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use gallivant_core::Error;
use gallivant_core::execution::contract::ErrorKind;
use gallivant_core::execution::{AbortToken, FaultAnswer, Faults, Machine, Reply, Step, TransportError};
use serde_json::{Value as Json, json};

use super::NOW;
use super::task::{Answer, Ended, HEAD, TaskRoot, drive, from_core, object, with};

/// Longer than any delay between two passes.
const LATER_MS: i64 = 400_000;

impl TaskRoot {
    /// A pass that comes after every saved time of a next one.
    #[track_caller]
    pub(crate) fn due_pass(&self, answers: impl IntoIterator<Item = Answer>) -> Ended {
        self.machine.advance_ms(LATER_MS);
        self.pass(answers)
    }

    /// A pass now, due or not as the ledger says.
    #[track_caller]
    pub(crate) fn pass(&self, answers: impl IntoIterator<Item = Answer>) -> Ended {
        drive(self.boundary().reconcile(false, AbortToken::new()), self, answers)
    }

    #[track_caller]
    pub(crate) fn forced_pass(&self, answers: impl IntoIterator<Item = Answer>) -> Ended {
        drive(self.boundary().reconcile(true, AbortToken::new()), self, answers)
    }

    #[track_caller]
    pub(crate) fn first_pass(&self, answers: impl IntoIterator<Item = Answer>) -> Ended {
        drive(self.boundary().startup(AbortToken::new()), self, answers)
    }

    #[track_caller]
    pub(crate) fn collect_only(&self, run_id: &str, answers: impl IntoIterator<Item = Answer>) -> Ended {
        drive(self.boundary().collect(run_id.to_owned(), AbortToken::new()), self, answers)
    }

    #[track_caller]
    pub(crate) fn stop_run(&self, answers: impl IntoIterator<Item = Answer>) -> Ended {
        let input = json!({"reason": "enough", "controlId": "stop-1"});
        drive(self.boundary().cancel(object(&input), AbortToken::new()), self, answers)
    }

    /// Has the root turn of a run observed at its end, and leaves its result to be collected.
    #[track_caller]
    pub(crate) fn ended(&self, n: u32, state: &str) {
        let report = self.due_pass([says(observation(n, state)), says(Json::Null)]).ok();
        assert_eq!(report["called"], json!(["inspect", "collect"]));
        assert_eq!(self.run(n)["terminalState"], state);
    }

    /// Has a run collected as a pass does it.
    #[track_caller]
    pub(crate) fn collected(&self, n: u32) {
        let report = self.due_pass([says(observation(n, "succeeded")), says(result(n))]).ok();
        assert_eq!(report["error"], Json::Null);
        assert_eq!(self.run(n)["collected"], true);
    }

    /// All files without what a rejected reply may change: the retry data in the ledger and in its copies.
    pub(crate) fn tree_but_retry_data(&self) -> BTreeMap<String, Vec<u8>> {
        let mut tree = self.tree();
        for (path, bytes) in &mut tree {
            let name = path.rsplit('/').next().unwrap_or_default();
            if name != "execution.json" && name != "job.json" {
                continue;
            }
            let mut file: Json = serde_json::from_slice(bytes).expect("JSON");
            match file.get_mut("executions").and_then(Json::as_object_mut) {
                Some(runs) => runs.values_mut().for_each(forget_retry_data),
                None => forget_retry_data(&mut file["execution"]),
            }
            *bytes = file.to_string().into_bytes();
        }
        tree
    }

    /// The operations on this machine's disk from here on that replace a file for good.
    pub(crate) fn persists(&self, from: usize) -> Vec<String> {
        let operations = self.machine.operations().split_off(from);
        operations.into_iter().filter(|operation| operation.contains(": rename ")).collect()
    }
}

/// Runs a machine to its end against a provider that answers by the method's name.
pub(crate) fn serve(
    mut machine: Machine,
    mut provider: impl FnMut(&str) -> Result<Json, ErrorKind>,
) -> Result<Json, Error> {
    let mut step = machine.start();
    loop {
        let call = match step {
            Step::Done(result) => return result.map(|value| from_core(&value)),
            Step::Call(call) => call,
        };
        let reply = match provider(call.method) {
            Ok(value) => Reply::Value(value.to_string()),
            Err(kind) => Reply::Error(TransportError::of(kind, "the provider says no")),
        };
        step = machine.reply(call.id, reply).expect("the call is outstanding");
    }
}

/// Ends the work at the nth point, as a crash does: whatever point that is, nothing is done any more.
#[derive(Debug)]
pub(crate) struct CrashAt {
    nth: usize,
    seen: Mutex<Vec<String>>,
}

impl CrashAt {
    /// From 1; 0 never crashes.
    pub(crate) fn new(nth: usize) -> Arc<Self> {
        Arc::new(CrashAt { nth, seen: Mutex::default() })
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("no panic while it is held").clone()
    }
}

impl Faults for CrashAt {
    fn at(&self, point: &str) -> FaultAnswer {
        let count = {
            let mut seen = self.seen.lock().expect("no panic while it is held");
            seen.push(point.to_owned());
            seen.len()
        };
        if count == self.nth {
            // Unwinds without a word on the standard error.
            std::panic::resume_unwind(Box::new("a crash"));
        }
        FaultAnswer::Go
    }
}

fn forget_retry_data(run: &mut Json) {
    for key in ["failures", "nextAttemptAt", "reconciledAt", "lastError"] {
        run[key] = Json::Null;
    }
}

pub(crate) fn says(value: Json) -> Answer {
    Answer::Says(value)
}

/// What the provider says of `j-n`, seen when the test began.
pub(crate) fn observation(n: u32, state: &str) -> Json {
    json!({
        "providerJobId": format!("j-{n}"), "turnId": format!("t-{n}"), "sessionId": "s-1", "state": state,
        "observedAt": NOW
    })
}

pub(crate) fn observation_with(n: u32, state: &str, changes: Json) -> Json {
    with(observation(n, state), changes)
}

pub(crate) fn event(id: &str) -> Json {
    json!({"eventId": id, "type": "output", "sequence": null, "timestamp": null, "data": "said"})
}

/// The result of a success.
pub(crate) fn result(n: u32) -> Json {
    json!({
        "providerJobId": format!("j-{n}"), "turnId": format!("t-{n}"), "sessionId": "s-1", "inputHead": HEAD,
        "outcome": {"finished": true, "ok": true, "cost": 0.25, "denials": [], "exit": 0}
    })
}

pub(crate) fn result_with(n: u32, changes: Json) -> Json {
    with(result(n), changes)
}

/// The result of a failure.
pub(crate) fn failure(n: u32) -> Json {
    let outcome = json!({"finished": true, "ok": false, "cost": 0.25, "denials": [], "exit": 1});
    result_with(n, json!({"outcome": outcome}))
}

/// Code and reason of a report's error.
pub(crate) fn error_of(report: &Json) -> (&str, Option<&str>) {
    (report["error"]["code"].as_str().expect("an error"), report["error"]["reason"].as_str())
}
