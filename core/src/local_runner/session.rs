//! The session of a local run: the harness's own state, whose seat is claimed before the harness is forked, whose lease the
//! supervisor holds while the harness lives, and whose ownership its hooks are given.
//!
//! The run's directory keeps what is needed to speak for the session later, in `session.json`: whoever finds the tree alive renews
//! its stamp, and whoever finds it gone records the end.

use std::io;
use std::path::PathBuf;

use super::exit::ExitRecord;
use crate::clock::Clock;
use crate::harness_state::{Claimant, LEASE, Options, SessionEnvironment, WriterIdentity, claim, mint_token};
use crate::host::Host;
use crate::json::{Number, Object, Value};
use crate::process::RecordedProcess;
use crate::storage::{Directory, Seen};

/// The file in a run's directory.
pub const SESSION: &str = "session.json";
const MAX_BYTES: u64 = 65_536;

/// The session of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSession(SessionEnvironment);

impl RunSession {
    /// Claims the seat that the member `session` of a spec names: `{agentDir, agent, harness?, ptySession?}`; none where there is
    /// no such member. The claim is durable once this has returned.
    ///
    /// # Errors
    /// A word and a message.
    pub fn claim(spec: &Value, host: &Host) -> Result<Option<Self>, (String, String)> {
        let refused = |message: String| ("session".to_owned(), message);
        let given = match spec.get("session") {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Object(given)) => given,
            Some(_) => return Err(refused("session is no object".to_owned())),
        };
        let text = |key: &str| {
            let text = given.get(key).and_then(Value::as_str);
            text.filter(|text| !text.is_empty() && !text.contains('\0')).map(str::to_owned)
        };
        let missing = |key: &str| refused(format!("session has no {key}"));
        let agent_dir = text("agentDir").ok_or_else(|| missing("agentDir"))?;
        if !PathBuf::from(&agent_dir).is_absolute() {
            return Err(refused("agentDir is no absolute path".to_owned()));
        }
        let agent = text("agent").ok_or_else(|| missing("agent"))?;
        let named = spec.get("harness").and_then(Value::as_str).map(str::to_owned);
        let harness = text("harness").or(named).ok_or_else(|| missing("harness"))?;
        let claimant = Claimant { agent, harness, token: mint_token(host) };
        let claimed = claim(&agent_dir, &claimant, &Options::default(), host)
            .map_err(|error| refused(error.to_string()))?;
        // Without a terminal the session is found again under the agent's own name.
        let pty_session = text("ptySession").unwrap_or_else(|| claimant.agent.clone());
        let identity = claimant.writer_identity(Some(pty_session));
        Ok(Some(RunSession(SessionEnvironment { agent_dir, identity, sequence: Some(claimed.sequence) })))
    }

    /// What `session.json` holds.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let RunSession(SessionEnvironment { agent_dir, identity, sequence }) = self;
        let number = |number: u64| Number::parse(&number.to_string()).map_or(Value::Null, Value::Number);
        let members = [
            ("version", number(1)),
            ("agentDir", Value::from(agent_dir.as_str())),
            ("agent", Value::from(identity.agent.as_str())),
            ("harness", Value::from(identity.harness.as_str())),
            ("ptySession", Value::from(identity.pty_session.as_deref())),
            ("token", Value::from(identity.token.as_str())),
            ("sequence", sequence.map_or(Value::Null, number)),
        ];
        Value::Object(members.into_iter().collect::<Object>())
    }

    /// The session of a run; none where it has none, or what stands there cannot be understood.
    ///
    /// # Errors
    /// As the system says it, but for a missing file.
    pub fn read(run: &dyn Directory) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        match run.read_and_close(SESSION, MAX_BYTES, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map(drop)?,
        }
        Ok(RunSession::parse(&bytes))
    }

    /// As [`RunSession::read`], of a session that may have been read before.
    ///
    /// # Errors
    /// As [`RunSession::read`].
    pub(crate) fn read_again(
        run: &dyn Directory,
        run_id: &str,
        seen: &mut Seen<Option<Self>>,
        clock: &dyn Clock,
    ) -> io::Result<Option<Self>> {
        let judge = |bytes: &[u8]| Ok(RunSession::parse(bytes));
        Ok(seen.read((run, SESSION), run_id, MAX_BYTES, clock, |error| error, judge)?.flatten())
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let value = Value::parse(std::str::from_utf8(bytes).ok()?).ok()?;
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let identity = WriterIdentity {
            agent: text("agent")?,
            harness: text("harness")?,
            pty_session: text("ptySession"),
            token: text("token")?,
        };
        let sequence = value.get("sequence").and_then(|sequence| sequence.as_number()?.as_u64());
        Some(RunSession(SessionEnvironment { agent_dir: text("agentDir")?, identity, sequence }))
    }

    /// The variables by which the harness's hooks speak for the session.
    #[must_use]
    pub fn to_env(&self) -> Vec<(&'static str, String)> {
        self.0.to_env()
    }

    /// The lease's path, and what the supervisor writes into it.
    pub(super) fn lease(&self) -> (PathBuf, &str) {
        (PathBuf::from(&self.0.agent_dir).join(LEASE), &self.0.identity.token)
    }

    /// Names the harness in the session's record, which is ready from then on. What cannot be written is left: the run stands
    /// without it.
    pub(super) fn attach(&self, harness: &RecordedProcess, host: &Host) {
        let process = host.processes.identify(harness.pid);
        let writer = self.0.writer(&Options::default(), host).ok();
        if let (Some(process), Some(writer)) = (process, writer) {
            let _ = writer.attach(&(&process).into());
        }
    }

    /// Renews the stamp of a session whose harness was seen alive. Where another session has the seat nothing is written.
    pub fn is_alive(&self, host: &Host) {
        let _ = self.0.writer(&Options::default(), host).and_then(|writer| writer.heartbeat());
    }

    /// Records the end of a session whose tree was seen gone: with `exit <n>` or `signal <name>` where it is known.
    pub fn has_ended(&self, exit: Option<&ExitRecord>, host: &Host) {
        let told =
            exit.filter(|exit| exit.was_started).and_then(|exit| match (exit.exit, exit.signal.as_str()) {
                (Some(status), _) => Some(format!("exit {status}")),
                (None, Some(signal)) => Some(format!("signal {signal}")),
                (None, None) => None,
            });
        let _ = self.0.writer(&Options::default(), host).and_then(|writer| writer.ended(told.as_deref()));
    }
}
