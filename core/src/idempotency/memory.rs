//! Claims in memory: an engine for tests of programs, and the second one that runs the engines' suite.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::claim::ClaimState;
use super::engine::{Change, ClaimStore, Swept};
use super::listing::{ClaimPage, ClaimReader, StoredClaim, UnderstoodClaim};
use super::{ClaimName, ClaimRecord, Patience};
use crate::clock::Clock;
use crate::error::Result;
use crate::storage::Notifier;

/// Expired claims that one call of a sweep removes at most.
const SWEEP_CLAIMS: usize = 32;

/// Claims in a page at most.
const PAGE_CLAIMS: usize = 32;

/// Claims that are gone with the process, and that no other process sees. Every store over the same one shares them.
#[derive(Debug, Default)]
pub struct MemoryClaims {
    claims: Mutex<Claims>,
}

/// Claims by their positions, and where each is.
#[derive(Debug, Default)]
struct Claims {
    positions: HashMap<[u8; 32], i64>,
    claims: BTreeMap<i64, (ClaimName, ClaimRecord)>,
}

impl Claims {
    fn get(&self, name: &ClaimName) -> Option<ClaimRecord> {
        let position = self.positions.get(name.digest())?;
        self.claims.get(position).map(|(_, claim)| claim.clone())
    }

    /// A claim that takes the place of another stands where that stood.
    fn put(&mut self, name: &ClaimName, record: ClaimRecord) {
        let next = self.claims.last_key_value().map_or(1, |(last, _)| last + 1);
        let position = *self.positions.entry(*name.digest()).or_insert(next);
        self.claims.insert(position, (name.clone(), record));
    }

    fn remove(&mut self, digest: &[u8; 32]) {
        if let Some(position) = self.positions.remove(digest) {
            self.claims.remove(&position);
        }
    }
}

impl MemoryClaims {
    /// An engine without claims.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    fn claims(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClaimStore for MemoryClaims {
    fn read(&self, name: &ClaimName, _patience: &mut Patience) -> Result<Option<ClaimRecord>> {
        Ok(self.claims().get(name))
    }

    fn change(
        &self,
        name: &ClaimName,
        _patience: &mut Patience,
        decide: &mut dyn FnMut(Option<ClaimRecord>) -> Change,
    ) -> Result<()> {
        let mut claims = self.claims();
        match decide(claims.get(name)) {
            Change::Keep => {}
            Change::Put(record) => claims.put(name, record),
            Change::Remove => claims.remove(name.digest()),
        }
        Ok(())
    }

    fn sweep(&self, wall_ms: u64, _patience: &mut Patience) -> Result<Swept> {
        let mut claims = self.claims();
        let expired = claims.claims.values().filter(|(_, claim)| claim.is_expired(wall_ms));
        let expired = expired.map(|(name, _)| *name.digest());
        let mut expired: Vec<_> = expired.take(SWEEP_CLAIMS + 1).collect();
        let has_more = expired.len() > SWEEP_CLAIMS;
        expired.truncate(SWEEP_CLAIMS);
        for name in &expired {
            claims.remove(name);
        }
        Ok(Swept { removed: expired.len() as u64, has_more })
    }

    fn check(&self, _patience: &mut Patience) -> Result<()> {
        Ok(())
    }

    fn announce(&self) {}

    fn notifier(&self, _clock: &Arc<dyn Clock>) -> Option<Box<dyn Notifier>> {
        None
    }
}

impl ClaimReader for MemoryClaims {
    fn page(&self, behind: Option<i64>, _patience: &mut Patience) -> Result<ClaimPage> {
        let claims = self.claims();
        let from = behind.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = claims.claims.range((from, Bound::Unbounded));
        let (mut page, mut last) = (ClaimPage::default(), None);
        for (position, (name, record)) in rest.by_ref().take(PAGE_CLAIMS) {
            let mut record = record.clone();
            if let ClaimState::Finished { answer, .. } = &mut record.state {
                *answer = None;
            }
            let (operation, scope) = (name.operation().to_owned(), name.scope().to_vec());
            let understood = Some(UnderstoodClaim { operation, scope, record });
            page.claims.push(StoredClaim { digest: Some(*name.digest()), understood });
            last = Some(*position);
        }
        page.next = last.filter(|_| rest.next().is_some());
        Ok(page)
    }
}
