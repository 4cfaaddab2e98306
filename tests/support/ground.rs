//! A root of agents on the real disk.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gallivant_core::Host;
use gallivant_core::harness_state::{Fleet, FleetOptions, Options};
use gallivant_core::testing::{TestHost, TestHostOptions};

use super::line;

/// A root on the real disk, under the machine's own clock: file times and the wall clock have to agree.
pub(crate) struct Ground {
    directory: tempfile::TempDir,
    pub(crate) machine: TestHost,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let machine = TestHost::new(TestHostOptions::default()).expect("a host");
        Ground { directory, machine }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("fleet")
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// A path outside the fleet.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn host(&self) -> &Host {
        self.machine.host()
    }

    /// Puts a record there as writers do: staged, then renamed.
    pub(crate) fn publish(&self, agent: &str, state: &str) {
        self.publish_in(&self.path(agent), state);
    }

    /// The same in any directory.
    pub(crate) fn publish_in(&self, directory: &Path, state: &str) {
        let now = self.host().clock.wall_ms().to_string();
        let line = line(&[("state", &format!("\"{state}\"")), ("sinceMs", &now), ("writtenAtMs", &now)]);
        std::fs::create_dir_all(directory).expect("the agent's directory");
        std::fs::write(directory.join(".harness-state.tmp-1"), line).expect("staged");
        std::fs::rename(directory.join(".harness-state.tmp-1"), directory.join("harness-state"))
            .expect("published");
    }

    pub(crate) fn fleet(&self) -> Fleet {
        // A probe that a busy machine holds up beyond its budget has answered nothing.
        let options = Options { probe_budget: Duration::from_secs(60), ..Options::default() };
        Fleet::open(self.root(), &FleetOptions::default(), &options, self.host()).expect("opens")
    }

    /// Waits until nothing that was written so far counts as young.
    pub(crate) fn settle(&self) {
        self.host().clock.sleep(Duration::from_millis(60));
    }

    /// The kinds and names of the operations that this makes.
    pub(crate) fn operations(&self, action: impl FnOnce()) -> Vec<String> {
        let before = self.machine.operations().len();
        action();
        let made = self.machine.operations().split_off(before);
        made.iter().map(|line| line.split_once(": ").expect("a line of the trace").1.to_owned()).collect()
    }
}
