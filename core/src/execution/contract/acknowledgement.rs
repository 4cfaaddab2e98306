//! The reply to a submit or a continue: whose job it is now (EX-TRA-14, EX-TRA-16).

use super::method::Method;
use super::reply::{Reply, protocol};
use crate::error::Result;
use crate::execution::cursor::Cursor;
use crate::json::{Object, Value};

/// A job and its root turn. Both are compared byte for byte (EX-IDN-05), and neither is empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identities {
    /// The provider's job.
    pub provider_job_id: String,
    /// The provider's root turn.
    pub turn_id: String,
}

/// An acknowledgement that was judged and found valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The provider's job.
    pub provider_job_id: String,
    /// The root turn.
    pub turn_id: String,
    /// The session that was reported; none keeps the recorded one.
    pub session_id: Option<String>,
    /// The first cursor of the run, where one was given (EX-CUR-12).
    pub cursor: Option<Cursor>,
    /// The environment, if it was echoed.
    pub environment: Option<Value>,
    /// The model, if it was echoed.
    pub model: Option<Value>,
    /// The policy, if it was echoed.
    pub policy: Option<Value>,
}

impl Acknowledgement {
    /// Judges the reply to a submit or a continue. `expected_session` is the session that is recorded for the run, or was
    /// sent with a continue.
    ///
    /// # Errors
    /// `EXECUTION_PROTOCOL` for the first rule that is broken, in this order, with these reasons: `shape` (length,
    /// JSON, an object), `cursor`, `identity`, `session`. Acceptance then stays unknown: whoever judged a reply does not
    /// know whether the provider owns the work (EX-CUR-10, EX-IDN-02).
    pub fn judge(text: &str, expected_session: Option<&str>) -> Result<Acknowledgement> {
        // Both methods have one limit, and neither answers null.
        match Reply::receive(Method::Submit, text, 0)? {
            Some(reply) => Acknowledgement::from_reply(&reply, expected_session),
            None => Err(protocol("shape", "an acknowledgement is null".to_owned())),
        }
    }

    /// Judges the reply to a `recoverResponse`; none is null, which resolves nothing (EX-TRA-24).
    ///
    /// # Errors
    /// As [`Acknowledgement::judge`].
    pub fn judge_recovered(text: &str, expected_session: Option<&str>) -> Result<Option<Acknowledgement>> {
        let reply = Reply::receive(Method::RecoverResponse, text, 0)?;
        reply.map(|reply| Acknowledgement::from_reply(&reply, expected_session)).transpose()
    }

    /// Judges a reply that was read.
    ///
    /// # Errors
    /// As [`Acknowledgement::judge`], without `shape`.
    pub fn from_reply(reply: &Reply, expected_session: Option<&str>) -> Result<Acknowledgement> {
        let cursor = reply.cursor()?;
        let Identities { provider_job_id, turn_id } = reply.identities()?;
        let session_id = reply.session(expected_session)?;
        let echo = |name: &str| reply.given(name).cloned();
        Ok(Acknowledgement {
            provider_job_id,
            turn_id,
            session_id,
            cursor,
            environment: echo("environment"),
            model: echo("model"),
            policy: echo("policy"),
        })
    }

    /// Job and root turn.
    #[must_use]
    pub fn identities(&self) -> Identities {
        Identities { provider_job_id: self.provider_job_id.clone(), turn_id: self.turn_id.clone() }
    }

    /// Refuses an acknowledgement that names job and root turn of an earlier accepted operation: a provider that tells
    /// of old work has not said that it took the new (EX-TRA-17). One of the two may be an earlier one's.
    ///
    /// # Errors
    /// `EXECUTION_PROTOCOL` with the reason `identity`.
    pub fn assert_new<'a>(&self, earlier: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<()> {
        let own = (self.provider_job_id.as_str(), self.turn_id.as_str());
        if earlier.into_iter().any(|pair| pair == own) {
            let message = "a reply names job and root turn of an earlier operation, member=`turnId`";
            return Err(protocol("identity", message.to_owned()));
        }
        Ok(())
    }

    /// What a ledger keeps of it: `{providerJobId, sessionId, turnId, cursor}` (EX-LED-02).
    #[must_use]
    pub fn to_value(&self) -> Value {
        let members = [
            ("providerJobId", Value::from(self.provider_job_id.as_str())),
            ("sessionId", Value::from(self.session_id.as_deref())),
            ("turnId", Value::from(self.turn_id.as_str())),
            ("cursor", Value::from(self.cursor.as_ref().map(Cursor::to_value))),
        ];
        Value::from(members.into_iter().collect::<Object>())
    }
}
