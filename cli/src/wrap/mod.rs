//! `gallivant wrap`: runs a program as an agent's session.
//!
//! - this file: claim, lease, variables, and the record of the real end;
//! - [`child`]: the program, started with the signals that this process was started with;
//! - [`signals`]: what comes meanwhile, held and given back;
//! - [`arrival`]: taking the next of it. These two alone are `unsafe`.
//!
//! The program shares this process's terminal and process group, so that what the terminal sends reaches it directly and no
//! byte passes through here.

mod arrival;
mod child;
mod signals;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use gallivant_core::Host;
use gallivant_core::harness_state::{LeaseProbe, NewSession, Options, Probe, Reader, Session, Skip, Tick};
use gallivant_core::process::Liveness;

use crate::arguments::Wrap;
use crate::exit::{Failure, Outcome, Result};
use crate::state::default_directory;
use crate::terminal::printable;
use arrival::Arrived;
use child::{Child, Ended};
use signals::Signals;

/// How often the session is asked whether a heartbeat is due.
const TURN: Duration = Duration::from_secs(1);
/// As a shell says it of a program that it cannot find, or cannot start.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

pub(crate) fn wrap(asked: &Wrap) -> Result<Outcome> {
    let Some((program, arguments)) = asked.command.split_first() else {
        return Err(Failure::Arguments("no program is named".to_owned(), "name one behind --"));
    };
    if asked.agent.is_empty() {
        return Err(Failure::Arguments("the agent's name is empty".to_owned(), "name one with --agent"));
    }
    // The two dots would take the seat of the directory itself, or of the one above.
    if asked.agent.contains('/') || matches!(&*asked.agent, "." | "..") {
        let what = format!("the agent's name cannot be a directory's, agent=`{}`", asked.agent);
        return Err(Failure::Arguments(what, "give it a name of its own, without slashes"));
    }
    let name = Path::new(program).file_name().map(|name| name.to_string_lossy().into_owned());
    let new = NewSession {
        directory: asked.dir.clone().unwrap_or_else(default_directory).join(&asked.agent),
        agent: asked.agent.clone(),
        harness: asked.harness.clone().or(name).unwrap_or_default(),
        pty_session: Some(asked.pty_session.clone().unwrap_or_else(|| asked.agent.clone())),
        token: None,
    };
    let living = living(&new.directory)?;
    let session = Session::start(new, &Options::default(), &Host::system())?;
    if let Some(harness) = living {
        tell(&format!("took the seat over from a session that still lives, harness=`{harness}`"));
    }
    // From here on nothing is lost: a signal that comes before the program runs is passed on to it.
    let signals = Signals::hold()?;
    let mut child = match Child::start(program, arguments, &session.to_env(), &signals) {
        Ok(child) => child,
        Err(error) => {
            let status = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED };
            end(&session, &format!("exit {status}"));
            tell(&format!("the program cannot be started, program=`{}`: {error}", program.display()));
            return Ok(Outcome::Status(status));
        }
    };
    if let Err(error) = session.attach(child.pid())
        && error.reason() != Some("no-such-process")
    {
        tell(&format!("{error}; {}", error.remedy()));
    }
    let ended = attend(&session, &mut child, &signals)?;
    end(&session, &ended.text());
    drop(session);
    match ended {
        Ended::Exit(status) => Ok(Outcome::Status(status)),
        Ended::Signal(signal) => Ok(Outcome::Status(signals.die_of(signal))),
    }
}

/// The harness of the session that has the seat, where it provably lives.
fn living(directory: &Path) -> Result<Option<String>> {
    let reader = Reader::try_open(directory, &Options::default(), &Host::system())?;
    let snapshot = reader.snapshot();
    let record = snapshot.record().filter(|record| record.is_live());
    let living = record.filter(|record| LeaseProbe::new(&reader).liveness(record) == Liveness::Alive);
    Ok(living.map(|record| printable(&record.harness).into_owned()))
}

/// Passes signals on and keeps the record fresh until the program has ended.
fn attend(session: &Session, child: &mut Child, signals: &Signals) -> Result<Ended> {
    let mut has_told = None;
    let mut is_superseded = false;
    loop {
        match child.look()? {
            child::Looked::Ended(ended) => return Ok(ended),
            // Whoever has stopped the program at the terminal wants to go on with the shell; a later `fg` continues the
            // whole group.
            child::Looked::Stopped if signals::is_in_foreground() => signals.stop_too(),
            child::Looked::Stopped | child::Looked::Runs => {}
        }
        match session.heartbeat_if_due() {
            Ok(Tick::Skipped(Skip::Superseded | Skip::ForeignToken)) if !is_superseded => {
                is_superseded = true;
                tell("another session has claimed the seat; the program is asked to end");
                child.signal(libc::SIGTERM);
            }
            Ok(_) => has_told = None,
            // A full disk now is no reason to leave the program alone.
            Err(error) => {
                if has_told != Some(error.code()) {
                    tell(&format!("{error}; {}", error.remedy()));
                }
                has_told = Some(error.code());
            }
        }
        match signals.wait(TURN)? {
            Arrived::Nothing | Arrived::Child => {}
            Arrived::ByTerminal => {}
            Arrived::Sent(signal) => child.signal(signal),
        }
    }
}

fn end(session: &Session, exit: &str) {
    if let Err(error) = session.end(Some(exit)) {
        tell(&format!("{error}; {}", error.remedy()));
    }
}

fn tell(what: &str) {
    let mut to = io::stderr();
    // The program may have put the terminal into a mode in which a line's end alone does not begin a line.
    let end = if to.is_terminal() { "\r\n" } else { "\n" };
    let _ = to.write_all(format!("gallivant: {}{end}", printable(what)).as_bytes());
}
