//! One verification: the approved commands, in order, in a sandbox over the checkout (EX-VER-01 to EX-VER-19).
//!
//! The order is the guarantee. Evidence that names the sandbox stands on disk before the first command; the probe comes before
//! any code of the repository; HEAD and cleanliness are looked at before the first command and behind each one that succeeded;
//! evidence is on disk after each command, however it ended; the profile is gone before anything counts as verified. Evidence
//! that stands there already is never added to: no command runs twice for one run (EX-VER-18).

use std::path::Path;

use super::command::{ApprovedCommands, COMMAND_MS};
use super::environment::{self, Variables};
use super::evidence::{Block, CommandEvidence, Evidence, EvidenceFile};
use super::git_view::{self, NoView, ViewLimits};
use super::output::Kept;
use super::probe::{Probe, probe, provenance};
use super::profile::Profile;
use super::repository::{self, Repository};
use super::running::{CommandHost, End, Stop};
use super::sandbox::{Driver, Layout, Runtime, Sandbox};
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::redaction::{Redactor, Secrets};

/// What is to be verified.
#[derive(Clone, Copy, Debug)]
pub struct Verification<'a> {
    /// The run's directory, in which the evidence stands.
    pub run: &'a Path,
    /// The owned checkout: the root of a work tree.
    pub checkout: &'a Path,
    /// The commit that publication has made of the result: 40 hexadecimal digits.
    pub applied_head: &'a str,
    /// What to run.
    pub commands: &'a ApprovedCommands,
    /// The runtime installation that commands may read, such as that of Node.
    pub runtime: Option<&'a Runtime>,
    /// The coordinator's environment.
    pub environment: &'a Variables,
    /// The secrets of execution and run.
    pub secrets: &'a Secrets,
    /// Where the private profile is made: an existing directory outside of the checkout.
    pub scratch: &'a Path,
    /// How large the view of Git's data may become.
    pub view_limits: ViewLimits,
}

/// What a verification works with.
#[derive(Clone, Copy)]
pub struct Tools<'a> {
    /// What puts commands into a sandbox; none on a system without one.
    pub driver: Option<Driver>,
    /// What runs them.
    pub commands: &'a dyn CommandHost,
    /// The checkout's repository.
    pub repository: &'a dyn Repository,
    /// Clock, chance and disk.
    pub host: &'a Host,
    /// The caller's stop.
    pub stop: Stop<'a>,
    /// Called after each command's evidence is durable: the fault point `publish.command` (EX-SEA-07). An error ends the
    /// verification as an I/O error.
    pub after_command: &'a dyn Fn() -> Result<()>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every command has succeeded, and the checkout is what was applied. The evidence is on disk.
    Verified(Evidence),
    /// It is over, and waits for a person. The evidence on disk says so, unless another one stood there.
    Blocked(Block),
}

/// Verifies a run, once.
///
/// # Errors
/// `EXECUTION_INPUT` for a layout that cannot be; `EXECUTION_IO`, with the reason `tree` for a status query that gave no whole
/// answer (EX-VER-13), where nothing is claimed (EX-ART-48). No profile is left then either.
pub fn verify(request: &Verification<'_>, tools: &Tools<'_>) -> Result<Verdict> {
    let host = tools.host;
    let directory = host.files.open(request.run).map_err(|error| {
        Error::new(Code::ExecutionIo, "the run's directory cannot be opened").with_source(error)
    })?;
    let mut file = EvidenceFile::new(directory, host);
    if file.read()?.is_some() {
        return Ok(Verdict::Blocked(interrupted(host)));
    }
    let redactor = environment::redactor(request.environment, request.secrets)?;
    let Some(driver) = tools.driver else {
        let probe = Probe::impossible(host, "this system has no driver for a sandbox");
        let block = unavailable(&probe, OTHER_SYSTEM, host);
        return end(&mut file, evidence(request, None, &probe, host), Some(block), host);
    };
    let profile = Profile::create(request.scratch, host)?;
    let listed = list(request, tools, driver, &profile, &redactor, &mut file);
    // Also where the list has failed: the profile never outlives it (EX-VER-10).
    profile.remove()?;
    let (evidence, block) = listed?;
    end(&mut file, evidence, block, host)
}

/// What to do on a system that is neither Linux nor macOS.
pub(super) const OTHER_SYSTEM: &str =
    "verify and publish on Linux or macOS, which have a sandbox, then resume";

type Listed = (Evidence, Option<Block>);

fn list(
    request: &Verification<'_>,
    tools: &Tools<'_>,
    driver: Driver,
    profile: &Profile,
    redactor: &Redactor,
    file: &mut EvidenceFile,
) -> Result<Listed> {
    let host = tools.host;
    let home = request.environment.iter().find(|(name, _)| name == "HOME").map(|(_, home)| Path::new(home));
    let layout = Layout::over(request.checkout, profile.path(), request.runtime, home, host)?;
    let view = profile.path().join("git");
    let head = request.applied_head;
    let built = git_view::build(
        &view,
        &layout.checkout,
        head,
        &request.view_limits,
        tools.commands,
        host,
        tools.stop,
    );
    let sandbox = Sandbox::new(driver, layout, request.environment);
    let probe = match built {
        Ok(_) => probe(&sandbox, profile, head, tools.commands, host, redactor, tools.stop),
        Err(NoView::Refused(why)) => Probe::impossible(host, why),
        Err(NoView::Stopped) => Probe::impossible(host, "it was aborted"),
        Err(NoView::Failed(error)) => return Err(error),
    };
    let mut evidence = evidence(request, Some(driver), &probe, host);
    if (tools.stop)() || host.clock.is_cancelled() {
        return Ok((evidence, Some(interrupted(host))));
    }
    if !probe.is_passed() {
        let block = unavailable(&probe, driver.remedy(), host);
        return Ok((evidence, Some(block)));
    }
    file.save(&evidence)?;
    if let Some(block) = look(request, tools)? {
        return Ok((evidence, Some(block)));
    }
    for text in request.commands.commands() {
        if (tools.stop)() || host.clock.is_cancelled() {
            return Ok((evidence, Some(interrupted(host))));
        }
        let (command, why) = run(text, &sandbox, tools, redactor);
        let has_succeeded = command.exit_code == Some(0);
        evidence.commands.push(command);
        file.save(&evidence)?;
        (tools.after_command)()?;
        if !has_succeeded {
            return Ok((evidence, Some(why.block(request, driver, host))));
        }
        if let Some(block) = look(request, tools)? {
            return Ok((evidence, Some(block)));
        }
    }
    Ok((evidence, None))
}

/// Saves how it has ended.
fn end(
    file: &mut EvidenceFile,
    mut evidence: Evidence,
    block: Option<Block>,
    host: &Host,
) -> Result<Verdict> {
    evidence.ended_at = Some(host.clock.wall_ms());
    evidence.blocked.clone_from(&block);
    file.save(&evidence)?;
    Ok(block.map_or(Verdict::Verified(evidence), Verdict::Blocked))
}

fn evidence(request: &Verification<'_>, driver: Option<Driver>, probe: &Probe, host: &Host) -> Evidence {
    Evidence {
        revision: request.applied_head.to_owned(),
        source_hash: request.commands.source_hash().to_owned(),
        list_hash: request.commands.list_hash(),
        sandbox: provenance(driver, probe),
        started_at: host.clock.wall_ms(),
        ended_at: None,
        commands: Vec::new(),
        blocked: None,
    }
}

fn look(request: &Verification<'_>, tools: &Tools<'_>) -> Result<Option<Block>> {
    let changed = repository::look(tools.repository, request.applied_head)?;
    Ok(changed.map(|changed| Block {
        reason: changed.word(),
        blocked_at: tools.host.clock.wall_ms(),
        detail: "the checkout is not what was applied".to_owned(),
        remedy: "look at what has changed in the checkout; what a command has changed is neither committed nor removed, and \
                 continues in the same session as a new run",
    }))
}

/// Why a command has no success.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    Failed,
    Sandbox,
    Stopped,
}

impl Why {
    fn block(self, request: &Verification<'_>, driver: Driver, host: &Host) -> Block {
        match self {
            Why::Stopped => interrupted(host),
            Why::Sandbox => Block {
                reason: "verification-sandbox-unavailable",
                blocked_at: host.clock.wall_ms(),
                detail: "the sandbox did not run a command".to_owned(),
                remedy: driver.remedy(),
            },
            Why::Failed => Block {
                reason: "command-failed",
                blocked_at: host.clock.wall_ms(),
                detail: format!("a command of {} has failed", request.commands.commands().len()),
                remedy: "read the command's output, and continue the same session for a correction; there is no network here, so \
                         fetch dependencies in the execution environment, or use those in the checkout",
            },
        }
    }
}

/// Runs one command to its end.
fn run(text: &str, sandbox: &Sandbox, tools: &Tools<'_>, redactor: &Redactor) -> (CommandEvidence, Why) {
    let started_at = tools.host.clock.wall_ms();
    let mut kept = Kept::new(redactor);
    let invocation = sandbox.invocation(text, &[], COMMAND_MS);
    let ended = tools.commands.run(&invocation, &mut |piece| kept.push(piece), tools.stop);
    let (exit_code, failure, why) = match &ended {
        Ok(End::Exited(code)) => (Some(*code), None, Why::Failed),
        Ok(End::TimedOut) => (None, Some("timeout"), Why::Failed),
        Ok(End::Signalled(_)) => (None, Some("io"), Why::Failed),
        Ok(End::Stopped) => (None, Some("aborted"), Why::Stopped),
        Ok(End::Unreported) => (None, Some("io"), Why::Sandbox),
        Err(error) => {
            let is_missing = error.kind() == std::io::ErrorKind::NotFound;
            kept.push(error.to_string().as_bytes());
            (None, Some("io"), if is_missing { Why::Sandbox } else { Why::Failed })
        }
    };
    let (output, truncated) = kept.finish();
    let command = CommandEvidence {
        command: redactor.text(text).into_owned(),
        exit_code,
        started_at,
        ended_at: tools.host.clock.wall_ms(),
        output,
        truncated,
        failure,
    };
    (command, why)
}

fn unavailable(probe: &Probe, remedy: &'static str, host: &Host) -> Block {
    Block {
        reason: "verification-sandbox-unavailable",
        blocked_at: host.clock.wall_ms(),
        detail: probe.failure.clone().unwrap_or_default(),
        remedy,
    }
}

/// The block of a verification that was begun and not ended: no command is run again for it (EX-VER-18).
#[must_use]
pub fn interrupted(host: &Host) -> Block {
    Block {
        reason: "verification-interrupted",
        blocked_at: host.clock.wall_ms(),
        detail: "a verification of this run has begun and not ended".to_owned(),
        remedy: "read the saved evidence; continue the same session as a new run to verify again",
    }
}
