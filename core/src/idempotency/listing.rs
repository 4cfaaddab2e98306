//! Every claim of a store, for an operator: which keys are in what state, whose, and since when. Reading alone.
//!
//! It is for whoever may read the whole store. Nothing that a create passes leads here, so that no scope reads another's
//! claims (IK-07, IKI-2). Keys are shown as what stands on disk of them: their digest (IK-13).

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::claim::{ClaimRecord, ClaimState, whole_ms};
use super::{Patience, StoreOptions};
use crate::error::Result;
use crate::host::Host;
use crate::process::{Liveness, ProcessIdentity};

/// Reads the claims of a store one after the other: the companion of [`ClaimStore`](super::ClaimStore) for whoever changes
/// nothing.
pub trait ClaimReader: Send + Sync + fmt::Debug {
    /// Those behind a position, or the first ones: a bounded number, in the order of their positions. Writes nothing, and no
    /// writer waits for it. Each page is what one commit left; between two pages others may have committed, so that a claim
    /// that is removed and made again meanwhile may come twice.
    ///
    /// # Errors
    /// `IDEMPOTENCY_STORE_CORRUPT`, `IDEMPOTENCY_STORE_VERSION`, `IDEMPOTENCY_STORE_UNAVAILABLE`, `IDEMPOTENCY_FORKED`,
    /// `IDEMPOTENCY_BUSY`, as [`ClaimStore::read`](super::ClaimStore::read). A claim that makes no sense is no error.
    fn page(&self, behind: Option<i64>, patience: &mut Patience) -> Result<ClaimPage>;
}

impl<R: ClaimReader + ?Sized> ClaimReader for Arc<R> {
    fn page(&self, behind: Option<i64>, patience: &mut Patience) -> Result<ClaimPage> {
        (**self).page(behind, patience)
    }
}

/// Some of a store's claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimPage {
    /// In the order of their positions.
    pub claims: Vec<StoredClaim>,
    /// The position to go on behind; none where there are no more.
    pub next: Option<i64>,
}

/// What stands on disk, with what its name is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredClaim {
    /// The digest of operation, scope and key; none where the name makes no sense.
    pub digest: Option<[u8; 32]>,
    /// The rest; none where the claim makes no sense, of which nothing can be believed then.
    pub understood: Option<UnderstoodClaim>,
}

/// A claim that makes sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderstoodClaim {
    /// The namespace of the key.
    pub operation: String,
    /// Whom the key belongs to, outermost first.
    pub scope: Vec<String>,
    /// The record, without its answer: that may be large.
    pub record: ClaimRecord,
}

/// How far a claim is, as an operator sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListedState {
    /// Reserved, and nothing outside may exist.
    Reserved,
    /// Reserved, and an effect may have happened.
    Marked,
    /// Finished, and its answer is given to repeats.
    Finished,
    /// Finished, and its time is over: a repeat is a new create.
    Expired,
    /// It makes no sense.
    Damaged,
}

impl ListedState {
    /// The lower-case word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            ListedState::Reserved => "reserved",
            ListedState::Marked => "marked",
            ListedState::Finished => "finished",
            ListedState::Expired => "expired",
            ListedState::Damaged => "damaged",
        }
    }
}

/// One claim of a listing, lent for the length of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedClaim<'a> {
    /// The digest of operation, scope and key, which stands in the key's place; none where that makes no sense.
    pub digest: Option<&'a [u8; 32]>,
    /// The namespace of the key; none of a damaged claim.
    pub operation: Option<&'a str>,
    /// Whom the key belongs to, outermost first; nothing of a damaged claim.
    pub scope: &'a [String],
    /// How far it is.
    pub state: ListedState,
    /// Who holds it; none where nobody does: it has finished, or its owner gave it up after the mark.
    pub owner: Option<ListedOwner>,
    /// How long ago it finished, or its owner last refreshed it, by the wall clock and in milliseconds; 0 of a stamp that is
    /// ahead. None where no such instant stands there.
    pub age_ms: Option<u64>,
    /// The id of the thing that was made.
    pub resource: Option<&'a str>,
}

/// Who holds a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedOwner {
    /// Its process id, as its own pid namespace counts.
    pub pid: u32,
    /// Whether it lives, as far as this process can prove it (IK-09).
    pub liveness: Liveness,
}

/// Which claims are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// Those in one of these states; empty for all.
    pub states: Vec<ListedState>,
    /// Those of this operation alone.
    pub operation: Option<String>,
    /// Those of at least this age. A claim whose age is not known has none.
    pub older_than: Option<Duration>,
    /// At most so many.
    pub limit: Option<u64>,
}

/// What a listing says besides its claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// How many were visited.
    pub claims: u64,
    /// Whether it ended at its limit with another claim behind.
    pub has_more: bool,
}

/// Visits the claims that are asked for, in the order in which they were made, until there are no more, the limit is reached,
/// or `visit` breaks off. One page is in memory at a time.
///
/// # Errors
/// Those of [`ClaimReader::page`].
pub fn list_claims(
    reader: &dyn ClaimReader,
    asked: &ListOptions,
    host: &Host,
    mut visit: impl FnMut(&ListedClaim<'_>) -> ControlFlow<()>,
) -> Result<Listed> {
    let mut listed = Listed::default();
    let mut owners = Owners { host, last: None };
    let mut behind = None;
    loop {
        let mut patience = Patience::lasting(&host.clock, StoreOptions::default().busy);
        let page = reader.page(behind, &mut patience)?;
        let wall_ms = whole_ms(host.clock.now().wall);
        for stored in &page.claims {
            let Some(claim) = asked.select(stored, wall_ms, &mut owners) else { continue };
            if asked.limit.is_some_and(|limit| listed.claims >= limit) {
                return Ok(Listed { has_more: true, ..listed });
            }
            listed.claims += 1;
            if visit(&claim).is_break() {
                return Ok(listed);
            }
        }
        match page.next {
            Some(next) => behind = Some(next),
            None => return Ok(listed),
        }
    }
}

impl ListOptions {
    /// What is shown of a claim; none where it is not asked for.
    fn select<'a>(
        &self,
        stored: &'a StoredClaim,
        wall_ms: u64,
        owners: &mut Owners<'_>,
    ) -> Option<ListedClaim<'a>> {
        let nothing = ListedClaim {
            digest: stored.digest.as_ref(),
            operation: None,
            scope: &[],
            state: ListedState::Damaged,
            owner: None,
            age_ms: None,
            resource: None,
        };
        let mut holder = None;
        let mut claim = match &stored.understood {
            None => nothing,
            Some(UnderstoodClaim { operation, scope, record }) => {
                let named = ListedClaim { operation: Some(operation), scope, ..nothing };
                let age = |then_ms| Some(wall_ms.saturating_sub(then_ms));
                match &record.state {
                    ClaimState::Reserved { is_marked, owner } => {
                        holder = owner.as_ref().map(|owner| &owner.process);
                        let state = if *is_marked { ListedState::Marked } else { ListedState::Reserved };
                        let age_ms = owner.as_ref().and_then(|owner| age(owner.refreshed.wall_ms));
                        ListedClaim { state, age_ms, ..named }
                    }
                    ClaimState::Finished { resource, completed_ms, .. } => {
                        let is_expired = record.is_expired(wall_ms);
                        let state = if is_expired { ListedState::Expired } else { ListedState::Finished };
                        ListedClaim { state, age_ms: age(*completed_ms), resource: Some(resource), ..named }
                    }
                }
            }
        };
        let is_asked = (self.states.is_empty() || self.states.contains(&claim.state))
            && self.operation.as_deref().is_none_or(|operation| claim.operation == Some(operation))
            && self.older_than.is_none_or(|least| claim.age_ms.is_some_and(|age| age >= whole_ms(least)));
        if !is_asked {
            return None;
        }
        // Nobody else is asked for.
        claim.owner = holder.map(|process| owners.of(process));
        Some(claim)
    }
}

/// Who lives. A process that holds many claims is asked for once in a row.
struct Owners<'a> {
    host: &'a Host,
    last: Option<(ProcessIdentity, Liveness)>,
}

impl Owners<'_> {
    fn of(&mut self, process: &ProcessIdentity) -> ListedOwner {
        let liveness = match &self.last {
            Some((last, liveness)) if last == process => *liveness,
            _ => {
                let liveness = process.liveness(&*self.host.processes);
                self.last = Some((process.clone(), liveness));
                liveness
            }
        };
        ListedOwner { pid: process.pid, liveness }
    }
}
