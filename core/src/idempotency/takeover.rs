//! Whether the owner of a reservation still holds it (IK-09): a pure function of what stands on disk and of what is
//! known now.

use super::claim::{Owner, Stamp};
use crate::process::{Liveness, ProcessTable};

/// An owner of whom neither life nor death can be proved holds its reservation for so long after its last refresh, in
/// milliseconds (IK-09).
pub const TAKEOVER_MS: u64 = 120_000;

/// A machine that slept since the owner's last refresh gave it less time than the clock says. Awake for two windows it
/// had one of them on one side of the sleep, whenever that was.
const TAKEOVER_AFTER_SLEEP_MS: u64 = 2 * TAKEOVER_MS;

/// A stamp further ahead than this is no clock's usual error, in milliseconds (IK-11).
const FUTURE_MS: u64 = 60_000;

/// Two readings of the two clocks are not taken at one instant; a sleep is longer than what lies between.
pub(super) const SHORTEST_SLEEP_MS: u64 = 10;

/// What is known when a claim is judged.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Now.
    pub now: Stamp,
    /// Who lives.
    pub processes: &'a dyn ProcessTable,
    /// When the store was opened.
    pub opened: Stamp,
    /// Whether a sleep of the machine was detected less than a window ago, so that no age counts yet.
    pub is_grace: bool,
    /// After so long without a refresh a reservation of a living owner answers unknown, in milliseconds.
    pub max_reservation_ms: u64,
}

/// What became of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It holds the reservation.
    Holds,
    /// It lives and has not refreshed for so long that it may have forgotten. It is never taken over.
    Forgot,
    /// It is gone, or must be taken for gone.
    Gone,
}

/// Judges the owner. None gave up by itself.
#[must_use]
pub fn fate(owner: Option<&Owner>, facts: &Facts<'_>) -> Fate {
    let Some(owner) = owner else { return Fate::Gone };
    match owner.process.liveness(facts.processes) {
        Liveness::Dead => Fate::Gone,
        // Its life is proved, so it shares our boot and our awake clock. No step of the wall clock and no sleep of the
        // machine makes it forget.
        Liveness::Alive => {
            let age = facts.now.awake_ms.saturating_sub(owner.refreshed.awake_ms);
            if age >= facts.max_reservation_ms { Fate::Forgot } else { Fate::Holds }
        }
        Liveness::Indeterminate => {
            let age = age_of_unprovable(owner, facts);
            if age < TAKEOVER_MS || facts.is_grace || slept_in_between(owner, facts) {
                Fate::Holds
            } else {
                Fate::Gone
            }
        }
    }
}

/// By the wall clock, which all machines have. A stamp from beyond its usual error says nothing of its age: then, and
/// where both share the boot, the clock that nobody sets does, so that a clock that ran ahead holds no key for ever.
fn age_of_unprovable(owner: &Owner, facts: &Facts<'_>) -> u64 {
    let is_from_the_future = owner.refreshed.wall_ms > facts.now.wall_ms.saturating_add(FUTURE_MS);
    if is_from_the_future && shares_boot(owner, facts) {
        return facts.now.awake_ms.saturating_sub(owner.refreshed.awake_ms);
    }
    facts.now.wall_ms.saturating_sub(owner.refreshed.wall_ms)
}

fn shares_boot(owner: &Owner, facts: &Facts<'_>) -> bool {
    let boot = facts.processes.boot();
    !boot.is_empty() && *owner.process.boot == *boot
}

/// Whether the machine that both share slept between the refresh and the opening of the store, and has not been awake
/// for long enough since. A sleep after the opening was detected, and has its grace.
fn slept_in_between(owner: &Owner, facts: &Facts<'_>) -> bool {
    let slept = facts.opened.slept_ms.saturating_sub(owner.refreshed.slept_ms);
    let awake = facts.now.awake_ms.saturating_sub(owner.refreshed.awake_ms);
    let awake_since_opening = facts.now.awake_ms.saturating_sub(facts.opened.awake_ms);
    shares_boot(owner, facts)
        && slept >= SHORTEST_SLEEP_MS
        && awake < TAKEOVER_AFTER_SLEEP_MS
        && awake_since_opening < TAKEOVER_MS
}

/// How long from now until time alone can change what [`fate`] says of an owner that holds, in milliseconds. Whoever looks
/// again after `enough_ms` anyway may be told that much, and the owner's process is not looked at.
#[must_use]
pub(super) fn ms_until_judged_again(owner: &Owner, facts: &Facts<'_>, enough_ms: u64) -> u64 {
    let left = |age: u64, limit: u64| limit.saturating_sub(age).max(1);
    let if_alive =
        left(facts.now.awake_ms.saturating_sub(owner.refreshed.awake_ms), facts.max_reservation_ms);
    let if_unprovable = left(age_of_unprovable(owner, facts), TAKEOVER_MS);
    if if_alive.min(if_unprovable) >= enough_ms {
        return enough_ms;
    }
    match owner.process.liveness(facts.processes) {
        Liveness::Dead => 0,
        Liveness::Alive => if_alive,
        Liveness::Indeterminate => if_unprovable,
    }
}
