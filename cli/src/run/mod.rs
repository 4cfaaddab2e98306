//! `gallivant run`: runs of the execution layer, opened by the root directory of their task as its files have it.
//!
//! - this file: what is recorded, and what it has come to; [`tail`]: its log; [`operator`]: what a person may record.

mod operator;
mod tail;

use std::io::Write;
use std::path::{Path, PathBuf};

use gallivant_core::execution::{Boundary, execution_on_disk, unresolved};
use gallivant_core::json::{Object, Value};
use gallivant_core::redaction::Secrets;
use gallivant_core::{Code, Error, Host};

use crate::arguments::Run;
use crate::exit::{Outcome, Result};
use crate::moments::{ago, utc};
use crate::table::{Cell, Table};
use crate::terminal::{Screen, Tone, printable, say};

pub(crate) fn run(asked: &Run, screen: &Screen) -> Result<Outcome> {
    match asked {
        Run::Show { root, run, json } => show(root, run.as_deref(), *json, screen),
        Run::Tail { root, run, follow, lines, after, json } => {
            let run = chosen(&open(root)?, run.as_deref())?;
            let from = after.as_deref().map_or(tail::From::Last(*lines), tail::From::After);
            tail::tail(&root.join(run), from, *follow, *json)
        }
        Run::Outcome { root, run } => outcome(root, run.as_deref()),
        Run::Unresolved { root, json } => list_unresolved(root, *json, screen),
        Run::Adopt { root, operation, acknowledgement, evidence } => {
            operator::adopt(&open(root)?, operation, acknowledgement, evidence)
        }
        Run::SettleAbsent { root, operation, evidence } => {
            operator::settle_absent(&open(root)?, operation, evidence)
        }
    }
}

fn open(root: &Path) -> Result<Boundary> {
    Ok(execution_on_disk(root, Secrets::none(), &Host::system())?)
}

/// The run that is meant: the one that is named, or the task's current one.
fn chosen(boundary: &Boundary, named: Option<&str>) -> Result<String> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let projection = boundary.inspect()?;
    let of_ledger = projection.get("runId").and_then(Value::as_str).map(str::to_owned);
    let of_job = || {
        let job = boundary.current().ok().flatten()?;
        job.get("runId").and_then(Value::as_str).map(str::to_owned)
    };
    of_ledger.or_else(of_job).ok_or_else(|| {
        let error = Error::new(Code::ExecutionUnknownRun, "the task has no current run");
        error.with_remedy("name the run").into()
    })
}

fn show(root: &Path, named: Option<&str>, json: bool, screen: &Screen) -> Result<Outcome> {
    let boundary = open(root)?;
    let projection = boundary.inspect()?;
    let current = projection.get("runId").and_then(Value::as_str);
    let shown = match named {
        Some(named) if Some(named) != current => {
            let record = boundary.read(named)?.ok_or_else(|| {
                let message = format!("there is no such run, run=`{named}`");
                Error::new(Code::ExecutionUnknownRun, message).with_run_id(named)
            })?;
            Value::Object(record)
        }
        _ => projection,
    };
    if json {
        say(&shown.to_json())?;
        return Ok(Outcome::Yes);
    }
    let now_ms = Host::system().clock.wall_ms();
    let mut out = screen.out();
    let mut members = Vec::new();
    flatten("", &shown, &mut members);
    let width = members.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in members {
        let at =
            value.as_number().and_then(gallivant_core::json::Number::as_u64).filter(|_| name.ends_with("At"));
        let text = match (at, value.as_str()) {
            (Some(at), _) => format!("{}, {} ago", utc(at), ago(at, now_ms)),
            (None, Some(text)) => printable(text).into_owned(),
            (None, None) => value.to_json(),
        };
        writeln!(out, "{}  {text}", screen.paint(&format!("{name:width$}"), Tone::Strong))?;
    }
    out.flush()?;
    Ok(Outcome::Yes)
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

/// EX-BND-16.
fn outcome(root: &Path, named: Option<&str>) -> Result<Outcome> {
    let boundary = open(root)?;
    let outcome = boundary.outcome(&chosen(&boundary, named)?)?;
    say(&outcome.to_json())?;
    Ok(Outcome::of(!outcome.is_null()))
}

/// EX-UPG-04.
fn list_unresolved(roots: &[PathBuf], json: bool, screen: &Screen) -> Result<Outcome> {
    let host = Host::system();
    let mut table = Table::new(["ROOT", "OPERATION", "RUN", "PROVIDER", "ACCOUNT", "KEY", "FOR"]);
    let (mut out, mut remedy, mut count) = (screen.out(), "", 0_u64);
    for root in roots {
        for found in unresolved(root, &host)? {
            count += 1;
            remedy = found.remedy;
            if json {
                let members = [
                    ("root", Value::from(root.display().to_string())),
                    ("taskId", found.owner.task_id.into()),
                    ("provider", found.owner.provider.into()),
                    ("account", found.owner.account.into()),
                    ("operationId", found.operation_id.into()),
                    ("runId", found.run_id.into()),
                    ("idempotencyKey", found.idempotency_key.into()),
                    ("intentAt", found.intent_at.into()),
                    ("remedy", found.remedy.into()),
                ];
                writeln!(out, "{}", Value::Object(members.into_iter().collect::<Object>()).to_json())?;
                continue;
            }
            table.push([
                Cell::plain(root.display().to_string()),
                Cell::plain(found.operation_id),
                Cell::plain(found.run_id),
                Cell::plain(printable(&found.owner.provider).into_owned()),
                Cell::plain(printable(&found.owner.account).into_owned()),
                Cell::plain(found.idempotency_key),
                Cell::plain(ago(found.intent_at, host.clock.wall_ms())),
            ]);
        }
    }
    if !json && count > 0 {
        table.write(&mut out, screen, usize::MAX)?;
        writeln!(out, "{remedy}")?;
    } else if !json {
        writeln!(out, "no operation is unresolved")?;
    }
    out.flush()?;
    Ok(Outcome::of(count == 0))
}
