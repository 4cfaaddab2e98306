//! The boundary of a root as its own files have it, whatever is configured now (EX-BND-19).

use std::io;
use std::path::Path;

use super::boundary::Boundary;
use super::capability::ExecutionRegistry;
use super::ledger::{Ledger, file};
use super::options::{Capabilities, ExecutionOptions};
use super::{job, keys};
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::json::Value;
use crate::storage::Directory;

/// What a root's files say of who does its work.
struct Saved {
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

fn saved(root: &Path, host: &Host) -> Result<Option<Saved>> {
    let failed = |error| Error::new(Code::ExecutionIo, "the task's root cannot be opened").with_source(error);
    let root = match host.files.open_to_read(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    if let Some(bytes) = contents(&*root, file::LEDGER)? {
        let ledger = Ledger::parse(&bytes)?;
        let transport = ledger.current().map(|run| run.transport.clone());
        return Ok(Some(Saved {
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
        opened => opened.map_err(failed)?,
    };
    let Some(job) = job::read(&*run)? else { return Ok(None) };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    Ok(text(job.get("provider")).map(|provider| Saved {
        provider,
        account: text(job.get("account")),
        transport: text(job.get("execution").and_then(|execution| execution.get("transport"))),
    }))
}

fn contents(root: &dyn Directory, name: &str) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    match root.read_and_close(name, u64::from(u32::MAX), &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::new(Code::ExecutionIo, format!("{name} cannot be read")).with_source(error)),
        Ok(_) => Ok(Some(bytes)),
    }
}
