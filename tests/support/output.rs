//! A local run with raw output on a simulated machine, and what its state and journal then say.

use gallivant_core::Result;
use gallivant_core::journal::{Journal, LocalOutput, LocalRun, Next, Owner, Served};
use gallivant_core::redaction::Secrets;
use gallivant_core::testing::{FaultyFileSystem, Simulation};

use super::run::{LOG, RUN, hiding, machine, row};

pub(crate) const RAW: &str = "/task/run-1/provider.log";
pub(crate) const REDACTIONS: &str = "/task/run-1/sensitive-redactions.json";
pub(crate) const STATE: &str = "/task/run-1/local-output.json";
pub(crate) const RESULT: &str = "/task/run-1/result.json";
/// The wall clock of a simulated machine at its start, which is also when the run began.
pub(crate) const STARTED: u64 = 1_700_000_000_000;
pub(crate) const DAY: u64 = 86_400_000;

pub(crate) const LIVE: LocalRun = LocalRun { started_at_ms: STARTED, has_exited: false };
pub(crate) const ENDED: LocalRun = LocalRun { started_at_ms: STARTED, has_exited: true };

pub(crate) fn local_owner(run_id: &str) -> Owner {
    Owner {
        task_id: "t-1".to_owned(),
        run_id: run_id.to_owned(),
        provider: "prov".to_owned(),
        job_id: None,
        turn_id: None,
    }
}

/// Redaction data that retains these secrets and expires a day after the start.
pub(crate) fn redactions(secrets: &[&str]) -> String {
    let expires = STARTED + DAY;
    serde_json::json!({"version": 1, "expiresAt": expires, "secrets": secrets}).to_string()
}

/// A machine with a run that has said this.
pub(crate) fn with_output(raw: impl Into<Vec<u8>>) -> Simulation {
    let machine = machine();
    say(&machine, raw);
    machine.files.plant_file(REDACTIONS, redactions(&["retained-word"])).expect("planted");
    machine
}

pub(crate) fn say(machine: &Simulation, raw: impl Into<Vec<u8>>) {
    machine.files.plant_file(RAW, raw).expect("planted");
}

/// Puts a state there.
pub(crate) fn stands(machine: &Simulation, state: &str) {
    machine.files.plant_file(STATE, state).expect("planted");
}

pub(crate) fn output(machine: &Simulation) -> LocalOutput {
    opened(machine).expect("the run's directory opens")
}

fn opened(machine: &Simulation) -> Result<LocalOutput> {
    LocalOutput::open(RUN, &machine.host(), &Secrets::lenient(["supplied-word"]))
}

pub(crate) fn local_journal(machine: &Simulation) -> Result<Journal> {
    Journal::open(RUN, local_owner("run-1"), &machine.host(), &hiding(""))
}

/// One turn.
pub(crate) fn serve(machine: &Simulation, run: LocalRun) -> Result<Served> {
    opened(machine)?.serve(run, &mut local_journal(machine)?)
}

/// Turns until nothing is taken in any more.
pub(crate) fn drain(machine: &Simulation, run: LocalRun) {
    while let Next::Page(_) = output(machine).next(run).expect("looked at") {
        serve(machine, run).expect("served");
    }
}

/// Cursor, `pending`, `discarding`, and whether a page stands.
pub(crate) fn state(machine: &Simulation) -> (u64, bool, bool, bool) {
    let bytes = machine.files.contents(STATE).expect("a state");
    let state: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(state["version"], 1);
    let flag = |name: &str| state[name].as_bool().expect("a flag");
    (
        state["cursor"].as_u64().expect("a number"),
        flag("pending"),
        flag("discarding"),
        !state["page"].is_null(),
    )
}

/// The records of the journal as short texts: the id's number, then the text, or the reason of a gap behind a mark.
pub(crate) fn said(machine: &Simulation) -> Vec<String> {
    said_in(&machine.files, LOG)
}

pub(crate) fn said_in(files: &FaultyFileSystem, log: &str) -> Vec<String> {
    let text = String::from_utf8(files.contents(log).unwrap_or_default()).expect("UTF-8");
    let shown = |line: &str| {
        let row = row(line);
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(value["provenance"], "local", "{line}");
        let id = row.event_id.strip_prefix("byte:").expect("a byte id").to_owned();
        match row.gap {
            Some(reason) => format!("{id}!{reason}"),
            None => format!("{id}:{}", value["data"].as_str().expect("a text")),
        }
    };
    text.lines().map(shown).collect()
}
