//! What is to be started: the coordinator's `spec`, and what a profile makes of it (EX-LOC-15).

use std::path::{Path, PathBuf};

use super::PROCESS_MARK;
use super::profiles::{Profile, Profiles, Prompt, Turn};
use crate::harness_state::VARIABLES;
use crate::host::Host;
use crate::json::{Object, Value};

/// How a local run is started: the members of `spec`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartSpec {
    /// `harness`: by which profile.
    pub harness: Option<String>,
    /// `argv`: the whole command line, where the profile's is not wanted; the program first.
    pub argv: Option<Vec<String>>,
    /// `program`: the program's name or path, where it is not the profile's.
    pub program: Option<String>,
    /// `args`: arguments beside the profile's.
    pub args: Vec<String>,
    /// `cwd`: where the harness starts; an absolute path.
    pub cwd: PathBuf,
    /// `env`: its whole environment.
    pub env: Vec<(String, String)>,
    /// `stdin`: what it reads, where the profile gives it nothing to read.
    pub stdin: Option<String>,
}

/// A command that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The program's path.
    pub program: PathBuf,
    /// Its arguments, its own name first.
    pub argv: Vec<String>,
    /// Where it starts.
    pub cwd: PathBuf,
    /// Its environment.
    pub env: Vec<(String, String)>,
    /// What it reads; none for nothing.
    pub stdin: Option<String>,
    /// The profile's name.
    pub harness: Option<String>,
    /// The session that it was told to use.
    pub session: Option<String>,
}

impl StartSpec {
    /// Reads a spec. The session's variables are taken out of its environment: a harness speaks for no session that it was not
    /// given one for.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(spec: &Value) -> Result<Self, String> {
        let spec = spec.as_object().ok_or("spec is no object")?;
        let argv = texts(spec, "argv")?;
        if argv.as_ref().is_some_and(|argv| argv.first().is_none_or(String::is_empty)) {
            return Err("argv names no program".to_owned());
        }
        let harness = text(spec, "harness")?;
        if harness.is_none() && argv.is_none() {
            return Err("spec has neither harness nor argv".to_owned());
        }
        let cwd = PathBuf::from(text(spec, "cwd")?.ok_or("spec has no cwd")?);
        if !cwd.is_absolute() {
            return Err("cwd is no absolute path".to_owned());
        }
        let known = StartSpec {
            harness,
            argv,
            program: text(spec, "program")?,
            args: texts(spec, "args")?.unwrap_or_default(),
            cwd,
            env: environment(spec)?,
            stdin: text(spec, "stdin")?,
        };
        // Whoever writes them otherwise believes them hidden.
        texts(spec, "secrets")?;
        let has_zero = |text: &String| text.contains('\0');
        let arguments = known.argv.iter().flatten().chain(&known.args).chain(&known.program);
        if arguments.into_iter().any(has_zero) || known.cwd.to_string_lossy().contains('\0') {
            return Err("an argument holds a zero byte".to_owned());
        }
        Ok(known)
    }

    /// The command for a turn.
    ///
    /// # Errors
    /// Code and message of why it cannot be started.
    pub fn launch(
        &self,
        profiles: &Profiles,
        turn: &Turn<'_>,
        host: &Host,
    ) -> Result<Launch, (String, String)> {
        let refused = |code: &str, message: String| (code.to_owned(), message);
        let profile = match &self.harness {
            None => None,
            Some(name) => Some(profiles.get(name).ok_or_else(|| {
                refused("harness", format!("no harness is registered by this name, harness=`{name}`"))
            })?),
        };
        let mut session = turn.session.map(str::to_owned);
        let (program, mut argv, stdin) = match (&self.argv, profile) {
            (Some(argv), _) => (argv[0].clone(), argv.clone(), self.stdin.clone()),
            (None, Some(profile)) => {
                if session.is_none() && profile.mints_session {
                    session = Some(mint(host));
                }
                self.by_profile(profile, &Turn { session: session.as_deref(), ..*turn })
            }
            (None, None) => return Err(refused("spec", "spec has neither harness nor argv".to_owned())),
        };
        let program = self.program.clone().unwrap_or(program);
        argv[0].clone_from(&program);
        if argv.iter().any(|argument| argument.contains('\0')) {
            return Err(refused("spec", "an argument holds a zero byte".to_owned()));
        }
        let path = find(&program, &self.cwd, &self.env).ok_or_else(|| {
            refused(
                "program",
                format!("the program is not there, or cannot be executed, program=`{program}`"),
            )
        })?;
        Ok(Launch {
            program: path,
            argv,
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            stdin,
            harness: self.harness.clone(),
            session,
        })
    }

    fn by_profile(&self, profile: &Profile, turn: &Turn<'_>) -> (String, Vec<String>, Option<String>) {
        let mut argv = vec![profile.program.clone()];
        argv.extend(profile.arguments(turn, &self.args));
        let stdin = match profile.prompt {
            Prompt::Stdin => Some(turn.prompt.to_owned()),
            Prompt::Argument => self.stdin.clone(),
        };
        (profile.program.clone(), argv, stdin)
    }
}

fn text(spec: &Object, key: &str) -> Result<Option<String>, String> {
    match spec.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("{key} is no text")),
    }
}

fn texts(spec: &Object, key: &str) -> Result<Option<Vec<String>>, String> {
    match spec.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(list) => {
            let list = list.as_array().ok_or_else(|| format!("{key} is no list"))?;
            let texts = list.iter().map(|text| text.as_str().map(str::to_owned));
            texts
                .collect::<Option<Vec<_>>>()
                .map(Some)
                .ok_or_else(|| format!("{key} holds something that is no text"))
        }
    }
}

fn environment(spec: &Object) -> Result<Vec<(String, String)>, String> {
    let given = match spec.get("env") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(given)) => given,
        Some(_) => return Err("env is no object".to_owned()),
    };
    let mut variables = Vec::with_capacity(given.len());
    for (name, value) in given.iter() {
        let value = value.as_str().ok_or("a value of env is no text")?;
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err("env holds a variable that no environment can hold".to_owned());
        }
        if !VARIABLES.contains(&name) && name != PROCESS_MARK {
            variables.push((name.to_owned(), value.to_owned()));
        }
    }
    Ok(variables)
}

/// As the shell looks for a program: by its path, or in the directories of its own `PATH`.
pub(super) fn find(program: &str, cwd: &Path, env: &[(String, String)]) -> Option<PathBuf> {
    let is_program =
        |path: &PathBuf| path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    if program.contains('/') {
        return Some(cwd.join(program)).filter(is_program);
    }
    let (_, path) = env.iter().find(|(name, _)| name == "PATH")?;
    path.split(':')
        .filter(|place| !place.is_empty())
        .map(|place| cwd.join(place).join(program))
        .find(is_program)
}

/// A session id of a form that every harness takes: a random UUID.
fn mint(host: &Host) -> String {
    let (high, low) = (host.random.next_u64(), host.random.next_u64());
    let high = (high & !0xf000) | 0x4000;
    let low = (low & !(0b11 << 62)) | (0b10 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}
