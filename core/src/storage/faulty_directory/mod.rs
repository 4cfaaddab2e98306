//! A file system in memory that fails, crashes, fills up, and loses what was not synced.
//!
//! Code under test is given a [`FaultyFileSystem`] in the place of the machine's file system. A test hands it a
//! list of [`Fault`]s, lets the code run, and asks for every state in which the disk may be found after a crash:
//! [`FaultyFileSystem::images_after_crash`].
//!
//! - `operation`: the numbered operations, their kinds and their trace;
//! - `errno`, `fault`: what goes wrong and where, as data;
//! - `image`: inodes and names, and the one function that changes them;
//! - `disk`: the live image, the durable one, and the log of what lies between them;
//! - `crash`: what a power loss may leave of them;
//! - `machine`, `process`: who has what open and locked, and how an operation is made to fail;
//! - `file_system`, `handles`: what a test holds, and what the code under test holds;
//! - `data`: the data files among those handles;
//! - `injecting`: the same faults over the machine's own file system.

mod crash;
mod data;
mod disk;
mod errno;
mod fault;
mod file_system;
mod handles;
mod image;
mod injecting;
mod machine;
mod operation;
mod process;
#[cfg(test)]
mod tests;

pub(crate) use crash::split_mix;
pub use crash::{CrashImage, CrashImages};
pub use errno::Errno;
pub use fault::{Action, Fault, On, Point};
pub use file_system::FaultyFileSystem;
pub use injecting::InjectingFileSystem;
pub use operation::{OperationKind, OperationRecord};
pub use process::{SimulatedCrash, is_simulated_crash};
