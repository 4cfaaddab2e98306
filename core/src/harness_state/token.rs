//! Session tokens: unique, and never empty.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Code, Error, Result};
use crate::host::Host;

static MINTED: AtomicU64 = AtomicU64::new(0);

/// Mints a session token: pid, start time, a counter of this process and 64 random bits, so that neither a reused
/// pid nor a fork nor a copied container repeats it. It begins with a digit and so with no wrapperless prefix.
#[must_use]
pub fn mint_token(host: &Host) -> String {
    let counter = MINTED.fetch_add(1, Ordering::Relaxed);
    let (pid, start) = host.processes.own();
    format!("{pid}-{start}-{counter}-{:016x}", host.random.next_u64())
}

pub(crate) fn refuse_empty(token: &str) -> Result<()> {
    if token.is_empty() {
        return Err(Error::new(Code::HarnessStateEmptyToken, "the empty token owns nothing"));
    }
    Ok(())
}
