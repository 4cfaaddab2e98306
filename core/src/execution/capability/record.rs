//! The capability record of one provider (EX-CAP-02): its fields, and their JSON form.

use super::super::contract::Promised;
use super::members::{Members, list, written};
use crate::error::Result;
use crate::json::{Object, Value};
use crate::words::words;

/// The only version of a preparation that this library knows how to use (EX-CAP-16).
pub const PREPARATION_VERSION: u64 = 1;

words! {
    /// Who runs the work.
    Location {
        /// A process of this machine.
        Local = "local",
        /// The provider.
        Remote = "remote",
    }
    /// How a model is chosen (EX-CAP-09).
    Models {
        /// By the harness's own settings: naming one is refused.
        Native = "native",
        /// By the caller, who has to name one.
        Required = "required",
        /// By the provider: naming one is refused.
        Refused = "refused",
    }
    /// How work goes on after a turn (EX-CAP-15).
    Continuation {
        /// In the same session.
        Native = "native",
        /// By a new submit, once the earlier run is settled.
        Successor = "successor",
        /// Not at all.
        None = "none",
    }
    /// What an inspection can show.
    Observability {
        /// Events and states.
        Events = "events",
        /// States only.
        States = "states",
        /// Nothing.
        None = "none",
    }
}

/// What one provider can do. It is data: two providers with the same record are treated alike.
///
/// Members that the table does not name stay, here and in every object inside, and come back with
/// [`Capability::to_value`] behind the known ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// The provider's public name, not empty.
    pub provider: String,
    /// The kind of the transport, such as `cli` or `managed-rest`.
    pub transport: String,
    /// Who runs the work.
    pub location: Location,
    /// Whether a new dispatch may be made. It says that an adapter can be chosen and nothing more (EX-CAP-13).
    pub new_dispatch: NewDispatch,
    /// What a dispatch authenticates by, in names.
    pub authentication: Authentication,
    /// The environments that can be chosen.
    pub environments: Environments,
    /// How a model is chosen.
    pub models: Models,
    /// The permission policies.
    pub policies: Policies,
    /// How intake is prepared; none where it cannot be.
    pub preparation: Option<Preparation>,
    /// How work goes on after a turn.
    pub continuation: Continuation,
    /// What an inspection can show.
    pub observability: Observability,
    /// Whether a run can be cancelled. A stop is accepted without it (EX-CAP-19).
    pub cancel: bool,
    /// Whether a turn can be interrupted.
    pub interrupt: bool,
    /// What is known of dollars.
    pub cost: Cost,
    /// Evidence for people. No check reads it.
    pub qualification: Value,
    /// Members that the table does not name.
    pub others: Object,
}

/// Whether a new dispatch may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDispatch {
    /// Whether it may.
    pub available: bool,
    /// Why not, for people.
    pub reason: Option<String>,
    /// Members that the table does not name.
    pub others: Object,
}

/// What a dispatch authenticates by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authentication {
    /// The scheme, for people.
    pub scheme: String,
    /// Names of secrets, such as those of environment variables, and never a value (EX-CAP-29).
    pub secret_names: Vec<String>,
    /// Members that the table does not name.
    pub others: Object,
}

/// The environments that can be chosen (EX-CAP-10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environments {
    /// Whether one has to be named.
    pub required: bool,
    /// Those that may be; none means any name that is not empty.
    pub allowed: Option<Vec<String>>,
    /// Members that the table does not name.
    pub others: Object,
}

/// The permission policies (EX-CAP-08).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies {
    /// Whether one has to be named.
    pub required: bool,
    /// Those that may be.
    pub allowed: Vec<String>,
    /// Members that the table does not name.
    pub others: Object,
}

/// How intake is prepared (EX-PRE).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preparation {
    /// The version of its form: [`PREPARATION_VERSION`], or intake is refused (EX-CAP-16).
    pub version: u64,
    /// What the adapter enforces, by the word that a reply to `prepare` has to repeat (EX-PRE-12).
    pub boundary: String,
    /// Who enforces it, likewise.
    pub authority: String,
    /// The environment that a prepared turn gets.
    pub environment: Value,
    /// Whether the adapter builds the enforced command line (EX-CAP-27).
    pub render: bool,
    /// Whether the adapter configures the harness first, which can be aborted.
    pub configure: bool,
    /// The oldest version of the harness that enforces it.
    pub minimum_version: Option<String>,
    /// Members that the table does not name.
    pub others: Object,
}

/// What is known of dollars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Whether the provider reports them. What it does not report is unknown and not 0 (EX-CAP-20).
    pub reports: bool,
    /// Whether the provider enforces a cap (EX-CAP-22).
    pub hard_cap: bool,
    /// Members that the table does not name.
    pub others: Object,
}

impl Capability {
    /// What of it a transport needs a method for.
    #[must_use]
    pub fn promised(&self) -> Promised {
        let continuation = self.continuation == Continuation::Native;
        Promised { preparation: self.preparation.is_some(), continuation, cancel: self.cancel }
    }

    /// The record that a JSON object tells. `preparation`, `newDispatch.reason` and `qualification` may be left out and
    /// are null then; everything else of the table has to be there.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` naming the first member that is missing, of another type, empty, or no word of its table. The
    /// message shows no value.
    pub fn from_value(value: Value) -> Result<Capability> {
        let mut members = Members::of_record(value)?;
        Ok(Capability {
            provider: members.text("provider")?,
            transport: members.text("transport")?,
            location: members.word("location", Location::ALL, Location::word)?,
            new_dispatch: NewDispatch::read(members.object("newDispatch")?)?,
            authentication: Authentication::read(members.object("authentication")?)?,
            environments: Environments::read(members.object("environments")?)?,
            models: members.word("models", Models::ALL, Models::word)?,
            policies: Policies::read(members.object("policies")?)?,
            preparation: members.optional_object("preparation")?.map(Preparation::read).transpose()?,
            continuation: members.word("continuation", Continuation::ALL, Continuation::word)?,
            observability: members.word("observability", Observability::ALL, Observability::word)?,
            cancel: members.flag("cancel")?,
            interrupt: members.flag("interrupt")?,
            cost: Cost::read(members.object("cost")?)?,
            qualification: members.any("qualification"),
            others: members.others(),
        })
    }

    /// The record as a JSON object. [`Capability::from_value`] of it gives an equal record.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let known = [
            ("provider", Value::from(self.provider.as_str())),
            ("transport", Value::from(self.transport.as_str())),
            ("location", Value::from(self.location.word())),
            ("newDispatch", self.new_dispatch.to_value()),
            ("authentication", self.authentication.to_value()),
            ("environments", self.environments.to_value()),
            ("models", Value::from(self.models.word())),
            ("policies", self.policies.to_value()),
            ("preparation", Value::from(self.preparation.as_ref().map(Preparation::to_value))),
            ("continuation", Value::from(self.continuation.word())),
            ("observability", Value::from(self.observability.word())),
            ("cancel", Value::from(self.cancel)),
            ("interrupt", Value::from(self.interrupt)),
            ("cost", self.cost.to_value()),
            ("qualification", self.qualification.clone()),
        ];
        written(known, &self.others)
    }
}

impl NewDispatch {
    fn read(mut members: Members) -> Result<Self> {
        let (available, reason) = (members.flag("available")?, members.optional_text("reason")?);
        Ok(NewDispatch { available, reason, others: members.others() })
    }

    fn to_value(&self) -> Value {
        let known = [("available", self.available.into()), ("reason", Value::from(self.reason.as_deref()))];
        written(known, &self.others)
    }
}

impl Authentication {
    fn read(mut members: Members) -> Result<Self> {
        let (scheme, secret_names) = (members.text("scheme")?, members.texts("secretNames")?);
        Ok(Authentication { scheme, secret_names, others: members.others() })
    }

    fn to_value(&self) -> Value {
        let known = [("scheme", self.scheme.as_str().into()), ("secretNames", list(&self.secret_names))];
        written(known, &self.others)
    }
}

impl Environments {
    fn read(mut members: Members) -> Result<Self> {
        let (required, allowed) = (members.flag("required")?, members.nullable_texts("allowed")?);
        Ok(Environments { required, allowed, others: members.others() })
    }

    fn to_value(&self) -> Value {
        let allowed = Value::from(self.allowed.as_deref().map(list));
        written([("required", self.required.into()), ("allowed", allowed)], &self.others)
    }
}

impl Policies {
    fn read(mut members: Members) -> Result<Self> {
        let (required, allowed) = (members.flag("required")?, members.texts("allowed")?);
        Ok(Policies { required, allowed, others: members.others() })
    }

    fn to_value(&self) -> Value {
        written([("required", self.required.into()), ("allowed", list(&self.allowed))], &self.others)
    }
}

impl Preparation {
    fn read(mut members: Members) -> Result<Self> {
        Ok(Preparation {
            version: members.unsigned("version")?,
            boundary: members.text("boundary")?,
            authority: members.text("authority")?,
            environment: members.any("environment"),
            render: members.optional_flag("render")?.unwrap_or_default(),
            configure: members.optional_flag("configure")?.unwrap_or_default(),
            minimum_version: members.optional_text("minimumVersion")?,
            others: members.others(),
        })
    }

    fn to_value(&self) -> Value {
        let mut known = vec![
            ("version", Value::from(self.version)),
            ("boundary", Value::from(self.boundary.as_str())),
            ("authority", Value::from(self.authority.as_str())),
            ("environment", self.environment.clone()),
        ];
        known.extend(self.render.then_some(("render", Value::from(true))));
        known.extend(self.configure.then_some(("configure", Value::from(true))));
        known.extend(self.minimum_version.as_deref().map(|version| ("minimumVersion", Value::from(version))));
        written(known, &self.others)
    }
}

impl Cost {
    fn read(mut members: Members) -> Result<Self> {
        let (reports, hard_cap) = (members.flag("reports")?, members.flag("hardCap")?);
        Ok(Cost { reports, hard_cap, others: members.others() })
    }

    fn to_value(&self) -> Value {
        written([("reports", self.reports.into()), ("hardCap", self.hard_cap.into())], &self.others)
    }
}
