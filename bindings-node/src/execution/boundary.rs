//! A task's boundary for JavaScript.

use std::sync::Arc;
use std::time::Duration;

use gallivant_core::execution::{
    Boundary, Called, Capabilities, ExecutionOptions, Faults, FixedJitter, NoFaults, execution_runner,
};
use gallivant_core::json::{Object, Value};
use gallivant_core::{Code, Error, Host, Result};
use napi_derive::napi;

use super::call::NativeCall;
use super::health::NativeHealthStore;
use super::registry::{NativeRegistered, NativeRegistry};
use crate::answer::Answer;
use crate::barrier;
use crate::host::{NativeHost, Seams};
use crate::job::{Promised, promise};
use crate::slot::Slot;
use crate::waiting::{NativeWait, Patience, Wait};

/// The boundary of one task. Its calls are machines of their own, which go with it.
#[napi]
#[derive(Debug)]
pub struct NativeExecution {
    boundary: Arc<Slot<Boundary>>,
    host: Host,
    lock_wait: Duration,
    limits: String,
}

impl NativeExecution {
    fn over(boundary: Boundary, host: &Host) -> Self {
        NativeExecution {
            lock_wait: Duration::from_millis(boundary.limits().lock_wait_ms),
            limits: boundary.limits().to_value().to_json(),
            boundary: Arc::new(Slot::new("Execution", boundary)),
            host: host.clone(),
        }
    }

    pub(super) fn boundary(&self) -> Result<Arc<Boundary>> {
        self.boundary.get()
    }

    pub(super) fn host(&self) -> Host {
        self.host.clone()
    }
}

#[napi]
impl NativeExecution {
    /// Makes a boundary of the options' JSON text. A registered record stands in the place of the text's own, and is judged by
    /// the registry, which is the record's own where none is given. A health store stands in the place of the text's health.
    #[napi(catch_unwind)]
    pub fn open(
        host: &NativeHost,
        root: String,
        options: String,
        registered: Option<&NativeRegistered>,
        registry: Option<&NativeRegistry>,
        health: Option<&NativeHealthStore>,
    ) -> Answer<NativeExecution> {
        Answer::of(|| {
            let mut options = read(&root, &options, &host.seams, health)?;
            if let Some(registered) = registered {
                let record = registered.registered.clone();
                let registry = registry.map_or_else(|| record.registry().clone(), |it| it.registry.clone());
                options.capabilities = Capabilities::Registered { record, registry };
            }
            Ok(NativeExecution::over(Boundary::new(options, &host.host)?, &host.host))
        })
    }

    /// Makes the boundary of a root as its files have it.
    #[napi(catch_unwind)]
    pub fn existing_async(
        host: &NativeHost,
        root: String,
        options: String,
        registry: &NativeRegistry,
        health: Option<&NativeHealthStore>,
        wait: &NativeWait,
    ) -> Promised<NativeExecution> {
        let options = barrier::run(|| read(&root, &options, &host.seams, health));
        let (host, registry) = (host.host.clone(), registry.registry.clone());
        promise(wait, Patience::Unlimited, move || {
            let options = options?;
            Ok(NativeExecution::over(execution_runner(options, &registry, &host)?, &host))
        })
    }

    /// Begins a wait as long as a call of this boundary waits for the task's lock.
    #[napi(catch_unwind)]
    pub fn begin_wait(&self) -> Answer<NativeWait> {
        Answer::of(|| Ok(NativeWait { wait: Arc::new(Wait::begin(&self.host.clock, self.lock_wait)) }))
    }

    /// A call of a method by its public name, with its input as JSON text, which is to be started.
    #[napi(catch_unwind)]
    pub fn call(&self, method: String, input: String) -> Answer<NativeCall> {
        Answer::of(|| Ok(NativeCall::new(&self.boundary, &self.host.clock, self.lock_wait, method, input)))
    }

    /// The answer of a method that touches no disk, as JSON text.
    #[napi(catch_unwind)]
    pub fn answer_sync(&self, method: String, input: String) -> Answer<String> {
        Answer::of(|| {
            let input = object("input", &input)?;
            match self.boundary.get()?.call(&method, input, Default::default())? {
                Called::Answer(answer) => Ok(answer.to_json()),
                Called::Machine(_) => Err(Error::new(Code::Internal, "a machine is no answer")),
            }
        })
    }

    /// The limits in force, as JSON text.
    #[napi(getter, catch_unwind)]
    pub fn limits(&self) -> String {
        self.limits.clone()
    }

    /// Drops the boundary, and its machines with it, after the steps that are being taken.
    #[napi(catch_unwind)]
    pub fn close_async(&self, wait: &NativeWait) -> Promised<bool> {
        let boundary = Arc::clone(&self.boundary);
        promise(wait, Patience::Unlimited, move || Ok(boundary.close()))
    }
}

fn read(
    root: &str,
    options: &str,
    seams: &Seams,
    health: Option<&NativeHealthStore>,
) -> Result<ExecutionOptions> {
    let faults = seams.faults.clone().unwrap_or_else(|| Arc::new(NoFaults) as Arc<dyn Faults>);
    let mut options = ExecutionOptions::from_object(root, &object("options", options)?, faults)?;
    options.jitter = seams.jitter.map(|jitter| Arc::new(FixedJitter(jitter)) as _);
    if let Some(health) = health {
        options.health = Some(Arc::new(health.store.clone()));
    }
    Ok(options)
}

/// The object that a JSON text is.
pub(super) fn object(name: &str, text: &str) -> Result<Object> {
    let wrong = |message: String| Err(Error::new(Code::ExecutionInput, message));
    match Value::parse(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => wrong(format!("not a JSON object, argument=`{name}`")),
        Err(malformed) => wrong(format!("not JSON, argument=`{name}`: {malformed}")),
    }
}
