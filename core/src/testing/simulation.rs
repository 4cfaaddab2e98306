//! One simulated machine: clocks, chance, processes and disk together.

use std::sync::Arc;

use super::{SeededRandom, SimulatedClock, SimulatedProcesses};
use crate::host::Host;
use crate::process::ProcessTable;
use crate::storage::faulty_directory::FaultyFileSystem;

/// Where the wall clock of a new simulation stands, in milliseconds since 1970.
const WALL_MS: u64 = 1_700_000_000_000;
const FIRST_PID: u32 = 1000;

/// A simulated machine as one of its processes has it. The same seed and the same calls give the same run.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// Its clocks; waiting moves them on. All processes share them.
    pub clock: Arc<SimulatedClock>,
    /// Its chance. All processes share it.
    pub random: Arc<SeededRandom>,
    /// Its process table, as this process sees it.
    pub processes: Arc<SimulatedProcesses>,
    /// Its disk, as this process uses it.
    pub files: FaultyFileSystem,
}

/// A host whose every part is simulated, and what controls it: a wall clock at 1,700,000,000,000 ms, an empty disk,
/// one process with the pid 1000.
#[must_use]
pub fn simulated_host(seed: u64) -> (Host, Simulation) {
    let clock = Arc::new(SimulatedClock::new(WALL_MS));
    let simulation = Simulation {
        files: FaultyFileSystem::new(Arc::clone(&clock) as _),
        clock,
        random: Arc::new(SeededRandom::new(seed)),
        processes: Arc::new(SimulatedProcesses::new(FIRST_PID, 1)),
    };
    (simulation.host(), simulation)
}

impl Simulation {
    /// What the code under test is given.
    #[must_use]
    pub fn host(&self) -> Host {
        Host {
            clock: Arc::clone(&self.clock) as _,
            random: Arc::clone(&self.random) as _,
            processes: Arc::clone(&self.processes) as _,
            files: Arc::new(self.files.clone()),
        }
    }

    /// Another process of the same machine, with the next free pid and no faults.
    #[must_use]
    pub fn another_process(&self) -> Simulation {
        let mut pid = self.processes.own_pid() + 1;
        while self.processes.fact(pid) != crate::process::ProcessFact::Absent {
            pid += 1;
        }
        Simulation {
            clock: Arc::clone(&self.clock),
            random: Arc::clone(&self.random),
            processes: Arc::new(self.processes.as_process(pid, u64::from(pid))),
            files: self.files.another_process(),
        }
    }

    /// Ends this process, as a crash does: what it has open is closed, its locks are released, and the process
    /// table says that it is gone.
    pub fn kill(&self) {
        self.files.kill();
        self.processes.end(self.processes.own_pid());
    }

    /// The machine after it has gone down and booted again from one of the disks that
    /// [`FaultyFileSystem::images_after_crash`] gives: the wall clock goes on, the other clocks begin again, the boot is
    /// another, one process runs. This machine does not change, so that many disks can be tried.
    #[must_use]
    pub fn rebooted(&self, files: &FaultyFileSystem) -> Simulation {
        let clock = Arc::new(self.clock.rebooted());
        files.set_clock(Arc::clone(&clock) as _);
        Simulation {
            clock,
            // Not a share of this machine's: how many disks were tried before must not change the run.
            random: Arc::new(SeededRandom::new(self.random.seed().wrapping_add(1))),
            processes: Arc::new(self.processes.rebooted()),
            files: files.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::process::Liveness;
    use crate::storage::Sharing;

    #[test]
    fn the_same_seed_gives_the_same_host() {
        let (first, second) = (simulated_host(3).0, simulated_host(3).0);
        assert_eq!(first.random.next_u64(), second.random.next_u64());
        assert_eq!(first.clock.wall_ms(), 1_700_000_000_000);
        assert_eq!(first.processes.own_pid(), 1000);
    }

    #[test]
    fn a_killed_process_is_gone_for_the_others() {
        let (host, first) = simulated_host(1);
        first.files.plant_directory("/agent").expect("planted");
        let second = first.another_process();
        let identity = first.processes.identify(1000).expect("it runs");
        let lock =
            host.files.open(Path::new("/agent")).and_then(|agent| agent.open_lock("lock")).expect("opens");
        assert!(lock.try_lock(Sharing::Exclusive).expect("locks"));
        assert_eq!(identity.liveness(&*second.processes), Liveness::Alive);
        first.kill();
        assert_eq!(identity.liveness(&*second.processes), Liveness::Dead);
        let agent = second.host().files.open(Path::new("/agent")).expect("opens");
        assert!(agent.open_lock("lock").and_then(|lock| lock.try_lock(Sharing::Exclusive)).expect("locks"));
    }

    #[test]
    fn a_rebooted_machine_has_another_boot_and_a_wall_clock_that_went_on() {
        let (_, before) = simulated_host(1);
        before.clock.advance(std::time::Duration::from_secs(5));
        let image = before.files.images_after_crash().next().expect("there is always one");
        let after = before.rebooted(&image.files);
        assert_ne!(after.processes.boot(), before.processes.boot());
        assert_eq!(after.host().clock.wall_ms(), 1_700_000_005_000);
        assert!(after.host().clock.awake() < before.host().clock.awake());
        after.clock.advance(std::time::Duration::from_secs(1));
        after.files.plant_file("/new", "x").expect("planted");
        let modified_ns = after.files.metadata("/new").expect("there").modified_ns;
        assert_eq!(modified_ns, 1_700_000_006_000_000_000, "files take their times from the new clock");
    }
}
