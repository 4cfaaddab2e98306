//! The plain objects that go to JavaScript and come from it. Conversions only.

use gallivant_core::harness_state::{
    Ask, BlockedOn, Claim, Derived, Evidence, Extension, HarnessProcess, Heartbeat, InputBuffer, Observation,
    Record, Report, SessionEnvironment, State, Tick, Word, WriterIdentity,
};
use gallivant_core::process::ProcessIdentity;
use gallivant_core::{Error, Result};
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use crate::error::ErrorParts;
use crate::options::unsigned;

/// What a writer sees.
#[napi(object, object_to_js = false)]
#[derive(Debug)]
pub struct ObservationParts {
    /// What the harness is doing.
    pub state: String,
    /// Whom it waits for; left out: nobody.
    pub blocked_on: Option<String>,
    /// Whether text waits in its input line; left out: unknown.
    pub input_buffer: Option<String>,
    /// What a person is asked for; left out: nothing.
    pub ask: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// How it ended.
    pub exit: Option<String>,
}

impl TryFrom<ObservationParts> for Observation {
    type Error = Error;

    fn try_from(parts: ObservationParts) -> Result<Self> {
        let mut observation = Observation::new(State::parse("state", &parts.state)?);
        if let Some(word) = parts.blocked_on {
            observation.blocked_on = BlockedOn::parse("blockedOn", &word)?;
        }
        if let Some(word) = parts.input_buffer {
            observation.input_buffer = InputBuffer::parse("inputBuffer", &word)?;
        }
        if let Some(word) = parts.ask {
            observation.ask = Ask::parse("ask", &word)?;
        }
        Ok(Observation { reason: parts.reason, exit: parts.exit, ..observation })
    }
}

/// What an observation did.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct ReportParts {
    /// `landed`, `coalesced` or `refused`.
    pub outcome: &'static str,
    /// Why it was refused.
    pub refusal: Option<&'static str>,
    /// The floor could not be raised.
    pub floor_failure: Option<ErrorParts>,
}

impl From<Report> for ReportParts {
    fn from(report: Report) -> Self {
        ReportParts {
            outcome: report.outcome.word(),
            refusal: report.outcome.refusal().map(|refusal| refusal.word()),
            floor_failure: failure(report.floor_failure.as_ref()),
        }
    }
}

/// What a heartbeat did.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct HeartbeatParts {
    /// `landed` or `skipped`.
    pub outcome: &'static str,
    /// Why it was skipped.
    pub skip: Option<&'static str>,
    /// The floor could not be raised.
    pub floor_failure: Option<ErrorParts>,
}

impl From<Heartbeat> for HeartbeatParts {
    fn from(heartbeat: Heartbeat) -> Self {
        match heartbeat {
            Heartbeat::Landed { floor_failure } => HeartbeatParts {
                outcome: "landed",
                skip: None,
                floor_failure: failure(floor_failure.as_ref()),
            },
            Heartbeat::Skipped(skip) => {
                HeartbeatParts { outcome: "skipped", skip: Some(skip.word()), floor_failure: None }
            }
        }
    }
}

/// What a session's tick did.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct TickParts {
    /// `not-due`, `renewed`, `skipped` or `harness-gone`.
    pub outcome: &'static str,
    /// When the next heartbeat is due.
    pub due_at_ms: Option<BigInt>,
    /// Why it was skipped.
    pub skip: Option<&'static str>,
}

impl From<Tick> for TickParts {
    fn from(tick: Tick) -> Self {
        let plain = TickParts { outcome: tick.word(), due_at_ms: None, skip: None };
        match tick {
            Tick::NotDue(due) => TickParts { due_at_ms: Some(due.into()), ..plain },
            Tick::Skipped(skip) => TickParts { skip: Some(skip.word()), ..plain },
            Tick::Renewed | Tick::HarnessGone => plain,
        }
    }
}

/// A claim that has landed.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct ClaimParts {
    /// The session's ownership sequence.
    pub sequence: BigInt,
    /// The floor could not be raised.
    pub floor_failure: Option<ErrorParts>,
    /// What was wrong with what stood in the floor's place.
    pub floor_damage: Option<String>,
    /// The sibling record could not be removed.
    pub context_failure: Option<ErrorParts>,
    /// How many abandoned staged files were removed.
    pub swept: u32,
}

impl From<&Claim> for ClaimParts {
    fn from(claim: &Claim) -> Self {
        ClaimParts {
            sequence: claim.sequence.into(),
            floor_failure: failure(claim.floor_failure.as_ref()),
            floor_damage: claim.floor_damage.clone(),
            context_failure: failure(claim.context_failure.as_ref()),
            swept: claim.swept,
        }
    }
}

/// What may be concluded from a record.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct DerivedParts {
    /// What the harness is doing.
    pub state: &'static str,
    /// Whom it waits for.
    pub blocked_on: &'static str,
    /// Whether text waits in its input line.
    pub input_buffer: &'static str,
    /// What a person is asked for.
    pub ask: &'static str,
    /// The harness's name.
    pub harness: Option<String>,
    /// Since when the observation holds.
    pub since_ms: Option<BigInt>,
    /// The record's stamp.
    pub observed_at_ms: Option<BigInt>,
    /// The record's ownership sequence.
    pub ownership_sequence: Option<BigInt>,
    /// How often the observation has changed.
    pub transition_sequence: Option<BigInt>,
    /// The token of the session that wrote it.
    pub evidence_incarnation: Option<String>,
    /// How it ended.
    pub exit: Option<String>,
    /// The writer's reason, or why the state is not known.
    pub reason: Option<String>,
    /// When this answer next changes by time alone.
    pub valid_until_ms: Option<BigInt>,
}

impl From<Derived> for DerivedParts {
    fn from(derived: Derived) -> Self {
        DerivedParts {
            state: derived.state.word(),
            blocked_on: derived.blocked_on.word(),
            input_buffer: derived.input_buffer.word(),
            ask: derived.ask.word(),
            harness: derived.harness,
            since_ms: derived.since_ms.map(BigInt::from),
            observed_at_ms: derived.observed_at_ms.map(BigInt::from),
            ownership_sequence: derived.ownership_sequence.map(BigInt::from),
            transition_sequence: derived.transition_sequence.map(BigInt::from),
            evidence_incarnation: derived.evidence_incarnation,
            exit: derived.exit,
            reason: derived.reason.map(std::borrow::Cow::into_owned),
            valid_until_ms: derived.valid_until_ms.map(BigInt::from),
        }
    }
}

/// A record as it stands on disk, by the names that it has there.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct RecordParts {
    /// Which format and version.
    pub schema: String,
    /// The agent's name.
    pub agent: String,
    /// The harness's name.
    pub harness: String,
    /// The word as it is spelled there.
    pub state: String,
    /// The word as it is spelled there.
    pub blocked_on: String,
    /// The word as it is spelled there.
    pub input_buffer: String,
    /// The word as it is spelled there.
    pub ask: String,
    /// Why.
    pub reason: Option<String>,
    /// How it ended.
    pub exit: Option<String>,
    /// The pty session in which the harness runs.
    pub pty_session: Option<String>,
    /// The token of the session that wrote it.
    pub incarnation: String,
    /// The ownership sequence.
    pub seq: BigInt,
    /// When the present observation began.
    pub since_ms: BigInt,
    /// The stamp.
    pub written_at_ms: BigInt,
    /// How often the observation has changed.
    pub transitions: BigInt,
    /// What writers that know the extension added.
    pub extension: Option<ExtensionParts>,
}

/// What our writers add to a record.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct ExtensionParts {
    /// The boot in which the stamp was taken.
    pub boot_id: String,
    /// The stamp on the clock that counts the machine's sleep.
    pub boot_ms: BigInt,
    /// The stamp on the clock that does not.
    pub awake_ms: BigInt,
    /// The machine on which the stamp was taken.
    pub host: String,
    /// When what stands here happened, on the clock of `boot_ms`.
    pub event_ms: Option<BigInt>,
    /// By what it is known, as it is spelled there.
    pub evidence: Option<String>,
    /// The ids of the children that run.
    pub children: Vec<String>,
    /// How many events came too late to be written.
    pub late: BigInt,
    /// The harness's process.
    pub process: Option<HarnessProcessParts>,
}

/// The process that is the harness.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct HarnessProcessParts {
    /// Process id, as its own namespace counts.
    pub pid: u32,
    /// Start time in the unit of the system's process table.
    pub start: BigInt,
    /// The pid namespace.
    pub pid_namespace: String,
}

impl From<&Extension> for ExtensionParts {
    fn from(extension: &Extension) -> Self {
        let process = |process: &HarnessProcess| HarnessProcessParts {
            pid: process.pid,
            start: process.start.into(),
            pid_namespace: process.pid_namespace.clone(),
        };
        ExtensionParts {
            boot_id: extension.boot_id.clone(),
            boot_ms: extension.boot_ms.into(),
            awake_ms: extension.awake_ms.into(),
            host: extension.host.clone(),
            event_ms: extension.event_ms.map(BigInt::from),
            evidence: extension.evidence.as_ref().map(|word| spelled(word, Evidence::word)),
            children: extension.children.clone(),
            late: extension.late.into(),
            process: extension.process.as_ref().map(process),
        }
    }
}

impl From<&Record> for RecordParts {
    fn from(record: &Record) -> Self {
        RecordParts {
            schema: record.schema.clone(),
            agent: record.agent.clone(),
            harness: record.harness.clone(),
            state: spelled(&record.state, State::word),
            blocked_on: spelled(&record.blocked_on, BlockedOn::word),
            input_buffer: spelled(&record.input_buffer, InputBuffer::word),
            ask: spelled(&record.ask, Ask::word),
            reason: record.reason.clone(),
            exit: record.exit.clone(),
            pty_session: record.pty_session.clone(),
            incarnation: record.incarnation.clone(),
            seq: record.seq.into(),
            since_ms: record.since_ms.into(),
            written_at_ms: record.written_at_ms.into(),
            transitions: record.transitions.into(),
            extension: record.extension.as_ref().map(ExtensionParts::from),
        }
    }
}

/// Names one process for ever.
#[napi(object)]
#[derive(Clone, Debug)]
pub struct ProcessParts {
    /// Process id, as its own namespace counts.
    pub pid: u32,
    /// Start time in the unit of the system's process table.
    pub start: BigInt,
    /// The boot of the machine.
    pub boot: String,
    /// The pid namespace.
    pub pid_namespace: String,
    /// The machine.
    pub host: String,
}

impl From<ProcessIdentity> for ProcessParts {
    fn from(process: ProcessIdentity) -> Self {
        ProcessParts {
            pid: process.pid,
            start: process.start.into(),
            boot: process.boot,
            pid_namespace: process.pid_namespace,
            host: process.host,
        }
    }
}

impl TryFrom<ProcessParts> for ProcessIdentity {
    type Error = Error;

    fn try_from(parts: ProcessParts) -> Result<Self> {
        Ok(ProcessIdentity {
            pid: parts.pid,
            start: unsigned("start", &parts.start)?,
            boot: parts.boot,
            pid_namespace: parts.pid_namespace,
            host: parts.host,
        })
    }
}

/// What a claimer hands to its siblings.
#[napi(object, use_nullable = true)]
#[derive(Clone, Debug)]
pub struct EnvironmentParts {
    /// The agent's directory.
    pub agent_dir: String,
    /// The agent's name.
    pub agent: String,
    /// The harness's name.
    pub harness: String,
    /// The session's token.
    pub token: String,
    /// The pty session.
    pub pty_session: Option<String>,
    /// The claimed sequence.
    pub sequence: Option<BigInt>,
}

impl From<SessionEnvironment> for EnvironmentParts {
    fn from(environment: SessionEnvironment) -> Self {
        EnvironmentParts {
            agent_dir: environment.agent_dir,
            agent: environment.identity.agent,
            harness: environment.identity.harness,
            token: environment.identity.token,
            pty_session: environment.identity.pty_session,
            sequence: environment.sequence.map(BigInt::from),
        }
    }
}

impl TryFrom<EnvironmentParts> for SessionEnvironment {
    type Error = Error;

    fn try_from(parts: EnvironmentParts) -> Result<Self> {
        Ok(SessionEnvironment {
            agent_dir: parts.agent_dir,
            identity: WriterIdentity {
                agent: parts.agent,
                harness: parts.harness,
                pty_session: parts.pty_session,
                token: parts.token,
            },
            sequence: sequence(parts.sequence.as_ref())?,
        })
    }
}

pub(super) fn sequence(given: Option<&BigInt>) -> Result<Option<u64>> {
    given.map(|given| unsigned("sequence", given)).transpose()
}

fn spelled<T: Copy>(word: &Word<T>, known: impl Fn(T) -> &'static str) -> String {
    word.spelled.as_deref().map_or_else(|| known(word.value).to_owned(), str::to_owned)
}

fn failure(error: Option<&Error>) -> Option<ErrorParts> {
    error.map(ErrorParts::from)
}
