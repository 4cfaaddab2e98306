//! What adapter comes with a record, as data: the library calls neither a transport nor a function of a runner.

use super::super::contract::{Method, Methods};
use super::record::{Capability, Location};
use crate::error::{Code, Error, Result};
use crate::json::{Object, Value};
use crate::local_runner::profiles::version;

/// What comes with a record so that it can be dispatched to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adapter {
    /// A remote transport, by the methods that it has.
    Transport(Methods),
    /// The local runner.
    Runner(RunnerParts),
}

/// What a local adapter brings for preparation (EX-CAP-27).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunnerParts {
    /// Whether it has `render`, which builds the enforced command line.
    pub render: bool,
    /// Whether it has `configure`, which can be aborted.
    pub configure: bool,
    /// The oldest version of the harness that enforces the preparation; it holds a number.
    pub minimum_version: Option<String>,
}

impl Adapter {
    /// Reads an adapter in its JSON form: `{"methods": [names]}` of a transport, or `{"render", "configure", "minimumVersion"}`
    /// of a runner, each of which may be missing.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for anything else, and for a method that is none.
    pub fn from_object(adapter: &Object) -> Result<Self> {
        let wrong = |member: &str| {
            let message = format!("an adapter has a malformed member, argument=`{member}`");
            Error::new(Code::ExecutionInput, message)
        };
        if let Some(methods) = adapter.get("methods") {
            let words = methods.as_array().ok_or_else(|| wrong("methods"))?.iter();
            return Ok(Adapter::Transport(Methods::from_words(
                words.map(|name| name.as_str().unwrap_or_default()),
            )?));
        }
        let flag = |name| match adapter.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(given) => given.as_bool().ok_or_else(|| wrong(name)),
        };
        let minimum_version = match adapter.get("minimumVersion") {
            None | Some(Value::Null) => None,
            Some(given) => Some(given.as_str().ok_or_else(|| wrong("minimumVersion"))?.to_owned()),
        };
        Ok(Adapter::Runner(RunnerParts {
            render: flag("render")?,
            configure: flag("configure")?,
            minimum_version,
        }))
    }

    /// The record with what this adapter brings.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for an adapter of the other location (EX-BND-05), and for a transport that lacks a method which
    /// the record promises; `EXECUTION_CAPABILITY` with the reason `preparation` where a local preparation lacks a
    /// mandatory part (EX-CAP-27), or is told two minimum versions.
    pub(super) fn complete(&self, record: &Capability) -> Result<Capability> {
        match (self, record.location) {
            (Adapter::Transport(methods), Location::Remote) => {
                promised(record, *methods)?;
                Ok(record.clone())
            }
            (Adapter::Runner(parts), Location::Local) => parts.complete(record),
            (Adapter::Transport(_), Location::Local) => Err(misplaced(record, "a transport", "local")),
            (Adapter::Runner(_), Location::Remote) => Err(misplaced(record, "a runner", "remote")),
        }
    }
}

impl RunnerParts {
    /// The record with these parts, where it has a preparation.
    ///
    /// # Errors
    /// As [`Adapter::complete`].
    pub(in crate::execution) fn complete(&self, record: &Capability) -> Result<Capability> {
        let mut record = record.clone();
        let provider = record.provider.clone();
        let Some(preparation) = record.preparation.as_mut() else { return Ok(record) };
        let refuse = |message: &str| {
            let message = format!("{message} provider=`{provider}`");
            Error::new(Code::ExecutionCapability, message).with_reason("preparation")
        };
        preparation.render |= self.render;
        preparation.configure |= self.configure;
        if !preparation.render {
            return Err(refuse("a local preparation lacks a mandatory part, field=`preparation.render`"));
        }
        let brought = self.minimum_version.clone().filter(|version| !version.is_empty());
        match (&preparation.minimum_version, brought) {
            (None, None) => {
                Err(refuse("a local preparation lacks a mandatory part, field=`preparation.minimumVersion`"))
            }
            (Some(said), Some(brought)) if *said != brought => {
                Err(refuse("record and adapter tell two versions, field=`preparation.minimumVersion`"))
            }
            (_, brought) => {
                preparation.minimum_version = brought.or(preparation.minimum_version.take());
                // No harness would ever be new enough.
                if preparation.minimum_version.as_deref().and_then(version::numbers).is_none() {
                    return Err(refuse("a version holds no number, field=`preparation.minimumVersion`"));
                }
                Ok(record)
            }
        }
    }
}

/// A control or continuation that the record does not have is never asked for, so that its method may be missing.
fn promised(record: &Capability, methods: Methods) -> Result<()> {
    let promised = record.promised();
    let lacking = Method::ALL.iter().filter(|method| method.is_needed(promised) && !methods.has(**method));
    let missing: Vec<_> = lacking.map(|method| method.word()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!(
        "a transport lacks methods, argument=`transport` missing=`{}` provider=`{}`",
        missing.join(" "),
        record.provider
    );
    Err(Error::new(Code::ExecutionInput, message))
}

fn misplaced(record: &Capability, what: &str, location: &str) -> Error {
    let message =
        format!("{what} came with a {location} record, field=`location` provider=`{}`", record.provider);
    Error::new(Code::ExecutionInput, message)
}
