//! Options and numbers as they come from JavaScript.

use std::time::Duration;

use gallivant_core::harness_state::Options;
use gallivant_core::{Code, Error, Result};
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

/// What may be set; what is left out has the core's default.
#[napi(object)]
#[derive(Clone, Debug, Default)]
pub struct OptionParts {
    /// See the core's `Options`.
    pub schema: Option<String>,
    /// See the core's `Options`.
    pub also_accepted_schemas: Option<Vec<String>>,
    /// Milliseconds.
    pub stale_ms: Option<BigInt>,
    /// Milliseconds.
    pub refresh_ms: Option<BigInt>,
    /// Milliseconds.
    pub future_skew_ms: Option<BigInt>,
    /// Milliseconds.
    pub lock_wait_ms: Option<BigInt>,
    /// See the core's `Options`.
    pub wrapperless_prefixes: Option<Vec<String>>,
    /// See the core's `Options`.
    pub extension: Option<bool>,
    /// Milliseconds.
    pub probe_budget_ms: Option<BigInt>,
}

/// The options with which nothing is set.
#[napi(catch_unwind)]
pub fn default_options() -> OptionParts {
    let defaults = Options::default();
    OptionParts {
        schema: Some(defaults.schema),
        also_accepted_schemas: Some(defaults.also_accepted_schemas),
        stale_ms: Some(defaults.stale_ms.into()),
        refresh_ms: Some(defaults.refresh_ms.into()),
        future_skew_ms: Some(defaults.future_skew_ms.into()),
        lock_wait_ms: Some(whole_ms(defaults.lock_wait).into()),
        wrapperless_prefixes: Some(defaults.wrapperless_prefixes),
        extension: Some(defaults.extension),
        probe_budget_ms: Some(whole_ms(defaults.probe_budget).into()),
    }
}

pub(crate) fn options(parts: &OptionParts) -> Result<Options> {
    let defaults = Options::default();
    let number = |name, given: &Option<BigInt>| given.as_ref().map(|given| unsigned(name, given)).transpose();
    let length = |name, given, default| -> Result<Duration> {
        Ok(number(name, given)?.map_or(default, Duration::from_millis))
    };
    Ok(Options {
        schema: parts.schema.clone().unwrap_or(defaults.schema),
        also_accepted_schemas: parts.also_accepted_schemas.clone().unwrap_or(defaults.also_accepted_schemas),
        stale_ms: number("staleMs", &parts.stale_ms)?.unwrap_or(defaults.stale_ms),
        refresh_ms: number("refreshMs", &parts.refresh_ms)?.unwrap_or(defaults.refresh_ms),
        future_skew_ms: number("futureSkewMs", &parts.future_skew_ms)?.unwrap_or(defaults.future_skew_ms),
        lock_wait: length("lockWaitMs", &parts.lock_wait_ms, defaults.lock_wait)?,
        wrapperless_prefixes: parts.wrapperless_prefixes.clone().unwrap_or(defaults.wrapperless_prefixes),
        extension: parts.extension.unwrap_or(defaults.extension),
        probe_budget: length("probeBudgetMs", &parts.probe_budget_ms, defaults.probe_budget)?,
    })
}

/// A bigint as the unsigned 64-bit number that it has to be.
pub(crate) fn unsigned(name: &str, given: &BigInt) -> Result<u64> {
    match given.get_u64() {
        (_, value, true) => Ok(value),
        _ => {
            let message = format!("not an unsigned number of 64 bits, argument=`{name}`");
            Err(Error::new(Code::Input, message).with_reason("out-of-range"))
        }
    }
}

pub(crate) fn whole_ms(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
