//! The Rust conformance adapter: one JSON request a line in, one JSON answer a line out.
//!
//! The protocol is described in `tests/vectors/harness-state/README.md`.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use gallivant_core::harness_state::{
    Ask, BlockedOn, Claimant, Derived, Heartbeat, InputBuffer, Observation, Options, Outcome, Probe, Reader,
    Report, State, Writer, WriterIdentity, claim, claim_wrapperless, mint_token,
};
use gallivant_core::process::Liveness;
use gallivant_core::testing::{TestHost, TestHostOptions};
use gallivant_core::{Error, Result};
use serde_json::{Map, Value, json};

fn main() -> io::Result<()> {
    let mut adapter = Adapter::new().expect("the machine's clock and disk can be used");
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(Value::Object(request)) => adapter.answer(&request),
            _ => failure("input"),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

struct Adapter {
    test_host: TestHost,
    directory: PathBuf,
    options: Options,
    writers: HashMap<String, Result<Writer>>,
}

impl Adapter {
    fn new() -> Result<Self> {
        Ok(Adapter {
            test_host: TestHost::new(TestHostOptions::default())?,
            directory: PathBuf::from("."),
            options: Options { extension: false, ..Options::default() },
            writers: HashMap::new(),
        })
    }

    fn answer(&mut self, request: &Map<String, Value>) -> Value {
        match self.perform(request) {
            Ok(mut answer) => {
                answer.insert("ok".to_owned(), true.into());
                Value::Object(answer)
            }
            Err(word) => failure(&word),
        }
    }

    fn perform(&mut self, request: &Map<String, Value>) -> std::result::Result<Map<String, Value>, String> {
        let text = |key: &str| request.get(key).and_then(Value::as_str);
        let owned = |key: &str| text(key).unwrap_or_default().to_owned();
        let args = request.get("args").and_then(Value::as_object).cloned().unwrap_or_default();
        let fields = match text("op").unwrap_or_default() {
            "begin" => {
                self.writers.clear();
                self.directory = PathBuf::from(owned("dir"));
                let wall_ms = request.get("now_ms").and_then(Value::as_u64);
                let options = TestHostOptions { wall_ms, ..TestHostOptions::default() };
                self.test_host = TestHost::new(options).map_err(word)?;
                json!({})
            }
            "clock" => {
                self.test_host.set_wall_ms(request.get("now_ms").and_then(Value::as_u64).unwrap_or(0));
                json!({})
            }
            "open" => {
                let host = self.test_host.host();
                let identity = WriterIdentity {
                    agent: owned("agent"),
                    harness: owned("harness"),
                    pty_session: text("pty").map(str::to_owned),
                    token: text("token").map_or_else(|| mint_token(host), str::to_owned),
                };
                let sequence = request.get("seq").and_then(Value::as_u64);
                let writer = Writer::open(&self.directory, identity, sequence, &self.options, host);
                self.writers.insert(owned("writer"), writer);
                json!({})
            }
            "claim" => {
                let claimant = claimant(request);
                let claimed =
                    claim(&self.directory, &claimant, &self.options, self.test_host.host()).map_err(word)?;
                json!({ "seq": claimed.sequence })
            }
            "claim_wrapperless" => {
                let claimant = claimant(request);
                let host = self.test_host.host();
                let claimed =
                    claim_wrapperless(&self.directory, &claimant, &self.options, host).map_err(word)?;
                json!({ "seq": claimed.map(|claimed| claimed.sequence) })
            }
            "observe" => outcome(&self.writer(request)?.observe(&observation(&args)).map_err(word)?),
            "observe_unless_ended" => {
                let report = self.writer(request)?.observe_unless_ended(&observation(&args)).map_err(word)?;
                let mut answer = outcome(&report);
                answer["accepted"] = (!matches!(report.outcome, Outcome::Refused(_))).into();
                answer
            }
            "ended" => {
                let exit = args.get("exit").and_then(Value::as_str);
                outcome(&self.writer(request)?.ended(exit).map_err(word)?)
            }
            "heartbeat" => match self.writer(request)?.heartbeat().map_err(word)? {
                Heartbeat::Landed { .. } => json!({ "outcome": "landed" }),
                Heartbeat::Skipped(_) => json!({ "outcome": "skipped" }),
            },
            "interrupt" => {
                self.writer(request)?.interrupt();
                json!({})
            }
            "mint" => json!({ "token": mint_token(self.test_host.host()) }),
            "read" => {
                let probe = text("probe").and_then(Liveness::from_word);
                let reader = Reader::open(&self.directory, &self.options, self.test_host.host());
                let derived = reader.read(probe.as_ref().map(|probe| probe as &dyn Probe));
                json!({ "read": derived.as_ref().map(read) })
            }
            _ => return Err("input".to_owned()),
        };
        match fields {
            Value::Object(fields) => Ok(fields),
            _ => Err("input".to_owned()),
        }
    }

    /// The writer, or the error with which its construction was refused.
    fn writer(&self, request: &Map<String, Value>) -> std::result::Result<&Writer, String> {
        let id = request.get("writer").and_then(Value::as_str).unwrap_or_default();
        match self.writers.get(id) {
            Some(Ok(writer)) => Ok(writer),
            Some(Err(error)) => Err(error.code().word()),
            None => Err("input".to_owned()),
        }
    }
}

fn claimant(request: &Map<String, Value>) -> Claimant {
    let owned = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Claimant { agent: owned("agent"), harness: owned("harness"), token: owned("token") }
}

fn observation(args: &Map<String, Value>) -> Observation {
    let text = |key: &str| args.get(key).and_then(Value::as_str);
    Observation {
        state: State::from_word(text("state").unwrap_or_default()),
        blocked_on: BlockedOn::from_word(text("blockedOn").unwrap_or_default()),
        input_buffer: InputBuffer::from_word(text("inputBuffer").unwrap_or_default()),
        ask: text("ask").map_or(Ask::None, Ask::from_word),
        reason: text("reason").map(str::to_owned),
        exit: text("exit").map(str::to_owned),
    }
}

fn outcome(report: &Report) -> Value {
    match report.outcome.refusal() {
        Some(refusal) => json!({ "outcome": format!("refused:{}", refusal.word()) }),
        None => json!({ "outcome": report.outcome.word() }),
    }
}

fn read(derived: &Derived) -> Value {
    json!({
        "state": derived.state.word(),
        "blockedOn": derived.blocked_on.word(),
        "inputBuffer": derived.input_buffer.word(),
        "ask": derived.ask.word(),
        "harness": derived.harness,
        "sinceMs": derived.since_ms,
        "observedAtMs": derived.observed_at_ms,
        "ownershipSequence": derived.ownership_sequence,
        "transitionSequence": derived.transition_sequence,
        "evidenceIncarnation": derived.evidence_incarnation,
        "exit": derived.exit,
        "reason": derived.reason,
    })
}

fn word(error: Error) -> String {
    error.code().word()
}

fn failure(word: &str) -> Value {
    json!({ "ok": false, "error": word })
}
