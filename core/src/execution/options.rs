//! What a boundary is made of (EX-BND-04, EX-BND-05).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::backoff::Jitter;
use super::capability::record::Location;
use super::capability::{Adapter, Capability, ExecutionRegistry, Registered, RunnerParts};
use super::contract::{Method, Methods};
use super::faults::Faults;
use super::health::{ExternalHealth, FixedHealth, Health, HealthRecord};
use super::limits::Limits;
use super::money::{Nanos, Round};
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::json::{Object, Value};
use crate::local_runner::ProcessHost;
use crate::redaction::Secrets;
use crate::verification::{SandboxCheck, SystemSandbox};

/// What a provider can do, and where that was registered.
#[derive(Clone, Debug)]
pub enum Capabilities {
    /// A record as it stands.
    Record(Box<Capability>),
    /// A record of a registry, which has to be the task's own (EX-CAP-25).
    Registered {
        /// The record.
        record: Registered,
        /// The registry that the task's checks read.
        registry: ExecutionRegistry,
    },
}

/// Everything that a boundary is made of. It is owned by one task, one provider and one account.
#[derive(Clone, Debug)]
pub struct ExecutionOptions {
    /// The directory that holds all files of the task; created with the first write.
    pub root: PathBuf,
    /// The task, not empty.
    pub task_id: String,
    /// The provider, not empty.
    pub provider: String,
    /// The account at the provider, not empty.
    pub account: String,
    /// What the provider can do.
    pub capabilities: Capabilities,
    /// What carries a dispatch out.
    pub adapter: Adapter,
    /// The process host that answers inside the core; none where the host program's own answers its calls (EX-SEA-06).
    pub process_host: Option<ProcessHost>,
    /// The task's budget; a remote dispatch needs one.
    pub budget: Option<Nanos>,
    /// The limits.
    pub limits: Limits,
    /// Values that appear in no file but where the specification says so.
    pub secrets: Secrets,
    /// Who vouches for the provider's health; without anybody every dispatch is refused (EX-SCH-17).
    pub health: Option<Arc<dyn Health>>,
    /// When an intake must have ended, in milliseconds since 1970 (EX-PRE-20).
    pub intake_deadline_at: Option<u64>,
    /// What proves that a result could be verified here, asked before a remote dispatch and before a remote preparation
    /// (EX-VER-39). Without it nothing is asked.
    pub sandbox: Option<Arc<dyn SandboxCheck>>,
    /// The chance in the delays of retries; the host's own where there is none.
    pub jitter: Option<Arc<dyn Jitter>>,
    /// The points at which a test fails.
    pub faults: Arc<dyn Faults>,
}

impl ExecutionOptions {
    /// Reads the options in their JSON form: the members of EX-BND-04 but `root` and `ports`. `transport` is
    /// `{"methods":[names]}`, `runner` is `true` for a process host of the host program's own, or an object with the
    /// options of the built-in one (`supervisor`, a path, and `harnesses`, profiles by name), `health` is `"external"` or one health record,
    /// `sandboxRequired` is `true` for this machine's own sandbox.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` that names the member, with the reasons `limits` and `secret` for those; `EXECUTION_CAPABILITY`
    /// for an adapter that lacks what the record promises; `EXECUTION_VERSION` for the health record of another package.
    pub fn from_object(root: impl Into<PathBuf>, options: &Object, faults: Arc<dyn Faults>) -> Result<Self> {
        let capability =
            Capability::from_value(present(options, "capabilities").cloned().unwrap_or(Value::Null))?;
        let adapter = adapter(options)?;
        let process_host = match present(options, "runner") {
            Some(Value::Object(runner)) => Some(ProcessHost::of(runner).map_err(|message| wrong(&message))?),
            _ => None,
        };
        let health: Option<Arc<dyn Health>> = match present(options, "health") {
            None => None,
            Some(Value::String(word)) if word == "external" => Some(Arc::new(ExternalHealth)),
            Some(record @ Value::Object(_)) => Some(Arc::new(FixedHealth(HealthRecord::from_value(record)?))),
            Some(_) => return Err(wrong("health is neither a record nor the word external")),
        };
        let limits = match present(options, "limits") {
            None => None,
            Some(Value::Object(overrides)) => Some(overrides),
            Some(_) => return Err(wrong("limits is no object").with_reason("limits")),
        };
        let budget = match present(options, "budgetUsd") {
            None => None,
            Some(value) => Some(
                Nanos::from_value(value, Round::Down)
                    .ok_or_else(|| wrong("budgetUsd is no number from 0 to 9000000000"))?,
            ),
        };
        let intake_deadline_at = match present(options, "intakeDeadlineAt") {
            None => None,
            Some(value) => Some(
                value
                    .as_number()
                    .and_then(crate::json::Number::as_u64)
                    .ok_or_else(|| wrong("intakeDeadlineAt is no time in milliseconds"))?,
            ),
        };
        Ok(ExecutionOptions {
            root: root.into(),
            task_id: text(options, "taskId")?,
            provider: text(options, "provider")?,
            account: text(options, "account")?,
            capabilities: Capabilities::Record(Box::new(capability)),
            adapter,
            process_host,
            budget,
            limits: Limits::with_overrides(limits)?,
            secrets: secrets(options)?,
            health,
            intake_deadline_at,
            sandbox: is_required(options)?
                .then(|| Arc::new(SystemSandbox::default()) as Arc<dyn SandboxCheck>),
            jitter: None,
            faults,
        })
    }

    /// The capability record, after its adapter has been judged by it.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for an empty name, a record of another provider, or an adapter of the other location;
    /// `EXECUTION_DEPENDENCY` for a record of another registry.
    pub(super) fn checked_capability(&self) -> Result<Capability> {
        for (name, text) in
            [("taskId", &self.task_id), ("provider", &self.provider), ("account", &self.account)]
        {
            if text.is_empty() {
                return Err(wrong(&format!("{name} is empty")));
            }
        }
        let capability = match &self.capabilities {
            Capabilities::Record(record) => (**record).clone(),
            Capabilities::Registered { record, registry } => {
                registry.assert_owns(record)?;
                (*record.capability()).clone()
            }
        };
        match (&self.adapter, capability.location) {
            (Adapter::Transport(_), Location::Remote) => Ok(capability),
            (Adapter::Runner(_), Location::Local) => self.with_profile(capability),
            (Adapter::Transport(_), Location::Local) => Err(wrong("a transport does not fit a local record")),
            (Adapter::Runner(_), Location::Remote) => Err(wrong("a runner does not fit a remote record")),
        }
    }

    /// The record of a local provider with what the built-in runner's profile brings for its preparation (EX-CAP-27). A record
    /// whose boundary the profile does not enforce stays as it is, and nothing is prepared by it.
    fn with_profile(&self, capability: Capability) -> Result<Capability> {
        let known = self.process_host.as_ref().and_then(|host| host.preparation(&capability.provider));
        let declared = capability.preparation.as_ref();
        match known.filter(|known| declared.is_some_and(|declared| declared.boundary == known.boundary)) {
            None => Ok(capability),
            Some(known) => RunnerParts {
                render: true,
                configure: false,
                minimum_version: Some(known.minimum_version.clone()),
            }
            .complete(&capability),
        }
    }

    /// Whether this machine runs the work.
    #[must_use]
    pub fn is_local(&self) -> bool {
        matches!(self.adapter, Adapter::Runner(_))
    }

    /// Whether the transport has a method.
    #[must_use]
    pub fn has(&self, method: Method) -> bool {
        matches!(&self.adapter, Adapter::Transport(methods) if methods.has(method))
    }
}

fn adapter(options: &Object) -> Result<Adapter> {
    let runner = present(options, "runner").filter(|runner| runner.as_bool() != Some(false));
    match (present(options, "transport"), runner) {
        (Some(transport), None) => {
            let names = transport.get("methods").and_then(Value::as_array);
            let names = names.ok_or_else(|| wrong("transport has no list of methods"))?;
            let words = names.iter().map(|name| name.as_str().unwrap_or_default());
            Ok(Adapter::Transport(Methods::from_words(words)?))
        }
        (None, Some(_)) => Ok(Adapter::Runner(RunnerParts::default())),
        (Some(_), Some(_)) => Err(wrong("both transport and runner are given")),
        (None, None) => Err(wrong("neither transport nor runner is given")),
    }
}

fn is_required(options: &Object) -> Result<bool> {
    match present(options, "sandboxRequired") {
        None => Ok(false),
        Some(Value::Bool(required)) => Ok(*required),
        Some(_) => Err(wrong("sandboxRequired is neither true nor false")),
    }
}

/// A root by its path from the top: a relative one would become another task's, or another store's, when the process changes its
/// directory.
///
/// # Errors
/// `EXECUTION_INPUT` for the empty path, and where the process has no directory.
pub(super) fn rooted(root: &Path, host: &Host) -> Result<PathBuf> {
    host.files.absolute(root).map_err(|error| wrong("the root has no path, option=`root`").with_source(error))
}

/// No secret is skipped in silence (EX-RED-23).
fn secrets(options: &Object) -> Result<Secrets> {
    let Some(given) = present(options, "secrets") else { return Ok(Secrets::none()) };
    let list = given.as_array().ok_or_else(|| wrong("secrets is no list").with_reason("secret"))?;
    let mut texts = Vec::with_capacity(list.len());
    for (position, secret) in list.iter().enumerate() {
        texts.push(secret.as_str().ok_or_else(|| Secrets::not_a_string(position))?);
    }
    Secrets::strict(texts)
}

fn present<'a>(options: &'a Object, key: &str) -> Option<&'a Value> {
    options.get(key).filter(|value| !value.is_null())
}

fn text(options: &Object, key: &str) -> Result<String> {
    let text = options.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| wrong(&format!("{key} is no text, or empty")))
}

fn wrong(message: &str) -> Error {
    Error::new(Code::ExecutionInput, message)
}
