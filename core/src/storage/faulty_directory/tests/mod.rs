//! Tests of the faulty file system itself: all crash tests of the project stand on it.

mod against_the_machine;
mod crashes;
mod data_files;
mod faults;
mod guarantees;
mod semantics;

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Fault, FaultyFileSystem, is_simulated_crash};
use crate::storage::directory::{Directory, FileSystem};
use crate::testing::SimulatedClock;

/// A machine with the empty directory `/agent`.
fn machine() -> FaultyFileSystem {
    let files = FaultyFileSystem::new(Arc::new(SimulatedClock::new(1_000_000)));
    files.plant_directory("/agent").expect("planted");
    files
}

fn open(files: &FaultyFileSystem) -> Arc<dyn Directory> {
    files.open(Path::new("/agent")).expect("the directory opens")
}

/// Creates and fills a file, and syncs it or not.
fn fill(agent: &dyn Directory, name: &str, bytes: &[u8], sync: bool) -> io::Result<()> {
    let mut file = agent.create(name)?;
    file.write_all(bytes)?;
    if sync { file.sync() } else { Ok(()) }
}

fn read(agent: &dyn Directory, name: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    agent.read(name, u64::MAX, &mut bytes).map(|_| bytes)
}

fn with_faults(json: &str) -> FaultyFileSystem {
    let files = machine();
    files.set_faults(Fault::parse_list(json).expect("the list is good"));
    files
}

fn errno<T>(result: io::Result<T>) -> Option<i32> {
    result.err().and_then(|error| error.raw_os_error())
}

fn crashed<T>(result: io::Result<T>) -> bool {
    result.is_err_and(|error| is_simulated_crash(&error))
}
