//! What providers can do, for JavaScript.

use gallivant_core::Result;
use gallivant_core::execution::capability::{Registered, RunnerParts};
use gallivant_core::execution::contract::Methods;
use gallivant_core::execution::{Adapter, Capability, ExecutionRegistry};
use gallivant_core::json::Value;
use napi_derive::napi;

use super::boundary::object;
use crate::answer::Answer;

/// An adapter: a transport's methods, or what a runner brings.
#[napi(object, object_to_js = false)]
#[derive(Debug)]
pub struct AdapterParts {
    /// The methods of a transport; none for a runner.
    pub methods: Option<Vec<String>>,
    /// Whether a runner has `render`.
    pub render: Option<bool>,
    /// Whether a runner has `configure`.
    pub configure: Option<bool>,
    /// The oldest version of the harness that enforces a preparation.
    pub minimum_version: Option<String>,
}

impl AdapterParts {
    fn adapter(self) -> Result<Adapter> {
        match self.methods {
            Some(methods) => Ok(Adapter::Transport(Methods::from_words(methods)?)),
            None => Ok(Adapter::Runner(RunnerParts {
                render: self.render.unwrap_or_default(),
                configure: self.configure.unwrap_or_default(),
                minimum_version: self.minimum_version,
            })),
        }
    }
}

/// A registry.
#[napi]
#[derive(Debug)]
pub struct NativeRegistry {
    pub(super) registry: ExecutionRegistry,
}

#[napi]
impl NativeRegistry {
    /// A registry of its own with the shipped records.
    #[napi(catch_unwind)]
    pub fn open() -> Answer<NativeRegistry> {
        Answer::of(|| Ok(NativeRegistry { registry: ExecutionRegistry::new()? }))
    }

    /// Adds a record, which is JSON text.
    #[napi(catch_unwind)]
    pub fn register(
        &self,
        record: String,
        adapter: Option<AdapterParts>,
        secrets: Vec<String>,
    ) -> Answer<NativeRegistered> {
        Answer::of(|| {
            let record = Capability::from_value(Value::Object(object("record", &record)?))?;
            let adapter = adapter.map(AdapterParts::adapter).transpose()?;
            let registered = self.registry.register(record, adapter, &texts(&secrets))?;
            Ok(NativeRegistered { registered })
        })
    }

    /// Gives an adapter to a record that has none.
    #[napi(catch_unwind)]
    pub fn attach(
        &self,
        provider: String,
        adapter: AdapterParts,
        secrets: Vec<String>,
    ) -> Answer<NativeRegistered> {
        Answer::of(|| {
            let registered = self.registry.attach(&provider, adapter.adapter()?, &texts(&secrets))?;
            Ok(NativeRegistered { registered })
        })
    }

    /// The record of a provider.
    #[napi(catch_unwind)]
    pub fn capabilities_for(&self, provider: String) -> Answer<NativeRegistered> {
        Answer::of(|| Ok(NativeRegistered { registered: self.registry.capability_for(&provider)? }))
    }

    /// All records, as the text of a JSON array.
    #[napi(catch_unwind)]
    pub fn capabilities(&self) -> Answer<String> {
        Answer::of(|| {
            let records = self.registry.capabilities();
            Ok(Value::Array(records.iter().map(Capability::to_value).collect()).to_json())
        })
    }
}

/// A record in its registry.
#[napi]
#[derive(Debug)]
pub struct NativeRegistered {
    pub(super) registered: Registered,
}

#[napi]
impl NativeRegistered {
    /// The record as it stands now, as JSON text.
    #[napi(catch_unwind)]
    pub fn record(&self) -> Answer<String> {
        Answer::of(|| Ok(self.registered.capability().to_value().to_json()))
    }
}

fn texts(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}
