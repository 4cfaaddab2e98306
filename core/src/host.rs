//! Everything the library takes from the machine, in one value: clocks, chance, process facts, disk.

use std::sync::Arc;

use crate::clock::{Clock, SystemClock};
use crate::process::{ProcessTable, SystemProcessTable};
use crate::random::{Random, SystemRandom};
use crate::storage::{FileSystem, OsFileSystem};

/// What the code under test cannot tell from the real machine. Cloning is cheap and shares all four.
#[derive(Clone, Debug)]
pub struct Host {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
    /// Facts about processes.
    pub processes: Arc<dyn ProcessTable>,
    /// The disk.
    pub files: Arc<dyn FileSystem>,
}

impl Host {
    /// The real machine.
    #[must_use]
    pub fn system() -> Self {
        Host {
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            processes: Arc::new(SystemProcessTable),
            files: Arc::new(OsFileSystem),
        }
    }
}

impl Default for Host {
    fn default() -> Self {
        Host::system()
    }
}
