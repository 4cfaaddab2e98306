//! The ports of a publication that this machine can answer, made of JSON: for whoever drives a publication in another language.

use std::path::{Path, PathBuf};

use super::git::GitCheckout;
use super::plan::Plan;
use super::ports::{Answers, Failure, Place, PublisherPort, unknown};
use super::reconcile::reconcile_execution_result;
use super::remote::{GitRemote, PullRequests};
use super::sandbox::{SandboxOptions, SystemVerification};
use crate::artifacts::GitOptions;
use crate::error::{Code, Error, Result};
use crate::execution::{AbortToken, Boundary, Called};
use crate::json::{Object, Value};
use crate::verification::Runtime;

/// Calls a method of a boundary by its name, as [`Boundary::call`] does, or `reconcileExecutionResult`, whose input is a plan with
/// `runId` ([`Plan::from_object`]).
///
/// # Errors
/// `EXECUTION_INPUT` for a name that is none and for an argument of the wrong shape, those of a plan, and those of a method that
/// reads.
pub fn call(boundary: &Boundary, method: &str, input: Object, abort: AbortToken) -> Result<Called> {
    if method != "reconcileExecutionResult" {
        return boundary.call(method, input, abort);
    }
    let run_id = text(&input, "runId")?;
    let plan = Plan::from_object(&input)?;
    Ok(Called::Machine(Box::new(reconcile_execution_result(boundary, run_id, plan, abort))))
}

/// A checkout, this system's sandbox and a push by the program `git`. Pull requests and the coordinator's registry are the
/// caller's own.
#[derive(Debug)]
pub struct LocalPorts {
    git: GitCheckout,
    verification: SystemVerification,
    publisher: PublisherPort<GitRemote<NoPullRequests>>,
}

impl LocalPorts {
    /// The ports that an object describes: a plan, and with it `checkout` and `scratch` (paths), and if wanted `runtime`
    /// (`{directory, programs}`), `environment` (an object of texts: the coordinator's) and `git`: `{program, variables,
    /// settings}`.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` that names the member, and those of a plan.
    pub fn from_object(boundary: &Boundary, input: &Object, abort: AbortToken) -> Result<Self> {
        let plan = Plan::from_object(input)?;
        let host = boundary.verifying().host;
        let checkout = PathBuf::from(text(input, "checkout")?);
        let options = git_options(input)?;
        let sandbox = SandboxOptions {
            checkout: checkout.clone(),
            scratch: PathBuf::from(text(input, "scratch")?),
            runtime: runtime(input)?,
            environment: texts(input.get("environment"), "environment")?,
        };
        Ok(LocalPorts {
            git: GitCheckout::new(&checkout, options.clone(), &host)?,
            verification: SystemVerification::new(boundary, plan.commands, sandbox, abort)?,
            publisher: PublisherPort(GitRemote::new(&checkout, options, NoPullRequests, &host)?),
        })
    }

    /// Answers a call of these ports: everything of `git` and `verification`, and `push` of `publisher`. It blocks for as long as
    /// that takes.
    ///
    /// # Errors
    /// The failure, also for a call that is the caller's own to answer.
    pub fn answer(&self, port: &str, method: &str, input: &Object) -> std::result::Result<Value, Failure> {
        match (port, method) {
            ("git", _) => self.git.answer(method, input),
            ("verification", _) => self.verification.answer(method, input),
            ("publisher", "push") => self.publisher.answer(method, input),
            _ => Err(unknown(method)),
        }
    }
}

/// Pull requests are asked of somebody else.
#[derive(Debug)]
struct NoPullRequests;

impl PullRequests for NoPullRequests {
    fn find(&self, _: &Place) -> std::result::Result<Option<Object>, Failure> {
        Err(unknown("findPullRequest"))
    }

    fn create(&self, _: &Place, _: &str, _: &str) -> std::result::Result<Object, Failure> {
        Err(unknown("createPullRequest"))
    }
}

fn git_options(input: &Object) -> Result<GitOptions> {
    let mut options = GitOptions::default();
    let Some(given) = input.get("git").filter(|git| !git.is_null()) else { return Ok(options) };
    if let Some(program) = given.get("program").and_then(Value::as_str) {
        options.program = program.into();
    }
    let variables = texts(given.get("variables"), "git.variables")?;
    options.variables = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    if let Some(settings) = given.get("settings").filter(|settings| !settings.is_null()) {
        let list = settings.as_array().ok_or_else(|| wrong("git.settings"))?;
        let setting = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| wrong("git.settings"));
        options.settings = list.iter().map(setting).collect::<Result<_>>()?;
    }
    Ok(options)
}

fn runtime(input: &Object) -> Result<Option<Runtime>> {
    let Some(given) = input.get("runtime").filter(|runtime| !runtime.is_null()) else { return Ok(None) };
    let path = |key: &str| {
        let path = given.get(key).and_then(Value::as_str).map(Path::new);
        path.map(Path::to_owned).ok_or_else(|| wrong(&format!("runtime.{key}")))
    };
    Ok(Some(Runtime { directory: path("directory")?, programs: path("programs")? }))
}

fn texts(object: Option<&Value>, name: &str) -> Result<Vec<(String, String)>> {
    let Some(object) = object.filter(|object| !object.is_null()) else { return Ok(Vec::new()) };
    let members = object.as_object().ok_or_else(|| wrong(name))?;
    let pair = |(key, value): (&str, &Value)| {
        value.as_str().map(|value| (key.to_owned(), value.to_owned())).ok_or_else(|| wrong(name))
    };
    members.iter().map(pair).collect()
}

fn text(input: &Object, key: &str) -> Result<String> {
    let text = input.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| wrong(key))
}

fn wrong(member: &str) -> Error {
    Error::new(Code::ExecutionInput, format!("a member is missing or malformed, member=`{member}`"))
}
