//! A machine that a test controls: for the library's own tests, and for those who crash-test their coordinators.
//!
//! Everything the library takes from the machine comes through a [`Host`](crate::Host). A test hands it another:
//!
//! - [`ManualClock`] sets the wall clock and leaves waiting real, for tests among real processes;
//!   [`SimulatedClock`] is virtual, and waiting costs no time;
//! - [`SeededRandom`] replays from a seed, [`FixedRandom`] gives the values that it is told to give;
//! - [`SimulatedProcesses`] is a process table as data;
//! - [`FaultyFileSystem`] fails where a list of [`Fault`]s says, and tells every state in which the disk may be
//!   found after a crash;
//! - [`Simulation`] holds one of each, and [`simulated_host`] makes the host for it;
//! - [`MemoryTransport`] is a provider in memory, whose replies are lost, late, foreign or malformed as a test says;
//! - [`FaultPoints`] are the execution layer's points by a script;
//! - [`TestHost`] is the real machine with a manual clock, fixed chance and faults on the real disk.
//!
//! # A crash test
//!
//! Count the operations of a run without faults; then, for each number, run once more with a crash there; then look
//! at what other processes find, and at what is found after the machine has booted again:
//!
//! ```
//! use std::path::Path;
//!
//! use gallivant_core::Host;
//! use gallivant_core::testing::{Fault, Simulation, simulated_host};
//!
//! // What is tested: a note of mode 0600 that is on disk, whole, once this has returned.
//! fn save(host: &Host) -> std::io::Result<()> {
//!     let directory = host.files.open(Path::new("/notes"))?;
//!     let mut file = directory.create(".note.tmp")?;
//!     file.write_all(b"hello\n")?;
//!     file.sync()?;
//!     directory.rename(".note.tmp", "note")?;
//!     directory.sync()
//! }
//!
//! fn notes() -> Simulation {
//!     let (_, simulation) = simulated_host(1);
//!     simulation.files.plant_directory("/notes").unwrap();
//!     simulation
//! }
//!
//! let simulation = notes();
//! save(&simulation.host()).unwrap();
//! let operations = simulation.files.last_number();
//! for number in 1..=operations {
//!     for fault in [Fault::crash_at(number), Fault::crash_after(number)] {
//!         let simulation = notes();
//!         simulation.files.set_faults([fault]);
//!         save(&simulation.host()).unwrap_err();
//!         for image in simulation.files.images_after_crash() {
//!             let note = image.files.contents("/notes/note").ok();
//!             assert!(note.is_none_or(|note| note == b"hello\n"), "{}", image.description);
//!         }
//!     }
//! }
//! // It has returned, so the note is there in every image.
//! for image in simulation.files.images_after_crash() {
//!     assert_eq!(image.files.contents("/notes/note").unwrap(), b"hello\n", "{}", image.description);
//! }
//! ```

mod clock;
mod fault_points;
mod machine;
mod memory_provider;
mod memory_transport;
mod processes;
mod random;
mod simulation;
mod test_host;

pub use clock::{ManualClock, SimulatedClock};
pub use fault_points::{FaultAction, FaultPoints};
pub use machine::RenamedMachine;
pub use memory_provider::MemoryJob;
pub use memory_transport::{MEMORY_CAPABILITY, MemoryTransport, Mishap};
pub use processes::SimulatedProcesses;
pub use random::{FixedRandom, SeededRandom};
pub use simulation::{Simulation, simulated_host};
pub use test_host::{TestHost, TestHostOptions};

pub use crate::storage::faulty_directory::{
    Action, CrashImage, CrashImages, Errno, Fault, FaultyFileSystem, InjectingFileSystem, On, OperationKind,
    OperationRecord, Point, SimulatedCrash, is_simulated_crash,
};
