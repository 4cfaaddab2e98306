//! Claims: how a session takes a seat (section E).

use std::io;
use std::path::Path;
use std::time::Duration;

use super::codec;
use super::moment::Moment;
use super::options::Options;
use super::ownership::raise_floor;
use super::publication::{Publication, publish_record};
use super::seat::{CONTEXT, CONTEXT_LOCK, LOCK, RECORD, STAGED_FLOOR, STAGED_RECORD, Seat, Stored};
use super::token::refuse_empty;
use super::transition::{self, Circumstances, Prior};
use super::writer::WriterIdentity;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::storage::{Directory, Durability, LockGuard, StagedNames, sweep_abandoned};

/// How long a claim, which holds the record's lock, waits for the sibling's lock at most: every writer of the seat
/// waits meanwhile.
const CONTEXT_WAIT: Duration = Duration::from_secs(1);

/// Who claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimant {
    /// The agent's name.
    pub agent: String,
    /// The harness's name.
    pub harness: String,
    /// The session's token.
    pub token: String,
}

/// A claim that has landed: record and floor are on disk and durable, except where it says otherwise.
#[derive(Debug)]
pub struct Claim {
    /// The session's ownership sequence. Writers of the session adopt it.
    pub sequence: u64,
    /// The floor could not be raised. The claim stands; the record alone carries its sequence.
    pub floor_failure: Option<Error>,
    /// Something stood in the floor's place that was no number, and what was wrong with it.
    pub floor_damage: Option<String>,
    /// The sibling record could not be removed: the new session may be shown the old one's context.
    pub context_failure: Option<Error>,
    /// How many abandoned staged files were removed.
    pub swept: u32,
}

/// Takes the seat, whatever stands there: live records, unreadable bytes, foreign schemas. Creates the directory
/// where it is missing. Not idempotent: the same token claiming twice gets two sequences.
///
/// # Errors
/// `HARNESS_STATE_EMPTY_TOKEN`, `_INPUT` (reasons `path`, `too-large`), `_SEQUENCE_EXHAUSTED`, `_BUSY`, `_LOCKING`, `_IO`. Nothing was written, except that
/// after a failed sync of the directory the placeholder may stand.
pub fn claim(
    directory: impl AsRef<Path>,
    claimant: &Claimant,
    options: &Options,
    host: &Host,
) -> Result<Claim> {
    refuse_empty(&claimant.token)?;
    let seat = Seat::new(directory.as_ref(), host, options)?;
    let lock = seat.lock()?;
    let stored = Stored::read(&**lock.directory(), RECORD);
    claim_over(&seat, &lock, &stored, claimant)
}

/// Takes the seat for a session that no wrapper launched, if it is free for one; none where it is not.
///
/// Free is: nothing stands there; the record's token is empty or carries a wrapperless prefix; an ending with an
/// exit; a stale record. Eligibility and claim are one step under the lock.
///
/// # Errors
/// As [`claim`], and `HARNESS_STATE_BAD_TOKEN` when the claimer's token carries no wrapperless prefix.
pub fn claim_wrapperless(
    directory: impl AsRef<Path>,
    claimant: &Claimant,
    options: &Options,
    host: &Host,
) -> Result<Option<Claim>> {
    refuse_empty(&claimant.token)?;
    if !options.is_wrapperless(&claimant.token) {
        let message = "a session without a wrapper needs a token with a registered prefix";
        return Err(Error::new(Code::HarnessStateBadToken, message));
    }
    let seat = Seat::new(directory.as_ref(), host, options)?;
    let lock = seat.lock()?;
    let stored = Stored::read(&**lock.directory(), RECORD);
    let now = Moment::now(host);
    let at = Circumstances { prior: Prior::of(&stored), floor: 0, now: &now, options };
    if !transition::may_claim_wrapperless(at) {
        return Ok(None);
    }
    claim_over(&seat, &lock, &stored, claimant).map(Some)
}

fn claim_over(seat: &Seat, lock: &LockGuard, stored: &Stored, claimant: &Claimant) -> Result<Claim> {
    let directory = &**lock.directory();
    let (floor, _) = seat.floor(directory)?;
    let now = Moment::now(&seat.host);
    let at =
        Circumstances { prior: Prior::of(stored), floor: floor.value, now: &now, options: &seat.options };
    let Some(record) = transition::claim(at, &claimant.agent, &claimant.harness, &claimant.token) else {
        let message = format!("no sequence is left above the highest, path=`{}`", seat.path.display());
        return Err(Error::new(Code::HarnessStateSequenceExhausted, message));
    };
    seat.settle(&floor)?;
    // The record goes first: a floor without its record would fence the seat for a claim that never was.
    let staged = StagedNames::new(&seat.host).next(STAGED_RECORD);
    let publication =
        Publication { bytes: &codec::encode(&record), durability: Durability::Durable, judged: None };
    publish_record(seat, directory, &staged, &publication)?;
    let floor_failure = raise_floor(directory, &floor, record.seq, &seat.host).err();
    let context_failure = remove_context(seat, lock).err();
    let swept = sweep_abandoned(directory, &[STAGED_RECORD, STAGED_FLOOR], &seat.host).unwrap_or(0);
    Ok(Claim { sequence: record.seq, floor_failure, floor_damage: floor.damage, context_failure, swept })
}

/// HS-63: a new session starts with an empty window. The order of locks is state, then context, everywhere.
fn remove_context(seat: &Seat, lock: &LockGuard) -> Result<()> {
    debug_assert!(!lock.is_forked(), "{LOCK} is held");
    let directory: &dyn Directory = &**lock.directory();
    let wait = CONTEXT_WAIT.min(seat.options.lock_wait);
    let _context = seat.lock_named(lock.directory(), CONTEXT_LOCK, wait)?;
    match directory.remove(CONTEXT) {
        Ok(()) => directory.sync(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
    .map_err(|error| {
        let message = format!("cannot remove the sibling record, file=`{CONTEXT}`");
        Error::new(Code::HarnessStateIo, message).with_source(error)
    })
}

impl Claimant {
    /// The identity of a writer that adopts this claim.
    #[must_use]
    pub fn writer_identity(&self, pty_session: Option<String>) -> WriterIdentity {
        WriterIdentity {
            agent: self.agent.clone(),
            harness: self.harness.clone(),
            pty_session,
            token: self.token.clone(),
        }
    }
}
