//! Claims in memory: an engine for tests of programs, and the second one that runs the engines' suite.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::engine::{Change, ClaimStore, Swept};
use super::{ClaimName, ClaimRecord, Patience};
use crate::clock::Clock;
use crate::error::Result;
use crate::storage::Notifier;

/// Expired claims that one call of a sweep removes at most.
const SWEEP_CLAIMS: usize = 32;

/// Claims that are gone with the process, and that no other process sees. Every store over the same one shares them.
#[derive(Debug, Default)]
pub struct MemoryClaims {
    claims: Mutex<HashMap<[u8; 32], ClaimRecord>>,
}

impl MemoryClaims {
    /// An engine without claims.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    fn claims(&self) -> MutexGuard<'_, HashMap<[u8; 32], ClaimRecord>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClaimStore for MemoryClaims {
    fn read(&self, name: &ClaimName, _patience: &mut Patience) -> Result<Option<ClaimRecord>> {
        Ok(self.claims().get(name.digest()).cloned())
    }

    fn change(
        &self,
        name: &ClaimName,
        _patience: &mut Patience,
        decide: &mut dyn FnMut(Option<ClaimRecord>) -> Change,
    ) -> Result<()> {
        let mut claims = self.claims();
        match decide(claims.get(name.digest()).cloned()) {
            Change::Keep => {}
            Change::Put(record) => drop(claims.insert(*name.digest(), record)),
            Change::Remove => drop(claims.remove(name.digest())),
        }
        Ok(())
    }

    fn sweep(&self, wall_ms: u64, _patience: &mut Patience) -> Result<Swept> {
        let mut claims = self.claims();
        let expired = claims.iter().filter(|(_, claim)| claim.is_expired(wall_ms)).map(|(name, _)| *name);
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
