//! What providers can do: the registry of capability records, each with what carries its dispatches out.

use std::ffi::c_char;

use gallivant_core::Result;
use gallivant_core::execution::{Adapter, Capability, ExecutionRegistry};
use gallivant_core::json::Value;

use super::object;
use crate::barrier::{answer, call};
use crate::buffer::gallivant_text;
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, array, borrow, give};
use crate::view::gallivant_str;

/// The records of all providers, those that are shipped included; nothing of it is on disk. Records are never removed.
///
/// Threads: any number at once. Free it with `gallivant_execution_registry_free`, also while boundaries made of it are in use.
#[derive(Debug)]
pub struct gallivant_execution_registry {
    registry: ExecutionRegistry,
}

impl Handle for gallivant_execution_registry {}

impl gallivant_execution_registry {
    pub(super) fn registry(&self) -> &ExecutionRegistry {
        &self.registry
    }
}

/// Makes a registry with the shipped records, none of which has an adapter yet.
///
/// Errors: none that a released library gives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_registry_new(
    registry: *mut *mut gallivant_execution_registry,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let out = Out::new(registry, "registry")?;
            out.set(give(gallivant_execution_registry { registry: ExecutionRegistry::new()? }));
            Ok(())
        })
    }
}

/// Adds a record, which is JSON text. `adapter_json` is `{"methods": [names]}` of a transport, or `{"render", "configure",
/// "minimumVersion"}` of a runner; NULL for a record that cannot be dispatched to. `secrets` are values that are known to be
/// secret, and may be NULL where `secret_count` is 0; none is kept.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` for a malformed text and an adapter that does not fit the record;
/// `GALLIVANT_EXECUTION_CAPABILITY` for a name that is registered, with reason `unavailable` for an available record without an
/// adapter, with reason `preparation` for a local preparation that lacks a part, with reason `secret` for a record that holds a
/// secret. The registry is as it was then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_registry_register(
    registry: *const gallivant_execution_registry,
    record_json: *const c_char,
    record_json_length: usize,
    adapter_json: *const c_char,
    adapter_json_length: usize,
    secrets: *const gallivant_str,
    secret_count: usize,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(registry, "registry")?;
            let record = gallivant_str::new(record_json, record_json_length).text("record_json")?;
            let adapter = gallivant_str::new(adapter_json, adapter_json_length).optional("adapter_json")?;
            let secrets = texts(secrets, secret_count)?;
            let record = Capability::from_value(Value::Object(object(record, "record_json")?))?;
            handle.registry.register(record, adapter.map(adapter_of).transpose()?, &secrets)?;
            Ok(())
        })
    }
}

/// Gives an adapter to a record that has none, such as a shipped one; the rest as `gallivant_execution_registry_register`.
///
/// Errors: as that; `GALLIVANT_EXECUTION_CAPABILITY` with reason `unavailable` for a name that is not registered, and without one
/// for a record that has its adapter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_registry_attach(
    registry: *const gallivant_execution_registry,
    provider: *const c_char,
    provider_length: usize,
    adapter_json: *const c_char,
    adapter_json_length: usize,
    secrets: *const gallivant_str,
    secret_count: usize,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(registry, "registry")?;
            let provider = gallivant_str::new(provider, provider_length).text("provider")?;
            let adapter = gallivant_str::new(adapter_json, adapter_json_length).text("adapter_json")?;
            let secrets = texts(secrets, secret_count)?;
            handle.registry.attach(provider, adapter_of(adapter)?, &secrets)?;
            Ok(())
        })
    }
}

/// The record of a provider as it stands now, as JSON text; all records as a JSON array where `provider` is NULL. It is a copy
/// and holds names of secrets, never values.
///
/// Errors: `GALLIVANT_EXECUTION_CAPABILITY` with reason `unavailable` for a name that is not registered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_registry_capabilities(
    registry: *const gallivant_execution_registry,
    provider: *const c_char,
    provider_length: usize,
    records_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(registry, "registry")?;
            let provider = gallivant_str::new(provider, provider_length).optional("provider")?;
            let out = Out::new(records_json, "records_json")?;
            let records = match provider {
                Some(provider) => handle.registry.capability_for(provider)?.capability().to_value(),
                None => {
                    Value::Array(handle.registry.capabilities().iter().map(Capability::to_value).collect())
                }
            };
            out.set(give(gallivant_text::new(&records.to_json())));
            Ok(())
        })
    }
}

/// Frees the registry. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_registry_free(registry: *mut gallivant_execution_registry) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(registry) });
}

fn adapter_of(json: &str) -> Result<Adapter> {
    Adapter::from_object(&object(json, "adapter_json")?)
}

/// # Safety
/// As [`array`] and [`gallivant_str::text`].
unsafe fn texts<'a>(secrets: *const gallivant_str, count: usize) -> Result<Vec<&'a str>> {
    // SAFETY: the same contract.
    let views = unsafe { array(secrets, count, "secrets") }?;
    // SAFETY: the same contract.
    views.iter().map(|view| unsafe { view.text("secrets") }).collect()
}
