//! Claims for JavaScript.

use gallivant_core::Result;
use gallivant_core::harness_state::{Claimant, Options, claim, claim_wrapperless};
use napi_derive::napi;

use super::parts::ClaimParts;
use crate::answer::Answer;
use crate::host::NativeHost;
use crate::job::{Promised, promise};
use crate::options::{OptionParts, options};
use crate::waiting::{NativeWait, Patience};

/// Who claims, and where.
#[napi(object, object_to_js = false)]
#[derive(Debug)]
pub struct ClaimantParts {
    /// The agent's directory.
    pub directory: String,
    /// The agent's name.
    pub agent: String,
    /// The harness's name.
    pub harness: String,
    /// The session's token.
    pub token: String,
}

impl ClaimantParts {
    fn split(self) -> (String, Claimant) {
        (self.directory, Claimant { agent: self.agent, harness: self.harness, token: self.token })
    }
}

/// One try of a claim.
#[napi(catch_unwind)]
pub fn claim_async(
    host: &NativeHost,
    claimant: ClaimantParts,
    parts: OptionParts,
    wait: &NativeWait,
) -> Promised<ClaimParts> {
    let host = host.host.clone();
    promise(wait, Patience::SlicesUntilClockIsRead, move || {
        let (directory, claimant) = claimant.split();
        Ok(ClaimParts::from(&claim(directory, &claimant, &options(&parts)?, &host)?))
    })
}

/// A claim on the calling thread.
#[napi(catch_unwind)]
pub fn claim_sync(host: &NativeHost, claimant: ClaimantParts, parts: OptionParts) -> Answer<ClaimParts> {
    Answer::of(|| {
        let (directory, claimant) = claimant.split();
        Ok(ClaimParts::from(&claim(directory, &claimant, &options(&parts)?, &host.host)?))
    })
}

/// One try of a claim without a wrapper; null where the seat is not free for one.
#[napi(catch_unwind)]
pub fn claim_wrapperless_async(
    host: &NativeHost,
    claimant: ClaimantParts,
    parts: OptionParts,
    wait: &NativeWait,
) -> Promised<Option<ClaimParts>> {
    let host = NativeHost { host: host.host.clone(), seams: host.seams.clone() };
    promise(wait, Patience::SlicesUntilClockIsRead, move || wrapperless(&host, claimant, &options(&parts)?))
}

/// A claim without a wrapper, on the calling thread.
#[napi(catch_unwind)]
pub fn claim_wrapperless_sync(
    host: &NativeHost,
    claimant: ClaimantParts,
    parts: OptionParts,
) -> Answer<Option<ClaimParts>> {
    Answer::of(|| wrapperless(host, claimant, &options(&parts)?))
}

fn wrapperless(host: &NativeHost, claimant: ClaimantParts, options: &Options) -> Result<Option<ClaimParts>> {
    let (directory, claimant) = claimant.split();
    let claim = claim_wrapperless(directory, &claimant, options, &host.host)?;
    Ok(claim.as_ref().map(ClaimParts::from))
}
