//! A task of the execution layer on the real disk, under a clock that the test sets, and a provider in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gallivant_core::Host;
use gallivant_core::execution::{
    AbortToken, Boundary, ExecutionOptions, Faults, FixedJitter, Machine, NoFaults,
};
use gallivant_core::json::{Object, Value};
use gallivant_core::testing::{MEMORY_CAPABILITY, ManualClock, MemoryTransport};

use super::locks::{self, BRIEF_WAIT_MS};

/// The wall clock at the start of each test.
pub(crate) const START: u64 = 1_780_000_000_000;

pub(crate) struct Task {
    directory: tempfile::TempDir,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) host: Host,
    pub(crate) transport: Arc<MemoryTransport>,
}

impl Task {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let host = Host { clock: Arc::clone(&clock) as _, ..Host::system() };
        let transport = Arc::new(MemoryTransport::new(&host));
        Task { directory: tempfile::tempdir().expect("a temporary directory"), clock, host, transport }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    pub(crate) fn boundary(&self) -> Boundary {
        self.boundary_with("{}", Arc::new(NoFaults))
    }

    /// A boundary whose options have these members in the place of the usual ones.
    pub(crate) fn boundary_with(&self, changes: &str, faults: Arc<dyn Faults>) -> Boundary {
        boundary_of(&self.root(), &self.host, changes, faults)
    }

    pub(crate) fn ledger(&self) -> Value {
        let text = std::fs::read_to_string(self.root().join("execution.json")).expect("there is a ledger");
        Value::parse(&text).expect("a ledger is JSON")
    }

    /// Every file of the root but the locks.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        gather(&self.root(), &mut files);
        files.retain(|path, _| path.extension().is_none_or(|extension| extension != "lock"));
        files
    }

    /// Whether somebody holds the task's lock.
    pub(crate) fn is_locked(&self) -> bool {
        is_locked(&self.root())
    }

    /// Whether the task's lock has been given back.
    pub(crate) fn comes_free(&self) -> bool {
        locks::comes_free(&self.root().join("execution.lock"))
    }
}

pub(crate) fn boundary_of(root: &Path, host: &Host, changes: &str, faults: Arc<dyn Faults>) -> Boundary {
    let mut options = object(&format!(
        r#"{{"taskId":"t-1","provider":"memory","account":"a-1","budgetUsd":8,"health":"external",
             "limits":{{"lockWaitMs":{BRIEF_WAIT_MS}}},"capabilities":{MEMORY_CAPABILITY},"transport":{{"methods":
             ["prepare","submit","inspect","continue","collect","cancel","lookup","recoverResponse"]}}}}"#
    ));
    for (name, value) in object(changes) {
        options.insert(name, value);
    }
    let mut options = ExecutionOptions::from_object(root, &options, faults).expect("the options are right");
    options.jitter = Some(Arc::new(FixedJitter(1.0)));
    Boundary::new(options, host).expect("the options fit each other")
}

pub(crate) fn is_locked(root: &Path) -> bool {
    locks::is_held(&root.join("execution.lock"))
}

fn gather(directory: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten() {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            gather(&path, into);
        } else {
            into.insert(path.clone(), std::fs::read(&path).expect("it can be read"));
        }
    }
}

pub(crate) fn object(text: &str) -> Object {
    match Value::parse(text) {
        Ok(Value::Object(object)) => object,
        other => panic!("{text}: {other:?}"),
    }
}

/// What a submit of an operation is given. Its run is `run-` and the operation.
pub(crate) fn work(operation: &str) -> Object {
    object(&format!(
        r#"{{"operationId":"{operation}","runId":"run-{operation}","prompt":"do it","reservationUsd":0.5}}"#
    ))
}

pub(crate) fn submit(boundary: &Boundary, operation: &str) -> Machine {
    boundary.submit(work(operation), AbortToken::new())
}

/// The value behind keys that are written with slashes between them.
pub(crate) fn at<'v>(value: &'v Value, path: &str) -> &'v Value {
    path.split('/').fold(value, |value, key| {
        value.get(key).unwrap_or_else(|| panic!("no {key} of {path} in {}", value.to_json()))
    })
}

pub(crate) fn word<'v>(value: &'v Value, path: &str) -> &'v str {
    at(value, path).as_str().unwrap_or_else(|| panic!("{path} is no text in {}", value.to_json()))
}
