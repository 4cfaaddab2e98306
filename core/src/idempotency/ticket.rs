//! Waiting for a create that runs.

use std::time::Duration;

use super::claim::{Owner, whole_ms};
use super::takeover::ms_until_judged_again;
use super::{Begin, ClaimName, Fingerprint, How, IdempotencyStore};
use crate::error::{Code, Error, Result};
use crate::process::Liveness;
use crate::storage::Notifier;

/// The longest pause between two looks where the system tells of ends: what it does not tell of is the death of an owner
/// that cannot be watched, and an end whose process died between its commit and its announcement.
const LONGEST_WITH_NOTICES: Duration = Duration::from_millis(250);

/// The longest that a waiter sleeps on a descriptor without asking whether it is to go on: cancelling is to end a wait
/// within 0.1 s, and what a caller sets for it wakes no descriptor.
const LONGEST_UNASKED: Duration = Duration::from_millis(50);

/// The longest pause where it does not, so that every waiter has its answer within 50 ms.
const LONGEST_WITHOUT_NOTICES: Duration = Duration::from_millis(25);

/// The first pause where the system does not tell. A create that has begun takes a commit at the least.
const FIRST_WITHOUT_NOTICES: Duration = Duration::from_millis(1);

/// So long a waiter waits before it has its owner's process watched, which costs more than a short create.
const BEFORE_OWNER_IS_WATCHED: Duration = Duration::from_millis(2);

/// A look at the deadline has its turn among short transactions all the same.
const SHORTEST_LOOK: Duration = Duration::from_millis(1);

/// A create with the same key and body that runs in this or another process.
#[derive(Clone, Debug)]
pub struct Ticket {
    store: IdempotencyStore,
    name: ClaimName,
    fingerprint: Fingerprint,
    owner: Option<Owner>,
    how: How,
}

impl Ticket {
    pub(super) fn new(
        (store, name, fingerprint): (IdempotencyStore, ClaimName, Fingerprint),
        owner: Option<Owner>,
        how: How,
    ) -> Self {
        Ticket { store, name, fingerprint, owner, how }
    }

    /// How it came about.
    #[must_use]
    pub fn how(&self) -> How {
        self.how
    }

    /// Asks again, without waiting for the create: another ticket while it runs.
    ///
    /// # Errors
    /// As [`IdempotencyStore::begin`]; `IDEMPOTENCY_KEY_REUSED` when the first create was released and the key now
    /// belongs to another body.
    pub fn look(&self) -> Result<Begin> {
        self.look_within(None)
    }

    /// As [`Ticket::look`], with a deadline for another process's transaction.
    ///
    /// # Errors
    /// As [`Ticket::look`].
    pub fn look_within(&self, deadline: Option<Duration>) -> Result<Begin> {
        let mut patience = self.store.patience(deadline);
        self.store.decide(&self.name, &self.fingerprint, Some(How::Waited), &mut patience)
    }

    /// When to look again at the latest, for whoever waits with a means of its own: with notices of
    /// [`IdempotencyStore::notifier`], or without.
    #[must_use]
    pub fn next_look(&self, has_notices: bool) -> Duration {
        let longest = if has_notices { LONGEST_WITH_NOTICES } else { LONGEST_WITHOUT_NOTICES };
        let judged_again = self
            .owner
            .as_ref()
            .map_or(0, |owner| ms_until_judged_again(owner, &self.store.facts(), whole_ms(longest)));
        longest.min(Duration::from_millis(judged_again.max(1)))
    }

    /// Waits until the create ends, for at most this long: [`Begin::Replay`] when it finished, [`Begin::Create`] when it
    /// was released or its owner is gone, [`Begin::Unknown`] when its owner is gone after the mark. It wakes within
    /// milliseconds of the end where the system tells of it, and within 25 ms where not. The ticket stays good.
    ///
    /// # Errors
    /// `IDEMPOTENCY_IN_PROGRESS` when it still runs at the deadline; `GALLIVANT_CANCELLED`; those of [`Ticket::look`].
    pub fn wait(&self, deadline: Duration) -> Result<Begin> {
        let until = self.store.host().clock.awake().saturating_add(deadline);
        let mut ticket = self.clone();
        let Some(mut notifier) = self.store.borrow_notifier() else {
            return ticket.wait_by_looking(until);
        };
        let waited = ticket.wait_for_notices(until, &mut *notifier);
        self.store.return_notifier(notifier);
        waited
    }

    fn wait_for_notices(&mut self, until: Duration, notifier: &mut dyn Notifier) -> Result<Begin> {
        let (mut watched, mut is_first) = (None, true);
        loop {
            if !is_first && self.owner.is_some() && watched != self.owner {
                self.watch_owner(notifier);
                watched = self.owner.clone();
            }
            // What happened before it watched is seen by this look.
            if let Some(ended) = self.look_again(until)? {
                return Ok(ended);
            }
            let mut longest = self.next_look(true).min(self.left(until)?);
            if std::mem::take(&mut is_first) {
                longest = longest.min(BEFORE_OWNER_IS_WATCHED);
            }
            if self.told_within(notifier, longest).is_err() {
                return self.wait_by_looking(until);
            }
        }
    }

    /// Sleeps until something is told, the time is over, or the caller's own signal says so.
    fn told_within(&self, notifier: &mut dyn Notifier, longest: Duration) -> std::io::Result<()> {
        let clock = &self.store.host().clock;
        let until = clock.awake().saturating_add(longest);
        let mut is_told = false;
        while !is_told && !clock.is_cancelled() {
            let left = until.saturating_sub(clock.awake());
            if left.is_zero() {
                break;
            }
            notifier.wait(Some(left.min(LONGEST_UNASKED)))?;
            notifier.drain(&mut |_| is_told = true)?;
        }
        Ok(())
    }

    fn wait_by_looking(&mut self, until: Duration) -> Result<Begin> {
        let mut pause = FIRST_WITHOUT_NOTICES;
        loop {
            if let Some(ended) = self.look_again(until)? {
                return Ok(ended);
            }
            let longest = pause.min(self.next_look(false)).min(self.left(until)?);
            self.store.host().clock.sleep(longest);
            pause = (pause * 2).min(LONGEST_WITHOUT_NOTICES);
        }
    }

    /// Looks; none while the create runs.
    fn look_again(&mut self, until: Duration) -> Result<Option<Begin>> {
        let left = until.saturating_sub(self.store.host().clock.awake());
        match self.look_within(Some(left.max(SHORTEST_LOOK)))? {
            Begin::InProgress(still) => {
                *self = still;
                Ok(None)
            }
            ended => Ok(Some(ended)),
        }
    }

    /// What is left until the deadline.
    fn left(&self, until: Duration) -> Result<Duration> {
        let clock = &self.store.host().clock;
        if clock.is_cancelled() {
            return Err(Error::new(Code::Cancelled, "the wait for the create was cancelled"));
        }
        match until.checked_sub(clock.awake()) {
            Some(left) if !left.is_zero() => Ok(left),
            _ => {
                let message = "the first create with this key still runs at the deadline";
                Err(Error::new(Code::IdempotencyInProgress, message))
            }
        }
    }

    /// Wakes at the owner's death, where it is a process of this machine. It may be gone already, or its number another's
    /// by now: the next look judges it.
    fn watch_owner(&self, notifier: &mut dyn Notifier) {
        let Some(owner) = &self.owner else { return };
        let processes = &*self.store.host().processes;
        if owner.process.pid != processes.own_pid() && owner.process.liveness(processes) == Liveness::Alive {
            let _ = notifier.watch_process(owner.process.pid);
        }
    }
}
