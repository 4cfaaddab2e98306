//! `gallivant doctor`: whether a machine and a directory give what the files need, and which programs are there: the sandbox,
//! the supervisor, the harnesses.

use std::io::Write;

use gallivant_core::Host;
use gallivant_core::harness_state::adapters::Harness;
use gallivant_core::inspection::{Tried, try_harness, try_machine, try_sandbox, try_supervisor};
use gallivant_core::json::Value;
use gallivant_core::verification::SystemSandbox;

use crate::arguments::Doctor;
use crate::exit::{Failure, Outcome, Result};
use crate::state::default_directory;
use crate::table::{Cell, Table};
use crate::terminal::{Screen, Tone, printable};

pub(crate) fn doctor(asked: &Doctor, screen: &Screen) -> Result<Outcome> {
    let host = Host::system();
    let directory = asked.dir.clone().unwrap_or_else(default_directory);
    if directory.exists() && !directory.is_dir() {
        let what = format!("it is no directory, path=`{}`", directory.display());
        return Err(Failure::Arguments(what, "name the directory that holds the files, or would"));
    }
    let mut tried = vec![Tried {
        what: "version",
        found: format!("gallivant {}", gallivant_core::VERSION),
        remedy: None,
        is_problem: false,
    }];
    tried.extend(try_machine(&directory, &host));
    tried.extend([try_sandbox(&SystemSandbox::default(), &host), try_supervisor()]);
    tried.extend(Harness::ALL.iter().map(|harness| try_harness(*harness, &host)));
    let mut out = screen.out();
    if asked.json {
        for tried in &tried {
            let members = [
                ("what", Value::from(tried.what)),
                ("found", tried.found.clone().into()),
                ("isProblem", tried.is_problem.into()),
                ("remedy", Value::from(tried.remedy.as_deref())),
            ];
            writeln!(out, "{}", Value::Object(members.into_iter().collect()).to_json())?;
        }
    } else {
        let mut table = Table::new(["WHAT", "", "FOUND"]);
        for tried in &tried {
            let (mark, tone) = match (tried.is_problem, &tried.remedy) {
                (true, _) => ("!", Tone::Bad),
                (false, Some(_)) => ("-", Tone::Waiting),
                (false, None) => ("", Tone::Plain),
            };
            table.push([
                Cell::plain(tried.what),
                Cell::new(mark, tone),
                Cell::plain(printable(&tried.found).into_owned()),
            ]);
        }
        table.write(&mut out, screen, usize::MAX)?;
        for (what, remedy) in tried.iter().filter_map(|tried| Some((tried.what, tried.remedy.as_ref()?))) {
            writeln!(out, "{what}: {remedy}")?;
        }
    }
    out.flush()?;
    Ok(Outcome::of(!tried.iter().any(|tried| tried.is_problem)))
}
