//! Hooks and the environment for JavaScript.

use std::collections::HashMap;

use gallivant_core::harness_state::adapters::Harness;
use gallivant_core::harness_state::{
    HOOK_LOCK_WAIT, HookOutcome, HookReport, SessionEnvironment, VARIABLES, observe_hook,
};
use gallivant_core::{Code, Host, Result};
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;

use super::parts::{EnvironmentParts, ReportParts};
use crate::answer::Answer;
use crate::error::ErrorParts;
use crate::host::NativeHost;
use crate::job::{Promised, promise};
use crate::options::{OptionParts, options, whole_ms};
use crate::waiting::{NativeWait, Patience};

/// What one hook call did.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct HookParts {
    /// The event's name, as far as the payload could be read.
    pub event: Option<String>,
    /// The answer in one stable word.
    pub word: &'static str,
    /// `observed`, `ignored` or `failed`.
    pub kind: &'static str,
    /// The writer's answer, where it was an observation.
    pub report: Option<ReportParts>,
    /// Why it failed, where it did.
    pub error: Option<ErrorParts>,
    /// Something in the payload was no Unicode and was replaced.
    pub lossy: bool,
}

impl From<HookReport> for HookParts {
    fn from(hook: HookReport) -> Self {
        let word = hook.outcome.word();
        let (kind, report, error) = match hook.outcome {
            HookOutcome::Observed(report) => ("observed", Some(report.into()), None),
            HookOutcome::Ignored(_) => ("ignored", None, None),
            HookOutcome::Failed(error) => ("failed", None, Some(ErrorParts::from(&error))),
        };
        HookParts { event: hook.event, word, kind, report, error, lossy: hook.lossy }
    }
}

/// Observes one event, in one try: what could not be done is noted in the log, once.
#[napi(catch_unwind)]
pub fn observe_hook_async(
    host: &NativeHost,
    harness: String,
    payload: Uint8Array,
    session: Option<EnvironmentParts>,
    set: OptionParts,
    wait: &NativeWait,
) -> Promised<HookParts> {
    let host = host.host.clone();
    // The caller may change the bytes while the worker reads them.
    let payload = payload.to_vec();
    promise(wait, Patience::OneTry, move || observe(&host, &harness, &payload, session, &set))
}

/// Observes one event on the calling thread.
#[napi(catch_unwind)]
pub fn observe_hook_sync(
    host: &NativeHost,
    harness: String,
    payload: Uint8Array,
    session: Option<EnvironmentParts>,
    set: OptionParts,
) -> Answer<HookParts> {
    Answer::of(|| observe(&host.host, &harness, &payload, session, &set))
}

/// The names of a harness's events that may say something. The others need not be handed over.
#[napi(catch_unwind)]
pub fn telling_events(harness: String) -> Answer<Vec<&'static str>> {
    Answer::of(|| {
        let events = Harness::parse(&harness)?.events();
        Ok(events.filter(|event| !event.silent).map(|event| event.name).collect())
    })
}

/// How long a hook waits for the lock at most, in milliseconds.
#[napi(catch_unwind)]
pub fn hook_lock_wait_ms() -> u32 {
    u32::try_from(whole_ms(HOOK_LOCK_WAIT)).unwrap_or(u32::MAX)
}

fn observe(
    host: &Host,
    harness: &str,
    payload: &[u8],
    session: Option<EnvironmentParts>,
    set: &OptionParts,
) -> Result<HookParts> {
    let harness = Harness::parse(harness)?;
    let session = session.map(SessionEnvironment::try_from).transpose()?;
    let report = observe_hook(harness, payload, session.as_ref(), &options(set)?, host);
    match report.outcome {
        // The caller's signal has ended it, and the caller is told so; the log says that the event is lost.
        HookOutcome::Failed(error) if error.code() == Code::Cancelled => Err(error),
        _ => Ok(report.into()),
    }
}

/// The names of the variables that hand a session on.
#[napi(catch_unwind)]
pub fn session_variables() -> Vec<&'static str> {
    VARIABLES.to_vec()
}

/// The session that these variables name, or null.
#[napi(catch_unwind)]
pub fn environment_from(variables: HashMap<String, String>) -> Answer<Option<EnvironmentParts>> {
    Answer::of(|| {
        let session = SessionEnvironment::from_env(|name| variables.get(name).cloned())?;
        Ok(session.map(EnvironmentParts::from))
    })
}

/// The variables that hand a session on: pairs of name and value, in the order of their documentation.
#[napi(catch_unwind)]
pub fn environment_to(parts: EnvironmentParts) -> Answer<Vec<Vec<String>>> {
    Answer::of(|| {
        let variables = SessionEnvironment::try_from(parts)?.to_env();
        Ok(variables.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect())
    })
}
