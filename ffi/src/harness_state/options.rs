//! Harness state: options of readers and writers.

use std::time::Duration;

use gallivant_core::harness_state::{Evidence, Options, Writer};
use gallivant_core::{Code, Error, Host, Result};

use super::words::EVIDENCES;
use crate::handle::array;
use crate::host::{gallivant_host, host_or_system};
use crate::options::{self, DEFAULT, sized, unless_default};
use crate::view::gallivant_str;

/// What may be set. Wherever options are asked for, NULL stands for the defaults, which agree with existing deployments.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_harness_state_options {
    /// Set by `GALLIVANT_HARNESS_STATE_OPTIONS_INIT`.
    pub struct_size: usize,
    /// Where time, chance, facts about processes and the disk come from; NULL for the real machine.
    pub host: *const gallivant_host,
    /// The schema to write, compared whole; no string for the default, `st2.harness-state.v1`.
    pub schema: gallivant_str,
    /// Further schemas to accept when reading; NULL for none.
    pub also_accepted_schemas: *const gallivant_str,
    /// How many.
    pub also_accepted_schemas_count: usize,
    /// From this age on a record tells nothing, in ms. Default 15 minutes.
    pub stale_ms: u64,
    /// From this age on an unchanged observation is stamped again, in ms. Default 5 minutes.
    pub refresh_ms: u64,
    /// A stamp further ahead than this is not believed, in ms. Default 60 seconds.
    pub future_skew_ms: u64,
    /// How long a call waits for the lock, in ms. Default 10 seconds.
    pub lock_wait_ms: u64,
    /// A probe that takes longer than this has answered nothing, in ms. Default 100 ms.
    pub probe_budget_ms: u64,
    /// Tokens with one of these prefixes belong to sessions that no wrapper launched; NULL for the default, which is
    /// `claude-session-` alone.
    pub wrapperless_prefixes: *const gallivant_str,
    /// How many.
    pub wrapperless_prefixes_count: usize,
    /// Whether records carry the extension object and are judged by it: 1 or 0. Default 1.
    pub extension: u64,
    /// By what a writer that is opened with these options knows what it observes: GALLIVANT_EVIDENCE; 0 for a wrapper's
    /// knowledge. A session is a wrapper and a hook a hook whatever stands here.
    pub evidence: i32,
}
sized!(gallivant_harness_state_options);

// C: #define GALLIVANT_HARNESS_STATE_OPTIONS_INIT \
// C:     { sizeof(gallivant_harness_state_options), NULL, { NULL, 0 }, NULL, 0, GALLIVANT_DEFAULT, \
// C:       GALLIVANT_DEFAULT, GALLIVANT_DEFAULT, GALLIVANT_DEFAULT, GALLIVANT_DEFAULT, NULL, 0, \
// C:       GALLIVANT_DEFAULT, GALLIVANT_EVIDENCE_UNKNOWN }

/// The options behind an argument that may be null, and the host to use them with.
///
/// # Errors
/// Those of [`options::input`] and of strings.
///
/// # Safety
/// `pointer` is null or points to options whose members point to what they say.
pub(crate) unsafe fn options(pointer: *const gallivant_harness_state_options) -> Result<(Options, Host)> {
    let default = Options::default();
    if pointer.is_null() {
        return Ok((default, Host::system()));
    }
    // SAFETY: the same contract.
    unsafe {
        let given = options::input(pointer, "options")?;
        let schema = given.schema.optional("schema")?;
        let prefixes = if given.wrapperless_prefixes.is_null() && given.wrapperless_prefixes_count == 0 {
            default.wrapperless_prefixes
        } else {
            let count = given.wrapperless_prefixes_count;
            texts(given.wrapperless_prefixes, count, "wrapperless_prefixes")?
        };
        let accepted = given.also_accepted_schemas;
        let made = Options {
            schema: schema.map_or(default.schema, str::to_owned),
            also_accepted_schemas: texts(
                accepted,
                given.also_accepted_schemas_count,
                "also_accepted_schemas",
            )?,
            stale_ms: unless_default(given.stale_ms).unwrap_or(default.stale_ms),
            refresh_ms: unless_default(given.refresh_ms).unwrap_or(default.refresh_ms),
            future_skew_ms: unless_default(given.future_skew_ms).unwrap_or(default.future_skew_ms),
            lock_wait: unless_default(given.lock_wait_ms).map_or(default.lock_wait, Duration::from_millis),
            wrapperless_prefixes: prefixes,
            extension: switch("extension", given.extension, default.extension)?,
            probe_budget: unless_default(given.probe_budget_ms)
                .map_or(default.probe_budget, Duration::from_millis),
        };
        Ok((made, host_or_system(given.host)))
    }
}

/// The writer as the options behind an argument, which may be null, want it.
///
/// # Errors
/// Those of [`options::input`], and `GALLIVANT_INPUT` with reason `constant`.
///
/// # Safety
/// As [`options`].
pub(crate) unsafe fn with_evidence(
    writer: Writer,
    pointer: *const gallivant_harness_state_options,
) -> Result<Writer> {
    if pointer.is_null() {
        return Ok(writer);
    }
    // SAFETY: the same contract.
    match EVIDENCES.input(unsafe { options::input(pointer, "options") }?.evidence)? {
        Evidence::Unknown => Ok(writer),
        evidence => writer.with_evidence(evidence),
    }
}

fn switch(argument: &str, given: u64, default: bool) -> Result<bool> {
    match given {
        DEFAULT => Ok(default),
        0 => Ok(false),
        1 => Ok(true),
        other => {
            let message = format!("neither 0 nor 1, argument=`{argument}` value=`{other}`");
            Err(Error::new(Code::Input, message).with_reason("argument"))
        }
    }
}

/// # Safety
/// `first` is null or points to `count` strings that point to what they say.
unsafe fn texts(first: *const gallivant_str, count: usize, argument: &'static str) -> Result<Vec<String>> {
    // SAFETY: the same contract.
    unsafe {
        let views = array(first, count, argument)?;
        views.iter().map(|view| view.text(argument).map(str::to_owned)).collect()
    }
}
