//! `gallivant run`: runs of the execution layer, opened by the root directory of their task as its files have it.
//!
//! - this file: which run is meant, and what it has come to; [`show`]: what is recorded; [`tail`]: its log;
//! - [`operator`]: what a person may record.

mod operator;
mod show;
mod tail;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use gallivant_core::execution::{Boundary, execution_on_disk, ledger_on_disk, unresolved};
use gallivant_core::json::{Object, Value};
use gallivant_core::redaction::Secrets;
use gallivant_core::{Code, Error, Host};

use crate::arguments::Run;
use crate::exit::{Failure, Outcome, Result};
use crate::moments::ago;
use crate::table::{Cell, Table};
use crate::terminal::{Screen, printable, say};

pub(crate) fn run(asked: &Run, screen: &Screen) -> Result<Outcome> {
    match asked {
        Run::Show { root, run, json } => show::show(root, run.as_deref(), *json, screen),
        Run::Tail { root, run, follow, lines, after, json } => {
            let run = chosen(&open(root)?, run.as_deref())?;
            let from = after.as_deref().map_or(tail::From::Last(*lines), tail::From::After);
            tail::tail(root, &run, from, *follow, *json)
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
    let host = Host::system();
    if let Err(error) = host.files.open_to_read(root)
        && error.kind() == io::ErrorKind::NotADirectory
    {
        let what = format!("a task's root is a directory, path=`{}`", root.display());
        return Err(Failure::Arguments(what, "name the directory that holds execution.json"));
    }
    Ok(execution_on_disk(root, Secrets::none(), &host)?)
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

/// Whether the ledger has a run, and if so whether nothing more is to come of it.
fn is_settled(root: &Path, run: &str) -> Result<Option<bool>> {
    let ledger = ledger_on_disk(root, &Host::system())?;
    Ok(ledger.and_then(|ledger| ledger.executions.get(run).map(|run| run.is_settled())))
}

/// Of a run that the ledger has.
fn nothing_on_disk(run: &str) -> Failure {
    let what = format!("the ledger has the run, and nothing else of it is on disk, run=`{run}`");
    Failure::Arguments(
        what,
        "it was never accepted, or its directory was removed; `run show` says how it stands",
    )
}

/// EX-BND-16. A settled run without an outcome lacks its result (EX-REC-40).
fn outcome(root: &Path, named: Option<&str>) -> Result<Outcome> {
    let boundary = open(root)?;
    let run = chosen(&boundary, named)?;
    let outcome = boundary.outcome(&run)?;
    if outcome.is_null() && is_settled(root, &run)? == Some(true) {
        let message = format!("the run has settled, and its result.json is missing or damaged, run=`{run}`");
        return Err(Error::new(Code::ExecutionResult, message).with_run_id(run).into());
    }
    say(&outcome.to_json())?;
    Ok(Outcome::of(!outcome.is_null()))
}

/// EX-UPG-04.
fn list_unresolved(roots: &[PathBuf], json: bool, screen: &Screen) -> Result<Outcome> {
    let host = Host::system();
    let mut table = Table::new(["ROOT", "OPERATION", "RUN", "PROVIDER", "ACCOUNT", "KEY", "FOR"]);
    let (mut out, mut remedy, mut count) = (screen.out(), "", 0_u64);
    for root in roots {
        open(root)?;
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
