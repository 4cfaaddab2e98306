//! The port `verification` over this machine's sandbox.

use std::path::PathBuf;

use super::ports::{Answers, Failure, unknown};
use crate::artifacts::{Git, GitOptions};
use crate::error::{Code, Error, Result};
use crate::execution::boundary::Verifying;
use crate::execution::contract::ErrorKind;
use crate::execution::{AbortToken, Boundary, faults, keys};
use crate::json::{Object, Value};
use crate::verification::{
    ApprovedCommands, Driver, Runtime, SystemCommands, Tools, Verdict, Verification, ViewLimits, verify,
};

/// What commands find around them.
#[derive(Clone, Debug, Default)]
pub struct SandboxOptions {
    /// The root of the owned checkout.
    pub checkout: PathBuf,
    /// Where the private profile is made: an existing directory outside of the checkout.
    pub scratch: PathBuf,
    /// The runtime installation that commands may read, such as that of Node (EX-VER-24).
    pub runtime: Option<Runtime>,
    /// The coordinator's environment, of which commands get what the specification lists (EX-VER-08).
    pub environment: Vec<(String, String)>,
}

/// Runs the commands of a publication's plan in the sandbox of this system, with a probe of its own each time (EX-VER-41).
#[derive(Debug)]
pub struct SystemVerification {
    verifying: Verifying,
    commands: ApprovedCommands,
    options: SandboxOptions,
    git: Git,
    abort: AbortToken,
}

impl SystemVerification {
    /// What verifies for this boundary, by the same commands as the plan's. `abort` ends the command that runs.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for a checkout or a scratch directory whose path is not usable.
    pub fn new(
        boundary: &Boundary,
        commands: ApprovedCommands,
        mut options: SandboxOptions,
        abort: AbortToken,
    ) -> Result<Self> {
        let verifying = boundary.verifying();
        // A step may come after the process has changed its directory.
        for path in [&mut options.checkout, &mut options.scratch] {
            *path = verifying.host.files.absolute(path).map_err(|error| {
                Error::new(Code::ExecutionInput, "a directory of the verification has no path")
                    .with_source(error)
            })?;
        }
        let mut of_git = GitOptions::default();
        of_git.settings.push("core.fileMode=true".to_owned());
        let git = Git::new(&options.checkout, of_git, &verifying.host)?;
        Ok(SystemVerification { verifying, commands, options, git, abort })
    }

    fn verify(&self, run_id: &str, revision: &str, source_hash: &str) -> Result<Verdict> {
        keys::check_id("runId", run_id)?;
        if source_hash != self.commands.source_hash() {
            return Err(Error::new(Code::ExecutionConflict, "the commands are not those of the plan"));
        }
        let Verifying { root, secrets, host, faults } = &self.verifying;
        let request = Verification {
            run: &root.join(run_id),
            checkout: &self.options.checkout,
            applied_head: revision,
            commands: &self.commands,
            runtime: self.options.runtime.as_ref(),
            environment: &self.options.environment,
            secrets,
            scratch: &self.options.scratch,
            view_limits: ViewLimits::default(),
        };
        let tools = Tools {
            driver: Driver::of_this_system(),
            commands: &SystemCommands::new(host),
            repository: &self.git,
            host,
            stop: &|| self.abort.is_aborted(),
            after_command: &|| {
                faults::pass(&**faults, "publish.command").map_err(|error| {
                    Error::new(Code::ExecutionIo, "the verification failed").with_source(error)
                })
            },
        };
        verify(&request, &tools)
    }
}

impl Answers for SystemVerification {
    fn answer(&self, method: &str, input: &Object) -> std::result::Result<Value, Failure> {
        if method != "verify" {
            return Err(unknown(method));
        }
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        match self.verify(text("runId"), text("revision"), text("sourceHash")) {
            Ok(Verdict::Verified(_)) => Ok(Object::new().into()),
            Ok(Verdict::Blocked(block)) => {
                let members = [("reason", Value::from(block.reason)), ("detail", Value::from(block.detail))];
                let blocked = Value::Object(members.into_iter().collect());
                Ok(Value::Object([("blocked", blocked)].into_iter().collect()))
            }
            Err(error) => Err(Failure::of(ErrorKind::Io, error.message())),
        }
    }
}
