//! The machine itself with a test's hand on clock, chance and disk: what the other languages' testing modules offer.

use std::sync::Arc;
use std::time::Duration;

use super::{Fault, FixedRandom, ManualClock, RenamedMachine};
use crate::clock::{Clock, SystemClock};
use crate::error::Result;
use crate::host::Host;
use crate::random::{Random, SystemRandom};
use crate::storage::OsFileSystem;
use crate::storage::faulty_directory::InjectingFileSystem;

/// What a [`TestHost`] is made of, as plain data.
#[derive(Clone, Debug, Default)]
pub struct TestHostOptions<'a> {
    /// Where the wall clock stands, in ms since 1970; none for the machine's own clock.
    pub wall_ms: Option<u64>,
    /// The random values to give, in turn, and then counting up from the last; none for the machine's own chance.
    pub random: Vec<u64>,
    /// A list of faults as JSON (see [`Fault`]); none for no faults.
    pub faults_json: Option<&'a str>,
    /// Another name of the machine; none for its own. Processes under different names prove nothing of each other.
    pub machine: Option<&'a str>,
    /// Another identity of the boot; none for its own.
    pub boot: Option<&'a str>,
}

/// The real disk and the real process table behind a clock, chance and faults that a test sets.
///
/// A fault that crashes kills this very process, as a SIGKILL at that point would.
#[derive(Debug)]
pub struct TestHost {
    host: Host,
    clock: Option<Arc<ManualClock>>,
    files: InjectingFileSystem,
}

impl TestHost {
    /// Makes one.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT` when the list of faults cannot be used.
    pub fn new(options: TestHostOptions<'_>) -> Result<Self> {
        let files = InjectingFileSystem::new(Arc::new(OsFileSystem));
        if let Some(json) = options.faults_json {
            files.set_faults(Fault::parse_list(json)?);
        }
        let clock = options.wall_ms.map(|wall_ms| Arc::new(ManualClock::new(wall_ms)));
        let random: Arc<dyn Random> = if options.random.is_empty() {
            Arc::new(SystemRandom)
        } else {
            Arc::new(FixedRandom::new(options.random))
        };
        let mut host = Host {
            clock: clock.clone().map_or(Arc::new(SystemClock) as Arc<dyn Clock>, |clock| clock),
            random,
            files: Arc::new(files.clone()),
            ..Host::system()
        };
        if options.machine.is_some() || options.boot.is_some() {
            host.processes = Arc::new(RenamedMachine::new(host.processes, options.machine, options.boot));
        }
        Ok(TestHost { host, clock, files })
    }

    /// The host to hand to the code under test.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Puts the wall clock there, as an operator or a time server does. The clocks by which a record with the extension
    /// object is judged go on (HS-96), so that it grows no older: what is to grow old is let by [`TestHost::advance_ms`].
    /// Does nothing where the clock is the machine's own.
    pub fn set_wall_ms(&self, wall_ms: u64) {
        if let Some(clock) = &self.clock {
            clock.set_wall_ms(wall_ms);
        }
    }

    /// Puts all clocks by which something is stamped and judged there, the machine having slept for so long. Does nothing
    /// where the clock is the machine's own.
    pub fn stand_at(&self, wall_ms: u64, slept_ms: u64) {
        if let Some(clock) = &self.clock {
            clock.stand_at(wall_ms, Duration::from_millis(slept_ms));
        }
    }

    /// Lets time pass on all clocks, or, where `ms` is negative, sets the wall clock back. Does nothing where the
    /// clock is the machine's own.
    pub fn advance_ms(&self, ms: i64) {
        let Some(clock) = &self.clock else { return };
        match u64::try_from(ms) {
            Ok(ms) => clock.advance(Duration::from_millis(ms)),
            Err(_) => clock.set_wall_ms(clock.wall_ms().saturating_add_signed(ms)),
        }
    }

    /// Replaces the faults by this list. Operations keep their numbers; what is counted by kind or name is counted
    /// from now on.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT` when the list cannot be used; the faults are then as they were.
    pub fn set_faults(&self, json: &str) -> Result<()> {
        self.files.set_faults(Fault::parse_list(json)?);
        Ok(())
    }

    /// The storage operations so far, a line each, such as `3 /agents/a: rename .x.tmp-1 -> x`.
    #[must_use]
    pub fn operations(&self) -> Vec<String> {
        self.files.operations().iter().map(ToString::to_string).collect()
    }
}
