//! The boundary of a root as its own files have it, whatever is configured now (EX-BND-19).

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::boundary::Boundary;
use super::capability::record::Location;
use super::capability::{Adapter, Capability, ExecutionRegistry, RunnerParts};
use super::contract::Method;
use super::faults::NoFaults;
use super::ledger::{Ledger, file};
use super::limits::Limits;
use super::options::{Capabilities, ExecutionOptions};
use super::{job, keys};
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::json::Value;
use crate::redaction::Secrets;
use crate::storage::Directory;

/// What a root's files say of who does its work.
struct Saved {
    task_id: Option<String>,
    provider: String,
    account: Option<String>,
    transport: Option<String>,
}

/// Makes the boundary of the task in `options.root`: for the provider, the account and the transport kind that its ledger
/// records, or else the job record of its current local run, with the record and the adapter that are registered for them. A
/// kind that neither records is that of the saved provider's record. What `options` say of provider, account, capabilities and
/// adapter counts only for a root in which nothing is saved.
///
/// Reads; creates no file and calls nobody.
///
/// # Errors
/// `EXECUTION_CAPABILITY` with the reason `unavailable` where the saved provider is not registered or has no adapter,
/// `EXECUTION_DEPENDENCY` where its record is of another transport kind; those of the ledger, and of [`Boundary::new`].
pub fn execution_runner(
    mut options: ExecutionOptions,
    registry: &ExecutionRegistry,
    host: &Host,
) -> Result<Boundary> {
    let Some(saved) = saved(&options.root, host)? else { return Boundary::new(options, host) };
    let record = registry.capability_of_run(&saved.provider, saved.transport.as_deref())?;
    let adapter = record.adapter().ok_or_else(|| {
        let message = format!("the saved provider has no adapter, provider=`{}`", saved.provider);
        Error::new(Code::ExecutionCapability, message).with_reason("unavailable")
    })?;
    options.adapter = (*adapter).clone();
    options.capabilities = Capabilities::Registered { record, registry: registry.clone() };
    options.provider = saved.provider;
    options.account = saved.account.unwrap_or(options.account);
    Boundary::new(options, host)
}

/// Makes the boundary of the task in a root as an operator has it, who knows of the task what its files say and nothing more: to
/// read, and to record an operator's acts (EX-BND-44). Its record offers no dispatch, and its transport is nobody's: a machine
/// that makes a call has no one to be driven by.
///
/// Reads; creates no file and calls nobody.
///
/// # Errors
/// `EXECUTION_UNKNOWN_RUN` where the root holds no task, those of the ledger, and of [`Boundary::new`].
pub fn execution_on_disk(root: &Path, secrets: Secrets, host: &Host) -> Result<Boundary> {
    let nothing = || {
        let message = format!("no task is recorded here, path=`{}`", root.display());
        Error::new(Code::ExecutionUnknownRun, message)
            .with_remedy("name the directory that holds execution.json")
    };
    let saved = saved(root, host)?.ok_or_else(nothing)?;
    let shipped = ExecutionRegistry::new()?;
    let transport = saved.transport.as_deref();
    let capability = match shipped.capability_of_run(&saved.provider, transport) {
        Ok(record) => (*record.capability()).clone(),
        // Another's record: what stands in it decides nothing of what an operator does.
        Err(_) => unknown_record(&saved.provider, transport)?,
    };
    let adapter = match capability.location {
        Location::Local => Adapter::Runner(RunnerParts::default()),
        Location::Remote => {
            Adapter::Transport([Method::Submit, Method::Inspect, Method::Collect].into_iter().collect())
        }
    };
    let options = ExecutionOptions {
        root: root.to_owned(),
        task_id: saved.task_id.ok_or_else(nothing)?,
        provider: saved.provider,
        account: saved.account.ok_or_else(nothing)?,
        capabilities: Capabilities::Record(Box::new(capability)),
        adapter,
        budget: None,
        limits: Limits::default(),
        secrets,
        health: None,
        intake_deadline_at: None,
        process_host: None,
        sandbox: None,
        jitter: None,
        faults: Arc::new(NoFaults),
    };
    Boundary::new(options, host)
}

/// The ledger of the task in a root as it stands; none where there is no root, or no ledger in it. Whose it is is not asked. Reads
/// one file, takes no lock.
///
/// # Errors
/// `EXECUTION_VERSION`, `EXECUTION_PROTOCOL` with the reason `ledger`, `EXECUTION_IO`.
pub fn ledger_on_disk(root: &Path, host: &Host) -> Result<Option<Ledger>> {
    let Some(root) = opened(root, host)? else { return Ok(None) };
    contents(&*root, file::LEDGER)?.map(|bytes| Ledger::parse(&bytes)).transpose()
}

/// The record of a provider of which only its runs are known. Runs of the kind `cli` are processes of this machine.
fn unknown_record(provider: &str, transport: Option<&str>) -> Result<Capability> {
    let transport = transport.unwrap_or("unknown");
    let location = if transport == LOCAL_TRANSPORT { Location::Local } else { Location::Remote };
    let text = UNKNOWN_RECORD.replace("LOCATION", location.word());
    let mut record = match Value::parse(&text) {
        Ok(Value::Object(record)) => record,
        _ => return Err(Error::new(Code::Internal, "the record of an unknown provider is no object")),
    };
    record.insert("provider", provider.into());
    record.insert("transport", transport.into());
    Capability::from_value(Value::Object(record))
}

/// The transport kind of the shipped records of local harnesses.
const LOCAL_TRANSPORT: &str = "cli";
const UNKNOWN_RECORD: &str = r#"{"location": "LOCATION", "newDispatch": {"available": false, "reason": "opened by its files"},
    "authentication": {"scheme": "unknown", "secretNames": []}, "environments": {"required": false, "allowed": null},
    "models": "native", "policies": {"required": false, "allowed": []}, "continuation": "none", "observability": "none",
    "cancel": false, "interrupt": false, "cost": {"reports": false, "hardCap": false}}"#;

fn saved(root: &Path, host: &Host) -> Result<Option<Saved>> {
    let Some(root) = opened(root, host)? else { return Ok(None) };
    if let Some(bytes) = contents(&*root, file::LEDGER)? {
        let ledger = Ledger::parse(&bytes)?;
        let transport = ledger.current().map(|run| run.transport.clone());
        return Ok(Some(Saved {
            task_id: Some(ledger.owner.task_id),
            provider: ledger.owner.provider,
            account: Some(ledger.owner.account),
            transport,
        }));
    }
    let Some(run_id) = contents(&*root, job::LATEST_RUN)? else { return Ok(None) };
    let Some(run_id) = String::from_utf8(run_id).ok().filter(|run_id| keys::is_id(run_id)) else {
        return Ok(None);
    };
    let run = match root.open_directory(&run_id) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(not_opened)?,
    };
    let Some(job) = job::read(&*run)? else { return Ok(None) };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    Ok(text(job.get("provider")).map(|provider| Saved {
        task_id: text(job.get("taskId")),
        provider,
        account: text(job.get("account")),
        transport: text(job.get("execution").and_then(|execution| execution.get("transport"))),
    }))
}

fn opened(root: &Path, host: &Host) -> Result<Option<Arc<dyn Directory>>> {
    match host.files.open_to_read(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some).map_err(not_opened),
    }
}

fn not_opened(error: io::Error) -> Error {
    Error::new(Code::ExecutionIo, "the task's root cannot be opened").with_source(error)
}

fn contents(root: &dyn Directory, name: &str) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    match root.read_and_close(name, u64::from(u32::MAX), &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::new(Code::ExecutionIo, format!("{name} cannot be read")).with_source(error)),
        Ok(_) => Ok(Some(bytes)),
    }
}
