//! One hook call, from payload to record (HS-112, HS-115).
//!
//! A hook never breaks its harness. This function cannot fail: whatever goes wrong is in the report, and in the log
//! beside the record. Its caller exits 0 and prints nothing.

use std::path::Path;
use std::time::Duration;

use super::adapters::{Effect, Event, Harness, Ignored, Resolution, interpret};
use super::ancestry::{ancestors, is_foreign};
use super::environment::{SessionEnvironment, SessionVariables};
use super::log;
use super::moment::Moment;
use super::options::Options;
use super::outcome::{Outcome, Refusal, Report};
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::process::since_boot;

/// How long a hook waits for the lock at most (HS-21): a quarter of its deadline.
pub const HOOK_LOCK_WAIT: Duration = Duration::from_millis(250);
/// How long a hook process lives at most (HS-115).
pub const HOOK_DEADLINE: Duration = Duration::from_secs(1);

/// What one hook call did.
#[derive(Debug)]
pub struct HookReport {
    /// The event's name, as far as the payload could be read.
    pub event: Option<String>,
    /// What came of it.
    pub outcome: HookOutcome,
    /// Something in the payload was no Unicode and was replaced.
    pub lossy: bool,
}

/// What came of an event.
#[derive(Debug)]
pub enum HookOutcome {
    /// It was an observation; this is the writer's answer.
    Observed(Report),
    /// It is no observation.
    Ignored(Ignored),
    /// It could not be understood or not be written.
    Failed(Error),
}

impl HookOutcome {
    /// The answer in one stable word: an outcome's, a refusal's, an ignored event's, or an error's code.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            HookOutcome::Observed(report) => match report.outcome {
                Outcome::Refused(refusal) => refusal.word(),
                landed => landed.word(),
            },
            HookOutcome::Ignored(ignored) => ignored.word(),
            HookOutcome::Failed(error) => error.code().name(),
        }
    }
}

/// From where an event comes to be observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookOrigin {
    /// This process is the hook: the harness has started it for this event, which happened when it started, and the
    /// nearest harness above it is the one that speaks (HS-113).
    OwnProcess,
    /// This process was told of the event now, and is no descendant of the harness.
    Told,
}

/// Observes one event of a harness for the session in `session`; without a session nothing changes and the answer is
/// refused as `identity-missing`. The payload's own ids and directories decide nothing.
///
/// For a process that many events pass through; one that is a hook itself is [`super::serve_hook`]'s.
///
/// Waits for the lock for at most [`HOOK_LOCK_WAIT`], or the options' wait where that is shorter. An ending with an
/// exit is final: a later event is refused as `terminal`. What could not be done is in the log beside the record.
#[must_use]
pub fn observe_hook(
    harness: Harness,
    payload: &[u8],
    session: Option<&SessionEnvironment>,
    options: &Options,
    host: &Host,
) -> HookReport {
    observe_from(HookOrigin::Told, harness, payload, session, options, host)
}

fn observe_from(
    origin: HookOrigin,
    harness: Harness,
    payload: &[u8],
    session: Option<&SessionEnvironment>,
    options: &Options,
    host: &Host,
) -> HookReport {
    let interpreted = interpret(harness, payload);
    let (event, lossy) = match &interpreted {
        Ok(event) => (Some(event.name.clone()), event.lossy),
        Err(_) => (None, false),
    };
    let Some(session) = session else {
        let refused = Report { outcome: Outcome::Refused(Refusal::IdentityMissing), floor_failure: None };
        return HookReport { event, outcome: HookOutcome::Observed(refused), lossy };
    };
    let outcome = match interpreted {
        Ok(event) => {
            observe_event(origin, &event, session, options, host).unwrap_or_else(HookOutcome::Failed)
        }
        Err(error) => HookOutcome::Failed(error),
    };
    let report = HookReport { event, outcome, lossy };
    if let Some(entry) = entry(harness, &report) {
        note(Path::new(&session.agent_dir), host, &entry);
    }
    report
}

/// As [`observe_hook`], for the session that a hook's variables name. What is wrong with the variables themselves is in
/// the report, and in the log too, where they name a directory.
#[must_use]
pub fn observe_hook_for(
    variables: &SessionVariables,
    harness: Harness,
    payload: &[u8],
    options: &Options,
    host: &Host,
) -> HookReport {
    observe_from_for(HookOrigin::Told, variables, harness, payload, options, host)
}

pub(super) fn observe_from_for(
    origin: HookOrigin,
    variables: &SessionVariables,
    harness: Harness,
    payload: &[u8],
    options: &Options,
    host: &Host,
) -> HookReport {
    let (report, entry) = match variables.session() {
        Ok(Some(session)) => (observe_from(origin, harness, payload, Some(&session), options, host), None),
        Ok(None) => {
            let report = observe_from(origin, harness, payload, None, options, host);
            let entry = entry(harness, &report);
            (report, entry)
        }
        Err(error) => {
            let report = HookReport { event: None, outcome: HookOutcome::Failed(error), lossy: false };
            let entry = entry(harness, &report);
            (report, entry)
        }
    };
    if let (Some(entry), Some(directory)) = (entry, variables.agent_dir()) {
        note(Path::new(directory), host, &entry);
    }
    report
}

/// Writes a line into the log of an agent's directory, if there is one: for what went wrong around a hook, before or
/// after [`observe_hook`].
pub fn note(directory: &Path, host: &Host, entry: &str) {
    if let Ok(directory) = host.files.open(directory) {
        log::append(&*directory, host, entry);
    }
}

fn observe_event(
    origin: HookOrigin,
    event: &Event,
    session: &SessionEnvironment,
    options: &Options,
    host: &Host,
) -> Result<HookOutcome> {
    let options = Options { lock_wait: HOOK_LOCK_WAIT.min(options.lock_wait), ..options.clone() };
    // What no record could turn into an observation needs no lock.
    if let (Effect::Nothing(ignored), None) = (&event.effect, &event.child) {
        return Ok(HookOutcome::Ignored(*ignored));
    }
    let happened_ms = match origin {
        HookOrigin::OwnProcess => own_start_ms(host),
        HookOrigin::Told => now_ms(host),
    };
    let writer = session.writer(&options, host)?.of_hook(happened_ms);
    if origin == HookOrigin::Told {
        return observe_by(&writer, event);
    }
    if options.extension && is_foreign_descendant(&writer, host) {
        let refused = Report { outcome: Outcome::Refused(Refusal::ForeignDescendant), floor_failure: None };
        return Ok(HookOutcome::Observed(refused));
    }
    let outcome = observe_by(&writer, event);
    // The lock was let go of. What else the writer holds the process closes by ending, which it does now.
    std::mem::forget(writer);
    outcome
}

fn observe_by(writer: &Writer, event: &Event) -> Result<HookOutcome> {
    if let Some(child) = &event.child {
        let report = writer.note_child(child)?;
        return Ok(match report.outcome {
            Outcome::Coalesced => HookOutcome::Ignored(Ignored::ChildEvent),
            Outcome::Landed | Outcome::Refused(_) => HookOutcome::Observed(report),
        });
    }
    let mut ignored = Ignored::NoChange;
    let report = writer.observe_over_own(|own| match event.effect.resolve(own) {
        Resolution::Observe(observation) => Some(observation),
        Resolution::Nothing(why) => {
            ignored = why;
            None
        }
    })?;
    Ok(report.map_or(HookOutcome::Ignored(ignored), HookOutcome::Observed))
}

/// When this process started, on the boot clock; now where that is not known. The table counts whole ticks (Linux:
/// 10 ms), so the end of the tick is meant: what stood before the hook was started is never taken for later.
fn own_start_ms(host: &Host) -> u64 {
    let (now, start) = (now_ms(host), host.processes.own_start());
    let tick_ends = if start == 0 { None } else { since_boot(start.saturating_add(1)) };
    tick_ends.and_then(|ends| u64::try_from(ends.as_millis()).ok()).map_or(now, |ends| ends.min(now))
}

/// On the clock and in the rounding by which all events are ordered: those of another could make what happens now older than
/// what happened a moment ago.
fn now_ms(host: &Host) -> u64 {
    Moment::now(host).event_ms().unwrap_or_default()
}

/// Whether this process stands under another harness than the one that the session attached. Looked at before the
/// lock, which other hooks wait for; a process that is attached meanwhile is the next hook's to see.
fn is_foreign_descendant(writer: &Writer, host: &Host) -> bool {
    let table = &*host.processes;
    let process = writer.look_for_attached();
    process.is_some_and(|process| is_foreign(&ancestors(table, &process), &process, &table.pid_namespace()))
}

/// The log's entry, for what an operator may have to look into.
fn entry(harness: Harness, report: &HookReport) -> Option<String> {
    // What an unknown event calls itself is the payload's text, and nobody's to log.
    let event = report.event.as_deref().filter(|event| harness.documents(event)).unwrap_or("-");
    let name = harness.name();
    match &report.outcome {
        HookOutcome::Failed(error) => Some(format!("{name} {event} failed {error}; {}", error.remedy())),
        HookOutcome::Observed(Report { outcome: Outcome::Refused(refusal), .. }) => {
            Some(format!("{name} {event} refused {}", refusal.word()))
        }
        HookOutcome::Observed(Report { floor_failure: Some(error), .. }) => {
            Some(format!("{name} {event} floor-failure {error}; {}", error.remedy()))
        }
        HookOutcome::Ignored(ignored) if ignored.is_counted() => {
            Some(format!("{name} {event} ignored {}", ignored.word()))
        }
        HookOutcome::Observed(_) | HookOutcome::Ignored(_) if report.lossy => {
            Some(format!("{name} {event} lossy: something in the payload was no Unicode"))
        }
        HookOutcome::Observed(_) | HookOutcome::Ignored(_) => None,
    }
}
