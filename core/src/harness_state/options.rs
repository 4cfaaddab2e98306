//! What may be set, and what it is when nothing is set.

use std::time::Duration;

use crate::error::{Code, Error, Result};

/// The spelling that existing deployments write and read.
pub const SCHEMA: &str = "st2.harness-state.v1";
/// The prefix of the tokens of sessions that no wrapper launched.
pub const WRAPPERLESS_PREFIX: &str = "claude-session-";

const MINUTE_MS: u64 = 60 * 1000;

/// Options of readers and writers. [`Options::default`] agrees with existing deployments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The schema to write, compared whole. Default [`SCHEMA`].
    pub schema: String,
    /// Further schemas to accept when reading. Default none.
    pub also_accepted_schemas: Vec<String>,
    /// From this age on a record tells nothing, in milliseconds. Default 15 minutes (HS-07).
    pub stale_ms: u64,
    /// From this age on an unchanged observation is stamped again, in milliseconds. Default 5 minutes (HS-07).
    pub refresh_ms: u64,
    /// A stamp further ahead than this is not believed, in milliseconds. Default 60 seconds (HS-07).
    pub future_skew_ms: u64,
    /// How long a call waits for the lock. Default 10 seconds (HS-21).
    pub lock_wait: Duration,
    /// Tokens with one of these prefixes may claim, and be claimed from, without a wrapper. Default
    /// [`WRAPPERLESS_PREFIX`]. None is empty or begins with a digit.
    pub wrapperless_prefixes: Vec<String>,
    /// Whether records carry the extension object, and are judged by it (HS-95). Default yes.
    pub extension: bool,
    /// A probe that takes longer than this has answered nothing. Default 100 ms: ten times what reading the
    /// process table takes on a loaded machine.
    pub probe_budget: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            schema: SCHEMA.to_owned(),
            also_accepted_schemas: Vec::new(),
            stale_ms: 15 * MINUTE_MS,
            refresh_ms: 5 * MINUTE_MS,
            future_skew_ms: MINUTE_MS,
            lock_wait: Duration::from_secs(10),
            wrapperless_prefixes: vec![WRAPPERLESS_PREFIX.to_owned()],
            extension: true,
            probe_budget: Duration::from_millis(100),
        }
    }
}

impl Options {
    /// # Errors
    /// `HARNESS_STATE_INPUT` with reason `wrapperless-prefix` for a prefix that every token has, or that a minted one
    /// may have: minted tokens begin with a digit.
    pub(crate) fn validate(&self) -> Result<()> {
        let is_minted = |prefix: &String| prefix.starts_with(|first: char| first.is_ascii_digit());
        if self.wrapperless_prefixes.iter().any(|prefix| prefix.is_empty() || is_minted(prefix)) {
            let message = "a wrapperless prefix is empty, or begins with a digit as minted tokens do";
            return Err(Error::new(Code::HarnessStateInput, message).with_reason("wrapperless-prefix"));
        }
        Ok(())
    }

    /// Whether records of this schema are understood.
    #[must_use]
    pub fn accepts(&self, schema: &str) -> bool {
        schema == self.schema || self.also_accepted_schemas.iter().any(|accepted| accepted == schema)
    }

    /// Whether this token belongs to a session that no wrapper launched.
    #[must_use]
    pub fn is_wrapperless(&self, token: &str) -> bool {
        self.wrapperless_prefixes.iter().any(|prefix| token.starts_with(prefix.as_str()))
    }
}
