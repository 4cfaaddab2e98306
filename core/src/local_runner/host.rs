//! The built-in process host: what a boundary asks of one, answered on this machine (EX-SEA-06).

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::exit::ExitRecord;
use super::launch::{self, Gate};
use super::observe::{Member, Seen, observe};
use super::process::{RunProcess, to_object, to_value};
use super::profiles::{Output, Profile, Profiles, Turn};
use super::session::RunSession;
use super::settle::{Told, read_outcome};
use super::spec::StartSpec;
use super::stop;
use super::supervisor;
use crate::host::Host;
use crate::json::{Number, Object, Value};
use crate::process::Signal;
use crate::storage::Directory;

/// An end that is about to be recorded is waited for so often, for so long each time: together a quarter of a second.
const LOOKS: u32 = 100;
const PAUSE: std::time::Duration = std::time::Duration::from_micros(2_500);

/// The process host that comes with the library.
#[derive(Clone, Debug)]
pub struct ProcessHost {
    supervisor: Option<PathBuf>,
    profiles: Profiles,
}

/// A harness that waits behind its gate.
#[derive(Debug)]
pub struct Spawned {
    /// `{pid, identity, group, supervisor, harness?, sessionId?}`.
    pub reply: Object,
    /// Lets it start.
    pub gate: Gate,
}

/// What is to be started, for which run.
#[derive(Clone, Copy, Debug)]
pub struct Spawn<'a> {
    /// The run's directory, which exists, by its path.
    pub directory: &'a Path,
    /// The run.
    pub run_id: &'a str,
    /// Its operation.
    pub operation_id: &'a str,
    /// The coordinator's spec.
    pub spec: &'a Value,
    /// Prompt, model and session.
    pub turn: Turn<'a>,
    /// The session that was claimed for it.
    pub session: Option<&'a RunSession>,
    /// The file in the directory to which the output goes.
    pub log: &'a str,
}

impl ProcessHost {
    /// Reads the options: `{supervisor?, harnesses?}`, a path and profiles by their names.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn of(options: &Object) -> Result<Self, String> {
        let supervisor = match options.get("supervisor") {
            None | Some(Value::Null) => None,
            Some(Value::String(path)) if !path.is_empty() => Some(PathBuf::from(path)),
            Some(_) => return Err("runner.supervisor is no path".to_owned()),
        };
        let mut profiles = Profiles::shipped();
        match options.get("harnesses") {
            None | Some(Value::Null) => {}
            Some(Value::Object(harnesses)) => {
                for (name, profile) in harnesses.iter() {
                    profiles.register(Profile::of(name, profile)?);
                }
            }
            Some(_) => return Err("runner.harnesses is no object".to_owned()),
        }
        Ok(ProcessHost { supervisor, profiles })
    }

    /// Has a relative path mean the same when the process changes its directory.
    pub(crate) fn root_paths(&mut self, host: &Host) {
        if let Some(path) = &mut self.supervisor
            && let Ok(absolute) = host.files.absolute(path)
        {
            *path = absolute;
        }
    }

    /// The supervisor's path; none where it is not there.
    #[must_use]
    pub fn supervisor(&self) -> Option<PathBuf> {
        supervisor::find(self.supervisor.as_deref())
    }

    /// The profile of this name.
    pub(super) fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.get(name)
    }

    /// Whether this system is one on which harnesses can be run.
    #[must_use]
    pub const fn is_supported() -> bool {
        cfg!(any(target_os = "linux", target_os = "macos"))
    }

    /// Forks the harness, behind its gate.
    ///
    /// # Errors
    /// A word and a message of why not. It is then certain that nothing was started and nothing will be.
    pub fn spawn(&self, spawn: &Spawn<'_>, host: &Host) -> Result<Spawned, (String, String)> {
        let supervisor = self.supervisor().ok_or_else(|| {
            ("supervisor".to_owned(), "the program gallivant-supervise is not there".to_owned())
        })?;
        let spec = StartSpec::of(spawn.spec).map_err(|message| ("spec".to_owned(), message))?;
        let mut launch = spec.launch(&self.profiles, &spawn.turn, host)?;
        let variables = spawn.session.into_iter().flat_map(RunSession::to_env);
        launch.env.extend(variables.map(|(name, value)| (name.to_owned(), value)));
        let output = open_log(spawn.directory, spawn.log)
            .map_err(|error| ("output".to_owned(), format!("the output cannot be opened: {error}")))?;
        let run = launch::Run {
            directory: spawn.directory,
            run_id: spawn.run_id,
            operation_id: spawn.operation_id,
            lease: spawn.session.map(RunSession::lease),
        };
        let forked = launch::fork(&supervisor, &launch, &run, output)?;
        if let Some(session) = spawn.session {
            session.attach(&forked.harness, host);
        }
        let mut reply = to_object(&forked.harness);
        reply.insert("group", number(u64::from(forked.harness.pid)));
        reply.insert("supervisor", to_value(&forked.supervisor));
        if let Some(harness) = &launch.harness {
            reply.insert("harness", Value::from(harness.as_str()));
        }
        if let Some(session) = &launch.session {
            reply.insert("sessionId", Value::from(session.as_str()));
        }
        Ok(Spawned { reply, gate: forked.gate })
    }

    /// `{tree, exit?, signal?, endedAt?, pids?}`: what is left of a run's tree, and how its harness ended.
    ///
    /// # Errors
    /// Where the record of the end cannot be read.
    pub fn observe(
        &self,
        run: &dyn Directory,
        process: &Value,
        kill_after: &Value,
        host: &Host,
    ) -> io::Result<Object> {
        let mut reply = Object::new();
        let Some(known) = RunProcess::of(process, kill_after) else {
            reply.insert("tree", Value::from("unreadable"));
            return Ok(reply);
        };
        let (mut exit, mut seen) = look(run, &known, host)?;
        for _ in 0..LOOKS {
            // Only the supervisor is left: it is about to say how the harness ended, or to end.
            if seen != Seen::Alive(Vec::new()) {
                break;
            }
            host.clock.sleep(PAUSE);
            (exit, seen) = look(run, &known, host)?;
        }
        match &seen {
            Seen::Unreadable => drop(reply.insert("tree", Value::from("unreadable"))),
            Seen::Alive(members) => {
                reply.insert("tree", Value::from("alive"));
                reply.insert("pids", pids(members));
            }
            Seen::Gone => {
                reply.insert("tree", Value::from("gone"));
                if let Some(exit) = exit.filter(|exit| exit.was_started) {
                    reply.insert("exit", exit.exit.map_or(Value::Null, integer));
                    reply.insert("signal", exit.signal);
                    reply.insert("endedAt", number(exit.ended_at));
                }
            }
        }
        Ok(reply)
    }

    /// Brings the session of a run up to what was seen of its tree: a stamp while it lives, its end once it is gone. What cannot
    /// be written now is written by whoever looks next.
    pub fn tell_session(
        &self,
        session: &RunSession,
        run: &dyn Directory,
        process: &Value,
        tree: &str,
        host: &Host,
    ) {
        match tree {
            "alive" => session.is_alive(host),
            "gone" => {
                let known = RunProcess::of(process, &Value::Null);
                let exit = known.and_then(|known| ExitRecord::read(run, &known.leader).ok().flatten());
                session.has_ended(exit.as_ref(), host);
            }
            _ => {}
        }
    }

    /// `{sent}`: whether the signal went to everybody of the tree who was seen.
    ///
    /// # Errors
    /// Where the record of the end cannot be read.
    pub fn signal(
        &self,
        run: &dyn Directory,
        process: &Value,
        kill_after: &Value,
        signal: Signal,
        host: &Host,
    ) -> io::Result<Object> {
        let mut reply = Object::new();
        let sent = match RunProcess::of(process, kill_after) {
            None => false,
            Some(known) => {
                let exit = ExitRecord::read(run, &known.leader)?;
                stop::signal(&known, exit.as_ref(), signal, &*host.processes).whole
            }
        };
        reply.insert("sent", Value::Bool(sent));
        Ok(reply)
    }

    /// What the harness's own output says.
    ///
    /// # Errors
    /// As the system says it.
    pub fn outcome(
        &self,
        run: &dyn Directory,
        log: &str,
        process: &Value,
        exit: Option<i64>,
    ) -> io::Result<Told> {
        let harness = process.get("harness").and_then(Value::as_str);
        let output = harness.and_then(|harness| self.profiles.get(harness)).map(|profile| profile.output);
        // A profile that nobody registers any more leaves the exit status.
        read_outcome(run, log, output.unwrap_or(Output::Exit), exit)
    }
}

fn look(run: &dyn Directory, known: &RunProcess, host: &Host) -> io::Result<(Option<ExitRecord>, Seen)> {
    // The record first: what is recorded afterwards is seen by the next look.
    let exit = ExitRecord::read(run, &known.leader)?;
    let seen = observe(known, exit.as_ref(), &*host.processes);
    if seen == Seen::Gone && exit.is_none() {
        // It may have been recorded between the two.
        return Ok((ExitRecord::read(run, &known.leader)?, seen));
    }
    Ok((exit, seen))
}

/// Opens the output for appending, with mode 0600 whatever the umask; nothing but a regular file.
fn open_log(directory: &Path, name: &str) -> io::Result<std::fs::File> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mode = Mode::RUSR | Mode::WUSR;
    let file = rustix::fs::open(directory.join(name), flags | OFlags::NONBLOCK, mode)?;
    rustix::fs::fchmod(&file, mode)?;
    let file = std::fs::File::from(file);
    if !file.metadata()?.is_file() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
    Ok(file)
}

fn pids(members: &[Member]) -> Value {
    Value::Array(members.iter().map(|member| to_value(&member.process)).collect())
}

fn number(number: u64) -> Value {
    Number::parse(&number.to_string()).map_or(Value::Null, Value::Number)
}

fn integer(number: i64) -> Value {
    Number::parse(&number.to_string()).map_or(Value::Null, Value::Number)
}
