//! Handing a session to its siblings through the environment (HS-67).

use std::ffi::OsString;

use super::options::Options;
use super::writer::{Writer, WriterIdentity};
use crate::error::{Code, Error, Result};
use crate::host::Host;

/// The agent's directory.
pub const AGENT_DIR: &str = "GALLIVANT_AGENT_DIR";
/// The agent's name.
pub const AGENT: &str = "GALLIVANT_AGENT";
/// The harness's name.
pub const HARNESS: &str = "GALLIVANT_HARNESS";
/// The session's token.
pub const SESSION_TOKEN: &str = "GALLIVANT_SESSION_TOKEN";
/// The session's ownership sequence, in decimal.
pub const SESSION_SEQ: &str = "GALLIVANT_SESSION_SEQ";
/// The pty session; absent where there is none.
pub const PTY_SESSION: &str = "GALLIVANT_PTY_SESSION";

/// All six names, for programs that clear them before they start something of their own.
pub const VARIABLES: [&str; 6] = [AGENT_DIR, AGENT, HARNESS, SESSION_TOKEN, SESSION_SEQ, PTY_SESSION];

/// What a claimer hands to its siblings: enough to open a writer that adopts the claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEnvironment {
    /// The agent's directory.
    pub agent_dir: String,
    /// Who writes.
    pub identity: WriterIdentity,
    /// The claimed sequence; none for a token-only session.
    pub sequence: Option<u64>,
}

impl SessionEnvironment {
    /// The variables to set, by name. [`PTY_SESSION`] and [`SESSION_SEQ`] are left out where there is none.
    #[must_use]
    pub fn to_env(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            (AGENT_DIR, self.agent_dir.clone()),
            (AGENT, self.identity.agent.clone()),
            (HARNESS, self.identity.harness.clone()),
            (SESSION_TOKEN, self.identity.token.clone()),
        ];
        variables.extend(self.sequence.map(|sequence| (SESSION_SEQ, sequence.to_string())));
        variables.extend(self.identity.pty_session.clone().map(|session| (PTY_SESSION, session)));
        variables
    }

    /// Opens a writer that adopts the handed-over claim. Touches no file.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn writer(&self, options: &Options, host: &Host) -> Result<Writer> {
        Writer::open(&self.agent_dir, self.identity.clone(), self.sequence, options, host)
    }

    /// Reads the variables through `look_up`; none where directory, agent, harness or token is missing or empty,
    /// because then there is no session to speak for.
    ///
    /// # Errors
    /// `HARNESS_STATE_INPUT` with reason `environment` when the sequence is no decimal number of 64 bits.
    pub fn from_env(mut look_up: impl FnMut(&str) -> Option<String>) -> Result<Option<Self>> {
        let mut present = |name| look_up(name).filter(|value| !value.is_empty());
        let (Some(agent_dir), Some(agent), Some(harness), Some(token)) =
            (present(AGENT_DIR), present(AGENT), present(HARNESS), present(SESSION_TOKEN))
        else {
            return Ok(None);
        };
        let sequence = match look_up(SESSION_SEQ) {
            None => None,
            Some(text) => Some(decimal(&text).ok_or_else(|| {
                let message = format!("not a decimal number of 64 bits, variable=`{SESSION_SEQ}`");
                Error::new(Code::HarnessStateInput, message).with_reason("environment")
            })?),
        };
        let pty_session = look_up(PTY_SESSION);
        let identity = WriterIdentity { agent, harness, pty_session, token };
        Ok(Some(SessionEnvironment { agent_dir, identity, sequence }))
    }
}

/// The session's variables as a process finds them, for one that must not fail over what is wrong with them: a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionVariables {
    found: Vec<(&'static str, String)>,
    /// The variables whose values are no Unicode.
    unusable: Vec<&'static str>,
}

impl SessionVariables {
    /// Looks up the six variables.
    #[must_use]
    pub fn of(mut look_up: impl FnMut(&'static str) -> Option<OsString>) -> Self {
        let mut variables = SessionVariables::default();
        for name in VARIABLES {
            match look_up(name).map(OsString::into_string) {
                None => {}
                Some(Ok(value)) => variables.found.push((name, value)),
                Some(Err(_)) => variables.unusable.push(name),
            }
        }
        variables
    }

    /// The agent's directory, where it is named, whether or not the other variables are in order.
    #[must_use]
    pub fn agent_dir(&self) -> Option<&str> {
        self.get(AGENT_DIR).filter(|directory| !directory.is_empty())
    }

    /// The session that they name, if they name one.
    ///
    /// # Errors
    /// `HARNESS_STATE_INPUT` with reason `environment` when a value is no Unicode, or as
    /// [`SessionEnvironment::from_env`].
    pub fn session(&self) -> Result<Option<SessionEnvironment>> {
        if let Some(name) = self.unusable.first() {
            let message = format!("not Unicode, variable=`{name}`");
            return Err(Error::new(Code::HarnessStateInput, message).with_reason("environment"));
        }
        SessionEnvironment::from_env(|name| self.get(name).map(str::to_owned))
    }

    /// Whether a variable's value is no Unicode.
    pub(super) fn is_unusable(&self, name: &str) -> bool {
        self.unusable.contains(&name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.found.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

pub(super) fn decimal(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
