//! Whether verification could run here: the probe, in throw-away directories, before anything else is begun (EX-VER-37 to
//! EX-VER-39).

use std::ffi::OsString;
use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::environment::redactor;
use super::git_view::{self, NoView, ViewLimits};
use super::probe::{Probe, probe, provenance};
use super::profile::{Profile, create};
use super::running::{CommandHost, End, Invocation, Stop};
use super::sandbox::{Driver, Layout, Runtime, Sandbox};
use super::verify::OTHER_SYSTEM;
use crate::artifacts::git::{SETTINGS, VARIABLES};
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::json::Value;
use crate::redaction::Secrets;

/// What helps where the throw-away directories cannot be made.
const NO_PLACE: &str =
    "name a directory for what is thrown away that exists, can be written and has room, then resume";

/// What a readiness check is made of.
#[derive(Clone, Debug)]
pub struct Readiness<'a> {
    /// What puts commands into a sandbox; none on a system without one.
    pub driver: Option<Driver>,
    /// The runtime installation that commands may read later.
    pub runtime: Option<Runtime>,
    /// Where the throw-away directories are made.
    pub scratch: PathBuf,
    /// What runs the probe.
    pub commands: &'a dyn CommandHost,
    /// Clock, chance and disk.
    pub host: &'a Host,
}

/// Checks that the sandbox works here, with the empty environment and an empty commit of our own. Answers the evidence,
/// `{driver, probe}`, which a coordinator keeps in its preparation and health records (EX-VER-42). No code of a repository runs,
/// and nothing is left on disk, whatever the answer is.
///
/// # Errors
/// `EXECUTION_VERIFICATION_SANDBOX` for whatever is not a proof, with this system's remedy: a program is missing, the system
/// restricts namespaces, an attempt that must fail has succeeded, `stop` has fired.
pub fn sandbox_readiness(readiness: &Readiness<'_>, stop: Stop<'_>) -> Result<Value> {
    let Some(driver) = readiness.driver else {
        return Err(refusal("this system has no driver for a sandbox", OTHER_SYSTEM));
    };
    let refused = |why: &str| refusal(why, driver.remedy());
    let checked = check(readiness, driver, stop).map_err(|error| match error.code() {
        Code::ExecutionVerificationSandbox => error,
        _ => refused(&error.message()),
    })?;
    match &checked.failure {
        None => Ok(provenance(Some(driver), &checked)),
        Some(failure) => Err(refused(failure)),
    }
}

/// Whether the sandbox is ready, for a boundary that asks before it dispatches (EX-VER-39).
pub trait SandboxCheck: Send + Sync + fmt::Debug {
    /// The evidence of a success.
    ///
    /// # Errors
    /// `EXECUTION_VERIFICATION_SANDBOX`.
    fn check(&self, host: &Host, stop: Stop<'_>) -> Result<Value>;
}

/// This machine's sandbox.
#[derive(Clone, Debug)]
pub struct SystemSandbox {
    /// Where the throw-away directories are made.
    pub scratch: PathBuf,
    /// The runtime installation that commands may read later.
    pub runtime: Option<Runtime>,
}

impl Default for SystemSandbox {
    /// In the system's directory for temporary files, without a runtime.
    fn default() -> Self {
        SystemSandbox { scratch: std::env::temp_dir(), runtime: None }
    }
}

impl SystemSandbox {
    /// The sandbox with what may be given: a directory for what is thrown away, a runtime installation, and the directory of its
    /// programs.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for one of the two of a runtime alone.
    pub fn of(
        scratch: Option<&Path>,
        runtime: Option<&Path>,
        programs: Option<&Path>,
    ) -> Result<SystemSandbox> {
        let runtime = match (runtime, programs) {
            (None, None) => None,
            (Some(directory), Some(programs)) => {
                Some(Runtime { directory: directory.into(), programs: programs.into() })
            }
            _ => {
                let message = "a runtime is an installation and the directory of its programs";
                return Err(Error::new(Code::ExecutionInput, message));
            }
        };
        let default = SystemSandbox::default();
        Ok(SystemSandbox { scratch: scratch.map_or(default.scratch, Path::to_owned), runtime })
    }
}

impl SandboxCheck for SystemSandbox {
    /// By the machine's own clock, as it runs the machine's own processes: the host's may stand still, or say of a lock's waiter
    /// that its patience is over. `stop` alone ends it early.
    fn check(&self, _: &Host, stop: Stop<'_>) -> Result<Value> {
        let host = &Host::system();
        let commands = super::running::SystemCommands::new(host);
        let readiness = Readiness {
            driver: Driver::of_this_system(),
            runtime: self.runtime.clone(),
            scratch: self.scratch.clone(),
            commands: &commands,
            host,
        };
        sandbox_readiness(&readiness, stop)
    }
}

fn check(readiness: &Readiness<'_>, driver: Driver, stop: Stop<'_>) -> Result<Probe> {
    let host = readiness.host;
    let create = || {
        let created = Profile::create(&readiness.scratch, host);
        created.map_err(|error| refusal(&error.message(), NO_PLACE))
    };
    let profile = create()?;
    // A second one only for its directory, which goes as the first does.
    let place = create()?;
    let probed = probe_in(readiness, driver, &profile, &place.path().join("home"), stop);
    let removed = place.remove();
    profile.remove().and(removed)?;
    probed
}

fn probe_in(
    readiness: &Readiness<'_>,
    driver: Driver,
    profile: &Profile,
    checkout: &Path,
    stop: Stop<'_>,
) -> Result<Probe> {
    let host = readiness.host;
    let commit = match empty_commit(checkout, readiness.commands, stop) {
        Ok(Some(commit)) => commit,
        Ok(None) => return Ok(Probe::impossible(host, "git makes no commit")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Probe::impossible(host, "the program git is missing"));
        }
        Err(error) => return Ok(Probe::impossible(host, format!("git cannot be run: {error}"))),
    };
    let layout = Layout::over(checkout, profile.path(), readiness.runtime.as_ref(), None, host)?;
    let view = profile.path().join("git");
    let limits = ViewLimits::default();
    match git_view::build(&view, &layout.checkout, &commit, &limits, readiness.commands, host, stop) {
        Ok(_) => {}
        Err(NoView::Refused(why)) => return Ok(Probe::impossible(host, why)),
        Err(NoView::Failed(error)) => return Ok(Probe::impossible(host, error.message())),
        Err(NoView::Stopped) => return Ok(Probe::impossible(host, "it was aborted")),
    }
    let sandbox = Sandbox::new(driver, layout, &[]);
    let redactor = redactor(&[], &Secrets::none())?;
    Ok(probe(&sandbox, profile, &commit, readiness.commands, host, &redactor, stop))
}

/// Makes a repository with one commit of ours without a file; none where Git does not answer as it should.
fn empty_commit(checkout: &Path, commands: &dyn CommandHost, stop: Stop<'_>) -> io::Result<Option<String>> {
    let git = checkout.join(".git");
    for below in ["", "objects", "refs"] {
        DirBuilder::new().mode(0o700).create(git.join(below))?;
    }
    create(&git.join("HEAD"), b"ref: refs/heads/main\n")?;
    let Some(tree) = ask(&git, &["hash-object", "-t", "tree", "-w", "/dev/null"], commands, stop)? else {
        return Ok(None);
    };
    let Some(commit) = ask(&git, &["commit-tree", "-m", "readiness", &tree], commands, stop)? else {
        return Ok(None);
    };
    let moved = ask(&git, &["update-ref", "HEAD", &commit], commands, stop)?;
    Ok(moved.map(|_| commit))
}

fn ask(git: &Path, args: &[&str], commands: &dyn CommandHost, stop: Stop<'_>) -> io::Result<Option<String>> {
    let mut environment: Vec<(OsString, OsString)> =
        VARIABLES.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    environment.push(("GIT_DIR".into(), git.into()));
    for role in ["AUTHOR", "COMMITTER"] {
        environment.push((format!("GIT_{role}_NAME").into(), "readiness".into()));
        environment.push((format!("GIT_{role}_EMAIL").into(), "readiness@localhost".into()));
        environment.push((format!("GIT_{role}_DATE").into(), "@0 +0000".into()));
    }
    let invocation = Invocation {
        program: "git".into(),
        arguments: SETTINGS
            .iter()
            .flat_map(|setting| ["-c", setting])
            .chain(args.iter().copied())
            .map(OsString::from)
            .collect(),
        environment,
        directory: "/".into(),
        input: None,
        limit_ms: super::probe::PROBE_MS,
        report_option: None,
        merges_errors: false,
    };
    let mut said = Vec::new();
    let ended = commands.run(
        &invocation,
        &mut |piece| {
            said.extend_from_slice(piece);
            said.len() < 4096
        },
        stop,
    )?;
    let text = String::from_utf8(said).ok().map(|text| text.trim_end().to_owned());
    Ok(text.filter(|_| ended == End::Exited(0)))
}

fn refusal(why: &str, remedy: &'static str) -> Error {
    Error::new(Code::ExecutionVerificationSandbox, format!("the sandbox is not proved to work: {why}"))
        .with_remedy(remedy)
}
