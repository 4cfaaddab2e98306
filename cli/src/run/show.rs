//! What is recorded of a run; and of the task, where no run is named: its runs and the dispatches that were refused.

use std::io::Write;
use std::path::Path;

use gallivant_core::execution::ledger::record::{DispatchRefusal, Execution};
use gallivant_core::execution::{Ledger, ledger_on_disk};
use gallivant_core::json::{Number, Object, Value};
use gallivant_core::local_runner::EXIT;
use gallivant_core::{Code, Error, Host};

use crate::exit::{Outcome, Result};
use crate::moments::{ago, at};
use crate::table::{Cell, Table};
use crate::terminal::{Screen, Tone, printable, say};

/// What tells a person why a record of a run stands still.
const NOT_TAKEN_IN: &str = "its process has ended, and no pass of a coordinator has taken that in";

/// The same while nobody has recorded the end of everything that the harness has started.
const TREE_GOES_ON: &str =
    "its process has ended, and the run goes on while anything lives that it has started";

/// An `exit.json` is a few hundred bytes; what is longer is none.
const EXIT_BYTES: u64 = 4096;

pub(super) fn show(root: &Path, named: Option<&str>, json: bool, screen: &Screen) -> Result<Outcome> {
    let host = Host::system();
    let boundary = super::open(root)?;
    let projection = boundary.inspect()?;
    let ledger = ledger_on_disk(root, &host)?;
    let current = projection.get("runId").and_then(Value::as_str).map(str::to_owned);
    let shown = match named {
        Some(named) if Some(named) != current.as_deref() => match boundary.read(named)? {
            Some(record) => Value::Object(record),
            None if ledger.as_ref().is_some_and(|ledger| ledger.executions.contains(named)) => {
                return Err(super::nothing_on_disk(named));
            }
            None => {
                let message = format!("there is no such run, run=`{named}`");
                return Err(Error::new(Code::ExecutionUnknownRun, message).with_run_id(named).into());
            }
        },
        _ => projection,
    };
    let run = named.or(current.as_deref());
    let is_live = |run: &&str| {
        let recorded = ledger.as_ref().and_then(|ledger| ledger.executions.get(run));
        recorded.is_some_and(|recorded| !recorded.is_settled())
    };
    let exit = run.filter(is_live).map(|run| root.join(run).join(EXIT));
    let hint = exit.and_then(|exit| hint(&exit, &host));
    let of_task = ledger.as_ref().filter(|_| named.is_none());
    if json {
        say(&as_json(shown, hint.is_some(), of_task).to_json())?;
        return Ok(Outcome::Yes);
    }
    let now_ms = host.clock.wall_ms();
    let mut out = screen.out();
    let mut members = Vec::new();
    flatten("", &shown, &mut members);
    let width = members.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in members {
        let is_instant = name.ends_with("At") || name == "at" || name.ends_with(".at");
        let instant = value.as_number().and_then(Number::as_u64).filter(|_| is_instant);
        let text = match (instant, value.as_str()) {
            (Some(instant), _) => at(instant, now_ms),
            (None, Some(text)) => printable(text).into_owned(),
            (None, None) => value.to_json(),
        };
        writeln!(out, "{}  {text}", screen.paint(&format!("{name:width$}"), Tone::Strong))?;
    }
    if let Some(hint) = hint {
        writeln!(out, "{}", screen.paint(hint, Tone::Waiting))?;
    }
    if let Some(ledger) = of_task {
        list(ledger, now_ms, &mut out, screen)?;
    }
    out.flush()?;
    Ok(Outcome::Yes)
}

/// Why the record of a run stands still that is not settled and has left this end.
fn hint(exit: &Path, host: &Host) -> Option<&'static str> {
    host.files.metadata(exit).ok()?;
    let mut bytes = Vec::new();
    let is_read = host.files.read_file(exit, EXIT_BYTES, &mut bytes).is_ok();
    let text = std::str::from_utf8(&bytes).ok().filter(|_| is_read);
    let end = text.and_then(|text| Value::parse(text).ok());
    let tree_ended_at = end.as_ref().and_then(|end| end.get("treeEndedAt"));
    Some(if matches!(tree_ended_at, Some(Value::Null)) { TREE_GOES_ON } else { NOT_TAKEN_IN })
}

/// The runs of a task, the oldest first.
fn runs(ledger: &Ledger) -> Vec<&Execution> {
    let mut runs: Vec<&Execution> = ledger.executions.records().collect();
    runs.sort_by_key(|run| run.started_at);
    runs
}

fn acceptance(ledger: &Ledger, run: &Execution) -> Option<&'static str> {
    ledger.operation_of(run).map(|operation| operation.acceptance.word())
}

/// What stands of the task beside its current run.
fn list(ledger: &Ledger, now_ms: u64, out: &mut impl Write, screen: &Screen) -> Result<()> {
    let runs = runs(ledger);
    if runs.len() > 1 {
        let mut table = Table::new(["RUN", "STATE", "ACCEPTANCE", "SETTLED", "STARTED"]);
        for run in runs {
            table.push([
                Cell::plain(run.run_id.clone()),
                Cell::plain(run.state.word()),
                Cell::plain(acceptance(ledger, run).unwrap_or_default()),
                Cell::plain(if run.is_settled() { "yes" } else { "no" }),
                Cell::plain(format!("{} ago", ago(run.started_at, now_ms))),
            ]);
        }
        writeln!(out)?;
        table.write(out, screen, usize::MAX)?;
    }
    if !ledger.dispatch_refusals.is_empty() {
        let mut table = Table::new(["REFUSED", "RUN", "CODE", "AT"]);
        for refusal in &ledger.dispatch_refusals {
            table.push([
                Cell::plain(printable(&refusal.operation_id).into_owned()),
                Cell::plain(printable(&refusal.run_id).into_owned()),
                Cell::plain(printable(&refusal.code).into_owned()),
                Cell::plain(at(refusal.at, now_ms)),
            ]);
        }
        writeln!(out)?;
        table.write(out, screen, usize::MAX)?;
    }
    Ok(())
}

/// The record with what this command adds to it.
fn as_json(shown: Value, is_not_taken_in: bool, of_task: Option<&Ledger>) -> Value {
    let Value::Object(mut members) = shown else { return shown };
    members.insert("endNotTakenIn", Value::Bool(is_not_taken_in));
    let Some(ledger) = of_task else { return Value::Object(members) };
    let run = |run: &Execution| {
        object([
            ("runId", Value::from(run.run_id.clone())),
            ("state", run.state.word().into()),
            ("acceptance", acceptance(ledger, run).into()),
            ("settled", Value::Bool(run.is_settled())),
            ("startedAt", run.started_at.into()),
        ])
    };
    let refusal = |refusal: &DispatchRefusal| {
        object([
            ("operationId", Value::from(refusal.operation_id.clone())),
            ("runId", refusal.run_id.clone().into()),
            ("code", refusal.code.clone().into()),
            ("at", refusal.at.into()),
        ])
    };
    members.insert("runs", Value::Array(runs(ledger).into_iter().map(run).collect()));
    members.insert("dispatchRefusals", Value::Array(ledger.dispatch_refusals.iter().map(refusal).collect()));
    Value::Object(members)
}

fn object<const MEMBERS: usize>(members: [(&str, Value); MEMBERS]) -> Value {
    Value::Object(members.into_iter().collect::<Object>())
}

/// The members that say something, the inner ones by their paths. A run's own metadata repeats what stands beside it.
fn flatten<'a>(above: &str, value: &'a Value, into: &mut Vec<(String, &'a Value)>) {
    let Some(object) = value.as_object() else { return };
    for (name, value) in object.iter().filter(|(name, _)| !(above.is_empty() && *name == "execution")) {
        let path = if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
        match value {
            Value::Null => {}
            Value::Object(_) => flatten(&path, value, into),
            value => into.push((path, value)),
        }
    }
}
