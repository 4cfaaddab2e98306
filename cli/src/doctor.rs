//! `gallivant doctor`: whether a machine and a directory give what the files need, and which programs are there: the sandbox,
//! the supervisor, the harnesses.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use gallivant_core::Host;
use gallivant_core::harness_state::adapters::Harness;
use gallivant_core::inspection::{Tried, try_machine, try_sandbox, try_supervisor};
use gallivant_core::json::Value;
use gallivant_core::verification::SystemSandbox;

use crate::arguments::Doctor;
use crate::exit::{Failure, Outcome, Result};
use crate::state::default_directory;
use crate::table::{Cell, Table};
use crate::terminal::{Screen, Tone, printable};

/// How long a harness may take to say its version. Some of them start an interpreter.
const VERSION_WAIT: Duration = Duration::from_secs(10);
const TURN: Duration = Duration::from_millis(20);
const MAX_VERSION_CHARS: usize = 60;

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
    tried.extend(Harness::ALL.iter().map(|harness| Tried {
        what: harness.name(),
        found: version(harness.name(), &host).unwrap_or_else(|| "not on the PATH".to_owned()),
        remedy: None,
        is_problem: false,
    }));
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

/// The first line that a program of this name says of its version; none where there is no such program.
#[expect(clippy::disallowed_methods, reason = "the one place where a harness is asked for its version")]
fn version(program: &str, host: &Host) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let begun = host.clock.awake();
    while matches!(child.try_wait(), Ok(None)) {
        if host.clock.awake().saturating_sub(begun) > VERSION_WAIT {
            let _ = child.kill();
            let _ = child.wait();
            return Some("does not say its version".to_owned());
        }
        host.clock.sleep(TURN);
    }
    let output = child.wait_with_output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().next().unwrap_or_default().trim();
    Some(if line.is_empty() {
        "does not say its version".to_owned()
    } else {
        line.chars().take(MAX_VERSION_CHARS).collect()
    })
}
