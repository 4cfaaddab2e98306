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
#[must_use]
pub fn judge(found: Option<&ClaimRecord>, body: &Fingerprint, facts: &Facts<'_>) -> Meaning {
    let Some(claim) = found else { return Meaning::Free(How::Fresh) };
    let is_same_body = claim.fingerprint == *body;
    match &claim.state {
        ClaimState::Finished { .. } if claim.is_expired(facts.now.wall_ms) => Meaning::Free(How::Expired),
        ClaimState::Reserved { is_marked: false, owner } if fate(owner.as_ref(), facts) == Fate::Gone => {
            Meaning::Free(How::TakenOver)
        }
        _ if !is_same_body => Meaning::OtherBody,
        ClaimState::Finished { .. } => Meaning::Finished,
        ClaimState::Reserved { owner, .. } => match fate(owner.as_ref(), facts) {
            Fate::Holds => Meaning::Running,
            Fate::Forgot | Fate::Gone => Meaning::Unknown,
        },
    }
}
