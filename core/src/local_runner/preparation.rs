//! A prepared turn on this machine: the harness's version, and the command line that enforces the boundary (EX-PRE-13, EX-PRE-33,
//! EX-CAP-27).

use std::path::{Path, PathBuf};
use std::process::Command;

use super::host::ProcessHost;
use super::profiles::{Preparation, Profile, Prompt, Turn};
use super::spec::find;
use crate::clock::Clock;
use crate::json::{Object, Value};
use crate::process::bounded::{self, Bounds, Failure};

/// Where a harness is asked for its version: it has no say in what it finds there.
const NOWHERE: &str = "/";
/// The longest that a harness may say for its version, in bytes.
const VERSION_BYTES: usize = 4096;

/// Why a step of a preparation has given nothing.
#[derive(Debug)]
pub enum Unprepared {
    /// No profile enforces it, the program is not there, or it told no version.
    Missing(String),
    /// The harness did not answer.
    Silent(Failure),
}

impl ProcessHost {
    /// How this provider's profile enforces a preparation; none where it does not.
    #[must_use]
    pub fn preparation(&self, provider: &str) -> Option<&Preparation> {
        self.profile(provider)?.preparation.as_ref()
    }

    /// What the harness prints for its version, in so many milliseconds at most, with this environment and no other.
    ///
    /// # Errors
    /// Why there is no answer. Nothing of the harness runs any more.
    pub fn version(
        &self,
        provider: &str,
        environment: &Value,
        ms: u64,
        clock: &dyn Clock,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<String, Unprepared> {
        let (profile, preparation) = self.enforcing(provider)?;
        #[expect(clippy::disallowed_methods, reason = "the one place that asks a harness for its version")]
        let mut command = Command::new(program(profile, environment)?);
        command.args(&preparation.version).env_clear().envs(variables(environment)).current_dir(NOWHERE);
        let bounds = Bounds { ms, bytes: VERSION_BYTES };
        let output = bounded::run(command, &[], bounds, clock, is_cancelled).map_err(Unprepared::Silent)?;
        if !output.status.success() {
            let message = format!("the harness told no version, it ended with {}", output.status);
            return Err(Unprepared::Missing(message));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// `{cmd, args, options}`: the exact command line of a prepared turn, with the program by its path.
    ///
    /// # Errors
    /// Where the profile enforces nothing, or its program is not there.
    pub fn render(
        &self,
        provider: &str,
        prompt: &str,
        model: Option<&str>,
        environment: &Value,
    ) -> Result<Object, Unprepared> {
        let (profile, preparation) = self.enforcing(provider)?;
        let turn = Turn { prompt, model, session: None, is_resumed: false };
        let args = preparation.arguments(&turn).into_iter().map(Value::from).collect();
        let cmd = program(profile, environment)?.to_string_lossy().into_owned();
        let members = [("cmd", Value::from(cmd)), ("args", Value::Array(args)), ("options", Value::Null)];
        Ok(members.into_iter().collect())
    }

    /// The spec of a prepared turn: what the caller has given for directory, session and secrets, the command line that was
    /// rendered, the prompt where the profile wants it, and these variables.
    ///
    /// # Errors
    /// Where the caller's spec has a command line of its own.
    pub fn enforced(
        &self,
        provider: &str,
        given: &Object,
        native: &Value,
        prompt: &str,
        environment: Value,
    ) -> Result<Object, String> {
        let (profile, _) = self.enforcing(provider).map_err(|why| why.to_string())?;
        let is_given = |member: &&str| given.get(member).is_some_and(|value| !value.is_null());
        if let Some(member) = ["argv", "program", "args", "stdin"].into_iter().find(is_given) {
            return Err(format!(
                "a prepared turn runs the command line that was rendered, spec.{member} is none of it"
            ));
        }
        if given.get("harness").and_then(Value::as_str).is_some_and(|harness| harness != provider) {
            return Err(
                "a prepared turn runs the provider's own harness, spec.harness names another".to_owned()
            );
        }
        let arguments = native.get("args").and_then(Value::as_array).unwrap_or_default();
        let argv = native.get("cmd").into_iter().chain(arguments).cloned().collect();
        let mut spec = given.clone();
        spec.insert("harness", Value::from(provider));
        spec.insert("argv", Value::Array(argv));
        spec.insert("env", environment);
        if profile.prompt == Prompt::Stdin {
            spec.insert("stdin", Value::from(prompt));
        }
        Ok(spec)
    }

    fn enforcing(&self, provider: &str) -> Result<(&Profile, &Preparation), Unprepared> {
        let profile = self.profile(provider);
        profile.and_then(|profile| Some((profile, profile.preparation.as_ref()?))).ok_or_else(|| {
            let message = format!("no harness profile enforces a preparation, harness=`{provider}`");
            Unprepared::Missing(message)
        })
    }
}

impl std::fmt::Display for Unprepared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unprepared::Missing(message) => out.write_str(message),
            Unprepared::Silent(Failure::Start(error) | Failure::Pipe(error)) => {
                write!(out, "the harness could not be asked for its version: {error}")
            }
            Unprepared::Silent(Failure::Deadline) => out.write_str("the harness told no version in its time"),
            Unprepared::Silent(Failure::Oversized) => {
                out.write_str("the harness told too much for a version")
            }
            Unprepared::Silent(Failure::Cancelled) => {
                out.write_str("the question for the version was aborted")
            }
        }
    }
}

fn program(profile: &Profile, environment: &Value) -> Result<PathBuf, Unprepared> {
    let program = &profile.program;
    find(program, Path::new(NOWHERE), &variables(environment).collect::<Vec<_>>()).ok_or_else(|| {
        let message =
            format!("the program is not there, or cannot be executed, program=`{program}`; environment.PATH says where it is");
        Unprepared::Missing(message)
    })
}

fn variables(environment: &Value) -> impl Iterator<Item = (String, String)> + '_ {
    let given = environment.as_object().into_iter().flat_map(Object::iter);
    given.filter_map(|(name, value)| Some((name.to_owned(), value.as_str()?.to_owned())))
}
