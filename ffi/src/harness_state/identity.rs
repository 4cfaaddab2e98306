//! Harness state: who writes, and what is seen.

use gallivant_core::Result;
use gallivant_core::harness_state::{Claimant, Observation, WriterIdentity};

use super::words::{ASKS, BLOCKED_ONS, INPUT_BUFFERS, STATES};
use crate::options::{self, sized};
use crate::view::gallivant_str;

/// Who claims, writes or starts a session.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_harness_state_identity {
    /// Set by `GALLIVANT_HARNESS_STATE_IDENTITY_INIT`.
    pub struct_size: usize,
    /// The agent's name.
    pub agent: gallivant_str,
    /// The harness's name, e.g. `claude` or `codex`.
    pub harness: gallivant_str,
    /// The session's token, shared by all its writers; never empty. No string only where a session is started: then one
    /// is minted.
    pub token: gallivant_str,
    /// The pty session in which the harness runs; no string where there is none, and then no live state can be
    /// written. The empty string counts as one. A claim does not look at it.
    pub pty_session: gallivant_str,
}
sized!(gallivant_harness_state_identity);

// C: #define GALLIVANT_HARNESS_STATE_IDENTITY_INIT \
// C:     { sizeof(gallivant_harness_state_identity), { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } }

/// What a writer sees. The six values are compared together when it is decided whether anything changed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_harness_state_observation {
    /// Set by `GALLIVANT_HARNESS_STATE_OBSERVATION_INIT`.
    pub struct_size: usize,
    /// What the harness is doing: GALLIVANT_STATE. The macro leaves it unknown, which cannot be written.
    pub state: i32,
    /// Whom it waits for: GALLIVANT_BLOCKED_ON. The macro says nobody. Unknown is accepted.
    pub blocked_on: i32,
    /// Whether text waits in its input line: GALLIVANT_INPUT_BUFFER. The macro says unknown.
    pub input_buffer: i32,
    /// What a person is asked for: GALLIVANT_ASK. The macro says nothing. Needs a person that it waits for.
    pub ask: i32,
    /// Why, in the writer's words. Empty differs from no string.
    pub reason: gallivant_str,
    /// How it ended, e.g. `exit 0` or `signal 9`. Accepted beside a live state.
    pub exit: gallivant_str,
}
sized!(gallivant_harness_state_observation);

// C: #define GALLIVANT_HARNESS_STATE_OBSERVATION_INIT \
// C:     { sizeof(gallivant_harness_state_observation), GALLIVANT_STATE_UNKNOWN, GALLIVANT_BLOCKED_ON_NONE, \
// C:       GALLIVANT_INPUT_BUFFER_UNKNOWN, GALLIVANT_ASK_NONE, { NULL, 0 }, { NULL, 0 } }

/// An identity with the token still as it was given.
pub(crate) struct Given {
    pub(crate) agent: String,
    pub(crate) harness: String,
    pub(crate) token: Option<String>,
    pub(crate) pty_session: Option<String>,
}

/// The identity behind an argument.
///
/// # Safety
/// `pointer` is null or points to an identity whose strings point to what they say.
pub(crate) unsafe fn given(pointer: *const gallivant_harness_state_identity) -> Result<Given> {
    // SAFETY: the same contract.
    unsafe {
        let given = options::input(pointer, "identity")?;
        Ok(Given {
            agent: given.agent.text("agent")?.to_owned(),
            harness: given.harness.text("harness")?.to_owned(),
            token: given.token.optional("token")?.map(str::to_owned),
            pty_session: given.pty_session.optional("pty_session")?.map(str::to_owned),
        })
    }
}

/// The identity of a writer, whose token has to be there.
///
/// # Safety
/// As [`given`].
pub(crate) unsafe fn writer_identity(
    pointer: *const gallivant_harness_state_identity,
) -> Result<WriterIdentity> {
    // SAFETY: the same contract.
    let Given { agent, harness, token, pty_session } = unsafe { given(pointer) }?;
    let token = token.ok_or_else(|| crate::handle::null_pointer("token"))?;
    Ok(WriterIdentity { agent, harness, pty_session, token })
}

/// The identity of a claimer, whose token has to be there.
///
/// # Safety
/// As [`given`].
pub(crate) unsafe fn claimant(pointer: *const gallivant_harness_state_identity) -> Result<Claimant> {
    // SAFETY: the same contract.
    let WriterIdentity { agent, harness, token, .. } = unsafe { writer_identity(pointer) }?;
    Ok(Claimant { agent, harness, token })
}

/// The observation behind an argument.
///
/// # Safety
/// `pointer` is null or points to an observation whose strings point to what they say.
pub(crate) unsafe fn observation(pointer: *const gallivant_harness_state_observation) -> Result<Observation> {
    // SAFETY: the same contract.
    unsafe {
        let given = options::input(pointer, "observation")?;
        Ok(Observation {
            state: STATES.input(given.state)?,
            blocked_on: BLOCKED_ONS.input(given.blocked_on)?,
            input_buffer: INPUT_BUFFERS.input(given.input_buffer)?,
            ask: ASKS.input(given.ask)?,
            reason: given.reason.optional("reason")?.map(str::to_owned),
            exit: given.exit.optional("exit")?.map(str::to_owned),
        })
    }
}
