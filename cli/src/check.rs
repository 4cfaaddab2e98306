//! `gallivant check`: every file below a directory, judged by the core. Changes nothing.

use std::io::Write;

use gallivant_core::Host;
use gallivant_core::inspection::{Finding, Inspected, Verdict, inspect};
use gallivant_core::json::{Object, Value};

use crate::arguments::Check;
use crate::exit::{Outcome, Result};
use crate::table::{Cell, Table};
use crate::terminal::{Screen, Tone, printable};

pub(crate) fn check(asked: &Check, screen: &Screen) -> Result<Outcome> {
    let mut table = Table::new(["VERDICT", "KIND", "FILE", "WHAT"]);
    let mut out = screen.out();
    let mut counts = [0_u64; Verdict::ALL.len()];
    let mut remedies: Vec<String> = Vec::new();
    let mut written = Ok(());
    let inspected = inspect(&asked.dir, &Host::system(), &mut |finding| {
        let at = Verdict::ALL.iter().position(|verdict| *verdict == finding.verdict);
        at.into_iter().for_each(|at| counts[at] += 1);
        if asked.json {
            if asked.all || finding.verdict != Verdict::Whole {
                let line = json(&finding);
                written = std::mem::replace(&mut written, Ok(())).and_then(|()| writeln!(out, "{line}"));
            }
        } else if asked.all || finding.verdict != Verdict::Whole {
            show(&finding, &mut table);
            if finding.verdict.is_problem() {
                let path = finding.path.display().to_string();
                remedies.extend(finding.remedy.map(|remedy| format!("{}: {remedy}", printable(&path))));
            }
        }
    })?;
    written?;
    if asked.json {
        writeln!(out, "{}", summary(&inspected, &counts))?;
    } else {
        if !table.is_empty() {
            table.write(&mut out, screen, usize::MAX)?;
        }
        for remedy in &remedies {
            writeln!(out, "{remedy}")?;
        }
        let said: Vec<String> =
            counted(&counts).map(|(verdict, count)| format!("{count} {}", verdict.word())).collect();
        let said = if said.is_empty() { String::new() } else { format!(": {}", said.join(", ")) };
        let left_out = match inspected.left_out {
            0 => String::new(),
            left_out => format!("; {left_out} directories were not entered"),
        };
        writeln!(out, "{} files{said}{left_out}", inspected.files)?;
    }
    out.flush()?;
    Ok(Outcome::of(!counted(&counts).any(|(verdict, _)| verdict.is_problem())))
}

fn counted(counts: &[u64]) -> impl Iterator<Item = (Verdict, u64)> + '_ {
    Verdict::ALL.iter().copied().zip(counts.iter().copied()).filter(|(_, count)| *count > 0)
}

fn show(finding: &Finding, table: &mut Table<4>) {
    let tone = match finding.verdict {
        Verdict::Whole => Tone::Good,
        Verdict::Pending | Verdict::Staged | Verdict::Abandoned => Tone::Waiting,
        _ => Tone::Bad,
    };
    let path = finding.path.display().to_string();
    table.push([
        Cell::new(finding.verdict.word(), tone),
        Cell::plain(finding.kind),
        Cell::plain(printable(&path).into_owned()),
        Cell::plain(printable(finding.detail.as_deref().unwrap_or_default()).into_owned()),
    ]);
}

fn json(finding: &Finding) -> String {
    let members = [
        ("path", Value::from(finding.path.display().to_string())),
        ("kind", finding.kind.into()),
        ("verdict", finding.verdict.word().into()),
        ("detail", finding.detail.clone().into()),
        ("remedy", finding.remedy.clone().into()),
    ];
    Value::Object(members.into_iter().collect()).to_json()
}

fn summary(inspected: &Inspected, counts: &[u64]) -> String {
    let verdicts: Object =
        counted(counts).map(|(verdict, count)| (verdict.word(), Value::from(count))).collect();
    let members = [
        ("files", Value::from(inspected.files)),
        ("directories", inspected.directories.into()),
        ("leftOut", inspected.left_out.into()),
        ("verdicts", verdicts.into()),
    ];
    Value::Object(members.into_iter().collect()).to_json()
}
