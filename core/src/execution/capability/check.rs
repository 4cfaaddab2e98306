//! The checks of a choice against a record, in their one order (EX-CAP-28): pure, and before anything is saved.

use super::record::{Capability, Continuation, Models, PREPARATION_VERSION};
use crate::error::{Code, Error, Result};
use crate::json::Value;
use crate::words::words;

words! {
    /// What a dispatch is for.
    RunKind {
        /// Work on the task itself.
        Implementation = "implementation",
        /// Drafting, clarifying or repairing what the task is (EX-PRE).
        Intake = "intake",
    }
    /// What is wanted of a provider.
    Action {
        /// A new run.
        Submit = "submit",
        /// Another turn in the session of a run.
        Continue = "continue",
        /// A receipt for intake.
        Prepare = "prepare",
        /// The end of a turn, with its session kept.
        Interrupt = "interrupt",
    }
}

/// What a caller wants of a provider. Values are null where nothing was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What is wanted.
    pub action: Action,
    /// What it is for. Only a submit is judged by it.
    pub kind: RunKind,
    /// The permission policy, for a submit or a continue.
    pub policy: Value,
    /// The model.
    pub model: Value,
    /// The environment, by its name.
    pub environment: Value,
    /// The session that is recorded for the run, for an interrupt.
    pub session: Option<String>,
    /// Whether the caller relies on a cap that the provider enforces.
    pub hard_cap_required: bool,
    /// The cap in US dollars.
    pub hard_cap_usd: Value,
}

impl Choice {
    /// Nothing chosen but what is wanted, for implementation.
    #[must_use]
    pub fn new(action: Action) -> Self {
        Choice {
            action,
            kind: RunKind::Implementation,
            policy: Value::Null,
            model: Value::Null,
            environment: Value::Null,
            session: None,
            hard_cap_required: false,
            hard_cap_usd: Value::Null,
        }
    }

    fn is_dispatch(&self) -> bool {
        matches!(self.action, Action::Submit | Action::Continue)
    }
}

impl Capability {
    /// Whether this provider supports a choice. Nothing else is tried where it does not, and nothing of the choice is
    /// changed (EX-CAP-11).
    ///
    /// # Errors
    /// `EXECUTION_CAPABILITY` for the first rule that is broken, in this order, with these reasons:
    ///
    /// - `unavailable`: a prepare, submit or continue without an available dispatch (EX-CAP-12);
    /// - `preparation`: a prepare, or a submit of intake, without a preparation of version 1 (EX-CAP-16);
    /// - `policy`, `model`, `environment`: EX-CAP-08 to EX-CAP-10;
    /// - `continuation`: a continue without `native` (EX-CAP-15);
    /// - `interrupt`: EX-CAP-18;
    /// - `hard-cap`: a cap that is required and not enforced (EX-CAP-21), or not given (EX-COST-22).
    ///
    /// The message names the field and what is allowed, and never what was chosen.
    pub fn check(&self, choice: &Choice) -> Result<()> {
        self.check_availability(choice)?;
        self.check_preparation(choice)?;
        self.check_policy(choice)?;
        self.check_model(choice)?;
        self.check_environment(choice)?;
        self.check_continuation(choice)?;
        self.check_interrupt(choice)?;
        self.check_hard_cap(choice)
    }

    fn check_availability(&self, choice: &Choice) -> Result<()> {
        if choice.action == Action::Interrupt || self.new_dispatch.available {
            return Ok(());
        }
        let why = self.new_dispatch.reason.as_deref().unwrap_or("none given");
        Err(self
            .refuse("unavailable", format!("no new dispatch can be made, field=`newDispatch` why=`{why}`")))
    }

    fn check_preparation(&self, choice: &Choice) -> Result<()> {
        let needed = match choice.action {
            Action::Prepare => true,
            Action::Submit => choice.kind == RunKind::Intake,
            Action::Continue | Action::Interrupt => false,
        };
        let is_known = self.preparation.as_ref().is_some_and(|known| known.version == PREPARATION_VERSION);
        if !needed || is_known {
            return Ok(());
        }
        let message =
            format!("intake cannot be prepared, field=`preparation.version` allowed=`{PREPARATION_VERSION}`");
        Err(self.refuse("preparation", message))
    }

    /// A record that requires no policy and lists none says nothing of policies, and refuses none.
    fn check_policy(&self, choice: &Choice) -> Result<()> {
        let policies = &self.policies;
        let is_fit = match &choice.policy {
            Value::Null => !policies.required,
            Value::String(policy) if policies.allowed.contains(policy) => true,
            _ => !policies.required && policies.allowed.is_empty(),
        };
        if !choice.is_dispatch() || is_fit {
            return Ok(());
        }
        Err(self.not_allowed("policy", &policies.allowed.join(" ")))
    }

    fn check_model(&self, choice: &Choice) -> Result<()> {
        let is_named = match &choice.model {
            Value::Null => false,
            Value::String(model) => !model.is_empty(),
            // What is no name can be no model where one is required, and is one too many where none may be.
            _ => self.models != Models::Required,
        };
        if choice.action == Action::Interrupt || is_named == (self.models == Models::Required) {
            return Ok(());
        }
        Err(self.not_allowed("model", if is_named { "null" } else { "any nonempty name" }))
    }

    /// A prepare may be without one: what an intake turn gets is the grant (EX-PRE-01).
    fn check_environment(&self, choice: &Choice) -> Result<()> {
        let environments = &self.environments;
        let is_fit = match (&choice.environment, &environments.allowed) {
            (Value::Null, _) => !environments.required || choice.action == Action::Prepare,
            (Value::String(name), Some(allowed)) => allowed.contains(name),
            (_, Some(_)) => false,
            (Value::String(name), None) => !name.is_empty(),
            (_, None) => true,
        };
        if choice.action == Action::Interrupt || is_fit {
            return Ok(());
        }
        let allowed =
            environments.allowed.as_ref().map_or("any nonempty name".to_owned(), |names| names.join(" "));
        Err(self.not_allowed("environment", &allowed))
    }

    fn check_continuation(&self, choice: &Choice) -> Result<()> {
        if choice.action != Action::Continue || self.continuation == Continuation::Native {
            return Ok(());
        }
        let has = self.continuation.word();
        let message = format!("a run cannot be continued, field=`continuation` has=`{has}` needed=`native`");
        Err(self.refuse("continuation", message))
    }

    fn check_interrupt(&self, choice: &Choice) -> Result<()> {
        let missing = if choice.action != Action::Interrupt {
            None
        } else if !self.interrupt {
            Some("field=`interrupt` needed=`true`")
        } else if self.continuation != Continuation::Native {
            Some("field=`continuation` needed=`native`")
        } else if choice.session.as_deref().is_none_or(str::is_empty) {
            Some("field=`sessionId` needed=`the recorded session`")
        } else {
            None
        };
        missing.map_or(Ok(()), |what| {
            Err(self.refuse("interrupt", format!("a turn cannot be interrupted, {what}")))
        })
    }

    fn check_hard_cap(&self, choice: &Choice) -> Result<()> {
        if !choice.is_dispatch() || !choice.hard_cap_required {
            return Ok(());
        }
        let missing = if !self.cost.hard_cap {
            "no cap is enforced, field=`cost.hardCap` needed=`true`"
        } else if choice.hard_cap_usd.is_null() {
            "a required cap is not given, field=`hardCapUsd` needed=`an amount`"
        } else {
            return Ok(());
        };
        Err(self.refuse("hard-cap", missing.to_owned()))
    }

    fn not_allowed(&self, field: &'static str, allowed: &str) -> Error {
        self.refuse(
            field,
            format!("the choice is missing or not allowed, field=`{field}` allowed=`{allowed}`"),
        )
    }

    fn refuse(&self, reason: &'static str, message: String) -> Error {
        let message = format!("{message} provider=`{}`", self.provider);
        Error::new(Code::ExecutionCapability, message).with_reason(reason)
    }
}
