//! What a key means at this moment: a pure function of what stands on disk, of who asks and of what is known now.

use super::claim::{ClaimRecord, ClaimState};
use super::takeover::{Facts, Fate, fate};
use super::{Fingerprint, How};

/// What a claim, or its absence, means to whoever asks with this body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Nobody holds the name: the asker may make the thing, once the name is reserved for it.
    Free(How),
    /// The create has finished.
    Finished,
    /// The create runs.
    Running,
    /// Its owner is lost after the mark, or has not been heard of for too long: whether the thing exists has to be found
    /// out.
    Unknown,
    /// The name belongs to another body.
    OtherBody,
}

/// Judges what was found under a name, on behalf of a create with this body.
///
/// A name whose claim has expired, or whose owner is gone before the mark, belongs to no body any more (IK-05, IK-09,
/// IK-11). After the mark it still does: another body then learns that the key was used, and not that it may settle what
/// the first one did.
///
/// `facts` is asked only where somebody holds the name.
#[must_use]
pub fn judge<'a>(
    found: Option<&ClaimRecord>,
    body: &Fingerprint,
    wall_ms: u64,
    facts: &dyn Fn() -> Facts<'a>,
) -> Meaning {
    let Some(claim) = found else { return Meaning::Free(How::Fresh) };
    let is_same_body = claim.fingerprint == *body;
    match &claim.state {
        ClaimState::Finished { .. } if claim.is_expired(wall_ms) => Meaning::Free(How::Expired),
        ClaimState::Finished { .. } if is_same_body => Meaning::Finished,
        ClaimState::Finished { .. } => Meaning::OtherBody,
        ClaimState::Reserved { is_marked, owner } => match (fate(owner.as_ref(), &facts()), is_marked) {
            (Fate::Gone, false) => Meaning::Free(How::TakenOver),
            _ if !is_same_body => Meaning::OtherBody,
            (Fate::Holds, _) => Meaning::Running,
            (Fate::Forgot | Fate::Gone, _) => Meaning::Unknown,
        },
    }
}
