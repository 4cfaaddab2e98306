//! The registry: one record for each provider name, which every check reads (EX-CAP-01).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::adapter::Adapter;
use super::check::Choice;
use super::record::Capability;
use super::shipped;
use crate::error::{Code, Error, Result};
use crate::json::{Object, Value};

/// Why a shipped record without an adapter is not available (EX-CAP-06).
const NO_ADAPTER: &str = "no adapter";

/// The records of all providers, those that are shipped included. A clone is the same registry, and what is registered
/// through one is seen through all. Records are never removed. Nothing of it is on disk.
#[derive(Clone, Debug)]
pub struct ExecutionRegistry(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Tells registries of a process apart, also in messages.
    serial: u64,
    /// In the order in which they came. Its length never shrinks, so that a position stays valid.
    entries: RwLock<Vec<Entry>>,
}

#[derive(Clone, Debug)]
struct Entry {
    /// What the record says once an adapter is there.
    record: Arc<Capability>,
    /// What it says now.
    shown: Arc<Capability>,
    adapter: Option<Arc<Adapter>>,
}

/// A record in its registry. It reads the registry each time, so that it never says what that does not.
#[derive(Clone, Debug)]
pub struct Registered {
    registry: ExecutionRegistry,
    at: usize,
}

impl ExecutionRegistry {
    /// A registry of its own with the shipped records (EX-CAP-03), none of which has an adapter yet.
    ///
    /// # Errors
    /// None that a released library gives: a shipped record that is malformed, as [`Capability::from_value`] says.
    pub fn new() -> Result<Self> {
        static SERIAL: AtomicU64 = AtomicU64::new(1);
        let entries = shipped::records()?.into_iter().map(Entry::template).collect();
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        Ok(ExecutionRegistry(Arc::new(Shared { serial, entries: RwLock::new(entries) })))
    }

    /// Adds a record, and the adapter that comes with it. `secrets` are the values that are known to be secret; empty ones
    /// are left out, and none is kept.
    ///
    /// # Errors
    /// The registry is as it was then.
    /// `EXECUTION_CAPABILITY` for a name that is registered (EX-CAP-05); with the reason `unavailable` for an available
    /// record without an adapter (EX-CAP-06); with the reason `preparation` for a local preparation that lacks a part
    /// (EX-CAP-27); with the reason `secret` for a record that holds one of the secrets (EX-CAP-29), naming the member.
    /// `EXECUTION_INPUT` for an adapter that does not fit the record.
    pub fn register(
        &self,
        record: Capability,
        adapter: Option<Adapter>,
        secrets: &[&str],
    ) -> Result<Registered> {
        refuse_secrets(&record, secrets)?;
        let mut entries = self.0.entries.write().unwrap_or_else(PoisonError::into_inner);
        if entries.iter().any(|entry| entry.record.provider == record.provider) {
            return Err(refuse("a provider is registered twice", &record.provider));
        }
        if adapter.is_none() && record.new_dispatch.available {
            let message =
                "a record is available without a transport or runner, field=`newDispatch.available`";
            return Err(refuse(message, &record.provider).with_reason("unavailable"));
        }
        let shown = adapter.as_ref().map_or(Ok(record.clone()), |adapter| adapter.complete(&record))?;
        entries.push(Entry {
            record: Arc::new(record),
            shown: Arc::new(shown),
            adapter: adapter.map(Arc::new),
        });
        Ok(Registered { registry: self.clone(), at: entries.len() - 1 })
    }

    /// Gives an adapter to a record that has none, such as a shipped one (EX-CAP-06). The record then says what it says
    /// of itself, and what the adapter brings.
    ///
    /// # Errors
    /// As [`ExecutionRegistry::register`]; `EXECUTION_CAPABILITY` with the reason `unavailable` for a name that is not
    /// registered, and without one for a record that has an adapter.
    pub fn attach(&self, provider: &str, adapter: Adapter, secrets: &[&str]) -> Result<Registered> {
        let found = self.capability_for(provider)?;
        let mut entries = self.0.entries.write().unwrap_or_else(PoisonError::into_inner);
        let entry = &mut entries[found.at];
        if entry.adapter.is_some() {
            return Err(refuse("a record has its adapter already", provider));
        }
        let shown = adapter.complete(&entry.record)?;
        refuse_secrets(&shown, secrets)?;
        (entry.shown, entry.adapter) = (Arc::new(shown), Some(Arc::new(adapter)));
        drop(entries);
        Ok(found)
    }

    /// The record of a provider, by its exact name: `capabilitiesFor`.
    ///
    /// # Errors
    /// `EXECUTION_CAPABILITY` with the reason `unavailable`; the message tells the names that are registered.
    pub fn capability_for(&self, provider: &str) -> Result<Registered> {
        let entries = self.0.entries.read().unwrap_or_else(PoisonError::into_inner);
        let found = entries.iter().position(|entry| entry.record.provider == provider);
        found.map(|at| Registered { registry: self.clone(), at }).ok_or_else(|| {
            let known: Vec<_> = entries.iter().map(|entry| entry.record.provider.as_str()).collect();
            let message =
                format!("no such provider is registered, field=`provider` allowed=`{}`", known.join(" "));
            Error::new(Code::ExecutionCapability, message).with_reason("unavailable")
        })
    }

    /// The record of a run that exists, by the provider that was saved with it, and the transport kind where one was
    /// saved (EX-BND-19). No default is consulted.
    ///
    /// # Errors
    /// As [`ExecutionRegistry::capability_for`]; `EXECUTION_DEPENDENCY` where the provider's record is of another
    /// transport kind than the run: the run then waits for the package that made it.
    pub fn capability_of_run(&self, provider: &str, transport: Option<&str>) -> Result<Registered> {
        let found = self.capability_for(provider)?;
        let registered = &found.capability().transport;
        if transport.is_some_and(|saved| saved != registered) {
            let message = format!(
                "a run is of another transport kind than its provider's record, provider=`{provider}` \
                 registered=`{registered}`"
            );
            return Err(Error::new(Code::ExecutionDependency, message));
        }
        Ok(found)
    }

    /// All records as they stand now, as deep copies: changing one changes no check (EX-CAP-24). They hold names of
    /// secrets and no values. Those that are shipped come first, then the others in the order in which they came.
    #[must_use]
    pub fn capabilities(&self) -> Vec<Capability> {
        let entries = self.0.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.iter().map(|entry| Capability::clone(&entry.shown)).collect()
    }

    /// Whether both are one registry.
    #[must_use]
    pub fn is_same(&self, other: &ExecutionRegistry) -> bool {
        self.0.serial == other.0.serial
    }

    /// Whether a record is one of this registry's (EX-CAP-25).
    ///
    /// # Errors
    /// `EXECUTION_DEPENDENCY`.
    pub fn assert_owns(&self, record: &Registered) -> Result<()> {
        if self.is_same(&record.registry) {
            return Ok(());
        }
        let message = format!(
            "a capability record is another registry's, registry=`{}` record=`{}`",
            self.0.serial, record.registry.0.serial
        );
        Err(Error::new(Code::ExecutionDependency, message))
    }

    fn entry(&self, at: usize) -> Entry {
        self.0.entries.read().unwrap_or_else(PoisonError::into_inner)[at].clone()
    }
}

impl Entry {
    /// A shipped record before it has an adapter.
    fn template(record: Capability) -> Self {
        let mut shown = record.clone();
        shown.new_dispatch.available = false;
        shown.new_dispatch.reason = Some(NO_ADAPTER.to_owned());
        Entry { record: Arc::new(record), shown: Arc::new(shown), adapter: None }
    }
}

impl Registered {
    /// The record as it stands now.
    #[must_use]
    pub fn capability(&self) -> Arc<Capability> {
        self.registry.entry(self.at).shown
    }

    /// The adapter, where one came.
    #[must_use]
    pub fn adapter(&self) -> Option<Arc<Adapter>> {
        self.registry.entry(self.at).adapter
    }

    /// The registry that it is in.
    #[must_use]
    pub fn registry(&self) -> &ExecutionRegistry {
        &self.registry
    }

    /// [`Capability::check`] by the record as it stands now.
    ///
    /// # Errors
    /// As that.
    pub fn check(&self, choice: &Choice) -> Result<()> {
        self.capability().check(choice)
    }
}

/// EX-CAP-29, over the whole record: a value is no less a secret under a member that nobody knows.
fn refuse_secrets(record: &Capability, secrets: &[&str]) -> Result<()> {
    let secrets: Vec<_> = secrets.iter().copied().filter(|secret| !secret.is_empty()).collect();
    let whole = record.to_value();
    let mut members = whole.as_object().into_iter().flat_map(Object::iter);
    let Some((name, _)) = members.find(|(name, value)| secrets.contains(name) || holds(value, &secrets))
    else {
        return Ok(());
    };
    // The name of a member that the table does not have may be the secret itself.
    let name = if record.others.get(name).is_some() { "one of no table" } else { name };
    let message = format!("a capability record holds a supplied secret, member=`{name}`");
    Err(Error::new(Code::ExecutionCapability, message).with_reason("secret"))
}

fn holds(value: &Value, secrets: &[&str]) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::Number(number) => secrets.contains(&number.as_str()),
        Value::String(text) => secrets.contains(&text.as_str()),
        Value::Array(elements) => elements.iter().any(|element| holds(element, secrets)),
        Value::Object(members) => {
            members.iter().any(|(name, value)| secrets.contains(&name) || holds(value, secrets))
        }
    }
}

fn refuse(message: &str, provider: &str) -> Error {
    Error::new(Code::ExecutionCapability, format!("{message} provider=`{provider}`"))
}
