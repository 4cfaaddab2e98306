//! The instant at which something is decided, on every clock that counts, and how old a record is then (HS-96).

use std::sync::Arc;
use std::time::Duration;

use super::options::Options;
use super::record::Record;
use crate::host::Host;
use crate::process::ProcessTable;

/// An instant. With the machine's own clocks a record that carries the extension is judged by those.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The wall clock, in ms since 1970.
    pub wall_ms: u64,
    pub(crate) machine: Option<Machine>,
}

/// The same instant on the clocks that nobody sets, and what they are the clocks of.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) boot_id: Arc<str>,
    pub(crate) host: Arc<str>,
    /// What records are stamped with and their age is told by.
    pub(crate) boot_ms: u64,
    pub(crate) awake_ms: u64,
    /// The clock of `boot_ms` in its own whole ms, which never go back: what events are ordered by. `boot_ms` goes with the
    /// wall clock's and may be one more or less, because the clocks are read one after the other.
    pub(crate) since_boot_ms: u64,
    pub(crate) processes: Arc<dyn ProcessTable>,
}

impl Moment {
    /// Now.
    #[must_use]
    pub fn now(host: &Host) -> Self {
        let now = host.clock.now();
        let wall_ms = u64::try_from(now.wall.as_millis()).unwrap_or(u64::MAX);
        let machine = Machine {
            boot_id: host.processes.boot(),
            host: host.processes.host(),
            boot_ms: beside(wall_ms, now.wall, now.boot),
            awake_ms: beside(wall_ms, now.wall, now.awake),
            since_boot_ms: u64::try_from(now.boot.as_millis()).unwrap_or(u64::MAX),
            processes: Arc::clone(&host.processes),
        };
        Moment { wall_ms, machine: Some(machine) }
    }

    /// When an event happens that happens now, for its order among others; none where the clock is not known.
    pub(crate) fn event_ms(&self) -> Option<u64> {
        self.machine.as_ref().map(|machine| machine.since_boot_ms)
    }

    /// An instant of which the wall clock alone is known: a record's extension then tells nothing.
    #[must_use]
    pub fn wall(wall_ms: u64) -> Self {
        Moment { wall_ms, machine: None }
    }

    /// The instant at which the wall clock will show `wall_ms`, or showed it, if nobody sets it and the machine does
    /// not sleep.
    #[must_use]
    pub fn moved_to(&self, wall_ms: u64) -> Self {
        let moved = |ms: u64| match wall_ms.checked_sub(self.wall_ms) {
            Some(later) => ms.saturating_add(later),
            None => ms.saturating_sub(self.wall_ms - wall_ms),
        };
        let machine = self.machine.as_ref().map(|machine| Machine {
            boot_ms: moved(machine.boot_ms),
            awake_ms: moved(machine.awake_ms),
            since_boot_ms: moved(machine.since_boot_ms),
            ..machine.clone()
        });
        Moment { wall_ms, machine }
    }
}

/// Another clock in whole milliseconds that begin with those of the wall clock: the two then differ by the same number
/// until one of them is set, and what follows from either is the same at each read.
fn beside(wall_ms: u64, wall: Duration, other: Duration) -> u64 {
    // How far the other is behind, in the nearest whole ms; of two that are as near the greater, also where it is ahead.
    let whole_ms = |length: Duration, half_ns: u32| {
        length
            .as_secs()
            .saturating_mul(1000)
            .saturating_add(u64::from((length.subsec_nanos() + half_ns) / 1_000_000))
    };
    match wall.checked_sub(other) {
        Some(behind) => wall_ms.saturating_sub(whole_ms(behind, 500_000)),
        None => wall_ms.saturating_add(whole_ms(other - wall, 499_999)),
    }
}

/// Whether a record may still be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// It may, for this many further ms.
    Fresh { for_ms: u64 },
    /// Its stamp is ahead of the clock by more than the skew, and will be believed in this many ms.
    Future { for_ms: u64 },
    /// Nobody has confirmed it for too long.
    Stale,
    /// The machine slept for longer than that, and its session has not had the time to confirm it since. In this many
    /// ms it is stale.
    Suspended { for_ms: u64 },
    /// The machine has booted since.
    Rebooted,
}

impl Freshness {
    /// Judges a record that is not newer than the options' schemas.
    ///
    /// By the wall clock, as everybody does; where the record's extension was written in the present boot of this
    /// machine, by the two clocks that nobody sets.
    pub(crate) fn of(record: &Record, at: &Moment, options: &Options) -> Freshness {
        let machine = at.machine.as_ref().filter(|_| options.extension);
        match (&record.extension, machine) {
            (Some(extension), Some(machine)) if extension.is_of_another_boot(machine) => Freshness::Rebooted,
            (Some(extension), Some(machine)) if extension.is_of(machine) => {
                let awake = machine.awake_ms.saturating_sub(extension.awake_ms);
                let real = machine.boot_ms.saturating_sub(extension.boot_ms);
                by_own_clocks(awake, real, options)
            }
            _ => by_wall_clock(record, at.wall_ms, options),
        }
    }
}

fn by_wall_clock(record: &Record, now_ms: u64, options: &Options) -> Freshness {
    let believed_from = record.written_at_ms.saturating_sub(options.future_skew_ms);
    if believed_from > now_ms {
        return Freshness::Future { for_ms: believed_from - now_ms };
    }
    match record.written_at_ms.checked_add(options.stale_ms) {
        Some(stale_from) if stale_from <= now_ms => Freshness::Stale,
        Some(stale_from) => Freshness::Fresh { for_ms: stale_from - now_ms },
        // The clock never gets there.
        None => Freshness::Fresh { for_ms: u64::MAX },
    }
}

/// The shortest sleep of a machine, in ms. Two clocks that are read one after the other differ by as long as a busy machine makes a
/// process wait in between, and nobody is left without time to confirm a record by less.
const SHORTEST_SLEEP_MS: u64 = 100;

/// `awake` leaves out the machine's sleep and `real` counts it. What is older than the limit in real time is never
/// believed. But it is not called stale while its session may be about to confirm it: a session that lives has stamped
/// it at most one refresh before the machine fell asleep, and has one refresh of time after waking.
fn by_own_clocks(awake: u64, real: u64, options: &Options) -> Freshness {
    let stale = options.stale_ms;
    let grace = options.refresh_ms.saturating_mul(2).min(stale);
    if real < stale && awake < stale {
        return Freshness::Fresh { for_ms: stale - awake.max(real) };
    }
    let has_slept = real.saturating_sub(awake) >= SHORTEST_SLEEP_MS;
    if has_slept && awake < grace { Freshness::Suspended { for_ms: grace - awake } } else { Freshness::Stale }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clocks of a record and of its reader are read one after the other, and what lies between two reads is no sleep.
    #[test]
    fn hs_96_clocks_that_are_read_one_after_the_other_are_no_sleep() {
        let options = Options { stale_ms: 400, refresh_ms: 300_000, ..Options::default() };
        assert_eq!(by_own_clocks(399, 400, &options), Freshness::Stale);
        assert_eq!(by_own_clocks(301, 400, &options), Freshness::Stale);
        assert_eq!(by_own_clocks(300, 400, &options), Freshness::Suspended { for_ms: 100 });
        assert_eq!(by_own_clocks(399, 399, &options), Freshness::Fresh { for_ms: 1 });
        assert_eq!(by_own_clocks(400, 399, &options), Freshness::Stale);
    }
}
